//! Threads for looks and other work that may hang, and the measure of how long they wait.

use std::any::Any;
use std::cell::RefCell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread::{Builder, Result as Done};
use std::time::Duration;

use base::error::{Error, Result};
use base::lock;

/// Most looks that may hang at a time. Beyond that no thread is made for another one.
const MAX_HUNG: usize = 16;
/// Number of steps in which a limit is measured.
const STEPS: u32 = 16;
/// Where the system does not say what a thread does, all of its time counts, so the limit is this
/// many times as long.
const UNMEASURED: u32 = 5;
/// The same as Node gives its worker threads: data that is read may be nested deeply.
const STACK_BYTES: usize = 8 << 20;

type Run = Box<dyn FnOnce(&Thread) + Send>;

/// What a job found. One type for all jobs: channels and threads are compiled once.
pub(super) type JobResult = Box<dyn Any + Send>;

/// What a job found, or its panic.
pub(super) type Answer = Done<JobResult>;

/// A pool thread. It never ends: the pool holds as many as were ever needed at once.
struct Thread {
    runs: Sender<Run>,
    /// Its state file on Linux; see proc_pid_stat(5).
    file: Arc<Path>,
}

thread_local! {
    /// The job of this thread, if it belongs to the pool.
    static OWN: RefCell<Option<Arc<Job>>> = const { RefCell::new(None) };
}

static IDLE: Mutex<Vec<Sender<Run>>> = Mutex::new(Vec::new());
static HUNG: Mutex<Vec<Weak<Job>>> = Mutex::new(Vec::new());

/// What happens to store writes of work that was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// They are written.
    Written,
    /// None of them is written.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Look,
    Work(Late),
}

/// The job of a pool thread; it has ended when nobody holds it any more.
#[derive(Debug)]
pub(super) struct Job {
    kind: Kind,
    limit: Duration,
    thread: OnceLock<Arc<Path>>,
    /// The path that it looks at now, and the link through which that was reached.
    at: Mutex<Option<(PathBuf, Option<PathBuf>)>>,
    /// The looks that it waits for.
    looks: Mutex<Vec<Weak<Job>>>,
    is_given_up: AtomicBool,
}

/// Refuses to write if the work of this thread was given up.
pub fn check() -> Result<()> {
    OWN.with_borrow(|own| match own {
        Some(job) if job.kind == Kind::Work(Late::Refused) && job.is_given_up() => {
            Err(Error::NoAnswer { what: "session", seconds: job.limit.as_secs() })
        }
        _ => Ok(()),
    })
}

/// Whether this is a pool thread.
pub(super) fn is_look() -> bool {
    OWN.with_borrow(|own| own.as_ref().is_some_and(|job| job.kind == Kind::Look))
}

/// Records what this thread is about to look at.
pub(super) fn note(path: PathBuf, link: Option<PathBuf>) {
    OWN.with_borrow(|own| {
        if let Some(job) = own {
            *lock(&job.at) = Some((path, link));
        }
    });
}

/// Number of looks that hang.
pub(super) fn hung() -> usize {
    let mut hung = lock(&HUNG);
    hung.retain(|job| job.strong_count() > 0);
    hung.len()
}

/// Starts a job, which sends its result through `answer`; `None` if there is no thread for it.
pub(super) fn start<T: Send + 'static>(
    kind: Kind,
    limit: Duration,
    answer: Sender<Answer>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<Arc<Job>> {
    start_boxed(kind, limit, answer, Box::new(move || Box::new(work())))
}

/// What the work returned; goes on with its panic.
pub(super) fn taken<T: 'static>(answer: Answer) -> T {
    let found = answer.unwrap_or_else(|panic| resume_unwind(panic));
    *found.downcast().expect("what this work returns")
}

fn start_boxed(
    kind: Kind,
    limit: Duration,
    answer: Sender<Answer>,
    work: Box<dyn FnOnce() -> JobResult + Send>,
) -> Option<Arc<Job>> {
    let job = Arc::new(Job {
        kind,
        limit,
        thread: OnceLock::new(),
        at: Mutex::default(),
        looks: Mutex::default(),
        is_given_up: AtomicBool::new(false),
    });
    let own = Arc::clone(&job);
    let run: Run = Box::new(move |thread| {
        // It is set only once.
        let _ = own.thread.set(Arc::clone(&thread.file));
        OWN.set(Some(own));
        let done = catch_unwind(AssertUnwindSafe(work));
        OWN.set(None);
        // Before the answer, so that its receiver finds the thread free.
        lock(&IDLE).push(thread.runs.clone());
        // Nobody receives it if the job took too long.
        let _ = answer.send(done);
    });
    let idle = lock(&IDLE).pop();
    let may_hang = kind != Kind::Look || idle.is_some() || hung() < MAX_HUNG;
    let thread = if may_hang { idle.or_else(spawned)? } else { return None };
    thread.send(run).ok()?;
    Some(job)
}

/// Makes a thread, unless the system provides none.
fn spawned() -> Option<Sender<Run>> {
    let (runs, queue) = channel::<Run>();
    let own = runs.clone();
    let work = move || {
        let file = fs::read_link("/proc/thread-self").unwrap_or_default();
        let file = Path::new("/proc").join(file).join("stat").into();
        let thread = Thread { runs: own, file };
        for run in queue {
            run(&thread);
        }
    };
    let builder = Builder::new().name("palimpsest work".to_owned()).stack_size(STACK_BYTES);
    builder.spawn(work).ok().map(|_| runs)
}

/// The next answer, or a timeout once the threads that work on it have waited longer than `limit`.
/// `is_busy` says whether one of them computes or waits for a processor; `None` if the system does
/// not say.
pub(super) fn next<T>(
    answers: &Receiver<T>,
    limit: Duration,
    is_busy: impl Fn() -> Option<bool>,
) -> std::result::Result<T, RecvTimeoutError> {
    let step = (limit / STEPS).max(Duration::from_millis(1));
    let mut left = STEPS * UNMEASURED;
    loop {
        match answers.recv_timeout(step) {
            Err(RecvTimeoutError::Timeout) if left > 0 => {
                let counts = is_busy().map_or(1, |busy| if busy { 0 } else { UNMEASURED });
                left = left.saturating_sub(counts);
            }
            answer => return answer,
        }
    }
}

/// Records that the work of this thread waits for these jobs.
pub(super) fn waits_for(jobs: &[Arc<Job>]) {
    OWN.with_borrow(|own| {
        if let Some(own) = own {
            *lock(&own.looks) = jobs.iter().map(Arc::downgrade).collect();
        }
    });
}

/// Whether one of them computes or waits for a processor; `None` if the system does not say.
pub(super) fn is_any_busy(jobs: &[Arc<Job>]) -> Option<bool> {
    let mut found = Some(false);
    for job in jobs {
        match job.is_busy() {
            Some(true) => return Some(true),
            None => found = None,
            Some(false) => {}
        }
    }
    found
}

impl Job {
    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::SeqCst)
    }

    /// Nobody waits for it any more.
    pub(super) fn give_up(self: &Arc<Self>) {
        self.is_given_up.store(true, Ordering::SeqCst);
        if self.kind == Kind::Look {
            lock(&HUNG).push(Arc::downgrade(self));
        }
    }

    /// The path that it looks at, and the link through which that was reached.
    pub(super) fn at(&self) -> Option<(PathBuf, Option<PathBuf>)> {
        lock(&self.at).clone()
    }

    /// Whether it, or one of its looks, computes or waits for a processor. `None` if the system
    /// does not say.
    fn is_busy(&self) -> Option<bool> {
        let text = fs::read_to_string(self.thread.get()?).ok()?;
        let runs = text.rsplit_once(") ")?.1.starts_with('R');
        let looks: Vec<_> = lock(&self.looks).iter().filter_map(Weak::upgrade).collect();
        Some(runs || is_any_busy(&looks) == Some(true))
    }
}
