//! What programs and people do with a store: write one version, find objects by name, compare
//! versions, count.

use std::collections::BTreeMap;

use base::object::{AsOf, FieldChange, ObjectId, ObjectType, Source, VersionSelector};
use serde_json::json;
use source::{Location, Namespace, PathPlace};
use store::{DEFAULT_DIFF_CONTEXT, Expected, NewVersion, Store, Version};

fn memory() -> Store {
    Store::open(":memory:").unwrap()
}

fn new(kind: ObjectType) -> NewVersion {
    NewVersion {
        kind,
        source: None,
        id: None,
        content: None,
        source_hash: None,
        fields: serde_json::Map::new(),
        additional: BTreeMap::new(),
        expected: None,
    }
}

fn toolcall(store: &Store, id: &str, text: &str) -> Version {
    let content = Some(text.to_owned());
    let version = NewVersion { id: Some(id.to_owned()), content, ..new(ObjectType::Toolcall) };
    store.write(version).unwrap().1
}

fn file(store: &Store, path: &str, text: &str) -> Version {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    let content = Some(text.to_owned());
    let version = NewVersion { source: Some(source), content, ..new(ObjectType::File) };
    store.write(version).unwrap().1
}

fn place() -> PathPlace {
    PathPlace { files: Namespace::here("fs"), cwd: "/project".into() }
}

fn found(store: &Store, name: &str) -> String {
    place().find(store, name).unwrap().id.to_string()
}

fn code(store: &Store, name: &str) -> &'static str {
    place().find(store, name).unwrap_err().code()
}

#[test]
fn finds_an_object_by_id_then_nickname_then_path_then_prefix() {
    let store = memory();
    let main = file(&store, "/project/src/main.rs", "fn main() {}");
    // A toolcall whose ID is what the file is called, and one that is a prefix of the file's ID.
    let namesake = toolcall(&store, "src/main.rs", "x");
    let id = main.envelope.id.to_string();
    assert_eq!(found(&store, &id), id);
    assert_eq!(found(&store, "/project/src/main.rs"), id);
    assert_eq!(found(&store, "./src/../src/main.rs"), id);
    assert_eq!(found(&store, &id[..8]), id);
    assert_eq!(found(&store, "src/main.rs"), namesake.envelope.id.as_str());
    store.name_object("entry", &main.envelope.id);
    assert_eq!(found(&store, "entry"), id);
    toolcall(&store, "entry", "an ID stands before a nickname");
    assert_eq!(found(&store, "entry"), "entry");
    toolcall(&store, &id[..9], "an ID stands before a prefix");
    assert_eq!(found(&store, &id[..9]), id[..9]);
}

trait Naming {
    fn name_object(&self, nickname: &str, id: &ObjectId);
}

impl Naming for Store {
    fn name_object(&self, nickname: &str, id: &ObjectId) {
        let mut transaction = self.begin();
        let nickname = base::object::Nickname::parse(nickname).unwrap();
        transaction.name(nickname, Some(id.clone()));
        transaction.commit().unwrap();
    }
}

#[test]
fn an_unknown_or_ambiguous_name_is_an_error_with_candidates() {
    let store = memory();
    for name in ["nothing", "t17", "deadbeef", "x\u{0}\u{7f}\n'\"%_", "../..", "a@-1", "@"] {
        assert_eq!(code(&store, name), "UNKNOWN_NAME", "{name:?}");
    }
    assert_eq!(code(&store, "  "), "INVALID_ARGUMENT");
    for number in 0..10 {
        toolcall(&store, &format!("0189abcd-{number}"), "x");
    }
    let error = place().find(&store, "0189abcd").unwrap_err();
    assert_eq!(error.code(), "AMBIGUOUS_NAME");
    assert_eq!(error.candidates().len(), 8);
    assert_eq!(error.candidates()[0], "0189abcd-0 toolcall");
    // The type that an ID begins with belongs to its prefix.
    let session = toolcall(&store, "session:0189abce-77", "x").envelope.id;
    assert_eq!(place().find(&store, "session:0189abce").unwrap().id, session);
    assert_eq!(code(&store, "session:0189abc"), "UNKNOWN_NAME");
    assert_eq!(code(&store, "chat:0189abce"), "UNKNOWN_NAME");
    // Short of 8 digits nothing is a prefix.
    assert_eq!(code(&store, "0189abc"), "UNKNOWN_NAME");
}

#[test]
fn a_name_chooses_a_version_unless_it_is_itself_a_name() {
    let store = memory();
    let first = toolcall(&store, "call", "one");
    let second = toolcall(&store, "call", "two");
    let read = |name: &str, at| place().version(&store, name, at).unwrap().0.tx_id;
    assert_eq!(read("call", None), second.tx_id);
    assert_eq!(read("call@-1", None), first.tx_id);
    assert_eq!(read(&format!("call@{}", first.tx_id), None), first.tx_id);
    assert_eq!(read("call", Some(VersionSelector::Back(1))), first.tx_id);
    assert_eq!(read("call", Some(VersionSelector::Time(second.system_time))), second.tx_id);
    let both = place().version(&store, "call@-1", Some(VersionSelector::Latest)).unwrap_err();
    assert_eq!(both.code(), "INVALID_ARGUMENT");
    let before = place().version(&store, "call@-2", None).unwrap_err();
    assert_eq!(before.code(), "NOT_FOUND");
    let session = toolcall(&store, "call@12345678", "an ID that ends like a version");
    assert_eq!(read("call@12345678", None), session.tx_id);
    // Lines behind a name belong to what is read, and a name of lines is none of the whole.
    assert_eq!(read("call@-1:5-9", None), first.tx_id);
    let part = place().find_part(&store, "call:5-9").unwrap();
    assert_eq!(part.lines.as_deref(), Some("5-9"));
    assert_eq!(code(&store, "call:5-9"), "INVALID_ARGUMENT");
    let own = toolcall(&store, "call:5-9", "an ID that ends like lines");
    assert_eq!(read("call:5-9", None), own.tx_id);
}

#[test]
fn a_nickname_can_be_removed_from_its_object() {
    let store = memory();
    let call = toolcall(&store, "call", "x").envelope.id;
    store.name_object("entry", &call);
    assert_eq!(store.unname("entry").unwrap(), call);
    assert_eq!(code(&store, "entry"), "UNKNOWN_NAME");
    for nickname in ["entry", "", "a b"] {
        assert_eq!(store.unname(nickname).unwrap_err().code(), "UNKNOWN_NAME", "{nickname:?}");
    }
}

#[test]
fn a_version_that_is_there_already_is_not_written() {
    let store = memory();
    let once = || NewVersion {
        id: Some("call".into()),
        content: Some("x".into()),
        additional: BTreeMap::from([("short_summary".into(), "an x".into())]),
        ..new(ObjectType::Toolcall)
    };
    let (written, first) = store.write(once()).unwrap();
    assert!(written);
    assert_eq!(store.write(once()).unwrap(), (false, first.clone()));
    assert_eq!(store.text_of(&first, Some("short_summary")).unwrap().as_deref(), Some("an x"));
    assert_eq!(store.text_of(&first, None).unwrap().as_deref(), Some("x"));
    assert_eq!(store.text_of(&first, Some("long")).unwrap_err().code(), "INVALID_ARGUMENT");
}

#[test]
fn a_write_that_expects_another_version_gets_the_winner() {
    let store = memory();
    let write = |text: &str, expected| {
        let version = NewVersion {
            id: Some("call".into()),
            content: Some(text.into()),
            expected,
            ..new(ObjectType::Toolcall)
        };
        store.write(version)
    };
    let (_, first) = write("one", Some(0)).unwrap();
    assert_eq!(write("two", Some(0)).unwrap_err().code(), "CONFLICT");
    assert!(write("two", Some(first.tx_id.0)).unwrap().0);
    assert_eq!(write("three", Some(first.tx_id.0)).unwrap_err().code(), "CONFLICT");
}

#[test]
fn a_write_keeps_the_items_of_a_document() {
    let store = memory();
    let chat = ObjectId::chat("s");
    let envelope = base::object::Envelope::unsourced(chat.clone(), ObjectType::Chat).unwrap();
    let mut transaction = store.begin();
    let items = vec!["1".to_owned(), "2".to_owned()];
    transaction
        .splice(envelope, base::object::Payload::default(), 0, items.clone(), Expected::Absent)
        .unwrap();
    transaction.commit().unwrap();
    let mut fields = serde_json::Map::new();
    fields.insert("note".into(), json!("kept"));
    let version = NewVersion { id: Some(chat.to_string()), fields, ..new(ObjectType::Chat) };
    let (written, version) = store.write(version).unwrap();
    assert!(written && version.fields["note"] == "kept");
    assert_eq!(store.items(&chat, AsOf::Latest, 0..9).unwrap(), items);
}

#[test]
fn an_object_needs_either_a_source_or_an_id() {
    let store = memory();
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: "/a".into() };
    let both = NewVersion { id: Some("x".into()), source: Some(source), ..new(ObjectType::File) };
    let blank = NewVersion { id: Some(" ".into()), ..new(ObjectType::Chat) };
    let hash = NewVersion {
        id: Some("x".into()),
        source_hash: Some("abc".into()),
        ..new(ObjectType::Chat)
    };
    for version in [both, blank, hash, new(ObjectType::Chat)] {
        assert_eq!(store.write(version).unwrap_err().code(), "INVALID_ARGUMENT");
    }
    let (_, made) = store.write(new(ObjectType::Toolcall)).unwrap();
    assert_eq!(uuid::Uuid::parse_str(made.envelope.id.as_str()).unwrap().get_version_num(), 7);
}

#[test]
fn two_versions_are_compared_by_lines_and_fields() {
    let store = memory();
    let id = file(&store, "/a", "one\ntwo\nthree\n").envelope.id;
    file(&store, "/a", "one\n2\nthree\nfour\n");
    let (from, to) = store.pair(&id, None, None).unwrap();
    let diff = store.diff(from, to, DEFAULT_DIFF_CONTEXT).unwrap();
    assert_eq!((diff.added, diff.removed), (2, 1));
    let times = [&diff.from, &diff.to].map(|version| version.system_time.to_string());
    let shown = diff.unified.replace(&times[0], "TIME").replace(&times[1], "TIME");
    insta::assert_snapshot!(shown, @"
    --- /a	@1 TIME
    +++ /a	@2 TIME
    @@ -1,3 +1,4 @@
     one
    -two
    +2
     three
    +four
    ");
    assert_eq!(diff.fields, []);
    let (from, _) = store.pair(&id, Some(VersionSelector::Latest), None).unwrap();
    let same = store.diff(from.clone(), from.clone(), 3).unwrap();
    assert_eq!((same.unified.as_str(), same.added, same.removed), ("", 0, 0));
    let other = file(&store, "/b", "x");
    let unified = store.diff(from, other.clone(), 3).unwrap().unified;
    assert!(unified.starts_with("--- /a\t@2 ") && unified.contains("\n+++ /b\t@3 "), "{unified}");
    let none_before = store.pair(&other.envelope.id, None, None).unwrap_err();
    assert_eq!(
        none_before.to_string(),
        format!("object `{}` has no version before transaction 3", other.envelope.id)
    );
}

#[test]
fn fields_that_come_go_or_change_are_listed() {
    let store = memory();
    let write = |fields: serde_json::Value| {
        let fields = fields.as_object().unwrap().clone();
        let version = NewVersion { id: Some("call".into()), fields, ..new(ObjectType::Toolcall) };
        store.write(version).unwrap().1
    };
    let from = write(json!({ "same": 1, "gone": 2, "changed": 3 }));
    let to = write(json!({ "same": 1, "come": 4, "changed": null }));
    let change = |name: &str, before, after| FieldChange { name: name.to_owned(), before, after };
    assert_eq!(
        store.diff(from, to, 3).unwrap().fields,
        [
            change("changed", Some(json!(3)), Some(json!(null))),
            change("come", None, Some(json!(4))),
            change("gone", Some(json!(2)), None),
        ]
    );
}

#[test]
fn reading_makes_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none").join("s.sqlite");
    let error = Store::open_existing(path.to_str().unwrap()).unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE");
    assert!(!path.parent().unwrap().exists());
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    let error = Store::open_existing(path.to_str().unwrap()).unwrap_err();
    assert!(error.to_string().contains("it is empty"), "{error}");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
    std::fs::remove_file(&path).unwrap();
    Store::open(path.to_str().unwrap()).unwrap();
    Store::open_existing(path.to_str().unwrap()).unwrap();
}

#[test]
fn the_id_of_a_file_is_that_of_its_path() {
    let store = memory();
    let version = file(&store, "/project/a", "x");
    let id = |filesystem_id| Location::here(filesystem_id, "/project/a".into()).id().unwrap();
    assert_eq!(id("fs"), version.envelope.id);
    assert_ne!(id("other"), version.envelope.id);
}
