//! What each reader takes, by its own marks, and what none takes: requests, calls and texts of
//! small files, one by one.

use std::path::Path;

use replay::transcript::{Counts, Format, Transcript};
use serde_json::{Value, json};

pub(super) fn lines(lines: &[Value]) -> String {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n") + "\n"
}

pub(super) fn read(text: &str) -> Transcript {
    Transcript::parse(Path::new("x.jsonl"), text.as_bytes()).unwrap()
}

fn refused(text: &str) -> String {
    let error = Transcript::parse(Path::new("x.jsonl"), text.as_bytes()).unwrap_err();
    assert_eq!(error.code(), "MALFORMED_TRANSCRIPT");
    error.to_string()
}

/// A transcript in short: a word for each message and its texts, calls and results.
pub(super) fn gist(transcript: &Transcript) -> Vec<String> {
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

pub(super) fn counts(requests: u64, calls: u64) -> Counts {
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
        json!({ "role": "assistant", "content": "", "tool_calls": [{ "function": { "name": "of_ollama", "arguments": {} } }] }),
        json!({ "role": "tool", "tool_name": "of_ollama", "content": "d" }),
        json!({ "role": "assistant", "content": "Done.", "model": "gpt-x", "usage": {
            "prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 20 } } }),
        json!({ "role": "exit", "content": "Submitted" }),
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
            "assistant: call_1:old{}",
            "result: c",
            "assistant: call_2:of_ollama{}",
            "result: d",
            "assistant: Done.",
        ]
    );
    assert_eq!((read.held, read.read), (counts(4, 4), counts(4, 4)));
    let last: Value = serde_json::from_str(read.messages.last().unwrap()).unwrap();
    assert_eq!(
        (last["usage"]["input"].as_i64(), last["usage"]["cacheRead"].as_i64()),
        (Some(10), Some(20))
    );
    let first: Value = serde_json::from_str(&read.messages[0]).unwrap();
    assert_eq!(first["timestamp"], 1_780_000_000_000_i64, "seconds become ms");
}

#[test]
fn what_a_cache_had_is_read_in_the_names_of_every_provider() {
    let chat = |more: Value| {
        let mut usage = json!({ "prompt_tokens": 30, "completion_tokens": 2 });
        usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        usage
    };
    for (usage, expected) in [
        (chat(json!({})), [30, 2, 0, 0]),
        (chat(json!({ "prompt_tokens_details": { "cached_tokens": 20 } })), [10, 2, 20, 0]),
        (chat(json!({ "prompt_cache_hit_tokens": 20 })), [10, 2, 20, 0]),
        (chat(json!({ "cached_tokens": 20 })), [10, 2, 20, 0]),
        (
            chat(json!({ "cache_read_input_tokens": 20, "cache_creation_input_tokens": 7 })),
            [3, 2, 20, 7],
        ),
        (
            json!({ "input_tokens": 30, "output_tokens": 2, "input_tokens_details": { "cached_tokens": 20 } }),
            [10, 2, 20, 0],
        ),
        (
            chat(
                json!({ "prompt_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 7 } }),
            ),
            [3, 2, 20, 7],
        ),
        (
            json!({ "input_tokens": 30, "output_tokens": 2,
                "input_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 7 } }),
            [3, 2, 20, 7],
        ),
        (
            json!({ "input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 20 }),
            [10, 2, 20, 0],
        ),
        (
            json!({ "prompt_tokens": 30.0, "completion_tokens": "2", "cached_tokens": 20.0 }),
            [10, 2, 20, 0],
        ),
        (
            json!({ "input_tokens": "10", "output_tokens": 2.0, "cache_read_input_tokens": "20" }),
            [10, 2, 20, 0],
        ),
    ] {
        let answer = json!({ "role": "assistant", "content": "Done.", "usage": usage });
        let read = read(&lines(&[json!({ "role": "user", "content": "Go." }), answer]));
        let counted: Value = serde_json::from_str(&read.messages[1]).unwrap();
        let counted = &counted["usage"];
        let names = ["input", "output", "cacheRead", "cacheWrite"];
        assert_eq!(names.map(|name| counted[name].as_i64().unwrap()), expected, "{usage}");
    }
}

/// The last message's model and what was counted for it.
fn counted(transcript: &Transcript) -> (String, [i64; 4]) {
    let last: Value = serde_json::from_str(transcript.messages.last().unwrap()).unwrap();
    let count = |name: &str| last["usage"][name].as_i64().unwrap();
    let counts = ["input", "output", "cacheRead", "cacheWrite"].map(count);
    (last["model"].as_str().unwrap().to_owned(), counts)
}

#[test]
fn what_agents_count_in_lists_of_their_own_is_read() {
    let asked = json!({ "role": "user", "content": "Go." });
    let tokens = json!({ "tokens": { "prompt": 30, "completion": 2, "cached": 20 }, "cost": 0.1 });
    let cline = json!({ "role": "assistant", "content": "Done.", "metrics": tokens,
        "modelInfo": { "modelId": "claude-x", "providerId": "cline", "mode": "act" } });
    let response = json!({ "model": "claude-x", "usage": {
        "prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 20 } } });
    let mini =
        json!({ "role": "assistant", "content": "Done.", "extra": { "response": response } });
    for answer in [cline, mini] {
        let read = read(&json!([asked, answer]).to_string());
        assert_eq!(counted(&read), ("claude-x".to_owned(), [10, 2, 20, 0]), "{answer}");
    }
    let thought = json!([{ "type": "think", "think": "Hm." }, { "type": "text", "text": "Yes." }]);
    let kimi = lines(&[asked.clone(), json!({ "role": "assistant", "content": thought })]);
    assert_eq!(gist(&read(&kimi)), ["user: Go.", "assistant: (Hm.) Yes."]);
    let summary = json!({ "role": "assistant", "content": "So far.", "isSummary": true });
    let roo = read(&lines(&[asked, summary, json!({ "role": "assistant", "content": "Done." })]));
    assert_eq!(gist(&roo), ["user: Go.", "put in: So far.", "assistant: Done."]);
    assert_eq!(roo.read, counts(1, 0));
}

#[test]
fn the_answer_beside_its_request_is_read() {
    let asked = json!([{ "role": "user", "content": "Go." }]);
    let chat = json!({ "model": "gpt-x", "messages": asked, "choices": [{ "message": { "role": "assistant", "content": "Done." } }],
        "usage": { "prompt_tokens": 30, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 20 } } });
    let said = json!([{ "type": "output_text", "text": "Done." }]);
    let responses = json!({ "model": "gpt-x", "input": asked, "output": [{ "type": "message", "role": "assistant", "content": said }],
        "usage": { "input_tokens": 30, "output_tokens": 2, "input_tokens_details": { "cached_tokens": 20 } } });
    for log in [chat, responses] {
        let read = read(&log.to_string());
        assert_eq!(gist(&read), ["user: Go.", "assistant: Done."]);
        assert_eq!(counted(&read), ("gpt-x".to_owned(), [10, 2, 20, 0]), "{log}");
    }
}

#[test]
fn what_is_no_answer_beside_a_list_is_left() {
    let list =
        json!([{ "role": "user", "content": "Go." }, { "role": "assistant", "content": "Done." }]);
    for output in [
        json!({ "completion": "Done." }),
        json!([{ "text": "Done." }]),
        json!([{ "role": "assistant", "content": "Done." }, "end"]),
        json!({ "role": "assistant", "text": "Done." }),
        json!({ "type": "report" }),
        json!("Done."),
    ] {
        let read = read(&json!({ "messages": list, "output": output }).to_string());
        assert_eq!(gist(&read), ["user: Go.", "assistant: Done."], "{output}");
    }
    let text = json!([{ "type": "output_text", "text": "Done." }]);
    let input = json!([{ "role": "user", "content": "Go." }, { "type": "message", "role": "assistant", "content": text }]);
    let output = json!({ "role": "assistant", "content": "More." });
    let told = read(&json!({ "input": input, "output": output }).to_string());
    assert_eq!(gist(&told), ["user: Go.", "assistant: Done."]);
}

#[test]
fn an_answer_that_ends_its_list_counts_once() {
    let asked = json!({ "role": "user", "content": "Go." });
    let counts = json!({ "prompt_tokens": 30, "completion_tokens": 2 });
    let calls = json!([{ "id": "c", "type": "function", "function": { "name": "look", "arguments": "{}" } }]);
    for (listed, chosen, requests) in [
        (json!({ "content": "Done." }), json!({ "content": "Done.", "refusal": null }), 1),
        (json!({ "tool_calls": calls }), json!({ "content": "", "tool_calls": calls }), 1),
        (json!({ "content": "Do" }), json!({ "content": "ne." }), 2),
    ] {
        let [mut list, mut choices] = [json!([asked, listed]), json!([{ "message": chosen }])];
        (list[1]["role"], choices[0]["message"]["role"]) = ("assistant".into(), "assistant".into());
        let log = json!({ "messages": list, "choices": choices });
        assert_eq!(read(&log.to_string()).held.requests, requests, "{log}");
    }
    let said = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] });
    let log =
        json!({ "model": "gpt-x", "input": [asked, said], "output": [said], "usage": counts });
    let read = read(&log.to_string());
    assert_eq!(gist(&read), ["user: Go.", "assistant: Done."]);
    assert_eq!(counted(&read), ("gpt-x".to_owned(), [30, 2, 0, 0]));
}

#[test]
fn what_codex_says_was_written_to_a_cache_is_no_plain_input() {
    let usage = json!({ "input_tokens": 30, "cached_input_tokens": 20, "cache_write_input_tokens": 7, "output_tokens": 2 });
    let said = json!([{ "type": "output_text", "text": "Done." }]);
    let codex = read(&lines(&[
        json!({ "type": "turn_context", "payload": { "model": "gpt-x" } }),
        json!({ "type": "response_item", "payload": { "type": "message", "role": "assistant", "content": said } }),
        json!({ "type": "event_msg", "payload": { "type": "token_count", "info": { "last_token_usage": usage } } }),
    ]));
    assert_eq!(counted(&codex), ("gpt-x".to_owned(), [3, 2, 20, 7]));
}

#[test]
fn a_list_of_pi_ais_messages_needs_no_first_line() {
    let text = lines(&[
        json!({ "role": "user", "content": "Look.", "timestamp": 1 }),
        json!({ "role": "assistant", "timestamp": 2,
            "content": [{ "type": "toolCall", "id": "c", "name": "ls", "arguments": {} }] }),
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "ls", "content": [], "timestamp": 3 }),
    ]);
    let whole = read(&text);
    assert_eq!(
        (whole.format, whole.held, whole.read),
        (Format::Neutral, counts(1, 1), counts(1, 1))
    );
    // An answer of a shape that nobody knows is counted, and missing.
    let odd = json!({ "role": "assistant", "content": 7, "timestamp": 4 });
    let odd = read(&format!("{text}{odd}\n"));
    assert_eq!((odd.held, odd.read), (counts(2, 1), counts(1, 1)));
    let message =
        |content: Value| json!({ "role": "assistant", "content": content, "timestamp": 1 });
    let entry = |id: &str, parent: Value, content: Value| json!({ "type": "message", "id": id, "parentId": parent, "message": message(content) });
    let said = json!([{ "type": "text", "text": "Yes." }]);
    let pi = read(&lines(&[
        json!({ "type": "session", "version": 3, "id": "s", "cwd": "/w" }),
        entry("a", Value::Null, said.clone()),
        entry("b", "a".into(), json!(7)),
        entry("c", "b".into(), said.clone()),
        entry("d", "b".into(), said),
    ]));
    assert_eq!((pi.held, pi.left, pi.read), (counts(4, 0), counts(1, 0), counts(2, 0)));
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
    let twice = read(&text.repeat(2));
    let read = read(&text);
    assert_eq!((&twice.messages, twice.held), (&read.messages, read.held));
    assert!(twice.notes.contains(&"repeated lines left out: 11".to_owned()), "{:?}", twice.notes);
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
            "checkpoint of Gemini CLI",
            vec![json!({ "role": "model", "parts": [{ "text": "Hi." }] })],
        ),
        (
            "checkpoint of Gemini CLI",
            vec![
                json!({ "toolCall": {}, "clientHistory": [{ "role": "user", "parts": [{ "text": "Hi." }] }] }),
            ],
        ),
        (
            "Gemini CLI's history",
            vec![json!({ "sessionId": "s", "messageId": 0, "type": "user", "message": "Hi." })],
        ),
        (
            "Cursor or Claude Code prints",
            vec![
                json!({ "type": "assistant", "session_id": "s", "message": message("assistant", json!([])) }),
            ],
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
        ("Codex prints", vec![json!({ "id": "0", "msg": { "type": "task_started" } })]),
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
        (
            "Amp",
            vec![
                json!({ "v": 1, "id": "T-1", "messages": [{ "role": "user", "messageId": 0, "content": text("text", "Hi.") }] }),
            ],
        ),
    ] {
        let told = refused(&lines(&given));
        assert!(told.contains(name), "{name}: {told}");
    }
}

#[test]
fn lists_of_other_forms_are_refused_with_what_is_strange() {
    let text = |kind: &str, text: &str| json!([{ "type": kind, "text": text }]);
    let message = |role: &str, content: Value| json!({ "role": role, "content": content });
    for (name, given) in [
        ("data sets", vec![json!({ "messages": [message("user", json!("Hi."))] }); 2]),
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
            "a block `tool_result` without `tool_use_id`",
            vec![message("user", json!([{ "type": "tool_result", "toolUseID": "c" }]))],
        ),
        ("is the result of a tool without its call", vec![message("tool", json!("out"))]),
        (
            "is not a message",
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
        (
            "no session format",
            vec![json!({ "role": "user", "parts": [{ "type": "text", "text": "Hi." }] })],
        ),
        ("no session format", vec![json!({ "type": "reasoning", "summary": [] })]),
        ("no session format", vec![json!({ "type": "session", "id": "s" })]),
    ] {
        let told = refused(&lines(&given));
        assert!(told.contains(name), "{name}: {told}");
    }
}

#[test]
fn what_agents_of_codex_tell_each_other_is_kept() {
    let line = |kind: &str, payload: Value| json!({ "type": kind, "timestamp": "2026-07-01T10:00:00Z", "payload": payload });
    let item = |payload: Value| line("response_item", payload);
    let said = |kind: &str, text: &str| json!([{ "type": kind, "text": text }]);
    let told = json!({ "author": "/root", "recipient": "/root/a", "content": "Your task.", "trigger_turn": true });
    let text = lines(&[
        line("session_meta", json!({ "id": "c", "cwd": "/w" })),
        line("world_state", json!({ "full": true, "state": {} })),
        line("inter_agent_communication", told),
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
            "put in: Your task.",
            "user: Ask.",
            "assistant: c1:spawn_agent{}",
            "result: started",
            "put in: Found it.",
            "assistant: It is found."
        ]
    );
    assert_eq!(read.notes, ["messages of other agents whose text is not in the file: 1"]);
}

#[test]
fn what_codex_imported_is_no_request_of_it() {
    let event = |payload: Value| json!({ "type": "event_msg", "payload": payload });
    let said = |role: &str, text: &str| {
        let content = json!([{ "type": if role == "user" { "input_text" } else { "output_text" }, "text": text }]);
        json!({ "type": "response_item", "payload": { "type": "message", "role": role, "content": content } })
    };
    let counted = event(
        json!({ "type": "token_count", "info": { "last_token_usage": { "input_tokens": 10 } } }),
    );
    let codex = read(&lines(&[
        event(json!({ "type": "task_started", "turn_id": "external-import-turn-1" })),
        said("user", "Go."),
        said("assistant", "Done."),
        counted.clone(),
        event(json!({ "type": "task_started", "turn_id": "0199" })),
        said("user", "More."),
        said("assistant", "Done, too."),
        counted,
    ]));
    assert_eq!(
        gist(&codex),
        ["user: Go.", "put in: Done.", "user: More.", "assistant: Done, too."]
    );
    assert_eq!((codex.held, codex.read), (counts(1, 0), counts(1, 0)));
    let said = "answers imported from another program, which are no requests of this one: 1";
    assert!(codex.notes.contains(&said.to_owned()), "{:?}", codex.notes);
}

#[test]
fn what_a_sub_agent_of_codex_began_with_is_of_another_session() {
    let line = |ordinal: u64, kind: &str, payload: Value| json!({ "ordinal": ordinal, "type": kind, "payload": payload });
    let said = |role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
    };
    let counted = |total: u64| {
        json!({ "type": "token_count", "info": {
        "total_token_usage": { "input_tokens": total }, "last_token_usage": { "input_tokens": 10 } } })
    };
    let codex = read(&lines(&[
        line(0, "session_meta", json!({ "id": "b", "subagent_history_start_ordinal": "5" })),
        line(1, "session_meta", json!({ "id": "a" })),
        line(2, "response_item", said("user", "Go.")),
        line(3, "response_item", said("assistant", "Done.")),
        line(4, "event_msg", counted(10)),
        line(5, "response_item", said("user", "Review it.")),
        line(6, "response_item", said("assistant", "It is good.")),
        line(7, "event_msg", counted(20)),
    ]));
    assert_eq!(gist(&codex), ["user: Review it.", "assistant: It is good."]);
    assert_eq!((codex.held, codex.read), (counts(1, 0), counts(1, 0)));
    let said = "beginnings that stand in another session's file, counted as system prompt: 1";
    assert!(codex.notes.contains(&said.to_owned()), "{:?}", codex.notes);
}

#[test]
fn codex_goes_back_by_what_a_person_typed() {
    let user = |text: &str, kind: Option<&str>| {
        let kinds = json!({ "content_item_kinds": kind.into_iter().collect::<Vec<_>>() });
        json!({ "type": "response_item", "payload": { "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": text }], "internal_chat_message_metadata_passthrough": kinds } })
    };
    let shell = "<user_shell_command>\nls\n</user_shell_command>";
    let back =
        json!({ "type": "event_msg", "payload": { "type": "thread_rolled_back", "num_turns": 1 } });
    let goal = "<codex_internal_context source=\"goal\">\nContinue.\n</codex_internal_context>";
    let plugin = user("Of a plugin.", Some("plugins.note"));
    for put_in in [user(shell, None), user(goal, None), plugin] {
        let first = user("First.", Some("user.text"));
        let codex = read(&lines(&[first, user("Second.", None), put_in, back.clone()]));
        assert_eq!(gist(&codex), ["user: First."]);
    }
}

#[test]
fn what_a_file_counts_and_does_not_hold_is_said() {
    let event = |payload: Value| json!({ "type": "event_msg", "timestamp": "2026-07-01T10:00:00Z", "payload": payload });
    let counted = |total: u64| {
        event(json!({ "type": "token_count", "info": {
            "total_token_usage": { "input_tokens": total }, "last_token_usage": { "input_tokens": 10 } } }))
    };
    let said = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Hi." }] });
    let item = json!({ "type": "response_item", "payload": said });
    let base = json!({ "thread_id": "a", "end_ordinal_exclusive": 9 });
    let fork = json!({ "type": "session_meta", "payload": { "id": "b", "history_base": base } });
    let codex = read(&lines(&[fork, item, counted(10), counted(10), counted(20)]));
    for note in [
        "beginnings that stand in another session's file, counted as system prompt: 1",
        "requests that the provider counted, whose answers are not in the file: 1",
    ] {
        assert!(codex.notes.contains(&note.to_owned()), "{:?}", codex.notes);
    }
    let metrics =
        json!({ "gpt-x": { "requests": { "count": 1 }, "usage": { "inputTokens": 30 } } });
    let copilot = |kind: &str, data: Value| json!({ "type": kind, "data": data, "id": kind, "parentId": null, "timestamp": "2026-07-01T10:00:00Z" });
    let copilot = read(&lines(&[
        copilot("assistant.message", json!({ "content": "Hi." })),
        copilot("session.shutdown", json!({ "modelMetrics": metrics })),
    ]));
    assert_eq!(copilot.notes, ["counts of a whole session, which no request has, not used: 1"]);
    let odd = json!({ "functionCall": { "name": "ls" } });
    let qwen = json!({ "type": "assistant", "uuid": "a", "parentUuid": null, "sessionId": "q",
        "message": { "role": "model", "parts": [{ "text": "Hi." }, odd] } });
    let qwen = read(&lines(&[qwen]));
    assert_eq!((qwen.held, qwen.read), (counts(1, 1), counts(1, 0)));
    let chat = json!({ "role": "assistant", "content": "Hi.", "tool_calls": [{ "id": "c" }] });
    let chat = read(&lines(&[chat]));
    assert_eq!((chat.held, chat.read), (counts(1, 1), counts(1, 0)));
}

#[test]
fn a_list_of_the_responses_api_is_read_as_codexs_bare_items() {
    let text = lines(&[
        json!({ "role": "user", "content": "Look." }),
        json!({ "type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}" }),
        json!({ "type": "function_call_output", "call_id": "c1", "output": "a" }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] }),
    ]);
    let read = read(&text);
    assert_eq!(read.format, Format::Codex);
    assert_eq!(gist(&read), ["user: Look.", "assistant: c1:ls{}", "result: a", "assistant: Done."]);
}

#[test]
fn one_session_in_any_encoding_reads_the_same() {
    let said = |id: &str, role: &str, text: &str| {
        json!({ "uuid": id, "parentUuid": null, "sessionId": "s", "type": role, "timestamp": "2026-07-01T10:00:00Z",
            "message": { "role": role, "content": [{ "type": "text", "text": text }] } })
    };
    let mut answer = said("a1", "assistant", "Done.");
    answer["parentUuid"] = "u1".into();
    let text = lines(&[said("u1", "user", "Ä 😀"), answer]);
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

#[test]
fn a_list_is_read_whole_as_line_by_line() {
    let call =
        json!({ "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let chat = [
        json!({ "role": "developer", "content": "Be brief." }),
        json!({ "role": "user", "content": "Look." }),
        json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
        json!({ "role": "tool", "tool_call_id": "c1", "content": "a" }),
        json!({ "role": "assistant", "content": "Done." }),
    ];
    let messages = [
        json!({ "role": "user", "content": "Look." }),
        json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c1", "name": "ls", "input": {} }] }),
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": "a" }] }),
        json!({ "role": "assistant", "content": "Done." }),
    ];
    let items = [
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Look." }] }),
        json!({ "type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}" }),
        json!({ "type": "function_call_output", "call_id": "c1", "output": "a" }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] }),
    ];
    let forms: [(Format, &[Value]); 3] =
        [(Format::OpenAi, &chat), (Format::Anthropic, &messages), (Format::Codex, &items)];
    for (format, list) in forms {
        let expected = read(&lines(list));
        assert_eq!((expected.format, expected.read), (format, counts(2, 1)));
        let one_a_line: Vec<String> = list.iter().map(Value::to_string).collect();
        for text in [
            json!(list).to_string(),
            serde_json::to_string_pretty(list).unwrap(),
            format!("[\n{}\n]\n", one_a_line.join(",\n")),
            json!({ "messages": list }).to_string(),
            serde_json::to_string_pretty(&json!({ "tools": [], "input": list })).unwrap(),
        ] {
            assert_eq!(read(&text), expected, "{text}");
        }
    }
    for request in [
        json!({ "model": "claude-x", "messages": messages }),
        json!({ "model": "claude-x", "input": items }),
    ] {
        let answer: Value = serde_json::from_str(&read(&request.to_string()).messages[1]).unwrap();
        assert_eq!(answer["model"], "claude-x");
    }
    let torn = refused(&json!(chat).to_string()[..100]);
    assert!(torn.contains("EOF while parsing"), "{torn}");
}

#[test]
fn the_first_rollouts_of_codex_are_read() {
    let rollout = json!({
        "session": { "timestamp": "2025-04-20T10:00:00Z", "id": "s", "instructions": "" },
        "items": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Look." }] },
            { "type": "function_call", "id": "f", "call_id": "c1", "name": "shell", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c1", "output": "a" },
        ],
    });
    for text in [rollout.to_string(), serde_json::to_string_pretty(&rollout).unwrap()] {
        let read = read(&text);
        assert_eq!((read.format, read.session_id.as_deref()), (Format::Codex, Some("s")));
        assert_eq!(gist(&read), ["user: Look.", "assistant: c1:shell{}", "result: a"]);
    }
}

#[test]
fn what_the_provider_runs_is_said_and_documents_are_texts() {
    let list = read(&lines(&[
        json!({ "role": "user", "content": [
            { "type": "document", "title": "Plan", "source": { "type": "text", "data": "Build." } },
            { "type": "search_result", "source": "x", "title": "Hit", "content": [{ "type": "text", "text": "Found." }] },
        ] }),
        json!({ "role": "assistant", "content": [
            { "type": "server_tool_use", "id": "w", "name": "web_search", "input": {} },
            { "type": "web_search_tool_result", "tool_use_id": "w", "content": [] },
            { "type": "server_tool_use", "id": "f", "name": "web_fetch", "input": {} },
            { "type": "web_fetch_tool_result", "tool_use_id": "f", "content": {} },
            { "type": "mcp_tool_use", "id": "m", "name": "ask", "server_name": "s", "input": {} },
            { "type": "mcp_tool_result", "tool_use_id": "m", "content": [] },
            { "type": "compaction", "content": "All before." },
            { "type": "text", "text": "Done." },
        ] }),
    ]));
    assert_eq!(gist(&list), ["user: Plan\nBuild. Hit\nFound.", "assistant: All before. Done."]);
    assert_eq!(list.notes[0], "calls of the provider's own tools left out: 3");
    let items = read(&lines(&[
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Ask." }] }),
        json!({ "type": "web_search_call", "status": "completed" }),
        json!({ "type": "code_interpreter_call", "id": "i", "code": "1" }),
        json!({ "type": "mcp_call", "id": "m", "name": "ask", "arguments": "{}", "output": "a", "error": null }),
        json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] }),
    ]));
    assert_eq!(gist(&items), ["user: Ask.", "assistant: m:ask{}", "result: a", "assistant: Done."]);
    assert_eq!(items.notes[0], "calls of the provider's own tools left out: 2");
}

#[test]
fn a_second_session_in_a_file_is_refused_with_its_line() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let codex = |id: &str| json!({ "type": "session_meta", "payload": { "id": id } });
    let item = json!({ "type": "response_item", "payload": { "type": "message", "role": "user",
        "content": [{ "type": "input_text", "text": "Go." }] } });
    let open_code = |id: &str| json!({ "info": { "id": id, "directory": "/w" }, "messages": [] });
    let gemini = |id: &str| json!({ "sessionId": id, "projectHash": "p", "messages": [] });
    let copilot = |id: &str| {
        json!({ "type": "session.start", "id": "e", "parentId": null,
        "timestamp": "2026-07-01T10:00:00Z", "data": { "sessionId": id } })
    };
    let neutral = |id: &str| json!({ "session": { "id": id } });
    for (second, text) in [
        (3, lines(&[codex("a"), item.clone(), codex("b"), item.clone()])),
        (2, lines(&[open_code("ses_a"), open_code("ses_b")])),
        (2, lines(&[gemini("a"), gemini("b")])),
        (2, lines(&[copilot("a"), copilot("b")])),
        (3, lines(&[neutral("a"), said("user", "Go."), neutral("b")])),
    ] {
        let problem = refused(&text);
        assert!(problem.starts_with(&format!("line {second} of ")), "{problem}");
        assert!(problem.contains("b`: each needs a file of its own"), "{problem}");
    }
    let fork = read(&lines(&[codex("b"), codex("a"), item]));
    assert_eq!((fork.session_id.as_deref(), fork.forked_from.as_deref()), (Some("b"), Some("a")));
}

#[test]
fn a_session_behind_the_name_must_be_that_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.jsonl");
    let text =
        lines(&[json!({ "session": { "id": "a" } }), json!({ "role": "user", "content": "Go." })]);
    std::fs::write(&file, text).unwrap();
    let of = |id: &str| Transcript::read(Path::new(&format!("{}#{id}", file.display())));
    assert_eq!(gist(&of("a").unwrap()), ["user: Go."]);
    let problem = of("b").unwrap_err().to_string();
    assert!(problem.ends_with("begins the session `a`, and not `b`"), "{problem}");
}

#[test]
fn times_in_any_unit_are_the_same_and_usage_stays() {
    let ms = 1_780_000_000_000_i64;
    for time in [json!(ms / 1_000), json!(ms), json!(ms * 1_000), json!(ms * 1_000_000)] {
        let read = read(&lines(&[
            json!({ "role": "user", "content": "Go.", "timestamp": time }),
            json!({ "role": "assistant", "content": "Done.", "timestamp": time,
                "usage": { "prompt_tokens": 30, "completion_tokens": 2 } }),
        ]));
        let answer: Value = serde_json::from_str(&read.messages[1]).unwrap();
        assert_eq!((&answer["timestamp"], &answer["usage"]["input"]), (&json!(ms), &json!(30)));
    }
    let read = read(&lines(&[json!({ "role": "user", "content": "Go.", "timestamp": 1e300 })]));
    let first: Value = serde_json::from_str(&read.messages[0]).unwrap();
    assert_eq!(first["timestamp"], 0);
}

#[test]
fn what_is_typed_while_gemini_runs_tools_is_kept() {
    let response =
        json!({ "functionResponse": { "id": "c", "name": "ls", "response": { "output": "a" } } });
    let record = |kind: &str, id: &str, content: Value| json!({ "id": id, "type": kind, "content": content });
    let mut called = record("gemini", "2", json!(""));
    called["toolCalls"] =
        json!([{ "id": "c", "name": "ls", "args": {}, "status": "success", "result": [response] }]);
    let read = read(&lines(&[
        json!({ "sessionId": "s", "projectHash": "p" }),
        record("user", "1", json!([{ "text": "Go." }])),
        called,
        record("user", "3", json!([{ "text": "Not there." }, response])),
        record("gemini", "4", json!("Done.")),
    ]));
    let expected =
        ["user: Go.", "assistant: c:ls{}", "result: a", "user: Not there.", "assistant: Done."];
    assert_eq!(gist(&read), expected);
}

#[test]
fn messages_of_gemini_without_an_id_are_all_kept() {
    let message = |kind: &str, text: &str| json!({ "type": kind, "content": text });
    let messages = [
        message("user", "Go."),
        message("gemini", "Where to?"),
        message("user", "There."),
        message("gemini", "Done."),
    ];
    let session = json!({ "sessionId": "s", "projectHash": "p", "startTime": "2026-07-01T10:00:00Z",
        "lastUpdated": "2026-07-01T10:00:00Z", "messages": messages });
    let expected = ["user: Go.", "assistant: Where to?", "user: There.", "assistant: Done."];
    assert_eq!(gist(&read(&session.to_string())), expected);
}

#[test]
fn sub_agents_of_older_copilots_are_left_out() {
    let event = |kind: &str, data: Value| {
        json!({ "type": kind, "id": "e", "parentId": null,
        "timestamp": "2026-07-01T10:00:00Z", "data": data })
    };
    let read = read(&lines(&[
        event("session.start", json!({ "sessionId": "s" })),
        event("user.message", json!({ "content": "Go." })),
        event(
            "assistant.message",
            json!({ "messageId": "1", "content": "Inner.", "parentToolCallId": "t" }),
        ),
        event("assistant.message", json!({ "messageId": "2", "content": "Done." })),
    ]));
    assert_eq!(gist(&read), ["user: Go.", "assistant: Done."]);
    assert_eq!(read.notes, ["messages of sub-agents left out: 1"]);
}

#[test]
fn what_stands_behind_a_head_of_another_form_is_named() {
    let talk = [
        json!({ "role": "user", "content": "Go." }),
        json!({ "role": "assistant", "content": "Done." }),
    ];
    let session = json!({ "id": "s", "cwd": "/w" });
    let each = talk.clone().map(|mut message| {
        message["session"] = session.clone();
        message
    });
    for text in [lines(&each), json!({ "session": session, "messages": talk }).to_string()] {
        assert_eq!(gist(&read(&text)), ["user: Go.", "assistant: Done."], "{text}");
    }
    let pi =
        json!({ "type": "session", "id": "s", "timestamp": "2026-07-01T10:00:00Z", "cwd": "/w" });
    let read = read(&lines(&[pi, talk[0].clone(), talk[1].clone()]));
    assert_eq!(read.notes, ["entries of an unknown type left out: 2 (first at line 2)"]);
}

#[test]
fn a_compression_that_gemini_appends_is_no_answer() {
    let record = |id: &str, kind: &str, text: &str| json!({ "id": id, "type": kind, "content": [{ "text": text }] });
    let read = read(&lines(&[
        json!({ "sessionId": "s", "projectHash": "p", "kind": "main" }),
        record("1", "user", "Look."),
        record("2", "gemini", "Yes."),
        record("3", "user", "All so far."),
        record("4", "gemini", "Got it. Thanks for the additional context!"),
        json!({ "$patch": { "removeIds": ["1", "2"], "orderIds": ["3", "4"] } }),
        record("5", "user", "Go on."),
        record("6", "gemini", "Done."),
    ]));
    assert_eq!(
        gist(&read),
        [
            "user: Look.",
            "assistant: Yes.",
            "put in: All so far.",
            "user: Go on.",
            "assistant: Done."
        ]
    );
    assert_eq!(read.held, counts(2, 0));
    let told =
        ["compressions not applied: 1", "changes of messages that stood before not applied: 1"];
    assert_eq!(read.notes[..2], told);
}

#[test]
fn what_pi_paid_beside_a_conversation_is_said() {
    let warmed = json!({ "type": "usage", "id": "b", "parentId": "a", "kind": "cache_warm", "usage": { "cacheRead": 9 } });
    let message = json!({ "role": "user", "content": "Hi.", "timestamp": 1_790_000_000_000_i64 });
    let read = read(&lines(&[
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-10-02T09:00:00Z" }),
        json!({ "type": "message", "id": "a", "parentId": null, "message": message }),
        warmed,
    ]));
    let told = "requests beside the conversation, such as to keep the cache warm, not counted: 1";
    assert_eq!((gist(&read), read.notes), (vec!["user: Hi.".to_owned()], vec![told.to_owned()]));
}
