//! The acknowledged mark: the newest acknowledged transaction, in a small file beside the store's
//! and outside its log. SQLite silently ends a damaged log at the last whole frame; the mark shows
//! that there was more. No SQL.
//!
//! The file holds [`SLOTS`] records; transaction n goes to slot n modulo that number, and the mark
//! is the greatest of them. So writers need no lock: a slow one cannot overwrite a newer mark. It
//! is written after the commit and never flushed: after a power cut it may be too low, never too
//! high. Each open store holds a shared lock on the file, by which [`lock_alone`] finds out whether
//! a store is in use.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use sha2::{Digest, Sha256};

use base::error::{Error, Result};
use base::object::TxId;
use files::{private, with_end};

const SLOTS: usize = 64;

/// Store ID (40 bytes, zero-padded), transaction (8, little endian), first bytes of the SHA-256 of
/// both (16).
const RECORD_BYTES: usize = 64;
const ID_BYTES: usize = 40;
const SUM_AT: usize = ID_BYTES + 8;

/// The file beside the store's, held open and locked by users of the store.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
}

/// The contents of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub store_id: String,
    pub tx_id: TxId,
}

impl Mark {
    /// Opens the mark of the store at `store`; with `create`, makes one, for its user only, if it is
    /// missing. `None` if that fails: a store works without one.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` while the store is being set aside.
    pub(super) fn open(store: &Path, create: bool) -> Result<Option<Self>> {
        let path = path_of(store);
        // A mark that was moved away between opening and locking belongs to another store by now.
        for _ in 0..100 {
            let Ok(file) = open_file(&path, create) else { return Ok(None) };
            match file.try_lock_shared() {
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
                _ if is_at(&file, &path) => return Ok(Some(Self { file })),
                _ => {}
            }
        }
        let problem = "it is being set aside".to_owned();
        Err(Error::StoreUnavailable { path: store.to_owned(), problem, source: None })
    }

    /// Opens the mark if there is one, and writes nothing.
    pub(super) fn open_read_only(store: &Path) -> Option<Self> {
        let file = private::open_to_read(&path_of(store)).ok()?;
        // Without the lock the store can be set aside while it is read, which does no harm.
        let _ = file.try_lock_shared();
        Some(Self { file })
    }

    /// Whether nobody else has the store open, as far as can be seen.
    pub(super) fn is_alone(&self) -> bool {
        let alone = self.file.try_lock().is_ok();
        // A lock that was refused is lost with the one before it.
        let _ = self.file.try_lock_shared();
        alone
    }

    /// The greatest record of the store `store_id`.
    pub(super) fn newest(&self, store_id: &str) -> Option<TxId> {
        self.records().filter(|record| record.store_id == store_id).map(|record| record.tx_id).max()
    }

    /// The greatest record of any store but `store_id`.
    pub(super) fn newest_of_others(&self, store_id: &str) -> Option<Record> {
        self.records()
            .filter(|record| record.store_id != store_id)
            .max_by_key(|record| record.tx_id)
    }

    /// Records that a transaction was acknowledged. Failures are ignored: the transaction itself is
    /// safe.
    pub(super) fn raise(&self, store_id: &str, tx_id: TxId) {
        let slot = tx_id.0.unsigned_abs() % SLOTS as u64;
        let at = slot * RECORD_BYTES as u64;
        let mut bytes = [0; RECORD_BYTES];
        let present = read_at(&self.file, &mut bytes, at).ok().and_then(|_| read(&bytes));
        if present.is_some_and(|record| record.store_id == store_id && record.tx_id >= tx_id) {
            return;
        }
        if let Some(bytes) = write(store_id, tx_id) {
            let _ = write_at(&self.file, &bytes, at);
        }
    }

    /// Empties every slot, for a new store that replaces another.
    pub(super) fn clear(&self) {
        let _ = write_at(&self.file, &[0; SLOTS * RECORD_BYTES], 0);
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        let mut bytes = vec![0; SLOTS * RECORD_BYTES];
        let length = read_at(&self.file, &mut bytes, 0).unwrap_or(0);
        bytes.truncate(length);
        let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
        records.iter().filter_map(read).collect::<Vec<_>>().into_iter()
    }
}

/// The path of a store's mark.
pub(super) fn path_of(store: &Path) -> PathBuf {
    with_end(store, "-ack")
}

/// Locks the store at `store` against everyone else; the lock ends when the file is dropped. `None`
/// while a store is open there, in this process or another.
pub(super) fn lock_alone(store: &Path) -> io::Result<Option<File>> {
    let file = open_file(&path_of(store), true)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_file(path: &Path, create: bool) -> io::Result<File> {
    let file = private::open(path, create)?;
    // Allocate the whole size at once, so that later writes need no space.
    if file.metadata()?.len() == 0 {
        write_at(&file, &[0; SLOTS * RECORD_BYTES], 0)?;
    }
    Ok(file)
}

fn read(bytes: &[u8; RECORD_BYTES]) -> Option<Record> {
    let (id, tx_id) = (&bytes[..ID_BYTES], &bytes[ID_BYTES..SUM_AT]);
    if bytes[SUM_AT..] != sum(&bytes[..SUM_AT]) {
        return None;
    }
    let store_id = std::str::from_utf8(id).ok()?.trim_end_matches('\0').to_owned();
    Some(Record { store_id, tx_id: TxId(i64::from_le_bytes(tx_id.try_into().ok()?)) })
}

/// `None` for an ID that is too long; this program makes none like that.
fn write(store_id: &str, tx_id: TxId) -> Option<[u8; RECORD_BYTES]> {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..ID_BYTES].get_mut(..store_id.len())?.copy_from_slice(store_id.as_bytes());
    bytes[ID_BYTES..SUM_AT].copy_from_slice(&tx_id.0.to_le_bytes());
    let sum = sum(&bytes[..SUM_AT]);
    bytes[SUM_AT..].copy_from_slice(&sum);
    Some(bytes)
}

fn sum(bytes: &[u8]) -> [u8; RECORD_BYTES - SUM_AT] {
    let mut sum = [0; RECORD_BYTES - SUM_AT];
    sum.copy_from_slice(&Sha256::digest(bytes)[..RECORD_BYTES - SUM_AT]);
    sum
}

/// Whether the open file is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(there)) => place(open) == place(there),
        _ => false,
    }
}

/// Whether a file is at `path`; an open file cannot be moved away on this system.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    fs::exists(path).unwrap_or(false)
}

// Whoever has a mark reads and writes it one call after another, since the place in the file is one.

fn read_at(mut file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    file.seek(SeekFrom::Start(at))?;
    file.read(bytes)
}

fn write_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        (folder, path)
    }

    #[test]
    fn a_slower_writer_does_not_lower_the_mark() {
        let (_folder, path) = place();
        let (fast, slow) =
            (Mark::open(&path, true).unwrap().unwrap(), Mark::open(&path, true).unwrap().unwrap());
        assert_eq!(fast.newest("s"), None);
        fast.raise("s", TxId(70));
        slow.raise("s", TxId(69));
        slow.raise("s", TxId(6));
        assert_eq!(fast.newest("s"), Some(TxId(70)));
        assert_eq!(fast.newest("another"), None);
    }

    #[test]
    fn torn_and_foreign_records_are_passed_over() {
        let (_folder, path) = place();
        let mark = Mark::open(&path, true).unwrap().unwrap();
        mark.raise("s", TxId(1));
        mark.raise("another", TxId(3));
        mark.raise("s", TxId(2));
        let mut bytes = fs::read(path_of(&path)).unwrap();
        bytes[2 * RECORD_BYTES + ID_BYTES] ^= 4;
        fs::write(path_of(&path), bytes).unwrap();
        assert_eq!(mark.newest("s"), Some(TxId(1)));
        assert_eq!(mark.newest_of_others("s").unwrap().store_id, "another");
        assert_eq!(mark.newest_of_others("another").unwrap().tx_id, TxId(1));
    }

    #[test]
    fn a_store_in_use_cannot_be_locked_alone() {
        let (_folder, path) = place();
        let mark = Mark::open(&path, true).unwrap();
        assert!(lock_alone(&path).unwrap().is_none());
        drop(mark);
        let alone = lock_alone(&path).unwrap();
        assert!(alone.is_some());
        assert_eq!(Mark::open(&path, true).unwrap_err().code(), "STORE_UNAVAILABLE");
    }
}
