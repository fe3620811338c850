//! Perfect foresight: a transcript's needs, known before they arise. Replaces the hazards to show
//! what better guessing could still save. Must not decide anything.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::measure::message::{MeasuredMessage, Speaker};
use super::measure::needed::needed;
use context::epoch::SMALL_TOKENS;
use context::hazard::Chances;
use context::tokens::Counter;
use session::Session;

/// The needs of a transcript.
#[derive(Debug)]
struct Needed {
    /// For each message that is an output or the model's own words, the calls that need it, in
    /// order.
    calls: HashMap<usize, Vec<usize>>,
    /// Which messages are outputs that leave with their step, so that its needs include theirs.
    small: Vec<bool>,
}

/// Foresight of a transcript.
#[derive(Debug, Clone)]
pub(super) struct Oracle {
    needed: Arc<Needed>,
}

/// Foresight at a call.
#[derive(Debug)]
struct Foresight {
    needed: Arc<Needed>,
    /// The call.
    call: usize,
    /// Number of messages of the transcript that precede its answer.
    before: usize,
}

impl Oracle {
    /// Reads a transcript to its end. `messages`: its messages, each as JSON.
    pub(super) fn new(messages: &[String], counter: Counter) -> Self {
        let messages = MeasuredMessage::parse_all(messages, counter);
        let most = SMALL_TOKENS * counter.units_per_token();
        let is_small =
            |message: &MeasuredMessage| message.speaker() == Speaker::Tool && message.units <= most;
        let small = messages.iter().map(is_small).collect();
        Self { needed: Arc::new(Needed { calls: needed(&messages, false), small }) }
    }

    /// The chances at a call whose answer follows `before` messages.
    pub(super) fn at(&self, call: usize, before: usize) -> Box<dyn Chances> {
        Box::new(Foresight { needed: Arc::clone(&self.needed), call, before })
    }
}

impl Foresight {
    /// The transcript's message at a position of the chat. The host's list ends with the
    /// transcript's newest message; a compaction's summary may come before the transcript's
    /// messages.
    fn message(&self, session: &Session, at: u64) -> Option<usize> {
        let window = &session.chat().window;
        // Positions grow along the window, except a summary before them.
        let index = window.binary_search(&at).ok();
        let index = index.or_else(|| window.iter().rposition(|place| *place == at))?;
        self.before.checked_sub(window.len() - index)
    }

    /// The calls that need a message, from this one on.
    fn ahead(&self, message: usize) -> &[usize] {
        let calls = self.needed.calls.get(&message).map_or(&[][..], Vec::as_slice);
        &calls[calls.partition_point(|call| *call < self.call)..]
    }
}

impl Chances for Foresight {
    fn of_output(&self, session: &Session, at: u64) -> Option<f64> {
        session.result(at)?;
        Some(rate(self.call, self.ahead(self.message(session, at)?)))
    }

    fn of_step(&self, session: &Session, range: RangeInclusive<u64>) -> Option<f64> {
        let first = *range.start();
        let mut calls = self.ahead(self.message(session, first)?).to_vec();
        for at in range.skip(1) {
            let message = self.message(session, at);
            if let Some(message) = message.filter(|message| self.needed.small[*message]) {
                calls.extend(self.ahead(message));
            }
        }
        calls.sort_unstable();
        calls.dedup();
        Some(rate(self.call, &calls))
    }

    fn are_certain(&self) -> bool {
        true
    }
}

/// The chance of a need per call that makes it pay to keep an item exactly if it does: 0 if no call
/// needs it any more. Otherwise, removing it now saves until some need, and costs a fault at that
/// need and at each one before it. That must pay at every one of these needs, or the item had
/// better stay until then.
///
/// `ahead`: the calls that need the item, in order, from `call` on.
#[expect(clippy::cast_precision_loss, reason = "numbers of calls are far below 2^53")]
fn rate(call: usize, ahead: &[usize]) -> f64 {
    let until = |(index, need): (usize, &usize)| (index + 1) as f64 / (need + 1 - call) as f64;
    ahead.iter().enumerate().map(until).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn what_no_call_needs_any_more_has_no_chance() {
        assert!(close(rate(5, &[]), 0.0));
    }

    #[test]
    fn a_need_weighs_the_more_the_nearer_it_is() {
        assert!(close(rate(5, &[5]), 1.0));
        assert!(close(rate(5, &[104]), 0.01));
    }

    #[test]
    fn the_densest_run_of_needs_counts() {
        assert!(close(rate(10, &[19, 509]), 0.1), "the second is far");
        assert!(close(rate(10, &[19, 20, 21]), 0.25), "three in twelve calls");
    }
}
