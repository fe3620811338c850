//! Files that this process cannot open, changed by others who can: a shared store brings their
//! versions.
//!
//! Files that this process can open it checks itself, so for those a version from elsewhere says
//! nothing new. Must not ask the network.

use super::finding::Finding;
use crate::LiveSession;
use base::error::Result;
use base::object::{AsOf, ObjectId};
use config::Layout;
use session::{Cause, Subject};
use source::{IndexOutcome, Indexed, Location};
use store::Version;

/// A version of a file that another machine wrote and that the session does not know.
pub(super) struct FromElsewhere {
    pub(super) file: ObjectId,
    location: Location,
    version: Version,
}

impl LiveSession {
    /// Such versions of the files that the session knows.
    pub(super) fn find_from_elsewhere(&self) -> Result<Vec<FromElsewhere>> {
        if self.options.settings.xtdb_url.is_none() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for entry in &self.state().index().entries {
            let Subject::File { version: known, .. } = &entry.subject else { continue };
            let Some(location) = self.location_of(&entry.id)? else { continue };
            let is_out = self.state().files().orphaned(&entry.id).is_some();
            if location.open.is_some() && !is_out {
                continue;
            }
            let store = &self.journal.store;
            let Some(version) = store.get(&entry.id, AsOf::Latest)? else { continue };
            if version.content_hash != *known && version.origin.store_id != store.id() {
                found.push(FromElsewhere { file: entry.id.clone(), location, version });
            }
        }
        Ok(found)
    }

    /// Records such a version; the finding is the same as that of a look at the file.
    pub(super) fn record_from_elsewhere(&mut self, from: FromElsewhere) -> Result<Finding> {
        let FromElsewhere { file, location, version } = from;
        let is_shown = self.options.settings.layout == Layout::Pools;
        let is_shown = is_shown && self.stands(&file);
        let cause = if is_shown { Cause::Changed } else { Cause::Checked };
        let found = Indexed {
            payload: self.journal.store.payload(&version)?,
            envelope: version.envelope,
            version: version.content_hash,
            outcome: IndexOutcome::Unchanged,
            stamp: None,
        };
        let (_, now) = self.record_version(&location, found, cause, None)?;
        Ok(Finding::Version(now))
    }
}
