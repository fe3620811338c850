//! Garbage collection: what nothing needs leaves the files. Only a person's explicit command comes here.

use super::{Garbage, Store};
use crate::error::Result;

impl Store {
    /// Drops contents that no version has, and what else nothing needs, so that no byte of it is left; gives free pages back
    /// to the file system and empties the log. With `dry_run` only counts. Nothing is lost: every version of every object
    /// that was not forgotten stays, with all its items and contents.
    ///
    /// # Errors
    /// `NO_SPACE`: the file is written anew beside the old one, so about as much space is needed as it takes.
    pub fn gc(&self, dry_run: bool) -> Result<Garbage> {
        if dry_run { self.backend().garbage() } else { self.backend().collect() }
    }
}
