//! Trackers report when a tracked file changed, was deleted, moved, or went out of reach.
//!
//! A tracker watches the folders of its files rather than the files, so that a file survives being
//! replaced. Where the system cannot watch, it polls. Pending work is a set of files, never a queue
//! of events. Reads no file and knows no store; that is the job of `tracking` beside it.

mod engine;
mod event;
mod folders;
mod look;
mod moves;
mod roster;
mod round;
mod signal;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

pub use event::{PollReason, TrackerOptions, TrackerStatus, Watching};
pub(super) use event::{TrackerEvent, TrackerReply};
pub use signal::Signal;

use base::error::{Error, Result};
use base::lock;
use engine::Shared;
use folders::Folders;

/// How long closing waits for the thread.
const LONGEST_END: Duration = Duration::from_secs(1);

/// Watches files until it is closed or dropped.
#[derive(Debug)]
pub struct Tracker {
    shared: Arc<Shared>,
    thread: ThreadId,
    /// The sender ends with the thread, however that ends.
    ended: Mutex<Receiver<()>>,
}

impl Tracker {
    /// Starts a tracker without files.
    ///
    /// Calls `on_event` on the tracker's thread, one call at a time; events that happen meanwhile
    /// come with the next call. `on_event` must not call `settle`.
    ///
    /// # Errors
    /// `FILE` if the system provides no thread. A failure to watch is no error: the files are
    /// polled, and an event says so.
    pub(super) fn start(
        options: TrackerOptions,
        on_event: impl FnMut(Vec<TrackerEvent>) -> TrackerReply + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared::new(options));
        let heard = Arc::clone(&shared);
        let handler = move |event| heard.take(signal::signals(event));
        let folders = Folders::new(&shared.options, handler);
        let runs = Arc::clone(&shared);
        let (end, ended) = channel::<()>();
        let thread = std::thread::Builder::new()
            .name("palimpsest tracker".to_owned())
            .spawn(move || {
                let _end = end;
                engine::run(&runs, folders, on_event);
            })
            .map_err(|source| Error::File { act: "watch", path: PathBuf::new(), source })?;
        Ok(Self { shared, thread: thread.thread().id(), ended: Mutex::new(ended) })
    }

    /// Tracks files by their canonical paths on this machine. Each is reported once as attached,
    /// deleted or orphaned. Files that are tracked already stay as they are.
    pub fn track(&self, paths: impl IntoIterator<Item = PathBuf>) {
        self.shared.change(|roster, now| {
            for path in paths {
                roster.track(&path, now);
            }
        });
    }

    /// Stops tracking files. Ignores unknown paths.
    pub fn untrack<'a>(&self, paths: impl IntoIterator<Item = &'a PathBuf>) {
        self.shared.change(|roster, _| {
            for path in paths {
                roster.untrack(path);
            }
        });
    }

    /// Takes signals of another watcher, in addition to the tracker's own or instead of it
    /// ([`Watching::Reported`]), in any order and as often as it likes. After missed signals,
    /// report [`Signal::Overflow`].
    pub fn report(&self, signals: impl IntoIterator<Item = Signal>) {
        self.shared.take(signals);
    }

    /// Waits until everything that happened to tracked files before this call was reported and
    /// `on_event` has returned. All files are looked at now. Returns `false` after `timeout`.
    /// Waits up to `absence` for a file that is gone, and up to `settle` for one that is being
    /// written.
    pub fn settle(&self, timeout: Duration) -> bool {
        self.shared.settle(timeout)
    }

    /// The tracker's current state.
    pub fn status(&self) -> TrackerStatus {
        self.shared.change(|roster, _| roster.status())
    }

    /// Stops watching and ends the threads; `on_event` is not called again. Idempotent. A thread
    /// that hangs because a disk does not answer is abandoned after 1 s.
    pub fn close(&self) {
        self.shared.close();
        // A thread cannot wait for itself: if `on_event` drops its own tracker, the thread ends
        // after the call.
        if self.thread != std::thread::current().id() {
            let ended = lock(&self.ended);
            // Nothing is ever sent. A hanging thread ends later.
            let _ = ended.recv_timeout(LONGEST_END);
        }
    }
}

impl Drop for Tracker {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
