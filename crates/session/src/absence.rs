//! Outputs and steps that the window holds only as a line or in part, and which of them the model
//! needed all the same. Plain data and its fold. Must not decide anything.
//!
//! A **fault** is a need for absent content. A quotation counts once per message and epoch, because
//! content that was brought back stands in the window from then on.

use std::collections::{BTreeMap, BTreeSet};

use super::faults::{FaultKind, Faults};

/// A number of messages and their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// Number of messages.
    pub things: u64,
    /// Tokens of all of them.
    pub tokens: u64,
}

/// Messages that the window does not hold in full.
#[derive(Debug, Clone, Default)]
pub(super) struct Absence {
    /// Tokens by position of the message.
    absent: BTreeMap<u64, u64>,
    /// Positions of the messages that caused a fault in this epoch.
    missed: BTreeSet<u64>,
    /// What the model quoted since the previous call, for which it is charged.
    pub(super) quoted: Amount,
    /// The faults since the previous call.
    pub(super) faults: Faults,
    /// Results since the newest call, and those of them that are faults or of our own tools.
    results: (u64, u64),
}

impl Absence {
    /// Whether the next call is made for faults alone.
    pub(super) fn is_for_faults(&self) -> bool {
        let (all, faulty) = self.results;
        self.faults.count() > self.faults.quoted.count && all == faulty
    }

    /// Whether the window does not hold the message at this position in full.
    pub(super) fn is_absent(&self, at: u64) -> bool {
        self.absent.contains_key(&at)
    }

    /// Positions of the messages that the window does not hold in full.
    pub(super) fn places(&self) -> impl Iterator<Item = u64> {
        self.absent.keys().copied()
    }

    /// Records how a message stands. `absent_tokens`: its tokens if it does not stand in full, else
    /// `None`.
    pub(super) fn update(&mut self, at: u64, absent_tokens: Option<u64>) {
        match absent_tokens {
            Some(tokens) => drop(self.absent.insert(at, tokens)),
            None => drop(self.absent.remove(&at)),
        }
    }

    /// Records that the model needed something from a message, whether it stands or not.
    pub(super) fn needed(&mut self, at: u64) {
        if let Some(tokens) = self.absent.get(&at)
            && self.missed.insert(at)
        {
            self.quoted.things += 1;
            self.quoted.tokens += tokens;
            self.faults.quoted.count += 1;
        }
    }

    /// Records a result. `is_own`: whether one of our own tools made it.
    pub(super) fn result(&mut self, is_own: bool) {
        self.results.0 += 1;
        self.results.1 += u64::from(is_own);
    }

    /// Records a fault. `tokens`: of its answer.
    pub(super) fn missed(&mut self, kind: FaultKind, tokens: u64) {
        let sum = self.faults.of(kind);
        sum.count += 1;
        sum.tokens += tokens;
        if matches!(kind, FaultKind::Reread | FaultKind::Repeated | FaultKind::FailedEdit) {
            self.results.1 += 1;
        }
    }

    /// Begins a new epoch: every message can cause a fault again.
    pub(super) fn epoch_began(&mut self) {
        self.missed.clear();
    }

    /// Resets the faults after a call; its record holds them.
    pub(super) fn called(&mut self) {
        self.quoted = Amount::default();
        self.faults = Faults::default();
        self.results = (0, 0);
    }

    /// Forgets which messages are absent, because the host rewrote its list.
    pub(super) fn forget(&mut self) {
        self.absent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_on_one_message_counts_once_per_epoch() {
        let mut absence = Absence::default();
        absence.update(3, Some(500));
        absence.update(4, Some(90));
        absence.needed(3);
        absence.needed(3);
        absence.needed(9);
        assert_eq!(absence.quoted, Amount { things: 1, tokens: 500 });
        absence.called();
        assert_eq!(absence.quoted, Amount::default());
        absence.needed(3);
        assert_eq!(absence.quoted, Amount::default(), "it was brought back");
        absence.epoch_began();
        absence.needed(3);
        absence.update(4, None);
        absence.needed(4);
        assert_eq!(absence.quoted, Amount { things: 1, tokens: 500 }, "what stands is no fault");
        assert_eq!(absence.faults.count(), 1);
    }

    #[test]
    fn a_call_is_made_for_faults_where_every_result_is_one() {
        let mut absence = Absence::default();
        assert!(!absence.is_for_faults());
        absence.result(true);
        absence.missed(FaultKind::Asked, 10);
        assert!(absence.is_for_faults());
        absence.result(false);
        assert!(!absence.is_for_faults(), "another output came too");
        absence.missed(FaultKind::Reread, 20);
        assert!(absence.is_for_faults());
        absence.called();
        assert!(!absence.is_for_faults());
    }
}
