//! Stores the files at and under given paths. [`super::walk`] decides which files those are,
//! [`super::batch`] how many are written at once.
//!
//! Makes a version only where a file changed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::batch::{Batch, IndexedFile, Look};
use super::exclude::excludes;
use super::file::{FileState, read_file};
use super::walk::{self, Met, WalkOptions, WalkProblem};
use super::{Location, Namespace, canonical_path, indexing};
use base::error::Result;
use base::object::{AsOf, ObjectId, ObjectType, Source};
use config::Exclude;
use store::{IndexedFolder, Store, Version, slashed};

/// Number of versions read from the store at a time.
const PAGE: usize = 1_000;

/// Options of [`index_paths`].
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// The filesystems of the paths, as this process sees them.
    pub files: Namespace,
    /// Whether to include hidden and ignored files. `.git` is never included.
    pub all: bool,
    /// Maximum size in bytes of a file whose text is stored; of larger files only metadata is
    /// stored.
    pub max_text_bytes: u64,
    /// Files stored with path and size only.
    pub exclude: Exclude,
}

/// Result of [`index_paths`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexReport {
    /// The indexed files in the order of the walk; deleted files last.
    pub files: Vec<IndexedFile>,
    /// Paths that could not be indexed, with reasons.
    pub failed: Vec<WalkProblem>,
    /// The skipped paths: links, FIFOs, sockets, devices, and forgotten files.
    pub skipped: Vec<WalkProblem>,
}

/// Stores the files at and under `paths`, which must be absolute.
///
/// A given path may be a link, hidden or ignored. Links under it are not followed; only regular
/// files and folders are opened. A file that the store knows under a given path and that is gone
/// gets a version without content. `progress` receives the number of files done.
///
/// # Errors
/// Errors of the store. Earlier transactions stay written.
pub fn index_paths(
    store: &Store,
    paths: &[PathBuf],
    options: &IndexOptions,
    mut progress: impl FnMut(usize),
) -> Result<IndexReport> {
    let roots: Vec<PathBuf> = paths.iter().map(|path| canonical_path(path)).collect();
    let mut work = Work::new(store, options);
    work.known = known_files(store, &roots, &options.files)?;
    let walk_options =
        WalkOptions { all: options.all, store: canonical_path(Path::new(store.path())) };
    for root in &roots {
        if is_missing(root) {
            // Known files of a folder that is gone are handled below.
            if !work.known.values().any(|known| known.path.starts_with(root)) {
                work.fail(root.clone(), "there is no such file or folder");
            }
            continue;
        }
        if root.is_dir() {
            let Location { filesystem_id, path, .. } = options.files.locate(root);
            let path = slashed(&path.to_string_lossy()).trim_end_matches('/').to_owned();
            store.add_folder(&IndexedFolder { filesystem_id, path })?;
        }
        walk::walk(root, &walk_options, |met| {
            work.take(met)?;
            progress(work.report.files.len() + work.batch.len());
            Ok(())
        })?;
    }
    work.index_gone()?;
    work.commit()?;
    progress(work.report.files.len());
    Ok(work.report)
}

/// Stores the files at `paths`, which must be absolute. A file that the store knows and that is
/// gone gets a version without content. Unlike [`index_paths`], this takes no longer in a large
/// store.
///
/// # Errors
/// Errors of the store. Earlier transactions stay written.
pub fn index_files(
    store: &Store,
    paths: &[PathBuf],
    options: &IndexOptions,
) -> Result<IndexReport> {
    let mut work = Work::new(store, options);
    for path in paths.iter().map(|path| canonical_path(path)) {
        if !work.seen.insert(path.clone()) {
            continue;
        }
        if !is_missing(&path) {
            work.index(path)?;
        } else if store.get(&work.location(&path).id()?, AsOf::Latest)?.is_some() {
            work.index_if_gone(&path)?;
        }
        work.commit_if_full()?;
    }
    work.commit()?;
    Ok(work.report)
}

/// What the store knows about the files under the paths.
struct StoredFile {
    path: PathBuf,
    is_deleted: bool,
}

struct Work<'a> {
    store: &'a Store,
    options: &'a IndexOptions,
    /// Known files that the walk has not met.
    known: HashMap<ObjectId, StoredFile>,
    /// Files that the walk has met; needed because given paths may overlap.
    seen: HashSet<PathBuf>,
    batch: Batch,
    report: IndexReport,
}

impl<'a> Work<'a> {
    fn new(store: &'a Store, options: &'a IndexOptions) -> Self {
        let (known, seen) = (HashMap::new(), HashSet::new());
        let (batch, report) = (Batch::default(), IndexReport::default());
        Self { store, options, known, seen, batch, report }
    }

    fn take(&mut self, met: Met) -> Result<()> {
        let path = match &met {
            Met::File(path) => path,
            Met::Skipped(problem) | Met::Failed(problem) => &problem.path,
        };
        if !self.seen.insert(path.clone()) {
            return Ok(());
        }
        match met {
            Met::File(path) => {
                self.index(path)?;
                self.commit_if_full()?;
            }
            Met::Skipped(problem) => self.report.skipped.push(problem),
            Met::Failed(problem) => self.report.failed.push(problem),
        }
        Ok(())
    }

    /// Adds a file that the walk met.
    fn index(&mut self, path: PathBuf) -> Result<()> {
        if path.to_str().is_none() {
            self.fail(path, "its name is not UTF-8");
            return Ok(());
        }
        let location = self.location(&path);
        let is_excluded = excludes(&self.options.exclude, &path);
        let read = || indexing::look(&location, is_excluded, self.options.max_text_bytes);
        let look = Look::take(self.store, read)?;
        match look.state() {
            FileState::Unreadable { reason } => self.fail(path, reason),
            FileState::NotAFile => {
                self.report
                    .skipped
                    .push(WalkProblem { path, problem: walk::NOT_A_FILE.to_owned() });
            }
            // The file vanished while its folder was read; a known one is handled below.
            FileState::Missing => {}
            _ => self.stage(&path, look)?,
        }
        Ok(())
    }

    /// Handles known files that the walk did not meet. Those that are gone get a version without
    /// content. The others are hidden, ignored or out of reach, and keep their versions.
    fn index_gone(&mut self) -> Result<()> {
        let mut gone: Vec<PathBuf> = self
            .known
            .values()
            .filter(|known| !known.is_deleted)
            .map(|known| known.path.clone())
            .collect();
        gone.sort();
        for path in gone {
            self.index_if_gone(&path)?;
            self.commit_if_full()?;
        }
        Ok(())
    }

    fn index_if_gone(&mut self, path: &Path) -> Result<()> {
        let look = Look::take(self.store, || read_file(path, 0))?;
        match look.state() {
            FileState::Missing => self.stage(path, look),
            _ => Ok(()),
        }
    }

    /// Adds a file to the batch, or records that the store has its version already.
    fn stage(&mut self, path: &Path, look: Look) -> Result<()> {
        let location = self.location(path);
        if let Some(file) = self.batch.stage(self.store, &location, &location.path, look, None)? {
            self.known.remove(&file.id);
        }
        Ok(())
    }

    fn location(&self, path: &Path) -> Location {
        self.options.files.locate(path)
    }

    fn commit_if_full(&mut self) -> Result<()> {
        if self.batch.is_full() { self.commit() } else { Ok(()) }
    }

    /// Writes the batch. Files that another process wrote versions of meanwhile are read again.
    fn commit(&mut self) -> Result<()> {
        for looks in 1..=MAX_LOOKS {
            let written = self.batch.commit(self.store)?;
            self.report.files.extend(written.files);
            self.report.skipped.extend(written.forgotten);
            for path in written.overtaken {
                if looks == MAX_LOOKS {
                    self.fail(path, "other processes write versions of it all the time");
                } else if is_missing(&path) {
                    self.index_if_gone(&path)?;
                } else {
                    self.index(path)?;
                }
            }
            if self.batch.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn fail(&mut self, path: PathBuf, problem: &str) {
        self.report.failed.push(WalkProblem { path, problem: problem.to_owned() });
    }
}

/// How many times a file is read while other processes write versions of it.
const MAX_LOOKS: u32 = 10;

fn is_missing(path: &Path) -> bool {
    read_file(path, 0).state == FileState::Missing
}

/// The store's files at and under the paths.
fn known_files(
    store: &Store,
    roots: &[PathBuf],
    files: &Namespace,
) -> Result<HashMap<ObjectId, StoredFile>> {
    let mut known = HashMap::new();
    let mut after: Option<ObjectId> = None;
    loop {
        let page = store.list(ObjectType::File, after.as_ref(), PAGE)?;
        let Some(last) = page.last() else { return Ok(known) };
        after = Some(last.envelope.id.clone());
        for version in page {
            if let Some(path) = path_under(&version, roots, files) {
                let is_deleted =
                    version.fields.get("no_content").and_then(Value::as_str) == Some("deleted");
                let found = StoredFile { path, is_deleted };
                known.insert(version.envelope.id, found);
            }
        }
    }
}

/// The path at which this process opens a file, if it is under one of `roots`.
fn path_under(version: &Version, roots: &[PathBuf], files: &Namespace) -> Option<PathBuf> {
    let Some(Source::Filesystem { filesystem_id, path }) = &version.envelope.source else {
        return None;
    };
    let open = files.known(filesystem_id, Path::new(path)).open?;
    roots.iter().any(|root| open.starts_with(root)).then_some(open)
}
