//! Storing the files of given paths. What is walked, [`super::walk`] says; what is written at once, [`super::batch`].
//!
//! A version is made only where a file changed. Sources: DESIGN.md section 5, SSOT 5.6.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::batch::{Batch, IndexedFile};
use super::file::{FileReading, FileState, read_file};
use super::indexing;
use super::walk::{self, Met, Problem, WalkOptions};
use super::{Exclude, Location, Namespace, canonical_path};
use crate::error::Result;
use crate::object::{ObjectId, ObjectType, Source};
use crate::store::{Store, Version};

/// Versions read at a time.
const PAGE: usize = 1_000;

/// How paths are indexed.
#[derive(Debug, Clone)]
pub struct IndexOptions {
    /// The filesystems that paths belong to, as this process sees them.
    pub files: Namespace,
    /// Whether hidden and ignored files are taken too; never `.git`.
    pub all: bool,
    /// Files with more bytes are metadata only.
    pub max_text_bytes: u64,
    /// Files of which the path and size alone are stored.
    pub exclude: Exclude,
}

/// What became of the paths.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IndexReport {
    /// The files, in the order in which they were met; deleted ones last.
    pub files: Vec<IndexedFile>,
    /// What could not be indexed.
    pub failed: Vec<Problem>,
    /// What is no file to index (links, FIFOs, sockets, devices), or was forgotten.
    pub skipped: Vec<Problem>,
}

/// Stores the files at and under `paths`, which are absolute.
///
/// A given path may be a link and may be hidden or ignored; under it links are not followed, and of what is neither a file
/// nor a folder nothing is opened. A file that the store knows under a given path and that is gone gets a version without
/// content. `progress` is told how many files are done.
///
/// # Errors
/// What the store reports. Then the transactions before hold.
pub fn index_paths(
    store: &Store,
    paths: &[PathBuf],
    options: &IndexOptions,
    mut progress: impl FnMut(usize),
) -> Result<IndexReport> {
    let roots: Vec<PathBuf> = paths.iter().map(|path| canonical_path(path)).collect();
    let mut work = Work {
        known: known_files(store, &roots, &options.files)?,
        store,
        options,
        seen: HashSet::new(),
        batch: Batch::default(),
        report: IndexReport::default(),
    };
    let walk_options =
        WalkOptions { all: options.all, store: canonical_path(Path::new(store.path())) };
    for root in &roots {
        if is_missing(root) {
            // What the store knows of a folder that is gone is looked at below.
            if !work.known.values().any(|known| known.path.starts_with(root)) {
                work.fail(root.clone(), "there is no such file or folder");
            }
            continue;
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

/// What the store knows of a file under the paths.
struct Known {
    path: PathBuf,
    is_deleted: bool,
}

struct Work<'a> {
    store: &'a Store,
    options: &'a IndexOptions,
    /// What is not met yet.
    known: HashMap<ObjectId, Known>,
    /// What is met: the paths given may overlap.
    seen: HashSet<PathBuf>,
    batch: Batch,
    report: IndexReport,
}

impl Work<'_> {
    fn take(&mut self, met: Met) -> Result<()> {
        let path = match &met {
            Met::File(path) => path,
            Met::Skipped(problem) | Met::Failed(problem) => &problem.path,
        };
        if !self.seen.insert(path.clone()) {
            return Ok(());
        }
        match met {
            Met::File(path) => self.index(path)?,
            Met::Skipped(problem) => self.report.skipped.push(problem),
            Met::Failed(problem) => self.report.failed.push(problem),
        }
        Ok(())
    }

    /// Takes a file that was met.
    fn index(&mut self, path: PathBuf) -> Result<()> {
        if path.to_str().is_none() {
            self.fail(path, "its name is not UTF-8");
            return Ok(());
        }
        let location = self.location(&path);
        let is_excluded = self.options.exclude.excludes(&path);
        let reading = indexing::look(&location, is_excluded, self.options.max_text_bytes);
        match &reading.state {
            FileState::Unreadable { reason } => self.fail(path, reason),
            FileState::NotAFile => {
                self.report.skipped.push(Problem { path, problem: walk::NOT_A_FILE.to_owned() });
            }
            // It went while its folder was read.
            FileState::Missing => {}
            _ => self.stage(&path, reading)?,
        }
        Ok(())
    }

    /// Takes the files that the store knows and that were not met: those that are gone. Others are hidden, ignored or out of
    /// reach, and what is known of them stands.
    fn index_gone(&mut self) -> Result<()> {
        let mut gone: Vec<PathBuf> = self
            .known
            .values()
            .filter(|known| !known.is_deleted)
            .map(|known| known.path.clone())
            .collect();
        gone.sort();
        for path in gone {
            if is_missing(&path) {
                self.stage(&path, FileReading { state: FileState::Missing, stamp: None })?;
            }
        }
        Ok(())
    }

    /// Takes a file to be written, or what the store has of it already.
    fn stage(&mut self, path: &Path, reading: FileReading) -> Result<()> {
        let location = self.location(path);
        if let Some(file) =
            self.batch.stage(self.store, &location, &location.path, reading, None)?
        {
            self.known.remove(&file.id);
        }
        if self.batch.is_full() {
            self.commit()?;
        }
        Ok(())
    }

    fn location(&self, path: &Path) -> Location {
        self.options.files.locate(path)
    }

    fn commit(&mut self) -> Result<()> {
        let written = self.batch.commit(self.store)?;
        self.report.files.extend(written.files);
        self.report.skipped.extend(written.forgotten);
        Ok(())
    }

    fn fail(&mut self, path: PathBuf, problem: &str) {
        self.report.failed.push(Problem { path, problem: problem.to_owned() });
    }
}

fn is_missing(path: &Path) -> bool {
    read_file(path, 0).state == FileState::Missing
}

/// The files of the store at and under the paths.
fn known_files(
    store: &Store,
    roots: &[PathBuf],
    files: &Namespace,
) -> Result<HashMap<ObjectId, Known>> {
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
                let found = Known { path, is_deleted };
                known.insert(version.envelope.id, found);
            }
        }
    }
}

/// Where this process opens a file, if that is under one of the paths.
fn path_under(version: &Version, roots: &[PathBuf], files: &Namespace) -> Option<PathBuf> {
    let Some(Source::Filesystem { filesystem_id, path }) = &version.envelope.source else {
        return None;
    };
    let open = files.known(filesystem_id, Path::new(path)).open?;
    roots.iter().any(|root| open.starts_with(root)).then_some(open)
}
