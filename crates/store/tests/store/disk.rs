//! Size on disk: a chat twice as long costs twice as much. `crates/live/tests/live/transcripts.rs` measures
//! recorded sessions.

#![expect(clippy::print_stderr, reason = "measurements are printed")]

use std::path::Path;

use base::object::Hash;
use serde_json::json;
use store::Store;

#[test]
fn a_chat_twice_as_long_takes_twice_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |steps: u64| {
        let path = folder.path().join(format!("{steps}.sqlite"));
        let empty = bytes_after(&path, |_| {});
        let messages = script(steps);
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        bytes_after(&path, |store| crate::recordings::play(store, "script", &messages)) - empty
    };
    let (once, twice) = (bytes(150), bytes(300));
    eprintln!("150 steps: {once} bytes, 300 steps: {twice} bytes");
    assert!(twice * 10 >= once * 18 && twice * 10 <= once * 22, "{once} and {twice} bytes");
}

/// A session of this many steps, each with a tool call and a result of its own, and a question
/// every ten steps.
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

/// Bytes of a store's file after some work and once closed, when its log is in the file.
fn bytes_after(path: &Path, work: impl FnOnce(&Store)) -> u64 {
    let store = Store::open(path.to_str().unwrap()).unwrap();
    work(&store);
    store.close().unwrap();
    std::fs::metadata(path).unwrap().len()
}
