//! What the window holds of outputs and steps only by a line or in part, and what of it the model needed all the same. Plain
//! data and its fold. Must not decide anything.
//!
//! A **fault** is a need of something that does not stand. In an epoch it counts once for each thing: what was brought back
//! stands (DESIGN.md section 7, rule 3).

use std::collections::{BTreeMap, BTreeSet};

/// Things and their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many things.
    pub things: u64,
    /// Tokens of all of them.
    pub tokens: u64,
}

/// What does not stand as a whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Absence {
    /// Tokens by position of the message.
    absent: BTreeMap<u64, u64>,
    /// Positions of which the model needed something in this epoch.
    missed: BTreeSet<u64>,
    faults: Amount,
}

impl Absence {
    /// The faults since the call before.
    pub(super) fn faults(&self) -> Amount {
        self.faults
    }

    /// Takes in how the message at a position stands: of so many tokens not all are shown, or everything stands.
    pub(super) fn settle(&mut self, at: u64, absent_tokens: Option<u64>) {
        match absent_tokens {
            Some(tokens) => drop(self.absent.insert(at, tokens)),
            None => drop(self.absent.remove(&at)),
        }
    }

    /// The model needed something of the message at a position, whether it stands or not.
    pub(super) fn needed(&mut self, at: u64) {
        if let Some(tokens) = self.absent.get(&at)
            && self.missed.insert(at)
        {
            self.faults.things += 1;
            self.faults.tokens += tokens;
        }
    }

    /// An epoch began.
    pub(super) fn epoch_began(&mut self) {
        self.missed.clear();
    }

    /// A call was made: its record has the faults before it.
    pub(super) fn called(&mut self) {
        self.faults = Amount::default();
    }

    /// The host's list is another: what stands is taken in anew.
    pub(super) fn forget(&mut self) {
        self.absent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_on_one_thing_counts_once_in_an_epoch() {
        let mut absence = Absence::default();
        absence.settle(3, Some(500));
        absence.settle(4, Some(90));
        absence.needed(3);
        absence.needed(3);
        absence.needed(9);
        assert_eq!(absence.faults(), Amount { things: 1, tokens: 500 });
        absence.called();
        assert_eq!(absence.faults(), Amount::default());
        absence.needed(3);
        assert_eq!(absence.faults(), Amount::default(), "it was brought back");
        absence.epoch_began();
        absence.needed(3);
        absence.settle(4, None);
        absence.needed(4);
        assert_eq!(absence.faults(), Amount { things: 1, tokens: 500 }, "what stands is no fault");
    }
}
