//! Rollouts of Codex: one item of the Responses API per line, wrapped as `{timestamp, type,
//! payload}`, or bare in files from the first half of 2025.
//!
//! The items of one response become one assistant message, which ends at a tool output or a usage
//! report. Must not apply compactions: replay decides itself what later calls see.

mod content;

use serde_json::{Map, Value, json};

use self::content::{blocks_of, has_failed, texts_of};
use super::Parts;
use super::lines::Line;
use super::message::{
    INJECTED, Message, arguments_of, call_block, count_of, counts_of, said, text, text_block,
    thinking_block, time_of, usage,
};
use super::messages::counts::usage_of;
use super::notes::{Notes, OF_PROVIDER};

/// Types of calls that the provider itself runs.
const OF_PROVIDER_KINDS: [&str; 4] =
    ["web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"];

/// Types of the lines that wrap an item.
const WRAPPERS: [&str; 5] =
    ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

/// Beginning of the IDs of turns that were imported.
const IMPORTED: &str = "external-import-turn-";

/// Types of lines that repeat what others say, or are for the program alone.
const RECORDS: [&str; 6] = [
    "inter_agent_communication_metadata",
    "realtime_item",
    "retained_context",
    "security_risk_score",
    "token_usage_record",
    "world_state",
];

/// Beginnings of user messages that Codex itself inserts.
const INJECTED_STARTS: [&str; 14] = [
    "<agent_message_board_notification>",
    "<codex_internal_context",
    "<environment_context>",
    "<external_",
    "<goal_context>",
    "<hook_prompt",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<recommended_plugins>",
    "<skill>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_shell_command>",
];

/// Whether a line belongs to a rollout, and to no other list of items: those of other programs have
/// messages of plain strings, or calls and thoughts under the same names.
pub(super) fn knows(line: &Line<'_>) -> bool {
    let has = |key: &str| line.object.contains_key(key);
    match line.text_at("type") {
        Some(kind) if WRAPPERS.contains(&kind) => line.object_at("payload").is_some(),
        // A bare item.
        Some("message") => has("role") && line.object.get("content").is_some_and(is_of_items),
        Some("function_call") => has("call_id") && line.text_at("arguments").is_some(),
        Some("function_call_output") => has("call_id") && has("output"),
        Some("local_shell_call") => has("call_id") && line.object_at("action").is_some(),
        Some(_) => false,
        // The first line and the state lines of the bare form.
        None => {
            line.text_at("record_type") == Some("state")
                || (has("id") && has("timestamp") && (has("instructions") || has("git")))
        }
    }
}

/// Whether content is a list of the Responses API's items.
fn is_of_items(content: &Value) -> bool {
    let mut kinds = content.as_array().into_iter().flatten().map(|item| item.get("type")?.as_str());
    kinds.any(|kind| matches!(kind, Some("input_text" | "output_text" | "input_image")))
}

/// Reads the lines of a file.
pub(super) fn read(lines: Vec<Line<'_>>, notes: &mut Notes) -> Parts {
    let mut rollout = Rollout { provider: "openai".into(), ..Rollout::default() };
    for mut line in lines {
        if line.object.get("ordinal").and_then(count_of).is_some_and(|at| at < rollout.own_from) {
            continue;
        }
        rollout.now = line.object.get("timestamp").and_then(time_of).or(rollout.now);
        let kind = line.text_at("type").unwrap_or_default().to_owned();
        let payload = line.object.remove("payload");
        let payload = payload.as_ref().and_then(Value::as_object);
        // Of a request around the items.
        if let Some(model) = line.text_at("model").filter(|_| payload.is_none()) {
            model.clone_into(&mut rollout.model);
        }
        match (kind.as_str(), payload) {
            ("session_meta", Some(meta)) => rollout.start(meta, notes),
            ("turn_context", Some(turn)) => {
                text(turn, "model").unwrap_or_default().clone_into(&mut rollout.model);
            }
            ("response_item", Some(item)) => rollout.item(item, line.number, notes),
            ("event_msg", Some(event)) => rollout.event(event, notes),
            ("compacted", Some(compacted)) => rollout.compacted(compacted, notes),
            // What another agent said, before it was an item.
            ("inter_agent_communication", Some(said)) => rollout.report(said, notes),
            (kind, Some(_)) if RECORDS.contains(&kind) => {}
            // A message of the Responses API may do without a type.
            ("", None) if line.object.contains_key("role") => {
                rollout.message(&line.object, notes);
            }
            ("", None) => rollout.start(&line.object, notes),
            (_, None) => rollout.item(&line.object, line.number, notes),
            (_, Some(_)) => notes.count_at("lines of an unknown type left out", line.number),
        }
        // Of a response whose items stand behind those of its request.
        let counts = line.object.get("usage").filter(|counts| counts.is_object());
        let answer = rollout.parts.messages.last_mut().filter(|message| message.is_assistant());
        if let (None, Some((counts, answer))) = (payload, counts.zip(answer)) {
            answer.set("usage", usage_of(counts));
        }
    }
    rollout.parts
}

/// A rollout while it is read.
#[derive(Default)]
struct Rollout {
    parts: Parts,
    provider: String,
    model: String,
    /// Time of this line or of the last line that had one.
    now: Option<i64>,
    /// Index of the assistant message to which further items of the response belong.
    open: Option<usize>,
    /// The provider's total counts in its last report.
    total: Option<Value>,
    /// The number of a sub-agent's first own line; those before are of the session that started it.
    own_from: i64,
    /// Whether the turn is one of another program, which the desktop app imported.
    is_imported: bool,
}

impl Rollout {
    /// Reads the first line. A fork also has its parent's first line, after its own.
    fn start(&mut self, meta: &Map<String, Value>, notes: &mut Notes) {
        if self.parts.session_id.is_none() {
            let own_from = meta.get("subagent_history_start_ordinal").and_then(count_of);
            self.own_from = own_from.unwrap_or_default();
        }
        // A newer fork only names where its history stands.
        if self.own_from > 0 || meta.get("history_base").is_some_and(Value::is_object) {
            notes
                .count("beginnings that stand in another session's file, counted as system prompt");
        }
        let parent = text(meta, "forked_from_id")
            .or_else(|| text(meta, "id").filter(|_| self.parts.session_id.is_some()));
        if self.parts.forked_from.is_none() && parent != self.parts.session_id.as_deref() {
            self.parts.forked_from = parent.map(str::to_owned);
        }
        if self.parts.session_id.is_none() {
            self.parts.session_id = text(meta, "id").map(str::to_owned);
            self.parts.cwd = text(meta, "cwd").map(str::to_owned);
            if let Some(provider) = text(meta, "model_provider") {
                provider.clone_into(&mut self.provider);
            }
        }
    }

    fn item(&mut self, item: &Map<String, Value>, line: u64, notes: &mut Notes) {
        let kind = text(item, "type").unwrap_or_default();
        let call = text(item, "call_id").or_else(|| text(item, "id"));
        match (kind, call) {
            ("message", _) => self.message(item, notes),
            ("agent_message", _) => self.report(item, notes),
            ("reasoning", _) => {
                let thought = [item.get("summary"), item.get("content")]
                    .into_iter()
                    .flatten()
                    .flat_map(texts_of)
                    .collect::<Vec<_>>()
                    .join("\n\n");
                if !thought.is_empty() {
                    self.say(thinking_block(&thought, None));
                }
            }
            // What the provider itself runs has no output as the model saw it.
            (kind, _) if OF_PROVIDER_KINDS.contains(&kind) => {
                notes.count(OF_PROVIDER);
            }
            (kind, Some(id)) if kind.ends_with("_call") => {
                self.say(call_block(id, tool_of(item, kind), Some(&arguments_in(item))));
                // What the provider asked of an MCP server has its answer in place.
                let output = text(item, "output");
                if let Some(shown) = output.or_else(|| text(item, "error")) {
                    let shown = said(shown).into_iter().collect();
                    self.push(Message::result(id, shown, output.is_none(), self.now));
                }
            }
            (kind, Some(id)) if kind.ends_with("_output") => {
                let output =
                    item.get("output").or_else(|| item.get("tools")).unwrap_or(&Value::Null);
                let shown = blocks_of(output, notes);
                self.push(Message::result(id, shown, has_failed(output), self.now));
            }
            ("ghost_snapshot" | "compaction" | "compaction_summary", _) => {}
            _ => notes.count_at("items of an unknown type left out", line),
        }
    }

    /// Takes what another agent says to the model: a sub-agent's report, or its task.
    fn report(&mut self, said: &Map<String, Value>, notes: &mut Notes) {
        let content = said.get("content").unwrap_or(&Value::Null);
        let texts: Vec<Value> =
            content.as_str().into_iter().chain(texts_of(content)).map(text_block).collect();
        if texts.is_empty() {
            notes.count("messages of other agents whose text is not in the file");
        } else {
            self.push(Message::user(Value::Array(texts), self.now, Some(INJECTED)));
        }
    }

    fn message(&mut self, item: &Map<String, Value>, notes: &mut Notes) {
        let blocks = blocks_of(item.get("content").unwrap_or(&Value::Null), notes);
        if text(item, "role") == Some("assistant") && self.is_imported {
            notes.count("answers imported from another program, which are no requests of this one");
            self.push(Message::user(Value::Array(blocks), self.now, Some(INJECTED)));
            return;
        }
        if text(item, "role") == Some("assistant") {
            for block in blocks {
                self.say(block);
            }
            return;
        }
        if blocks.is_empty() {
            return;
        }
        let first = blocks.first().and_then(|block| block["text"].as_str()).unwrap_or_default();
        let start = first.trim_start();
        let is_put_in = text(item, "role") != Some("user")
            || is_of_kind_put_in(item)
            || INJECTED_STARTS.iter().any(|known| start.starts_with(known));
        self.push(Message::user(Value::Array(blocks), self.now, is_put_in.then_some(INJECTED)));
    }

    fn event(&mut self, event: &Map<String, Value>, notes: &mut Notes) {
        match text(event, "type") {
            Some("task_started") => {
                let turn = text(event, "turn_id");
                self.is_imported = turn.is_some_and(|id| id.starts_with(IMPORTED));
            }
            Some("token_count") if !self.is_imported => self.counted(event, notes),
            Some("thread_rolled_back") => {
                let turns = event.get("num_turns").and_then(Value::as_u64).unwrap_or_default();
                self.roll_back(turns, notes);
            }
            // The rest repeats the items for the user interface.
            _ => {}
        }
    }

    /// Handles a usage report, which ends a response.
    fn counted(&mut self, event: &Map<String, Value>, notes: &mut Notes) {
        let Some(info) = event.get("info").filter(|info| info.is_object()) else { return };
        let total = info.get("total_token_usage");
        if total.is_some() && total == self.total.as_ref() {
            // Only the limits are new, possibly within a response.
            return;
        }
        self.total = total.cloned();
        self.open = None;
        let last = info.get("last_token_usage");
        let message = self.parts.messages.iter_mut().rev().find(|message| message.is_assistant());
        let (Some(last), Some(message)) = (last, message.filter(|message| !message.has("usage")))
        else {
            if last.is_some() {
                notes
                    .count("requests that the provider counted, whose answers are not in the file");
            }
            return;
        };
        let count = |key: &str| last.get(key).and_then(count_of).unwrap_or_default();
        let (cached, written) = (count("cached_input_tokens"), count("cache_write_input_tokens"));
        let input = count("input_tokens").saturating_sub(cached).saturating_sub(written);
        message.set("usage", usage(input, count("output_tokens"), cached, written));
    }

    /// Drops the last turns, because the person went back.
    fn roll_back(&mut self, turns: u64, notes: &mut Notes) {
        self.open = None;
        for _ in 0..turns {
            let Some(at) = self.parts.messages.iter().rposition(Message::is_typed) else { return };
            let left: Vec<Message> = self.parts.messages.drain(at..).collect();
            self.parts.left = self.parts.left + counts_of(&left);
            notes.count_all("messages of branches that were left", left.len());
        }
    }

    fn compacted(&mut self, compacted: &Map<String, Value>, notes: &mut Notes) {
        match text(compacted, "message").filter(|summary| !summary.is_empty()) {
            Some(summary) => self.push(Message::summary(summary, self.now)),
            None => notes.count("compactions whose summary is not in the file"),
        }
    }

    /// Adds a block to the response.
    fn say(&mut self, block: Value) {
        let at = self.open.unwrap_or_else(|| {
            self.parts.messages.push(Message::assistant(&self.provider, &self.model, self.now));
            self.parts.messages.len() - 1
        });
        self.open = Some(at);
        self.parts.messages[at].say([block], false);
    }

    /// Adds a message that ends the response.
    fn push(&mut self, mut message: Message) {
        self.open = None;
        message.stamp(self.now);
        self.parts.messages.push(message);
    }
}

/// A call's tool: its name, or the one implied by its type (`local_shell_call`).
fn tool_of<'a>(item: &'a Map<String, Value>, kind: &'a str) -> &'a str {
    text(item, "name").unwrap_or_else(|| kind.trim_end_matches("_call"))
}

/// A call's arguments: a function has JSON in a string, a custom tool a text, the local shell an
/// action.
fn arguments_in(item: &Map<String, Value>) -> Value {
    if let Some(input) = item.get("input") {
        return json!({ "input": input });
    }
    let given = item.get("arguments").or_else(|| item.get("action"));
    arguments_of(given.unwrap_or(&Value::Null), "arguments")
}

/// Whether newer versions say that nothing in a user's message is a person's.
fn is_of_kind_put_in(item: &Map<String, Value>) -> bool {
    let told = item.get("internal_chat_message_metadata_passthrough");
    let kinds = told.and_then(|told| told.get("content_item_kinds")?.as_array());
    let is_typed = |kind: &Value| {
        kind.as_str()
            .is_none_or(|kind| matches!(kind.split('.').next(), Some("" | "unknown" | "user")))
    };
    kinds.is_some_and(|kinds| !kinds.is_empty() && !kinds.iter().any(is_typed))
}
