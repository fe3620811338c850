//! Makes messages that the host compacted away a segment of the chat, which the model can activate.

use std::collections::HashSet;

use super::runs;
use crate::LiveSession;
use base::error::Result;
use session::{MessageKind, Rewrite, Subject};

impl LiveSession {
    /// Makes segments of messages that left the front of the host's list. A segment that continues
    /// an earlier one covers that as well.
    ///
    /// `before`: the window before the host rewrote its list.
    pub(super) fn take_compacted(&mut self, how: Rewrite, before: &[u64]) -> Result<()> {
        let now: HashSet<u64> = self.state().chat().window.iter().copied().collect();
        let survivor = before.iter().position(|at| now.contains(at));
        let gone = match (how, survivor) {
            (Rewrite::Compaction | Rewrite::Rearranged, Some(first)) => before[..first].to_vec(),
            (Rewrite::Compaction, None) => before.to_vec(),
            _ => return Ok(()),
        };
        for (first, last) in self.runs_compacted(gone) {
            self.journal.segment(first..=last, true)?;
        }
        Ok(())
    }

    /// The runs of the chat, both ends included, that messages which left the host's list make up:
    /// a run that continues an earlier one covers that as well. Runs in which nobody said anything
    /// are left out.
    pub(crate) fn runs_compacted(&self, mut gone: Vec<u64>) -> Vec<(u64, u64)> {
        gone.sort_unstable();
        let said = runs(&gone)
            .into_iter()
            .filter(|(first, last)| (*first..=*last).any(|at| self.is_said(at)));
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (mut first, mut last) in said {
            let ranges = self.state().compacted().filter_map(|entry| match entry.subject {
                Subject::Segment { first, last, .. } => Some((first, last)),
                _ => None,
            });
            let before: Vec<(u64, u64)> = ranges.chain(joined.iter().copied()).collect();
            for (from, to) in before {
                if from <= last + 1 && first <= to + 1 {
                    (first, last) = (first.min(from), last.max(to));
                }
            }
            joined.retain(|(from, to)| *from < first || *to > last);
            joined.push((first, last));
        }
        joined
    }

    /// Whether a message is the person's, the model's or a tool's.
    fn is_said(&self, at: u64) -> bool {
        let known = self.state().chat().get(at);
        known.is_some_and(|message| !matches!(message.kind, MessageKind::Other))
    }
}
