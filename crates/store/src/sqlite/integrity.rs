//! Checks that only SQLite can do: pages, indexes, constraints, references between rows, times.
//! Reads only.

use rusqlite::Connection;

use super::failure::Step;
use super::statements::Statements;

/// Most problems listed of each kind; a damaged file has thousands.
const LISTED: i64 = 100;

/// One text per problem; empty if the file is intact.
pub(super) fn check(connection: &Connection) -> Step<Vec<String>> {
    let connection = &connection.unchecked_transaction()?;
    // FTS5 checks by the segments that this connection knew last, and takes those that another one
    // merged since for damage. Opening a cursor makes it look again, in this snapshot. What that
    // finds, the check reports.
    let _ = connection.first("SELECT rowid FROM search_index LIMIT 1", [], |_| Ok(()));
    let pages = format!("PRAGMA integrity_check({LISTED})");
    let mut problems: Vec<String> = connection.all(&pages, [], |row| Ok(row.get(0)?))?;
    problems.retain(|problem| problem != "ok");
    let rows =
        format!("SELECT \"table\", rowid, parent FROM pragma_foreign_key_check LIMIT {LISTED}");
    problems.extend(connection.all(&rows, [], |row| {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        let place = row.get::<_, Option<i64>>(1)?.map_or_else(String::new, |row| format!(" {row}"));
        Ok(format!("row{place} of `{table}` names a row of `{parent}` that is not there"))
    })?);
    let times = format!(
        "SELECT tx_id FROM (SELECT tx_id, system_time < lag(system_time) OVER (ORDER BY tx_id) AS back FROM tx)
         WHERE back LIMIT {LISTED}"
    );
    problems.extend(connection.all(&times, [], |row| {
        Ok(format!("transaction {} is earlier than the one before it", row.get::<_, i64>(0)?))
    })?);
    Ok(problems)
}
