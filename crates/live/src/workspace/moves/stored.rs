//! Moves that other sessions stored: a file in the store names the object that it was before.
//!
//! Must not record anything.

use std::collections::HashSet;
use std::path::Path;

use serde_json::json;

use super::{Candidate, Vanished};
use crate::LiveSession;
use crate::journal::Journal;
use base::error::{Error, Result};
use base::object::{AsOf, FieldPath, ObjectId, ObjectType, Source};
use store::{Condition, MOVED_FROM, Order, Query, Store, Test, Version};

/// Maximum number of consecutive moves of one file that other sessions may have stored.
const MAX_MOVES: usize = 16;
/// Maximum number of files that may name one object as their earlier one.
const MAX_SUCCESSORS: u64 = 8;
/// Maximum number of moved files in the store whose earlier object is read, those written last
/// first.
const MAX_MOVED: u64 = 1_000;

impl LiveSession {
    /// The place to which another session followed the file. `origins`: see [`origins`].
    pub(super) fn where_stored(
        &self,
        file: &Vanished,
        origins: &HashSet<ObjectId>,
    ) -> Result<Option<Candidate>> {
        if !origins.contains(&file.object) {
            return Ok(None);
        }
        let mut object = file.object.clone();
        for _ in 0..MAX_MOVES {
            let Some(next) = successor(&self.journal.store, &object)? else { return Ok(None) };
            if let Some(Source::Filesystem { filesystem_id, path }) = &next.envelope.source {
                let known = self.disk.namespace.known(filesystem_id, Path::new(path));
                let place = self.disk.led_to(&known);
                if let Some(found) = self.candidate(file, place)? {
                    return Ok(Some(Candidate { is_stored: true, ..found }));
                }
            }
            object = next.envelope.id;
        }
        Ok(None)
    }
}

/// The earlier objects of files in the store, from before one or several moves.
pub(super) fn origins(journal: &Journal) -> Result<HashSet<ObjectId>> {
    let store = &journal.store;
    let origin = |version: &Version| version.fields.get(MOVED_FROM)?.as_str().map(ObjectId::new);
    let tx_id = Order { field: FieldPath::key("tx_id"), descending: true };
    let moved = Condition::Test(FieldPath::key(MOVED_FROM), Test::Exists);
    let query = Query { condition: Some(moved), order: vec![tx_id], ..Query::default() };
    let moved = files_found(store, &query.within(Some(ObjectType::File), Some(MAX_MOVED)))?;
    let mut wanted: Vec<ObjectId> = moved.iter().filter_map(origin).collect();
    let mut origins = HashSet::new();
    while let Some(id) = wanted.pop() {
        if origins.insert(id.clone()) {
            wanted.extend(store.history(&id)?.iter().filter_map(origin));
        }
    }
    Ok(origins)
}

/// The newest file that the store names as the continuation of an object, from the time since the
/// object had no content.
fn successor(store: &Store, object: &ObjectId) -> Result<Option<Version>> {
    let mut own = store.history(object)?;
    own.retain(|version| version.envelope.id == *object);
    let gone = own.iter().take_while(|version| version.source_hash.is_none()).last();
    let last = own.iter().find(|version| version.source_hash.is_some());
    let last = last.map(|version| version.tx_id);
    let mut found = named_as_origin(store, object, AsOf::Latest)?;
    if let Some(gone) = gone {
        // It may have moved on from there.
        found.extend(named_as_origin(store, object, AsOf::Tx(gone.tx_id))?);
    }
    let mut newest = None;
    for version in found {
        let names = |version: &&Version| version.fields.get(MOVED_FROM) == Some(&json!(object));
        let versions = store.history(&version.envelope.id)?;
        let since = versions.iter().filter(names).map(|version| version.tx_id);
        let since = since.filter(|tx_id| Some(*tx_id) > last).min();
        if since.is_some() && newest.as_ref().is_none_or(|(tx_id, _)| *tx_id < since) {
            newest = Some((since, version));
        }
    }
    Ok(newest.map(|(_, version)| version))
}

/// Files whose `moved_from` at a time is this object.
fn named_as_origin(store: &Store, object: &ObjectId, at: AsOf) -> Result<Vec<Version>> {
    let moved = Condition::is_text(FieldPath::key(MOVED_FROM), object.as_str());
    let query = Query::matching(moved).within(Some(ObjectType::File), Some(MAX_SUCCESSORS));
    files_found(store, &Query { at, ..query })
}

fn files_found(store: &Store, query: &Query) -> Result<Vec<Version>> {
    match store.query(query) {
        // No file of the store was ever moved.
        Err(Error::UnknownField { .. }) => Ok(Vec::new()),
        found => found,
    }
}
