//! While old text of a file stands, a note in the request says so, however often it was told.

use config::Settings;
use serde_json::json;

use crate::host::{Host, uncached};

/// A host whose model ran some commands, then read a file of 30 lines.
fn reader(settings: Settings) -> Host {
    let mut host = Host::new(settings);
    host.rewrites = true;
    host.user("look");
    for n in 1..4 {
        let output: Vec<String> = (1..60).map(|row| format!("row {row} of run {n}\n")).collect();
        host.tool("bash", &json!({ "command": format!("run {n}") }), &output.concat());
        host.send();
    }
    let text: Vec<String> = (1..=30).map(|line| format!("line {line} of the file\n")).collect();
    host.write_file("a.rs", &text.concat());
    host.read("a.rs", None, None);
    host.send();
    host
}

/// Somebody changes a line of the file while a command runs.
fn change(host: &mut Host, line: u32) {
    let text = std::fs::read_to_string(host.path("a.rs")).unwrap();
    host.write_file("a.rs", &text.replace(&format!("line {line} of"), "another of"));
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
}

/// The first lines of the notes on the file.
fn notes(host: &Host) -> Vec<String> {
    let shown = host.shown();
    let notes = shown.lines().filter(|line| line.starts_with("[f1] a.rs") && line.contains("disk"));
    notes.map(str::to_owned).collect()
}

#[test]
fn a_branch_hears_that_a_file_keeps_changing() {
    let mut host = reader(Settings::default());
    host.say("done");
    let kept = host.messages.len();
    host.user("one");
    for line in 3..9 {
        change(&mut host, line);
    }
    host.messages.truncate(kept);
    host.user("another");
    host.send();
    let expected = ["[f1] a.rs changed on disk after t4 (+6 -6) and keeps changing"];
    assert_eq!(notes(&host), expected);
    change(&mut host, 9);
    assert_eq!(notes(&host), expected);
}

#[test]
fn a_branch_hears_of_a_file_that_a_patch_deleted() {
    let mut host = reader(Settings::default());
    host.say("done");
    let kept = host.messages.len();
    host.user("one");
    std::fs::remove_file(host.path("a.rs")).unwrap();
    host.tool("apply_patch", &json!({ "input": "*** Delete File: a.rs" }), "Done.");
    host.send();
    host.messages.truncate(kept);
    host.user("another");
    host.send();
    assert_eq!(notes(&host), ["[f1] a.rs is no longer on disk; its text of t4 is kept as f1."]);
}

#[test]
fn a_text_that_an_epoch_renewed_is_told_of_again() {
    let mut host = reader(Settings {
        prices: uncached(),
        keep_results: 10,
        collapse_tokens: 50,
        preview_tokens: 0,
        ..Settings::default()
    });
    for line in 3..12 {
        change(&mut host, line);
        let stands = host.shown().contains(&format!("line {line} of"));
        assert!(!stands || !notes(&host).is_empty(), "line {line}: {}", host.shown());
    }
}

#[test]
fn what_changed_while_a_turn_was_cut_short_is_told() {
    for is_write in [false, true] {
        let mut host = Host::new(Settings::default());
        host.user("look");
        host.send();
        host.write_file("a.rs", "one\n");
        if is_write {
            let args = json!({ "path": "a.rs", "content": "one\n" });
            host.tool("write", &args, "Written.");
        } else {
            host.read("a.rs", None, None);
        }
        host.write_file("a.rs", "two\n");
        host.restart();
        host.live.reconcile(&|_| {}).unwrap();
        host.user("go on");
        host.send();
        assert!(host.shown().contains("-one\n+two"), "{}", host.shown());
        assert_eq!(notes(&host).len(), 1, "{}", host.shown());
    }
}

#[test]
fn an_own_edit_beside_a_read_that_was_faster_is_not_told() {
    let mut host = Host::new(Settings::default());
    host.user("look");
    host.send();
    let (before, after) = ("one\nline two\n", "one\nline 2\n");
    host.write_file("a.rs", before);
    let args = [
        json!({ "path": "a.rs", "edits": [{ "oldText": "line two", "newText": "line 2" }] }),
        json!({ "path": "a.rs" }),
    ];
    let [edit, read] = [host.next_id(), host.next_id()];
    let [of_edit, of_read] = args.clone();
    host.call_all(&[(edit.clone(), "edit", of_edit), (read.clone(), "read", of_read)]);
    host.finished(&read, "read", &args[1], before, false);
    host.write_file("a.rs", after);
    host.finished(&edit, "edit", &args[0], "Replaced.", false);
    for (id, tool, text) in [(edit, "edit", "Replaced."), (read, "read", before)] {
        host.push_result(&id, tool, &json!([{ "type": "text", "text": text }]), false);
    }
    host.send();
    host.user("go on");
    host.send();
    assert_eq!(notes(&host), [""; 0], "{}", host.shown());
}
