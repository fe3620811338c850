//! Trackers: what tells that a tracked file changed, was deleted or moved, or cannot be reached any more.
//!
//! A tracker watches the folders of its files, not the files, so that a file survives being replaced; where the system cannot
//! watch, it polls. What waits is a set of files, never a queue of events. Reads no file and knows no store: that is
//! [`super::Tracking`]'s. Sources: DESIGN.md section 5, SSOT 5.8 and 5.9.

#[cfg(test)]
mod editors;
mod engine;
mod event;
mod folders;
mod look;
mod moves;
mod roster;
mod round;
mod signal;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use event::{PollReason, TrackerEvent, TrackerOptions, TrackerReply, TrackerStatus, Watching};
pub use signal::Signal;

use crate::error::{Error, Result};
use engine::{Barrier, Shared};
use folders::Folders;

/// Watches files until it is closed or dropped.
#[derive(Debug)]
pub struct Tracker {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Tracker {
    /// Starts with no file.
    ///
    /// `on_event` is called on the tracker's thread, one call at a time; what happens meanwhile is told in the next. It must
    /// not call `settle`.
    ///
    /// # Errors
    /// `FILE` if the system gives no thread. That it does not watch is no error: files are polled, and an event says so.
    pub fn start(
        options: TrackerOptions,
        on_event: impl FnMut(Vec<TrackerEvent>) -> TrackerReply + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::new(options));
        let heard = Arc::clone(&shared);
        let handler = move |event| heard.take(signal::signals(event));
        let mut folders = Folders::new(&shared.options, handler);
        // One queue for all folders is how Linux does it; elsewhere files are looked at instead.
        if cfg!(target_os = "linux")
            && let Some(barrier) = Barrier::new()
            && folders.watch_own(&barrier.path)
        {
            shared.set_barrier(barrier);
        }
        let runs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("palimpsest tracker".to_owned())
            .spawn(move || engine::run(&runs, folders, on_event))
            .map_err(|source| Error::File { act: "watch", path: PathBuf::new(), source })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Tracks files, given by canonical paths on this machine. Each is told of once as attached, deleted or orphaned; those that
    /// are tracked already stay as they are.
    pub fn track(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.shared.change(|roster, now| {
            for path in paths {
                roster.track(&path, now);
            }
        });
    }

    /// Tracks files no more. Unknown paths are left out.
    pub fn untrack<'a>(&self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        self.shared.change(|roster, _| {
            for path in paths {
                roster.untrack(path);
            }
        });
    }

    /// Takes what another watcher says, besides the tracker's own or instead of it ([`Watching::Reported`]). In any order, as
    /// often as it likes; what is left out is found by [`Signal::Overflow`].
    pub fn report(&self, signals: impl IntoIterator<Item = Signal>) {
        self.shared.take(signals);
    }

    /// Waits until all that happened to tracked files before this call was told and `on_event` has returned; files that are
    /// polled are looked at now. Returns whether that took no longer than `timeout`. A file that is gone is waited for as long as
    /// `absence`, one that is being written as long as `settle`.
    pub fn settle(&self, timeout: Duration) -> bool {
        self.shared.settle(timeout)
    }

    /// What the tracker does at this moment.
    pub fn status(&self) -> TrackerStatus {
        self.shared.change(|roster, _| roster.status())
    }

    /// Stops watching and ends the threads; `on_event` is not called again. Idempotent.
    pub fn close(&self) {
        self.shared.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A thread cannot wait for itself: that of a tracker which its own `on_event` drops ends after the call.
        if let Some(thread) =
            thread.filter(|thread| thread.thread().id() != std::thread::current().id())
        {
            // A panic of `on_event` was reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.close();
    }
}
