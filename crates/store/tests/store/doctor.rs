//! The doctor on intact stores, and on every kind of damage: each is named, with the affected
//! object.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use base::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Payload, Source, TxId, file_fields,
};
use rusqlite::Connection;
use serde_json::json;
use store::doctor::{self, FindingKind, Report};
use store::{Expected, SqliteBackend, Store};
use tempfile::TempDir;

use testing::private_file;

fn file() -> Envelope {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: "/a.md".into() };
    Envelope::sourced(ObjectType::File, source).unwrap()
}

fn unsourced(id: &str, kind: ObjectType) -> Envelope {
    Envelope::unsourced(ObjectId::new(id), kind).unwrap()
}

fn text(number: i64) -> String {
    let lines: Vec<String> =
        (0..40).map(|line| format!("line {line} of version {number}\n")).collect();
    lines.concat()
}

/// A store with something of everything: 12 versions of a file, calls that refer to them, a chat
/// that grew and was cut, a nickname, an additional content.
fn fill(store: &Store) {
    let (mut chat, mut length) = (Expected::Absent, 0_u64);
    for number in 0..12 {
        let mut transaction = store.begin();
        let content = Some(text(number));
        let mut fields = file_fields("/a.md", content.as_deref());
        fields.insert("number".into(), json!(number));
        let payload = Payload { content, fields, ..Payload::default() };
        transaction.put(file(), payload, Expected::Any).unwrap();
        transaction.commit().unwrap();
        let version = store.require(&file().id, AsOf::Latest).unwrap();
        let mut call = Payload { content: Some(format!("call {number}")), ..Payload::default() };
        let reference = Store::static_reference(&version);
        call.fields.insert("file_refs".into(), json!([{ "at": reference }]));
        call.additional.insert("full_output".into(), text(number + 100));
        let item = json!({ "content": { "object": file().id, "version": version.content_hash } });
        // Every fourth time the chat goes on from an earlier message.
        let keep = if number % 4 == 3 { length - 2 } else { length };
        let mut transaction = store.begin();
        let call_id = format!("call_{number}");
        transaction.put(unsourced(&call_id, ObjectType::Toolcall), call, Expected::Any).unwrap();
        let add = vec![format!("message {number}"), item.to_string()];
        let document = unsourced("chat:s", ObjectType::Chat);
        transaction.splice(document, Payload::default(), keep, add, chat).unwrap();
        if number == 5 {
            let id = Some(ObjectId::new("call_5"));
            transaction.name(Nickname::parse("fifth").unwrap(), id);
        }
        chat = Expected::Latest(transaction.commit().unwrap().tx_id);
        length = keep + 2;
    }
}

fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    fill(&store);
    store.close().unwrap();
    (folder, path)
}

/// What the doctor says of a store on which `sql` was run behind its back.
fn after(sql: &str) -> Report {
    let (_folder, path) = filled();
    let database = Connection::open(&path).unwrap();
    database.pragma_update(None, "foreign_keys", false).unwrap();
    database.execute_batch(sql).unwrap();
    assert!(database.changes() > 0, "`{sql}` changed nothing");
    database.close().unwrap();
    doctor::check_file(&path, true, &mut |_| Ok(())).unwrap()
}

/// Asserts that `sql` makes the doctor name a finding of this kind at an object.
fn named(sql: &str, kind: FindingKind, object: Option<&str>) {
    let report = after(sql);
    assert!(report.is_damaged(), "{sql}");
    let fits = report.findings.iter().any(|finding| {
        finding.kind == kind && finding.object.as_ref().map(ObjectId::as_str) == object
    });
    assert!(fits, "{sql}: {:#?}", report.findings);
}

#[test]
fn a_whole_store_is_healthy_and_everything_in_it_is_counted() {
    let (_folder, path) = filled();
    let memory = Store::open(":memory:").unwrap();
    fill(&memory);
    for report in
        [doctor::check_file(&path, true, &mut |_| Ok(())).unwrap(), doctor::check(&memory).unwrap()]
    {
        assert_eq!(report.findings, []);
        assert_eq!(report.as_of, TxId(24));
        let checked = report.checked;
        assert_eq!((checked.objects, checked.versions), (14, 36));
        assert_eq!((checked.contents, checked.items), (36, 24));
        assert_eq!(checked.references, 24);
        assert!(checked.content_bytes > 20_000 && checked.item_bytes > 1_000, "{checked:?}");
    }
}

#[test]
fn wrong_contents_and_payloads_are_named() {
    use FindingKind::{Content, Version};
    let call = "(SELECT object FROM object WHERE id = 'call_3')";
    let output = format!("WHERE hash = x'{}'", Hash::of("call 3"));
    named(&format!("UPDATE content SET text = 'other' {output}"), Content, None);
    named(&format!("UPDATE content SET text = 'other' {output}"), Version, Some("call_3"));
    named(&format!("DELETE FROM content {output}"), Version, Some("call_3"));
    named(&format!("UPDATE content SET text = x'28b52ffd00' {output}"), Content, None);
    named("UPDATE pack SET texts = x'28b52ffd00' WHERE pack = 1", Content, None);
    let fields = format!("UPDATE version SET fields = '{{\"a\":1}}' WHERE object = {call}");
    named(&fields, Version, Some("call_3"));
    let unreadable = format!("UPDATE version SET fields = '{{' WHERE object = {call}");
    let report = after(&unreadable);
    let found = report.findings.iter().find(|it| it.kind == Version && it.tx_id == Some(TxId(8)));
    assert!(found.is_some(), "{:#?}", report.findings);
    assert_eq!(report.checked.versions, 34, "the other transactions are still checked");
}

#[test]
fn wrong_items_are_named() {
    use FindingKind::Items;
    let chat = Some("chat:s");
    for sql in [
        "UPDATE item SET text = 'other' WHERE position = 4 AND until_tx IS NULL",
        "DELETE FROM item WHERE position = 4 AND until_tx IS NULL",
        "DELETE FROM item WHERE position = 0",
        "DELETE FROM item WHERE position = 16 AND until_tx IS NULL",
        "UPDATE item SET until_tx = NULL WHERE until_tx IS NOT NULL",
        "UPDATE item SET until_tx = 20 WHERE position = 6 AND until_tx IS NULL",
        "UPDATE item SET running_hash = zeroblob(32) WHERE position = 16 AND until_tx IS NULL",
        "UPDATE version SET items_hash = zeroblob(32) WHERE tx_id = 6 AND item_count > 0",
        "UPDATE version SET item_count = 1 WHERE tx_id = 6 AND item_count > 0",
        "UPDATE version SET item_count = 99 WHERE tx_id = 6 AND item_count > 0",
        "UPDATE item SET position = 98 WHERE position = 16 AND until_tx IS NULL",
    ] {
        named(sql, Items, chat);
    }
}

#[test]
fn wrong_envelopes_names_times_and_references_are_named() {
    let id = file().id;
    named(
        "UPDATE object SET source = replace(source, '/a.md', '/b.md') WHERE source IS NOT NULL",
        FindingKind::Envelope,
        Some(id.as_str()),
    );
    named(
        "UPDATE object SET type = 'session' WHERE id = 'call_3'",
        FindingKind::Envelope,
        Some("call_3"),
    );
    named("UPDATE nickname SET object = 999", FindingKind::File, None);
    named("UPDATE tx SET system_time = 5 WHERE tx_id = 24", FindingKind::Time, Some("call_11"));
    named("UPDATE tx SET system_time = 5 WHERE tx_id = 24", FindingKind::File, None);
    let latest = after("DELETE FROM version WHERE tx_id = 23");
    let from = |id: &str| {
        latest.findings.iter().any(|finding| {
            finding.kind == FindingKind::Reference && finding.object == Some(ObjectId::new(id))
        })
    };
    assert!(from("call_11") && from("chat:s"), "{:#?}", latest.findings);
}

#[test]
fn forgotten_text_is_not_reported_as_damage() {
    // As `forget` leaves it: the text and its source gone, the hashes there.
    let (_folder, path) = filled();
    let found = Payload::default().content_hash(None).unwrap();
    let redacted = json!({ "reason": "forgotten", "found_hash": found });
    let database = Connection::open(&path).unwrap();
    database
        .execute(
            "UPDATE version SET content = NULL, fields = '{}', redacted = ?1
             WHERE object = (SELECT object FROM object WHERE source IS NOT NULL)",
            [redacted.to_string()],
        )
        .unwrap();
    database
        .execute("UPDATE object SET source = NULL, forgotten = 1 WHERE source IS NOT NULL", [])
        .unwrap();
    assert_eq!(doctor::check_file(&path, true, &mut |_| Ok(())).unwrap().findings, []);
}

#[test]
fn items_that_are_being_dropped_are_no_damage() {
    const CHAT: &str = "object = (SELECT object FROM object WHERE id = 'chat:s')";
    let marked = format!("UPDATE object SET forgotten = 1 WHERE {CHAT};");
    for end in [1, 5, 999] {
        let dropped = format!("DELETE FROM item WHERE {CHAT} AND position < {end};");
        assert_eq!(after(&format!("{marked}{dropped}")).findings, [], "up to {end}");
        assert!(after(&dropped).is_damaged(), "up to {end}");
    }
    let lost = format!("{marked} DELETE FROM item WHERE {CHAT} AND position = 3");
    named(&lost, FindingKind::Items, Some("chat:s"));
    let wrong = "UPDATE object SET forgotten = 1 WHERE id = 'call_3';
                 UPDATE version SET fields = '{}' WHERE object = (SELECT object FROM object WHERE id = 'call_3')";
    named(wrong, FindingKind::Version, Some("call_3"));
}

#[test]
fn a_flipped_byte_in_the_file_is_named_wherever_it_matters() {
    let (folder, path) = filled();
    let bytes = fs::read(&path).unwrap();
    let copy = folder.path().join("copy.sqlite");
    let whole = dump(&path).unwrap();
    let mut named = 0;
    let places = if testing::cases::is_long() { 240 } else { 80 };
    for place in (0..bytes.len()).step_by(bytes.len() / places) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 0x21;
        private_file::write(&copy, damaged);
        let report = match doctor::check_file(&copy, true, &mut |_| Ok(())) {
            Ok(report) => report,
            // A byte of the header: no store of ours, or a newer one.
            Err(error) => {
                assert!(place < 100, "byte {place}: {}", error.report());
                continue;
            }
        };
        if report.is_healthy() {
            assert_eq!(dump(&copy).unwrap(), whole, "byte {place} and nothing is named");
        } else {
            named += 1;
        }
        fs::remove_file(&copy).unwrap();
    }
    assert!(named > places / 12, "{named}");
}

/// Everything that a store gives to its readers.
fn dump(path: &Path) -> base::Result<Vec<String>> {
    let store = Store::open_read_only(path.to_str().unwrap())?;
    let mut all = Vec::new();
    for version in store.changes(TxId(0), 9_999)? {
        let id = &version.envelope.id;
        let items = match version.items_hash {
            Some(_) => store.items(id, AsOf::Tx(version.tx_id), 0..99)?,
            None => Vec::new(),
        };
        let (payload, names) = (store.payload(&version)?, store.nicknames(id)?);
        let listed = store.list(version.envelope.kind, None, 99)?;
        all.push(format!("{version:?} {payload:?} {items:?} {names:?} {}", listed.len()));
    }
    Ok(all)
}

#[test]
fn lost_transactions_are_named_after_they_were_noticed_too() {
    let (folder, path) = filled();
    let copy = folder.path().join("copy");
    fs::copy(&path, &copy).unwrap();
    let store = Store::open(path.to_str().unwrap()).unwrap();
    fill_more(&store);
    store.close().unwrap();
    fs::rename(&copy, &path).unwrap();
    // Before any opening noticed it, and after.
    for _ in 0..2 {
        let report = doctor::check_file(&path, true, &mut |_| Ok(())).unwrap();
        let [finding] = report.findings.as_slice() else { panic!("{:#?}", report.findings) };
        assert_eq!((finding.kind, finding.tx_id), (FindingKind::Lost, Some(TxId(25))));
        assert!(finding.problem.contains("transactions 25 to 25"), "{}", finding.problem);
        assert!(!report.is_damaged(), "what is there is whole");
        Store::open(path.to_str().unwrap()).unwrap().close().unwrap();
    }
}

fn fill_more(store: &Store) {
    let mut transaction = store.begin();
    let payload = Payload { content: Some("more".into()), ..Payload::default() };
    transaction.put(unsourced("more", ObjectType::Toolcall), payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_store_is_checked_while_it_is_written() {
    let (_folder, path) = filled();
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let chat = unsourced("chat:t", ObjectType::Chat);
            let mut expected = Expected::Absent;
            for number in 0_u64.. {
                if done.load(Ordering::Relaxed) {
                    return;
                }
                let mut transaction = store.begin();
                // Grows by three and loses two, again and again.
                let (keep, add) =
                    if number % 2 == 0 { (number / 2, 3) } else { (number / 2 + 1, 0) };
                let add = (0..add).map(|it| format!("message {number} {it}")).collect();
                transaction.splice(chat.clone(), Payload::default(), keep, add, expected).unwrap();
                expected = Expected::Latest(transaction.commit().unwrap().tx_id);
            }
        });
        let reports: Vec<_> =
            (0..8).map(|_| doctor::check_file(&path, true, &mut |_| Ok(()))).collect();
        done.store(true, Ordering::Relaxed);
        for report in reports {
            assert_eq!(report.unwrap().findings, []);
        }
    });
}

#[test]
fn only_a_damaged_store_is_set_aside_unless_it_is_forced() {
    let (_folder, path) = filled();
    assert_eq!(doctor::set_aside(&path, false).unwrap_err().code(), "INVALID_ARGUMENT");
    assert!(path.exists());
    let aside = doctor::set_aside(&path, true).unwrap();
    assert!(!path.exists() && dump(&aside).is_ok());
    assert_eq!(
        doctor::check_file(&path, true, &mut |_| Ok(())).unwrap_err().code(),
        "STORE_UNAVAILABLE"
    );
    // The header stays, the table of the tables goes.
    let mut damaged = fs::read(&aside).unwrap();
    damaged[100..4_000].fill(7);
    private_file::write(&path, &damaged);
    let error = SqliteBackend::open(&path).unwrap_err();
    assert!(error.hint().unwrap().contains("doctor --set-aside"), "{}", error.report());
    let report = doctor::check_file(&path, true, &mut |_| Ok(())).unwrap();
    let [finding] = report.findings.as_slice() else { panic!("{:#?}", report.findings) };
    assert_eq!((finding.kind, &report.store_id), (FindingKind::File, &None));
    assert!(finding.kind.advice().contains("--set-aside"));
    let aside = doctor::set_aside(&path, false).unwrap();
    assert!(fs::read(aside).unwrap() == damaged);
    SqliteBackend::open(&path).unwrap();
}

#[test]
fn a_store_from_a_wrong_clock_is_no_damaged_store() {
    let (_folder, path) = filled();
    let database = Connection::open(&path).unwrap();
    database
        .execute(
            "UPDATE tx SET system_time = 4102444800000
             WHERE tx_id = (SELECT max(tx_id) FROM tx)",
            [],
        )
        .unwrap();
    drop(database);
    let report = doctor::check_file(&path, true, &mut |_| Ok(())).unwrap();
    let [finding] = report.findings.as_slice() else { panic!("{:#?}", report.findings) };
    assert_eq!((finding.kind, report.is_damaged()), (FindingKind::Time, false));
    // An import would leave out what is ahead.
    assert!(!finding.kind.advice().contains("import"), "{}", finding.kind.advice());
    assert_eq!(doctor::set_aside(&path, false).unwrap_err().code(), "INVALID_ARGUMENT");
}

/// The database of another program, the table of whose tables is damaged.
fn foreign_database(path: &Path, application_id: i32) -> Vec<u8> {
    let database = Connection::open(path).unwrap();
    database.execute_batch("CREATE TABLE notes (text);").unwrap();
    database.pragma_update(None, "application_id", application_id).unwrap();
    drop(database);
    let mut bytes = fs::read(path).unwrap();
    bytes[100..4_000].fill(7);
    bytes
}

#[test]
fn a_file_that_is_no_store_is_set_aside_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let foreign = [0, 7].map(|id| foreign_database(&folder.path().join(format!("{id}")), id));
    let texts = ["x", "my notes\n", "SQLite format 3\0 and no more"]
        .map(|text| text.repeat(999).into_bytes());
    for bytes in texts.into_iter().chain([b"x".to_vec()]).chain(foreign) {
        private_file::write(&path, &bytes);
        let files = || fs::read_dir(folder.path()).unwrap().count();
        let before = files();
        for error in [
            SqliteBackend::open(&path).unwrap_err(),
            doctor::check_file(&path, true, &mut |_| Ok(())).unwrap_err(),
            doctor::set_aside(&path, false).unwrap_err(),
        ] {
            assert!(["STORE_CORRUPT", "STORE_UNAVAILABLE"].contains(&error.code()), "{error}");
            let hint = error.hint().unwrap();
            assert!(hint.starts_with("check the path"), "{hint}");
            assert!(!hint.contains("--set-aside") || hint.contains("--force"), "{hint}");
        }
        assert_eq!(files(), before, "nothing is left beside it");
        assert!(fs::read(&path).unwrap() == bytes, "it is as it was");
        let aside = doctor::set_aside(&path, true).unwrap();
        assert!(fs::read(aside).unwrap() == bytes);
    }
}

#[test]
fn the_doctor_is_quick_whatever_the_last_transactions_number() {
    let report = after(&format!(
        "INSERT INTO tx (tx_id, system_time) VALUES ({}, 9); UPDATE version SET fields = 7;",
        i64::MAX - 1
    ));
    assert!(report.is_damaged(), "{report:?}");
}

#[test]
fn a_large_store_is_checked_where_it_was_written_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let write = |tens: std::ops::Range<usize>| {
        for ten in tens {
            let mut transaction = store.begin();
            for number in ten * 10..ten * 10 + 10 {
                let id = ObjectId::new(format!("call_{number}"));
                let envelope = Envelope::unsourced(id, ObjectType::Toolcall).unwrap();
                let content = Some(format!("text {number} ").repeat(1_000));
                let payload = Payload { content, ..Payload::default() };
                transaction.put(envelope, payload, Expected::Absent).unwrap();
            }
            transaction.commit().unwrap();
        }
    };
    write(0..200);
    assert_eq!(
        doctor::check_open(&store, false, &mut |_| Ok(())).unwrap(),
        doctor::check(&store).unwrap()
    );
    write(200..203);
    let report = doctor::check_open(&store, false, &mut |_| Ok(())).unwrap();
    assert_eq!((report.since, report.findings.len()), (Some(TxId(3)), 0));
    assert_eq!((report.checked.versions, report.checked.objects), (2_000, 2_000));
    // A damaged text among the newest is found, an old one by the whole check.
    for (number, newest) in [(2_029, 1), (3, 1)] {
        let hash = Hash::of(format!("text {number} ").repeat(1_000)).to_bytes().unwrap();
        let file = Connection::open(&path).unwrap();
        let changed =
            file.execute("UPDATE content SET text = 'x' WHERE hash = ?1", [hash]).unwrap();
        assert_eq!(changed, 1);
        assert_eq!(
            doctor::check_open(&store, false, &mut |_| Ok(())).unwrap().findings.len(),
            newest
        );
    }
    assert!(doctor::check(&store).unwrap().findings.len() > 1);
}
