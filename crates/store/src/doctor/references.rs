//! Finds pinned references inside JSON by their shape, wherever they are. Must not know a host's
//! formats.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::rules::objects;
use crate::{Store, Version};
use base::error::{Error, Result};
use base::object::{Hash, ObjectId, Origin, StaticReference};

/// Versions that are remembered, so that a file referred to by every message is not read each time.
/// An object with more versions than this is read each time.
const REMEMBERED: usize = 1_000_000;

/// What references may name among an object's versions. Hashes are shortened, because a million of
/// them are kept.
#[derive(Default)]
struct ReferenceTargets {
    /// The `content_hash` of each version and the SHA-256 of each of its additional contents.
    named: HashSet<u128>,
    /// Content hash and origin of each version.
    pinned: HashSet<u128>,
    /// Whether text was removed from a version; its additional contents are then unknown.
    is_redacted: bool,
    versions: usize,
}

impl ReferenceTargets {
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
    known: HashMap<ObjectId, ReferenceTargets>,
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
        self.dangling(fields.values().flat_map(objects).chain([fields]))
    }

    /// The same for an item, if it is JSON.
    pub(super) fn in_item(&mut self, text: &str) -> Result<Vec<String>> {
        if !text.contains("\"content_hash\"") && !text.contains("\"version\"") {
            return Ok(Vec::new());
        }
        self.dangling(objects(&serde_json::from_str(text).unwrap_or_default()))
    }

    fn dangling<'v>(
        &mut self,
        objects: impl Iterator<Item = &'v Map<String, Value>>,
    ) -> Result<Vec<String>> {
        let mut problems = Vec::new();
        for members in objects {
            // An ID, and the `content_hash` of one of its versions or the SHA-256 of an additional
            // content.
            let text = |name: &str| members.get(name).and_then(Value::as_str);
            if let Some((id, version)) = text("object").zip(text("version")) {
                let hash = Hash::from_stored(version);
                let is_hash = hash.to_bytes().is_some();
                if is_hash && !self.versions(&ObjectId::new(id))?.is_named(&hash) {
                    problems.push(format!("refers to version `{hash}` of `{id}`"));
                }
                self.checked += u64::from(is_hash);
            }
            if members.contains_key("content_hash") && members.contains_key("origin") {
                let reference = serde_json::from_value(Value::Object(members.clone()));
                let Ok(StaticReference { id, content_hash, origin }) = reference else { continue };
                let pin = short_of(&content_hash, &origin);
                if !self.versions(&id)?.pinned.contains(&pin) {
                    problems.push(format!(
                        "refers to version `{content_hash}` of `{id}`, from transaction {} of store `{}`",
                        origin.tx_id, origin.store_id
                    ));
                }
                self.checked += 1;
            }
        }
        let lacked = problems.into_iter().map(|it| it + ", which the store does not hold");
        Ok(lacked.collect())
    }

    /// What references may name among the versions of an object, including those from before a
    /// move: a session refers to these by the file's present ID.
    fn versions(&mut self, id: &ObjectId) -> Result<&ReferenceTargets> {
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
            let known = ReferenceTargets::of(history);
            self.remembered += known.versions + 1;
            self.known.insert(id.clone(), known);
        }
        Ok(&self.known[id])
    }
}
