//! Where to search for a vanished file: in its own folder, and among the files that the session
//! knows by path alone. Bounded, and never a walk of the tree.

use files::looks;
use std::collections::{HashMap, HashSet};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use base::object::ObjectId;
use session::{Session, Subject};
use source::Location;

/// Number of entries of one folder that a search looks at.
const MAX_ENTRIES: usize = 2_000;
/// Number of folders that one search reads.
const MAX_FOLDERS: usize = 64;
/// Number of files known by path alone that a search looks at, newest first.
const MAX_MET: usize = 1_000;
/// Number of bytes that one search reads to compare files.
const MAX_BYTES: u64 = 64 << 20;

/// The places of one search.
#[derive(Debug, Default)]
pub(super) struct Places {
    folders: HashMap<PathBuf, Vec<Location>>,
    pub(super) met: Option<Vec<Location>>,
    read_bytes: u64,
    read: HashSet<PathBuf>,
}

impl Places {
    /// The entries of the folder in which a file was.
    pub(super) fn beside(&mut self, location: &Location) -> &[Location] {
        let Some(folder) = location.open.as_deref().and_then(Path::parent) else { return &[] };
        if self.folders.len() >= MAX_FOLDERS && !self.folders.contains_key(folder) {
            return &[];
        }
        self.folders.entry(folder.to_owned()).or_insert_with(|| {
            let entries = looks::entries(folder, MAX_ENTRIES).into_iter().flatten();
            let sibling = |entry: DirEntry| Location {
                path: location.path.with_file_name(entry.file_name()),
                open: Some(entry.path()),
                ..location.clone()
            };
            entries.map(sibling).collect()
        })
    }

    /// Whether the file at a place has `size` bytes and the search may still read that many.
    pub(super) fn may_be(&mut self, location: &Location, size: u64) -> bool {
        let Some(path) = &location.open else { return false };
        let is_of_size = looks::symlink_metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
        if is_of_size && self.read.insert(path.clone()) {
            self.read_bytes = self.read_bytes.saturating_add(size);
        }
        is_of_size && self.read_bytes <= MAX_BYTES
    }
}

/// Files known by path alone, from listings, newest first.
pub(in crate::workspace) fn met(session: &Session) -> Vec<ObjectId> {
    let entries = session.index().entries.iter().rev();
    let met = entries.filter_map(|entry| match &entry.subject {
        Subject::File { lines: None, stamp: None, .. } => Some(entry.id.clone()),
        _ => None,
    });
    met.take(MAX_MET).collect()
}
