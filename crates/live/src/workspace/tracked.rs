//! The tracker of an open session. It stores versions of the files whose text the model saw as they
//! change, for everybody who shares the store, and reports moves, which then need not be guessed.
//!
//! What the model is told does not depend on it: files are checked before each call anyway. Decides
//! nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::ToolFiles;
use crate::LiveSession;
use crate::Notice;
use base::error::Result;
use base::lock;
use base::object::ObjectId;
use source::{PollReason, Tracker, TrackerOptions, TrackingEvent, TrackingOptions};

/// Number of reports of one kind that are kept for the next call. The check before the call finds
/// further moves.
const MAX_KEPT: usize = 1_000;

/// A session's tracker.
#[derive(Debug)]
pub(crate) struct Tracked {
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

impl LiveSession {
    /// Tracks the files whose text the model has seen or will see, until the session is closed or
    /// dropped.
    ///
    /// # Errors
    /// `FILE` if the system provides no thread.
    pub fn track(&mut self, options: TrackerOptions) -> Result<()> {
        let _bounded = self.bounded();
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
        let tracking = Tracker::of_store(self.journal.store.clone(), options, move |events| {
            let mut kept = lock(&keeper);
            for event in events {
                kept.keep(event);
            }
        })?;
        self.workspace.tracked = Some(Tracked { tracking, handed: 0, kept });
        self.track_seen_files();
        Ok(())
    }

    /// Waits until all earlier changes of tracked files are in the store; returns whether that took
    /// no longer than `timeout`.
    pub fn settle(&self, timeout: Duration) -> bool {
        self.workspace.tracked.as_ref().is_none_or(|tracked| tracked.tracking.settle(timeout))
    }

    /// Hands the tracker the files that the model saw since the last time, but not those whose
    /// place is unknown.
    pub(crate) fn track_seen_files(&mut self) {
        let Some(mut tracked) = self.workspace.tracked.take() else { return };
        let seen = self.state().files().all_seen();
        // There may be fewer after another branch was read.
        let new = seen.get(tracked.handed..).unwrap_or(seen).iter();
        let places = new.filter_map(|file| self.location_of(file).ok().flatten());
        tracked.tracking.track(places.filter_map(|location| location.open));
        tracked.handed = seen.len();
        self.workspace.tracked = Some(tracked);
    }

    /// Makes the next commit hand all files to the tracker again: a file that moved has another
    /// path, at the same position.
    pub(super) fn track_all_anew(&mut self) {
        if let Some(tracked) = &mut self.workspace.tracked {
            tracked.handed = 0;
        }
    }

    /// Takes what the tracker reported since the last time; notices for the user wait for the next
    /// call. Returns the moved files, in the order in which they moved: the object that each was,
    /// and the one that it is. Ask for the paths with [`Self::paths_of_move`] after following the
    /// earlier moves.
    pub(crate) fn take_tracker_report(&mut self) -> Vec<(ObjectId, ObjectId)> {
        let Some(tracked) = &self.workspace.tracked else { return Vec::new() };
        let Kept { moves, polled, failed } = std::mem::take(&mut *lock(&tracked.kept));
        let polled = polled.into_iter().map(|(folders, reason)| Notice::Polling {
            folders: folders as u64,
            reason: reason.as_str(),
        });
        let failed = failed.into_iter().map(|problem| Notice::TrackingFailed { problem });
        self.waiting.extend(polled.chain(failed));
        moves
    }

    /// The old and the new path of a file that the tracker saw move, as the agent sees them. `None`
    /// if the session does not know the file.
    ///
    /// # Errors
    /// Errors of the store.
    pub(crate) fn paths_of_move(
        &self,
        from: &ObjectId,
        to: &ObjectId,
    ) -> Result<Option<(PathBuf, PathBuf)>> {
        let Some(known) = self.state().index().get(from) else { return Ok(None) };
        let to = self.location_of(to)?;
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
