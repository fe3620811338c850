//! Faults: needs of what had left the window, by the way in which they show. Plain data.

use serde::{Deserialize, Serialize};

/// How a need of what had left the window shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The model asked for it with `activate`, whether it got it or not.
    Asked,
    /// It read lines of a file again.
    Reread,
    /// It ran the same command again: nothing was edited since, or the output was the same.
    Repeated,
    /// Its `edit` failed, and lines that it wanted to replace had left.
    FailedEdit,
    /// It wrote a line that stood nowhere any more. The only kind that a replay can find.
    Quoted,
}

/// A number of faults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FaultSum {
    /// How many.
    pub count: u64,
    /// Tokens that came again with them, in our count.
    #[serde(skip)]
    pub tokens: u64,
    /// What they cost: the whole call that carried the answers if it was made for them alone, else
    /// the tokens that came again. These are in the bill as what they are, requests. A quotation
    /// costs no request: it is charged as if the model had asked, as in replays.
    pub cost: f64,
}

/// Faults by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Faults {
    /// See [`FaultKind`], as for the others.
    pub asked: FaultSum,
    /// Reads.
    pub reread: FaultSum,
    /// Commands.
    pub repeated: FaultSum,
    /// Edits.
    pub failed_edit: FaultSum,
    /// Quotations.
    pub quoted: FaultSum,
}

impl Faults {
    /// Number of all faults.
    pub fn count(&self) -> u64 {
        self.all().iter().map(|(_, sum)| sum.count).sum()
    }

    /// What all of them cost.
    pub fn cost(&self) -> f64 {
        self.all().iter().map(|(_, sum)| sum.cost).sum()
    }

    /// All kinds, with their sums.
    pub fn all(&self) -> [(FaultKind, FaultSum); 5] {
        [
            (FaultKind::Asked, self.asked),
            (FaultKind::Reread, self.reread),
            (FaultKind::Repeated, self.repeated),
            (FaultKind::FailedEdit, self.failed_edit),
            (FaultKind::Quoted, self.quoted),
        ]
    }

    pub(super) fn of(&mut self, kind: FaultKind) -> &mut FaultSum {
        match kind {
            FaultKind::Asked => &mut self.asked,
            FaultKind::Reread => &mut self.reread,
            FaultKind::Repeated => &mut self.repeated,
            FaultKind::FailedEdit => &mut self.failed_edit,
            FaultKind::Quoted => &mut self.quoted,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (kind, sum) in other.all() {
            let mine = self.of(kind);
            mine.count += sum.count;
            mine.tokens += sum.tokens;
            mine.cost += sum.cost;
        }
    }
}
