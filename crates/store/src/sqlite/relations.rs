//! Reads the index of relations and answers questions. Must not derive relations: see
//! `relation_index`.

use std::time::Duration;

use rusqlite::{Row, named_params};

use super::failure::{Failure, Step};
use super::read::Point;
use super::relation_index::{Data, Relations};
use super::rows::str_ref;
use super::statements::Statements;
use super::{SqliteBackend, derived, relation_data};
use crate::{PlacedRelation, Relation, RelationKind};
use base::error::Result;
use base::object::{AsOf, ObjectId, TxId};

/// A backend's index of relations. It is filled after commits or when queried, never within
/// a commit; several processes may fill one index.
impl SqliteBackend {
    /// As [`Self::index_texts`].
    pub fn index_relations(&self, patience: Option<Duration>) -> Result<bool> {
        self.fill::<Relations>(patience)
    }

    /// The objects with versions that are not indexed yet.
    pub fn objects_with_unindexed_relations(&self) -> Result<Vec<ObjectId>> {
        self.read(derived::unindexed_objects::<Relations>)
    }

    /// The objects that ever had a relation with this [`Relation::key`].
    pub fn objects_naming(&self, key: &str) -> Result<Vec<ObjectId>> {
        self.objects_with(key, !0)
    }

    /// The chats that ever had a call with this ID of its provider. Providers repeat IDs, so it may
    /// be another object in each.
    pub fn chats_calling(&self, call: &str) -> Result<Vec<ObjectId>> {
        self.objects_with(call, 1 << RelationKind::Call.number())
    }

    /// `kinds`: a bit for the number of each kind.
    fn objects_with(&self, key: &str, kinds: i64) -> Result<Vec<ObjectId>> {
        let sql = "SELECT DISTINCT o.id FROM relation AS r JOIN object AS o ON o.object = r.object
                   WHERE r.key = (SELECT key FROM relation_key WHERE text = :key)
                   AND (1 << r.kind) & :kinds ORDER BY o.id";
        let parameters = named_params! { ":key": key, ":kinds": kinds };
        self.read(|connection| {
            connection.all(sql, parameters, |row| Ok(ObjectId::new(row.get::<_, String>(0)?)))
        })
    }

    /// Relations in `id` as of `at`: those of the version in the order of its text, then those of
    /// items by position.
    pub fn relations_of(&self, id: &ObjectId, at: AsOf) -> Result<Vec<PlacedRelation>> {
        let point = Point::new(at);
        let sql = statement(&point, "o.id = :id");
        let parameters = named_params! { ":id": id.as_str(), ":at": point.value };
        self.read(|connection| connection.all(&sql, parameters, placed))
    }

    /// Relations of these kinds with this [`Relation::key`] in any object as of `at`, by ID of the
    /// object and then as in [`Self::relations_of`].
    pub fn relations_to(
        &self,
        kinds: &[RelationKind],
        key: &str,
        at: AsOf,
    ) -> Result<Vec<PlacedRelation>> {
        let point = Point::new(at);
        let condition = "r.key = (SELECT key FROM relation_key WHERE text = :key)
                         AND (1 << r.kind) & :kinds";
        let sql = statement(&point, condition);
        let kinds = kinds.iter().fold(0_i64, |mask, kind| mask | 1 << kind.number());
        let parameters = named_params! { ":key": key, ":kinds": kinds, ":at": point.value };
        self.read(|connection| connection.all(&sql, parameters, placed))
    }
}

fn statement(Point { condition: at, .. }: &Point, condition: &str) -> String {
    format!(
        "SELECT o.id, (SELECT max(tx_id) FROM version WHERE object = o.object AND tx_id <= {at}),
         r.from_tx, r.kind, r.data, k.text FROM relation AS r
         JOIN object AS o ON o.object = r.object JOIN relation_key AS k ON k.key = r.key
         WHERE {condition} AND r.from_tx <= {at} AND (r.until_tx IS NULL OR r.until_tx > {at})
         ORDER BY o.id, r.part, r.place"
    )
}

fn placed(row: &Row<'_>) -> Step<PlacedRelation> {
    let number: u8 = row.get(3)?;
    let kind = RelationKind::numbered(number)
        .ok_or_else(|| Failure::damaged(format!("{number} is not a kind of relation")))?;
    let json = relation_data::whole(str_ref(row, 5)?, str_ref(row, 4)?)?;
    let Data { written, place } = serde_json::from_str(&json).map_err(Failure::damaged)?;
    Ok(PlacedRelation {
        from: ObjectId::new(row.get::<_, String>(0)?),
        version: TxId(row.get(1)?),
        since: TxId(row.get(2)?),
        relation: Relation { kind, written, place },
    })
}
