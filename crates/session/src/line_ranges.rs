//! Line ranges and how they move when a file changes.

use std::fmt;

use serde::{Deserialize, Serialize};

use base::error::{Error, Result};
use base::object::{DiffOp, Part, line_count, list_diff};

/// Lines `first` to `last`, counted from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "(u64, u64)", from = "(u64, u64)")]
pub struct LineRange {
    /// First line.
    pub first: u64,
    /// Last line.
    pub last: u64,
}

impl From<LineRange> for (u64, u64) {
    fn from(range: LineRange) -> Self {
        (range.first, range.last)
    }
}

impl From<(u64, u64)> for LineRange {
    fn from((first, last): (u64, u64)) -> Self {
        Self { first, last }
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl LineRange {
    /// Number of lines.
    pub fn len(self) -> u64 {
        self.last.saturating_add(1).saturating_sub(self.first)
    }

    /// Whether the range has no line.
    pub fn is_empty(self) -> bool {
        self.last < self.first
    }

    /// The range moved down by this many lines.
    #[must_use]
    pub fn shifted(self, lines: u64) -> Self {
        Self { first: self.first + lines, last: self.last + lines }
    }

    /// The lines that are in both ranges.
    pub fn intersect(self, other: Self) -> Option<Self> {
        let both = Self { first: self.first.max(other.first), last: self.last.min(other.last) };
        (!both.is_empty()).then_some(both)
    }

    /// The lines of `self` that are in none of `others`, in order.
    pub fn without(self, others: &[Self]) -> Vec<Self> {
        let mut rest = Vec::new();
        let mut next = self.first;
        for other in merge_ranges(others) {
            let Some(both) = self.intersect(other) else { continue };
            if both.first > next {
                rest.push(Self { first: next, last: both.first - 1 });
            }
            next = both.last.saturating_add(1);
        }
        if next <= self.last {
            rest.push(Self { first: next, last: self.last });
        }
        rest
    }
}

/// Lines as people count them. `ends_line`: whether the last one is the empty line after a text's
/// last line end.
pub fn counted(ranges: &[LineRange], ends_line: bool) -> Vec<LineRange> {
    let mut counted = ranges.to_vec();
    if let Some(last) = counted.last_mut().filter(|_| ends_line) {
        last.last -= 1;
    }
    let is_only = counted.len() == 1;
    counted.retain(|range| !range.is_empty());
    if is_only && counted.is_empty() { ranges.to_vec() } else { counted }
}

/// Sorts ranges and joins those that overlap or touch.
pub fn merge_ranges(ranges: &[LineRange]) -> Vec<LineRange> {
    let mut sorted: Vec<_> = ranges.iter().copied().filter(|range| !range.is_empty()).collect();
    sorted.sort_unstable();
    let mut merged: Vec<LineRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match merged.last_mut() {
            Some(last) if range.first <= last.last.saturating_add(1) => {
                last.last = last.last.max(range.last);
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// Longest line that is shown whole among others, in characters.
pub const LINE_CHARS: usize = 400;

/// Some characters of a line, from `first` to `last`, counted from 1, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Columns {
    /// The line.
    pub line: u64,
    /// First character.
    pub first: u64,
    /// Last character.
    pub last: u64,
}

impl fmt::Display for Columns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}-{}", self.line, self.first, self.last)
    }
}

/// Lines of a text, some of them in part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picked {
    /// The lines, in order, without overlaps, as far as the text has them.
    pub ranges: Vec<LineRange>,
    /// The characters of those of them that are shown in part, in order.
    pub columns: Vec<Columns>,
}

impl Picked {
    /// The lines of a text that somebody asks for, see [`Part::parse`]: none if it has none of
    /// them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if `wanted` asks for no lines.
    pub fn parse(wanted: &str, text: &str) -> Result<Self> {
        Self::among(wanted, line_count(text), &|line| line_of(text, line))
    }

    /// As [`Self::parse`], for a text of this many lines.
    pub fn among<'a>(wanted: &str, lines: u64, line_of: &dyn Fn(u64) -> &'a str) -> Result<Self> {
        let parts = Part::parse(wanted).ok_or_else(|| {
            let problem =
                format!("`{wanted}` is not a line range such as `40-80`, `390-` or `-50`");
            Error::argument("lines", problem)
        })?;
        let mut picked = Self::default();
        for part in parts {
            let (first, last) = match part {
                Part::All => (1, lines),
                Part::Lines(one, other) => (one.min(other), one.max(other)),
                Part::From(first) => (first, lines),
                Part::Last(count) => (lines.saturating_sub(count - 1).max(1), lines),
                Part::Columns(line, first, last) => {
                    picked.add_columns(line_of(line), line, (first, last.unwrap_or(u64::MAX)));
                    (line, line)
                }
                Part::Place(line, column) if is_in_long_line(line_of(line), column) => {
                    let side = LINE_CHARS as u64 / 2;
                    let (first, last) = (column.saturating_sub(side).max(1), column + side);
                    picked.add_columns(line_of(line), line, (first, last));
                    (line, line)
                }
                // `10:20` may mean lines; `10:5` is a character of a line.
                Part::Place(line, other) => (line, line.max(other)),
            };
            picked.ranges.push(LineRange { first, last: last.min(lines) });
        }
        picked.ranges = merge_ranges(&picked.ranges);
        picked.columns.sort_unstable();
        Ok(picked)
    }

    fn add_columns(&mut self, text: &str, line: u64, (one, other): (u64, u64)) {
        let characters = text.chars().count() as u64;
        let (first, last) = (one.min(other), one.max(other).min(characters));
        if first <= last && last - first + 1 < characters {
            self.columns.push(Columns { line, first, last });
        }
    }

    /// These parts of a text, each line with its `\n`.
    pub fn cut(&self, text: &str) -> String {
        let mut cut = String::new();
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            if !self.ranges.iter().any(|range| range.first <= number && number <= range.last) {
                continue;
            }
            let mut columns =
                self.columns.iter().filter(|columns| columns.line == number).peekable();
            if columns.peek().is_none() {
                cut.push_str(line);
                continue;
            }
            for columns in columns {
                cut.push_str(characters(line, columns));
                cut.push('\n');
            }
        }
        cut
    }
}

/// The characters of a line.
pub fn characters<'a>(line: &'a str, columns: &Columns) -> &'a str {
    let offset = |column: u64| {
        let place = usize::try_from(column).unwrap_or(usize::MAX);
        line.char_indices().nth(place).map_or(line.len(), |(offset, _)| offset)
    };
    &line[offset(columns.first.saturating_sub(1))..offset(columns.last)]
}

/// A line of a text, without its end; empty beyond the last.
pub fn line_of(text: &str, line: u64) -> &str {
    let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    text.split('\n').nth(index).unwrap_or_default()
}

fn is_in_long_line(line: &str, column: u64) -> bool {
    let characters = line.chars().count();
    characters > LINE_CHARS && column <= characters as u64
}

/// Beyond this many changed lines, the difference counts as one block, because an exact one would
/// take seconds.
const MAX_DIFF_LINES: usize = 4_000;

/// How lines moved between two versions of a text: changed blocks as
/// `(old_first, old_len, new_first, new_len)`, from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LineMap(Vec<(u64, u64, u64, u64)>);

impl LineMap {
    /// Compares two texts by lines (split on `\n`).
    pub fn between(old: &str, new: &str) -> Self {
        let old: Vec<&str> = old.split('\n').collect();
        let new: Vec<&str> = new.split('\n').collect();
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = old.len().min(new.len()) - head;
        let tail =
            old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let (old_mid, new_mid) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
        if old_mid.is_empty() && new_mid.is_empty() {
            return Self::default();
        }
        if old_mid.len() + new_mid.len() > MAX_DIFF_LINES {
            return Self(vec![block(head, old_mid.len(), head, new_mid.len())]);
        }
        let ops = list_diff(old_mid, new_mid);
        Self(
            ops.iter()
                .filter(|op| !matches!(op, DiffOp::Equal { .. }))
                .map(|op| {
                    let (old, new) = (op.old_range(), op.new_range());
                    block(head + old.start, old.len(), head + new.start, new.len())
                })
                .collect(),
        )
    }

    /// Whether too many lines differ for an exact comparison.
    pub fn is_coarse(&self) -> bool {
        let lines = |(_, old, _, new): &(u64, u64, u64, u64)| old + new;
        self.0.iter().any(|block| lines(block) > MAX_DIFF_LINES as u64)
    }

    /// Number of lines added and removed.
    pub fn added_removed(&self) -> (u64, u64) {
        self.0
            .iter()
            .fold((0, 0), |(added, removed), (_, old, _, new)| (added + new, removed + old))
    }

    /// The lines of the new text that the old one lacks.
    pub fn written(&self) -> Vec<LineRange> {
        let range = |&(_, _, first, len): &(u64, u64, u64, u64)| LineRange {
            first,
            last: (first + len).saturating_sub(1),
        };
        self.0.iter().map(range).filter(|range| !range.is_empty()).collect()
    }

    /// Where a range of the old text is in the new one; `None` if all its lines are gone.
    ///
    /// If the range touches a changed block, the result includes the whole block, because its lines
    /// cannot be told apart.
    pub fn map(&self, range: LineRange) -> Option<LineRange> {
        let mut first = range.first;
        let mut last = range.last;
        for &(old_first, old_len, new_first, new_len) in &self.0 {
            let old_end = old_first + old_len; // first line after the block
            if old_end <= range.first {
                first = (range.first - old_end) + new_first + new_len;
            } else if old_first < range.first {
                first = new_first;
            }
            if old_end <= range.last {
                last = (range.last + new_first + new_len) - old_end;
            } else if old_first <= range.last {
                last = new_first + new_len - 1;
            }
        }
        let moved = LineRange { first, last };
        (!moved.is_empty()).then_some(moved)
    }
}

impl LineMap {
    /// What changed with `later`, by the lines of the text before both; `None` if it changed lines
    /// that this one did too.
    pub fn beside(&self, later: &Self) -> Option<Self> {
        let by_old_lines = |&(first, len, new_first, new_len): &(u64, u64, u64, u64)| {
            let mut old_first = first;
            for &(_, removed, written, added) in &self.0 {
                if written + added <= first {
                    old_first = (old_first + removed) - added;
                } else if written < first + len {
                    return None;
                }
            }
            Some((old_first, len, new_first, new_len))
        };
        later.0.iter().map(by_old_lines).collect::<Option<Vec<_>>>().map(Self)
    }

    /// The changed blocks of these two texts but those of whose lines, old and new, each is blank or
    /// `known`.
    #[must_use]
    pub fn without(&self, (old, new): (&str, &str), known: impl Fn(&str) -> bool) -> Self {
        let (old, new): (Vec<_>, Vec<_>) = (old.split('\n').collect(), new.split('\n').collect());
        let lines = |text: &[&str], first: u64, len: u64| {
            let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
            let mut lines = text.iter().skip(index(first.saturating_sub(1))).take(index(len));
            lines.all(|line| line.trim().is_empty() || known(line))
        };
        let is_left = |&&(old_first, old_len, new_first, new_len): &&(u64, u64, u64, u64)| {
            !lines(&old, old_first, old_len) || !lines(&new, new_first, new_len)
        };
        Self(self.0.iter().filter(is_left).copied().collect())
    }

    /// The new text with the old one's lines in place of what changed.
    pub fn undone(&self, old: &str, new: &str) -> String {
        let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        let mut kept = new.split('\n');
        let (mut lines, mut next) = (Vec::new(), 1);
        for &(old_first, old_len, new_first, new_len) in &self.0 {
            lines.extend(kept.by_ref().take(index(new_first.saturating_sub(next))));
            let before = index(old_first.saturating_sub(1));
            lines.extend(old.split('\n').skip(before).take(index(old_len)));
            kept.by_ref().take(index(new_len)).for_each(drop);
            next = new_first + new_len;
        }
        lines.extend(kept);
        lines.join("\n")
    }

    /// Where those lines of a range are in the new text that did not change.
    pub fn unchanged(&self, range: LineRange) -> Vec<LineRange> {
        let mut pieces = Vec::new();
        let mut first = range.first;
        for &(old_first, old_len, ..) in &self.0 {
            let piece = LineRange { first, last: range.last.min(old_first.saturating_sub(1)) };
            pieces.push(piece);
            first = first.max(old_first + old_len);
        }
        pieces.push(LineRange { first, last: range.last });
        let kept = pieces.into_iter().filter(|piece| !piece.is_empty());
        kept.filter_map(|piece| self.map(piece)).collect()
    }
}

fn block(old: usize, old_len: usize, new: usize, new_len: usize) -> (u64, u64, u64, u64) {
    (old as u64 + 1, old_len as u64, new as u64 + 1, new_len as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: u64, last: u64) -> LineRange {
        LineRange { first, last }
    }

    #[test]
    fn the_empty_line_behind_the_last_line_end_is_not_counted() {
        let range = |first, last| LineRange { first, last };
        for (ranges, ends_line, expected) in [
            (vec![range(1, 4)], true, vec![range(1, 3)]),
            (vec![range(1, 4)], false, vec![range(1, 4)]),
            (vec![range(1, 2), range(4, 4)], true, vec![range(1, 2)]),
            (vec![range(4, 4)], true, vec![range(4, 4)]),
            (vec![], true, vec![]),
        ] {
            assert_eq!(counted(&ranges, ends_line), expected);
        }
    }

    fn picked(wanted: &str, text: &str) -> Vec<(u64, u64)> {
        let ranges = Picked::parse(wanted, text).unwrap().ranges;
        ranges.into_iter().map(Into::into).collect()
    }

    #[test]
    fn lines_are_read_merged_and_cut_to_the_text() {
        let text = "line\n".repeat(100);
        for (wanted, expected) in [
            ("3-5, 4-9,20", &[(3, 9), (20, 20)][..]),
            ("90-500", &[(90, 100)]),
            ("9-3", &[(3, 9)]),
            ("0-4", &[(1, 4)]),
            ("98-", &[(98, 100)]),
            ("-3", &[(98, 100)]),
            ("-300", &[(1, 100)]),
            ("all", &[(1, 100)]),
            ("10:5", &[(10, 10)]),
            ("10:20", &[(10, 20)]),
            ("101", &[]),
            ("900-999", &[]),
            ("18446744073709551615-", &[]),
        ] {
            assert_eq!(picked(wanted, &text), expected, "{wanted}");
        }
        for wanted in ["", "x", "1-2-3"] {
            let refused = Picked::parse(wanted, &text).unwrap_err();
            assert_eq!(refused.code(), "INVALID_ARGUMENT", "{wanted}");
        }
    }

    #[test]
    fn what_ends_the_last_line_begins_none() {
        for (text, lines) in [("a\nb\n", 2), ("a\nb", 2), ("", 1), ("\n", 1), ("\n\n", 2)] {
            assert_eq!(line_count(text), lines, "{text:?}");
            assert_eq!(picked("all", text), [(1, lines)], "{text:?}");
        }
    }

    #[test]
    fn characters_of_a_long_line_are_a_part_of_it() {
        let long: String = ('a'..='z').cycle().take(1_000).collect();
        let text = format!("é{long}\nshort\n");
        let of = |wanted| Picked::parse(wanted, &text).unwrap();
        assert_eq!(of("1:2-4").cut(&text), "abc\n");
        assert_eq!(of("1:4-2").cut(&text), "abc\n");
        assert_eq!(of("1:1001-5000, 2").cut(&text), "l\nshort\n");
        assert_eq!(of("1:900").columns, [Columns { line: 1, first: 700, last: 1_001 }]);
        // What is all of a line, or behind its end, is not a part of it.
        for whole in ["2:1-9", "2:1-", "2:7-9", "1:2000-3000"] {
            assert_eq!(of(whole).columns, [], "{whole}");
        }
    }

    #[test]
    fn cut_lines_keep_their_ends() {
        let text = "a\nb\r\nc\n";
        let cut = |text, ranges| Picked { ranges, columns: Vec::new() }.cut(text);
        for (ranges, expected) in [
            (vec![range(1, 4)], text),
            (vec![range(2, 2)], "b\r\n"),
            (vec![range(1, 1), range(3, 3)], "a\nc\n"),
            (vec![range(4, 4)], ""),
        ] {
            assert_eq!(cut(text, ranges.clone()), expected, "{ranges:?}");
        }
        assert_eq!(cut("a\nb", vec![range(2, 2)]), "b");
    }

    #[test]
    fn without_leaves_the_lines_that_no_other_range_has() {
        let rest = range(1, 100).without(&[range(20, 30), range(25, 40), range(90, 200)]);
        assert_eq!(rest, [range(1, 19), range(41, 89)]);
        assert_eq!(range(5, 6).without(&[range(1, 10)]), []);
        assert_eq!(range(5, 6).without(&[]), [range(5, 6)]);
    }

    #[test]
    fn ranges_move_with_the_lines_before_them() {
        let map = LineMap::between("a\nb\nc\nd", "x\ny\na\nb\nc\nd");
        assert_eq!(map.map(range(2, 3)), Some(range(4, 5)));
        assert_eq!(map.added_removed(), (2, 0));
    }

    #[test]
    fn ranges_whose_lines_are_gone_have_no_place() {
        let map = LineMap::between("a\nb\nc\nd", "a\nd");
        assert_eq!(map.map(range(2, 3)), None);
        assert_eq!(map.map(range(1, 3)), Some(range(1, 1)));
        assert_eq!(map.map(range(4, 4)), Some(range(2, 2)));
    }

    #[test]
    fn lines_that_did_not_change_are_told_from_those_between_them() {
        let map = LineMap::between("a\nb\nc\nd", "a\nx\ny\nb\nC\nd");
        assert_eq!(map.unchanged(range(1, 4)), [range(1, 1), range(4, 4), range(6, 6)]);
        assert_eq!(map.unchanged(range(3, 3)), []);
        assert_eq!(LineMap::between("a\nb", "a\nb").unchanged(range(1, 2)), [range(1, 2)]);
    }

    #[test]
    fn what_somebody_else_changed_is_told_from_what_was_written() {
        let (old, written) = ("a\nb\nc\nd\ne", "a\nW\nX\nc\nd\ne");
        let own = LineMap::between(old, written);
        for now in ["A\nW\nX\nc\nd\ne", "a\nW\nX\nc\ne", "n\na\nW\nX\nc\nd\nE\nF"] {
            let others = own.beside(&LineMap::between(written, now)).unwrap();
            assert_eq!(others.undone(old, now), written, "{now:?}");
        }
        let touching = LineMap::between(written, "a\nW\nY\nc\nd\ne");
        assert_eq!(own.beside(&touching), None);
        assert_eq!(LineMap::between(old, written).undone(old, written), old);
    }

    #[test]
    fn a_range_that_touches_a_changed_block_includes_all_of_it() {
        let map = LineMap::between("a\nb\nc\nd", "a\nB1\nB2\nB3\nc\nd");
        assert_eq!(map.map(range(2, 2)), Some(range(2, 4)));
        assert_eq!(map.map(range(3, 4)), Some(range(5, 6)));
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn unchanged_lines_map_to_themselves(old in prop::collection::vec("[abc]", 1..20), new in prop::collection::vec("[abc]", 1..20)) {
            let (old_text, new_text) = (old.join("\n"), new.join("\n"));
            let map = LineMap::between(&old_text, &new_text);
            let changed: Vec<u64> = map.0.iter().flat_map(|b| b.0..b.0 + b.1).collect();
            for line in 1..=old.len() as u64 {
                let place = map.map(range(line, line));
                if !changed.contains(&line) {
                    let place = place.expect("an unchanged line stays");
                    prop_assert_eq!(place.len(), 1);
                    let text = |lines: &[String], line: u64| lines[usize::try_from(line).unwrap() - 1].clone();
                    prop_assert_eq!(text(&old, line), text(&new, place.first));
                }
            }
        }

        #[test]
        fn without_and_intersect_cover_the_range(a in 1u64..30, n in 0u64..30, b in 1u64..30, m in 0u64..30) {
            let (whole, other) = (range(a, a + n), range(b, b + m));
            let rest: u64 = whole.without(&[other]).iter().map(|r| r.len()).sum();
            prop_assert_eq!(rest + whole.intersect(other).map_or(0, LineRange::len), whole.len());
        }
    }
}
