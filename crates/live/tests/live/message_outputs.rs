//! Outputs that no call of the model's brought: of a person's command, of another extension, and
//! files before a person's words. They leave and come back as tool results do, and nothing else of
//! their message changes.

use config::{Layout, Settings};
use live::Wanted;
use serde_json::{Value, json};
use session::{Shows, Treatment};

use crate::host::{Host, uncached};
use crate::shapes::text_of;

/// Whatever pays leaves, but the newest result.
fn settings() -> Settings {
    let prices = uncached();
    Settings {
        prices,
        keep_results: 1,
        collapse_tokens: 50,
        fault_tokens: 10_000,
        preview_tokens: 0,
        ..Settings::default()
    }
}

fn lines(of: &str, count: usize) -> String {
    let lines: Vec<String> =
        (1..=count).map(|at| format!("line {at} of what {of} printed\n")).collect();
    lines.concat()
}

/// A command that a person ran, as Pi has it in its list.
fn ran(command: &str, output: &str, exit: i64) -> Value {
    json!({
        "role": "bashExecution", "command": command, "output": output, "exitCode": exit,
        "cancelled": false, "truncated": false,
    })
}

fn report(kind: &str, content: &Value, display: bool) -> Value {
    json!({ "role": "custom", "customType": kind, "content": content, "display": display, "details": { "x": 1.50 } })
}

/// Makes outputs old: some steps of the model's.
fn work(host: &mut Host) {
    for step in 0..4 {
        host.send();
        host.tool(
            "bash",
            &json!({ "command": format!("step {step}") }),
            &lines(&format!("{step}"), 60),
        );
    }
    host.send();
    host.say("Done.");
    host.user("And on.");
    host.send();
}

fn asked(name: &str) -> Wanted {
    Wanted { name: name.into(), lines: None, pattern: None }
}

/// The message of a request that has this one's time stamp.
fn sent(host: &Host, at: usize) -> &Value {
    let time = &host.messages[at]["timestamp"];
    host.sent.iter().find(|message| message["timestamp"] == *time).unwrap()
}

#[test]
fn the_output_of_a_persons_command_leaves_and_comes_back() {
    let mut host = Host::new(settings());
    let output = lines("npm", 80);
    host.push(ran("npm test", &output, 1));
    host.user("Why does it fail?");
    assert_eq!(host.send(), host.messages, "the model has not seen it");
    work(&mut host);
    let mut expected = host.messages[0].clone();
    expected["output"] = json!(r#"[t1] exit 1 · 80 lines · last: "line 80 of what npm printed""#);
    assert_eq!(*sent(&host, 0), expected);
    assert_eq!(*sent(&host, 1), host.messages[1]);
    let answer = host.activate(&asked("t1:3-4"), false);
    assert!(answer.contains("[t1] !npm test · lines 3-4 of 80\nline 3 of what npm"), "{answer}");
    host.send();
    host.restart();
    host.user("Again?");
    host.send();
    assert_eq!(*sent(&host, 0), expected);
}

#[test]
fn a_long_output_is_shown_in_part_as_any_is() {
    let mut host = Host::new(Settings { preview_tokens: 200, ..settings() });
    let output = lines("make", 400);
    host.push(ran("make all", &output, 0));
    host.user("go");
    host.send();
    let shown = sent(&host, 0)["output"].as_str().unwrap();
    assert!(shown.starts_with("line 1 of what make printed\n"), "{shown}");
    assert!(shown.contains(" lines between (t1:"), "{shown}");
    // So is what the model runs; what a person ran it has not asked for.
    let id = host.tool("bash", &json!({ "command": "make all" }), &lines("made", 400));
    host.send();
    let result = host.sent.iter().find(|message| message["toolCallId"] == json!(id)).unwrap();
    assert!(text_of(result).contains(" lines between (t2:"), "{result}");
}

#[test]
fn what_the_model_never_gets_is_no_output() {
    let mut host = Host::new(settings());
    let mut hidden = ran("env", &lines("env", 90), 0);
    hidden["excludeFromContext"] = json!(true);
    host.push(hidden);
    host.push(ran("true", "", 0));
    host.user("go");
    host.transform().unwrap();
    assert_eq!(host.sent, host.messages);
    let state = host.live.state();
    assert_eq!([state.result(0), state.result(1)], [None, None]);
    assert!(state.index().entries.is_empty());
}

#[test]
fn a_cut_output_is_numbered_by_its_whole() {
    let mut host = Host::new(settings());
    let whole = lines("build", 300);
    host.write_file("out.log", &whole);
    let shown: Vec<&str> = whole.lines().skip(200).collect();
    let mut message = ran("make", &shown.join("\n"), 0);
    message["truncated"] = json!(true);
    message["fullOutputPath"] = json!(host.path("out.log"));
    host.push(message);
    host.user("go");
    work(&mut host);
    let line = r#"[t1] exit 0 · 300 lines · last: "line 300 of what build printed""#;
    assert_eq!(sent(&host, 0)["output"], json!(line));
    let answer = host.activate(&asked("t1:7"), false);
    assert!(answer.ends_with("line 7 of what build printed"), "{answer}");
}

#[test]
fn reports_of_other_extensions_leave_and_instructions_stay() {
    let mut host = Host::new(settings());
    let long = lines("watch", 200);
    let image = json!({ "type": "image", "data": "AA", "mimeType": "image/png" });
    let blocks = json!([{ "type": "text", "text": "Report:" }, image, { "type": "text", "text": long, "k": 1 }]);
    let reports = [
        report("test-watcher", &json!(long), true),
        report("subagent", &blocks, true),
        report("plan-mode-context", &json!(long), false),
        report("short", &json!(lines("short", 9)), true),
        report(
            "skills",
            &json!(format!("<skill name=\"x\" location=\"/x/SKILL.md\">\n{long}\n</skill>")),
            true,
        ),
    ];
    for message in reports {
        host.push(message);
    }
    host.user("go");
    assert_eq!(host.send(), host.messages, "never in part from the start");
    work(&mut host);
    let line = |handle: &str, name: &str| {
        format!(r#"[{handle}] ok · 200 lines · {name} · last: "line 200 of what watch printed""#)
    };
    let mut expected = host.messages[..5].to_vec();
    expected[0]["content"] = json!(line("t1", "test-watcher"));
    expected[1]["content"][2]["text"] = json!(line("t2", "subagent"));
    for (at, expected) in expected.iter().enumerate() {
        assert_eq!(sent(&host, at), expected, "{at}");
    }
    let answer = host.activate(&asked("t2:9"), false);
    assert!(answer.contains("[t2] subagent · line 9 of 200\nline 9 of what watch"), "{answer}");
    host.send();
}

/// A message with files before a person's words, as Pi makes it.
fn pasted(host: &Host, names: &[&str], words: &str) -> String {
    let block = |name: &&str| {
        let text = std::fs::read_to_string(host.path(name)).unwrap();
        format!("<file name=\"{}\">\n{text}\n</file>\n", host.path(name).display())
    };
    names.iter().map(block).collect::<String>() + words
}

#[test]
fn a_pasted_file_is_a_read_of_it() {
    let mut host = Host::new(Settings { fault_tokens: 100_000, ..settings() });
    let words = format!("Look at </file> and\n{}", lines("I", 300));
    host.write_file("notes.md", &lines("notes", 90));
    host.user(&pasted(&host, &["notes.md"], &words));
    assert_eq!(host.send(), host.messages);
    let fact = host.live.state().result(0).unwrap().clone();
    assert!(matches!(fact.shows, Shows::File { .. }), "{fact:?}");
    // It stands, so a read of it brings nothing, and changes of it are told.
    host.read("notes.md", None, None);
    host.send();
    let read = text_of(host.sent.last().unwrap());
    assert!(
        read.starts_with("f1 unchanged; lines 1-90 stand in the read result above (t1)."),
        "{read}"
    );
    host.say("Read.");
    host.write_file("notes.md", &lines("notes", 90).replace("line 7 ", "line seven "));
    host.user("And now?");
    host.send();
    assert!(text_of(host.sent.last().unwrap()).contains("[f1] notes.md changed on disk"));
    work(&mut host);
    work(&mut host);
    let text = text_of(&host.messages[0]);
    let (head, _) = text.split_once("line 1 of what notes").unwrap();
    let line = "[t1] f1 notes.md · lines 1-90";
    let expected = format!("{head}{line}\n</file>\n{words}");
    assert!(text_of(sent(&host, 0)).starts_with(&expected), "{}", text_of(sent(&host, 0)));
}

#[test]
fn several_pasted_files_leave_as_one_output() {
    let mut host = Host::new(settings());
    host.write_file("a.md", &lines("a", 50));
    host.write_file("b/c.md", &lines("c", 50));
    let text = pasted(&host, &["a.md", "b/c.md"], "Compare them.");
    let image = json!({ "type": "image", "data": "AA", "mimeType": "image/png" });
    host.push(json!({ "role": "user", "content": [{ "type": "text", "text": text }, image] }));
    work(&mut host);
    work(&mut host);
    let message = sent(&host, 0);
    let line = r#"[t1] ok · 106 lines · @a.md @b/c.md · last: "</file>""#;
    assert!(text_of(message).starts_with(&format!("{line}\nCompare them.")), "{message}");
    assert_eq!(message["content"][1], image);
    let answer = host.activate(&asked("t1"), false);
    assert!(answer.contains("line 50 of what c printed"), "{answer}");
    host.send();
}

#[test]
fn a_persons_own_words_never_leave() {
    let mut host = Host::new(settings());
    host.write_file("a.md", &lines("a", 50));
    let quoted = pasted(&host, &["a.md"], "");
    let words = [
        lines("I", 900),
        format!("I mean this:\n{quoted}"),
        format!("Ran `ls`\n```\n{}\n```", lines("ls", 90)),
    ];
    for text in &words {
        host.user(text);
    }
    work(&mut host);
    for (at, text) in words.iter().enumerate() {
        assert!(text_of(sent(&host, at)).starts_with(text.as_str()), "{at}");
    }
}

#[test]
fn no_file_is_looked_at_because_a_message_names_it() {
    let mut host = Host::new(settings());
    host.write_file("key.txt", "a secret\n");
    let other = format!(
        "<file name=\"{}\">\n{}\n</file>\n",
        host.path("key.txt").display(),
        lines("I", 90)
    );
    host.user(&(other.clone() + "Show it."));
    host.user(&(other.clone() + &other + "Both."));
    host.send();
    let state = host.live.state();
    let files = state.index().entries.iter().filter(|entry| !entry.subject.agent_path().is_empty());
    assert_eq!(files.count(), 0);
    assert_eq!(state.result(0).unwrap().shows, Shows::Own);
}

#[test]
fn instructions_that_a_host_pastes_stay() {
    let mut host = Host::new(settings());
    host.write_file("AGENTS.md", &lines("rules", 90));
    host.user(&pasted(&host, &["AGENTS.md"], "Keep to it."));
    work(&mut host);
    assert_eq!(*host.live.state().treatment(0), Treatment::Given);
    assert!(text_of(sent(&host, 0)).contains("line 90 of what rules printed"));
}

#[test]
fn another_text_of_a_message_is_another_version_of_its_output() {
    let mut host = Host::new(settings());
    host.push(ran("npm test", &lines("npm", 80), 0));
    host.user("go");
    host.send();
    host.rewrites = true;
    host.messages[0]["output"] = json!(lines("less", 60));
    work(&mut host);
    let line = r#"[t1] exit 0 · 60 lines · last: "line 60 of what less printed""#;
    assert_eq!(sent(&host, 0)["output"], json!(line));
    host.rewrites = false;
}

#[test]
fn an_outputs_lines_are_needed_and_deactivated_as_any() {
    let mut host = Host::new(Settings { keep_results: 50, ..settings() });
    host.push(ran("npm test", &lines("npm", 80), 0));
    host.user("go");
    host.send();
    host.say("Seen.");
    host.live.deactivate("", "t1").unwrap();
    work(&mut host);
    let shown = sent(&host, 0)["output"].as_str().unwrap();
    assert!(shown.starts_with("[t1] exit 0"), "{shown}");
}

#[test]
fn in_pools_outputs_stand_among_the_active_content() {
    let mut host = Host::new(Settings { layout: Layout::Pools, ..settings() });
    let (output, text) = (lines("npm", 80), lines("notes", 40));
    host.push(ran("npm test", &output, 1));
    host.write_file("notes.md", &text);
    let message = pasted(&host, &["notes.md"], "What of it?");
    host.user(&message);
    host.send();
    let line = host.sent[1]["output"].as_str().unwrap().to_owned();
    assert!(line.starts_with("toolcall_ref id=") && line.ends_with(" status=fail"), "{line}");
    let words = text_of(&host.sent[2]);
    assert!(words.starts_with("<file name=") && words.ends_with("What of it?"), "{words}");
    assert!(words.contains("toolcall_ref") && !words.contains("line 7 of what notes"), "{words}");
    let active: Vec<String> = host.sent[3..].iter().map(text_of).collect();
    assert!(active.iter().any(|block| block.ends_with(&output)), "{active:?}");
    assert!(active.iter().any(|block| block.ends_with(&text)), "{active:?}");
    host.restart();
    host.user("Again?");
    host.send();
    assert_eq!(host.sent[1]["output"], json!(line));
}
