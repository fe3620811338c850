//! The part of the `store::Backend` contract that changes stored data: one body per rule, run on
//! every backend.

use std::collections::BTreeMap;

use crate::backends::on_each_backend;
use crate::ops::{file, item_list, op, put, splice};
use base::object::{AsOf, Hash, ObjectId, Redaction, RedactionReason, Timestamp};
use store::{Backend, Change, Expected, Item, Replacement};

const T: Timestamp = Timestamp(1_000);

fn texts(backend: &dyn Backend, id: &ObjectId, at: AsOf) -> Vec<String> {
    backend.items(id, at, 0..u64::MAX).unwrap().into_iter().map(|item| item.text).collect()
}

#[test]
fn a_replacement_takes_text_out_and_keeps_hashes_and_places() {
    on_each_backend(|backend| {
        let upkeep = backend.upkeep().unwrap();
        let list = item_list(&[], &["one", "two", "three"]);
        let first = backend.commit(&[op(splice(0, &list, Expected::Absent))], T).unwrap().tx_id;
        let other = item_list(&list[..1], &["other"]);
        let second = op(splice(1, &other, Expected::Latest(first)));
        let second = backend.commit(&[second], T).unwrap().tx_id;
        let id = ObjectId::chat("s");
        let mark = || "-".to_owned();
        let item = |item: &Item| Item {
            text: mark(),
            running_hash: item.running_hash.clone(),
            redacted: Some(Hash::of("-")),
        };
        let replacement = |position, from, old| Replacement {
            id: id.clone(),
            change: Change::Item { position, from, item: item(old) },
        };
        let replacements = [replacement(0, first, &list[0]), replacement(1, first, &list[1])];
        upkeep.replace(&replacements, &[]).unwrap();
        assert_eq!(texts(backend, &id, AsOf::Tx(first)), ["-", "-", "three"]);
        assert_eq!(texts(backend, &id, AsOf::Latest), ["-", "other"]);
        let found = backend.items(&id, AsOf::Tx(first), 0..9).unwrap();
        let hashes =
            |items: &[Item]| items.iter().map(|i| i.running_hash.clone()).collect::<Vec<_>>();
        assert_eq!(hashes(&found), hashes(&list));
        assert_eq!(found[1].redacted, Some(Hash::of("-")));
        assert_eq!(hashes(&backend.items(&id, AsOf::Latest, 1..2).unwrap()), hashes(&other[1..]));
        // The list goes on from the hash that it had.
        let longer = item_list(&other, &["last"]);
        backend.commit(&[op(splice(2, &longer, Expected::Latest(second)))], T).unwrap();
        assert_eq!(hashes(&backend.items(&id, AsOf::Latest, 0..9).unwrap()), hashes(&longer));
    });
}

#[test]
fn a_turn_of_replacements_applies_as_a_whole_or_not_at_all() {
    on_each_backend(|backend| {
        let upkeep = backend.upkeep().unwrap();
        let first = put(file("/a"), "text", Expected::Any);
        backend.commit(&[op(first.clone())], T).unwrap();
        let replacement = |change| Replacement { id: first.envelope.id.clone(), change };
        let forgotten = || replacement(Change::Forgotten);
        let nameless = replacement(Change::Nameless);
        let unknown = Replacement { id: ObjectId::new("unknown"), change: Change::Forgotten };
        let banned = [Hash::of("other")];
        // The refused one first: a turn that takes long ends after the first.
        let refused = upkeep.replace(&[unknown, forgotten()], &banned).unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT");
        let changed = put(file("/a"), "other", Expected::Any);
        backend.commit(&[op(changed)], T).unwrap();
        upkeep.replace(&[forgotten(), nameless], &banned).unwrap();
        for (path, text) in [("/a", "third"), ("/b", "other")] {
            let again = op(put(file(path), text, Expected::Any));
            assert_eq!(backend.commit(&[again], T).unwrap_err().code(), "FORGOTTEN", "{path}");
        }
        let version = backend.get(&first.envelope.id, AsOf::Latest).unwrap().unwrap();
        assert_eq!((version.envelope.source, version.envelope.id), (None, first.envelope.id));
    });
}

#[test]
fn collecting_only_drops_contents_without_a_version() {
    on_each_backend(|backend| {
        let upkeep = backend.upkeep().unwrap();
        let mut summed = put(file("/a"), "long enough", Expected::Any);
        summed.additional.insert("short_summary".into(), (Hash::of("sum"), "sum".into()));
        backend.commit(&[op(summed.clone())], T).unwrap();
        let second = put(file("/a"), "second", Expected::Any);
        backend.commit(&[op(second)], T).unwrap();
        let kept = put(file("/b"), "kept", Expected::Any);
        backend.commit(&[op(kept)], T).unwrap();
        assert_eq!(upkeep.collect(upkeep.bytes()).unwrap().contents, 0);
        let id = summed.envelope.id;
        let first = backend.history(&id).unwrap().pop().unwrap();
        let redacted =
            Redaction { reason: RedactionReason::Forgotten, found_hash: Hash::of("found") };
        let change = Change::Version {
            tx_id: first.tx_id,
            fields: serde_json::Map::new(),
            content: None,
            additional: BTreeMap::new(),
            redacted: Some(redacted.clone()),
        };
        upkeep.replace(&[Replacement { id: id.clone(), change }], &[]).unwrap();
        let garbage = upkeep.garbage().unwrap();
        assert_eq!((garbage.contents, garbage.content_bytes), (2, 14));
        assert!(backend.content(&Hash::of("sum")).unwrap().is_some());
        assert_eq!(upkeep.collect(upkeep.bytes()).unwrap().contents, 2);
        for (text, there) in
            [("long enough", false), ("sum", false), ("second", true), ("kept", true)]
        {
            assert_eq!(backend.content(&Hash::of(text)).unwrap().is_some(), there, "{text}");
        }
        let version = backend.history(&id).unwrap().pop().unwrap();
        assert_eq!(version.redacted, Some(redacted));
        assert_eq!((version.content, version.content_hash), (None, first.content_hash));
        assert_eq!(upkeep.size().unwrap().versions, 3);
    });
}
