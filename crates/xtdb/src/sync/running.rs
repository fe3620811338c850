//! The thread that keeps stores in sync while a session runs. Failures are retried at growing
//! intervals; nothing waits for them.
//!
//! One process works for a store at a time: it holds a lock beside the store's file, which is
//! released when it ends. The others check now and then whether it has ended.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::Duration;

use super::Sharing;
use base::clock::instant;
use base::error::{Error, Result};
use base::lock;
use base::object::TxId;
use files::private;

/// Interval between two looks at local writes.
const LOOK: Duration = Duration::from_millis(500);

/// Looks between two requests for others' writes.
const LOOKS_TO_ASK: u32 = 4;

/// The first and the longest pause after a failure; it doubles in between.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// After so many looks of a pause, something written here is a reason to try again.
const LOOKS_TO_TRY: u32 = 3;

/// How long shutdown waits for versions being sent.
const GRACE: Duration = Duration::from_secs(2);

/// Sharing that runs in the background, until the last of these is dropped.
pub struct Running {
    sharing: Arc<Sharing>,
    /// Stops the thread when it is dropped, and is disconnected once that has ended.
    thread: Mutex<Option<(Sender<()>, mpsc::Receiver<()>)>>,
}

impl Sharing {
    /// Keeps the stores in sync from now on.
    ///
    /// # Errors
    /// `INTERNAL` if the system cannot start a thread.
    pub fn start(self: &Arc<Self>) -> Result<Running> {
        let (stop, stopped) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let sharing = Arc::clone(self);
        thread::Builder::new()
            .name("palimpsest-sharing".to_owned())
            .spawn(move || {
                Work::new(&sharing).run(&stopped);
                drop(end);
            })
            .map_err(|error| Error::internal(format!("no thread for sharing: {error}")))?;
        let sharing = Arc::clone(self);
        Ok(Running { sharing, thread: Mutex::new(Some((stop, ended))) })
    }
}

impl Running {
    /// The sharing that runs.
    pub fn sharing(&self) -> Arc<Sharing> {
        Arc::clone(&self.sharing)
    }

    /// Releases this handle. The last one to do so lets versions being sent arrive, but waits no
    /// longer than `limit`.
    pub fn let_go(self: Arc<Self>, limit: Duration) {
        if let Some(running) = Arc::into_inner(self) {
            running.end(limit.min(GRACE));
        }
    }

    /// Versions that do not arrive in time are sent next time.
    fn end(&self, limit: Duration) {
        if let Some((stop, ended)) = lock(&self.thread).take() {
            drop(stop);
            let _timed_out = ended.recv_timeout(limit);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(GRACE);
    }
}

struct Work<'a> {
    sharing: &'a Sharing,
    lock: Lock,
    /// The newest transaction sent.
    sent: Option<TxId>,
    /// Looks until others are asked.
    until_asked: u32,
    pause: Duration,
}

impl<'a> Work<'a> {
    fn new(sharing: &'a Sharing) -> Self {
        let lock = Lock::beside(sharing.local.path(), "-sharing");
        Self { sharing, lock, sent: None, until_asked: 0, pause: FIRST_PAUSE }
    }

    fn run(&mut self, stopped: &mpsc::Receiver<()>) {
        loop {
            let pause = if self.once().is_ok() {
                self.pause = FIRST_PAUSE;
                LOOK
            } else {
                self.next_pause()
            };
            if !self.rest(stopped, pause) {
                break;
            }
        }
        // Sends the last writes.
        let _noted = self.once();
    }

    /// The pause after a failure.
    fn next_pause(&mut self) -> Duration {
        let most = u64::try_from(self.pause.as_millis()).unwrap_or(u64::MAX);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        // Random, so that not all retry at the same moment when a server comes back.
        Duration::from_millis(fastrand::u64(most / 2..=most))
    }

    /// Waits for so long, or until somebody is at work here again; `false` if this is to end.
    fn rest(&self, stopped: &mpsc::Receiver<()>, pause: Duration) -> bool {
        let newest = self.sharing.newest().ok();
        let mut rest = pause;
        for looks in 1.. {
            let look = rest.min(LOOK);
            if !matches!(stopped.recv_timeout(look), Err(RecvTimeoutError::Timeout)) {
                return false;
            }
            rest -= look;
            let is_used = looks >= LOOKS_TO_TRY && self.sharing.newest().ok() != newest;
            if rest.is_zero() || is_used {
                break;
            }
        }
        true
    }

    /// Sends and takes what is waiting. Errors are recorded where they arise.
    fn once(&mut self) -> Result<()> {
        if !self.lock.take() {
            return Ok(());
        }
        let newest = self.sharing.newest()?;
        let (sends, asks) = (self.sent != Some(newest), self.until_asked == 0);
        if sends || asks {
            self.sharing.exchange(sends, asks)?;
            self.sent = Some(newest);
        }
        self.until_asked = if asks { LOOKS_TO_ASK } else { self.until_asked - 1 };
        Ok(())
    }
}

impl Sharing {
    /// Sends what waits, takes what others sent, or both. Who may not write still takes.
    fn exchange(&self, sends: bool, takes: bool) -> Result<()> {
        self.noting(|shared| {
            let sent = if sends { self.push_to(shared, &mut |_| Ok(())).map(drop) } else { Ok(()) };
            if matches!(sent, Ok(()) | Err(Error::XtdbRefused { .. })) && takes {
                self.pull_from(shared, &mut |_| Ok(()))?;
                self.introduce(shared)?;
            }
            sent
        })
    }

    /// Sends what a session left that ended, for a program that does nothing else: tries for so long,
    /// or until nothing waits. Another process that shares the store goes first, and one such program
    /// is enough for a store.
    ///
    /// # Errors
    /// As [`Self::push`], except that a server that does not answer is asked again.
    pub fn finish(&self, limit: Duration) -> Result<()> {
        let mut only = Lock::beside(self.local.path(), "-sending");
        if !only.take() {
            return Ok(());
        }
        let mut work = Work::new(self);
        let began = instant();
        while self.status()?.outbox > 0 && began.elapsed() < limit {
            if work.lock.take() {
                match self.push(&mut |_| Ok(())) {
                    Err(Error::XtdbUnavailable { .. }) => {}
                    done => return done.map(drop),
                }
            }
            thread::sleep(work.next_pause());
        }
        Ok(())
    }
}

/// The lock of the process that works for a store; an in-memory store needs none.
struct Lock {
    path: Option<PathBuf>,
    held: Option<File>,
}

impl Lock {
    fn beside(store: &str, ending: &str) -> Self {
        let path = Path::new(store).is_absolute().then(|| format!("{store}{ending}").into());
        Self { path, held: None }
    }

    fn take(&mut self) -> bool {
        let Some(path) = &self.path else { return true };
        if self.held.is_none() {
            let Ok(file) = private::open(path, true) else {
                return false;
            };
            match file.try_lock() {
                Ok(()) => self.held = Some(file),
                Err(TryLockError::WouldBlock) => return false,
                // A file system without locks: two processes may work, which only adds load.
                Err(TryLockError::Error(_)) => return true,
            }
        }
        true
    }
}

/// The sharing of each store and server in this process, so that many sessions use the same one.
static ALL: Mutex<Vec<(String, Weak<Running>)>> = Mutex::new(Vec::new());

impl Sharing {
    /// Keeps the stores in sync like [`Self::start`], but only once per process, however often it
    /// is called.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_once(self) -> Result<Arc<Running>> {
        let key = self.key();
        let mut all = running();
        let known = all.iter().find(|(known, _)| *known == key);
        if let Some(running) = known.and_then(|(_, running)| running.upgrade()) {
            return Ok(running);
        }
        let running = Arc::new(Arc::new(self).start()?);
        all.push((key, Arc::downgrade(&running)));
        Ok(running)
    }

    /// Whether something waits to be sent that nothing in this process sends any more: after the
    /// last session has ended.
    ///
    /// # Errors
    /// Those of reading the local store.
    pub fn leaves(&self) -> Result<bool> {
        let key = self.key();
        let is_running = running().iter().any(|(known, _)| *known == key);
        Ok(!is_running && self.status()?.outbox > 0)
    }

    fn key(&self) -> String {
        let shared = &self.options.shared;
        format!("{} {} {}", self.local.id(), shared.url, self.options.sessions)
    }
}

/// Those that run.
fn running() -> MutexGuard<'static, Vec<(String, Weak<Running>)>> {
    let mut all = lock(&ALL);
    all.retain(|(_, running)| running.strong_count() > 0);
    all
}
