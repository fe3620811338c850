//! Size on disk of real coding sessions (DESIGN.md section 13): a store's file is no larger than the host's own session
//! file, and a chat twice as long costs twice as much. The data is not part of the project: it is looked for in
//! `$PALIMPSEST_DATA`, else in `../shared/data`, and the tests are skipped, saying so, where it is absent.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]
#![expect(clippy::print_stderr, reason = "measurements are printed, and a skipped test says so")]

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use palimpsest::context::live::{CallInfo, LiveSession, OpenSession, Transformed};
use palimpsest::object::Hash;
use palimpsest::settings::Settings;
use palimpsest::store::Store;
use serde_json::{Value, json};

#[test]
fn sessions_take_no_more_disk_than_their_hosts_files() {
    let Some(files) = transcripts() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let empty = bytes_after(&path, |_| {});
    let (mut plain_sum, mut before) = (0, empty);
    let mut larger = Vec::new();
    for file in files {
        let text = read(&file);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let messages: Vec<&str> = text.lines().skip(1).collect();
        let after = bytes_after(&path, |store| play(store, &name, &messages));
        let (stored, plain) = (after - before, text.len() as u64);
        eprintln!("{name}: {stored} of {plain} bytes, {} %", stored * 100 / plain);
        if stored > plain {
            larger.push(name);
        }
        plain_sum += plain;
        before = after;
    }
    eprintln!("the file: {before} of {plain_sum} bytes, {} %", before * 100 / plain_sum);
    assert!(before <= plain_sum, "{before} bytes are stored of {plain_sum}");
    assert_eq!(larger, Vec::<String>::new(), "sessions that are larger than their host's file");
}

#[test]
fn a_chat_twice_as_long_takes_twice_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |steps: u64| {
        let path = folder.path().join(format!("{steps}.sqlite"));
        let empty = bytes_after(&path, |_| {});
        let messages = script(steps);
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        bytes_after(&path, |store| play(store, "script", &messages)) - empty
    };
    let (once, twice) = (bytes(150), bytes(300));
    eprintln!("150 steps: {once} bytes, 300 steps: {twice} bytes");
    assert!(twice * 10 >= once * 18 && twice * 10 <= once * 22, "{once} and {twice} bytes");
}

/// A session of so many steps, each with a tool call and a result of its own, and a question every ten steps.
fn script(steps: u64) -> Vec<String> {
    let mut messages = Vec::new();
    for step in 0..steps {
        let time = 1_700_000_000_000 + step * 10_000;
        let words = |count| words(step, count);
        if step % 10 == 0 {
            let question = json!({ "role": "user", "content": words(30), "timestamp": time });
            messages.push(question.to_string());
        }
        let id = format!("call_{step:08}");
        let call = json!({ "type": "toolCall", "id": id, "name": "bash",
            "arguments": { "command": format!("grep -rn {}", words(3)) } });
        let content = json!([{ "type": "text", "text": words(20) }, call]);
        let answer = json!({ "role": "assistant", "content": content, "timestamp": time + 1 });
        let output = json!([{ "type": "text", "text": words(300) }]);
        let result = json!({ "role": "toolResult", "toolCallId": id, "toolName": "bash",
            "content": output, "isError": false, "timestamp": time + 2 });
        messages.extend([answer.to_string(), result.to_string()]);
    }
    messages
}

/// Words that are the same on every run, no two steps alike.
fn words(step: u64, count: u64) -> String {
    let word = |number: u64| Hash::of(format!("{step} {number}")).as_str()[..7].to_owned();
    let lines: Vec<String> =
        (0..count).map(word).collect::<Vec<_>>().chunks(8).map(|line| line.join(" ")).collect();
    lines.join("\n")
}

fn transcripts() -> Option<Vec<PathBuf>> {
    let given = std::env::var_os("PALIMPSEST_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("shared/data");
    let folder = [given, Some(beside)]
        .into_iter()
        .flatten()
        .map(|data| data.join("transcripts"))
        .find(|path| path.is_dir());
    let Some(folder) = folder else {
        eprintln!("skipped: no transcripts in $PALIMPSEST_DATA or ../shared/data");
        return None;
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".jsonl.gz"));
    files.sort();
    Some(files)
}

fn read(file: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// Bytes of a store's file after some work and once closed, when its log is in the file.
fn bytes_after(path: &Path, work: impl FnOnce(&Store)) -> u64 {
    let store = Store::open(path.to_str().unwrap()).unwrap();
    work(&store);
    store.close().unwrap();
    std::fs::metadata(path).unwrap().len()
}

/// Plays messages through a session, one call before each message of the assistant.
fn play(store: &Store, name: &str, messages: &[&str]) {
    let mut live = open(store, name);
    let mut known = 0;
    for (at, message) in messages.iter().enumerate() {
        let value: Value = serde_json::from_str(message).unwrap();
        if value["role"] == "assistant" {
            transform(&mut live, &messages[known..at], known);
            known = at;
        }
    }
    transform(&mut live, &messages[known..], known);
}

fn transform(live: &mut LiveSession, fresh: &[&str], known: usize) {
    let done = live.transform(known, &format!("[{}]", fresh.join(",")), &CallInfo::default());
    assert!(matches!(done, Ok(Transformed::Edits { .. })), "{done:?}");
}

fn open(store: &Store, name: &str) -> LiveSession {
    let options = OpenSession {
        harness: "test".into(),
        host_session: name.into(),
        // A folder that does not exist: the files of these sessions are not here, and none of ours may be taken for them.
        cwd: "/nonexistent/project".into(),
        parent: None,
        settings: Settings::default(),
        filesystem_id: "fs".into(),
    };
    LiveSession::open(store.clone(), options).unwrap()
}
