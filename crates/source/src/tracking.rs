//! Keeps tracked files up to date in a store: turns a tracker's events into versions, in batches,
//! and reports the results.
//!
//! Every file goes through the indexing protocol; a moved file also gets `moved_from`. Knows no
//! session.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Location;
use super::batch::{Batch, BatchResult, IndexedFile, Look};
use super::exclude::excludes;
use super::file::FileState;
use super::indexing::{self, IndexOutcome};
use super::tracker::{PollReason, Tracker, TrackerEvent, TrackerOptions, TrackerReply};
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId};
use config::Exclude;
use store::Store;

/// How tracked files become versions.
#[derive(Clone)]
pub struct TrackingOptions {
    /// Maps a path that is opened here to its place in the store: its filesystem, and its path
    /// there.
    pub locate: Arc<dyn Fn(&Path) -> Location + Send + Sync>,
    /// Maximum size in bytes of a file whose text is stored; of larger files only metadata is
    /// stored.
    pub max_text_bytes: u64,
    /// Files stored with path and size only.
    pub exclude: Exclude,
    /// How files are watched.
    pub tracker: TrackerOptions,
}

impl TrackingOptions {
    /// Options for files whose place in the store is decided by `locate`.
    pub fn at(locate: impl Fn(&Path) -> Location + Send + Sync + 'static) -> Self {
        Self {
            locate: Arc::new(locate),
            max_text_bytes: config::DEFAULT_MAX_TEXT_BYTES,
            exclude: Exclude::default(),
            tracker: TrackerOptions::default(),
        }
    }
}

/// What happened to a tracked file.
#[derive(Debug, Clone, PartialEq)]
pub enum TrackingEvent {
    /// A file was compared with the store, and a version written if the store had another one. Each
    /// tracked file is reported once even if it is unchanged, and later only when it changes.
    Indexed(IndexedFile),
    /// A file moved. The object of the new path has `moved_from`; that of the old one got a version
    /// without content.
    Moved {
        /// The old path.
        from: PathBuf,
        /// The object of the old path.
        from_id: ObjectId,
        /// The object of the new path.
        to: IndexedFile,
    },
    /// It is unclear what a file is now; its latest version stands.
    Orphaned {
        /// The file.
        path: PathBuf,
        /// The reason in words.
        reason: String,
    },
    /// A file that was orphaned or deleted exists again; the next event describes it.
    Resumed {
        /// The file.
        path: PathBuf,
    },
    /// Files of these folders are polled from now on.
    Polling {
        /// The folders.
        folders: Vec<PathBuf>,
        /// The reason.
        reason: PollReason,
    },
    /// The system lost events, and every tracked file was looked at instead.
    Rescanned {
        /// Number of files.
        files: usize,
    },
    /// Something failed. If it was the store, the files are tried again.
    Failed {
        /// The file, if the failure concerns one.
        path: Option<PathBuf>,
        /// The failure in words.
        problem: String,
    },
}

impl Tracker {
    /// Starts without files, and keeps tracked files up to date in a store until it is closed.
    /// Calls `on_event` on a thread of its own, one call at a time, after the reported versions
    /// were written; a file is reported once it was indexed.
    ///
    /// # Errors
    /// As `start`.
    pub fn of_store(
        store: Store,
        options: TrackingOptions,
        mut on_event: impl FnMut(Vec<TrackingEvent>) + Send + 'static,
    ) -> Result<Self> {
        let tracker = options.tracker.clone();
        let mut writer = Writer { store, options, moves: HashMap::new(), orphans: HashSet::new() };
        Self::start(tracker, move |events| {
            let (told, reply) = writer.take(events);
            if !told.is_empty() {
                on_event(told);
            }
            reply
        })
    }
}

/// Writes the versions of a tracker's events.
struct Writer {
    store: Store,
    options: TrackingOptions,
    /// Moves that are not written yet: the new path and the old one.
    moves: HashMap<PathBuf, PathBuf>,
    /// Files that were reported as orphaned.
    orphans: HashSet<PathBuf>,
}

/// The work from one call of the tracker.
#[derive(Default)]
struct Work {
    batch: Batch,
    told: Vec<TrackingEvent>,
    reply: TrackerReply,
    /// Files in the batch: one version of a file is enough.
    staged: HashSet<PathBuf>,
    /// Files that are reported only if they changed.
    quiet: HashSet<PathBuf>,
}

impl Writer {
    fn take(&mut self, events: Vec<TrackerEvent>) -> (Vec<TrackingEvent>, TrackerReply) {
        let mut work = Work::default();
        for event in events {
            match event {
                TrackerEvent::Attached(path) => self.stage(path, false, &mut work),
                TrackerEvent::Changed(path) => {
                    work.quiet.insert(path.clone());
                    self.stage(path, false, &mut work);
                }
                TrackerEvent::Deleted(path) => self.stage(path, true, &mut work),
                TrackerEvent::Moved { from, to } => self.stage_move(from, to, &mut work),
                TrackerEvent::Appeared { path, like } => self.compare(path, like, &mut work),
                TrackerEvent::Resumed(path) => {
                    self.orphans.remove(&path);
                    work.told.push(TrackingEvent::Resumed { path: path.clone() });
                    self.stage(path, false, &mut work);
                }
                TrackerEvent::Orphaned { path, reason } => self.orphan(path, reason, &mut work),
                TrackerEvent::Told(event) => work.told.push(event),
            }
        }
        self.commit(&mut work);
        (work.told, work.reply)
    }

    fn stage_move(&mut self, from: PathBuf, to: PathBuf, work: &mut Work) {
        self.moves.insert(to.clone(), from.clone());
        // Both versions in one transaction, so that no reader sees two files or none.
        self.stage_now(from, true, work);
        self.stage(to, false, work);
    }

    fn stage(&mut self, path: PathBuf, is_gone: bool, work: &mut Work) {
        self.stage_now(path, is_gone, work);
        if work.batch.is_full() {
            self.commit(work);
        }
    }

    /// Reads a file and adds it to the batch. `is_gone`: whether the tracker found it missing.
    fn stage_now(&mut self, path: PathBuf, is_gone: bool, work: &mut Work) {
        if work.staged.contains(&path) {
            if is_gone {
                // It was there when it was read just now.
                work.reply.soon.push(path);
            }
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
        let read = || indexing::look(&location, is_excluded, self.options.max_text_bytes);
        let look = Look::take(&self.store, read)?;
        match look.state() {
            // The file vanished just now; the tracker reports that once it knows.
            FileState::Missing if !is_gone => return Ok(()),
            // The file appeared just now. The tracker believes that it reported the file as deleted
            // and would not report another deletion, so it is asked again.
            FileState::Text { .. }
            | FileState::Binary { .. }
            | FileState::TooLarge { .. }
            | FileState::Excluded { .. }
                if is_gone =>
            {
                work.reply.soon.push(path.to_owned());
                return Ok(());
            }
            // A file that the store never knew needs no deletion.
            FileState::Missing if self.store.get(&location.id()?, AsOf::Latest)?.is_none() => {
                return Ok(());
            }
            // The tracker saw a file, so it is asked again.
            FileState::NotAFile => {
                work.reply.soon.push(path.to_owned());
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
        work.batch.stage(&self.store, &location, path, look, moved_from.as_ref())?;
        work.staged.insert(path.to_owned());
        Ok(())
    }

    /// Whether a file is excluded, by its path here or in its filesystem.
    fn is_excluded(&self, path: &Path, location: &Location) -> bool {
        let exclude = &self.options.exclude;
        excludes(exclude, path) || exclude.excludes_name(&location.path)
    }

    /// Reports a file as orphaned, once.
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

    /// Handles a new file as long as some that vanished: it is one of them if its bytes are those
    /// of exactly one.
    fn compare(&mut self, path: PathBuf, like: Vec<PathBuf>, work: &mut Work) {
        let location = (self.options.locate)(&path);
        let is_excluded = self.is_excluded(&path, &location);
        let reading = indexing::look(&location, is_excluded, self.options.max_text_bytes);
        let (FileState::Text { source_hash, .. } | FileState::Binary { source_hash, .. }) =
            reading.state
        else {
            return;
        };
        // Deletions of the same call must be written before files are compared with them.
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

    /// Hash of a file's bytes before it was deleted.
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

    fn tell(&mut self, written: BatchResult, work: &mut Work) {
        // What moved is told of as that, and not as gone.
        let old_places = written.files.iter().filter_map(|file| self.moves.get(&file.path));
        let gone: HashSet<PathBuf> = old_places.cloned().collect();
        for file in written.files {
            if gone.contains(&file.path) && !self.moves.contains_key(&file.path) {
                continue;
            }
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
        work.reply.soon.extend(written.overtaken);
        for forgotten in written.forgotten {
            self.moves.remove(&forgotten.path);
            let (path, problem) = (Some(forgotten.path), forgotten.problem);
            work.told.push(TrackingEvent::Failed { path, problem });
        }
    }
}

/// The store refused the files: they are tried again unless it is closed.
fn refuse(paths: Vec<PathBuf>, error: &Error, work: &mut Work) {
    if matches!(error, Error::Closed { .. }) {
        work.reply.stop = true;
        return;
    }
    work.told.push(TrackingEvent::Failed { path: None, problem: error.to_string() });
    work.reply.again.extend(paths);
}
