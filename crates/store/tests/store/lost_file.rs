//! A store whose file is taken away while it is open: the next write reports it and acknowledges
//! nothing. If the file was only deleted, earlier data can still be read.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use base::Result;
use base::object::{AsOf, Envelope, ObjectId, ObjectType, Payload};
use files::looks::{Deadline, Late};
use store::{Expected, Store};
use tempfile::TempDir;

fn open(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

fn write(store: &Store, text: &str) -> Result<()> {
    let payload = Payload { content: Some(text.to_owned()), ..Payload::default() };
    let mut transaction = store.begin();
    let envelope = Envelope::unsourced(ObjectId::new("call"), ObjectType::Toolcall).unwrap();
    transaction.put(envelope, payload, Expected::Any)?;
    transaction.commit().map(drop)
}

fn text(store: &Store) -> Option<String> {
    let version = store.get(&ObjectId::new("call"), AsOf::Latest).unwrap()?;
    store.content(&version).unwrap()
}

/// A store with one version, in a folder of its own.
fn store() -> (TempDir, std::path::PathBuf, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = open(&path);
    write(&store, "one").unwrap();
    (folder, path, store)
}

#[cfg(unix)]
#[test]
fn a_store_that_was_deleted_is_gone_and_can_be_read() {
    let (_folder, path, store) = store();
    fs::remove_file(&path).unwrap();
    let error = write(&store, "two").unwrap_err();
    assert_eq!(error.code(), "STORE_GONE");
    assert!(error.to_string().ends_with("was moved or deleted"), "{error}");
    assert_eq!(text(&store).as_deref(), Some("one"));
}

#[cfg(unix)]
#[test]
fn a_store_in_whose_place_another_one_stands_is_gone() {
    let (_folder, path, store) = store();
    let (_other_folder, other, others) = self::store();
    others.close().unwrap();
    fs::rename(other, &path).unwrap();
    let error = write(&store, "two").unwrap_err();
    assert!(error.to_string().ends_with("was replaced by another file"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_overwritten_store_is_damaged_despite_cached_pages() {
    let (_other_folder, other, others) = store();
    others.close().unwrap();
    for bytes in [vec![], b"garbage ".repeat(10_000), fs::read(other).unwrap()] {
        let (_folder, path, store) = store();
        fs::write(&path, bytes).unwrap();
        assert_eq!(write(&store, "two").unwrap_err().code(), "STORE_CORRUPT");
    }
}

#[test]
fn a_store_that_another_process_moved_its_log_into_is_the_same() {
    let (_folder, path, store) = store();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_query(None, "wal_checkpoint", |_| Ok(())).unwrap();
    write(&store, "two").unwrap();
    assert_eq!(text(&store).as_deref(), Some("two"));
}

#[test]
fn nothing_of_a_work_that_was_given_up_is_written() {
    let (_folder, _path, store) = store();
    let deadline = Deadline::new("session", Duration::from_secs(1));
    let ((go_on, waits), (tell, told)) = (channel::<()>(), channel());
    let theirs = store.clone();
    let error = deadline.wait_for(Late::Refused, move || {
        write(&theirs, "two").unwrap();
        assert!(waits.recv().is_err());
        tell.send(write(&theirs, "three")).unwrap();
        Ok(())
    });
    let message = "the session did not answer within 1 s";
    assert_eq!(error.unwrap_err().to_string(), message);
    let at_once = deadline.wait_for(Late::Refused, || Ok(())).unwrap_err();
    assert_eq!(at_once.code(), "NO_ANSWER", "while it hangs nothing else is waited for");
    drop(go_on);
    assert_eq!(told.recv().unwrap().unwrap_err().to_string(), message);
    assert_eq!(text(&store).as_deref(), Some("two"));
    let theirs = store.clone();
    deadline.wait_for(Late::Refused, move || write(&theirs, "four")).unwrap();
    assert_eq!(text(&store).as_deref(), Some("four"));
}
