//! What a person no longer wants kept: sessions that nobody went on with, and outputs in the search
//! index.

use std::sync::Arc;

use base::object::{
    AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, Source, Timestamp, file_fields,
};
use serde_json::json;
use store::{
    Aged, Expected, ForgetOptions, Garbage, GcOptions, IndexedFolder, SearchQuery, SearchedOutputs,
    Store, doctor,
};

use crate::forget::{COLLECT, REAL, open, place, repeated_call, session, toolcall, traces, write};
use std::time::Duration;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// The store as somebody finds it after so many days.
fn after(days: i64, store: Store) -> Store {
    store.with_clock(Arc::new(move || Timestamp(days * DAY)))
}

/// Drops what was not used for a number of days.
fn unused_for(days: u32) -> GcOptions {
    let day = Duration::from_secs(24 * 60 * 60);
    GcOptions { unused_for: Some(day * days), ..COLLECT }
}

fn file(store: &Store, path: &str, text: &str) -> ObjectId {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    let envelope = Envelope::sourced(ObjectType::File, source).unwrap();
    let id = envelope.id.clone();
    let fields = file_fields(path, Some(text));
    let payload = Payload { content: Some(text.to_owned()), fields, ..Payload::default() };
    let mut transaction = store.begin();
    transaction.put(envelope, payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
    id
}

/// A session in which an output said something.
fn call(store: &Store, key: &str, said: &str) -> ObjectId {
    let id = ObjectId::new(format!("call_{key}"));
    let fields = json!({ "tool": "bash", "args": { "command": format!("run {key}") },
        "chat_ref": ObjectId::chat(key) });
    write(store, toolcall(id.as_str()), said, fields);
    id
}

fn name(store: &Store, nickname: &str, id: &ObjectId) {
    let mut transaction = store.begin();
    transaction.name(Nickname::parse(nickname).unwrap(), Some(id.clone()));
    transaction.commit().unwrap();
}

fn holds(store: &Store, id: &ObjectId) -> bool {
    store.get(id, AsOf::Latest).unwrap().is_some()
}

fn hits(store: &Store, text: &str) -> Vec<ObjectId> {
    let found = store.search(&SearchQuery::new(text)).unwrap();
    found.hits.into_iter().map(|hit| hit.id).collect()
}

fn said(text: &str) -> serde_json::Value {
    json!({ "turn": 1, "message": { "role": "user", "content": text } })
}

#[test]
fn old_sessions_go_with_what_only_they_know() {
    let (_folder, path) = place();
    let store = after(10, open(&path));
    let own = call(&store, "old", "only the zebra said so\n");
    let named = call(&store, "named", "somebody wants this\n");
    name(&store, "wanted", &named);
    let shared = call(&store, "shared", "both know it\n");
    let [alone, both, indexed] = ["/work/alone.md", "/work/both.md", "/vault/note.md"]
        .map(|path| file(&store, path, &format!("a text at {path}\n")));
    let folder = IndexedFolder { filesystem_id: "fs".into(), path: "/vault".into() };
    store.upkeep("test").unwrap().add_folder(&folder).unwrap();
    session(
        &store,
        "old",
        &[&own, &named, &shared, &alone, &both, &indexed],
        &[said("look at the zebra")],
    );
    let store = after(100, store);
    session(&store, "new", &[&shared, &both], &[said("go on")]);
    let store = after(110, store);
    let expected = Aged { sessions: 1, kept: 0, objects: 4, text_bytes: 0 };
    let check = |aged: Option<Aged>| {
        let aged = aged.unwrap();
        assert!(aged.text_bytes > 40, "{aged:?}");
        assert_eq!(Aged { text_bytes: 0, ..aged }, expected);
    };
    assert_eq!(store.gc(GcOptions { dry_run: true, ..unused_for(101) }).unwrap().aged.unwrap(), {
        Aged::default()
    });
    check(store.gc(GcOptions { dry_run: true, ..unused_for(99) }).unwrap().aged);
    assert!(holds(&store, &own));
    check(store.gc(unused_for(99)).unwrap().aged);
    for gone in [&own, &alone, &ObjectId::session("old"), &ObjectId::chat("old")] {
        assert!(!holds(&store, gone), "{gone}");
    }
    for kept in [&named, &shared, &both, &indexed, &ObjectId::session("new")] {
        assert!(holds(&store, kept), "{kept}");
    }
    assert_eq!(hits(&store, "zebra"), []);
    assert_eq!(doctor::check(&store).unwrap().findings, []);
    // Nothing was forgotten: its host may go on with it.
    let again = call(&store, "old", "only the zebra said so\n");
    session(&store, "old", &[&again], &[said("look at the zebra")]);
    assert_eq!(hits(&store, "zebra").len(), 2);
    store.close().unwrap();
}

#[test]
fn an_old_call_goes_though_a_later_one_has_its_id() {
    let (_folder, path) = place();
    let store = after(10, open(&path));
    let (own, answered) = repeated_call(&store, "call_1", "old", "the zebra said so");
    session(&store, "old", &[&own], &[answered]);
    let store = after(100, store);
    let later = "00000000-0003-7000-8000-000000000001";
    let (later, answered) = repeated_call(&store, later, "new", "the quagga said so");
    session(&store, "new", &[&later], &[answered]);
    let store = after(110, store);
    let aged = store.gc(unused_for(99)).unwrap().aged.unwrap();
    assert_eq!((aged.sessions, aged.kept, aged.objects), (1, 0, 3));
    assert!(!holds(&store, &own) && holds(&store, &later));
    assert_eq!(doctor::check(&store).unwrap().findings, []);
}

#[test]
fn no_byte_of_an_old_session_is_left() {
    let (_folder, path) = place();
    let store = after(1, open(&path));
    let own = call(&store, "old", &"the zebra of the quagga\n".repeat(500));
    session(&store, "old", &[&own], &[said("what of the quagga")]);
    store.search(&SearchQuery::new("quagga")).unwrap();
    let store = after(90, store);
    let aged = store.gc(unused_for(30)).unwrap().aged.unwrap();
    assert_eq!((aged.sessions, aged.objects), (1, 3));
    store.close().unwrap();
    assert_eq!(traces(&path, "quagga"), Vec::<String>::new());
    let sql = "SELECT v FROM search_index_config WHERE k = 'automerge'";
    let file = rusqlite::Connection::open(&path).unwrap();
    let merges: i64 = file.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(merges, 4, "the index merges by itself again");
}

#[test]
fn no_byte_is_left_on_free_pages() {
    let (_folder, path) = place();
    let store = open(&path);
    call(&store, "stays", "said\n");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.pragma_update(None, "secure_delete", "FAST").unwrap();
    let text = "the quagga ".repeat(50_000);
    file.execute_batch("CREATE TABLE gone (text TEXT)").unwrap();
    file.execute("INSERT INTO gone VALUES (?1)", [text]).unwrap();
    file.execute_batch("DROP TABLE gone; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(file);
    assert_ne!(traces(&path, "quagga"), Vec::<String>::new());
    assert!(!store.gc(COLLECT).unwrap().waits_to_be_alone);
    store.close().unwrap();
    assert_eq!(traces(&path, "quagga"), Vec::<String>::new());
}

#[test]
fn a_session_that_somebody_needs_stays() {
    let store = after(10, Store::open(":memory:").unwrap());
    for key in ["named", "continued", "first", "unneeded"] {
        let call = call(&store, key, &format!("what {key} said\n"));
        session(&store, key, &[&call], &[]);
    }
    name(&store, "keep-me", &ObjectId::session("named"));
    // An old session that goes on with another one, and a young one that goes on with it.
    session(&store, "second", &[&ObjectId::session("first")], &[]);
    let store = after(100, store);
    session(&store, "young", &[&ObjectId::chat("continued"), &ObjectId::session("second")], &[]);
    let aged = store.gc(unused_for(50)).unwrap().aged.unwrap();
    assert_eq!((aged.sessions, aged.kept), (1, 4));
    for key in ["named", "continued", "first", "second"] {
        assert!(holds(&store, &ObjectId::session(key)), "{key}");
    }
    assert!(holds(&store, &ObjectId::new("call_first")));
    assert!(!holds(&store, &ObjectId::new("call_unneeded")));
}

#[test]
fn outputs_can_be_left_out_of_the_index() {
    let store = Store::open(":memory:").unwrap();
    let one = call(&store, "one", "the zebra ran\n");
    session(&store, "one", &[&one], &[said("find the zebra")]);
    let all = hits(&store, "zebra");
    assert_eq!(all.len(), 2);
    let search = |searched| GcOptions { search_outputs: Some(searched), ..COLLECT };
    assert_eq!(store.gc(GcOptions { dry_run: true, ..search(false) }).unwrap().contents, 0);
    assert_eq!(hits(&store, "zebra"), all, "a dry run changes nothing");
    store.gc(search(false)).unwrap();
    let two = call(&store, "two", "the zebra ran as well\n");
    assert_eq!(hits(&store, "zebra"), [ObjectId::chat("one")]);
    assert_eq!(hits(&store, "\"run two\""), std::slice::from_ref(&two), "arguments are searched");
    let found = store.search(&SearchQuery::new("zebra")).unwrap();
    assert_eq!(found.outputs, SearchedOutputs::None);
    // What is forgotten is found all the same.
    write(&store, toolcall("other"), "he said: the zebra ran\n", json!({ "tool": "ls" }));
    let report = store.forget(&one, ForgetOptions::default()).unwrap();
    assert!(report.holders.iter().any(|it| it.object.as_str() == "other"), "{report:?}");
    store.gc(search(true)).unwrap();
    assert_eq!(store.search(&SearchQuery::new("zebra")).unwrap().outputs, SearchedOutputs::All);
    let mut found = hits(&store, "zebra");
    found.sort();
    let mut expected = [ObjectId::chat("one"), one.clone(), two, ObjectId::new("other")];
    expected.sort();
    assert_eq!(found, expected);
    store.forget(&one, REAL).unwrap();
}

#[test]
fn the_size_before_is_that_before_anything_went() {
    let (_folder, path) = place();
    let store = open(&path);
    let one = call(&store, "one", &"the zebra ran\n".repeat(2_000));
    session(&store, "one", &[&one], &[said("find the zebra")]);
    let bytes = || {
        let size = store.stats().unwrap().size;
        size.file_bytes + size.log_bytes
    };
    let unsearched = GcOptions { search_outputs: Some(false), ..COLLECT };
    hits(&store, "zebra");
    let measured = |work: &dyn Fn() -> Garbage| {
        let before = bytes();
        let done = work();
        assert_eq!((done.bytes_before, done.bytes_after), (before, bytes()));
    };
    measured(&|| store.gc(unsearched).unwrap());
    measured(&|| store.gc(GcOptions { search_outputs: Some(true), ..COLLECT }).unwrap());
    measured(&|| store.forget(&one, REAL).unwrap().collected.unwrap());
}
