//! Finds wikilinks in a text and parses links. Must not know other files: see `resolve`.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::blocks::RawLink;
use super::document::{Link, LinkKind, MarkdownField, TextPlace};
use super::line_numbers::LineNumbers;
use super::sections::Sections;

/// A wikilink, as byte ranges of the scanned text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WikilinkRanges {
    /// Brackets and `!` included.
    pub(super) range: Range<usize>,
    /// The text between the brackets.
    pub(super) inner: Range<usize>,
    pub(super) embed: bool,
}

/// The text that places refer to.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// Where the content begins.
    pub(super) body: usize,
    pub(super) sections: &'a Sections,
    pub(super) lines: &'a LineNumbers,
}

impl Source<'_> {
    /// The place of a range of the content.
    pub(super) fn place(&self, range: &Range<usize>) -> TextPlace {
        let range = range.start + self.body..range.end + self.body;
        TextPlace {
            field: MarkdownField::Content,
            path: self.sections.path(range.start),
            line: self.lines.line(range.start),
            range,
        }
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        &self.text[range.start + self.body..range.end + self.body]
    }
}

/// Finds the wikilinks in `range` of `text`, outside `opaque` (sorted), in one pass. A link is on
/// one line, and the last `[[` before a `]]` opens it.
pub(super) fn scan(
    text: &str,
    range: &Range<usize>,
    opaque: &[Range<usize>],
) -> Vec<WikilinkRanges> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut next = opaque.partition_point(|hidden| hidden.end <= range.start);
    let mut open: Option<usize> = None;
    let mut at = range.start;
    while at < range.end {
        while opaque.get(next).is_some_and(|hidden| hidden.end <= at) {
            next += 1;
        }
        if let Some(hidden) = opaque.get(next).filter(|hidden| hidden.start <= at) {
            if ends_link(&bytes[hidden.clone()]) {
                open = None;
            }
            at = hidden.end;
            continue;
        }
        let double = bytes.get(at + 1) == bytes.get(at) && at + 1 < range.end;
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' | b'\r' => open = None,
            b'[' if double => {
                // In a run of three brackets the last two open the link.
                open = Some(at + 2);
                let third = bytes.get(at + 2) == Some(&b'[') && at + 2 < range.end;
                at += usize::from(!third);
            }
            b']' if double => {
                if let Some(inner) = open.take() {
                    let embed = is_embed(bytes, range.start, inner - 2);
                    let start = inner - 2 - usize::from(embed);
                    found.push(WikilinkRanges { range: start..at + 2, inner: inner..at, embed });
                }
                at += 1;
            }
            _ => {}
        }
        at += 1;
    }
    found.retain(|link| parts(&text[link.inner.clone()]).is_some());
    found
}

/// Whether opaque bytes end a wikilink: they span more than one line, or are the destination of an
/// ordinary link. Code on one line does not, as in ``[[Filters#`date`]]``.
fn ends_link(opaque: &[u8]) -> bool {
    matches!(opaque.first(), Some(b'(' | b'[')) || opaque.contains(&b'\n')
}

/// Whether a `!` that is not escaped stands before the brackets at `at`.
fn is_embed(bytes: &[u8], floor: usize, at: usize) -> bool {
    if at == floor || bytes[at - 1] != b'!' {
        return false;
    }
    let escapes = bytes[floor..at - 1].iter().rev().take_while(|byte| **byte == b'\\').count();
    escapes % 2 == 0
}

/// The parts of a wikilink.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) target: String,
    pub(super) headings: Vec<String>,
    pub(super) block: Option<String>,
    pub(super) alias: Option<String>,
}

/// Parses a wikilink: the first `|` ends the target, the first `#` begins headings or a block.
/// `None` if it has neither a target nor a place.
pub(super) fn parts(inner: &str) -> Option<Parts> {
    let (link, alias) = match inner.split_once('|') {
        Some((link, alias)) => (link.strip_suffix('\\').unwrap_or(link), Some(alias)),
        None => (inner, None),
    };
    let (target, subpath) = link.split_once('#').unwrap_or((link, ""));
    let (headings, block) = subpath_parts(subpath);
    let target = target.trim().to_owned();
    if target.is_empty() && headings.is_empty() && block.is_none() {
        return None;
    }
    let alias = alias.map(str::to_owned).filter(|alias| !alias.trim().is_empty());
    Some(Parts { target, headings, block, alias })
}

fn subpath_parts(subpath: &str) -> (Vec<String>, Option<String>) {
    let mut steps: Vec<String> = subpath
        .split('#')
        .map(str::trim)
        .filter(|step| !step.is_empty())
        .map(str::to_owned)
        .collect();
    let block = steps.pop_if(|last| last.len() > 1 && last.starts_with('^'));
    (steps, block.map(|block| block[1..].to_owned()))
}

/// The links of the content in order: wikilinks, and ordinary links that do not begin inside one.
pub(super) fn collect(
    source: &Source,
    wikilinks: &[WikilinkRanges],
    ordinary: &[RawLink],
) -> Vec<Link> {
    let mut links: Vec<Link> = wikilinks
        .iter()
        .filter_map(|found| {
            wikilink(source.slice(&found.inner), found.embed, source.place(&found.range))
        })
        .collect();
    let inside = |link: &RawLink| {
        let after = wikilinks.partition_point(|found| found.range.start <= link.range.start);
        after.checked_sub(1).is_some_and(|place| wikilinks[place].range.end > link.range.start)
    };
    let kept = ordinary.iter().filter(|link| !inside(link));
    links.extend(kept.filter_map(|link| ordinary_link(source, link)));
    links.sort_by_key(|link| link.place.range.start);
    links
}

/// Makes a wikilink from the text between its brackets.
pub(super) fn wikilink(inner: &str, embed: bool, place: TextPlace) -> Option<Link> {
    let Parts { target, headings, block, alias } = parts(inner)?;
    Some(Link { kind: LinkKind::Wikilink, embed, target, headings, block, alias, place })
}

fn ordinary_link(source: &Source, raw: &RawLink) -> Option<Link> {
    let destination = raw.destination.trim();
    if destination.is_empty() {
        return None;
    }
    let text = source.slice(&raw.text);
    let alias = (!raw.auto && !text.trim().is_empty()).then(|| text.to_owned());
    let place = source.place(&raw.range);
    let embed = raw.image;
    if is_external(destination) {
        let target = destination.to_owned();
        let (headings, block) = (Vec::new(), None);
        return Some(Link {
            kind: LinkKind::External,
            embed,
            target,
            headings,
            block,
            alias,
            place,
        });
    }
    let (target, subpath) = destination.split_once('#').unwrap_or((destination, ""));
    let (headings, block) = subpath_parts(&percent_decoded(subpath));
    let target = percent_decoded(target).trim().to_owned();
    Some(Link { kind: LinkKind::Markdown, embed, target, headings, block, alias, place })
}

/// Whether a destination has a scheme (RFC 3986 section 3.1; one letter is a drive) or a host.
fn is_external(destination: &str) -> bool {
    if destination.starts_with("//") {
        return true;
    }
    let Some((scheme, _)) = destination.split_once(':') else { return false };
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(rest)
}

/// Percent-decodes a destination. If the result is not UTF-8, the destination stays as written.
fn percent_decoded(text: &str) -> String {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map_or_else(|_| text.to_owned(), Cow::into_owned)
}
