//! Where a vanished file is searched for: its own folder, and files that the session met by their paths alone. Bounded,
//! never a walk of the tree.

use std::collections::{HashMap, HashSet};
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use crate::object::ObjectId;
use crate::session::{Session, Subject};
use crate::source::Location;

/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 2_000;
/// Folders that one search reads.
const MAX_FOLDERS: usize = 64;
/// Files that are known by their paths alone, of which the newest are looked at.
const MAX_MET: usize = 1_000;
/// Bytes that one search reads to compare them.
const MAX_BYTES: u64 = 64 << 20;

/// The places of one search.
#[derive(Debug, Default)]
pub(super) struct Places {
    folders: HashMap<PathBuf, Vec<Location>>,
    met: Option<Vec<Location>>,
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
            let entries = folder.read_dir().into_iter().flatten().take(MAX_ENTRIES).flatten();
            let sibling = |entry: DirEntry| Location {
                path: location.path.with_file_name(entry.file_name()),
                open: Some(entry.path()),
                ..location.clone()
            };
            entries.map(sibling).collect()
        })
    }

    /// Whether it is known where the files are that the session met by their paths.
    pub(super) fn knows_met(&self) -> bool {
        self.met.is_some()
    }

    /// Takes where the files are that the session met by their paths.
    pub(super) fn remember_met(&mut self, met: Vec<Location>) {
        self.met = Some(met);
    }

    /// Where the files are that the session met by their paths.
    pub(super) fn met(&self) -> &[Location] {
        self.met.as_deref().unwrap_or_default()
    }

    /// Whether the file at a place has `size` bytes, and may be read to compare them.
    pub(super) fn may_be(&mut self, location: &Location, size: u64) -> bool {
        let Some(path) = &location.open else { return false };
        let is_of_size = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
        if is_of_size && self.read.insert(path.clone()) {
            self.read_bytes = self.read_bytes.saturating_add(size);
        }
        is_of_size && self.read_bytes <= MAX_BYTES
    }
}

/// Files that the session met by their paths, in listings, and never read.
pub(super) fn met(session: &Session) -> Vec<ObjectId> {
    let entries = session.index().entries().iter().rev();
    let met = entries.filter_map(|entry| match &entry.subject {
        Subject::File { lines: None, stamp: None, .. } => Some(entry.id.clone()),
        _ => None,
    });
    met.take(MAX_MET).collect()
}
