//! Picks the lines of a text that show why it was found. Pure; must not know a store.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{ControlFlow, Range};

use super::expression::{Expression, SearchUnit};
use super::terms::{TermKind, each_term, is_word_character};

/// Most lines of a snippet.
const MAX_LINES: usize = 3;

/// Most bytes shown of a line; the rest is cut off at both ends.
const MAX_LINE_BYTES: usize = 200;

/// Bytes shown before the first match of a longer line.
const BEFORE_BYTES: usize = 40;

/// Most occurrences of one word that are examined.
const MAX_PLACES: usize = 1_000;

/// The units of a line about which nothing is known.
const ANY: u64 = u64::MAX;

/// A line of a text, or the part of it around a match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnippetLine {
    /// Number of the line in its text, from 1.
    pub line: u64,
    /// The line without its ending; at most 200 bytes of it.
    pub text: String,
    /// The matches, as byte ranges of `text`; in order, not overlapping.
    pub matches: Vec<Range<usize>>,
    /// A bit for each unit of the search that the line has.
    pub(crate) units: u64,
}

impl SnippetLine {
    /// The first line of a text with content, without matches.
    pub fn plain(text: &str) -> Self {
        let lines = text.lines().zip(1..);
        let (text, line) =
            lines.into_iter().find(|(line, _)| !line.trim().is_empty()).unwrap_or(("", 1));
        let at = window(text, &(0..text.len()), 0);
        Self { line, text: text[at].to_owned(), matches: Vec::new(), units: 0 }
    }
}

/// A match: the unit of the search and the bytes of the text.
struct Match {
    unit: usize,
    at: Range<usize>,
}

/// The best lines of `text` for a search, at most three, in their order; empty without a match.
///
/// A line is better the more units it has that better lines lack. Of equals, one with an identifier
/// as it was typed wins, then the first.
pub fn snippet(text: &str, expression: &Expression) -> Vec<SnippetLine> {
    let found = best_of(text, likely_lines(text, expression), expression);
    let best = if found.is_empty() { best_of(text, all_lines(text), expression) } else { found };
    let mut shown = Vec::with_capacity(best.len());
    let (mut number, mut from) = (1, 0);
    for line in best {
        number += text[from..line.at.start].bytes().filter(|byte| *byte == b'\n').count() as u64;
        from = line.at.start;
        shown.push(line.shown(text, number));
    }
    shown
}

/// The best of some lines, in their order. Splitting a text into terms costs far more than
/// searching for a few letters, so lines are read only until no unread line can be better.
fn best_of(text: &str, mut lines: Vec<Line>, expression: &Expression) -> Vec<Line> {
    for line in &mut lines {
        line.typed = typed_in(&text[line.at.clone()], &expression.typed);
        if line.units == ANY {
            line.read(text, expression);
        }
    }
    let mut best: Vec<Line> = Vec::new();
    let mut seen = 0_u64;
    while best.len() < MAX_LINES {
        let key = |place: usize, line: &Line| {
            let gain = (line.units & !seen).count_ones();
            (gain, line.units.count_ones(), line.typed, Reverse(place))
        };
        let places = lines.iter().enumerate().filter(|(_, line)| line.units != 0);
        let mut queue: BinaryHeap<_> = places.map(|(place, line)| key(place, line)).collect();
        let found = loop {
            let Some((gain, .., Reverse(place))) = queue.pop() else { break None };
            if gain == 0 && !best.is_empty() {
                break None;
            }
            let line = &mut lines[place];
            if line.matches.is_some() {
                break Some(place);
            }
            line.read(text, expression);
            if line.units != 0 {
                queue.push(key(place, line));
            }
        };
        let Some(place) = found else { break };
        let line = std::mem::replace(&mut lines[place], Line::unread(0..0, 0));
        seen |= line.units;
        best.push(line);
    }
    best.sort_by_key(|line| line.at.start);
    best
}

/// A line of a text.
struct Line {
    /// Its bytes, without its ending.
    at: Range<usize>,
    /// The matches that start in it, ordered by start; `None` until it is read.
    matches: Option<Vec<Match>>,
    /// A bit for each unit found in it; until it is read, for each unit that may be in it.
    units: u64,
    /// How many identifiers of the search it has as they were typed.
    typed: usize,
}

impl Line {
    /// A line that was not read yet.
    fn unread(at: Range<usize>, units: u64) -> Self {
        Self { at, matches: None, units, typed: 0 }
    }

    /// Finds the matches that start in the line. A phrase may continue in the following lines.
    fn read(&mut self, text: &str, expression: &Expression) {
        let phrases = expression.wanted.iter().flat_map(|unit| &unit.phrases);
        let longest = phrases.map(|phrase| phrase.terms.len()).max().unwrap_or(1);
        let ends = text[self.at.end..].match_indices('\n').map(|(at, _)| self.at.end + at);
        let end = ends.chain([text.len()]).nth(longest - 1).unwrap_or(text.len());
        let mut found = Vec::new();
        add_matches(text, self.at.start..end.max(self.at.end), expression, &mut found);
        found.retain(|found| found.at.start < self.at.end);
        found.sort_by_key(|found| (found.at.start, found.at.end));
        self.units = found.iter().fold(0, |units, found| units | (1 << found.unit));
        self.matches = Some(found);
    }

    fn shown(&self, text: &str, number: u64) -> SnippetLine {
        let matches = self.matches.as_deref().unwrap_or_default();
        let first = matches.first().map_or(self.at.start, |first| first.at.start);
        let at = window(text, &self.at, first);
        let mut found: Vec<Range<usize>> = Vec::new();
        for Match { at: found_at, .. } in matches {
            let (start, end) = (found_at.start.max(at.start), found_at.end.min(at.end));
            if start >= end {
                continue;
            }
            let (start, end) = (start - at.start, end - at.start);
            match found.last_mut() {
                Some(last) if start < last.end => last.end = last.end.max(end),
                _ => found.push(start..end),
            }
        }
        SnippetLine { line: number, text: text[at].to_owned(), matches: found, units: self.units }
    }
}

/// The part of a line to show: all of a short line, otherwise a window that begins a little before
/// the first match.
fn window(text: &str, line: &Range<usize>, first: usize) -> Range<usize> {
    if line.len() <= MAX_LINE_BYTES {
        return line.clone();
    }
    let latest = line.end - MAX_LINE_BYTES;
    let start = first.saturating_sub(BEFORE_BYTES).clamp(line.start, latest.max(line.start));
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let start = (start..=first).find(is_boundary).unwrap_or(first);
    let end = (start..=(start + MAX_LINE_BYTES).min(line.end)).rfind(is_boundary);
    start..end.unwrap_or(start)
}

/// A term that was read, and where it starts.
type TermAt = (String, usize);

/// The lines that hold the beginning of a wanted term, or a letter that folding may change, with
/// the units that may start there.
fn likely_lines(text: &str, expression: &Expression) -> Vec<Line> {
    let lower = text.to_ascii_lowercase();
    let mut places: Vec<(usize, u64)> = Vec::new();
    for (unit, SearchUnit { phrases }) in expression.wanted.iter().enumerate() {
        for first in phrases.iter().filter_map(|phrase| phrase.terms.first()) {
            if !first.is_ascii() {
                continue;
            }
            // The last letter may belong only to the stem, as in `busi` of `busy`.
            let beginning = &first[..if first.len() > 2 { first.len() - 1 } else { first.len() }];
            let found = lower.match_indices(beginning).map(|(at, _)| at);
            let found = found.filter(|at| begins_term(text.as_bytes(), *at)).take(MAX_PLACES);
            places.extend(found.map(|at| (at, 1 << unit)));
        }
    }
    if !text.is_ascii() {
        let odd = text
            .char_indices()
            .filter(|(_, character)| !character.is_ascii() && is_word_character(*character));
        places.extend(odd.map(|(at, _)| (at, ANY)));
    }
    places.sort_unstable();
    let mut lines: Vec<Line> = Vec::new();
    for (at, units) in places {
        match lines.last_mut() {
            Some(last) if at < last.at.end => last.units |= units,
            _ => lines.push(Line::unread(line_at(text, at), units)),
        }
    }
    lines
}

/// Every line of a text, about which nothing is known yet.
fn all_lines(text: &str) -> Vec<Line> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        at += line.len();
        Line::unread(line_at(text, at - line.len()), ANY)
    });
    lines.collect()
}

/// How many identifiers stand in a line as they were typed, and not within longer ones.
fn typed_in(line: &str, typed: &[String]) -> usize {
    let joins = |character: char| character == '_' || is_word_character(character);
    let stands = |word: &&String| {
        let is_whole =
            |at: usize| !line[..at].ends_with(joins) && !line[at + word.len()..].starts_with(joins);
        line.match_indices(word.as_str()).any(|(at, _)| is_whole(at))
    };
    typed.iter().filter(stands).count()
}

/// The bytes of the line that contains a byte, without its ending.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    start..if text[start..end].ends_with('\r') { end - 1 } else { end }
}

/// Whether a term may begin at a byte: not behind a lower-case letter or a digit, unless it is a
/// capital or a digit (`terms::parts`).
fn begins_term(text: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |before| text[before]);
    !before.is_ascii_alphanumeric() || !text[at].is_ascii_lowercase()
}

/// Adds the matches in a part of the text.
fn add_matches(text: &str, part: Range<usize>, expression: &Expression, found: &mut Vec<Match>) {
    let units = &expression.wanted;
    let phrases = units.iter().flat_map(|unit| &unit.phrases);
    let longest = phrases.map(|phrase| phrase.terms.len()).max().unwrap_or(1);
    let mut seen: Vec<TermAt> = Vec::new();
    let offset = part.start;
    each_term(&text[part], |term, at, kind| {
        let now = (term.to_owned(), offset + at.start);
        if kind == TermKind::Joined {
            push_found(units, &[now], offset + at.end, found);
            return ControlFlow::Continue(());
        }
        // Terms that no phrase reaches back to are dropped, many at a time.
        if seen.len() >= longest * 8 {
            seen.drain(..=seen.len() - longest);
        }
        seen.push(now);
        push_found(units, &seen, offset + at.end, found);
        ControlFlow::Continue(())
    });
}

/// Adds the units that end with the last of the terms seen.
fn push_found(units: &[SearchUnit], seen: &[TermAt], end: usize, found: &mut Vec<Match>) {
    let last = seen.len() - 1;
    for (unit, SearchUnit { phrases }) in units.iter().enumerate() {
        for phrase in phrases.iter().filter(|phrase| phrase.ends_at(seen, last)) {
            let (_, start) = seen[last + 1 - phrase.terms.len()];
            found.push(Match { unit, at: start..end });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines as `number: text`, matches in brackets.
    fn shown(text: &str, query: &str) -> Vec<String> {
        let lines = snippet(text, &Expression::parse(query).unwrap());
        let mark = |line: SnippetLine| {
            let mut text = line.text;
            for found in line.matches.iter().rev() {
                text.insert(found.end, ']');
                text.insert(found.start, '[');
            }
            format!("{}: {text}", line.line)
        };
        lines.into_iter().map(mark).collect()
    }

    #[test]
    fn the_lines_with_most_of_the_search_are_shown() {
        let text = "store\nnothing\nan open store\nthe file opens\n";
        assert_eq!(shown(text, "open store"), ["3: an [open] [store]"]);
        assert_eq!(
            shown(text, "opened file stores"),
            ["3: an [open] [store]", "4: the [file] [opens]"]
        );
        assert_eq!(shown(text, "absent"), [""; 0]);
    }

    #[test]
    fn identifiers_and_phrases_are_marked_whole() {
        let text = "a\r\nlet x = transformContext(y);\r\nb";
        assert_eq!(shown(text, "transform_context"), ["2: let x = [transformContext](y);"]);
        assert_eq!(shown(text, "transformcontext"), ["2: let x = [transformContext](y);"]);
        assert_eq!(shown(text, "context"), ["2: let x = transform[Context](y);"]);
        assert_eq!(shown("die Größe\n数据库里", "grosse 据"), ["1: die [Größe]", "2: 数[据库]里"]);
    }

    #[test]
    fn the_line_with_the_identifier_as_it_was_typed_wins() {
        let text = "get the user\nlater we get user data\nlet getUser = 1;\nget_user_name()\nfn get_user(id: u32) {}\n";
        assert_eq!(shown(text, "get_user"), ["5: fn [get_user](id: u32) {}"]);
        assert_eq!(shown(text, "getUser"), ["3: let [getUser] = 1;"]);
        assert_eq!(shown(text, "\"get user\""), ["2: later we [get user] data"]);
        let text = "read the file; then read\nfile again\nfn read_file(p) {}\n";
        assert_eq!(shown(text, "read_file"), ["3: fn [read_file](p) {}"]);
    }

    #[test]
    fn long_lines_are_cut_around_the_match() {
        let text = format!("{}needle{}", "é ".repeat(300), " é".repeat(300));
        let lines = snippet(&text, &Expression::parse("needle").unwrap());
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.text.len() <= MAX_LINE_BYTES && line.text.len() > MAX_LINE_BYTES - 4);
        assert_eq!(&line.text[line.matches[0].clone()], "needle");
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn what_is_marked_lies_in_the_line(text in "[ab é\r\n日本A_]{0,400}", query in "[ab é日本A_\"*]{1,12}") {
            let Ok(expression) = Expression::parse(&query) else { return Ok(()) };
            let all: Vec<&str> = text.split('\n').collect();
            for SnippetLine { line, text, matches, .. } in snippet(&text, &expression) {
                let whole = all[usize::try_from(line).unwrap() - 1];
                prop_assert!(text.len() <= MAX_LINE_BYTES);
                prop_assert!(whole.contains(&text), "{whole:?} {text:?}");
                prop_assert!(!matches.is_empty());
                for found in matches {
                    prop_assert!(text.get(found).is_some_and(|found| !found.is_empty()));
                }
            }
        }
    }
}
