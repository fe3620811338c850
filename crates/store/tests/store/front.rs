//! The typed front: transactions, verified reads, version selectors, references; on memory and
//! SQLite.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::object::{
    AsOf, DynamicReference, Envelope, Hash, Nickname, ObjectId, ObjectType, Origin, Payload,
    Reference, Timestamp, TxId, VersionSelector,
};
use base::{Error, Result};
use serde_json::json;
use store::{Expected, Outcome, Receipt, Store, Version};

/// Runs a test on a fresh store of either kind.
fn on_each_store(test: impl Fn(&Store)) {
    test(&Store::open(":memory:").unwrap());
    let folder = tempfile::tempdir().unwrap();
    test(&Store::open(folder.path().join("store.sqlite").to_str().unwrap()).unwrap());
}

fn toolcall(id: &str) -> Envelope {
    Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap()
}

fn chat() -> Envelope {
    Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap()
}

fn payload(text: &str) -> Payload {
    let mut payload = Payload { content: Some(text.to_owned()), ..Payload::default() };
    payload.fields.insert("status".into(), json!("ok"));
    payload
}

fn put(store: &Store, id: &str, text: &str) -> Version {
    let mut transaction = store.begin();
    transaction.put(toolcall(id), payload(text), Expected::Any).unwrap();
    transaction.commit().unwrap();
    store.require(&ObjectId::new(id), AsOf::Latest).unwrap()
}

fn splice(store: &Store, keep: u64, add: &[&str], expected: Expected) -> Result<Receipt> {
    let add = add.iter().map(|text| (*text).to_owned()).collect();
    let mut transaction = store.begin();
    transaction.splice(chat(), Payload::default(), keep, add, expected)?;
    transaction.commit()
}

fn messages(store: &Store, at: AsOf) -> Vec<String> {
    store.items(&chat().id, at, 0..u64::MAX).unwrap()
}

#[test]
fn a_transaction_writes_its_puts_and_names_together() {
    on_each_store(|store| {
        let mut transaction = store.begin();
        assert!(transaction.is_empty());
        transaction
            .put(toolcall("a"), payload("1"), Expected::Absent)
            .unwrap()
            .put(toolcall("b"), payload("2"), Expected::Absent)
            .unwrap()
            .name(Nickname::parse("main").unwrap(), Some(ObjectId::new("a")));
        assert!(!transaction.is_empty());
        assert_eq!(transaction.commit().unwrap().outcomes, [Outcome::Written; 3]);
        let owner = store.find_nickname(&Nickname::parse("main").unwrap()).unwrap();
        assert_eq!(owner, Some(ObjectId::new("a")));
        assert_eq!(store.find_prefix("", 9).unwrap().len(), 2);
        assert_eq!(store.list(ObjectType::Toolcall, None, 9).unwrap().len(), 2);
    });
}

#[test]
fn a_dropped_transaction_leaves_no_trace() {
    on_each_store(|store| {
        store.begin().put(toolcall("a"), payload("1"), Expected::Any).unwrap();
        assert_eq!(store.get(&ObjectId::new("a"), AsOf::Latest).unwrap(), None);
    });
}

#[test]
fn contents_come_back_and_null_stays_null() {
    on_each_store(|store| {
        let version = put(store, "a", "text");
        assert_eq!(store.content(&version).unwrap().as_deref(), Some("text"));
        let mut transaction = store.begin();
        transaction.put(toolcall("a"), Payload::default(), Expected::Any).unwrap();
        transaction.commit().unwrap();
        let deleted = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
        assert_eq!(store.content(&deleted).unwrap(), None);
        assert_eq!(store.content(&version).unwrap().as_deref(), Some("text"));
    });
}

#[test]
fn the_clock_gives_the_time_of_writes() {
    let time = Arc::new(AtomicI64::new(500));
    let clock = Arc::clone(&time);
    let store = Store::open(":memory:").unwrap();
    let store = store.with_clock(Arc::new(move || Timestamp(clock.load(Ordering::Relaxed))));
    assert_eq!(store.now(), Timestamp(500));
    assert_eq!(put(&store, "a", "1").system_time, Timestamp(500));
    time.store(400, Ordering::Relaxed);
    assert_eq!(store.now(), Timestamp(400));
    assert_eq!(put(&store, "a", "2").system_time, Timestamp(500));
    let system = Store::open(":memory:").unwrap().now();
    assert!(system > Timestamp(1_700_000_000_000), "{system}");
}

#[test]
fn items_append_and_are_verified_from_any_position() {
    on_each_store(|store| {
        let first = splice(store, 0, &["a", "b"], Expected::Absent).unwrap().tx_id;
        let second = splice(store, 2, &["c", "d"], Expected::Latest(first)).unwrap().tx_id;
        assert_eq!(messages(store, AsOf::Latest), ["a", "b", "c", "d"]);
        assert_eq!(messages(store, AsOf::Tx(first)), ["a", "b"]);
        assert_eq!(store.items(&chat().id, AsOf::Latest, 1..3).unwrap(), ["b", "c"]);
        assert_eq!(store.items(&chat().id, AsOf::Tx(first), 1..9).unwrap(), ["b"]);
        assert_eq!(store.items(&chat().id, AsOf::Latest, 7..9).unwrap(), [""; 0]);
        splice(store, 1, &[], Expected::Latest(second)).unwrap();
        assert_eq!(messages(store, AsOf::Latest), ["a"]);
        assert_eq!(messages(store, AsOf::Tx(second)), ["a", "b", "c", "d"]);
        let unknown = store.items(&ObjectId::chat("other"), AsOf::Latest, 0..1);
        assert_eq!(unknown.unwrap_err().code(), "NOT_FOUND");
    });
}

#[test]
fn equal_lists_hash_equally_however_they_were_made() {
    on_each_store(|store| {
        let first = splice(store, 0, &["a", "x"], Expected::Absent).unwrap().tx_id;
        let second = splice(store, 1, &["b"], Expected::Latest(first)).unwrap();
        let again = splice(store, 0, &["a", "b"], Expected::Latest(second.tx_id)).unwrap();
        assert_eq!(again.outcomes, [Outcome::Unchanged(second.tx_id)]);
    });
}

#[test]
fn a_splice_is_refused_without_a_definite_base_version() {
    on_each_store(|store| {
        let first = splice(store, 0, &["a"], Expected::Absent).unwrap().tx_id;
        let second = splice(store, 1, &["b"], Expected::Latest(first)).unwrap().tx_id;
        let code = |result: Result<Receipt>| result.unwrap_err().code();
        assert_eq!(code(splice(store, 0, &["x"], Expected::Any)), "INVALID_ARGUMENT");
        assert_eq!(code(splice(store, 1, &["x"], Expected::Absent)), "INVALID_ARGUMENT");
        assert_eq!(code(splice(store, 3, &["x"], Expected::Latest(second))), "INVALID_ARGUMENT");
        assert_eq!(code(splice(store, 1, &["x"], Expected::Latest(first))), "CONFLICT");
        assert_eq!(code(splice(store, 0, &["x"], Expected::Absent)), "CONFLICT");
        let unwritten = Expected::Latest(TxId(second.0 + 9));
        assert_eq!(code(splice(store, 1, &["x"], unwritten)), "CONFLICT");
        let mut transaction = store.begin();
        let refused = transaction.splice(
            toolcall("a"),
            Payload::default(),
            0,
            vec!["x".to_owned()],
            Expected::Absent,
        );
        assert_eq!(refused.unwrap_err().code(), "INVALID_ARGUMENT");
    });
}

#[test]
fn a_put_keeps_the_items_and_hashes_them() {
    on_each_store(|store| {
        let first = splice(store, 0, &["a", "b"], Expected::Absent).unwrap().tx_id;
        let fields = payload("");
        let mut transaction = store.begin();
        let refused = transaction.put(chat(), fields.clone(), Expected::Any).unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT");
        transaction.put(chat(), fields, Expected::Latest(first)).unwrap();
        transaction.commit().unwrap();
        let version = store.require(&chat().id, AsOf::Latest).unwrap();
        assert_eq!(messages(store, AsOf::Latest), ["a", "b"]);
        let reference = Reference::Static(Store::static_reference(&version));
        assert_eq!(store.resolve(&reference).unwrap(), version);
    });
}

#[test]
fn selectors_count_back_from_the_latest() {
    on_each_store(|store| {
        let versions = ["1", "2", "3"].map(|text| put(store, "a", text));
        put(store, "b", "other");
        let id = ObjectId::new("a");
        let select = |selector| store.select(&id, selector);
        assert_eq!(select(VersionSelector::Latest).unwrap(), versions[2]);
        assert_eq!(select(VersionSelector::Back(0)).unwrap(), versions[2]);
        assert_eq!(select(VersionSelector::Back(2)).unwrap(), versions[0]);
        assert_eq!(select(VersionSelector::Tx(versions[1].tx_id)).unwrap(), versions[1]);
        assert_eq!(select(VersionSelector::Back(3)).unwrap_err().code(), "NOT_FOUND");
        assert_eq!(select(VersionSelector::Back(u32::MAX)).unwrap_err().code(), "NOT_FOUND");
        assert_eq!(select(VersionSelector::Tx(TxId(0))).unwrap_err().code(), "NOT_FOUND");
    });
}

#[test]
fn dynamic_references_follow_and_static_ones_stay() {
    on_each_store(|store| {
        let first = put(store, "a", "1");
        let pinned = Reference::Static(Store::static_reference(&first));
        let second = put(store, "a", "2");
        let dynamic = Reference::Dynamic(DynamicReference { id: ObjectId::new("a") });
        assert_eq!(store.resolve(&dynamic).unwrap(), second);
        assert_eq!(store.resolve(&pinned).unwrap(), first);
        let unknown = Reference::Dynamic(DynamicReference { id: ObjectId::new("b") });
        assert_eq!(store.resolve(&unknown).unwrap_err().code(), "NOT_FOUND");
    });
}

#[test]
fn a_static_reference_to_another_payload_names_both_hashes() {
    on_each_store(|store| {
        let version = put(store, "a", "1");
        let mut reference = Store::static_reference(&version);
        reference.content_hash = Hash::of("another payload");
        let expected = reference.content_hash.to_string();
        match store.resolve(&Reference::Static(reference)).unwrap_err() {
            Error::HashMismatch { found, recorded, .. } => {
                assert_eq!((found, recorded), (version.content_hash.to_string(), expected));
            }
            other => panic!("{other}"),
        }
    });
}

#[test]
fn a_static_reference_of_another_store_is_not_local() {
    on_each_store(|store| {
        let version = put(store, "a", "1");
        let mut reference = Store::static_reference(&version);
        let time = version.system_time;
        reference.origin = Origin { store_id: "elsewhere".into(), tx_id: version.tx_id, time };
        let error = store.resolve(&Reference::Static(reference)).unwrap_err();
        assert_eq!(error.code(), "NOT_FOUND");
        assert!(error.to_string().contains("`elsewhere`"), "{error}");
    });
}

#[test]
fn fields_hash_the_same_after_storing() {
    on_each_store(|store| {
        let mut payload = Payload::default();
        // Read back one unit off without serde_json's `float_roundtrip`.
        let numbers = [51.248_178_375_505_404, -93.311_370_376_880_33, 121.487_919_511_619_45];
        payload.fields.insert("numbers".into(), json!(numbers));
        let mut transaction = store.begin();
        transaction.put(toolcall("a"), payload, Expected::Any).unwrap();
        transaction.commit().unwrap();
        let version = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
        let reference = Reference::Static(Store::static_reference(&version));
        assert_eq!(store.resolve(&reference).unwrap(), version);
    });
}

#[test]
fn closing_one_clone_closes_all() {
    on_each_store(|store| {
        let clone = store.clone();
        clone.close().unwrap();
        clone.close().unwrap();
        assert_eq!(store.get(&ObjectId::new("a"), AsOf::Latest).unwrap_err().code(), "CLOSED");
    });
}

#[test]
fn a_store_tells_where_it_is() {
    let memory = Store::open(":memory:").unwrap();
    assert_eq!(memory.path(), ":memory:");
    assert_eq!(format!("{memory:?}"), r#"Store { path: ":memory:", .. }"#);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    assert_eq!(store.path(), path.to_str().unwrap());
}
