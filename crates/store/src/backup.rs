//! A copy of a store's file as it was at one moment, while sessions go on. Must not know what the
//! file holds.

use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use super::{SqliteBackend, Store, doctor};
use base::error::{Error, Result};
use base::object::TxId;
use files::Output;

/// A copy that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// The newest transaction in it.
    pub tx_id: TxId,
    /// Its versions.
    pub versions: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

impl Store {
    /// Copies the store into a file that only its user may read, as it is at one moment, checks all
    /// of the copy, and puts it in its place. Others may write meanwhile: they wait for nothing, and the
    /// log keeps what they write until it is done. The copy is a whole store: put in the place of
    /// one, it goes on from there.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for what is not a place for a file, such as standard output; `NOT_PRIVATE`,
    /// `FILE`, also for a full disk and for a store that is in use, such as this one; `STORE_CORRUPT` if the store, and so the copy, is
    /// damaged anywhere; what stood in its place stays then.
    pub fn backup(&self, path: &Path) -> Result<Backup> {
        let upkeep = self.upkeep("`backup`")?;
        let output = Output::create_database(path)?;
        let beside = output.path_beside();
        let beside = beside.ok_or_else(|| Error::argument("path", "must be the name of a file"))?;
        // The store is only read: what is full is the disk of the copy.
        upkeep.backup(&beside).map_err(|error| match error {
            Error::NoSpace { .. } => {
                let source = ErrorKind::StorageFull.into();
                Error::File { act: "write", path: path.to_owned(), source }
            }
            error => error,
        })?;
        let copy = SqliteBackend::open_copy(&beside).map(Self::of_file);
        let report = doctor::checked(&beside.to_string_lossy(), copy, true, &mut |_| Ok(()))?;
        if let Some(damage) = report.findings.iter().find(|found| found.kind.is_damage()) {
            let (path, source) = (self.path().into(), damage.problem.as_str().into());
            return Err(Error::StoreCorrupt { path, source });
        }
        let bytes = std::fs::metadata(&beside).map_or(0, |metadata| metadata.len());
        output.finish()?;
        Ok(Backup { tx_id: report.as_of, versions: report.checked.versions, bytes })
    }
}
