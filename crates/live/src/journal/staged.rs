//! Versions of objects that wait for the next commit, found by their object: the first call on a long
//! list stages thousands. Must not know why they are staged.

use std::collections::HashMap;

use base::object::{Envelope, Hash, ObjectId, Payload};
use store::Expected;

/// The versions, in the order in which they were staged.
#[derive(Debug, Default)]
pub(super) struct StagedObjects {
    pub(super) all: Vec<StagedObject>,
    places: HashMap<ObjectId, Vec<usize>>,
}

/// A version.
#[derive(Debug)]
pub(super) struct StagedObject {
    pub(super) envelope: Envelope,
    pub(super) payload: Payload,
    /// `content_hash` of the payload.
    pub(super) version: Hash,
    pub(super) expected: Expected,
}

impl StagedObjects {
    pub(super) fn push(&mut self, object: StagedObject) {
        self.places.entry(object.envelope.id.clone()).or_default().push(self.all.len());
        self.all.push(object);
    }

    /// Those of an object, the newest first.
    pub(super) fn of(&self, id: &ObjectId) -> impl Iterator<Item = &StagedObject> {
        let places = self.places.get(id).map(Vec::as_slice).unwrap_or_default();
        places.iter().rev().map(|place| &self.all[*place])
    }

    /// The newest of an object with this `content_hash`.
    pub(super) fn version(&self, id: &ObjectId, hash: &Hash) -> Option<&StagedObject> {
        self.of(id).find(|one| one.version == *hash)
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
        let hash = |content| text(content).content_hash(None).unwrap();
        let [a, b] = ["a", "b"].map(ObjectId::new);
        for (id, content) in [(&a, "1"), (&b, "2"), (&a, "3"), (&a, "1")] {
            let envelope = Envelope::unsourced(id.clone(), ObjectType::Toolcall).unwrap();
            let (payload, version) = (text(content), hash(content));
            staged.push(StagedObject { envelope, payload, version, expected: Expected::Any });
        }
        let of = |id| staged.of(id).map(|one| one.payload.content.as_deref()).collect::<Vec<_>>();
        assert_eq!(of(&a), [Some("1"), Some("3"), Some("1")]);
        assert_eq!(of(&ObjectId::new("c")), []);
        let has = |id, content| staged.version(id, &hash(content)).is_some();
        assert_eq!([has(&a, "3"), has(&a, "2"), has(&b, "2")], [true, false, true]);
        assert_eq!(staged.all.len(), 4);
    }
}
