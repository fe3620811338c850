//! What each reader takes, by its own marks, and what none takes: requests, calls and texts of
//! small files, one by one.

use std::path::Path;

use replay::transcript::{Counts, Format, Transcript};
use serde_json::{Value, json};

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn read(text: &str) -> Transcript {
    Transcript::parse(Path::new("x.jsonl"), text.as_bytes()).unwrap()
}

fn refused(text: &str) -> String {
    let error = Transcript::parse(Path::new("x.jsonl"), text.as_bytes()).unwrap_err();
    assert_eq!(error.code(), "MALFORMED_TRANSCRIPT");
    error.to_string()
}

/// A transcript in short: a word for each message and its texts, calls and results.
fn gist(transcript: &Transcript) -> Vec<String> {
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap().to_owned(),
        Some("thinking") => format!("({})", block["thinking"].as_str().unwrap()),
        Some("toolCall") => {
            format!(
                "{}:{}{}",
                block["id"].as_str().unwrap(),
                block["name"].as_str().unwrap(),
                block["arguments"]
            )
        }
        other => format!("{other:?}"),
    };
    let message = |json: &String| {
        let message: Value = serde_json::from_str(json).unwrap();
        let content = match &message["content"] {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => blocks.iter().map(block).collect::<Vec<_>>().join(" "),
            other => panic!("{other}"),
        };
        let who = match message["role"].as_str().unwrap() {
            "user" if message["meta"].is_string() => "put in",
            "toolResult" if message["isError"] == true => "failed",
            "toolResult" => "result",
            role => role,
        };
        format!("{who}: {content}")
    };
    transcript.messages.iter().map(message).collect()
}

fn counts(requests: u64, calls: u64) -> Counts {
    Counts { requests, calls }
}

#[test]
fn a_list_of_anthropic_messages_is_read_as_one() {
    let text = lines(&[
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "user", "content": "Look.", "timestamp": "2026-07-01T10:00:00Z" }),
        json!({ "role": "assistant", "id": "msg_1", "type": "message", "model": "claude-x", "stop_reason": "tool_use",
            "content": [
                { "type": "thinking", "thinking": "Hm.", "signature": "s" },
                { "type": "tool_use", "id": "t1", "name": "Bash", "input": { "command": "ls" } },
                { "type": "tool_use", "id": "t2", "name": "Read", "input": { "file_path": "a" } },
            ],
            "usage": { "input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 11 } }),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t2", "content": [{ "type": "text", "text": "no" }], "is_error": true },
            { "type": "tool_result", "tool_use_id": "t1", "content": "a" },
            { "type": "text", "text": "Go on." },
        ] }),
        json!({ "role": "assistant", "content": "Done." }),
    ]);
    let read = read(&text);
    assert_eq!(read.format, Format::Anthropic);
    assert_eq!(
        gist(&read),
        [
            "user: Look.",
            "assistant: (Hm.) t1:Bash{\"command\":\"ls\"} t2:Read{\"file_path\":\"a\"}",
            "failed: no",
            "result: a",
            "user: Go on.",
            "assistant: Done.",
        ]
    );
    assert_eq!((read.held, read.read), (counts(2, 2), counts(2, 2)));
    let answer: Value = serde_json::from_str(&read.messages[1]).unwrap();
    assert_eq!(answer["usage"]["cacheRead"], 11);
    assert_eq!((&answer["provider"], &answer["model"]), (&json!("anthropic"), &json!("claude-x")));
    assert!(read.notes.contains(&"system messages left out: 1".to_owned()), "{:?}", read.notes);
}

#[test]
fn a_list_of_openai_messages_is_read_as_one() {
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "bash", "arguments": arguments } });
    let text = lines(&[
        json!({ "role": "developer", "content": "Be brief." }),
        json!({ "role": "_checkpoint", "id": 0 }),
        json!({ "role": "user", "content": [
            { "type": "text", "text": "Look." },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBO" } },
        ], "timestamp": 1_780_000_000 }),
        json!({ "role": "assistant", "content": null, "reasoning_content": "Hm.",
            "tool_calls": [call("c1", "{\"command\":\"ls\"}"), call("c2", "not JSON")] }),
        json!({ "role": "tool", "tool_call_id": "c1", "content": "a" }),
        json!({ "role": "tool", "tool_call_id": "c2", "content": [{ "type": "text", "text": "b" }] }),
        json!({ "role": "assistant", "content": "", "function_call": { "name": "old", "arguments": "{}" } }),
        json!({ "role": "function", "name": "old", "content": "c" }),
        json!({ "role": "assistant", "content": "Done.", "model": "gpt-x", "usage": {
            "prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 20 } } }),
    ]);
    let read = read(&text);
    assert_eq!(read.format, Format::OpenAi);
    assert_eq!(
        gist(&read),
        [
            "user: Look. Some(\"image\")",
            "assistant: (Hm.) c1:bash{\"command\":\"ls\"} c2:bash{\"input\":\"not JSON\"}",
            "result: a",
            "result: b",
            "assistant: call_5:old{}",
            "result: c",
            "assistant: Done.",
        ]
    );
    assert_eq!((read.held, read.read), (counts(3, 3), counts(3, 3)));
    let last: Value = serde_json::from_str(read.messages.last().unwrap()).unwrap();
    assert_eq!(
        (last["usage"]["input"].as_i64(), last["usage"]["cacheRead"].as_i64()),
        (Some(10), Some(20))
    );
    let first: Value = serde_json::from_str(&read.messages[0]).unwrap();
    assert_eq!(first["timestamp"], 1_780_000_000_000_i64, "seconds become ms");
}

#[test]
fn a_list_of_pi_ais_messages_needs_no_first_line() {
    let text = lines(&[
        json!({ "role": "user", "content": "Look.", "timestamp": 1 }),
        json!({ "role": "assistant", "timestamp": 2,
            "content": [{ "type": "toolCall", "id": "c", "name": "ls", "arguments": {} }] }),
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "ls", "content": [], "timestamp": 3 }),
    ]);
    let read = read(&text);
    assert_eq!((read.format, read.read), (Format::Neutral, counts(1, 1)));
}

#[test]
fn a_session_of_qwen_code_is_read_with_its_outputs() {
    let record = |uuid: &str, parent: Option<&str>, kind: &str, more: Value| {
        let mut record = json!({ "uuid": uuid, "parentUuid": parent, "sessionId": "q", "type": kind, "cwd": "/w",
            "timestamp": "2026-07-01T10:00:00Z", "version": "0.23.3" });
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let parts = |role: &str, parts: Value| json!({ "message": { "role": role, "parts": parts } });
    let call = |id: &str| json!({ "functionCall": { "id": id, "name": "read_file", "args": { "path": id } } });
    let response = |id: &str, output: &str| json!({ "functionResponse": { "id": id, "name": "read_file", "response": { "output": output } } });
    let mut answer =
        parts("model", json!([{ "text": "Hm.", "thought": true }, { "text": "I look." }]));
    answer["model"] = "qwen3-coder".into();
    answer["usageMetadata"] = json!({ "promptTokenCount": 90, "cachedContentTokenCount": 60, "candidatesTokenCount": 5,
        "thoughtsTokenCount": 4 });
    let text = lines(&[
        record("m", None, "system", json!({ "subtype": "session_model", "systemPayload": {} })),
        record("u1", Some("m"), "user", parts("user", json!([{ "text": "Look." }]))),
        record("a1", Some("u1"), "assistant", answer),
        record("a1", Some("u1"), "assistant", parts("model", json!([call("c1"), call("c2")]))),
        record(
            "r1",
            Some("a1"),
            "tool_result",
            parts("user", json!([response("c1", "one"), response("c2", "two")])),
        ),
        record("left", Some("r1"), "user", parts("user", json!([{ "text": "Taken back." }]))),
        record("a3", Some("left"), "assistant", parts("model", json!([{ "text": "Gone." }]))),
        record(
            "k",
            Some("r1"),
            "system",
            json!({ "subtype": "chat_compression", "systemPayload": {
            "compressedHistory": [{ "role": "user", "parts": [{ "text": "So far." }] }] } }),
        ),
        record("n", Some("k"), "user", {
            let mut note = parts("user", json!([{ "text": "It ended." }]));
            note["subtype"] = "notification".into();
            note
        }),
        record("a2", Some("n"), "assistant", parts("model", json!([{ "text": "Done." }]))),
        record("end", Some("a2"), "system", json!({ "subtype": "custom_title" })),
    ]);
    let read = read(&text);
    assert_eq!(read.format, Format::Qwen);
    assert_eq!(
        gist(&read),
        [
            "user: Look.",
            "assistant: (Hm.) I look. c1:read_file{\"path\":\"c1\"} c2:read_file{\"path\":\"c2\"}",
            "result: one",
            "result: two",
            "put in: So far.",
            "put in: It ended.",
            "assistant: Done.",
        ]
    );
    assert_eq!((read.session_id.as_deref(), read.cwd.as_deref()), (Some("q"), Some("/w")));
    assert_eq!((read.held, read.left, read.read), (counts(3, 2), counts(1, 0), counts(2, 2)));
    let answer: Value = serde_json::from_str(&read.messages[1]).unwrap();
    assert_eq!(
        answer["usage"],
        json!({ "input": 30, "output": 9, "cacheRead": 60, "cacheWrite": 0 })
    );
}

#[test]
fn files_of_other_programs_are_refused_by_name() {
    let text = |kind: &str, text: &str| json!([{ "type": kind, "text": text }]);
    let message = |role: &str, content: Value| json!({ "role": role, "content": content });
    for (name, given) in [
        (
            "Cursor",
            vec![json!({ "role": "user", "message": { "content": text("text", "Fix it.") } })],
        ),
        (
            "OpenClaw's record",
            vec![json!({ "traceSchema": "openclaw-trajectory", "type": "session.started",
            "sessionId": "s", "data": {} })],
        ),
        (
            "Gemini CLI prints",
            vec![
                json!({ "type": "message", "role": "user", "content": "Hi.", "timestamp": "2026-07-01T10:00:00Z" }),
                json!({ "type": "tool_use", "tool_name": "ls", "tool_id": "t", "parameters": {} }),
            ],
        ),
        (
            "Gemini CLI prints",
            vec![json!({ "type": "init", "session_id": "s", "model": "gemini-x" })],
        ),
        (
            "Claude Code prints",
            vec![
                json!({ "type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"], "cwd": "/w" }),
                json!({ "type": "assistant", "session_id": "s", "uuid": "u", "message": message("assistant", json!([])) }),
            ],
        ),
        (
            "Cursor prints",
            vec![
                json!({ "type": "system", "subtype": "init", "session_id": "s", "apiKeySource": "env",
            "permissionMode": "default" }),
            ],
        ),
        ("Codex prints", vec![json!({ "type": "thread.started", "thread_id": "t" })]),
        ("Codex's history", vec![json!({ "session_id": "s", "ts": 1, "text": "Hi." })]),
        ("Codex's list", vec![json!({ "id": "s", "thread_name": "Hi", "updated_at": "2026" })]),
        (
            "Claude Code's history",
            vec![json!({ "display": "Hi.", "timestamp": 1, "project": "/w", "sessionId": "s" })],
        ),
        (
            "Grok",
            vec![
                json!({ "type": "system", "content": "You are Grok." }),
                json!({ "type": "user", "content": text("text", "Hi.") }),
                json!({ "type": "reasoning", "id": "r", "summary": [] }),
                json!({ "type": "tool_result", "tool_call_id": "c", "content": "out" }),
            ],
        ),
        (
            "Goose",
            vec![
                json!({ "working_dir": "/w", "message_count": 2, "description": "" }),
                message("user", text("text", "Hi.")),
            ],
        ),
        ("Goose", vec![message("assistant", json!([{ "type": "toolRequest", "id": "c" }]))]),
        ("Droid", vec![json!({ "type": "session_start", "id": "d", "title": "t" })]),
        ("Gemini's API", vec![json!({ "role": "model", "parts": [{ "text": "Hi." }] })]),
        ("data sets", vec![json!({ "messages": [message("user", json!("Hi."))] })]),
        ("data sets", vec![json!({ "conversations": [{ "from": "human", "value": "Hi." }] })]),
        (
            "form of its program's own",
            vec![json!({ "role": "computer", "type": "console", "content": "out" })],
        ),
        ("the role `narrator`", vec![message("narrator", json!("Once."))]),
        (
            "a block `tool-call`",
            vec![message("assistant", json!([{ "type": "tool-call", "toolCallId": "c" }]))],
        ),
        (
            "is no message",
            vec![
                message("user", json!("Hi.")),
                json!({ "event": "tool", "output": "out" }),
                message("assistant", json!("Bye.")),
            ],
        ),
        (
            "mixes",
            vec![
                message(
                    "assistant",
                    json!([{ "type": "toolCall", "id": "c", "name": "ls", "arguments": {} }]),
                ),
                message(
                    "user",
                    json!([{ "type": "tool_result", "tool_use_id": "c", "content": "" }]),
                ),
            ],
        ),
        ("no session format", vec![json!({ "type": "user", "message": "Hi." })]),
        (
            "no session format",
            vec![json!({ "type": "message", "id": "m", "parentId": null,
            "message": message("user", text("text", "Hi.")) })],
        ),
        ("no session format", vec![json!({ "type": "reasoning", "summary": [] })]),
        ("no session format", vec![json!({ "type": "session", "id": "s" })]),
    ] {
        let told = refused(&lines(&given));
        assert!(told.contains(name), "{name}: {told}");
    }
}

/// The lines of a session of Claude Code.
struct Claude(Vec<Value>);

impl Claude {
    fn put(&mut self, id: &str, parent: &str, more: Value) -> &mut Self {
        let seconds = self.0.len();
        let mut line = json!({ "uuid": id, "isSidechain": false, "sessionId": "s", "cwd": "/w",
            "parentUuid": if parent.is_empty() { Value::Null } else { parent.into() },
            "timestamp": format!("2026-07-01T10:00:{seconds:02}Z") });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.0.push(line);
        self
    }

    fn user(&mut self, id: &str, parent: &str, text: &str) -> &mut Self {
        self.put(
            id,
            parent,
            json!({ "type": "user", "message": { "role": "user", "content": text } }),
        )
    }

    fn result(&mut self, id: &str, parent: &str, call: &str) -> &mut Self {
        let content = json!([{ "type": "tool_result", "tool_use_id": call, "content": format!("output of {call}") }]);
        self.put(
            id,
            parent,
            json!({ "type": "user", "message": { "role": "user", "content": content } }),
        )
    }

    /// An answer of one line; `input`: the tokens that its request had, 0 if that is not recorded.
    fn answer(&mut self, id: &str, parent: &str, input: u64, block: Value) -> &mut Self {
        let mut message = json!({ "id": format!("msg_{id}"), "role": "assistant", "model": "claude-x", "content": [block] });
        if input > 0 {
            message["usage"] = json!({ "input_tokens": 1, "cache_read_input_tokens": input - 1, "output_tokens": 9 });
        }
        self.put(id, parent, json!({ "type": "assistant", "message": message }))
    }

    fn call(&mut self, id: &str, parent: &str, input: u64, call: &str) -> &mut Self {
        self.answer(
            id,
            parent,
            input,
            json!({ "type": "tool_use", "id": call, "name": "Bash", "input": {} }),
        )
    }

    fn say(&mut self, id: &str, parent: &str, input: u64, text: &str) -> &mut Self {
        self.answer(id, parent, input, json!({ "type": "text", "text": text }))
    }

    fn hook(&mut self, id: &str, parent: &str) -> &mut Self {
        self.put(id, parent, json!({ "type": "progress", "data": { "type": "hook_progress" } }))
    }

    fn attachment(&mut self, id: &str, parent: &str, attachment: Value) -> &mut Self {
        self.put(id, parent, json!({ "type": "attachment", "attachment": attachment }))
    }

    fn read(&self) -> Transcript {
        read(&lines(&self.0))
    }

    fn texts(&self) -> Vec<String> {
        gist(&self.read())
            .iter()
            .map(|message| message.split_once(": ").unwrap().1.to_owned())
            .collect()
    }
}

#[test]
fn a_message_behind_a_hook_follows_the_one_before() {
    // The hook of the first call is noted when the turn has ended, and the next message names it.
    for kind in ["progress", "attachment"] {
        let mut session = Claude(Vec::new());
        session.user("u1", "", "One.").call("a1", "u1", 0, "t1").result("r1", "a1", "t1");
        session.call("a2", "r1", 0, "t2").result("r2", "a2", "t2").say("a3", "r2", 0, "First.");
        match kind {
            "progress" => session.hook("p1", "a1").hook("p2", "p1"),
            _ => {
                let hook = json!({ "type": "hook_success", "stdout": "unseen" });
                session.attachment("p1", "a1", hook.clone()).attachment("p2", "p1", hook)
            }
        };
        session.user("u2", "p2", "Two.").say("a4", "u2", 0, "Second.");
        let read = session.read();
        assert_eq!(
            session.texts(),
            [
                "One.",
                "t1:Bash{}",
                "output of t1",
                "t2:Bash{}",
                "output of t2",
                "First.",
                "Two.",
                "Second."
            ],
            "{kind}"
        );
        assert_eq!((read.held, read.left, read.read), (counts(4, 2), counts(0, 0), counts(4, 2)));
        assert_eq!(read.notes, Vec::<String>::new());
    }
}

#[test]
fn who_goes_back_behind_a_hook_is_told_by_usage() {
    let mut session = Claude(Vec::new());
    session.user("u1", "", "One.").say("a1", "u1", 20_000, "First.");
    session.user("u2", "a1", "Two.").say("a2", "u2", 25_000, "Second.");
    session.hook("p", "a1").user("u3", "p", "Three.").say("a3", "u3", 20_100, "Third.");
    assert_eq!(session.texts(), ["One.", "First.", "Three.", "Third."]);
    assert_eq!(session.read().left, counts(1, 0));
    // A hook from which two messages follow is a place to go back to.
    let mut session = Claude(Vec::new());
    session.user("u1", "", "One.").say("a1", "u1", 0, "First.").hook("p", "a1");
    session.user("u2", "p", "Two.").say("a2", "u2", 0, "Second.");
    session.user("u3", "p", "Three.").say("a3", "u3", 0, "Third.");
    assert_eq!(session.texts(), ["One.", "First.", "Three.", "Third."]);
}

#[test]
fn who_names_an_earlier_message_went_back() {
    for (inputs, is_left) in
        [([0, 0, 0], true), ([20_000, 20_200, 20_150], true), ([20_000, 24_000, 24_900], false)]
    {
        let long = "words of an answer ".repeat(150);
        let mut session = Claude(Vec::new());
        session.user("u1", "", "One.").say("a1", "u1", inputs[0], "First.");
        session.user("u2", "a1", "Two.").say("a2", "u2", inputs[1], &long);
        session.user("u3", "a1", "Three.").say("a3", "u3", inputs[2], "Third.");
        let expected: &[&str] = if is_left {
            &["One.", "First.", "Three.", "Third."]
        } else {
            &["One.", "First.", "Two.", &long, "Three.", "Third."]
        };
        assert_eq!(session.texts(), expected, "{inputs:?}");
        let read = session.read();
        assert_eq!(
            (read.held, read.left.requests),
            (counts(3, 0), u64::from(is_left)),
            "{inputs:?}"
        );
    }
}

#[test]
fn parallel_calls_are_one_request_behind_hooks_too() {
    let mut session = Claude(Vec::new());
    session.user("u1", "", "One.");
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "Bash", "input": {} });
    for (id, parent, block) in [("a", "u1", call("t1")), ("b", "a", call("t2"))] {
        let message =
            json!({ "id": "msg", "role": "assistant", "model": "claude-x", "content": [block] });
        session.put(id, parent, json!({ "type": "assistant", "message": message }));
    }
    session.hook("p1", "a").hook("p2", "b").result("r1", "a", "t1").result("r2", "b", "t2");
    session.hook("p3", "p1").say("z", "r1", 0, "Done.");
    assert_eq!(
        session.texts(),
        ["One.", "t1:Bash{} t2:Bash{}", "output of t1", "output of t2", "Done."]
    );
    assert_eq!(session.read().read, counts(2, 2));
}

#[test]
fn attachments_are_messages_where_the_model_saw_them() {
    let mut session = Claude(Vec::new());
    session.user("u1", "", "One.");
    session.attachment(
        "b",
        "u1",
        json!({ "type": "mcp_instructions_delta", "addedBlocks": ["## a\nAsk.", "## b"] }),
    );
    session.attachment(
        "c",
        "b",
        json!({ "type": "deferred_tools_delta", "addedLines": ["X", "Y"], "addedNames": ["X"] }),
    );
    session.attachment(
        "d",
        "c",
        json!({ "type": "selected_lines_in_ide", "filename": "a", "content": "let x;" }),
    );
    session.attachment(
        "e",
        "d",
        json!({ "type": "prompt_snapshot", "systemPrompt": ["unseen here"] }),
    );
    session.attachment("f", "e", json!({ "type": "task_reminder", "content": [], "itemCount": 0 }));
    session.put(
        "g",
        "f",
        json!({ "type": "attachment", "attachment": { "type": "file", "content": "raw" },
        "rendered": [{ "content": "1→raw" }] }),
    );
    session.say("z", "g", 0, "Done.");
    assert_eq!(
        gist(&session.read()),
        [
            "user: One.",
            "put in: ## a\nAsk.\n## b",
            "put in: X\nY",
            "put in: let x;",
            "put in: 1→raw",
            "assistant: Done."
        ]
    );
    assert_eq!(session.read().notes, ["reminders whose text is not in the file: 1"]);
}

#[test]
fn the_report_of_a_sub_agent_of_codex_is_kept() {
    let item = |payload: Value| json!({ "type": "response_item", "timestamp": "2026-07-01T10:00:00Z", "payload": payload });
    let said = |kind: &str, text: &str| json!([{ "type": kind, "text": text }]);
    let text = lines(&[
        json!({ "type": "session_meta", "timestamp": "2026-07-01T10:00:00Z", "payload": { "id": "c", "cwd": "/w" } }),
        item(json!({ "type": "message", "role": "user", "content": said("input_text", "Ask.") })),
        item(
            json!({ "type": "function_call", "call_id": "c1", "name": "spawn_agent", "arguments": "{}" }),
        ),
        item(json!({ "type": "function_call_output", "call_id": "c1", "output": "started" })),
        item(
            json!({ "type": "agent_message", "author": "/root/a", "recipient": "/root", "content": said("input_text", "Found it.") }),
        ),
        item(
            json!({ "type": "agent_message", "author": "/root/a", "content": [{ "type": "encrypted_content", "encrypted_content": "x" }] }),
        ),
        item(
            json!({ "type": "message", "role": "assistant", "content": said("output_text", "It is found.") }),
        ),
    ]);
    let read = read(&text);
    assert_eq!(
        gist(&read),
        [
            "user: Ask.",
            "assistant: c1:spawn_agent{}",
            "result: started",
            "put in: Found it.",
            "assistant: It is found."
        ]
    );
    assert_eq!(read.notes, ["reports of sub-agents whose text is not in the file: 1"]);
}

#[test]
fn one_session_in_any_encoding_reads_the_same() {
    let mut session = Claude(Vec::new());
    session.user("u1", "", "Ä 😀").say("a1", "u1", 0, "Done.");
    let text = lines(&session.0);
    let expected = read(&text);
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    let crlf = text.replace('\n', "\r\n");
    for bytes in [
        wide(&format!("\u{feff}{crlf}")),
        format!("\u{feff}{crlf}").into_bytes(),
        crlf.clone().into_bytes(),
    ] {
        assert_eq!(Transcript::parse(Path::new("x.jsonl"), &bytes).unwrap(), expected);
    }
    let torn = format!("{text}{{\"type\":\"assist");
    let torn = read(&torn);
    assert_eq!((torn.messages, torn.unread_lines), (expected.messages, 0));
    assert_eq!(torn.notes, ["torn last line left out: 1 (line 3)"]);
    let broken = read(&text.replacen('\n', "\n\0\0\n", 1));
    assert_eq!((broken.read, broken.unread_lines), (counts(1, 0), 1));
}
