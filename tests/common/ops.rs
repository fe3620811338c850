//! Short ways to write operations, for tests on backends.

use std::collections::BTreeMap;

use base::object::{
    Envelope, Hash, ObjectId, ObjectType, Payload, RunningHash, Source, file_fields,
};
use store::{Backend, Expected, Item, Op, Put, Splice, Version};

pub(crate) fn op(put: Put) -> Op {
    Op::Put(Box::new(put))
}

pub(crate) fn file(path: &str) -> Envelope {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    Envelope::sourced(ObjectType::File, source).unwrap()
}

/// A put of a text, its raw bytes being the text's.
pub(crate) fn put(envelope: Envelope, text: &str, expected: Expected) -> Put {
    let payload = Payload {
        content: Some(text.to_owned()),
        source_hash: Some(Hash::of(text)),
        fields: file_fields("/a", Some(text)),
        ..Payload::default()
    };
    Put {
        envelope,
        source_hash: payload.source_hash.clone(),
        content_hash: payload.content_hash(None).unwrap(),
        fields: payload.fields,
        content: Some((Hash::of(text), text.to_owned())),
        items: None,
        additional: BTreeMap::new(),
        origin: None,
        redacted: None,
        expected,
    }
}

/// A put that makes `list` the items of `chat:s`, of which it has the first `keep`.
pub(crate) fn splice(keep: u64, list: &[Item], expected: Expected) -> Put {
    let empty = RunningHash::default();
    let hash = list.last().map_or(empty.hash(), |item| &item.running_hash);
    let add = list[usize::try_from(keep).unwrap().min(list.len())..].to_vec();
    Put {
        envelope: Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap(),
        source_hash: None,
        content_hash: Payload::default().content_hash(Some(hash)).unwrap(),
        fields: serde_json::Map::new(),
        content: None,
        items: Some(Splice { keep, add }),
        additional: BTreeMap::new(),
        origin: None,
        redacted: None,
        expected,
    }
}

/// `list` and `add`, with their running hashes.
pub(crate) fn item_list(list: &[Item], add: &[&str]) -> Vec<Item> {
    let mut items = list.to_vec();
    let mut running = list
        .last()
        .map_or_else(RunningHash::default, |i| RunningHash::from_stored(i.running_hash.clone()));
    for text in add {
        items.push(Item {
            text: (*text).to_owned(),
            running_hash: running.push(text),
            redacted: None,
        });
    }
    items
}

pub(crate) fn content(backend: &dyn Backend, version: &Version) -> Option<String> {
    version.content.as_ref().and_then(|hash| backend.content(hash).unwrap())
}
