//! Tools of harnesses other than Pi: their files get versions, and are excluded and guarded as Pi's
//! are.

use base::object::{AsOf, ObjectId};
use config::Settings;
use serde_json::{Value, json};
use session::{Shows, Subject};

use crate::host::Host;

/// The object of a file that the session knows.
fn file(host: &Host, name: &str) -> Option<ObjectId> {
    let index = host.live.state().index();
    let named = |subject: &Subject| match subject {
        Subject::File { path, .. } => path.ends_with(name),
        Subject::Toolcall { .. } | Subject::Segment { .. } => false,
    };
    index.entries.iter().find(|entry| named(&entry.subject)).map(|entry| entry.id.clone())
}

/// The text of a file's latest version.
fn text(host: &Host, name: &str) -> Option<String> {
    let version = host.store.get(&file(host, name)?, AsOf::Latest).unwrap()?;
    host.store.content(&version).unwrap()
}

/// The model calls a tool that writes these files.
fn change(host: &mut Host, tool: &str, args: &Value, files: &[(&str, &str)]) {
    for (name, text) in files {
        host.write_file(name, text);
    }
    host.tool(tool, args, "done");
    host.send();
}

fn host() -> Host {
    let mut host = Host::new(Settings::default());
    host.write_file("a.rs", "one\n");
    host.user("go");
    host.send();
    host
}

#[test]
fn files_get_versions_by_the_tools_of_every_harness() {
    for (tool, args) in [
        ("Edit", json!({ "file_path": "a.rs", "old_string": "one", "new_string": "two" })),
        ("edit", json!({ "filePath": "a.rs", "oldString": "one", "newString": "two" })),
        ("edit", json!({ "path": "a.rs", "old_str": "one", "new_str": "two" })),
        ("replace", json!({ "file_path": "a.rs", "old_string": "one", "new_string": "two" })),
        ("write_file", json!({ "file_path": "a.rs", "content": "two\n" })),
        ("create", json!({ "path": "a.rs", "file_text": "two\n" })),
        ("apply_patch", json!({ "input": "*** Update File: a.rs\n@@\n-one\n+two" })),
    ] {
        let mut host = host();
        host.tool("Read", &json!({ "file_path": "a.rs" }), "     1\u{2192}one\n     2\u{2192}");
        host.send();
        assert_eq!(text(&host, "a.rs").as_deref(), Some("one\n"), "{tool}");
        change(&mut host, tool, &args, &[("a.rs", "two\n")]);
        assert_eq!(text(&host, "a.rs").as_deref(), Some("two\n"), "{tool}");
        let object = file(&host, "a.rs").unwrap();
        let at = host.live.state().chat().len() - 1;
        assert_eq!(host.live.state().result(at).unwrap().shows, Shows::Change { object }, "{tool}");
        assert_eq!(host.notices.len(), 0, "the model changed the file itself: {:?}", host.notices);
    }
}

#[test]
fn every_file_of_a_patch_gets_a_version() {
    let mut host = host();
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n*** Add File: b.rs\n+new\n*** End Patch";
    let files = [("a.rs", "two\n"), ("b.rs", "new\n")];
    change(&mut host, "apply_patch", &json!({ "patchText": patch }), &files);
    for (name, expected) in files {
        assert_eq!(text(&host, name).as_deref(), Some(expected));
    }
}

#[test]
fn a_command_on_a_node_names_no_file_of_this_machine() {
    for (host_of_call, expected) in [("gateway", true), ("node", false)] {
        let mut host = host();
        host.write_file("b.rs", "one\ntwo\n");
        for command in ["cat b.rs", "echo mine > b.rs", "mv a.rs b.rs"] {
            let args = json!({ "command": command, "host": host_of_call });
            host.tool("exec", &args, "one\ntwo\n");
            host.send();
        }
        assert_eq!(file(&host, "b.rs").is_some(), expected, "{host_of_call}");
    }
}

#[test]
fn files_that_are_excluded_are_withheld_from_every_harness() {
    const SECRET: &str = "KEY=sk-7f3a9c";
    for (tool, args) in [
        ("Read", json!({ "file_path": ".env" })),
        ("read", json!({ "filePath": ".env" })),
        ("view", json!({ "path": ".env" })),
        ("read_many_files", json!({ "include": ["a.rs", ".env"] })),
        ("Grep", json!({ "pattern": "KEY", "path": ".env" })),
        ("Bash", json!({ "command": "cat .env" })),
        ("exec_command", json!({ "cmd": "cat .e\"n\"v" })),
        ("Monitor", json!({ "command": "tail -f .env" })),
        ("shell", json!({ "command": ["bash", "-lc", "cat .env"] })),
        ("apply_patch", json!({ "input": format!("*** Update File: .env\n@@\n+{SECRET}") })),
        ("apply_patch", json!({ "input": format!(" *** Update File: .env\n@@\n+{SECRET}") })),
        (
            "apply_patch",
            json!({ "input": format!("*** Update File: .env\n *** Move to: b\n@@\n+{SECRET}") }),
        ),
    ] {
        let mut host = host();
        host.write_file(".env", SECRET);
        let id = host.tool(tool, &args, SECRET);
        host.send();
        let call = host.store.get(&ObjectId::new(&*id), AsOf::Latest).unwrap().unwrap();
        assert_eq!(call.content, None, "{tool} {args}");
        let stored = serde_json::to_string(&call.fields).unwrap();
        assert!(!stored.contains("sk-7f3a9c"), "{tool} {stored}");
        assert_eq!(text(&host, ".env"), None, "{tool}");
    }
}

#[test]
fn a_folder_that_a_command_enters_counts_for_what_is_excluded() {
    let exclude = Some(vec!["secrets/*".to_owned()]);
    let mut host = Host::new(Settings { exclude, ..Settings::default() });
    std::fs::create_dir(host.path("secrets")).unwrap();
    host.write_file("secrets/note", "text");
    host.user("go");
    let held = host.tool("bash", &json!({ "command": "cd secrets && cat note" }), "text");
    let shown = host.tool("bash", &json!({ "command": "(cd secrets); cat note" }), "text");
    host.send();
    let content = |id: &str| {
        let version = host.store.get(&ObjectId::new(id), AsOf::Latest).unwrap().unwrap();
        host.store.content(&version).unwrap()
    };
    assert_eq!(content(&held), None);
    assert_eq!(content(&shown).as_deref(), Some("text"));
}

#[test]
fn lines_of_ours_are_kept_out_of_files_whatever_the_tool() {
    let mut host = host();
    let lines: Vec<String> = (0..400).map(|n| format!("line {n}\n")).collect();
    host.write_file("a.rs", &lines.concat());
    host.read("a.rs", None, None);
    host.send();
    host.read("a.rs", Some(10), Some(300));
    let shown = host.send().last().unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
    let is_ours = |line: &&str| {
        let args = json!({ "path": "b.rs", "content": line });
        host.live.check_write("write", &args).unwrap().is_some()
    };
    let mark = shown.lines().find(is_ours).unwrap_or_else(|| panic!("no line of ours in {shown}"));
    for (tool, args) in [
        ("edit", json!({ "path": "a.rs", "edits": [{ "oldText": "line 3", "newText": mark }] })),
        ("Edit", json!({ "file_path": "a.rs", "old_string": "line 3", "new_string": mark })),
        ("Write", json!({ "file_path": "a.rs", "content": mark })),
        ("apply_patch", json!({ "input": format!("*** Update File: a.rs\n@@\n+{mark}") })),
    ] {
        assert!(host.live.check_write(tool, &args).unwrap().is_some(), "{tool} {mark}");
    }
}

#[test]
fn a_result_without_a_flag_failed_if_that_was_reported() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    for (is_error, text, expected) in [
        (true, "the disk is full", (false, None)),
        (false, "deployed", (true, Some(0))),
        (true, "a\n\nCommand exited with code 3", (false, Some(3))),
    ] {
        let args = json!({ "command": "make deploy" });
        let id = host.call("bash", &args);
        host.finished(&id, "bash", &args, text, is_error);
        host.push(json!({ "role": "toolResult", "toolCallId": id, "content": text }));
        host.send();
        let fact = host.live.state().fact_of(&ObjectId::new(id)).unwrap();
        assert_eq!((fact.ok, fact.exit), expected, "{text}");
    }
}
