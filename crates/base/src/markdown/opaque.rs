//! The copy of a content that gets parsed: same length, with comments and math blocks blanked and
//! nesting bounded. Must not move any byte, so that ranges found in the copy are valid in the
//! content.

use std::borrow::Cow;
use std::ops::Range;

use super::blocks;

/// Containers that may begin on one line. The Markdown library takes time in proportion to the
/// depth for every line of a paragraph in nested quotes; documents that people write stay under
/// ten.
const MAX_NESTING: usize = 64;

/// Most passes over a text. A comment can hide a fence and a fence a comment, so each pass may
/// change the other's extent. Real texts need one pass; the bound keeps the work linear for hostile
/// ones.
const MAX_LOOKS: usize = 4;

/// Makes the copy. Comments become spaces, math blocks become letters (a block ID after one still
/// belongs to it).
pub(super) fn scratch(content: &str) -> Cow<'_, str> {
    let mut copy = bound_nesting(content);
    for _ in 0..MAX_LOOKS {
        if !copy.contains("%%") && !copy.contains("$$") {
            break;
        }
        let spans = spans(&copy, &blocks::read(&copy).opaque);
        if spans.is_empty() {
            break;
        }
        let mut bytes = copy.into_owned().into_bytes();
        for (range, filler) in spans {
            for byte in &mut bytes[range] {
                if !matches!(*byte, b'\n' | b'\r') {
                    *byte = filler;
                }
            }
        }
        copy = Cow::Owned(String::from_utf8(bytes).expect("whole characters became ASCII"));
    }
    copy
}

/// Comments and math blocks outside of `opaque` (sorted), each with its replacement.
fn spans(text: &str, opaque: &[Range<usize>]) -> Vec<(Range<usize>, u8)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut opaque = opaque.iter().peekable();
    // End of the current paragraph, found once for everything in it.
    let mut paragraph = 0;
    let mut at = 0;
    while at + 1 < bytes.len() {
        while opaque.next_if(|range| range.end <= at).is_some() {}
        if let Some(range) = opaque.peek().filter(|range| range.start <= at) {
            at = range.end;
            continue;
        }
        let filler = match &bytes[at..at + 2] {
            b"%%" => b' ',
            b"$$" if begins_line(text, at) => b'x',
            _ => {
                at += 1;
                continue;
            }
        };
        let whole = begins_line(text, at);
        if paragraph <= at && !whole {
            paragraph = at + paragraph_length(&text[at..]);
        }
        let limit = if whole { text.len() } else { paragraph };
        let end = text[at + 2..limit].find(&text[at..at + 2]).map(|length| at + 2 + length + 2);
        if let Some(end) = end {
            found.push((at..end, filler));
        }
        at = end.unwrap_or(at + 2);
    }
    found
}

/// The length of `rest` up to the first blank line.
fn paragraph_length(rest: &str) -> usize {
    let mut length = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        if number > 0 && line.trim().is_empty() {
            break;
        }
        length += line.len();
    }
    length
}

fn begins_line(text: &str, at: usize) -> bool {
    let before = text[..at].bytes().rev().take_while(|byte| *byte != b'\n');
    before.take(MAX_NESTING).all(|byte| matches!(byte, b' ' | b'\t' | b'>'))
}

/// Replaces the container marker after the deepest allowed one by a letter, on every line.
fn bound_nesting(content: &str) -> Cow<'_, str> {
    let mut excess = Vec::new();
    let mut start = 0;
    for line in content.split_inclusive(['\n', '\r']) {
        excess.extend(excess_marker(line.as_bytes()).map(|place| start + place));
        start += line.len();
    }
    if excess.is_empty() {
        return Cow::Borrowed(content);
    }
    let mut bytes = content.as_bytes().to_vec();
    for place in excess {
        bytes[place] = b'x';
    }
    Cow::Owned(String::from_utf8(bytes).expect("an ASCII marker became a letter"))
}

/// The place of the marker that nests a line too deeply.
fn excess_marker(line: &[u8]) -> Option<usize> {
    let mut markers = 0;
    let mut at = 0;
    while at < line.len() {
        let marker = at;
        match line[at] {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'>' => at += 1,
            b'-' | b'+' | b'*' if followed_by_space(line, at + 1) => at += 2,
            b'0'..=b'9' => {
                let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                at += digits;
                let ordered = matches!(line.get(at), Some(b'.' | b')'));
                if !ordered || !followed_by_space(line, at + 1) {
                    return None;
                }
                at += 2;
            }
            _ => return None,
        }
        markers += 1;
        if markers > MAX_NESTING {
            return Some(marker);
        }
    }
    None
}

fn followed_by_space(line: &[u8], at: usize) -> bool {
    matches!(line.get(at), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
}
