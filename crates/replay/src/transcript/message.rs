//! A message in pi-ai's shape and its blocks, built by a reader or taken from a file.
//!
//! Must not know a session file format.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::Counts;
use super::notes::Notes;
use base::object::Timestamp;

/// `meta` of a user message that the harness inserted.
pub(super) const INJECTED: &str = "injected";

/// `meta` of a user message that is the summary of the agent's own compaction.
pub(super) const COMPACTION_SUMMARY: &str = "compaction_summary";

/// Numbers that are seconds: in ms they would be days after 1970.
const SECONDS: Range<f64> = 1e9..1e11;

/// No time in ms is that large: it is of the year 5138.
const LATEST: f64 = 1e14;

const ASSISTANT: &str = "assistant";
const TOOL_RESULT: &str = "toolResult";

/// A message.
#[derive(Debug, Default)]
pub(super) struct Message {
    object: Map<String, Value>,
    /// Its JSON from the file, as long as nothing was changed.
    text: Option<String>,
}

impl Message {
    /// A user message; `content` is a string or blocks.
    pub(super) fn user(content: Value, timestamp: Option<i64>, meta: Option<&str>) -> Self {
        let mut message = Self::made("user", content);
        message.stamp(timestamp);
        if let Some(meta) = meta {
            message.set("meta", meta.into());
        }
        message
    }

    /// An assistant message without blocks yet.
    pub(super) fn assistant(provider: &str, model: &str, timestamp: Option<i64>) -> Self {
        let mut message = Self::made(ASSISTANT, Value::Array(Vec::new()));
        message.set("provider", provider.into());
        message.set("model", model.into());
        message.stamp(timestamp);
        message
    }

    /// A user message that the harness inserted.
    pub(super) fn injected(text: &str, timestamp: Option<i64>) -> Self {
        Self::user(json!([text_block(text)]), timestamp, Some(INJECTED))
    }

    /// The summary of the agent's own compaction.
    pub(super) fn summary(text: &str, timestamp: Option<i64>) -> Self {
        Self::user(json!([text_block(text)]), timestamp, Some(COMPACTION_SUMMARY))
    }

    /// The result of a call; `content` is a list of blocks. Pairing adds the tool's name.
    pub(super) fn result(
        call: &str,
        content: Vec<Value>,
        failed: bool,
        timestamp: Option<i64>,
    ) -> Self {
        let mut message = Self::made(TOOL_RESULT, Value::Array(content));
        message.set("toolCallId", call.into());
        message.set("isError", failed.into());
        message.stamp(timestamp);
        message
    }

    /// A message that the file holds in pi-ai's shape; `text` is its JSON there. `None` if its role
    /// or the shape of its content is unknown, or if it is a result without a call. Blocks of
    /// unknown shape are left out and counted.
    pub(super) fn taken(
        mut object: Map<String, Value>,
        text: Option<&str>,
        notes: &mut Notes,
    ) -> Option<Self> {
        let role = object.get("role")?.as_str()?.to_owned();
        let is_result = role == TOOL_RESULT;
        if !(is_result || role == "user" || role == ASSISTANT)
            || (is_result && !object.get("toolCallId").is_some_and(Value::is_string))
        {
            return None;
        }
        let content = object.get_mut("content")?;
        let mut changed = false;
        if content.is_null() || (role != "user" && content.is_string()) {
            let text = content.as_str().map(text_block);
            *content = Value::Array(text.into_iter().collect());
            changed = true;
        }
        if let Some(blocks) = content.as_array_mut() {
            let before = blocks.len();
            blocks.retain(is_block);
            for _ in blocks.len()..before {
                notes.count("blocks of unknown shape left out");
                changed = true;
            }
            for _ in blocks.iter().filter(|block| !is_known(block)) {
                notes.count("blocks of an unknown type, of which nothing is counted");
            }
        } else if !content.is_string() {
            return None;
        }
        Some(Self { object, text: text.filter(|_| !changed).map(str::to_owned) })
    }

    /// A message with a role of Pi's own.
    pub(super) fn of_pi(object: Map<String, Value>) -> Self {
        Self { object, text: None }
    }

    fn made(role: &str, content: Value) -> Self {
        let object = [("role".to_owned(), role.into()), ("content".to_owned(), content)];
        Self { object: Map::from_iter(object), text: None }
    }

    /// The message as JSON.
    pub(super) fn into_json(self) -> String {
        self.text.unwrap_or_else(|| Value::Object(self.object).to_string())
    }

    /// Whether the model wrote it.
    pub(super) fn is_assistant(&self) -> bool {
        self.role() == ASSISTANT
    }

    /// ID of the call that it answers.
    pub(super) fn answers(&self) -> Option<&str> {
        if self.role() == TOOL_RESULT { self.object.get("toolCallId")?.as_str() } else { None }
    }

    /// Name of the tool that it is a result of, if stated.
    pub(super) fn tool_name(&self) -> Option<&str> {
        self.object.get("toolName")?.as_str()
    }

    /// Whether a person typed it: a user message that neither the harness nor a compaction
    /// inserted.
    pub(super) fn is_typed(&self) -> bool {
        self.role() == "user" && !self.object.contains_key("meta")
    }

    fn role(&self) -> &str {
        self.object.get("role").and_then(Value::as_str).unwrap_or_default()
    }

    /// Its blocks; none if the content is a string.
    pub(super) fn blocks(&self) -> &[Value] {
        self.object.get("content").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Its blocks, for changing them.
    pub(super) fn blocks_mut(&mut self) -> Option<&mut Vec<Value>> {
        self.text = None;
        self.object.get_mut("content")?.as_array_mut()
    }

    /// IDs of its calls with the indexes of their blocks, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = (usize, &str)> {
        let calls = if self.is_assistant() { self.blocks() } else { &[] };
        calls.iter().enumerate().filter_map(|(at, block)| Some((at, call_of(block)?)))
    }

    /// Adds blocks to an answer, and says by all of its blocks why it ended. `is_cut`: because it
    /// had no room for more.
    pub(super) fn say(&mut self, blocks: impl IntoIterator<Item = Value>, is_cut: bool) {
        if let Some(all) = self.blocks_mut() {
            all.extend(blocks);
        }
        let stop = match self.calls().next() {
            _ if is_cut => "length",
            Some(_) => "toolUse",
            None => "stop",
        };
        self.set("stopReason", stop.into());
    }

    /// Whether a field is set.
    pub(super) fn has(&self, key: &str) -> bool {
        self.object.contains_key(key)
    }

    /// Sets a field besides the content.
    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.text = None;
        self.object.insert(key.to_owned(), value);
    }

    /// Sets the time in ms, if there is one.
    pub(super) fn stamp(&mut self, timestamp: Option<i64>) {
        if let Some(timestamp) = timestamp {
            self.set("timestamp", timestamp.into());
        }
    }

    /// Its time in ms, if it has one.
    fn timestamp(&self) -> Option<i64> {
        self.object.get("timestamp").and_then(time_of)
    }
}

/// Gives each message a time in ms. A message without one gets the previous message's; the first
/// gets 0.
pub(super) fn timed(mut messages: Vec<Message>, notes: &mut Notes) -> Vec<Message> {
    let mut last = 0;
    for message in &mut messages {
        let given = message.timestamp();
        if given.is_none() {
            notes.count("messages without a time, which got that of the one before");
        }
        last = given.unwrap_or(last);
        if message.object.get("timestamp").and_then(Value::as_i64) != Some(last) {
            message.set("timestamp", last.into());
        }
    }
    messages
}

/// A time in ms, from RFC 3339 or a number of seconds, ms, µs or ns: which, its size tells. `None`
/// if it is none of these.
pub(super) fn time_of(value: &Value) -> Option<i64> {
    if let Some(text) = value.as_str() {
        return Timestamp::parse(text).map(|time| time.0);
    }
    let mut ms = value.as_f64()?;
    if SECONDS.contains(&ms) {
        ms *= 1e3;
    }
    for _ in ["µs", "ns"] {
        if ms >= LATEST {
            ms /= 1e3;
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "fractions of a millisecond do not matter")]
    (ms.abs() < LATEST).then_some(ms as i64)
}

/// A count of tokens: some programs write it as `12.0`, or as a text. `None` if it is none.
pub(crate) fn count_of(value: &Value) -> Option<i64> {
    let number = || value.as_f64().or_else(|| value.as_str()?.parse().ok());
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large for a count is no count"
    )]
    value.as_i64().or_else(|| number().map(|number| number as i64))
}

/// The answers among messages, and their calls.
pub(super) fn counts_of<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Counts {
    let answers = messages.into_iter().filter(|message| message.is_assistant());
    answers.fold(Counts::default(), |Counts { requests, calls }, answer| Counts {
        requests: requests + 1,
        calls: calls + answer.calls().count() as u64,
    })
}

/// The text of a member.
pub(super) fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

/// The list of a member; empty if there is none.
pub(super) fn list<'a>(object: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The objects among some values.
pub(super) fn objects(values: Vec<Value>) -> impl Iterator<Item = Map<String, Value>> {
    values.into_iter().filter_map(|value| match value {
        Value::Object(object) => Some(object),
        _ => None,
    })
}

/// The block of a text; `None` if it is empty, because providers refuse empty blocks.
pub(super) fn said(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text_block(text))
}

/// A text block.
pub(super) fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A thinking block; `signature` is what the provider expects to get back.
pub(super) fn thinking_block(thinking: &str, signature: Option<&str>) -> Value {
    let mut block = json!({ "type": "thinking", "thinking": thinking });
    if let Some(signature) = signature {
        block["thinkingSignature"] = signature.into();
    }
    block
}

/// A tool call; it has no arguments unless they are an object.
pub(super) fn call_block(id: &str, name: &str, arguments: Option<&Value>) -> Value {
    let none = json!({});
    let arguments = arguments.filter(|arguments| arguments.is_object()).unwrap_or(&none);
    json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })
}

/// The arguments that a program wrote, as JSON in a text or as they are; if they are no object, as one
/// argument of this name.
pub(super) fn arguments_of(given: &Value, name: &str) -> Value {
    let parsed = given.as_str().and_then(|text| serde_json::from_str(text).ok());
    match parsed.unwrap_or_else(|| given.clone()) {
        arguments @ (Value::Object(_) | Value::Null) => arguments,
        other => json!({ name: other }),
    }
}

/// An image from base64 data.
pub(super) fn image_block(mime_type: &str, data: &str) -> Value {
    json!({ "type": "image", "data": data, "mimeType": mime_type })
}

/// An image by its address, which may have the data in it; otherwise the address as a text.
pub(super) fn image_at(url: &str) -> Value {
    let inline = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    inline.map_or_else(|| text_block(url), |(kind, data)| image_block(kind, data))
}

/// The provider's token counts, in pi-ai's terms.
pub(super) fn usage(input: i64, output: i64, cache_read: i64, cache_write: i64) -> Value {
    json!({ "input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write })
}

/// The name of the tool in a call block.
pub(super) fn tool_of(block: &Value) -> Option<&str> {
    block.get("name")?.as_str()
}

/// The ID of a call block; `None` for other blocks.
fn call_of(block: &Value) -> Option<&str> {
    (block.get("type")?.as_str()? == "toolCall").then(|| block.get("id")?.as_str())?
}

/// Whether a block is of a type that a message of pi-ai has.
fn is_known(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("text" | "thinking" | "image" | "toolCall"))
}

/// Whether a block is usable: it has a type, and a call has an ID and a name.
fn is_block(block: &Value) -> bool {
    match block.get("type").and_then(Value::as_str) {
        Some("toolCall") => call_of(block).is_some() && tool_of(block).is_some(),
        kind => kind.is_some(),
    }
}
