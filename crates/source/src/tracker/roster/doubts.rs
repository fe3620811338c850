//! How signals and due checks become doubts: which files and folders to look at, and when.
//!
//! Must not look at the filesystem or the clock, nor resolve a doubt.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Folder, FolderDoubt, Roster};
use crate::tracker::round::{Doubt, FolderState, Weight};

impl Roster {
    /// Handles a path that appeared or whose bytes are complete at `due`.
    pub(super) fn came(&mut self, path: PathBuf, due: Duration, now: Duration) {
        if self.is_tracked(&path) {
            self.written(&path, due, now);
        } else if self.above.contains_key(&path) {
            self.doubt_folders_under(&path);
        } else if path.parent().is_some_and(|parent| self.folders.contains_key(parent)) {
            self.moves.arrived(path, now, due, self.files);
            self.soonest = self.soonest.min(self.moves.next_ready().unwrap_or(Duration::MAX));
        }
    }

    pub(super) fn written(&mut self, path: &Path, due: Duration, now: Duration) {
        self.wait_for_more(path, due, None, now);
    }

    pub(super) fn gone(&mut self, path: &Path, now: Duration) {
        if self.is_tracked(path) {
            self.wait_for_more(path, now + self.options.absence, Some(now), now);
        } else {
            self.moves.left(path);
            self.doubt_folders_under(path);
        }
    }

    /// Doubts the bytes of a tracked file at `due`, but never later than the latest time: the file
    /// may be written, or come and go, endlessly.
    fn wait_for_more(
        &mut self,
        path: &Path,
        due: Duration,
        gone_since: Option<Duration>,
        now: Duration,
    ) {
        let latest = self.options.settle_at_most;
        let doubt = self.doubt(path, Weight::Data, due, now);
        doubt.gone_since = gone_since;
        doubt.due = due.min(doubt.first + latest).max(now);
        let due = doubt.due;
        self.soonest = self.soonest.min(due);
    }

    /// Starts the sweep and the poll if they are due.
    pub(super) fn start_checks(&mut self, now: Duration) {
        if now >= self.next_sweep {
            self.next_sweep = now + self.options.sweep;
            self.doubt_all_folders(false);
        }
        if self.polls() && self.poll.running.is_none() && now >= self.poll.next {
            self.doubt_files(now, |folder| matches!(folder.watch, FolderState::Polled(_)));
            self.poll.running = Some((now, self.next));
        }
    }

    pub(super) fn polls(&self) -> bool {
        self.poll.running.is_none()
            && self.folders.values().any(|folder| matches!(folder.watch, FolderState::Polled(_)))
    }

    pub(super) fn doubt_files(&mut self, now: Duration, which: impl Fn(&Folder) -> bool) {
        let mut paths = Vec::new();
        for (parent, folder) in self.folders.iter().filter(|(_, folder)| which(folder)) {
            paths.extend(folder.files.keys().map(|name| parent.join(name)));
        }
        for path in paths {
            self.doubt(&path, Weight::Check, now, now);
        }
        self.most_pending = self.most_pending.max(self.doubts.len());
    }

    /// The doubt about a tracked file, created if necessary; an existing one keeps its time.
    pub(super) fn doubt(
        &mut self,
        path: &Path,
        weight: Weight,
        due: Duration,
        now: Duration,
    ) -> &mut Doubt {
        let number = self.take_number();
        self.soonest = self.soonest.min(due);
        let fresh = Doubt { weight, due, first: now, gone_since: None, number };
        if !self.doubts.contains_key(path) {
            self.doubts.insert(path.to_owned(), fresh);
        }
        let doubt = self.doubts.get_mut(path).expect("it was inserted where it was missing");
        doubt.weight = doubt.weight.max(weight);
        doubt
    }

    /// Makes the doubt about a file as old as the current round, so that callers waiting for the
    /// round wait for it too: the file may have changed since the round found it, and changes of
    /// untracked files are not reported.
    pub(super) fn belongs_to_round(&mut self, path: &Path) {
        if let (Some(number), Some(doubt)) = (self.in_hand, self.doubts.get_mut(path)) {
            doubt.number = doubt.number.min(number);
        }
    }

    pub(super) fn take_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    pub(super) fn doubt_folder(&mut self, path: &Path, force: bool) {
        let number = self.take_number();
        self.soonest = Duration::ZERO;
        let doubt = self.folder_doubts.entry(path.to_owned());
        doubt.or_insert(FolderDoubt { force, number }).force |= force;
    }

    pub(super) fn doubt_all_folders(&mut self, force: bool) {
        let paths: Vec<PathBuf> = self.folders.keys().cloned().collect();
        for path in paths {
            self.doubt_folder(&path, force);
        }
    }

    /// Doubts the tracked folders at and under a path.
    pub(super) fn doubt_folders_under(&mut self, path: &Path) {
        if self.above.contains_key(path) {
            let under: Vec<PathBuf> =
                self.folders.keys().filter(|folder| folder.starts_with(path)).cloned().collect();
            for folder in under {
                self.doubt_folder(&folder, true);
            }
        }
    }
}
