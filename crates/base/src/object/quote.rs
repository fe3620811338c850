//! Makes foreign texts safe to quote in our own lines: names, last lines, memory entries. Pure
//! text.
//!
//! This is the one place that decides what is spelt out in JSON's notation (`\u202e`): characters
//! that act on a terminal, are invisible or reverse a line, and the first character of anything
//! that reads like one of our marks. `lib/terminal.js` does the same for terminals and the page.
//! Not for content, which goes out unchanged.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Marks that others must not forge; the first character of each gets spelt out. These are the head
/// of a reference line, the count of omitted content, the end of a quote, the heads of our notes
/// and memory scopes, and the tags that divide a text for hosts and us.
static MARKS: LazyLock<Regex> = LazyLock::new(|| {
    let tags = "memory|remembered|conversation|preamble|tools?|rules?|docs|addendum|project[-_]context|project[-_]instructions|\
        skills?|available[-_]skills|cwd|system(?:[-_][a-z]+)?|instructions?|guidelines|developer|user|assistant|human";
    pattern(&[
        r"\[[tfs]\d+(?:-[tfs]?\d+)?\]",
        r"(?-u:\b)[tfs]\d+ unchanged; ",
        r"… [\d,]+ (?:more )?(?:changed )?(?:line|character|entr)",
        r#"" · "#,
        r"(?i:(?:global|project|yours in this project)\s*\(\s*memory(?:\.local)?\.md\s*\))",
        r"Memory that outlives sessions|Memory change \d+:|Memory at hand, ",
        &format!(r"<\s*/?\s*(?i:{tags})(?-u:\b)"),
    ])
});

/// Any closing tag, and any tag alone on its line, because we cannot know which sections a system
/// prompt has.
pub static TAGS: LazyLock<Regex> =
    LazyLock::new(|| pattern(&[r"<\s*/\s*[A-Za-z]", r"(?m:^[\s>*+-]*<\s*[A-Za-z][^<>]*>\s*$)"]));

/// What a name must not contain either: the phrases of our notes about files, and the separators of
/// our lines.
static PHRASES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&[
        r" (?:changed on disk|is no longer on disk|is on disk again|is out of reach for now|is within reach again)\b| · ",
    ])
});

/// A backslash that begins what looks like a spelt-out character.
static SPELT: LazyLock<Regex> = LazyLock::new(|| pattern(&[r"\\u[0-9A-Fa-f]{4}"]));

fn pattern(parts: &[&str]) -> Regex {
    Regex::new(&parts.join("|")).expect("constants that tests compile")
}

/// A text in one line: line ends are spelt out, tabs stay. Cut a text before, not after.
pub fn line(text: &str) -> Cow<'_, str> {
    spelt(text, &|_, found| found == '\t', marks(text))
}

/// The name of a file or other thing, in one line. No two names read alike: if a name already
/// contains what looks spelt out, that is escaped again. [`named`] reverses this.
pub fn name(text: &str) -> Cow<'_, str> {
    let mut places = marks(text);
    places.extend(SPELT.find_iter(text).map(|found| found.start()));
    places.extend(PHRASES.find_iter(text).map(|found| found.start()));
    spelt(text, &|_, _| false, places)
}

/// A file's line in one of our notes: what would end the line or act is spelt out; all else stays
/// as in the file.
pub fn file_line(text: &str) -> Cow<'_, str> {
    let ends = |found: char| found.is_control() || matches!(found, '\u{2028}' | '\u{2029}');
    spelt(text, &|_, found| found == '\t' || !ends(found), Vec::new())
}

/// The [`name`] of a path, which may not be UTF-8.
pub fn path(path: &Path) -> String {
    name(&path.to_string_lossy()).into_owned()
}

/// A text of several lines. Line ends and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    spelt(text, &|at, found| stays_in_block(text, at, found), marks(text))
}

/// A text of several lines inside a section that ends with a tag: no tag in the text can end or
/// begin a section.
pub fn section(text: &str) -> Cow<'_, str> {
    let mut places = marks(text);
    let tag = |found: regex::Match<'_>| Some(found.start() + found.as_str().find('<')?);
    places.extend(TAGS.find_iter(text).filter_map(tag));
    spelt(text, &|at, found| stays_in_block(text, at, found), places)
}

/// The original of a name written by [`name`].
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

/// Where something that reads like our marks begins.
pub fn marks(text: &str) -> Vec<usize> {
    let is_mark = |found: &regex::Match<'_>| {
        let after = text[found.end()..].chars().next();
        !found.as_str().ends_with(']')
            || after.is_none_or(|after| after.is_whitespace() || is_hidden(after))
    };
    MARKS.find_iter(text).filter(is_mark).map(|found| found.start()).collect()
}

/// Whether a character hidden in a single line may stay in a text of several: a line end or a tab.
pub fn stays_in_block(text: &str, at: usize, found: char) -> bool {
    matches!(found, '\n' | '\t') || (found == '\r' && text[at + 1..].starts_with('\n'))
}

/// The text with hidden characters spelt out unless they stay, and also the characters at `places`.
fn spelt<'a>(
    text: &'a str,
    stays: &dyn Fn(usize, char) -> bool,
    mut places: Vec<usize>,
) -> Cow<'a, str> {
    // Texts of others may have as many marks as signs.
    places.sort_unstable();
    if places.is_empty() && text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut next = 0;
    for (at, found) in text.char_indices() {
        let hides = is_hidden(found) && !stays(at, found) && !is_part_of_sign(text, at, found);
        if hides || places.binary_search(&at).is_ok() {
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

/// Controls, fillers and joiners without a visible shape, direction changes, variation selectors,
/// and tags.
pub fn is_hidden(found: char) -> bool {
    matches!(found,
        '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a joiner or selector merges its neighbours into one sign and so hides nothing: in an
/// emoji of several characters, or between letters of joining scripts.
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

/// Whether a character may begin an emoji of several characters.
fn is_picture(found: char) -> bool {
    matches!(found,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}'
        | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{3030}'
        | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests;
