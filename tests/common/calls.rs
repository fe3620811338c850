//! Sessions of as many calls as wanted, each call with an output of its own.

use serde_json::json;
use store::Store;

use crate::recordings;

/// The messages of so many calls: what a person asks, then each command with its output.
pub(crate) fn calls(count: usize) -> Vec<String> {
    let mut messages = vec![json!({"role": "user", "content": "go", "timestamp": 1}).to_string()];
    for call in 0..count {
        let id = format!("call_{call}");
        let asked = json!({"role": "assistant", "timestamp": 2 * call + 2, "content": [
            {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": format!("make {call}")}}
        ]});
        let text = format!("output {call}\n{}", "a line of it\n".repeat(20));
        let result = json!({"role": "toolResult", "toolCallId": id, "toolName": "bash",
            "timestamp": 2 * call + 3, "isError": false, "content": [{"type": "text", "text": text}]});
        messages.extend([asked.to_string(), result.to_string()]);
    }
    messages
}

/// Plays a session of so many calls.
pub(crate) fn run_calls(store: &Store, name: &str, count: usize) {
    let messages = calls(count);
    recordings::play(store, name, &messages.iter().map(String::as_str).collect::<Vec<_>>());
}
