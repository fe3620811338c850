//! Looks at files, and other work, that may never be answered: a mount whose server is gone keeps whoever asks it waiting.
//!
//! Such work runs on a thread of a pool, and is given up once it waited for too long: the thread is left to itself until it comes back.
//! Only waiting counts, not computing, so that a slow machine is not taken for a dead disk. [`Deadline`] is that of a whole call.
//! Within [`bounded`] each look has a limit of its own: the error is [`ErrorKind::TimedOut`], and what it hung at is not asked again
//! until the look came back or some time passed. Elsewhere looks are direct. Must not decide what an unanswered look means.
//!
//! The limit of looks belongs to a thread and is no parameter: looks are made at some sixty places, many calls below whoever knows it.

mod deadline;
mod places;
mod pool;
mod runs;
mod trace;

use std::cell::Cell;
use std::fs::{DirEntry, File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use deadline::Deadline;
use places::Ask;
pub use pool::{Late, check};

thread_local! {
    /// How long a look of this thread may wait; `None`: as long as it takes.
    static LIMIT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Looks of this thread have the given limit until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Bounded {
    before: Option<Duration>,
}

/// Gives the looks of this thread a limit. `limit`: how long one may wait; `None`: as long as it takes.
pub fn bounded(limit: impl Into<Option<Duration>>) -> Bounded {
    Bounded { before: LIMIT.replace(limit.into()) }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        LIMIT.set(self.before);
    }
}

/// The limit of a look of this thread, unless the thread itself is one that looks.
fn limit() -> Option<Duration> {
    LIMIT.get().filter(|_| !pool::is_look())
}

/// Places that do not answer, as they are asked for.
pub fn silent_places() -> Vec<PathBuf> {
    places::all()
}

/// Whether a path is in a place that does not answer.
pub fn is_silent(path: &Path) -> bool {
    places::hold(path)
}

/// Runs several looks as one; `None` if one of them was not answered. Cheaper than one by one.
pub fn together<T: Send + 'static>(look: impl Fn() -> T + Clone + Send + 'static) -> Option<T> {
    match limit() {
        // A second time, what did not answer is known and not asked.
        Some(limit) => runs::run(limit, look.clone()).or_else(|| runs::run(limit, look)),
        None => Some(look()),
    }
}

/// Runs the same look for many items, on a few threads; `None` where there was no answer. In the order of the items.
/// `on_progress` gets the number of items done.
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

/// Opens a file by `open`.
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
    let ask = places::ask(path);
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
        places::answered(path);
    }
    answer.unwrap_or_else(|| Err(no_answer()))
}

/// The error of a look that was not answered.
pub fn no_answer() -> Error {
    Error::new(ErrorKind::TimedOut, "it does not answer")
}
