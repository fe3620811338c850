//! `#tags` of a content. Must not know front matter.
//!
//! Source: Obsidian's help, "Tags": letters, digits, `_`, `-`, `/` and symbols such as emoji, with
//! at least one non-digit. A tag ends at white space and at punctuation, ASCII or not.

use std::ops::Range;

use super::blocks::Layout;
use super::document::Tag;
use super::links::{Source, WikilinkRanges};

/// The tags of the content in order, without any in opaque parts, links or bare URLs.
pub(super) fn collect(
    source: &Source,
    scratch: &str,
    layout: &Layout,
    wikilinks: &[WikilinkRanges],
) -> Vec<Tag> {
    let mut hidden: Vec<&Range<usize>> = layout.opaque.iter().collect();
    hidden.extend(layout.links.iter().map(|link| &link.range));
    hidden.extend(wikilinks.iter().map(|link| &link.range));
    hidden.sort_by_key(|range| range.start);
    let mut hidden = hidden.into_iter().peekable();
    let mut tags = Vec::new();
    for run in &layout.runs {
        let mut at = run.start;
        while let Some(place) = next_sign(scratch, at..run.end) {
            let mut skipped = None;
            while let Some(range) = hidden.next_if(|range| range.start <= place) {
                skipped = skipped.max(Some(range.end).filter(|end| *end > place));
            }
            if let Some(end) = skipped {
                at = end.max(place + 1);
                continue;
            }
            if scratch.as_bytes()[place] == b':' {
                at = end_of_word(scratch, place, run.end);
                continue;
            }
            at = place + 1;
            if !may_precede(&scratch[run.start..place]) {
                continue;
            }
            let length = tag_length(&scratch[place + 1..run.end]);
            if length > 0 {
                let range = place..place + 1 + length;
                let name = scratch[place + 1..range.end].to_owned();
                at = range.end;
                tags.push(Tag { name, place: source.place(&range) });
            }
        }
    }
    tags
}

/// The next `#`, or the `:` of a URL's `://`.
fn next_sign(text: &str, range: Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    if range.start >= range.end {
        return None;
    }
    range.clone().find(|at| {
        bytes[*at] == b'#' || (bytes[*at] == b':' && bytes[*at..range.end].starts_with(b"://"))
    })
}

fn end_of_word(text: &str, at: usize, end: usize) -> usize {
    text[at..end].find(char::is_whitespace).map_or(end, |length| at + length)
}

/// Whether a tag may stand after this text: at its start, after white space, an opening bracket,
/// emphasis, a comma or CJK punctuation. Never after a letter, `\`, `&`, `/` or another `#`.
fn may_precede(before: &str) -> bool {
    const SIGNS: &str = "([{*~,;（【「『《〈、，。；：！？“‘”’）】」』》〉";
    before.chars().next_back().is_none_or(|sign| sign.is_whitespace() || SIGNS.contains(sign))
}

/// Length of the tag at the start of `text`; 0 if there is none.
pub(super) fn tag_length(text: &str) -> usize {
    let length = text.find(|sign| !is_tag_character(sign)).unwrap_or(text.len());
    let length = text[..length].trim_end_matches('/').len();
    let only_digits = text[..length].chars().all(char::is_numeric);
    if only_digits { 0 } else { length }
}

fn is_tag_character(sign: char) -> bool {
    // Exceptions within the ranges of punctuation: joiner and selector inside of emoji, two CJK
    // letters, full-width `－`, `／` and `＿`.
    const LETTERS: &str = "_-/\u{200d}\u{fe0f}々〇－／＿";
    // General and supplemental punctuation, CJK punctuation, full-width forms of ASCII punctuation.
    let punctuation = matches!(
        sign,
        '\u{2000}'..='\u{206f}'
            | '\u{2e00}'..='\u{2e7f}'
            | '\u{3000}'..='\u{3011}'
            | '\u{3014}'..='\u{301f}'
            | '\u{ff01}'..='\u{ff0f}'
            | '\u{ff1a}'..='\u{ff20}'
            | '\u{ff3b}'..='\u{ff40}'
            | '\u{ff5b}'..='\u{ff65}'
    );
    let hidden = sign.is_whitespace() || sign.is_control() || punctuation;
    let letter = if sign.is_ascii() { sign.is_ascii_alphanumeric() } else { !hidden };
    letter || LETTERS.contains(sign)
}
