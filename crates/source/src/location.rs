//! A file's identity (filesystem and canonical path) and where this process opens it. Looks at no
//! files.
//!
//! The identity does not depend on the observer: an agent in a container and one on the host name
//! the same file by different paths, and must get one object.

use std::path::PathBuf;

use base::error::{Error, Result};
use base::object::{Envelope, ObjectId, ObjectType, Source};

/// A file's place in its filesystem, and on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// The filesystem namespace.
    pub filesystem_id: String,
    /// Canonical absolute path within it. With the filesystem ID it is the file's identity.
    pub path: PathBuf,
    /// Where this process opens the file. `None` if the file is out of reach: it is never looked at
    /// or watched.
    pub open: Option<PathBuf>,
    /// Folder of the mapping through which the file is reached. If that folder is missing, nothing
    /// is known about the file.
    pub root: Option<PathBuf>,
}

impl Location {
    /// A file of this machine's own filesystem, by its canonical path.
    pub fn here(filesystem_id: &str, path: PathBuf) -> Self {
        Self { filesystem_id: filesystem_id.to_owned(), open: Some(path.clone()), path, root: None }
    }

    /// A file that this process cannot reach.
    pub fn elsewhere(filesystem_id: &str, path: PathBuf) -> Self {
        Self { filesystem_id: filesystem_id.to_owned(), path, open: None, root: None }
    }

    /// The envelope of the file's object.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the path is not UTF-8.
    pub fn envelope(&self) -> Result<Envelope> {
        let path = self.path.to_str().ok_or_else(|| Error::argument("path", "is not UTF-8"))?;
        self.envelope_at(path)
    }

    /// ID of the file's object. A path that is not UTF-8 never has an object; its ID is that of the
    /// closest path in UTF-8.
    ///
    /// # Errors
    /// Errors of canonical JSON.
    pub fn id(&self) -> Result<ObjectId> {
        Ok(self.envelope_at(&self.path.to_string_lossy())?.id)
    }

    fn envelope_at(&self, path: &str) -> Result<Envelope> {
        let filesystem_id = self.filesystem_id.clone();
        let source = Source::Filesystem { filesystem_id, path: path.to_owned() };
        Envelope::sourced(ObjectType::File, source)
    }
}
