//! Keeping the search index: filling it from the versions that it lacks, making it anew. Must not search.
//!
//! Texts are read and taken apart without a lock; a short write transaction then adds their terms, unless another process
//! did so meanwhile.

use rusqlite::{
    Connection, OptionalExtension, Row, Transaction, TransactionBehavior, named_params,
};

use super::failure::{Failure, Step};
use super::pack::Packs;
use super::read;
use super::rows::{self, VERSION_COLUMNS};
use crate::object::{Hash, ObjectId};
use crate::store::Version;
use crate::store::search::{Columns, Searched, session_of};

/// `search_row.part` of a version.
pub(super) const VERSION: i64 = -2;

/// `search_row.part` of a nickname.
pub(super) const NICKNAME: i64 = -1;

/// Bytes of terms after which a batch ends: about 20 ms of a write transaction.
const BATCH_BYTES: usize = 1 << 20;

/// Versions after which a batch ends.
const BATCH_VERSIONS: usize = 1_000;

/// Pages that one step of a merge writes.
const MERGE_PAGES: i64 = 1_000;

/// How far the index has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Progress {
    tx_id: i64,
    version: i64,
    named_tx: i64,
}

/// What is added to the index in one transaction.
pub(super) struct Batch {
    before: Progress,
    after: Progress,
    versions: Vec<Indexed>,
}

/// A version as it is indexed.
struct Indexed {
    object: i64,
    tx_id: i64,
    session: Option<String>,
    columns: Option<Columns>,
    /// Items that stand from this version on, with their positions; and where the first of them stands.
    items: Vec<(i64, Columns)>,
    keep: i64,
}

/// Reads what comes next; `None` if all is indexed.
pub(super) fn prepare(connection: &Connection, store_id: &str) -> Step<Option<Batch>> {
    // One snapshot: versions, their items and the newest transaction belong together.
    let snapshot = Transaction::new_unchecked(connection, TransactionBehavior::Deferred)?;
    let before = progress(&snapshot)?;
    let mut batch = Batch { before, after: before, versions: Vec::new() };
    let sql = format!(
        "SELECT {VERSION_COLUMNS}, v.version, v.object FROM version AS v
         JOIN object AS o ON o.object = v.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE v.tx_id >= :tx_id AND (v.tx_id, v.version) > (:tx_id, :version)
         ORDER BY v.tx_id, v.version"
    );
    let mut statement = snapshot.prepare_cached(&sql)?;
    let mut found =
        statement.query(named_params! { ":tx_id": before.tx_id, ":version": before.version })?;
    let packs = Packs::new(&snapshot);
    let (mut bytes, mut is_full) = (0, false);
    while let Some(row) = found.next()? {
        if is_full {
            return Ok(Some(batch));
        }
        let version = rows::version(row, store_id, &packs)?;
        let indexed = Indexed::read(&snapshot, row.get(18)?, &version)?;
        bytes += indexed.bytes();
        batch.after = Progress { tx_id: version.tx_id.0, version: row.get(17)?, ..before };
        batch.versions.push(indexed);
        is_full = bytes >= BATCH_BYTES || batch.versions.len() >= BATCH_VERSIONS;
    }
    let sql = "SELECT coalesce(max(tx_id), 0) FROM tx";
    batch.after.named_tx = snapshot.query_row(sql, [], |row| row.get(0))?;
    Ok((batch.after != before).then_some(batch))
}

/// Adds a batch, unless another process has done so.
pub(super) fn apply(connection: &mut Connection, batch: &Batch) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if progress(&transaction)? != batch.before {
        return Ok(transaction.rollback()?);
    }
    let index = Index { transaction: &transaction };
    for version in &batch.versions {
        index.add_version(version)?;
    }
    if batch.after.named_tx != batch.before.named_tx {
        index.update_nicknames(None)?;
    }
    let Progress { tx_id, version, named_tx } = batch.after;
    transaction
        .prepare_cached(
            "UPDATE search_progress SET tx_id = :tx_id, version = :version, named_tx = :named_tx",
        )?
        .execute(named_params! { ":tx_id": tx_id, ":version": version, ":named_tx": named_tx })?;
    Ok(transaction.commit()?)
}

/// Number of versions that are not indexed.
pub(super) fn unindexed(connection: &Connection) -> Step<u64> {
    let Progress { tx_id, version, .. } = progress(connection)?;
    let sql = "SELECT count(*) FROM version
               WHERE tx_id >= :tx_id AND (tx_id, version) > (:tx_id, :version)";
    let mut statement = connection.prepare_cached(sql)?;
    let parameters = named_params! { ":tx_id": tx_id, ":version": version };
    Ok(statement.query_row(parameters, |row| row.get::<_, i64>(0))?.unsigned_abs())
}

/// Indexes some objects anew, then leaves nothing of their former terms in the file.
pub(super) fn reindex(connection: &mut Connection, store_id: &str, ids: &[ObjectId]) -> Step<()> {
    // Freed pages are overwritten.
    let secure: i64 = connection.pragma_query_value(None, "secure_delete", |row| row.get(0))?;
    connection.pragma_update(None, "secure_delete", 1)?;
    let result = reindex_and_merge(connection, store_id, ids);
    connection.pragma_update(None, "secure_delete", secure)?;
    result
}

/// Empties the index.
pub(super) fn clear(connection: &mut Connection) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "INSERT INTO search_index (search_index) VALUES ('delete-all');
         DELETE FROM search_row; DELETE FROM search_session;
         UPDATE search_progress SET tx_id = 0, version = 0, named_tx = 0, rows = 0;",
    )?;
    Ok(transaction.commit()?)
}

fn progress(connection: &Connection) -> Step<Progress> {
    let sql = "SELECT tx_id, version, named_tx FROM search_progress";
    let read = |row: &Row<'_>| {
        Ok(Progress { tx_id: row.get(0)?, version: row.get(1)?, named_tx: row.get(2)? })
    };
    Ok(connection.prepare_cached(sql)?.query_row([], read)?)
}

fn reindex_and_merge(connection: &mut Connection, store_id: &str, ids: &[ObjectId]) -> Step<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    reindex_objects(&transaction, store_id, ids)?;
    transaction.commit()?;
    merge(connection)
}

/// Makes the rows of some objects those of the versions that there are. Terms of former rows are marked as removed and stay
/// in the file until [`merge`].
pub(super) fn reindex_objects(
    transaction: &Transaction<'_>,
    store_id: &str,
    ids: &[ObjectId],
) -> Step<()> {
    let Progress { tx_id, version, .. } = progress(transaction)?;
    let index = Index { transaction };
    let packs = Packs::new(transaction);
    let sql = format!(
        "SELECT {VERSION_COLUMNS}, v.version, v.object FROM object AS o
         JOIN version AS v ON v.object = o.object JOIN tx AS t ON t.tx_id = v.tx_id
         WHERE o.id = :id AND (v.tx_id, v.version) <= (:tx_id, :version) ORDER BY v.tx_id"
    );
    for id in ids {
        let sql_object = "SELECT object FROM object WHERE id = :id";
        let mut statement = transaction.prepare_cached(sql_object)?;
        let object: Option<i64> = statement
            .query_row(named_params! { ":id": id.as_str() }, |row| row.get(0))
            .optional()?;
        let Some(object) = object else { continue };
        index.remove(object, None)?;
        let mut statement = transaction.prepare_cached(&sql)?;
        let mut found = statement
            .query(named_params! { ":id": id.as_str(), ":tx_id": tx_id, ":version": version })?;
        while let Some(row) = found.next()? {
            let version = rows::version(row, store_id, &packs)?;
            index.add_version(&Indexed::read(transaction, object, &version)?)?;
        }
        index.update_nicknames(Some(object))?;
    }
    Ok(())
}

/// Merges the whole index into one segment, which drops the terms of removed rows. Step by step, so that others can write in
/// between.
pub(super) fn merge(connection: &Connection) -> Step<()> {
    let mut pages = -MERGE_PAGES;
    loop {
        let before = connection.total_changes();
        connection
            .prepare_cached("INSERT INTO search_index (search_index, rank) VALUES ('merge', ?1)")?
            .execute([pages])?;
        // FTS5: the merge is complete once a step changes fewer than two rows.
        if connection.total_changes() - before < 2 {
            return Ok(());
        }
        pages = MERGE_PAGES;
    }
}

impl Indexed {
    fn read(connection: &Connection, object: i64, version: &Version) -> Step<Self> {
        let mut contents = Vec::new();
        let named = version.content.iter().map(|hash| ("content", hash));
        let additional = version.additional.iter().map(|(name, hash)| (name.as_str(), hash));
        for (name, hash) in named.chain(additional) {
            if let Some(text) = readable(connection, hash)? {
                contents.push((name.to_owned(), text));
            }
        }
        let searched = Searched::version(&version.envelope, &version.fields, contents);
        let mut indexed = Self {
            object,
            tx_id: version.tx_id.0,
            session: session_of(&version.envelope, &version.fields).map(str::to_owned),
            columns: searched.columns(),
            items: Vec::new(),
            keep: i64::MAX,
        };
        if version.items_hash.is_some() {
            indexed.read_items(connection, version)?;
        }
        Ok(indexed)
    }

    /// Reads the items that this version added: the last ones of its list.
    fn read_items(&mut self, connection: &Connection, version: &Version) -> Step<()> {
        self.keep = i64::try_from(version.item_count).unwrap_or(i64::MAX);
        let packs = Packs::new(connection);
        let mut statement = connection.prepare_cached(
            "SELECT text, position, from_tx FROM item WHERE object = :object AND position < :end
             ORDER BY position DESC, from_tx DESC",
        )?;
        let mut found =
            statement.query(named_params! { ":object": self.object, ":end": self.keep })?;
        while let Some(row) = found.next()? {
            let (position, from_tx): (i64, i64) = (row.get(1)?, row.get(2)?);
            if from_tx == self.tx_id {
                self.keep = position;
                let text = match rows::text(row, 0, &packs) {
                    Err(Failure::Damaged(_)) => continue,
                    text => text?,
                };
                let columns = Searched::item(version.envelope.kind, &text).columns();
                self.items.extend(columns.map(|columns| (position, columns)));
            } else if from_tx < self.tx_id && position < self.keep {
                break;
            }
        }
        self.items.reverse();
        Ok(())
    }

    fn bytes(&self) -> usize {
        let columns = self.columns.iter().chain(self.items.iter().map(|(_, columns)| columns));
        columns.flat_map(|columns| &columns.0).map(String::len).sum()
    }
}

/// A content; damage, which `doctor` reports, must not keep all that follows from being indexed.
fn readable(connection: &Connection, hash: &Hash) -> Step<Option<String>> {
    match read::content(connection, hash) {
        Err(Failure::Damaged(_)) => Ok(None),
        text => text,
    }
}

struct Index<'a> {
    transaction: &'a Connection,
}

impl Index<'_> {
    fn add_version(&self, version: &Indexed) -> Step<()> {
        let Indexed { object, tx_id, session, columns, items, keep } = version;
        self.transaction
            .prepare_cached(
                "UPDATE search_row SET latest = 0
                 WHERE object = :object AND (part = -2 OR part >= :keep) AND latest = 1",
            )?
            .execute(named_params! { ":object": object, ":keep": keep })?;
        let session = session.as_deref().map(|key| self.session(key)).transpose()?;
        if let Some(columns) = columns {
            let digest = columns.digest();
            let sql = "UPDATE search_row SET latest = 1, tx_id = :tx_id
                       WHERE object = :object AND part = -2 AND digest = :digest";
            let known = self
                .transaction
                .prepare_cached(sql)?
                .execute(named_params! { ":object": object, ":tx_id": tx_id, ":digest": digest })?;
            if known == 0 {
                self.add(*object, *tx_id, VERSION, session, Some(digest), columns)?;
            }
        }
        for (position, columns) in items {
            self.add(*object, *tx_id, *position, session, None, columns)?;
        }
        Ok(())
    }

    fn add(
        &self,
        object: i64,
        tx_id: i64,
        part: i64,
        session: Option<i64>,
        digest: Option<i64>,
        columns: &Columns,
    ) -> Step<()> {
        let row = self
            .transaction
            .prepare_cached(
                "INSERT INTO search_row (object, tx_id, part, latest, session, digest)
                 VALUES (:object, :tx_id, :part, 1, :session, :digest)",
            )?
            .insert(named_params! {
                ":object": object, ":tx_id": tx_id, ":part": part, ":session": session,
                ":digest": digest,
            })?;
        let Columns([name, text, joined]) = columns;
        self.transaction
            .prepare_cached(
                "INSERT INTO search_index (rowid, name, text, joined)
                 VALUES (:row, :name, :text, :joined)",
            )?
            .execute(
                named_params! { ":row": row, ":name": name, ":text": text, ":joined": joined },
            )?;
        self.count(1)
    }

    /// Removes the rows of an object, or those of one part.
    fn remove(&self, object: i64, part: Option<(i64, i64)>) -> Step<()> {
        let (part, digest) = part.unzip();
        let parameters = named_params! { ":object": object, ":part": part, ":digest": digest };
        let condition = "object = :object AND (:part IS NULL OR part = :part)
                         AND (:digest IS NULL OR digest = :digest)";
        let sql = format!(
            "DELETE FROM search_index WHERE rowid IN (SELECT row FROM search_row WHERE {condition})"
        );
        self.transaction.prepare_cached(&sql)?.execute(parameters)?;
        let sql = format!("DELETE FROM search_row WHERE {condition}");
        let removed = self.transaction.prepare_cached(&sql)?.execute(parameters)?;
        self.count(-i64::try_from(removed).unwrap_or(i64::MAX))
    }

    fn count(&self, change: i64) -> Step<()> {
        let sql = "UPDATE search_progress SET rows = rows + :change";
        self.transaction.prepare_cached(sql)?.execute(named_params! { ":change": change })?;
        Ok(())
    }

    fn session(&self, key: &str) -> Step<i64> {
        self.transaction
            .prepare_cached("INSERT OR IGNORE INTO search_session (key) VALUES (:key)")?
            .execute(named_params! { ":key": key })?;
        let mut statement = self
            .transaction
            .prepare_cached("SELECT session FROM search_session WHERE key = :key")?;
        Ok(statement.query_row(named_params! { ":key": key }, |row| row.get(0))?)
    }

    /// Makes the rows of nicknames those that there are; of one object, or of all.
    fn update_nicknames(&self, object: Option<i64>) -> Step<()> {
        let mut statement = self.transaction.prepare_cached(
            "SELECT nickname, object FROM nickname WHERE :object IS NULL OR object = :object",
        )?;
        let mut wanted = statement
            .query_map(named_params! { ":object": object }, |row| {
                Ok((row.get::<_, i64>(1)?, Searched::nickname(&row.get::<_, String>(0)?).columns()))
            })?
            .filter_map(|found| match found {
                Ok((object, columns)) => columns.map(|columns| Ok((object, columns))),
                Err(error) => Some(Err(error)),
            })
            .collect::<Result<Vec<(i64, Columns)>, _>>()?;
        // Nicknames of one object that differ in signs only share a row.
        wanted.sort_by_key(|(object, columns)| (*object, columns.digest()));
        wanted.dedup();
        let mut statement = self.transaction.prepare_cached(
            "SELECT object, digest FROM search_row
             WHERE part = -1 AND (:object IS NULL OR object = :object)",
        )?;
        let known = statement
            .query_map(named_params! { ":object": object }, |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<Vec<(i64, i64)>, _>>()?;
        for (object, digest) in known {
            let same = |(wanted, columns): &(i64, Columns)| {
                *wanted == object && columns.digest() == digest
            };
            match wanted.iter().position(same) {
                Some(place) => drop(wanted.remove(place)),
                None => self.remove(object, Some((NICKNAME, digest)))?,
            }
        }
        for (object, columns) in wanted {
            self.add(object, 0, NICKNAME, None, Some(columns.digest()), &columns)?;
        }
        Ok(())
    }
}
