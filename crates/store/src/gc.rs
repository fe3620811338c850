//! Garbage collection: drops unreferenced data from the files. Runs only on a person's command.

use super::{Garbage, Store};
use base::error::Result;

impl Store {
    /// Drops contents that no version refers to, and everything else that is unused, so that no
    /// byte of it remains; returns free pages to the file system and empties the log. With
    /// `dry_run`, only counts. Nothing in use is lost: every version that was not forgotten keeps
    /// all its items and contents.
    ///
    /// # Errors
    /// `NO_SPACE`: the new file is written beside the old one, which needs about as much space
    /// again.
    pub fn gc(&self, dry_run: bool) -> Result<Garbage> {
        let upkeep = self.upkeep("`gc`")?;
        if dry_run { upkeep.garbage() } else { upkeep.collect() }
    }
}
