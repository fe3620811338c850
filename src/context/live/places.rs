//! Where a look may search for a file that vanished: its own folder, and files that the session met by their paths alone. Bounded,
//! never a walk of the tree.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

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
    folders: HashMap<PathBuf, Vec<PathBuf>>,
    met: Option<Vec<PathBuf>>,
    read_bytes: u64,
    read: HashSet<PathBuf>,
}

impl Places {
    /// The entries of the folder in which a file was.
    pub(super) fn beside(&mut self, location: &Location) -> &[PathBuf] {
        let Some(folder) = location.open.as_deref().and_then(Path::parent) else { return &[] };
        if self.folders.len() >= MAX_FOLDERS && !self.folders.contains_key(folder) {
            return &[];
        }
        self.folders.entry(folder.to_owned()).or_insert_with(|| {
            let entries = folder.read_dir().into_iter().flatten().take(MAX_ENTRIES);
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
        })
    }

    /// Files that the session met by their paths, in listings, and never read.
    pub(super) fn met(&mut self, session: &Session) -> &[PathBuf] {
        self.met.get_or_insert_with(|| {
            let entries = session.index().entries().iter().rev();
            let met = entries.filter_map(|entry| match &entry.subject {
                Subject::File { path, lines: None, stamp: None, .. } => Some(PathBuf::from(path)),
                _ => None,
            });
            met.take(MAX_MET).collect()
        })
    }

    /// Whether the file at a path has so many bytes, and may be read to compare them.
    pub(super) fn may_be(&mut self, path: &Path, size: u64) -> bool {
        let is_of_size = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
        if is_of_size && self.read.insert(path.to_owned()) {
            self.read_bytes = self.read_bytes.saturating_add(size);
        }
        is_of_size && self.read_bytes <= MAX_BYTES
    }
}
