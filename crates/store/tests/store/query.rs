//! What queries do not touch in a file, and what they cost.

use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Timestamp};
use serde_json::json;
use store::{Backend, Expected, Query, SqliteBackend};

use crate::ops::{content, item_list, op, put, splice};

#[test]
fn queries_never_read_contents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let backend = SqliteBackend::open(&path).unwrap();
    let mut toolcall = put(
        Envelope::unsourced(ObjectId::new("a"), ObjectType::Toolcall).unwrap(),
        "output",
        Expected::Any,
    );
    toolcall.fields.insert("tool".into(), "bash".into());
    let list = item_list(&[], &["an item"]);
    let ops = [op(toolcall), op(splice(0, &list, Expected::Absent))];
    backend.commit(&ops, Timestamp(1)).unwrap();
    let version = backend.get(&ObjectId::new("a"), AsOf::Latest).unwrap().unwrap();
    assert_eq!(content(&backend, &version).as_deref(), Some("output"));
    backend.close().unwrap();
    // What a query cannot have read it cannot miss.
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch("DROP TABLE content; UPDATE item SET text = x'00';").unwrap();
    file.close().unwrap();
    let backend = SqliteBackend::open(&path).unwrap();
    for (query, found) in
        [("tool = bash and has_content = true", "a"), ("item_count = 1", "chat:s")]
    {
        let answer = backend.query(&Query::parse(query).unwrap()).unwrap();
        assert_eq!(answer[0].envelope.id.as_str(), found);
    }
}

#[test]
fn a_page_of_the_newest_reads_no_older_packs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let backend = SqliteBackend::open(&path).unwrap();
    let call = |number: usize| {
        // In the order of IDs any two are far from each other.
        let id = Hash::of(number.to_string()).to_string();
        let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap();
        let mut call = put(envelope, "output", Expected::Any);
        call.fields.insert("args".into(), json!({ "command": format!("run {number}").repeat(50) }));
        op(call)
    };
    for first in (0..2_000).step_by(100) {
        let ops: Vec<_> = (first..first + 100).map(call).collect();
        backend.commit(&ops, Timestamp(1)).unwrap();
    }
    backend.close().unwrap();
    let file = rusqlite::Connection::open(&path).unwrap();
    let damage = "UPDATE pack SET texts = x'00' WHERE pack < (SELECT max(pack) FROM pack) - 2";
    assert!(file.execute(damage, []).unwrap() > 5);
    file.close().unwrap();
    let backend = SqliteBackend::open(&path).unwrap();
    for condition in ["", "type = toolcall ", "args.command contains run "] {
        let query = Query::parse(&format!("{condition}limit 100")).unwrap();
        let first = backend.query(&query.clone().newest_first(None).unwrap()).unwrap();
        let last = first.last().map(|last| (last.tx_id, &last.envelope.id));
        let next = backend.query(&query.newest_first(last).unwrap()).unwrap();
        assert_eq!(next.len(), 100, "{condition}");
    }
    assert!(backend.query(&Query::parse("limit 100").unwrap()).is_err());
}
