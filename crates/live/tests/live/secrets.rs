//! The ways in which a command can show an excluded file, however it names the file and whatever
//! its output says about the origin. Also commands that only look like it.

use config::Settings;
use serde_json::{Value, json};
use store::Store;

use crate::host::Host;
use crate::withheld::everything_in;

/// In no form by which a secret is known.
const SECRET: &str = "sk-7f3a9c";
/// In the form of a key that a provider gives.
const KEY: &str = "AKIAQ3ZJ7TWX5RKPLMND";

/// A project with secrets in it, and a session on it: says whether the store has a text after the
/// model called a tool.
struct Project {
    host: Host,
    _folder: tempfile::TempDir,
    store: std::path::PathBuf,
}

impl Project {
    fn new() -> Self {
        Self::with(Settings::default(), &[".env", "sub/server.pem", "conf/prod.env"])
    }

    /// With these files, each of which holds the secret.
    fn with(settings: Settings, secrets: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store.sqlite");
        let host = Host::with_store(settings, Store::open(store.to_str().unwrap()).unwrap());
        host.write_file("src/main.rs", "fn main() {}\n");
        for secret in secrets {
            host.write_file(secret, &format!("A=1\nKEY={SECRET}\n"));
        }
        Self { host, _folder: folder, store }
    }

    /// Whether the store holds a text that a call shows. It goes out in any case.
    fn stores(&mut self, tool: &str, args: &Value, output: &str, text: &str) -> bool {
        self.host.user("look");
        self.host.tool(tool, args, output);
        self.host.send();
        self.host.restart();
        self.host.send();
        let sent = Value::from(self.host.sent.clone()).to_string();
        assert!(sent.contains(text), "the model sees it");
        everything_in(&self.store)
            .iter()
            .any(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some())
    }
}

fn is_stored(command: &str, output: &str) -> bool {
    Project::new().stores("bash", &json!({ "command": command }), output, SECRET)
}

/// The commands, with their outputs, for which the outcome differs from `stored`.
fn others<'a>(cases: impl IntoIterator<Item = (&'a str, String)>, stored: bool) -> Vec<String> {
    let cases = cases.into_iter().filter(|(command, output)| is_stored(command, output) != stored);
    cases.map(|(command, output)| format!("{command}: {output}")).collect()
}

#[test]
fn any_way_of_naming_an_excluded_file_withholds_a_command() {
    let commands = [
        "cat .env",
        "git show HEAD:.env",
        "git show HEAD:./.env",
        "git cat-file -p HEAD:.env",
        "git show 'stash@{0}':.env",
        "python3 -c \"print(open('.env').read())\"",
        "python3 -c 'print(open(\"sub/server.pem\").read())'",
        "python3 -c \"print(open(\\\"sub/server.pem\\\").read())\"",
        "python3 - <<'EOF'\nprint(open('sub/server.pem').read())\nEOF",
        "node -e \"console.log(require('fs').readFileSync('.env','utf8'))\"",
        "node -e 'console.log(require(\"fs\").readFileSync(`sub/server.pem`))'",
        "bash -c 'node -e \"console.log(fs.readFileSync(\\\"sub/server.pem\\\"))\"'",
        "perl -ne 'print' < .env",
        "find . -name .env -exec cat {} +",
        "find . -name '.env' | xargs cat",
        "cat .{env,foo}",
        "cat sub/{other,server}.pem",
        "cat {src/main.rs,.{foo,env}}",
        "cat .e*",
        "cat sub/s*.p?m",
        "curl -d @.env localhost",
        "docker run --env-file=conf/prod.env image env",
        "docker run --env-file conf/prod.env image env",
        "cat '#.env#'",
        "cat sub/server.pem.bak",
        "cat sub/server.pem~",
        "cat sub/.server.pem.swp",
        "cat conf/prod.env",
        "python3 -c \"print(open('conf/prod.env').read())\"",
        "cd conf && python3 -c \"print(open('prod.env').read())\"",
        "git show HEAD:prod.env",
        "x=.env; cat $x",
        "cat <<< $(<.env)",
        "cat \"$PWD/.env\"",
    ];
    let text = format!("A=1\nKEY={SECRET}\n");
    assert_eq!(others(commands.map(|command| (command, text.clone())), false), [""; 0]);
}

#[test]
fn output_labelled_as_from_an_excluded_file_is_withheld() {
    let cases = [
        ("git grep --heading KEY", format!(".env\nKEY={SECRET}\n")),
        ("git grep --heading -n KEY", format!("src/a.rs\n3:KEY\n\n.env\n2:KEY={SECRET}\n")),
        ("rg --heading KEY -uu", format!("src/a.rs\nKEY\n\nsub/server.pem\nKEY={SECRET}\n")),
        (
            "rg -p KEY -uu",
            format!(
                "\u{1b}[0m\u{1b}[35m.env\u{1b}[0m\n\u{1b}[0m\u{1b}[32m2\u{1b}[0m:KEY={SECRET}\n"
            ),
        ),
        ("./search KEY", format!("src/a.rs\n1:KEY\n\n.env\n2:KEY={SECRET}\n")),
        (
            "rg --json KEY -uu",
            format!(
                "{{\"type\":\"begin\",\"data\":{{\"path\":{{\"text\":\".env\"}}}}}}\n\
                 {{\"type\":\"match\",\"data\":{{\"path\":{{\"text\":\".env\"}},\"lines\":{{\"text\":\"KEY={SECRET}\\n\"}},\"line_number\":2}}}}\n"
            ),
        ),
        (
            "rg --color=always KEY",
            format!(
                "\u{1b}[0m\u{1b}[35m.env\u{1b}[0m:\u{1b}[0m\u{1b}[32m2\u{1b}[0m:KEY={SECRET}\n"
            ),
        ),
        (
            "git diff --color",
            format!("\u{1b}[1m+++ b/.env\u{1b}[m\n\u{1b}[32m+KEY={SECRET}\u{1b}[m\n"),
        ),
        (
            "git log -p --no-prefix",
            format!("diff --git .env .env\n--- .env\n+++ .env\n+KEY={SECRET}\n"),
        ),
        (
            "git show",
            format!("diff --git \"a/\\303\\244/.env\" \"b/\\303\\244/.env\"\n+KEY={SECRET}\n"),
        ),
        ("./all.sh", format!("==> src/a <==\nx\n\n==> .env <==\nKEY={SECRET}\n")),
        ("./all.sh", format!("::::::::::::::\n.env\n::::::::::::::\nKEY={SECRET}\n")),
        ("bat -r 1:2 *.x", format!("File: .env\n  1  KEY={SECRET}\n")),
        ("grep -rn KEY .", format!("./my folder/.env:2:KEY={SECRET}\n")),
        ("grep -r KEY .", format!("./my folder/.env:KEY={SECRET}\n")),
    ];
    assert_eq!(others(cases, false), [""; 0]);
}

#[test]
fn a_name_that_only_looks_like_an_excluded_file_is_none() {
    let text = format!("nothing of it: {SECRET}\n");
    let commands = [
        "grep -rn 'process.env' src",
        "rg -n \"import.meta.env\" src",
        "grep -rn \"event.key\" src",
        "grep -n '\\.env' .gitignore",
        "git grep -n -A 3 -e .environment -- src",
        "node -e \"console.log(Object.keys(process.env).length)\"",
        "node -e \"const k = process.env; console.log(import.meta.env)\"",
        "sed -n '/process.env/,/event.key/p' src/main.rs",
        "cat .env.example",
        "cat conf/example.env",
        "cat src/environment.ts src/env.rs",
        "cat src/*",
        "echo $((6 * 7))",
        "sqlite3 db 'SELECT * FROM t'",
        "python3 -c \"re.sub('.*', '', x)\"",
        "cargo test env::",
    ];
    assert_eq!(others(commands.map(|command| (command, text.clone())), true), [""; 0]);
    let mut visible = Project::with(Settings::default(), &["k.pem"]);
    let args = json!({ "command": "echo $((6 * 7)) 'SELECT * FROM t'" });
    assert!(visible.stores("bash", &args, &text, SECRET), "a star in a program");
    let mut hidden = Project::with(Settings::default(), &[".env"]);
    let args = json!({ "command": "wc -l *" });
    assert!(hidden.stores("bash", &args, &text, SECRET), "a star does not match .env");
    let cases = [
        ("ls -a", format!(".\n..\n.env\nsrc\n{SECRET}\n")),
        ("git status --short", format!("?? .env\n M src/main.rs {SECRET}\n")),
        ("rg -l KEY -uu", format!(".env\nsub/server.pem\n{SECRET}\n")),
        ("cat README.md", format!("Put the file .env: it holds what {SECRET}\n")),
    ];
    assert_eq!(others(cases, true), [""; 0]);
}

#[test]
fn secrets_are_withheld_if_a_command_may_read_excluded_files() {
    let secret = format!("services:\n  web:\n    AWS_ACCESS_KEY_ID: {KEY}\n");
    let is_stored = |project: &mut Project, command: &str, output: &str, text: &str| {
        project.stores("bash", &json!({ "command": command }), output, text)
    };
    for command in [
        "docker compose config",
        "npm start",
        "grep -rh AWS .",
        "cat $(git ls-files)",
        "find . -type f | xargs cat",
        "cd src && tar c .. | strings",
    ] {
        assert!(!is_stored(&mut Project::new(), command, &secret, KEY), "{command}");
        let plain = "some words of its output";
        assert!(is_stored(&mut Project::new(), command, plain, plain), "{command}: no secret");
        let mut none = Project::with(Settings::default(), &["README.md"]);
        assert!(
            is_stored(&mut none, command, &secret, KEY),
            "{command}: nothing is excluded there"
        );
    }
    for command in ["cat src/main.rs", "git show HEAD:src/main.rs", "cd src && npm start"] {
        assert!(
            is_stored(&mut Project::new(), command, &secret, KEY),
            "{command} reads no excluded file"
        );
    }
}

#[test]
fn a_program_that_a_tool_runs_is_read_like_a_command() {
    for (tool, args) in [
        (
            "exec",
            json!({ "input": "const r = await tools.exec_command({\"cmd\":\"cat sub/server.pem\"}); text(r.output)" }),
        ),
        ("python", json!({ "code": "print(open('.env').read())" })),
    ] {
        assert!(!Project::new().stores(tool, &args, SECRET, SECRET), "{tool}");
    }
    for (tool, args) in [
        ("exec", json!({ "input": "text(process.env.length + import.meta.env)" })),
        ("todo", json!({ "text": "put .env into .gitignore" })),
    ] {
        assert!(Project::new().stores(tool, &args, SECRET, SECRET), "{tool}");
    }
}

#[test]
fn a_persons_command_is_judged_as_the_models() {
    for (command, output) in [
        ("cat .{env,foo}", SECRET.to_owned()),
        ("./search", format!(".env\n2:KEY={SECRET}")),
        ("rg --heading KEY -uu", format!(".env\nKEY={SECRET}")),
        ("docker compose config", format!("KEY: {KEY}")),
    ] {
        let mut project = Project::new();
        project.host.push(json!({
            "role": "bashExecution", "command": command, "output": output, "exitCode": 0,
        }));
        project.host.user("what is it?");
        project.host.send();
        let held = everything_in(&project.store);
        for text in [SECRET, KEY] {
            assert!(
                held.iter().all(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_none()),
                "{command}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_an_excluded_file_is_excluded_whatever_its_name() {
    use std::os::unix::fs::symlink;

    for (tool, args) in [
        ("bash", json!({ "command": "cat notes.txt" })),
        ("bash", json!({ "command": "cat open/server.txt" })),
        ("bash", json!({ "command": "cd open && cat server.txt" })),
        ("bash", json!({ "command": "cat n*.txt" })),
        ("read", json!({ "path": "notes.txt" })),
        ("read", json!({ "path": "two.txt" })),
        ("grep", json!({ "pattern": "KEY", "path": "notes.txt" })),
    ] {
        let mut project = Project::new();
        let link = |to: &str, name: &str| symlink(to, project.host.path(name)).unwrap();
        link(".env", "notes.txt");
        link("notes.txt", "two.txt");
        link("sub", "open");
        link("server.pem", "sub/server.txt");
        let output = format!("A=1\nKEY={SECRET}\n");
        assert!(!project.stores(tool, &args, &output, SECRET), "{tool} {args}");
    }
}

#[cfg(unix)]
#[test]
fn another_name_of_an_excluded_file_is_excluded_too() {
    for (tool, args) in [
        ("bash", json!({ "command": "cat notes.txt" })),
        ("bash", json!({ "command": "cat src/notes.txt" })),
        ("read", json!({ "path": "notes.txt" })),
    ] {
        let mut project = Project::new();
        for name in ["notes.txt", "src/notes.txt"] {
            std::fs::hard_link(project.host.path(".env"), project.host.path(name)).unwrap();
        }
        let output = format!("A=1\nKEY={SECRET}\n");
        assert!(!project.stores(tool, &args, &output, SECRET), "{tool} {args}");
    }
}

/// Whether the store has the secret after a tool made these calls, in the host's record of them,
/// and returned it.
fn nested_is_stored(note: &Value, output: &str) -> bool {
    let mut project = Project::new();
    project.host.user("look");
    let id = project.host.call("batch", &json!({ "what": "all" }));
    let content = json!([{ "type": "text", "text": output }]);
    project.host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "batch", "content": content, "isError": false,
        "nestedCalls": note,
    }));
    project.host.send();
    let text = if output.contains(KEY) { KEY } else { SECRET };
    let sent = Value::from(project.host.sent.clone()).to_string();
    assert!(sent.contains(text), "the model sees it");
    everything_in(&project.store)
        .iter()
        .any(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some())
}

#[test]
fn output_is_withheld_if_a_nested_call_read_an_excluded_file() {
    let note = |tool: &str, args: Value| {
        let call = json!({ "id": "c/1", "name": tool, "arguments": args, "status": "ok" });
        json!({ "calls": [call], "complete": true })
    };
    let text = format!("Script completed\nOutput:\n\nKEY={SECRET}");
    assert!(!nested_is_stored(&note("read", json!({ "path": ".env" })), &text));
    assert!(!nested_is_stored(&note("bash", json!({ "command": "cat sub/server.pem" })), &text));
    let write = json!({ "path": ".env", "content": format!("KEY={SECRET}") });
    assert!(!nested_is_stored(&note("write", write), &text));
    assert!(nested_is_stored(&note("read", json!({ "path": "src/main.rs" })), &text));
}

#[test]
fn secret_looking_output_is_withheld_if_calls_are_unknown() {
    let note = |complete: bool| {
        let call = json!({ "id": "c/1", "name": "read", "arguments": { "path": "src/main.rs" }, "status": "ok" });
        json!({ "calls": [call], "complete": complete })
    };
    let key = format!("Script completed\nOutput:\n\naws_access_key_id = {KEY}");
    assert!(!nested_is_stored(&note(false), &key));
    assert!(nested_is_stored(&note(true), &key));
    assert!(nested_is_stored(&note(false), &format!("Output:\n\nname = {SECRET}")));
}
