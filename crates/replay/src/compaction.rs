//! Compaction as Pi does it: once a request reaches into the window's reserve, a summary replaces
//! all but the last messages. Pure.

use context::ledger::{KEPT_TOKENS, RESERVED_TOKENS};
use context::tokens::Counter;
use session::{SUMMARY_TOKENS, compaction_cost};

/// A message of the list to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sized {
    /// Its size in units of the counter.
    pub units: u64,
    /// Whether it is a tool result, with which no list may start.
    pub is_result: bool,
}

/// A host that compacts its list.
#[derive(Debug)]
pub struct Compacting {
    /// How tokens are counted.
    pub counter: Counter,
    /// Units of system prompt and tools.
    pub fixed_units: u64,
    /// Tokens of the model's window; `None`: no limit.
    pub window_tokens: Option<u64>,
    /// Index of the first message that is sent.
    pub start: usize,
    /// How often it compacted. After that, a summary stands before the messages.
    pub compactions: u64,
}

impl Compacting {
    /// A host that did not compact yet.
    pub fn new(counter: Counter, fixed_units: u64, window_tokens: Option<u64>) -> Self {
        Self { counter, fixed_units, window_tokens, start: 0, compactions: 0 }
    }

    /// Compacts if the request leaves too little of the window free; returns the cost. `messages`:
    /// all before the answer, also those that are not sent any more.
    pub fn compact_if_due(&mut self, messages: &[Sized]) -> Option<f64> {
        let units = |from: usize| messages[from..].iter().map(|one| one.units).sum::<u64>();
        let of_summary = SUMMARY_TOKENS * self.counter.units_per_token();
        let all = units(self.start) + if self.compactions > 0 { of_summary } else { 0 };
        if !is_due(self.window_tokens?, self.fixed_units + all, self.counter) {
            return None;
        }
        let first = self.start + first_kept(&messages[self.start..], self.counter)?;
        (self.start, self.compactions) = (first, self.compactions + 1);
        Some(cost(all - units(first), self.counter))
    }
}

/// Whether a request of this size, including system prompt and tools, must be compacted.
fn is_due(window_tokens: u64, request_units: u64, counter: Counter) -> bool {
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
