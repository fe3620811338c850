//! What work costs, whatever else the machine does meanwhile.

use std::time::Duration;

/// The processor time that this thread takes for some work.
pub fn spent_on(work: impl FnOnce()) -> Duration {
    let before = now();
    work();
    now().saturating_sub(before)
}

#[cfg(unix)]
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

/// Elapsed time, where threads have no clock of their own that we know of.
#[cfg(not(unix))]
#[expect(clippy::disallowed_methods, reason = "what is tested is time")]
fn now() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}
