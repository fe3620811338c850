//! A file's history across moves: its own versions, and those of the object that it was before each
//! move (`moved_from`).

use std::collections::{HashMap, HashSet};

use super::{Store, Version};
use base::error::Result;
use base::object::{AsOf, Hash, ObjectId, Origin, Timestamp, TxId};

/// The field with the ID of the object that a file was before it moved.
pub const MOVED_FROM: &str = "moved_from";

impl Store {
    /// Lists the versions of an object and of the objects that it was before its moves, each once,
    /// the last written first, which is the same order in every store; empty for an unknown object.
    ///
    /// The path is part of a file's identity, so a moved file is another object. Later versions at
    /// its old place are not listed.
    pub fn lineage(&self, id: &ObjectId) -> Result<Vec<Version>> {
        let mut lives: HashMap<ObjectId, Life> = HashMap::new();
        let mut wanted = vec![(id.clone(), None)];
        while let Some((id, until)) = wanted.pop() {
            let life = match lives.remove(&id) {
                Some(life) => life,
                None => Life { versions: self.history(&id)?, until: Some(TxId(0)) },
            };
            let until = later(life.until, until);
            if life.until != until {
                let versions = life.versions.iter().rev();
                let before = versions.filter(|version| is_before(version, until));
                wanted.extend(moves(before).map(|(id, at)| (id, Some(at))));
            }
            lives.insert(id, Life { until, ..life });
        }
        let all = lives.into_values().flat_map(|Life { versions, until }| {
            versions.into_iter().filter(move |version| is_before(version, until))
        });
        let latest = self.get(id, AsOf::Latest)?.map(|latest| written(&latest));
        let mut all: Vec<Version> = all.collect();
        // Of a version that was put again the last one, as the latest is.
        all.sort_by_key(|version| std::cmp::Reverse(version.tx_id));
        let mut seen = HashSet::new();
        all.retain(|version| seen.insert((version.envelope.id.clone(), written(version))));
        // An import may keep the latest that this store saw itself. A move writes two versions at
        // once; the one at the new place counts as the newer.
        all.sort_by_key(|version| {
            let is_own = version.envelope.id == *id;
            let is_latest = is_own && latest.as_ref() == Some(&written(version));
            let (time, store, tx_id, hash) = written(version);
            (is_latest, time, store, tx_id, version.content.is_some(), is_own, hash)
        });
        all.reverse();
        Ok(all)
    }
}

/// When and where a version was written first, by which its place is the same in every store.
fn written(version: &Version) -> (Timestamp, String, TxId, Hash) {
    let Origin { store_id, tx_id, time } = &version.origin;
    (*time, store_id.clone(), *tx_id, version.content_hash.clone())
}

/// An object of the lineage, with a bound on its versions.
struct Life {
    versions: Vec<Version>,
    /// Only versions before this transaction belong to the lineage; `None`: all.
    until: Option<TxId>,
}

/// The later of two bounds; no bound is the latest.
fn later(one: Option<TxId>, other: Option<TxId>) -> Option<TxId> {
    Some(one?.max(other?))
}

fn is_before(version: &Version, until: Option<TxId>) -> bool {
    until.is_none_or(|until| version.tx_id < until)
}

/// The moves of an object, in order: the object before, and the transaction.
fn moves<'a>(
    versions: impl Iterator<Item = &'a Version>,
) -> impl Iterator<Item = (ObjectId, TxId)> {
    let mut known = None;
    versions.filter_map(move |version| {
        let from = version.fields.get(MOVED_FROM).and_then(|id| id.as_str());
        let is_new = from != std::mem::replace(&mut known, from);
        from.filter(|_| is_new).map(|from| (ObjectId::new(from), version.tx_id))
    })
}
