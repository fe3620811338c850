//! Bounds on answers that more than one part of the client holds. Must not hold anything else.

use std::time::Duration;

/// Most bytes of an answer that is read whole: those say a few words.
pub(super) const MAX_SHORT: usize = 1 << 20;
/// Bytes that are read of an answer with another status than asked for; then the connection is closed.
pub(super) const MAX_ERROR: usize = 16 << 10;
/// Bytes in a second below which a line is too slow to wait for.
pub(super) const SLOWEST_LINE: u32 = 32 << 10;

/// What holds for the answers of a server.
#[derive(Debug)]
pub(super) struct Limits {
    /// The server's address, as errors name it.
    pub(super) url: String,
    /// Most bytes of an answer.
    pub(super) max_body: usize,
    /// How long a request, or a part of an answer, may take.
    pub(super) request_timeout: Duration,
}
