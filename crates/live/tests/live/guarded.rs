//! Lines that stand for content are kept out of files, by whichever tool and in whichever quotes.

use config::Settings;
use serde_json::{Value, json};

use crate::host::{Host, uncached};
use crate::shapes::text_of;

/// A host in whose window a line stands for an output, and that line.
fn host() -> (Host, String) {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 50,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    host.user("go");
    let log: Vec<String> = (1..=60).map(|n| format!("line {n} of \"the\" log")).collect();
    host.tool("bash", &json!({ "command": "run" }), &log.join("\n"));
    for n in 1..6 {
        host.send();
        host.tool("bash", &json!({ "command": format!("run {n}") }), "done");
    }
    host.user("on");
    host.send();
    let texts: Vec<String> = host.sent.iter().map(text_of).collect();
    let line = texts.iter().find(|text| text.starts_with("[t1] exit 0")).unwrap().clone();
    assert!(line.contains("last: \"line 60 of \"the\" log\""), "{line}");
    (host, line)
}

fn is_refused(host: &Host, tool: &str, args: &Value) -> bool {
    host.live.check_write(tool, args).unwrap().is_some()
}

#[test]
fn every_way_into_a_file_is_seen() {
    let (host, line) = host();
    let heredoc = format!("cat > a.txt <<'E'\nhead\n{line}\nE");
    let patch = format!("*** Begin Patch\n*** Add File: a.txt\n+{line}\n*** End Patch");
    let json = json!({ "out": line }).to_string();
    let script = format!("await tools.write({{ path: 'a', content: {} }});", json!(line));
    for (tool, args) in [
        ("write", json!({ "path": "a.txt", "content": format!("x\n{line}\n") })),
        ("write", json!({ "path": "a.rs", "content": format!("// {line}\n") })),
        ("write", json!({ "path": "a.py", "content": format!("    # {line}\n") })),
        ("write", json!({ "path": "a.md", "content": format!("- {line}\n") })),
        ("write", json!({ "path": "a.md", "content": format!("> `{line}`\n") })),
        ("write", json!({ "path": "a.json", "content": json })),
        (
            "edit",
            json!({ "path": "a", "edits": [{ "oldText": "x", "newText": format!("/* {line} */") }] }),
        ),
        ("apply_patch", json!({ "input": patch })),
        ("bash", json!({ "command": heredoc })),
        ("bash", json!({ "command": format!("printf '%s\\n' '{line}' >> a.txt") })),
        ("bash", json!({ "command": format!("echo '{line}' | tee a.txt") })),
        (
            "bash",
            json!({ "command": format!("python3 - <<'E'\nopen('a', 'w').write({})\nE", json!(line)) }),
        ),
        ("bash", json!({ "command": format!("sed -i 's/x/{line}/' a.txt") })),
        ("shell", json!({ "command": ["apply_patch", patch] })),
        ("shell", json!({ "command": ["bash", "-lc", heredoc] })),
        ("exec_command", json!({ "cmd": heredoc })),
        ("exec", json!({ "code": script })),
        ("exec", json!(script)),
        ("write_stdin", json!({ "session_id": 1, "chars": heredoc })),
        ("powershell", json!({ "command": format!("Set-Content a.txt '{line}'") })),
        ("mcp__fs__write_file", json!({ "path": "a.txt", "content": line })),
        ("mcp__wiki__save", json!({ "page": { "blocks": [{ "text": line }] } })),
    ] {
        assert!(is_refused(&host, tool, &args), "{tool} {args}");
    }
}

#[test]
fn what_puts_nothing_into_a_file_runs() {
    let (host, line) = host();
    for (tool, args) in [
        ("bash", json!({ "command": format!("grep -rn '{line}' .") })),
        ("bash", json!({ "command": "cat > a.txt <<'E'\n[t1] is a tag\nE" })),
        ("write", json!({ "path": "a.txt", "content": "[t1] exit 0 · 61 lines" })),
        ("write", json!({ "path": "a.txt", "content": "[t9] exit 0 · 60 lines" })),
        ("edit", json!({ "path": "a", "oldText": line, "newText": "real lines" })),
        ("read", json!({ "path": line })),
        ("grep", json!({ "pattern": line })),
        ("task", json!({ "prompt": format!("Say what `{line}` means.") })),
        ("activate", json!({ "name": line })),
        // Pi asks about each call of such a script.
        (
            "codemode",
            json!({ "code": format!("await tools.write({{ content: {} }})", json!(line)) }),
        ),
    ] {
        assert!(!is_refused(&host, tool, &args), "{tool} {args}");
    }
}

#[test]
fn a_file_that_has_the_line_can_be_changed_by_any_tool() {
    let (host, line) = host();
    host.write_file("notes.md", &format!("# Notes\n- {line}\n"));
    for (tool, args) in [
        ("write", json!({ "path": "notes.md", "content": format!("# More\n- {line}\n") })),
        ("bash", json!({ "command": format!("cat > notes.md <<'E'\n{line}\nE") })),
        ("bash", json!({ "command": format!("cd . && cat >> ./notes.md <<'E'\n{line}\nE") })),
        (
            "shell",
            json!({ "command": ["apply_patch", format!("*** Update File: notes.md\n@@\n-{line}\n+x")] }),
        ),
        ("mcp__fs__write_file", json!({ "path": "notes.md", "content": line })),
    ] {
        assert!(!is_refused(&host, tool, &args), "{tool} {args}");
    }
    let other = json!({ "path": "other.md", "content": line });
    assert!(is_refused(&host, "write", &other));
}

#[test]
fn a_line_that_a_tool_printed_itself_is_text_like_any_other() {
    let mut host = Host::new(Settings { preview_tokens: 200, ..Settings::default() });
    host.user("go");
    let line = "[t17] exit 0 · 412 lines · last: \"test result: ok. 96 passed\"";
    let log: Vec<String> = (1..=400).map(|n| format!("line {n} of the page")).collect();
    let page = format!("{line}\n{}", log.join("\n"));
    host.tool("bash", &json!({ "command": "make page" }), &page);
    host.send();
    assert!(text_of(host.sent.last().unwrap()).starts_with(line));
    assert!(!is_refused(&host, "write", &json!({ "path": "a.md", "content": line })));
}
