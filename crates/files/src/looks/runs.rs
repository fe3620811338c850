//! Runs looks on pool threads, gives up those that wait too long, and finds where these hang: the
//! mount, or the file behind the links of its path. Following a path may hang, too.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::pool::{Answer, Job, JobResult, Kind, is_any_busy, next, note, start, taken, waits_for};
use super::silent_paths::{self, SilentPath};
use crate::Mounts;

/// Most threads on which one call looks at many files.
const AT_ONCE: usize = 4;
/// Number of items from which a second thread pays off.
const SHARE: usize = 64;
/// How many times a look at many files continues after some of them hung.
const MAX_ROUNDS: usize = 3;

/// Most links followed in one path; operating systems have the same limit.
const MAX_LINKS: u32 = 40;

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
    give_up(&jobs[0], limit);
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
                        give_up(job, limit);
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
        let found = catch_unwind(AssertUnwindSafe(|| Box::new(look(item)) as JobResult));
        if answer.send((at, found)).is_err() {
            return;
        }
    }
}

/// Abandons a look and marks the place where it hangs as silent.
fn give_up(job: &Arc<Job>, limit: Duration) {
    job.give_up();
    let Some((asked, _)) = job.at() else { return };
    let mut looks = vec![Arc::downgrade(job)];
    let (answer, answers) = channel();
    let path = asked.clone();
    let (mut found, mut link) = (asked, None);
    if let Some(job) = start(Kind::Look, limit, answer, move || follow(&path)) {
        let jobs = [job];
        if next(&answers, limit / 4, || is_any_busy(&jobs)).is_err() {
            jobs[0].give_up();
            looks.push(Arc::downgrade(&jobs[0]));
        }
        if let Some(reached) = jobs[0].at() {
            (found, link) = reached;
        }
    }
    let mount = Mounts::read().foreign(&found);
    let is_mount = mount.is_some();
    let found = mount.unwrap_or(found);
    let link = link.filter(|link| !link.starts_with(&found));
    silent_paths::add(SilentPath::new(found, link, is_mount, looks));
}

/// Follows the links of a path, recording each step before it is taken.
fn follow(path: &Path) {
    let (mut given, mut real, mut links) = (PathBuf::new(), PathBuf::new(), MAX_LINKS);
    for part in path.components() {
        given.push(part);
        real = step(real, part, &given, &mut links);
    }
}

fn step(mut real: PathBuf, part: Component<'_>, given: &Path, links: &mut u32) -> PathBuf {
    match part {
        Component::CurDir => return real,
        Component::ParentDir => {
            real.pop();
            return real;
        }
        part => real.push(part),
    }
    note(real.clone(), Some(given.to_owned()));
    let Some(target) = real.read_link().ok().filter(|_| *links > 0) else { return real };
    *links -= 1;
    real.pop();
    target.components().fold(real, |real, part| step(real, part, given, links))
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
