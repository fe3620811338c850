//! Notes beside the stored data, in `meta`: named texts, and what commands removed. Must not know
//! what they mean.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::failure::{Failure, Step};
use super::{read, write};
use crate::Replaced;

/// A number as text that sorts correctly.
const NUMBER: &str = "printf('%020d', :number)";

pub(super) fn note(connection: &Connection, name: &str) -> Step<Option<String>> {
    let sql = "SELECT value FROM meta WHERE key = 'note:' || :name";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row(named_params! { ":name": name }, |row| row.get(0)).optional()?)
}

pub(super) fn set_note(connection: &Connection, name: &str, value: Option<&str>) -> Step<()> {
    match value {
        Some(value) => connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('note:' || :name, :value)",
            named_params! { ":name": name, ":value": value },
        )?,
        None => connection.execute(
            "DELETE FROM meta WHERE key = 'note:' || :name",
            named_params! { ":name": name },
        )?,
    };
    Ok(())
}

/// Records what a command removed, in the command's own transaction.
pub(super) fn add_replaced(connection: &Connection, replaced: &Replaced) -> Step<()> {
    let number = replaced_after(connection, 0)?.last().map_or(1, |(number, _)| number + 1);
    let sql = format!("INSERT INTO meta (key, value) VALUES ('replaced:' || {NUMBER}, :value)");
    let value = write::json(replaced)?;
    connection.execute(&sql, named_params! { ":number": number, ":value": value })?;
    Ok(())
}

/// What commands removed, oldest first, with numbers above `after`.
pub(super) fn replaced_after(connection: &Connection, after: i64) -> Step<Vec<(i64, Replaced)>> {
    let sql = format!(
        "SELECT CAST(substr(key, 10) AS INTEGER), value FROM meta
         WHERE key > 'replaced:' || {NUMBER} AND key < 'replaced;' ORDER BY key"
    );
    let read = |row: &Row<'_>| {
        let value: String = row.get(1)?;
        Ok((row.get(0)?, serde_json::from_str(&value).map_err(Failure::damaged)?))
    };
    read::collect(connection, &sql, &[(":number", &after)], read)
}
