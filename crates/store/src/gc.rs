//! Garbage collection: drops from the files what nothing refers to, and what a person no longer wants
//! kept. Runs only on a person's command.

use std::time::Duration;

use super::{Aged, Garbage, SearchedOutputs, Store};
use base::error::Result;
use base::object::Timestamp;

/// Options of garbage collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GcOptions {
    /// Only report what would happen. Default: yes.
    pub dry_run: bool,
    /// Also drop the sessions that were last written so long ago, and what only they know, as if
    /// they had never been stored. Default: none.
    pub unused_for: Option<Duration>,
    /// Whether a search finds the outputs of tool calls by their text, from now on. Default: as it
    /// is.
    pub search_outputs: Option<bool>,
}

impl Default for GcOptions {
    fn default() -> Self {
        Self { dry_run: true, unused_for: None, search_outputs: None }
    }
}

impl Store {
    /// Drops contents that no version refers to, and everything else that is unused, so that no
    /// byte of it remains; returns free pages to the file system and empties the log. With
    /// `dry_run`, only counts. Every version that was not forgotten keeps all its items and
    /// contents, but for those of sessions that the options name.
    ///
    /// # Errors
    /// `NO_SPACE`: the new file is written beside the old one, which needs about as much space
    /// again. `NO_ANSWER` as [`Store::forget`].
    pub fn gc(&self, options: GcOptions) -> Result<Garbage> {
        let upkeep = self.upkeep("`gc`")?;
        let bytes_before = upkeep.bytes();
        let before = options.unused_for.map(|unused| {
            let unused = i64::try_from(unused.as_millis()).unwrap_or(i64::MAX);
            Timestamp(self.now().0.saturating_sub(unused))
        });
        if before.is_some() && !options.dry_run {
            // Nothing adds to the indexes what has gone.
            upkeep.index_texts(None)?;
            upkeep.index_relations(None)?;
        }
        let aged: Option<Aged> =
            before.map(|before| self.drop_aged(upkeep, before, options.dry_run)).transpose()?;
        if options.dry_run {
            return Ok(Garbage { aged, ..upkeep.garbage()? });
        }
        match options.search_outputs {
            Some(true) if upkeep.searched_outputs()? == SearchedOutputs::All => {}
            Some(searched) => upkeep.search_outputs(searched)?,
            None => {}
        }
        Ok(Garbage { aged, ..upkeep.collect(bytes_before)? })
    }
}
