//! The lines of a text that show why it was found. Pure; must not know a store.

use std::ops::{ControlFlow, Range};

use super::expression::{Expression, Unit};
use super::terms::{TermKind, each_term};

/// Most lines of a snippet.
const MAX_LINES: usize = 3;

/// Most bytes of a line that are shown; the rest is left out at both ends.
const MAX_LINE_BYTES: usize = 200;

/// Bytes shown before the first match of a longer line.
const BEFORE_BYTES: usize = 40;

/// Most places of one word that are examined.
const MAX_PLACES: usize = 1_000;

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
    pub(in crate::store) units: u64,
}

/// A match: the unit of the search and the bytes of the text.
struct Match {
    unit: usize,
    at: Range<usize>,
}

/// The best lines of `text` for a search, at most three, in their order; empty without a match.
///
/// A line is better the more units it has that better lines lack; among equals the first wins.
pub(in crate::store) fn snippet(text: &str, expression: &Expression) -> Vec<SnippetLine> {
    let matches = matches(text, expression);
    let mut lines = lines(text, &matches);
    let mut best: Vec<Line> = Vec::new();
    let mut seen = 0_u64;
    while best.len() < MAX_LINES {
        // `max_by_key` takes the last of equals.
        let places = lines.iter().enumerate().rev();
        let gain = |line: &Line| ((line.units & !seen).count_ones(), line.units.count_ones());
        let Some((place, _)) = places.max_by_key(|(_, line)| gain(line)) else { break };
        let line = lines.remove(place);
        if !best.is_empty() && line.units & !seen == 0 {
            break;
        }
        seen |= line.units;
        best.push(line);
    }
    best.sort_by_key(|line| line.number);
    best.into_iter().map(|line| line.shown(text, &matches)).collect()
}

/// A line with matches.
struct Line {
    number: u64,
    at: Range<usize>,
    /// Which matches start in it.
    matches: Range<usize>,
    /// A bit for each unit that is found in it.
    units: u64,
}

impl Line {
    fn shown(&self, text: &str, matches: &[Match]) -> SnippetLine {
        let matches = &matches[self.matches.clone()];
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
        let units = self.units;
        SnippetLine { line: self.number, text: text[at].to_owned(), matches: found, units }
    }
}

/// The part of a line that is shown: all of a short one, else a window that begins a little before the first match.
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
struct Seen {
    term: String,
    start: usize,
}

impl AsRef<str> for Seen {
    fn as_ref(&self) -> &str {
        &self.term
    }
}

/// All matches, ordered by start. First examines only lines that may hold a word of the search, since splitting a
/// text into terms costs far more than looking for a few letters; if that finds nothing, examines the whole text.
fn matches(text: &str, expression: &Expression) -> Vec<Match> {
    let mut found = Vec::new();
    for run in likely_lines(text, expression) {
        add_matches(text, run, expression, &mut found);
    }
    if found.is_empty() {
        add_matches(text, 0..text.len(), expression, &mut found);
    }
    found.sort_by_key(|found| (found.at.start, found.at.end));
    found
}

/// Runs of whole lines that hold the beginning of a wanted term, or a letter that folding may change.
fn likely_lines(text: &str, expression: &Expression) -> Vec<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let phrases = expression.wanted.iter().flat_map(|unit| &unit.phrases);
    let terms = phrases.flat_map(|phrase| &phrase.terms).filter(|term| term.is_ascii());
    // The last letter may be the stem's alone, as in `busi` of `busy`.
    let beginnings =
        terms.map(|term| &term[..if term.len() > 2 { term.len() - 1 } else { term.len() }]);
    let mut places: Vec<usize> = beginnings
        .flat_map(|beginning| lower.match_indices(beginning).map(|(at, _)| at).take(MAX_PLACES))
        .collect();
    if !text.is_ascii() {
        let odd = text.char_indices().filter(|(_, character)| !character.is_ascii());
        places.extend(odd.map(|(at, _)| at));
    }
    places.sort_unstable();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in places {
        if runs.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
        match runs.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => runs.push(start..end),
        }
    }
    runs
}

/// Adds the matches in a part of the text.
fn add_matches(text: &str, part: Range<usize>, expression: &Expression, found: &mut Vec<Match>) {
    let units = &expression.wanted;
    let phrases = units.iter().flat_map(|unit| &unit.phrases);
    let longest = phrases.map(|phrase| phrase.terms.len()).max().unwrap_or(1);
    let mut seen: Vec<Seen> = Vec::new();
    let offset = part.start;
    each_term(&text[part], |term, at, kind| {
        let now = Seen { term: term.to_owned(), start: offset + at.start };
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

/// Adds what ends with the last of the terms seen.
fn push_found(units: &[Unit], seen: &[Seen], end: usize, found: &mut Vec<Match>) {
    let last = seen.len() - 1;
    for (unit, Unit { phrases }) in units.iter().enumerate() {
        for phrase in phrases.iter().filter(|phrase| phrase.ends_at(seen, last)) {
            let start = seen[last + 1 - phrase.terms.len()].start;
            found.push(Match { unit, at: start..end });
        }
    }
}

/// The lines that matches start in.
fn lines(text: &str, matches: &[Match]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut number, mut start) = (1, 0);
    for (place, Match { unit, at }) in matches.iter().enumerate() {
        match lines.last_mut() {
            Some(line) if at.start < line.at.end => {
                line.matches.end = place + 1;
                line.units |= 1 << unit;
            }
            _ => {
                let before = &text[start..at.start];
                number += before.bytes().filter(|byte| *byte == b'\n').count() as u64;
                start += before.rfind('\n').map_or(0, |newline| newline + 1);
                let end = text[at.start..].find('\n').map_or(text.len(), |found| at.start + found);
                let end = if text[..end].ends_with('\r') { end - 1 } else { end };
                let (at, matches) = (start..end, place..place + 1);
                lines.push(Line { number, at, matches, units: 1 << unit });
            }
        }
    }
    lines
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
    fn long_lines_are_cut_around_the_match() {
        let text = format!("{}needle{}", "é ".repeat(300), " é".repeat(300));
        let lines = snippet(&text, &Expression::parse("needle").unwrap());
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert!(line.text.len() <= MAX_LINE_BYTES && line.text.len() > MAX_LINE_BYTES - 4);
        assert_eq!(&line.text[line.matches[0].clone()], "needle");
    }

    proptest! {
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
