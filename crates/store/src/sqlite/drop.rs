//! Drops whole objects from the file, as if they had never been stored. Must not decide which.

use rusqlite::{Connection, named_params};

use super::failure::Step;
use super::statements::Statements;
use super::turns::Turn;
use super::{SqliteBackend, notes, relation_index, search_index};
use base::error::Result;
use base::object::{ObjectId, TxId};

/// Rows that go before the next look whether the turn is over. Of the search index each may take a
/// millisecond.
const ROWS: i64 = 32;

impl SqliteBackend {
    /// Lets nobody add to an object any more; `false` if it has a version after this one.
    pub fn retire(&self, id: &ObjectId, latest: TxId) -> Result<bool> {
        let sql = "UPDATE object SET forgotten = 1 WHERE id = ?1 AND NOT EXISTS (SELECT 1
                   FROM version AS v WHERE v.object = object.object AND v.tx_id > ?2)";
        let given = (id.as_str(), latest.0);
        self.change(|transaction| Ok(transaction.run(sql, given)? > 0))
    }

    /// Whether an object has gone, or goes: then nobody adds to it, and the first of its items went
    /// before all others.
    pub fn is_being_dropped(&self, id: &ObjectId) -> Result<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM object AS o WHERE o.id = ?1 AND (NOT o.forgotten
                   OR EXISTS (SELECT 1 FROM item WHERE object = o.object AND position = 0)
                   OR NOT EXISTS (SELECT 1 FROM version WHERE object = o.object AND item_count > 0)))";
        self.read(|connection| connection.one(sql, [id.as_str()], |row| Ok(row.get(0)?)))
    }

    /// Begins to drop objects.
    pub fn dropping(&self) -> Result<Dropping<'_>> {
        search_index::let_merge(self, false)?;
        Ok(Dropping { store: self, merged_rows: self.read(search_index::rows)? })
    }
}

/// Drops objects, many of them in one lot after the other.
#[derive(Debug)]
pub struct Dropping<'a> {
    store: &'a SqliteBackend,
    /// Rows of the search index when it was last merged.
    merged_rows: u64,
}

impl Dropping<'_> {
    /// Drops objects with their versions, items and nicknames, in this order and in turns with other
    /// writers. Until an object has gone, nobody adds to it. Broken off, doing it again completes it.
    /// Their contents go with the next [`SqliteBackend::collect`].
    pub fn objects(&mut self, ids: &[ObjectId]) -> Result<()> {
        self.store.in_turns(ids.len(), |transaction, mut next, turn| {
            while next < ids.len() && !turn.is_over() {
                next += usize::from(drop_object(transaction, &ids[next], turn)?);
            }
            Ok(next)
        })?;
        let rows = self.store.read(search_index::rows)?;
        // A merge reads what goes until it has a page of what stays: the less stays, the longer.
        if rows < self.merged_rows / 2 {
            search_index::merge(self.store)?;
            search_index::let_merge(self.store, false)?;
            self.merged_rows = rows;
        }
        Ok(())
    }
}

/// Drops what fits into the turn; `false` if more is left.
fn drop_object(connection: &Connection, id: &ObjectId, turn: &Turn) -> Step<bool> {
    let sql = "UPDATE object SET forgotten = 1 WHERE id = ?1 RETURNING object";
    let Some(object) = connection.first(sql, [id.as_str()], |row| Ok(row.get(0)?))? else {
        return Ok(true);
    };
    while drop_rows(connection, object)? > 0 {
        if turn.is_over() {
            return Ok(false);
        }
    }
    for table in ["nickname", "version", "object"] {
        let sql = format!("DELETE FROM {table} WHERE object = ?1");
        connection.run(&sql, [object])?;
    }
    notes::set_note(connection, &notes::summary_of(id), None)?;
    Ok(true)
}

/// Drops some of an object's items, and of what the indexes hold of it; returns how many.
fn drop_rows(connection: &Connection, object: i64) -> Step<usize> {
    let indexed = search_index::remove_some(connection, object, ROWS)?;
    if indexed > 0 {
        return Ok(indexed);
    }
    let related = relation_index::remove_some(connection, object, ROWS)?;
    if related > 0 {
        return Ok(related);
    }
    let sql = "DELETE FROM item WHERE object = :object AND position <= (SELECT max(position) FROM
               (SELECT position FROM item WHERE object = :object ORDER BY position LIMIT :rows))";
    connection.run(sql, named_params! { ":object": object, ":rows": ROWS })
}
