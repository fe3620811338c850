//! Histories: all versions of an object. Those of lists are kept, and only what came since is asked
//! for, since a session and its chat get a version with every call. Must not outlive the connection.

use std::collections::HashMap;

use super::XtdbBackend;
use super::client::{Document, Row};
use super::documents;
use base::error::Result;
use base::lock;
use base::object::{ObjectId, Room};
use store::Version;

/// Versions kept of all lists together.
const MOST_VERSIONS: usize = 20_000;

/// Versions of lists as they were last read, newest first.
#[derive(Debug, Default)]
pub(super) struct Histories(HashMap<ObjectId, Vec<Version>>);

impl Histories {
    fn keep(&mut self, id: &ObjectId, versions: &[Version]) {
        if self.0.values().map(Vec::len).sum::<usize>() + versions.len() > MOST_VERSIONS {
            self.0.clear();
        }
        if versions.len() <= MOST_VERSIONS {
            self.0.insert(id.clone(), versions.to_vec());
        }
    }
}

impl XtdbBackend {
    /// All versions of an object, latest first, as long as there is room for them.
    pub(super) fn history_in(&self, id: &ObjectId, room: &Room) -> Result<Vec<Version>> {
        if id.as_str().is_empty() {
            return Ok(Vec::new());
        }
        let known = lock(&self.histories).0.remove(id).unwrap_or_default();
        let versions = match self.continued(id, known, room)? {
            Some(versions) => versions,
            None => self.versions_of(&self.client.history(id.as_str(), None, room)?, room)?,
        };
        if versions.first().is_some_and(|latest| latest.items_hash.is_some()) {
            lock(&self.histories).keep(id, &versions);
        }
        // A reader has now seen these versions, and may put them again.
        let mut missed = lock(&self.missed);
        if !missed.is_empty() {
            for version in &versions {
                missed.remove(&super::mark(version));
            }
        }
        Ok(versions)
    }

    /// What was known of a history, and what came since; `None` if the server does not have the
    /// newest known version any more: it was erased, or an older state was put back.
    fn continued(
        &self,
        id: &ObjectId,
        mut known: Vec<Version>,
        room: &Room,
    ) -> Result<Option<Vec<Version>>> {
        let Some(newest) = known.first() else { return Ok(None) };
        let rows = self.client.history(id.as_str(), Some(newest.tx_id.0), room)?;
        let mut since = self.versions_of(&rows, room)?;
        let Some(at) = since.iter().position(|version| version == newest) else {
            return Ok(None);
        };
        since.truncate(at);
        since.append(&mut known);
        Ok(Some(since))
    }

    fn versions_of(&self, rows: &[Row], room: &Room) -> Result<Vec<Version>> {
        let version =
            |(tx, document): (_, &Document)| documents::version(document, tx, &self.store_id, room);
        let written = rows.iter().rev();
        written.filter_map(|row| Some((row.tx, row.document.as_deref()?))).map(version).collect()
    }
}
