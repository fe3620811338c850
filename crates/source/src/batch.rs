//! Collects files and writes them in one transaction. [`super::indexing`] decides which version
//! each gets.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::{FileReading, FileState};
use super::indexing::{self, IndexOutcome, Indexed, LatestFile};
use super::location::Location;
use super::walk::WalkProblem;
use base::error::{Error, Result};
use base::object::{AsOf, Envelope, ObjectId, Payload, TxId};
use store::{Expected, Outcome, Receipt, Store};

/// Maximum number of files in one transaction.
const BATCH_FILES: usize = 200;
/// Bytes of text after which a transaction is full; the file that passes the limit still belongs to
/// it.
const BATCH_BYTES: usize = 16 << 20;

/// A file that was indexed.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedFile {
    /// Canonical path. For a tracked file, the path at which this process opens it.
    pub path: PathBuf,
    /// ID of its object.
    pub id: ObjectId,
    /// What indexing did with it.
    pub outcome: IndexOutcome,
    /// Transaction of its latest version.
    pub tx_id: TxId,
    /// Why it has no content (`binary`, `too_large`, `excluded`, `deleted`); `None` if it has
    /// content.
    pub no_content: Option<String>,
}

/// A reading of a file, with the store's newest transaction before it.
#[derive(Debug)]
pub(super) struct Look {
    reading: FileReading,
    since: TxId,
}

impl Look {
    /// Takes a reading. Versions that the store gets from now on may come from another process that
    /// read the file later.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn take(store: &Store, read: impl FnOnce() -> FileReading) -> Result<Self> {
        let (since, _) = store.newest()?;
        Ok(Self { reading: read(), since })
    }

    /// What was found.
    pub(super) fn state(&self) -> &FileState {
        &self.reading.state
    }
}

/// Files for one transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    files: Vec<Staged>,
    bytes: usize,
    overtaken: Vec<PathBuf>,
}

#[derive(Debug)]
struct Staged {
    file: IndexedFile,
    envelope: Envelope,
    payload: Payload,
    /// The latest version before the look.
    expected: Expected,
    /// The path at which this process opened it.
    open: PathBuf,
}

/// Result of writing a batch.
#[derive(Debug, Default)]
pub(super) struct BatchResult {
    pub files: Vec<IndexedFile>,
    /// Files left out because they are forgotten.
    pub forgotten: Vec<WalkProblem>,
    /// Files left out because another process has written a version since they were read, by the
    /// paths at which this process opens them. They must be read again.
    pub overtaken: Vec<PathBuf>,
}

impl Batch {
    /// Adds a file, or records that the store has its version already. `path`: the path for
    /// reports. `moved_from`: the object that the file was before it moved. Returns the expected
    /// outcome; `None` where nothing is known about the file, see [`indexing::index`], and where
    /// another process has written a version since the reading.
    ///
    /// # Errors
    /// Errors of the store; `INVALID_ARGUMENT` if the path is not UTF-8.
    pub(super) fn stage(
        &mut self,
        store: &Store,
        location: &Location,
        path: &Path,
        look: Look,
        moved_from: Option<&ObjectId>,
    ) -> Result<Option<&IndexedFile>> {
        let latest = store.get(&location.id()?, AsOf::Latest)?;
        let tx_id = latest.as_ref().map_or(TxId(0), |latest| latest.tx_id);
        let open = location.open.clone().unwrap_or_else(|| path.to_owned());
        let Look { reading, since } = look;
        if tx_id > since {
            self.overtaken.push(open);
            return Ok(None);
        }
        let expected =
            latest.as_ref().map_or(Expected::Absent, |latest| Expected::Latest(latest.tx_id));
        let Some(mut found) = indexing::index(location, reading, latest.map(LatestFile::from))?
        else {
            return Ok(None);
        };
        if let Some(id) = moved_from {
            found.set_moved_from(id)?;
        }
        let Indexed { envelope, payload, outcome, .. } = found;
        let no_content = payload.fields.get("no_content").and_then(Value::as_str);
        let no_content = no_content.map(str::to_owned);
        let (path, id) = (path.to_owned(), envelope.id.clone());
        let file = IndexedFile { path, id, outcome, tx_id, no_content };
        if outcome != IndexOutcome::Unchanged {
            self.bytes += payload.content.as_ref().map_or(0, String::len);
        }
        self.files.push(Staged { file, envelope, payload, expected, open });
        Ok(self.files.last().map(|staged| &staged.file))
    }

    /// Number of files in the batch.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether the batch is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.overtaken.is_empty()
    }

    /// Whether the batch is full.
    pub(super) fn is_full(&self) -> bool {
        self.files.len() >= BATCH_FILES || self.bytes >= BATCH_BYTES
    }

    /// Writes the batch in one transaction and empties it. Leaves out forgotten files, and files of
    /// which another process has written a version since the reading.
    ///
    /// # Errors
    /// Errors of the store; nothing was written then.
    pub(super) fn commit(&mut self, store: &Store) -> Result<BatchResult> {
        let Self { mut files, overtaken, .. } = std::mem::take(self);
        let mut written = BatchResult { overtaken, ..BatchResult::default() };
        let receipt = loop {
            if files.is_empty() {
                return Ok(written);
            }
            let error = match put(store, &files) {
                Ok(receipt) => break receipt,
                Err(error) => error,
            };
            let at = match &error {
                Error::Forgotten { id } | Error::Conflict { id, .. } => {
                    files.iter().position(|staged| staged.file.id == *id)
                }
                _ => None,
            };
            let Some(at) = at else { return Err(error) };
            let Staged { file, open, .. } = files.remove(at);
            if matches!(error, Error::Conflict { .. }) {
                written.overtaken.push(open);
            } else {
                let problem = "it was forgotten".to_owned();
                written.forgotten.push(WalkProblem { path: file.path, problem });
            }
        };
        let tx_id = receipt.as_ref().map_or(TxId(0), |receipt| receipt.tx_id);
        let mut outcomes = receipt.map(|receipt| receipt.outcomes).unwrap_or_default().into_iter();
        for Staged { mut file, .. } in files {
            if is_written(&file) && outcomes.next() == Some(Outcome::Written) {
                file.tx_id = tx_id;
            }
            written.files.push(file);
        }
        Ok(written)
    }
}

/// Writes the pending versions; `None` if there are none.
fn put(store: &Store, files: &[Staged]) -> Result<Option<Receipt>> {
    let mut transaction = store.begin();
    for staged in files.iter().filter(|staged| is_written(&staged.file)) {
        transaction.put(staged.envelope.clone(), staged.payload.clone(), staged.expected)?;
    }
    if transaction.is_empty() {
        return Ok(None);
    }
    transaction.commit().map(Some)
}

fn is_written(file: &IndexedFile) -> bool {
    file.outcome != IndexOutcome::Unchanged
}
