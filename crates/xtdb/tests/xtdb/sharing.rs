//! Two machines and a real node between them: what is shared, in which order, and what never leaves
//! a machine.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::object::{AsOf, Envelope, ObjectId, ObjectType, Payload, Source, VersionSelector};
use store::{Expected, ForgetOptions, Query, Store};
use xtdb::migrate;

use crate::bad_input::put;
use crate::machine::{Machine, NOW, everything, shared, source, versions};
use crate::recordings;
use crate::speed::asked;
use testing::faults::{Fault, Proxy};
use testing::xtdb::Database;

const HOUR: i64 = 3_600_000;

/// A short session: a person asks, a command runs, the model answers. `name`: its host's ID.
pub(crate) fn run_session(store: &Store, name: &str, output: &str) {
    let call = |id: &str, command: &str| {
        serde_json::json!({"role": "assistant", "timestamp": 2, "content": [
            {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": command}}
        ]})
    };
    let messages = [
        serde_json::json!({"role": "user", "content": "run it", "timestamp": 1}),
        call("call_0", "make all"),
        serde_json::json!({"role": "toolResult", "toolCallId": "call_0", "toolName": "bash", "timestamp": 3,
            "isError": false, "content": [{"type": "text", "text": output}]}),
        serde_json::json!({"role": "assistant", "timestamp": 4,
            "content": [{"type": "text", "text": "It ran."}]}),
        serde_json::json!({"role": "user", "content": "thanks", "timestamp": 5}),
    ];
    let messages: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    recordings::play(store, name, &messages);
}

#[test]
fn two_machines_see_each_others_versions_of_a_file() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    let id = one.write("/p/a.txt", "one\n");
    assert_eq!(one.push().versions, 1);
    let behind = |machine: &Machine| machine.sharing.look().unwrap().behind;
    assert_eq!((behind(&one), behind(&other)), (Some(0), Some(1)));
    assert_eq!(other.pull().versions, 1);
    assert_eq!(behind(&other), Some(0));
    assert_eq!(other.text(&id).as_deref(), Some("one\n"));
    other.write("/p/a.txt", "two\n");
    assert_eq!(other.push().versions, 1);
    let pulled = one.pull();
    assert_eq!((pulled.versions, pulled.changed.len()), (1, 1));
    assert_eq!(one.text(&id).as_deref(), Some("two\n"));
    let all = versions(&one.store, &id);
    assert_eq!(all.0.len(), 2);
    assert_eq!(versions(&other.store, &id), all);
    assert_eq!(versions(&shared(&database.url()), &id), all);
}

#[test]
fn what_was_sent_or_taken_changes_nothing_the_second_time() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    for text in ["a", "b", "a"] {
        one.write("/p/a.txt", text);
    }
    one.push();
    other.pull();
    // It says who it is.
    other.push();
    let there = shared(&database.url());
    let (newest, _) = there.newest().unwrap();
    // As after a crash between sending and noting it.
    for machine in [&one, &other] {
        let again = Machine::at(&database.url());
        let copy = again.folder.path().join("copy.sqlite");
        std::fs::copy(machine.folder.path().join("store.sqlite"), &copy).unwrap();
        let _log = std::fs::copy(
            machine.folder.path().join("store.sqlite-wal"),
            again.folder.path().join("copy.sqlite-wal"),
        );
        let store = Store::open(copy.to_str().unwrap()).unwrap().with_clock(machine.store.clock());
        let sharing = xtdb::Sharing::new(store, crate::machine::options(&database.url()));
        sharing.push(&mut |_| Ok(())).unwrap();
        sharing.pull(&mut |_| Ok(())).unwrap();
        assert_eq!(machine.push().versions, 0);
        assert_eq!(machine.pull().versions, 0);
    }
    assert_eq!(there.newest().unwrap().0, newest);
    let id = one.write("/p/a.txt", "a");
    assert_eq!(there.history(&id).unwrap().len(), 3);
}

#[test]
fn versions_written_apart_have_the_same_latest_everywhere() {
    let Some(database) = Database::new() else { return };
    let machines = [(); 3].map(|()| Machine::at(&database.url()));
    for (at, machine) in (0_i64..).zip(&machines) {
        // The last to push wrote first.
        machine.clock.store(NOW + 1_000 * (3 - at), Ordering::Relaxed);
        for text in ["one", "two"] {
            machine.write("/p/a.txt", &format!("{text} of {at}"));
        }
    }
    for machine in &machines {
        machine.push();
    }
    for machine in &machines {
        machine.pull();
    }
    let id = machines[0].write("/p/a.txt", "two of 0");
    let all = versions(&machines[0].store, &id);
    assert_eq!(all.0.len(), 6);
    assert_eq!(machines[0].text(&id).as_deref(), Some("two of 0"));
    for machine in &machines[1..] {
        assert_eq!(versions(&machine.store, &id), all);
    }
    assert_eq!(versions(&shared(&database.url()), &id), all);
    // Nobody has anything left to say.
    let there = shared(&database.url());
    let (newest, _) = there.newest().unwrap();
    for machine in &machines {
        assert_eq!((machine.push().versions, machine.pull().versions), (0, 0));
    }
    assert_eq!(there.newest().unwrap().0, newest);
}

#[test]
fn a_version_that_comes_while_an_older_is_sent_stays_latest() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let slow = Machine::at(&format!("{}{}", proxy.url(), database.path()));
    let other = Machine::at(&database.url());
    // Both are connected, and know what is there.
    drop([&slow, &other].map(Machine::push));
    let id = slow.write("/p/a.txt", "first");
    other.clock.store(NOW + 1_000, Ordering::Relaxed);
    other.write("/p/a.txt", "second");
    let is_sent = |line: &String| line.contains("submit-tx");
    let sent = proxy.seen().iter().filter(|line| is_sent(line)).count();

    // It has read what is there, and planned what it writes.
    proxy.once("submit-tx", Fault::Delay(Duration::from_secs(3_600)));
    std::thread::scope(|scope| {
        scope.spawn(|| slow.push());
        while proxy.seen().iter().filter(|line| is_sent(line)).count() == sent {
            std::thread::yield_now();
        }
        other.push();
        proxy.set(Fault::Delay(Duration::ZERO));
    });

    let there = shared(&database.url());
    let latest = there.require(&id, AsOf::Latest).unwrap();
    assert_eq!(there.content(&latest).unwrap().as_deref(), Some("second"));
    assert_eq!(versions(&there, &id).0.len(), 2);
}

#[test]
fn an_edit_after_a_pull_is_the_latest_despite_wrong_clocks() {
    let Some(database) = Database::new() else { return };
    let [fast, slow] = [Machine::at(&database.url()), Machine::at(&database.url())];
    fast.clock.store(NOW + HOUR / 2, Ordering::Relaxed);
    let id = fast.write("/p/a.txt", "first");
    fast.push();
    slow.pull();
    slow.write("/p/a.txt", "second");
    slow.push();
    fast.pull();
    assert_eq!(fast.text(&id).as_deref(), Some("second"));
    assert_eq!(versions(&fast.store, &id), versions(&slow.store, &id));
}

#[test]
fn a_version_of_a_far_future_waits_until_the_clock_is_near() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let url = format!("{}{}", proxy.url(), database.path());
    let [wrong, right, third] = [(); 3].map(|()| Machine::at(&url));
    wrong.clock.store(NOW + 5 * HOUR, Ordering::Relaxed);
    let id = wrong.write("/p/a.txt", "from the future");
    wrong.push();
    assert_eq!(right.pull().versions, 0);
    assert_eq!(right.text(&id), None);
    assert_eq!(right.sharing.status().unwrap().ahead, 1);
    // The shared store puts it again behind what others write.
    third.write("/p/a.txt", "written meanwhile");
    third.push();
    assert_eq!(right.pull().versions, 1);
    assert_eq!(right.sharing.status().unwrap().ahead, 1);
    let idle = asked(&proxy, || drop(right.pull()));
    assert_eq!(idle.values().sum::<usize>(), 1, "{idle:?}");
    right.clock.store(NOW + 5 * HOUR, Ordering::Relaxed);
    assert_eq!(right.pull().versions, 1);
    assert_eq!(right.text(&id).as_deref(), Some("from the future"));
    assert_eq!(right.sharing.status().unwrap().ahead, 0);
}

#[test]
fn sessions_stay_here_unless_they_are_shared() {
    let Some(database) = Database::new() else { return };
    let one = Machine::at(&database.url());
    run_session(&one.store, "s1", "done\n");
    one.write("/p/a.txt", "text");
    assert_eq!(one.push().versions, 1);
    let there = shared(&database.url());
    for kind in ObjectType::ALL {
        let count = there.list(kind, None, 9).unwrap().len();
        assert_eq!(count, usize::from(kind == ObjectType::File), "{kind:?}");
    }
}

#[test]
fn a_shared_session_is_sent_without_secrets_and_pulled_by_name() {
    let Some(database) = Database::new() else { return };
    let one = Machine::with_sessions(&database.url());
    let secret = format!("AKIA{}", "QYLPMN5HFIQR7XYZ");
    run_session(&one.store, "s1", &format!("key = {secret}\nand a line that stays\n"));
    one.push();
    let other = Machine::with_sessions(&database.url());
    let pulled = other.pull();
    assert_eq!((pulled.versions, pulled.broken.len()), (0, 0), "a session comes when it is named");
    other.sharing.pull_session("s1").unwrap();
    let session = ObjectId::session("s1");
    let [here, there] = [&one, &other].map(|machine| {
        let version = machine.store.require(&session, AsOf::Latest).unwrap();
        machine.store.items(&session, AsOf::Latest, 0..version.item_count).unwrap()
    });
    assert_eq!(here.len(), there.len());
    let text = |machine: &Machine| {
        let call = machine.store.list(ObjectType::Toolcall, None, 9).unwrap().remove(0);
        machine.store.content(&call).unwrap().unwrap()
    };
    assert!(text(&one).contains(&secret));
    assert!(!text(&other).contains(&secret), "{}", text(&other));
    assert!(text(&other).contains("and a line that stays"));
    assert!(!there.join("\n").contains(&secret));
    assert_eq!(other.sharing.pull_session("nowhere").unwrap_err().code(), "UNKNOWN_NAME");
}

#[test]
fn an_excluded_file_neither_leaves_nor_comes() {
    let Some(database) = Database::new() else { return };
    let careful = |options: &mut xtdb::SharingOptions| {
        options.is_excluded = Arc::new(|path| path.contains(".env"));
    };
    let one = Machine::with(&database.url(), careful);
    one.write("/p/.env", "TOKEN=1");
    let pushed = one.push();
    assert_eq!((pushed.versions, pushed.left_out[0].reason), (0, "excluded"));
    let other = Machine::at(&database.url());
    let id = other.write("/q/.env", "TOKEN=2");
    other.push();
    assert_eq!(one.pull().left_out[0].reason, "excluded");
    assert_eq!(one.text(&id), None);
}

#[test]
fn what_one_forgets_is_gone_everywhere_and_does_not_come_back() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    let id = one.write("/p/a.txt", "a line that nobody should see\n");
    let kept = one.write("/p/b.txt", "another file\n");
    one.push();
    other.pull();
    let late = Machine::at(&database.url());
    late.write("/p/a.txt", "a line that nobody should see\n");
    one.store.forget(&id, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    assert_eq!(one.push().forgotten, 1);
    let there = shared(&database.url());
    assert_eq!(there.history(&id).unwrap().len(), 1, "its tombstone");
    assert!(there.is_forgotten(&id).unwrap());
    assert_eq!(other.pull().forgotten, 1);
    assert!(other.store.is_forgotten(&id).unwrap());
    assert_eq!(other.text(&id), None);
    assert_eq!(other.text(&kept).as_deref(), Some("another file\n"));
    // One who wrote it meanwhile cannot bring it back.
    assert_eq!(late.push().left_out[0].reason, "forgotten");
    assert_eq!(late.pull().forgotten, 1);
    assert_eq!(late.text(&id), None);
    assert_eq!((one.push().forgotten, other.push().forgotten), (0, 0), "it is gone there");
    assert_eq!((one.pull().forgotten, other.pull().forgotten), (0, 0));
}

#[test]
fn what_was_never_shared_stays_whatever_others_forget() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    run_session(&one.store, "s1", "what one ran\n");
    run_session(&other.store, "s2", "what the other ran\n");
    let [first, second] = ["session:s1", "session:s2"].map(ObjectId::new);
    let call = ObjectId::new("call_0");
    let output = |machine: &Machine| machine.text(&call);
    one.sharing.push_session(&first).unwrap();
    // Of these IDs the shared store has another's, or nothing.
    other.write("/p/a.txt", "a file\n");
    other.push();
    one.store.forget(&first, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    assert_eq!(one.push().forgotten, 3, "the session, its chat and its call");
    assert_eq!(other.pull().forgotten, 0);
    assert_eq!(output(&other).as_deref(), Some("what the other ran\n"));
    // A tombstone made by hand.
    let hash = "0".repeat(64);
    let tombstone = serde_json::json!({
        "xt/id": second, "type": "session", "forgotten": true, "identity_hash": hash,
        "content_hash": hash, "payload": "{}",
        "redacted": {"reason": "forgotten", "found_hash": hash},
    });
    put(&database, &[tombstone]);
    assert_eq!(other.pull().forgotten, 0);
    assert!(!other.store.is_forgotten(&second).unwrap());
    other.store.forget(&second, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    assert_eq!(other.push().forgotten, 0, "nothing of it was there");
}

#[test]
fn everything_moves_to_xtdb_and_back() {
    let Some(database) = Database::new() else { return };
    let one = Machine::at(&database.url());
    run_session(&one.store, "s1", &"a long line of output\n".repeat(500));
    run_session(&one.store, "s2", "done\n");
    for text in ["a", "b", "a"] {
        one.write("/p/a.txt", text);
    }
    let there = shared(&database.url());
    let moved = migrate(&one.store, &there, &mut |_| Ok(())).unwrap();
    assert_eq!(moved.verified, moved.versions);
    let back = Store::open(":memory:").unwrap();
    let returned = migrate(&there, &back, &mut |_| Ok(())).unwrap();
    assert_eq!(returned.verified, moved.verified);
    for kind in ObjectType::ALL {
        let here = everything(&one.store, kind);
        assert_eq!(everything(&there, kind), here);
        assert_eq!(everything(&back, kind), here);
    }
    assert_eq!(migrate(&one.store, &there, &mut |_| Ok(())).unwrap().versions, 0);
}

#[test]
fn a_store_moves_in_which_a_file_was_forgotten() {
    let one = Store::open(":memory:").unwrap();
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: "/p/a.txt".into() };
    let file = Envelope::sourced(ObjectType::File, source).unwrap();
    let id = file.id.clone();
    let payload = Payload { content: Some("text\n".to_owned()), ..Payload::default() };
    let mut transaction = one.begin();
    transaction.put(file, payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
    one.forget(&id, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    let database = Database::new();
    let mut stores = vec![Store::open(":memory:").unwrap()];
    stores.extend(database.as_ref().map(|database| shared(&database.url())));
    for there in stores {
        let moved = migrate(&one, &there, &mut |_| Ok(())).unwrap();
        assert_eq!((moved.verified, moved.left_out), (1, vec![]));
        let version = there.require(&id, AsOf::Latest).unwrap();
        assert!(version.envelope.is_nameless() && version.redacted.is_some(), "{version:?}");
    }
}

#[test]
fn recorded_sessions_migrate_to_xtdb_and_back() {
    let Some(files) = crate::recorded::files(&["transcripts"], Some(2)) else { return };
    let Some(database) = Database::new() else { return };
    let one = Machine::at(&database.url());
    for file in &files {
        let text = crate::recorded::read(file);
        let messages: Vec<&str> = text.lines().skip(1).collect();
        recordings::play(&one.store, &file.file_name().unwrap().to_string_lossy(), &messages);
    }
    let there = shared(&database.url());
    let moved = migrate(&one.store, &there, &mut |_| Ok(())).unwrap();
    assert_eq!((moved.verified, moved.left_out), (moved.versions, vec![]));
    let back = Store::open(":memory:").unwrap();
    assert_eq!(migrate(&there, &back, &mut |_| Ok(())).unwrap().verified, moved.verified);
    for kind in [ObjectType::Session, ObjectType::Chat] {
        assert_eq!(everything(&back, kind), everything(&one.store, kind));
    }
}

#[test]
fn anyone_can_ask_the_shared_store_in_datalog() {
    let Some(database) = Database::new() else { return };
    let one = Machine::at(&database.url());
    let id = one.write("/p/a.txt", "text");
    one.push();
    let there = shared(&database.url());
    let found = there.query(&Query::parse("type = file and path = /p/a.txt").unwrap()).unwrap();
    assert_eq!(found[0].envelope.id, id);
    assert_eq!(found[0].envelope.source, Some(source("/p/a.txt")));
}

#[test]
fn a_file_of_two_machines_has_one_history() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [Machine::at(&database.url()), Machine::at(&database.url())];
    let mut id = None;
    for round in 0..4 {
        // Each writes twice before it hears of the other, whose clock is a little apart.
        for (machine, name, apart) in [(&one, "one", 0), (&other, "other", 3)] {
            for half in 0..2 {
                machine.clock.store(NOW + 100 * round + 10 * half + apart, Ordering::Relaxed);
                let text = format!("round {round} half {half} by {name}\n");
                id = Some(machine.write("/p/a.txt", &text));
            }
        }
        for machine in [&one, &other, &one] {
            machine.push();
            machine.pull();
        }
    }
    let id = id.unwrap();
    let history = |machine: &Machine| -> Vec<String> {
        let versions = machine.store.lineage(&id).unwrap();
        versions.iter().map(|version| machine.store.content(version).unwrap().unwrap()).collect()
    };
    let mut expected = Vec::new();
    for round in 0..4 {
        for half in 0..2 {
            for name in ["one", "other"] {
                expected.insert(0, format!("round {round} half {half} by {name}\n"));
            }
        }
    }
    assert_eq!(history(&one), expected);
    assert_eq!(history(&other), expected);
    for machine in [&one, &other] {
        assert_eq!(machine.text(&id).as_ref(), expected.first());
        for (back, text) in (0..).zip(&expected) {
            let version = machine.store.select(&id, VersionSelector::Back(back)).unwrap();
            assert_eq!(machine.store.content(&version).unwrap().as_ref(), Some(text), "@-{back}");
        }
    }
}
