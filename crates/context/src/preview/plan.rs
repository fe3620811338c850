//! Marks the lines that a preview shows, within its room: failures first, then what the kind of
//! tool calls for, the model's words, the head and the tail.

use std::sync::LazyLock;

use regex::Regex;

use super::{PreviewedOutput, TestReport, indexes, piece_of};
use crate::lines_index::LineBlock;
use crate::words;
use base::harness::{ShellKind, ToolKind, tells_part};
use session::{LINE_CHARS, LineRange, Piece, join_pieces};

/// Approximate size of the line that counts hidden lines, in characters. Shorter gaps are shown
/// instead.
pub(super) const BETWEEN_CHARS: usize = 60;
/// Lines at each end among which the first or last line is looked for.
const END_LINES: usize = 5;
/// Lines shown around one that contains one of the model's words.
const WORD_CONTEXT: usize = 1;
/// Lines shown after one that names an error, because compilers put the location there.
const ERROR_CONTEXT: usize = 3;
/// Lines per file that a long search result shows: the first number that fits.
const LINES_OF_A_FILE: [usize; 4] = [8, 4, 2, 1];

/// Lines shown per failure if not all fit: the first number that fits.
const LINES_OF_A_FAILURE: [usize; 5] = [usize::MAX, 20, 8, 3, 1];

/// Words of lines that may be about a failure.
static FAILURES: LazyLock<Regex> = LazyLock::new(|| {
    any_of("error|fail|panicked|exception|traceback|fatal|not ok|assert|undefined|cannot |✗|✖")
});
/// Words that mark summary lines.
static SUMMARIES: LazyLock<Regex> = LazyLock::new(|| {
    any_of("test result|passed| warnings|warning: |tests:|ran |finished|exit code|summary")
});

/// A line of a search with the number of the line in its file: `a.rs:9:`, and `a.rs-8-` of one around
/// a match. A line of one file begins with its number.
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| {
    let line =
        r"^(?:[0-9]+[:-]|(?<hit>\S*?[^\s0-9:-]\S*?):[0-9]+:|(?<near>\S*[^\s0-9:-]\S*?)-[0-9]+-)";
    Regex::new(line).expect("a tested constant")
});

/// Finds any of these words, in any case.
fn any_of(words: &str) -> Regex {
    Regex::new(&format!("(?i){words}")).expect("constants that tests compile")
}

/// Most bytes of a line of the host's that is shown whole.
const NOTICE_BYTES: usize = 4_000;
/// Prefixes of lines that locate a change.
const DIFF_HEADS: [&str; 11] = [
    "diff --git ",
    "--- ",
    "+++ ",
    "@@ ",
    "commit ",
    "Binary files ",
    "rename ",
    "new file",
    "deleted file",
    "*** ",
    "Subject: ",
];

/// The characters that a preview may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// For failures.
    pub(super) failures: usize,
    /// For all lines together, as far as failures leave room.
    pub(super) all: usize,
    /// For the other lines, whatever failures take.
    pub(super) others: usize,
}

/// Shares of a preview's characters, in tenths. Unused characters go to the tail, or to the head if
/// the tail has no share.
struct Shares {
    head: usize,
    tail: usize,
    marked: usize,
    words: usize,
}

/// The state of the lines while a preview is planned.
pub(super) struct Plan<'a> {
    pub(super) lines: &'a [&'a str],
    /// What each line of a run reports; empty for other outputs.
    pub(super) reports: &'a [TestReport],
    /// Whether each line is shown, here or elsewhere.
    pub(super) kept: Vec<bool>,
    pub(super) chars: usize,
}

fn shares(kind: ToolKind) -> Shares {
    match kind {
        ToolKind::Shell(ShellKind::Build) => Shares { head: 1, tail: 4, marked: 3, words: 2 },
        ToolKind::Shell(ShellKind::Diff) => Shares { head: 3, tail: 0, marked: 5, words: 2 },
        ToolKind::Search | ToolKind::Shell(ShellKind::Search) => {
            Shares { head: 1, tail: 1, marked: 6, words: 2 }
        }
        ToolKind::List | ToolKind::Find | ToolKind::Shell(ShellKind::Listing) => {
            Shares { head: 6, tail: 2, marked: 0, words: 2 }
        }
        ToolKind::Shell(_) => Shares { head: 3, tail: 4, marked: 1, words: 2 },
        _ => Shares { head: 5, tail: 3, marked: 0, words: 2 },
    }
}

impl Plan<'_> {
    /// Marks lines to show.
    pub(super) fn fill(&mut self, output: &PreviewedOutput<'_>, room: Room) {
        self.ends(room.all / 4);
        let of_failures = self.failures(room.failures);
        let is_shown =
            |(report, kept): (&TestReport, &bool)| *report != TestReport::Failure || *kept;
        if !self.reports.iter().zip(&self.kept).all(is_shown) {
            self.close_gaps();
            return;
        }
        self.fill_up(output, room.all.saturating_sub(of_failures).max(room.others));
        self.close_gaps();
    }

    /// Where no line fits, shows what the room has of the first one.
    pub(super) fn shows_something(&mut self, room: usize) {
        let mut shown = self.lines.iter().zip(&self.kept);
        let first = self.lines.iter().position(|line| !line.trim().is_empty());
        if let Some(first) = first.filter(|_| room > 2 * BETWEEN_CHARS)
            && !shown.any(|(line, kept)| *kept && !line.is_empty())
        {
            self.chars = self.chars.min(room - BETWEEN_CHARS);
            self.kept[first] = true;
        }
    }

    /// Shows the first and the last line that say something, whatever takes the rest of the room:
    /// a reader must see where an output begins and ends.
    fn ends(&mut self, allowed: usize) {
        let says = |at: &usize| !self.lines[*at].trim().is_empty() && !self.is_routine(*at);
        let last = self.lines.len() - 1;
        let first = (0..=last).take(END_LINES).find(says);
        let end = (0..=last).rev().take(END_LINES).find(|at| says(at) && !self.kept[*at]);
        self.keep_each(first.into_iter().chain(end), allowed);
    }

    /// Marks lines besides those of failures.
    fn fill_up(&mut self, output: &PreviewedOutput<'_>, budget: usize) {
        let shares = shares(output.kind);
        let share = |tenths: usize| budget / 10 * tenths;
        let mut used = match output.kind {
            ToolKind::Search | ToolKind::Shell(ShellKind::Search) => {
                self.first_of_each_file(share(shares.marked))
            }
            ToolKind::Shell(ShellKind::Diff) => {
                let is_head = |line: &str| DIFF_HEADS.iter().any(|head| line.starts_with(head));
                let heads: Vec<usize> = self.places(is_head).collect();
                self.keep_each(heads, share(shares.marked))
            }
            _ if shares.marked > 0 => self.mentions(share(shares.marked)),
            _ => 0,
        };
        let said = words::identifiers(output.said);
        let named = words::lines_with(self.lines, &said);
        let last = self.lines.len() - 1;
        let mut near = Vec::new();
        for named in named {
            let around = named.saturating_sub(WORD_CONTEXT)..=(named + WORD_CONTEXT).min(last);
            near.extend(around.filter(|at| *at == named || !self.is_routine(*at)));
        }
        used += self.keep_each(near, share(shares.words));
        let rest = budget.saturating_sub(used);
        let head = if shares.tail == 0 { rest } else { share(shares.head).min(rest) };
        let says: Vec<usize> = (0..=last).filter(|at| !self.is_routine(*at)).collect();
        let used = self.keep_while(says.iter().copied(), head);
        if shares.tail > 0 {
            self.keep_while(says.into_iter().rev(), rest - used);
        }
    }

    /// Shows the lines that say that something failed and, if these all fit, as much of each
    /// failure as fits.
    fn failures(&mut self, allowed: usize) -> usize {
        let of = |wanted: TestReport| {
            let places = self.reports.iter().enumerate();
            places.filter(move |(_, report)| **report == wanted).map(|(at, _)| at)
        };
        let heads: Vec<usize> = of(TestReport::Failure).collect();
        let mut before = 0;
        let mut number = 0;
        let details: Vec<(usize, usize)> = of(TestReport::Detail)
            .map(|at| {
                number = if at == before + 1 { number + 1 } else { 1 };
                before = at;
                (at, number)
            })
            .collect();
        let used = self.keep_each(heads, allowed);
        for most in LINES_OF_A_FAILURE {
            let some = details.iter().filter(|(_, number)| *number <= most).map(|(at, _)| *at);
            let some: Vec<usize> = some.collect();
            let cost = some.iter().map(|at| self.cost(*at)).sum::<usize>();
            if cost <= allowed - used {
                return used + self.keep_each(some, allowed - used);
            }
        }
        used
    }

    /// Whether a line reports success.
    fn is_routine(&self, at: usize) -> bool {
        self.reports.get(at) == Some(&TestReport::Routine)
    }

    /// Shows lines with words about failures and the lines after them, from the first on. A quarter
    /// of the characters goes to summary lines, from the last on.
    fn mentions(&mut self, allowed: usize) -> usize {
        let start = |at: usize| {
            let line = self.lines[at];
            let end = (line.len() > LINE_CHARS).then(|| line.char_indices().nth(LINE_CHARS));
            end.flatten().map_or(line, |(end, _)| &line[..end])
        };
        let is_summary = |at: &usize| {
            self.reports.get(*at) == Some(&TestReport::Summary) || SUMMARIES.is_match(start(*at))
        };
        let last = self.lines.len() - 1;
        let says: Vec<usize> = (0..=last).filter(|at| !self.is_routine(*at)).collect();
        let (summaries, others): (Vec<usize>, Vec<usize>) = says.into_iter().partition(is_summary);
        let failures = others.into_iter().filter(|at| FAILURES.is_match(start(*at)));
        let with_place = failures.flat_map(|at| at..=(at + ERROR_CONTEXT).min(last));
        let with_place: Vec<usize> = with_place.filter(|at| !self.is_routine(*at)).collect();
        let used = self.keep_each(summaries.into_iter().rev(), allowed / 4);
        used + self.keep_each(with_place, allowed - used)
    }

    /// Shows the first lines of each file in a search result.
    fn first_of_each_file(&mut self, allowed: usize) -> usize {
        let mut number = 0;
        let mut file = "";
        let numbers: Vec<usize> = self
            .lines
            .iter()
            .map(|line| {
                let numbered = NUMBERED.captures(line);
                let named = numbered.and_then(|found| found.name("hit").or(found.name("near")));
                let head = named.map(|file| file.as_str());
                let head = head.or_else(|| Some(line.split_once(':')?.0)).unwrap_or(line);
                let names_a_file = !head.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                if names_a_file && head != file && !line.starts_with([' ', '\t']) {
                    file = head;
                    number = 0;
                }
                number += 1;
                number
            })
            .collect();
        for most in LINES_OF_A_FILE {
            let places: Vec<usize> =
                (0..self.lines.len()).filter(|at| numbers[*at] <= most).collect();
            let cost: usize = places.iter().map(|at| self.cost(*at)).sum();
            if cost <= allowed {
                return self.keep_each(places, allowed);
            }
        }
        0
    }

    fn places<'b>(
        &'b self,
        is_one: impl Fn(&str) -> bool + 'b,
    ) -> impl Iterator<Item = usize> + 'b {
        (0..self.lines.len()).filter(move |at| is_one(self.lines[*at]))
    }

    /// Shows lines in this order while they fit. Lines already shown cost nothing.
    fn keep_while(&mut self, places: impl Iterator<Item = usize>, allowed: usize) -> usize {
        let mut used = 0;
        for at in places {
            let cost = self.cost(at);
            if used + cost > allowed {
                break;
            }
            used += cost;
            self.kept[at] = true;
        }
        used
    }

    /// Shows each of these lines that still fits.
    fn keep_each(&mut self, places: impl IntoIterator<Item = usize>, allowed: usize) -> usize {
        let mut used = 0;
        for at in places {
            let cost = self.cost(at);
            if used + cost <= allowed {
                used += cost;
                self.kept[at] = true;
            }
        }
        used
    }

    /// The characters that showing a line adds.
    fn cost(&self, at: usize) -> usize {
        if self.kept[at] {
            return 0;
        }
        let line = self.lines[at];
        // Counting is needed only for lines that may be too long.
        let chars = if line.len() <= self.chars { line.len() } else { line.chars().count() };
        chars.min(self.chars + BETWEEN_CHARS) + 1
    }

    /// Fills gaps that cost no more than the line that would count them.
    fn close_gaps(&mut self) {
        let mut at = 0;
        while at < self.lines.len() {
            let end = (at..self.lines.len()).find(|at| self.kept[*at]).unwrap_or(self.lines.len());
            let cost: usize = (at..end).map(|at| self.cost(at)).sum();
            if cost <= BETWEEN_CHARS {
                self.kept[at..end].fill(true);
            }
            at = end + 1;
        }
    }

    /// The lines as pieces, in order.
    pub(super) fn pieces(&self, standing: &[LineBlock]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut blocks = standing.iter().peekable();
        let mut line = 1;
        while line <= self.lines.len() as u64 {
            if let Some(block) = blocks.next_if(|block| block.lines.first == line) {
                pieces.push(piece_of(block));
                line = block.lines.last + 1;
                continue;
            }
            let one = LineRange { first: line, last: line };
            let [text] = &self.lines[indexes(one)] else { break };
            pieces.push(if self.kept[indexes(one)] == [true] {
                // Only uncut lines can be referred to, so cut ones become separate pieces.
                let is_long = text.len() > self.chars && text.chars().count() > self.chars;
                if is_long && !(text.len() <= NOTICE_BYTES && tells_part(text)) {
                    Piece::Ends { ends: one, chars: self.chars as u64 }
                } else {
                    Piece::Shown { shown: one }
                }
            } else {
                Piece::Between { between: one, of: None }
            });
            line += 1;
        }
        join_pieces(pieces)
    }
}
