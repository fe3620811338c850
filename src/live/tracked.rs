//! The tracker of an open session: files whose text the model saw get their versions as they change, for whoever shares the
//! store, and a move that the system told of need not be guessed.
//!
//! What the model is told does not depend on it: before each call files are looked at anyway. Decides nothing.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Files, LiveSession, Notice};
use crate::error::Result;
use crate::object::ObjectId;
use crate::source::{PollReason, TrackerOptions, Tracking, TrackingEvent, TrackingOptions};

/// Moves that are kept for the next call; beyond them the look before the call finds what it can.
const MAX_HEARD: usize = 1_000;

/// A session's tracker.
#[derive(Debug)]
pub(super) struct Tracked {
    tracking: Tracking,
    /// So many of the files that the model saw are handed over.
    handed: usize,
    heard: Arc<Mutex<Heard>>,
}

/// What the tracker told since the last call.
#[derive(Debug, Default)]
struct Heard {
    /// Objects: what a file was, and what it is.
    moves: Vec<(ObjectId, ObjectId)>,
    polled: Vec<(usize, PollReason)>,
    /// What failed, in words, each once.
    failed: BTreeSet<String>,
}

impl LiveSession {
    /// Tracks the files whose text the model saw and will see, until the session is closed or dropped.
    ///
    /// # Errors
    /// `FILE` if the system gives no thread.
    pub fn track(&mut self, options: TrackerOptions) -> Result<()> {
        if self.options.files == Files::Elsewhere {
            return Ok(());
        }
        let namespace = self.namespace.clone();
        let options = TrackingOptions {
            locate: Arc::new(move |path| namespace.opened_at(path)),
            max_text_bytes: self.settings.max_text_bytes,
            exclude: self.exclude.clone(),
            tracker: options,
        };
        let heard = Arc::<Mutex<Heard>>::default();
        let teller = Arc::clone(&heard);
        let tracking = Tracking::start(self.store.clone(), options, move |events| {
            let mut heard = lock(&teller);
            for event in events {
                heard.take(event);
            }
        })?;
        self.tracked = Some(Tracked { tracking, handed: 0, heard });
        self.hand_over();
        Ok(())
    }

    /// Waits until all that happened to tracked files before is in the store; returns whether that took no longer than `timeout`.
    pub fn settle(&self, timeout: Duration) -> bool {
        self.tracked.as_ref().is_none_or(|tracked| tracked.tracking.settle(timeout))
    }

    /// Lets the tracker have the files that the model saw meanwhile. One whose place cannot be told is left out.
    pub(super) fn hand_over(&mut self) {
        let Some(tracked) = &self.tracked else { return };
        let seen = self.state.seen_files();
        // After another branch was read there may be fewer.
        let new = seen.get(tracked.handed..).unwrap_or(seen).iter();
        let places = new.filter_map(|file| self.location_of(file).ok().flatten());
        tracked.tracking.track(places.filter_map(|location| location.open));
        let handed = seen.len();
        if let Some(tracked) = &mut self.tracked {
            tracked.handed = handed;
        }
    }

    /// Lets the tracker have all files with the next commit: one that was moved has another path, in the old one's place.
    pub(super) fn hand_over_anew(&mut self) {
        if let Some(tracked) = &mut self.tracked {
            tracked.handed = 0;
        }
    }

    /// Takes what the tracker told since the last call.
    pub(super) fn hear(&mut self) -> Result<()> {
        self.refresh_if_stale()?;
        let Some(tracked) = &self.tracked else { return Ok(()) };
        let Heard { moves, polled, failed } = std::mem::take(&mut *lock(&tracked.heard));
        self.waiting.extend(polled.into_iter().map(|(folders, reason)| Notice::Polling {
            folders: folders as u64,
            reason: reason.as_str(),
        }));
        let failed = failed.into_iter();
        self.waiting.extend(failed.map(|problem| Notice::TrackingFailed { problem }));
        for (from, to) in moves {
            let known = self.state.index().get(&from);
            let Some(from) = known.map(|known| PathBuf::from(known.subject.agent_path())) else {
                continue;
            };
            if let Some(to) = self.location_of(&to)? {
                self.file_moved(&from, &self.agent_path(&to))?;
            }
        }
        Ok(())
    }
}

impl Heard {
    fn take(&mut self, event: TrackingEvent) {
        match event {
            TrackingEvent::Moved { from_id, to, .. } if self.moves.len() < MAX_HEARD => {
                self.moves.push((from_id, to.id));
            }
            TrackingEvent::Polling { folders, reason } => self.polled.push((folders.len(), reason)),
            TrackingEvent::Failed { problem, .. } if self.failed.len() < MAX_HEARD => {
                self.failed.insert(problem);
            }
            _ => {}
        }
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
