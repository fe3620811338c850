//! Plans which lines of a long output to show when it is first sent, by the kind of tool.
//!
//! A run's failures are all shown, whatever their size; its successes only if the model's words
//! name them. `reports` tells them apart. Pure; knows no session. Decides only which lines are
//! shown; all others are counted.

mod marks;
mod plan;
mod reports;

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
        plan.shows_something(room.all);
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
        pieces.push(Piece::Shown { shown });
        pieces.push(piece_of(block));
        next = block.lines.last + 1;
    }
    pieces.push(Piece::Shown { shown: LineRange { first: next, last: total } });
    join_pieces(pieces)
}

fn piece_of(block: &LineBlock) -> Piece {
    let LineBlock { lines, at, first, .. } = *block;
    Piece::Standing { standing: lines, at, first }
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
mod tests;
