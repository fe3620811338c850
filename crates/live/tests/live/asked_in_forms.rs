//! What `activate` answers to names, lines and patterns as models write them, in long lines, and of
//! outputs of which the store holds a part or nothing.

use base::object::Handle;
use config::Settings;
use context::forms;
use live::Wanted;
use live::model_tools::Tool;
use serde_json::{Value, json};
use session::{Shows, Treatment};

use crate::host::{Host, uncached};
use crate::shapes::text_of;

fn log(lines: usize) -> String {
    let lines: Vec<String> = (1..=lines).map(|n| format!("line {n} of the log\n")).collect();
    lines.concat()
}

/// A host whose first call printed this.
fn printed(output: &str) -> Host {
    let mut host = Host::new(Settings::default());
    host.user("go");
    host.tool("bash", &json!({ "command": "make" }), output);
    host.send();
    host
}

/// What the model is answered, and its message in the list.
fn asked(host: &mut Host, args: &Value) -> String {
    let id = host.call("activate", args);
    let answer = Tool::Activate.execute(&mut host.live, &id, args);
    let (text, is_error) = match answer {
        Ok(answer) => (answer.text, false),
        Err(error) => (error.message(), true),
    };
    host.push_result(&id, "activate", &json!([{ "type": "text", "text": text }]), is_error);
    text
}

fn head(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[test]
fn names_are_taken_in_the_forms_that_are_printed_and_written() {
    let mut host = printed(&log(400));
    host.write_file("notes 10.md", "a\nb\nc\n");
    host.read("notes 10.md", None, None);
    host.send();
    for (name, lines, expected) in [
        ("t1:2-385", None, "[t1] bash · lines 2-385 of 400"),
        ("[t1] bash", None, "[t1] bash · lines 1-400 of 400"),
        ("`T1`", None, "[t1] bash · lines 1-400 of 400"),
        ("t1 lines 10 to 20", None, "[t1] bash · lines 10-20 of 400"),
        ("t1#L10-L20", None, "[t1] bash · lines 10-20 of 400"),
        ("t1", Some("390-"), "[t1] bash · lines 390-400 of 400"),
        ("t1", Some("20–10"), "[t1] bash · lines 10-20 of 400"),
        ("t1", Some("-5"), "[t1] bash · lines 396-400 of 400"),
        ("t1", Some("all"), "[t1] bash · lines 1-400 of 400"),
        ("t1:5", Some("7"), "[t1] bash · line 7 of 400"),
        ("… 12 lines between (t1:81-92) …", None, "[t1] bash · lines 81-92 of 400"),
        // A path that is there wins, also over one with lines behind it.
        ("notes 10.md", None, "[f1] notes 10.md · lines 1-3 of 3"),
        ("notes 10.md:2", None, "[f1] notes 10.md · line 2 of 3"),
    ] {
        let mut args = json!({ "name": name });
        if let Some(lines) = lines {
            args["lines"] = json!(lines);
        }
        let answer = asked(&mut host, &args);
        assert!(
            head(&answer).ends_with(expected.rsplit(" · ").next().unwrap()),
            "{name}: {answer}"
        );
        assert!(answer.starts_with(expected.split(" · ").next().unwrap()), "{name}: {answer}");
    }
    host.send();
}

#[test]
fn preview_reference_and_answer_count_the_same_lines() {
    let mut host = Host::new(Settings { preview_tokens: 200, ..Settings::default() });
    host.user("go");
    let names: Vec<String> = (1..=400).map(|n| format!("src/file{n}.rs\n")).collect();
    host.tool("bash", &json!({ "command": "ls -R" }), &names.concat());
    host.send();
    let shown = text_of(host.sent.last().unwrap());
    let between = shown.lines().find(|line| line.starts_with("… ")).unwrap();
    assert!(between.ends_with(" of 400) …"), "{between}");
    let answer = asked(&mut host, &json!({ "name": between }));
    assert!(head(&answer).ends_with(" of 400"), "{answer}");
    let fact = host.live.state().result(2).unwrap();
    let line = forms::output_line(Handle::parse("t1").unwrap(), fact);
    assert!(line.starts_with("[t1] exit 0 · 400 lines · last: "), "{line}");
}

#[test]
fn lines_past_the_end_are_answered_with_what_there_is() {
    let mut host = printed(&log(400));
    host.write_file("src/main.rs", "fn main() {}\n");
    host.read("src/main.rs", None, None);
    host.write_file("unread.txt", "x\n");
    host.send();
    for (args, expected) in [
        (
            json!({ "name": "t1", "lines": "900-999" }),
            "[t1] bash · `900-999` is past the end of its 400 lines; the last are lines 361-400",
        ),
        (json!({ "name": "t99" }), "nothing is named `t99`; near it: `t2`"),
        (json!({ "name": "1" }), "nothing is named `1`; near it: `t1`, `f1`"),
        (json!({ "name": "lib/main.rs" }), "nothing is named `lib/main.rs`; near it: `f1 "),
        (json!({ "name": "unread.txt" }), "nothing is named `unread.txt`; near it: `t2`, `f1`"),
        (
            json!({ "name": "t1", "lines": "some" }),
            "`lines` `some` is not a line range such as `40-80`, `390-` or `-50`",
        ),
    ] {
        let answer = asked(&mut host, &args);
        assert!(answer.starts_with(expected), "{args}: {answer}");
    }
    host.send();
}

#[test]
fn several_names_are_answered_one_below_the_other() {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 50,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = Host::new(settings);
    host.user("go");
    for n in 1..=3 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &log(60 * n));
        host.send();
    }
    let answer = asked(&mut host, &json!({ "name": "t1:2-40, t9 and t3", "pattern": "log" }));
    let heads: Vec<&str> = answer.lines().filter(|line| !line.starts_with("line ")).collect();
    assert_eq!(
        heads,
        [
            "[t1] bash · lines 1-42 of 60",
            "[t3] bash · lines 1-180 of 180",
            "nothing is named `t9`; near it: `t3`"
        ]
    );
    host.send();
    let at = host.live.state().chat().len() - 1;
    let Shows::Activated { also, .. } = &host.live.state().result(at).unwrap().shows else {
        panic!("it shows what was activated")
    };
    assert_eq!(also.len(), 1);
    // It leaves as other outputs do, and its line names what it held.
    for n in 0..4 {
        host.tool("bash", &json!({ "command": format!("true {n}") }), &log(80));
        host.send();
    }
    host.user("on");
    let sent = host.send();
    assert_eq!(*host.live.state().treatment(at), Treatment::Reference);
    let line = sent.iter().map(text_of).find(|text| text.contains("[t3] bash · lines 1-180"));
    assert_eq!(line.as_deref(), Some("[t1] bash · lines 1-42\n[t3] bash · lines 1-180"));
    host.restart();
    host.send();
    let refused = asked(&mut host, &json!({ "name": "t98, t99" }));
    assert!(refused.starts_with("nothing is named `t99`"), "{refused}");
}

#[test]
fn a_match_in_a_long_line_comes_with_what_surrounds_it() {
    let words: Vec<String> = (0..9_000).map(|n| format!("k{n:05}")).collect();
    let mut host = printed(&format!("{}\nerror: quota\n", words.join(",")));
    let found = asked(&mut host, &json!({ "name": "t1", "pattern": "k08998" }));
    assert!(found.starts_with("[t1] bash · lines 1-2 of 2\n… 62,"), "{found}");
    assert!(found.contains(" characters between (t1:1:1-62"), "{found}");
    assert!(found.contains(",k08997,k08998,k08999\nerror: quota"), "{found}");
    assert!(found.len() < 400, "{found}");
    host.send();
    let at = host.live.state().chat().len() - 1;
    let shows = &host.live.state().result(at).unwrap().shows;
    assert!(matches!(shows, Shows::Activated { cut, .. } if cut.len() == 1), "{shows:?}");
    // The short line beside it, and a part of the long one, as the mark names it.
    let beside = asked(&mut host, &json!({ "name": "t1", "pattern": "quota" }));
    assert!(beside.contains("error: quota") && beside.len() < 700, "{beside}");
    let part = asked(&mut host, &json!({ "name": "t1:1:15-20" }));
    assert!(part.contains(" … k00002 … "), "{part}");
    let whole = asked(&mut host, &json!({ "name": "t1", "lines": "1" }));
    assert!(whole.len() < 5_000, "{}", whole.len());
    let many = asked(&mut host, &json!({ "name": "t1", "pattern": "k0" }));
    assert!(many.contains("the first 10 of 9,000 places in line 1"), "{}", head(&many));
    host.send();
    host.restart();
    host.send();
}

#[test]
fn a_part_that_a_person_asks_for_comes_as_it_was_answered() {
    let mut host = printed(&format!("{}needle{}\n", "a".repeat(5_000), "b".repeat(5_000)));
    host.say("done");
    let wanted = Wanted { name: "t1".into(), pattern: Some("needle".into()), ..Wanted::default() };
    let answer = host.live.activate("", &wanted, false).unwrap();
    assert!(answer.contains("aneedleb"), "{answer}");
    host.restart();
    host.user("go on");
    let sent = text_of(host.send().last().unwrap());
    assert_eq!(sent, format!("{answer}\ngo on"));
}

#[test]
fn patterns_are_taken_as_they_are() {
    let mut host = printed("one\n  two (2)\nthree\n\nFive six\n");
    let all = "one\n  two (2)\nthree\n\nFive six";
    for (pattern, expected) in [
        (" two", "[t1] bash · lines 1-4 of 5\none\n  two (2)\nthree\n".to_owned()),
        ("two ", "[t1] bash · lines 1-4 of 5\none\n  two (2)\nthree\n".to_owned()),
        ("two(", "[t1] bash · no line matches `two(` (searched as plain text, since it is not a regular expression)".to_owned()),
        ("(2", "[t1] bash · searched as plain text, since it is not a regular expression · lines 1-4 of 5\none\n  two (2)\nthree\n".to_owned()),
        ("five", "[t1] bash · in another case · lines 3-5 of 5\nthree\n\nFive six".to_owned()),
        ("three\\n\\nFive", format!("[t1] bash · lines 1-5 of 5\n{all}")),
        ("q*", format!("[t1] bash · lines 1-5 of 5\n{all}")),
        ("x*", "[t1] bash · lines 3-5 of 5\nthree\n\nFive six".to_owned()),
        ("^$", "[t1] bash · lines 2-5 of 5\n  two (2)\nthree\n\nFive six".to_owned()),
        ("(a+)+$", "[t1] bash · no line matches `(a+)+$`".to_owned()),
        ("", format!("[t1] bash · lines 1-5 of 5\n{all}\n")),
    ] {
        let answer = asked(&mut host, &json!({ "name": "t1", "pattern": pattern }));
        assert_eq!(answer, expected, "{pattern}");
    }
    let within = asked(&mut host, &json!({ "name": "t1:1-3", "pattern": "six" }));
    assert_eq!(within, "[t1] bash · no line of `1-3` matches `six`");
}

/// A host whose command printed 20,000 lines of which it kept the last ones.
fn kept_in_part() -> Host {
    let lines: Vec<String> = (19_227..=20_000).map(|n| format!("line {n}")).collect();
    let notice = "[Showing lines 19227-20000 of 20000 (50KB limit). Full output: /tmp/gone.log]";
    printed(&format!("{}\n\n{notice}", lines.join("\n")))
}

#[test]
fn of_a_part_that_was_kept_the_answer_says_which() {
    let mut host = kept_in_part();
    let why = "the rest was not kept by the host";
    for (args, expected) in [
        (json!({ "pattern": "nowhere" }), format!("[t1] bash · searched lines 19227-20000; {why} · `nowhere` is not in them")),
        (json!({ "pattern": "19300" }), format!("[t1] bash · searched lines 19227-20000; {why} · lines 19298-19302 of 20,000")),
        (json!({ "lines": "19300-19301" }), "[t1] bash · lines 19300-19301 of 20,000".to_owned()),
        (json!({ "lines": "19220-19230" }), format!("[t1] bash · {why} · lines 19227-19230 of 20,000")),
        (json!({ "lines": "7-8" }), format!("[t1] bash · lines 19227-20000 are stored; {why}")),
        (json!({ "lines": "-2" }), "[t1] bash · lines 19999-20000 of 20,000".to_owned()),
        (json!({}), format!("[t1] bash · {why} · lines 19227-20000 of 20,000")),
        (json!({ "lines": "20001" }), "[t1] bash · `20001` is past the end of its 20,000 lines; the last are lines 19961-20000".to_owned()),
    ] {
        let mut args = args;
        args["name"] = json!("t1");
        let answer = asked(&mut host, &args);
        assert_eq!(head(&answer), expected, "{args}");
    }
    let found = asked(&mut host, &json!({ "name": "t1:19300" }));
    assert!(found.ends_with("\nline 19300"), "{found}");
    host.send();
    host.restart();
    host.send();
}

#[test]
fn a_notice_that_is_not_so_changes_no_number() {
    for notice in [
        "[Showing lines 1-9 of 99999999999999999999]",
        "[Showing lines 5-9 of 20]",
        "[Showing lines 0-1 of 9]",
    ] {
        let mut host = printed(&format!("a\nb\n\n{notice}"));
        let answer = asked(&mut host, &json!({ "name": "t1", "lines": "2" }));
        assert_eq!(answer, "[t1] bash · line 2 of 4\nb", "{notice}");
    }
}

#[test]
fn an_output_shortened_later_offers_the_fuller_version() {
    let mut host = printed(&log(50));
    host.messages.last_mut().unwrap()["content"][0]["text"] = json!("[cleared]");
    host.rewrites = true;
    host.send();
    let answer = asked(&mut host, &json!({ "name": "t1" }));
    let (head, text) = answer.split_once('\n').unwrap();
    assert_eq!(text, "[cleared]");
    let offer =
        head.split_once("(shortened since; ").unwrap().1.split_once(" is fuller)").unwrap().0;
    let fuller = asked(&mut host, &json!({ "name": offer, "lines": "50" }));
    assert!(
        fuller.contains("not the latest") && fuller.ends_with("line 50 of the log"),
        "{fuller}"
    );
}
