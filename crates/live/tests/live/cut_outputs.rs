//! Outputs that the host cut: the full text is stored, and `activate` reaches it by its own line
//! numbers.

use base::object::{AsOf, ObjectId};
use config::{Layout, Settings};
use live::{LiveSession, OpenSession, Wanted};
use serde_json::json;
use store::ForgetOptions;

use crate::host::{Host, uncached};
use crate::shapes::text_of;

/// A log of this many lines.
fn log(lines: usize) -> String {
    let lines: Vec<String> = (1..=lines).map(|n| format!("line {n} of the build log")).collect();
    lines.join("\n") + "\n"
}

/// A host whose command printed a log of which the host showed the last 100 lines, or the part
/// chosen by `shown`.
fn cut(settings: Settings, shown: &dyn Fn(&str) -> String) -> Host {
    let mut host = Host::new(settings);
    let whole = log(1_000);
    host.write_file("whole.log", &whole);
    host.user("go");
    let id = host.call("bash", &json!({ "command": "make" }));
    host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false,
        "content": [{ "type": "text", "text": shown(&whole) }],
        "details": { "fullOutputPath": host.path("whole.log") },
    }));
    host.send();
    host
}

fn last_lines(whole: &str) -> String {
    let lines: Vec<&str> = whole.trim_end().split('\n').collect();
    lines[900..].join("\n") + "\n\n[Showing lines 901-1000 of 1000. Full output: /tmp/x]"
}

fn activate(host: &mut Host, lines: Option<&str>, pattern: Option<&str>) -> String {
    let wanted = Wanted {
        name: "t1".into(),
        lines: lines.map(Into::into),
        pattern: pattern.map(Into::into),
    };
    host.activate(&wanted, false)
}

#[test]
fn lines_and_patterns_reach_what_the_host_did_not_show() {
    let mut host = cut(Settings::default(), &last_lines);
    let lines = activate(&mut host, Some("7-8"), None);
    assert_eq!(
        lines,
        "[t1] bash · lines 7-8 of 1,000\nline 7 of the build log\nline 8 of the build log"
    );
    let found = activate(&mut host, None, Some("line 500 "));
    assert!(found.starts_with("[t1] bash · lines 498-502 of 1,000\nline 498 "), "{found}");
    let shown = activate(&mut host, None, None);
    assert!(shown.starts_with("[t1] bash · lines 901-1000 of 1,000\nline 901 "), "{shown}");
    assert!(shown.ends_with("\nline 1000 of the build log"), "{shown}");
    host.send();
    host.restart();
    host.send();
    assert!(activate(&mut host, Some("3"), None).ends_with("\nline 3 of the build log"));
}

#[test]
fn previews_and_references_number_lines_as_in_the_whole() {
    let mut host = cut(Settings { preview_tokens: 300, ..Settings::default() }, &last_lines);
    let shown = text_of(host.sent.last().unwrap());
    let hidden = shown.lines().find(|line| line.contains(" lines between (t1:")).unwrap();
    let range = hidden.split([':', ')']).nth(1).unwrap().to_owned();
    let first = range.split('-').next().unwrap();
    assert!(first.parse::<u64>().unwrap() > 900, "{hidden}");
    let activated = activate(&mut host, Some(&range), None);
    assert!(activated.contains(&format!("\nline {first} of the build log\n")), "{activated}");
    let mut host = cut(Settings::default(), &last_lines);
    let again: Vec<String> = (901..=950).map(|n| format!("line {n} of the build log")).collect();
    host.tool("bash", &json!({ "command": "make again" }), &again.join("\n"));
    host.send();
    let line = "… 50 lines as in t1:901-950, from \"line 901 of the build log\" …";
    assert_eq!(text_of(host.sent.last().unwrap()), line);
}

#[test]
fn a_part_that_starts_mid_line_is_shown_as_by_the_host() {
    let mut host = cut(Settings::default(), &|whole| whole[whole.len() - 40..].to_owned());
    let shown = activate(&mut host, None, None);
    assert!(shown.starts_with("[t1] bash · lines 1-"), "{shown}");
    let lines = activate(&mut host, Some("1000"), None);
    assert_eq!(lines, "[t1] bash · line 1000 of 1,000\nline 1000 of the build log");
}

#[test]
fn a_preview_of_the_end_of_a_line_names_its_place_in_the_line() {
    let words = |from: usize, to: usize| {
        (from..to).map(|n| format!("w{n:06}")).collect::<Vec<_>>().concat()
    };
    let mut host = Host::new(Settings { preview_tokens: 300, ..Settings::default() });
    host.write_file("whole.log", &format!("first\n{}\n", words(0, 20_000)));
    host.user("go");
    let id = host.call("bash", &json!({ "command": "make" }));
    let notice = "[Showing last 50.0KB of line 2 (line is 136.7KB). Full output: /tmp/x]";
    let text = format!("{}\n\n{notice}", words(12_000, 20_000));
    host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false,
        "content": [{ "type": "text", "text": text }],
        "details": { "fullOutputPath": host.path("whole.log") },
    }));
    host.send();
    let shown = text_of(host.sent.last().unwrap());
    let (head, rest) = shown.split_once(" … ").unwrap();
    let place = rest.split_once("(t1:").unwrap().1.split_once(')').unwrap().0.to_owned();
    assert_eq!(place, format!("2:{}-139800", 84_000 + head.len() + 1), "{shown}");
    let between = activate(&mut host, Some(&place), None);
    let all = words(0, 20_000);
    assert!(between.contains(&all[84_000 + head.len()..139_800]), "{between}");
}

#[test]
fn once_it_collapsed_its_line_counts_the_lines_of_the_whole() {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 100,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = cut(settings, &last_lines);
    for n in 0..4 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    host.user("on");
    host.send();
    let line = "[t1] exit 0 · 1,000 lines · last: \"line 1000 of the build log\"";
    assert_eq!(text_of(&host.sent[2]), line);
}

#[test]
fn an_output_not_stored_whole_gives_what_was_shown() {
    let small = Settings { max_output_bytes: 100, ..Settings::default() };
    let pools = Settings { layout: Layout::Pools, ..Settings::default() };
    for (settings, expected) in [
        (small, "lines 901-1000 are stored; the rest is more than `maxOutputBytes` keeps"),
        (pools, "`500` is past the end of its 102 lines; the last are lines 63-102"),
    ] {
        let mut host = cut(settings, &last_lines);
        let answer = activate(&mut host, Some("500"), None);
        assert_eq!(answer, format!("[t1] bash · {expected}"));
    }
}

/// What the host shows of an output of which nobody has the whole.
fn without_whole(settings: Settings, command: &str, text: &str, is_error: bool) -> Host {
    let mut host = Host::new(settings);
    host.user("go");
    let id = host.call("bash", &json!({ "command": command }));
    host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": is_error,
        "content": [{ "type": "text", "text": text }],
        "details": { "fullOutputPath": "/nowhere/pi-bash-1.log" },
    }));
    host.send();
    host
}

#[test]
fn without_the_whole_the_notice_counts_the_lines() {
    let notice = "[Showing lines 901-1000 of 1000. Full output: /tmp/x]";
    for (end, is_error) in [("", false), ("\n\nCommand exited with code 1", true)] {
        let text = last_lines(&log(1_000)) + end;
        let settings = Settings { preview_tokens: 300, ..Settings::default() };
        let mut host = without_whole(settings, "find .", &text, is_error);
        let shown = text_of(host.sent.last().unwrap());
        assert!(shown.starts_with("line 901 of") && shown.contains(notice), "{shown}");
        assert!(shown.ends_with(if end.is_empty() { notice } else { end }), "{shown}");
        let hidden = shown.lines().find(|line| line.contains(" between (t1:")).unwrap();
        assert!(hidden.ends_with(" of 1,000) …"), "{hidden}");
        let range = hidden.split([':', ' ']).find(|part| part.contains('-')).unwrap().to_owned();
        let first = range.split('-').next().unwrap();
        let lines = activate(&mut host, Some(&range), None);
        assert!(
            lines.starts_with(&format!("[t1] bash · lines {range} of 1,000\nline {first} of")),
            "{lines}"
        );
        let whole = activate(&mut host, None, None);
        let kept = "the rest was not kept by the host · lines 901-1000 of 1,000\nline 901 of";
        assert!(whole.starts_with(&format!("[t1] bash · {kept}")), "{whole}");
        let found = activate(&mut host, None, Some("line 950 "));
        let searched = "[t1] bash · searched lines 901-1000; the rest was not kept by the host";
        let lines = "lines 948-952 of 1,000\nline 948 of";
        assert!(found.starts_with(&format!("{searched} · {lines}")), "{found}");
        host.send();
        host.restart();
        host.send();
    }
}

#[test]
fn its_line_counts_the_whole_of_which_nobody_has_more() {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 100,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = without_whole(settings, "make", &last_lines(&log(1_000)), false);
    for n in 0..4 {
        host.tool("bash", &json!({ "command": format!("echo {n}") }), &n.to_string());
        host.send();
    }
    host.user("on");
    host.send();
    let line = "[t1] exit 0 · 100 of 1,000 lines · last: \"line 1000 of the build log\"";
    assert_eq!(text_of(&host.sent[2]), line);
}

#[test]
fn forgetting_an_activated_output_leaves_nothing_dangling() {
    let mut host = cut(Settings::default(), &last_lines);
    activate(&mut host, Some("7-60"), None);
    host.send();
    let call = ObjectId::new("call_1");
    let options = ForgetOptions { dry_run: false, ..ForgetOptions::default() };
    host.store.forget(&call, options).unwrap();
    host.restart();
    host.rewrites = true;
    host.send();
    let refused = activate(&mut host, Some("3"), None);
    assert!(refused.contains("was forgotten"), "{refused}");
}

/// What a host shows of 100 lines without their middle, and names the whole which nobody has.
fn without_middle() -> String {
    let lines: Vec<String> = (1..=100).map(|n| format!("line {n} of the build log")).collect();
    let (head, tail) = (lines[..20].join("\n"), lines[80..].join("\n"));
    let above = "Warning: truncated output (original token count: 900)\nTotal output lines: 100";
    let middle = "line 21 of…700 chars truncated… build log";
    let notice = "[Full output: /nowhere/x.txt (read it with offset/limit)]";
    format!("{above}\n\n{head}\n{middle}\n{tail}\n\n{notice}")
}

#[test]
fn an_output_without_its_middle_says_so_and_which_lines_it_has() {
    let mut host = without_whole(Settings::default(), "make", &without_middle(), false);
    let why = "the rest was not kept by the host";
    let shown = activate(&mut host, None, None);
    let heading = format!("[t1] bash · {why} · lines 1-21, 80-100 of 100");
    assert!(shown.starts_with(&format!("{heading}\nline 1 of the build log\n")), "{shown}");
    assert!(shown.ends_with("\nline 100 of the build log"), "{shown}");
    let found = activate(&mut host, None, Some("line 90 "));
    let heading = format!("[t1] bash · searched lines 1-20, 81-100; {why} · lines 88-92 of 100");
    assert!(found.starts_with(&format!("{heading}\nline 88 of")), "{found}");
    let none = activate(&mut host, None, Some("line 50 "));
    let searched = format!("searched lines 1-20, 81-100; {why}");
    assert_eq!(none, format!("[t1] bash · {searched} · `line 50 ` is not in them"));
    assert_eq!(
        activate(&mut host, Some("50"), None),
        format!("[t1] bash · lines 1-20, 81-100 are stored; {why}")
    );
    let first = activate(&mut host, Some("1-2"), None);
    let lines = "line 1 of the build log\nline 2 of the build log";
    assert_eq!(first, format!("[t1] bash · lines 1-2 of 100\n{lines}"));
    let notice = activate(&mut host, None, Some("Full output|Total output"));
    assert!(notice.contains("is not in them"), "{notice}");
    host.send();
    host.restart();
    host.send();
}

/// A command that failed, as Pi gives it: only the text says where the whole is.
fn failed(host: &mut Host, text: &str) {
    host.user("go");
    let id = host.call("bash", &json!({ "command": "make" }));
    host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": true,
        "content": [{ "type": "text", "text": text }], "details": {},
    }));
    host.send();
}

#[test]
fn the_whole_of_a_failed_command_is_stored_too() {
    for end in ["Command exited with code 2", "Command timed out after 9 seconds"] {
        let mut host = Host::new(Settings::default());
        host.write_file("whole.log", &log(1_000));
        let path = host.path("whole.log").display().to_string();
        let notice = format!("[Showing lines 901-1000 of 1000. Full output: {path}]");
        let shown: Vec<_> = (901..=1_000).map(|n| format!("line {n} of the build log")).collect();
        failed(&mut host, &format!("{}\n\n{notice}\n\n{end}", shown.join("\n")));
        std::fs::remove_file(host.path("whole.log")).unwrap();
        let lines = activate(&mut host, Some("7"), None);
        assert_eq!(lines, "[t1] bash · line 7 of 1,000\nline 7 of the build log");
        host.send();
        host.restart();
        host.send();
    }
}

/// An output of which these lines are shown, with a notice as Pi's.
fn told(shown: &str, range: &str, path: &str) -> String {
    format!("{shown}\n\n[Showing lines {range}. Full output: {path}]\n\nCommand exited with code 1")
}

/// Whether the whole is stored of an output whose text alone says where that is.
fn is_stored(host: &mut Host, tool: &str, text: &str, is_error: bool) -> bool {
    host.user("on");
    let id = host.call(tool, &json!({ "command": "make" }));
    host.push_result(&id, tool, &json!([{ "type": "text", "text": text }]), is_error);
    host.send();
    let version = host.store.require(&ObjectId::new(id), AsOf::Latest).unwrap();
    !version.additional.is_empty()
}

#[test]
fn a_failed_command_may_end_in_a_blank_line() {
    let mut host = Host::new(Settings::default());
    host.write_file("whole.log", &(log(1_000) + "\n"));
    let path = host.path("whole.log").display().to_string();
    let notice = format!("[Showing lines 902-1001 of 1001. Full output: {path}]");
    let shown: Vec<_> = (902..=1_000).map(|n| format!("line {n} of the build log")).collect();
    let text = format!("{}\n\n\n{notice}\n\nCommand exited with code 2", shown.join("\n"));
    failed(&mut host, &text);
    std::fs::remove_file(host.path("whole.log")).unwrap();
    let lines = activate(&mut host, Some("7"), None);
    assert_eq!(lines, "[t1] bash · line 7 of 1,001\nline 7 of the build log");
    let shown = activate(&mut host, None, None);
    assert!(shown.starts_with("[t1] bash · lines 902-1000 of 1,001\nline 902 "), "{shown}");
}

#[test]
fn a_program_that_only_prints_a_notice_has_no_file_stored() {
    let mut host = Host::new(Settings::default());
    let whole = log(1_000);
    host.write_file("secret.txt", &whole);
    let path = &host.path("secret.txt").display().to_string();
    let lines: Vec<&str> = whole.lines().collect();
    let (before, tail) = (lines[800..900].join("\n"), lines[900..].join("\n"));
    let elsewhere = std::env::current_dir().unwrap().join("src/lib.rs").display().to_string();
    let text = std::fs::read_to_string(&elsewhere).unwrap();
    let (last, rest) = (text.lines().count(), text.split_once('\n').unwrap().1.trim_end());
    let ends = |shown: &str| {
        format!("Total output lines: 1000\n\n{shown}\n\n[Full output: {path}]\n\nCommand aborted")
    };
    for text in [
        told(&before, "901-1000 of 1000", path),
        told(&before, "801-900 of 1000", path),
        told(&tail, "801-900 of 900", path),
        told(&tail, "1-9 of 1000", path),
        told(lines[999], "1000-1000 of 1000", path),
        told(rest, &format!("2-{last} of {last}"), &elsewhere),
        format!("g\n\n[Showing last 1B of line 1000 (line is 9B). Full output: {path}]"),
        ends("…1 chars truncated…"),
        ends(&format!("{}…1 chars truncated…{}\n", lines[0], lines[999])),
    ] {
        assert!(!is_stored(&mut host, "bash", &text, true), "{text}");
    }
}

#[test]
fn only_a_command_that_failed_here_names_its_whole_in_words() {
    let mut host = Host::new(Settings::default());
    let whole = log(1_000);
    host.write_file("whole.log", &whole);
    let lines: Vec<&str> = whole.lines().collect();
    let path = host.path("whole.log").display().to_string();
    let text = told(&lines[900..].join("\n"), "901-1000 of 1000", &path);
    assert!(is_stored(&mut host, "bash", &text, true));
    for (tool, is_error) in [("bash", false), ("web_fetch", true), ("ask_server", true)] {
        assert!(!is_stored(&mut host, tool, &text, is_error), "{tool}");
    }
    host.restart_list();
    host.settings.sandbox = Some("box".into());
    host.restart_as("sandboxed");
    assert!(!is_stored(&mut host, "bash", &text, true), "in a sandbox");
    host.restart_list();
    host.settings.sandbox = None;
    host.name = "group".into();
    let confined = OpenSession { confined: Some(true), ..host.options() };
    host.live = LiveSession::open(host.store.clone(), confined).unwrap();
    assert!(!is_stored(&mut host, "bash", &text, true), "in a confined session");
}

#[test]
fn a_changed_read_is_no_cut_output() {
    let mut host = Host::new(Settings::default());
    host.user("go");
    host.write_file("a.txt", &log(900));
    host.read("a.txt", None, Some(2));
    host.send();
    host.rewrites = true;
    let last = host.messages.len() - 1;
    let notice = "[Showing lines 1-2 of 900. Use offset=3 to continue.]";
    let text = format!("line 1\nline 2\n\n{notice}");
    host.messages[last]["content"] = json!([{ "type": "text", "text": text }]);
    host.send();
    assert_eq!(host.live.state().result(2).unwrap().cut, None);
}
