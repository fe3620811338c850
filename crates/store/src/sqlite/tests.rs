//! A full disk, readers beside the writer, work counted: tests that need the backend's own connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Map;

use super::statements::Statements;
use super::*;
use crate::{Backend, Expected, Op, Put, Query, SearchQuery, Store};
use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Timestamp};

fn put(id: &str, text: &str) -> Op {
    Op::Put(Box::new(Put {
        envelope: Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap(),
        source_hash: None,
        content_hash: Hash::of(text),
        fields: Map::new(),
        content: Some((Hash::of(text), text.to_owned())),
        items: None,
        additional: BTreeMap::new(),
        origin: None,
        redacted: None,
        expected: Expected::Any,
    }))
}

#[test]
fn a_full_disk_refuses_the_write_and_keeps_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap();
    backend.commit(&[put("a", "small")], Timestamp(1)).unwrap();
    let limit = |pages: i64| {
        let slot = lock(&backend.writer);
        let connection = slot.as_ref().unwrap();
        connection.pragma_update(None, "max_page_count", pages).unwrap();
    };
    // As many pages as there are now: SQLite answers the next one like a full disk.
    limit(1);
    let random: String = (0..2_000).map(|_| uuid::Uuid::new_v4().to_string()).collect();
    let error = backend.commit(&[put("b", &random)], Timestamp(2)).unwrap_err();
    assert_eq!(error.code(), "NO_SPACE", "{}", error.report());
    assert!(backend.get(&ObjectId::new("a"), AsOf::Latest).unwrap().is_some());
    assert!(backend.get(&ObjectId::new("b"), AsOf::Latest).unwrap().is_none());
    limit(1 << 20);
    backend.commit(&[put("b", &random)], Timestamp(3)).unwrap();
    assert_eq!(backend.content(&Hash::of(&random)).unwrap(), Some(random));
}

#[test]
fn on_a_full_disk_what_is_indexed_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let backend = Arc::new(SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap());
    let store = Store::with_backend(backend.clone());
    let search = || {
        let found = store.search(&SearchQuery::new("needle")).unwrap();
        (found.total, found.unindexed)
    };
    let limit = |pages: i64| {
        let slot = lock(&backend.writer);
        slot.as_ref().unwrap().pragma_update(None, "max_page_count", pages).unwrap();
    };
    backend.commit(&[put("a", "a needle")], Timestamp(1)).unwrap();
    assert_eq!(search(), (1, 0));
    let words: Vec<String> = (0..9_000).map(|number| format!("needle w{number}")).collect();
    backend.commit(&[put("b", &words.join(" "))], Timestamp(2)).unwrap();
    limit(1);
    assert_eq!(search(), (1, 1));
    limit(1 << 20);
    assert_eq!(search(), (2, 0));
}

#[test]
fn reads_do_not_wait_for_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let backend = SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap();
    backend.commit(&[put("a", "text")], Timestamp(1)).unwrap();
    let mut slot = lock(&backend.writer);
    let writing = slot.as_mut().unwrap().transaction().unwrap();
    writing.execute("DELETE FROM nickname", []).unwrap();
    assert!(backend.get(&ObjectId::new("a"), AsOf::Latest).unwrap().is_some());
}

#[test]
fn a_page_by_type_costs_what_it_lists() {
    let steps = |objects: usize| {
        let backend = SqliteBackend::in_memory().unwrap();
        let put = |number: usize| {
            let Op::Put(mut put) = put(&format!("segment {number}"), "text") else {
                unreachable!()
            };
            put.envelope.kind = ObjectType::ChatSegment;
            Op::Put(put)
        };
        let ops: Vec<Op> = (0..objects).map(put).collect();
        ops.chunks(10).for_each(|ops| drop(backend.commit(ops, Timestamp(1)).unwrap()));
        let id = ObjectId::new("segment 0");
        let page = Query::parse("type = chat_segment limit 10").unwrap();
        let page = page.newest_first(Some((backend.newest().unwrap().0, &id))).unwrap();
        let steps = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&steps);
        let count = move || counted.fetch_add(1, Ordering::Relaxed) == usize::MAX;
        let mut slot = lock(&backend.writer);
        slot.as_mut().unwrap().progress_handler(1, Some(count)).unwrap();
        drop(slot);
        assert_eq!(backend.query(&page).unwrap().len(), 10);
        steps.load(Ordering::Relaxed)
    };
    let (few, many) = (steps(100), steps(1_000));
    assert!(many < few * 2, "{few} steps, then {many}");
}

#[test]
fn upkeep_stops_while_a_reader_keeps_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let backend = SqliteBackend::open(&path).unwrap();
    backend.write(|connection| connection.run("CREATE TABLE many (text)", [])).unwrap();
    let log = || std::fs::metadata(files::with_end(&path, "-wal")).unwrap().len();
    let write = || {
        backend.in_turns(100, |transaction, next, _| {
            transaction.run("INSERT INTO many VALUES (zeroblob(1 << 18))", [])?;
            Ok(next + 1)
        })
    };
    write().unwrap();
    assert!(log() < 4 << 20, "{}", log());
    let reader = open::reader(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM many").unwrap();
    assert_eq!(write().unwrap_err().code(), "NO_ANSWER");
    assert!(log() < 4 << 20, "{}", log());
    reader.execute_batch("ROLLBACK").unwrap();
    write().unwrap();
}
