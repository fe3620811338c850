//! Remembers what was found at paths during one pass over a host's list, in which the same files and
//! folders are named at most messages. Must not outlive the pass: what is at a path may change.

use base::lock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use source::Location;

/// What was found; `None` outside a pass.
#[derive(Debug, Default, Clone)]
pub(super) struct Looked(Arc<Mutex<Option<Found>>>);

#[derive(Debug, Default)]
struct Found {
    places: HashMap<PathBuf, Location>,
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
        *self.found() = Some(Found::default());
        Remembering(self.clone())
    }

    /// The place of a path, known or found by `look`.
    pub(super) fn place(&self, path: &Path, look: impl FnOnce() -> Location) -> Location {
        let known = self.found().as_ref().and_then(|found| found.places.get(path).cloned());
        known.unwrap_or_else(|| {
            let place = look();
            if let Some(found) = &mut *self.found() {
                found.places.insert(path.to_owned(), place.clone());
            }
            place
        })
    }

    /// The answer to a question about a path, known or found by `look`.
    pub(super) fn answer(
        &self,
        question: Question,
        path: &Path,
        look: impl FnOnce() -> bool,
    ) -> bool {
        let asked = (question, path.to_owned());
        let known = self.found().as_ref().and_then(|found| found.answers.get(&asked).copied());
        known.unwrap_or_else(|| {
            let answer = look();
            if let Some(found) = &mut *self.found() {
                found.answers.insert(asked, answer);
            }
            answer
        })
    }

    fn found(&self) -> MutexGuard<'_, Option<Found>> {
        lock(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

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
            }
            looks.take()
        };
        assert_eq!(count(), 9);
        let pass = looked.remembering();
        assert_eq!([count(), count()], [6, 0]);
        drop(pass);
        assert_eq!(count(), 9, "a pass that is over is forgotten");
    }
}
