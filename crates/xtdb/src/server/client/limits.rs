//! Bounds on answers that more than one part of the client uses. Must not hold anything else.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::failure;
use base::error::Error;

/// Most bytes of an answer that is read whole; such answers are short.
pub(super) const MAX_SHORT: usize = 1 << 20;
/// Bytes read of an answer with an unexpected status; then the connection is closed.
pub(super) const MAX_ERROR: usize = 16 << 10;
/// A line slower than this many bytes a second is not waited for.
pub(super) const SLOWEST_LINE: u32 = 32 << 10;

/// Limits on a server's answers.
#[derive(Debug)]
pub(super) struct Limits {
    /// The server's address, as errors name it.
    pub(super) url: String,
    /// Most bytes of an answer.
    pub(super) max_body: usize,
    /// How long a request, or a part of an answer, may take.
    pub(super) request_timeout: Duration,
    /// When a person wants to know, and how long that is from the beginning; `None` if nobody waits.
    pub(super) deadline: Option<(Instant, Duration)>,
    /// Answers that came.
    pub(super) answers: AtomicUsize,
}

impl Limits {
    /// How long something may take that may take so long.
    pub(super) fn left(&self, limit: Duration) -> Duration {
        let left = self.deadline.map(|(end, _)| end.saturating_duration_since(Instant::now()));
        left.unwrap_or(limit).min(limit)
    }

    /// Whether nobody waits any more.
    pub(super) fn is_over(&self) -> bool {
        self.left(Duration::MAX).is_zero()
    }

    /// That a request was not answered in time, or its answer did not end: what was asked, and what
    /// came. `limit`: how long that one might have taken.
    pub(super) fn timeout(&self, asked: &str, came: Option<usize>, limit: Duration) -> Error {
        let what = match came {
            None => format!("no answer to `{asked}`"),
            Some(bytes) => format!("of the answer to `{asked}` only {bytes} bytes"),
        };
        let problem = match self.deadline {
            None => format!("{what} within {} s", limit.as_secs_f64()),
            Some((_, all)) => {
                let before = self.answers.load(Ordering::Relaxed);
                let before = match before {
                    0 => String::new(),
                    1 => "; one answer had come before".to_owned(),
                    before => format!("; {before} answers had come before"),
                };
                format!("{what} within {} s in all{before}", all.as_secs_f64())
            }
        };
        failure::unavailable(&self.url, problem, None)
    }
}
