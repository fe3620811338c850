//! Documents as users extend them, and odd input: unknown fields, references written down, strange
//! IDs, huge texts.

use std::sync::Arc;

use crate::ops::{content, file, item_list, op, put, splice};
use base::object::{
    AsOf, Envelope, Hash, Name, Nickname, ObjectId, ObjectType, Payload, RESERVED_FIELDS,
    Reference, Timestamp, TxId, metadata_line,
};
use serde_json::{Value, json};
use store::{Backend, Expected, Op, Put, Query, SqliteBackend, Store};

/// Runs a rule on a fresh backend of either kind and the store on it.
fn on_each_backend(rule: impl Fn(&Arc<dyn Backend>, &Store)) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap();
    let backends: [Arc<dyn Backend>; 2] =
        [Arc::new(SqliteBackend::in_memory().unwrap()), Arc::new(sqlite)];
    for backend in backends {
        rule(&backend, &Store::with_backend(Arc::clone(&backend)));
    }
}

fn toolcall(id: &str) -> Envelope {
    Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap()
}

fn payload(fields: Value) -> Payload {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    Payload { content: Some("text\n".into()), fields, ..Payload::default() }
}

fn write(store: &Store, id: &str, payload: &Payload) -> TxId {
    let mut transaction = store.begin();
    transaction.put(toolcall(id), payload.clone(), Expected::Any).unwrap();
    transaction.commit().unwrap().tx_id
}

#[test]
fn unknown_fields_survive_a_re_open_and_count_into_the_hash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut document = payload(json!({
        "status": "ok", "mine": {"é \"": [1, 2.5, null, {"deep": true}], "big": u64::MAX}, "": "",
    }));
    document.additional.insert("short_summary".into(), "greets\n".into());
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let first = write(&store, "a", &document);
    store.close().unwrap();

    let store = Store::open(path.to_str().unwrap()).unwrap();
    let version = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
    assert_eq!(store.payload(&version).unwrap(), document);
    assert_eq!(version.content_hash, document.content_hash(None).unwrap());
    assert_eq!(version.additional["short_summary"], Hash::of("greets\n"));
    store.verify(&version).unwrap();
    assert_eq!(write(&store, "a", &document), first, "an equal payload makes no version");

    let mut hashes = vec![version.content_hash];
    for change in [
        |payload: &mut Payload| payload.fields["mine"]["big"] = json!(u64::MAX - 1),
        |payload: &mut Payload| payload.fields["mine"]["é \""][3]["deep"] = json!(false),
        |payload: &mut Payload| drop(payload.fields.insert("new".into(), json!(null))),
        |payload: &mut Payload| drop(payload.additional.insert("short_summary".into(), "x".into())),
    ] {
        change(&mut document);
        write(&store, "a", &document);
        hashes.push(store.require(&ObjectId::new("a"), AsOf::Latest).unwrap().content_hash);
    }
    let history = store.history(&ObjectId::new("a")).unwrap();
    let listed: Vec<_> = history.into_iter().rev().map(|version| version.content_hash).collect();
    assert_eq!(listed, hashes, "every change made a version with its hash");
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 5);
}

#[test]
fn fields_that_would_stand_for_something_else_are_refused() {
    on_each_backend(|_, store| {
        for name in RESERVED_FIELDS {
            let mut transaction = store.begin();
            transaction.put(toolcall("a"), payload(json!({name: 1})), Expected::Any).unwrap();
            let error = transaction.commit().unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENT");
            assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
        }
    });
}

#[test]
fn fields_are_refused_where_they_could_not_be_read_back() {
    let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    on_each_backend(|_, store| {
        let deepest = payload(json!({"deep": nested(100)}));
        write(store, "a", &deepest);
        let version = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
        assert_eq!(store.payload(&version).unwrap(), deepest);
        let mut transaction = store.begin();
        let deeper = payload(json!({"deep": nested(101)}));
        transaction.put(toolcall("a"), deeper, Expected::Any).unwrap();
        assert_eq!(transaction.commit().unwrap_err().code(), "INVALID_ARGUMENT");
    });
}

#[test]
fn a_metadata_line_follows_the_objects_view() {
    on_each_backend(|_, store| {
        let mut document = payload(json!({"view": ["short_summary", "args.command"],
            "args": {"command": "ls"}, "tool": "bash"}));
        document.additional.insert("short_summary".into(), "lists".into());
        write(store, "a", &document);
        let version = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
        let line = metadata_line(&store.metadata_view(&version).unwrap());
        assert_eq!(line, "id=a type=toolcall short_summary=lists args.command=ls");
    });
}

#[test]
fn a_static_reference_resolves_later_and_elsewhere() {
    on_each_backend(|_, store| {
        write(store, "a", &payload(json!({"n": 1})));
        let version = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
        let reference = Reference::Static(Store::static_reference(&version));
        write(store, "a", &payload(json!({"n": 2})));
        assert_eq!(store.resolve(&reference).unwrap(), version);

        // Another store that took the version over, under a transaction of its own.
        let other: Arc<dyn Backend> = Arc::new(SqliteBackend::in_memory().unwrap());
        other.commit(&[op(put(file("/x"), "x", Expected::Any))], Timestamp(1)).unwrap();
        let foreign = Put {
            fields: version.fields.clone(),
            content_hash: version.content_hash.clone(),
            content: Some((Hash::of("text\n"), "text\n".into())),
            source_hash: None,
            origin: Some(version.origin.clone()),
            ..put(toolcall("a"), "", Expected::Any)
        };
        other.commit(&[op(foreign)], Timestamp(2)).unwrap();
        let found = Store::with_backend(other).resolve(&reference).unwrap();
        assert_eq!((found.tx_id, found.origin), (TxId(2), version.origin));
    });
}

#[test]
fn a_name_with_a_time_selects_the_version_of_that_time() {
    on_each_backend(|backend, store| {
        let id = file("/a").id;
        for (text, time) in [("1", 1_000), ("2", 2_000)] {
            backend.commit(&[op(put(file("/a"), text, Expected::Any))], Timestamp(time)).unwrap();
        }
        let name = Name::parse("x@1970-01-01T00:00:01.999Z").unwrap();
        assert_eq!(store.select(&id, name.version).unwrap(), store.history(&id).unwrap()[1]);
    });
}

#[test]
fn a_nickname_that_is_taken_names_its_object() {
    on_each_backend(|backend, _| {
        let nickname = Nickname::parse("main").unwrap();
        let give = |id: &str| Op::Name { nickname: nickname.clone(), id: Some(ObjectId::new(id)) };
        let calls = ["a", "b"].map(|id| op(put(toolcall(id), id, Expected::Any)));
        backend.commit(&calls, Timestamp(1)).unwrap();
        backend.commit(&[give("a")], Timestamp(1)).unwrap();
        let error = backend.commit(&[give("b")], Timestamp(1)).unwrap_err();
        assert_eq!(error.code(), "INVALID_NICKNAME");
        assert_eq!(error.to_string(), "`main` cannot be a nickname: the object `a` has it");
    });
}

#[test]
fn ids_of_odd_characters_work_everywhere() {
    let long = "x".repeat(10_000);
    let odd = [
        "",
        " ",
        "a b",
        "'\"`",
        "a@1",
        "line\nbreak",
        "nul\0nul",
        "nul\0",
        "👍",
        "%_\\",
        "-",
        "é",
        long.as_str(),
    ];
    on_each_backend(|backend, store| {
        let nickname = |place: usize| Nickname::parse(&format!("name-{place}")).unwrap();
        for (place, id) in odd.iter().enumerate() {
            let name = Op::Name { nickname: nickname(place), id: Some(ObjectId::new(*id)) };
            backend
                .commit(&[op(put(toolcall(id), id, Expected::Any)), name], Timestamp(1))
                .unwrap();
        }
        for (place, id) in odd.iter().enumerate() {
            let id = ObjectId::new(*id);
            let version = store.require(&id, AsOf::Latest).unwrap();
            assert_eq!(content(&**backend, &version).as_deref(), Some(id.as_str()));
            assert_eq!(store.find_prefix(id.as_str(), 9).unwrap()[0], id);
            assert_eq!(store.find_nickname(&nickname(place)).unwrap(), Some(id.clone()));
            assert_eq!(store.nicknames(&id).unwrap(), [nickname(place)]);
            let query = Query::parse(&format!("id = {}", Value::from(id.as_str()))).unwrap();
            assert_eq!(store.query(&query).unwrap(), std::slice::from_ref(&version));
        }
        let mut sorted: Vec<_> = odd.iter().map(|id| ObjectId::new(*id)).collect();
        sorted.sort();
        let listed = store.list(ObjectType::Toolcall, None, 99).unwrap();
        let listed: Vec<_> = listed.into_iter().map(|version| version.envelope.id).collect();
        assert_eq!(listed, sorted);
    });
}

#[test]
fn a_document_of_many_megabytes_is_stored_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store.sqlite").to_str().unwrap()).unwrap();
    let line = "A line of a long log, \"quoted\", é, and its end.\n";
    let bytes = if testing::cases::is_long() { 100_000_000 } else { 8_000_000 };
    let text = line.repeat(bytes / line.len() + 1);
    let document = Payload { content: Some(text), ..Payload::default() };
    write(&store, "huge", &document);
    let version = store.require(&ObjectId::new("huge"), AsOf::Latest).unwrap();
    assert!(store.content(&version).unwrap() == document.content);
}

#[test]
fn a_text_beyond_the_stores_limit_is_refused_with_both_numbers() {
    on_each_backend(|backend, store| {
        let huge = " ".repeat((256 << 20) + 1);
        let mut items = splice(0, &item_list(&[], &["x"]), Expected::Any);
        items.items.as_mut().unwrap().add[0].text.clone_from(&huge);
        let mut text = put(toolcall("huge"), "", Expected::Any);
        text.content = Some((Hash::of(""), huge));
        for (put, id) in [(text, "huge"), (items, "chat:s")] {
            let error = backend.commit(&[op(put)], Timestamp(1)).unwrap_err();
            let message =
                format!("`content` of `{id}` has 268435457 bytes, the store takes 268435456");
            assert_eq!((error.code(), error.to_string()), ("INVALID_ARGUMENT", message));
            assert_eq!(store.get(&ObjectId::new(id), AsOf::Latest).unwrap(), None);
        }
    });
}
