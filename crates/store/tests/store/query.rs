//! What queries do not touch in a file.

use base::object::{AsOf, Envelope, ObjectId, ObjectType, Timestamp};
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
