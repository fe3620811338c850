//! What the worker threads and the event loop share of a session. A session is at work on a thread of its own, so that no disk that
//! hangs keeps a thread that others need: who waits for it gives up after the deadline. Status, failed calls and the progress of the
//! file check have locks of their own, so that the event loop never waits for a call at work. Must not decide anything.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use super::blocking::STACK_BYTES;
use base::error::{Error, Result};
use live::{LiveSession, Progress, Status};
use source::{Patience, ThreadClock, busy};
use store::GivenUp;

/// Work on the session. `None`: it is closed.
type Job = Box<dyn FnOnce(&mut Option<LiveSession>) + Send>;

type Answers<T> = Receiver<std::thread::Result<Result<T>>>;

/// An open session, until it is closed.
pub(super) struct Shared {
    /// `None` once closed.
    jobs: Mutex<Option<Sender<Job>>>,
    /// Of the session's thread.
    clock: OnceLock<ThreadClock>,
    /// Whether work was given up and none has ended since.
    is_stuck: AtomicBool,
    deadline: Duration,
    id: Mutex<String>,
    status: Mutex<Status>,
    failures: Mutex<Vec<String>>,
    checking: Mutex<Option<Progress>>,
    mount_notices: Vec<String>,
}

impl Shared {
    /// # Errors
    /// `INTERNAL` if the system gives no thread.
    pub(super) fn new(session: LiveSession) -> Result<Arc<Self>> {
        let is_due = session.is_reconcile_due();
        let (jobs, queue) = channel();
        let shared = Arc::new(Self {
            jobs: Mutex::new(Some(jobs)),
            clock: OnceLock::new(),
            is_stuck: AtomicBool::new(false),
            deadline: session.deadline(),
            id: Mutex::new(session.id().to_string()),
            status: Mutex::new(session.status()),
            mount_notices: session.oddities(),
            failures: Mutex::default(),
            checking: Mutex::default(),
        });
        let runs = Arc::downgrade(&shared);
        let thread = std::thread::Builder::new().name("palimpsest session".to_owned());
        let thread = thread.stack_size(STACK_BYTES);
        let spawned = thread.spawn(move || work(Some(session), &queue, &runs));
        spawned.map_err(|error| Error::internal(format!("no thread for a session: {error}")))?;
        if is_due {
            reconcile_in_background(&shared);
        }
        Ok(shared)
    }

    /// Works on the session; `CLOSED` if it was closed. `NO_ANSWER` if it waits for longer than the deadline, or if earlier work
    /// does: nothing of the work is stored then, unless that had begun.
    pub(super) fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut LiveSession) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let given_up = GivenUp::default();
        let answers = self.ask(work, &given_up)?;
        self.wait(&answers, &given_up)
    }

    /// Closes the session. Idempotent. What does not end in time ends later, or with the process.
    pub(super) fn close(self: &Arc<Self>) -> Result<()> {
        let closing = self.ask(LiveSession::close, &GivenUp::default());
        let jobs = lock(&self.jobs).take();
        let result = closing.and_then(|answers| {
            drop(jobs);
            self.wait(&answers, &GivenUp::default())
        });
        match result {
            Err(Error::Closed { .. }) => Ok(()),
            result => result,
        }
    }

    /// Hands work to the session's thread.
    fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut LiveSession) -> Result<T> + Send + 'static,
        given_up: &GivenUp,
    ) -> Result<Answers<T>> {
        let (answer, answers) = channel();
        let (shared, given_up) = (Arc::clone(self), Arc::clone(given_up));
        let job: Job = Box::new(move |live| {
            if !given_up.load(Ordering::SeqCst) {
                let done = catch_unwind(AssertUnwindSafe(|| shared.run(live, work, &given_up)));
                if let (Err(_), Some(live)) = (&done, live) {
                    // A panic may have left the state half made.
                    live.distrust();
                }
                drop(answer.send(done));
            }
            shared.is_stuck.store(false, Ordering::SeqCst);
        });
        if !self.has_ended_soon() {
            return Err(self.no_answer());
        }
        let jobs = lock(&self.jobs);
        let sent = jobs.as_ref().and_then(|jobs| jobs.send(job).ok());
        sent.map(|()| answers).ok_or(Error::Closed { what: "session" })
    }

    /// Whether the work that was given up has ended, or does right now: what hangs is not waited for a second time.
    fn has_ended_soon(&self) -> bool {
        let steps = std::iter::repeat_n(Duration::from_millis(5), 20);
        steps.into_iter().any(|step| {
            let is_stuck = self.is_stuck.load(Ordering::SeqCst);
            if is_stuck {
                std::thread::sleep(step);
            }
            !is_stuck
        })
    }

    fn run<T>(
        &self,
        live: &mut Option<LiveSession>,
        work: impl FnOnce(&mut LiveSession) -> Result<T>,
        given_up: &GivenUp,
    ) -> Result<T> {
        let session = live.as_mut().ok_or(Error::Closed { what: "session" })?;
        let _waited = store::waited(Arc::clone(given_up), self.deadline);
        for reason in std::mem::take(&mut *lock(&self.failures)) {
            session.record_failed_call(&reason);
        }
        let result = work(session);
        *lock(&self.status) = session.status();
        *lock(&self.id) = session.id().to_string();
        result
    }

    /// Waits for an answer. Gives the work up if the session's thread, and those that look at files, wait for longer than the
    /// deadline.
    fn wait<T>(&self, answers: &Answers<T>, given_up: &GivenUp) -> Result<T> {
        let mut patience = Patience::new(self.deadline);
        loop {
            match answers.recv_timeout(patience.step()) {
                Ok(done) => return done.unwrap_or_else(|panic| resume_unwind(panic)),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Closed { what: "session" });
                }
                Err(RecvTimeoutError::Timeout) => {
                    let own = || self.clock.get()?.busy();
                    if patience.is_over(|| Some(own()? + busy()?)) {
                        break;
                    }
                }
            }
        }
        given_up.store(true, Ordering::SeqCst);
        self.is_stuck.store(true, Ordering::SeqCst);
        // It may have ended just now, and does not say so again.
        match answers.try_recv() {
            Ok(done) => {
                self.is_stuck.store(false, Ordering::SeqCst);
                done.unwrap_or_else(|panic| resume_unwind(panic))
            }
            Err(_) => Err(self.no_answer()),
        }
    }

    fn no_answer(&self) -> Error {
        Error::NoAnswer { what: "session", seconds: self.deadline.as_secs() }
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

/// The session's thread: works until the session is closed, or nobody holds it any more.
fn work(mut session: Option<LiveSession>, queue: &Receiver<Job>, shared: &Weak<Shared>) {
    if let Some(shared) = shared.upgrade() {
        // It is set once.
        let _ = shared.clock.set(ThreadClock::of_this_thread());
    }
    while let Ok(job) = queue.recv() {
        job(&mut session);
    }
}

/// Starts the check of the files that a resumed session knows, so that its first call waits only for what is left of it. An error
/// is not lost: the first call repeats the check and reports it.
fn reconcile_in_background(shared: &Arc<Shared>) {
    let of = Arc::downgrade(shared);
    let work = move |session: &mut LiveSession| {
        let progress = |progress| {
            if let Some(shared) = of.upgrade() {
                *lock(&shared.checking) = Some(progress);
            }
        };
        let done = session.reconcile_due(&progress);
        if let Some(shared) = of.upgrade() {
            *lock(&shared.checking) = None;
        }
        done.map(drop)
    };
    drop(shared.ask(work, &GivenUp::default()));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
