//! Files named in listings, searches and shell commands: they enter the session index by path
//! alone, and not the window.

use base::object::{AsOf, ObjectId};
use config::{Layout, Settings};
use context::tokens;
use live::{FinishedToolCall, LiveSession, OpenSession, ToolFiles, Wanted};
use serde_json::{Value, json};
use session::Subject;
use store::{Expected, ForgetOptions, RelationKind};

use crate::host::Host;

fn wanted(name: &str) -> Wanted {
    Wanted { name: name.into(), ..Wanted::default() }
}

/// The names of the files of the session index, in order of entry, in the session's folder.
fn names(live: &LiveSession, host: &Host) -> Vec<String> {
    let root = host.folder.path().canonicalize().unwrap();
    let files = live.state().index().entries.iter().filter_map(|entry| match &entry.subject {
        Subject::File { path, .. } => Some(path.trim_start_matches(root.to_str().unwrap())),
        Subject::Toolcall { .. } | Subject::Segment { .. } => None,
    });
    files.map(|path| path.trim_start_matches('/').to_owned()).collect()
}

/// Events of files with this cause, as they are stored.
fn file_events(host: &Host, cause: &str) -> usize {
    let items = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
    let is_found = |item: &&String| {
        let event: Value = serde_json::from_str(item).unwrap();
        event["event"] == "file" && event["cause"] == cause
    };
    items.iter().filter(is_found).count()
}

fn with_files(settings: Settings, count: usize) -> (Host, String) {
    let host = Host::new(settings);
    let names: Vec<_> = (0..count).map(|number| format!("file-{number:03}.rs")).collect();
    for name in &names {
        host.write_file(name, &format!("// {name}\nfn main() {{}}\n"));
    }
    (host, names.join("\n"))
}

#[test]
fn files_named_by_a_command_can_be_activated_for_no_tokens() {
    let (mut host, _) = with_files(Settings::default(), 3);
    host.user("what is wrong?");
    host.send();
    let command = json!({ "command": "cat file-000.rs && make 2>&1 | tail" });
    let id = host.call("bash", &command);
    let output = "file-001.rs:2:5: error\n\nCommand exited with code 1";
    host.answer(&id, "bash", &command, output, true);
    host.send();
    assert_eq!(names(&host.live, &host), ["file-000.rs", "file-001.rs"]);
    assert_eq!(host.sent, host.messages, "nothing of it stands in the window");
    let file = host.live.state().index().entries[0].id.clone();
    let version = host.store.get(&file, AsOf::Latest).unwrap().unwrap();
    assert_eq!((&version.fields["no_content"], version.content), (&json!("not_read"), None));
    let text = "// file-001.rs\nfn main() {}\n";
    let shown = format!("file-001.rs · lines 1-2 of 2\n{text}");
    assert_eq!(host.activate(&wanted("file-001.rs"), false), format!("[f2] {shown}"));
    host.send();
    assert_eq!(host.activate(&wanted("f1"), false).lines().nth(1), Some("// file-000.rs"));
    host.send();
}

#[test]
fn a_toolcall_names_the_files_that_it_met_and_how() {
    let (mut host, listing) = with_files(Settings::default(), 3);
    host.user("go");
    host.read("file-000.rs", None, None);
    host.tool("ls", &json!({}), &listing);
    host.tool("bash", &json!({ "command": "rm -f none; cat file-001.rs" }), "// file-001.rs");
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
    let entries = host.live.state().index().entries.iter();
    let calls = entries.filter(|entry| matches!(entry.subject, Subject::Toolcall { .. }));
    let met: Vec<Vec<(String, String)>> = calls.map(|call| met(&host, &call.id)).collect();
    let of = |files: &[(&str, &str)]| -> Vec<(String, String)> {
        files.iter().map(|(file, how)| ((*file).to_owned(), (*how).to_owned())).collect()
    };
    assert_eq!(met[0], of(&[("file-000.rs", "read")]));
    let listed = [("file-000.rs", "found"), ("file-001.rs", "found"), ("file-002.rs", "found")];
    assert_eq!(met[1], of(&listed), "known files count too");
    assert_eq!(met[2], of(&[("file-001.rs", "found")]));
    assert_eq!(met[3], of(&[]));
    let file = host.live.state().index().entries[0].id.clone();
    let relations = host.store.relations().unwrap();
    let links =
        relations.relations_to(&[RelationKind::Dynamic], file.as_str(), AsOf::Latest).unwrap();
    assert_eq!(links.len(), 2, "the file is linked from both calls: {links:?}");
}

/// The files of a toolcall, by name, with how it met each.
fn met(host: &Host, id: &ObjectId) -> Vec<(String, String)> {
    let call = host.store.get(id, AsOf::Latest).unwrap().unwrap();
    let refs = call.fields.get("file_refs").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |id: &Value| {
        let file = host.store.get(&ObjectId::new(id.as_str().unwrap()), AsOf::Latest).unwrap();
        let path = file.unwrap().envelope.source.unwrap().path().unwrap().to_owned();
        path.rsplit('/').next().unwrap().to_owned()
    };
    refs.iter().map(|file| (name(&file["id"]), file["met"].as_str().unwrap().to_owned())).collect()
}

#[test]
fn a_call_adds_a_limited_number_of_files_and_none_twice() {
    let (mut host, output) = with_files(Settings::default(), 450);
    host.user("go");
    for expected in [200, 200] {
        host.tool("bash", &json!({ "command": "git ls-files" }), &output);
        host.send();
        assert_eq!(file_events(&host, "found"), expected);
    }
    // The same listing again brings no more: what counts is what it shows first.
    let rest = output.lines().skip(200).collect::<Vec<_>>().join("\n");
    host.tool("ls", &json!({}), &rest);
    host.send();
    assert_eq!(file_events(&host, "found"), 400);
}

#[test]
fn a_listed_file_that_a_person_described_counts_as_unchanged() {
    let (mut host, output) = with_files(Settings::default(), 1);
    host.user("go");
    host.tool("ls", &json!({}), &output);
    host.send();
    let file = host.live.state().index().entries[0].id.clone();
    let version = host.store.require(&file, AsOf::Latest).unwrap();
    let mut payload = host.store.payload(&version).unwrap();
    payload.fields.insert("short_summary".into(), json!("where it begins"));
    let mut transaction = host.store.begin();
    transaction.put(version.envelope, payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
    host.restart_as("other");
    host.restart_list();
    host.user("go");
    host.tool("ls", &json!({}), &output);
    host.send();
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
    assert_eq!((file_events(&host, "found"), file_events(&host, "changed")), (1, 0));
}

#[test]
fn a_forgotten_file_is_not_discovered_again() {
    let (mut host, output) = with_files(Settings::default(), 2);
    host.user("go");
    host.read("file-000.rs", None, None);
    host.send();
    let file = host.live.state().index().entries[0].id.clone();
    host.restart_as("session-2");
    host.store.forget(&file, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    host.tool("bash", &json!({ "command": "git ls-files" }), &output);
    host.send();
    assert_eq!(names(&host.live, &host), ["file-001.rs"]);
    assert!(host.activate(&wanted("file-000.rs"), false).contains("was forgotten"));
}

#[test]
fn the_metadata_pool_keeps_to_its_tokens() {
    let settings = Settings { layout: Layout::Pools, pool_tokens: 600, ..Settings::default() };
    let (mut host, output) = with_files(settings, 150);
    host.user("go");
    host.read("file-000.rs", None, None);
    host.tool("bash", &json!({ "command": "git ls-files" }), &output);
    host.send();
    assert_eq!(names(&host.live, &host).len(), 150);
    let pool = host.sent[0]["content"][0]["text"].as_str().unwrap();
    assert!(tokens::count(pool) <= 600 && pool.contains("file-149.rs"), "{pool}");
    assert!(pool.contains("file-000.rs"), "what is active stays");
}

#[test]
fn shell_tools_of_other_hosts_are_recognized_by_name() {
    let (mut host, _) = with_files(Settings::default(), 3);
    std::fs::create_dir(host.path("sub")).unwrap();
    host.write_file("sub/a.py", "");
    host.user("go");
    host.tool("Bash", &json!({ "command": "wc -l file-000.rs" }), "2 file-000.rs");
    let args = json!({ "cmd": ["bash", "-lc", "cat a.py"], "workdir": "sub" });
    host.tool("exec_command", &args, "");
    host.tool("str_replace", &json!({ "command": "cat file-002.rs" }), "file-002.rs");
    host.send();
    assert_eq!(names(&host.live, &host), ["file-000.rs", "sub/a.py"]);
}

#[test]
fn a_session_with_remote_files_reads_no_local_file() {
    let (host, output) = with_files(Settings::default(), 3);
    let options = OpenSession { files: ToolFiles::Elsewhere, ..host.options() };
    let options = OpenSession { host_session: "elsewhere".into(), ..options };
    let mut live = LiveSession::open(host.store.clone(), options).unwrap();
    for (tool, args) in [
        ("bash", json!({ "command": "cat file-000.rs; ls" })),
        ("find", json!({})),
        ("grep", json!({ "path": "file-000.rs" })),
    ] {
        let text = format!("{output}\nfile-001.rs:1: x");
        let (call, tool) = ("call".to_owned(), tool.to_owned());
        live.record_tool_call(&FinishedToolCall { call, tool, args, is_error: false, text })
            .unwrap();
    }
    assert_eq!(names(&live, &host), [""; 0]);
    let error = live.activate("call", &wanted("file-000.rs"), false).unwrap_err();
    assert_eq!(error.code(), "UNKNOWN_NAME");
    assert!(live.activate("call", &wanted("."), false).is_err(), "nor is it said what is there");
}
