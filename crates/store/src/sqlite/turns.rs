//! Does long work in many short write transactions, so that other writers get their turn in
//! between. Must not know the work.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::SqliteBackend;
use super::failure::{self, Step};
use base::error::Result;

/// How long a turn goes on with its work. Writing it to disk comes on top, so that other writers
/// wait for less than 50 ms.
const TURN: Duration = Duration::from_millis(15);

/// The longest rest after a turn; a turn that took less is followed by as long a rest.
const LONGEST_REST: Duration = Duration::from_millis(30);

/// A turn at writing.
pub(super) struct Turn(Instant);

impl Turn {
    /// Whether the work should go on in the next turn.
    pub(super) fn is_over(&self) -> bool {
        self.0.elapsed() > TURN
    }
}

impl SqliteBackend {
    /// Does work from place `next` to `end`. `act` does as much as fits into a turn, in one
    /// transaction, and returns the place that it reached.
    pub(super) fn in_turns(
        &self,
        mut next: usize,
        end: usize,
        mut act: impl FnMut(&Transaction<'_>, usize, &Turn) -> Step<usize>,
    ) -> Result<()> {
        while next < end {
            next = self.turn(|connection, turn| {
                let transaction =
                    connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                // Waiting for others is no work.
                *turn = Turn(now());
                let reached = act(&transaction, next, turn)?;
                transaction.commit()?;
                Ok(reached)
            })?;
        }
        Ok(())
    }

    /// Lets a step write, then rests for as long as it held the others up.
    pub(super) fn turn<T>(
        &self,
        mut step: impl FnMut(&mut Connection, &mut Turn) -> Step<T>,
    ) -> Result<T> {
        let mut turn = Turn(now());
        let done = self.write(|connection| failure::while_busy(|| step(connection, &mut turn)))?;
        thread::sleep(turn.0.elapsed().min(LONGEST_REST));
        Ok(done)
    }
}

#[expect(clippy::disallowed_methods, reason = "sharing time with others is no decision")]
fn now() -> Instant {
    Instant::now()
}
