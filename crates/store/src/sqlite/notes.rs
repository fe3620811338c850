//! What lies beside the stored data, in `meta`: named texts, what commands removed, and the folders
//! that a person asked to index. Must not know what they mean.

use rusqlite::{Connection, Transaction, named_params};

use super::failure::Step;
use super::rows::json;
use super::statements::Statements;
use super::write;
use crate::{IndexedFolder, Replaced, SearchedOutputs};
use base::object::ObjectId;

pub(super) fn set_note(connection: &Connection, name: &str, value: Option<&str>) -> Step<()> {
    let key = format!("note:{name}");
    if let Some(value) = value {
        return set(connection, &key, value);
    }
    connection.run("DELETE FROM meta WHERE key = :key", named_params! { ":key": key })?;
    Ok(())
}

/// The name of the note that holds what was made of an object.
pub(super) fn summary_of(id: &ObjectId) -> String {
    format!("summary {id}")
}

/// Records what a command removed, in the command's own transaction.
pub(super) fn add_replaced(connection: &Connection, replaced: &Replaced) -> Step<()> {
    let number = last_replaced(connection)? + 1;
    set(connection, &numbered(number), &write::json(replaced)?)
}

/// The number of what a command removed last; 0 if none did.
pub(super) fn last_replaced(connection: &Connection) -> Step<i64> {
    let sql = "SELECT CAST(substr(key, 10) AS INTEGER) FROM meta
               WHERE key > 'replaced:' AND key < 'replaced;' ORDER BY key DESC LIMIT 1";
    Ok(connection.first(sql, [], |row| Ok(row.get(0)?))?.unwrap_or_default())
}

/// What commands removed, oldest first, with numbers above `after`.
pub(super) fn replaced_after(connection: &Connection, after: i64) -> Step<Vec<(i64, Replaced)>> {
    let sql = "SELECT value, CAST(substr(key, 10) AS INTEGER) FROM meta
               WHERE key > :after AND key < 'replaced;' ORDER BY key";
    let after = numbered(after);
    connection.all(sql, named_params! { ":after": after }, |row| Ok((row.get(1)?, json(row, 0)?)))
}

/// Which outputs the search index holds.
pub(super) fn searched_outputs(connection: &Connection) -> Step<SearchedOutputs> {
    let sql = "SELECT value FROM meta WHERE key = 'searched_outputs'";
    let known: Option<String> = connection.first(sql, [], |row| Ok(row.get(0)?))?;
    Ok(known.and_then(|known| known.parse().ok()).unwrap_or(SearchedOutputs::All))
}

pub(super) fn set_searched_outputs(connection: &Connection, which: SearchedOutputs) -> Step<()> {
    set(connection, "searched_outputs", which.into())
}

/// What the indexes are made by beside the versions: the number of what a command removed last, and
/// which outputs are searched.
pub(super) fn basis(connection: &Connection) -> Step<(i64, SearchedOutputs)> {
    Ok((last_replaced(connection)?, searched_outputs(connection)?))
}

/// Records a folder, unless a recorded folder contains it.
pub(super) fn add_folder(transaction: &Transaction<'_>, folder: &IndexedFolder) -> Step<()> {
    if folders(transaction)?.iter().any(|known| known.holds(&folder.filesystem_id, &folder.path)) {
        return Ok(());
    }
    let value = write::json(folder)?;
    set(transaction, &format!("folder:{value}"), &value)
}

/// All folders, by filesystem and path.
pub(super) fn folders(connection: &Connection) -> Step<Vec<IndexedFolder>> {
    let sql = "SELECT value FROM meta WHERE key >= 'folder:' AND key < 'folder;' ORDER BY key";
    connection.all(sql, [], |row| json(row, 0))
}

/// The key of a removal; keys sort as their numbers.
fn numbered(number: i64) -> String {
    format!("replaced:{number:020}")
}

/// Writes a value in place of the one that the key had.
pub(super) fn set(connection: &Connection, key: &str, value: &str) -> Step<()> {
    let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (:key, :value)";
    connection.run(sql, named_params! { ":key": key, ":value": value })?;
    Ok(())
}
