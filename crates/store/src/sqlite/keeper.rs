//! Keeps the derived indexes up to date while a session writes: on a thread and a connection of its
//! own, after the commits and not among them, a little at a time. Must not know what an index
//! keeps.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::{Connection, InterruptHandle};

use super::derived::{self, Filled};
use super::failure::{self, Step};
use super::open;
use super::place::StoreFile;
use super::relation_index::Relations;
use super::search_index::Terms;
use base::clock::instant;
use base::error::Result;

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
    /// Tells the thread of a commit; `None` at the end.
    commits: Option<SyncSender<()>>,
    ended: Arc<AtomicBool>,
    /// Breaks off what the thread is at.
    interrupt: InterruptHandle,
    thread: Option<JoinHandle<()>>,
    /// Disconnected once the thread has ended, its connection included.
    gone: Receiver<()>,
}

/// What the thread knows of the commits.
struct Commits {
    /// One that was told and not seen yet; disconnected at the end.
    told: Receiver<()>,
    ended: Arc<AtomicBool>,
}

impl Keeper {
    /// Starts with what is not indexed yet.
    pub(super) fn start(place: Arc<StoreFile>, store_id: &str) -> Result<Self> {
        let connection = open::indexer(&place.path)?;
        let interrupt = connection.get_interrupt_handle();
        let (commits, told) = sync_channel(1);
        let (going, gone) = sync_channel(0);
        let ended = Arc::new(AtomicBool::new(false));
        let (own, store_id) = (Commits { told, ended: Arc::clone(&ended) }, store_id.to_owned());
        let thread = thread::Builder::new().name("palimpsest-index".to_owned());
        // Without a thread, questions bring the indexes up to date.
        let thread = thread.spawn(move || {
            own.keep(connection, &place, &store_id);
            drop(going);
        });
        Ok(Self { commits: Some(commits), ended, interrupt, thread: thread.ok(), gone })
    }

    /// Says that something was committed.
    pub(super) fn wake(&self) {
        // If it is full, one waits to be seen, which stands for this one too.
        let _ = self.commits.as_ref().map(|commits| commits.try_send(()));
    }

    /// Ends the thread; what it was at is done again by the next.
    pub(super) fn end(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.commits = None;
        self.interrupt.interrupt();
        let Some(thread) = self.thread.take() else { return };
        if self.gone.recv_timeout(LONGEST_END) == Err(RecvTimeoutError::Disconnected) {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Keeper").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.end();
    }
}

impl Commits {
    fn keep(&self, mut connection: Connection, place: &StoreFile, store_id: &str) {
        let mut is_due = true;
        while (is_due || self.told.recv().is_ok()) && self.pause() {
            is_due = false;
            // What fails now, such as on a full disk, is tried again after the next commit.
            let is_wanted = || !self.ended.load(Ordering::Relaxed);
            let mut index = |step: fn(&mut Connection, &str, &dyn Fn() -> bool) -> Step<Filled>| {
                // The file may be lost or another's by now: the session notices it as well.
                while place.check(store_id, &place.path).is_ok()
                    && let Ok(filled) =
                        failure::while_busy(|| step(&mut connection, store_id, &is_wanted))
                {
                    let rest = match filled {
                        Filled::All => return,
                        Filled::Batch(took) => took.min(LONGEST_REST),
                        Filled::ByOther => OTHERS_TURN,
                    };
                    match self.told.recv_timeout(rest) {
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return,
                        Ok(()) => {
                            // The other index may have been done before it.
                            is_due = true;
                            // A session that writes again comes first, as before the first batch.
                            if !self.pause() {
                                return;
                            }
                        }
                    }
                }
            };
            index(derived::fill_one::<Terms>);
            index(derived::fill_one::<Relations>);
        }
    }

    /// Waits until writing pauses; returns whether the thread goes on.
    fn pause(&self) -> bool {
        let start = instant();
        loop {
            match self.told.recv_timeout(QUIET) {
                Err(RecvTimeoutError::Disconnected) => return false,
                Ok(()) if start.elapsed() <= LONGEST_WAIT => {}
                Ok(()) | Err(RecvTimeoutError::Timeout) => return true,
            }
        }
    }
}
