//! How many tokens of a provider's the messages of a chat have, as far as its reports tell: what a
//! request is larger than expected is what its new messages are larger. Tokenizers differ by what
//! they count, code, numbers or prose, so that one factor for all of a request misses by a fifth.
//! A pure fold of calls and reports.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use config::as_f64;
use serde::{Deserialize, Serialize};

/// Sizes of a call's requests in the provider's count, system prompt and tools included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredSizes {
    /// Our request.
    pub sent: u64,
    /// What of it a cache held.
    pub cached: u64,
    /// The plain host's request.
    pub plain: u64,
    /// What of that a cache held.
    pub plain_cached: u64,
}

/// New messages of fewer tokens say nothing: what stands around them counts as well.
const MEASURABLE: u64 = 64;
/// Ratios of the provider's count to ours that contents can have.
const POSSIBLE: RangeInclusive<f64> = 0.2..=4.0;

/// What the reports on one model tell of the messages of a chat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportedRatios {
    model: Option<String>,
    /// The provider's count of system prompt and tools divided by ours, once a report told it.
    front: Option<f64>,
    /// The same of messages, by their positions in the chat.
    ratios: BTreeMap<u64, f64>,
    waiting: Option<Waiting>,
}

/// A call whose report is to come.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Waiting {
    pub(super) call: u64,
    pub(super) model: Option<String>,
    /// Tokens of its request that no message of it brought, in the provider's count.
    pub(super) stood: u64,
    /// Whether it only grew: what notes of ours bring again is new as well, otherwise.
    pub(super) has_grown: bool,
    /// Tokens of the request in our count, and of what is new in it.
    pub(super) counted: u64,
    pub(super) new_tokens: u64,
    pub(super) new: Vec<New>,
}

/// A message that no call had before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct New {
    /// Its position in the chat.
    pub(super) at: u64,
    /// Its tokens in our count.
    pub(super) tokens: u64,
    /// Whether a tool gave it. What people and models write is like the system prompt.
    pub(super) is_result: bool,
}

impl ReportedRatios {
    /// Whether a report told of this model.
    pub fn knows(&self, model: Option<&str>) -> bool {
        self.front.is_some() && self.model.as_deref() == model
    }

    /// The provider's count of system prompt and tools divided by ours. `otherwise`: where no report
    /// told.
    pub fn front(&self, otherwise: f64) -> f64 {
        self.front.unwrap_or(otherwise)
    }

    /// The same of the message at a position.
    pub fn ratio(&self, at: u64, otherwise: f64) -> f64 {
        self.ratios.get(&at).copied().unwrap_or(otherwise)
    }

    /// Cuts the chat back to this length: its positions get other messages. A report on what was
    /// there would tell of those.
    pub(super) fn go_back(&mut self, chat_len: u64) {
        self.ratios.split_off(&chat_len);
        let is_there = |waiting: &Waiting| waiting.new.iter().all(|new| new.at < chat_len);
        self.waiting = self.waiting.take().filter(is_there);
    }

    /// Another text takes the place of a message.
    pub(super) fn edited(&mut self, at: u64) {
        self.ratios.remove(&at);
    }

    /// A call was recorded.
    pub(super) fn called(&mut self, waiting: Option<Waiting>) {
        let model = waiting.as_ref().and_then(|waiting| waiting.model.clone());
        if waiting.is_some() && self.model != model {
            *self = Self { model, ..Self::default() };
        }
        self.waiting = waiting;
    }

    /// A report that can be believed: the input of a call had so many tokens. Returns the call's new
    /// messages.
    pub(super) fn reported(&mut self, call: u64, tokens: u64) -> Vec<New> {
        let Some(waiting) = self.waiting.take().filter(|waiting| waiting.call == call) else {
            return Vec::new();
        };
        let Waiting { stood, has_grown, counted, new_tokens, new, .. } = waiting;
        let Some(front) = self.front else {
            let ratio = as_f64(tokens) / as_f64(counted.max(1));
            self.front = Some(ratio).filter(|ratio| POSSIBLE.contains(ratio));
            self.learn(&new, ratio, |_| true);
            return new;
        };
        let mut left = new_tokens;
        let mut more = as_f64(tokens) - as_f64(stood);
        if new.iter().any(|new| new.is_result) {
            let said = new.iter().filter(|new| !new.is_result).map(|new| new.tokens).sum::<u64>();
            left = left.saturating_sub(said);
            more -= as_f64(said) * front;
            self.learn(&new, front, |new| !new.is_result);
            if left >= MEASURABLE {
                self.learn(&new, more / as_f64(left), |new| new.is_result);
            }
        } else if has_grown && left >= MEASURABLE {
            self.learn(&new, more / as_f64(left), |_| true);
        } else {
            self.learn(&new, front, |_| true);
        }
        new
    }

    fn learn(&mut self, new: &[New], ratio: f64, which: impl Fn(&New) -> bool) {
        if POSSIBLE.contains(&ratio) {
            let which = new.iter().filter(|new| which(new));
            self.ratios.extend(which.map(|new| (new.at, ratio)));
        }
    }
}

/// The messages of a request in order, each with its tokens in our count and its ratio.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Weighed(pub Vec<(u64, f64)>);

impl Weighed {
    /// Tokens in the provider's count of as many tokens at the front as these in ours.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a token count times a small positive factor"
    )]
    pub fn front(&self, counted: u64) -> u64 {
        let mut left = counted;
        let mut sum = 0.0;
        for (tokens, ratio) in &self.0 {
            let taken = left.min(*tokens);
            sum += as_f64(taken) * ratio;
            left -= taken;
        }
        sum.round() as u64
    }

    /// The same of all of them.
    pub fn all(&self) -> u64 {
        self.front(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_branch_measured_is_forgotten() {
        let new = |at| New { at, tokens: 100, is_result: true };
        let mut measured = ReportedRatios::default();
        measured.called(Some(waiting(1, 0, 1_000, &[new(3)])));
        measured.reported(1, 1_000);
        measured.called(Some(waiting(2, 1_000, 1_100, &[new(4)])));
        measured.reported(2, 1_050);
        assert!((measured.ratio(4, 9.0) - 0.5).abs() < 0.01);
        measured.called(Some(waiting(3, 1_050, 1_200, &[new(5)])));
        measured.go_back(4);
        assert!((measured.ratio(4, 9.0) - 9.0).abs() < 0.01, "another message is there now");
        assert_eq!(measured.reported(3, 1_200), [], "its messages are gone");
        measured.edited(3);
        assert!((measured.ratio(3, 9.0) - 9.0).abs() < 0.01);
    }

    fn waiting(call: u64, stood: u64, counted: u64, new: &[New]) -> Waiting {
        let new_tokens = new.iter().map(|new| new.tokens).sum();
        let (has_grown, new) = (true, new.to_vec());
        Waiting { call, model: None, stood, has_grown, counted, new_tokens, new }
    }

    fn said(at: u64, tokens: u64) -> New {
        New { at, tokens, is_result: false }
    }

    fn result(at: u64, tokens: u64) -> New {
        New { at, tokens, is_result: true }
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    /// What is known after a first call of 1,000 tokens, of which the provider counts 1,100.
    fn begun() -> ReportedRatios {
        let mut measured = ReportedRatios::default();
        measured.called(Some(waiting(1, 0, 1_000, &[said(0, 300)])));
        assert!(!measured.knows(None));
        measured.reported(1, 1_100);
        assert!(measured.knows(None) && near(measured.front(1.0), 1.1));
        measured
    }

    #[test]
    fn what_a_request_is_larger_is_what_its_results_are() {
        let mut measured = begun();
        // Numbers: half as many tokens as counted.
        let new = [said(1, 100), result(2, 2_000)];
        measured.called(Some(waiting(2, 1_100, 3_100, &new)));
        assert_eq!(measured.reported(2, 1_100 + 110 + 1_000), new);
        let ratios = [0, 1, 2].map(|at| measured.ratio(at, 9.0));
        assert!(near(ratios[0], 1.1) && near(ratios[1], 1.1) && near(ratios[2], 0.5), "{ratios:?}");
        let weighed = Weighed(vec![(1_000, 1.1), (2_000, 0.5)]);
        assert_eq!(
            (weighed.front(1_000), weighed.front(2_000), weighed.all()),
            (1_100, 1_600, 2_100)
        );
    }

    #[test]
    fn small_messages_and_what_cannot_be_tell_nothing() {
        let mut measured = begun();
        measured.called(Some(waiting(2, 1_100, 1_010, &[result(1, 10)])));
        measured.reported(2, 1_130);
        measured.called(Some(waiting(3, 1_130, 2_010, &[result(2, 1_000)])));
        measured.reported(3, 100_000);
        // A report on another call, or a second one.
        measured.called(Some(waiting(4, 2_200, 3_010, &[result(3, 1_000)])));
        assert_eq!(measured.reported(3, 3_000), []);
        assert_eq!(measured.reported(4, 3_000), []);
        assert!([1, 2, 3].iter().all(|at| near(measured.ratio(*at, 0.9), 0.9)));
    }

    #[test]
    fn another_model_is_measured_anew() {
        let mut measured = begun();
        let other =
            Waiting { model: Some("other".into()), ..waiting(2, 1_100, 1_200, &[said(1, 100)]) };
        measured.called(Some(other));
        assert!(!measured.knows(None) && near(measured.ratio(0, 1.0), 1.0));
    }
}
