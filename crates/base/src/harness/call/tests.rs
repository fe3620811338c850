//! The tests of `call.rs`.

use serde_json::json;

use super::*;

#[test]
fn tools_of_several_harnesses_have_their_kinds() {
    for (tool, expected) in [
        ("read", ToolKind::Read),
        ("Read", ToolKind::Read),
        ("read_file", ToolKind::Read),
        ("view", ToolKind::Read),
        ("Write", ToolKind::Write),
        ("MultiEdit", ToolKind::Edit),
        ("apply_patch", ToolKind::Edit),
        ("replace", ToolKind::Edit),
        ("LS", ToolKind::List),
        ("list_directory", ToolKind::List),
        ("Glob", ToolKind::Find),
        ("Grep", ToolKind::Search),
        ("search_file_content", ToolKind::Search),
        ("WebFetch", ToolKind::Web),
        ("write_stdin", ToolKind::Shell(ShellKind::Other)),
        ("functions.exec_command", ToolKind::Shell(ShellKind::Other)),
        ("stop_bash", ToolKind::Shell(ShellKind::Other)),
        ("read_background_output", ToolKind::Shell(ShellKind::Other)),
        ("Task", ToolKind::Delegate),
        ("Agent", ToolKind::Delegate),
        ("subagent", ToolKind::Delegate),
        ("sessions_spawn", ToolKind::Delegate),
        ("sessions_send", ToolKind::Delegate),
        ("agents_wait", ToolKind::Delegate),
        ("subagents", ToolKind::Delegate),
        ("exec", ToolKind::Shell(ShellKind::Other)),
        ("process", ToolKind::Shell(ShellKind::Other)),
        ("ls", ToolKind::List),
        ("web_fetch", ToolKind::Web),
        ("web_search", ToolKind::Web),
        ("browser", ToolKind::Web),
        ("memory_search", ToolKind::Search),
        ("memory_get", ToolKind::Search),
        ("sessions_search", ToolKind::Search),
        ("sessions_history", ToolKind::Search),
        // Its files are on another machine.
        ("file_fetch", ToolKind::Other),
        ("file_write", ToolKind::Other),
        ("dir_list", ToolKind::Other),
        ("TodoWrite", ToolKind::Other),
    ] {
        assert_eq!(Call::new(tool, &json!({})).kind(), expected, "{tool}");
    }
    let on_node = json!({ "command": "cat a", "host": "node" });
    assert_eq!(Call::new("exec", &on_node).kind(), ToolKind::Other);
    let view = json!({ "command": "view", "path": "a" });
    assert_eq!(Call::new("str_replace_editor", &view).kind(), ToolKind::Read);
}

#[test]
fn a_call_that_a_tool_is_asked_to_make_is_that_call() {
    let of = |id: &str, args: Value| json!({ "id": id, "args": args });
    for (args, expected) in [
        (of("openclaw:core:web_fetch", json!({ "url": "x" })), ToolKind::Web),
        (of("sessions_spawn", json!({ "task": "x" })), ToolKind::Delegate),
        (of("exec", json!({ "command": "cargo test" })), ToolKind::Shell(ShellKind::Build)),
        // It shows the file in JSON.
        (of("read", json!({ "path": "a" })), ToolKind::Search),
        (of("tool_call", of("read", json!({}))), ToolKind::Other),
        (json!({ "id": "read" }), ToolKind::Other),
        (json!({}), ToolKind::Other),
    ] {
        assert_eq!(Call::new("tool_call", &args).kind(), expected, "{args}");
    }
    let write = of("write", json!({ "path": "a", "content": "b" }));
    let call = Call::new("tool_call", &write);
    assert_eq!((call.touches().len(), call.path(), call.content()), (1, Some("a"), Some("b")));
    let exec = of("exec", json!({ "command": "rm a", "workdir": "/w" }));
    let call = Call::new("tool_call", &exec);
    assert_eq!((call.command().as_deref(), call.folder()), (Some("rm a"), Some("/w")));
    assert!(call.may_have_changed_unnamed_files());
    assert_eq!(call.command_argument(), None, "it is not an argument of the tool that is asked");
    // Other tools have arguments of these names too.
    assert_eq!(Call::new("automations", &exec).kind(), ToolKind::Other);
}

#[test]
fn commands_are_found_in_every_shape() {
    let cargo = ToolKind::Shell(ShellKind::Build);
    for args in [
        json!({ "command": "cargo test" }),
        json!({ "cmd": "cd x && cargo test" }),
        json!({ "command": ["bash", "-lc", "cargo test"] }),
        json!({ "command": ["cargo", "test"] }),
        json!({ "command": "bash -lc 'cargo test'" }),
    ] {
        assert_eq!(Call::new("Bash", &args).kind(), cargo, "{args}");
    }
}

#[test]
fn finds_the_files_of_a_call_for_every_harness() {
    use FileAccess::{Edit, Read, Write};
    let patch =
        "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Add File: b\n+z\n*** End Patch";
    for (tool, args, expected) in [
        ("read", json!({ "path": "a" }), vec![("a", Read)]),
        ("Read", json!({ "file_path": "a", "limit": 3 }), vec![("a", Read)]),
        ("read", json!({ "filePath": "a" }), vec![("a", Read)]),
        ("read_file", json!({ "absolute_path": "/a" }), vec![("/a", Read)]),
        ("read_many_files", json!({ "include": ["a", "b"] }), vec![("a", Read), ("b", Read)]),
        ("view", json!({ "path": "a", "view_range": [1, 5] }), vec![("a", Read)]),
        ("NotebookEdit", json!({ "notebook_path": "a" }), vec![("a", Edit)]),
        ("create", json!({ "path": "a", "file_text": "x" }), vec![("a", Write)]),
        ("apply_patch", json!({ "input": patch }), vec![("a", Edit), ("b", Write)]),
        ("apply_patch", json!({ "patchText": patch }), vec![("a", Edit), ("b", Write)]),
        ("apply_patch", json!(patch), vec![("a", Edit), ("b", Write)]),
        ("bash", json!({ "command": "cat a" }), vec![]),
        ("grep", json!({ "path": "a" }), vec![]),
        ("read", json!({ "path": 5 }), vec![]),
    ] {
        let found: Vec<_> = Call::new(tool, &args).touches();
        let found: Vec<_> = found.iter().map(|touch| (touch.path, touch.access)).collect();
        assert_eq!(found, expected, "{tool} {args}");
    }
}

#[test]
fn finds_replace_all_and_name_globs_in_every_harness() {
    for name in ["replace_all", "replaceAll", "allow_multiple"] {
        let (all, one) = (json!({ name: true }), json!({ name: false }));
        assert!(Call::new("edit", &all).replaces_all(), "{name}");
        assert!(!Call::new("edit", &one).replaces_all(), "{name}");
    }
    for name in ["glob", "include", "include_pattern"] {
        let args = json!({ name: "*.rs" });
        assert_eq!(Call::new("grep", &args).name_globs().collect::<Vec<_>>(), ["*.rs"]);
    }
}

#[test]
fn programs_are_found_in_tools_without_a_command_line() {
    let args = json!({ "input": "read('.env')", "code": "x", "n": 5 });
    assert_eq!(Call::new("exec", &args).programs(), ["read('.env')", "x"]);
    assert_eq!(Call::new("python", &args).programs(), ["x"]);
    assert_eq!(Call::new("read", &args).programs(), [""; 0]);
}

#[test]
fn asking_for_lines_is_noticed() {
    let first = |args: Value| Call::new("Read", &args).first_line();
    assert_eq!(first(json!({ "offset": 5 })), Some(5));
    assert_eq!(first(json!({ "view_range": [7, 9] })), Some(7));
    assert_eq!(first(json!({ "limit": 5 })), None);
    let beyond = |args: Value| Call::new("Read", &args).reads_beyond(20);
    for args in [
        json!({}),
        json!({ "offset": 1 }),
        json!({ "offset": 0, "limit": 21 }),
        json!({ "lines": null, "cursor": null }),
    ] {
        assert!(beyond(args.clone()), "{args}");
    }
    for args in [
        json!({ "limit": 20 }),
        json!({ "offset": 2 }),
        json!({ "view_range": [1, 90] }),
        json!({ "offset": 1, "cursor": 40 }),
    ] {
        assert!(!beyond(args.clone()), "{args}");
    }
    assert!(Call::new("Read", &json!({ "offset": 5 })).picks_lines());
    assert!(!Call::new("Read", &json!({ "offset": null })).picks_lines());
    let picks = |command: &str| Call::new("bash", &json!({ "command": command })).picks_lines();
    assert!(picks("head -50 a") && !picks("cat a"));
}

#[test]
fn an_exit_code_of_another_command_may_hide_a_failure() {
    let hides = |line: &str| Call::new("bash", &json!({ "command": line })).may_hide_failure();
    for line in [
        "cargo test 2>&1 | tail -20",
        "cd /p && npx jest | grep -v PASS",
        "make check > out.log 2>&1; tail out.log",
        "pytest -q || true",
        "go test ./...; echo done",
    ] {
        assert!(hides(line), "{line}");
    }
    for line in [
        "cargo test",
        "cd /p && npm test",
        "npm test && echo ok",
        "X=1 make",
        "grep -rn error src | head",
        "ls | wc -l",
    ] {
        assert!(!hides(line), "{line}");
    }
}

#[test]
fn the_texts_that_a_call_puts_in_are_found() {
    let patch = "*** Update File: a\n@@\n-x\n+y\n+z";
    for (tool, args, expected) in [
        ("write", json!({ "content": "a" }), vec!["a"]),
        ("create", json!({ "file_text": "a" }), vec!["a"]),
        (
            "edit",
            json!({ "edits": [{ "oldText": "a", "newText": "b" }], "newText": "c" }),
            vec!["b", "c"],
        ),
        ("Edit", json!({ "old_string": "a", "new_string": "b" }), vec!["b"]),
        ("edit", json!({ "oldString": "a", "newString": "" }), vec![""]),
        ("apply_patch", json!({ "patchText": patch }), vec!["y", "z"]),
        ("read", json!({ "content": "a" }), vec![]),
    ] {
        assert_eq!(Call::new(tool, &args).new_texts(), expected, "{tool} {args}");
    }
    assert_eq!(Call::new("apply_patch", &json!(patch)).patched_lines(), Some((2, 1)));
}
