//! Converts Messages API blocks and Claude Code attachments to pi-ai blocks.
//!
//! Must not know the lines that contain them.

use serde_json::{Map, Value, json};

use super::answered_by;
use crate::transcript::message::{
    Message, call_block, count_of, image_at, image_block, said, text_block, thinking_block, usage,
};
use crate::transcript::notes::{Notes, OF_PROVIDER};

/// Attachments whose text the model saw, where the file does not have it as it was rendered.
const SHOWN_ATTACHMENTS: [&str; 20] = [
    "file",
    "edited_text_file",
    "nested_memory",
    "skill_listing",
    "hook_additional_context",
    "critical_system_reminder",
    "mcp_instructions_delta",
    "deferred_tools_delta",
    "agent_listing_delta",
    "selected_lines_in_ide",
    "invoked_skills",
    "instructions",
    "relevant_memories",
    "plan_mode",
    "plan_file_reference",
    "diagnostics",
    "directory",
    "mcp_resource",
    "output_style",
    "session_context",
];

/// Attachments that are records for the program or the terminal, or stand before all messages.
const UNSHOWN_ATTACHMENTS: [&str; 12] = [
    "prompt_snapshot",
    "deferred_tools_record",
    "hook_success",
    "hook_non_blocking_error",
    "hook_cancelled",
    "hook_system_message",
    "async_hook_response",
    "command_permissions",
    "already_read_file",
    "remote_session_change",
    "credential_org",
    "structured_output",
];

/// What the model saw of an attachment.
pub(super) enum Shown {
    /// The content of a user message, and whether a person typed it.
    Said(Value, bool),
    /// A text that is not in the file.
    Unknown,
    /// Nothing.
    Nothing,
}

/// Converts an assistant block. A block without a counterpart in pi-ai's shape is counted and gives
/// `None`.
pub(in crate::transcript) fn assistant_block(block: &Value, notes: &mut Notes) -> Option<Value> {
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    if is_empty(block) {
        return None;
    }
    let made = match text("type") {
        Some("text") => text("text").map(text_block),
        Some("thinking") => text("thinking").map(|thinking| {
            thinking_block(thinking, text("signature").filter(|text| !text.is_empty()))
        }),
        Some("redacted_thinking") => {
            let mut block = thinking_block("", text("data"));
            block["redacted"] = true.into();
            Some(block)
        }
        Some("tool_use") => {
            let named = text("id").zip(text("name"));
            named.map(|(id, name)| call_block(id, name, block.get("input")))
        }
        Some(kind) if kind.ends_with("_tool_use") => {
            notes.count(OF_PROVIDER);
            return None;
        }
        Some(kind) if kind.ends_with("_tool_result") => return None,
        // What the provider made of all before.
        Some("compaction") => text("content").map(text_block),
        _ => None,
    };
    if made.is_none() {
        notes.count("blocks of unknown shape left out");
    }
    made
}

/// Content of a user message or a tool result as blocks.
pub(in crate::transcript) fn blocks_of(content: &Value, notes: &mut Notes) -> Vec<Value> {
    match content {
        Value::String(text) => said(text).into_iter().collect(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| user_block(block, notes)).collect()
        }
        _ => Vec::new(),
    }
}

/// The messages of a user's blocks: the results among them, then the rest as one message.
pub(in crate::transcript) fn messages_of(
    blocks: &[Value],
    time: Option<i64>,
    meta: Option<&str>,
    notes: &mut Notes,
) -> Vec<Message> {
    let results = blocks.iter().filter_map(|block| Some((answered_by(block)?, block)));
    let mut messages: Vec<Message> = results
        .map(|(call, block)| {
            let shown = blocks_of(block.get("content").unwrap_or(&Value::Null), notes);
            let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            Message::result(call, shown, failed, time)
        })
        .collect();
    let rest = blocks.iter().filter(|block| answered_by(block).is_none());
    let rest: Vec<Value> = rest.filter_map(|block| user_block(block, notes)).collect();
    if !rest.is_empty() {
        messages.push(Message::user(Value::Array(rest), time, meta));
    }
    messages
}

/// Whether it is a text block without text: providers refuse them.
fn is_empty(block: &Value) -> bool {
    block.get("text").and_then(Value::as_str) == Some("")
}

/// A block of a user's message or a result: in Anthropic's form, or one of OpenAI's images.
fn user_block(block: &Value, notes: &mut Notes) -> Option<Value> {
    if let Some(text) = block.as_str() {
        return said(text);
    }
    let url = block.pointer("/image_url/url").or_else(|| block.get("image_url"));
    if let Some(url) = url.and_then(Value::as_str) {
        return Some(image_at(url));
    }
    if is_empty(block) {
        return None;
    }
    let made = match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").and_then(Value::as_str).map(text_block),
        Some("image") => block.get("source").and_then(image_of),
        Some("document" | "search_result") => document_of(block).as_deref().map(text_block),
        // The name of a tool found by a tool search.
        Some("tool_reference") => Some(text_block(&block.to_string())),
        _ => None,
    };
    if made.is_none() {
        notes.count("blocks of unknown shape left out");
    }
    made
}

/// The text of a document or of a search result, with its title.
fn document_of(block: &Value) -> Option<String> {
    let given = block
        .pointer("/source/data")
        .filter(|_| block.pointer("/source/type").and_then(Value::as_str) == Some("text"));
    let given = given.or_else(|| block.pointer("/source/content")).or_else(|| block.get("content"));
    let text = given.map(texts_in).filter(|text| !text.is_empty())?;
    let title = block.get("title").and_then(Value::as_str).map(|title| format!("{title}\n"));
    Some(title.unwrap_or_default() + &text)
}

fn image_of(source: &Value) -> Option<Value> {
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    match text("data") {
        Some(data) => Some(image_block(text("media_type").unwrap_or_default(), data)),
        None => text("url").map(text_block),
    }
}

/// What the model saw of the attachment of a line.
pub(super) fn attachment_content(line: &Map<String, Value>) -> Shown {
    let attachment = line.get("attachment").unwrap_or(&Value::Null);
    let kind = attachment.get("type").and_then(Value::as_str).unwrap_or_default();
    let injected = |text: String| Shown::Said(json!([text_block(&text)]), false);
    if kind == "queued_command" {
        let mode = attachment.get("commandMode").and_then(Value::as_str);
        let is_typed = mode.is_none_or(|mode| mode == "prompt");
        return match attachment.get("prompt") {
            Some(prompt @ Value::String(_)) => Shown::Said(prompt.clone(), is_typed),
            Some(prompt) => {
                let blocks = blocks_of(prompt, &mut Notes::default());
                Shown::Said(Value::Array(blocks), is_typed)
            }
            None => Shown::Unknown,
        };
    }
    if let Some(text) = line.get("rendered").map(texts_in).filter(|text| !text.is_empty()) {
        return injected(text);
    }
    if UNSHOWN_ATTACHMENTS.contains(&kind) {
        return Shown::Nothing;
    }
    let text = SHOWN_ATTACHMENTS.contains(&kind).then(|| text_in(attachment)).flatten();
    text.map_or(Shown::Unknown, injected)
}

/// The text of an attachment, from one of the places where versions of Claude Code keep it.
fn text_in(attachment: &Value) -> Option<String> {
    let places = [
        "/content",
        "/content/file/content",
        "/snippet",
        "/addedBlocks",
        "/addedLines",
        "/files",
        "/skills",
        "/memories",
        "/planContent",
        "/text",
        "/context",
    ];
    let mut texts = places.iter().filter_map(|place| attachment.pointer(place)).map(texts_in);
    texts.find(|text| !text.is_empty())
}

/// The texts of a value, a line or a block each: a text, a list of such, or the content of an
/// object.
fn texts_in(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(texts_in).collect();
            texts.join("\n")
        }
        Value::Object(object) => {
            let inside = ["content", "text", "message"].iter().find_map(|key| object.get(*key));
            inside.map(texts_in).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The counts of Anthropic's `usage` in pi-ai's terms. Where several requests of the model made one answer,
/// the input is that of the last, which is as large as the conversation, and `earlier` has the others.
pub(in crate::transcript) fn usage_of(counts: &Value) -> Value {
    let own = own_requests(counts);
    let Some((last, earlier)) = own.split_last() else { return counts_of_pi(counts, counts) };
    let mut usage = counts_of_pi(last, counts);
    if !earlier.is_empty() {
        usage["earlier"] = earlier.iter().map(|one| counts_of_pi(one, one)).collect();
    }
    usage
}

/// `sent`: what was counted for a request; `answer`: for its answer.
fn counts_of_pi(sent: &Value, answer: &Value) -> Value {
    let count = |key: &str| sent.get(key).and_then(count_of).unwrap_or_default();
    let mut counts_of_pi = usage(
        count("input_tokens"),
        answer.get("output_tokens").and_then(count_of).unwrap_or_default(),
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
    );
    // The part of what was written that stays for an hour.
    let long = sent.pointer("/cache_creation/ephemeral_1h_input_tokens").and_then(count_of);
    if let Some(long) = long.filter(|long| *long > 0) {
        counts_of_pi["cacheWrite1h"] = long.into();
    }
    counts_of_pi
}

/// The note about requests that the provider made for an answer besides those of the model itself.
pub(in crate::transcript) const INNER: &str =
    "requests within an answer, such as to an advisor, whose cost is not counted";

/// How many they are.
pub(in crate::transcript) fn inner_requests(counts: &Value) -> usize {
    iterations(counts).len().saturating_sub(own_requests(counts).len().max(1))
}

/// The requests of the model itself, of several that made one answer.
fn own_requests(counts: &Value) -> Vec<&Value> {
    let all = iterations(counts);
    let is_of_model = |one: &&Value| one["type"] == "message" || one["type"] == "fallback_message";
    let last = all.iter().rfind(is_of_model).filter(|_| all.len() > 1);
    // Before a model that stands in for another, there are that one's requests.
    let is_own = |one: &&Value| {
        last.is_some_and(|last| ["type", "model"].iter().all(|key| one[*key] == last[*key]))
    };
    all.iter().filter(is_own).collect()
}

fn iterations(counts: &Value) -> &[Value] {
    counts.get("iterations").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The model of an answer, as it is priced: in Anthropic's fast mode tokens cost more.
pub(in crate::transcript) fn priced(model: &str, counts: &Value) -> String {
    let is_fast = counts.get("speed").is_some_and(|speed| speed == "fast");
    format!("{model}{}", if is_fast { "-fast" } else { "" })
}
