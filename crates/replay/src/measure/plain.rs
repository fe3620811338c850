//! The plain host: it sends the transcript's messages as they are and, if the window is limited,
//! compacts as Pi does. Pure.

use std::sync::Arc;

use super::message::MeasuredMessage;
use super::request::{PartChange, RequestPart};
use crate::compaction::{Compacting, Sized};
use crate::play::sized;
use context::tokens::Counter;
use session::SUMMARY_TOKENS;

/// A plain host.
#[derive(Debug)]
pub struct PlainHost {
    compacting: Compacting,
    /// The transcript's messages that were sent or dropped.
    known: Vec<Sized>,
}

/// A call of the plain host.
#[derive(Debug)]
pub struct PlainCall {
    /// How the request differs from the previous one.
    pub changes: Vec<PartChange>,
    /// Cost of the compaction before it.
    pub compaction_cost: f64,
}

impl PlainHost {
    /// A host; `fixed_units`: system prompt and tools.
    pub fn new(counter: Counter, fixed_units: u64, window_tokens: Option<u64>) -> Self {
        let compacting = Compacting::new(counter, fixed_units, window_tokens);
        Self { compacting, known: Vec::new() }
    }

    /// The next call. `before`: number of messages that precede its answer.
    pub fn call(&mut self, given: &[Arc<RequestPart>], before: usize) -> PlainCall {
        let Compacting { start, compactions, .. } = self.compacting;
        let sent = usize::from(compactions > 0) + self.known.len() - start;
        let fresh = given[self.known.len()..before].to_vec();
        self.known.extend(fresh.iter().map(|part| sized(&part.message)));
        let Some(compaction_cost) = self.compacting.compact_if_due(&self.known) else {
            let changes = vec![PartChange { at: sent, remove: 0, insert: fresh }];
            return PlainCall { changes, compaction_cost: 0.0 };
        };
        let mut insert = vec![Arc::new(self.summary())];
        insert.extend_from_slice(&given[self.compacting.start..before]);
        let changes = vec![PartChange { at: 0, remove: sent, insert }];
        PlainCall { changes, compaction_cost }
    }

    /// The summary; only its size is known.
    fn summary(&self) -> RequestPart {
        let Compacting { counter, compactions, .. } = self.compacting;
        let message = MeasuredMessage {
            // Differs for each compaction, so that no cache holds it.
            role: format!("summary {compactions}"),
            pieces: Vec::new(),
            units: SUMMARY_TOKENS * counter.units_per_token(),
            timestamp: None,
            calls: Vec::new(),
            answers: None,
        };
        RequestPart::unseen(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::needs::TranscriptNeeds;

    /// A message of this many tokens, including its role.
    fn part(role: &str, tokens: usize) -> Arc<RequestPart> {
        let text = "x".repeat(tokens * 4 - role.len());
        let json = serde_json::json!({ "role": role, "content": text }).to_string();
        let message = MeasuredMessage::parse(&json, Counter::Characters);
        Arc::new(RequestPart::given(message, &TranscriptNeeds::default()))
    }

    fn host(window: Option<u64>) -> PlainHost {
        PlainHost::new(Counter::Characters, 16_000, window)
    }

    fn assert_cost(call: &PlainCall, cost: f64) {
        assert!((call.compaction_cost - cost).abs() < 1e-9, "{}", call.compaction_cost);
    }

    #[test]
    fn without_a_window_it_only_grows() {
        let given: Vec<_> = (0..6).map(|_| part("user", 90_000)).collect();
        let mut host = host(None);
        for (before, known) in [(2, 0), (3, 2), (6, 3)] {
            let call = host.call(&given, before);
            assert_eq!(call.changes.len(), 1);
            assert_cost(&call, 0.0);
            let PartChange { at, remove, insert } = &call.changes[0];
            assert_eq!((*at, *remove, insert.len()), (known, 0, before - known));
        }
        assert_eq!(host.compacting.compactions, 0);
    }

    #[test]
    fn above_the_reserve_it_keeps_the_last_tokens_behind_a_summary() {
        // 4,000 + 79,616 is the limit of a window of 100,000: window - 16,384.
        let given = [part("user", 50_000), part("assistant", 19_616), part("user", 10_000)];
        assert_cost(&host(Some(100_000)).call(&given, 3), 0.0);
        let given = [given.as_slice(), &[part("user", 1)]].concat();
        let mut host = host(Some(100_000));
        let call = host.call(&given, 4);
        // 10,001 tokens are too few, so the assistant's message is kept as well.
        assert_cost(&call, 50_000.0 + 7_500.0);
        let PartChange { at, remove, insert } = &call.changes[0];
        assert_eq!((*at, *remove, insert.len(), insert[0].message.units), (0, 0, 4, 8_000));

        let given = [given.as_slice(), &[part("assistant", 60_000)]].concat();
        let again = host.call(&given, 5);
        // The summary, 19,616, 10,000 and 1 go; what is kept is the one long message.
        assert_cost(&again, 2_000.0 + 29_617.0 + 7_500.0);
        assert_eq!((again.changes[0].remove, again.changes[0].insert.len()), (4, 2));
        assert_eq!(host.compacting.compactions, 2);
    }

    #[test]
    fn what_is_kept_never_starts_on_a_tool_result() {
        let after = [
            part("user", 80_000),
            part("assistant", 10),
            part("toolResult", 25_000),
            part("assistant", 10),
            part("user", 10),
        ];
        let call = host(Some(100_000)).call(&after, 5);
        assert_eq!(call.changes[0].insert.len(), 3, "the next message that is none");
        let call = host(Some(100_000)).call(&after, 3);
        assert_eq!(call.changes[0].insert.len(), 3, "else the last before");
        let call = host(Some(20_000)).call(&after, 1);
        // Nothing is dropped where nothing can be.
        assert_cost(&call, 0.0);
    }
}
