//! Writes the index of relations: the entries for each version. Must not answer questions, see
//! `relations`; `derived` fills and renews the index.

use rusqlite::{Connection, ToSql, named_params};
use serde::{Deserialize, Serialize};

use super::derived::{self, Entry, ItemPlace};
use super::failure::{Failure, Step};
use super::relation_data;
use super::statements::Statements;
use crate::relations::{of_item, of_version};
use crate::{Relation, RelationPlace, Version, Written};

/// `relation.part` of relations in a version's fields and content.
const VERSION: i64 = -1;

/// The part of a relation that is stored as JSON: everything but its kind.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Data {
    pub(super) written: Written,
    pub(super) place: RelationPlace,
}

/// The relations of a version.
pub(super) struct Relations {
    object: i64,
    tx_id: i64,
    rows: Vec<Stored>,
    /// Relations of the items that the version added, with their positions.
    items: Vec<(i64, Vec<Stored>)>,
    /// Number of items that the version kept; `None` for a document without items.
    keep: Option<i64>,
}

/// A relation as stored.
#[derive(PartialEq, Eq)]
struct Stored {
    kind: u8,
    key: String,
    data: String,
}

impl Entry for Relations {
    const PROGRESS: &str = "relation_progress";

    /// Relations.
    const BATCH_WEIGHT: usize = 2_000;

    fn derive(connection: &Connection, object: i64, version: &Version) -> Step<Self> {
        let text = version.content.as_ref().map(|hash| derived::readable(connection, hash));
        let text = text.transpose()?.flatten();
        let rows = stored(&of_version(&version.envelope, &version.fields, text.as_deref()))?;
        let (keep, added) = derived::added_items(connection, object, version)?;
        let mut items = Vec::new();
        for (position, text) in added {
            let relations = of_item(version.envelope.kind, position.unsigned_abs(), &text);
            if !relations.is_empty() {
                items.push((position, stored(&relations)?));
            }
        }
        Ok(Self { object, tx_id: version.tx_id.0, rows, items, keep })
    }

    fn weight(&self) -> usize {
        self.rows.len() + self.items.iter().map(|(_, rows)| rows.len()).sum::<usize>()
    }

    fn add(&self, transaction: &Connection) -> Step<()> {
        if standing(transaction, self.object)? != self.rows {
            self.end(transaction, VERSION, VERSION + 1)?;
            self.insert(transaction, VERSION, &self.rows)?;
        }
        if let Some(keep) = self.keep {
            self.end(transaction, keep, i64::MAX)?;
        }
        for (position, rows) in &self.items {
            self.insert(transaction, *position, rows)?;
        }
        Ok(())
    }

    fn remove_versions(transaction: &Connection, object: i64) -> Step<()> {
        remove(transaction, object, VERSION, None)
    }

    fn renew_item(transaction: &Connection, place: &ItemPlace, text: &str) -> Step<()> {
        let ItemPlace { object, kind, position, from_tx } = *place;
        let sql = "SELECT until_tx FROM relation WHERE object = :object AND part = :part
                   AND from_tx = :from_tx LIMIT 1";
        let at = named_params! { ":object": object, ":part": position, ":from_tx": from_tx };
        let until: Option<Option<i64>> = transaction.first(sql, at, |row| Ok(row.get(0)?))?;
        let Some(until) = until else { return Ok(()) };
        remove(transaction, object, position, Some(from_tx))?;
        let rows = stored(&of_item(kind, position.unsigned_abs(), text))?;
        let renewed =
            Self { object, tx_id: from_tx, rows: Vec::new(), items: Vec::new(), keep: None };
        renewed.insert(transaction, position, &rows)?;
        let sql = "UPDATE relation SET until_tx = :until WHERE object = :object AND part = :part
                   AND from_tx = :from_tx";
        let at = named_params! {
            ":object": object, ":part": position, ":from_tx": from_tx, ":until": until,
        };
        transaction.run(sql, at)?;
        Ok(())
    }
}

/// Removes the relations of a part, or those that it has from one transaction on, and the keys
/// that nothing else has.
fn remove(transaction: &Connection, object: i64, part: i64, from_tx: Option<i64>) -> Step<()> {
    let condition =
        "object = :object AND part = :part AND (:from_tx IS NULL OR from_tx = :from_tx)";
    let at = named_params! { ":object": object, ":part": part, ":from_tx": from_tx };
    remove_where(transaction, condition, at).map(drop)
}

/// Removes some of an object's relations, at most `limit`; returns how many.
pub(super) fn remove_some(transaction: &Connection, object: i64, limit: i64) -> Step<usize> {
    let condition = "relation IN (SELECT relation FROM relation WHERE object = :object
                     ORDER BY part, place, relation LIMIT :limit)";
    remove_where(transaction, condition, named_params! { ":object": object, ":limit": limit })
}

/// Removes relations, and the keys that nothing else has; returns how many.
fn remove_where(
    transaction: &Connection,
    condition: &str,
    parameters: &[(&str, &dyn ToSql)],
) -> Step<usize> {
    let sql = format!("SELECT DISTINCT key FROM relation WHERE {condition}");
    let keys: Vec<i64> = transaction.all(&sql, parameters, |row| Ok(row.get(0)?))?;
    let removed =
        transaction.run(&format!("DELETE FROM relation WHERE {condition}"), parameters)?;
    for key in keys {
        let sql = "DELETE FROM relation_key WHERE key = ?1
                   AND NOT EXISTS (SELECT 1 FROM relation WHERE key = ?1)";
        transaction.run(sql, [key])?;
    }
    Ok(removed)
}

impl Relations {
    /// Ends the present relations in the parts `first..end`.
    fn end(&self, transaction: &Connection, first: i64, end: i64) -> Step<()> {
        let sql = "UPDATE relation SET until_tx = :tx_id WHERE object = :object
                   AND part >= :first AND part < :end AND until_tx IS NULL";
        let parameters = named_params! {
            ":tx_id": self.tx_id, ":object": self.object, ":first": first, ":end": end,
        };
        transaction.run(sql, parameters)?;
        Ok(())
    }

    fn insert(&self, transaction: &Connection, part: i64, rows: &[Stored]) -> Step<()> {
        let sql = "INSERT INTO relation (object, part, place, from_tx, kind, key, data)
                   VALUES (:object, :part, :place, :from_tx, :kind, :key, :data)";
        for (place, row) in (0_i64..).zip(rows) {
            let parameters = named_params! {
                ":object": self.object, ":part": part, ":place": place, ":from_tx": self.tx_id,
                ":kind": row.kind, ":key": key(transaction, &row.key)?, ":data": row.data,
            };
            transaction.run(sql, parameters)?;
        }
        Ok(())
    }
}

fn stored(relations: &[Relation]) -> Step<Vec<Stored>> {
    let stored = |relation: &Relation| {
        let data = Data { written: relation.written.clone(), place: relation.place.clone() };
        let (kind, key) = (relation.kind, relation.key());
        let json = serde_json::to_string(&data).map_err(Failure::damaged)?;
        let data = relation_data::shortened(kind, &key, json);
        Ok(Stored { kind: kind.number(), key, data })
    };
    relations.iter().map(stored).collect()
}

/// The relations in the latest version's fields and content.
fn standing(transaction: &Connection, object: i64) -> Step<Vec<Stored>> {
    let sql = "SELECT r.kind, k.text, r.data FROM relation AS r JOIN relation_key AS k USING (key)
               WHERE r.object = :object AND r.part = -1 AND r.until_tx IS NULL ORDER BY r.place";
    transaction.all(sql, named_params! { ":object": object }, |row| {
        Ok(Stored { kind: row.get(0)?, key: row.get(1)?, data: row.get(2)? })
    })
}

fn key(transaction: &Connection, text: &str) -> Step<i64> {
    let text = named_params! { ":text": text };
    transaction.run("INSERT OR IGNORE INTO relation_key (text) VALUES (:text)", text)?;
    transaction.one("SELECT key FROM relation_key WHERE text = :text", text, |row| Ok(row.get(0)?))
}
