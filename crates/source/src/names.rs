//! Finds the objects of a store by name, without a session: by ID, nickname or path.

use std::path::PathBuf;
use std::time::Duration;

use super::Namespace;
use base::error::{Error, Result};
use base::object::VersionSelector;
use base::path::absolute_path;
use files::looks;
use store::{Named, Store, Version};

/// How long a disk may take to resolve a path.
const LOOK: Duration = Duration::from_secs(1);

/// What a path in a name is relative to.
#[derive(Debug, Clone)]
pub struct PathPlace {
    /// The filesystems of the paths, as this process sees them.
    pub files: Namespace,
    /// Base of relative paths; absolute.
    pub cwd: PathBuf,
}

impl PathPlace {
    /// Finds the object with a name: full ID, nickname, path, or unique ID prefix of at least 8
    /// digits. A disk that does not answer blocks nobody: the path is then taken as written.
    ///
    /// # Errors
    /// As [`Store::find`]; `INVALID_ARGUMENT` if the name is that of lines.
    pub fn find(&self, store: &Store, name: &str) -> Result<Named> {
        let found = self.find_part(store, name)?;
        if found.lines.is_some() {
            let problem = format!("`{name}` is some lines: name the whole");
            return Err(Error::argument("name", problem));
        }
        Ok(found)
    }

    /// As [`Self::find`]; the name may be that of lines.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find_part(&self, store: &Store, name: &str) -> Result<Named> {
        let _bounded = looks::bounded(LOOK);
        let file_of =
            |text: &str| self.files.locate(&absolute_path(text, &self.cwd)).id().map(Some);
        store.find(name, file_of)
    }

    /// Reads the version that a name and `at` select, the latest if neither does, and the lines that
    /// the name names.
    ///
    /// # Errors
    /// As [`Store::find`] and [`Store::select`]; `INVALID_ARGUMENT` if name and `at` both choose a
    /// version.
    pub fn version(
        &self,
        store: &Store,
        name: &str,
        at: Option<VersionSelector>,
    ) -> Result<(Version, Option<String>)> {
        let found = self.find_part(store, name)?;
        let selector = match (found.version, at) {
            (version, None) => version,
            (VersionSelector::Latest, Some(at)) => at,
            (_, Some(_)) => {
                return Err(Error::argument("at", format!("is given, and so is that of `{name}`")));
            }
        };
        Ok((store.select(&found.id, selector)?, found.lines))
    }
}
