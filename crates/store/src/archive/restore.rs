//! Puts the whole text where the store holds a version without what an earlier archive left out.

use super::import::Import;
use super::standing::Refusal;
use crate::{Put, Replacement};
use base::error::{Error, Result};
use base::object::TxId;

impl Import<'_> {
    /// Replaces versions that are incomplete here by those of the archive, which hash to what the versions were at first. What a
    /// person had forgotten here stays so, and so do the items of lists: nobody can say who took text out of them.
    pub(super) fn restore(&mut self, incomplete: &[(usize, TxId)]) -> Result<()> {
        for (version, tx_id) in incomplete {
            let id = self.merge.incoming.entries()[*version].id.clone();
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
        loop {
            let (newest, _) = self.store.backend().newest()?;
            match self.store.upkeep("restoring text")?.replace(&whole, &[], newest) {
                Ok(()) => return Ok(true),
                Err(Error::Forgotten { .. }) => return Ok(false),
                Err(error @ Error::Conflict { .. }) => self.again_after(error)?,
                Err(error) => return Err(error),
            }
        }
    }
}
