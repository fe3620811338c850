//! Where a session's files are on this machine, which of them are excluded, and what a file holds.
//! A session replayed from a transcript has only the files that the replay provides.
//!
//! Every path goes through here. A path written by a model is the agent's, so this process never
//! opens it directly, but at [`Location::open`]. Must not record what it finds.

mod looked;

use self::looked::{Looked, Question, Remembering};
use files::looks;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{LiveSession, OpenSession};
use base::error::{Error, Result};
use base::lock;
use base::object::{Hash, ObjectId, Source};
use config::{Exclude, Instructions};
use session::{Cause, FileEvent, Subject};
use source::{FileReading, FileState, Location, Namespace};

/// Where the files are that a session's tools touch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolFiles {
    /// On this machine: they are read, and looked at before each call. With the settings `mounts`
    /// and `sandbox`, only mapped files.
    #[default]
    Here,
    /// On this machine, which is a container: volumes are filesystems of their own.
    InContainer,
    /// Elsewhere, as for a transcript: only folders that the setting `mounts` maps are looked at.
    /// Of other files only the path is known.
    Elsewhere,
}

impl ToolFiles {
    /// The filesystems that a session's agent sees.
    ///
    /// # Errors
    /// As [`Namespace::of_agent`].
    fn namespace(self, options: &OpenSession, key: &str) -> Result<Namespace> {
        let (filesystem_id, settings) = (&options.filesystem_id, &options.settings);
        match self {
            Self::Here | Self::InContainer => {
                let sandbox = settings.sandbox.as_deref();
                let found = Namespace::of_agent(filesystem_id, &settings.mounts, sandbox, key)?;
                Ok(if self == Self::InContainer { found.in_container() } else { found })
            }
            Self::Elsewhere => Namespace::elsewhere(filesystem_id, &settings.mounts),
        }
    }
}

/// The files on this machine; see the module.
#[derive(Debug)]
pub(crate) struct Disk {
    options: Arc<OpenSession>,
    /// The filesystems that the agent sees.
    pub(super) namespace: Arc<Namespace>,
    /// The working folder as the agent sees it.
    pub(crate) agent_cwd: PathBuf,
    /// Files that are known by path alone.
    pub(super) exclude: Arc<Exclude>,
    /// Which files hold instructions.
    pub(crate) instructions: Instructions,
    /// Known files whose ID is that of their path: that never changes, and is costly to compute.
    named: Mutex<HashSet<ObjectId>>,
    looked: Looked,
}

impl Disk {
    pub(crate) fn open(options: Arc<OpenSession>, key: &str) -> Result<Self> {
        let exclude = Arc::new(options.settings.excluded()?);
        let instructions = options.settings.instructions()?;
        let namespace = Arc::new(options.files.namespace(&options, key)?);
        let agent_cwd = namespace.agent_folder(&options.cwd);
        let (named, looked) = (Mutex::default(), Looked::default());
        Ok(Self { options, namespace, agent_cwd, exclude, instructions, named, looked })
    }

    /// Looks at each path once while the result lives.
    pub(crate) fn remembering(&self) -> Remembering {
        self.looked.remembering()
    }

    /// Warnings about a sandbox's mappings, for the user.
    pub(crate) fn oddities(&self) -> Vec<String> {
        self.namespace.oddities()
    }

    /// Whether the agent sees the same files as this process, and not those of a sandbox.
    pub(crate) fn is_here(&self) -> bool {
        self.namespace.is_here()
    }

    /// The absolute path that Pi's tools make of a path written by a model, as the agent sees it.
    pub(crate) fn resolve(&self, given: &str) -> Result<PathBuf> {
        source::resolve_path(given, &self.agent_cwd)
    }

    /// Where the file at an agent's absolute path is.
    pub(crate) fn location(&self, path: &Path) -> Location {
        if !self.namespace.is_in_reach() {
            return self.namespace.locate(path);
        }
        self.looked.place(path, || {
            let (namespace, asked) = (Arc::clone(&self.namespace), path.to_owned());
            let found = looks::together(move || namespace.locate(&asked));
            // Otherwise the silent place is known by now, and its path is taken unresolved.
            found.unwrap_or_else(|| self.namespace.locate(path))
        })
    }

    /// ID of the file object at an agent's absolute path.
    pub(crate) fn file_id(&self, path: &Path) -> Result<ObjectId> {
        self.location(path).id()
    }

    fn is_named(&self, object: &ObjectId, location: &Location) -> Result<bool> {
        let mut named = lock(&self.named);
        if named.contains(object) {
            return Ok(true);
        }
        let is_it = location.id()? == *object;
        if is_it {
            named.insert(object.clone());
        }
        Ok(is_it)
    }

    /// Where a known file is, by filesystem and canonical path.
    fn known(&self, filesystem_id: &str, path: &str) -> Location {
        let direct = || self.namespace.known(filesystem_id, Path::new(path));
        if self.namespace.is_here() {
            return direct();
        }
        let (namespace, id, path) =
            (Arc::clone(&self.namespace), filesystem_id.to_owned(), PathBuf::from(path));
        looks::together(move || namespace.known(&id, &path)).unwrap_or_else(direct)
    }

    /// Where the path of a known file leads now: a link may have taken the file's place.
    pub(crate) fn led_to(&self, location: &Location) -> Location {
        match &location.open {
            Some(open) if self.namespace.is_here() => self.location(open),
            _ => location.clone(),
        }
    }

    /// The path by which the agent sees a file.
    pub(crate) fn agent_path(&self, location: &Location) -> PathBuf {
        let agent = self.namespace.agent_path(&location.filesystem_id, &location.path);
        agent.map_or_else(|| location.path.clone(), PathBuf::from)
    }

    /// The path that Pi's `read` opens, as the agent sees it: other spellings are tried, too.
    pub(crate) fn path_read(&self, given: &str) -> Result<PathBuf> {
        let exists = |path: &Path| self.is_there(path);
        source::read_path(given, &self.agent_cwd, exists)
    }

    /// Reads up to `max_bytes` of a file written by the host rather than the agent, such as the
    /// full text of a shortened output; `None` if it is out of reach or excluded by its name. It is
    /// on this machine even if the agent is in a sandbox; then only the folder for temporary files
    /// is trusted, as any other path may be the sandbox's.
    pub(crate) fn read_host_file(&self, path: &Path, max_bytes: u64) -> Option<FileState> {
        let is_elsewhere = self.options.files == ToolFiles::Elsewhere;
        if max_bytes == 0 || !path.is_absolute() || self.excludes_name(path) || is_elsewhere {
            return None;
        }
        let own = Location::here(&self.options.filesystem_id, source::canonical_path(path));
        (self.namespace.is_here() || is_temporary(path))
            .then(|| source::look(&own, self.is_excluded_at(&own), max_bytes).state)
    }

    /// The text of a file, even an excluded one, by a model's path: to compare it, never to keep
    /// it.
    pub(crate) fn text_to_compare(&self, given: &str) -> Result<Option<String>> {
        let location = self.location(&self.resolve(given)?);
        match source::look(&location, false, self.options.settings.max_text_bytes).state {
            FileState::Text { text, .. } => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    /// The path at which this process opens the file that `read` reads.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is out of reach, in the agent's sandbox.
    pub(crate) fn path_opened(&self, given: &str) -> Result<PathBuf> {
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
    pub(crate) fn canonical_cwd(&self) -> PathBuf {
        let Location { filesystem_id, path, .. } = self.location(&self.agent_cwd);
        self.namespace.agent_path(&filesystem_id, &path).map_or(path, PathBuf::from)
    }

    /// Whether any file may be known by path alone.
    pub(crate) fn excludes_any(&self) -> bool {
        !self.exclude.is_empty()
    }

    /// Whether a path, as written, belongs to a file known by path alone.
    pub(crate) fn excludes_name(&self, path: &Path) -> bool {
        self.exclude.excludes_name(path)
    }

    /// Whether a file is known by path alone, by the agent's path or by where that leads.
    pub(crate) fn is_excluded(&self, path: &Path) -> bool {
        self.judged(Question::Excluded, path, |_, _| false)
    }

    /// As [`Self::is_excluded`], for a file whose place is known.
    pub(crate) fn is_excluded_at(&self, location: &Location) -> bool {
        if self.exclude.is_empty() || self.exclude.excludes_name(&location.path) {
            return !self.exclude.is_empty();
        }
        let Some(open) = location.open.clone() else { return false };
        self.exclude.excludes_name(&open)
            || self.together(move |_, exclude| source::excludes(exclude, &open))
    }

    /// Whether a path written by a model names a file that is known by path alone.
    pub(crate) fn is_excluded_given(&self, given: &str) -> bool {
        if self.exclude.is_empty() || given.is_empty() {
            return false;
        }
        self.resolve(given).is_ok_and(|path| {
            self.judged(Question::ExcludedAsWildcard, &path, source::excludes_some)
        })
    }

    /// Whether a file that is known by path alone is at an agent's absolute path, or below it.
    pub(crate) fn excludes_within(&self, path: &Path) -> bool {
        self.judged(Question::ExcludedWithin, path, source::excludes_within)
    }

    /// Whether an agent's path is excluded by its name or, by several looks as one, where it leads.
    /// `also`: what else counts there, which makes it another question.
    fn judged(&self, question: Question, path: &Path, also: fn(&Exclude, &Path) -> bool) -> bool {
        if self.exclude.is_empty() || self.exclude.excludes_name(path) {
            return !self.exclude.is_empty();
        }
        self.looked.answer(question, path, || {
            let path = path.to_owned();
            self.together(move |namespace, exclude| {
                let Location { path, open, .. } = namespace.locate(&path);
                exclude.excludes_name(&path)
                    || open.is_some_and(|open| {
                        source::excludes(exclude, &open) || also(exclude, &open)
                    })
            })
        })
    }

    /// Several looks as one. A path that does not answer is not excluded here; its name decides.
    fn together(
        &self,
        look: impl Fn(&Namespace, &Exclude) -> bool + Clone + Send + 'static,
    ) -> bool {
        if !self.namespace.is_in_reach() {
            return look(&self.namespace, &self.exclude);
        }
        let (namespace, exclude) = (Arc::clone(&self.namespace), Arc::clone(&self.exclude));
        looks::together(move || look(&namespace, &exclude)).unwrap_or(false)
    }

    /// Location of the regular file at an absolute path; `None` if there is none. It is not opened.
    pub(crate) fn regular_file(&self, path: &Path) -> Option<Location> {
        let (namespace, asked) = (Arc::clone(&self.namespace), path.to_owned());
        let found = looks::together(move || {
            if !namespace.is_here() {
                return Some(namespace.locate(&asked))
                    .filter(|file| file.open.as_deref().is_some_and(looks::is_file));
            }
            // The system follows links before it removes `..`; a command's path may have both.
            let path = looks::is_file(&asked).then(|| looks::canonicalize(&asked).ok());
            path.flatten().map(|path| namespace.locate(&path))
        });
        found.flatten()
    }

    /// Why a path written by a model cannot be read; also `None` if nothing is there.
    pub(crate) fn obstacle_given(&self, given: &str) -> Option<String> {
        let location = self.location(&self.resolve(given).ok()?);
        let open = location.open.as_deref()?;
        let is_there = match looks::symlink_metadata(open) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::PermissionDenied,
        };
        if !is_there {
            return None;
        }
        // A path that is not UTF-8 never becomes an object.
        let is_nameless = || location.path.to_str().is_none();
        let obstacle = source::obstacle(open, &source::read_file(open, 0).state);
        obstacle.or_else(|| is_nameless().then(|| "its path is not UTF-8".to_owned()))
    }

    /// Whether anything is at a path written by a model.
    pub(crate) fn exists(&self, given: &str) -> bool {
        self.resolve(given).is_ok_and(|path| self.is_there(&path))
    }

    /// Whether anything is at an agent's absolute path.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        let open = self.location(path).open;
        let is_there = |open: PathBuf| looks::try_exists(&open).unwrap_or(false);
        open.is_some_and(|open| self.looked.answer(Question::There, path, || is_there(open)))
    }

    /// Reads the file at a place. An excluded file is not opened.
    pub(super) fn read(&self, location: &Location) -> FileReading {
        source::look(location, self.is_excluded_at(location), self.options.settings.max_text_bytes)
    }

    /// Looks at a file without opening it: its stamp, or whether it is there.
    pub(super) fn look(&self, location: &Location) -> FileReading {
        match location.open.as_deref().and_then(source::stamp) {
            Some(stamp) => FileReading { state: FileState::NotRead, stamp: Some(stamp) },
            None => self.read(location),
        }
    }

    /// Reads the files at several places, in their order. `None`: an unknown place. `false`:
    /// another file is there, so that this one is missing.
    pub(super) fn read_all(&self, places: &[Option<(Location, bool)>]) -> Vec<FileReading> {
        let max_bytes = self.options.settings.max_text_bytes;
        let asked = places.iter().map(|place| {
            let (location, is_there) = place.as_ref()?;
            Some((location.clone(), self.is_excluded_at(location))).filter(|_| *is_there)
        });
        let readings = looks::each(asked.collect(), &|_| {}, move |place| match place {
            Some((location, is_excluded)) => source::look(location, *is_excluded, max_bytes),
            None => FileReading { state: FileState::Missing, stamp: None },
        });
        readings.into_iter().map(|reading| reading.unwrap_or_else(source::unanswered)).collect()
    }

    /// Reads the file at an agent's path. `location`: where the path leads, already looked up.
    pub(super) fn read_at(&self, path: &Path, location: &Location) -> FileReading {
        self.looked.reading(path, || {
            let is_excluded = self.excludes_name(path) || self.is_excluded_at(location);
            source::look(location, is_excluded, self.options.settings.max_text_bytes)
        })
    }

    /// Whether this process cannot open a file and knows it only from tool reports.
    pub(crate) fn is_known_by_reports(&self, location: &Location) -> bool {
        self.options.files != ToolFiles::Elsewhere && location.open.is_none()
    }

    /// The event of a file that was not read.
    pub(super) fn file_event(
        &self,
        object: ObjectId,
        location: &Location,
        version: Hash,
        cause: Cause,
    ) -> FileEvent {
        let Location { filesystem_id, path, .. } = location;
        let is_own = *filesystem_id == self.options.filesystem_id;
        FileEvent {
            object,
            path: path.to_string_lossy().into_owned(),
            filesystem_id: (!is_own).then(|| filesystem_id.clone()),
            agent_path: self.namespace.agent_path(filesystem_id, path),
            version,
            lines: None,
            cause,
            call: None,
            stamp: None,
            moved: None,
            bytes: None,
        }
    }
}

impl LiveSession {
    /// Where a file known to the session or the store is; `None` if neither knows it.
    pub(crate) fn location_of(&self, object: &ObjectId) -> Result<Option<Location>> {
        let disk = &self.disk;
        if let Some(Subject::File { path, filesystem_id, .. }) = self.state().subject(object) {
            let filesystem_id = filesystem_id.as_deref().unwrap_or(&self.options.filesystem_id);
            let location = disk.known(filesystem_id, path);
            // If the filesystem ID has changed, another file is at that path.
            let is_it = disk.is_named(object, &location)?;
            return Ok(Some(if is_it { location } else { Location { open: None, ..location } }));
        }
        Ok(match self.journal.source_of(object)? {
            Some(Source::Filesystem { filesystem_id, path }) => {
                Some(disk.known(&filesystem_id, &path))
            }
            _ => None,
        })
    }
}

/// Whether a file is in the folder for temporary files.
pub(crate) fn is_temporary(path: &Path) -> bool {
    source::canonical_path(path).starts_with(source::canonical_path(&std::env::temp_dir()))
}
