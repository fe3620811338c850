//! What the worker threads and the event loop share of a session. Status, failed calls and the progress of the file check have
//! locks of their own, so that the event loop never waits for a call at work. Must not decide anything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::live::{LiveSession, Progress, Status};

/// An open session, until it is closed.
pub(super) struct Shared {
    live: Mutex<Option<LiveSession>>,
    id: Mutex<String>,
    status: Mutex<Status>,
    failures: Mutex<Vec<String>>,
    checking: Mutex<Option<Progress>>,
    mount_notices: Vec<String>,
}

impl Shared {
    pub(super) fn new(session: LiveSession) -> Arc<Self> {
        let is_due = session.is_reconcile_due();
        let shared = Arc::new(Self {
            id: Mutex::new(session.id().to_string()),
            status: Mutex::new(session.status()),
            mount_notices: session.oddities(),
            failures: Mutex::default(),
            checking: Mutex::default(),
            live: Mutex::new(Some(session)),
        });
        if is_due {
            reconcile_in_background(&shared);
        }
        shared
    }

    /// Works on the session; `CLOSED` if it was closed.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut LiveSession) -> Result<T>) -> Result<T> {
        let mut live = self.live.lock().unwrap_or_else(|poisoned| {
            // A panic may have left the state half made.
            let mut live = poisoned.into_inner();
            live.iter_mut().for_each(LiveSession::distrust);
            self.live.clear_poison();
            live
        });
        let session = live.as_mut().ok_or(Error::Closed { what: "session" })?;
        for reason in std::mem::take(&mut *lock(&self.failures)) {
            session.record_failed_call(&reason);
        }
        let result = work(session);
        *lock(&self.status) = session.status();
        *lock(&self.id) = session.id().to_string();
        result
    }

    /// Closes the session. Idempotent.
    pub(super) fn close(&self) -> Result<()> {
        let result = self.with(LiveSession::close);
        *lock(&self.live) = None;
        match result {
            Err(Error::Closed { .. }) => Ok(()),
            result => result,
        }
    }

    /// Notes that a call went out with the host's own messages; the next work on the session records it.
    pub(super) fn add_failed_call(&self, reason: String) {
        lock(&self.failures).push(reason);
    }

    /// ID of the session's document as of the last work on the session.
    pub(super) fn id(&self) -> String {
        lock(&self.id).clone()
    }

    /// Figures as of the last work on the session.
    pub(super) fn status(&self) -> Status {
        *lock(&self.status)
    }

    /// How far the check of the session's files is; `None` while none runs.
    pub(super) fn checking(&self) -> Option<Progress> {
        *lock(&self.checking)
    }

    /// What a person should know of the mounts, as they were when the session was opened.
    pub(super) fn mount_notices(&self) -> Vec<String> {
        self.mount_notices.clone()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The garbage collector drops a session that nobody closed on JavaScript's thread, and its tracker may be waiting for the
        // store.
        if let Some(live) = lock(&self.live).take() {
            drop(std::thread::Builder::new().spawn(move || drop(live)));
        }
    }
}

/// Starts the check of the files that a resumed session knows, so that its first call waits only for what is left of it. An error
/// is not lost: the first call repeats the check and reports it.
fn reconcile_in_background(shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let work = move || {
        let progress = |progress| *lock(&shared.checking) = Some(progress);
        drop(shared.with(|session| session.reconcile_due(&progress)));
        *lock(&shared.checking) = None;
    };
    drop(std::thread::Builder::new().name("palimpsest-files".to_owned()).spawn(work));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
