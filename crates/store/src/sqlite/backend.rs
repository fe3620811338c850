//! The contract's questions and operations, and the upkeep's, as statements.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Params, named_params};

use super::keeper::Keeper;
use super::read::{self, Point, VERSIONS, clip, end_of_prefix, indexed};
use super::rows::{self, hash_value};
use super::statements::Statements;
use super::{
    IN_MEMORY, JournalMode, SqliteBackend, backup, collect, failure, integrity, lock, lost, notes,
    query, replace, search_index, write,
};
use crate::{
    Backend, Garbage, Glance, Growth, IndexedFolder, Item, Lost, Op, PlacedItem, Query, Receipt,
    Replaced, Replacement, StoreSize, Version,
};
use base::error::Result;
use base::object::{
    AsOf, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, Timestamp, TxId,
};

impl SqliteBackend {
    /// Versions; `rest`: the statement after [`VERSIONS`].
    fn versions(&self, rest: &str, parameters: impl Params + Copy) -> Result<Vec<Version>> {
        self.read(|connection| read::versions(connection, &self.store_id, rest, parameters))
    }
}

impl Backend for SqliteBackend {
    fn name(&self) -> &'static str {
        if self.path == Path::new(IN_MEMORY) { "memory" } else { "sqlite" }
    }

    fn store_id(&self) -> &str {
        &self.store_id
    }

    fn commit_all(&self, transactions: &[&[Op]], now: Timestamp) -> Result<Vec<Receipt>> {
        let receipts = self.write(|connection| write::commit_all(connection, transactions, now))?;
        if let (Some(mark), Some(last)) = (&*lock(&self.mark), receipts.last()) {
            mark.raise(&self.store_id, last.tx_id);
        }
        if let Some(keeper) = &*lock(&self.keeper) {
            keeper.wake();
        }
        Ok(receipts)
    }

    fn newest(&self) -> Result<(TxId, Timestamp)> {
        self.read(|connection| Ok(write::newest(connection)?.unwrap_or((TxId(0), Timestamp(0)))))
    }

    /// A number that changes after each commit of another connection, see
    /// <https://sqlite.org/pragma.html#pragma_data_version>. Numbers of different connections are
    /// unrelated.
    fn stamp(&self) -> Result<Option<u64>> {
        let Some(watcher) = &self.watcher else { return Ok(None) };
        let version: i64 = self.read_by(lock(watcher).as_ref(), |connection| {
            Ok(connection.pragma_query_value(None, "data_version", |row| row.get(0))?)
        })?;
        Ok(Some(u64::try_from(version).unwrap_or_default()))
    }

    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>> {
        let Point { condition, value } = Point::new(at);
        let rest =
            format!("WHERE o.id = :id AND v.tx_id <= {condition} ORDER BY v.tx_id DESC LIMIT 1");
        let found = self.versions(&rest, named_params! { ":id": id.as_str(), ":at": value })?;
        Ok(found.into_iter().next())
    }

    fn history(&self, id: &ObjectId) -> Result<Vec<Version>> {
        let rest = "WHERE o.id = :id ORDER BY v.tx_id DESC";
        self.versions(rest, named_params! { ":id": id.as_str() })
    }

    fn find_version(&self, id: &ObjectId, content_hash: &Hash) -> Result<Option<Version>> {
        let rest = "WHERE o.id = :id AND v.content_hash = :hash ORDER BY v.tx_id DESC LIMIT 1";
        let wanted = named_params! { ":id": id.as_str(), ":hash": hash_value(content_hash) };
        Ok(self.versions(rest, wanted)?.into_iter().next())
    }

    fn glance(&self, id: &ObjectId) -> Result<Option<Glance>> {
        let sql = "SELECT v.tx_id, v.redacted
                   FROM object AS o JOIN version AS v ON v.object = o.object
                   WHERE o.id = :id ORDER BY v.tx_id DESC LIMIT 1";
        self.read(|connection| {
            connection.first(sql, named_params! { ":id": id.as_str() }, |row| {
                let redacted = rows::optional_json(row, 1)?;
                Ok(Glance { tx_id: TxId(row.get(0)?), redacted })
            })
        })
    }

    fn content(&self, hash: &Hash) -> Result<Option<String>> {
        self.read(|connection| read::content(connection, hash))
    }

    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>> {
        self.read(|connection| read::items(connection, id, at, range.clone()))
    }

    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>> {
        self.read(|connection| read::placed_items(connection, id, range.clone()))
    }

    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>> {
        // Up to the transaction that reaches the limit, or to the last.
        let rest = "WHERE v.tx_id > :after AND v.tx_id <= coalesce((SELECT tx_id FROM version
             WHERE tx_id > :after ORDER BY tx_id LIMIT 1 OFFSET :rest), :end)
             ORDER BY v.tx_id, v.version";
        let others = clip(limit.saturating_sub(1) as u64);
        let parameters = named_params! { ":after": after.0, ":rest": others, ":end": i64::MAX };
        self.versions(rest, parameters)
    }

    fn find_origin(&self, id: &ObjectId, origin: &Origin) -> Result<Vec<Version>> {
        // Two lookups in indexes: those that were written here name no origin. For the order,
        // SQLite would rather walk all versions of the object.
        let rest = "WHERE v.version IN (SELECT version FROM version INDEXED BY version_origin
             WHERE object = (SELECT object FROM object WHERE id = :id)
             AND origin_store IS NOT NULL AND origin_store = :store AND origin_tx = :tx
             UNION ALL SELECT version FROM version
             WHERE object = (SELECT object FROM object WHERE id = :id)
             AND origin_store IS NULL AND :store = :own AND tx_id = :tx)
             ORDER BY v.tx_id DESC";
        let Origin { store_id, tx_id, .. } = origin;
        let (id, own) = (id.as_str(), &self.store_id);
        self.versions(
            rest,
            named_params! { ":id": id, ":store": store_id, ":tx": tx_id.0, ":own": own },
        )
    }

    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>> {
        // Every ID is at least the empty one, so a first page needs no statement of its own.
        let comparison = if after.is_some() { ">" } else { ">=" };
        let rest = format!(
            "WHERE v.tx_id = (SELECT max(tx_id) FROM version WHERE object = o.object)
             AND o.type = :type {} AND o.id {comparison} :after ORDER BY o.id LIMIT :limit",
            indexed(kind)
        );
        let after = after.map_or("", ObjectId::as_str);
        let limit = clip(limit as u64);
        let wanted = named_params! { ":type": kind.as_str(), ":after": after, ":limit": limit };
        self.versions(&rest, wanted)
    }

    fn last_written(&self, kind: ObjectType) -> Result<Vec<(ObjectId, TxId, Timestamp)>> {
        let sql = format!(
            "SELECT o.id, v.tx_id, coalesce(v.origin_time, t.system_time) {VERSIONS}
             WHERE v.tx_id = (SELECT max(tx_id) FROM version WHERE object = o.object)
             AND o.type = :type {}",
            indexed(kind)
        );
        self.read(|connection| {
            connection.all(&sql, named_params! { ":type": kind.as_str() }, |row| {
                let id = ObjectId::new(row.get::<_, String>(0)?);
                Ok((id, TxId(row.get(1)?), Timestamp(row.get(2)?)))
            })
        })
    }

    fn query(&self, query: &Query) -> Result<Vec<Version>> {
        self.read(|connection| query::query(connection, &self.store_id, query))
    }

    fn has_field(&self, path: &FieldPath) -> Result<bool> {
        self.read(|connection| query::has_field(connection, path))
    }

    fn field_paths(&self) -> Result<Vec<FieldPath>> {
        self.read(query::field_paths)
    }

    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>> {
        let (end, limit) = (end_of_prefix(prefix), clip(limit as u64));
        let upper = if end.is_some() { "AND id < :end" } else { "AND :end IS NULL" };
        let sql =
            format!("SELECT id FROM object WHERE id >= :start {upper} ORDER BY id LIMIT :limit");
        let wanted = named_params! { ":start": prefix, ":end": end, ":limit": limit };
        self.read(|connection| {
            connection.all(&sql, wanted, |row| Ok(ObjectId::new(row.get::<_, String>(0)?)))
        })
    }

    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>> {
        self.read(|connection| read::find_nickname(connection, nickname))
    }

    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>> {
        let sql = "SELECT n.nickname FROM object AS o JOIN nickname AS n ON n.object = o.object
                   WHERE o.id = :id ORDER BY n.nickname";
        self.read(|connection| {
            connection.all(sql, named_params! { ":id": id.as_str() }, |row| {
                Ok(Nickname::parse(&row.get::<_, String>(0)?)?)
            })
        })
    }

    fn upkeep(&self) -> Option<&SqliteBackend> {
        Some(self)
    }

    fn close(&self) -> Result<()> {
        lock(&self.keeper).take();
        // Readers first: the last connection to close moves the log into the file.
        for slot in self.readers.iter().chain(&self.watcher).chain([&self.writer]) {
            if let Some(connection) = lock(slot).take() {
                connection
                    .close()
                    .map_err(|(_, error)| failure::Failure::from(error).at(&self.path))?;
            }
        }
        lock(&self.mark).take();
        Ok(())
    }
}

/// Operations of a local store for itself, and for the commands that a person runs on it.
impl SqliteBackend {
    /// Lists the hashes of contents in order, after `after`; at most `limit`.
    pub fn content_hashes(&self, after: Option<&Hash>, limit: usize) -> Result<Vec<Hash>> {
        let sql = "SELECT hash FROM content WHERE hash > :after ORDER BY hash LIMIT :limit";
        let after = after.map_or(Value::Blob(Vec::new()), hash_value);
        let wanted = named_params! { ":after": after, ":limit": clip(limit as u64) };
        self.read(|connection| connection.all(sql, wanted, |row| rows::hash(row, 0)))
    }

    /// Brings both indexes up to date from now on, after each commit, on a thread of its own.
    pub fn keep_indexes(&self) -> Result<()> {
        let mut keeper = lock(&self.keeper);
        if keeper.is_none()
            && self.journal == JournalMode::WriteAhead
            && let Some(place) = &self.place
        {
            // A removal that was broken off may have left it as it is meanwhile. A damaged index
            // costs no session: whoever asks it finds that.
            drop(search_index::let_merge(self, true));
            *keeper = Some(Keeper::start(Arc::clone(place), &self.store_id)?);
        }
        Ok(())
    }

    /// Whether such a thread is at work.
    pub fn keeps_indexes(&self) -> bool {
        lock(&self.keeper).is_some()
    }

    /// Replaces stored data in this order, and first of all refuses contents with the hashes
    /// `banned` from now on. Works in turns with other writers: after a failure a first part is
    /// replaced, and doing it again completes it. What is stored never changes otherwise, so a plan
    /// stays good whatever others write meanwhile. Only for commands that a person runs.
    /// [`Self::collect`] then drops the replaced data from the files.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the store lacks the data to replace; `FORGOTTEN` for text that may not
    /// return.
    pub fn replace(&self, replacements: &[Replacement], banned: &[Hash]) -> Result<()> {
        search_index::let_merge(self, false)?;
        self.in_turns(replacements.len(), |transaction, next, turn| {
            let banned = if next == 0 { banned } else { &[] };
            let rest = &replacements[next..];
            Ok(next + replace::replace(transaction, turn, &self.store_id, rest, banned)?)
        })
    }

    /// Copies the store as it is at one moment into an empty file.
    pub fn backup(&self, to: &Path) -> Result<()> {
        self.read(|connection| backup::backup(connection, to))
    }

    /// Measures what [`Self::collect`] would drop.
    pub fn garbage(&self) -> Result<Garbage> {
        self.read(|connection| {
            let search_bytes = Some(collect::search_bytes(connection)?);
            Ok(Garbage { search_bytes, ..collect::garbage(connection, &self.path)? })
        })
    }

    /// Drops everything that no version, item or object needs, so that no byte of it remains in the
    /// store's files, and returns free space to the file system. Keeps every version of every
    /// object. Only for commands that a person runs. `bytes_before`: [`Self::bytes`] before the
    /// command changed anything, since what it removed first stands in the log.
    pub fn collect(&self, bytes_before: u64) -> Result<Garbage> {
        collect::collect(self, bytes_before)
    }

    /// Bytes of the file and its log; 0 in memory.
    pub fn bytes(&self) -> u64 {
        collect::all_bytes(&self.path)
    }

    /// The transaction of the newest version but `newer`; `None` if there are no more than these.
    pub fn before_newest(&self, newer: usize) -> Result<Option<TxId>> {
        let sql = "SELECT tx_id FROM version ORDER BY version DESC LIMIT 1 OFFSET ?1";
        self.read(|connection| {
            connection.first(sql, [clip(newer as u64)], |row| Ok(TxId(row.get(0)?)))
        })
    }

    /// Counts and measures the store.
    pub fn size(&self) -> Result<StoreSize> {
        self.read(|connection| collect::size(connection, &self.path))
    }

    /// Says how large the store is, and how it grows, without reading it all.
    pub fn growth(&self, now: Timestamp) -> Result<Growth> {
        self.read(|connection| collect::growth(connection, &self.path, now))
    }

    /// Checks what the contract cannot see: pages, indexes, references between rows. Reads only.
    /// Returns one text per problem.
    pub fn check_integrity(&self) -> Result<Vec<String>> {
        self.read(integrity::check)
    }

    /// Records that a person had a folder indexed, unless a recorded folder contains it.
    pub fn add_folder(&self, folder: &IndexedFolder) -> Result<()> {
        self.change(|transaction| notes::add_folder(transaction, folder))
    }

    /// The recorded folders, by filesystem and path.
    pub fn folders(&self) -> Result<Vec<IndexedFolder>> {
        self.read(notes::folders)
    }

    /// Counts the transactions after one that wrote a version here first, and tells the time of the
    /// oldest. `kind`: only versions of objects of this type count.
    pub fn written_after(
        &self,
        after: TxId,
        kind: Option<ObjectType>,
    ) -> Result<(u64, Option<Timestamp>)> {
        let sql = format!(
            "SELECT count(DISTINCT v.tx_id), min(t.system_time) {VERSIONS}
             WHERE v.tx_id > :after AND v.origin_store IS NULL
             AND (:type IS NULL OR o.type = :type)"
        );
        let wanted = named_params! { ":after": after.0, ":type": kind.map(ObjectType::as_str) };
        self.read(|connection| {
            connection.one(&sql, wanted, |row| {
                let count: i64 = row.get(0)?;
                Ok((count.unsigned_abs(), row.get::<_, Option<i64>>(1)?.map(Timestamp)))
            })
        })
    }

    /// What was noted under a name.
    pub fn note(&self, name: &str) -> Result<Option<String>> {
        let sql = "SELECT value FROM meta WHERE key = 'note:' || :name";
        self.read(|connection| {
            connection.first(sql, named_params! { ":name": name }, |row| Ok(row.get(0)?))
        })
    }

    /// Notes something beside what is stored; `None` removes it.
    pub fn set_note(&self, name: &str, value: Option<&str>) -> Result<()> {
        self.change(|transaction| notes::set_note(transaction, name, value))
    }

    /// What was made of an object and kept beside it, until something of the object is replaced.
    pub fn summary(&self, id: &ObjectId) -> Result<Option<String>> {
        self.note(&notes::summary_of(id))
    }

    /// Keeps what was made of an object.
    pub fn set_summary(&self, id: &ObjectId, text: &str) -> Result<()> {
        self.set_note(&notes::summary_of(id), Some(text))
    }

    /// What [`Self::replace`] did, the oldest first, each with its number: other stores have to
    /// follow.
    pub fn replaced(&self, after: i64) -> Result<Vec<(i64, Replaced)>> {
        self.read(|connection| notes::replaced_after(connection, after))
    }

    /// Acknowledged transactions that were found missing, in the order of discovery.
    pub fn lost(&self) -> Result<Vec<Lost>> {
        let mark = lock(&self.mark);
        self.read(|connection| lost::all(connection, &self.store_id, mark.as_deref()))
    }
}
