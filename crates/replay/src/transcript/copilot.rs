//! Session files of GitHub Copilot CLI: one event per line, `{type, data, id, timestamp,
//! parentId}`. The types and their fields are in `session-events.schema.json`, which the program
//! installs; these rules come from that file and from recorded sessions.
//!
//! Events are in order, because going back removes them from the file. Events with an `agentId`
//! or a `parentToolCallId` belong to a sub-agent and are left out. Must not apply compactions or truncations: replay
//! decides itself what later calls see.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Parts;
use super::lines::Line;
use super::message::{
    INJECTED, Message, call_block, count_of, image_block, list, said, text, thinking_block,
    time_of, usage,
};
use super::notes::Notes;

/// Prefixes of event types, up to the first dot.
const KINDS: [&str; 24] = [
    "abort",
    "assistant",
    "auto_mode_switch",
    "capabilities",
    "command",
    "commands",
    "elicitation",
    "exit_plan_mode",
    "external_tool",
    "hook",
    "human_response",
    "mcp",
    "model",
    "pending_messages",
    "permission",
    "sampling",
    "session",
    "skill",
    "subagent",
    "system",
    "tool",
    "user",
    "user_input",
    "workflow",
];

/// Whether a line is an event of a session.
pub(super) fn knows(line: &Line<'_>) -> bool {
    let is_event = |kind: &str| {
        kind == "abort" || kind.split_once('.').is_some_and(|(first, _)| KINDS.contains(&first))
    };
    line.text_at("type").is_some_and(is_event)
        && line.object_at("data").is_some()
        && ["id", "parentId", "timestamp"].iter().all(|key| line.object.contains_key(*key))
}

/// Reads the lines of a file.
pub(super) fn read(lines: &[Line<'_>], notes: &mut Notes) -> Parts {
    let assets = lines.iter().filter(|line| line.text_at("type") == Some("session.binary_asset"));
    let assets = assets.filter_map(|line| {
        let data = line.object_at("data")?;
        Some((text(data, "assetId")?.to_owned(), data.clone()))
    });
    let mut session = CopilotSession { assets: assets.collect(), ..CopilotSession::default() };
    for line in lines {
        let (Some(kind), Some(data)) = (line.text_at("type"), line.object_at("data")) else {
            notes.count_at("lines that are not events left out", line.number);
            continue;
        };
        session.now = line.object.get("timestamp").and_then(time_of).or(session.now);
        // Older ones say it by the call that began the sub-agent.
        if line.object.contains_key("agentId") || text(data, "parentToolCallId").is_some() {
            if kind.ends_with(".message") {
                notes.count("messages of sub-agents left out");
            }
        } else {
            session.event(kind, data, line.number, notes);
        }
    }
    session.parts
}

/// A session while it is read.
#[derive(Default)]
struct CopilotSession {
    parts: Parts,
    /// Time of this event or of the last one that had one.
    now: Option<i64>,
    /// Images by the ID that other events use for them.
    assets: HashMap<String, Map<String, Value>>,
    /// Usage of responses, by the provider's ID of the call.
    usage: HashMap<String, Value>,
    /// The response that the next message may continue: the provider's ID of the call.
    open: Option<String>,
}

impl CopilotSession {
    fn event(&mut self, kind: &str, data: &Map<String, Value>, line: u64, notes: &mut Notes) {
        match kind {
            "session.start" if self.parts.session_id.is_none() => {
                self.parts.session_id = text(data, "sessionId").map(str::to_owned);
                let context = data.get("context").and_then(Value::as_object);
                self.parts.cwd =
                    context.and_then(|context| text(context, "cwd")).map(str::to_owned);
            }
            "user.message" => self.user(data, notes),
            "assistant.message" => self.assistant(data),
            "tool.execution_complete" => self.result(data, notes),
            "session.usage_record" | "assistant.usage" => self.counted(data),
            "session.compaction_complete" => self.compacted(data, notes),
            "session.context_cleared" => notes.count("clears of the context not applied"),
            "session.truncation" => notes.count("truncations not applied"),
            // Before 1.0.9x nothing else says what was counted.
            "session.shutdown" if self.usage.is_empty() => {
                let models = data.get("modelMetrics").and_then(Value::as_object);
                if models.is_some_and(|models| !models.is_empty()) {
                    notes.count("counts of a whole session, which no request has, not used");
                }
            }
            "system.message" => notes.count("system messages left out"),
            "system.notification" => {
                if let Some(content) = text(data, "content") {
                    self.push(Message::injected(content, self.now));
                }
            }
            _ => {
                let first = kind.split('.').next().unwrap_or(kind);
                if !KINDS.contains(&first) {
                    notes.count_at("events of an unknown type left out", line);
                }
            }
        }
    }

    /// Takes a message that a person typed, or that the program wrote instead.
    fn user(&mut self, data: &Map<String, Value>, notes: &mut Notes) {
        // What the model saw: the text with the time and the attached files around it.
        let sent = text(data, "transformedContent").or_else(|| text(data, "content"));
        let mut blocks: Vec<Value> = sent.and_then(said).into_iter().collect();
        let attached = list(data, "attachments").iter();
        blocks.extend(
            attached
                .filter_map(Value::as_object)
                .filter(|one| text(one, "type") == Some("blob"))
                .filter_map(|one| self.image(one, notes)),
        );
        if blocks.is_empty() {
            return;
        }
        let is_typed = text(data, "source").is_none_or(|source| source == "user")
            && !data.get("isAutopilotContinuation").and_then(Value::as_bool).unwrap_or(false);
        let meta = (!is_typed).then_some(INJECTED);
        self.push(Message::user(Value::Array(blocks), self.now, meta));
    }

    /// Takes a message of the model. A response may be split into several messages, which become
    /// one here.
    fn assistant(&mut self, data: &Map<String, Value>) {
        let response = text(data, "apiCallId");
        let is_split = data.get("chunkIndex").and_then(Value::as_u64).is_some_and(|at| at > 0);
        let continues = is_split && response.is_some() && self.open.as_deref() == response;
        if !continues || !self.parts.messages.last().is_some_and(Message::is_assistant) {
            let model = text(data, "model").unwrap_or_default();
            self.parts.messages.push(Message::assistant("github-copilot", model, self.now));
        }
        self.open = response.map(str::to_owned);
        let Some(message) = self.parts.messages.last_mut() else { return };
        let thinking = text(data, "reasoningText").filter(|text| !text.is_empty());
        let calls = list(data, "toolRequests").iter();
        let blocks = thinking.map(|text| thinking_block(text, None)).into_iter();
        let blocks = blocks.chain(text(data, "content").and_then(said));
        message.say(blocks.chain(calls.filter_map(call)), false);
        if let Some(counts) = response.and_then(|id| self.usage.get(id)) {
            message.set("usage", counts.clone());
        }
    }

    fn result(&mut self, data: &Map<String, Value>, notes: &mut Notes) {
        let Some(id) = text(data, "toolCallId") else { return };
        let object = |key: &str| data.get(key).and_then(Value::as_object);
        let shown = object("result").and_then(|result| text(result, "content"));
        let shown = shown.or_else(|| text(object("error")?, "message"));
        let mut blocks: Vec<Value> = shown.and_then(said).into_iter().collect();
        let images = object("result").map(|result| list(result, "binaryResultsForLlm"));
        let images = images.into_iter().flatten().filter_map(Value::as_object);
        blocks.extend(images.filter_map(|image| self.image(image, notes)));
        let exit = object("shellExecution").and_then(|shell| shell.get("exitCode")?.as_i64());
        let is_done = data.get("success").and_then(Value::as_bool).unwrap_or(true);
        let has_failed = !is_done || exit.is_some_and(|code| code != 0);
        self.parts.messages.push(Message::result(id, blocks, has_failed, self.now));
    }

    /// The image of an attachment or a result: in place, or in an event of its own.
    fn image(&self, given: &Map<String, Value>, notes: &mut Notes) -> Option<Value> {
        let stored = text(given, "assetId").and_then(|id| self.assets.get(id));
        let data = text(given, "data").or_else(|| text(stored?, "data"));
        let kind = text(given, "mimeType").filter(|kind| kind.starts_with("image/"));
        let image = kind.zip(data).map(|(kind, data)| image_block(kind, data));
        if image.is_none() {
            notes.count("attachments without an image in the file left out");
        }
        image
    }

    /// Keeps a usage report. The program writes it before its message.
    fn counted(&mut self, data: &Map<String, Value>) {
        let counts = data.get("usage").and_then(Value::as_object).unwrap_or(data);
        let Some(id) = text(counts, "apiCallId") else { return };
        let count = |key: &str| counts.get(key).and_then(count_of).unwrap_or_default();
        let (read, written) = (count("cacheReadTokens"), count("cacheWriteTokens"));
        let input = count("inputTokens").saturating_sub(read).saturating_sub(written);
        let counts = usage(input, count("outputTokens"), read, written);
        self.usage.insert(id.to_owned(), counts);
    }

    fn compacted(&mut self, data: &Map<String, Value>, notes: &mut Notes) {
        if data.get("success") != Some(&Value::Bool(true)) {
            return;
        }
        match text(data, "summaryContent").filter(|summary| !summary.is_empty()) {
            Some(summary) => self.push(Message::summary(summary, self.now)),
            None => notes.count("compactions whose summary is not in the file"),
        }
    }

    /// Adds a message that ends the response.
    fn push(&mut self, message: Message) {
        self.open = None;
        self.parts.messages.push(message);
    }
}

/// A call. A custom tool takes a text, which becomes the argument `input`.
fn call(request: &Value) -> Option<Value> {
    let (id, name) = (request.get("toolCallId")?.as_str()?, request.get("name")?.as_str()?);
    let arguments = match request.get("arguments") {
        Some(Value::Object(arguments)) => Value::Object(arguments.clone()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => Value::Object(arguments),
            _ => json!({ "input": text }),
        },
        _ => Value::Null,
    };
    Some(call_block(id, name, Some(&arguments)))
}
