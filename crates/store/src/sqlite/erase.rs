//! Deletes data so that no trace of it remains in the file. Must not decide what goes.

use rusqlite::Connection;

use super::failure::{self, Step};

/// Runs `work` and overwrites every page that it frees with zeros (`secure_delete` of
/// sqlite.org/pragma.html). The log may still hold the old pages until it is emptied.
pub(super) fn overwriting<T>(
    connection: &mut Connection,
    mut work: impl FnMut(&mut Connection) -> Step<T>,
) -> Step<T> {
    connection.execute_batch("PRAGMA secure_delete = ON")?;
    let result = failure::while_busy(|| work(connection));
    connection.execute_batch("PRAGMA secure_delete = OFF")?;
    result
}
