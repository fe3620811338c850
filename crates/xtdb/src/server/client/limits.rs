//! Bounds on answers that more than one part of the client uses. Must not hold anything else.

use std::time::Duration;

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
}
