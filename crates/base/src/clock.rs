//! The system clock: the only place that reads it for store and memory.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::object::Timestamp;

/// The time, in ms since 1970. A clock set before 1970 counts as 1970.
pub fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
