//! Deleting so that nothing of what was deleted stays in the file. Must not decide what goes.

use rusqlite::Connection;

use super::failure::{self, Step};

/// Runs `work` with every page that it frees overwritten by zeros (`secure_delete` of sqlite.org/pragma.html). The log may
/// still hold the old pages until it is emptied.
pub(super) fn overwriting<T>(
    connection: &mut Connection,
    mut work: impl FnMut(&mut Connection) -> Step<T>,
) -> Step<T> {
    connection.execute_batch("PRAGMA secure_delete = ON")?;
    let result = failure::while_busy(|| work(connection));
    connection.execute_batch("PRAGMA secure_delete = OFF")?;
    result
}
