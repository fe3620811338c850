//! What the model came back to: how often it took lines from older outputs, or repeated its own
//! older words. Plain data and its fold; the hazards learn from it. Must not decide anything.

use std::collections::HashMap;

/// A need of an output more than this many steps old is late. What the model needs earlier mostly
/// still stands.
pub(super) const LATE_STEPS: u32 = 10;

/// Number of newest steps that never fold. A need of the model's own words in an older one is late,
/// and only that is recorded.
pub const NEWEST_STEPS: u32 = 6;

/// Steps whose history stands in for the one that a young session lacks, with half a need in them.
const ASSUMED_STEPS: f64 = 50.0;

/// How often one message was needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimesNeeded {
    /// Number of answers that needed it.
    pub times: u32,
    /// Step of the newest of them.
    pub last_step: u32,
}

/// The needs of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Needs {
    late: u64,
    late_own: u64,
    by_message: HashMap<u64, TimesNeeded>,
}

impl Needs {
    /// Records that an answer in step `now` needed the output at a position, which came in `step`.
    pub(super) fn output(&mut self, at: u64, step: u32, now: u32) {
        self.late += u64::from(now > step + 1 + LATE_STEPS);
        self.count(at, now);
    }

    /// Records that an answer in step `now` repeated the model's older words at a position.
    pub(super) fn own_words(&mut self, at: u64, now: u32) {
        self.late_own += 1;
        self.count(at, now);
    }

    /// Records that a result shows again what had left the window.
    pub(super) fn shown_again(&mut self) {
        self.late += 1;
    }

    /// How often the message at a position was needed.
    pub(super) fn of(&self, at: u64) -> TimesNeeded {
        self.by_message.get(&at).copied().unwrap_or_default()
    }

    /// Smoothed rate of late needs of outputs per step, after this many steps.
    pub(super) fn late_rate(&self, steps: u32) -> f64 {
        rate(self.late, steps)
    }

    /// Smoothed rate of late needs of the model's own words per step.
    pub(super) fn late_own_rate(&self, steps: u32) -> f64 {
        rate(self.late_own, steps)
    }

    fn count(&mut self, at: u64, now: u32) {
        let needed = self.by_message.entry(at).or_default();
        needed.times += 1;
        needed.last_step = now;
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn rate(needs: u64, steps: u32) -> f64 {
    (needs as f64 + 0.5) / (f64::from(steps) + ASSUMED_STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_content_counts_as_late_and_young_content_does_not() {
        let mut needs = Needs::default();
        needs.output(3, 1, 12);
        assert_eq!(needs.late, 0);
        needs.output(3, 1, 13);
        needs.own_words(2, 8);
        needs.shown_again();
        assert_eq!((needs.late, needs.late_own), (2, 1));
        assert_eq!(needs.of(3), TimesNeeded { times: 2, last_step: 13 });
        assert_eq!(needs.of(9), TimesNeeded::default());
    }

    #[test]
    fn a_young_session_has_a_rate_too() {
        let needs = Needs::default();
        assert!((needs.late_rate(0) - 0.01).abs() < 1e-12);
        assert!(needs.late_own_rate(50) < needs.late_own_rate(0));
    }
}
