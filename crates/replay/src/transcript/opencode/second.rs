//! Rows of OpenCode 2, each a message with all that is in it, as messages and parts of before. Must
//! not know a table.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Entry, text};
use crate::transcript::message::{list, objects};
use crate::transcript::notes::{Notes, OF_PROVIDER};

/// The message of a row of a type; none for those that the model does not see.
pub(super) fn entry(kind: &str, data: &Map<String, Value>, notes: &mut Notes) -> Option<Entry> {
    let words = text(data, "text").unwrap_or_default();
    let (role, parts): (_, Vec<Value>) = match kind {
        "user" => {
            let files = list(data, "files").iter().map(|file| attached(file, file.get("data")));
            ("user", files.chain([said(words, false)]).collect())
        }
        "synthetic" | "skill" => ("user", vec![said(words, true)]),
        "shell" => {
            let command = text(data, "command").unwrap_or_default();
            let output = data.get("output").and_then(|output| output.get("output")?.as_str());
            let shown = format!("Shell command: {command}\n\n{}", output.unwrap_or_default());
            ("user", vec![said(&shown, true)])
        }
        "assistant" => {
            let mut parts: Vec<Value> =
                list(data, "content").iter().filter_map(|item| part(item, notes)).collect();
            let end = json!({ "type": "step-finish", "reason": data.get("finish"), "tokens": data.get("tokens") });
            parts.push(end);
            ("assistant", parts)
        }
        "compaction" if text(data, "status").is_none_or(|status| status == "completed") => {
            let summary = text(data, "summary").unwrap_or_default();
            ("assistant", vec![said(summary, false)])
        }
        "system" => {
            notes.count("system messages left out");
            return None;
        }
        "compaction" | "agent-switched" | "model-switched" | "location-switched" | "idle" => {
            return None;
        }
        _ => {
            notes.count("messages of an unknown type left out");
            return None;
        }
    };
    let model = |key: &str| data.get("model").and_then(|model| model.get(key)).cloned();
    let info = json!({
        "id": data.get("id"),
        "role": role,
        "time": data.get("time"),
        "summary": kind == "compaction",
        "providerID": model("providerID"),
        "modelID": model("id"),
    });
    Some(Entry { info: info.as_object()?.clone(), parts: objects(parts).collect() })
}

/// What an answer holds: a text, a thought, or a call with its result.
fn part(item: &Value, notes: &mut Notes) -> Option<Value> {
    if item.get("type").and_then(Value::as_str) != Some("tool") {
        return Some(item.clone());
    }
    if item.get("executed") == Some(&Value::Bool(true)) {
        notes.count(OF_PROVIDER);
        return None;
    }
    let state = item.get("state").cloned().unwrap_or_default();
    let content = || state.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> = content().filter_map(|one| one.get("text")?.as_str()).collect();
    let files = content().filter(|one| one.get("text").is_none());
    let files: Vec<Value> = files.map(|file| attached(file, file.get("uri"))).collect();
    Some(json!({
        "type": "tool",
        "callID": item.get("id"),
        "tool": item.get("name"),
        "state": {
            "status": state.get("status"),
            "input": state.get("input"),
            "output": texts.join("\n"),
            "error": state.pointer("/error/message"),
            "metadata": state.get("metadata"),
            "attachments": files,
            "time": { "end": item.pointer("/time/completed"), "compacted": item.pointer("/time/pruned") },
        },
    }))
}

/// A file of a result, or of a message: there, texts and lists of folders are in it as well.
fn attached(file: &Value, data: Option<&Value>) -> Value {
    let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
    let (mime, data) = (text("mime"), data.and_then(Value::as_str).unwrap_or_default());
    if data.contains(':') {
        return json!({ "type": "file", "mime": mime, "url": data });
    }
    if mime.starts_with("text/") || mime == "application/x-directory" {
        let bytes = STANDARD.decode(data).unwrap_or_default();
        let shown =
            format!("Attached file: {}\n\n{}", text("name"), String::from_utf8_lossy(&bytes));
        return said(&shown, true);
    }
    json!({ "type": "file", "mime": mime, "url": format!("data:{mime};base64,{data}") })
}

fn said(text: &str, synthetic: bool) -> Value {
    json!({ "type": "text", "text": text, "synthetic": synthetic })
}
