//! How long a thread has waited: for a disk, a lock, another process. What it computed, and what it stood in line for a
//! processor, is no waiting, so that a slow machine is not taken for a dead disk.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where the system does not say what a thread computed, all time counts, so many times as long.
const UNMEASURED: u32 = 5;

/// In how many steps a limit is measured.
const STEPS: u32 = 16;

/// What a thread has computed so far.
#[derive(Debug, Clone)]
pub struct ThreadClock {
    /// What Linux says of the thread; see `Documentation/scheduler/sched-stats.rst` there.
    file: PathBuf,
}

impl ThreadClock {
    /// The clock of the thread that asks.
    pub fn of_this_thread() -> Self {
        let thread = std::fs::read_link("/proc/thread-self").unwrap_or_default();
        Self { file: PathBuf::from("/proc").join(thread).join("schedstat") }
    }

    /// How long it computed or stood in line; `None` if the system does not say.
    pub fn busy(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(&self.file).ok()?;
        let mut words = text.split_whitespace().map(|word| word.parse().ok());
        let (ran, stood) = (words.next()??, words.next()??);
        Some(Duration::from_nanos(ran) + Duration::from_nanos(stood))
    }
}

/// A limit to how long one waits for the work of others.
#[derive(Debug)]
pub struct Patience {
    limit: Duration,
    began: Instant,
    /// Only the second half is measured: looking at the clock of a thread costs more than most looks at a file.
    measured: Option<Measured>,
}

#[derive(Debug)]
struct Measured {
    /// How long the others have waited since.
    waited: Duration,
    /// The last look at their clocks, and what they showed.
    at: Instant,
    busy: Option<Duration>,
}

impl Patience {
    /// Starts now.
    pub fn new(limit: Duration) -> Self {
        Self { limit, began: now(), measured: None }
    }

    /// How long to wait until it may be over.
    pub fn step(&self) -> Duration {
        let left = match self.measured {
            None => (self.limit / 2).saturating_sub(self.began.elapsed()),
            Some(_) => self.limit / STEPS,
        };
        left.max(Duration::from_millis(1))
    }

    /// Whether the others have waited for too long. To be asked after each step. `busy`: how long they computed so far.
    pub fn is_over(&mut self, busy: impl FnOnce() -> Option<Duration>) -> bool {
        let half = self.limit / 2;
        let Some(measured) = &mut self.measured else {
            if self.began.elapsed() >= half {
                self.measured = Some(Measured { waited: Duration::ZERO, at: now(), busy: busy() });
            }
            return false;
        };
        let step = measured.at.elapsed();
        if step < self.limit / STEPS / 2 {
            return false;
        }
        let Some((now_busy, before)) = busy().zip(measured.busy) else {
            return self.began.elapsed() >= self.limit * UNMEASURED;
        };
        // A step counts as a whole: on a virtual machine some time is nobody's.
        if now_busy.saturating_sub(before) < step / 4 {
            measured.waited += step;
        }
        measured.at += step;
        measured.busy = Some(now_busy);
        measured.waited >= half
    }
}

#[expect(clippy::disallowed_methods, reason = "how long to wait is no decision")]
pub(super) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn waiting_counts_and_computing_does_not() {
        let clock = ThreadClock::of_this_thread();
        let mut patience = Patience::new(Duration::from_millis(400));
        let began = now();
        while began.elapsed() < Duration::from_secs(1) {
            assert!(!patience.is_over(|| clock.busy()));
        }
        let mut patience = Patience::new(Duration::from_millis(400));
        let mut steps = 0;
        while !patience.is_over(|| clock.busy()) {
            std::thread::sleep(patience.step());
            steps += 1;
        }
        assert!(steps <= 2 * STEPS, "{steps}");
    }
}
