//! Files that are written in one transaction. What version each should have, [`super::indexing`] says.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::FileReading;
use super::indexing::{self, IndexOutcome, Indexed, Latest};
use super::location::Location;
use super::walk::Problem;
use crate::error::{Error, Result};
use crate::object::{AsOf, Envelope, ObjectId, Payload, TxId};
use crate::store::{Expected, Outcome, Receipt, Store};

/// Files of one transaction.
const BATCH_FILES: usize = 200;
/// Bytes of text of one transaction, the file that passes it included.
const BATCH_BYTES: usize = 16 << 20;

/// A file that was indexed.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexedFile {
    /// Canonical path; of a tracked file the one by which this process opens it.
    pub path: PathBuf,
    /// Its object.
    pub id: ObjectId,
    /// What became of it.
    pub outcome: IndexOutcome,
    /// Transaction of its latest version.
    pub tx_id: TxId,
    /// Why it has no content (`binary`, `too_large`, `excluded`, `deleted`); `None` where it has.
    pub no_content: Option<String>,
}

/// Files for one transaction.
#[derive(Debug, Default)]
pub(super) struct Batch {
    files: Vec<Staged>,
    bytes: usize,
}

#[derive(Debug)]
struct Staged {
    file: IndexedFile,
    envelope: Envelope,
    payload: Payload,
}

/// What became of a batch.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub files: Vec<IndexedFile>,
    /// What a person had forgotten; it was left out.
    pub forgotten: Vec<Problem>,
}

impl Batch {
    /// Takes a file to be written, or what the store has of it already. `path`: by which it is told of. `moved_from`: the object
    /// that it was before it moved.
    /// Returns what will become of it; `None` where nothing can be said of it, see [`indexing::index`].
    ///
    /// # Errors
    /// What the store reports; `INVALID_ARGUMENT` if the path is not UTF-8.
    pub(super) fn stage(
        &mut self,
        store: &Store,
        location: &Location,
        path: &Path,
        reading: FileReading,
        moved_from: Option<&ObjectId>,
    ) -> Result<Option<&IndexedFile>> {
        let latest = store.get(&location.id()?, AsOf::Latest)?;
        let tx_id = latest.as_ref().map_or(TxId(0), |latest| latest.tx_id);
        let Some(mut found) = indexing::index(location, reading, latest.map(Latest::from))? else {
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
        self.files.push(Staged { file, envelope, payload });
        Ok(self.files.last().map(|staged| &staged.file))
    }

    /// Number of files.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether it is time to write it.
    pub(super) fn is_full(&self) -> bool {
        self.files.len() >= BATCH_FILES || self.bytes >= BATCH_BYTES
    }

    /// Writes the batch in one transaction, and empties it. What a person had forgotten is left out.
    ///
    /// # Errors
    /// What the store reports; then nothing was written.
    pub(super) fn commit(&mut self, store: &Store) -> Result<Written> {
        let mut files = std::mem::take(self).files;
        let mut written = Written::default();
        let receipt = loop {
            if files.is_empty() {
                return Ok(written);
            }
            match put(store, &files) {
                Err(Error::Forgotten { id }) => {
                    let Some(at) = files.iter().position(|staged| staged.file.id == id) else {
                        return Err(Error::Forgotten { id });
                    };
                    let problem = "it was forgotten".to_owned();
                    written.forgotten.push(Problem { path: files.remove(at).file.path, problem });
                }
                receipt => break receipt?,
            }
        };
        let tx_id = receipt.as_ref().map_or(TxId(0), |receipt| receipt.tx_id);
        let mut outcomes = receipt.map(|receipt| receipt.outcomes).unwrap_or_default().into_iter();
        for Staged { mut file, .. } in files {
            let outcome = if is_written(&file) { outcomes.next() } else { None };
            match outcome {
                Some(Outcome::Written) => file.tx_id = tx_id,
                // Another process was first.
                Some(Outcome::Unchanged(tx_id)) => {
                    file.tx_id = tx_id;
                    file.outcome = IndexOutcome::Unchanged;
                }
                None => {}
            }
            written.files.push(file);
        }
        Ok(written)
    }
}

/// Writes what is to be written; `None` where that is nothing.
fn put(store: &Store, files: &[Staged]) -> Result<Option<Receipt>> {
    let mut transaction = store.begin();
    for Staged { envelope, payload, .. } in files.iter().filter(|staged| is_written(&staged.file)) {
        transaction.put(envelope.clone(), payload, Expected::Any)?;
    }
    if transaction.is_empty() {
        return Ok(None);
    }
    transaction.commit().map(Some)
}

fn is_written(file: &IndexedFile) -> bool {
    file.outcome != IndexOutcome::Unchanged
}
