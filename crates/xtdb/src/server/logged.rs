//! Reads the transaction log in parts. Must not write, or remember how far any reader has got.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::client::LoggedTx;
use super::machines::Introduced;
use super::{XtdbBackend, documents};
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Room, Timestamp, TxId};
use store::Version;

/// Bytes of memory after which a part of the log ends.
const PART_BYTES: usize = 32 << 20;

impl XtdbBackend {
    /// The versions of transactions after one, whole transactions until there are `limit`; and the
    /// documents among them that are not ours, with their problems. `after` is also where the next
    /// call continues.
    pub(super) fn logged(&self, after: TxId, limit: usize) -> Result<Logged> {
        let mut first = Logged::after(after);
        self.logged_in_parts(after, limit, &mut |logged| {
            first = logged;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    /// Passes the log after a transaction to `take` in such parts, none of them empty. `take` may
    /// stop. The server is asked only once, because it prepares its whole answer before sending any
    /// of it.
    pub(super) fn logged_in_parts(
        &self,
        after: TxId,
        limit: usize,
        take: &mut dyn FnMut(Logged) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut logged = Logged::after(after);
        let (mut taken, mut is_ended) = (after, false);
        self.client.log(Some(after.0.max(self.first.id)), &mut |tx| {
            logged.add(tx, &self.store_id);
            if logged.versions.len() < limit && logged.bytes < PART_BYTES {
                return Ok(ControlFlow::Continue(()));
            }
            taken = logged.until;
            let next = Logged::after(taken);
            let flow = take(std::mem::replace(&mut logged, next))?;
            is_ended = flow.is_break();
            Ok(flow)
        })?;
        if !is_ended && logged.until != taken {
            let _last = take(logged)?;
        }
        Ok(())
    }
}

/// A part of the log.
#[derive(Debug, Default)]
pub(crate) struct Logged {
    pub(crate) versions: Vec<Version>,
    /// Objects of which only a tombstone remains.
    pub(crate) forgotten: Vec<ObjectId>,
    /// One error for each document that only looks like ours.
    pub(crate) broken: Vec<Error>,
    /// What machines said of themselves.
    pub(crate) machines: Vec<Introduced>,
    /// Contents that came with the versions.
    pub(crate) texts: HashMap<Hash, String>,
    bytes: usize,
    /// The last transaction read.
    pub(crate) until: TxId,
    /// Its time; zero if none was read.
    pub(crate) time: Timestamp,
}

impl Logged {
    fn after(until: TxId) -> Self {
        Self { until, ..Self::default() }
    }

    fn add(&mut self, LoggedTx { tx, puts, bytes }: LoggedTx, store_id: &str) {
        let room = Room::for_answers();
        self.bytes += bytes;
        for document in puts {
            if let Some((hash, text)) = documents::read_content(&document) {
                self.texts.insert(hash, text);
            } else if let Some(machine) = Introduced::read(&document) {
                self.machines.push(machine);
            } else if documents::is_object(&document) {
                if documents::is_forgotten(&document) {
                    self.forgotten.push(ObjectId::new(documents::id_of(&document)));
                    continue;
                }
                match documents::version(&document, tx, store_id, &room) {
                    Ok(version) => self.versions.push(version),
                    Err(error) => self.broken.push(error),
                }
            }
        }
        self.bytes += room.taken();
        (self.until, self.time) = (TxId(tx.id), tx.time);
    }
}
