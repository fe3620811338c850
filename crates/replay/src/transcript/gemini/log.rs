//! Combines the records of a Gemini CLI session into one list of messages. Must not know what a
//! message contains, except to find the same message again.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::Record;
use super::content::{call_ids, text_of};
use crate::transcript::Counts;
use crate::transcript::message::{list, objects, text};
use crate::transcript::notes::Notes;

/// The answer that the program adds after a summary in the model's name.
const ACKNOWLEDGED: &str = "Got it. Thanks for the additional context!";

/// A session while it is read.
#[derive(Default)]
pub(super) struct Log {
    records: Vec<Record>,
    /// Index of each message by its ID.
    by_id: HashMap<String, usize>,
    folder: Option<String>,
    /// What the person took back.
    pub(super) left: Counts,
}

impl Log {
    /// Takes a record.
    pub(super) fn take(&mut self, mut object: Map<String, Value>, line: u64, notes: &mut Notes) {
        if let Some(id) = object.get("$rewindTo") {
            self.rewind(id.as_str().unwrap_or_default(), notes);
        } else if let Some(Value::Object(mut set)) = object.remove("$set") {
            self.header(&set);
            self.list(set.remove("messages"), notes);
        } else if object.contains_key("$patch") {
            notes.count("changes of messages that stood before not applied");
        } else if acknowledges(&object) {
            self.sum_up(notes);
        } else if object.contains_key("id") && object.contains_key("type") {
            self.put(object);
        } else if object.contains_key("sessionId") {
            self.header(&object);
            self.list(object.remove("messages"), notes);
        } else {
            notes.count_at("records of an unknown kind left out", line);
        }
    }

    /// The messages in order.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }

    /// The folder in the header.
    pub(super) fn folder(&self) -> Option<String> {
        self.folder.clone()
    }

    fn header(&mut self, object: &Map<String, Value>) {
        let first = || list(object, "directories").first()?.as_str().map(str::to_owned);
        self.folder = self.folder.take().or_else(first);
    }

    /// Takes a message, in the place of the one with its ID if there is one.
    fn put(&mut self, object: Map<String, Value>) {
        let id = text(&object, "id").filter(|id| !id.is_empty()).map(str::to_owned);
        let record = Record { object, is_summary: false };
        if let Some(at) = id.as_ref().and_then(|id| self.by_id.get(id)) {
            self.records[*at] = record;
        } else {
            self.by_id.extend(id.map(|id| (id, self.records.len())));
            self.records.push(record);
        }
    }

    /// Takes a whole list, adding only unknown messages.
    fn list(&mut self, messages: Option<Value>, notes: &mut Notes) {
        let Some(Value::Array(messages)) = messages else { return };
        let objects: Vec<Map<String, Value>> = objects(messages).collect();
        let known = KnownContent::of(&self.records);
        for at in 0..objects.len() {
            let object = &objects[at];
            let id = text(object, "id").unwrap_or_default();
            if self.by_id.contains_key(id) || known.has(object) || acknowledges(object) {
                continue;
            }
            self.put(object.clone());
            if objects.get(at + 1).is_some_and(acknowledges) {
                self.sum_up(notes);
            }
        }
    }

    /// Takes the last message as a summary, because its acknowledgement follows.
    fn sum_up(&mut self, notes: &mut Notes) {
        let last = self.records.last_mut();
        if let Some(record) = last.filter(|last| is(&last.object, "user") && !last.is_summary) {
            record.is_summary = true;
            notes.count("compressions not applied");
        }
    }

    /// Drops a message and everything after it; everything if there is no such message, as the
    /// program does.
    fn rewind(&mut self, id: &str, notes: &mut Notes) {
        let from = self.by_id.get(id).copied().unwrap_or(0);
        for record in self.records.drain(from..) {
            notes.count("messages of branches that were left");
            if is(&record.object, "gemini") || is(&record.object, "qwen") {
                let calls = list(&record.object, "toolCalls").len() as u64;
                self.left = self.left + Counts { requests: 1, calls };
            }
        }
        self.by_id.retain(|_, at| *at < from);
    }
}

/// The content of the messages so far, whatever their IDs, because a continued list has new IDs.
struct KnownContent {
    said: HashSet<(String, String)>,
    calls: HashSet<String>,
}

impl KnownContent {
    fn of(records: &[Record]) -> Self {
        let objects = || records.iter().map(|record| &record.object);
        Self { said: objects().map(said).collect(), calls: objects().flat_map(call_ids).collect() }
    }

    /// Whether a message is known: by its calls and results if it has any, else by its text.
    fn has(&self, object: &Map<String, Value>) -> bool {
        let mut calls = call_ids(object).into_iter().peekable();
        if calls.peek().is_some() {
            return calls.all(|id| self.calls.contains(&id));
        }
        self.said.contains(&said(object))
    }
}

fn said(object: &Map<String, Value>) -> (String, String) {
    let kind = text(object, "type").unwrap_or_default();
    (kind.to_owned(), text_in(object))
}

fn text_in(object: &Map<String, Value>) -> String {
    object.get("content").map(text_of).unwrap_or_default()
}

/// Whether the program wrote a message in the model's name, behind a summary.
fn acknowledges(object: &Map<String, Value>) -> bool {
    is(object, "gemini") && text_in(object) == ACKNOWLEDGED
}

fn is(object: &Map<String, Value>, kind: &str) -> bool {
    text(object, "type") == Some(kind)
}
