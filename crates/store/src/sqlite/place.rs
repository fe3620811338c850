//! Whether an open store's file is still where it was opened, and still the same store. SQLite
//! keeps writing to a deleted file, and does not notice when another program overwrites a file
//! whose pages are in memory: either way, all writes are lost once the program ends.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use super::failure::Failure;
use super::{lock, open, schema};
use base::error::{Error, Result};

/// The first bytes of a database. See sqlite.org/fileformat.html, 1.3.
#[cfg(target_os = "linux")]
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// A file's path and identity.
#[derive(Debug)]
pub(super) struct StoreFile {
    /// The path.
    pub(super) path: PathBuf,
    file: (u64, u64),
    /// Size and modification time at the last look. Other processes change them when they move the
    /// log into the file.
    seen: Mutex<Option<(u64, SystemTime)>>,
}

/// A file as the system reports it.
#[derive(Debug, Clone, Copy)]
struct FileIdentity {
    file: (u64, u64),
    seen: Option<(u64, SystemTime)>,
}

impl StoreFile {
    /// The file at a path; `None` if the system does not number files.
    pub(super) fn of(path: PathBuf) -> Option<Self> {
        let FileIdentity { file, seen } = found(&path).ok().flatten()?;
        Some(Self { path, file, seen: Mutex::new(seen) })
    }

    /// Fails if this is no longer the store with this ID.
    ///
    /// # Errors
    /// `STORE_GONE`, `STORE_CORRUPT`. Errors name `shown`, the path of the store as it was given.
    pub(super) fn check(&self, store_id: &str, shown: &Path) -> Result<()> {
        let gone = |replaced| Error::StoreGone { path: shown.to_owned(), replaced };
        let found = match found(&self.path) {
            Ok(Some(found)) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(gone(false)),
            // The file cannot be examined; SQLite's own error then says more.
            Ok(None) | Err(_) => return Ok(()),
        };
        if found.file != self.file {
            return Err(gone(true));
        }
        if *lock(&self.seen) != found.seen {
            self.check_bytes(store_id).map_err(|failure| failure.at(shown))?;
            *lock(&self.seen) = found.seen;
        }
        Ok(())
    }

    /// Call after each write of this process.
    pub(super) fn written(&self) {
        *lock(&self.seen) = found(&self.path).ok().flatten().and_then(|found| found.seen);
    }

    /// Reads the file itself, bypassing SQLite's cached pages.
    fn check_bytes(&self, store_id: &str) -> Result<(), Failure> {
        let damaged = |problem: &str| Failure::Damaged(problem.into());
        // On other systems, closing the file would drop SQLite's locks.
        #[cfg(target_os = "linux")]
        {
            let mut head = [0; MAGIC.len()];
            let read = std::fs::File::open(&self.path)
                .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
            if read.is_err() || head != *MAGIC {
                return Err(damaged("another program wrote over it"));
            }
        }
        let reader = open::reader(&self.path).map_err(Failure::from)?;
        if schema::identity(&reader, &self.path)? != store_id {
            return Err(damaged("another store was written over it"));
        }
        Ok(())
    }
}

#[cfg(unix)]
fn found(path: &Path) -> std::io::Result<Option<FileIdentity>> {
    use std::os::unix::fs::MetadataExt;

    let metadata = path.symlink_metadata()?;
    let seen = metadata.modified().ok().map(|time| (metadata.len(), time));
    Ok(Some(FileIdentity { file: (metadata.dev(), metadata.ino()), seen }))
}

#[cfg(not(unix))]
fn found(_path: &Path) -> std::io::Result<Option<FileIdentity>> {
    Ok(None)
}
