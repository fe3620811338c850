//! Finds pinned references inside JSON by their shape, wherever they are. Must not know a host's
//! formats.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::{Store, Version};
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Origin, StaticReference};

/// Versions that are remembered, so that a file referred to by every message is not read each time.
/// An object with more versions than this is read each time.
const REMEMBERED: usize = 1_000_000;

/// A pinned reference.
enum Pinned {
    /// An object with `id`, `content_hash` and `origin`.
    Static(StaticReference),
    /// An object with `object` and `version`: an ID, and the `content_hash` of one of its versions
    /// or the SHA-256 of an additional content.
    ByHash(ObjectId, Hash),
}

/// What references may name among an object's versions. Hashes are shortened, because a million of
/// them are kept.
#[derive(Default)]
struct Known {
    /// The `content_hash` of each version and the SHA-256 of each of its additional contents.
    named: HashSet<u128>,
    /// Content hash and origin of each version.
    pinned: HashSet<u128>,
    /// Whether text was removed from a version; its additional contents are then unknown.
    is_redacted: bool,
    versions: usize,
}

impl Known {
    fn of(versions: Vec<Version>) -> Self {
        let mut known = Self { versions: versions.len(), ..Self::default() };
        for version in versions {
            known.is_redacted |= version.redacted.is_some();
            known.named.insert(short(&version.content_hash));
            known.named.extend(version.additional.values().map(short));
            known.pinned.insert(short_of(&version.content_hash, &version.origin));
        }
        known
    }

    fn is_named(&self, hash: &Hash) -> bool {
        self.is_redacted || self.named.contains(&short(hash))
    }
}

/// Half of a hash.
fn short(hash: &Hash) -> u128 {
    let bytes = hash.to_bytes().unwrap_or_default();
    bytes.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn short_of(content_hash: &Hash, origin: &Origin) -> u128 {
    short(&Hash::of(format!("{content_hash} {} {}", origin.store_id, origin.tx_id.0)))
}

/// Looks up the versions that references pin.
pub(super) struct References<'a> {
    store: &'a Store,
    known: HashMap<ObjectId, Known>,
    remembered: usize,
    /// References checked so far.
    pub(super) checked: u64,
}

impl<'a> References<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, known: HashMap::new(), remembered: 0, checked: 0 }
    }

    /// The references in a version's fields whose version the store lacks.
    pub(super) fn in_fields(&mut self, fields: &Map<String, Value>) -> Result<Vec<String>> {
        let mut pinned = Vec::new();
        fields.values().for_each(|value| collect(value, &mut pinned));
        collect_from(fields, &mut pinned);
        self.dangling(pinned)
    }

    /// The same for an item, if it is JSON.
    pub(super) fn in_item(&mut self, text: &str) -> Result<Vec<String>> {
        if !text.contains("\"content_hash\"") && !text.contains("\"version\"") {
            return Ok(Vec::new());
        }
        let mut pinned = Vec::new();
        if let Ok(value) = serde_json::from_str(text) {
            collect(&value, &mut pinned);
        }
        self.dangling(pinned)
    }

    fn dangling(&mut self, pinned: Vec<Pinned>) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        for pinned in pinned {
            self.checked += 1;
            let problem = match pinned {
                Pinned::ByHash(id, hash) => {
                    let held = self.versions(&id)?.is_named(&hash);
                    (!held).then(|| format!("refers to version `{hash}` of `{id}`"))
                }
                Pinned::Static(StaticReference { id, content_hash, origin }) => {
                    let pin = short_of(&content_hash, &origin);
                    let held = self.versions(&id)?.pinned.contains(&pin);
                    (!held).then(|| {
                        format!(
                            "refers to version `{content_hash}` of `{id}`, from transaction {} of store `{}`",
                            origin.tx_id, origin.store_id
                        )
                    })
                }
            };
            problems.extend(problem.map(|problem| problem + ", which the store does not hold"));
        }
        Ok(problems)
    }

    /// What references may name among the versions of an object, including those from before a
    /// move: a session refers to these by the file's present ID.
    fn versions(&mut self, id: &ObjectId) -> Result<&Known> {
        if self.remembered > REMEMBERED {
            self.known.clear();
            self.remembered = 0;
        }
        if !self.known.contains_key(id) {
            let known = self.store.lineage(id).or_else(|_| self.store.history(id));
            let history = match known {
                Err(error @ Error::Closed { .. }) => return Err(error),
                // Damage has its own finding; to a reference an unreadable version is absent.
                known => known.unwrap_or_default(),
            };
            let known = Known::of(history);
            self.remembered += known.versions + 1;
            self.known.insert(id.clone(), known);
        }
        Ok(&self.known[id])
    }
}

fn collect(value: &Value, found: &mut Vec<Pinned>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        Value::Object(map) => {
            collect_from(map, found);
            map.values().for_each(|value| collect(value, found));
        }
        _ => {}
    }
}

/// Reads a JSON object as a reference, if it is one.
fn collect_from(map: &Map<String, Value>, found: &mut Vec<Pinned>) {
    if let (Some(Value::String(object)), Some(Value::String(version))) =
        (map.get("object"), map.get("version"))
    {
        let hash = Hash::from_stored(version.as_str());
        if hash.to_bytes().is_some() {
            found.push(Pinned::ByHash(ObjectId::new(object.as_str()), hash));
        }
    }
    if map.contains_key("content_hash") && map.contains_key("origin") {
        let reference = serde_json::from_value(Value::Object(map.clone()));
        found.extend(reference.ok().map(Pinned::Static));
    }
}
