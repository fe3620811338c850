//! Session files of Qwen Code, a fork of Gemini CLI: one record per line, linked as a tree by `uuid`
//! and `parentUuid`, each with a content of Gemini's API in `message`.
//!
//! The path to the last record of the conversation is kept. Must not apply compressions: replay
//! decides itself what later calls see.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::gemini::content::{blocks_of, call_blocks, results_of};
use super::gemini::thought_blocks;
use super::lines::Line;
use super::message::{INJECTED, Message, count_of, time_of, usage};
use super::notes::Notes;
use super::path::{Node, path_to};
use super::pi::LEFT;
use super::{Counts, Parts};

/// Whether a line is a record with a message.
pub(super) fn knows(line: &Line<'_>) -> bool {
    matches!(line.text_at("type"), Some("user" | "assistant" | "tool_result"))
        && line.text_at("uuid").is_some()
        && line.text_at("sessionId").is_some()
        && parts_in(line).is_some()
}

/// The content of a record in the form of Gemini's API.
fn parts_in<'a>(line: &'a Line<'_>) -> Option<&'a Value> {
    line.object_at("message")?.get("parts").filter(|parts| parts.is_array())
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let text = |key: &str| lines.iter().find_map(|line| line.text_at(key)).map(str::to_owned);
    let (session_id, cwd) = (text("sessionId"), text("cwd"));
    let own_file = !lines.iter().any(|line| knows(line) && !line.flag("isSidechain"));
    let mut known = HashSet::new();
    let mut entries = Vec::with_capacity(lines.len());
    for line in lines {
        if line.flag("isSidechain") && !own_file {
            if knows(&line) {
                notes.count("lines of sub-agents left out");
            }
        } else if line.text_at("uuid").is_some() {
            // The records of one answer have one ID, so a repetition has the whole text of a line.
            if line.text.is_none_or(|text| known.insert(text)) {
                entries.push(line);
            } else {
                notes.count("repeated lines left out");
            }
        }
    }
    let tree: Vec<Node<'_>> = entries.iter().map(node_of).collect();
    let path = path_to(&tree, entries.iter().rposition(knows));
    let mut messages = Vec::new();
    let mut said = None;
    let mut left = Counts::default();
    // The records of one answer have one ID, and all of them are on the path if one is.
    let ids: HashSet<&str> = entries
        .iter()
        .zip(&path.on)
        .filter_map(|(entry, on)| entry.text_at("uuid").filter(|_| *on))
        .collect();
    for entry in &entries {
        if !entry.text_at("uuid").is_some_and(|id| ids.contains(id)) {
            if knows(entry) {
                notes.count(LEFT);
                left.requests += u64::from(entry.text_at("type") == Some("assistant"));
                left.calls += parts_in(entry).map_or(0, |parts| call_blocks(parts).count() as u64);
            }
            continue;
        }
        let continues = said.is_some() && said == entry.text_at("uuid");
        said = entry.text_at("uuid").filter(|_| entry.text_at("type") == Some("assistant"));
        add(entry, continues, &mut messages, notes);
    }
    let held = Some(held_in(&entries));
    Parts { session_id, cwd, messages, held, left, ..Parts::default() }
}

/// The answers of records, by their IDs, and the calls, whether or not they can be read.
fn held_in(entries: &[Line<'_>]) -> Counts {
    let answers = || entries.iter().filter(|entry| entry.text_at("type") == Some("assistant"));
    let requests: HashSet<_> = answers().filter_map(|entry| entry.text_at("uuid")).collect();
    let parts = answers().filter_map(parts_in).filter_map(Value::as_array).flatten();
    let calls = parts.filter(|part| part.get("functionCall").is_some()).count() as u64;
    Counts { requests: requests.len() as u64, calls }
}

fn node_of<'a>(entry: &'a Line<'_>) -> Node<'a> {
    Node::of(entry.text_at("uuid"), entry.object.get("parentUuid"))
}

/// Adds the messages of a record. `continues`: whether it is of the same answer as the one before.
fn add(entry: &Line<'_>, continues: bool, messages: &mut Vec<Message>, notes: &mut Notes) {
    let time = entry.object.get("timestamp").and_then(time_of);
    let Some(parts) = parts_in(entry) else {
        messages.extend(summary_in(&entry.object, time, notes));
        return;
    };
    match entry.text_at("type") {
        Some("assistant") => {
            if !continues {
                let model = entry.text_at("model").unwrap_or_default();
                messages.push(Message::assistant("qwen", model, time));
            }
            let Some(message) = messages.last_mut() else { return };
            let blocks = thought_blocks(parts).chain(blocks_of(parts, notes));
            message.say(blocks.chain(call_blocks(parts)), false);
            if let Some(counts) = entry.object_at("usageMetadata") {
                message.set("usage", usage_of(counts));
            }
        }
        Some("tool_result") => messages.extend(results_of(parts, time, notes)),
        _ => {
            let blocks = blocks_of(parts, notes);
            // What the program puts in has a subtype, but for what a person typed during a turn.
            let is_typed =
                entry.text_at("subtype").is_none_or(|kind| kind == "mid_turn_user_message");
            if !blocks.is_empty() {
                let meta = (!is_typed).then_some(INJECTED);
                messages.push(Message::user(Value::Array(blocks), time, meta));
            }
        }
    }
}

/// The summary of a compression, the first content of the history after it.
fn summary_in(entry: &Map<String, Value>, time: Option<i64>, notes: &mut Notes) -> Option<Message> {
    if entry.get("subtype").and_then(Value::as_str) != Some("chat_compression") {
        return None;
    }
    notes.count("compressions not applied");
    let history = entry.get("systemPayload")?.get("compressedHistory")?;
    let first = history.get(0)?.get("parts")?.get(0)?.get("text")?.as_str()?;
    Some(Message::summary(first, time))
}

/// The counts of a response: what was cached is part of the prompt, and thoughts are counted
/// separately from the rest of the output.
fn usage_of(counts: &Map<String, Value>) -> Value {
    let count = |key: &str| counts.get(key).and_then(count_of).unwrap_or_default();
    let cached = count("cachedContentTokenCount");
    let input = count("promptTokenCount").saturating_sub(cached);
    let output = count("candidatesTokenCount").saturating_add(count("thoughtsTokenCount"));
    usage(input, output, cached, 0)
}
