//! Contents of messages and outputs of tools: texts, images, and whether a command failed. Must not know
//! the items that have them.

use serde_json::Value;

use crate::transcript::message::{image_at, said, text_block};
use crate::transcript::notes::Notes;

/// Content as blocks: a string, a list of items, or `{content, success}` around either.
pub(super) fn blocks_of(content: &Value, notes: &mut Notes) -> Vec<Value> {
    match content {
        // Providers refuse empty blocks.
        Value::String(text) => said(text).into_iter().collect(),
        Value::Object(wrapped) if wrapped.contains_key("content") => {
            blocks_of(wrapped.get("content").unwrap_or(&Value::Null), notes)
        }
        Value::Array(items) if items.iter().any(is_content) => {
            items.iter().filter_map(|item| block_of(item, notes)).collect()
        }
        Value::Null => Vec::new(),
        // Tools found by a search, and anything else that is not text.
        other => vec![text_block(&other.to_string())],
    }
}

fn is_content(item: &Value) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("text") || kind.ends_with("image"))
}

fn block_of(item: &Value, notes: &mut Notes) -> Option<Value> {
    if let Some(text) = item.get("text").and_then(Value::as_str) {
        return said(text);
    }
    let Some(url) = item.get("image_url").and_then(Value::as_str) else {
        notes.count("blocks of unknown shape left out");
        return None;
    };
    Some(image_at(url))
}

/// Texts of a list of items.
pub(super) fn texts_of(items: &Value) -> impl Iterator<Item = &str> {
    items.as_array().into_iter().flatten().filter_map(|item| item.get("text")?.as_str())
}

/// Whether an output says that its call failed: in a field, or by an exit code in its first lines.
pub(super) fn has_failed(output: &Value) -> bool {
    if let Some(success) = output.get("success").and_then(Value::as_bool) {
        return !success;
    }
    let Some(text) = output.as_str() else { return false };
    let wrapped: Option<Value> =
        if text.starts_with('{') { serde_json::from_str(text).ok() } else { None };
    if let Some(code) =
        wrapped.and_then(|wrapped| wrapped.get("metadata")?.get("exit_code")?.as_i64())
    {
        return code != 0;
    }
    let head = text.lines().take_while(|line| line.trim_end() != "Output:").take(HEAD_LINES);
    let codes = head.filter_map(|line| {
        let code = ["Process exited with code ", "Exit code: "]
            .iter()
            .find_map(|start| line.strip_prefix(start));
        code?.trim().parse::<i64>().ok()
    });
    codes.last().is_some_and(|code| code != 0)
}

/// Lines before `Output:` in which a command's exit code stands.
const HEAD_LINES: usize = 8;
