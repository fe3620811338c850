//! Finds a vanished file: at the place that a watcher or a command named, or by its bytes.
//!
//! Must not record anything.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::places::{self, Places};
use super::{Candidate, Vanished};
use crate::LiveSession;
use base::error::Result;
use base::object::{AsOf, Hash, Timestamp};
use source::{FileState, Location};

impl LiveSession {
    /// The file at its new path, if `named` gives one and the file is there. `named`: old and new
    /// paths.
    pub(super) fn where_named(
        &self,
        file: &Vanished,
        named: &[(PathBuf, PathBuf)],
    ) -> Result<Option<Candidate>> {
        for (from, to) in named {
            let was = self.disk.agent_path(&file.location);
            let Ok(rest) = was.strip_prefix(from) else { continue };
            let to = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
            let place = self.disk.location(&to);
            let Some(found) = self.candidate(file, place)? else { continue };
            let hash = source_hash(&found.reading.state);
            let is_equal = hash.is_some() && hash == file.source_hash.as_ref();
            if is_equal || found.is_same_file || file.is_older_than(&found.location) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The file with the bytes of a vanished one, if the search finds exactly one.
    pub(super) fn where_bytes_are(
        &self,
        file: &Vanished,
        places: &mut Places,
    ) -> Result<Option<Candidate>> {
        let (Some(hash), Some(size)) = (&file.source_hash, file.size.filter(|size| *size > 0))
        else {
            return Ok(None);
        };
        let mut met: Vec<Location> = places.beside(&file.location).to_vec();
        met.extend(self.met_by_path(places)?.iter().cloned());
        let mut found: Vec<Candidate> = Vec::new();
        let mut seen = HashSet::new();
        for location in met {
            if !seen.insert(location.clone()) || !places.may_be(&location, size) {
                continue;
            }
            let Some(candidate) = self.candidate(file, location)? else { continue };
            if source_hash(&candidate.reading.state) != Some(hash) {
                continue;
            }
            let open = candidate.location.open.as_deref().unwrap_or(Path::new(""));
            // A look that did not see the vanished file any more was too late to tell.
            let is_late =
                file.location.open.as_deref().is_some_and(|path| self.workspace.stood.lacked(path));
            let stood = self.workspace.stood.had(open, candidate.inode).filter(|_| !is_late);
            let came = || {
                (stood == Some(false) || file.is_older_than(&candidate.location))
                    && !source::was_written_over(open, file.looked)
            };
            let is_target = stood != Some(true)
                && (candidate.is_same_file
                    || (came() && !self.had_bytes(&candidate.location, hash, file.looked)?));
            if is_target {
                found.push(candidate);
            }
        }
        if found.iter().filter(|candidate| candidate.is_same_file).count() == 1 {
            found.retain(|candidate| candidate.is_same_file);
        }
        let is_one = found.len() == 1;
        Ok(found.pop().filter(|_| is_one))
    }

    /// Places of the files known by path alone.
    fn met_by_path<'a>(&self, places: &'a mut Places) -> Result<&'a [Location]> {
        if places.met.is_none() {
            let ids = places::met(self.state());
            let locations = ids.iter().map(|id| self.location_of(id));
            let locations = locations.collect::<Result<Vec<_>>>()?;
            places.met = Some(locations.into_iter().flatten().collect());
        }
        Ok(places.met.as_deref().unwrap_or_default())
    }

    /// Reads the regular file at a place. `None` if there is none, or if it cannot be a moved file.
    pub(super) fn candidate(
        &self,
        file: &Vanished,
        location: Location,
    ) -> Result<Option<Candidate>> {
        let Some(open) = location.open.clone() else { return Ok(None) };
        let id = location.id()?;
        if id == file.object || self.journal.was_refused(&id) || location.path.to_str().is_none() {
            return Ok(None);
        }
        let Some(stamp) = source::stamp(&open) else { return Ok(None) };
        let reading = self.disk.read(&location);
        let is_same_file = file.is_same_file(Some(&stamp));
        let inode = stamp.inode;
        Ok(Some(Candidate { location, reading, inode, is_same_file, is_stored: false }))
    }

    /// Whether the store had these bytes at this place before some time: then the file there is an old
    /// copy. A later version may be that of the moved file, read at its new place before its old place
    /// was checked.
    fn had_bytes(&self, location: &Location, hash: &Hash, looked: Timestamp) -> Result<bool> {
        let stored = self.journal.store.get(&location.id()?, AsOf::Latest)?;
        Ok(stored.is_some_and(|stored| {
            stored.source_hash.as_ref() == Some(hash) && stored.system_time < looked
        }))
    }
}

/// SHA-256 of the bytes, if they were read.
fn source_hash(state: &FileState) -> Option<&Hash> {
    match state {
        FileState::Text { source_hash, .. } | FileState::Binary { source_hash, .. } => {
            Some(source_hash)
        }
        _ => None,
    }
}
