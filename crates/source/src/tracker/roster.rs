//! The tracked files, which of them are in doubt, and how a doubt is resolved. All decisions of a
//! tracker are made here.
//!
//! Signals make doubts: a set of paths, at most one per tracked file, each with the time at which
//! to look at it. Must not look at the filesystem or the clock: the caller passes in times, counted
//! from the tracker's start, and what was found.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::look::{FolderIdentity, Look};
use super::moves::Moves;
use super::round::{Doubt, FolderState, FolderTask, Round, State, Task, Weight};
use super::{PollReason, Signal, TrackerEvent, TrackerOptions, TrackerReply, TrackerStatus};
use crate::TrackingEvent;
use base::object::FileStamp;

mod doubts;

/// Number of files looked at in one round; as many as one transaction holds.
const ROUND: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Roster {
    options: TrackerOptions,
    folders: HashMap<PathBuf, Folder>,
    /// Folders above tracked files, with the number of tracked folders at or below each.
    above: HashMap<PathBuf, usize>,
    doubts: HashMap<PathBuf, Doubt>,
    folder_doubts: HashMap<PathBuf, FolderDoubt>,
    pub(super) moves: Moves,
    /// Number of the next doubt.
    pub(super) next: u64,
    /// The lowest doubt number of the current round; for a round of new names alone, the next
    /// number when it began.
    in_hand: Option<u64>,
    /// The doubt at which the running rescan ends, and its number of files.
    rescan: Option<(u64, usize)>,
    poll: Poll,
    next_sweep: Duration,
    /// No doubt is due before this time.
    pub(super) soonest: Duration,
    failures: Vec<String>,
    files: usize,
    most_pending: usize,
}

#[derive(Debug, Default)]
struct Folder {
    files: HashMap<OsString, State>,
    watch: FolderState,
    identity: Option<FolderIdentity>,
}

#[derive(Debug, Clone, Copy)]
struct FolderDoubt {
    /// Whether to watch it anew even if it looks the same.
    force: bool,
    number: u64,
}

#[derive(Debug, Default)]
struct Poll {
    next: Duration,
    /// Start of the running poll, and the doubt at which it ends.
    running: Option<(Duration, u64)>,
}

impl Roster {
    pub(super) fn new(options: TrackerOptions) -> Self {
        Self {
            next_sweep: options.sweep,
            options,
            next: 1,
            soonest: Duration::MAX,
            ..Self::default()
        }
    }

    pub(super) fn track(&mut self, path: &Path, now: Duration) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let is_new_folder = !self.folders.contains_key(parent);
        let folder = self.folders.entry(parent.to_owned()).or_default();
        if folder.files.contains_key(name) {
            return;
        }
        folder.files.insert(name.to_owned(), State::Unknown);
        self.files += 1;
        self.moves.left(path);
        if is_new_folder {
            for ancestor in parent.ancestors() {
                *self.above.entry(ancestor.to_owned()).or_insert(0) += 1;
            }
            self.doubt_folder(parent, true);
        }
        self.doubt(path, Weight::Check, now, now);
    }

    pub(super) fn untrack(&mut self, path: &Path) {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return };
        let Some(folder) = self.folders.get_mut(parent) else { return };
        if folder.files.remove(name).is_none() {
            return;
        }
        self.files -= 1;
        self.doubts.remove(path);
        if folder.files.is_empty() {
            self.folders.remove(parent);
            for ancestor in parent.ancestors() {
                if let Some(count) = self.above.get_mut(ancestor) {
                    *count -= 1;
                    if *count == 0 {
                        self.above.remove(ancestor);
                    }
                }
            }
            self.doubt_folder(parent, true);
        }
    }

    /// Follows a listener's reply.
    pub(super) fn obey(&mut self, reply: &TrackerReply, now: Duration) {
        for path in &reply.again {
            self.look_again(path, now + self.options.poll, now);
        }
        for path in &reply.soon {
            // It may still be being written.
            self.look_again(path, now + self.options.settle, now);
            self.belongs_to_round(path);
        }
        for path in &reply.track {
            self.track(path, now);
            self.belongs_to_round(path);
        }
        for path in &reply.found {
            self.moves.found(path);
        }
    }

    /// Doubts a tracked file as if nothing were known of it.
    fn look_again(&mut self, path: &Path, due: Duration, now: Duration) {
        if let Some(state) = self.state_mut(path) {
            *state = State::Unknown;
            self.doubt(path, Weight::Check, due, now);
        }
    }

    pub(super) fn take(&mut self, signal: Signal, now: Duration) {
        match signal {
            Signal::Appeared(path) => self.came(path, now + self.options.settle, now),
            Signal::Written(path) => self.came(path, now, now),
            Signal::Changed(path) => {
                let due = now + self.options.settle;
                if self.is_tracked(&path) {
                    self.written(&path, due, now);
                } else {
                    self.moves.written(&path, due);
                    self.doubt_folders_under(&path);
                }
            }
            Signal::Metadata(path) => {
                if self.is_tracked(&path) {
                    self.doubt(&path, Weight::Metadata, now + self.options.settle, now);
                } else if self.folders.contains_key(&path) {
                    self.doubt_folder(&path, true);
                }
            }
            Signal::Gone(path) => self.gone(&path, now),
            Signal::Renamed(from, to) => {
                let matters = self.is_tracked(&from) || self.above.contains_key(&from);
                self.doubt_folders_under(&from);
                self.doubt_folders_under(&to);
                self.moves.renamed(from, to, matters, now);
            }
            Signal::Overflow => self.check_all(now),
            Signal::Failed(problem) => {
                // More of them would say the same, and a listener that takes none must not make
                // them pile up.
                if self.failures.len() < ROUND {
                    self.failures.push(problem);
                }
            }
        }
        self.most_pending = self.most_pending.max(self.doubts.len());
    }

    /// Doubts every file and folder.
    pub(super) fn check_all(&mut self, now: Duration) {
        self.doubt_all_folders(true);
        self.doubt_files(now, |_| true);
        self.rescan = Some((self.next, self.files));
    }

    /// Doubts everything that the system does not report: folders, and polled files. `all`: all
    /// files.
    pub(super) fn check_untold(&mut self, all: bool, now: Duration) {
        self.doubt_all_folders(false);
        self.doubt_files(now, |folder| all || matches!(folder.watch, FolderState::Polled(_)));
    }

    /// Whether every doubt with a lower number is resolved.
    pub(super) fn is_settled_below(&self, number: u64) -> bool {
        let files = self.doubts.values().map(|doubt| doubt.number);
        let folders = self.folder_doubts.values().map(|doubt| doubt.number);
        self.in_hand.is_none_or(|lowest| lowest >= number)
            && files.chain(folders).all(|doubt| doubt >= number)
    }

    /// What to look at now; `None` if there is nothing.
    pub(super) fn take_round(&mut self, now: Duration) -> Option<Round> {
        self.start_checks(now);
        let folders = self.folder_doubts.drain().collect::<Vec<_>>();
        let files: Vec<_> = if folders.is_empty() {
            self.doubts.extract_if(|_, doubt| doubt.due <= now).take(ROUND).collect()
        } else {
            // Folders come first: only files of watched folders are certain.
            Vec::new()
        };
        let arrivals = self.moves.take_ready(now);
        if folders.is_empty() && files.is_empty() && arrivals.is_empty() {
            return None;
        }
        let numbers = folders.iter().map(|(_, doubt)| doubt.number);
        let lowest = numbers.chain(files.iter().map(|(_, doubt)| doubt.number)).min();
        self.in_hand = lowest.or_else(|| Some(self.take_number()));
        Some(Round {
            folders: folders.into_iter().map(|task| self.folder_task(task)).collect(),
            files: files.into_iter().filter_map(|task| self.task(task)).collect(),
            arrivals,
        })
    }

    /// When there is something to look at next.
    pub(super) fn next_due(&mut self) -> Duration {
        let doubts = self.doubts.values().map(|doubt| doubt.due);
        let folders = self.folder_doubts.values().map(|_| Duration::ZERO);
        let polls = self.polls().then_some(self.poll.next);
        let times = doubts.chain(folders).chain(polls).chain(self.moves.next_ready());
        self.soonest = times.fold(self.next_sweep, Duration::min);
        self.soonest
    }

    /// Records what was found of a folder, and doubts its files. Returns why it is polled, if it
    /// was not for that reason before.
    pub(super) fn folder_checked(
        &mut self,
        path: &Path,
        found: (FolderState, Option<FolderIdentity>),
        now: Duration,
    ) -> Option<PollReason> {
        let folder = self.folders.get_mut(path)?;
        let before = std::mem::replace(&mut folder.watch, found.0);
        let news = match &folder.watch {
            FolderState::Polled(reason) if before != folder.watch => Some(reason.clone()),
            _ => None,
        };
        // The identity of a folder that is gone shows later whether its filesystem is gone too.
        folder.identity = found.1.or(folder.identity);
        let names: Vec<OsString> = folder.files.keys().cloned().collect();
        for name in names {
            self.doubt(&path.join(name), Weight::Check, now, now);
        }
        news
    }

    /// Resolves the doubt about a file. `moved`: where the file is now, if it moved.
    pub(super) fn resolve(
        &mut self,
        task: Task,
        look: Look,
        moved: Option<(PathBuf, FileStamp)>,
        now: Duration,
        events: &mut Vec<TrackerEvent>,
    ) {
        let path = task.path;
        let Some(&state) = self.state(&path) else { return };
        match look {
            Look::File(seen) => {
                self.moves.stands(&path);
                self.set_state(&path, State::Present(seen));
                events.extend(match state {
                    State::Unknown => Some(TrackerEvent::Attached(path)),
                    State::Deleted | State::Orphaned => Some(TrackerEvent::Resumed(path)),
                    State::Present(old) if task.doubt.weight.may_differ(old, seen) => {
                        Some(TrackerEvent::Changed(path))
                    }
                    State::Present(_) => None,
                });
            }
            Look::Unclear(reason) => {
                self.set_state(&path, State::Orphaned);
                if state != State::Orphaned {
                    events.push(TrackerEvent::Orphaned { path, reason });
                }
            }
            Look::Missing if state == State::Deleted => {}
            Look::Missing
                if task.doubt.gone_since.is_none_or(|since| since + self.options.absence > now) =>
            {
                let since = task.doubt.gone_since.unwrap_or(now);
                let due = since + self.options.absence;
                let waiting = Doubt { gone_since: Some(since), due, ..task.doubt };
                // A signal that came meanwhile counts more.
                self.doubts.entry(path).or_insert(waiting);
            }
            Look::Missing if self.doubts.contains_key(&path) => {}
            Look::Missing => self.vanish(path, state, moved, now, events),
        }
    }

    /// Reports an untracked file that appeared, if it may be one that vanished.
    pub(super) fn appeared(&self, path: PathBuf, size: u64) -> Option<TrackerEvent> {
        let like = self.moves.like(size);
        (!like.is_empty() && !self.is_tracked(&path))
            .then_some(TrackerEvent::Appeared { path, like })
    }

    /// Ends a round and adds the remaining events.
    pub(super) fn end_round(&mut self, now: Duration, events: &mut Vec<TrackerEvent>) {
        self.in_hand = None;
        self.moves.expire(now, self.options.burst);
        let failures = std::mem::take(&mut self.failures);
        events.extend(
            failures
                .into_iter()
                .map(|problem| TrackerEvent::Told(TrackingEvent::Failed { path: None, problem })),
        );
        if let Some((number, files)) = self.rescan
            && self.is_settled_below(number)
        {
            self.rescan = None;
            events.push(TrackerEvent::Told(TrackingEvent::Rescanned { files }));
        }
        if let Some((started, number)) = self.poll.running
            && self.is_settled_below(number)
        {
            // Looking takes at most a tenth of the time, as `TrackerOptions::poll` promises.
            let took = now.saturating_sub(started);
            self.poll = Poll { next: now + self.options.poll.max(took * 9), running: None };
        }
    }

    pub(super) fn status(&self) -> TrackerStatus {
        let mut status = TrackerStatus {
            files: self.files,
            pending: self.doubts.len(),
            most_pending: self.most_pending,
            ..TrackerStatus::default()
        };
        for folder in self.folders.values() {
            match folder.watch {
                FolderState::Watched => status.watched_folders += 1,
                FolderState::Polled(_) => status.polled_folders += 1,
                FolderState::Absent => status.absent_folders += 1,
                FolderState::Unchecked => {}
            }
            for state in folder.files.values() {
                match state {
                    State::Present(_) => status.attached += 1,
                    State::Deleted => status.deleted += 1,
                    State::Orphaned => status.orphaned += 1,
                    State::Unknown => {}
                }
            }
        }
        status
    }
}

impl Roster {
    /// Handles a tracked file that has been missing long enough.
    fn vanish(
        &mut self,
        path: PathBuf,
        state: State,
        moved: Option<(PathBuf, FileStamp)>,
        now: Duration,
        events: &mut Vec<TrackerEvent>,
    ) {
        self.set_state(&path, State::Deleted);
        self.moves.stands(&path);
        let is_free =
            |to: &Path| !matches!(self.state(to), Some(State::Present(_) | State::Orphaned));
        if let Some((to, seen)) = moved.filter(|(to, _)| is_free(to)) {
            if !self.is_tracked(&to) {
                self.track(&to, now);
                self.doubts.remove(&to);
            }
            self.set_state(&to, State::Present(seen));
            events.push(TrackerEvent::Moved { from: path, to });
            return;
        }
        if let State::Present(seen) = state {
            self.moves.vanished(path.clone(), seen.size, now);
        }
        events.push(TrackerEvent::Deleted(path));
    }

    fn folder_task(&self, (path, doubt): (PathBuf, FolderDoubt)) -> FolderTask {
        let folder = self.folders.get(&path);
        FolderTask {
            force: doubt.force,
            identity: folder.and_then(|folder| folder.identity),
            state: folder.map(|folder| folder.watch.clone()),
            path,
        }
    }

    fn task(&self, (path, doubt): (PathBuf, Doubt)) -> Option<Task> {
        let folder = self.folders.get(path.parent()?)?;
        let state = *folder.files.get(path.file_name()?)?;
        let opens =
            doubt.weight == Weight::Metadata || matches!(state, State::Unknown | State::Orphaned);
        let was = match state {
            State::Present(seen) => Some(seen),
            _ => None,
        };
        let destination = self.moves.destination(&path);
        let device = folder.identity.map(|identity| identity.device);
        Some(Task { path, opens, device, was, destination, doubt })
    }

    fn is_tracked(&self, path: &Path) -> bool {
        self.state(path).is_some()
    }

    fn state(&self, path: &Path) -> Option<&State> {
        self.folders.get(path.parent()?)?.files.get(path.file_name()?)
    }

    fn state_mut(&mut self, path: &Path) -> Option<&mut State> {
        self.folders.get_mut(path.parent()?)?.files.get_mut(path.file_name()?)
    }

    fn set_state(&mut self, path: &Path, state: State) {
        if let Some(known) = self.state_mut(path) {
            *known = state;
        }
    }
}
