//! What the host compacted away becomes a segment of the chat, which the model can activate.

use std::collections::HashSet;

use super::{Ingest, runs};
use crate::error::Result;
use crate::session::{MessageKind, Rewrite, Subject};

impl Ingest<'_> {
    /// Makes segments of what left the front of the host's list. One that continues what left before covers that as well.
    ///
    /// `before`: the window before the host rewrote its list.
    pub(super) fn take_compacted(&mut self, how: Rewrite, before: &[u64]) -> Result<()> {
        let now: HashSet<u64> = self.journal.state().chat().window().iter().copied().collect();
        let survivor = before.iter().position(|at| now.contains(at));
        let mut gone = match (how, survivor) {
            (Rewrite::Compaction | Rewrite::Rearranged, Some(first)) => before[..first].to_vec(),
            (Rewrite::Compaction, None) => before.to_vec(),
            _ => return Ok(()),
        };
        gone.sort_unstable();
        for (mut first, mut last) in runs(&gone) {
            if !(first..=last).any(|at| self.is_said(at)) {
                continue;
            }
            for entry in self.journal.state().compacted() {
                let Subject::Segment { first: from, last: to, .. } = entry.subject else {
                    continue;
                };
                if from <= last + 1 && first <= to + 1 {
                    (first, last) = (first.min(from), last.max(to));
                }
            }
            self.journal.segment(first..=last, true)?;
        }
        Ok(())
    }

    /// Whether a message is the person's, the model's or a tool's.
    fn is_said(&self, at: u64) -> bool {
        let known = self.journal.state().chat().get(at);
        known.is_some_and(|message| !matches!(message.kind, MessageKind::Other))
    }
}
