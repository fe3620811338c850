//! The locks on a store's files: other code in the process that reads them must not drop them.
//!
//! Only the other processes of these tests have SQLite's own locks, as older programs do: here a
//! store was opened before.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::object::{AsOf, ObjectId};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use store::Store;
use tempfile::TempDir;

use crate::sqlite_file::count_up;
use testing::child::only;

const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-ack"];

/// A folder and the path of a store in it that has been opened once.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    open(&path).close().unwrap();
    (folder, path)
}

fn open(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

/// Opens a database with a table of one number, and waits for others.
fn counter(path: &Path, journal: &str) -> Connection {
    let connection = connection(path);
    connection.pragma_update(None, "journal_mode", journal).unwrap();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS counter (number INTEGER); INSERT INTO counter SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM counter)")
        .unwrap();
    connection
}

fn connection(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection
}

fn add_one(connection: &mut Connection) {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let number: i64 =
        transaction.query_row("SELECT number FROM counter", [], |row| row.get(0)).unwrap();
    transaction.execute("UPDATE counter SET number = ?1", [number + 1]).unwrap();
    transaction.commit().unwrap();
}

fn number(connection: &Connection) -> i64 {
    connection.query_row("SELECT number FROM counter", [], |row| row.get(0)).unwrap()
}

fn is_whole(connection: &Connection) -> bool {
    let check: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    check == "ok"
}

/// Opens and closes every file of a store, as an extension does that reads them.
fn read_all(path: &Path) {
    for suffix in SUFFIXES {
        let _ = fs::read(format!("{}{suffix}", path.display()));
    }
}

fn spawn(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(only(module_path!(), "acts_as_another_process_when_asked"))
        .env("PALIMPSEST_TEST_LOCKS", role)
        .env("PALIMPSEST_TEST_STORE", path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What another process with SQLite's own locks comes to.
fn other_process(role: &str, path: &Path) -> String {
    let output = spawn(role, path).wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("= ")).unwrap().to_owned()
}

/// Not a test of its own: the other process of the tests below.
#[test]
fn acts_as_another_process_when_asked() {
    let Ok(role) = std::env::var("PALIMPSEST_TEST_LOCKS") else { return };
    let path = PathBuf::from(std::env::var_os("PALIMPSEST_TEST_STORE").unwrap());
    let attempt = |sql: &str| {
        let connection = Connection::open(&path).unwrap();
        connection.busy_timeout(Duration::ZERO).unwrap();
        match connection.execute_batch(sql) {
            Ok(()) => "done".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let outcome = match role.as_str() {
        "write" => attempt("BEGIN IMMEDIATE; ROLLBACK"),
        "write alone" => attempt("BEGIN EXCLUSIVE; ROLLBACK"),
        "count in the store" => {
            count_up(&open(&path), 30);
            "done".to_owned()
        }
        "count" => {
            for _ in 0..10 {
                let mut connection = connection(&path);
                for _ in 0..20 {
                    add_one(&mut connection);
                }
            }
            "done".to_owned()
        }
        other => panic!("no role `{other}`"),
    };
    writeln!(std::io::stdout(), "\n= {outcome}").unwrap();
}

#[test]
fn reading_the_files_does_not_release_their_locks() {
    let (_folder, path) = place();
    let (_store, writer) = (open(&path), connection(&path));
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(other_process("write", &path), "database is locked", "before they were read");
    read_all(&path);
    assert_eq!(other_process("write", &path), "database is locked", "after they were read");
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(other_process("write", &path), "done");
}

#[test]
fn the_same_holds_with_a_rollback_journal() {
    let (folder, _) = place();
    let path = folder.path().join("plain.sqlite");
    let (writer, reader) = (counter(&path, "DELETE"), connection(&path));
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    read_all(&path);
    assert_eq!(other_process("write", &path), "database is locked", "one writes");
    writer.execute_batch("ROLLBACK").unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM counter").unwrap();
    assert_eq!(number(&reader), 0);
    read_all(&path);
    assert_eq!(other_process("write alone", &path), "database is locked", "one reads");
    reader.execute_batch("ROLLBACK").unwrap();
    assert_eq!(other_process("write alone", &path), "done");
}

#[test]
fn reading_the_files_during_writes_loses_nothing() {
    let (_folder, path) = place();
    let is_over = AtomicBool::new(false);
    let rounds = 5;
    for _ in 0..rounds {
        is_over.store(false, Ordering::Relaxed);
        let store = open(&path);
        let others: Vec<Child> = (0..2).map(|_| spawn("count in the store", &path)).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    read_all(&path);
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            count_up(&store, 30);
            for other in others {
                assert!(other.wait_with_output().unwrap().status.success());
            }
            is_over.store(true, Ordering::Relaxed);
        });
        store.close().unwrap();
    }
    let store = open(&path);
    let versions = store.history(&ObjectId::new("counter")).unwrap();
    let version = store.require(&ObjectId::new("counter"), AsOf::Latest).unwrap();
    assert_eq!((versions.len(), version.fields["number"].as_u64()), (450, Some(450)));
    assert!(is_whole(&connection(&path)));
}

#[test]
fn connections_of_one_process_lock_as_one() {
    let (folder, _) = place();
    let path = folder.path().join("plain.sqlite");
    let (first, second) = (counter(&path, "DELETE"), connection(&path));
    // The first places the lock of both, the second drops it.
    first.execute_batch("BEGIN; SELECT * FROM counter").unwrap();
    second.execute_batch("BEGIN; SELECT * FROM counter").unwrap();
    assert_eq!(number(&first) + number(&second), 0);
    first.execute_batch("COMMIT").unwrap();
    assert_eq!(other_process("write alone", &path), "database is locked");
    second.execute_batch("UPDATE counter SET number = 1; COMMIT").unwrap();
    assert_eq!(other_process("write alone", &path), "done", "nothing stays locked");
    // The first closes while the second still reads.
    first.execute_batch("BEGIN; SELECT * FROM counter").unwrap();
    second.execute_batch("BEGIN; SELECT * FROM counter").unwrap();
    assert_eq!(number(&first) + number(&second), 2);
    first.close().unwrap();
    assert_eq!(other_process("write alone", &path), "database is locked");
    second.execute_batch("COMMIT").unwrap();
    assert_eq!(other_process("write alone", &path), "done", "nothing stays locked");
}

#[test]
fn one_that_only_reads_passes_its_lock_on_to_one_that_writes() {
    let (folder, _) = place();
    let path = folder.path().join("plain.sqlite");
    counter(&path, "DELETE").close().unwrap();
    let reader = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let writer = connection(&path);
    writer.busy_timeout(Duration::ZERO).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(number(&reader), 0);
    writer.execute_batch("BEGIN; UPDATE counter SET number = 1").unwrap();
    assert_eq!(other_process("write", &path), "database is locked");
    assert!(writer.execute_batch("COMMIT").is_err(), "the other one still reads");
    reader.execute_batch("COMMIT").unwrap();
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(number(&reader), 1);
    assert_eq!(other_process("write alone", &path), "done", "nothing stays locked");
}

#[test]
fn processes_with_either_kind_of_locks_lose_no_update() {
    for journal in ["WAL", "DELETE"] {
        let (folder, _) = place();
        let path = folder.path().join("plain.sqlite");
        let first = counter(&path, journal);
        let others: Vec<Child> = (0..2).map(|_| spawn("count", &path)).collect();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        let mut connection = connection(&path);
                        for _ in 0..20 {
                            add_one(&mut connection);
                        }
                    }
                });
            }
        });
        for other in others {
            assert!(other.wait_with_output().unwrap().status.success());
        }
        assert_eq!(number(&first), 800, "{journal}");
        assert!(is_whole(&first));
        drop(first);
        assert_eq!(other_process("write alone", &path), "done", "{journal}: nothing stays locked");
    }
}
