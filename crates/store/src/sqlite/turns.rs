//! Does long work in many short write transactions, so that other writers get their turn in
//! between. Must not know the work.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Transaction;

use super::SqliteBackend;
use super::collect::{LOG_REST, log_bytes, move_log};
use super::failure::Step;
use base::clock::instant;
use base::error::{Error, Result};

/// How long a turn goes on with its work. Writing it to disk comes on top, so that other writers
/// wait for less than 50 ms.
const TURN: Duration = Duration::from_millis(15);

/// The longest rest after a turn; a turn that took less is followed by as long a rest.
const LONGEST_REST: Duration = Duration::from_millis(30);

/// Beyond this size of the log, turns wait for those who read an older state, without whom it starts
/// over: whoever commits or opens the store next would have all of it to move or to read.
const LONGEST_LOG: u64 = if cfg!(test) { 1 << 20 } else { 256 << 20 };

/// How long they wait.
const LOG_PATIENCE: Duration = Duration::from_millis(if cfg!(test) { 50 } else { 60_000 });

/// A turn at writing.
pub(super) struct Turn(Instant);

impl Turn {
    /// Whether the work should go on in the next turn.
    pub(super) fn is_over(&self) -> bool {
        self.0.elapsed() > TURN
    }
}

impl SqliteBackend {
    /// Does work on items one after another, as many of them in a turn as fit into it.
    pub(super) fn each_in_turns<I>(
        &self,
        items: &[I],
        mut act: impl FnMut(&Transaction<'_>, &I) -> Step<()>,
    ) -> Result<()> {
        self.in_turns(items.len(), |transaction, mut next, turn| {
            while next < items.len() && !turn.is_over() {
                act(transaction, &items[next])?;
                next += 1;
            }
            Ok(next)
        })
    }

    /// Does work from its first place to `end`. `act` does as much as fits into a turn, in one
    /// transaction, and returns the place that it reached.
    pub(super) fn in_turns(
        &self,
        end: usize,
        mut act: impl FnMut(&Transaction<'_>, usize, &Turn) -> Step<usize>,
    ) -> Result<()> {
        let mut next = 0;
        while next < end {
            next = self.turn(|transaction, turn| act(transaction, next, turn))?;
        }
        Ok(())
    }

    /// Lets a step write in one transaction, then rests for as long as it held the others up.
    pub(super) fn turn<T>(
        &self,
        mut step: impl FnMut(&Transaction<'_>, &Turn) -> Step<T>,
    ) -> Result<T> {
        let mut turn = Turn(instant());
        let done = self.change(|transaction| {
            // Waiting for others is no work.
            turn = Turn(instant());
            step(transaction, &turn)
        })?;
        thread::sleep(turn.0.elapsed().min(LONGEST_REST));
        self.wait_for_log()?;
        Ok(done)
    }

    /// # Errors
    /// `NO_ANSWER` if somebody keeps the log from starting over.
    fn wait_for_log(&self) -> Result<()> {
        let start = instant();
        // What is moved whole starts over with the next turn.
        while log_bytes(&self.path) > LONGEST_LOG && !move_log(self, "PASSIVE")? {
            if start.elapsed() > LOG_PATIENCE {
                let what = "process that reads an older state of the store";
                return Err(Error::NoAnswer { what, seconds: LOG_PATIENCE.as_secs() });
            }
            thread::sleep(LOG_REST);
        }
        Ok(())
    }
}
