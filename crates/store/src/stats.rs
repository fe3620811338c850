//! Counts and sizes of a store. Must not load contents.

use super::{Store, StoreSize};
use base::error::Result;
use base::object::{Timestamp, TxId};

/// Counts and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Counts of objects, versions and items, and their sizes.
    pub size: StoreSize,
    /// Number and time of the oldest transaction that wrote a version; `None` on an empty store.
    pub oldest: Option<(TxId, Timestamp)>,
    /// Those of the newest transaction; `None` on an empty store.
    pub newest: Option<(TxId, Timestamp)>,
}

impl Store {
    /// Counts and measures. Reads every page of the file.
    pub fn stats(&self) -> Result<Stats> {
        let first = self.changes(TxId(0), 1)?;
        let newest = self.newest()?;
        Ok(Stats {
            size: self.upkeep("measuring")?.size()?,
            oldest: first.first().map(|version| (version.tx_id, version.system_time)),
            newest: (newest.0 > TxId(0)).then_some(newest),
        })
    }
}
