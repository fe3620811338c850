//! An index of the lines in the window: finds blocks of a new output that already stand there
//! verbatim.
//!
//! Derived from the window. The live session keeps it in memory and rebuilds it whenever anything
//! changes before the end of the window, so it is the same after a restart. Hashes propose matches;
//! comparing bytes confirms them.

use std::collections::HashMap;
use std::sync::Arc;

use super::tokens::Counter;
use session::{LineRange, number_of};

/// Least number of lines in a block. Fewer are often equal by chance.
pub const MIN_BLOCK_LINES: usize = 5;
/// Least number of tokens in a block. The line that replaces it takes about half of this.
const MIN_BLOCK_TOKENS: u64 = 60;
/// Number of a block's newest places to compare.
const MAX_PLACES: usize = 8;

/// Lines of an output that stand elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineBlock {
    /// The lines of the output.
    pub lines: LineRange,
    /// Position of the message where they stand.
    pub at: u64,
    /// Line number of the first of them there.
    pub first: u64,
    /// Their tokens.
    pub tokens: u64,
}

impl LineBlock {
    /// What remains of the block without some of its lines: runs of at least `min_lines` lines that
    /// are worth replacing by a line.
    ///
    /// `lines`: the lines of the text. `stays`: whether a line, by its index, is shown anyway.
    pub fn without(
        &self,
        lines: &[&str],
        min_lines: usize,
        counter: Counter,
        stays: impl Fn(usize) -> bool,
    ) -> Vec<Self> {
        let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX).min(lines.len());
        let (start, end) = (index(self.lines.first - 1), index(self.lines.last));
        let mut left = Vec::new();
        let mut next = start;
        while next < end {
            let until = (next..end).find(|at| stays(*at)).unwrap_or(end);
            let text = lines[next..until].join("\n");
            let tokens = counter.count(&text);
            if until - next >= min_lines && is_worth_a_line(&text, tokens) {
                let lines = LineRange { first: next as u64 + 1, last: until as u64 };
                let first = self.first + (next - start) as u64;
                left.push(Self { lines, first, tokens, at: self.at });
            }
            next = until + 1;
        }
        left
    }
}

/// Whether a replacement line would take less than the block and can quote something to find it by.
fn is_worth_a_line(text: &str, tokens: u64) -> bool {
    tokens >= MIN_BLOCK_TOKENS && text.chars().any(char::is_alphanumeric)
}

/// The lines that stand in the window.
#[derive(Debug, Default)]
pub struct LinesIndex {
    runs: Vec<Run>,
    /// Places of each sequence of five lines, by its hash: the run, and the index of the first line
    /// in it; in order of entry.
    places: HashMap<u64, Vec<(u32, u32)>>,
}

/// Adjacent lines that stand at one message.
#[derive(Debug)]
struct Run {
    at: u64,
    /// Number of the first line.
    first: u64,
    text: Arc<str>,
    /// Byte offset in `text` and hash of each line.
    lines: Vec<(u32, u64)>,
}

impl LinesIndex {
    /// Adds lines of a text that stand at a message. Messages must be added in order.
    pub fn enter(&mut self, at: u64, text: &Arc<str>, ranges: &[LineRange]) {
        let lines: Vec<(usize, &str)> = line_spans(text).collect();
        for range in ranges {
            let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX).min(lines.len());
            let wanted = lines.get(index(range.first - 1)..index(range.last)).unwrap_or_default();
            let offsets = wanted.iter().map_while(|(start, line)| {
                let start = u32::try_from(*start).ok()?;
                Some((start, number_of(line)))
            });
            let lines = offsets.collect();
            self.enter_run(Run { at, first: range.first, text: Arc::clone(text), lines });
        }
    }

    /// The blocks of a text that already stand, in order, without overlaps.
    ///
    /// `min_lines`: least number of lines of a block, at least [`MIN_BLOCK_LINES`]. Takes time
    /// linear in the text, except for lines that stand in many places.
    pub fn blocks(&self, text: &str, min_lines: usize, counter: Counter) -> Vec<LineBlock> {
        let lines: Vec<(usize, &str)> = line_spans(text).collect();
        let hashes: Vec<u64> = lines.iter().map(|(_, line)| number_of(line)).collect();
        let mut found = Vec::new();
        let mut next = 0;
        while next + MIN_BLOCK_LINES <= lines.len() {
            let Some((place, len)) = self.longest(&lines[next..], &hashes[next..]) else {
                next += 1;
                continue;
            };
            let (start, (last_start, last)) = (lines[next].0, lines[next + len - 1]);
            let block = &text[start..last_start + last.len()];
            let count = if len < min_lines { 0 } else { counter.count(block) };
            if !is_worth_a_line(block, count) {
                // A block that begins within these lines also ends with them.
                next += len + 1 - MIN_BLOCK_LINES;
                continue;
            }
            let (run, line) = place;
            found.push(LineBlock {
                lines: LineRange { first: next as u64 + 1, last: (next + len) as u64 },
                at: run.at,
                first: run.first + line as u64,
                tokens: count,
            });
            next += len;
        }
        found
    }

    /// The longest match for a prefix of these lines, the newest if there are several: run, index
    /// of its first line, length.
    fn longest(&self, lines: &[(usize, &str)], hashes: &[u64]) -> Option<((&Run, usize), usize)> {
        let places = self.places.get(&number_of(hashes.get(..MIN_BLOCK_LINES)?))?;
        let mut best: Option<((&Run, usize), usize)> = None;
        for (run, line) in places.iter().rev().take(MAX_PLACES) {
            let (run, line) = (&self.runs[*run as usize], *line as usize);
            let same = run.lines[line..].iter().zip(hashes).zip(lines).enumerate();
            let same = same.take_while(|(offset, (((_, known), hash), (_, text)))| {
                known == *hash && run.line(line + offset) == *text
            });
            let len = same.count();
            if len >= MIN_BLOCK_LINES && best.is_none_or(|(_, longest)| len > longest) {
                best = Some(((run, line), len));
            }
        }
        best
    }

    fn enter_run(&mut self, run: Run) {
        let Ok(number) = u32::try_from(self.runs.len()) else { return };
        let hashes: Vec<u64> = run.lines.iter().map(|(_, hash)| *hash).collect();
        for (line, hashes) in (0u32..).zip(hashes.windows(MIN_BLOCK_LINES)) {
            let places = self.places.entry(number_of(hashes)).or_default();
            // If lines repeat within a run, only the first place counts.
            if places.last().is_none_or(|(known, _)| *known != number) {
                places.push((number, line));
            }
        }
        if hashes.len() >= MIN_BLOCK_LINES {
            self.runs.push(run);
        }
    }
}

impl Run {
    fn line(&self, index: usize) -> &str {
        let rest = &self.text[self.lines[index].0 as usize..];
        rest.split('\n').next().unwrap_or(rest)
    }
}

/// The lines of a text, as people count them, with their byte offsets.
fn line_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.strip_suffix('\n').unwrap_or(text).split('\n').map(move |line| {
        let span = (start, line);
        start += line.len() + 1;
        span
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(words: &str, lines: std::ops::RangeInclusive<u64>) -> String {
        let lines: Vec<String> =
            lines.map(|n| format!("{words} has a line with the number {n}")).collect();
        lines.join("\n")
    }

    fn index(texts: &[&str]) -> LinesIndex {
        let mut index = LinesIndex::default();
        for (at, text) in (0..).zip(texts) {
            index.enter(at, &Arc::from(*text), &[LineRange { first: 1, last: u64::MAX }]);
        }
        index
    }

    #[test]
    fn blocks_are_found_where_they_stand() {
        let new = format!("{}\nown\n{}", text("b", 7..=20), text("a", 1..=9));
        let found = index(&[&text("a", 1..=30), &text("b", 1..=12), &text("b", 5..=30)]).blocks(
            &new,
            MIN_BLOCK_LINES,
            Counter::Bundled,
        );
        let places: Vec<_> = found
            .iter()
            .map(|block| (block.lines.first, block.lines.last, block.at, block.first))
            .collect();
        assert_eq!(places, [(1, 14, 2, 3), (16, 24, 0, 1)]);
    }

    #[test]
    fn few_lines_and_few_words_are_no_block() {
        let known = index(&[&text("a", 1..=30), &"}\n".repeat(30)]);
        assert_eq!(known.blocks(&text("a", 3..=6), MIN_BLOCK_LINES, Counter::Bundled), []);
        assert_eq!(known.blocks(&text("a", 3..=10), 20, Counter::Bundled), []);
        assert_eq!(known.blocks(&"}\n".repeat(20), MIN_BLOCK_LINES, Counter::Bundled), []);
        assert_eq!(known.blocks(&text("a", 3..=10), MIN_BLOCK_LINES, Counter::Bundled).len(), 1);
    }

    #[test]
    fn only_the_lines_entered_stand() {
        let whole: Arc<str> = text("a", 1..=30).into();
        let mut index = LinesIndex::default();
        let ranges = [LineRange { first: 7, last: 14 }, LineRange { first: 17, last: 20 }];
        index.enter(3, &whole, &ranges);
        let found = index.blocks(&whole, MIN_BLOCK_LINES, Counter::Bundled);
        let found: Vec<_> =
            found.iter().map(|block| (block.lines.first, block.lines.last, block.first)).collect();
        assert_eq!(found, [(7, 14, 7)]);
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn a_block_matches_only_the_same_text(
            known in prop::collection::vec(prop::collection::vec(0u8..4, 0..40), 1..5),
            new in prop::collection::vec(0u8..4, 0..60),
        ) {
            let text = |lines: &[u8]| {
                lines.iter().map(|n| format!("a line with some words: {n}")).collect::<Vec<_>>().join("\n")
            };
            let known: Vec<String> = known.iter().map(|lines| text(lines)).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let new = text(&new);
            let lines = |text: &str, first: u64, len: u64| {
                let skip = usize::try_from(first - 1).unwrap();
                let lines: Vec<String> = text.split('\n').skip(skip).take(usize::try_from(len).unwrap()).map(str::to_owned).collect();
                lines
            };
            let mut next = 1;
            for block in index(&known).blocks(&new, MIN_BLOCK_LINES, Counter::Bundled) {
                prop_assert!(block.lines.first >= next && block.lines.len() >= 5);
                let here = lines(&new, block.lines.first, block.lines.len());
                let there = lines(known[usize::try_from(block.at).unwrap()], block.first, block.lines.len());
                prop_assert_eq!(here.len() as u64, block.lines.len());
                prop_assert_eq!(here, there);
                next = block.lines.last + 1;
            }
        }
    }
}
