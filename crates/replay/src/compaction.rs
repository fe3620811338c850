//! Compaction as Pi does it: once a request reaches into the window's reserve, a summary replaces
//! all but the last messages. Pure.

use context::ledger::{KEPT_TOKENS, RESERVED_TOKENS};
use context::tokens::Counter;
use session::compaction_cost;

/// A message of the list to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sized {
    /// Its size in units of the counter.
    pub units: u64,
    /// Whether it is a tool result, with which no list may start.
    pub is_result: bool,
}

/// Whether a request of this size, including system prompt and tools, must be compacted.
pub fn is_due(window_tokens: u64, request_units: u64, counter: Counter) -> bool {
    let limit = window_tokens.saturating_sub(RESERVED_TOKENS);
    request_units > limit * counter.units_per_token()
}

/// Index of the first message to keep. It is the first message of the kept tail that is not a tool
/// result or, if there is none, the last such message before the tail. `None` if nothing would be
/// dropped.
pub fn first_kept(messages: &[Sized], counter: Counter) -> Option<usize> {
    let mut kept = 0;
    let begins = (0..messages.len()).rev().find(|index| {
        kept += messages[*index].units;
        kept >= KEPT_TOKENS * counter.units_per_token()
    })?;
    let may = |index: &usize| !messages[*index].is_result;
    let first = (begins..messages.len()).find(may).or_else(|| (0..begins).rev().find(may));
    first.filter(|first| *first > 0)
}

/// Cost of a compaction that drops this many units, in uncached input tokens.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
pub fn cost(dropped_units: u64, counter: Counter) -> f64 {
    compaction_cost(dropped_units as f64 / counter.units_per_token() as f64)
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
