//! Lists of messages as they go to a provider, one per line, in one list, or as one request: in the
//! form of Anthropic's Messages API or of OpenAI's Chat Completions. Any harness can log them.
//! Headless lists of pi-ai's messages are told from them here, and read as the neutral form.
//!
//! A file is such a list only if every line is a message and every part of it is known. Must not
//! guess: what else is in a file would be missing from its requests.

pub(super) mod counts;

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value};

use self::counts::{model_and_counts, usage_of};
use super::claude_code::blocks;
use super::lines::Line;
use super::message::{
    COMPACTION_SUMMARY, Message, arguments_of, call_block, counts_of, list, objects, text_block,
    thinking_block, time_of,
};
use super::notes::Notes;
use super::{Counts, Format, Parts};

/// The roles of each form; others are notes of the program, see [`is_note`].
const ROLES: [&str; 7] =
    ["system", "developer", "user", "assistant", "tool", "function", "toolResult"];

/// Types of blocks by the form that has them.
const PI_BLOCKS: [&str; 1] = ["toolCall"];
const ANTHROPIC_BLOCKS: [&str; 7] = [
    "tool_use",
    "redacted_thinking",
    "document",
    "search_result",
    "tool_reference",
    "container_upload",
    "compaction",
];
/// Ends of such types: results, and calls and results of the provider's own tools.
const ANTHROPIC_ENDS: [&str; 2] = ["_tool_use", "tool_result"];
const OPENAI_BLOCKS: [&str; 4] = ["image_url", "input_audio", "file", "refusal"];
/// Kimi's thoughts are `think`.
const SHARED_BLOCKS: [&str; 4] = ["text", "thinking", "think", "image"];

/// Keys of the list in an object around one: requests of Messages and of Chat Completions, of the
/// Responses API, and the first rollouts of Codex.
const LISTS: [&str; 3] = ["messages", "input", "items"];

/// Where messages and items have what they say.
const SAID: [&str; 7] = [
    "/role",
    "/content",
    "/tool_calls/0/id",
    "/tool_calls/0/function",
    "/function_call",
    "/call_id",
    "/arguments",
];

/// What a file of messages is, by the marks on its lines; `None` if it is not a list of messages.
///
/// # Errors
/// The line to look at and what is wrong with it.
pub(super) fn form_of(lines: &[Line<'_>]) -> Option<Result<Format, (u64, String)>> {
    if !lines.iter().any(|line| is_message(&line.object)) {
        return None;
    }
    let mut marks = Marks::default();
    for line in lines {
        marks.take(line);
    }
    if marks.pi > 0 && marks.anthropic + marks.openai == 0 {
        return Some(Ok(Format::Neutral));
    }
    let strange = match marks.strange {
        Some(strange) => Some(strange),
        // What is said before the first message is about the file.
        None => lines.iter().skip(1).find(|line| line.text_at("role").is_none()).map(|line| {
            (line.number, "is not a message, and the file is a list of messages".to_owned())
        }),
    };
    if let Some(strange) = strange {
        return Some(Err(strange));
    }
    if marks.pi > 0 {
        let problem = "is of a list that mixes the messages of pi-ai with those of a provider";
        return Some(Err((lines[0].number, problem.to_owned())));
    }
    Some(Ok(match marks {
        Marks { anthropic: 0, openai: 0, is_timed: true, is_counted: false, .. } => Format::Neutral,
        Marks { anthropic, openai, .. } if anthropic > openai => Format::Anthropic,
        _ => Format::OpenAi,
    }))
}

/// The lines of a file that is one object around a list: a request to a provider, or what Codex
/// wrote at first, `{session, items}`. Other files stay as they are.
pub(super) fn unfolded(mut lines: Vec<Line<'_>>) -> Vec<Line<'_>> {
    let [one] = &mut lines[..] else { return lines };
    let is_list = |value: &Value| {
        value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_object))
    };
    let mut keys = LISTS.iter().filter(|key| one.object.get(**key).is_some_and(is_list));
    let Some(key) = keys.next() else { return lines };
    let Some(Value::Array(mut list)) = one.object.remove(*key) else { return lines };
    let (number, model) = (one.number, one.object.remove("model"));
    let head = one.object.remove("session");
    add_answer(&mut list, &mut one.object, key);
    let lines = objects(head.into_iter().chain(list).collect());
    let line = |mut object: Map<String, Value>| {
        if let Some(model) = &model {
            object.entry("model").or_insert_with(|| model.clone());
        }
        Line { number, text: None, object }
    };
    lines.map(line).collect()
}

/// Adds the answer that logs have beside a list, with what was counted for it: a message, or items. The
/// list may end with it already.
fn add_answer(list: &mut Vec<Value>, object: &mut Map<String, Value>, key: &str) {
    let choice = object.get("choices").and_then(|choices| choices.pointer("/0/message").cloned());
    let answer = match choice.or_else(|| object.remove("output")) {
        Some(Value::Array(items)) => items,
        Some(message) if key == "messages" => vec![message],
        _ => return,
    };
    if answer.is_empty() || !answer.iter().all(is_of_answer) {
        return;
    }
    let end = list.len().saturating_sub(answer.len());
    if !answer.iter().map(said).eq(list[end..].iter().map(said)) {
        list.extend(answer);
    }
    if let Some((Value::Object(last), usage)) = list.last_mut().zip(object.remove("usage")) {
        last.entry("usage").or_insert(usage);
    }
}

/// Whether it is a message, or another item of the Responses API. Programs have results of their own under
/// the same key.
fn is_of_answer(value: &Value) -> bool {
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
    value.as_object().is_some_and(is_message) || kind == "reasoning" || kind.ends_with("_call")
}

/// What tells an answer or an item from others, without what only one of two copies may have.
fn said(value: &Value) -> [Option<&Value>; 7] {
    SAID.map(|place| value.pointer(place).filter(|said| !said.is_null() && **said != ""))
}

/// Whether a role is a program's note between messages: one with `_`, or how mini-SWE-agent ended.
fn is_note(role: &str) -> bool {
    role.starts_with('_') || role == "exit"
}

fn is_message(object: &Map<String, Value>) -> bool {
    object.get("role").is_some_and(Value::is_string) && has_content(object)
}

fn has_content(object: &Map<String, Value>) -> bool {
    let content = object.get("content");
    content.is_some_and(|content| content.is_string() || content.is_array() || content.is_null())
        || object.contains_key("tool_calls")
        || object.contains_key("function_call")
}

/// The marks of the forms on the lines of a file.
#[derive(Default)]
struct Marks {
    pi: u64,
    anthropic: u64,
    openai: u64,
    /// Whether the messages have times in ms, as pi-ai's do.
    is_timed: bool,
    /// Whether usage has a provider's names.
    is_counted: bool,
    /// The first line that no form has.
    strange: Option<(u64, String)>,
}

impl Marks {
    fn take(&mut self, line: &Line<'_>) {
        let Some(role) = line.text_at("role").filter(|role| !is_note(role)) else { return };
        let has = |key: &str| line.object.contains_key(key);
        self.is_timed |= line.object.get("timestamp").is_some_and(Value::is_number);
        self.pi += u64::from(role == "toolResult");
        let usage = line.object_at("usage");
        self.is_counted |= ["input_tokens", "prompt_tokens"]
            .iter()
            .any(|key| usage.is_some_and(|usage| usage.contains_key(*key)));
        self.anthropic += u64::from(has("stop_reason"));
        let is_openai = ["tool_calls", "tool_call_id", "function_call"].iter().any(|key| has(key))
            || ["tool", "function"].contains(&role);
        self.openai += u64::from(is_openai);
        let names = ["tool_call_id", "name", "tool_name"];
        let strange = if !ROLES.contains(&role) {
            Some(format!("has the role `{role}`, which no list of messages has"))
        } else if ["tool", "function"].contains(&role) && !names.iter().any(|key| has(key)) {
            Some("is the result of a tool without its call".to_owned())
        } else if !has_content(&line.object) {
            Some("is a message without content".to_owned())
        } else {
            self.blocks(line)
        };
        if let Some(strange) = strange {
            self.strange.get_or_insert((line.number, strange));
        }
    }

    /// Takes the blocks of a message; returns what is wrong with them.
    fn blocks(&mut self, line: &Line<'_>) -> Option<String> {
        let mut strange = None;
        for block in list(&line.object, "content") {
            let kind = block.get("type").and_then(Value::as_str).unwrap_or_default();
            if kind == "tool_result" && !block.get("tool_use_id").is_some_and(Value::is_string) {
                strange.get_or_insert("has a block `tool_result` without `tool_use_id`".to_owned());
            }
            if PI_BLOCKS.contains(&kind) {
                self.pi += 1;
            } else if ANTHROPIC_BLOCKS.contains(&kind)
                || ANTHROPIC_ENDS.iter().any(|end| kind.ends_with(end))
            {
                self.anthropic += 1;
            } else if OPENAI_BLOCKS.contains(&kind) {
                self.openai += 1;
            } else if !SHARED_BLOCKS.contains(&kind) && !block.is_string() {
                strange
                    .get_or_insert(format!("has a block `{kind}`, which no list of messages has"));
            }
        }
        strange
    }
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, format: Format, notes: &mut Notes) -> Parts {
    let provider = if format == Format::Anthropic { "anthropic" } else { "openai" };
    let mut list = List { provider, ..List::default() };
    let held = lines.iter().fold(Counts::default(), |held, line| held + calls_in(&line.object));
    for line in lines {
        list.take(&line.object, notes);
    }
    // Lines of one response are one request.
    let requests = counts_of(&list.messages).requests;
    Parts { messages: list.messages, held: Some(Counts { requests, ..held }), ..Parts::default() }
}

/// The calls that a message holds by the marks of either form.
fn calls_in(object: &Map<String, Value>) -> Counts {
    let is_call = |block: &&Value| block.get("type").and_then(Value::as_str) == Some("tool_use");
    let blocks = list(object, "content").iter().filter(is_call);
    let one = object.get("function_call").filter(|call| call.is_object());
    let calls = blocks.chain(list(object, "tool_calls")).chain(one).count();
    Counts { requests: 0, calls: calls as u64 }
}

/// A list while it is read.
#[derive(Default)]
struct List {
    provider: &'static str,
    messages: Vec<Message>,
    /// The response that the next line may continue, if it has the same ID.
    open: Option<String>,
    /// The IDs that calls without one got and that have no result yet, by the name of the function.
    made: HashMap<String, VecDeque<String>>,
    /// Number of calls without an ID.
    unnamed: u64,
}

impl List {
    fn take(&mut self, object: &Map<String, Value>, notes: &mut Notes) {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let time = ["timestamp", "created_at", "created", "ts"]
            .iter()
            .find_map(|key| object.get(*key).and_then(time_of));
        let content = object.get("content").unwrap_or(&Value::Null);
        match text("role") {
            // What Roo Code made of all before.
            Some(_) if object.get("isSummary") == Some(&Value::Bool(true)) => {
                let said = blocks::blocks_of(content, notes);
                self.messages.push(Message::user(
                    Value::Array(said),
                    time,
                    Some(COMPACTION_SUMMARY),
                ));
            }
            Some("assistant") => return self.assistant(object, content, time, notes),
            Some("system" | "developer") => notes.count("system messages left out"),
            Some("tool" | "function") => {
                let tool = text("name").or_else(|| text("tool_name"));
                let made = || self.made.get_mut(tool?)?.pop_front();
                match text("tool_call_id").map(str::to_owned).or_else(made) {
                    Some(call) => {
                        let shown = blocks::blocks_of(content, notes);
                        self.messages.push(Message::result(&call, shown, false, time));
                    }
                    None => notes.count("results without a call left out"),
                }
            }
            Some("user") => self.user(content, time, notes),
            // What the program notes between messages.
            _ => {}
        }
        self.open = None;
    }

    fn assistant(
        &mut self,
        object: &Map<String, Value>,
        content: &Value,
        time: Option<i64>,
        notes: &mut Notes,
    ) {
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let (model, counts) = model_and_counts(object);
        let id = text("id").map(str::to_owned);
        if id.is_none()
            || self.open != id
            || !self.messages.last().is_some_and(Message::is_assistant)
        {
            self.messages.push(Message::assistant(self.provider, model, time));
        }
        self.open = id;
        let mut blocks: Vec<Value> = ["reasoning_content", "reasoning"]
            .iter()
            .find_map(|key| text(key).filter(|text| !text.is_empty()))
            .map(|thought| thinking_block(thought, None))
            .into_iter()
            .collect();
        match content {
            Value::String(said) if !said.is_empty() => blocks.push(text_block(said)),
            Value::Array(given) => {
                blocks.extend(given.iter().filter_map(|block| answer_block(block, notes)));
            }
            _ => {}
        }
        blocks.extend(text("refusal").map(text_block));
        let calls = list(object, "tool_calls").iter();
        for call in calls.chain(object.get("function_call").filter(|call| call.is_object())) {
            blocks.extend(self.call(call, notes));
        }
        let Some(message) = self.messages.last_mut() else { return };
        let is_cut = ["stop_reason", "finish_reason"]
            .iter()
            .any(|key| matches!(text(key), Some("max_tokens" | "length")));
        message.say(blocks, is_cut);
        if let Some(counts) = counts {
            message.set("usage", usage_of(counts));
            message.set("model", blocks::priced(model, counts).into());
            notes.count_all(blocks::INNER, blocks::inner_requests(counts));
        }
    }

    /// A call of Chat Completions: `{id, function: {name, arguments}}`, or before that the function
    /// alone.
    fn call(&mut self, call: &Value, notes: &mut Notes) -> Option<Value> {
        let function = call.get("function").or_else(|| call.get("custom")).unwrap_or(call);
        let Some(name) = function.get("name").and_then(Value::as_str) else {
            notes.count("blocks of unknown shape left out");
            return None;
        };
        let id = call.get("id").and_then(Value::as_str).map_or_else(
            || {
                self.unnamed += 1;
                let made = format!("call_{}", self.unnamed);
                self.made.entry(name.to_owned()).or_default().push_back(made.clone());
                made
            },
            str::to_owned,
        );
        let given = function.get("arguments").or_else(|| function.get("input"));
        let arguments = arguments_of(given.unwrap_or(&Value::Null), "input");
        Some(call_block(&id, name, Some(&arguments)))
    }

    fn user(&mut self, content: &Value, time: Option<i64>, notes: &mut Notes) {
        let Value::Array(given) = content else {
            if content.as_str().is_some_and(|text| !text.is_empty()) {
                self.messages.push(Message::user(content.clone(), time, None));
            }
            return;
        };
        self.messages.extend(blocks::messages_of(given, time, None, notes));
    }
}

/// A block of an answer; OpenAI's refusals are texts.
fn answer_block(block: &Value, notes: &mut Notes) -> Option<Value> {
    let refusal = block.get("refusal").and_then(Value::as_str).map(text_block);
    let thought = block.get("think").and_then(Value::as_str);
    refusal
        .or_else(|| thought.map(|thought| thinking_block(thought, None)))
        .or_else(|| block.as_str().map(text_block))
        .or_else(|| blocks::assistant_block(block, notes))
}
