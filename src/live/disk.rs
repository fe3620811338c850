//! What a session may look at on this machine's disk: what its agent sees and this process reaches; nothing where the session
//! is a transcript's.
//!
//! Every look at a path goes through here. A path as a model writes it is the agent's; it is never opened as it is, but at
//! [`Location::open`]. Must not read a content itself.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::LiveSession;
use crate::error::{Error, Result};
use crate::object::{AsOf, ObjectId, Source};
use crate::session::Subject;
use crate::source::{self, Location, Namespace};

/// Where the files are that a session's tools touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Files {
    /// On this machine: they are read, and looked at before each call. With the settings `mounts` and `sandbox`, those that
    /// are mapped.
    #[default]
    Here,
    /// On this machine, which is a container: volumes are filesystems of their own.
    InContainer,
    /// Elsewhere, as those of a transcript: nothing on this machine is looked at, and of a file only the path is known.
    Elsewhere,
}

impl Files {
    /// The filesystems that a session's agent sees.
    ///
    /// # Errors
    /// As [`Namespace::of_agent`].
    pub(super) fn namespace(self, options: &super::OpenSession, key: &str) -> Result<Namespace> {
        let (filesystem_id, settings) = (&options.filesystem_id, &options.settings);
        match self {
            Self::Here | Self::InContainer => {
                let sandbox = settings.sandbox.as_deref();
                let found = Namespace::of_agent(filesystem_id, &settings.mounts, sandbox, key)?;
                Ok(if self == Self::InContainer { found.in_container() } else { found })
            }
            Self::Elsewhere => Ok(Namespace::elsewhere(filesystem_id)),
        }
    }
}

impl LiveSession {
    /// The absolute path that Pi's tools make of a path as a model writes it, as the agent sees it.
    pub(super) fn resolve(&self, given: &str) -> Result<PathBuf> {
        source::resolve_path(given, &self.agent_cwd)
    }

    /// Where the file at an agent's absolute path is.
    pub(super) fn location(&self, path: &Path) -> Location {
        self.namespace.locate(path)
    }

    /// Where a file of the session or the store is; `None` where neither knows it.
    pub(super) fn location_of(&self, object: &ObjectId) -> Result<Option<Location>> {
        if let Some(Subject::File { path, filesystem_id, .. }) =
            self.state.index().get(object).map(|entry| &entry.subject)
        {
            let filesystem_id = filesystem_id.as_deref().unwrap_or(&self.options.filesystem_id);
            let location = self.namespace.known(filesystem_id, Path::new(path));
            // Under another filesystem ID than it was met with, it is not the file that is there.
            let is_it = location.id()? == *object;
            return Ok(Some(if is_it { location } else { Location { open: None, ..location } }));
        }
        let staged = self.staged.objects.iter().find(|(envelope, ..)| envelope.id == *object);
        let source = match staged {
            Some((envelope, ..)) => envelope.source.clone(),
            None => self.store.get(object, AsOf::Latest)?.and_then(|known| known.envelope.source),
        };
        Ok(match source {
            Some(Source::Filesystem { filesystem_id, path }) => {
                Some(self.namespace.known(&filesystem_id, Path::new(&path)))
            }
            _ => None,
        })
    }

    /// Where the links lead now that may have taken the place of a known file.
    pub(super) fn led_to(&self, location: &Location) -> Location {
        match &location.open {
            Some(open) if self.namespace.is_here() => self.location(open),
            _ => location.clone(),
        }
    }

    /// The path by which the agent sees a file.
    pub(super) fn agent_path(&self, location: &Location) -> PathBuf {
        let agent = self.namespace.agent_path(&location.filesystem_id, &location.path);
        agent.map_or_else(|| location.path.clone(), PathBuf::from)
    }

    /// The path that `read` opens, as the agent sees it.
    pub(super) fn path_read(&self, given: &str) -> Result<PathBuf> {
        let exists = |path: &Path| self.is_there(path);
        source::read_path(given, &self.agent_cwd, exists)
    }

    /// Where a file is that the host itself wrote and not the agent, such as a whole output; it is on this machine even if the
    /// agent is in a sandbox. Then only the folder for temporary files holds such: elsewhere the path may be the sandbox's.
    pub(super) fn location_of_hosts_own(&self, path: &Path) -> Option<Location> {
        if self.options.files == Files::Elsewhere {
            return None;
        }
        let own = Location::here(&self.options.filesystem_id, source::canonical_path(path));
        let is_temporary = || own.path.starts_with(source::canonical_path(&std::env::temp_dir()));
        (self.namespace.is_here() || is_temporary()).then_some(own)
    }

    /// Where this process opens the file that `read` reads.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is out of reach, in the agent's sandbox.
    pub fn path_opened(&self, given: &str) -> Result<PathBuf> {
        let path = self.path_read(given)?;
        if self.namespace.is_here() {
            return Ok(path);
        }
        let open = self.location(&path).open;
        open.ok_or_else(|| {
            Error::argument("path", "names a file of the sandbox, which is out of reach")
        })
    }

    /// The working folder as the agent knows it, in canonical form.
    pub(super) fn canonical_cwd(&self) -> PathBuf {
        let Location { filesystem_id, path, .. } = self.location(&self.agent_cwd);
        self.namespace.agent_path(&filesystem_id, &path).map_or(path, PathBuf::from)
    }

    /// Whether a file is known by path alone, by the agent's path or that to which it leads.
    pub(super) fn is_excluded(&self, path: &Path) -> bool {
        !self.exclude.is_empty()
            && (self.exclude.excludes_name(path) || self.is_excluded_at(&self.location(path)))
    }

    /// As [`Self::is_excluded`], of a file whose place is known.
    pub(super) fn is_excluded_at(&self, location: &Location) -> bool {
        self.exclude.excludes_name(&location.path)
            || location.open.as_ref().is_some_and(|open| self.exclude.excludes(open))
    }

    /// Whether a path as a model writes it names a file that is known by path alone.
    pub(super) fn is_excluded_given(&self, given: &str) -> bool {
        if self.exclude.is_empty() || given.is_empty() {
            return false;
        }
        let Ok(path) = self.resolve(given) else { return false };
        let open = || self.location(&path).open;
        self.is_excluded(&path) || open().is_some_and(|open| self.exclude.excludes_some(&open))
    }

    /// Where the regular file is that is at an absolute path now; `None` if there is none. It is not opened.
    pub(super) fn regular_file(&self, path: &Path) -> Option<Location> {
        if !self.namespace.is_here() {
            return Some(self.location(path))
                .filter(|file| file.open.as_deref().is_some_and(Path::is_file));
        }
        // The system follows links before it takes `..` out, and a path of a command may hold both.
        let is_file = path.is_file();
        is_file.then(|| path.canonicalize().ok()).flatten().map(|path| self.location(&path))
    }

    /// What keeps a file from being read, in words; it may be no file.
    pub(super) fn obstacle(location: &Location) -> Option<String> {
        let obstacle = source::obstacle(location.open.as_deref()?);
        // Of such a path no object is made.
        let is_nameless = location.path.to_str().is_none();
        obstacle.or_else(|| is_nameless.then(|| "its path is not UTF-8".to_owned()))
    }

    /// What keeps from being read what is at a path as a model writes it; `None` also where nothing is there.
    pub(super) fn obstacle_given(&self, given: &str) -> Option<String> {
        let location = self.location(&self.resolve(given).ok()?);
        let is_there = match location.open.as_ref()?.symlink_metadata() {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
        };
        if is_there { Self::obstacle(&location) } else { None }
    }

    /// Whether there is something at a path as a model writes it.
    pub(super) fn exists(&self, given: &str) -> bool {
        self.resolve(given).is_ok_and(|path| self.is_there(&path))
    }

    /// Whether there is something at an agent's absolute path.
    fn is_there(&self, path: &Path) -> bool {
        self.location(path).open.is_some_and(|open| open.try_exists().unwrap_or(false))
    }
}
