//! Remembers what was found at paths during one pass over a host's list, in which the same files and
//! folders are named at most messages. Must not outlive the pass: what is at a path may change.

use base::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use source::{FileReading, Location};

/// What was found; `None` outside a pass.
#[derive(Debug, Default, Clone)]
pub(super) struct Looked(Arc<Mutex<Option<LookedUp>>>);

#[derive(Debug, Default)]
struct LookedUp {
    places: HashMap<PathBuf, Location>,
    readings: HashMap<PathBuf, FileReading>,
    answers: HashMap<(Question, PathBuf), bool>,
}

/// A question about a path that is answered by looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// Whether anything is there.
    There,
    /// Whether it is an excluded file.
    Excluded,
    /// The same, where its last part may also be a wildcard.
    ExcludedAsWildcard,
    /// Whether it is one, or a folder that holds one.
    ExcludedWithin,
}

/// A pass.
#[derive(Debug)]
pub(crate) struct Remembering(Looked);

impl Drop for Remembering {
    fn drop(&mut self) {
        *self.0.found() = None;
    }
}

impl Looked {
    /// Begins a pass, which ends when the result is dropped.
    pub(super) fn remembering(&self) -> Remembering {
        *self.found() = Some(LookedUp::default());
        Remembering(self.clone())
    }

    /// The place of a path, known or found by `look`.
    pub(super) fn place(&self, path: &Path, look: impl FnOnce() -> Location) -> Location {
        self.known(|found| &mut found.places, path.to_owned(), look)
    }

    /// What is at a path, known or found by `look`.
    pub(super) fn reading(&self, path: &Path, look: impl FnOnce() -> FileReading) -> FileReading {
        self.known(|found| &mut found.readings, path.to_owned(), look)
    }

    /// The answer to a question about a path, known or found by `look`.
    pub(super) fn answer(
        &self,
        question: Question,
        path: &Path,
        look: impl FnOnce() -> bool,
    ) -> bool {
        self.known(|found| &mut found.answers, (question, path.to_owned()), look)
    }

    fn known<K: Eq + Hash, T: Clone>(
        &self,
        of: impl Fn(&mut LookedUp) -> &mut HashMap<K, T>,
        asked: K,
        look: impl FnOnce() -> T,
    ) -> T {
        let known = self.found().as_mut().and_then(|found| of(found).get(&asked).cloned());
        known.unwrap_or_else(|| {
            let seen = look();
            if let Some(found) = &mut *self.found() {
                of(found).insert(asked, seen.clone());
            }
            seen
        })
    }

    fn found(&self) -> MutexGuard<'_, Option<LookedUp>> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use source::FileState;

    use super::*;

    #[test]
    fn each_path_is_looked_at_once_in_a_pass() {
        let (looked, looks) = (Looked::default(), Cell::new(0));
        let count = || {
            let look = || looks.replace(looks.get() + 1);
            for path in ["/a", "/b", "/a"].map(Path::new) {
                looked.place(path, || Location::elsewhere(&look().to_string(), path.to_owned()));
                looked.answer(Question::There, path, || look() > 0);
                looked.answer(Question::Excluded, path, || look() > 0);
                looked.reading(path, || {
                    look();
                    FileReading { state: FileState::Missing, stamp: None }
                });
            }
            looks.take()
        };
        assert_eq!(count(), 12);
        let pass = looked.remembering();
        assert_eq!([count(), count()], [8, 0]);
        drop(pass);
        assert_eq!(count(), 12, "a pass that is over is forgotten");
    }
}
