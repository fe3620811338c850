//! Plans which lines of a long output to show when it is first sent, by the kind of tool.
//!
//! A run's failures are all shown, whatever their size; its successes only if the model's words
//! name them. `reports` tells them apart. Pure; knows no session. Decides only which lines are
//! shown; all others are counted.

mod marks;
mod plan;
mod reports;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod sums;

use self::plan::{Plan, Room};
pub use self::reports::{TestReport, reports};
use super::lines_index::LineBlock;
use base::harness::{ShellKind, ToldPart, ToolKind, host_lines, told_part};
use session::{LINE_CHARS, LineRange, Piece, join_pieces};

/// Approximate characters per token.
const CHARS_PER_TOKEN: usize = 4;
/// A text with a longer average line than this, in characters, is data without line breaks.
const DATA_LINE_CHARS: usize = 2_000;
/// Factor on the preview limit for whole files and search results.
const ASKED_FOR: u64 = 4;
/// An output that may be previewed.
#[derive(Debug, Clone, Copy)]
pub struct PreviewedOutput<'a> {
    /// The text.
    pub text: &'a str,
    /// The number of tokens in the text.
    pub tokens: u64,
    /// The kind of call that produced it.
    pub kind: ToolKind,
    /// What the model wrote in the message with the call, including arguments.
    pub said: &'a str,
    /// Lines of the whole output, as people count them.
    pub lines: u64,
    /// Blocks of lines that the window already shows elsewhere. They are not part of the preview.
    pub standing: &'a [LineBlock],
}

/// Chooses the lines of an output to show; `None` if it is short enough to show whole.
///
/// `limit_tokens`: longest output shown whole, in tokens; four times that for files and search
/// results. 0 turns previews off. A preview shows about half of the limit, and all failures in
/// addition. The pieces include lines that stand elsewhere.
pub fn plan(output: &PreviewedOutput<'_>, limit_tokens: u64) -> Option<Vec<Piece>> {
    let limit = limit_tokens.saturating_mul(if is_asked_for(output.kind) { ASKED_FOR } else { 1 });
    let standing: u64 = output.standing.iter().map(|block| block.tokens).sum();
    if limit == 0 || output.tokens.saturating_sub(standing) <= limit {
        return None;
    }
    let all = chars(limit / 2);
    let room = Room { failures: usize::MAX, all, others: all / 4 };
    Some(Examined::of(output).plan(output, room))
}

/// Chooses the lines of an output that fit into about so many tokens, for each of these numbers,
/// failures first. The pieces include lines that stand elsewhere.
pub fn plans_within(
    output: &PreviewedOutput<'_>,
    tokens: impl IntoIterator<Item = u64>,
) -> impl Iterator<Item = Vec<Piece>> {
    let examined = Examined::of(output);
    tokens.into_iter().map(move |tokens| {
        let all = chars(tokens);
        examined.plan(output, Room { failures: all, all, others: 0 })
    })
}

fn chars(tokens: u64) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(CHARS_PER_TOKEN)
}

/// What is known of an output, however much of it is shown.
struct Examined<'a> {
    lines: Vec<&'a str>,
    /// Whether each line is shown in any case, or stands elsewhere.
    kept: Vec<bool>,
    reports: Vec<TestReport>,
}

impl<'a> Examined<'a> {
    fn of(output: &PreviewedOutput<'a>) -> Self {
        let lines: Vec<&str> = output.text.split('\n').collect();
        let mut kept = vec![false; lines.len()];
        // What ends the last line begins none that could be counted.
        if let [_, .., ""] = lines.as_slice() {
            kept[lines.len() - 1] = true;
        }
        for block in output.standing {
            kept[indexes(block.lines)].fill(true);
        }
        // The numbers of the whole say how many lines the middle has that the host left out.
        let middle = match told_part(output.text) {
            Some(ToldPart::Ends { line, .. }) => usize::try_from(line - 1).ok(),
            _ => None,
        };
        for at in host_lines(&lines).into_iter().filter(|at| Some(*at) != middle) {
            kept[at] = true;
        }
        let reports = if is_run(output.kind) { reports(&lines) } else { Vec::new() };
        Self { lines, kept, reports }
    }

    fn plan(&self, output: &PreviewedOutput<'_>, room: Room) -> Vec<Piece> {
        let Self { lines, kept, reports } = self;
        let each = room.all / lines.len();
        let is_data = output.text.len() / lines.len() > DATA_LINE_CHARS && each > LINE_CHARS;
        let chars = if is_data { each } else { LINE_CHARS };
        let kept = if is_data { vec![true; lines.len()] } else { kept.clone() };
        let mut plan = Plan { lines, reports, kept, chars };
        plan.fill(output, room);
        let pieces = plan.pieces(output.standing);
        if is_list(output.kind) { with_total(pieces, output.lines) } else { pieces }
    }
}

/// The pieces with the number of all lines in the first line that counts some.
fn with_total(mut pieces: Vec<Piece>, lines: u64) -> Vec<Piece> {
    let mut counts = pieces.iter_mut().filter_map(|piece| match piece {
        Piece::Between { of, .. } => Some(of),
        _ => None,
    });
    if let Some(of) = counts.next() {
        *of = Some(lines);
    }
    pieces
}

/// The pieces of an output shown in full except for what stands elsewhere.
pub fn without_standing(total: u64, standing: &[LineBlock]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut next = 1;
    for block in standing {
        let shown = LineRange { first: next, last: block.lines.first - 1 };
        pieces.push(Piece::Shown { shown, chars: None });
        pieces.push(piece_of(block));
        next = block.lines.last + 1;
    }
    pieces.push(Piece::Shown { shown: LineRange { first: next, last: total }, chars: None });
    join_pieces(pieces)
}

fn piece_of(block: &LineBlock) -> Piece {
    let LineBlock { lines, at, first, .. } = *block;
    Piece::Standing { standing: lines, at, first, quoted: true, plain: true }
}

/// Whether calls of this kind ask for exactly what they show: files and matching lines.
pub fn is_asked_for(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Read
            | ToolKind::Search
            | ToolKind::Shell(ShellKind::Read | ShellKind::Search | ShellKind::Pick)
    )
}

/// Whether the number of its lines says much of an output of this kind: names, or matches.
fn is_list(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::List
            | ToolKind::Find
            | ToolKind::Search
            | ToolKind::Shell(ShellKind::Listing | ShellKind::Search)
    )
}

/// Whether an output of this kind reports how something ran. An unknown tool's output may.
fn is_run(kind: ToolKind) -> bool {
    matches!(
        kind,
        ToolKind::Other
            | ToolKind::Shell(
                ShellKind::Build | ShellKind::Log | ShellKind::Pick | ShellKind::Other
            )
    )
}

fn indexes(lines: LineRange) -> std::ops::Range<usize> {
    let index = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    index(lines.first - 1)..index(lines.last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::plan::BETWEEN_CHARS;
    use super::runs::{About, RUNNERS, Test};
    use super::*;
    use crate::excerpt::{self, NamedLines};
    use crate::tokens;
    use base::object::Handle;
    use session::Numbering;

    fn shown(kind: ToolKind, text: &str, said: &str, limit: u64) -> String {
        let tokens = tokens::count(text);
        let output = PreviewedOutput {
            text,
            tokens,
            kind,
            said,
            lines: text.split('\n').count() as u64,
            standing: &[],
        };
        let pieces = plan(&output, limit).expect("a preview is due");
        let named =
            NamedLines { handle: Handle::parse("t17").unwrap(), numbering: Numbering::default() };
        excerpt::render(text, &pieces, named, &|_, _, _| None).unwrap()
    }

    fn is_shown(pieces: &[Piece], at: usize) -> bool {
        let shown = |piece: &&Piece| matches!(piece, Piece::Shown { .. });
        pieces.iter().filter(shown).any(|piece| indexes(piece.lines()).contains(&at))
    }

    /// Passing tests that a preview shows although a line counting them would be shorter.
    fn shown_without_need(pieces: &[Piece], run: &runs::Output) -> Option<String> {
        let is_one = |at: usize| run.lines[at].0 == About::Pass && is_shown(pieces, at);
        let places: Vec<usize> = (0..run.lines.len()).filter(|at| is_one(*at)).collect();
        let next_to_each_other = places.chunk_by(|one, other| one + 1 == *other);
        let mut texts = next_to_each_other.map(|places| {
            places.iter().map(|at| run.lines[*at].1.as_str()).collect::<Vec<_>>().join("\n")
        });
        texts.find(|text| text.len() > BETWEEN_CHARS)
    }

    fn tests() -> impl Strategy<Value = Vec<Test>> {
        let message = prop::collection::vec("[a-z]{3,9} [a-z]{3,9}[0-9]{1,3}", 1..12);
        let failed = prop_oneof![6 => Just(None), 1 => message.prop_map(Some)];
        let test = ("[a-z]{4,9}_[a-z]{4,30}", failed);
        let tests = prop::collection::vec(test, 5..120);
        tests.prop_map(|tests| {
            let number = |(at, (name, failed)): (usize, (String, _))| Test {
                name: format!("{name}_{at}"),
                failed,
            };
            tests.into_iter().enumerate().map(number).collect()
        })
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
        assert!(listing.starts_with("line 1 of") && listing.contains(" of 1,400) …"), "{listing}");
        assert!(listing.ends_with("line 1400 of the log"), "{listing}");
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
    fn a_search_result_is_whole_or_shows_every_file() {
        let hits: Vec<String> =
            (0..600).map(|n| format!("src/file{}.rs:{n}: a hit of the pattern", n / 30)).collect();
        let text = hits.join("\n");
        let tokens = tokens::count(&text);
        let output = PreviewedOutput {
            text: &text,
            tokens,
            kind: ToolKind::Search,
            said: "",
            lines: 600,
            standing: &[],
        };
        assert_eq!(plan(&output, tokens / 3), None);
        let shown = shown(ToolKind::Search, &text, "", tokens / 5);
        for file in 0..20 {
            assert!(shown.contains(&format!("src/file{file}.rs:{}:", file * 30)), "{shown}");
        }
    }

    #[test]
    fn data_without_line_breaks_is_cut_by_characters() {
        let shown = shown(ToolKind::Web, &"x1 ".repeat(50_000), "", 4_000);
        assert!(shown.contains("… 142,000 characters between (t17:1:4001-146000) …"), "{shown}");
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
        let mut output = PreviewedOutput {
            text: &text,
            tokens,
            kind: build(),
            said: "",
            lines: 1,
            standing: &[],
        };
        assert_eq!(plan(&output, tokens), None);
        assert_eq!(plan(&output, 0), None);
        let lines = LineRange { first: 1, last: 800 };
        let block = [LineBlock { lines, at: 3, first: 1, tokens: tokens / 2 }];
        output.standing = &block;
        assert_eq!(plan(&output, tokens / 2 + 1), None);
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn a_preview_of_a_run_shows_failures_and_not_passing_tests(
            tests in tests(), runner in 0..RUNNERS.len(), kind in prop::sample::select(vec![build(), ToolKind::Other]),
        ) {
            let (name, run) = RUNNERS[runner];
            let run = run(&tests);
            let text = run.text();
            let output = PreviewedOutput { text: &text, tokens: tokens::count(&text), kind, said: "", lines: 1, standing: &[] };
            let Some(pieces) = plan(&output, 60) else { return Ok(()) };
            for (at, (about, line)) in run.lines.iter().enumerate() {
                // Among equal stack frames, the first is shown.
                let is_call = line.trim_start().starts_with("at ") || line.contains("File \"");
                let first = run.lines.iter().position(|(_, other)| other == line).unwrap();
                let at = if is_call { first } else { at };
                prop_assert!(*about != About::Failure || is_shown(&pieces, at), "{}: `{}`", name, line);
            }
            prop_assert_eq!(shown_without_need(&pieces, &run), None, "{}", name);
        }

        #[test]
        fn where_not_every_failure_fits_no_passing_test_is_shown(
            tests in tests(), runner in 0..RUNNERS.len(), tokens in 20u64..400,
        ) {
            let (name, run) = RUNNERS[runner];
            let run = run(&tests);
            let text = run.text();
            let output = PreviewedOutput { text: &text, tokens: tokens::count(&text), kind: build(), said: "", lines: 1, standing: &[] };
            let pieces = plans_within(&output, [tokens]).next().unwrap();
            prop_assert_eq!(shown_without_need(&pieces, &run), None, "{}", name);
        }

        #[test]
        fn a_preview_covers_every_line_once_within_its_size(
            lines in prop::collection::vec("(error |src/a.rs:1:|@@ |)[a-z ]{0,60}", 1..200),
            kind in prop::sample::select(vec![
                build(), ToolKind::Web, ToolKind::Search, ToolKind::Shell(ShellKind::Diff), ToolKind::List,
            ]),
        ) {
            let text = lines.join("\n");
            let tokens = tokens::count(&text);
            let output = PreviewedOutput { text: &text, tokens, kind, said: "error_kind", lines: 1, standing: &[] };
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
            // A gap between shown lines is shown too if counting it costs as much.
            let limit = if is_asked_for(kind) { 800 } else { 200 };
            prop_assert!(shown <= limit * 2 * 3, "{shown}");
        }
    }
}
