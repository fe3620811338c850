//! Restores the whole text of a version that an earlier archive stored without the parts it left
//! out, or that was damaged since.

use super::import::Import;
use super::standing::Refusal;
use crate::{Put, Replacement};
use base::error::{Error, Result};
use base::object::TxId;

impl Import<'_> {
    /// Replaces incomplete and damaged local versions with the archive's, which match their original hashes.
    /// Text that a person forgot here stays forgotten, and so does text missing from list items: it
    /// is unknown who removed it.
    pub(super) fn restore(&mut self, incomplete: &[(usize, TxId)]) -> Result<()> {
        for (version, tx_id) in incomplete {
            let id = self.merge.arrivals.entries[*version].id.clone();
            if !self.options.dry_run && !self.replace(*version, *tx_id)? {
                *self.refused.entry((id, Refusal::RedactedHere)).or_default() += 1;
                continue;
            }
            self.report.restored += 1;
        }
        Ok(())
    }

    /// `false` if its text was forgotten here.
    fn replace(&mut self, version: usize, tx_id: TxId) -> Result<bool> {
        let Put { envelope, fields, content, additional, .. } =
            self.merge.put_of_archive(version)?;
        let id = envelope.id;
        let whole =
            [Replacement::Version { id, tx_id, fields, content, additional, redacted: None }];
        match self.store.upkeep("restoring text")?.replace(&whole, &[]) {
            Ok(()) => Ok(true),
            Err(Error::Forgotten { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
