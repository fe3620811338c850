//! Sessions of OpenCode: one database for all sessions, a folder of small files before version 1.2,
//! or the output of `opencode export`. In all three, a session has messages and a message has
//! parts: texts, thinking, tool calls with their outputs, and marks where a response began and
//! ended. OpenCode 2 keeps each in one row, see `second`.
//!
//! Must not apply compactions: replay decides itself what later calls see.

pub(super) mod database;
mod folder;
mod second;

use std::path::Path;

use serde_json::{Map, Value};

use super::lines::Line;
use super::message::{
    INJECTED, Message, call_block, count_of, counts_of, image_block, list, objects, said, text,
    text_block, thinking_block, time_of, usage,
};
use super::notes::Notes;
use super::{Counts, Parts};

/// Whether a line is an exported session, or the record of a session whose messages are in files
/// beside it.
pub(super) fn knows(line: &Line<'_>) -> bool {
    let is_session = |info: &Map<String, Value>| {
        text(info, "id").is_some_and(|id| id.starts_with("ses_"))
            && (info.contains_key("directory") || info.contains_key("projectID"))
    };
    let is_export = line.object_at("info").is_some_and(is_session);
    (is_export && line.object.get("messages").is_some_and(Value::is_array))
        || is_session(&line.object)
}

/// Reads an exported session, or the session with a record in the file at `path`.
pub(super) fn read(lines: Vec<Line<'_>>, path: &Path, notes: &mut Notes) -> Parts {
    let mut found = StoredSession::default();
    for line in lines.into_iter().filter(knows) {
        found = match line.object_at("info") {
            Some(_) => exported(line.object, notes),
            None => folder::session(&line.object, path, notes),
        };
    }
    found.into_parts(notes)
}

/// A session from one of its three forms.
#[derive(Default)]
struct StoredSession {
    session_id: Option<String>,
    cwd: Option<String>,
    /// What the person took back: `{messageID, partID}`.
    revert: Option<Value>,
    messages: Vec<Entry>,
}

/// A message with its parts in order.
struct Entry {
    info: Map<String, Value>,
    parts: Vec<Map<String, Value>>,
}

impl StoredSession {
    /// A session without messages yet. `info`: the session's own record.
    fn new(info: &Map<String, Value>) -> Self {
        Self {
            session_id: text(info, "id").map(str::to_owned),
            cwd: text(info, "directory").map(str::to_owned),
            revert: info.get("revert").filter(|revert| revert.is_object()).cloned(),
            messages: Vec::new(),
        }
    }

    fn into_parts(mut self, notes: &mut Notes) -> Parts {
        let left = self.take_back(notes);
        let mut session = OpenCodeSession::default();
        for entry in &self.messages {
            session.add(entry, notes);
        }
        let Self { session_id, cwd, .. } = self;
        Parts { session_id, cwd, messages: session.messages, left, ..Parts::default() }
    }

    /// Leaves out what the person took back: a message or part of it, and everything after it.
    /// Returns what that holds.
    fn take_back(&mut self, notes: &mut Notes) -> Counts {
        let id = |key: &str| self.revert.as_ref()?.get(key)?.as_str();
        let (message, part) = (id("messageID"), id("partID"));
        let is_first = |entry: &Entry| message.is_some() && text(&entry.info, "id") == message;
        let Some(at) = self.messages.iter().position(is_first) else { return Counts::default() };
        let kept = part.and_then(|part| {
            self.messages[at].parts.iter().position(|one| text(one, "id") == Some(part))
        });
        if let Some(kept) = kept {
            self.messages[at].parts.truncate(kept);
        }
        let from = if kept.is_some_and(|kept| kept > 0) { at + 1 } else { at };
        let mut left = OpenCodeSession::default();
        for entry in self.messages.drain(from..) {
            left.add(&entry, &mut Notes::default());
            notes.count("messages of branches that were left");
        }
        counts_of(&left.messages)
    }
}

fn exported(mut document: Map<String, Value>, notes: &mut Notes) -> StoredSession {
    let mut found =
        document.get("info").and_then(Value::as_object).map(StoredSession::new).unwrap_or_default();
    let Some(Value::Array(messages)) = document.remove("messages") else { return found };
    for message in messages {
        let Value::Object(mut message) = message else {
            notes.count("messages of unknown shape left out");
            continue;
        };
        let (info, parts) = (message.remove("info"), message.remove("parts"));
        let (Some(Value::Object(info)), Some(Value::Array(parts))) = (info, parts) else {
            notes.count("messages of unknown shape left out");
            continue;
        };
        found.messages.push(Entry { info, parts: objects(parts).collect() });
    }
    found
}

/// A session while it is read.
#[derive(Default)]
struct OpenCodeSession {
    messages: Vec<Message>,
}

impl OpenCodeSession {
    fn add(&mut self, entry: &Entry, notes: &mut Notes) {
        let time = entry.info.get("time").and_then(|time| time_of(time.get("created")?));
        match text(&entry.info, "role") {
            Some("user") => self.user(entry, time, notes),
            Some("assistant") if entry.info.get("summary") == Some(&Value::Bool(true)) => {
                let said: Vec<&str> = entry
                    .parts
                    .iter()
                    .filter(|part| is(part, "text"))
                    .filter_map(words_of)
                    .collect();
                if !said.is_empty() {
                    self.messages.push(Message::summary(&said.join("\n\n"), time));
                }
            }
            Some("assistant") => self.assistant(entry, time, notes),
            _ => notes.count("messages of an unknown role left out"),
        }
    }

    fn user(&mut self, entry: &Entry, time: Option<i64>, notes: &mut Notes) {
        let mut blocks = Vec::new();
        let mut is_typed = false;
        for part in &entry.parts {
            match text(part, "type") {
                Some("text") if flag(part, "ignored") => {}
                Some("text") => {
                    is_typed |= !flag(part, "synthetic");
                    blocks.extend(words_of(part).map(text_block));
                }
                // The text of a file is in a separate part.
                Some("file") => blocks.extend(attached(part, notes)),
                // The beginning of a compaction, and names of agents, which are also in the text.
                Some("compaction" | "agent" | "subtask" | "snapshot" | "patch") => {}
                _ => notes.count("parts of an unknown type left out"),
            }
        }
        if !blocks.is_empty() {
            let meta = (!is_typed).then_some(INJECTED);
            self.messages.push(Message::user(Value::Array(blocks), time, meta));
        }
    }

    /// Takes a message of the model. Until 1.0 it held all responses to a person's message; here
    /// each is a message.
    fn assistant(&mut self, entry: &Entry, time: Option<i64>, notes: &mut Notes) {
        let mut response = Response::new(&entry.info, time);
        for part in &entry.parts {
            match text(part, "type") {
                Some("step-start") => {
                    let next = Response::new(&entry.info, response.ended.or(time));
                    std::mem::replace(&mut response, next).finish(&mut self.messages);
                }
                Some("text") if !flag(part, "ignored") => {
                    response.blocks.extend(words_of(part).map(text_block));
                }
                Some("reasoning") => {
                    let signature = part.get("metadata").and_then(signature);
                    let thought = words_of(part).map(|text| thinking_block(text, signature));
                    response.blocks.extend(thought);
                }
                Some("tool") => response.call(part, notes),
                Some("step-finish") => {
                    response.usage =
                        part.get("tokens").filter(|tokens| tokens.is_object()).map(usage_of);
                    response.is_cut = text(part, "reason") == Some("length");
                }
                Some("text" | "patch" | "snapshot" | "file" | "agent" | "retry" | "compaction") => {
                }
                _ => notes.count("parts of an unknown type left out"),
            }
        }
        response.finish(&mut self.messages);
    }
}

/// One response of the model and the results of its calls.
#[derive(Default)]
struct Response {
    message: Message,
    blocks: Vec<Value>,
    results: Vec<Message>,
    usage: Option<Value>,
    /// Whether it ended at the maximum length.
    is_cut: bool,
    /// Time of the last result.
    ended: Option<i64>,
}

impl Response {
    fn new(info: &Map<String, Value>, time: Option<i64>) -> Self {
        let of = |key: &str| text(info, key).unwrap_or_default();
        let message = Message::assistant(of("providerID"), of("modelID"), time);
        Self { message, ..Self::default() }
    }

    /// Takes a call, and its result if it ended.
    fn call(&mut self, part: &Map<String, Value>, notes: &mut Notes) {
        let state = part.get("state").and_then(Value::as_object);
        let (Some(id), Some(tool), Some(state)) = (text(part, "callID"), text(part, "tool"), state)
        else {
            notes.count("blocks of unknown shape left out");
            return;
        };
        self.blocks.push(call_block(id, tool, state.get("input")));
        let times = state.get("time");
        let (shown, failed) = match text(state, "status") {
            Some("completed") => {
                (text(state, "output"), exit_code(state).is_some_and(|code| code != 0))
            }
            Some("error") => (text(state, "error"), true),
            // It was still running when the program ended.
            _ => return,
        };
        if times.and_then(|times| times.get("compacted")).is_some_and(|time| !time.is_null()) {
            notes.count("outputs that the program cleared later, kept");
        }
        // Providers refuse empty blocks.
        let mut content: Vec<Value> = shown.and_then(said).into_iter().collect();
        let files = list(state, "attachments").iter().filter_map(Value::as_object);
        content.extend(files.filter_map(|file| attached(file, notes)));
        let end = times.and_then(|times| time_of(times.get("end")?));
        self.ended = end.or(self.ended);
        self.results.push(Message::result(id, content, failed, end));
    }

    /// Adds the response to the messages, unless it is empty.
    fn finish(self, messages: &mut Vec<Message>) {
        let Self { mut message, blocks, results, usage, is_cut, .. } = self;
        if blocks.is_empty() {
            return;
        }
        message.say(blocks, is_cut);
        if let Some(usage) = usage {
            message.set("usage", usage);
        }
        messages.push(message);
        messages.extend(results);
    }
}

fn flag(object: &Map<String, Value>, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn is(part: &Map<String, Value>, kind: &str) -> bool {
    text(part, "type") == Some(kind)
}

/// The text of a part, if there is any.
fn words_of(part: &Map<String, Value>) -> Option<&str> {
    text(part, "text").filter(|text| !text.is_empty())
}

/// The image of an attached file. The text of other files is in a separate part.
fn attached(file: &Map<String, Value>, notes: &mut Notes) -> Option<Value> {
    let mime = text(file, "mime").unwrap_or_default();
    if mime.starts_with("text/") || mime == "application/x-directory" {
        return None;
    }
    let data = text(file, "url").and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
    let image =
        data.filter(|_| mime.starts_with("image/")).map(|(_, data)| image_block(mime, data));
    if image.is_none() {
        notes.count("attachments without an image in the file left out");
    }
    image
}

fn exit_code(state: &Map<String, Value>) -> Option<i64> {
    state.get("metadata")?.get("exit")?.as_i64()
}

/// What the provider expects to get back with a thought, from a field with the provider's name.
fn signature(metadata: &Value) -> Option<&str> {
    metadata.as_object()?.values().find_map(|provider| provider.get("signature")?.as_str())
}

/// The counts of a response: `input` excludes what was cached; thinking is counted separately from
/// the rest of the output.
fn usage_of(tokens: &Value) -> Value {
    let count = |place: &str| tokens.pointer(place).and_then(count_of).unwrap_or_default();
    let output = count("/output").saturating_add(count("/reasoning"));
    usage(count("/input"), output, count("/cache/read"), count("/cache/write"))
}
