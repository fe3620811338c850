//! Looks at files that may never be answered: a mount whose server is gone keeps whoever asks it waiting.
//!
//! Within [`bounded`] a look runs on a thread of its own. One that waits too long is given up: the error is
//! [`ErrorKind::TimedOut`], and what it hung at is not asked again until the look came back or some time passed. Elsewhere
//! looks are direct. Must not decide what an unanswered look means.

mod clock;
mod places;
mod threads;
mod trace;

use std::cell::Cell;
use std::fs::{DirEntry, File, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use self::clock::{Patience, ThreadClock};
use self::places::Ask;
pub use self::threads::busy;

thread_local! {
    /// How long a look of this thread may wait; `None`: as long as it takes.
    static LIMIT: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Looks of this thread have the given deadline until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Bounded {
    before: Option<Duration>,
}

/// Gives the looks of this thread a deadline. `limit`: how long one may wait, not counting what it computes; `None`: as long as it
/// takes.
pub fn bounded(limit: impl Into<Option<Duration>>) -> Bounded {
    Bounded { before: LIMIT.replace(limit.into()) }
}

impl Drop for Bounded {
    fn drop(&mut self) {
        LIMIT.set(self.before);
    }
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
    match LIMIT.get() {
        Some(limit) if !threads::is_look() => {
            // A second time, what did not answer is known and not asked.
            let run = || threads::run(limit, look.clone());
            run().or_else(run)
        }
        _ => Some(look()),
    }
}

/// Runs the same look for many items, on a few threads; `None` where there was no answer. In the order of the items.
/// `on_progress` gets the number of items done.
pub fn each<I: Send + Sync + 'static, T: Send + 'static>(
    items: Vec<I>,
    on_progress: &dyn Fn(usize),
    look: impl Fn(&I) -> T + Send + Sync + 'static,
) -> Vec<Option<T>> {
    match LIMIT.get() {
        Some(limit) if !threads::is_look() => threads::run_each(limit, items, on_progress, look),
        _ => {
            let count = items.len();
            let found = items.iter().map(|item| Some(look(item))).collect();
            on_progress(count);
            found
        }
    }
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
pub(crate) fn read_link(path: &Path) -> Result<PathBuf> {
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
pub(crate) fn is_dir(path: &Path) -> bool {
    metadata(path).is_ok_and(|found| found.is_dir())
}

/// The first `max` entries of a folder.
pub fn entries(folder: &Path, max: usize) -> Result<Vec<DirEntry>> {
    look(folder, move |folder| Ok(folder.read_dir()?.take(max).flatten().collect()))
}

/// Opens a file by `open`.
pub(crate) fn open(path: &Path, open: fn(&Path) -> Result<File>) -> Result<File> {
    look(path, open)
}

fn look<T: Send + 'static>(
    path: &Path,
    look: impl FnOnce(&Path) -> Result<T> + Send + 'static,
) -> Result<T> {
    let limit = LIMIT.get();
    if limit.is_none() && !threads::is_look() {
        return look(path);
    }
    let ask = places::ask(path, threads::many_hang);
    let answer = match (&ask, limit) {
        (Ask::No, _) => None,
        (_, Some(limit)) if !threads::is_look() => {
            let asked = path.to_owned();
            threads::run(limit, move || {
                threads::note(&asked);
                look(&asked)
            })
        }
        _ => {
            threads::note(path);
            Some(look(path))
        }
    };
    if let (Ask::Again(place), Some(_)) = (ask, &answer) {
        places::answered(place);
    }
    answer.unwrap_or_else(|| Err(no_answer()))
}

/// The error of a look that was not answered.
pub fn no_answer() -> Error {
    Error::new(ErrorKind::TimedOut, "it does not answer")
}
