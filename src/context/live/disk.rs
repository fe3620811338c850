//! What a session may look at on this machine's disk: all that its tools touch, or nothing, where it is a transcript's.
//!
//! Every look at a path that a message names goes through here. Must not read a content itself.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::LiveSession;
use crate::error::Result;
use crate::source::{self, Location};

/// Where the files are that a session's tools touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Files {
    /// On this machine: they are read, and looked at before each call.
    #[default]
    Here,
    /// Elsewhere, as those of a transcript: nothing on this machine is looked at, and of a file only the path is known.
    Elsewhere,
}

impl LiveSession {
    /// Whether files of this machine may be looked at.
    pub(super) fn files_are_here(&self) -> bool {
        self.options.files == Files::Here
    }

    /// Where the file at an absolute path is.
    pub(super) fn location(&self, path: &Path) -> Location {
        let filesystem_id = &self.options.filesystem_id;
        if self.files_are_here() {
            Location::here(filesystem_id, source::canonical_path(path))
        } else {
            Location::elsewhere(filesystem_id, path.to_owned())
        }
    }

    /// The canonical form of an absolute path; where the file is elsewhere, the path itself.
    pub(super) fn canonical(&self, path: &Path) -> PathBuf {
        if self.files_are_here() { source::canonical_path(path) } else { path.to_owned() }
    }

    /// The path that `read` opens.
    pub(super) fn path_read(&self, given: &str) -> Result<PathBuf> {
        let find = if self.files_are_here() { source::read_path } else { source::resolve_path };
        find(given, &self.options.cwd)
    }

    /// Whether a file is known by path alone.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        if self.files_are_here() {
            return self.exclude.excludes(path);
        }
        self.exclude.excludes_name(path)
    }

    /// Whether a path as a model writes it names a file that is known by path alone.
    pub(super) fn is_excluded_given(&self, given: &str) -> bool {
        let cwd = &self.options.cwd;
        if self.files_are_here() {
            return self.exclude.excludes_given(given, cwd);
        }
        let path = source::resolve_path(given, cwd);
        !given.is_empty() && path.is_ok_and(|path| self.exclude.excludes_name(&path))
    }

    /// Where the regular file is that is at an absolute path now; `None` if there is none. It is not opened.
    pub(super) fn regular_file(&self, path: &Path) -> Option<Location> {
        if !self.files_are_here() || !path.is_file() {
            return None;
        }
        // The system follows links before it takes `..` out, and a path of a command may hold both.
        Some(self.location(&path.canonicalize().ok()?))
    }

    /// What keeps a file from being read, in words; it may be no file.
    pub(super) fn obstacle(&self, path: &Path) -> Option<String> {
        let location = self.location(path);
        let obstacle = source::obstacle(location.open.as_deref()?);
        // Of such a path no object is made.
        let is_nameless = location.path.to_str().is_none();
        obstacle.or_else(|| is_nameless.then(|| "its path is not UTF-8".to_owned()))
    }

    /// What keeps from being read what is at a path as a model writes it; `None` also where nothing is there.
    pub(super) fn obstacle_given(&self, given: &str) -> Option<String> {
        let path = source::resolve_path(given, &self.options.cwd).ok()?;
        let is_there = match self.location(&path).open?.symlink_metadata() {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
        };
        if is_there { self.obstacle(&path) } else { None }
    }

    /// Whether there is something at a path as a model writes it.
    pub(super) fn exists(&self, given: &str) -> bool {
        let path = source::resolve_path(given, &self.options.cwd);
        self.files_are_here() && path.is_ok_and(|path| path.exists())
    }
}
