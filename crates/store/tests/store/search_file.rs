//! The index in the store's file: several processes filling it, crashes while filling, what removal
//! leaves behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base::object::{Envelope, ObjectId, ObjectType, Payload};
use rusqlite::Connection;
use store::{Expected, SearchQuery, Store};
use tempfile::TempDir;

use testing::child::only;

/// Names the file to a child process.
const PLACE: &str = "PALIMPSEST_TEST_SEARCH_FILE";

/// Objects of the store that several processes index: a few batches.
const OBJECTS: u32 = 1_000;

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    (folder, path)
}

fn open(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

fn put(store: &Store, texts: impl Iterator<Item = (String, String)>) {
    let mut transaction = store.begin();
    for (id, text) in texts {
        let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap();
        let payload = Payload { content: Some(text), ..Payload::default() };
        transaction.put(envelope, payload, Expected::Any).unwrap();
    }
    transaction.commit().unwrap();
}

fn text(number: u32) -> String {
    let word = |place: u32| format!("word{}", (number * 7 + place * 13) % 5_000);
    format!("every{number} {}", (0..300).map(word).collect::<Vec<_>>().join(" "))
}

fn fill(path: &Path) {
    let store = open(path);
    for round in 0..OBJECTS / 100 {
        let numbers = round * 100..(round + 1) * 100;
        put(&store, numbers.map(|number| (format!("call_{number}"), text(number))));
    }
    store.close().unwrap();
}

fn total(store: &Store, query: &str) -> u64 {
    let found = store.search(&SearchQuery { limit: 1, ..SearchQuery::new(query) }).unwrap();
    assert_eq!(found.unindexed, 0);
    found.total
}

/// A process that searches the file, and so fills its index.
fn searcher(path: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(only(module_path!(), "a_search_by_a_child_process")).env(PLACE, path);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Every object once, each with all of its terms.
fn assert_whole(path: &Path) {
    let store = open(path);
    assert_eq!(total(&store, "every*"), u64::from(OBJECTS));
    for word in (0..10).map(|number| format!("word{number}")) {
        let holds = |number: &u32| text(*number).split(' ').any(|found| found == word);
        assert_eq!(total(&store, &word), (0..OBJECTS).filter(holds).count() as u64, "{word}");
    }
    store.close().unwrap();
    let file = Connection::open(path).unwrap();
    let number = |sql: &str| file.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("SELECT count(*) FROM search_row"), i64::from(OBJECTS));
    assert_eq!(number("SELECT rows FROM search_progress"), i64::from(OBJECTS));
    file.execute("INSERT INTO search_index (search_index) VALUES ('integrity-check')", []).unwrap();
}

/// Not a test of its own: what a child process of the others runs.
#[test]
fn a_search_by_a_child_process() {
    if let Some(path) = std::env::var_os(PLACE) {
        assert_eq!(total(&open(Path::new(&path)), "every*"), u64::from(OBJECTS));
    }
}

#[test]
fn processes_that_index_at_once_index_everything_once() {
    let (_folder, path) = place();
    fill(&path);
    let children: Vec<Child> = (0..4).map(|_| searcher(&path)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success(), "every process finds everything");
    }
    assert_whole(&path);
}

#[test]
fn a_kill_between_batches_leaves_an_index_that_is_right() {
    let (_folder, path) = place();
    fill(&path);
    for wait_ms in [60, 200, 400, 700] {
        let mut child = searcher(&path);
        std::thread::sleep(Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        let file = Connection::open(&path).unwrap();
        let check: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }
    assert_whole(&path);
}
