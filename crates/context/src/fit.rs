//! Shortens unanswered results if a request would leave the model no room to answer. Pure.
//!
//! These results are new, so no cache holds them and shortening them costs nothing. Must not touch
//! what the model has seen.

use std::collections::BTreeMap;

use super::excerpt::rendered_tokens;
use super::preview;
use crate::tokens::Counter;
use base::object::line_count;
use session::{LineRange, Piece, ResultFact, Session, Shows, Treatment, join_pieces};

/// Least size of a shortened result, in tokens: some lines, and the line that counts the rest.
const LEAST_TOKENS: u64 = 200;

/// The results to shorten, as window indexes, and the tokens that each may have. The largest ones
/// get the same limit. Results that name lines of a shortened one, which may no longer stand there,
/// keep their size. Empty if the request is small enough.
///
/// `shown`: tokens of each message of the window, in order. `most`: tokens that the request may
/// have.
pub fn too_long(session: &Session, shown: &[u64], most: u64) -> Vec<(usize, u64)> {
    let excess = shown.iter().sum::<u64>().saturating_sub(most);
    if excess == 0 {
        return Vec::new();
    }
    let unanswered = session.unanswered().zip(shown.iter().enumerate().rev());
    let unanswered: Vec<Unanswered> = unanswered
        .map(|((at, _), (index, tokens))| Unanswered { at, index, tokens: *tokens })
        .collect();
    let is_large = |one: &&Unanswered| one.tokens > LEAST_TOKENS && can_shorten(session, one.at);
    let large: Vec<&Unanswered> = unanswered.iter().filter(is_large).collect();
    let cap = common_cap(large.iter().map(|one| one.tokens).collect(), excess);
    let mut long: BTreeMap<u64, (usize, u64)> = large
        .into_iter()
        .filter(|one| one.tokens > cap)
        .map(|one| (one.at, (one.index, cap)))
        .collect();
    // A result comes after those whose lines it names, so one pass in order finds all.
    for one in unanswered.iter().rev() {
        if !long.contains_key(&one.at) && names_lines_of(session, one.at, &long) {
            long.insert(one.at, (one.index, one.tokens));
        }
    }
    long.into_values().collect()
}

/// A result that the model has not answered yet.
struct Unanswered {
    /// Its position in the chat.
    at: u64,
    /// Its index in the window.
    index: usize,
    /// Its tokens as shown.
    tokens: u64,
}

/// Whether a result says that some of its lines stand in one of these.
fn names_lines_of(session: &Session, at: u64, long: &BTreeMap<u64, (usize, u64)>) -> bool {
    let Treatment::Excerpt { pieces } = session.treatment(at) else { return false };
    pieces.iter().any(|piece| matches!(piece, Piece::Standing { at, .. } if long.contains_key(at)))
}

/// The size to which to cut the largest of these to save `excess` in all; at least
/// [`LEAST_TOKENS`].
pub(super) fn common_cap(mut sizes: Vec<u64>, excess: u64) -> u64 {
    sizes.sort_unstable_by(|one, other| other.cmp(one));
    let mut above = 0;
    for (place, size) in sizes.iter().enumerate() {
        above += size;
        let count = place as u64 + 1;
        let next = sizes.get(place + 1).copied().unwrap_or(0);
        // Cutting these down to the next size already saves enough.
        if above - next * count >= excess {
            return (above.saturating_sub(excess) / count).max(LEAST_TOKENS);
        }
    }
    LEAST_TOKENS
}

/// Whether lines of the result can be left out and named: it is an output or shows a file, and its
/// object has a handle.
fn can_shorten(session: &Session, at: u64) -> bool {
    let has_text = |fact: &&ResultFact| fact.lines > 1 || !fact.last.is_empty();
    let fact = session.result(at).filter(|fact| fact.is_output).filter(has_text);
    let Some(fact) = fact else { return false };
    let object = match &fact.shows {
        Shows::File { object, .. } => Some(object),
        Shows::Own => fact.object.as_ref(),
        Shows::Change { .. } | Shows::Activated { .. } => None,
    };
    *session.treatment(at) != Treatment::Reference
        && object.is_some_and(|object| session.handle(object).is_some())
}

/// The treatment that shows at most about this many tokens of an output.
pub fn shortened(
    output: &preview::PreviewedOutput<'_>,
    counter: Counter,
    tokens: u64,
) -> Treatment {
    let budgets = std::iter::successors(Some(tokens), |budget| Some(budget * 3 / 4));
    let plans = budgets.take_while(|budget| *budget >= LEAST_TOKENS / 4);
    let fitting = preview::plans_within(output, plans)
        .find(|pieces| rendered_tokens(output.text, pieces, counter) <= tokens);
    let pieces = fitting.unwrap_or_else(|| {
        let (lines, end) = (line_count(output.text), output.text.split('\n').count() as u64);
        let between = Piece::Between { between: LineRange { first: 1, last: lines }, of: None };
        let shown = LineRange { first: lines + 1, last: end };
        join_pieces([between, Piece::Shown { shown }])
    });
    Treatment::Excerpt { pieces }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::harness::ToolKind;

    #[test]
    fn the_largest_results_are_cut_to_one_size() {
        assert_eq!(common_cap(vec![50_000, 1_000], 10_000), 40_000);
        assert_eq!(common_cap(vec![50_000, 40_000, 1_000], 30_000), 30_000);
        assert_eq!(common_cap(vec![5_000; 6], 12_000), 3_000);
        assert_eq!(common_cap(vec![1_000], 5_000), LEAST_TOKENS);
        assert_eq!(common_cap(Vec::new(), 1), LEAST_TOKENS);
    }

    #[test]
    fn a_shortened_output_fills_its_limit_whatever_its_lines() {
        let counter = Counter::Bundled;
        let many: Vec<String> = (0..20_000).map(|n| format!("line {n} of the log\n")).collect();
        for text in [many.concat(), "x y ".repeat(60_000), "\n".repeat(50_000), "é".repeat(90_000)]
        {
            for kind in [ToolKind::Read, ToolKind::Search, ToolKind::Other] {
                let tokens = counter.count(&text);
                let output = preview::PreviewedOutput {
                    text: &text,
                    tokens,
                    kind,
                    said: "",
                    lines: 1,
                    standing: &[],
                };
                let Treatment::Excerpt { pieces } = shortened(&output, counter, 3_000) else {
                    panic!("no excerpt")
                };
                assert!(rendered_tokens(&text, &pieces, counter) <= 3_000);
            }
        }
    }
}
