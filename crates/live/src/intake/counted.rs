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
    if messages.len() < 2 * SHARE {
        return;
    }
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(messages.len() / SHARE).min(MOST);
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

#[cfg(test)]
mod tests {
    use context::tokens::Counter;

    use super::*;

    #[test]
    fn a_long_list_is_counted_and_a_short_one_when_asked() {
        let message = |number: usize| {
            let json = format!(r#"{{"role":"user","content":"message {number}"}}"#);
            HostMessage::parse(&json, Counter::Bundled)
        };
        for (count, is_counted) in [(2 * SHARE + 1, true), (2 * SHARE - 1, false)] {
            let messages: Vec<HostMessage> = (0..count).map(message).collect();
            count_tokens(&messages);
            // Taken only where nothing was counted.
            for message in &messages {
                message.know_tokens(1_000);
            }
            assert!(messages.iter().all(|message| (message.tokens() < 1_000) == is_counted));
        }
    }
}
