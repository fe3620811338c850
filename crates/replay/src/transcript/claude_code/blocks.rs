//! Converts Messages API blocks and Claude Code attachments to pi-ai blocks.
//!
//! Must not know the lines that contain them.

use serde_json::{Value, json};

use crate::transcript::message::{call_block, image_block, text_block, thinking_block};
use crate::transcript::notes::Notes;

/// Attachments whose text the model saw. For others the file has no text, or it was meant for the
/// terminal.
const SHOWN_ATTACHMENTS: [&str; 6] = [
    "file",
    "edited_text_file",
    "nested_memory",
    "skill_listing",
    "hook_additional_context",
    "critical_system_reminder",
];

/// Converts an assistant block. A block without a counterpart in pi-ai's shape is counted and gives
/// `None`.
pub(super) fn assistant_block(block: &Value, notes: &mut Notes) -> Option<Value> {
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
        Some("tool_use") => text("id").zip(text("name")).map(|(id, name)| {
            let arguments = block.get("input").filter(|input| input.is_object());
            call_block(id, name, arguments.unwrap_or(&json!({})))
        }),
        _ => None,
    };
    if made.is_none() {
        notes.count("blocks of unknown shape left out");
    }
    made
}

/// Content of a user message or a tool result as blocks.
pub(super) fn blocks_of(content: &Value, notes: &mut Notes) -> Vec<Value> {
    match content {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![text_block(text)],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| user_block(block, notes)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether it is a text block without text: providers refuse them.
fn is_empty(block: &Value) -> bool {
    block.get("text").and_then(Value::as_str) == Some("")
}

fn user_block(block: &Value, notes: &mut Notes) -> Option<Value> {
    if is_empty(block) {
        return None;
    }
    let made = match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").and_then(Value::as_str).map(text_block),
        Some("image") => block.get("source").and_then(image_of),
        // The name of a tool found by a tool search.
        Some("tool_reference") => Some(text_block(&block.to_string())),
        _ => None,
    };
    if made.is_none() {
        notes.count("blocks of unknown shape left out");
    }
    made
}

fn image_of(source: &Value) -> Option<Value> {
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    match text("data") {
        Some(data) => Some(image_block(text("media_type").unwrap_or_default(), data)),
        None => text("url").map(text_block),
    }
}

/// The content of an attachment as a user message, and whether a person typed it; `None` if the
/// file does not hold it.
pub(super) fn attachment_content(attachment: &Value) -> Option<(Value, bool)> {
    let kind = attachment.get("type")?.as_str()?;
    if kind == "queued_command" {
        let prompt = attachment.get("prompt")?;
        let mode = attachment.get("commandMode").and_then(Value::as_str);
        let is_typed = mode.is_none_or(|mode| mode == "prompt");
        let content = match prompt {
            Value::String(_) => prompt.clone(),
            _ => Value::Array(blocks_of(prompt, &mut Notes::default())),
        };
        return Some((content, is_typed));
    }
    let text = SHOWN_ATTACHMENTS.contains(&kind).then(|| text_in(attachment))?;
    text.map(|text| (json!([text_block(&text)]), false))
}

/// The text of an attachment, from one of the places where versions of Claude Code keep it.
fn text_in(attachment: &Value) -> Option<String> {
    let places = ["/content", "/content/content", "/content/file/content", "/snippet"];
    places.into_iter().filter_map(|place| attachment.pointer(place)).find_map(|value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => {
            let lines: Option<Vec<&str>> = lines.iter().map(Value::as_str).collect();
            lines.map(|lines| lines.join("\n"))
        }
        _ => None,
    })
}
