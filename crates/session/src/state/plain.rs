//! The compactions that the plain host would have made. Each belongs to the branch of the
//! conversation on which it was made, as in the host's own session file: going back to before it
//! undoes it, and coming back brings it back.

use super::Session;
use crate::bill::Around;
use crate::call_note::PlainCompaction;
use crate::event::Rewrite;
use crate::message::MessageKind;
use crate::record::CallRecord;

/// All compactions of a session, and whether the host's list was rewritten since the newest call.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PlainCompactions {
    made: Vec<Made>,
    rewrite: Option<Rewrite>,
}

/// A compaction, by indexes of the window at the time without what passed.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    /// The first message that it keeps.
    from: usize,
    /// Number of messages before it in the host's session file.
    until: usize,
    /// Identifies these.
    branch: u64,
}

impl PlainCompactions {
    /// The host's list no longer continues the window.
    pub(super) fn list_changed(&mut self, how: Rewrite) {
        self.rewrite = Some(how);
    }
}

impl Session {
    /// The plain host's compaction in effect, before it makes another one for the next call.
    pub fn plain_compaction(&self) -> Option<PlainCompaction> {
        let standing = self.bill.compaction;
        let Some(how) = self.plain_compactions.rewrite else { return standing };
        let mut newest_first = self.plain_compactions.made.iter().rev();
        let of_branch = newest_first.find(|made| {
            let Made { until, branch, .. } = **made;
            until <= self.chat.own_window.len() && self.branches.first(until) == branch
        });
        if let Some(made) = of_branch {
            return Some(self.compaction_from(made.from));
        }
        // Its messages may be there in another order, or without some of them.
        let still = standing
            .filter(|_| matches!(how, Rewrite::Rearranged | Rewrite::Edited | Rewrite::Passing))?;
        let from = self.chat.own_window.iter().position(|at| *at == still.from)?;
        Some(self.compaction_from(from))
    }

    /// A call was recorded.
    pub(super) fn plain_called(&mut self, record: &CallRecord) {
        let standing = self.plain_compaction();
        self.plain_compactions.rewrite = None;
        let mut faults = self.absence.faults;
        faults.quoted.cost = record.bill.fault_cost;
        let around = Around {
            host_messages: self.chat.window.len() as u64,
            compaction: standing,
            faults,
            is_for_faults: self.absence.is_for_faults(),
        };
        self.bill.called(record, around);
        let compacted = record.bill.compacted;
        let index_of = |at: u64| self.chat.own_window.iter().position(|own| *own == at);
        let Some(from) = compacted.and_then(|compacted| index_of(compacted.from)) else { return };
        // A host compacts before a person's message joins the list.
        let asked = self.unanswered().filter(|(_, it)| !matches!(it.kind, MessageKind::Result(_)));
        let until = self.chat.own_window.len().saturating_sub(asked.count()).max(from + 1);
        let made = Made { from, until, branch: self.branches.first(until) };
        self.plain_compactions.made.push(made);
    }

    /// The compaction that keeps the window from an index on.
    fn compaction_from(&self, index: usize) -> PlainCompaction {
        let dropped = self.chat.own_window[..index].iter();
        let dropped = dropped.filter_map(|at| Some(self.chat.get(*at)?.tokens)).sum();
        PlainCompaction { from: self.chat.own_window[index], dropped }
    }
}
