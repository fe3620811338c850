//! Which files stood beside known ones when those were last looked at: none of them can be where a
//! file went that vanished since. Opens no file.
//!
//! Only in memory: after a restart the times of the files tell.

use files::looks;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Number of entries of a folder that are remembered; a folder with more is not.
const MAX_ENTRIES: usize = 2_000;
/// Number of folders that are remembered.
pub(super) const MAX_FOLDERS: usize = 64;

/// The files by folder.
#[derive(Debug, Default)]
pub(in crate::workspace) struct Stood {
    folders: HashMap<PathBuf, Folder>,
}

/// A folder as it was looked at.
#[derive(Debug)]
struct Folder {
    /// When its entries last changed, as far as the system knows.
    changed: Option<SystemTime>,
    /// The inodes of its entries; `None` if there are too many.
    entries: Option<HashMap<OsString, u64>>,
}

impl Stood {
    /// Looks at folders whose entries changed, and forgets others.
    pub(super) fn look(&mut self, folders: &[PathBuf]) {
        self.folders.retain(|folder, _| folders.contains(folder));
        for folder in folders {
            self.look_at(folder);
        }
    }

    /// Looks at a folder that is not remembered.
    pub(super) fn meet(&mut self, folder: &Path) {
        if !self.folders.contains_key(folder) {
            self.look_at(folder);
        }
    }

    /// Looks at a folder if its entries changed.
    fn look_at(&mut self, folder: &Path) {
        let changed = looks::metadata(folder).and_then(|found| found.modified()).ok();
        let known = self.folders.get(folder);
        if known.is_some_and(|known| known.changed.is_some() && known.changed == changed) {
            return;
        }
        let found = looks::entries(folder, MAX_ENTRIES + 1).ok();
        let entries = found.filter(|entries| entries.len() <= MAX_ENTRIES);
        let inode_of = |entry: DirEntry| (entry.file_name(), inode(&entry));
        let entries = entries.map(|entries| entries.into_iter().map(inode_of).collect());
        // Where the clock is coarse, a folder that just changed may change again at the same time.
        let is_settled = |time: &SystemTime| {
            time.elapsed().is_ok_and(|since| since > std::time::Duration::from_secs(2))
        };
        let changed = changed.filter(is_settled);
        self.folders.insert(folder.to_owned(), Folder { changed, entries });
    }

    /// Whether nothing stood at a path when its folder was looked at.
    pub(super) fn lacked(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(|folder| self.folders.get(folder));
        let entries = folder.and_then(|folder| folder.entries.as_ref());
        entries.zip(path.file_name()).is_some_and(|(entries, name)| !entries.contains_key(name))
    }

    /// Whether a file stood at a path; `None` if that is not known.
    pub(super) fn had(&self, path: &Path, inode: u64) -> Option<bool> {
        let entries = self.folders.get(path.parent()?)?.entries.as_ref()?;
        Some(entries.get(path.file_name()?).is_some_and(|known| *known == inode))
    }
}

#[cfg(unix)]
fn inode(entry: &DirEntry) -> u64 {
    std::os::unix::fs::DirEntryExt::ino(entry)
}

#[cfg(not(unix))]
fn inode(_entry: &DirEntry) -> u64 {
    0
}
