//! Converts parts of Gemini's messages (text, calls, responses, inline data) to pi-ai blocks. Must
//! not know the records that contain them.

use serde_json::{Map, Value};

use crate::transcript::message::{
    Message, call_block, image_block, list, said, text_block, time_of,
};
use crate::transcript::notes::Notes;

/// Beginning of a user message that repeats results as text, although they are stored with their
/// calls. Written up to 0.2x.
const REPEATED_START: &str = "[Function Response: ";

/// Beginning of one of the lines at the end of a command's answer.
const EXIT_CODE: &str = "Exit Code: ";

/// Whether a user's text only repeats results.
pub(super) fn is_repeated(text: &str) -> bool {
    text.starts_with(REPEATED_START)
}

/// The text of a content: a string, or the texts of its parts that are not thoughts.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => parts_of(content).filter(|part| !is_thought(part)).filter_map(text_in).collect(),
    }
}

/// The IDs of the calls that a message makes or answers.
pub(super) fn call_ids(object: &Map<String, Value>) -> Vec<String> {
    let calls = list(object, "toolCalls").iter();
    let parts = object
        .get("content")
        .into_iter()
        .flat_map(parts_of)
        .filter_map(|part| part.get("functionCall").or_else(|| part.get("functionResponse")));
    let id = |value: &Value| Some(value.get("id")?.as_str()?.to_owned());
    calls.chain(parts).filter_map(id).collect()
}

/// Texts and images of a content as blocks. Calls and results are not among them.
pub(in crate::transcript) fn blocks_of(content: &Value, notes: &mut Notes) -> Vec<Value> {
    if let Value::String(text) = content {
        return said(text).into_iter().collect();
    }
    let shown = parts_of(content).filter(|part| !is_thought(part) && !is_about_calls(part));
    shown.filter_map(|part| block_of(part, notes)).collect()
}

/// The calls among the parts of a content.
pub(in crate::transcript) fn call_blocks(content: &Value) -> impl Iterator<Item = Value> {
    parts_of(content).filter_map(|part| {
        let call = part.get("functionCall")?;
        let (id, name) = (call.get("id")?.as_str()?, call.get("name")?.as_str()?);
        Some(call_block(id, name, call.get("args")))
    })
}

/// A call that is stored with its response: its block, and its result once it ended.
pub(super) fn call_of(call: &Value, notes: &mut Notes) -> (Option<Value>, Option<Message>) {
    let text = |key: &str| call.get(key).and_then(Value::as_str);
    let (Some(id), Some(name)) = (text("id"), text("name")) else {
        notes.count("blocks of unknown shape left out");
        return (None, None);
    };
    let block = call_block(id, name, call.get("args"));
    let Some(result) = call.get("result").filter(|result| !result.is_null()) else {
        return (Some(block), None);
    };
    let failed = matches!(text("status"), Some("error" | "cancelled")) || has_error(result);
    let time = call.get("timestamp").and_then(time_of);
    (Some(block), Some(Message::result(id, shown(result, notes), failed, time)))
}

/// The results in a user's content, one for each response; what follows a response, such as an
/// image, belongs to it.
pub(in crate::transcript) fn results_of(
    content: &Value,
    time: Option<i64>,
    notes: &mut Notes,
) -> Vec<Message> {
    let mut results: Vec<(&str, Vec<&Value>)> = Vec::new();
    for part in parts_of(content) {
        let id = part.get("functionResponse").and_then(|response| response.get("id")?.as_str());
        match (id, results.last_mut()) {
            (Some(id), _) => results.push((id, vec![part])),
            (None, Some((_, parts))) => parts.push(part),
            (None, None) => {}
        }
    }
    let results = results.into_iter().map(|(id, parts)| {
        let parts = Value::Array(parts.into_iter().cloned().collect());
        Message::result(id, shown(&parts, notes), has_error(&parts), time)
    });
    results.collect()
}

/// What a user's content says before its results, if it has any: a person may type while tools run.
pub(super) fn said_before_results(content: &Value) -> Value {
    let is_result = |part: &&Value| part.get("functionResponse").is_some();
    if !parts_of(content).any(|part| is_result(&part)) {
        return content.clone();
    }
    parts_of(content).take_while(|part| !is_result(part)).cloned().collect()
}

/// A tool's answer, as blocks.
fn shown(result: &Value, notes: &mut Notes) -> Vec<Value> {
    if let Value::String(text) = result {
        return said(text).into_iter().collect();
    }
    let blocks = parts_of(result).flat_map(|part| match part.get("functionResponse") {
        Some(response) => responded(response, notes),
        None => block_of(part, notes).into_iter().collect(),
    });
    blocks.collect()
}

/// The text of a response, and images, which newer models get inside it.
fn responded(response: &Value, notes: &mut Notes) -> Vec<Value> {
    let answer = response.get("response").unwrap_or(&Value::Null);
    let text = ["output", "error"].iter().find_map(|key| answer.get(*key)?.as_str());
    let mut blocks: Vec<Value> = match (text, answer) {
        (Some(text), _) => said(text).into_iter().collect(),
        (None, Value::Null) => Vec::new(),
        (None, other) => vec![text_block(&other.to_string())],
    };
    let inside = response.get("parts").into_iter().flat_map(parts_of);
    blocks.extend(inside.filter_map(|part| block_of(part, notes)));
    blocks
}

/// Whether a tool answered with an error, or a command with an exit code that is not 0.
fn has_error(result: &Value) -> bool {
    let failed = |answer: &Value| {
        let output = answer.get("output").and_then(Value::as_str).unwrap_or_default();
        let code = output.lines().rev().find_map(|line| line.strip_prefix(EXIT_CODE));
        answer.get("error").is_some()
            || code.is_some_and(|code| code.trim().parse::<i64>().is_ok_and(|code| code != 0))
    };
    parts_of(result).filter_map(|part| part.pointer("/functionResponse/response")).any(failed)
}

fn block_of(part: &Value, notes: &mut Notes) -> Option<Value> {
    if let Some(text) = text_in(part) {
        return said(text);
    }
    let inline = part.get("inlineData").and_then(|data| {
        let (kind, data) = (data.get("mimeType")?.as_str()?, data.get("data")?.as_str()?);
        kind.starts_with("image/").then(|| image_block(kind, data))
    });
    let file = || part.pointer("/fileData/fileUri").and_then(Value::as_str).map(text_block);
    let block = inline.or_else(file);
    if block.is_none() {
        notes.count("blocks of unknown shape left out");
    }
    block
}

/// The parts of a content: a list, or one part.
fn parts_of(content: &Value) -> impl Iterator<Item = &Value> {
    let one = content.is_object().then_some(content);
    content.as_array().into_iter().flatten().chain(one)
}

fn text_in(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}

pub(super) fn is_thought(part: &Value) -> bool {
    part.get("thought").and_then(Value::as_bool).unwrap_or(false)
}

fn is_about_calls(part: &Value) -> bool {
    part.get("functionCall").is_some() || part.get("functionResponse").is_some()
}
