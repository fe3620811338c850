//! Relations in memory: all of an object's relations are derived anew when it changes. Slow and obviously right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use super::{MemoryBackend, State};
use crate::error::Result;
use crate::object::{AsOf, ObjectId, TxId};
use crate::store::relations::{of_item, of_version};
use crate::store::{PlacedRelation, Relation, RelationIndex, RelationKind, Version};

/// The relations of every object that has been looked at.
#[derive(Debug, Default)]
pub(super) struct Derived {
    /// So many versions of the log are in.
    done: usize,
    /// In the order in which they are listed.
    rows: BTreeMap<ObjectId, Vec<Row>>,
}

#[derive(Debug)]
struct Row {
    since: TxId,
    until: Option<TxId>,
    key: String,
    relation: Relation,
}

impl RelationIndex for MemoryBackend {
    fn catch_up(&self) -> Result<()> {
        self.read(|state| {
            let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
            let new = state.log.get(derived.done..).unwrap_or_default();
            let changed: BTreeSet<&ObjectId> = new.iter().map(|(_, id)| id).collect();
            for id in changed {
                derived.rows.insert(id.clone(), rows(state, id));
            }
            derived.done = state.log.len();
        })
    }

    fn unindexed(&self) -> Result<u64> {
        let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(|state| state.log.len().saturating_sub(derived.done) as u64)
    }

    fn relations_of(&self, id: &ObjectId, at: AsOf) -> Result<Vec<PlacedRelation>> {
        self.read(|state| {
            let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
            derived.find(state, id, at, |_| true)
        })
    }

    fn relations_to(
        &self,
        kinds: &[RelationKind],
        key: &str,
        at: AsOf,
    ) -> Result<Vec<PlacedRelation>> {
        self.read(|state| {
            let derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = |row: &Row| row.key == key && kinds.contains(&row.relation.kind);
            let ids = derived.rows.keys();
            ids.flat_map(|id| derived.find(state, id, at, fits)).collect()
        })
    }

    fn reindex(&self, ids: &[ObjectId]) -> Result<()> {
        self.read(|state| {
            let mut derived = self.derived.lock().unwrap_or_else(PoisonError::into_inner);
            for id in ids {
                derived.rows.insert(id.clone(), rows(state, id));
            }
        })
    }

    fn clear(&self) -> Result<()> {
        self.read(|_| ())?;
        *self.derived.lock().unwrap_or_else(PoisonError::into_inner) = Derived::default();
        Ok(())
    }
}

impl Derived {
    fn find(
        &self,
        state: &State,
        id: &ObjectId,
        at: AsOf,
        fits: impl Fn(&Row) -> bool,
    ) -> Vec<PlacedRelation> {
        let visible = state.objects.get(id).and_then(|object| object.at(at));
        let Some(Version { tx_id, .. }) = visible else { return Vec::new() };
        let stands =
            |row: &&Row| row.since <= *tx_id && row.until.is_none_or(|until| *tx_id < until);
        let rows = self.rows.get(id).map(Vec::as_slice).unwrap_or_default();
        let placed = |row: &Row| PlacedRelation {
            from: id.clone(),
            version: *tx_id,
            since: row.since,
            relation: row.relation.clone(),
        };
        rows.iter().filter(stands).filter(|row| fits(row)).map(placed).collect()
    }
}

/// All relations that an object ever had.
fn rows(state: &State, id: &ObjectId) -> Vec<Row> {
    let Some(object) = state.objects.get(id) else { return Vec::new() };
    let mut rows: Vec<Row> = Vec::new();
    let mut standing: Vec<Relation> = Vec::new();
    for version in &object.versions {
        let text = version.content.as_ref().and_then(|hash| state.contents.get(hash));
        let relations = of_version(&version.envelope, &version.fields, text.map(String::as_str));
        if relations != standing {
            for row in rows.iter_mut().filter(|row| row.until.is_none()) {
                row.until = Some(version.tx_id);
            }
            rows.extend(relations.iter().map(|relation| row(relation, version.tx_id, None)));
            standing = relations;
        }
    }
    let Some(kind) = object.versions.first().map(|version| version.envelope.kind) else {
        return rows;
    };
    for placed in object.places.iter().flatten() {
        let relations = of_item(kind, placed.position, &placed.item.text);
        rows.extend(relations.iter().map(|relation| row(relation, placed.from, placed.until)));
    }
    rows
}

fn row(relation: &Relation, since: TxId, until: Option<TxId>) -> Row {
    Row { since, until, key: relation.key(), relation: relation.clone() }
}
