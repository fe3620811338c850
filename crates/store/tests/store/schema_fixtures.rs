//! Files of every released schema open, migrate and read back as written. Each fixture was made by
//! the program of its time; it is copied before it is opened and never changed.

use std::path::Path;

use base::object::{AsOf, Nickname, ObjectId, ObjectType, Reference, TxId};
use rusqlite::Connection;
use store::{SearchQuery, Store, doctor};

use testing::private_file;

fn open(fixture: &str) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    private_file::copy(&fixtures.join(fixture), &path);
    let store = Store::open(path.to_str().unwrap()).unwrap();
    (folder, store)
}

#[test]
fn version_1_opens_and_reads_as_it_was_written() {
    let (folder, store) = open("store-v1.sqlite");
    let files = store.list(ObjectType::File, None, 9).unwrap();
    let history = store.history(&files[0].envelope.id).unwrap();
    assert_eq!(history.len(), 3);
    for (version, number) in history.iter().rev().zip(1..) {
        let text = store.content(version).unwrap().unwrap();
        assert!(text.contains(&format!("line of version {number}\n")), "{text}");
        let reference = Reference::Static(Store::static_reference(version));
        assert_eq!(store.resolve(&reference).unwrap(), *version);
        assert_eq!(version.origin.store_id, store.id());
    }
    let tests = store.find_nickname(&Nickname::parse("tests").unwrap()).unwrap().unwrap();
    let call = store.require(&tests, AsOf::Latest).unwrap();
    assert_eq!(store.content(&call).unwrap().as_deref(), Some("96 passed"));
    let chat = ObjectId::chat("s");
    let items = |at| store.items(&chat, at, 0..9).unwrap();
    assert_eq!(items(AsOf::Latest), ["one", "two", "other three", "four"]);
    assert_eq!(items(AsOf::Tx(TxId(5))), ["one", "two", "three"]);
    let hits = store.search(&SearchQuery::new("passed")).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| &hit.id).collect::<Vec<_>>(), [&tests]);
    store.close().unwrap();
    let file = Connection::open(folder.path().join("store.sqlite")).unwrap();
    let version: i64 = file.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 3);
}

#[test]
fn programs_that_bring_one_file_up_to_date_at_once_agree() {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/store-v1.sqlite");
    for _ in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        private_file::copy(&fixture, &path);
        // Threads with connections of their own, as processes have.
        let opened: Vec<Store> = std::thread::scope(|scope| {
            let open = || Store::open(path.to_str().unwrap()).unwrap();
            let opening: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
            opening.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for store in opened {
            assert_eq!(store.notice(), None);
            assert_eq!(doctor::check(&store).unwrap().findings, []);
        }
    }
}

#[test]
fn a_file_that_is_only_looked_at_keeps_its_schema() {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/store-v1.sqlite");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    private_file::copy(&fixture, &path);
    let error = doctor::check_file(&path, true, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), "STORE_UNAVAILABLE");
    assert!(error.to_string().contains("schema is 1"), "{error}");
    assert!(std::fs::read(&path).unwrap() == std::fs::read(&fixture).unwrap());
}
