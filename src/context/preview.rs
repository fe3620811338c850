//! Plans which lines of a long output are shown when it is first sent, by the kind of tool.
//!
//! Pure; knows no session. Decides only which lines are shown; all others are counted.

use super::lines_index::Block;
use super::words;
use crate::harness::{ShellKind, ToolKind};
use crate::session::{LineRange, Piece, join_pieces};

/// Characters of a token, about.
const CHARS_PER_TOKEN: usize = 4;
/// Longest line that a preview shows whole, in characters, in texts with lines of a usual length.
const LINE_CHARS: usize = 400;
/// A text with more characters per line than this on average is data without line breaks.
const DATA_LINE_CHARS: usize = 2_000;
/// Factor on the preview limit for files shown whole and for search results.
const ASKED_FOR: u64 = 4;
/// About what the line costs that counts hidden lines, in characters. Shorter gaps are shown instead.
const BETWEEN_CHARS: usize = 60;
/// Lines shown around one that contains a word of the model's.
const WORD_CONTEXT: usize = 1;
/// Lines shown after one that names an error: compilers put the location there.
const ERROR_CONTEXT: usize = 3;
/// Lines per file that a long search result shows: the first number that fits.
const LINES_OF_A_FILE: [usize; 4] = [8, 4, 2, 1];

/// Words that mark lines about a failure, in lower case.
const FAILURES: [&str; 12] = [
    "error",
    "fail",
    "panicked",
    "exception",
    "traceback",
    "fatal",
    "not ok",
    "assert",
    "undefined",
    "cannot ",
    "✗",
    "✖",
];
/// Words that mark summary lines, in lower case.
const SUMMARIES: [&str; 9] = [
    "test result",
    "passed",
    " warnings",
    "warning: ",
    "tests:",
    "ran ",
    "finished",
    "exit code",
    "summary",
];
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

/// An output that may be previewed.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The text.
    pub text: &'a str,
    /// The number of tokens in the text.
    pub tokens: u64,
    /// The kind of call that produced it.
    pub kind: ToolKind,
    /// What the model wrote in the message with the call, arguments included.
    pub said: &'a str,
    /// Blocks of lines that the window already shows elsewhere; they are not part of the preview.
    pub standing: &'a [Block],
}

/// Shares of a preview's characters, in tenths. Unused characters go to the tail, or to the head if the tail has no
/// share.
struct Shares {
    head: usize,
    tail: usize,
    marked: usize,
    words: usize,
}

/// The state of the lines while a preview is planned.
struct Plan<'a> {
    lines: &'a [&'a str],
    /// Whether each line is shown, here or elsewhere.
    kept: Vec<bool>,
    chars: usize,
}

/// Chooses the lines of an output to show; `None` if it is short enough to show whole.
///
/// `limit_tokens`: longest output that is shown whole, in tokens; four times that for files and search results. A
/// preview shows about half of it. 0 turns previews off. The pieces include the lines that stand elsewhere.
pub fn plan(output: &Output<'_>, limit_tokens: u64) -> Option<Vec<Piece>> {
    let limit = limit_tokens.saturating_mul(if is_asked_for(output.kind) { ASKED_FOR } else { 1 });
    let standing: u64 = output.standing.iter().map(|block| block.tokens).sum();
    if limit == 0 || output.tokens.saturating_sub(standing) <= limit {
        return None;
    }
    Some(plan_within(output, limit / 2))
}

/// Chooses the lines of an output that fit into about this many tokens. The pieces include the lines that stand elsewhere.
pub fn plan_within(output: &Output<'_>, tokens: u64) -> Vec<Piece> {
    let lines: Vec<&str> = output.text.split('\n').collect();
    let budget = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN);
    let each = budget / lines.len();
    let is_data = output.text.len() / lines.len() > DATA_LINE_CHARS && each > LINE_CHARS;
    let chars = if is_data { each } else { LINE_CHARS };
    let mut kept = vec![is_data; lines.len()];
    for block in output.standing {
        kept[indexes(block.lines)].fill(true);
    }
    let mut plan = Plan { lines: &lines, kept, chars };
    plan.fill(output, budget);
    plan.close_gaps();
    plan.pieces(output.standing)
}

/// The pieces of an output that is shown except for what stands elsewhere.
pub fn without_standing(total: u64, standing: &[Block]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next = 1;
    for block in standing {
        let shown = LineRange { first: next, last: block.lines.first - 1 };
        pieces.push(Piece::Shown { shown, chars: None });
        pieces.push(Piece::Standing { standing: block.lines, at: block.at, first: block.first });
        next = block.lines.last + 1;
    }
    pieces.push(Piece::Shown { shown: LineRange { first: next, last: total }, chars: None });
    join_pieces(pieces)
}

fn is_asked_for(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Read
            | ToolKind::Search
            | ToolKind::Shell(ShellKind::Read | ShellKind::Search | ShellKind::Pick)
    )
}

fn shares(kind: ToolKind) -> Shares {
    match kind {
        ToolKind::Shell(ShellKind::Build) => Shares { head: 1, tail: 4, marked: 3, words: 2 },
        ToolKind::Shell(ShellKind::Diff) => Shares { head: 3, tail: 0, marked: 5, words: 2 },
        ToolKind::Search | ToolKind::Shell(ShellKind::Search) => {
            Shares { head: 1, tail: 0, marked: 7, words: 2 }
        }
        ToolKind::List | ToolKind::Find | ToolKind::Shell(ShellKind::Listing) => {
            Shares { head: 8, tail: 0, marked: 0, words: 2 }
        }
        ToolKind::Shell(_) => Shares { head: 3, tail: 4, marked: 1, words: 2 },
        _ => Shares { head: 5, tail: 3, marked: 0, words: 2 },
    }
}

impl Plan<'_> {
    /// Marks lines to show, up to this many characters.
    fn fill(&mut self, output: &Output<'_>, budget: usize) {
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
            _ if shares.marked > 0 => self.failures(share(shares.marked)),
            _ => 0,
        };
        let said = words::identifiers(output.said);
        let near = words::lines_with(self.lines, &said).into_iter();
        let last = self.lines.len() - 1;
        let near =
            near.flat_map(|at| at.saturating_sub(WORD_CONTEXT)..=(at + WORD_CONTEXT).min(last));
        used += self.keep_each(near, share(shares.words));
        let rest = budget.saturating_sub(used);
        let head = if shares.tail == 0 { rest } else { share(shares.head).min(rest) };
        let used = self.keep_while(0..=last, head);
        if shares.tail > 0 {
            self.keep_while((0..=last).rev(), rest - used);
        }
    }

    /// Lines about failures with the lines after them, first ones first. A quarter of the characters goes to summary
    /// lines, last ones first.
    fn failures(&mut self, allowed: usize) -> usize {
        let has = |line: &str, words: &[&str]| {
            let start: String = line.chars().take(LINE_CHARS).collect();
            let start = start.to_lowercase();
            words.iter().any(|word| start.contains(word))
        };
        let summaries: Vec<usize> = self.places(|line| has(line, &SUMMARIES)).collect();
        let failures: Vec<usize> = self
            .places(|line| has(line, &FAILURES))
            .filter(|at| summaries.binary_search(at).is_err())
            .collect();
        let used = self.keep_each(summaries.into_iter().rev(), allowed / 4);
        let last = self.lines.len() - 1;
        let with_place = failures.into_iter().flat_map(|at| at..=(at + ERROR_CONTEXT).min(last));
        used + self.keep_each(with_place, allowed - used)
    }

    /// The first lines of each file in a search result.
    fn first_of_each_file(&mut self, allowed: usize) -> usize {
        let mut number = 0;
        let mut file = "";
        let numbers: Vec<usize> = self
            .lines
            .iter()
            .map(|line| {
                let head = line.split_once(':').map_or(*line, |(head, _)| head);
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

    /// Shows lines in this order while they fit; lines that are shown already cost nothing.
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

    fn pieces(&self, standing: &[Block]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut blocks = standing.iter().peekable();
        let mut line = 1;
        while line <= self.lines.len() as u64 {
            if let Some(block) = blocks.next_if(|block| block.lines.first == line) {
                pieces.push(Piece::Standing {
                    standing: block.lines,
                    at: block.at,
                    first: block.first,
                });
                line = block.lines.last + 1;
                continue;
            }
            let one = LineRange { first: line, last: line };
            let [text] = &self.lines[indexes(one)] else { break };
            pieces.push(if self.kept[indexes(one)] == [true] {
                // Only uncut lines can be referred to, so cut ones are pieces of their own.
                let is_cut = text.len() > self.chars && text.chars().count() > self.chars;
                Piece::Shown { shown: one, chars: is_cut.then_some(self.chars as u64) }
            } else {
                Piece::Between { between: one }
            });
            line += 1;
        }
        join_pieces(pieces)
    }
}

fn indexes(lines: LineRange) -> std::ops::Range<usize> {
    let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    index(lines.first - 1)..index(lines.last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::excerpt::{self, Named};
    use crate::context::tokens;
    use crate::object::Handle;

    fn shown(kind: ToolKind, text: &str, said: &str, limit: u64) -> String {
        let tokens = tokens::count(text);
        let output = Output { text, tokens, kind, said, standing: &[] };
        let pieces = plan(&output, limit).expect("a preview is due");
        let named = Named { handle: Handle::parse("t17").unwrap(), before: 0 };
        excerpt::render(text, &pieces, named, &|_, _| None).unwrap()
    }

    fn log(lines: usize) -> Vec<String> {
        (1..=lines).map(|n| format!("line {n} of the log")).collect()
    }

    fn build() -> ToolKind {
        ToolKind::Shell(ShellKind::Build)
    }

    #[test]
    fn a_build_shows_its_failures_and_its_end() {
        let mut log = log(1_400);
        log[500] = "error[E0382]: borrow of moved value".into();
        log[501] = "  --> src/a.rs:7:9".into();
        log.push("test result: FAILED. 3 passed; 1 failed".into());
        let shown = shown(build(), &log.join("\n"), "", 400);
        let errors =
            "(t17:11-500) …\nerror[E0382]: borrow of moved value\n  --> src/a.rs:7:9\nline 503";
        assert!(shown.starts_with("line 1 of") && shown.contains("error[E0382]"), "{shown}");
        assert!(shown.contains(&errors["(t17:11-500) …".len()..]), "{shown}");
        assert!(shown.ends_with("line 1400 of the log\ntest result: FAILED. 3 passed; 1 failed"));
    }

    #[test]
    fn a_listing_shows_its_head_and_a_page_both_ends() {
        let text = log(1_400).join("\n");
        let listing = shown(ToolKind::Shell(ShellKind::Listing), &text, "", 400);
        assert!(listing.ends_with("-1400) …") && listing.starts_with("line 1 of"), "{listing}");
        let page = shown(ToolKind::Web, &text, "", 400);
        assert!(page.starts_with("line 1 of") && page.ends_with("line 1400 of the log"), "{page}");
    }

    #[test]
    fn a_difference_shows_where_every_change_is() {
        let mut text = log(900);
        for at in [0, 300, 600] {
            text[at] = format!("diff --git a/{at}.rs b/{at}.rs");
            text[at + 1] = "@@ -1,2 +1,3 @@ fn main".into();
        }
        let shown = shown(ToolKind::Shell(ShellKind::Diff), &text.join("\n"), "", 400);
        for at in [0, 300, 600] {
            let heads = format!("diff --git a/{at}.rs b/{at}.rs\n@@ -1,2 +1,3 @@ fn main");
            assert!(shown.contains(&heads), "{shown}");
        }
    }

    #[test]
    fn an_answer_to_a_pattern_is_whole_until_it_is_huge_and_then_shows_every_file() {
        let hits: Vec<String> =
            (0..600).map(|n| format!("src/file{}.rs:{n}: a hit of the pattern", n / 30)).collect();
        let text = hits.join("\n");
        let tokens = tokens::count(&text);
        let output =
            Output { text: &text, tokens, kind: ToolKind::Search, said: "", standing: &[] };
        assert_eq!(plan(&output, tokens / 3), None);
        let shown = shown(ToolKind::Search, &text, "", tokens / 5);
        for file in 0..20 {
            assert!(shown.contains(&format!("src/file{file}.rs:{}:", file * 30)), "{shown}");
        }
    }

    #[test]
    fn data_without_line_breaks_is_cut_by_characters() {
        let shown = shown(ToolKind::Web, &"x1 ".repeat(50_000), "", 4_000);
        assert!(shown.contains("… 142,000 characters between (t17:1) …"), "{shown}");
    }

    #[test]
    fn lines_with_the_models_words_are_shown() {
        let mut log = log(1_400);
        log[700] = "settle_rereads is called".into();
        let shown = shown(ToolKind::Other, &log.join("\n"), "Where is `settle_rereads`?", 400);
        let around = "line 700 of the log\nsettle_rereads is called\nline 702 of the log";
        assert!(shown.contains(around), "{shown}");
    }

    #[test]
    fn outputs_within_the_limit_are_shown_whole() {
        let text = log(900).join("\n");
        let tokens = tokens::count(&text);
        let mut output = Output { text: &text, tokens, kind: build(), said: "", standing: &[] };
        assert_eq!(plan(&output, tokens), None);
        assert_eq!(plan(&output, 0), None);
        let lines = LineRange { first: 1, last: 800 };
        let block = [Block { lines, at: 3, first: 1, tokens: tokens / 2 }];
        output.standing = &block;
        assert_eq!(plan(&output, tokens / 2 + 1), None);
    }

    proptest! {
        #[test]
        fn every_line_is_in_one_piece_and_the_preview_keeps_to_its_size(
            lines in prop::collection::vec("(error |src/a.rs:1:|@@ |)[a-z ]{0,60}", 1..200),
            kind in prop::sample::select(vec![
                build(), ToolKind::Web, ToolKind::Search, ToolKind::Shell(ShellKind::Diff), ToolKind::List,
            ]),
        ) {
            let text = lines.join("\n");
            let tokens = tokens::count(&text);
            let output = Output { text: &text, tokens, kind, said: "error_kind", standing: &[] };
            let Some(pieces) = plan(&output, 200) else { return Ok(()) };
            let mut next = 1;
            for piece in &pieces {
                prop_assert_eq!(piece.lines().first, next);
                next = piece.lines().last + 1;
            }
            prop_assert_eq!(next, lines.len() as u64 + 1);
            let shown: usize = pieces.iter().filter(|piece| matches!(piece, Piece::Shown { .. }))
                .map(|piece| lines[indexes(piece.lines())].iter().map(|line| line.len() + 1).sum::<usize>())
                .sum();
            // What lies between two shown lines is shown too where counting it costs as much.
            let limit = if is_asked_for(kind) { 800 } else { 200 };
            prop_assert!(shown <= limit * 2 * 3, "{shown}");
        }
    }
}
