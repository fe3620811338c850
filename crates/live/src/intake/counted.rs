//! Counts the tokens of many new messages on several threads: a session that begins with a long list
//! waits for little else. Must not count what is known.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use context::host::HostMessage;

/// Messages for which one more thread pays off.
const SHARE: usize = 64;
/// Most threads, this one included.
const MOST: usize = 4;

/// Counts the tokens of messages, so that asking for them later takes no time.
pub(crate) fn count_tokens(messages: &[HostMessage]) {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(messages.len() / SHARE).min(MOST);
    if threads < 2 {
        return;
    }
    let next = AtomicUsize::new(0);
    let count = || {
        while let Some(message) = messages.get(next.fetch_add(1, Ordering::Relaxed)) {
            message.tokens();
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system has no thread, the others count more.
            let _ = thread::Builder::new().spawn_scoped(scope, count);
        }
        count();
    });
}
