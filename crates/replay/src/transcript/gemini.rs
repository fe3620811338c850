//! Session files of Gemini CLI: since 0.3x one record per line, before that one JSON document with
//! all `messages`.
//!
//! Qwen Code wrote the same before it had a form of its own, with answers of the type `qwen`.
//!
//! A record is the header, a message (repeated with the same ID once its calls ended), `$set` with
//! new values of header fields, or `$rewindTo`. A `$set` of `messages` appears when a session is
//! resumed or compressed: it holds the continued list, so unknown messages are added and none are
//! removed. Newer versions append those instead, and tell what is removed or cut by a `$patch`. Must
//! not apply compressions: replay decides itself what later calls see.

pub(super) mod content;
mod log;

use std::collections::HashSet;

use serde_json::{Map, Value};

use self::content::{blocks_of, call_blocks, is_repeated, results_of, text_of};
use self::log::Log;
use super::Parts;
use super::lines::Line;
use super::message::{
    COMPACTION_SUMMARY, INJECTED, Message, count_of, list, thinking_block, time_of, usage,
};
use super::notes::Notes;

/// Beginning of the message in which the program tells the model about the folder.
const CONTEXT_START: &str = "<session_context>";

/// Whether a line is a session's header, which may hold all messages.
pub(super) fn knows(line: &Line<'_>) -> bool {
    line.text_at("sessionId").is_some() && line.text_at("projectHash").is_some()
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let session_id = lines.iter().find_map(|line| line.text_at("sessionId")).map(str::to_owned);
    let mut log = Log::default();
    for line in lines {
        log.take(line.object, line.number, notes);
    }
    let cwd = log.folder().or_else(|| log.messages().find_map(folder_in));
    let answered: HashSet<&str> = log.messages().flat_map(answered_in).collect();
    let mut messages = Vec::new();
    for record in log.messages() {
        messages.extend(messages_of(record, &answered, notes));
    }
    let left = log.left;
    Parts { session_id, cwd, messages, left, ..Parts::default() }
}

/// A stored message, and whether it is a summary.
struct Record {
    object: Map<String, Value>,
    is_summary: bool,
}

impl Record {
    fn text_at(&self, key: &str) -> Option<&str> {
        self.object.get(key)?.as_str()
    }
}

/// The working folder, from the first message.
fn folder_in(record: &Record) -> Option<String> {
    let text = text_of(record.object.get("content")?);
    let (_, listed) = text.strip_prefix(CONTEXT_START)?.split_once("Workspace Directories:**")?;
    let folder = listed.lines().find_map(|line| line.trim().strip_prefix("- "))?;
    Some(folder.trim().to_owned())
}

/// A response's calls whose results are stored with them. The results are repeated in the next
/// message.
fn answered_in(record: &Record) -> impl Iterator<Item = &str> {
    let calls = list(&record.object, "toolCalls").iter();
    let ended = calls.filter(|call| call.get("result").is_some_and(|result| !result.is_null()));
    ended.filter_map(|call| call.get("id")?.as_str())
}

/// The messages for a record: one, and the results of its calls. `answered`: calls whose results
/// are stored with them.
fn messages_of(record: &Record, answered: &HashSet<&str>, notes: &mut Notes) -> Vec<Message> {
    let time = record.object.get("timestamp").and_then(time_of);
    match record.text_at("type") {
        Some("user") => user(record, time, answered, notes),
        Some("gemini" | "qwen") => assistant(record, time, notes),
        // For the terminal: information, warnings, errors.
        Some("info" | "warning" | "error") => Vec::new(),
        _ => {
            notes.count("messages of an unknown type left out");
            Vec::new()
        }
    }
}

fn user(
    record: &Record,
    time: Option<i64>,
    answered: &HashSet<&str>,
    notes: &mut Notes,
) -> Vec<Message> {
    let Some(content) = record.object.get("content") else { return Vec::new() };
    let mut messages = results_of(content, time, notes);
    messages.retain(|result| !result.answers().is_some_and(|id| answered.contains(id)));
    let said = content::said_before_results(content);
    let (blocks, text) = (blocks_of(&said, notes), text_of(&said));
    if !blocks.is_empty() && !is_repeated(&text) {
        let meta = if record.is_summary {
            Some(COMPACTION_SUMMARY)
        } else {
            text.starts_with(CONTEXT_START).then_some(INJECTED)
        };
        messages.push(Message::user(Value::Array(blocks), time, meta));
    }
    messages
}

fn assistant(record: &Record, time: Option<i64>, notes: &mut Notes) -> Vec<Message> {
    let object = &record.object;
    let mut message =
        Message::assistant("google", record.text_at("model").unwrap_or_default(), time);
    let thoughts = list(object, "thoughts").iter();
    let calls = list(object, "toolCalls");
    let content = object.get("content").unwrap_or(&Value::Null);
    let mut blocks: Vec<Value> = thoughts.filter_map(thought).collect();
    blocks.extend(blocks_of(content, notes));
    let known = |call: &Value| calls.iter().any(|one| one.get("id") == call.get("id"));
    blocks.extend(call_blocks(content).filter(|call| !known(call)));
    let mut results = Vec::new();
    for call in calls {
        let (Some(block), result) = content::call_of(call, notes) else { continue };
        blocks.push(block);
        results.extend(result);
    }
    message.say(blocks, false);
    if let Some(counts) = object.get("tokens").filter(|counts| counts.is_object()) {
        message.set("usage", usage_of(counts));
    }
    let mut messages = vec![message];
    messages.extend(results);
    messages
}

/// A thought: its subject comes first, in bold, as the model wrote it.
fn thought(given: &Value) -> Option<Value> {
    let text = |key: &str| given.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let whole = match (text("subject"), text("description")) {
        (Some(subject), Some(description)) => format!("**{subject}**\n\n{description}"),
        (one, other) => one.or(other)?.to_owned(),
    };
    Some(thinking_block(&whole, None))
}

/// The thoughts among the parts of a content.
pub(super) fn thought_blocks(parts: &Value) -> impl Iterator<Item = Value> {
    let thoughts = parts.as_array().into_iter().flatten().filter(|part| content::is_thought(part));
    let texts = thoughts.filter_map(|part| part.get("text")?.as_str());
    texts.filter(|text| !text.is_empty()).map(|text| thinking_block(text, None))
}

/// The counts of a response: `input` includes what was `cached`; thoughts are counted separately
/// from the rest of the output.
fn usage_of(counts: &Value) -> Value {
    let count = |key: &str| counts.get(key).and_then(count_of).unwrap_or_default();
    let input = count("input").saturating_add(count("tool")).saturating_sub(count("cached"));
    usage(input, count("output").saturating_add(count("thoughts")), count("cached"), 0)
}
