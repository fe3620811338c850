//! Finds pinned references inside JSON by their shape, wherever they are. Must not know a host's formats.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::object::{Hash, ObjectId, Origin, StaticReference};
use crate::store::{Store, Version};

/// Objects whose versions are cached, so that a file which every message refers to is not read each time.
const REMEMBERED: usize = 20_000;

/// A pinned reference.
enum Pinned {
    /// An object with `id`, `content_hash` and `origin`.
    Static(StaticReference),
    /// An object with `object` and `version`: an ID, and the `content_hash` of one of its versions or the SHA-256 of an additional
    /// content.
    ByHash(ObjectId, Hash),
}

/// What references may say of a version.
struct Known {
    content_hash: Hash,
    origin: Origin,
    additional: Vec<Hash>,
    /// Whether text was removed from it; which additional contents it had is then not known.
    is_redacted: bool,
}

impl Known {
    fn is_named(&self, hash: &Hash) -> bool {
        self.content_hash == *hash || self.additional.contains(hash) || self.is_redacted
    }
}

impl From<Version> for Known {
    fn from(version: Version) -> Self {
        Self {
            is_redacted: version.redacted.is_some(),
            additional: version.additional.into_values().collect(),
            content_hash: version.content_hash,
            origin: version.origin,
        }
    }
}

/// Looks up the versions that references pin.
pub(super) struct References<'a> {
    store: &'a Store,
    known: HashMap<ObjectId, Vec<Known>>,
    remembered: usize,
    checked: u64,
}

impl<'a> References<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, known: HashMap::new(), remembered: 0, checked: 0 }
    }

    /// References checked so far.
    pub(super) fn checked(&self) -> u64 {
        self.checked
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
                    let held = self.versions(&id)?.iter().any(|known| known.is_named(&hash));
                    (!held).then(|| format!("refers to version `{hash}` of `{id}`"))
                }
                Pinned::Static(StaticReference { id, content_hash, origin }) => {
                    let same = |known: &Known| {
                        known.content_hash == content_hash
                            && known.origin.store_id == origin.store_id
                            && known.origin.tx_id == origin.tx_id
                    };
                    let held = self.versions(&id)?.iter().any(same);
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

    /// What references may say of each version of an object, including those from before a move: a session refers to these by
    /// the file's present ID.
    fn versions(&mut self, id: &ObjectId) -> Result<&[Known]> {
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
            let versions: Vec<Known> = history.into_iter().map(Known::from).collect();
            self.remembered += versions.len() + 1;
            self.known.insert(id.clone(), versions);
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
