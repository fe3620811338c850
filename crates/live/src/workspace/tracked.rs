//! The tracker of an open session. It stores versions of the files whose text the model saw as they
//! change, for everybody who shares the store, and reports moves, which then need not be guessed.
//!
//! What the model is told does not depend on it: files are checked before each call anyway. Decides
//! nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{ToolFiles, Workspace};
use crate::Notice;
use crate::journal::Journal;
use base::error::Result;
use base::lock;
use base::object::ObjectId;
use source::{PollReason, Tracker, TrackerOptions, TrackingEvent, TrackingOptions};

/// Number of reports of one kind that are kept for the next call. The check before the call finds
/// further moves.
const MAX_KEPT: usize = 1_000;

/// A session's tracker.
#[derive(Debug)]
pub(super) struct Tracked {
    tracking: Tracker,
    /// Number of the files seen by the model that were handed to the tracker.
    handed: usize,
    kept: Arc<Mutex<Kept>>,
}

/// What the tracker reported since the last call.
#[derive(Debug, Default)]
struct Kept {
    /// Objects: what a file was, and what it is.
    moves: Vec<(ObjectId, ObjectId)>,
    polled: Vec<(usize, PollReason)>,
    /// Failures in words, each once.
    failed: BTreeSet<String>,
}

/// What a tracker reported since the last call.
#[derive(Debug, Default)]
pub(crate) struct TrackerReport {
    /// Moved files, in the order in which they moved: the object that each was, and the one that it
    /// is. Ask for the paths with [`Workspace::paths_of_move`] after following the earlier moves.
    pub(crate) moves: Vec<(ObjectId, ObjectId)>,
    /// Notices for the user.
    pub(crate) notices: Vec<Notice>,
}

impl Workspace {
    /// Tracks the files whose text the model has seen or will see, until [`Self::untrack`] or drop.
    ///
    /// # Errors
    /// `FILE` if the system provides no thread.
    pub(crate) fn track(&mut self, journal: &Journal, options: TrackerOptions) -> Result<()> {
        if self.options.files == ToolFiles::Elsewhere {
            return Ok(());
        }
        let namespace = self.disk.namespace.clone();
        let options = TrackingOptions {
            locate: Arc::new(move |path| namespace.opened_at(path)),
            max_text_bytes: self.options.settings.max_text_bytes,
            exclude: (*self.disk.exclude).clone(),
            tracker: options,
        };
        let kept = Arc::<Mutex<Kept>>::default();
        let keeper = Arc::clone(&kept);
        let tracking = Tracker::of_store(journal.store.clone(), options, move |events| {
            let mut kept = lock(&keeper);
            for event in events {
                kept.keep(event);
            }
        })?;
        self.tracked = Some(Tracked { tracking, handed: 0, kept });
        self.track_seen_files(journal);
        Ok(())
    }

    /// Ends tracking.
    pub(crate) fn untrack(&mut self) {
        self.tracked = None;
    }

    /// Waits until the store has every earlier change of tracked files. Returns whether that took
    /// no longer than `timeout`.
    pub(crate) fn wait_until_tracked(&self, timeout: Duration) -> bool {
        self.tracked.as_ref().is_none_or(|tracked| tracked.tracking.settle(timeout))
    }

    /// Hands the tracker the files that the model saw since the last time, but not those whose
    /// place is unknown.
    pub(super) fn track_seen_files(&mut self, journal: &Journal) {
        let Some(tracked) = &mut self.tracked else { return };
        let seen = journal.state().files().all_seen();
        // There may be fewer after another branch was read.
        let new = seen.get(tracked.handed..).unwrap_or(seen).iter();
        let places = new.filter_map(|file| self.disk.location_of(journal, file).ok().flatten());
        tracked.tracking.track(places.filter_map(|location| location.open));
        tracked.handed = seen.len();
    }

    /// Makes the next commit hand all files to the tracker again: a file that moved has another
    /// path, at the same position.
    pub(super) fn track_all_anew(&mut self) {
        if let Some(tracked) = &mut self.tracked {
            tracked.handed = 0;
        }
    }

    /// Takes what the tracker reported since the last time.
    pub(crate) fn take_tracker_report(&self) -> TrackerReport {
        let Some(tracked) = &self.tracked else { return TrackerReport::default() };
        let Kept { moves, polled, failed } = std::mem::take(&mut *lock(&tracked.kept));
        let polled = polled.into_iter().map(|(folders, reason)| Notice::Polling {
            folders: folders as u64,
            reason: reason.as_str(),
        });
        let failed = failed.into_iter().map(|problem| Notice::TrackingFailed { problem });
        TrackerReport { moves, notices: polled.chain(failed).collect() }
    }

    /// The old and the new path of a file that the tracker saw move, as the agent sees them. `None`
    /// if the session does not know the file.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn paths_of_move(
        &self,
        journal: &Journal,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<Option<(PathBuf, PathBuf)>> {
        let Some(known) = journal.state().index().get(from) else { return Ok(None) };
        let to = self.disk.location_of(journal, to)?;
        Ok(to.map(|to| (PathBuf::from(known.subject.agent_path()), self.disk.agent_path(&to))))
    }
}

impl Kept {
    fn keep(&mut self, event: TrackingEvent) {
        match event {
            TrackingEvent::Moved { from_id, to, .. } if self.moves.len() < MAX_KEPT => {
                self.moves.push((from_id, to.id));
            }
            TrackingEvent::Polling { folders, reason } => self.polled.push((folders.len(), reason)),
            TrackingEvent::Failed { problem, .. } if self.failed.len() < MAX_KEPT => {
                self.failed.insert(problem);
            }
            _ => {}
        }
    }
}
