//! Acknowledged writes that something outside the program damaged or removed: noticed when the
//! store is opened or named by the doctor, never mistaken for intact.

use std::fs;
use std::path::{Path, PathBuf};

use base::object::{AsOf, Envelope, ObjectId, ObjectType, Payload, TxId};
use store::{Expected, Lost, SqliteBackend, Store};
use tempfile::TempDir;

use testing::private_file;

const WRITES: i64 = 60;

fn open(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn text(number: i64) -> String {
    format!("text {number} ").repeat(200)
}

fn write(store: &Store, number: i64) -> TxId {
    let envelope = Envelope::unsourced(call(number), ObjectType::Toolcall).unwrap();
    let payload = Payload { content: Some(text(number)), ..Payload::default() };
    let mut transaction = store.begin();
    transaction.put(envelope, payload, Expected::Any).unwrap();
    transaction.commit().unwrap().tx_id
}

fn call(number: i64) -> ObjectId {
    ObjectId::new(format!("call_{number}"))
}

/// The files of a store as a kill leaves them: with acknowledged transactions 1 to [`WRITES`], all
/// in the log.
fn killed() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = open(&path);
    for number in 1..=WRITES {
        assert_eq!(write(&store, number), TxId(number));
    }
    let left = tempfile::tempdir().unwrap();
    let to = left.path().join("store.sqlite");
    for suffix in ["", "-wal", "-ack"] {
        fs::copy(beside(&path, suffix), beside(&to, suffix)).unwrap();
    }
    (left, to)
}

/// The last transaction up to which everything reads as it was written.
fn whole_until(store: &Store) -> i64 {
    let is_whole = |number: &i64| {
        let version = store.get(&call(*number), AsOf::Latest).unwrap();
        version.is_some_and(|version| store.content(&version).unwrap() == Some(text(*number)))
    };
    (1..=WRITES).take_while(is_whole).count().try_into().unwrap()
}

/// Opens a store that lost something, and checks that it says what, counts on above, and does not
/// forget it.
fn check_loss(path: &Path) -> Lost {
    let store = open(path);
    let kept = whole_until(&store);
    let notice = store.notice().unwrap_or_else(|| panic!("{kept} of {WRITES} and no notice"));
    assert!(notice.contains(&format!("transactions {} to {WRITES}", kept + 1)), "{notice}");
    assert_eq!(write(&store, WRITES + 1), TxId(WRITES + 1), "a number must not be used twice");
    store.close().unwrap();
    let store = open(path);
    assert_eq!(store.notice(), None, "it is noticed once");
    let [lost] = store.lost().unwrap().try_into().unwrap();
    assert_eq!((lost.from, lost.to), (TxId(kept + 1), TxId(WRITES)));
    assert_eq!(lost.store_id, store.id());
    lost
}

#[test]
fn a_killed_writer_leaves_a_whole_store() {
    let (_folder, path) = killed();
    let store = open(&path);
    assert_eq!((store.notice(), whole_until(&store)), (None, WRITES));
    assert_eq!(store.lost().unwrap(), []);
}

#[test]
fn a_flipped_log_byte_that_costs_a_transaction_is_noticed() {
    let (_folder, path) = killed();
    let wal = fs::read(beside(&path, "-wal")).unwrap();
    let mut noticed = 0;
    for place in (0..wal.len()).step_by(wal.len() / 40) {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("store.sqlite");
        fs::copy(&path, &copy).unwrap();
        fs::copy(beside(&path, "-ack"), beside(&copy, "-ack")).unwrap();
        let mut wal = wal.clone();
        wal[place] ^= 0x10;
        private_file::write(&beside(&copy, "-wal"), wal);
        let store = open(&copy);
        let (kept, lost) = (whole_until(&store), store.lost().unwrap());
        assert_eq!(lost.is_empty(), kept == WRITES, "byte {place}");
        assert_eq!(lost.is_empty(), store.notice().is_none(), "byte {place}");
        noticed += lost.len();
    }
    assert!(noticed > 30, "{noticed}");
}

#[test]
fn a_log_that_was_cut_short_is_noticed() {
    let (_folder, path) = killed();
    let wal = fs::OpenOptions::new().write(true).open(beside(&path, "-wal")).unwrap();
    wal.set_len(wal.metadata().unwrap().len() / 2).unwrap();
    assert!(check_loss(&path).from > TxId(1));
}

#[test]
fn a_log_that_was_removed_is_noticed() {
    let (_folder, path) = killed();
    fs::remove_file(beside(&path, "-wal")).unwrap();
    assert_eq!(check_loss(&path).from, TxId(1));
}

#[test]
fn an_older_copy_put_in_the_place_of_the_store_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("store.sqlite"), folder.path().join("copy"));
    let store = open(&path);
    for number in 1..=9 {
        write(&store, number);
    }
    store.close().unwrap();
    fs::copy(&path, &copy).unwrap();
    let store = open(&path);
    for number in 10..=WRITES {
        write(&store, number);
    }
    store.close().unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(check_loss(&path).from, TxId(10));
}

#[test]
fn a_new_store_notices_that_the_old_one_was_removed() {
    let (_folder, path) = killed();
    for suffix in ["", "-wal"] {
        fs::remove_file(beside(&path, suffix)).unwrap();
    }
    let store = open(&path);
    assert!(store.notice().unwrap().contains("60 transactions"), "{:?}", store.notice());
    let [lost] = store.lost().unwrap().try_into().unwrap();
    assert_ne!(lost.store_id, store.id());
    assert_eq!((lost.from, lost.to), (TxId(1), TxId(WRITES)));
    assert_eq!(write(&store, 1), TxId(1));
    store.close().unwrap();
    assert_eq!(open(&path).notice(), None);
}

#[test]
fn a_copy_without_the_mark_is_whole_and_gets_one() {
    let (_folder, path) = killed();
    fs::remove_file(beside(&path, "-ack")).unwrap();
    let store = open(&path);
    assert_eq!((store.notice(), whole_until(&store)), (None, WRITES));
    store.close().unwrap();
    let older = tempfile::tempdir().unwrap().keep().join("store.sqlite");
    fs::copy(beside(&path, "-ack"), beside(&older, "-ack")).unwrap();
    assert!(open(&older).notice().is_some());
    fs::remove_dir_all(older.parent().unwrap()).unwrap();
}

#[test]
fn the_mark_of_another_store_is_ignored() {
    let ((_one, path), (_other, other)) = (killed(), killed());
    fs::copy(beside(&other, "-ack"), beside(&path, "-ack")).unwrap();
    let store = open(&path);
    assert_eq!((store.notice(), whole_until(&store)), (None, WRITES));
}

#[test]
fn a_store_is_set_aside_whole_and_a_new_one_starts() {
    let (folder, path) = killed();
    let mut closed = Vec::new();
    for number in 1..=2 {
        let aside = SqliteBackend::set_aside(&path).unwrap();
        assert_eq!(aside, beside(&path, &format!(".corrupt-{number}")));
        assert!(!path.exists() && aside.exists());
        let store = open(&path);
        assert_eq!((store.notice(), whole_until(&store)), (None, 0));
        let error = SqliteBackend::set_aside(&path).unwrap_err();
        assert_eq!(error.code(), "STORE_UNAVAILABLE", "{error}");
        assert!(error.to_string().contains("in use"), "{error}");
        store.close().unwrap();
        closed.push(store);
    }
    // The log went along, so nothing of the first is missing.
    let first = open(&beside(&path, ".corrupt-1"));
    assert_eq!((first.notice(), whole_until(&first)), (None, WRITES));
    let error = SqliteBackend::set_aside(&folder.path().join("none")).unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE");
}

#[test]
fn a_store_that_is_only_looked_at_stays_as_it_is() {
    let (folder, path) = killed();
    let files = || {
        let read = |suffix| fs::read(beside(&path, suffix)).unwrap();
        ["", "-wal", "-ack"].map(read)
    };
    let before = files();
    let store = Store::open_read_only(path.to_str().unwrap()).unwrap();
    assert_eq!(whole_until(&store), WRITES);
    let mut transaction = store.begin();
    let envelope = Envelope::unsourced(call(1), ObjectType::Toolcall).unwrap();
    transaction.put(envelope, Payload::default(), Expected::Any).unwrap();
    assert_eq!(transaction.commit().unwrap_err().code(), "READ_ONLY");
    store.close().unwrap();
    assert!(files() == before, "a file was changed");
    let none = folder.path().join("none");
    let error = Store::open_read_only(none.to_str().unwrap()).unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE");
    assert!(!none.exists());
}
