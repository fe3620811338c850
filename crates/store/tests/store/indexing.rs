//! The indexes grow a little after each commit, on a thread of the process that writes, and a
//! question waits for no more than it was given.

#![expect(clippy::disallowed_methods, reason = "this test waits for a thread")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use base::object::ObjectId;
use serde_json::json;
use store::{SearchQuery, Store};

use crate::forget::{REAL, open, place, session, toolcall, with_secret, write};

/// More than any machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

fn unindexed(store: &Store) -> u64 {
    store.upkeep("test").unwrap().unindexed_texts().unwrap()
}

fn unrelated(store: &Store) -> usize {
    store.upkeep("test").unwrap().objects_with_unindexed_relations().unwrap().len()
}

fn wait_for(what: impl Fn() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(20));
    }
}

fn fill(store: &Store, names: std::ops::Range<u32>) {
    for name in names {
        let (key, call) = (format!("s{name}"), ObjectId::new(format!("call_{name}")));
        let text = format!("walrus {name} and its neighbours\n").repeat(300);
        write(store, toolcall(call.as_str()), &text, json!({ "chat_ref": ObjectId::chat(&key) }));
        session(store, &key, &[&call], &[json!({ "message": { "role": "user", "content": key } })]);
    }
}

fn hits(store: &Store) -> (u64, u64) {
    let found = store.search(&SearchQuery::new("walrus")).unwrap();
    (found.total, found.unindexed)
}

#[test]
fn what_is_written_is_indexed_soon_after() {
    let (_folder, path) = place();
    let store = open(&path);
    store.keep_indexes().unwrap();
    fill(&store, 0..5);
    assert!(unindexed(&store) > 0, "not within the commit");
    wait_for(|| unindexed(&store) == 0 && unrelated(&store) == 0);
    fill(&store, 5..7);
    wait_for(|| unindexed(&store) == 0 && unrelated(&store) == 0);
    assert_eq!(hits(&store), (7, 0));
    store.close().unwrap();
}

/// Opens the store again and again, each time for less than indexing it takes.
fn interrupted(path: &Path) {
    for wait in [0, 5, 310, 330, 400] {
        let store = open(path);
        store.keep_indexes().unwrap();
        thread::sleep(Duration::from_millis(wait));
        let start = Instant::now();
        store.close().unwrap();
        assert!(start.elapsed() < PATIENCE, "{:.1?}", start.elapsed());
    }
}

#[test]
fn a_store_from_before_is_indexed_across_interruptions() {
    let (_folder, path) = place();
    let store = open(&path);
    fill(&store, 0..80);
    store.close().unwrap();
    interrupted(&path);
    let store = open(&path);
    store.keep_indexes().unwrap();
    wait_for(|| unindexed(&store) == 0 && unrelated(&store) == 0);
    assert_eq!(hits(&store), (80, 0));
    assert_eq!(store::doctor::check(&store).unwrap().findings, []);
}

#[test]
fn a_question_waits_no_longer_and_says_what_is_missing() {
    let (_folder, path) = place();
    let store = open(&path);
    fill(&store, 0..600);
    let mut query = SearchQuery::new("walrus");
    query.patience = Some(Duration::ZERO);
    let first = store.search(&query).unwrap();
    assert!(first.unindexed > 0 && first.total < 600, "{} {}", first.unindexed, first.total);
    // Each question goes on with it.
    let second = store.search(&query).unwrap();
    assert!(second.unindexed < first.unindexed);
    assert_eq!(hits(&store), (600, 0));
}

#[test]
fn what_is_indexed_beside_a_forget_stays_whole() {
    for wait in [0, 350, 1_000] {
        let (_folder, path) = place();
        let store = open(&path);
        store.keep_indexes().unwrap();
        let id = with_secret(&store);
        thread::sleep(Duration::from_millis(wait));
        store.forget(&id, REAL).unwrap();
        let findings = store::doctor::check(&store).unwrap().findings;
        let again = open(&path);
        assert_eq!(
            store::doctor::check(&again).unwrap().findings,
            [],
            "reopened {wait} {findings:?}"
        );
        assert_eq!(findings, [], "{wait}");
        let results = store.search(&SearchQuery::new("launch")).unwrap();
        assert_eq!((results.total, results.unindexed), (0, 0));
    }
}
