//! Possible moves: renames that the system reported, files that vanished and files that appeared,
//! each kept for one burst. Must not look at the filesystem.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most renames followed in a row.
const MAX_HOPS: u32 = 16;
/// Least number of new names that are remembered, however few files are tracked.
const LEAST_ARRIVALS: usize = 1_024;

/// Times count from the tracker's start.
#[derive(Debug, Default)]
pub(super) struct Moves {
    renames: HashMap<PathBuf, Rename>,
    targets: HashSet<PathBuf>,
    arrivals: HashMap<PathBuf, Arrival>,
    vanished: Vec<Vanished>,
}

#[derive(Debug)]
struct Rename {
    to: PathBuf,
    at: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Duration,
    /// When its bytes are complete, as far as is known.
    ready: Duration,
}

#[derive(Debug)]
struct Vanished {
    path: PathBuf,
    size: u64,
    at: Duration,
}

impl Moves {
    /// Records a rename if it starts at a path that matters, or continues one that did.
    pub(super) fn renamed(&mut self, from: PathBuf, to: PathBuf, matters: bool, at: Duration) {
        if matters || self.targets.contains(&from) {
            self.targets.insert(to.clone());
            self.renames.insert(from, Rename { to, at });
        }
    }

    /// Where the file at `path` went according to the system, by a rename of itself or of a folder
    /// above it.
    pub(super) fn destination(&self, path: &Path) -> Option<PathBuf> {
        if self.renames.is_empty() {
            return None;
        }
        let mut place = path.to_owned();
        for _ in 0..MAX_HOPS {
            let next = place.ancestors().find_map(|part| {
                let rename = self.renames.get(part)?;
                let rest = place.strip_prefix(part).ok()?;
                // Joining an empty rest would add a slash.
                let is_whole = rest.as_os_str().is_empty();
                Some(if is_whole { rename.to.clone() } else { rename.to.join(rest) })
            });
            match next {
                Some(next) => place = next,
                None => break,
            }
        }
        (place != path).then_some(place)
    }

    /// Forgets where the file at `path` went, because it exists again.
    pub(super) fn stands(&mut self, path: &Path) {
        if let Some(rename) = self.renames.remove(path) {
            self.targets.remove(&rename.to);
        }
    }

    /// Records that an untracked path appeared or was written again, complete at `ready`.
    /// `tracked`: the number of tracked files, which bounds what is remembered.
    pub(super) fn arrived(&mut self, path: PathBuf, at: Duration, ready: Duration, tracked: usize) {
        if self.arrivals.len() >= tracked.max(LEAST_ARRIVALS) && !self.arrivals.contains_key(&path)
        {
            return;
        }
        self.arrivals.entry(path).or_insert(Arrival { at, ready }).ready = ready;
    }

    /// Records that an untracked path is being written, if it appeared in this burst.
    pub(super) fn written(&mut self, path: &Path, ready: Duration) {
        if let Some(arrival) = self.arrivals.get_mut(path) {
            arrival.ready = ready;
        }
    }

    pub(super) fn left(&mut self, path: &Path) {
        self.arrivals.remove(path);
    }

    /// Records that a tracked file of this size vanished. Empty files are all alike and never count
    /// as moved.
    pub(super) fn vanished(&mut self, path: PathBuf, size: u64, at: Duration) {
        if size > 0 {
            self.vanished.retain(|other| other.path != path);
            self.vanished.push(Vanished { path, size, at });
        }
    }

    /// Forgets a vanished file that was found again.
    pub(super) fn found(&mut self, path: &Path) {
        self.vanished.retain(|vanished| vanished.path != path);
    }

    /// The paths that appeared in this burst.
    pub(super) fn arrivals(&self) -> Vec<PathBuf> {
        self.arrivals.keys().cloned().collect()
    }

    /// Takes the complete new paths, if files vanished that they could be.
    pub(super) fn take_ready(&mut self, now: Duration) -> Vec<PathBuf> {
        if self.vanished.is_empty() {
            return Vec::new();
        }
        self.arrivals.extract_if(|_, arrival| arrival.ready <= now).map(|(path, _)| path).collect()
    }

    /// The tracked files of this size that vanished in this burst.
    pub(super) fn like(&self, size: u64) -> Vec<PathBuf> {
        let like = self.vanished.iter().filter(|vanished| vanished.size == size);
        like.map(|vanished| vanished.path.clone()).collect()
    }

    /// When the next new path is complete.
    pub(super) fn next_ready(&self) -> Option<Duration> {
        let is_due = !self.vanished.is_empty();
        is_due.then(|| self.arrivals.values().map(|arrival| arrival.ready).min()).flatten()
    }

    /// Forgets everything older than a burst.
    pub(super) fn expire(&mut self, now: Duration, burst: Duration) {
        let is_old = |at: Duration| at + burst < now;
        self.arrivals.retain(|_, arrival| !is_old(arrival.at));
        self.vanished.retain(|vanished| !is_old(vanished.at));
        for (_, rename) in self.renames.extract_if(|_, rename| is_old(rename.at)) {
            self.targets.remove(&rename.to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::ZERO;
    const BURST: Duration = Duration::from_secs(2);

    fn rename(moves: &mut Moves, from: &str, to: &str, matters: bool) {
        moves.renamed(from.into(), to.into(), matters, START);
    }

    #[test]
    fn renames_are_followed_to_the_end_and_through_folders() {
        let mut moves = Moves::default();
        rename(&mut moves, "/a/f", "/a/g", true);
        rename(&mut moves, "/a/g", "/a/h", false);
        rename(&mut moves, "/a/other", "/a/x", false);
        rename(&mut moves, "/a", "/b", true);
        assert_eq!(moves.destination(Path::new("/a/f")), Some("/b/h".into()));
        assert_eq!(moves.destination(Path::new("/a/z")), Some("/b/z".into()));
        assert_eq!(moves.destination(Path::new("/c/f")), None);
    }

    #[test]
    fn renames_in_a_circle_end() {
        let mut moves = Moves::default();
        rename(&mut moves, "/f", "/g", true);
        rename(&mut moves, "/g", "/f", true);
        let _ = moves.destination(Path::new("/f"));
    }

    #[test]
    fn new_files_are_compared_with_files_lost_in_the_same_burst() {
        let mut moves = Moves::default();
        moves.arrived("/new".into(), START, START, 0);
        assert!(moves.take_ready(START).is_empty());
        moves.vanished("/old".into(), 3, START);
        moves.vanished("/empty".into(), 0, START);
        assert_eq!(moves.take_ready(START), [PathBuf::from("/new")]);
        assert_eq!(moves.like(3), [PathBuf::from("/old")]);
        assert!(moves.like(0).is_empty());
        moves.expire(BURST + Duration::from_nanos(1), BURST);
        assert!(moves.like(3).is_empty());
    }

    #[test]
    fn what_is_remembered_of_new_names_is_bounded() {
        let mut moves = Moves::default();
        for number in 0..5_000 {
            moves.arrived(format!("/{number}").into(), START, START, 2_000);
        }
        assert_eq!(moves.arrivals().len(), 2_000);
    }
}
