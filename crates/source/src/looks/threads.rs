//! The threads on which looks run. One that hangs is left to itself until it comes back; their number is bounded.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::Duration;

use super::clock::{Patience, ThreadClock, now};
use super::places::{self, lock};
use super::trace::{self, Followed};

/// How long a thread stays awake for what is likely to come.
const MOMENT: Duration = Duration::from_micros(60);
/// Threads that wait for work.
const IDLE: usize = 4;
/// Threads at most on which one call looks at many files.
const AT_ONCE: usize = 4;
/// Items from which a second thread pays.
const SHARE: usize = 64;
/// Threads that may hang at a time. Beyond that nothing is looked at.
const MAX_HUNG: usize = 16;
/// How often a look at many files goes on after some of them hung.
const MAX_ROUNDS: usize = 3;

type Job = Box<dyn FnOnce() + Send>;
type Done<T> = Result<T, Box<dyn Any + Send>>;

thread_local! {
    /// The worker that this thread is.
    static SELF: RefCell<Option<Arc<Worker>>> = const { RefCell::new(None) };
}

static WAITING: Mutex<Vec<Arc<Worker>>> = Mutex::new(Vec::new());
static ALL: Mutex<Vec<Weak<Worker>>> = Mutex::new(Vec::new());
static HUNG: AtomicUsize = AtomicUsize::new(0);
/// Time that ended threads were busy.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// A thread that looks.
#[derive(Debug)]
pub(super) struct Worker {
    jobs: Sender<Job>,
    clock: OnceLock<ThreadClock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What it looks at now.
    at: Option<PathBuf>,
    /// Number of looks that it began.
    looks: u64,
    /// The place that it hangs at; it has been given up.
    hangs_at: Option<u64>,
}

/// Whether many looks hang.
pub(super) fn many_hang() -> bool {
    HUNG.load(Ordering::Relaxed) >= MAX_HUNG / 2
}

/// Whether this thread is one of those that look.
pub(super) fn is_look() -> bool {
    SELF.with_borrow(Option::is_some)
}

/// Notes what this thread is about to look at.
pub(super) fn note(path: &Path) {
    SELF.with_borrow(|worker| {
        if let Some(worker) = worker {
            lock(&worker.state).at = Some(path.to_owned());
        }
    });
}

/// How long all threads that look computed so far; `None` if the system does not say.
pub fn busy() -> Option<Duration> {
    let all = lock(&ALL);
    let clocks =
        all.iter().filter_map(Weak::upgrade).filter_map(|worker| worker.clock.get().cloned());
    let ended = Duration::from_nanos(ENDED.load(Ordering::Relaxed));
    clocks.map(|clock| clock.busy()).try_fold(ended, |sum, busy| Some(sum + busy?))
}

/// Runs a look; `None` if it waited longer than `limit`, or if too many hang.
pub(super) fn run<T: Send + 'static>(
    limit: Duration,
    look: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let worker = Worker::free()?;
    let (answer, answers) = channel();
    let number = worker.start(move || {
        let done = catch_unwind(AssertUnwindSafe(look));
        move || drop(answer.send(done))
    });
    if let Some(done) = soon(&answers) {
        return Some(done.unwrap_or_else(|panic| resume_unwind(panic)));
    }
    let mut patience = Patience::new(limit);
    loop {
        match answers.recv_timeout(patience.step()) {
            Ok(done) => return Some(done.unwrap_or_else(|panic| resume_unwind(panic))),
            Err(_) if patience.is_over(|| worker.busy()) => break,
            Err(_) => {}
        }
    }
    worker.give_up(number, limit);
    None
}

/// Runs a look for each item; see [`super::each`].
pub(super) fn run_each<I: Send + Sync + 'static, T: Send + 'static>(
    limit: Duration,
    items: Vec<I>,
    on_progress: &dyn Fn(usize),
    look: impl Fn(&I) -> T + Send + Sync + 'static,
) -> Vec<Option<T>> {
    let count = items.len();
    let mut found: Vec<Option<T>> = std::iter::repeat_with(|| None).take(count).collect();
    let batch = Arc::new(Batch { items, look, next: AtomicUsize::new(0) });
    let mut done = 0;
    for _ in 0..MAX_ROUNDS {
        let next = batch.next.load(Ordering::Relaxed);
        if next >= count {
            break;
        }
        let (answer, answers) = channel();
        let mut running = Vec::new();
        for _ in 0..(count - next).div_ceil(SHARE).min(AT_ONCE) {
            let Some(worker) = Worker::free() else { break };
            let (batch, answer) = (Arc::clone(&batch), answer.clone());
            let number = worker.start(move || {
                batch.work(&answer);
                || {}
            });
            running.push((worker, number));
        }
        drop(answer);
        let is_over = take(limit, &answers, &running, |at, result| {
            found[at] = Some(result);
            done += 1;
            if done % SHARE == 0 || done == count {
                on_progress(done);
            }
        });
        if is_over {
            for (worker, number) in running {
                worker.give_up(number, limit);
            }
        }
    }
    found
}

/// Takes answers until there are no more; returns whether some were waited for in vain.
fn take<T>(
    limit: Duration,
    answers: &Receiver<(usize, Done<T>)>,
    running: &[(Arc<Worker>, u64)],
    mut each: impl FnMut(usize, T),
) -> bool {
    use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};

    let mut patience = Patience::new(limit);
    loop {
        match answers.recv_timeout(patience.step()) {
            Ok((at, done)) => {
                each(at, done.unwrap_or_else(|panic| resume_unwind(panic)));
                patience = Patience::new(limit);
            }
            Err(Disconnected) => return false,
            Err(Timeout) => {
                let busy = || running.iter().map(|(worker, _)| worker.busy()).sum();
                if patience.is_over(busy) {
                    return true;
                }
            }
        }
    }
}

/// A look for many items, which several threads share.
struct Batch<I, F> {
    items: Vec<I>,
    look: F,
    next: AtomicUsize,
}

impl<I, F> Batch<I, F> {
    fn work<T>(&self, answer: &Sender<(usize, Done<T>)>)
    where
        F: Fn(&I) -> T,
    {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(at) else { return };
            let found = catch_unwind(AssertUnwindSafe(|| (self.look)(item)));
            if answer.send((at, found)).is_err() {
                return;
            }
        }
    }
}

impl Worker {
    /// A thread that has nothing to do; `None` if too many hang, or the system gives none.
    fn free() -> Option<Arc<Self>> {
        if let Some(worker) = lock(&WAITING).pop() {
            return Some(worker);
        }
        if HUNG.load(Ordering::Relaxed) >= MAX_HUNG {
            return None;
        }
        let (jobs, queue) = channel::<Job>();
        let worker = Arc::new(Self { jobs, clock: OnceLock::new(), state: Mutex::default() });
        let runs = Arc::downgrade(&worker);
        let thread = std::thread::Builder::new().name("palimpsest look".to_owned());
        thread.spawn(move || work(&runs, &queue)).ok()?;
        let mut all = lock(&ALL);
        all.retain(|worker| worker.strong_count() > 0);
        all.push(Arc::downgrade(&worker));
        Some(worker)
    }

    /// Starts a look; returns its number. The look returns what tells its result: by then the thread is free for the next.
    fn start<F: FnOnce()>(self: &Arc<Self>, look: impl FnOnce() -> F + Send + 'static) -> u64 {
        let number = {
            let mut state = lock(&self.state);
            state.looks += 1;
            state.looks
        };
        let worker = Arc::clone(self);
        let job = move || {
            SELF.set(Some(Arc::clone(&worker)));
            let tell = look();
            worker.ended();
            tell();
        };
        // The thread lives as long as this does.
        drop(self.jobs.send(Box::new(job)));
        number
    }

    fn busy(&self) -> Option<Duration> {
        self.clock.get().and_then(ThreadClock::busy)
    }

    /// Gives a look up, unless it has just ended: what it hangs at is not asked for now.
    fn give_up(&self, number: u64, limit: Duration) {
        let place = places::new_id();
        let Some(at) = self.leave(number, place) else { return };
        places::add(place, traced(&at, limit / 4, place));
        if lock(&self.state).hangs_at != Some(place) {
            // It came back meanwhile.
            places::answered(place);
        }
    }

    /// Leaves a look to itself, at a place with this ID; returns what it looks at. `None` if it has ended.
    fn leave(&self, number: u64, place: u64) -> Option<PathBuf> {
        let mut state = lock(&self.state);
        let at = state.at.clone().filter(|_| state.looks == number)?;
        state.hangs_at = Some(place);
        HUNG.fetch_add(1, Ordering::Relaxed);
        Some(at)
    }

    /// The look has ended: the thread waits for the next one, or ends where enough do.
    fn ended(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        state.at = None;
        let hung = state.hangs_at.take();
        drop(state);
        if let Some(place) = hung {
            HUNG.fetch_sub(1, Ordering::Relaxed);
            places::answered(place);
        }
        let mut waiting = lock(&WAITING);
        if waiting.len() < IDLE {
            waiting.push(Arc::clone(self));
        }
    }
}

/// Finds where a look at a path hangs, in a short time. What hangs on the way has this place's ID.
fn traced(path: &Path, limit: Duration, place: u64) -> places::Found {
    let followed = Arc::<Mutex<Followed>>::default();
    let (asked, notes) = (path.to_owned(), Arc::clone(&followed));
    if let Some(worker) = Worker::free() {
        let (answer, answers) = channel();
        let number = worker.start(move || {
            note(&asked);
            trace::follow(&asked, &notes);
            move || {
                // Nobody waits where it took too long.
                let _ = answer.send(());
            }
        });
        if answers.recv_timeout(limit).is_err() {
            worker.leave(number, place);
        }
    }
    trace::found(path, lock(&followed).clone())
}

/// What comes within a moment. A look takes some microseconds, and waking a thread for its answer takes several times as long.
fn soon<T>(answers: &Receiver<T>) -> Option<T> {
    static OTHERS_RUN: LazyLock<bool> =
        LazyLock::new(|| std::thread::available_parallelism().is_ok_and(|count| count.get() > 1));
    let began = now();
    while *OTHERS_RUN && began.elapsed() < MOMENT {
        match answers.try_recv() {
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            found => return found.ok(),
        }
    }
    None
}

fn work(worker: &Weak<Worker>, queue: &Receiver<Job>) {
    let clock = ThreadClock::of_this_thread();
    if let Some(worker) = worker.upgrade() {
        // It is set once.
        let _ = worker.clock.set(clock.clone());
    }
    // Ends when nobody holds the worker any more.
    while let Some(job) = soon(queue).or_else(|| queue.recv().ok()) {
        job();
        SELF.set(None);
    }
    let busy = clock.busy().unwrap_or_default();
    ENDED.fetch_add(u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
}
