//! Work that nobody waits for any more: nothing of it is written when what it hung at comes back. Must not decide when to give up.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::error::{Error, Result};

/// Set once whoever asked for work no longer waits for it.
pub type GivenUp = Arc<AtomicBool>;

thread_local! {
    /// The work of this thread, and how long it may wait.
    static WORK: RefCell<Option<(GivenUp, Duration)>> = const { RefCell::new(None) };
}

/// The work of this thread is that of a [`GivenUp`] until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Waited(());

/// Lets commits of this thread fail with `NO_ANSWER` once `given_up` is set. `deadline`: how long the work may wait, for messages.
pub fn waited(given_up: GivenUp, deadline: Duration) -> Waited {
    WORK.set(Some((given_up, deadline)));
    Waited(())
}

impl Drop for Waited {
    fn drop(&mut self) {
        WORK.set(None);
    }
}

/// Refuses to write if the work of this thread was given up.
pub(super) fn check() -> Result<()> {
    WORK.with_borrow(|work| match work {
        Some((given_up, deadline)) if given_up.load(Ordering::SeqCst) => {
            Err(Error::NoAnswer { what: "session", seconds: deadline.as_secs() })
        }
        _ => Ok(()),
    })
}
