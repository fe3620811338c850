//! Runs the same work for many files on a few threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads at most.
const THREADS: usize = 4;

/// Does the work for every item and returns the results in the order of the items. Uses a few threads for many items.
/// `on_progress` gets the number of items done, from several threads.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    on_progress: &(dyn Fn(usize) + Sync),
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    /// Items that a thread takes at a time.
    const SHARE: usize = 64;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).clamp(2, THREADS);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let run = || {
        let mut found = Vec::new();
        loop {
            let from = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(share) =
                items.get(from..(from + SHARE).min(items.len())).filter(|s| !s.is_empty())
            else {
                return found;
            };
            found.push((from, share.iter().map(&work).collect::<Vec<R>>()));
            on_progress(done.fetch_add(share.len(), Ordering::Relaxed) + share.len());
        }
    };
    if items.len() <= SHARE {
        return run().into_iter().flat_map(|(_, found)| found).collect();
    }
    let mut found: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .flat_map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    found.sort_by_key(|(from, _)| *from);
    found.into_iter().flat_map(|(_, found)| found).collect()
}
