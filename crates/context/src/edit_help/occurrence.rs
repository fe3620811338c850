//! Finds where a text occurs in a file, by the rules of `edit`.

use std::borrow::Cow;

use unicode_normalization::{UnicodeNormalization, is_nfkc_quick};

use session::LineRange;

/// Most places that are named if a text occurs several times.
const NAMED_PLACES: usize = 10;

/// Where a text occurs in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Occurrence {
    Once,
    /// The lines of the first places, and the number of all places.
    Several(Vec<LineRange>, u64),
    Nowhere,
}

/// Finds a text; both texts must be normalized in the same way.
pub(super) fn place(text: &str, wanted: &str) -> Occurrence {
    if wanted.is_empty() {
        return Occurrence::Once;
    }
    let mut found = text.match_indices(wanted).map(|(start, _)| start);
    let starts: Vec<usize> = found.by_ref().take(NAMED_PLACES).collect();
    let total = (starts.len() + found.count()) as u64;
    match total {
        0 => Occurrence::Nowhere,
        1 => Occurrence::Once,
        _ => Occurrence::Several(line_ranges(text, &starts, wanted), total),
    }
}

/// The lines of the matches that begin at these bytes, in order.
fn line_ranges(text: &str, starts: &[usize], wanted: &str) -> Vec<LineRange> {
    let breaks = |text: &str| text.matches('\n').count() as u64;
    let more = breaks(wanted.strip_suffix('\n').unwrap_or(wanted));
    let (mut line, mut before) = (1, 0);
    let range = |start: &usize| {
        line += breaks(&text[before..*start]);
        before = *start;
        LineRange { first: line, last: line + more }
    };
    starts.iter().map(range).collect()
}

/// Lines of a file's [`unix_lines`] as the file numbers them: there, a carriage return alone ends
/// none.
pub(super) fn in_file(text: &str, ranges: &[LineRange]) -> Vec<LineRange> {
    let mut line = 1_u64;
    let mut bare: Vec<u64> = Vec::new();
    for (at, end) in text.match_indices(['\r', '\n']) {
        if end == "\r" {
            if text[at + 1..].starts_with('\n') {
                continue;
            }
            bare.push(line);
        }
        line += 1;
    }
    let number = |line: u64| line - bare.partition_point(|ended| *ended < line) as u64;
    let placed =
        |range: &LineRange| LineRange { first: number(range.first), last: number(range.last) };
    ranges.iter().map(placed).collect()
}

/// The text with `\n` as its only line ending and without a byte order mark.
pub(super) fn unix_lines(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// The text as Pi's `edit` compares it when it does not find the exact characters.
pub(super) fn loosened(text: &str) -> String {
    let text = unix_lines(text);
    let composed = match is_nfkc_quick(text.chars()) {
        unicode_normalization::IsNormalized::Yes => text,
        _ => Cow::Owned(text.nfkc().collect()),
    };
    let lines: Vec<&str> = composed.split('\n').map(str::trim_end).collect();
    let joined = lines.join("\n");
    if joined.is_ascii() { joined } else { joined.chars().map(plain).collect() }
}

/// Maps typographic quotes, dashes and spaces to ASCII; leaves other characters unchanged.
fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
