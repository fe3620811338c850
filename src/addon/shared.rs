//! What the worker threads and the event loop share of a session.
//!
//! Work on a session runs on a pool thread, one piece at a time. A caller gives up after the
//! deadline, so a hanging disk never holds a thread that others need. Status, failed calls and the
//! progress of the file check have their own locks, so the event loop never waits for a running
//! call. Must not decide anything.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use base::error::{Error, Result};
use base::lock;
use files::looks::{self, Deadline, Late};
use live::{CheckProgress, LiveSession, LiveStatus};

/// An open session, until it is closed.
pub(super) struct Shared {
    /// `None` once closed.
    live: Mutex<Option<LiveSession>>,
    deadline: Deadline,
    id: Mutex<String>,
    status: Mutex<LiveStatus>,
    failures: Mutex<Vec<String>>,
    checking: Mutex<Option<CheckProgress>>,
    mount_notices: Vec<String>,
}

impl Shared {
    pub(super) fn new(session: LiveSession) -> Arc<Self> {
        let is_due = session.is_reconcile_due();
        let shared = Arc::new(Self {
            deadline: Deadline::new("session", session.deadline()),
            id: Mutex::new(session.id().to_string()),
            status: Mutex::new(session.status()),
            mount_notices: session.oddities(),
            live: Mutex::new(Some(session)),
            failures: Mutex::default(),
            checking: Mutex::default(),
        });
        if is_due {
            shared.reconcile_in_background();
        }
        shared
    }

    /// Runs work on the session; `CLOSED` if it was closed. `NO_ANSWER` if it waits longer than the
    /// deadline, or if earlier work does: nothing of the work is stored then, unless storing had
    /// begun.
    pub(super) fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut LiveSession) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(self);
        self.deadline.wait_for(Late::Refused, move || shared.run(&mut lock(&shared.live), work))
    }

    /// Closes the session. Idempotent. Work that does not end in time ends later, or with the
    /// process.
    pub(super) fn close(self: &Arc<Self>) -> Result<()> {
        let shared = Arc::clone(self);
        let closing = move || {
            let mut live = lock(&shared.live).take();
            shared.run(&mut live, LiveSession::close)
        };
        match self.deadline.wait_for(Late::Written, closing) {
            Err(Error::Closed { .. }) => Ok(()),
            result => result,
        }
    }

    fn run<T>(
        &self,
        live: &mut Option<LiveSession>,
        work: impl FnOnce(&mut LiveSession) -> Result<T>,
    ) -> Result<T> {
        looks::check()?;
        let session = live.as_mut().ok_or(Error::Closed { what: "session" })?;
        for reason in std::mem::take(&mut *lock(&self.failures)) {
            session.record_failed_call(&reason);
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(session))).unwrap_or_else(|panic| {
            // The panic may have left the state half made.
            session.distrust();
            resume_unwind(panic)
        });
        *lock(&self.status) = session.status();
        *lock(&self.id) = session.id().to_string();
        result
    }

    /// Starts the check of the files that a resumed session knows, so that its first call waits
    /// only for the rest of it. An error is not lost: the first call repeats the check and reports
    /// it.
    fn reconcile_in_background(self: &Arc<Self>) {
        let of = Arc::downgrade(self);
        let work = move || {
            let Some(shared) = of.upgrade() else { return Ok(()) };
            let progress = |progress| *lock(&shared.checking) = Some(progress);
            let reconcile = |session: &mut LiveSession| session.reconcile_due(&progress);
            let done = shared.run(&mut lock(&shared.live), reconcile);
            *lock(&shared.checking) = None;
            done
        };
        drop(self.deadline.start(work));
    }

    /// Records that a call went out with the host's own messages; the next work on the session
    /// stores it.
    pub(super) fn add_failed_call(&self, reason: String) {
        lock(&self.failures).push(reason);
    }

    /// ID of the session's document as of the last work on the session.
    pub(super) fn id(&self) -> String {
        lock(&self.id).clone()
    }

    /// Figures as of the last work on the session.
    pub(super) fn status(&self) -> LiveStatus {
        *lock(&self.status)
    }

    /// Progress of the check of the session's files; `None` while none runs.
    pub(super) fn checking(&self) -> Option<CheckProgress> {
        *lock(&self.checking)
    }

    /// Warnings about the mounts for the user, as of opening the session.
    pub(super) fn mount_notices(&self) -> Vec<String> {
        self.mount_notices.clone()
    }
}

impl Drop for Shared {
    /// Drops the session on a thread: if it was not closed, it may have to wait for what it holds.
    fn drop(&mut self) {
        let live = lock(&self.live).take();
        if live.is_some() {
            drop(self.deadline.start(move || {
                drop(live);
                Ok(())
            }));
        }
    }
}
