//! The items of chats and sessions: which members of their JSON hold text, names or tool calls.
//! Higher layers write these items; code that reads them outside a session asks here. Pure.
//!
//! A chat's item holds a host's `message` and its place (`turn`, `step`); the content of a tool
//! result is a reference beside it. A session's item is an event: its name in `event`, and members
//! of its own.

use serde_json::{Map, Value};

use super::{FieldPath, ObjectId, ObjectType};

/// Keys inside messages that hold no text, or the arguments of tool calls, which the toolcall
/// objects hold.
pub const NO_TEXT: [&str; 16] = [
    "api",
    "args",
    "arguments",
    "data",
    "input",
    "mime",
    "mimetype",
    "media_type",
    "model",
    "object",
    "provider",
    "role",
    "stopreason",
    "type",
    "url",
    "usage",
];

/// Members of events and messages whose strings are names, IDs and hashes, never text.
pub const NAMES: [&str; 34] = [
    "active",
    "api",
    "as",
    "call",
    "calls",
    "cause",
    "chat_ref",
    "cwd",
    "digest",
    "event",
    "file_refs",
    "forked_from",
    "harness",
    "hash",
    "host_session",
    "how",
    "id",
    "kind",
    "layout",
    "mimeType",
    "model",
    "name",
    "object",
    "provider",
    "provider_call_id",
    "role",
    "session_ref",
    "shows",
    "stopReason",
    "system_prompt_ref",
    "tool",
    "toolCallId",
    "toolName",
    "version",
];

/// Members that hold the input or output of a tool: every string inside is text, whatever its
/// member is called.
pub const FREE: [&str; 4] = ["args", "arguments", "details", "input"];

/// The other half of a session's document: the chat named by a session's version, or the session
/// named by a chat's.
pub fn partner(kind: ObjectType, fields: &Map<String, Value>) -> Option<ObjectId> {
    let field = match kind {
        ObjectType::Session => "chat_ref",
        ObjectType::Chat => "session_ref",
        _ => return None,
    };
    fields.get(field)?.as_str().map(ObjectId::new)
}

/// The part of an item that full-text search covers, with the name of its member: the message of a
/// chat's item, except tool results, which are separate objects; the text of a session's note.
pub fn searched_part(kind: ObjectType, item: &Value) -> Option<(&'static str, &Value)> {
    if kind == ObjectType::Session {
        let text = item.get("text").filter(|text| text.is_string())?;
        return (item.get("event")?.as_str()? == "noted").then_some(("text", text));
    }
    let message = item.get("message")?;
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    (!role.starts_with("tool")).then_some(("message", message))
}

/// Whether a key inside a message may hold text that full-text search covers.
pub fn holds_searched_text(key: &str) -> bool {
    !names_identifier(key) && !NO_TEXT.contains(&&*key.to_lowercase())
}

/// Whether a key says that its value is an identifier, a reference, a hash or a signature.
pub fn names_identifier(key: &str) -> bool {
    let key = key.to_lowercase();
    let ends = ["_id", "_ids", "_ref", "_refs", "_hash", "callid", "responseid", "signature"];
    key == "id" || key == "hash" || ends.iter().any(|end| key.ends_with(end))
}

/// Whether a string in a member of an event or message is a name, an ID or a hash, and no text.
pub fn is_name(member: &str, text: &str) -> bool {
    // A host's message may have any text in such a member.
    let is_hash = || text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    NAMES.contains(&member) || (member == "request" && is_hash())
}

/// Whether a member of an event or message holds the input or output of a tool: free text under any
/// names.
pub fn holds_free_text(member: &str) -> bool {
    FREE.contains(&member)
}

/// The IDs of tool calls that a chat's message makes or answers, each with its path. `path`: the
/// message's path.
pub fn tool_calls<'m>(message: &'m Value, path: &FieldPath) -> Vec<(&'m str, FieldPath)> {
    match message["role"].as_str() {
        Some("assistant") => {
            let parts = message["content"].as_array().into_iter().flatten().enumerate();
            let calls = parts.filter(|(_, part)| part["type"] == "toolCall");
            let place = |index| path.clone().member("content").element(index).member("id");
            calls.filter_map(|(index, part)| Some((part["id"].as_str()?, place(index)))).collect()
        }
        Some("toolResult") => {
            let id = message["toolCallId"].as_str();
            id.map(|id| (id, path.clone().member("toolCallId"))).into_iter().collect()
        }
        _ => Vec::new(),
    }
}
