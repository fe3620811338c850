//! Keeping the index of relations: filling it from the versions that it lacks, making it anew. Must not answer questions.
//!
//! Texts are read and taken apart without a lock; a short write transaction then adds what was found, unless another process
//! did so meanwhile.

use rusqlite::{
    Connection, OptionalExtension, Row, Transaction, TransactionBehavior, named_params,
};

use super::failure::{Failure, Step};
use super::pack::Packs;
use super::read;
use super::relations::{Data, VERSION};
use super::rows::{self, ItemRow, VERSION_COLUMNS};
use crate::object::{Hash, ObjectId};
use crate::store::relations::{of_item, of_version};
use crate::store::{Relation, Version};

/// Relations after which a batch ends: some 20 ms of a write transaction.
const BATCH_RELATIONS: usize = 2_000;

/// Versions after which a batch ends.
const BATCH_VERSIONS: usize = 1_000;

/// How far the index has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    tx_id: i64,
    version: i64,
}

/// What is added in one transaction.
pub(super) struct Batch {
    before: Progress,
    after: Progress,
    versions: Vec<Indexed>,
}

/// A version with its relations as they are kept.
struct Indexed {
    object: i64,
    tx_id: i64,
    rows: Vec<Stored>,
    /// Relations of the items that stand from this version on, with their positions; and where the first of them stands.
    items: Vec<(i64, Vec<Stored>)>,
    keep: i64,
}

/// A relation as it is kept.
#[derive(PartialEq, Eq)]
struct Stored {
    kind: u8,
    key: String,
    data: String,
}

/// Reads what comes next; `None` if all is indexed.
pub(super) fn prepare(connection: &Connection, store_id: &str) -> Step<Option<Batch>> {
    // One snapshot: versions and their items belong together.
    let snapshot = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    let before = progress(&snapshot)?;
    let mut batch = Batch { before, after: before, versions: Vec::new() };
    let sql = format!(
        "SELECT {VERSION_COLUMNS}, v.version AS row, v.object AS owner FROM version AS v
         JOIN object AS o ON o.object = v.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE v.tx_id >= :tx_id AND (v.tx_id, v.version) > (:tx_id, :version)
         ORDER BY v.tx_id, v.version"
    );
    let mut statement = snapshot.prepare_cached(&sql)?;
    let mut found =
        statement.query(named_params! { ":tx_id": before.tx_id, ":version": before.version })?;
    let packs = Packs::new(&snapshot);
    let mut relations = 0;
    while let Some(row) = found.next()? {
        let version = rows::version(row, store_id, &packs)?;
        let indexed = Indexed::read(&snapshot, row.get("owner")?, &version)?;
        relations += indexed.count();
        batch.after = Progress { tx_id: version.tx_id.0, version: row.get("row")? };
        batch.versions.push(indexed);
        if relations >= BATCH_RELATIONS || batch.versions.len() >= BATCH_VERSIONS {
            break;
        }
    }
    Ok((batch.after != before).then_some(batch))
}

/// Adds a batch, unless another process has done so.
pub(super) fn apply(connection: &mut Connection, batch: &Batch) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if progress(&transaction)? != batch.before {
        return Ok(transaction.rollback()?);
    }
    for version in &batch.versions {
        add_version(&transaction, version)?;
    }
    let Progress { tx_id, version } = batch.after;
    transaction
        .prepare_cached("UPDATE relation_progress SET tx_id = :tx_id, version = :version")?
        .execute(named_params! { ":tx_id": tx_id, ":version": version })?;
    Ok(transaction.commit()?)
}

/// Number of versions that are not indexed.
pub(super) fn unindexed(connection: &Connection) -> Step<u64> {
    let Progress { tx_id, version } = progress(connection)?;
    let sql = "SELECT count(*) FROM version
               WHERE tx_id >= :tx_id AND (tx_id, version) > (:tx_id, :version)";
    let mut statement = connection.prepare_cached(sql)?;
    let parameters = named_params! { ":tx_id": tx_id, ":version": version };
    Ok(statement.query_row(parameters, |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Derives the relations of some objects anew. With SQLite's `secure_delete`, nothing of the former ones is left in the file.
pub(super) fn reindex(connection: &mut Connection, store_id: &str, ids: &[ObjectId]) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    reindex_objects(&transaction, store_id, ids)?;
    Ok(transaction.commit()?)
}

/// Empties the index.
pub(super) fn clear(connection: &mut Connection) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "DELETE FROM relation; DELETE FROM relation_key;
         UPDATE relation_progress SET tx_id = 0, version = 0;",
    )?;
    Ok(transaction.commit()?)
}

fn progress(connection: &Connection) -> Step<Progress> {
    let sql = "SELECT tx_id, version FROM relation_progress";
    let read = |row: &Row<'_>| Ok(Progress { tx_id: row.get(0)?, version: row.get(1)? });
    Ok(connection.prepare_cached(sql)?.query_row([], read)?)
}

/// As [`reindex`], within a transaction.
pub(super) fn reindex_objects(
    transaction: &Connection,
    store_id: &str,
    ids: &[ObjectId],
) -> Step<()> {
    let Progress { tx_id, version } = progress(transaction)?;
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM object AS o
         JOIN version AS v ON v.object = o.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.object = :object AND (v.tx_id, v.version) <= (:tx_id, :version) ORDER BY v.tx_id"
    );
    let packs = Packs::new(transaction);
    for id in ids {
        let object: Option<i64> = transaction
            .prepare_cached("SELECT object FROM object WHERE id = :id")?
            .query_row(named_params! { ":id": id.as_str() }, |row| row.get(0))
            .optional()?;
        let Some(object) = object else { continue };
        transaction
            .prepare_cached("DELETE FROM relation WHERE object = :object")?
            .execute(named_params! { ":object": object })?;
        let parameters = named_params! { ":object": object, ":tx_id": tx_id, ":version": version };
        let read = |row: &Row<'_>| rows::version(row, store_id, &packs);
        for version in read::collect(transaction, &sql, parameters, read)? {
            add_version(transaction, &Indexed::read(transaction, object, &version)?)?;
        }
    }
    transaction.execute(
        "DELETE FROM relation_key
         WHERE NOT EXISTS (SELECT 1 FROM relation AS r WHERE r.key = relation_key.key)",
        [],
    )?;
    Ok(())
}

impl Indexed {
    fn read(connection: &Connection, object: i64, version: &Version) -> Step<Self> {
        let text = version.content.as_ref().map(|hash| readable(connection, hash)).transpose()?;
        let relations = of_version(&version.envelope, &version.fields, text.flatten().as_deref());
        let rows = relations.iter().map(Stored::new).collect::<Step<_>>()?;
        let tx_id = version.tx_id.0;
        let mut indexed = Self { object, tx_id, rows, items: Vec::new(), keep: i64::MAX };
        if version.items_hash.is_some() {
            indexed.read_items(connection, version)?;
        }
        Ok(indexed)
    }

    /// Reads the items that this version added: the last ones of its list.
    fn read_items(&mut self, connection: &Connection, version: &Version) -> Step<()> {
        self.keep = self.first_added(connection, version.item_count)?;
        let sql = format!(
            "SELECT {} FROM item AS i WHERE i.object = :object AND i.position >= :keep
             AND i.from_tx = :tx_id ORDER BY i.position",
            ItemRow::COLUMNS
        );
        let parameters =
            named_params! { ":object": self.object, ":keep": self.keep, ":tx_id": self.tx_id };
        let packs = Packs::new(connection);
        let read = |row: &Row<'_>| match ItemRow::read(row, &packs) {
            Err(Failure::Damaged(_)) => Ok(None),
            item => item.map(Some),
        };
        for item in read::collect(connection, &sql, parameters, read)?.into_iter().flatten() {
            let relations = of_item(version.envelope.kind, item.position, &item.text);
            if !relations.is_empty() {
                let rows = relations.iter().map(Stored::new).collect::<Step<_>>()?;
                self.items.push((i64::try_from(item.position).unwrap_or(i64::MAX), rows));
            }
        }
        Ok(())
    }

    /// Position of the first item that this version added; the number of its items where it added none.
    fn first_added(&self, connection: &Connection, count: u64) -> Step<i64> {
        let mut keep = i64::try_from(count).unwrap_or(i64::MAX);
        let mut statement = connection.prepare_cached(
            "SELECT position, from_tx FROM item WHERE object = :object AND position < :end
             ORDER BY position DESC, from_tx DESC",
        )?;
        let mut found = statement.query(named_params! { ":object": self.object, ":end": keep })?;
        while let Some(row) = found.next()? {
            let (position, from_tx): (i64, i64) = (row.get(0)?, row.get(1)?);
            if from_tx == self.tx_id {
                keep = position;
            } else if from_tx < self.tx_id && position < keep {
                break;
            }
        }
        Ok(keep)
    }

    fn count(&self) -> usize {
        self.rows.len() + self.items.iter().map(|(_, rows)| rows.len()).sum::<usize>()
    }
}

impl Stored {
    fn new(relation: &Relation) -> Step<Self> {
        let data = Data { written: relation.written.clone(), place: relation.place.clone() };
        let data = serde_json::to_string(&data).map_err(Failure::damaged)?;
        Ok(Self { kind: relation.kind.number(), key: relation.key(), data })
    }
}

/// A content; damage, which `doctor` reports, must not keep all that follows from being indexed.
fn readable(connection: &Connection, hash: &Hash) -> Step<Option<String>> {
    match read::content(connection, hash) {
        Err(Failure::Damaged(_)) => Ok(None),
        text => text,
    }
}

fn add_version(transaction: &Connection, version: &Indexed) -> Step<()> {
    let Indexed { object, rows, items, keep, .. } = version;
    if standing(transaction, *object)? != *rows {
        end(transaction, version, VERSION, VERSION + 1)?;
        add(transaction, version, VERSION, rows)?;
    }
    if *keep < i64::MAX {
        end(transaction, version, *keep, i64::MAX)?;
    }
    for (position, rows) in items {
        add(transaction, version, *position, rows)?;
    }
    Ok(())
}

/// What stands in the latest version's fields and content.
fn standing(transaction: &Connection, object: i64) -> Step<Vec<Stored>> {
    let sql = "SELECT r.kind, k.text, r.data FROM relation AS r JOIN relation_key AS k USING (key)
               WHERE r.object = :object AND r.part = -1 AND r.until_tx IS NULL ORDER BY r.place";
    let read =
        |row: &Row<'_>| Ok(Stored { kind: row.get(0)?, key: row.get(1)?, data: row.get(2)? });
    read::collect(transaction, sql, named_params! { ":object": object }, read)
}

/// Ends what stands in the parts from `first` to before `end`.
fn end(transaction: &Connection, version: &Indexed, first: i64, end: i64) -> Step<()> {
    let sql = "UPDATE relation SET until_tx = :tx_id WHERE object = :object
               AND part >= :first AND part < :end AND until_tx IS NULL";
    transaction.prepare_cached(sql)?.execute(named_params! {
        ":tx_id": version.tx_id, ":object": version.object, ":first": first, ":end": end,
    })?;
    Ok(())
}

fn add(transaction: &Connection, version: &Indexed, part: i64, rows: &[Stored]) -> Step<()> {
    let mut statement = transaction.prepare_cached(
        "INSERT INTO relation (object, part, place, from_tx, kind, key, data)
         VALUES (:object, :part, :place, :from_tx, :kind, :key, :data)",
    )?;
    for (place, row) in (0_i64..).zip(rows) {
        statement.execute(named_params! {
            ":object": version.object, ":part": part, ":place": place, ":from_tx": version.tx_id,
            ":kind": row.kind, ":key": key(transaction, &row.key)?, ":data": row.data,
        })?;
    }
    Ok(())
}

fn key(transaction: &Connection, text: &str) -> Step<i64> {
    transaction
        .prepare_cached("INSERT OR IGNORE INTO relation_key (text) VALUES (:text)")?
        .execute(named_params! { ":text": text })?;
    let mut statement =
        transaction.prepare_cached("SELECT key FROM relation_key WHERE text = :text")?;
    Ok(statement.query_row(named_params! { ":text": text }, |row| row.get(0))?)
}
