//! Session files of Pi, versions 1 to 3: a header, then entries that form a tree; the session ended
//! on the last entry. OpenClaw's files before 2026.8 have the same form, with some marks of its own
//! on messages.
//!
//! Messages pass through unchanged, also those with roles of Pi's own; only its summaries become the
//! user messages that Pi makes of them for the model (`convertToLlm` of pi-coding-agent 0.87). Must
//! not apply compactions or context edits: both determine what later calls saw, and replay decides
//! that itself.

use serde_json::{Map, Value, json};

use super::lines::Line;
use super::message::{INJECTED, Message, text_block, time_of};
use super::notes::Notes;
use super::path::{Node, path_to};
use super::{Counts, Parts};

/// The newest known version of the format.
const NEWEST_VERSION: u64 = 3;

/// The note about entries whose parent is missing.
pub(super) const PARENT_IS_MISSING: &str =
    "entries whose parent is not in the file, which follow the entry before them";
/// The note about messages outside the branch on which the session ended.
pub(super) const LEFT: &str = "messages of branches that were left";

/// Whether a line is the header of a session, or an entry of a file that lacks it: what OpenClaw
/// writes after a reset goes on with the tree of the file before.
pub(super) fn knows(line: &Line<'_>) -> bool {
    is_entry(line) || (is_header(line) && !super::openclaw::knows(line))
}

/// Whether a line is the header of a session.
pub(super) fn is_header(line: &Line<'_>) -> bool {
    let has = |key: &str| line.object.contains_key(key);
    line.text_at("type") == Some("session")
        && line.text_at("id").is_some()
        && (has("timestamp") || has("version") || has("cwd"))
}

/// Whether a line is an entry with a message of pi-ai.
pub(super) fn is_entry(line: &Line<'_>) -> bool {
    let is_ours = |message: &Map<String, Value>| {
        message.get("timestamp").is_some_and(Value::is_number)
            && ["user", "assistant", "toolResult"].contains(&role(message))
    };
    line.text_at("type") == Some("message")
        && line.text_at("id").is_some()
        && line.object.contains_key("parentId")
        && line.object_at("message").is_some_and(is_ours)
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let mut parts = Parts::default();
    let mut version = None;
    let mut entries = Vec::with_capacity(lines.len());
    for line in lines {
        if !is_header(&line) {
            entries.push(line);
        } else if parts.session_id.is_none() {
            parts.session_id = line.text_at("id").map(str::to_owned);
            parts.cwd = line.text_at("cwd").map(str::to_owned);
            version = line.object.get("version").and_then(Value::as_u64);
        }
    }
    if parts.session_id.is_none() {
        notes.count("files without their first line");
    }
    if version.is_some_and(|version| version > NEWEST_VERSION) {
        notes.count("headers with a newer version than this program knows");
    }
    let all = entries.iter().map(counts_in);
    parts.held = Some(all.fold(Counts::default(), std::ops::Add::add));
    let tree: Vec<Node<'_>> = entries.iter().map(node_of).collect();
    let path = path_to(&tree, tree.len().checked_sub(1));
    notes.count_all(PARENT_IS_MISSING, path.mended);
    for (entry, on) in entries.into_iter().zip(path.on) {
        if on {
            parts.messages.extend(message_of(entry, notes));
        } else if entry.object.contains_key("message") {
            notes.count(LEFT);
            parts.left = parts.left + counts_in(&entry);
        }
    }
    parts
}

/// The answer that an entry holds, and its calls.
pub(super) fn counts_in(entry: &Line<'_>) -> Counts {
    let answer = entry.object_at("message").filter(|_| is_answer(entry));
    answer.map(counts_of_answer).unwrap_or_default()
}

/// An answer and its calls, whatever their shape.
pub(super) fn counts_of_answer(message: &Map<String, Value>) -> Counts {
    let blocks = message.get("content").and_then(Value::as_array);
    let is_call = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("toolCall");
    let calls = blocks.map_or(0, |blocks| blocks.iter().filter(is_call).count());
    Counts { requests: 1, calls: calls as u64 }
}

/// An entry's place in the tree. Version 1 had no IDs: each entry follows the previous one.
fn node_of<'a>(entry: &'a Line<'_>) -> Node<'a> {
    Node::of(entry.text_at("id"), entry.object.get("parentId"))
}

/// Whether the model said what an entry holds.
pub(super) fn is_answer(entry: &Line<'_>) -> bool {
    let message = entry.object_at("message");
    message.is_some_and(|message| role(message) == "assistant" && !is_of_gateway(message))
}

/// The message that an entry contributes.
pub(super) fn message_of(mut entry: Line<'_>, notes: &mut Notes) -> Option<Message> {
    let timestamp = entry.object.get("timestamp").and_then(time_of);
    let kind = entry.text_at("type").unwrap_or_default().to_owned();
    match kind.as_str() {
        "message" => {
            let Some(Value::Object(message)) = entry.object.remove("message") else {
                notes.count_at("entries without their message left out", entry.number);
                return None;
            };
            let mut message = message_in(message, entry.number, notes)?;
            if !message.has("timestamp") {
                message.stamp(timestamp);
            }
            Some(message)
        }
        "custom_message" => report_in(&entry.object, timestamp),
        "compaction" => {
            let text = compaction_text(entry.text_at("summary")?);
            Some(Message::summary(&text, timestamp))
        }
        "branch_summary" => {
            let text = branch_text(entry.text_at("summary").filter(|text| !text.is_empty())?);
            Some(Message::injected(&text, timestamp))
        }
        "context_edit" => {
            notes.count("context edits not applied");
            None
        }
        // What a request beside the conversation cost, such as one that keeps the cache warm.
        "usage" => {
            notes.count(
                "requests beside the conversation, such as to keep the cache warm, not counted",
            );
            None
        }
        "model_change"
        | "thinking_level_change"
        | "active_tools_change"
        | "label"
        | "session_info"
        | "custom"
        | "reset"
        | "leaf" => None,
        _ => {
            notes.count_at("entries of an unknown type left out", entry.number);
            None
        }
    }
}

/// The message of a message entry, whatever its role.
fn message_in(message: Map<String, Value>, line: u64, notes: &mut Notes) -> Option<Message> {
    let timestamp = message.get("timestamp").and_then(time_of);
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
    match role(&message) {
        _ if message.get("excludeFromContext") == Some(&Value::Bool(true)) => {
            notes.count("messages that were kept from the model left out");
            None
        }
        "assistant" if is_of_gateway(&message) => {
            notes.count("messages of the gateway in the model's name left out");
            None
        }
        "bashExecution" => Some(Message::of_pi(message)),
        "custom" | "hookMessage" => report_in(&message, timestamp),
        "compactionSummary" => Some(Message::summary(&compaction_text(text("summary")), timestamp)),
        "branchSummary" => Some(Message::injected(&branch_text(text("summary")), timestamp)),
        "system" => {
            notes.count("system messages left out");
            None
        }
        _ => {
            let is_injected = is_of_program(&message);
            let Some(mut taken) = Message::taken(message, None, notes) else {
                notes.count_at("messages of unknown shape left out", line);
                return None;
            };
            if is_injected {
                taken.set("meta", INJECTED.into());
            }
            Some(taken)
        }
    }
}

fn role(message: &Map<String, Value>) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// Whether OpenClaw's gateway wrote an answer as a copy of what it delivered, which no model sees.
fn is_of_gateway(message: &Map<String, Value>) -> bool {
    let is = |key: &str, names: &[&str]| {
        message.get(key).and_then(Value::as_str).is_some_and(|name| names.contains(&name))
    };
    message.contains_key("openclawDeliveryMirror")
        || (is("provider", &["openclaw"]) && is("model", &["delivery-mirror", "gateway-injected"]))
}

/// Whether OpenClaw or another session wrote a user message, for example to say that a command
/// ended.
fn is_of_program(message: &Map<String, Value>) -> bool {
    let kind = message.get("provenance").and_then(|provenance| provenance.get("kind")?.as_str());
    role(message) == "user" && matches!(kind, Some("inter_session" | "internal_system"))
}

/// What an extension reports.
fn report_in(given: &Map<String, Value>, timestamp: Option<i64>) -> Option<Message> {
    let field = |key: &str| given.get(key).cloned().unwrap_or_default();
    let mut message = Message::of_pi(Map::from_iter([
        ("role".to_owned(), "custom".into()),
        ("customType".to_owned(), field("customType")),
        ("content".to_owned(), blocks_of(given.get("content")?)),
        ("display".to_owned(), field("display")),
    ]));
    message.stamp(timestamp);
    Some(message)
}

/// Content of a custom message as blocks.
fn blocks_of(content: &Value) -> Value {
    match content {
        Value::String(text) => json!([text_block(text)]),
        Value::Array(_) => content.clone(),
        _ => json!([]),
    }
}

/// Pi's text for the summary of a compaction.
fn compaction_text(summary: &str) -> String {
    format!(
        "The conversation history before this point was compacted into the following summary:\n\n<summary>\n{summary}\n</summary>"
    )
}

/// Pi's text for the summary of a branch.
fn branch_text(summary: &str) -> String {
    format!(
        "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{summary}</summary>"
    )
}
