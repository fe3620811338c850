//! Versions of objects that wait for the next commit, found by their object: the first call on a long
//! list stages thousands. Must not know why they are staged.

use std::cell::OnceCell;
use std::collections::HashMap;

use base::error::Result;
use base::object::{Envelope, Hash, ObjectId, Payload};
use store::Expected;

/// The versions, in the order in which they were staged.
#[derive(Debug, Default)]
pub(super) struct StagedObjects {
    all: Vec<StagedObject>,
    places: HashMap<ObjectId, Vec<usize>>,
}

/// A version.
#[derive(Debug)]
pub(super) struct StagedObject {
    pub(super) envelope: Envelope,
    pub(super) payload: Payload,
    pub(super) expected: Expected,
    hash: OnceCell<Hash>,
}

impl StagedObjects {
    pub(super) fn push(&mut self, envelope: Envelope, payload: Payload, expected: Expected) {
        self.places.entry(envelope.id.clone()).or_default().push(self.all.len());
        self.all.push(StagedObject { envelope, payload, expected, hash: OnceCell::new() });
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &StagedObject> {
        self.all.iter()
    }

    /// Those of an object, the newest first.
    pub(super) fn of(&self, id: &ObjectId) -> impl Iterator<Item = &StagedObject> {
        let places = self.places.get(id).map(Vec::as_slice).unwrap_or_default();
        places.iter().rev().map(|place| &self.all[*place])
    }

    /// The newest of an object with this `content_hash`.
    pub(super) fn version(&self, id: &ObjectId, hash: &Hash) -> Result<Option<&StagedObject>> {
        for one in self.of(id) {
            if one.content_hash()? == hash {
                return Ok(Some(one));
            }
        }
        Ok(None)
    }
}

impl IntoIterator for StagedObjects {
    type Item = StagedObject;
    type IntoIter = std::vec::IntoIter<StagedObject>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.into_iter()
    }
}

impl StagedObject {
    /// Hash of the payload.
    pub(super) fn content_hash(&self) -> Result<&Hash> {
        if let Some(hash) = self.hash.get() {
            return Ok(hash);
        }
        let hash = self.payload.content_hash(None)?;
        Ok(self.hash.get_or_init(|| hash))
    }
}

#[cfg(test)]
mod tests {
    use base::object::ObjectType;

    use super::*;

    #[test]
    fn versions_are_found_by_their_object_the_newest_first() {
        let mut staged = StagedObjects::default();
        let text = |text: &str| Payload { content: Some(text.to_owned()), ..Payload::default() };
        let [a, b] = ["a", "b"].map(ObjectId::new);
        for (id, content) in [(&a, "1"), (&b, "2"), (&a, "3"), (&a, "1")] {
            let envelope = Envelope::unsourced(id.clone(), ObjectType::Toolcall).unwrap();
            staged.push(envelope, text(content), Expected::Any);
        }
        let of = |id| staged.of(id).map(|one| one.payload.content.as_deref()).collect::<Vec<_>>();
        assert_eq!(of(&a), [Some("1"), Some("3"), Some("1")]);
        assert_eq!(of(&ObjectId::new("c")), []);
        let hash = |content| text(content).content_hash(None).unwrap();
        let has = |id, content| staged.version(id, &hash(content)).unwrap().is_some();
        assert_eq!([has(&a, "3"), has(&a, "2"), has(&b, "2")], [true, false, true]);
        assert_eq!(staged.into_iter().count(), 4);
    }
}
