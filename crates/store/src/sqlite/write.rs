//! The write path: one transaction of operations. Rows are only added; the one value that is set
//! later is an item's end.

use std::collections::{BTreeMap, HashMap};

use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, named_params};
use serde::Serialize;

use super::failure::{Failure, Step};
use super::pack::{PACKED_BELOW_BYTES, Packer};
use super::read;
use super::rows::{self, Stored, hash_value};
use super::schema;
use super::statements::Statements;
use crate::rules::{self, Latest};
use crate::{Op, Outcome, Put, Receipt, Splice};
use base::error::Error;
use base::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, Origin, RunningHash, Timestamp, TxId,
};
use files::looks;

/// Applies all transactions or none, as one SQLite transaction.
pub(super) fn commit_all(
    connection: &mut Connection,
    transactions: &[&[Op]],
    now: Timestamp,
) -> Step<Vec<Receipt>> {
    // Compression takes longer than the rest, so it is done before other writers are locked out.
    let mut texts = Vec::with_capacity(transactions.len());
    for ops in transactions {
        rules::check_shape(ops)?;
        texts.push(Texts::prepare(connection, ops)?);
    }
    let transaction = schema::begin(connection)?;
    let packer = Packer::new(&transaction);
    let mut receipts = Vec::with_capacity(transactions.len());
    for (ops, texts) in transactions.iter().zip(texts) {
        receipts.push(apply(&transaction, &packer, ops, texts, now)?);
    }
    if receipts.iter().any(|receipt| receipt.outcomes.contains(&Outcome::Written)) {
        packer.finish()?;
        drop(packer);
        looks::check()?;
        transaction.commit()?;
    } else {
        drop(packer);
        transaction.rollback()?;
    }
    Ok(receipts)
}

/// Applies the operations of one transaction.
fn apply(
    transaction: &Transaction<'_>,
    packer: &Packer<'_>,
    ops: &[Op],
    texts: Texts<'_>,
    now: Timestamp,
) -> Step<Receipt> {
    let newest = newest(transaction)?;
    let (tx_id, system_time) = rules::next(newest, now).ok_or_else(|| {
        Failure::damaged("its last transaction has the last number that there is")
    })?;
    add_transaction(transaction, tx_id, system_time)?;
    let outcomes =
        Writer { transaction, packer, texts, tx_id, system_time, now, newest }.apply(ops)?;
    if outcomes.contains(&Outcome::Written) {
        return Ok(Receipt { tx_id, system_time, outcomes });
    }
    transaction.run("DELETE FROM tx WHERE tx_id = ?1", [tx_id.0])?;
    let (tx_id, system_time) = newest.unwrap_or((TxId(0), Timestamp(0)));
    Ok(Receipt { tx_id, system_time, outcomes })
}

/// The long texts of a transaction in their stored form; short ones go into packs.
struct Texts<'a> {
    /// Contents that the store did not hold just before.
    contents: HashMap<&'a Hash, Stored<'a>>,
    /// Items by object and number among the added ones.
    items: HashMap<(&'a ObjectId, usize), Stored<'a>>,
}

impl<'a> Texts<'a> {
    fn prepare(connection: &Connection, ops: &'a [Op]) -> Step<Self> {
        let mut texts = Self { contents: HashMap::new(), items: HashMap::new() };
        for put in rules::puts(ops) {
            for (hash, text) in put.content.iter().chain(put.additional.values()) {
                if text.len() >= PACKED_BELOW_BYTES && !holds_content(connection, hash)? {
                    texts.contents.entry(hash).or_insert_with(|| Stored::alone(text));
                }
            }
            let added = put.items.iter().flat_map(|splice| splice.add.iter().enumerate());
            for (number, item) in added.filter(|(_, item)| item.text.len() >= PACKED_BELOW_BYTES) {
                texts.items.insert((&put.envelope.id, number), Stored::alone(&item.text));
            }
        }
        Ok(texts)
    }
}

struct Writer<'a> {
    transaction: &'a Transaction<'a>,
    packer: &'a Packer<'a>,
    texts: Texts<'a>,
    tx_id: TxId,
    system_time: Timestamp,
    /// The clock's time.
    now: Timestamp,
    /// The transaction before this one.
    newest: Option<(TxId, Timestamp)>,
}

/// Row ID of an object.
type ObjectRow = i64;

impl Writer<'_> {
    fn apply(&self, ops: &[Op]) -> Step<Vec<Outcome>> {
        let mut outcomes = vec![Outcome::Written; ops.len()];
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Put(put) = op {
                *outcome = self.put(put)?;
            }
        }
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Name { nickname, id } = op {
                *outcome = self.name(nickname, id.as_ref())?;
            }
        }
        Ok(outcomes)
    }

    fn put(&self, put: &Put) -> Step<Outcome> {
        let found = self.latest(&put.envelope.id)?;
        let writes = rules::writes(put, found.as_ref().map(|found| &found.latest))?;
        if let (Some(found), false) = (&found, writes) {
            return Ok(Outcome::Unchanged(found.latest.tx_id));
        }
        for hash in rules::contents(put) {
            if is_banned(self.transaction, hash)? {
                return Err(Error::Forgotten { id: put.envelope.id.clone() }.into());
            }
        }
        for (hash, text) in put.content.iter().chain(put.additional.values()) {
            self.add_content(hash, text)?;
        }
        let object = match &found {
            Some(found) => {
                if found.has_no_source {
                    self.add_source(found.object, &put.envelope)?;
                }
                found.object
            }
            None => self.add_object(&put.envelope)?,
        };
        let (item_count, items_hash) = match (&put.items, found) {
            (Some(splice), found) => {
                let count = found.map_or(0, |found| found.latest.item_count);
                self.splice(object, &put.envelope.id, splice, count)?
            }
            (None, Some(found)) => {
                let hash = found.items_hash.as_ref().map_or(Value::Null, hash_value);
                (found.latest.item_count, hash)
            }
            (None, None) => (0, Value::Null),
        };
        self.add_version(object, put, item_count, &items_hash)?;
        Ok(Outcome::Written)
    }

    fn latest(&self, id: &ObjectId) -> Step<Option<ObjectHead>> {
        let sql =
            "SELECT o.object, v.tx_id, o.identity_hash, v.content_hash, v.source_hash, v.item_count,
             CASE v.items_hash WHEN x'' THEN (SELECT running_hash FROM item WHERE object = o.object
             AND position = v.item_count - 1 AND until_tx IS NULL) ELSE v.items_hash END,
             o.forgotten, o.source IS NULL FROM object AS o JOIN version AS v ON v.object = o.object
             WHERE o.id = ?1 ORDER BY v.tx_id DESC LIMIT 1";
        self.transaction.first(sql, [id.as_str()], |row| {
            let latest = Latest {
                tx_id: TxId(row.get(1)?),
                identity_hash: rows::hash(row, 2)?,
                content_hash: rows::hash(row, 3)?,
                source_hash: rows::optional_hash(row, 4)?,
                item_count: row.get::<_, i64>(5)?.unsigned_abs(),
                forgotten: row.get(7)?,
            };
            let (object, has_no_source) = (row.get(0)?, row.get(8)?);
            Ok(ObjectHead {
                object,
                latest,
                items_hash: rows::optional_hash(row, 6)?,
                has_no_source,
            })
        })
    }

    fn add_object(&self, envelope: &Envelope) -> Step<ObjectRow> {
        let sql = "INSERT INTO object (id, type, source, identity_hash)
                   VALUES (:id, :type, :source, :identity_hash)";
        let parameters = named_params! {
            ":id": envelope.id.as_str(),
            ":type": envelope.kind.as_str(),
            ":source": envelope.source.as_ref().map(json).transpose()?,
            ":identity_hash": hash_value(&envelope.identity_hash),
        };
        self.transaction.run(sql, parameters)?;
        Ok(self.transaction.last_insert_rowid())
    }

    /// Gives an object the source that it came without, because another store forgot it.
    fn add_source(&self, object: ObjectRow, envelope: &Envelope) -> Step<()> {
        let Some(source) = &envelope.source else { return Ok(()) };
        let sql = "UPDATE object SET source = :source WHERE object = :object";
        let parameters = named_params! { ":source": json(source)?, ":object": object };
        self.transaction.run(sql, parameters)?;
        Ok(())
    }

    fn add_content(&self, hash: &Hash, text: &str) -> Step<()> {
        match self.texts.contents.get(hash) {
            Some(prepared) => insert_content(self.transaction, hash, prepared),
            // It is short, or another process removed it (`gc`) after this transaction was
            // prepared.
            None => add_content(self.transaction, self.packer, hash, text),
        }
    }

    fn add_version(
        &self,
        object: ObjectRow,
        put: &Put,
        item_count: u64,
        items_hash: &Value,
    ) -> Step<()> {
        let sql =
            "INSERT INTO version (object, tx_id, source_hash, content_hash, content, item_count,
             items_hash, fields, origin_store, origin_tx, origin_time, additional, redacted)
             VALUES (:object, :tx_id, :source_hash, :content_hash, :content, :item_count,
             :items_hash, :fields, :origin_store, :origin_tx, :origin_time, :additional, :redacted)";
        let origin = put.origin.as_ref();
        let parameters = named_params! {
            ":object": object,
            ":tx_id": self.tx_id.0,
            ":source_hash": put.source_hash.as_ref().map(hash_value),
            ":content_hash": hash_value(&put.content_hash),
            ":content": put.content.as_ref().map(|(hash, _)| hash_value(hash)),
            ":item_count": position(item_count)?,
            ":items_hash": items_hash,
            ":fields": rows::stored_fields(json(&put.fields)?, self.packer)?,
            ":origin_store": origin.map(|origin| &origin.store_id),
            ":origin_tx": origin.map(|origin| origin.tx_id.0),
            ":origin_time": self.origin_time(object, origin)?,
            ":additional": additional(&put.additional)?,
            ":redacted": put.redacted.as_ref().map(json).transpose()?,
        };
        self.transaction.run(sql, parameters)?;
        Ok(())
    }

    /// The time that a version's row names: of a version from elsewhere its own. One that is first
    /// written here has that of its transaction, unless a clock that was wrong once put that far
    /// ahead: then the clock's, but no earlier than the object's version before.
    fn origin_time(&self, object: ObjectRow, origin: Option<&Origin>) -> Step<Option<i64>> {
        if origin.is_some() || !rules::is_ahead(self.system_time, self.now) {
            return Ok(origin.map(|origin| origin.time.0));
        }
        let sql = "SELECT coalesce(v.origin_time, t.system_time)
                   FROM version AS v JOIN tx AS t USING (tx_id)
                   WHERE v.object = ?1 ORDER BY v.tx_id DESC LIMIT 1";
        let before: Option<i64> = self.transaction.first(sql, [object], |row| Ok(row.get(0)?))?;
        Ok(before.into_iter().chain([self.now.0]).max())
    }

    /// Ends the items from `keep` on and adds the new ones. Returns the number of items and the
    /// stored form of their running hash.
    fn splice(
        &self,
        object: ObjectRow,
        id: &ObjectId,
        splice: &Splice,
        count: u64,
    ) -> Step<(u64, Value)> {
        if splice.keep < count {
            let sql = "UPDATE item SET until_tx = :tx_id
                       WHERE object = :object AND position >= :keep AND until_tx IS NULL";
            let parameters = named_params! {
                ":tx_id": self.tx_id.0, ":object": object, ":keep": position(splice.keep)?,
            };
            self.transaction.run(sql, parameters)?;
        }
        let sql = "INSERT INTO item (object, position, from_tx, running_hash, text, redacted)
                   VALUES (:object, :position, :from_tx, :running_hash, :text, :redacted)";
        let mut before = self.running_hash(object, splice.keep)?.map(RunningHash::from_stored);
        for (number, item) in splice.add.iter().enumerate() {
            let packed = match self.texts.items.get(&(id, number)) {
                Some(_) => None,
                None => Some(Stored::Packed(self.packer.add(&item.text)?)),
            };
            // The last item's hash is stored: the next splice continues it.
            let continues =
                before.is_some_and(|mut hash| hash.push(&item.text) == item.running_hash);
            let kept = !continues || number + 1 == splice.add.len();
            let parameters = named_params! {
                ":object": object,
                ":position": position(splice.keep + number as u64)?,
                ":from_tx": self.tx_id.0,
                ":running_hash": kept.then(|| hash_value(&item.running_hash)),
                ":text": packed.as_ref().or_else(|| self.texts.items.get(&(id, number))),
                ":redacted": item.redacted.as_ref().map(hash_value),
            };
            self.transaction.run(sql, parameters)?;
            before = Some(RunningHash::from_stored(item.running_hash.clone()));
        }
        let count = splice.keep + splice.add.len() as u64;
        let hash = match (splice.add.last(), count) {
            // Empty means that of the last item.
            (Some(_), _) => Value::Blob(Vec::new()),
            (None, 0) => hash_value(RunningHash::default().hash()),
            (None, _) => {
                // The item may come from an earlier transaction of this commit.
                self.packer.finish()?;
                let at = AsOf::Tx(self.tx_id);
                let last = read::items(self.transaction, id, at, count - 1..count)?;
                let missing = || Failure::damaged(format!("the last item of `{id}` is gone"));
                hash_value(&last.into_iter().next().ok_or_else(missing)?.running_hash)
            }
        };
        Ok((count, hash))
    }

    /// Running hash of the first `count` present items; `None` if the last of them does not store
    /// one.
    fn running_hash(&self, object: ObjectRow, count: u64) -> Step<Option<Hash>> {
        let Some(last) = count.checked_sub(1) else {
            return Ok(Some(RunningHash::default().hash().clone()));
        };
        let sql = "SELECT running_hash FROM item
                   WHERE object = ?1 AND position = ?2 AND until_tx IS NULL";
        self.transaction.one(sql, [object, position(last)?], |row| rows::optional_hash(row, 0))
    }

    fn name(&self, nickname: &Nickname, id: Option<&ObjectId>) -> Step<Outcome> {
        let owner = read::find_nickname(self.transaction, nickname)?;
        match (owner, id) {
            (None, None) => {
                return Ok(Outcome::Unchanged(self.newest.map_or(TxId(0), |(tx_id, _)| tx_id)));
            }
            (Some(owner), Some(id)) if owner == *id => {
                let latest = self.latest(id)?.map_or(self.tx_id, |found| found.latest.tx_id);
                return Ok(Outcome::Unchanged(latest));
            }
            (Some(owner), Some(_)) => return Err(rules::nickname_taken(nickname, &owner).into()),
            (None, Some(id)) => {
                let found = self.latest(id)?;
                let found = found.ok_or_else(|| rules::nickname_without_object(nickname, id))?;
                let sql = "INSERT INTO nickname (nickname, object) VALUES (:nickname, :object)";
                let parameters =
                    named_params! { ":nickname": nickname.as_str(), ":object": found.object };
                self.transaction.run(sql, parameters)?;
            }
            (Some(_), None) => {
                let sql = "DELETE FROM nickname WHERE nickname = ?1";
                self.transaction.run(sql, [nickname.as_str()])?;
            }
        }
        Ok(Outcome::Written)
    }
}

/// An object and its latest version.
struct ObjectHead {
    object: ObjectRow,
    latest: Latest,
    items_hash: Option<Hash>,
    has_no_source: bool,
}

pub(super) fn newest(connection: &Connection) -> Step<Option<(TxId, Timestamp)>> {
    let sql = "SELECT tx_id, system_time FROM tx ORDER BY tx_id DESC LIMIT 1";
    connection.first(sql, [], |row| Ok((TxId(row.get(0)?), Timestamp(row.get(1)?))))
}

pub(super) fn add_transaction(
    connection: &Connection,
    tx_id: TxId,
    system_time: Timestamp,
) -> Step<()> {
    let sql = "INSERT INTO tx (tx_id, system_time) VALUES (?1, ?2)";
    connection.run(sql, [tx_id.0, system_time.0])?;
    Ok(())
}

/// The stored form of additional contents: their hashes by name.
pub(super) fn additional(contents: &BTreeMap<String, (Hash, String)>) -> Step<Option<String>> {
    let hashes: BTreeMap<_, _> = contents.iter().map(|(name, (hash, _))| (name, hash)).collect();
    (!hashes.is_empty()).then(|| json(&hashes)).transpose()
}

/// Adds a content that may already exist.
pub(super) fn add_content(
    connection: &Connection,
    packer: &Packer<'_>,
    hash: &Hash,
    text: &str,
) -> Step<()> {
    if holds_content(connection, hash)? {
        return Ok(());
    }
    insert_content(connection, hash, &stored(packer, text)?)
}

/// A text as stored: in a pack, or alone if it is long.
pub(super) fn stored<'t>(packer: &Packer<'_>, text: &'t str) -> Step<Stored<'t>> {
    if text.len() < PACKED_BELOW_BYTES {
        return Ok(Stored::Packed(packer.add(text)?));
    }
    Ok(Stored::alone(text))
}

/// Whether a content was forgotten and must not be stored again.
pub(super) fn is_banned(connection: &Connection, hash: &Hash) -> Step<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM tombstone WHERE hash = ?1)";
    connection.one(sql, [hash_value(hash)], |row| Ok(row.get(0)?))
}

fn insert_content(connection: &Connection, hash: &Hash, text: &Stored<'_>) -> Step<()> {
    let sql = "INSERT INTO content (hash, text) VALUES (:hash, :text) ON CONFLICT DO NOTHING";
    connection.run(sql, named_params! { ":hash": hash_value(hash), ":text": text })?;
    Ok(())
}

fn holds_content(connection: &Connection, hash: &Hash) -> Step<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM content WHERE hash = ?1)";
    connection.one(sql, [hash_value(hash)], |row| Ok(row.get(0)?))
}

pub(super) fn position(number: u64) -> Step<i64> {
    let too_long = |_| Error::argument("items", "are more than the store can count");
    Ok(i64::try_from(number).map_err(too_long)?)
}

pub(super) fn json(value: &impl Serialize) -> Step<String> {
    let not_json = |error| Error::argument("fields", format!("are not JSON: {error}"));
    Ok(serde_json::to_string(value).map_err(not_json)?)
}
