//! Runs looks on pool threads, and gives up those that wait too long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::pool::{Answer, Found, Kind, is_any_busy, next, start, taken, waits_for};
use super::trace;

/// Most threads on which one call looks at many files.
const AT_ONCE: usize = 4;
/// Number of items from which a second thread pays off.
const SHARE: usize = 64;
/// How many times a look at many files continues after some of them hung.
const MAX_ROUNDS: usize = 3;

/// Runs a look; `None` if it waited for longer than `limit`, or if too many hang.
pub(super) fn run<T: Send + 'static>(
    limit: Duration,
    look: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (answer, answers) = channel();
    let jobs = [start(Kind::Look, limit, answer, look)?];
    waits_for(&jobs);
    if let Ok(done) = next(&answers, limit, || is_any_busy(&jobs)) {
        return Some(taken(done));
    }
    trace::give_up(&jobs[0], limit);
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
    let shared = Arc::new((items, look, AtomicUsize::new(0)));
    let mut done = 0;
    for _ in 0..MAX_ROUNDS {
        let left = count.saturating_sub(shared.2.load(Ordering::Relaxed));
        let (answer, answers) = channel();
        let start = |_| {
            let (shared, answer) = (Arc::clone(&shared), answer.clone());
            start(Kind::Look, limit, channel().0, move || {
                look_at_rest(&shared, &answer);
            })
        };
        let jobs: Vec<_> = (0..left.div_ceil(SHARE).min(AT_ONCE)).map_while(start).collect();
        drop(answer);
        waits_for(&jobs);
        loop {
            match next(&answers, limit, || is_any_busy(&jobs)) {
                Ok((at, result)) => {
                    found[at] = Some(taken(result));
                    done += 1;
                    if done % SHARE == 0 || done == count {
                        on_progress(done);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    for job in &jobs {
                        trace::give_up(job, limit);
                    }
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }
    found
}

/// Looks at the items that nobody has taken yet.
fn look_at_rest<I, T: Send + 'static>(
    (items, look, next): &(Vec<I>, impl Fn(&I) -> T, AtomicUsize),
    answer: &Sender<(usize, Answer)>,
) {
    loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(at) else { return };
        let found = catch_unwind(AssertUnwindSafe(|| Box::new(look(item)) as Found));
        if answer.send((at, found)).is_err() {
            return;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
