//! Commands that show lines of a file are reads of it: shown whole, once, and followed. Only if the
//! output is exactly these lines.

use config::Settings;
use serde_json::json;
use session::Shows;
use store::ForgetOptions;

use crate::host::{Host, uncached};
use crate::shapes::text_of;

fn lines(numbers: std::ops::RangeInclusive<usize>) -> String {
    let lines = numbers.map(|n| format!("line {n} of a file with some words\n"));
    lines.collect::<Vec<_>>().concat()
}

fn host(settings: Settings) -> Host {
    let mut host = Host::new(settings);
    host.write_file("a.txt", &lines(1..=120));
    host.user("go");
    host
}

fn bash(host: &mut Host, command: &str, output: &str) {
    host.tool("bash", &json!({ "command": command }), output);
    host.send();
}

fn newest(host: &Host) -> String {
    text_of(host.sent.last().unwrap())
}

/// What the newest result shows.
fn shows(host: &Host) -> Shows {
    let state = host.live.state();
    let (at, _) = state.window().next_back().unwrap();
    state.result(at).unwrap().shows.clone()
}

fn range(host: &Host) -> Option<(u64, u64)> {
    match shows(host) {
        Shows::File { range, .. } => Some(range.into()),
        _ => None,
    }
}

#[test]
fn every_way_to_show_lines_of_a_file_is_a_read_of_them() {
    for (command, output, expected) in [
        ("cat a.txt", lines(1..=120), (1, 121)),
        ("cat a.txt", lines(1..=120).trim_end().to_owned(), (1, 120)),
        ("cd . && cat \"a.txt\"", lines(1..=120), (1, 121)),
        ("cd /; cat {folder}/a.txt", lines(1..=120), (1, 121)),
        ("cat < a.txt", lines(1..=120), (1, 121)),
        ("bash -lc 'cat a.txt 2>/dev/null'", lines(1..=120), (1, 121)),
        ("sed -n '20,60p' a.txt", lines(20..=60), (20, 60)),
        ("head -n 40 a.txt", lines(1..=40), (1, 40)),
        ("tail -n +101 a.txt", lines(101..=120), (101, 121)),
        ("tail -20 a.txt", lines(101..=120), (101, 121)),
        ("cat a.txt | head -n 60 | tail -n 20", lines(41..=60), (41, 60)),
        ("bat -p a.txt", lines(1..=120), (1, 121)),
        ("Get-Content a.txt -TotalCount 30", lines(1..=30), (1, 30)),
    ] {
        let mut host = host(Settings::default());
        let command = command.replace("{folder}", &host.folder.path().to_string_lossy());
        bash(&mut host, &command, &output);
        assert_eq!(range(&host), Some(expected), "{command}");
        assert_eq!(newest(&host), output, "{command}");
        host.restart();
        host.send();
        assert_eq!(newest(&host), output, "{command}");
    }
}

#[test]
fn whatever_is_not_exactly_these_lines_is_an_output() {
    let numbered = (1..=120).map(|n| format!("{n:>6}\tline {n} of a file with some words\n"));
    let numbered = numbered.collect::<Vec<_>>().concat();
    for (command, output) in [
        ("cat -n a.txt", numbered.clone()),
        ("nl a.txt", numbered),
        ("cat a.txt a.txt", lines(1..=120).repeat(2)),
        ("cat a.txt; ls", lines(1..=120) + "a.txt\n"),
        ("cat a.txt", lines(1..=119)),
        ("cat a.txt", lines(1..=120).replace('\n', "\r\n")),
        ("sed -n 20,60p a.txt", lines(21..=61)),
        ("grep line a.txt", lines(1..=120)),
        ("cat b.txt", lines(1..=120)),
        ("cat a.txt", lines(1..=120) + "\n\nCommand exited with code 1"),
        ("ssh host cat a.txt", lines(1..=120)),
        ("git show HEAD:a.txt", lines(1..=120)),
        ("./cat a.txt", lines(1..=120)),
        ("PATH=bin cat a.txt", lines(1..=120)),
        ("export PATH=bin; cat a.txt", lines(1..=120)),
    ] {
        let mut host = host(Settings { preview_tokens: 0, ..Settings::default() });
        bash(&mut host, command, &output);
        assert_eq!(shows(&host), Shows::Own, "{command}");
        assert_eq!(newest(&host), output, "{command}");
    }
}

#[test]
fn failed_commands_and_too_long_outputs_are_no_reads() {
    let mut host = host(Settings::default());
    let id = host.call("bash", &json!({ "command": "cat a.txt" }));
    host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": true,
        "content": [{ "type": "text", "text": lines(1..=120) }],
    }));
    host.send();
    assert_eq!(shows(&host), Shows::Own);
    host.write_file("long.txt", &lines(1..=2_500));
    bash(&mut host, "cat long.txt", &lines(1..=2_500));
    assert_eq!(shows(&host), Shows::Own);
}

#[test]
fn a_file_is_shown_whole_and_once_by_whatever_tool() {
    let settings = Settings { preview_tokens: 100, ..Settings::default() };
    let mut host = host(settings);
    bash(&mut host, "cat a.txt", &lines(1..=120));
    assert_eq!(newest(&host), lines(1..=120));
    host.read("a.txt", Some(10), Some(40));
    host.send();
    let line = "f1 unchanged; lines 10-49 stand in the bash result above (t1).";
    assert_eq!(newest(&host).lines().next(), Some(line));
    bash(&mut host, "sed -n 30,70p a.txt", &lines(30..=70));
    assert_eq!(newest(&host), "f1 unchanged; lines 30-70 stand in the bash result above (t1).\n");
    bash(&mut host, "sed -n 30,70p a.txt", &lines(30..=70));
    assert_eq!(newest(&host), lines(30..=70), "an identical request right away");
}

#[test]
fn a_file_that_a_command_showed_is_followed() {
    let mut host = host(Settings::default());
    bash(&mut host, "head -n 40 a.txt", &lines(1..=40));
    let changed = lines(1..=120).replace("line 7 of", "line seven of");
    host.write_file("a.txt", &changed);
    bash(&mut host, "true", "");
    assert!(newest(&host).contains("a.txt changed on disk after t1 (+1 -1):"), "{}", newest(&host));
    bash(&mut host, "cat a.txt", &changed);
    assert!(newest(&host).contains("line seven of"), "{}", newest(&host));
}

#[test]
fn its_line_names_the_file_and_the_steps_say_read() {
    let settings = Settings {
        keep_results: 1,
        collapse_tokens: 50,
        prices: uncached(),
        ..Settings::default()
    };
    let mut host = host(settings);
    bash(&mut host, "sed -n '20,60p' a.txt", &lines(20..=60));
    for n in 0..6 {
        bash(&mut host, &format!("echo {n}"), &n.to_string());
    }
    host.user("on");
    host.send();
    let all: Vec<String> = host.sent.iter().map(text_of).collect();
    assert!(all.iter().any(|text| text == "[t1] f1 a.txt · lines 20-60"), "{all:#?}");
    let listed =
        host.activate(&live::Wanted { name: "t1-t2".into(), lines: None, pattern: None }, false);
    assert!(listed.contains("[t1] read f1 a.txt · lines 20-60"), "{listed}");
}

#[test]
fn a_forgotten_file_is_not_stored_again_by_a_command() {
    let mut host = host(Settings::default());
    bash(&mut host, "cat a.txt", &lines(1..=120));
    let Shows::File { object, .. } = shows(&host) else { panic!("no file") };
    let options = ForgetOptions { dry_run: false, ..ForgetOptions::default() };
    host.store.forget(&object, options).unwrap();
    host.restart();
    host.rewrites = true;
    bash(&mut host, "cat a.txt", &lines(1..=120));
    assert_eq!(newest(&host), lines(1..=120), "it goes out as the host gave it");
    let state = host.live.state();
    let (_, message) = state.window().next_back().unwrap();
    assert!(message.withheld, "its text is stored nowhere");
}
