//! What the two derived indexes, of texts and of relations, share: the watermark up to which an
//! index covers the stored versions, filling in batches, and rebuilding. Must not know what an
//! index keeps.
//!
//! Texts are read and split without a lock. A short write transaction then adds the result, unless
//! another process has done so meanwhile.

use std::time::Duration;

use rusqlite::{Connection, named_params};

use super::SqliteBackend;
use super::failure::{Failure, Step};
use super::pack::Packs;
use super::read::{self, VERSIONS};
use super::rows::{self, ItemRow, VERSION_COLUMNS};
use super::statements::Statements;
use super::{notes, schema};
use crate::{SearchedOutputs, Version};
use base::clock::instant;
use base::error::Result;
use base::object::{Hash, ObjectId, ObjectType};

/// Versions after which a batch ends.
const BATCH_VERSIONS: usize = 1_000;

/// The data that an index keeps for one version.
pub(super) trait Entry: Sized {
    /// The table whose only row holds the index's watermark, in the columns `tx_id` and `version`.
    const PROGRESS: &str;

    /// Sum of [`Self::weight`] after which a batch ends: about 20 ms of a write transaction.
    const BATCH_WEIGHT: usize;

    /// Derives the entry of a version of `object`, with the items that the version added.
    fn derive(connection: &Connection, object: i64, version: &Version) -> Step<Self>;

    /// The entry's share of a batch.
    fn weight(&self) -> usize;

    /// Adds the entry after those of all earlier versions.
    fn add(&self, transaction: &Connection) -> Step<()>;

    /// Removes what the index holds of an object's versions, without that of its items.
    fn remove_versions(transaction: &Connection, object: i64) -> Step<()>;

    /// Derives again what the index holds of the item at a place, from the text stored now.
    fn renew_item(transaction: &Connection, place: &ItemPlace, text: &str) -> Step<()>;

    /// Whether anything other than versions waits to be indexed.
    fn awaits_more(_connection: &Connection) -> Step<bool> {
        Ok(false)
    }

    /// Indexes data that does not come from versions, for one object or all.
    fn add_more(_transaction: &Connection, _object: Option<i64>) -> Step<()> {
        Ok(())
    }
}

/// Where an item is or was.
pub(super) struct ItemPlace {
    pub(super) object: i64,
    pub(super) kind: ObjectType,
    pub(super) position: i64,
    /// First transaction that has it there.
    pub(super) from_tx: i64,
}

/// The last version that an index holds; versions are indexed in the order of `(tx_id, version)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Watermark {
    tx_id: i64,
    version: i64,
}

/// The additions of one transaction to an index.
pub(super) struct Batch<E> {
    before: Watermark,
    after: Watermark,
    /// What else the entries were derived from, see [`notes::basis`].
    basis: (i64, SearchedOutputs),
    entries: Vec<E>,
    /// Whether no version follows.
    is_last: bool,
}

/// What was added to an index.
pub(super) enum Filled {
    /// Nothing: it lacks nothing.
    All,
    /// A batch, in this time.
    Batch(Duration),
    /// Nothing: another process added the same.
    ByOther,
}

/// Adds the next batch of what an index lacks, unless that is not wanted any more once it is ready.
pub(super) fn fill_one<E: Entry>(
    connection: &mut Connection,
    store_id: &str,
    is_wanted: &dyn Fn() -> bool,
) -> Step<Filled> {
    let start = instant();
    let Some(batch) = prepare::<E>(connection, store_id)? else { return Ok(Filled::All) };
    if !is_wanted() {
        return Ok(Filled::All);
    }
    Ok(if apply(connection, &batch)? { Filled::Batch(start.elapsed()) } else { Filled::ByOther })
}

impl SqliteBackend {
    /// Adds what an index lacks, in short write transactions, for as long as `patience`; returns
    /// whether it lacks nothing now.
    pub(super) fn fill<E: Entry>(&self, patience: Option<Duration>) -> Result<bool> {
        let start = instant();
        while let Some(batch) = self.read(|connection| prepare::<E>(connection, &self.store_id))? {
            self.write(|connection| apply(connection, &batch))?;
            if patience.is_some_and(|patience| start.elapsed() > patience) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Derives the next entries; `None` if the index is complete.
fn prepare<E: Entry>(connection: &Connection, store_id: &str) -> Step<Option<Batch<E>>> {
    // One snapshot: versions and their items belong together.
    let snapshot = connection.unchecked_transaction()?;
    let before = watermark::<E>(&snapshot)?;
    let basis = notes::basis(&snapshot)?;
    let mut batch = Batch { before, after: before, basis, entries: Vec::new(), is_last: true };
    let sql = format!(
        "SELECT {VERSION_COLUMNS}, v.version AS row, v.object AS owner {VERSIONS}
         WHERE v.tx_id >= :tx_id AND (v.tx_id, v.version) > (:tx_id, :version)
         ORDER BY v.tx_id, v.version"
    );
    let parameters = named_params! { ":tx_id": before.tx_id, ":version": before.version };
    let packs = Packs::new(&snapshot);
    let mut weight = 0;
    snapshot.each(&sql, parameters, |row| {
        if weight >= E::BATCH_WEIGHT || batch.entries.len() >= BATCH_VERSIONS {
            batch.is_last = false;
            return Ok(false);
        }
        let version = rows::version(row, store_id, &packs)?;
        let entry = E::derive(&snapshot, row.get("owner")?, &version)?;
        weight += entry.weight();
        batch.after = Watermark { tx_id: version.tx_id.0, version: row.get("row")? };
        batch.entries.push(entry);
        Ok(true)
    })?;
    Ok((batch.after != before || E::awaits_more(&snapshot)?).then_some(batch))
}

/// Adds a batch; `false` if another process has already done so, or has meanwhile removed text that
/// the batch may hold.
fn apply<E: Entry>(connection: &mut Connection, batch: &Batch<E>) -> Step<bool> {
    let transaction = schema::begin(connection)?;
    let is_valid = notes::basis(&transaction)? == batch.basis;
    if watermark::<E>(&transaction)? != batch.before || !is_valid {
        transaction.rollback()?;
        return Ok(false);
    }
    for entry in &batch.entries {
        entry.add(&transaction)?;
    }
    if batch.is_last && E::awaits_more(&transaction)? {
        E::add_more(&transaction, None)?;
    }
    set_watermark::<E>(&transaction, batch.after)?;
    transaction.commit()?;
    Ok(true)
}

/// Number of versions that the index lacks.
pub(super) fn unindexed<E: Entry>(connection: &Connection) -> Step<u64> {
    let Watermark { tx_id, version } = watermark::<E>(connection)?;
    let sql = "SELECT count(*) FROM version
               WHERE tx_id >= :tx_id AND (tx_id, version) > (:tx_id, :version)";
    let parameters = named_params! { ":tx_id": tx_id, ":version": version };
    connection.one(sql, parameters, |row| Ok(row.get::<_, i64>(0)?.unsigned_abs()))
}

/// The objects of the versions that the index lacks.
pub(super) fn unindexed_objects<E: Entry>(connection: &Connection) -> Step<Vec<ObjectId>> {
    let Watermark { tx_id, version } = watermark::<E>(connection)?;
    let sql = "SELECT DISTINCT o.id FROM version AS v JOIN object AS o ON o.object = v.object
               WHERE v.tx_id >= :tx_id AND (v.tx_id, v.version) > (:tx_id, :version)";
    let parameters = named_params! { ":tx_id": tx_id, ":version": version };
    connection.all(sql, parameters, |row| Ok(ObjectId::new(row.get::<_, String>(0)?)))
}

/// Derives the entries of an object's versions again, from what is stored now. A forgotten object
/// has none.
pub(super) fn renew_versions<E: Entry>(
    transaction: &Connection,
    store_id: &str,
    object: i64,
    is_forgotten: bool,
) -> Step<()> {
    E::remove_versions(transaction, object)?;
    if !is_forgotten {
        let Watermark { tx_id, version } = watermark::<E>(transaction)?;
        let rest = "WHERE o.object = :object AND (v.tx_id, v.version) <= (:tx_id, :version)
                    ORDER BY v.tx_id";
        let parameters = named_params! { ":object": object, ":tx_id": tx_id, ":version": version };
        for mut version in read::versions(transaction, store_id, rest, parameters)? {
            // Its items have entries of their own, which stay.
            version.items_hash = None;
            E::derive(transaction, object, &version)?.add(transaction)?;
        }
    }
    E::add_more(transaction, Some(object))
}

/// Reads a content. A damaged one counts as missing: `doctor` reports it, and the versions after it
/// are still indexed.
pub(super) fn readable(connection: &Connection, hash: &Hash) -> Step<Option<String>> {
    match read::content(connection, hash) {
        Err(Failure::Damaged(_)) => Ok(None),
        text => text,
    }
}

/// Items that a version added to its list: the position of the first of them, which is the number of
/// items if there are none, and their positions and texts in order, without damaged ones. No position
/// for a document without items.
type Added = (Option<i64>, Vec<(i64, String)>);

/// Reads the items that a version added to its list.
pub(super) fn added_items(connection: &Connection, object: i64, version: &Version) -> Step<Added> {
    if version.items_hash.is_none() {
        return Ok((None, Vec::new()));
    }
    let keep = first_added(connection, object, version)?;
    let sql = format!(
        "SELECT {} FROM item AS i WHERE i.object = :object AND i.position >= :keep
         AND i.from_tx = :tx_id ORDER BY i.position",
        ItemRow::COLUMNS
    );
    let parameters = named_params! { ":object": object, ":keep": keep, ":tx_id": version.tx_id.0 };
    let packs = Packs::new(connection);
    let texts = connection.all(&sql, parameters, |row| match ItemRow::read(row, &packs) {
        Err(Failure::Damaged(_)) => Ok(None),
        item => item.map(|item| Some((item.position.cast_signed(), item.text))),
    })?;
    Ok((Some(keep), texts.into_iter().flatten().collect()))
}

fn first_added(connection: &Connection, object: i64, version: &Version) -> Step<i64> {
    let mut keep = i64::try_from(version.item_count).unwrap_or(i64::MAX);
    let sql = "SELECT position, from_tx FROM item WHERE object = :object AND position < :end
               ORDER BY position DESC, from_tx DESC";
    let end = keep;
    connection.each(sql, named_params! { ":object": object, ":end": end }, |row| {
        let (position, from_tx): (i64, i64) = (row.get(0)?, row.get(1)?);
        if from_tx == version.tx_id.0 {
            keep = position;
        }
        Ok(from_tx >= version.tx_id.0 || position >= keep)
    })?;
    Ok(keep)
}

fn watermark<E: Entry>(connection: &Connection) -> Step<Watermark> {
    let sql = format!("SELECT tx_id, version FROM {}", E::PROGRESS);
    connection.one(&sql, [], |row| Ok(Watermark { tx_id: row.get(0)?, version: row.get(1)? }))
}

fn set_watermark<E: Entry>(transaction: &Connection, watermark: Watermark) -> Step<()> {
    let Watermark { tx_id, version } = watermark;
    let sql = format!("UPDATE {} SET tx_id = :tx_id, version = :version", E::PROGRESS);
    transaction.run(&sql, named_params! { ":tx_id": tx_id, ":version": version })?;
    Ok(())
}
