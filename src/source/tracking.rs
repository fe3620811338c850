//! Tracked files in a store: what a tracker tells becomes versions, in batches, and what was done is told.
//!
//! Every file goes through the indexing protocol; a move gets `moved_from` besides. Knows no session. Sources: DESIGN.md section
//! 5, SSOT 5.6, 5.8 and 5.9.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::batch::{Batch, IndexedFile, Written};
use super::file::FileState;
use super::indexing::{self, IndexOutcome};
use super::tracker::{
    PollReason, Signal, Tracker, TrackerEvent, TrackerOptions, TrackerReply, TrackerStatus,
};
use super::{Exclude, Location};
use crate::error::{Error, Result};
use crate::object::{AsOf, Hash, ObjectId};
use crate::store::Store;

/// What a path of this machine is: its filesystem and its path there.
pub type Locate = Arc<dyn Fn(&Path) -> Location + Send + Sync>;

/// How tracked files become versions.
#[derive(Clone)]
pub struct TrackingOptions {
    /// What a path that is opened here is in the store.
    pub locate: Locate,
    /// Files with more bytes are metadata only.
    pub max_text_bytes: u64,
    /// Files of which the path and size alone are stored.
    pub exclude: Exclude,
    /// How files are watched.
    pub tracker: TrackerOptions,
}

impl TrackingOptions {
    /// Options for files of one filesystem whose paths are those of this machine.
    pub fn here(filesystem_id: &str) -> Self {
        let filesystem_id = filesystem_id.to_owned();
        Self::at(move |path| Location::here(&filesystem_id, path.to_owned()))
    }

    /// Options for files whose place in the store `locate` says.
    pub fn at(locate: impl Fn(&Path) -> Location + Send + Sync + 'static) -> Self {
        Self {
            locate: Arc::new(locate),
            max_text_bytes: super::DEFAULT_MAX_TEXT_BYTES,
            exclude: Exclude::default(),
            tracker: TrackerOptions::default(),
        }
    }
}

impl fmt::Debug for TrackingOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TrackingOptions")
            .field("tracker", &self.tracker)
            .finish_non_exhaustive()
    }
}

/// What became of tracked files.
#[derive(Debug, Clone, PartialEq)]
pub enum TrackingEvent {
    /// A file was compared with the store, and its version written where it had another one. A tracked file is told of once even
    /// if it is unchanged, and later only if it changed.
    Indexed(IndexedFile),
    /// A file moved. The object of the new path has `moved_from`, that of the old one a version without content.
    Moved {
        /// Where it was.
        from: PathBuf,
        /// The object that it was.
        from_id: ObjectId,
        /// What it is now.
        to: IndexedFile,
    },
    /// It cannot be told any more what a file is; its latest version stands.
    Orphaned {
        /// The file.
        path: PathBuf,
        /// Why, in words.
        reason: String,
    },
    /// A file that was orphaned or deleted is there again; what it is now, the event after says.
    Resumed {
        /// The file.
        path: PathBuf,
    },
    /// Files of these folders are polled from now on.
    Polling {
        /// The folders.
        folders: Vec<PathBuf>,
        /// Why.
        reason: PollReason,
    },
    /// The system lost events, and every tracked file was looked at instead.
    Rescanned {
        /// Number of files.
        files: usize,
    },
    /// Something failed. Where the store did, the files are tried again.
    Failed {
        /// The file, where it is about one.
        path: Option<PathBuf>,
        /// What failed, in words.
        problem: String,
    },
}

/// Tracked files of a store, until it is closed or dropped, or the store is closed.
#[derive(Debug)]
pub struct Tracking {
    tracker: Tracker,
}

impl Tracking {
    /// Starts with no file. `on_event` is called on a thread of its own, one call at a time, after what it tells was written.
    ///
    /// # Errors
    /// As [`Tracker::start`].
    pub fn start(
        store: Store,
        options: TrackingOptions,
        mut on_event: impl FnMut(Vec<TrackingEvent>) + Send + 'static,
    ) -> Result<Self> {
        let tracker = options.tracker.clone();
        let mut writer = Writer { store, options, moves: HashMap::new(), orphans: HashSet::new() };
        let tracker = Tracker::start(tracker, move |events| {
            let (told, reply) = writer.take(events);
            if !told.is_empty() {
                on_event(told);
            }
            reply
        })?;
        Ok(Self { tracker })
    }

    /// Tracks files, given by canonical paths on this machine. Each is indexed and told of once; those that are tracked already
    /// stay as they are.
    pub fn track(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.tracker.track(paths);
    }

    /// Tracks files no more. Unknown paths are left out.
    pub fn untrack<'a>(&self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        self.tracker.untrack(paths);
    }

    /// As [`Tracker::report`].
    pub fn report(&self, signals: impl IntoIterator<Item = Signal>) {
        self.tracker.report(signals);
    }

    /// Waits until all that happened to tracked files before this call is in the store; as [`Tracker::settle`].
    pub fn settle(&self, timeout: Duration) -> bool {
        self.tracker.settle(timeout)
    }

    /// What the tracker does at this moment.
    pub fn status(&self) -> TrackerStatus {
        self.tracker.status()
    }

    /// Stops watching and ends the threads; `on_event` is not called again. Idempotent.
    pub fn close(&self) {
        self.tracker.close();
    }
}

/// Writes what a tracker tells of.
struct Writer {
    store: Store,
    options: TrackingOptions,
    /// Moves that are not written yet: where a file is, and where it was.
    moves: HashMap<PathBuf, PathBuf>,
    /// Files that were told of as orphaned.
    orphans: HashSet<PathBuf>,
}

/// What one call of the tracker leads to.
#[derive(Default)]
struct Work {
    batch: Batch,
    told: Vec<TrackingEvent>,
    reply: TrackerReply,
    /// What is in the batch: one version of a file is enough.
    staged: HashSet<PathBuf>,
    /// Files of which it is told only if they changed.
    quiet: HashSet<PathBuf>,
}

impl Writer {
    fn take(&mut self, events: Vec<TrackerEvent>) -> (Vec<TrackingEvent>, TrackerReply) {
        let mut work = Work::default();
        for event in events {
            match event {
                TrackerEvent::Attached { path } => self.stage(path, false, &mut work),
                TrackerEvent::Changed { path } => {
                    work.quiet.insert(path.clone());
                    self.stage(path, false, &mut work);
                }
                TrackerEvent::Deleted { path } => self.stage(path, true, &mut work),
                TrackerEvent::Moved { from, to } => self.stage_move(from, to, &mut work),
                TrackerEvent::Appeared { path, like } => self.compare(path, like, &mut work),
                TrackerEvent::Resumed { path } => {
                    self.orphans.remove(&path);
                    work.told.push(TrackingEvent::Resumed { path: path.clone() });
                    self.stage(path, false, &mut work);
                }
                TrackerEvent::Orphaned { path, reason } => {
                    self.orphan(path, reason, &mut work);
                }
                TrackerEvent::Polling { folders, reason } => {
                    work.told.push(TrackingEvent::Polling { folders, reason });
                }
                TrackerEvent::Rescanned { files } => {
                    work.told.push(TrackingEvent::Rescanned { files });
                }
                TrackerEvent::Failed { problem } => {
                    work.told.push(TrackingEvent::Failed { path: None, problem });
                }
            }
        }
        self.commit(&mut work);
        (work.told, work.reply)
    }

    fn stage_move(&mut self, from: PathBuf, to: PathBuf, work: &mut Work) {
        self.moves.insert(to.clone(), from.clone());
        // Both in one transaction: no reader sees two of the file, or none.
        self.stage_now(from, true, work);
        self.stage(to, false, work);
    }

    fn stage(&mut self, path: PathBuf, is_gone: bool, work: &mut Work) {
        self.stage_now(path, is_gone, work);
        if work.batch.is_full() {
            self.commit(work);
        }
    }

    /// Reads a file and takes it into the batch. `is_gone`: whether the tracker found it to be gone.
    fn stage_now(&mut self, path: PathBuf, is_gone: bool, work: &mut Work) {
        if work.staged.contains(&path) {
            return;
        }
        if let Err(error) = self.try_stage(&path, is_gone, work) {
            refuse(vec![path], &error, work);
        }
    }

    fn try_stage(&mut self, path: &Path, is_gone: bool, work: &mut Work) -> Result<()> {
        let location = (self.options.locate)(path);
        if path.to_str().is_none() || location.path.to_str().is_none() {
            let problem = "its name is not UTF-8".to_owned();
            work.told.push(TrackingEvent::Failed { path: Some(path.to_owned()), problem });
            return Ok(());
        }
        let is_excluded = self.is_excluded(path, &location);
        let reading = indexing::look(&location, is_excluded, self.options.max_text_bytes);
        match &reading.state {
            // It went just now; the tracker tells once it knows.
            FileState::Missing if !is_gone => return Ok(()),
            // It came just now. The tracker takes it for told as deleted, and should it go again, would not tell: it is asked again.
            FileState::Text { .. }
            | FileState::Binary { .. }
            | FileState::TooLarge { .. }
            | FileState::Excluded { .. }
                if is_gone =>
            {
                work.reply.again.push(path.to_owned());
                return Ok(());
            }
            // What the store never knew, it need not know as deleted.
            FileState::Missing if self.store.get(&location.id()?, AsOf::Latest)?.is_none() => {
                return Ok(());
            }
            // The tracker saw a file: it is asked again.
            FileState::NotAFile => {
                work.reply.again.push(path.to_owned());
                return Ok(());
            }
            FileState::Unreadable { reason } => {
                work.reply.again.push(path.to_owned());
                self.orphan(path.to_owned(), reason.clone(), work);
                return Ok(());
            }
            _ => {}
        }
        if self.orphans.remove(path) && !is_gone {
            work.told.push(TrackingEvent::Resumed { path: path.to_owned() });
        }
        let moved_from = self.moved_from(path)?;
        work.batch.stage(&self.store, &location, path, reading, moved_from.as_ref())?;
        work.staged.insert(path.to_owned());
        Ok(())
    }

    /// Whether a file is known by path and size alone, by its path here or in its filesystem.
    fn is_excluded(&self, path: &Path, location: &Location) -> bool {
        let exclude = &self.options.exclude;
        exclude.excludes(path) || exclude.excludes_name(&location.path)
    }

    /// Tells that a file is orphaned, once.
    fn orphan(&mut self, path: PathBuf, reason: String, work: &mut Work) {
        if self.orphans.insert(path.clone()) {
            work.told.push(TrackingEvent::Orphaned { path, reason });
        }
    }

    /// The object that the file at `path` was before it moved there, if the store knows it.
    fn moved_from(&self, path: &Path) -> Result<Option<ObjectId>> {
        let Some(from) = self.moves.get(path) else { return Ok(None) };
        let id = (self.options.locate)(from).id()?;
        Ok(self.store.get(&id, AsOf::Latest)?.map(|_| id))
    }

    /// A file came to be as long as some that vanished: it is one of them if its bytes are those of exactly that one.
    fn compare(&mut self, path: PathBuf, like: Vec<PathBuf>, work: &mut Work) {
        let location = (self.options.locate)(&path);
        let is_excluded = self.is_excluded(&path, &location);
        let reading = indexing::look(&location, is_excluded, self.options.max_text_bytes);
        let (FileState::Text { source_hash, .. } | FileState::Binary { source_hash, .. }) =
            reading.state
        else {
            return;
        };
        // What was deleted in the same call must be written before it can be compared with.
        self.commit(work);
        let is_it = |from: &PathBuf| {
            self.last_bytes(from).is_ok_and(|hash| hash.as_ref() == Some(&source_hash))
        };
        let free = like.into_iter().filter(|from| !work.reply.found.contains(from));
        let mut same = free.filter(is_it);
        if let (Some(from), None) = (same.next(), same.next()) {
            work.reply.found.push(from.clone());
            work.reply.track.push(path.clone());
            self.moves.insert(path.clone(), from);
            self.stage(path, false, work);
        }
    }

    /// Hash of the bytes that a file had before it was deleted.
    fn last_bytes(&self, path: &Path) -> Result<Option<Hash>> {
        let history = self.store.history(&(self.options.locate)(path).id()?)?;
        Ok(history.into_iter().find_map(|version| version.source_hash))
    }

    fn commit(&mut self, work: &mut Work) {
        let paths: Vec<PathBuf> = std::mem::take(&mut work.staged).into_iter().collect();
        match work.batch.commit(&self.store) {
            Ok(written) => self.tell(written, work),
            Err(error) => refuse(paths, &error, work),
        }
    }

    fn tell(&mut self, written: Written, work: &mut Work) {
        for file in written.files {
            if file.outcome == IndexOutcome::Unchanged && work.quiet.contains(&file.path) {
                continue;
            }
            let moved = self.moves.remove(&file.path).and_then(|from| {
                let from_id = (self.options.locate)(&from).id().ok()?;
                Some((from, from_id))
            });
            work.told.push(match moved {
                Some((from, from_id)) => TrackingEvent::Moved { from, from_id, to: file },
                None => TrackingEvent::Indexed(file),
            });
        }
        for forgotten in written.forgotten {
            self.moves.remove(&forgotten.path);
            let (path, problem) = (Some(forgotten.path), forgotten.problem);
            work.told.push(TrackingEvent::Failed { path, problem });
        }
    }
}

/// The store did not take files: they are tried again, unless it is closed.
fn refuse(paths: Vec<PathBuf>, error: &Error, work: &mut Work) {
    if matches!(error, Error::Closed { .. }) {
        work.reply.stop = true;
        return;
    }
    work.told.push(TrackingEvent::Failed { path: None, problem: error.to_string() });
    work.reply.again.extend(paths);
}
