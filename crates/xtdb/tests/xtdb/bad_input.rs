//! Databases that are not our store: another database, other people's documents among ours, a wrong
//! token. Each is named, and our data stays as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use base::object::ObjectType;
use config::XtdbOptions;
use serde_json::{Value, json};

use crate::machine::{Machine, options, shared};
use testing::http::{Connection, Request};
use testing::xtdb::{Database, Node, NodeKind, Options};

/// Puts documents past this program.
pub(crate) fn put(database: &Database, documents: &[Value]) {
    let ops: Vec<Value> = documents.iter().map(|document| json!(["put", document])).collect();
    let body = json!({ "tx-ops": ops }).to_string();
    let path = format!("{}/_xtdb/submit-tx", database.path());
    let headers = [("Content-Type", "application/json"), ("Accept", "application/json")];
    let request =
        Request { method: "POST", path: &path, headers: &headers, body: Some(body.as_bytes()) };
    let answer = Connection::open(&database.address()).unwrap().ask(&request).unwrap().unwrap();
    let tx: Value = serde_json::from_str(&answer.text()).unwrap();
    let path = format!("{}/_xtdb/await-tx?tx-id={}&timeout=10000", database.path(), tx["txId"]);
    let request = Request { method: "GET", path: &path, headers: &headers, body: None };
    Connection::open(&database.address()).unwrap().ask(&request).unwrap();
}

/// What a node has of each attribute it counts a moment later.
fn wait_until_counted(database: &Database, attribute: &str) {
    let path = format!("{}/_xtdb/attribute-stats", database.path());
    let headers = [("Accept", "application/json")];
    let request = Request { method: "GET", path: &path, headers: &headers, body: None };
    let is_counted = (0..1_200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut connection = Connection::open(&database.address()).unwrap();
        connection.ask(&request).unwrap().unwrap().text().contains(attribute)
    });
    assert!(is_counted, "`{attribute}` is not counted");
}

#[test]
fn a_database_of_others_is_refused_and_stays_as_it_is() {
    let Some(database) = Database::new() else { return };
    put(&database, &[json!({"xt/id": "invoice-1", "amount": 12})]);
    let machine = Machine::at(&database.url());
    let id = machine.write("/p/a.txt", "text");
    wait_until_counted(&database, "amount");
    let error = machine.sharing.push(&mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), "XTDB_FOREIGN");
    assert!(error.to_string().contains("`amount`"), "{error}");
    assert_eq!(machine.text(&id).as_deref(), Some("text"));
    let status = machine.sharing.status().unwrap();
    assert_eq!((status.outbox, status.error.unwrap().code.as_str()), (1, "XTDB_FOREIGN"));
}

#[test]
fn documents_that_are_none_of_ours_are_passed_over_or_reported() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    one.write("/p/a.txt", "first");
    one.push();
    let hash = "0".repeat(64);
    let like_ours = |id: &str, change: Value| {
        let mut document = json!({"xt/id": id, "type": "toolcall", "identity_hash": hash,
            "content_hash": hash, "payload": "{}"});
        document.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        document
    };
    put(
        &database,
        &[
            json!({"xt/id": "invoice-1", "amount": 12}),
            like_ours("call_other_hash", json!({})),
            like_ours("call_no_json", json!({"payload": "{"})),
            like_ours("call_no_type", json!({"type": "invoice"})),
            like_ours("call_no_content", json!({"content": "palimpsest/content/none"})),
            like_ours("call_no_source", json!({"source": 5})),
        ],
    );
    let last = one.write("/p/b.txt", "last");
    one.push();
    let pulled = other.pull();
    assert_eq!((pulled.versions, pulled.broken.len()), (2, 5), "{:#?}", pulled.broken);
    for problem in &pulled.broken {
        assert!(problem.contains("`call_"), "{problem}");
    }
    assert_eq!(other.text(&last).as_deref(), Some("last"));
    assert_eq!(other.store.list(ObjectType::Toolcall, None, 9).unwrap(), []);
    let there = shared(&database.url());
    assert_eq!(
        there.history(&base::object::ObjectId::new("call_no_json")).unwrap_err().code(),
        "XTDB_DOCUMENT"
    );
}

#[test]
fn a_version_altered_in_transit_is_reported_and_skipped() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    let id = one.write("/p/a.txt", "what was written\n");
    let kept = one.write("/p/b.txt", "another\n");
    one.push();
    let hash = base::object::Hash::of("what was written\n");
    put(
        &database,
        &[json!({"xt/id": format!("palimpsest/content/{hash}"), "type": "palimpsest/content",
            "state": "kept", "text": "what somebody put in its place\n"})],
    );
    let pulled = other.pull();
    assert_eq!((pulled.versions, pulled.broken.len()), (1, 1));
    assert!(pulled.broken[0].contains(id.as_str()), "{:?}", pulled.broken);
    assert_eq!((other.text(&id), other.text(&kept).as_deref()), (None, Some("another\n")));
}

#[test]
fn a_wrong_token_is_named_and_never_shown() {
    let kind = NodeKind::Memory;
    let asks = Options { token: Some("the-right-one"), ..Options::default() };
    let Some(node) = Node::start_with(kind, asks) else { return };
    let machine = Machine::at(&node.url());
    machine.write("/p/a.txt", "text");
    let file = machine.folder.path().join("token");
    let connect = |token: Option<&str>| {
        let mut shared: XtdbOptions = options(&node.url()).shared;
        if let Some(token) = token {
            fs::write(&file, token).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
            shared.token_file = Some(file.clone());
        }
        xtdb::connect(&shared)
    };
    for token in [None, Some("a-wrong-one")] {
        let error = connect(token).unwrap_err();
        assert_eq!(error.code(), "XTDB_REFUSED");
        assert!(!error.report().contains("wrong-one"), "{}", error.report());
    }
    assert_eq!(connect(Some("the-right-one\n")).unwrap().newest().unwrap().0.0, 0);
}

#[test]
fn a_server_that_is_read_only_keeps_what_is_sent_waiting() {
    let reads = Options { read_only: true, ..Options::default() };
    let Some(node) = Node::start_with(NodeKind::Memory, reads) else { return };
    let machine = Machine::at(&node.url());
    machine.write("/p/a.txt", "text");
    let error = machine.sharing.push(&mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), "XTDB_REFUSED");
    assert_eq!(machine.sharing.status().unwrap().outbox, 1);
}
