//! Keeps the derived indexes up to date while a session writes: on a thread and a connection of its
//! own, after the commits and not among them, a little at a time. Must not know what an index
//! keeps.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::{Connection, InterruptHandle};

use super::derived::{self, Filled};
use super::failure::{self, Step};
use super::open;
use super::place::Place;
use super::relation_index::Relations;
use super::search_index::Terms;
use base::error::Result;
use base::lock;

/// For how long nothing must have been written: a session that is at work comes first.
const QUIET: Duration = Duration::from_millis(300);

/// A session that never rests is indexed all the same.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The rest after a batch is as long as the batch, at most this: half a processor is left to
/// others.
const LONGEST_REST: Duration = Duration::from_millis(100);

/// For how long closing waits for the thread. A long text is split in one go, which nothing breaks
/// off; the thread then ends by itself and writes nothing more.
const LONGEST_END: Duration = Duration::from_millis(300);

/// The rest where another process indexes the same.
const OTHERS_TURN: Duration = Duration::from_secs(1);

/// A thread that keeps the indexes of a store.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    /// Breaks off what the thread is at.
    interrupt: InterruptHandle,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Number of commits that were told.
    commits: u64,
    /// Whether the thread shall end.
    ended: bool,
    /// Whether it has, its connection included.
    gone: bool,
}

impl Keeper {
    /// Starts with what is not indexed yet.
    pub(super) fn start(place: Arc<Place>, store_id: &str) -> Result<Self> {
        let connection = open::indexer(&place.path)?;
        let interrupt = connection.get_interrupt_handle();
        let state = Mutex::new(State { commits: 1, ended: false, gone: false });
        let shared = Arc::new(Shared { state, changed: Condvar::new() });
        let (own, store_id) = (Arc::clone(&shared), store_id.to_owned());
        let thread = thread::Builder::new().name("palimpsest-index".to_owned());
        // Without a thread, questions bring the indexes up to date.
        let thread = thread.spawn(move || {
            let gone = Gone(&own);
            own.keep(connection, &place, &store_id);
            drop(gone);
        });
        let thread = thread.ok();
        Ok(Self { shared, interrupt, thread })
    }

    /// Says that something was committed.
    pub(super) fn wake(&self) {
        self.shared.lock().commits += 1;
        self.shared.changed.notify_all();
    }

    /// Ends the thread; what it was at is done again by the next.
    pub(super) fn end(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        self.interrupt.interrupt();
        let Some(thread) = self.thread.take() else { return };
        let state = self.shared.lock();
        let waits = |state: &mut State| !state.gone;
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, LONGEST_END, waits)
            .unwrap_or_else(PoisonError::into_inner);
        let gone = state.gone;
        drop(state);
        if gone {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// Says that the thread has ended, after a panic too.
struct Gone<'a>(&'a Shared);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        self.0.lock().gone = true;
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keeper").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn keep(&self, mut connection: Connection, place: &Place, store_id: &str) {
        let mut seen = 0;
        while let Some(before) = self.next_commits(seen) {
            seen = before;
            // What fails now, such as on a full disk, is tried again after the next commit.
            let is_wanted = || !self.lock().ended;
            let mut index = |step: fn(&mut Connection, &str, &dyn Fn() -> bool) -> Step<Filled>| {
                // Of each index: what the other was at meanwhile lacks what came by then.
                let mut known = before;
                // The file may be lost or another's by now: the session notices it as well.
                while place.check(store_id, &place.path).is_ok()
                    && let Ok(filled) =
                        failure::while_busy(|| step(&mut connection, store_id, &is_wanted))
                {
                    match filled {
                        Filled::All => return,
                        Filled::Batch(took) => self.rest(took.min(LONGEST_REST)),
                        Filled::ByOther => self.rest(OTHERS_TURN),
                    }
                    let state = self.lock();
                    let (commits, ended) = (state.commits, state.ended);
                    drop(state);
                    // A session that writes again comes first, as before the first batch.
                    if ended || commits != known && !self.waits_for_rest(&mut known) {
                        return;
                    }
                }
            };
            index(derived::fill_one::<Terms>);
            index(derived::fill_one::<Relations>);
        }
    }

    /// Waits as for the first batch; returns whether the thread goes on.
    fn waits_for_rest(&self, seen: &mut u64) -> bool {
        let commits = self.next_commits(*seen);
        *seen = commits.unwrap_or(*seen);
        commits.is_some()
    }

    /// The number of commits once there are more than `seen` and writing paused; `None` at the end.
    fn next_commits(&self, seen: u64) -> Option<u64> {
        let mut state = self.lock();
        while state.commits == seen && !state.ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let start = now();
        loop {
            let commits = state.commits;
            if state.ended {
                return None;
            }
            let waited = self.changed.wait_timeout(state, QUIET);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.commits == commits && !state.ended || start.elapsed() > LONGEST_WAIT {
                return (!state.ended).then_some(state.commits);
            }
        }
    }

    fn rest(&self, time: Duration) {
        let state = self.lock();
        let ended = |state: &mut State| !state.ended;
        drop(self.changed.wait_timeout_while(state, time, ended));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

#[expect(clippy::disallowed_methods, reason = "when to index is no decision about a session")]
fn now() -> Instant {
    Instant::now()
}
