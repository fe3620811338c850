//! Two processes on one session: the one that finds it changed continues as a session of its own,
//! and nothing is lost.

use std::sync::Arc;

use base::object::{AsOf, ObjectId};
use config::Settings;
use live::{
    CallInfo, FinishedToolCall, HostList, LiveSession, Notice, OpenSession, Wanted, find_session,
    replay_call, sessions,
};
use serde_json::json;
use session::Reported;
use store::Store;

use crate::failing::FailingBackend;
use crate::host::{Host, json_of};

fn host() -> Host {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", "one\ntwo\nthree\n");
    host.user("first");
    host.read("a.txt", None, None);
    host.send();
    host
}

fn events(host: &Host, session: &ObjectId) -> Vec<String> {
    host.store.items(session, AsOf::Latest, 0..u64::MAX).unwrap()
}

fn split(id: &str, own: bool) -> Notice {
    Notice::SessionSplit { id: format!("session:{id}"), own }
}

fn named(name: &str) -> Wanted {
    Wanted { name: name.into(), ..Wanted::default() }
}

#[test]
fn a_second_process_on_a_session_gets_a_session_of_its_own() {
    let mut host = host();
    let session = host.live.id().clone();
    host.call_beside();
    let theirs = events(&host, &session);
    host.tool("bash", &json!({ "command": "ls" }), "a.txt");
    host.send();
    assert_eq!(host.sent, host.messages);
    let own = host.live.id().clone();
    assert_eq!(own.as_str(), "session:session-1+2");
    assert_eq!(host.notices, [split("session-1+2", true)]);
    assert_eq!(events(&host, &session), theirs, "the other's session is untouched");
    assert_eq!(host.live.state().calls(), 2);
    assert_eq!(host.live.state().index().entries.len(), 3, "f1 and t1 are inherited, t2 is new");
    assert_eq!(
        replay_call(&host.store, &own, 1).unwrap().messages.len(),
        3,
        "calls before are inherited"
    );
    assert_eq!(replay_call(&host.store, &own, 2).unwrap().messages.len(), 5);
    let chat = host.store.items(
        &ObjectId::new(own.as_str().replace("session:", "chat:")),
        AsOf::Latest,
        0..u64::MAX,
    );
    assert_eq!(chat.unwrap().len(), 5);
}

#[test]
fn a_process_hears_that_another_split_off() {
    let mut host = host();
    let mut other = LiveSession::open(host.store.clone(), host.options()).unwrap();
    host.user("second");
    host.send();
    let list = json_of(&host.messages);
    other.transform(HostList::whole(list), &CallInfo::default()).unwrap();
    for expected in [vec![split("session-1+2", false)], vec![]] {
        host.user("go on");
        host.send();
        assert_eq!(host.notices, expected);
    }
    assert_eq!(host.live.id().as_str(), "session:session-1");
}

#[test]
fn a_tool_call_that_finds_the_session_changed_is_not_lost() {
    let mut host = host();
    host.call_beside();
    let answer = host.activate(&named("f1"), true);
    assert!(answer.ends_with("one\ntwo\nthree\n"), "{answer}");
    assert_eq!(host.live.state().sets().pinned().len(), 1);
    host.call_beside();
    host.edit("a.txt", "two", "zwei");
    host.call_beside();
    assert!(host.live.deactivate("", "t1").unwrap().starts_with("done: t1"));
    host.send();
    let splits = ["session-1+2", "session-1+3", "session-1+4"].map(|id| split(id, true));
    assert_eq!(host.notices, splits, "and nothing about the model's own edit");
    assert_eq!(host.live.state().calls(), 2);
}

#[test]
fn the_session_that_was_written_last_is_resumed() {
    let mut host = host();
    host.call_beside();
    host.user("second");
    host.send();
    let own = host.live.id().clone();
    host.restart();
    assert_eq!(*host.live.id(), own);
    host.user("third");
    host.send();
    assert_eq!(host.notices, [], "it goes on where it was");
}

#[test]
fn closing_a_session_does_not_end_it_for_another_process() {
    let mut host = host();
    let mut reloaded = LiveSession::open(host.store.clone(), host.options()).unwrap();
    reloaded.deactivate("", "f1").unwrap();
    let before = events(&host, reloaded.id());
    host.live.close().unwrap();
    assert_eq!(events(&host, reloaded.id()), before);
    let sessions = host.store.find_prefix("session:", 10).unwrap();
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    reloaded.close().unwrap();
}

#[test]
fn a_session_may_be_opened_while_it_is_active() {
    let host = host();
    let document = host.store.get(host.live.id(), AsOf::Latest).unwrap().unwrap();
    assert_eq!(document.fields["state"], "active");
    let other = LiveSession::open(host.store.clone(), host.options()).unwrap();
    assert_eq!((other.id(), other.state().calls()), (host.live.id(), 1));
}

#[test]
fn of_diverged_sessions_the_last_written_is_resumed() {
    let mut host = Host::new(Settings::default());
    host.user("first");
    host.send();
    for n in 0..69 {
        host.call_beside();
        host.user(&format!("{n}"));
        host.transform().unwrap();
    }
    let own = host.live.id().clone();
    assert_eq!(own.as_str(), "session:session-1+70");
    host.restart();
    assert_eq!(*host.live.id(), own);
}

#[test]
fn closing_a_session_later_does_not_make_it_the_last_written() {
    let mut host = host();
    let mut other = LiveSession::open(host.store.clone(), host.options()).unwrap();
    other.deactivate("", "f1").unwrap();
    host.user("second");
    host.send();
    let own = host.live.id().clone();
    assert_eq!(own.as_str(), "session:session-1+2");
    other.record_usage(Reported { input: 9, ..Reported::default() }).unwrap();
    other.close().unwrap();
    assert_eq!(find_session(&host.store, "latest").unwrap(), own);
    assert_eq!(sessions(&host.store, usize::MAX).unwrap()[0].version.envelope.id, own);
    host.crash();
    assert_eq!(*host.live.id(), own);
}

#[test]
fn a_session_name_means_the_last_written_divergent_session() {
    let mut host = host();
    let first = host.live.id().clone();
    host.call_beside();
    host.user("second");
    host.send();
    let second = host.live.id().clone();
    let find = |name: &str| find_session(&host.store, name).unwrap();
    for name in ["session-1", "sess", "session:sess", "session-1+", "session-1+2", "latest"] {
        assert_eq!(find(name), second, "{name}");
    }
    assert_eq!(find(first.as_str()), first, "a whole ID is that of one session");
    let mut origin = LiveSession::open(host.store.clone(), host.options()).unwrap();
    assert_eq!(*origin.id(), second);
    origin.close().unwrap();
    assert_eq!(find("session-1"), second);
}

/// A host, and the backend of its store.
fn watched() -> (Host, Arc<FailingBackend>) {
    let backend = Arc::new(FailingBackend::default());
    let store = Store::with_backend(Arc::clone(&backend) as _);
    (Host::with_store(Settings::default(), store), backend)
}

/// Another session on the host's store.
fn beside(host: &Host, name: &str) -> LiveSession {
    let options = OpenSession { host_session: name.into(), ..host.options() };
    LiveSession::open(host.store.clone(), options).unwrap()
}

#[test]
fn an_overtaken_read_of_a_file_does_not_become_the_latest() {
    let (mut host, backend) = watched();
    let path = host.path("a.txt");
    let read = |text: &str| FinishedToolCall {
        call: format!("read {text}"),
        tool: "read".into(),
        args: json!({ "path": "a.txt" }),
        is_error: false,
        text: text.into(),
    };
    for (look, newest) in [("one\n", "two\n"), ("three\n", "four\n")] {
        host.write_file("a.txt", look);
        let (path, finished) = (path.clone(), read(newest));
        let mut theirs = beside(&host, newest);
        // Between this session's look at the file and its commit.
        backend.before_commit.is(move || {
            std::fs::write(path, &finished.text).unwrap();
            theirs.record_tool_call(&finished).unwrap();
        });
        host.live.record_tool_call(&read(look)).unwrap();
        let file = host.live.state().index().entries[0].id.clone();
        let latest = host.store.require(&file, AsOf::Latest).unwrap();
        assert_eq!(host.store.content(&latest).unwrap().as_deref(), Some(newest));
        assert_eq!(*host.live.state().index().entries[0].subject.version(), latest.content_hash);
    }
}

#[test]
fn two_sessions_with_the_same_call_id_get_an_object_each() {
    let (mut host, backend) = watched();
    let mut other = beside(&host, "session-9");
    let list = |answer: &str| {
        json!([
            { "role": "user", "content": "go", "timestamp": 1 },
            { "role": "assistant", "timestamp": 2, "content": [
                { "type": "toolCall", "id": "call_0", "name": "bash", "arguments": { "command": answer } },
            ] },
            { "role": "toolResult", "toolCallId": "call_0", "toolName": "bash", "timestamp": 3,
              "content": [{ "type": "text", "text": answer }], "isError": false },
        ])
    };
    let theirs = json_of(list("theirs").as_array().unwrap());
    backend.before_commit.is(move || {
        other.transform(HostList::whole(theirs), &CallInfo::default()).unwrap();
    });
    host.messages = list("ours").as_array().unwrap().clone();
    host.send();
    let id = ObjectId::new("call_0");
    let of_id = host.store.history(&id).unwrap();
    assert_eq!(of_id.len(), 1, "the other's object has no version of ours");
    assert_eq!(host.store.content(&of_id[0]).unwrap().as_deref(), Some("theirs"));
    let own = host.live.state().result(2).unwrap().object.clone().unwrap();
    let latest = host.store.require(&own, AsOf::Latest).unwrap();
    assert_eq!(latest.fields["provider_call_id"], "call_0");
    assert_eq!(host.store.content(&latest).unwrap().as_deref(), Some("ours"));
}

#[test]
fn usage_reports_survive_a_faster_process() {
    for parts in [false, true] {
        let (mut host, backend) = watched();
        host.user("go");
        host.send();
        host.live.record_usage(Reported { input: 77, ..Reported::default() }).unwrap();
        let mut other = if parts {
            LiveSession::open(host.store.clone(), host.options()).unwrap()
        } else {
            beside(&host, "session-9")
        };
        host.write_file("a.txt", "one\n");
        let read = FinishedToolCall {
            call: "call_1".into(),
            tool: "read".into(),
            args: json!({ "path": "a.txt" }),
            is_error: false,
            text: "one\n".into(),
        };
        let theirs = read.clone();
        backend.before_commit.is(move || other.record_tool_call(&theirs).unwrap());
        host.live.record_tool_call(&read).unwrap();
        assert_eq!(host.live.id().as_str().ends_with("+2"), parts);
        let stored = events(&host, host.live.id()).concat();
        assert_eq!(stored.matches(r#""input":77"#).count(), 1, "{stored}");
    }
}

#[test]
fn two_processes_that_start_one_session_get_one_each() {
    let mut host = Host::new(Settings::default());
    host.user("first");
    let session = host.live.id().clone();
    host.call_beside();
    let theirs = events(&host, &session);
    host.send();
    let own = host.live.id().clone();
    assert_eq!(own.as_str(), "session:session-1+2");
    assert_eq!(events(&host, &session), theirs, "the other's session is untouched");
    assert_eq!((host.sent.clone(), host.live.state().calls()), (host.messages.clone(), 1));
    assert_eq!(replay_call(&host.store, &own, 1).unwrap().messages.len(), 1);
}

#[test]
fn an_empty_session_leaves_nothing_in_the_store() {
    let mut host = Host::new(Settings::default());
    host.restart();
    host.live.close().unwrap();
    assert_eq!(host.store.find_prefix("", usize::MAX).unwrap(), []);
    host.crash();
    host.user("first");
    host.send();
    assert_eq!(host.live.id().as_str(), "session:session-1");
    let opened = events(&host, host.live.id());
    assert!(opened[0].contains("\"opened\""), "{opened:?}");
    assert_eq!(opened.iter().filter(|event| event.contains("\"opened\"")).count(), 1);
}
