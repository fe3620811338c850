//! The folders that a person asked to index, in `meta`. Must not know what is in them.

use rusqlite::{Connection, Row, TransactionBehavior, named_params};

use super::failure::{Failure, Step};
use super::read;
use crate::IndexedFolder;

/// Records a folder in its own transaction, unless a recorded folder contains it.
pub(super) fn add(connection: &mut Connection, folder: &IndexedFolder) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if all(&transaction)?.iter().any(|known| known.holds(&folder.filesystem_id, &folder.path)) {
        return Ok(transaction.rollback()?);
    }
    let value = serde_json::to_string(folder).map_err(Failure::damaged)?;
    transaction.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES ('folder:' || :value, :value)",
        named_params! { ":value": value },
    )?;
    Ok(transaction.commit()?)
}

/// All folders, by filesystem and path.
pub(super) fn all(connection: &Connection) -> Step<Vec<IndexedFolder>> {
    let sql = "SELECT value FROM meta WHERE key >= 'folder:' AND key < 'folder;' ORDER BY key";
    let read =
        |row: &Row<'_>| serde_json::from_str(&row.get::<_, String>(0)?).map_err(Failure::damaged);
    read::collect(connection, sql, &[], read)
}
