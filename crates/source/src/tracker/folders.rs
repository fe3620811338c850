//! Decides which folders the system watches and which are polled. The only part of a tracker that
//! calls the watcher.
//!
//! A missing folder is awaited at its nearest existing ancestor. Must not be called while the
//! roster is locked: the watcher's thread takes that lock to report, and answers no call meanwhile.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use notify::{ErrorKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::look::{FolderIdentity, identity};
use super::round::{FolderState, FolderTask};
use super::{PollReason, TrackerOptions, Watching};
use files::{Mounts, looks};

/// How many times to re-watch at once a folder that is replaced while it is being watched; after
/// that the next sweep does it.
const ATTEMPTS: u32 = 3;

#[derive(Debug)]
pub(super) struct Folders {
    watcher: Result<RecommendedWatcher, PollReason>,
    watching: Watching,
    max_watches: usize,
    /// Whether the system refused further watches in this round.
    is_exhausted: bool,
    /// All watched folders: those of tracked files, and those at which missing ones are awaited.
    watched: HashSet<PathBuf>,
    /// Those of them that hold tracked files.
    attached: HashSet<PathBuf>,
    /// Missing folders, and where each is awaited.
    anchors: HashMap<PathBuf, PathBuf>,
    /// Ancestors that were re-watched in this round.
    renewed: HashSet<PathBuf>,
}

impl Folders {
    /// Calls `handler` on the watcher's own thread.
    pub(super) fn new(options: &TrackerOptions, handler: impl notify::EventHandler) -> Self {
        let watcher = match options.watching {
            Watching::System => {
                notify::recommended_watcher(handler).map_err(|error| reason(&error))
            }
            Watching::Polling | Watching::Reported => Err(PollReason::Asked),
        };
        Self {
            watcher,
            watching: options.watching,
            max_watches: options.max_watches.unwrap_or(usize::MAX),
            is_exhausted: false,
            watched: HashSet::new(),
            attached: HashSet::new(),
            anchors: HashMap::new(),
            renewed: HashSet::new(),
        }
    }

    /// Lets the watcher report what happened before: on Linux its thread reads events and answers
    /// calls in turn, so that the answer comes behind them.
    fn hear(&mut self) {
        if let (true, Ok(watcher)) = (cfg!(target_os = "linux"), &mut self.watcher) {
            // It changes nothing.
            let _ = watcher.configure(notify::Config::default());
        }
    }

    /// Checks the folders of a round. Returns those that are watched anew or in another way than
    /// before.
    pub(super) fn check(
        &mut self,
        tasks: &[FolderTask],
    ) -> Vec<(PathBuf, FolderState, Option<FolderIdentity>)> {
        self.hear();
        self.is_exhausted = false;
        self.renewed.clear();
        let mounts = Mounts::read();
        let checked = tasks.iter().filter_map(|task| {
            let (state, found) = self.check_one(task, &mounts)?;
            Some((task.path.clone(), state, found))
        });
        let checked = checked.collect();
        self.drop_unused_anchors();
        checked
    }

    fn check_one(
        &mut self,
        task: &FolderTask,
        mounts: &Mounts,
    ) -> Option<(FolderState, Option<FolderIdentity>)> {
        let Some(state) = &task.state else {
            self.anchors.remove(&task.path);
            self.unwatch(&task.path);
            return None;
        };
        let mut found = identity(&task.path);
        let stands = match state {
            FolderState::Watched => found.is_some() && found == task.identity,
            FolderState::Polled(PollReason::WatchLimit) => self.is_full(),
            FolderState::Polled(PollReason::Refused(_)) | FolderState::Unchecked => false,
            FolderState::Polled(_) => found.is_some(),
            FolderState::Absent => found.is_none() && self.is_anchored(&task.path),
        };
        if stands && !task.force {
            return None;
        }
        for _ in 0..ATTEMPTS {
            let state = match found {
                Some(_) => self.attach(&task.path, mounts),
                None => self.wait_for(&task.path),
            };
            // Checks whether it appeared or was replaced before the watch was in place.
            let now = identity(&task.path);
            if now == found {
                let is_news =
                    task.force || Some(&state) != task.state.as_ref() || found != task.identity;
                return is_news.then_some((state, found));
            }
            found = now;
        }
        Some((FolderState::Unchecked, found))
    }

    fn attach(&mut self, folder: &Path, mounts: &Mounts) -> FolderState {
        self.anchors.remove(folder);
        self.unwatch(folder);
        match self.watching {
            Watching::Reported => FolderState::Watched,
            Watching::Polling => FolderState::Polled(PollReason::Asked),
            Watching::System if mounts.is_remote(folder) => {
                FolderState::Polled(PollReason::NetworkFileSystem)
            }
            Watching::System => match self.watch(folder) {
                Ok(()) => {
                    self.attached.insert(folder.to_owned());
                    FolderState::Watched
                }
                Err(reason) => FolderState::Polled(reason),
            },
        }
    }

    /// Watches the nearest existing ancestor of a missing folder. Where that fails, the sweep finds
    /// it.
    fn wait_for(&mut self, folder: &Path) -> FolderState {
        self.unwatch(folder);
        if self.watching == Watching::System
            && let Some(above) = folder.ancestors().skip(1).find(|above| looks::is_dir(above))
        {
            // It may be a different folder than when it was watched first.
            if !self.attached.contains(above) && self.renewed.insert(above.to_owned()) {
                self.unwatch(above);
                // Without a watch the sweep finds it.
                let _ = self.watch(above);
            }
            self.anchors.insert(folder.to_owned(), above.to_owned());
        }
        FolderState::Absent
    }

    /// Whether a missing folder is awaited at the right ancestor.
    fn is_anchored(&self, folder: &Path) -> bool {
        self.watching != Watching::System
            || self.anchors.get(folder).is_some_and(|anchor| {
                let below = folder.ancestors().find(|part| part.parent() == Some(anchor));
                self.watched.contains(anchor)
                    && looks::is_dir(anchor)
                    && below.is_some_and(|part| !looks::is_dir(part))
            })
    }

    fn is_full(&self) -> bool {
        self.is_exhausted || self.watched.len() >= self.max_watches
    }

    fn watch(&mut self, folder: &Path) -> Result<(), PollReason> {
        if self.is_full() {
            return Err(PollReason::WatchLimit);
        }
        let watcher = self.watcher.as_mut().map_err(|reason| reason.clone())?;
        let result = watcher.watch(folder, RecursiveMode::NonRecursive);
        match result.map_err(|error| reason(&error)) {
            Ok(()) => {
                self.watched.insert(folder.to_owned());
                Ok(())
            }
            Err(reason) => {
                self.is_exhausted |= reason == PollReason::WatchLimit;
                Err(reason)
            }
        }
    }

    fn unwatch(&mut self, folder: &Path) {
        self.attached.remove(folder);
        if self.watched.remove(folder)
            && let Ok(watcher) = &mut self.watcher
        {
            // Fails if the folder is gone, and its watch with it.
            let _ = watcher.unwatch(folder);
        }
    }

    /// Stops watching ancestors at which nothing is awaited any more.
    fn drop_unused_anchors(&mut self) {
        let needed: HashSet<&PathBuf> = self.anchors.values().chain(&self.attached).collect();
        let unused = self.watched.iter().filter(|folder| !needed.contains(folder));
        for folder in unused.cloned().collect::<Vec<_>>() {
            self.unwatch(&folder);
        }
    }
}

/// Why a folder cannot be watched.
fn reason(error: &notify::Error) -> PollReason {
    match &error.kind {
        ErrorKind::MaxFilesWatch => PollReason::WatchLimit,
        // `EMFILE` of `inotify_init`: the limit of instances of a user.
        ErrorKind::Io(error) if error.raw_os_error() == Some(24) => PollReason::WatchLimit,
        ErrorKind::Io(error) => PollReason::Refused(error.kind().to_string()),
        _ => PollReason::Refused(error.to_string()),
    }
}
