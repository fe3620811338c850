//! Sessions in another store: an exported and imported session renders every call as it went out,
//! and can be continued.

use std::path::Path;
use std::sync::Arc;

use base::object::{ObjectId, ObjectType, Payload, Timestamp};
use config::{Layout, Settings};
use live::{CallInfo, HostList, LiveSession, find_session, replay_call, sessions};
use proptest::prelude::*;
use serde_json::{Value, json};
use store::{ArchiveScope, Expected, ExportOptions, ImportOptions, Imported, Store, doctor};

use crate::host::{Host, json_of, uncached};
use crate::script::{World, script};

pub(crate) fn import(from: &Store, into: &Store, scope: ArchiveScope, redact: bool) -> Imported {
    let options = ExportOptions { scope, redact, compress: false };
    let (mut archive, path) = (Vec::new(), Path::new("-"));
    from.export_archive(&mut archive, path, &options, &mut |_| Ok(())).unwrap();
    let limits = ImportOptions::default();
    into.import_archive(Box::new(&*archive), path, &limits, &mut |_| Ok(())).unwrap()
}

fn fresh() -> Store {
    Store::open(":memory:").unwrap()
}

fn check_calls(store: &Store, calls: &[(ObjectId, u64, Vec<Value>)], of: Option<&ObjectId>) {
    for (session, number, messages) in calls {
        if of.is_some_and(|of| of != session) {
            continue;
        }
        let again = replay_call(store, session, *number).unwrap();
        assert_eq!(again.withheld, []);
        let again: Vec<Value> =
            again.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        assert_eq!(again, *messages, "call {number} of {session} renders as it went out");
    }
}

fn holds(layout: Layout, script: &[crate::script::Op]) {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        layout,
        keep_results: 2,
        collapse_tokens: 300,
        preview_tokens: 400,
        prices: uncached(),
        ..Settings::default()
    };
    let mut world = World::new(folder.path(), settings, 20_000, true);
    world.run(script);
    let here = &world.host.store;
    let whole = fresh();
    assert_eq!(import(here, &whole, ArchiveScope::Everything, false).left_out, []);
    check_calls(&whole, &world.calls, None);
    // Where another session has the IDs of the calls, as local servers repeat them.
    let taken = fresh();
    let mut transaction = taken.begin();
    for call in here.list(ObjectType::Toolcall, None, 999).unwrap() {
        let fields = json!({ "tool": "bash", "args": {}, "chat_ref": "chat:other", "position": 0 });
        let Value::Object(fields) = fields else { unreachable!() };
        let payload = Payload { content: Some("another\n".into()), fields, ..Payload::default() };
        transaction.put(call.envelope, payload, Expected::Absent).unwrap();
    }
    transaction.commit().unwrap();
    for present in [false, true] {
        let imported = import(here, &taken, ArchiveScope::Everything, false);
        assert_eq!((imported.left_out, imported.versions == 0), (vec![], present));
        // In `pools` a call that failed is marked where its record names such a call.
        if layout == Layout::Log {
            check_calls(&taken, &world.calls, None);
        }
    }
    assert_eq!(doctor::check(&taken).unwrap().findings, []);
    for session in here.list(ObjectType::Session, None, 99).unwrap() {
        let (id, alone) = (session.envelope.id, fresh());
        import(here, &alone, ArchiveScope::Session(id.clone()), false);
        check_calls(&alone, &world.calls, Some(&id));
    }
}

proptest! {
    #![proptest_config(testing::cases::config(3, 7))]

    #[test]
    fn every_call_renders_again_in_another_store(pools in any::<bool>(), script in script(40)) {
        holds(if pools { Layout::Pools } else { Layout::Log }, &script);
    }
}

#[test]
fn a_session_continued_on_two_machines_becomes_two_sessions() {
    let mut here = Host::new(Settings::default());
    here.write_file("a.txt", "one\ntwo\n");
    here.user("begin");
    here.read("a.txt", None, None);
    here.send();
    let there = fresh().with_clock(Arc::new(|| Timestamp(1_500)));
    import(&here.store, &there, ArchiveScope::Everything, false);
    // There the session continues with one answer, here with others.
    let mut other = LiveSession::open(there.clone(), here.options()).unwrap();
    let mut list = here.messages.clone();
    list.push(json!({ "role": "user", "content": "over there", "timestamp": 900 }));
    let info = CallInfo::default();
    other.transform(HostList::whole(json_of(&list)), &info).unwrap();
    let number = other.state().calls();
    let went_out = replay_call(&there, other.id(), number).unwrap();
    assert!(went_out.messages.last().unwrap().contains("over there"));
    let mut sent = Vec::new();
    for text in ["here", "and here"] {
        here.say("done");
        here.user(text);
        sent.push((here.live.id().clone(), here.live.state().calls() + 1, here.send()));
    }
    // Each machine goes on with its own, and has the other's beside it.
    let copy = |imported: Imported| imported.parted[0].stored_as.clone();
    let theirs = copy(import(&there, &here.store, ArchiveScope::Everything, false));
    let ours = copy(import(&here.store, &there, ArchiveScope::Everything, false));
    assert_eq!(replay_call(&here.store, &theirs, number).unwrap(), went_out);
    assert_eq!(replay_call(&there, other.id(), number).unwrap(), went_out);
    for (store, copy) in [(&here.store, &theirs), (&there, &ours)] {
        for name in ["session-1", "sess", "latest"] {
            assert_eq!(find_session(store, name).unwrap(), *here.live.id(), "{name}");
        }
        let key = copy.as_str().trim_start_matches("session:");
        assert_eq!(find_session(store, key).unwrap(), *copy);
    }
    for (id, call, sent) in &sent {
        for (store, session) in [(&here.store, id), (&there, &ours)] {
            let replayed = replay_call(store, session, *call).unwrap();
            let messages: Vec<Value> =
                replayed.messages.iter().map(|m| serde_json::from_str(m).unwrap()).collect();
            assert_eq!(messages, *sent);
        }
    }
    for (store, calls) in [(&here.store, here.live.state().calls()), (&there, number)] {
        let resumed = LiveSession::open(store.clone(), here.options()).unwrap();
        assert_eq!(resumed.state().calls(), calls);
    }
}

#[test]
fn latest_never_means_an_imported_session() {
    let at = |time| Arc::new(move || Timestamp(time));
    let store = |time, name: &str| {
        let store = fresh().with_clock(at(time));
        let mut host = Host::new(Settings::default());
        host.restart_as(name);
        let mut live = LiveSession::open(store.clone(), host.options()).unwrap();
        let list = [json!({ "role": "user", "content": name, "timestamp": 1 })];
        live.transform(HostList::whole(json_of(&list)), &CallInfo::default()).unwrap();
        (store, live.id().clone())
    };
    let ((here, ours), (earlier, _), (later, theirs)) =
        (store(20, "ours"), store(10, "earlier"), store(30, "a-later"));
    let empty = fresh();
    for from in [&later, &earlier] {
        import(from, &here, ArchiveScope::Everything, false);
        import(from, &empty, ArchiveScope::Everything, false);
    }
    assert_eq!(find_session(&here, "latest").unwrap(), ours);
    assert_eq!(find_session(&empty, "latest").unwrap(), theirs, "nothing was written here");
    let listed: Vec<i64> =
        sessions(&here, usize::MAX).unwrap().iter().map(|session| session.updated.0).collect();
    assert_eq!(listed, [30, 20, 10]);
}

#[test]
fn replay_of_a_redacted_session_names_the_places() {
    let mut host = Host::new(Settings::default());
    let secret = format!("AKIA{}", "QWERTYUIOPASDFGH");
    host.write_file("plain.txt", "nothing here\n");
    host.write_file("env.txt", &format!("first\nid {secret}\nlast\n"));
    host.user("begin");
    host.read("plain.txt", None, None);
    host.read("env.txt", None, None);
    host.tool("bash", &json!({ "command": "env" }), &format!("id {secret}\n"));
    let sent = host.send();
    let there = fresh();
    import(&host.store, &there, ArchiveScope::Session(host.live.id().clone()), true);
    let again = replay_call(&there, host.live.id(), host.live.state().calls()).unwrap();
    assert_eq!(again.messages.len(), sent.len());
    let places: Vec<usize> = again.withheld.iter().map(|place| place.message).collect();
    let with_secret = |message: &Value| message.to_string().contains(&secret);
    let expected: Vec<usize> = (0..sent.len()).filter(|at| with_secret(&sent[*at])).collect();
    assert_eq!((places, expected.len()), (expected.clone(), 2));
    for (at, (again, sent)) in again.messages.iter().zip(&sent).enumerate() {
        assert!(!again.contains(&secret));
        if expected.contains(&at) {
            assert!(again.contains("[redacted:aws_access_key]"), "{again}");
        } else {
            assert_eq!(serde_json::from_str::<Value>(again).unwrap(), *sent);
        }
    }
}
