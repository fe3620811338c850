//! Looks at the latest versions of objects, and commits that succeed only if nobody wrote another
//! one since.
//!
//! A file that this process read before another one did must not become the latest version after
//! that one's; and if two sessions find a call's ID free at the same moment, one has to take
//! another.

use std::collections::{HashMap, HashSet};

use super::Journal;
use super::ahead::ReadAhead;
use super::staged::StagedObject;
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, Hash, ObjectId, Payload, TxId};
use store::{Expected, Outcome, Receipt, Transaction, Version};

/// The state of the store when the present work began.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// The store's newest transaction at that time. Whether a later version was written before or
    /// after a look of this work cannot be told.
    since: TxId,
    /// The latest versions that this journal wrote since.
    own: HashMap<ObjectId, TxId>,
}

/// Objects to put, and the transactions that wrote them.
#[derive(Debug, Default)]
pub(super) struct Puts {
    /// Those that the present transaction puts, in order.
    held: Vec<ObjectId>,
    ids: HashSet<ObjectId>,
    written: HashMap<ObjectId, TxId>,
}

impl Journal {
    /// Starts a work: what it looks at is as of now.
    pub(crate) fn begin_work(&mut self) -> Result<()> {
        self.ahead = ReadAhead::default();
        self.reasons.get_mut().clear();
        self.looks = Looks { since: self.store.newest()?.0, own: HashMap::new() };
        Ok(())
    }

    /// Stages a version that follows from a look at the object, or at its source, in the present
    /// work. The commit fails if another process has written one since.
    ///
    /// # Errors
    /// `CONFLICT` if another process has written one; the work must be redone.
    ///
    /// `version`: `content_hash` of the payload.
    pub(crate) fn stage_seen(
        &mut self,
        envelope: Envelope,
        payload: Payload,
        version: Hash,
    ) -> Result<()> {
        let before = self.staged.objects.of(&envelope.id).last();
        let expected = match before {
            Some(before) => before.expected,
            None => self.seen(&envelope.id)?,
        };
        self.staged.objects.push(StagedObject { envelope, payload, version, expected });
        Ok(())
    }

    /// The latest version of an object as of the start of the present work.
    fn seen(&self, id: &ObjectId) -> Result<Expected> {
        let latest = self.store.get(id, AsOf::Latest)?;
        let Some(Version { tx_id, .. }) = latest else { return Ok(Expected::Absent) };
        if tx_id > self.looks.since && self.looks.own.get(id) != Some(&tx_id) {
            return Err(Error::Conflict { id: id.clone(), winner: Some(tx_id) });
        }
        Ok(Expected::Latest(tx_id))
    }

    /// Puts objects into a transaction. Where an object got several versions since the last commit,
    /// the earlier ones are committed first: a transaction holds one version of an object.
    pub(super) fn put_objects(
        &self,
        objects: Vec<StagedObject>,
    ) -> Result<(Transaction<'_>, Puts)> {
        let mut transaction = self.store.begin();
        let mut puts = Puts::default();
        for StagedObject { envelope, payload, version, expected } in objects {
            if puts.ids.contains(&envelope.id) {
                let receipt = std::mem::replace(&mut transaction, self.store.begin()).commit()?;
                puts.committed(&receipt);
            }
            let expected = match puts.written.get(&envelope.id) {
                Some(tx_id) if expected != Expected::Any => Expected::Latest(*tx_id),
                _ => expected,
            };
            puts.ids.insert(envelope.id.clone());
            puts.held.push(envelope.id.clone());
            transaction.put_hashed(envelope, payload, version, expected);
        }
        Ok((transaction, puts))
    }

    /// Keeps which versions this journal wrote itself.
    pub(super) fn wrote(&mut self, mut puts: Puts, receipt: &Receipt) {
        puts.committed(receipt);
        self.looks.own.extend(puts.written);
    }
}

impl Puts {
    /// Takes the receipt of a transaction whose first operations are the puts held.
    fn committed(&mut self, receipt: &Receipt) {
        self.written.extend(self.held.drain(..).zip(written_at(receipt)));
        self.ids.clear();
    }
}

/// The transactions of the versions that a commit left as the latest, in the order of its operations.
pub(super) fn written_at(receipt: &Receipt) -> impl DoubleEndedIterator<Item = TxId> {
    receipt.outcomes.iter().map(|outcome| match outcome {
        Outcome::Written => receipt.tx_id,
        Outcome::Unchanged(tx_id) => *tx_id,
    })
}
