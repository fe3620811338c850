//! Session files of Claude Code: one line per message block and per event, linked as a tree by
//! `uuid` and `parentUuid`. The format is not documented publicly; these rules come from recorded
//! files.
//!
//! The path to the last message is kept, see `chain`. Parallel calls fork that path, so all lines of a
//! response and all results of its calls belong to it. Must not apply compactions: `logicalParentUuid` leads
//! to what came before one.

pub(super) mod blocks;
mod chain;
mod responses;
pub(super) mod several;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use self::blocks::{
    INNER, Shown, assistant_block, attachment_content, blocks_of, inner_requests, messages_of,
    priced, usage_of,
};
use super::lines::Line;
use super::message::{COMPACTION_SUMMARY, INJECTED, Message, time_of};
use super::notes::Notes;
use super::path::{Node, Parent};
use super::{Counts, Parts};

/// `model` of lines that Claude Code itself wrote in the assistant's name, such as API errors.
const SYNTHETIC: &str = "<synthetic>";

/// Whether a line belongs to a session, and to no session of Qwen Code, whose lines have the same
/// fields around another message. Lines that only note something, such as a title or a mode, decide
/// nothing: a file of such lines alone is not a session.
pub(super) fn knows(line: &Line<'_>) -> bool {
    let has = |key: &str| line.object.contains_key(key);
    match line.text_at("type") {
        Some("user" | "assistant") => {
            let message = line.object_at("message");
            message.is_some_and(|message| message.contains_key("content"))
                && (has("sessionId") || has("parentUuid"))
        }
        Some("attachment") => has("attachment") && has("parentUuid"),
        Some("progress") => has("data") && has("parentUuid"),
        _ => false,
    }
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let session_id = lines.iter().find_map(|line| line.text_at("sessionId")).map(str::to_owned);
    let cwd = lines.iter().find_map(|line| line.text_at("cwd")).map(str::to_owned);
    let mut entries = entries_of(lines, notes);
    responses::tell_apart(&mut entries);
    let on = chain::on_path(&entries, notes);
    let mut session = ClaudeCodeSession::default();
    for (entry, on) in entries.iter().zip(&on) {
        if *on {
            session.add(entry, notes);
        } else if is_message(entry) {
            notes.count("messages of branches that were left");
        }
    }
    notes.count_all(INNER, session.inner.values().sum());
    let held = Some(counts_of(entries.iter()));
    let left = entries.iter().zip(&on).filter(|(_, on)| !**on).map(|(entry, _)| entry);
    let left = counts_of(left);
    Parts { session_id, cwd, messages: session.messages, held, left, ..Parts::default() }
}

/// The responses of lines, by the provider's IDs, and their calls.
fn counts_of<'a>(entries: impl Iterator<Item = &'a Line<'a>>) -> Counts {
    let mut requests: HashSet<Option<&str>> = HashSet::new();
    let mut calls: HashSet<&str> = HashSet::new();
    for entry in entries.filter(|entry| is_by_model(entry)) {
        requests.insert(response_of(entry).or_else(|| entry.text_at("uuid")));
        calls.extend(chain::calls_of(entry));
    }
    Counts { requests: requests.len() as u64, calls: calls.len() as u64 }
}

/// Whether the model wrote a line, and not Claude Code in its name.
fn is_by_model(line: &Line<'_>) -> bool {
    line.text_at("type") == Some("assistant")
        && !line.flag("isApiErrorMessage")
        && line
            .object_at("message")
            .is_some_and(|message| message.get("model").and_then(Value::as_str) != Some(SYNTHETIC))
}

/// The lines that have a place in the tree, without repetitions and without lines of sub-agents,
/// unless the file is a sub-agent's own.
fn entries_of<'a>(lines: Vec<Line<'a>>, notes: &mut Notes) -> Vec<Line<'a>> {
    let own_file = !lines.iter().any(|line| is_message(line) && !line.flag("isSidechain"));
    let (mut known, mut repeated) = (HashSet::new(), None);
    let mut entries = Vec::with_capacity(lines.len());
    for mut line in lines {
        let id = line.text_at("uuid").map(str::to_owned);
        if !(id.is_some() || is_message(&line)) {
            if line.text_at("role").is_some() {
                notes.count_at("messages of another program left out", line.number);
            }
            continue;
        }
        if line.flag("isSidechain") && !own_file {
            if is_message(&line) {
                notes.count("lines of sub-agents left out");
            }
        } else if id.clone().is_none_or(|id| known.insert(id)) {
            // Some versions write the history again before they go on, and name its last line as the parent.
            if repeated
                .take()
                .is_some_and(|id: String| line.text_at("parentUuid") == Some(id.as_str()))
            {
                line.object.remove("parentUuid");
            }
            entries.push(line);
        } else {
            repeated = id;
            notes.count("repeated lines left out");
        }
    }
    entries
}

fn node_of<'a>(entry: &'a Line<'_>) -> Node<'a> {
    let mut node = Node::of(entry.text_at("uuid"), entry.object.get("parentUuid"));
    if node.parent == Parent::None {
        let is_compacted =
            entry.flag("isCompactSummary") || entry.text_at("subtype") == Some("compact_boundary");
        node.parent = match entry.text_at("logicalParentUuid") {
            Some(id) => Parent::Id(id),
            None if is_compacted => Parent::Previous,
            None => Parent::None,
        };
    }
    node
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
struct ClaudeCodeSession {
    messages: Vec<Message>,
    /// The response that later lines may continue, even after results of its first calls, and after
    /// what the program put in meanwhile: its ID and its message's index.
    open: Option<(String, usize)>,
    /// Further requests that the provider made for an answer, by the index of its message.
    inner: HashMap<usize, usize>,
}

impl ClaudeCodeSession {
    fn add(&mut self, entry: &Line<'_>, notes: &mut Notes) {
        let timestamp = entry.object.get("timestamp").and_then(time_of);
        match entry.text_at("type") {
            Some("assistant") => self.assistant(entry, timestamp, notes),
            Some("user") => self.user(entry, timestamp, notes),
            Some("attachment") => match attachment_content(&entry.object) {
                Shown::Said(content, is_typed) => {
                    let meta = (!is_typed).then_some(INJECTED);
                    self.messages.push(Message::user(content, timestamp, meta));
                }
                Shown::Unknown => notes.count("reminders whose text is not in the file"),
                Shown::Nothing => {}
            },
            // The output of a slash command.
            Some("system") if entry.text_at("subtype") == Some("local_command") => {
                let content = entry.object.get("content").filter(|content| content.is_string());
                if let Some(content) = content {
                    self.messages.push(Message::user(content.clone(), timestamp, Some(INJECTED)));
                }
            }
            _ => {}
        }
    }

    fn assistant(&mut self, entry: &Line<'_>, timestamp: Option<i64>, notes: &mut Notes) {
        let Some(message) = entry.object_at("message") else { return };
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        if !is_by_model(entry) {
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
        // Lines written while the response was still running do not say why it ended.
        let limits = ["max_tokens", "model_context_window_exceeded"];
        assistant.say(blocks, text("stop_reason").is_some_and(|stop| limits.contains(&stop)));
        if let Some(counts) = message.get("usage").filter(|counts| counts.is_object()) {
            assistant.set("usage", usage_of(counts));
            assistant.set("model", priced(text("model").unwrap_or_default(), counts).into());
            // Each line of a response counts anew, the last completely.
            self.inner.insert(at, inner_requests(counts));
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
                self.messages.push(Message::user(content.clone(), timestamp, meta));
            }
            return;
        };
        self.messages.extend(messages_of(blocks, timestamp, meta, notes));
    }
}
