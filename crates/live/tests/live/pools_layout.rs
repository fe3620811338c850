//! The layout `pools`, byte for byte: the metadata pool, the chat, the active content.

use crate::host::Host;
use base::object::{AsOf, Nickname};
use config::{Layout, Settings};
use live::Wanted;
use rusqlite::Connection;
use serde_json::json;
use store::{Expected, Store};

fn host() -> Host {
    Host::new(Settings {
        layout: Layout::Pools,
        active_per_turn: 2,
        active_turns: 2,
        ..Settings::default()
    })
}

/// The request with the folder, and the object IDs of files that depend on it, by name.
fn shown(host: &Host) -> String {
    let folder = host.folder.path().canonicalize().unwrap();
    let mut shown = host.shown().replace(folder.to_str().unwrap(), "/project");
    for entry in &host.live.state().index().entries {
        if entry.id.as_str().len() == 64 {
            shown = shown.replace(entry.id.as_str(), &format!("<{}>", entry.handle));
        }
    }
    shown
}

#[test]
fn a_request_is_pool_chat_and_active_content_in_this_order() {
    let mut host = host();
    host.write_file("main.ts", "const a = 1;\nconst b = 2;\n");
    host.write_file("other.md", "# Title\n");
    host.user("look");
    host.send();
    host.read("main.ts", None, None);
    host.tool("ls", &json!({}), "main.ts\nother.md");
    host.tool("bash", &json!({ "command": "make" }), "built");
    host.send();
    host.edit("main.ts", "b = 2", "b = 3");
    host.send();
    insta::assert_snapshot!(shown(&host));
    let again = host.activate(&Wanted { name: "other.md".into(), ..Wanted::default() }, false);
    insta::assert_snapshot!(again, @"done: [f2] other.md · line 1 of 1, 16 tokens");
    host.send();
    assert!(shown(&host).ends_with("ACTIVE_CONTENT id=<f2>\n# Title\n"), "{}", shown(&host));
}

#[test]
fn reads_push_no_output_out_of_the_window() {
    let mut host = host();
    host.user("look");
    host.tool("bash", &json!({ "command": "make test" }), "3 tests failed");
    for name in ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts", "f.ts"] {
        host.write_file(name, "const a = 1;\n");
        host.read(name, None, None);
    }
    host.send();
    assert!(shown(&host).contains("3 tests failed"), "{}", shown(&host));
    for name in ["one", "two", "three", "four", "five"] {
        host.tool("bash", &json!({ "command": name }), name);
    }
    host.send();
    assert!(!shown(&host).contains("3 tests failed"), "{}", shown(&host));
}

#[test]
fn indexed_objects_have_no_line_until_shown_or_activated() {
    let mut host = host();
    host.write_file("other.md", "# Title\n");
    host.user("look");
    host.send();
    host.tool("ls", &json!({}), "other.md");
    host.send();
    let pool = |host: &Host| shown(host).lines().filter(|line| line.contains("id=<f1>")).count();
    assert_eq!(pool(&host), 1, "{}", shown(&host));
    assert_eq!(
        host.live.leave_pool("other.md").unwrap(),
        "done: f1 is not listed any more; deactivate lists it again, activate shows it"
    );
    host.user("go on");
    host.send();
    assert_eq!(pool(&host), 0, "{}", shown(&host));
    // A listing that names it again is no reason.
    host.tool("ls", &json!({}), "other.md");
    host.send();
    assert_eq!(pool(&host), 0, "{}", shown(&host));
    assert_eq!(host.live.enter_pool("f1").unwrap(), "done: f1");
    host.restart();
    host.user("go on");
    host.send();
    assert_eq!(pool(&host), 1, "{}", shown(&host));
    // Twice let go, it leaves, and a third time it comes back without its content; so it does activated.
    let mut let_go = || host.live.deactivate("", "f1").unwrap();
    assert_eq!(let_go(), "done: f1, 0 tokens; again takes it off the list");
    assert!(let_go().ends_with("deactivate lists it again, activate shows it"));
    assert_eq!(let_go(), "done: f1 is listed again");
    assert_eq!(let_go(), "done: f1, 0 tokens; again takes it off the list");
    assert!(let_go().starts_with("done: f1 is not listed any more"));
    host.user("go on");
    host.send();
    assert_eq!(pool(&host), 0, "{}", shown(&host));
    host.activate(&Wanted { name: "f1".into(), ..Wanted::default() }, false);
    host.send();
    assert_eq!(pool(&host), 2, "its line and its content: {}", shown(&host));
}

#[test]
fn the_window_keeps_the_newest_toolcalls_of_the_newest_turns() {
    let mut host = host();
    for turn in 0..4 {
        host.user(&format!("turn {turn}"));
        for n in 0..3 {
            host.tool(
                "bash",
                &json!({ "command": format!("{turn}.{n}") }),
                &format!("out {turn}.{n}"),
            );
        }
        host.send();
        host.say("ok");
    }
    let text = host.shown();
    let active: Vec<&str> = text.lines().filter(|line| line.starts_with("out ")).collect();
    assert_eq!(active, ["out 2.1", "out 2.2", "out 3.1", "out 3.2"]);
    host.activate(&Wanted { name: "t1".into(), ..Wanted::default() }, true);
    for turn in 4..7 {
        host.user(&format!("turn {turn}"));
        host.send();
        host.say("ok");
    }
    let text = host.shown();
    let active: Vec<&str> = text.lines().filter(|line| line.starts_with("out ")).collect();
    assert_eq!(active, ["out 0.0"], "pinned objects are exempt");
}

#[test]
fn an_active_file_is_always_shown_as_it_is_now() {
    let mut host = host();
    host.write_file("a.txt", "one\n");
    host.user("go");
    host.read("a.txt", None, None);
    host.send();
    host.write_file("a.txt", "one\ntwo\n");
    host.user("go on");
    host.send();
    assert!(host.shown().ends_with("one\ntwo\n"), "{}", host.shown());
}

#[test]
fn an_objects_own_view_chooses_the_fields_of_its_line() {
    let mut host = host();
    host.write_file("plan.md", "one\n");
    host.user("look");
    host.read("plan.md", None, None);
    host.tool("bash", &json!({ "command": "make" }), "built");
    host.send();
    for (handle, view) in
        [(0, json!(["path", "nickname", "owner", "gone"])), (2, json!(["args.command"]))]
    {
        let id = host.live.state().index().entries[handle].id.clone();
        let version = host.store.get(&id, AsOf::Latest).unwrap().unwrap();
        let mut payload = host.store.payload(&version).unwrap();
        payload.fields.insert("view".into(), view);
        payload.fields.insert("owner".into(), json!("ada"));
        let mut change = host.store.begin();
        change.put(version.envelope.clone(), payload, Expected::Any).unwrap();
        change.name(Nickname::parse(&format!("plan{handle}")).unwrap(), Some(id));
        change.commit().unwrap();
    }
    host.write_file("plan.md", "one\ntwo\n");
    host.user("again");
    host.send();
    let pool: Vec<String> = shown(&host).lines().skip(1).take(3).map(str::to_owned).collect();
    insta::assert_snapshot!(pool.join("\n"), @r"
    id=<f1> type=file path=/project/plan.md nickname=plan0 owner=ada
    id=call_1 type=toolcall tool=read status=ok
    id=call_2 type=toolcall args.command=make
    ");
}

#[test]
fn an_unreadable_active_object_fails_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let settings = Settings { layout: Layout::Pools, ..Settings::default() };
    let mut host = Host::with_store(settings, Store::open(path.to_str().unwrap()).unwrap());
    host.user("look");
    host.tool("bash", &json!({ "command": "make" }), "built");
    host.send();
    host.restart();
    let database = Connection::open(&path).unwrap();
    let lose = "CREATE TABLE kept AS SELECT * FROM content; DELETE FROM content;";
    database.execute_batch(lose).unwrap();
    host.user("and now");
    let error = host.transform().unwrap_err();
    assert_eq!(error.code(), "STORE_CORRUPT");
    host.live.record_failed_call(error.code());
    let find = "INSERT INTO content SELECT * FROM kept; DROP TABLE kept;";
    database.execute_batch(find).unwrap();
    host.send();
    assert!(host.shown().ends_with("ACTIVE_CONTENT id=call_1\nbuilt"), "{}", host.shown());
}
