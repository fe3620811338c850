//! The block that gets the breakpoint: the last of the person's words that never change.

use serde_json::Value;

use crate::forms;

/// Characters that an image counts as, to match its tokens.
const IMAGE_CHARS: usize = 4 * 1_200;

/// The block that gets the breakpoint.
pub(super) struct Target {
    /// Index of the message.
    pub(super) message: usize,
    /// Index of the block; `None` if the content is a string.
    pub(super) block: Option<usize>,
}

/// The person's last own text before the first tool result and before any fold lines.
pub(super) fn target(messages: &[Value]) -> Option<Target> {
    let mut found = None;
    for (message, value) in messages.iter().enumerate() {
        if holds_result(value) {
            break;
        }
        if value.get("role").is_none_or(|role| role != "user") {
            continue;
        }
        match value.get("content") {
            Some(Value::String(text)) if !text.is_empty() => {
                found = Some(Target { message, block: None });
            }
            Some(Value::Array(blocks)) => {
                let folded = blocks.iter().position(is_folded);
                let own = &blocks[..folded.unwrap_or(blocks.len())];
                if let Some(block) = own.iter().rposition(|block| text(block).is_some()) {
                    found = Some(Target { message, block: Some(block) });
                }
                if folded.is_some() {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

fn text(block: &Value) -> Option<&str> {
    block.get("text").and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn is_folded(block: &Value) -> bool {
    text(block).is_some_and(forms::is_folded)
}

fn holds_result(message: &Value) -> bool {
    let is_result = |block: &Value| {
        block.get("toolResult").is_some() || block.get("type").is_some_and(|t| t == "tool_result")
    };
    let blocks = message.get("content").and_then(Value::as_array);
    message.get("role").is_some_and(|role| role == "tool")
        || blocks.is_some_and(|blocks| blocks.iter().any(is_result))
}

/// Characters of the messages up to the target; images count by their tokens.
pub(super) fn chars_before(messages: &[Value], target: &Target) -> usize {
    let chars = |block: &Value| match block {
        Value::String(text) => text.chars().count(),
        _ if block.get("type").is_some_and(|t| t == "image" || t == "image_url") => IMAGE_CHARS,
        _ if block.get("image").is_some() => IMAGE_CHARS,
        _ => text(block).map_or(0, |text| text.chars().count()),
    };
    let of = |message: &Value, until: Option<usize>| match message.get("content") {
        Some(Value::Array(blocks)) => {
            let until = until.map_or(blocks.len(), |block| block + 1);
            blocks.iter().take(until).map(chars).sum()
        }
        Some(content) => chars(content),
        None => 0,
    };
    let before = messages[..target.message].iter().filter(|message| {
        // The system prompt is cached in any case.
        message.get("role").is_some_and(|role| role == "user" || role == "assistant")
    });
    before.map(|message| of(message, None)).sum::<usize>()
        + of(&messages[target.message], target.block)
}
