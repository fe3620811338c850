//! Recognises the log: a server that was put back from a backup answers at the same address and
//! under the same ID, but lacks what was written since, and gives its numbers out again. A log only
//! grows, so one that still has a transaction has everything before it. Must not decide what follows.

use super::client::Tx;
use super::{XtdbBackend, documents};
use base::error::{Error, Result};
use base::lock;

/// What this process knows of the log.
#[derive(Debug)]
pub(super) struct LogKnowledge {
    /// The newest transaction that it certainly had, and everything before.
    committed: Tx,
    /// The newest that it had carried out then; an aborted one may follow the last committed.
    carried_out: Option<Tx>,
    /// Transactions of others' knowledge that it had.
    marks: Vec<Tx>,
}

impl LogKnowledge {
    pub(super) fn from(committed: Tx) -> Self {
        Self { committed, carried_out: None, marks: Vec::new() }
    }
}

impl XtdbBackend {
    /// The newest transaction that the log is known to have.
    pub(crate) fn newest_known(&self) -> Tx {
        lock(&self.known).committed
    }

    /// The newest committed transaction of the log, if it still has these and the newest known; not
    /// another log, nor an older state of this one. Later reads see all that was in it. Costs one
    /// request while nothing changes.
    pub(crate) fn newest_of_same(&self, marks: &[Tx]) -> Result<Option<Tx>> {
        let carried_out = self.client.latest_completed()?;
        let committed = {
            let known = lock(&self.known);
            let had = |mark: &Tx| *mark == known.committed || known.marks.contains(mark);
            if carried_out.is_some() && carried_out == known.carried_out && marks.iter().all(had) {
                return Ok(Some(known.committed));
            }
            known.committed
        };
        let ids = || marks.iter().chain([&committed]).map(|mark| mark.id);
        let (first, last) = (ids().min().unwrap_or(0), ids().max().unwrap_or(0));
        // A node that lags, or makes its index anew, has not carried out what the log has.
        let Some(submitted) = self.client.latest_submitted()?.filter(|newest| *newest >= last)
        else {
            return Ok(None);
        };
        let logged = self.client.log_times(first, submitted)?;
        let has = |tx: &Tx| logged.binary_search_by_key(&tx.id, |one| one.id);
        let has = |tx: &Tx| has(tx).is_ok_and(|at| logged[at].time == tx.time);
        if !marks.iter().chain([&committed]).all(has) {
            return Ok(None);
        }
        let committed = logged.last().copied().unwrap_or(committed);
        self.client.saw(submitted);
        *lock(&self.known) = LogKnowledge { committed, carried_out, marks: marks.to_vec() };
        Ok(Some(committed))
    }

    /// The committed transactions of this writer, or of all, from the newest known one on, at least
    /// up to `last`. They are known from now on.
    ///
    /// # Errors
    /// `XTDB_FAILED` if the log has lost the newest known one.
    pub(super) fn written_since_known(&self, last: i64) -> Result<Vec<Tx>> {
        let mut known = lock(&self.known);
        // The log has all that was written, at many times the length.
        let writer = documents::writer_id(&self.writer_id);
        let mut written = self.client.writes(&writer, known.committed.id, last)?;
        if written.first() != Some(&known.committed) {
            written = self.client.log_times(known.committed.id, last)?;
        }
        if written.first() != Some(&known.committed) {
            return Err(self.lost());
        }
        if let Some(newest) = written.last() {
            known.committed = *newest;
            known.carried_out = Some(*newest);
        }
        Ok(written)
    }

    pub(crate) fn lost(&self) -> Error {
        self.failed("it was put back to an older state meanwhile")
    }
}
