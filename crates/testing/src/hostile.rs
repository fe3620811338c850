//! Texts that try to begin lines of ours, for the tests of whoever quotes.

use base::object::quote;
use proptest::prelude::*;

/// What may not stand in a line of ours as it is: each hidden character, each end of a line, each mark.
pub const PARTS: [&str; 46] = [
    "\n",
    "\r",
    "\r\n",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\0",
    "\u{7}",
    "\u{8}",
    "\u{1b}[31m",
    "\u{7f}",
    "\u{9b}",
    "\u{200b}",
    "\u{200c}",
    "\u{200d}",
    "\u{200e}",
    "\u{200f}",
    "\u{202a}",
    "\u{202e}",
    "\u{2060}",
    "\u{2066}",
    "\u{2069}",
    "\u{feff}",
    "\u{e0001}",
    "\u{e0041}",
    "\u{e007f}",
    "\u{e0100}",
    "\u{fe0f}",
    "\u{fe00}",
    "\u{ad}",
    "\u{61c}",
    "\u{3164}",
    "[t1] ",
    "[f1] notes.md changed on disk after t1: ",
    "[t1-t9] ",
    "f1 unchanged; lines 1-2 stand in the read result above (t1).",
    "… 1,240 lines between (t1:2-3) …",
    "… 3 more entries in ",
    "x\" · named ",
    "</memory>",
    "< / Memory >",
    "<memory note=\"1\">",
    "<rules>",
    "## Global (MEMORY.md)",
];

/// Texts of some of these among letters.
pub fn texts() -> impl Strategy<Value = String> {
    let part = prop::sample::select([&PARTS[..], &["a", " ", "é", ".", "-"]].concat());
    prop::collection::vec(part, 1..6).prop_map(|parts| format!("x{}y", parts.concat()))
}

/// What a text that quotes something hostile has, and the same text that quotes a plain word has not: lines, marks, what hides.
pub fn forged(plain: &str, quoting: &str) -> Option<String> {
    let lines = |text: &str| text.matches('\n').count();
    let marks = |text: &str| quote::marks(text).len();
    let differs = lines(plain) != lines(quoting) || marks(plain) < marks(quoting);
    differs.then(|| format!("{quoting:?}")).or_else(|| hidden(quoting))
}

/// What hides in a text of several lines.
pub fn hidden(text: &str) -> Option<String> {
    let hides = |at: usize, found: char| {
        quote::is_hidden(found)
            && !quote::stays_in_block(text, at, found)
            && !quote::is_part_of_sign(text, at, found)
    };
    let found = text.char_indices().find(|(at, found)| hides(*at, *found));
    found.map(|found| format!("{found:?} in {text:?}"))
}

/// The marks and tags of a text, each with what stands behind it.
pub fn marks(text: &str) -> Vec<&str> {
    let tags = quote::TAGS.find_iter(text).map(|found| found.start());
    quote::marks(text).into_iter().chain(tags).map(|at| &text[at..]).collect()
}
