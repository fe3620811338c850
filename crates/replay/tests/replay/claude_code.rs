//! Sessions of Claude Code: which lines follow one another, and what the model saw of attachments.

use std::path::Path;

use replay::transcript::Transcript;
use replay::transcript::find::find;
use serde_json::{Value, json};

use crate::readers::{counts, gist, lines, read};

/// The lines of a session of Claude Code.
struct Claude(Vec<Value>);

impl Claude {
    fn put(&mut self, id: &str, parent: &str, more: &Value) -> &mut Self {
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
            &json!({ "type": "user", "message": { "role": "user", "content": text } }),
        )
    }

    fn result(&mut self, id: &str, parent: &str, call: &str) -> &mut Self {
        let content = json!([{ "type": "tool_result", "tool_use_id": call, "content": format!("output of {call}") }]);
        self.put(
            id,
            parent,
            &json!({ "type": "user", "message": { "role": "user", "content": content } }),
        )
    }

    /// An answer of one line; `input`: the tokens that its request had, 0 if that is not recorded.
    fn answer(&mut self, id: &str, parent: &str, input: u64, block: &Value) -> &mut Self {
        let mut message = json!({ "id": format!("msg_{id}"), "role": "assistant", "model": "claude-x", "content": [block] });
        if input > 0 {
            message["usage"] = json!({ "input_tokens": 1, "cache_read_input_tokens": input - 1, "output_tokens": 9 });
        }
        self.put(id, parent, &json!({ "type": "assistant", "message": message }))
    }

    fn call(&mut self, id: &str, parent: &str, input: u64, call: &str) -> &mut Self {
        self.answer(
            id,
            parent,
            input,
            &json!({ "type": "tool_use", "id": call, "name": "Bash", "input": {} }),
        )
    }

    fn say(&mut self, id: &str, parent: &str, input: u64, text: &str) -> &mut Self {
        self.answer(id, parent, input, &json!({ "type": "text", "text": text }))
    }

    fn hook(&mut self, id: &str, parent: &str) -> &mut Self {
        self.put(id, parent, &json!({ "type": "progress", "data": { "type": "hook_progress" } }))
    }

    fn attachment(&mut self, id: &str, parent: &str, attachment: &Value) -> &mut Self {
        self.put(id, parent, &json!({ "type": "attachment", "attachment": attachment }))
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
        if kind == "progress" {
            session.hook("p1", "a1").hook("p2", "p1");
        } else {
            let hook = json!({ "type": "hook_success", "stdout": "unseen" });
            session.attachment("p1", "a1", &hook).attachment("p2", "p1", &hook);
        }
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
        session.put(id, parent, &json!({ "type": "assistant", "message": message }));
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
fn what_is_put_in_amid_a_response_comes_after_it() {
    let mut session = Claude(Vec::new());
    session.user("u1", "", "One.");
    let line = |block: Value| {
        let message =
            json!({ "id": "msg", "role": "assistant", "model": "claude-x", "content": [block] });
        json!({ "type": "assistant", "message": message })
    };
    session.put("a", "u1", &line(json!({ "type": "text", "text": "I look." })));
    session.attachment(
        "h",
        "a",
        &json!({ "type": "hook_additional_context", "content": ["Mind it."] }),
    );
    session.put(
        "b",
        "h",
        &line(json!({ "type": "tool_use", "id": "t1", "name": "Bash", "input": {} })),
    );
    session.result("r", "b", "t1").say("z", "r", 0, "Done.");
    assert_eq!(session.texts(), ["One.", "I look. t1:Bash{}", "output of t1", "Mind it.", "Done."]);
    assert_eq!((session.read().held, session.read().read), (counts(2, 1), counts(2, 1)));
}

#[test]
fn of_many_forks_the_last_is_read() {
    let mut session = Claude(Vec::new());
    session.user("u", "", "One.").say("a", "u", 0, "First.");
    for turn in 0..3_000 {
        session.user(&format!("u{turn}"), "a", "Again.").say(
            &format!("a{turn}"),
            &format!("u{turn}"),
            0,
            "So.",
        );
    }
    assert_eq!(session.texts(), ["One.", "First.", "Again.", "So."]);
}

#[test]
fn attachments_are_messages_where_the_model_saw_them() {
    let mut session = Claude(Vec::new());
    session.user("u1", "", "One.");
    session.attachment(
        "b",
        "u1",
        &json!({ "type": "mcp_instructions_delta", "addedBlocks": ["## a\nAsk.", "## b"] }),
    );
    session.attachment(
        "c",
        "b",
        &json!({ "type": "deferred_tools_delta", "addedLines": ["X", "Y"], "addedNames": ["X"] }),
    );
    session.attachment(
        "d",
        "c",
        &json!({ "type": "selected_lines_in_ide", "filename": "a", "content": "let x;" }),
    );
    session.attachment(
        "e",
        "d",
        &json!({ "type": "prompt_snapshot", "systemPrompt": ["unseen here"] }),
    );
    session.attachment(
        "f",
        "e",
        &json!({ "type": "task_reminder", "content": [], "itemCount": 0 }),
    );
    session.put(
        "g",
        "f",
        &json!({ "type": "attachment", "attachment": { "type": "file", "content": "raw" },
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
fn responses_of_one_id_are_told_apart_by_what_they_sent() {
    for id in [json!("relay"), json!(""), Value::Null] {
        let mut claude = Claude(Vec::new());
        claude.user("u", "", "Go.");
        let mut last = "u".to_owned();
        for at in 1..=5 {
            let (thought, call) = (format!("a{at}"), format!("b{at}"));
            claude.say(&thought, &last, 1_000 * at, "I look.");
            claude.call(&call, &thought, 1_000 * at, &format!("c{at}"));
            last = format!("r{at}");
            claude.result(&last, &call, &format!("c{at}"));
        }
        for line in &mut claude.0 {
            if line["type"] == "assistant" {
                line["message"]["id"] = id.clone();
            }
        }
        let read = read(&lines(&claude.0));
        assert_eq!((read.held, read.read), (counts(5, 5), counts(5, 5)), "{id}");
        assert_eq!(gist(&read).len(), 11, "{id}");
    }
}

#[test]
fn of_several_requests_in_an_answer_the_last_counts() {
    let part = |kind: &str, read: u64| json!({ "type": kind, "input_tokens": 2, "cache_read_input_tokens": read, "output_tokens": 5 });
    let parts = json!([part("message", 9_000), part("advisor_message", 0), part("message", 9_500)]);
    let usage = json!({ "input_tokens": 4, "cache_read_input_tokens": 18_500, "output_tokens": 10, "iterations": parts });
    let mut claude = Claude(Vec::new());
    claude.user("u", "", "Go.").say("a", "u", 9_000, "I ask.").call("b", "a", 9_000, "c");
    claude.result("r", "b", "c").say("d", "r", 9_600, "Done.");
    for at in 1..=2 {
        let message = &mut claude.0[at]["message"];
        (message["id"], message["usage"]) = ("msg".into(), usage.clone());
    }
    let read = claude.read();
    let answer: Value = serde_json::from_str(&read.messages[1]).unwrap();
    let earlier = json!([{ "input": 2, "output": 5, "cacheRead": 9_000, "cacheWrite": 0 }]);
    let counts = json!({ "input": 2, "output": 10, "cacheRead": 9_500, "cacheWrite": 0, "earlier": earlier });
    assert_eq!(answer["usage"], counts);
    let said = "requests within an answer, such as to an advisor, whose cost is not counted: 1";
    assert_eq!(read.notes, [said]);
}

#[test]
fn an_answer_in_the_fast_mode_is_of_a_model_of_its_own() {
    let mut claude = Claude(Vec::new());
    claude.user("u", "", "Go.").say("a", "u", 9_000, "Yes.").say("b", "a", 9_100, "No.");
    claude.0[1]["message"]["usage"]["speed"] = "fast".into();
    claude.0[2]["message"]["usage"]["speed"] = "standard".into();
    let model = |json: &String| serde_json::from_str::<Value>(json).unwrap()["model"].clone();
    let models: Vec<Value> = claude.read().messages[1..].iter().map(model).collect();
    assert_eq!(models, ["claude-x-fast", "claude-x"]);
}

#[test]
fn what_follows_a_repeated_history_follows_what_was_last() {
    let mut claude = Claude(Vec::new());
    claude.user("u1", "", "One.").say("a1", "u1", 9_000, "First.");
    let copies = claude.0.clone();
    claude.user("u2", "a1", "Two.").say("a2", "u2", 4_000, "Second.");
    claude.0.extend(copies);
    claude.put("h", "a1", &json!({ "type": "system", "subtype": "stop_hook_summary" }));
    claude.user("u3", "h", "Three.").say("a3", "u3", 2_000, "Third.");
    assert_eq!(claude.texts(), ["One.", "First.", "Two.", "Second.", "Three.", "Third."]);
    assert_eq!(claude.read().notes, ["repeated lines left out: 2"]);
}

#[test]
fn several_sessions_in_one_file_are_several() {
    let mut both = Claude(Vec::new());
    both.user("u1", "", "One.").call("a1", "u1", 0, "t1").result("r1", "a1", "t1");
    both.say("a2", "r1", 0, "First.");
    let first = both.0.len();
    both.user("v1", "", "Two.").say("b1", "v1", 0, "Second.");
    // A session that goes on under another ID stays one.
    both.user("v2", "b1", "Three.").say("b2", "v2", 0, "Third.");
    for (at, line) in both.0.iter_mut().enumerate().skip(first) {
        line["sessionId"] = if at < first + 2 { "s-2" } else { "s-3" }.into();
    }
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("all.jsonl");
    std::fs::write(&path, lines(&both.0)).unwrap();
    for given in [path.as_path(), folder.path()] {
        let found = find(given).unwrap().sessions;
        let read = |at: usize| Transcript::read(Path::new(&found[at].path)).unwrap();
        let [one, two] = [read(0), read(1)];
        assert_eq!((found.len(), &*one.name, &*two.name), (2, "s", "s-2"));
        assert_eq!((one.held, one.read), (counts(2, 1), counts(2, 1)));
        assert_eq!(
            gist(&two),
            ["user: Two.", "assistant: Second.", "user: Three.", "assistant: Third."]
        );
        assert_eq!((two.held, two.read, two.notes.len()), (counts(2, 0), counts(2, 0), 0));
    }
    let error = Transcript::read(&path).unwrap_err().to_string();
    assert!(error.contains("a file of 2 sessions"), "{error}");
    assert_eq!(find(Path::new(&format!("{}#s-2", path.display()))).unwrap().sessions.len(), 1);
}
