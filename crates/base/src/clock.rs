//! The system clock: the only place that reads it for store and memory, but for tests and benches.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::object::Timestamp;

/// This moment, to measure how long something takes or waits. Nothing that is stored or decided may
/// depend on it.
#[expect(clippy::disallowed_methods, reason = "how long to wait is no decision about a session")]
pub fn instant() -> Instant {
    Instant::now()
}

/// The time, in ms since 1970. A clock set before 1970 counts as 1970.
pub fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
