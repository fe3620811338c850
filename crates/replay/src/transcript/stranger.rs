//! Names the files of other programs that no reader takes, so that a person learns what a file is and
//! why it is refused. Must not recognise what a reader takes.

use serde_json::{Map, Value};

use super::lines::Line;

/// What a line says about its file; goes on after `line 1 of FILE`.
type Refusal = (fn(&Line<'_>) -> bool, &'static str);

/// What is known, most telling marks first.
const KNOWN: [Refusal; 17] = [
    (is_cursor, "is of Cursor's transcripts, which have no outputs of tools"),
    (is_trajectory, "is of OpenClaw's record of runs; the session is in the file beside it"),
    (is_printed_by_cursor, "is what Cursor prints, not a session it keeps"),
    (is_printed_by_either, "is what Cursor or Claude Code prints, not a session they keep"),
    (
        is_printed_by_claude,
        "is what Claude Code prints; the session is a file in `~/.claude/projects`",
    ),
    (is_printed_by_gemini, "is what Gemini CLI prints; the session is a file in `~/.gemini/tmp`"),
    (is_printed_by_codex, "is what Codex prints; the session is a file in `~/.codex/sessions`"),
    (is_history_of_codex, "is of Codex's history of prompts; sessions are in `~/.codex/sessions`"),
    (is_index_of_codex, "is of Codex's list of sessions; they are in `~/.codex/sessions`"),
    (
        is_history_of_claude,
        "is of Claude Code's history of prompts; sessions are in `~/.claude/projects`",
    ),
    (is_grok, "is of the chat history of Grok, which no reader takes yet"),
    (is_goose, "is of a session of Goose, which no reader takes yet"),
    (is_droid, "is of a session of Factory's Droid, which no reader takes yet"),
    (is_amp, "is of a thread of Amp, which no reader takes yet"),
    (
        is_gemini_checkpoint,
        "is of a checkpoint of Gemini CLI; sessions are in `~/.gemini/tmp/*/chats`",
    ),
    (
        is_history_of_gemini,
        "is of Gemini CLI's history of prompts; sessions are in `~/.gemini/tmp/*/chats`",
    ),
    (is_typed_message, "is a message under a name and form of its program's own"),
];

/// What the file of a line is, if it is known and nothing that a reader takes.
pub(super) fn refusal(line: &Line<'_>) -> Option<&'static str> {
    KNOWN.iter().find(|(is, _)| is(line)).map(|(_, refusal)| *refusal)
}

fn has(line: &Line<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| line.object.contains_key(*key))
}

fn is_type(line: &Line<'_>, kinds: &[&str]) -> bool {
    line.text_at("type").is_some_and(|kind| kinds.contains(&kind))
}

fn is_cursor(line: &Line<'_>) -> bool {
    let message = line.object_at("message");
    line.text_at("role").is_some()
        && !line.object.contains_key("type")
        && message.is_some_and(|message| message.contains_key("content"))
}

fn is_trajectory(line: &Line<'_>) -> bool {
    line.text_at("traceSchema").is_some()
}

fn is_printed_by_cursor(line: &Line<'_>) -> bool {
    has(line, &["session_id"])
        && (is_type(line, &["tool_call"]) || (has(line, &["apiKeySource", "permissionMode"])))
        && !has(line, &["tools"])
}

/// A part of what was printed: what tells the two apart is in other lines.
fn is_printed_by_either(line: &Line<'_>) -> bool {
    has(line, &["session_id", "message"])
        && is_type(line, &["user", "assistant"])
        && !has(line, &["uuid"])
        && !has(line, &["parent_tool_use_id"])
}

fn is_printed_by_claude(line: &Line<'_>) -> bool {
    has(line, &["session_id"])
        && (is_type(line, &["stream_event"])
            || (is_type(line, &["system"]) && has(line, &["subtype", "tools"]))
            || (is_type(line, &["user", "assistant"]) && has(line, &["message"])))
}

fn is_printed_by_gemini(line: &Line<'_>) -> bool {
    (is_type(line, &["init"]) && has(line, &["session_id", "model"]))
        || (is_type(line, &["tool_use"]) && has(line, &["tool_name", "tool_id"]))
        || (is_type(line, &["tool_result"]) && has(line, &["tool_id", "status"]))
        || (is_type(line, &["message"]) && has(line, &["role", "delta"]))
}

fn is_printed_by_codex(line: &Line<'_>) -> bool {
    (is_type(line, &["thread.started"]) && has(line, &["thread_id"]))
        || (is_type(line, &["item.started", "item.completed"]) && has(line, &["item"]))
        || (has(line, &["id"]) && line.object_at("msg").is_some_and(|msg| msg.contains_key("type")))
}

fn is_history_of_codex(line: &Line<'_>) -> bool {
    has(line, &["session_id", "ts", "text"])
}

fn is_index_of_codex(line: &Line<'_>) -> bool {
    has(line, &["id", "thread_name", "updated_at"])
}

fn is_history_of_claude(line: &Line<'_>) -> bool {
    has(line, &["display", "project"])
}

fn is_grok(line: &Line<'_>) -> bool {
    is_type(line, &["backend_tool_call"])
        || (is_type(line, &["tool_result"]) && has(line, &["tool_call_id"]))
        || (is_type(line, &["assistant"]) && has(line, &["content", "model_id"]))
        || (is_type(line, &["user"]) && line.object.get("content").is_some_and(Value::is_array))
}

fn is_goose(line: &Line<'_>) -> bool {
    let content = line.object.get("content").and_then(Value::as_array);
    let kinds = content.into_iter().flatten().filter_map(|block| block.get("type")?.as_str());
    has(line, &["working_dir", "message_count"])
        || kinds.into_iter().any(|kind| matches!(kind, "toolRequest" | "toolResponse"))
}

fn is_droid(line: &Line<'_>) -> bool {
    is_type(line, &["session_start"]) && has(line, &["id"])
}

fn is_amp(line: &Line<'_>) -> bool {
    let first = line.object.get("messages").and_then(|list| list.get(0)?.get("messageId"));
    line.text_at("id").is_some_and(|id| id.starts_with("T-")) && first.is_some()
}

/// Also a list of contents of Gemini's API by another program: no reader takes those.
fn is_gemini_checkpoint(line: &Line<'_>) -> bool {
    let is_content = |content: &Map<String, Value>| {
        let parts = content.get("parts").and_then(Value::as_array);
        // Other lists of parts say the type of each.
        let is_part = |part: &Value| part.get("type").is_none();
        content.contains_key("role") && parts.is_some_and(|parts| parts.iter().all(is_part))
    };
    let histories = ["history", "clientHistory"].iter().filter_map(|key| line.object.get(*key));
    let mut contents = histories.filter_map(|list| list.get(0)?.as_object());
    is_content(&line.object) || contents.any(is_content)
}

fn is_history_of_gemini(line: &Line<'_>) -> bool {
    has(line, &["sessionId", "messageId"]) && line.text_at("message").is_some()
}

/// The first line that holds a conversation, and what is wrong with that.
pub(super) fn data_set(lines: &[Line<'_>]) -> Option<(u64, String)> {
    let line = lines.iter().find(|line| is_data_set(line))?;
    let problem = "holds a whole conversation, as data sets do; a file of one conversation is read";
    Some((line.number, problem.to_owned()))
}

fn is_data_set(line: &Line<'_>) -> bool {
    ["messages", "conversations", "conversation"].iter().any(|key| {
        let first = line.object.get(*key).and_then(|list| list.as_array()?.first());
        first.is_some_and(|first| {
            ["role", "from"].iter().any(|key| first.get(*key).is_some_and(Value::is_string))
        })
    })
}

/// Such as `{"role":"computer","type":"console","content":…}`.
fn is_typed_message(line: &Line<'_>) -> bool {
    line.text_at("role").is_some()
        && has(line, &["content"])
        && line.text_at("type").is_some_and(|kind| kind != "message")
}
