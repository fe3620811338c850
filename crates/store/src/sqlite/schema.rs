//! The tables of the store's file, and the migration of older files. Must not read or write
//! objects.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use uuid::Uuid;

use super::failure::Step;
use base::error::Error;

/// `application_id` in the file's header: "PLMP". Tells a store from other programs' databases.
const APPLICATION_ID: i32 = 0x504C_4D50;

/// One step per schema version, oldest first; `user_version` counts the steps already applied to a
/// file. Released steps never change.
const STEPS: [&str; 3] = [V1, V2, V3];

/// Notes on version 1:
/// - Hashes are 32 bytes. Text in `content` and `item` is TEXT as it is, or a BLOB holding one zstd
///   frame.
/// - An item is visible from transaction `from_tx` on and, where `until_tx` is set, before that.
///   Appending to a list of n items writes the new rows only; a list as of any transaction is one
///   range of `item_place`.
/// - `item` and `content` have row IDs because rows of `WITHOUT ROWID` tables leave their page at a
///   quarter of its size.
/// - `tx.system_time` never decreases with `tx_id`, so a point in time stands for one transaction.
const V1: &str = "
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tx (
    tx_id INTEGER PRIMARY KEY,
    system_time INTEGER NOT NULL
) STRICT;
CREATE INDEX tx_time ON tx (system_time);

CREATE TABLE object (
    object INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    source TEXT,
    identity_hash BLOB NOT NULL
) STRICT;
CREATE INDEX object_type ON object (type, id);

CREATE TABLE content (
    content INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    text ANY NOT NULL
) STRICT;

CREATE TABLE version (
    version INTEGER PRIMARY KEY,
    object INTEGER NOT NULL REFERENCES object,
    tx_id INTEGER NOT NULL REFERENCES tx,
    source_hash BLOB,
    content_hash BLOB NOT NULL,
    content BLOB,
    item_count INTEGER NOT NULL,
    items_hash BLOB,
    fields TEXT NOT NULL,
    UNIQUE (object, tx_id)
) STRICT;

CREATE TABLE item (
    item INTEGER PRIMARY KEY,
    object INTEGER NOT NULL REFERENCES object,
    position INTEGER NOT NULL,
    from_tx INTEGER NOT NULL,
    until_tx INTEGER,
    running_hash BLOB NOT NULL,
    text ANY NOT NULL
) STRICT;
CREATE UNIQUE INDEX item_place ON item (object, position, from_tx);

CREATE TABLE nickname (
    nickname TEXT PRIMARY KEY,
    object INTEGER NOT NULL REFERENCES object
) STRICT, WITHOUT ROWID;
";

/// Notes on version 2:
/// - `origin_*`: where an imported version was first written; null for those first written here,
///   unless put again; then only `origin_time` is set where the store's time was far ahead of the
///   clock. `version_origin` costs nothing in a store without imports.
/// - `additional`: JSON object, name to SHA-256 of an additional content. `redacted`: JSON of
///   `Redaction`.
/// - `item.redacted`: SHA-256 of the item's text if something was removed from it since its
///   running hash was made.
/// - `forgotten`: 1 if a person chose to forget the object; it gets no further version.
/// - `tombstone`: SHA-256 of contents that were forgotten and are not stored again.
/// - `pack`: short texts compressed together, see `pack.rs`. An INTEGER in `item.text` and
///   `content.text`, and digits in `version.fields`, are the place of a text in a pack.
/// - `item` and `content` have no row IDs any more: with texts in packs most rows are short, and
///   their key is stored once.
/// - `item.running_hash` is null if it continues the previous item's in the list;
///   `version.items_hash` is empty if it equals the last item's.
/// - `object_type` leaves out toolcalls, which are most objects: these are listed by ID.
///
/// The search index, which is derived from the rest and can be rebuilt:
/// - `search_index` holds the terms that `store::search` makes of a text, not the text; so FTS5's
///   own tokenizer only has to split at spaces. Its rows correspond to those of `search_row`.
/// - `search_row.part`: -2 for a version (with this `tx_id`, the newest that has these terms), -1
///   for a nickname, else the position of an item (there from `tx_id` on). `latest`: whether the
///   object has it now. `digest`: 64 bits of the hash of the terms, so that an object's
///   versions with equal terms share a row; null for items.
/// - `search_progress` has one row: the index covers all up to `version` of transaction `tx_id`,
///   nicknames up to `named_tx`.
///
/// The relations, which are derived from the rest and can be rebuilt:
/// - `relation.part`: -1 for a version's fields and content, else the position of an item; `place`:
///   order within the part. It stands from transaction `from_tx` on and, where `until_tx` is set,
///   before that. Versions with equal relations share rows.
/// - `relation.kind`: number of a `RelationKind`; `data`: JSON of the rest, in short, see
///   `relation_data.rs`. `relation_key`: what relations are found by.
/// - `relation_progress` has one row: all is taken in up to `version` of transaction `tx_id`.
const V2: &str = "
ALTER TABLE version ADD COLUMN origin_store TEXT;
ALTER TABLE version ADD COLUMN origin_tx INTEGER;
ALTER TABLE version ADD COLUMN origin_time INTEGER;
ALTER TABLE version ADD COLUMN additional TEXT;
ALTER TABLE version ADD COLUMN redacted TEXT;
ALTER TABLE object ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
CREATE INDEX version_tx ON version (tx_id);
CREATE INDEX version_origin ON version (object, origin_store, origin_tx) WHERE origin_store IS NOT NULL;

CREATE TABLE tombstone (
    hash BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE pack (
    pack INTEGER PRIMARY KEY,
    texts BLOB NOT NULL
) STRICT;

CREATE TABLE placed_item (
    object INTEGER NOT NULL REFERENCES object,
    position INTEGER NOT NULL,
    from_tx INTEGER NOT NULL,
    until_tx INTEGER,
    running_hash BLOB,
    redacted BLOB,
    text ANY NOT NULL,
    PRIMARY KEY (object, position, from_tx)
) STRICT, WITHOUT ROWID;
INSERT INTO placed_item SELECT object, position, from_tx, until_tx, running_hash, NULL, text FROM item;
DROP TABLE item;
ALTER TABLE placed_item RENAME TO item;

CREATE TABLE hashed_content (
    hash BLOB PRIMARY KEY,
    text ANY NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO hashed_content SELECT hash, text FROM content;
DROP TABLE content;
ALTER TABLE hashed_content RENAME TO content;

DROP INDEX object_type;
CREATE INDEX object_type ON object (type, id) WHERE type <> 'toolcall';

CREATE VIRTUAL TABLE search_index USING fts5 (
    name, text, joined, content = '', contentless_delete = 1, tokenize = 'ascii'
);
CREATE TABLE search_session (
    session INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE search_row (
    row INTEGER PRIMARY KEY,
    object INTEGER NOT NULL REFERENCES object,
    tx_id INTEGER NOT NULL,
    part INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    session INTEGER REFERENCES search_session,
    digest INTEGER
) STRICT;
CREATE INDEX search_row_object ON search_row (object, part);
CREATE INDEX search_row_nickname ON search_row (part) WHERE part = -1;
CREATE INDEX search_row_left ON search_row (row) WHERE latest = 0;
CREATE TABLE search_progress (
    tx_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    named_tx INTEGER NOT NULL,
    rows INTEGER NOT NULL
) STRICT;
INSERT INTO search_progress VALUES (0, 0, 0, 0);

CREATE TABLE relation_key (
    key INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE relation (
    relation INTEGER PRIMARY KEY,
    object INTEGER NOT NULL REFERENCES object,
    part INTEGER NOT NULL,
    place INTEGER NOT NULL,
    from_tx INTEGER NOT NULL,
    until_tx INTEGER,
    kind INTEGER NOT NULL,
    key INTEGER NOT NULL REFERENCES relation_key,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX relation_object ON relation (object, part, place);
CREATE INDEX relation_to ON relation (key, kind);
CREATE TABLE relation_progress (
    tx_id INTEGER NOT NULL,
    version INTEGER NOT NULL
) STRICT;
INSERT INTO relation_progress VALUES (0, 0);
";

/// Notes on version 3: a version of an object of many versions finds the rows that it takes over
/// without looking at all of them.
const V3: &str = "
DROP INDEX search_row_object;
CREATE INDEX search_row_object ON search_row (object, part, digest);
CREATE INDEX search_row_latest ON search_row (object, part) WHERE latest = 1;
";

/// Refuses files that are not ours or are newer than this program. Writes nothing.
///
/// # Errors
/// `NEWER_SCHEMA`; `STORE_UNAVAILABLE` for another program's database.
pub(super) fn check(connection: &Connection, path: &Path) -> Step<()> {
    // One snapshot: another process may be making the tables.
    let snapshot = connection.unchecked_transaction()?;
    check_snapshot(&snapshot, path)
}

fn check_snapshot(connection: &Transaction<'_>, path: &Path) -> Step<()> {
    let application_id: i32 = pragma(connection, "application_id")?;
    let found: i64 = pragma(connection, "user_version")?;
    let is_empty = || -> Step<bool> {
        let sql = "SELECT count(*) FROM sqlite_schema";
        match connection.query_row(sql, [], |row| row.get::<_, i64>(0)) {
            // The damaged file belongs to another program.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                Ok(false)
            }
            tables => Ok(tables? == 0),
        }
    };
    if application_id == APPLICATION_ID && found > 0 {
        return refuse_newer(connection);
    }
    if application_id == 0 && found == 0 && is_empty()? {
        return Ok(());
    }
    let problem = "it is a database of another program".to_owned();
    Err(Error::StoreUnavailable { path: path.to_owned(), problem, source: None }.into())
}

/// Begins a transaction that writes: until it ends nobody else changes the file, nor its schema.
///
/// # Errors
/// `NEWER_SCHEMA` if a newer program has brought the file up to date since it was opened here.
pub(super) fn begin(connection: &mut Connection) -> Step<Transaction<'_>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    refuse_newer(&transaction)?;
    Ok(transaction)
}

fn refuse_newer(connection: &Connection) -> Step<()> {
    let (found, known) = (pragma(connection, "user_version")?, known());
    if found > known {
        let path = connection.path().unwrap_or_default().into();
        return Err(Error::NewerSchema { path, found, known }.into());
    }
    Ok(())
}

/// A file after migration.
#[derive(Debug)]
pub(super) struct Migrated {
    pub store_id: String,
    /// Whether the store was just created.
    pub is_new: bool,
}

/// Brings the schema up to date.
///
/// Always writes, even if only the unchanged header, and so finds out whether the file is writable
/// at all.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Step<Migrated> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Check again, now that no other process can change it.
    check_snapshot(&transaction, path)?;
    let done: i64 = pragma(&transaction, "user_version")?;
    for (version, step) in (1..).zip(STEPS) {
        if done < version {
            transaction.execute_batch(step)?;
        }
    }
    if done == 0 {
        transaction.execute(
            "INSERT INTO meta (key, value) VALUES ('store_id', ?1)",
            [Uuid::now_v7().to_string()],
        )?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known())?;
    let store_id = store_id(&transaction)?;
    if done < known() {
        transaction.commit()?;
    } else {
        transaction.rollback()?;
    }
    Ok(Migrated { store_id, is_new: done == 0 })
}

/// The ID of a store that must not be changed, after [`check`] accepted it.
///
/// # Errors
/// `STORE_UNAVAILABLE` for an empty file and one whose schema needs a migration first.
pub(super) fn identity(connection: &Connection, path: &Path) -> Step<String> {
    let version: i64 = pragma(connection, "user_version")?;
    if version == known() {
        return store_id(connection);
    }
    let problem = match version {
        0 => "it is empty".to_owned(),
        _ => {
            format!("its schema is {version} and becomes {} when it is opened for writing", known())
        }
    };
    Err(Error::StoreUnavailable { path: path.to_owned(), problem, source: None }.into())
}

fn store_id(connection: &Connection) -> Step<String> {
    let sql = "SELECT value FROM meta WHERE key = 'store_id'";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// The newest schema version that this program knows.
fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

fn pragma<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> Step<T> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::super::{failure, locks};
    use super::*;

    fn connect(path: &Path) -> Connection {
        locks::install();
        let mut connection = Connection::open(path).unwrap();
        connection.busy_handler(Some(failure::wait_for_lock)).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        connection
    }

    #[test]
    fn a_store_in_the_making_is_not_taken_for_another_programs() {
        for _ in 0..60 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("store.sqlite");
            let (mut maker, checker) = (connect(&path), connect(&path));
            std::thread::scope(|scope| {
                let making = scope.spawn(|| failure::while_busy(|| migrate(&mut maker, &path)));
                while !making.is_finished() {
                    failure::while_busy(|| check(&checker, &path)).unwrap();
                }
                making.join().unwrap().unwrap();
            });
            check(&checker, &path).unwrap();
        }
    }
}
