//! How a host compacts, as Pi does: above the window's reserve it keeps the last messages behind a summary (DESIGN.md section
//! 13, *Measuring in replay*). Pure.

use crate::context::tokens::Counter;

/// Tokens of the window that stay free.
const RESERVE_TOKENS: u64 = 16_384;
/// Tokens at the end that are kept.
const KEEP_TOKENS: u64 = 20_000;
/// Tokens of the summary.
pub const SUMMARY_TOKENS: u64 = 2_000;
/// What the compaction's own request costs besides what is dropped, in prices of a plain input token.
const REQUEST_COST: u64 = 7_500;

/// A message of the list that is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sized {
    /// Its size in units of the counter.
    pub units: u64,
    /// Whether it is a tool result, on which no list may start.
    pub is_result: bool,
}

/// Whether a request of so many units, system prompt and tools included, has to be compacted.
pub fn is_due(window_tokens: u64, request_units: u64, counter: Counter) -> bool {
    let limit = window_tokens.saturating_sub(RESERVE_TOKENS);
    request_units > limit * counter.units_per_token()
}

/// Index of the first message that is kept: the first from where the last tokens begin that is no tool result; where there is
/// none, the last before. `None` where nothing would be dropped.
pub fn first_kept(messages: &[Sized], counter: Counter) -> Option<usize> {
    let mut kept = 0;
    let begins = (0..messages.len()).rev().find(|index| {
        kept += messages[*index].units;
        kept >= KEEP_TOKENS * counter.units_per_token()
    })?;
    let may = |index: &usize| !messages[*index].is_result;
    let first = (begins..messages.len()).find(may).or_else(|| (0..begins).rev().find(may));
    first.filter(|first| *first > 0)
}

/// What a compaction that drops so many units costs, in prices of a plain input token.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
pub fn cost(dropped_units: u64, counter: Counter) -> f64 {
    dropped_units as f64 / counter.units_per_token() as f64 + REQUEST_COST as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTER: Counter = Counter::Characters;

    fn list(tokens: &[(u64, bool)]) -> Vec<Sized> {
        tokens
            .iter()
            .map(|(tokens, is_result)| Sized { units: tokens * 4, is_result: *is_result })
            .collect()
    }

    #[test]
    fn it_is_due_above_the_reserve() {
        assert!(!is_due(100_000, 83_616 * 4, COUNTER));
        assert!(is_due(100_000, 83_616 * 4 + 1, COUNTER));
    }

    #[test]
    fn the_last_tokens_are_kept_and_no_list_starts_on_a_result() {
        for (messages, first) in [
            (vec![(9, false), (19_999, false), (1, false)], Some(1)),
            (vec![(9, false), (20_000, false), (19_999, false)], Some(1)),
            (vec![(9, false), (1, false), (20_000, true), (1, false), (1, false)], Some(3)),
            (vec![(9, false), (1, false), (20_000, true), (1, true)], Some(1)),
            (vec![(9, false), (20_000, true)], None),
            (vec![(20_000, false)], None),
            (vec![(9, false), (19_000, false)], None),
            (vec![], None),
        ] {
            assert_eq!(first_kept(&list(&messages), COUNTER), first, "{messages:?}");
        }
    }

    #[test]
    fn it_costs_what_is_dropped_and_its_own_request() {
        assert!((cost(4_002, COUNTER) - 8_500.5).abs() < 1e-9);
    }
}
