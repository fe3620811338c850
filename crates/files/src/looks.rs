//! File access, and other work, that may hang: a mount whose server is gone blocks every caller.
//!
//! Such work runs on a pool thread and is given up once it has waited too long; the thread is left
//! alone until the call returns. Only waiting counts, not computing, so that a slow machine is not
//! mistaken for a dead disk. [`Deadline`] limits a whole call. Within [`bounded`] each look at a
//! file has its own limit: the error is [`ErrorKind::TimedOut`], and the place where it hung is not
//! asked again until the look returns or some time has passed. Elsewhere looks run directly. Must
//! not decide what an unanswered look means.
//!
//! The limit belongs to the thread instead of being a parameter: some sixty places look at files,
//! many calls below the code that knows the limit.

mod deadline;
mod pool;
mod runs;
mod silent_paths;

use std::cell::Cell;
use std::fs::{DirEntry, File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use deadline::Deadline;
pub use pool::{Late, check};
use silent_paths::Ask;

thread_local! {
    /// How long a look of this thread may wait; `None`: without limit.
    static LIMIT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Limits the looks of this thread until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Bounded {
    before: Option<Duration>,
}

/// Limits how long each look of this thread may wait; `None`: without limit.
pub fn bounded(limit: impl Into<Option<Duration>>) -> Bounded {
    Bounded { before: LIMIT.replace(limit.into()) }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        LIMIT.set(self.before);
    }
}

/// The limit of a look of this thread; none on a pool thread, which already does the looking.
fn limit() -> Option<Duration> {
    LIMIT.get().filter(|_| !pool::is_look())
}

/// The paths of the places that do not answer.
pub fn silent_places() -> Vec<PathBuf> {
    silent_paths::all()
}

/// Whether a path is in a place that does not answer.
pub fn is_silent(path: &Path) -> bool {
    silent_paths::hold(path)
}

/// Runs several looks as one; `None` if one of them hung. Cheaper than running each by itself.
pub fn together<T: Send + 'static>(look: impl Fn() -> T + Clone + Send + 'static) -> Option<T> {
    match limit() {
        // On the second try, the place that hung is known and is not asked.
        Some(limit) => runs::run(limit, look.clone()).or_else(|| runs::run(limit, look)),
        None => Some(look()),
    }
}

/// Runs the same look for many items on a few threads. Results are in the order of the items;
/// `None` where a look hung. `on_progress` receives the number of items done.
pub fn each<I: Send + Sync + 'static, T: Send + 'static>(
    items: Vec<I>,
    on_progress: &dyn Fn(usize),
    look: impl Fn(&I) -> T + Send + Sync + 'static,
) -> Vec<Option<T>> {
    let Some(limit) = limit() else {
        let found = items.iter().map(|item| Some(look(item))).collect();
        on_progress(items.len());
        return found;
    };
    runs::run_each(limit, items, on_progress, look)
}

/// As [`Path::metadata`].
pub fn metadata(path: &Path) -> Result<Metadata> {
    look(path, Path::metadata)
}

/// As [`Path::symlink_metadata`].
pub fn symlink_metadata(path: &Path) -> Result<Metadata> {
    look(path, Path::symlink_metadata)
}

/// As [`Path::read_link`].
pub fn read_link(path: &Path) -> Result<PathBuf> {
    look(path, Path::read_link)
}

/// As [`Path::canonicalize`].
pub fn canonicalize(path: &Path) -> Result<PathBuf> {
    look(path, Path::canonicalize)
}

/// As [`Path::try_exists`].
pub fn try_exists(path: &Path) -> Result<bool> {
    look(path, Path::try_exists)
}

/// Whether a regular file is at a path.
pub fn is_file(path: &Path) -> bool {
    metadata(path).is_ok_and(|found| found.is_file())
}

/// Whether a folder is at a path.
pub fn is_dir(path: &Path) -> bool {
    metadata(path).is_ok_and(|found| found.is_dir())
}

/// The first `max` entries of a folder.
pub fn entries(folder: &Path, max: usize) -> Result<Vec<DirEntry>> {
    look(folder, move |folder| Ok(folder.read_dir()?.take(max).flatten().collect()))
}

/// Opens a file with `open`.
pub fn open(path: &Path, open: fn(&Path) -> Result<File>) -> Result<File> {
    look(path, open)
}

fn look<T: Send + 'static>(
    path: &Path,
    look: impl FnOnce(&Path) -> Result<T> + Send + 'static,
) -> Result<T> {
    let limit = limit();
    if limit.is_none() && !pool::is_look() {
        return look(path);
    }
    let ask = silent_paths::ask(path);
    if ask == Ask::No {
        return Err(no_answer());
    }
    let asked = path.to_owned();
    let noted = move || {
        pool::note(asked.clone(), None);
        look(&asked)
    };
    let answer = match limit {
        Some(limit) => runs::run(limit, noted),
        None => Some(noted()),
    };
    if ask == Ask::Again && answer.is_some() {
        silent_paths::answered(path);
    }
    answer.unwrap_or_else(|| Err(no_answer()))
}

/// The error of a look that hung.
pub fn no_answer() -> Error {
    Error::new(ErrorKind::TimedOut, "it does not answer")
}
