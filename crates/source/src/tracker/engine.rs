//! A tracker's thread: waits until something is in doubt, looks at it without holding the lock, and
//! reports what it found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::folders::Folders;
use super::look::{Look, is_same_file, look};
use super::roster::Roster;
use super::round::{FolderTask, Round, Task};
use super::{PollReason, Signal, TrackerEvent, TrackerOptions, TrackerReply, Watching};
use crate::TrackingEvent;
use base::lock;
use base::object::FileStamp;
use files::looks;

/// How long a look at a file may wait.
const LOOK: Duration = Duration::from_millis(500);

/// State shared by the caller, the watcher's thread and the tracker's own.
#[derive(Debug)]
pub(super) struct Shared {
    started: Instant,
    pub options: TrackerOptions,
    state: Mutex<State>,
    /// Wakes the tracker's thread.
    wake: Condvar,
    /// Wakes callers that wait for it.
    rest: Condvar,
}

#[derive(Debug)]
struct State {
    roster: Roster,
    /// When the tracker's thread wakes by itself.
    sleeps_until: Duration,
    is_closed: bool,
}

impl Shared {
    pub(super) fn new(options: TrackerOptions) -> Self {
        let state = State {
            roster: Roster::new(options.clone()),
            sleeps_until: Duration::MAX,
            is_closed: false,
        };
        Self {
            started: clock(),
            options,
            state: Mutex::new(state),
            wake: Condvar::new(),
            rest: Condvar::new(),
        }
    }

    pub(super) fn now(&self) -> Duration {
        clock().duration_since(self.started)
    }

    /// Takes a watcher's signals.
    pub(super) fn take(&self, signals: impl IntoIterator<Item = Signal>) {
        self.change(|roster, now| {
            for signal in signals {
                roster.take(signal, now);
            }
        });
    }

    /// Changes the roster and wakes the thread.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Roster, Duration) -> T) -> T {
        let mut state = lock(&self.state);
        let result = change(&mut state.roster, self.now());
        if state.roster.soonest < state.sleeps_until {
            self.wake.notify_one();
        }
        result
    }

    /// Waits until everything that happened before was reported; see [`super::Tracker::settle`].
    pub(super) fn settle(&self, timeout: Duration) -> bool {
        let deadline = self.now().saturating_add(timeout);
        // `report` takes the caller's signals before it returns.
        let all = self.options.watching != Watching::Reported;
        let below = self.change(|roster, now| {
            roster.check_untold(all, now);
            roster.next
        });
        self.wait(deadline, |state| state.roster.is_settled_below(below))
    }

    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.wake.notify_all();
        self.rest.notify_all();
    }

    fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    fn wait(&self, deadline: Duration, is_done: impl Fn(&State) -> bool) -> bool {
        let mut state = lock(&self.state);
        loop {
            if is_done(&state) {
                return true;
            }
            let left = deadline.saturating_sub(self.now());
            if left.is_zero() || state.is_closed {
                return false;
            }
            state = self.rest.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until there is something to look at; `None` once closed.
    fn next_round(&self) -> Option<Round> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return None;
            }
            let now = self.now();
            if let Some(round) = state.roster.take_round(now) {
                return Some(round);
            }
            self.rest.notify_all();
            let due = state.roster.next_due();
            state.sleeps_until = due;
            let left = due.saturating_sub(now);
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            // An awake thread looks by itself.
            state.sleeps_until = Duration::ZERO;
        }
    }
}

/// Runs until the tracker is closed, calling `on_event` with what it finds.
pub(super) fn run(
    shared: &Shared,
    mut folders: Folders,
    mut on_event: impl FnMut(Vec<TrackerEvent>) -> TrackerReply,
) {
    let _bounded = looks::bounded(LOOK);
    while let Some(round) = shared.next_round() {
        let mut events = check_folders(shared, &mut folders, &round.folders);
        check_files(shared, round.files, &mut events);
        check_arrivals(shared, round.arrivals, &mut events);
        tell(shared, events, &mut on_event);
        let mut events = Vec::new();
        shared.change(|roster, now| roster.end_round(now, &mut events));
        tell(shared, events, &mut on_event);
    }
}

fn tell(
    shared: &Shared,
    events: Vec<TrackerEvent>,
    on_event: &mut impl FnMut(Vec<TrackerEvent>) -> TrackerReply,
) {
    // If the tracker hung and was closed, its owner is not told what it found later.
    if !events.is_empty() && !shared.is_closed() {
        let reply = on_event(events);
        shared.change(|roster, now| roster.obey(&reply, now));
        if reply.stop {
            shared.close();
        }
    }
}

fn check_folders(
    shared: &Shared,
    folders: &mut Folders,
    tasks: &[FolderTask],
) -> Vec<TrackerEvent> {
    if tasks.is_empty() {
        return Vec::new();
    }
    let checked = folders.check(tasks);
    let mut polled: HashMap<PollReason, Vec<PathBuf>> = HashMap::new();
    shared.change(|roster, now| {
        for (path, state, identity) in checked {
            if let Some(reason) = roster.folder_checked(&path, (state, identity), now) {
                polled.entry(reason).or_default().push(path);
            }
        }
    });
    polled
        .into_iter()
        .map(|(reason, folders)| TrackerEvent::Told(TrackingEvent::Polling { folders, reason }))
        .collect()
}

fn check_files(shared: &Shared, tasks: Vec<Task>, events: &mut Vec<TrackerEvent>) {
    let now = shared.now();
    let mut near = Near::default();
    let found: Vec<_> = tasks
        .into_iter()
        .map(|task| {
            let look = look(&task.path, task.opens, task.device);
            let is_gone = look == Look::Missing && task.is_absence_over(now, &shared.options);
            let moved = if is_gone { near.find(shared, &task) } else { None };
            (task, look, moved)
        })
        .collect();
    shared.change(|roster, now| {
        for (task, look, moved) in found {
            roster.resolve(task, look, moved, now, events);
        }
    });
}

fn check_arrivals(shared: &Shared, arrivals: Vec<PathBuf>, events: &mut Vec<TrackerEvent>) {
    let sized: Vec<_> = arrivals
        .into_iter()
        .filter_map(|path| match look(&path, false, None) {
            Look::File(seen) => Some((path, seen.size)),
            _ => None,
        })
        .collect();
    if !sized.is_empty() {
        shared.change(|roster, _| {
            events.extend(sized.into_iter().filter_map(|(path, size)| roster.appeared(path, size)));
        });
    }
}

/// Files near those that vanished in one round, by inode number.
#[derive(Default)]
struct Near {
    arrivals: Option<HashMap<u64, (PathBuf, FileStamp)>>,
    folders: HashMap<PathBuf, HashMap<u64, PathBuf>>,
}

impl Near {
    /// Finds where a missing file is now, as the same file: where it went according to the system,
    /// under another name in its folder, or at a path that appeared in this burst.
    fn find(&mut self, shared: &Shared, task: &Task) -> Option<(PathBuf, FileStamp)> {
        let was = task.was?;
        let told = task.destination.as_ref().and_then(|to| match look(to, false, None) {
            Look::File(seen) if seen.inode == was.inode => Some((to.clone(), seen)),
            _ => None,
        });
        if told.is_some() || was.inode == 0 {
            return told;
        }
        self.beside(&task.path, was).or_else(|| {
            let arrivals = self.arrivals.get_or_insert_with(|| {
                let paths = shared.change(|roster, _| roster.moves.arrivals());
                let seen = paths.into_iter().filter_map(|path| match look(&path, false, None) {
                    Look::File(seen) => Some((seen.inode, (path, seen))),
                    _ => None,
                });
                seen.collect()
            });
            arrivals.get(&was.inode).filter(|(_, seen)| is_same_file(*seen, was)).cloned()
        })
    }

    fn beside(&mut self, path: &Path, was: FileStamp) -> Option<(PathBuf, FileStamp)> {
        let folder = path.parent()?;
        if !self.folders.contains_key(folder) {
            self.folders.insert(folder.to_owned(), numbers(folder));
        }
        let found = self.folders.get(folder)?.get(&was.inode)?;
        match look(found, false, None) {
            // Inode numbers are reused; the change time distinguishes the files.
            Look::File(seen) if is_same_file(seen, was) => Some((found.clone(), seen)),
            _ => None,
        }
    }
}

/// A folder's entries by inode number; empty if it cannot be read.
#[cfg(unix)]
fn numbers(folder: &Path) -> HashMap<u64, PathBuf> {
    use std::os::unix::fs::DirEntryExt;

    let entries = looks::entries(folder, usize::MAX).into_iter().flatten();
    entries.map(|entry| (entry.ino(), entry.path())).collect()
}

#[cfg(not(unix))]
fn numbers(_folder: &Path) -> HashMap<u64, PathBuf> {
    HashMap::new()
}

#[expect(clippy::disallowed_methods, reason = "when to look is no decision about what is stored")]
fn clock() -> Instant {
    Instant::now()
}
