//! Text is removed and space given back while another process writes all the time, and after a
//! process that did so was killed.

#![expect(clippy::disallowed_methods, reason = "this test times what it does")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use base::object::{AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, Timestamp};
use serde_json::json;
use store::{Expected, ForgetOptions, GcOptions, Store, doctor};
use testing::child::only;

use crate::forget::{COLLECT, REAL, open, place, session, toolcall, traces, write};

/// Longer than any turn takes on a slow machine, and much less than the whole work.
const PATIENCE: Duration = Duration::from_secs(2);

fn secret(number: usize) -> String {
    format!("sk_live_{number:05}_zanzibar")
}

/// A store with a session of many calls, each with a secret, and others of the same shape.
fn with_sessions(store: &Store, calls: usize) -> ObjectId {
    for name in ["kept", "gone"] {
        let chat = ObjectId::chat(name);
        let ids: Vec<ObjectId> =
            (0..calls).map(|number| ObjectId::new(format!("{name}_{number}"))).collect();
        let mut messages = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            let key = if name == "gone" { secret(number) } else { format!("{name} {number}") };
            let output =
                format!("{}the key is {key}\n", format!("line {number} of {name}\n").repeat(20));
            let fields = json!({ "tool": "bash", "args": { "command": format!("echo {key}") },
                "chat_ref": chat });
            write(store, toolcall(id.as_str()), &output, fields);
            messages.push(json!({ "turn": number, "message": { "role": "assistant",
                "content": [{ "type": "text", "text": format!("I see {key} there") }] } }));
        }
        session(store, name, &ids.iter().collect::<Vec<_>>(), &messages);
    }
    store.search(&store::SearchQuery::new("zanzibar")).unwrap();
    store.relations().unwrap();
    ObjectId::session("gone")
}

fn spawn(test: &str, path: &Path, work: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(only(module_path!(), test))
        .env("PALIMPSEST_TEST_STORE", path)
        .env("PALIMPSEST_TEST_WORK", work)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn given() -> Option<PathBuf> {
    std::env::var_os("PALIMPSEST_TEST_STORE").map(PathBuf::from)
}

/// Where the writing process says that it writes, and where it is told to end.
fn beside(path: &Path, name: &str) -> PathBuf {
    path.with_file_name(name)
}

/// Not a test of its own: a session in another process.
#[expect(clippy::print_stdout, reason = "figures for people")]
#[test]
fn acts_as_a_session_when_asked() {
    let Some(path) = given() else { return };
    let store = open(&path);
    let chat = Envelope::unsourced(ObjectId::chat("live"), ObjectType::Chat).unwrap();
    let (mut longest, mut count, mut expected) = (Duration::ZERO, 0, Expected::Absent);
    while !beside(&path, "end").exists() {
        let text = format!("message {count} ").repeat(50);
        let start = Instant::now();
        let mut transaction = store.begin();
        let items = vec![json!({ "turn": count, "message": { "content": text } }).to_string()];
        transaction.splice(chat.clone(), Payload::default(), count, items, expected).unwrap();
        expected = Expected::Latest(transaction.commit().unwrap().tx_id);
        longest = longest.max(start.elapsed());
        count += 1;
        fs::write(beside(&path, "writes"), count.to_string()).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    assert!(longest < PATIENCE, "a call waited {longest:.1?}");
    println!("\n= {count} calls, the longest took {longest:.1?}");
}

/// Runs work beside a process that writes all the time, and returns how often it wrote meanwhile.
#[expect(clippy::print_stdout, reason = "figures for people")]
fn beside_a_session(path: &Path, work: impl FnOnce()) -> u64 {
    let writes = || fs::read_to_string(beside(path, "writes")).ok()?.parse::<u64>().ok();
    let mut child = spawn("acts_as_a_session_when_asked", path, "write");
    while writes().is_none() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    let before = writes().unwrap_or_default();
    work();
    let after = writes().unwrap_or_default();
    fs::write(beside(path, "end"), "").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    println!("{}", text.lines().find(|line| line.starts_with("= ")).unwrap_or_default());
    after.saturating_sub(before)
}

fn assert_gone(path: &Path, calls: usize) {
    let store = open(path);
    assert_eq!(doctor::check(&store).unwrap().findings, []);
    let kept = store.require(&ObjectId::new("kept_7"), AsOf::Latest).unwrap();
    assert!(store.content(&kept).unwrap().unwrap().contains("the key is kept 7"));
    store.close().unwrap();
    for number in [0, calls / 2, calls - 1] {
        assert_eq!(traces(path, &secret(number)), Vec::<String>::new(), "{number}");
    }
}

#[test]
fn forgetting_works_beside_a_session_that_writes() {
    let (_folder, path) = place();
    let store = open(&path);
    let target = with_sessions(&store, 120);
    let written = beside_a_session(&path, || {
        let report = store.forget(&target, REAL).unwrap();
        let collected = report.collected.unwrap();
        assert!(!collected.waits_to_be_alone);
        assert_eq!(report.objects.len(), 122);
    });
    assert!(written > 3, "{written}");
    assert!(!store.gc(COLLECT).unwrap().waits_for_readers);
    store.close().unwrap();
    assert_gone(&path, 120);
}

#[test]
fn space_is_given_back_beside_a_session_that_writes() {
    let (_folder, path) = place();
    let store = open(&path);
    with_sessions(&store, 30);
    leave_garbage(&store);
    let written = beside_a_session(&path, || {
        let done = store.gc(COLLECT).unwrap();
        assert!(done.contents >= 200, "{done:?}");
        assert!(done.bytes_after < done.bytes_before, "{done:?}");
    });
    assert!(written > 3, "{written}");
    store.close().unwrap();
}

/// What goes is still in the file, as after a forget that was broken off.
fn leave_garbage(store: &Store) {
    for number in 0..200 {
        let text = format!("version {number} of a text {}\n", secret(number)).repeat(400);
        write(store, toolcall("many"), &text, json!({}));
    }
    let id = ObjectId::new("many");
    let marks = [store::Replacement { id: id.clone(), change: store::Change::Forgotten }];
    let upkeep = store.upkeep("test").unwrap();
    upkeep.replace(&marks, &[]).unwrap();
    let emptied: Vec<_> = store.history(&id).unwrap().iter().map(emptied).collect();
    upkeep.replace(&emptied, &[]).unwrap();
}

fn emptied(version: &store::Version) -> store::Replacement {
    let nothing = Payload::default();
    let found_hash = nothing.content_hash(None).unwrap();
    let reason = base::object::RedactionReason::Forgotten;
    let change = store::Change::Version {
        tx_id: version.tx_id,
        fields: serde_json::Map::new(),
        content: None,
        additional: std::collections::BTreeMap::new(),
        redacted: Some(base::object::Redaction { reason, found_hash }),
    };
    store::Replacement { id: version.envelope.id.clone(), change }
}

/// Not a test of its own: a process that is killed at its work.
#[test]
fn acts_as_a_person_when_asked() {
    let Some(path) = given() else { return };
    let store = open(&path);
    fs::write(beside(&path, "works"), "").unwrap();
    match std::env::var("PALIMPSEST_TEST_WORK").as_deref() {
        Ok("forget") => drop(store.forget(&ObjectId::session("gone"), REAL).unwrap()),
        Ok("gc") => drop(store.gc(COLLECT).unwrap()),
        Ok("drop") => drop(in_a_year(store).gc(UNUSED).unwrap()),
        Ok("leave out") => drop(store.gc(UNSEARCHED).unwrap()),
        _ => drop(store.backup(&beside(&path, "copy.sqlite")).unwrap()),
    }
}

/// Milliseconds of work after which it is killed.
const WAITS: [u64; 5] = [2, 20, 60, 120, 250];

/// Lets another process do work on the store, and kills it.
fn kill_at(work: &str, path: &Path, wait: u64) {
    let mut child = spawn("acts_as_a_person_when_asked", path, work);
    while !beside(path, "works").exists() && child.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(wait));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_forget_is_finished_by_the_next() {
    for wait in WAITS {
        let (_folder, path) = place();
        let store = open(&path);
        let target = with_sessions(&store, 60);
        let dry = store.forget(&target, ForgetOptions::default()).unwrap();
        store.close().unwrap();
        kill_at("forget", &path, wait);
        let store = open(&path);
        let report = store.forget(&target, REAL).unwrap();
        assert!(report.objects.len() <= dry.objects.len());
        store.close().unwrap();
        assert_gone(&path, 60);
    }
}

#[test]
fn a_killed_gc_is_finished_by_the_next() {
    for wait in WAITS {
        let (_folder, path) = place();
        let store = open(&path);
        with_sessions(&store, 10);
        leave_garbage(&store);
        store.close().unwrap();
        kill_at("gc", &path, wait);
        let store = open(&path);
        assert_eq!(doctor::check(&store).unwrap().findings, []);
        store.gc(COLLECT).unwrap();
        assert_eq!(store.gc(COLLECT).unwrap().contents, 0);
        let kept = store.require(&ObjectId::new("kept_7"), AsOf::Latest).unwrap();
        assert!(store.content(&kept).unwrap().unwrap().contains("the key is kept 7"));
        store.close().unwrap();
    }
}

const UNUSED: GcOptions =
    GcOptions { unused_for: Some(Duration::from_secs(30 * 24 * 60 * 60)), ..COLLECT };
const UNSEARCHED: GcOptions = GcOptions { search_outputs: Some(false), ..COLLECT };

fn in_a_year(store: Store) -> Store {
    let now = store.now().0 + 365 * 24 * 60 * 60 * 1_000;
    store.with_clock(Arc::new(move || Timestamp(now)))
}

#[test]
fn a_killed_drop_of_old_sessions_is_finished_by_the_next() {
    for wait in WAITS {
        let (_folder, path) = place();
        let store = open(&path);
        with_sessions(&store, 60);
        let mut transaction = store.begin();
        let nickname = Nickname::parse("wanted").unwrap();
        transaction.name(nickname, Some(ObjectId::session("kept")));
        transaction.commit().unwrap();
        store.close().unwrap();
        kill_at("drop", &path, wait);
        let store = in_a_year(open(&path));
        assert_eq!(doctor::check(&store).unwrap().findings, []);
        let aged = store.gc(UNUSED).unwrap().aged.unwrap();
        assert!(aged.sessions <= 1 && aged.objects <= 62, "{aged:?}");
        assert_eq!(store.get(&ObjectId::session("gone"), AsOf::Latest).unwrap(), None);
        store.close().unwrap();
        assert_gone(&path, 60);
    }
}

#[test]
fn outputs_left_out_by_half_are_left_out_by_the_next() {
    for wait in WAITS {
        let (_folder, path) = place();
        let store = open(&path);
        with_sessions(&store, 60);
        store.close().unwrap();
        kill_at("leave out", &path, wait);
        let store = open(&path);
        store.gc(UNSEARCHED).unwrap();
        let found = store.search(&store::SearchQuery::new("\"key is\"")).unwrap();
        assert_eq!(found.total, 0, "{found:?}");
        store.gc(GcOptions { search_outputs: Some(true), ..COLLECT }).unwrap();
        let found = store.search(&store::SearchQuery::new("\"key is\"")).unwrap();
        assert_eq!(found.total, 120);
        store.close().unwrap();
    }
}

#[test]
fn old_sessions_are_dropped_beside_a_session_that_writes() {
    let (_folder, path) = place();
    let store = open(&path);
    with_sessions(&store, 120);
    let store = in_a_year(store);
    let written = beside_a_session(&path, || {
        assert_eq!(store.gc(UNUSED).unwrap().aged.unwrap().sessions, 2);
    });
    assert!(written > 3, "{written}");
    store.close().unwrap();
}

#[test]
fn a_killed_backup_leaves_the_copy_before_or_a_whole_one() {
    let (_folder, path) = place();
    let store = open(&path);
    with_sessions(&store, 60);
    let copy = beside(&path, "copy.sqlite");
    for wait in WAITS {
        fs::write(&copy, "an older copy").unwrap();
        kill_at("backup", &path, wait);
        fs::remove_file(beside(&path, "works")).unwrap();
        if fs::read(&copy).unwrap() != b"an older copy" {
            let whole = open(&copy);
            assert_eq!(doctor::check(&whole).unwrap().findings, []);
            whole.close().unwrap();
        }
        store.backup(&copy).unwrap();
        assert_eq!(left_beside(&path), 0, "after {wait} ms");
    }
}

#[test]
fn a_damaged_store_takes_no_copys_place() {
    let (_folder, path) = place();
    let store = open(&path);
    with_sessions(&store, 3);
    let copy = beside(&path, "copy.sqlite");
    store.backup(&copy).unwrap();
    let good = fs::read(&copy).unwrap();
    store.close().unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    let damaged = other.execute("UPDATE version SET fields = '{\"tool\":\"other\"}'", []).unwrap();
    assert!(damaged > 0);
    drop(other);
    assert_eq!(open(&path).backup(&copy).unwrap_err().code(), "STORE_CORRUPT");
    assert_eq!((fs::read(&copy).unwrap() == good, left_beside(&path)), (true, 0));
}

#[cfg(unix)]
#[test]
fn a_backup_may_stand_where_others_may_write() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = place();
    let store = open(&path);
    with_sessions(&store, 1);
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let made = store.backup(&shared.path().join("copy.sqlite")).unwrap();
    assert_eq!(made.tx_id, store.newest().unwrap().0);
}

/// Copies that are not in their place.
fn left_beside(path: &Path) -> usize {
    let names = fs::read_dir(path.parent().unwrap()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".new")).count()
}

#[test]
fn a_backup_beside_a_session_is_a_whole_store_of_one_moment() {
    let (folder, path) = place();
    let store = open(&path);
    with_sessions(&store, 30);
    let before = store.newest().unwrap().0;
    let copy = folder.path().join("copy.sqlite");
    fs::write(&copy, "an older copy").unwrap();
    let viewer = Store::open_read_only(path.to_str().unwrap()).unwrap();
    beside_a_session(&path, || {
        for store in [&store, &viewer] {
            let made = store.backup(&copy).unwrap();
            assert!(made.tx_id > before, "{made:?}");
            let again = open(&copy);
            assert_eq!(again.newest().unwrap().0, made.tx_id);
            assert_eq!((again.id(), again.notice()), (store.id(), None));
            let report = doctor::check(&again).unwrap();
            assert_eq!((report.findings, report.checked.versions), (vec![], made.versions));
            again.close().unwrap();
        }
    });
    assert_eq!(store.backup(Path::new("/dev/null")).unwrap_err().code(), "INVALID_ARGUMENT");
    assert_eq!(left_beside(&path), 0);
}
