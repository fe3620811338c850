//! A host's message, parsed from its JSON: what the session needs from it, and its exact text
//! around the content.
//!
//! Expects the shapes of pi-ai's messages, but is lenient: a message without a role, or with an
//! unknown role or shape, passes through. `content` knows the shapes of contents. Must not
//! interpret tools or decide anything.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::content::{self, block_text, span_within, text_block};
use super::tokens::Counter;
use base::error::{Error, Result};
use base::object::Hash;
use session::{MessageKey, ResultFact, Withheld, Within};

/// Tokens of a message besides its content, if the tokenizer counts: the role is one token. If
/// characters are counted, the role counts as text.
pub const MESSAGE_TOKENS: u64 = 1;

/// Tokens counted per image of any size, as Pi estimates; the real price depends on provider and
/// size. If characters are counted, images count nothing.
const IMAGE_TOKENS: u64 = 1_200;

/// Members that hold text besides the content.
const BESIDE: [&str; 3] = ["command", "output", "summary"];

/// The role of a command that a person ran.
pub const COMMAND_ROLE: &str = "bashExecution";

/// The member of a message that is its content: of a command that a person ran, its output.
fn content_member(role: &str) -> &'static str {
    if role == COMMAND_ROLE { "output" } else { "content" }
}

/// A tool call in an assistant message.
#[derive(Debug, Clone, PartialEq)]
pub struct HostToolCall {
    /// The provider's call ID.
    pub id: String,
    /// Tool name.
    pub tool: String,
    /// Arguments as the provider gave them.
    pub args: Value,
}

/// A host's message.
#[derive(Debug, Clone, Default)]
pub struct HostMessage {
    /// Its JSON as written by the host's `JSON.stringify`.
    pub raw: String,
    /// Byte range of the value of its content in `raw`.
    pub content_span: Option<Range<usize>>,
    /// Identity.
    pub key: MessageKey,
    /// Calls that it makes.
    pub calls: Vec<HostToolCall>,
    /// Name of the tool that it is a result of.
    pub tool: Option<String>,
    /// Whether the tool failed, if the host says so.
    pub is_error: Option<bool>,
    /// The host's details of a tool result.
    pub details: Value,
    /// Texts of its text blocks.
    pub texts: Vec<String>,
    /// Texts of its thinking blocks.
    pub thinking: Vec<String>,
    /// Whether its content is a string, a list of blocks, or nothing, and the text is known.
    pub is_readable: bool,
    /// Number of its images.
    pub images: u64,
    /// Whether it has blocks that are neither text nor images.
    pub has_other_blocks: bool,
    /// Texts besides the content: a command that the person ran, a summary.
    beside: Vec<String>,
    /// How its tokens are counted.
    pub counter: Counter,
    /// Counted only on request, because counting takes longer than everything else done with a
    /// message.
    tokens: OnceLock<u64>,
    digest: OnceLock<Hash>,
    /// Set if `raw` is a placeholder; the host's own message goes out.
    pub withheld: Option<Withheld>,
}

impl HostMessage {
    /// Reads the messages of a list, each as JSON.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if one is not JSON: it would break the request that it goes out in.
    pub fn parse_list(messages: Vec<String>, counter: Counter) -> Result<Vec<Self>> {
        let read = messages.into_iter().enumerate().map(|(index, raw)| {
            serde_json::from_str::<IgnoredAny>(&raw).map_err(|error| {
                Error::argument("messages", format!("`[{index}]` is not JSON: {error}"))
            })?;
            Ok(Self::parse(raw, counter))
        });
        read.collect()
    }

    /// Reads one message; never fails.
    pub fn parse(raw: impl Into<String>, counter: Counter) -> Self {
        let raw: String = raw.into();
        let fields: HashMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(&raw).unwrap_or_default();
        let value = |name: &str| {
            fields
                .get(name)
                .and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok())
                .unwrap_or(Value::Null)
        };
        let text = |name: &str| value(name).as_str().map(str::to_owned);
        let role = text("role").unwrap_or_default();
        if role == COMMAND_ROLE && value("excludeFromContext") == Value::Bool(true) {
            return Self::without_output(value("timestamp").as_i64(), counter);
        }
        let member = content_member(&role);
        let content = value(member);
        let mut message = Self {
            content_span: fields.get(member).map(|content| span_within(&raw, content.get())),
            key: MessageKey { role, timestamp: value("timestamp").as_i64(), calls: Vec::new() },
            tool: text("toolName"),
            is_error: value("isError").as_bool(),
            details: value("details"),
            beside: BESIDE
                .into_iter()
                .filter(|name| *name != member)
                .filter_map(text)
                .chain(sections(&value("sections")))
                .collect(),
            counter,
            ..Self::default()
        };
        message.read_content(content);
        if let Some(id) = text("toolCallId") {
            message.key.calls.push(id);
        }
        message.key.calls.extend(message.calls.iter().map(|call| call.id.clone()));
        message.raw = raw;
        message
    }

    /// A `!!` message. Its output must not be stored, only the fact that there was one.
    fn without_output(timestamp: Option<i64>, counter: Counter) -> Self {
        let role = COMMAND_ROLE.to_owned();
        let raw =
            serde_json::json!({ "role": role, "excludeFromContext": true, "timestamp": timestamp })
                .to_string();
        Self {
            raw,
            key: MessageKey { role, timestamp, calls: Vec::new() },
            is_readable: false,
            tokens: OnceLock::from(0),
            ..Self::parse("{}", counter)
        }
    }

    /// Parses a stored message, or the placeholder that replaces it.
    pub fn from_stored(raw: &str, withheld: Option<Withheld>, counter: Counter) -> Self {
        let message = Self::parse(raw, counter);
        match withheld {
            Some(withheld) => Self {
                tokens: OnceLock::from(withheld.tokens),
                is_readable: false,
                images: 0,
                has_other_blocks: false,
                withheld: Some(withheld),
                ..message
            },
            None => message,
        }
    }

    /// Whether the host says that the tool failed.
    pub fn has_failed(&self) -> bool {
        self.is_error == Some(true)
    }

    /// SHA-256 of the JSON as the host gave it.
    pub fn digest(&self) -> &Hash {
        match &self.withheld {
            Some(withheld) => &withheld.digest,
            None => self.digest.get_or_init(|| Hash::of(&self.raw)),
        }
    }

    /// Its tokens.
    pub fn tokens(&self) -> u64 {
        *self.tokens.get_or_init(|| {
            let texts = self.texts.iter().chain(&self.beside);
            let units = frame_units(self.counter, &self.key.role)
                + texts.map(|text| self.counter.units(text)).sum::<u64>()
                + self.other_units()
                + self.images * image_units(self.counter);
            self.counter.tokens(units)
        })
    }

    /// Takes a token count made earlier.
    pub fn know_tokens(&self, tokens: u64) {
        // If already set, the count is the same.
        let _ = self.tokens.set(tokens);
    }

    /// Tokens of its blocks that are neither text nor images; `None` if it has none.
    pub fn other_tokens(&self) -> Option<u64> {
        self.has_other_blocks.then(|| self.counter.tokens(self.other_units()))
    }

    fn other_units(&self) -> u64 {
        let units = |text: &str| self.counter.units(text);
        let thinking = self.thinking.iter().map(|text| units(text));
        let calls = self.calls.iter().map(|call| units(&call.tool) + units(&call.args.to_string()));
        thinking.chain(calls).sum()
    }

    /// The JSON of the content.
    pub fn content(&self) -> Option<&str> {
        self.content_span.clone().map(|span| &self.raw[span])
    }

    /// The message's JSON with another content. If it had none, the content becomes its last
    /// member.
    pub fn with_content(&self, content: &str) -> String {
        if let Some(span) = &self.content_span {
            return format!("{}{content}{}", &self.raw[..span.start], &self.raw[span.end..]);
        }
        match self.raw.trim_end().strip_suffix('}') {
            Some(members) => {
                let comma = if members.trim_end().ends_with('{') { "" } else { "," };
                format!(r#"{members}{comma}"content":{content}}}"#)
            }
            None => self.raw.clone(),
        }
    }

    /// The text of the output that it is, or that it holds.
    pub fn output<'a>(&'a self, fact: &ResultFact) -> Cow<'a, str> {
        let part = |within: &Within| self.texts.get(within.text)?.get(within.start..within.end);
        fact.within.as_ref().and_then(part).map_or_else(|| self.text(), Cow::Borrowed)
    }

    /// Its content with another text in the place of an output that it holds.
    pub fn content_with_part(&self, within: &Within, text: &str) -> String {
        let content = self.content().unwrap_or_default();
        content::with_part(content, within.text, within.start..within.end, text)
    }

    /// Tokens of the message with another content.
    pub fn tokens_with(&self, content: &str) -> u64 {
        if !self.beside.is_empty() {
            return Self::parse(self.with_content(content), self.counter).tokens();
        }
        let role = Value::from(self.key.role.as_str());
        Self::parse(format!(r#"{{"role":{role},"content":{content}}}"#), self.counter).tokens()
    }

    /// The content as JSON blocks without the surrounding brackets. `content`, if given, replaces
    /// the message's own.
    pub fn blocks<'a>(&'a self, content: Option<&'a str>) -> Cow<'a, str> {
        let content = content.or_else(|| self.content()).unwrap_or("[]");
        match content.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(blocks) => Cow::Borrowed(blocks),
            None if self.text().is_empty() => Cow::Borrowed(""),
            None => Cow::Owned(text_block(&self.text())),
        }
    }

    /// The content with a text block appended. `content`, if given, replaces the message's own.
    pub fn content_and_block(&self, content: Option<&str>, text: &str) -> String {
        let (blocks, block) = (self.blocks(content), text_block(text));
        if blocks.trim().is_empty() { format!("[{block}]") } else { format!("[{blocks},{block}]") }
    }

    /// All text of the message: its texts joined by line feeds.
    pub fn text(&self) -> Cow<'_, str> {
        match self.texts.as_slice() {
            [one] => Cow::Borrowed(one),
            many => Cow::Owned(many.join("\n")),
        }
    }

    /// The text of a message that is a summary.
    pub fn summary(&self) -> Option<String> {
        let value: Value = serde_json::from_str(&self.raw).ok()?;
        value.get("summary")?.as_str().map(str::to_owned)
    }

    /// Tokens of its text alone.
    pub fn text_tokens(&self) -> u64 {
        self.tokens().saturating_sub(MESSAGE_TOKENS + self.tokens_beside_text())
    }

    /// Tokens of its blocks that are not text.
    pub fn tokens_beside_text(&self) -> u64 {
        self.image_tokens() + self.other_tokens().unwrap_or(0)
    }

    /// Tokens of its images.
    pub fn image_tokens(&self) -> u64 {
        self.counter.tokens(self.images * image_units(self.counter))
    }

    /// All words of the message: its texts, its thinking, and every string in the arguments of its
    /// calls.
    pub fn said(&self) -> Vec<&str> {
        let mut said: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        said.extend(self.thinking.iter().map(String::as_str));
        self.calls.iter().for_each(|call| strings(&call.args, &mut said));
        said
    }

    /// Collects texts and calls from the content.
    fn read_content(&mut self, content: Value) {
        let blocks = match content {
            Value::String(text) => {
                self.texts.push(text);
                self.is_readable = true;
                return;
            }
            Value::Array(blocks) => blocks,
            Value::Null => Vec::new(),
            _ => return,
        };
        self.is_readable = true;
        for mut block in blocks {
            if block_text(&block).is_some() {
                if let Some(Value::String(text)) = block.get_mut("text").map(Value::take) {
                    self.texts.push(text);
                }
            } else if block.get("type").is_some_and(|kind| kind == "image") {
                self.images += 1;
            } else {
                self.has_other_blocks = true;
                self.read_other_block(&block);
            }
        }
    }

    /// Reads a block that is not text. Blocks of unknown types count nothing.
    fn read_other_block(&mut self, block: &Value) {
        let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "thinking" => self.thinking.push(text("thinking").to_owned()),
            "toolCall" => self.calls.push(HostToolCall {
                id: text("id").to_owned(),
                tool: text("name").to_owned(),
                args: block.get("arguments").cloned().unwrap_or(Value::Null),
            }),
            _ => {}
        }
    }
}

/// Units of a message of this role besides its content.
pub fn frame_units(counter: Counter, role: &str) -> u64 {
    match counter {
        Counter::Bundled => MESSAGE_TOKENS,
        Counter::Characters => counter.units(role),
    }
}

/// Units of an image.
pub fn image_units(counter: Counter) -> u64 {
    match counter {
        Counter::Bundled => IMAGE_TOKENS,
        Counter::Characters => 0,
    }
}

/// The texts of the sections in a change of the system prompt.
fn sections(value: &Value) -> Vec<String> {
    let all = value.as_object().into_iter().flatten();
    all.filter_map(|(_, text)| text.as_str().map(str::to_owned)).collect()
}

/// Collects every string in a value, in order.
pub fn strings<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
