//! Session files of Claude Code: one line per message block and per event, linked as a tree by
//! `uuid` and `parentUuid`. The format is not documented publicly; these rules come from recorded
//! files.
//!
//! The path to the last message is kept. Parallel calls fork that path, so all lines of a response
//! and all results of its calls belong to it. Must not apply compactions: `logicalParentUuid` leads
//! to what came before one.

mod blocks;

use std::collections::HashSet;

use serde_json::Value;

use self::blocks::{assistant_block, attachment_content, blocks_of};
use super::Parts;
use super::lines::Line;
use super::message::{COMPACTION_SUMMARY, INJECTED, Message, time_of, usage};
use super::notes::Notes;
use super::path::{Node, Parent, path_to};

/// `model` of lines that Claude Code itself wrote in the assistant's name, such as API errors.
const SYNTHETIC: &str = "<synthetic>";

/// Whether a line belongs to a session.
pub(super) fn knows(line: &Line<'_>) -> bool {
    let has = |key: &str| line.object.contains_key(key);
    match line.text_at("type") {
        Some("file-history-snapshot") => true,
        Some(_) => has("parentUuid") || has("leafUuid") || has("sessionId"),
        None => false,
    }
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let session_id = lines.iter().find_map(|line| line.text_at("sessionId")).map(str::to_owned);
    let cwd = lines.iter().find_map(|line| line.text_at("cwd")).map(str::to_owned);
    let entries = entries_of(lines, notes);
    let mut session = Session::default();
    for (entry, on) in entries.iter().zip(on_path(&entries, notes)) {
        if on {
            session.add(entry, notes);
        } else if is_message(entry) {
            notes.count("messages of branches that were left");
        }
    }
    Parts { session_id, cwd, messages: session.messages, ..Parts::default() }
}

/// The lines that have a place in the tree, without repetitions and without lines of sub-agents,
/// unless the file is a sub-agent's own.
fn entries_of<'a>(lines: Vec<Line<'a>>, notes: &mut Notes) -> Vec<Line<'a>> {
    let own_file = !lines.iter().any(|line| is_message(line) && !line.flag("isSidechain"));
    let mut known = HashSet::new();
    let mut entries = Vec::with_capacity(lines.len());
    for line in lines {
        let id = line.text_at("uuid").map(str::to_owned);
        if !(id.is_some() || is_message(&line)) {
            continue;
        }
        if line.flag("isSidechain") && !own_file {
            if is_message(&line) {
                notes.count("lines of sub-agents left out");
            }
        } else if id.is_none_or(|id| known.insert(id)) {
            entries.push(line);
        } else {
            notes.count("repeated lines left out");
        }
    }
    entries
}

/// Which entries belong to the conversation on which the session ended.
fn on_path(entries: &[Line<'_>], notes: &mut Notes) -> Vec<bool> {
    let tree: Vec<Node<'_>> = entries.iter().map(node_of).collect();
    let mut path = path_to(&tree, entries.iter().rposition(is_message));
    for _ in 0..path.mended {
        notes.count("lines whose parent is not in the file, which follow the line before them");
    }
    let on = entries.iter().zip(&path.on).filter(|(_, on)| **on).map(|(entry, _)| entry);
    let responses: HashSet<&str> = on.filter_map(response_of).collect();
    let mut calls = HashSet::new();
    for (entry, on) in entries.iter().zip(&mut path.on) {
        *on |= response_of(entry).is_some_and(|id| responses.contains(id));
        if *on {
            calls.extend(content_of(entry).filter_map(|block| block.get("id")?.as_str()));
        }
    }
    for (entry, on) in entries.iter().zip(&mut path.on) {
        *on |= content_of(entry).filter_map(answered_by).any(|call| calls.contains(call));
    }
    path.on
}

fn node_of<'a>(entry: &'a Line<'_>) -> Node<'a> {
    let parent = match entry.object.get("parentUuid") {
        Some(Value::String(id)) => Parent::Id(id),
        Some(Value::Null) => match entry.text_at("logicalParentUuid") {
            Some(id) => Parent::Id(id),
            None if entry.flag("isCompactSummary")
                || entry.text_at("subtype") == Some("compact_boundary") =>
            {
                Parent::Previous
            }
            None => Parent::None,
        },
        _ => Parent::Previous,
    };
    Node { id: entry.text_at("uuid"), parent }
}

/// Whether a line belongs to a user or assistant message.
fn is_message(line: &Line<'_>) -> bool {
    matches!(line.text_at("type"), Some("user" | "assistant"))
        && line.object_at("message").is_some()
}

/// The provider's ID of the response that a line belongs to.
fn response_of<'a>(line: &'a Line<'_>) -> Option<&'a str> {
    if line.text_at("type") != Some("assistant") {
        return None;
    }
    line.object_at("message")?.get("id")?.as_str()
}

/// Blocks of a line's message.
fn content_of<'a>(line: &'a Line<'_>) -> impl Iterator<Item = &'a Value> {
    let content = line.object_at("message").and_then(|message| message.get("content"));
    content.and_then(Value::as_array).into_iter().flatten()
}

/// The call that a block answers.
fn answered_by(block: &Value) -> Option<&str> {
    block.get("tool_use_id")?.as_str()
}

/// A session while it is read.
#[derive(Default)]
struct Session {
    messages: Vec<Message>,
    /// The response that later lines may continue, even after results of its first calls: its ID
    /// and its message's index.
    open: Option<(String, usize)>,
}

impl Session {
    fn add(&mut self, entry: &Line<'_>, notes: &mut Notes) {
        let timestamp = entry.object.get("timestamp").and_then(time_of);
        match entry.text_at("type") {
            Some("assistant") => self.assistant(entry, timestamp, notes),
            Some("user") => self.user(entry, timestamp, notes),
            Some("attachment") => match entry.object.get("attachment").and_then(attachment_content)
            {
                Some((content, is_typed)) => {
                    let meta = (!is_typed).then_some(INJECTED);
                    self.push(Message::user(content, timestamp, meta));
                }
                None => notes.count("reminders whose text is not in the file"),
            },
            // The output of a slash command.
            Some("system") if entry.text_at("subtype") == Some("local_command") => {
                let content = entry.object.get("content").filter(|content| content.is_string());
                if let Some(content) = content {
                    self.push(Message::user(content.clone(), timestamp, Some(INJECTED)));
                }
            }
            _ => {}
        }
    }

    fn assistant(&mut self, entry: &Line<'_>, timestamp: Option<i64>, notes: &mut Notes) {
        let Some(message) = entry.object_at("message") else { return };
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        if text("model") == Some(SYNTHETIC) || entry.flag("isApiErrorMessage") {
            notes.count("lines in the assistant's name that no model wrote left out");
            return;
        }
        let open = self.open.take().filter(|(id, _)| Some(id.as_str()) == text("id"));
        let at = open.map_or_else(
            || {
                let model = text("model").unwrap_or_default();
                self.messages.push(Message::assistant("anthropic", model, timestamp));
                self.messages.len() - 1
            },
            |(_, at)| at,
        );
        self.open = text("id").map(|id| (id.to_owned(), at));
        let blocks: Vec<Value> = match message.get("content") {
            Some(Value::Array(given)) => {
                given.iter().filter_map(|block| assistant_block(block, notes)).collect()
            }
            Some(content @ Value::String(_)) => blocks_of(content, notes),
            _ => Vec::new(),
        };
        let assistant = &mut self.messages[at];
        assistant.blocks_mut().expect("it was made with blocks").extend(blocks);
        let stop = stop_reason(text("stop_reason"), assistant.calls().next().is_some());
        assistant.set("stopReason", stop.into());
        if let Some(counts) = message.get("usage").filter(|counts| counts.is_object()) {
            assistant.set("usage", usage_of(counts));
        }
    }

    fn user(&mut self, entry: &Line<'_>, timestamp: Option<i64>, notes: &mut Notes) {
        let Some(content) = entry.object_at("message").and_then(|message| message.get("content"))
        else {
            return;
        };
        let meta = if entry.flag("isCompactSummary") {
            Some(COMPACTION_SUMMARY)
        } else {
            entry.flag("isMeta").then_some(INJECTED)
        };
        let Value::Array(blocks) = content else {
            if content.is_string() {
                self.push(Message::user(content.clone(), timestamp, meta));
            }
            return;
        };
        for block in blocks {
            let Some(call) = answered_by(block) else { continue };
            let shown = blocks_of(block.get("content").unwrap_or(&Value::Null), notes);
            let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            let mut result = Message::result(call, shown, failed);
            result.stamp(timestamp);
            self.messages.push(result);
        }
        let rest: Vec<Value> =
            blocks.iter().filter(|block| answered_by(block).is_none()).cloned().collect();
        let rest = blocks_of(&Value::Array(rest), notes);
        if !rest.is_empty() {
            self.push(Message::user(Value::Array(rest), timestamp, meta));
        }
    }

    /// Adds a message that ends the response.
    fn push(&mut self, message: Message) {
        self.open = None;
        self.messages.push(message);
    }
}

/// pi-ai's term for why a response ended. Lines written while it was still running do not say why.
fn stop_reason(given: Option<&str>, has_calls: bool) -> &'static str {
    match given {
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        _ if has_calls => "toolUse",
        _ => "stop",
    }
}

/// The counts of Anthropic's `usage` in pi-ai's terms.
fn usage_of(counts: &Value) -> Value {
    let count = |key: &str| counts.get(key).and_then(Value::as_i64).unwrap_or_default();
    usage(
        count("input_tokens"),
        count("output_tokens"),
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
    )
}
