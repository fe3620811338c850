//! Finding objects of a store by name outside a session: what the store knows, and paths.

use std::path::PathBuf;

use super::{Namespace, absolute_path};
use crate::error::{Error, Result};
use crate::object::VersionSelector;
use crate::store::{Named, Store, Version};

/// What a path in a name counts from.
#[derive(Debug, Clone)]
pub struct Place {
    /// The filesystems that paths belong to, as this process sees them.
    pub files: Namespace,
    /// Folder of relative paths, absolute.
    pub cwd: PathBuf,
}

impl Place {
    /// Finds the object of a name: full ID, nickname, path, unique ID prefix of at least 8 digits.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find(&self, store: &Store, name: &str) -> Result<Named> {
        let file_of =
            |text: &str| self.files.locate(&absolute_path(text, &self.cwd)).id().map(Some);
        store.find(name, file_of)
    }

    /// Reads the version that a name and `at` ask for; without either the latest.
    ///
    /// # Errors
    /// As [`Store::find`] and [`Store::select`]; `INVALID_ARGUMENT` if name and `at` both choose a version.
    pub fn version(
        &self,
        store: &Store,
        name: &str,
        at: Option<VersionSelector>,
    ) -> Result<Version> {
        let found = self.find(store, name)?;
        let selector = match (found.version, at) {
            (version, None) => version,
            (VersionSelector::Latest, Some(at)) => at,
            (_, Some(_)) => {
                return Err(Error::argument("at", format!("is given, and so is that of `{name}`")));
            }
        };
        store.select(&found.id, selector)
    }
}
