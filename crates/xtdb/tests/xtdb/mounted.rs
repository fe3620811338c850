//! Two machines whose agents see one project under different paths: mount mappings make its files
//! the same objects.

use std::path::Path;

use base::object::ObjectId;
use config::{MountMapping, Settings};
use context::tokens::Counter;
use live::{CallInfo, FinishedToolCall, HostList, LiveSession, OpenSession, ToolFiles};
use serde_json::json;

use crate::machine::{Machine, versions};
use testing::xtdb::Database;

/// A session whose agent sees the folder `here` of its machine as `agent`; all agree to call it
/// `/app` of `team-app`.
fn open(machine: &Machine, name: &str, agent: &str, here: &Path) -> LiveSession {
    let mapping = MountMapping {
        agent_prefix: agent.into(),
        canonical_prefix: "/app".into(),
        filesystem_id: Some("team-app".into()),
        client_prefix: Some(here.to_string_lossy().into_owned()),
    };
    let options = OpenSession {
        harness: "test".into(),
        host_session: name.into(),
        cwd: agent.into(),
        parent: None,
        settings: Settings { mounts: vec![mapping], track: false, ..Settings::default() },
        filesystem_id: format!("disk of {name}"),
        counter: Counter::default(),
        files: ToolFiles::Here,
        images: false,
        confined: None,
        asks_to_compact: false,
    };
    LiveSession::open(machine.store.clone(), options).unwrap()
}

/// The model reads a file, as its host reports it.
fn read(live: &mut LiveSession, path: &str, text: &str) {
    let args = json!({ "path": path });
    let finished = FinishedToolCall {
        call: "call_0".into(),
        tool: "read".into(),
        args: args.clone(),
        is_error: false,
        text: text.into(),
    };
    live.record_tool_call(&finished).unwrap();
    let messages = [
        json!({"role": "user", "content": "look", "timestamp": 1}),
        json!({"role": "assistant", "timestamp": 2, "content": [
            {"type": "toolCall", "id": "call_0", "name": "read", "arguments": args}]}),
        json!({"role": "toolResult", "toolCallId": "call_0", "toolName": "read", "isError": false, "timestamp": 3,
            "content": [{"type": "text", "text": text}]}),
    ];
    let list = HostList::whole(messages.iter().map(ToString::to_string).collect());
    live.transform(list, &CallInfo::default()).unwrap();
}

fn only_file(live: &LiveSession) -> ObjectId {
    let mut files =
        live.state().index().entries.iter().filter(|entry| entry.handle.to_string() == "f1");
    files.next().unwrap().id.clone()
}

#[test]
fn a_project_under_two_paths_shares_objects_but_not_sessions() {
    let Some(database) = Database::new() else { return };
    let [ann, bob] = [(); 2].map(|()| Machine::at(&database.url()));
    // Each has the project on its own disk.
    let [at_ann, at_bob] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for folder in [&at_ann, &at_bob] {
        std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    }
    let mut of_ann = open(&ann, "ann", "/home/ann/app", at_ann.path());
    let mut of_bob = open(&bob, "bob", "/srv/work/app", at_bob.path());
    read(&mut of_ann, "/home/ann/app/a.txt", "one\n");
    read(&mut of_bob, "/srv/work/app/a.txt", "one\n");
    let file = only_file(&of_ann);
    assert_eq!(only_file(&of_bob), file);
    std::fs::write(at_ann.path().join("a.txt"), "two\n").unwrap();
    let edit = FinishedToolCall {
        call: "call_1".into(),
        tool: "write".into(),
        args: json!({"path": "/home/ann/app/a.txt", "content": "two\n"}),
        is_error: false,
        text: "ok".into(),
    };
    of_ann.record_tool_call(&edit).unwrap();
    for machine in [&ann, &bob, &ann] {
        machine.push();
        machine.pull();
    }
    bob.pull();
    let all = versions(&ann.store, &file);
    assert_eq!(versions(&bob.store, &file), all);
    assert_eq!(all.0.len(), 3, "both looked, and Ann wrote: {all:?}");
    let sessions = |machine: &Machine| {
        machine.store.list(base::object::ObjectType::Session, None, 9).unwrap().len()
    };
    assert_eq!((sessions(&ann), sessions(&bob)), (1, 1));
}
