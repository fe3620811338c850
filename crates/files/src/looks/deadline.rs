//! Limits how long a call waits for its work: on a disk, a lock, another process. Once work was
//! given up, nobody waits for it again.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use super::pool::{self, Answer, Job, Kind, Late};
use base::error::{Error, Result};
use base::lock;

/// The deadline of work that shares a thread, one piece at a time.
#[derive(Debug)]
pub struct Deadline {
    what: &'static str,
    limit: Duration,
    /// Jobs that were started and may still run.
    jobs: Mutex<Vec<Weak<Job>>>,
}

impl Deadline {
    /// `what`: names the work in messages. `limit`: how long it may wait.
    pub fn new(what: &'static str, limit: Duration) -> Self {
        Self { what, limit, jobs: Mutex::default() }
    }

    /// Runs work on a thread of its own, and abandons it if it waits too long.
    ///
    /// # Errors
    /// `NO_ANSWER` if it waits too long, and at once while earlier work hangs; `INTERNAL` if the
    /// system provides no thread; errors of the work itself.
    pub fn wait_for<T: Send + 'static>(
        &self,
        late: Late,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if !self.has_ended_soon() {
            return Err(self.no_answer());
        }
        let (job, answers) = self.run(late, work)?;
        let done = match pool::next(&answers, self.limit, || pool::is_any_busy(&self.jobs())) {
            Err(RecvTimeoutError::Timeout) => {
                job.give_up();
                // It may have finished just now.
                answers.try_recv().ok()
            }
            done => done.ok(),
        };
        done.map_or_else(|| Err(self.no_answer()), pool::taken)
    }

    /// Starts work that nobody waits for.
    ///
    /// # Errors
    /// `INTERNAL` if the system provides no thread.
    pub fn start(&self, work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
        self.run(Late::Written, work).map(drop)
    }

    fn run<T: Send + 'static>(
        &self,
        late: Late,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<(Arc<Job>, Receiver<Answer>)> {
        let (answer, answers) = channel();
        let job = pool::start(Kind::Work(late), self.limit, answer, work);
        let job = job.ok_or_else(|| Error::internal(format!("no thread for a {}", self.what)))?;
        lock(&self.jobs).push(Arc::downgrade(&job));
        Ok((job, answers))
    }

    fn jobs(&self) -> Vec<Arc<Job>> {
        let mut jobs = lock(&self.jobs);
        jobs.retain(|job| job.strong_count() > 0);
        jobs.iter().filter_map(Weak::upgrade).collect()
    }

    /// Whether the abandoned work has ended, or ends right now.
    fn has_ended_soon(&self) -> bool {
        let steps = std::iter::repeat_n(Duration::from_millis(5), 20);
        steps.into_iter().any(|step| {
            let hangs = self.jobs().iter().any(|job| job.is_given_up());
            if hangs {
                thread::sleep(step);
            }
            !hangs
        })
    }

    fn no_answer(&self) -> Error {
        Error::NoAnswer { what: self.what, seconds: self.limit.as_secs() }
    }
}
