//! Texts of others as lines of ours may quote them: names, last lines, entries of memory. Pure text.
//!
//! This is the one place that says what is spelt out, as JSON spells it (`\u202e`), and `lib/terminal.js` says the same for terminals and
//! the page: what acts on a terminal, shows nothing or turns a line around, and the first character of what reads as a mark of ours. Must
//! not be asked about content, which goes out as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// What others may not write in our name, by its first character: the head of a line that stands for content, the count of what is left
/// out, the end of what a line quotes, the heads of our notes and of the scopes of memory, and the tags by which hosts and we part a text.
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    let tags = "memory|remembered|conversation|preamble|tools?|rules?|docs|addendum|project[-_]context|project[-_]instructions|\
        skills?|available[-_]skills|cwd|system(?:[-_][a-z]+)?|instructions?|guidelines|developer|user|assistant|human";
    pattern(&[
        r"\[[tfs]\d+(?:-[tfs]?\d+)?\]",
        r"(?-u:\b)[tfs]\d+ unchanged; ",
        r"… [\d,]+ (?:more )?(?:changed )?(?:line|character|entr)",
        r#"" · "#,
        r"(?i:(?:global|project|yours in this project)\s*\(\s*memory(?:\.local)?\.md\s*\))",
        r"Memory that outlives sessions|Memory change \d+:",
        &format!(r"<\s*/?\s*(?i:{tags})(?-u:\b)"),
    ])
});

/// Any tag that closes, and any that stands alone on its line: which sections a system prompt has is not ours to know.
pub static TAGS: LazyLock<Regex> =
    LazyLock::new(|| pattern(&[r"<\s*/\s*[A-Za-z]", r"(?m:^[\s>*+-]*<\s*[A-Za-z][^<>]*>\s*$)"]));

/// What a name may not say besides: what our notes say of files, and what parts a line of ours.
static PHRASES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&[
        r" (?:changed on disk|is no longer on disk|is on disk again|is out of reach for now|is within reach again)\b| · ",
    ])
});

/// A backslash that begins what reads as a character that is spelt out.
static SPELT: LazyLock<Regex> = LazyLock::new(|| pattern(&[r"\\u[0-9A-Fa-f]{4}"]));

fn pattern(parts: &[&str]) -> Regex {
    Regex::new(&parts.join("|")).expect("constants that tests compile")
}

/// A text in one line: line ends are spelt out, tabs stay. What is cut is cut before.
pub fn line(text: &str) -> Cow<'_, str> {
    spelt(text, &|_, found| found == '\t', &marks(text))
}

/// The name of a file or another thing, in one line. No two names read alike: what is spelt out in one is spelt out again where another
/// name has it as it is. [`named`] finds the name.
pub fn name(text: &str) -> Cow<'_, str> {
    let mut places = marks(text);
    places.extend(SPELT.find_iter(text).map(|found| found.start()));
    places.extend(PHRASES.find_iter(text).map(|found| found.start()));
    spelt(text, &|_, _| false, &places)
}

/// A line of a file in a note of ours: what would end the line or act is spelt out, all else stays as the file has it.
pub fn file_line(text: &str) -> Cow<'_, str> {
    let ends = |found: char| found.is_control() || matches!(found, '\u{2028}' | '\u{2029}');
    spelt(text, &|_, found| found == '\t' || !ends(found), &[])
}

/// The [`name`] of a path, which may be no UTF-8.
pub fn path(path: &Path) -> String {
    name(&path.to_string_lossy()).into_owned()
}

/// A text of several lines, whose line ends and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    spelt(text, &|at, found| stays_in_block(text, at, found), &marks(text))
}

/// A text of several lines in a section that a tag ends: no tag in it ends or begins one.
pub fn section(text: &str) -> Cow<'_, str> {
    let mut places = marks(text);
    let tag = |found: regex::Match<'_>| Some(found.start() + found.as_str().find('<')?);
    places.extend(TAGS.find_iter(text).filter_map(tag));
    spelt(text, &|at, found| stays_in_block(text, at, found), &places)
}

/// The name that [`name`] wrote so.
pub fn named(written: &str) -> String {
    let mut units: Vec<u16> = Vec::with_capacity(written.len());
    let mut next = 0;
    for found in SPELT.find_iter(written) {
        units.extend(written[next..found.start()].encode_utf16());
        units.extend(u16::from_str_radix(&found.as_str()[2..], 16));
        next = found.end();
    }
    units.extend(written[next..].encode_utf16());
    String::from_utf16_lossy(&units)
}

/// Where marks of ours begin.
pub fn marks(text: &str) -> Vec<usize> {
    let is_mark = |found: &regex::Match<'_>| {
        let after = text[found.end()..].chars().next();
        !found.as_str().ends_with(']')
            || after.is_none_or(|after| after.is_whitespace() || is_hidden(after))
    };
    MARKS.find_iter(text).filter(is_mark).map(|found| found.start()).collect()
}

/// Whether a character that hides in a line may stand in a text of several: the end of a line, a tabulator.
pub fn stays_in_block(text: &str, at: usize, found: char) -> bool {
    matches!(found, '\n' | '\t') || (found == '\r' && text[at + 1..].starts_with('\n'))
}

/// The text with the characters spelt out that are hidden and do not stay, and those at `places`.
fn spelt<'a>(text: &'a str, stays: &dyn Fn(usize, char) -> bool, places: &[usize]) -> Cow<'a, str> {
    if places.is_empty() && text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut next = 0;
    for (at, found) in text.char_indices() {
        let hides = is_hidden(found) && !stays(at, found) && !is_part_of_sign(text, at, found);
        if hides || places.contains(&at) {
            out.push_str(&text[next..at]);
            next = at + found.len_utf8();
            for unit in found.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    if next == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[next..]);
    Cow::Owned(out)
}

/// Controls, fillers and joiners without a shape of their own, what turns the direction of writing, variation selectors, tags.
pub fn is_hidden(found: char) -> bool {
    matches!(found,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a joiner or a selector makes one sign of its neighbours, and hides nothing: in a picture of several characters, or between
/// letters of scripts that join.
pub fn is_part_of_sign(text: &str, at: usize, found: char) -> bool {
    let mut before = text[..at].chars().rev();
    let last = before.next();
    let next = text[at + found.len_utf8()..].chars().next();
    match found {
        '\u{fe0e}' | '\u{fe0f}' => {
            let is_keycap = last.is_some_and(|last| last.is_ascii_digit() || "#*".contains(last));
            last.is_some_and(is_picture) || (is_keycap && next == Some('\u{20e3}'))
        }
        '\u{200c}' | '\u{200d}' => {
            let joins = |letter: Option<char>| {
                letter.is_some_and(|letter| ('\u{620}'..='\u{dff}').contains(&letter))
            };
            let base = if last == Some('\u{fe0f}') { before.next() } else { last };
            let is_picture =
                found == '\u{200d}' && base.is_some_and(is_picture) && next.is_some_and(is_picture);
            is_picture || (joins(last) && joins(next))
        }
        _ => false,
    }
}

/// Whether a character may begin a picture of several.
fn is_picture(found: char) -> bool {
    matches!(found,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
        | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}'
        | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests;
