//! Paths at which there is no readable file, in every way in which a path can come in. Each gets a
//! clear answer, nothing blocks, and nothing around it is lost.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use base::object::{AsOf, quote};
use config::{Exclude, Settings};
use context::tokens::Counter;
use live::model_tools::Tool;
use live::{
    CallInfo, FinishedToolCall, HostList, LiveSession, OpenSession, ToolFiles, Transformed, Wanted,
};
use serde_json::{Value, json};
use session::Subject;
use source::{IndexOptions, IndexReport, Namespace, index_paths};
use store::{Store, doctor};

use testing::child::only;
use testing::skip::skip;

use crate::host::json_of;

/// Files with more bytes are metadata only.
const MAX_TEXT_BYTES: u64 = 100;
/// What stands beside every bad file.
const GOOD: &str = "good.txt";

/// A folder, and a session that works in it.
struct Agent {
    root: PathBuf,
    live: LiveSession,
    store: Store,
    messages: Vec<Value>,
}

impl Agent {
    fn new(root: &Path) -> Self {
        fs::write(root.join(GOOD), "good\n").unwrap();
        let store = Store::open(":memory:").unwrap();
        let settings = Settings { max_text_bytes: MAX_TEXT_BYTES, ..Settings::default() };
        let options = OpenSession {
            harness: "test".into(),
            host_session: "session-1".into(),
            cwd: root.to_path_buf(),
            parent: None,
            settings,
            filesystem_id: "fs".into(),
            counter: Counter::default(),
            files: ToolFiles::Here,
            images: false,
            confined: None,
            asks_to_compact: false,
        };
        let live = LiveSession::open(store.clone(), options).unwrap();
        Self { root: root.canonicalize().unwrap(), live, store, messages: Vec::new() }
    }

    /// A call of a tool comes to its end, and the model is called again.
    fn tool(&mut self, tool: &str, args: &Value, output: &str) {
        let call = format!("call_{}", self.messages.len());
        let finished = FinishedToolCall {
            call: call.clone(),
            tool: tool.into(),
            args: args.clone(),
            is_error: false,
            text: output.into(),
        };
        self.live.record_tool_call(&finished).unwrap();
        let time = self.messages.len();
        self.messages.push(json!({ "role": "assistant", "timestamp": time, "content": [
            { "type": "toolCall", "id": call, "name": tool, "arguments": args },
        ]}));
        self.messages.push(json!({
            "role": "toolResult", "toolCallId": call, "toolName": tool, "isError": false,
            "timestamp": time + 1, "content": [{ "type": "text", "text": output }],
        }));
        let list = json_of(&self.messages);
        let answer = self.live.transform(HostList::whole(list), &CallInfo::default()).unwrap();
        assert!(matches!(answer, Transformed::Edits { .. }));
    }

    /// What the session knows about a path in its folder: why it has no content, or its content.
    fn known(&self, name: &str) -> Option<String> {
        let path = self.root.join(name);
        let entries = self.live.state().index().entries.iter();
        let mut known = entries.filter(
            |entry| matches!(&entry.subject, Subject::File { path: known, .. } if Path::new(known) == path),
        );
        let version = self.store.get(&known.next()?.id, AsOf::Latest).unwrap().unwrap();
        let content = self.store.content(&version).unwrap();
        Some(content.unwrap_or_else(|| version.fields["no_content"].as_str().unwrap().to_owned()))
    }

    fn activate(&mut self, name: &str, pin: bool) -> String {
        let wanted = Wanted { name: name.into(), ..Wanted::default() };
        match self.live.activate("call", &wanted, pin) {
            Ok(text) => text,
            Err(error) => error.code().to_owned(),
        }
    }

    /// What `palimpsest index` says of a path.
    fn index(&self, name: &str) -> IndexReport {
        let options = IndexOptions {
            files: Namespace::here("fs"),
            all: false,
            max_text_bytes: MAX_TEXT_BYTES,
            exclude: Exclude::default(),
        };
        index_paths(&self.store, &[self.root.join(name)], &options, |_| ()).unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(doctor::check(&self.store).unwrap().findings, []);
        }
    }
}

/// Puts something at a path.
type Make = fn(&Path);

/// A kind of entry at a path, and the expected outcome.
struct Kind {
    name: String,
    make: Make,
    /// Whether listings find it.
    is_found: bool,
    /// The session's knowledge after it was told that a tool read, wrote or changed the path.
    read: Option<&'static str>,
    /// What `activate` answers where the session has met it by path alone, or not at all.
    activated: String,
    /// What `palimpsest index` says where the path is given.
    indexed: &'static str,
}

fn kind(
    name: &str,
    make: Make,
    read: Option<&'static str>,
    activated: &str,
    indexed: &'static str,
) -> Kind {
    let activated = activated.replace("{name}", &quote::name(name));
    let is_found = activated.starts_with("[f");
    Kind { name: name.into(), make, is_found, read, activated, indexed }
}

fn write_text(path: &Path) {
    fs::write(path, "text").unwrap();
}

fn write_large(path: &Path) {
    fs::write(path, "x".repeat(1_234)).unwrap();
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn link_to_no_utf_8(path: &Path) {
    let target = path.with_file_name(OsStr::from_bytes(b"bad\xff"));
    write_text(&target);
    symlink(target, path).unwrap();
}

fn kinds() -> Vec<Kind> {
    let large = "[f1] {name} · no text: its 1,234 bytes are more than the setting `maxTextBytes` allows, 100 bytes";
    let no_file = |name, make, what| {
        kind(name, make, None, &format!("{{name}} · no text: {what}"), "it is not a regular file")
    };
    let in_loop = "{name} · no text: it cannot be read: too many levels of symbolic links";
    let nul = "file name contained an unexpected NUL byte";
    let no_utf_8 = "{name} · no text: its path is not UTF-8";
    vec![
        kind("text.txt", write_text, Some("text"), "[f1] {name} · line 1 of 1\ntext", "created"),
        kind(
            "binary",
            |path| fs::write(path, [0xff, 0, 1, 2]).unwrap(),
            Some("binary"),
            "[f1] {name} · no text: it is binary, 4 bytes",
            "created: binary",
        ),
        kind("large.txt", write_large, Some("too_large"), large, "created: too_large"),
        kind("two\nlines", write_text, Some("text"), "[f1] {name} · line 1 of 1\ntext", "created"),
        kind(
            "folder",
            |path| fs::create_dir(path).unwrap(),
            None,
            "{name} · no text: it is a folder",
            "",
        ),
        no_file("fifo", make_fifo, "it is a FIFO"),
        no_file("socket", |path| drop(UnixListener::bind(path).unwrap()), "it is a socket"),
        no_file("device", |path| symlink("/dev/zero", path).unwrap(), "it is a device"),
        kind(
            "loop",
            |path| symlink("loop", path).unwrap(),
            None,
            in_loop,
            "too many levels of symbolic links",
        ),
        kind(
            "good.txt/inner",
            |_| (),
            Some("deleted"),
            "UNKNOWN_NAME",
            "there is no such file or folder",
        ),
        kind(
            "dangling",
            // Known under the path that it leads to.
            |path| symlink("nothing", path).unwrap(),
            None,
            "UNKNOWN_NAME",
            "there is no such file or folder",
        ),
        kind("link", link_to_no_utf_8, None, no_utf_8, "its name is not UTF-8"),
        kind(&"n".repeat(300), |_| (), None, "UNKNOWN_NAME", "file name too long"),
        kind(&"deep/".repeat(1_000), |_| (), None, "UNKNOWN_NAME", "file name too long"),
        kind("nul\0byte", |_| (), None, "UNKNOWN_NAME", nul),
    ]
}

/// Runs what must not block.
fn unblocked(what: &str, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let running = std::thread::spawn(move || {
        run();
        done.send(()).unwrap();
    });
    // A dropped sender means a failure, which is reported when its thread is joined.
    let waited = is_done.recv_timeout(Duration::from_secs(120));
    assert_ne!(waited, Err(mpsc::RecvTimeoutError::Timeout), "{what:?} blocks");
    running.join().unwrap();
}

/// Does something with every kind, each in a folder of its own beside a good file.
fn with_every_kind(act: fn(&Kind, &mut Agent)) {
    for kind in kinds() {
        let folder = tempfile::tempdir().unwrap();
        let mut agent = Agent::new(folder.path());
        (kind.make)(&agent.root.join(&kind.name));
        unblocked(&kind.name.clone(), move || act(&kind, &mut agent));
    }
}

#[test]
fn tool_paths_are_tracked_if_they_are_files() {
    for tool in ["read", "write", "edit"] {
        let args = |name: &str| json!({ "path": name, "content": "x", "edits": [] });
        let touch = |kind: &Kind, agent: &mut Agent, tool: &str| {
            agent.tool(tool, &args(&kind.name), "text");
            assert_eq!(agent.known(&kind.name).as_deref(), kind.read, "{tool} {:?}", kind.name);
            agent.tool(tool, &args(GOOD), "good");
            assert_eq!(agent.known(GOOD).as_deref(), Some("good\n"));
        };
        for kind in kinds() {
            let folder = tempfile::tempdir().unwrap();
            let mut agent = Agent::new(folder.path());
            (kind.make)(&agent.root.join(&kind.name));
            touch(&kind, &mut agent, tool);
        }
    }
}

#[test]
fn our_own_read_tool_answers_or_says_why_not() {
    with_every_kind(|kind, agent| {
        let answer = Tool::Read.execute(&mut agent.live, "call", &json!({ "path": kind.name }));
        let expected = if matches!(kind.read, None | Some("deleted")) {
            &["INVALID_ARGUMENT", "FILE"][..]
        } else {
            &["ok"]
        };
        // A file whose name alone is odd can be read as any other.
        let code = answer.map_or_else(|error| error.code(), |_| "ok");
        assert!(expected.contains(&code) || kind.name == "link", "{:?}: {code}", kind.name);
    });
}

#[test]
fn listed_paths_are_discovered_if_they_are_files() {
    with_every_kind(|kind, _| {
        let name = &kind.name;
        let is_one_line = !name.contains('\n');
        let quoted = json!({ "command": format!("cat '{name}' > /dev/null; wc -c {GOOD}") });
        let ways = [
            ("ls", json!({}), format!("{name}\n{GOOD}"), is_one_line),
            ("find", json!({ "path": "." }), format!("{name}\n{GOOD}"), is_one_line),
            ("grep", json!({}), format!("{name}:1: x\n{GOOD}:1: x"), is_one_line),
            ("bash", json!({ "command": "make" }), format!("{name}:1:2: x\n{GOOD}"), is_one_line),
            ("bash", quoted, String::new(), true),
        ];
        for (tool, args, output, is_named) in ways {
            let folder = tempfile::tempdir().unwrap();
            let mut agent = Agent::new(folder.path());
            (kind.make)(&agent.root.join(name));
            agent.tool(tool, &args, &output);
            let expected = (kind.is_found && is_named).then_some("not_read");
            assert_eq!(agent.known(name).as_deref(), expected, "{tool} {args} {name:?}");
            assert_eq!(agent.known(GOOD).as_deref(), Some("not_read"), "{tool} {args} {name:?}");
        }
    });
}

#[test]
fn activating_says_why_there_is_no_text() {
    for pin in [false, true] {
        let act: fn(&Kind, &mut Agent) = if pin { pinned } else { activated };
        with_every_kind(act);
    }
}

fn activated(kind: &Kind, agent: &mut Agent) {
    check_activated(kind, agent, false);
}

fn pinned(kind: &Kind, agent: &mut Agent) {
    check_activated(kind, agent, true);
}

fn check_activated(kind: &Kind, agent: &mut Agent, pin: bool) {
    agent.tool("bash", &json!({ "command": format!("cat '{}'", kind.name) }), "");
    assert_eq!(agent.activate(&kind.name, pin), kind.activated, "{:?}", kind.name);
    if kind.is_found {
        assert_eq!(agent.activate("f1", pin), kind.activated, "{:?}", kind.name);
    }
    assert!(agent.activate(GOOD, pin).contains("UNKNOWN_NAME"));
}

#[test]
fn the_index_command_reports_each_bad_file_and_stores_the_rest() {
    with_every_kind(|kind, agent| {
        for path in [&*kind.name, "."] {
            let report = agent.index(path);
            let files = report.files.iter().map(|file| match &file.no_content {
                None => file.outcome.as_str().to_owned(),
                Some(reason) => format!("{}: {reason}", file.outcome.as_str()),
            });
            let problems = report.failed.iter().chain(&report.skipped);
            let said: Vec<_> =
                files.chain(problems.map(|problem| problem.problem.clone())).collect();
            if path == kind.name {
                assert_eq!(said.join(", "), kind.indexed, "{:?}", kind.name);
            } else {
                assert!(agent.index(path).files.iter().any(|file| file.path.ends_with(GOOD)));
            }
        }
    });
}

#[test]
fn a_file_replaced_by_something_unreadable_shows_its_last_text() {
    let becomes: [(&str, Make, &str); 5] = [
        (
            "folder",
            |path| fs::create_dir(path).unwrap(),
            " (as last seen; now it is a folder) · line 1 of 1\ntext",
        ),
        ("fifo", make_fifo, " (as last seen; now it is a FIFO) · line 1 of 1\ntext"),
        ("gone", |_| (), " (no longer on disk; last version) · line 1 of 1\ntext"),
        (
            "binary",
            |path| fs::write(path, [0xff; 7]).unwrap(),
            " · no text: it is binary, 7 bytes; f1@{tx} holds its last text",
        ),
        (
            "large",
            write_large,
            " · no text: its 1,234 bytes are more than the setting `maxTextBytes` allows, 100 bytes; f1@{tx} holds its last text",
        ),
    ];
    for (what, make, expected) in becomes {
        let folder = tempfile::tempdir().unwrap();
        let mut agent = Agent::new(folder.path());
        let path = agent.root.join("a");
        write_text(&path);
        agent.tool("read", &json!({ "path": "a" }), "text");
        let id = agent.live.state().index().entries[0].id.clone();
        let tx = agent.store.get(&id, AsOf::Latest).unwrap().unwrap().tx_id;
        fs::remove_file(&path).unwrap();
        make(&path);
        unblocked(what, move || {
            let answer = agent.activate("a", false);
            assert_eq!(answer, format!("[f1] a{}", expected.replace("{tx}", &tx.to_string())));
            if expected.contains("{tx}") {
                let last = agent.activate(&format!("f1@{tx}"), false);
                let heading = format!("[f1] a (version @{tx}, not the latest) · line 1 of 1");
                assert_eq!(last, format!("{heading}\ntext"));
            }
        });
    }
}

#[test]
fn a_file_replaced_during_a_read_gives_old_or_new_text() {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(folder.path());
    let path = agent.root.join("a");
    let stage = agent.root.join("stage");
    write_text(&path);
    let replacing = std::thread::spawn(move || {
        let makes: [Make; 3] = [write_text, write_large, make_fifo];
        for make in makes.iter().cycle().take_while(|_| !IS_OVER.load(Ordering::Relaxed)) {
            make(&stage);
            fs::rename(&stage, &path).unwrap();
        }
    });
    unblocked("replaced", move || {
        for round in 0..60 {
            agent.tool("read", &json!({ "path": "a" }), &round.to_string());
            let known = agent.known("a");
            assert!(
                matches!(known.as_deref(), None | Some("text" | "too_large")),
                "{known:?} is none of them"
            );
            agent.activate("a", false);
            agent.index("a");
            let args = json!({ "path": "a" });
            let answer = Tool::Read.execute(&mut agent.live, "call", &args);
            let code = answer.map_or_else(|error| error.code(), |_| "ok");
            assert!(["ok", "INVALID_ARGUMENT"].contains(&code), "{code}");
        }
        IS_OVER.store(true, Ordering::Relaxed);
    });
    replacing.join().unwrap();
}

/// Reports what is there as a user without read permission; a helper of the test below.
#[test]
fn acts_as_another_user_when_asked() {
    let Some(folder) = std::env::var_os("PALIMPSEST_TEST_FOLDER") else { return };
    let root = PathBuf::from(folder);
    let mut agent = Agent::new(&root);
    write_text(&root.join("locked"));
    fs::create_dir(root.join("closed")).unwrap();
    write_text(&root.join("closed/a"));
    for name in ["locked", "closed"] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    agent.tool(
        "bash",
        &json!({ "command": "cat locked closed/a; ls" }),
        "closed\nlocked\ngood.txt",
    );
    assert_eq!(agent.known("locked").as_deref(), Some("not_read"), "its name can be seen");
    assert_eq!(agent.known("closed/a"), None);
    for name in ["locked", "closed/a"] {
        agent.tool("read", &json!({ "path": name }), "");
        agent.tool("edit", &json!({ "path": name, "edits": [] }), "");
    }
    assert_eq!(agent.known("closed/a"), None, "nobody can say whether it is there");
    let denied = "no text: it cannot be read: permission denied";
    assert_eq!(agent.activate("locked", false), format!("[f1] locked · {denied}"));
    assert_eq!(agent.activate("closed/a", true), format!("closed/a · {denied}"));
    let report = agent.index(".");
    let failed: Vec<_> = report.failed.iter().map(|failed| &*failed.problem).collect();
    assert_eq!(failed, ["permission denied", "permission denied"]);
    assert_eq!(report.files.len(), 1, "the rest is taken");
    // What was known stands while nobody can look.
    agent.tool("read", &json!({ "path": GOOD }), "good");
    fs::set_permissions(root.join(GOOD), fs::Permissions::from_mode(0o000)).unwrap();
    let answer = agent.activate(GOOD, false);
    let now = "as last seen; now it cannot be read: permission denied";
    assert!(answer.contains(now) && answer.ends_with("\ngood\n"), "{answer}");
    for name in ["locked", "closed", GOOD] {
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn an_unreadable_file_is_reported_and_keeps_its_last_text() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(&program);
    if is_privileged(folder.path()) {
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    command.args(only(module_path!(), "acts_as_another_user_when_asked"));
    let out = match command.env("PALIMPSEST_TEST_FOLDER", folder.path()).output() {
        Ok(out) => out,
        Err(error) => return skip(&format!("no way to be another user: {error}")),
    };
    let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

/// Whether permissions do not bind this process, as root's do not.
fn is_privileged(folder: &Path) -> bool {
    let path = folder.join("closed to all");
    write_text(&path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let is_open = fs::read(&path).is_ok();
    fs::remove_file(path).unwrap();
    is_open
}
