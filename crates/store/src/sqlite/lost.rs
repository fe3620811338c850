//! Finds acknowledged transactions that the file no longer holds, by the acknowledged mark, and
//! records them in `meta`; later transactions skip their numbers. Must not repair anything.

use rusqlite::Connection;

use super::failure::Step;
use super::mark::Mark;
use super::rows::json;
use super::schema::{self, Migrated};
use super::statements::Statements;
use super::{notes, write};
use crate::Lost;
use base::clock::system_time;
use base::object::{Timestamp, TxId};

/// Compares a newly opened store with its mark and records missing transactions. Numbering
/// continues above the mark, since a `tx_id` is part of portable identities and must never stand
/// for two transactions.
pub(super) fn note(writer: &mut Connection, store: &Migrated, mark: &Mark) -> Step<Option<Lost>> {
    if store.is_new {
        return note_replaced(writer, &store.store_id, mark);
    }
    if missing(writer, &store.store_id, mark)?.is_none() {
        mark.raise(&store.store_id, newest(writer)?);
        return Ok(None);
    }
    let transaction = schema::begin(writer)?;
    // Check again, now that no other process can record it.
    let Some(lost) = missing(&transaction, &store.store_id, mark)? else { return Ok(None) };
    let time = write::newest(&transaction)?.map_or(Timestamp(0), |(_, time)| time);
    write::add_transaction(&transaction, lost.to, time)?;
    record(&transaction, &lost)?;
    transaction.commit()?;
    Ok(Some(lost))
}

/// The recorded losses, and current ones that are not recorded yet.
pub(super) fn all(connection: &Connection, store_id: &str, mark: Option<&Mark>) -> Step<Vec<Lost>> {
    let sql = "SELECT value FROM meta WHERE key >= 'lost:' AND key < 'lost;' ORDER BY key";
    let mut all = connection.all(sql, [], |row| json::<Lost>(row, 0))?;
    let unrecorded = mark.map(|mark| missing(connection, store_id, mark)).transpose()?;
    all.extend(unrecorded.flatten());
    all.sort_by_key(|lost| lost.noticed);
    Ok(all)
}

/// Transactions between the newest in the file and the mark. The mark is read first, because it
/// never runs ahead of the file.
fn missing(connection: &Connection, store_id: &str, mark: &Mark) -> Step<Option<Lost>> {
    let Some(acknowledged) = mark.newest(store_id) else { return Ok(None) };
    let newest = newest(connection)?;
    Ok((acknowledged > newest).then(|| Lost {
        store_id: store_id.to_owned(),
        from: TxId(newest.0 + 1),
        to: acknowledged,
        noticed: system_time(),
    }))
}

/// Handles a new store whose mark belongs to another: that store's file is gone, or its log was
/// lost before anything was moved into the file. The mark may already belong to the new store, if
/// another process has opened it since it was created.
fn note_replaced(writer: &mut Connection, store_id: &str, mark: &Mark) -> Step<Option<Lost>> {
    let Some(replaced) = mark.newest_of_others(store_id) else { return Ok(None) };
    let lost = Lost {
        store_id: replaced.store_id,
        from: TxId(1),
        to: replaced.tx_id,
        noticed: system_time(),
    };
    let transaction = schema::begin(writer)?;
    record(&transaction, &lost)?;
    transaction.commit()?;
    mark.clear();
    mark.raise(store_id, newest(writer)?);
    Ok(Some(lost))
}

fn record(transaction: &Connection, lost: &Lost) -> Step<()> {
    let key = format!("lost:{}:{}", lost.store_id, lost.to);
    notes::set(transaction, &key, &write::json(lost)?)
}

fn newest(connection: &Connection) -> Step<TxId> {
    Ok(write::newest(connection)?.map_or(TxId(0), |(tx_id, _)| tx_id))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sqlite::{locks, schema};

    fn new_store(path: &Path) -> (Connection, Migrated, Mark) {
        locks::install();
        let mut connection = Connection::open(path).unwrap();
        let migrated = schema::migrate(&mut connection, path).unwrap();
        (connection, migrated, Mark::open(path, true).unwrap().unwrap())
    }

    #[test]
    fn a_store_opened_during_its_creation_has_lost_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, store, mark) = new_store(&folder.path().join("store.sqlite"));
        mark.raise(&store.store_id, TxId(0));
        assert_eq!(note(&mut writer, &store, &mark).unwrap(), None);
        assert_eq!(mark.newest(&store.store_id), Some(TxId(0)), "the mark stays");
    }

    #[test]
    fn a_store_in_the_place_of_another_says_so_even_then() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, store, mark) = new_store(&folder.path().join("store.sqlite"));
        mark.raise("another", TxId(7));
        mark.raise(&store.store_id, TxId(0));
        let lost = note(&mut writer, &store, &mark).unwrap().unwrap();
        assert_eq!((lost.store_id.as_str(), lost.to), ("another", TxId(7)));
        assert_eq!(mark.newest_of_others(&store.store_id), None);
        assert_eq!(mark.newest(&store.store_id), Some(TxId(0)));
    }
}
