//! Files that change behind the model's back: the help for a failed edit, the wording for another
//! session's change, and changes by a command that no message shows.

use base::object::{AsOf, ObjectId};
use config::{Layout, Settings};
use live::{LiveSession, Notice, Wanted};
use serde_json::{Value, json};
use session::{Cause, Event};
use store::Store;

use crate::host::Host;

const TEXT: &str = "fn one() {}\nfn two() {}\nfn three() {}\nfn four() {}\nfn five() {}\n";

fn numbered(lines: u32) -> String {
    let lines: Vec<String> = (1..=lines).map(|line| format!("line {line} of the file\n")).collect();
    lines.concat()
}

fn edit_of(name: &str, old: &str) -> Value {
    json!({ "path": name, "edits": [{ "oldText": old, "newText": "new" }] })
}

/// The model's edit fails; returns what the host shows.
fn fail_edit(host: &mut Host, name: &str, old: &str) -> String {
    let args = edit_of(name, old);
    let id = host.call("edit", &args);
    let mut text = format!("Could not find the exact text in {name}.");
    if let Some(help) = host.live.explain_failed_edit(&args).unwrap() {
        text = format!("{text}\n\n{help}");
    }
    host.answer(&id, "edit", &args, &text, true);
    text
}

/// A host whose model has read a file.
fn reader(name: &str, text: &str) -> Host {
    let mut host = Host::new(Settings::default());
    host.write_file(name, text);
    host.user("look");
    host.read(name, None, None);
    host.send();
    host
}

fn notes(host: &Host) -> usize {
    host.shown().matches("changed on disk").count()
}

#[test]
fn a_note_on_a_long_line_shows_what_changed_in_it() {
    let words: Vec<String> = (0..2_000).map(|n| format!("k{n:04}")).collect();
    let text = format!("{}\nend\n", words.join(","));
    let mut host = reader("app.min.js", &text);
    host.write_file("app.min.js", &text.replace("k1000", "changed"));
    host.user("and now?");
    host.send();
    let shown = host.shown();
    let (_, note) = shown.split_once("app.min.js changed on disk after t1 (+1 -1):").unwrap();
    assert!(note.contains("k0999,k1000,k1001") && note.contains("k0999,changed,k1001"), "{note}");
    let (_, place) = note.split_once("characters between (").unwrap();
    let name = place.split(')').next().unwrap().to_owned();
    assert!(name.starts_with("f1:1:1-5"), "{name}");
    let answer = host.activate(&Wanted { name, ..Wanted::default() }, false);
    assert!(answer.contains("k0000,k0001") && !answer.contains("changed,"), "{answer}");
}

/// A host whose model read a file, and whose person may go back.
fn rewriter() -> Host {
    let mut host = reader("a.rs", TEXT);
    host.rewrites = true;
    host.say("done");
    host
}

/// What a model that saw a file leave, and whose host compacted, is told once it is back. `pause`:
/// what comes before the next call.
fn told_of_a_return(pause: impl FnOnce(&mut Host)) -> String {
    let mut host = reader("a.rs", TEXT);
    std::fs::remove_file(host.path("a.rs")).unwrap();
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
    assert!(host.shown().contains("a.rs is no longer on disk"), "{}", host.shown());
    host.messages.clear();
    host.user("A summary of what was done.");
    host.send();
    host.write_file("a.rs", "fn six() {}\n");
    pause(&mut host);
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
    let shown = host.shown();
    shown.lines().find(|line| line.starts_with("[f1]")).unwrap_or_default().to_owned()
}

#[test]
fn a_file_that_is_back_is_told_whoever_found_it() {
    let found_by_the_call = told_of_a_return(|_| {});
    insta::assert_snapshot!(found_by_the_call, @"[f1] a.rs is on disk again (12 bytes).");
    let found_on_resuming = told_of_a_return(|host| {
        host.restart();
        host.live.reconcile(&|_| {}).unwrap();
    });
    assert_eq!(found_on_resuming, found_by_the_call);
    let gone_for_long = told_of_a_return(|host| {
        std::fs::remove_file(host.path("a.rs")).unwrap();
        for _ in 0..12 {
            host.tool("bash", &json!({ "command": "true" }), "");
            host.send();
        }
        host.write_file("a.rs", "fn six() {}\n");
    });
    assert_eq!(gone_for_long, found_by_the_call);
}

/// The model changes a line of the file, or somebody else does and it reads the file.
fn change_and_see(host: &mut Host, is_edit: bool) {
    if is_edit {
        host.edit("a.rs", "fn two", "fn zwei");
    } else {
        host.write_file("a.rs", &TEXT.replace("fn two", "fn zwei"));
        host.read("a.rs", None, None);
    }
}

/// The next request tells of nothing more.
fn is_told_once(host: &mut Host) {
    host.tool("bash", &json!({ "command": "true" }), "");
    host.send();
    assert_eq!(notes(host), 1, "{}", host.shown());
}

#[test]
fn a_change_before_an_edit_of_the_model_is_told() {
    let mut host = reader("a.rs", &numbered(60));
    host.write_file("a.rs", &numbered(60).replace("line 5 of", "LINE 5 of"));
    host.edit("a.rs", "line 40 of", "LINE 40 of");
    host.send();
    let shown = host.shown();
    let note = shown.split_once("[f1] a.rs changed on disk after t1 (+1 -1):").unwrap().1;
    assert!(note.contains("-line 5 of the file\n+LINE 5 of the file"), "{note}");
    assert!(!note.contains("LINE 40"), "it wrote that itself: {note}");
    is_told_once(&mut host);
}

#[test]
fn what_takes_back_the_changes_of_the_model_is_told() {
    for in_part in [false, true] {
        let mut host = reader("a.rs", TEXT);
        if in_part {
            host.edit("a.rs", "fn four", "fn vier");
        }
        host.edit("a.rs", "fn two", "fn zwei");
        host.send();
        let left = if in_part { TEXT.replace("fn four", "fn vier") } else { TEXT.to_owned() };
        host.write_file("a.rs", &left);
        host.tool("bash", &json!({ "command": "true" }), "");
        host.send();
        let shown = host.shown();
        assert!(shown.contains("[f1] a.rs changed on disk"), "{shown}");
        assert!(shown.contains("-fn zwei() {}\n+fn two() {}"), "{shown}");
    }
}

#[test]
fn a_change_before_a_patch_or_a_loose_edit_is_told() {
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-line 40 of the file\n+LINE 40 of the file\n*** End Patch";
    let old = "  line 39 of the file\n  line 40 of the file\n";
    let edit =
        json!({ "path": "a.rs", "oldText": old, "newText": old.replace("line 40", "LINE 40") });
    for (tool, args) in [("apply_patch", json!({ "input": patch })), ("edit", edit)] {
        let mut host = reader("a.rs", &numbered(60));
        let made = numbered(60).replace("line 5 of", "LINE 5 of").replace("line 40", "LINE 40");
        host.write_file("a.rs", &made);
        host.tool(tool, &args, "Done");
        host.send();
        let shown = host.shown();
        let note = shown.split_once("[f1] a.rs changed on disk after t1 (+1 -1):").unwrap().1;
        assert!(note.contains("-line 5 of the file\n+LINE 5 of the file"), "{note}");
        assert!(!note.contains("LINE 40"), "it wrote that itself: {note}");
        is_told_once(&mut host);
    }
}

#[test]
fn edits_around_a_change_are_no_part_of_its_note() {
    let mut host = reader("a.rs", &numbered(60));
    host.edit("a.rs", "line 10 of", "one\ntwo\nline 10 of");
    let text = std::fs::read_to_string(host.path("a.rs")).unwrap();
    host.write_file("a.rs", &text.replace("line 30 of the file\n", ""));
    host.edit("a.rs", "line 50 of", "three\nLINE 50 of");
    host.edit("a.rs", "line 20 of", "LINE 20 of");
    host.send();
    let shown = host.shown();
    let note = shown.split_once("[f1] a.rs changed on disk after t1 (+0 -1):").unwrap().1;
    assert!(note.contains("-line 30 of the file") && !note.contains("\n+"), "{note}");
    assert_eq!(notes(&host), 1, "{shown}");
}

#[test]
fn a_branch_is_told_what_happened_on_the_one_that_was_left() {
    for is_edit in [true, false] {
        let mut host = rewriter();
        let kept = host.messages.len();
        host.user("one");
        change_and_see(&mut host, is_edit);
        host.send();
        host.say("done");
        host.user("two");
        host.send();
        assert_eq!(notes(&host), 0, "{}", host.shown());
        host.messages.truncate(kept);
        host.user("another");
        host.send();
        let shown = host.shown();
        let note = shown.split_once("[f1] a.rs changed on disk after t1 (+1 -1):").unwrap().1;
        assert!(note.contains("-fn two() {}\n+fn zwei() {}"), "{note}");
        is_told_once(&mut host);
    }
}

/// The newest note on a change.
fn newest_note(host: &Host) -> String {
    let shown = host.shown();
    let (_, note) = shown.rsplit_once(" changed on disk after ").expect("a note");
    note.lines()
        .filter(|line| line.starts_with(['(', 't', '+', '-']))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_branch_visited_before_is_told_what_changed_since() {
    for is_edit in [true, false] {
        let mut host = rewriter();
        let first = host.messages.clone();
        host.user("one");
        change_and_see(&mut host, is_edit);
        if is_edit {
            host.read("a.rs", None, None);
        }
        host.send();
        host.say("done");
        let second = host.messages.clone();
        host.messages = first.clone();
        host.user("another");
        host.edit("a.rs", "fn three", "fn drei");
        host.send();
        host.say("done");
        host.messages = second;
        host.user("back");
        host.send();
        let note = newest_note(&host);
        assert!(note.ends_with("(+1 -1):\n-fn three() {}\n+fn drei() {}"), "{note}");
        host.messages = first;
        host.user("once more");
        host.send();
        let both = "-fn two() {}\n-fn three() {}\n+fn zwei() {}\n+fn drei() {}";
        let note = newest_note(&host);
        assert!(note.ends_with(&format!("(+2 -2):\n{both}")), "{note}");
        is_told_once(&mut host);
    }
}

#[test]
fn a_branch_with_all_that_the_model_did_is_told_nothing() {
    let mut host = rewriter();
    let first = host.messages.clone();
    host.user("one");
    host.edit("a.rs", "fn two", "fn zwei");
    host.send();
    host.say("done");
    let second = host.messages.clone();
    host.messages = first;
    host.user("another");
    host.send();
    assert_eq!(notes(&host), 1, "{}", host.shown());
    host.messages = second;
    host.user("back");
    host.send();
    assert_eq!(notes(&host), 0, "{}", host.shown());
}

#[test]
fn what_stood_before_a_compaction_is_told_what_changed_since() {
    let mut host = rewriter();
    let before = host.messages.clone();
    host.messages.clear();
    host.push(json!({ "role": "compactionSummary", "summary": "so far", "tokensBefore": 9 }));
    host.user("go on");
    host.write_file("a.rs", &TEXT.replace("fn two", "fn zwei"));
    host.read("a.rs", None, None);
    host.send();
    host.say("done");
    host.messages = before;
    host.user("another way");
    host.send();
    let note = newest_note(&host);
    assert!(note.ends_with("(+1 -1):\n-fn two() {}\n+fn zwei() {}"), "{note}");
}

#[test]
fn a_failed_edit_shows_the_change_and_the_current_text_once() {
    let mut host = reader("a.rs", TEXT);
    host.write_file("a.rs", &TEXT.replace("fn two() {}", "fn two(x: u8) {}"));
    let text = fail_edit(&mut host, "a.rs", "fn two() {}\n");
    insta::assert_snapshot!(text, @"
    Could not find the exact text in a.rs.

    [f1] a.rs changed on disk after t1 (+1 -1):
    @@ -1,4 +1,4 @@
     fn one() {}
    -fn two() {}
    +fn two(x: u8) {}
     fn three() {}
     fn four() {}
    [f1] a.rs · lines 1-5, nearest to oldText:
    fn one() {}
    fn two(x: u8) {}
    fn three() {}
    fn four() {}
    fn five() {}
    ");
    host.send();
    assert_eq!(notes(&host), 1, "no note repeats it: {}", host.shown());
    assert!(host.shown().contains("fn two(x: u8) {}\nfn three() {}"), "{}", host.shown());
    let changes = host.notices.iter().filter(|notice| matches!(notice, Notice::FileChanged { .. }));
    assert_eq!(changes.count(), 1, "{:?}", host.notices);
    let again = fail_edit(&mut host, "a.rs", "fn two() {}\n");
    assert!(!again.contains("changed on disk"), "it is told: {again}");
    host.send();
    host.restart();
    host.user("on");
    host.send();
    assert_eq!(notes(&host), 1, "{}", host.shown());
}

#[test]
fn a_failed_edit_of_an_unchanged_file_shows_only_its_lines() {
    let mut host = reader("a.rs", TEXT);
    let text = fail_edit(&mut host, "a.rs", "fn tow() {}");
    assert!(text.contains("\n\n[f1] a.rs · lines 1-"), "{text}");
    let twice = fail_edit(&mut host, "a.rs", "fn ");
    assert!(twice.ends_with("[f1] a.rs · oldText stands 5 times: lines 1, 2, 3, 4, 5"), "{twice}");
    host.send();
    assert_eq!(notes(&host), 0);
}

#[test]
fn a_failed_edit_of_an_unread_file_shows_the_nearest_lines() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.rs", TEXT);
    host.user("change it");
    let text = fail_edit(&mut host, "a.rs", "fn two {}");
    assert!(text.contains("[f1] a.rs · lines 1-") && !text.contains("changed"), "{text}");
    host.send();
    let missing = fail_edit(&mut host, "b.rs", "x");
    assert_eq!(missing, "Could not find the exact text in b.rs.");
    host.send();
    assert_eq!(host.live.state().index().entries.len(), 3, "no file for a path without one");
}

#[test]
fn a_failed_edit_shows_lines_even_if_they_are_elsewhere() {
    let mut host = reader("a.rs", &numbered(40));
    let text = fail_edit(&mut host, "a.rs", "line 20 of a file");
    let shown = host.send();
    assert_eq!(shown.last().unwrap()["content"][0]["text"], json!(text));
}

#[test]
fn a_line_of_the_help_is_refused_as_text_of_a_file() {
    let mut host = reader("a.rs", &numbered(200));
    let wanted = numbered(200).replace("of the", "in the");
    let text = fail_edit(&mut host, "a.rs", &wanted);
    host.send();
    let mark = text.lines().find(|line| line.starts_with('…')).unwrap();
    let args = json!({ "path": "a.rs", "edits": [{ "oldText": "line 1 ", "newText": mark }] });
    assert!(host.live.check_write("edit", &args).unwrap().is_some(), "{mark}");
    let fine = json!({ "path": "a.rs", "content": "… 3 lines between (t9:1-3) …" });
    assert_eq!(host.live.check_write("write", &fine).unwrap(), None, "it is not a line of ours");
}

#[test]
fn an_excluded_file_gets_no_help() {
    let mut host = Host::new(Settings::default());
    host.write_file(".env", "KEY=one\n");
    host.user("change it");
    assert_eq!(host.live.explain_failed_edit(&edit_of(".env", "KEY=two")).unwrap(), None);
    for args in [json!({}), json!({ "path": 3 }), json!(null), json!({ "path": "nowhere" })] {
        assert_eq!(host.live.explain_failed_edit(&args).unwrap(), None, "{args}");
    }
}

#[test]
fn a_file_that_is_gone_is_said_to_be_gone() {
    let mut host = reader("a.rs", TEXT);
    std::fs::remove_file(host.path("a.rs")).unwrap();
    let text = fail_edit(&mut host, "a.rs", "fn two() {}");
    assert!(
        text.ends_with("[f1] a.rs is no longer on disk; its text of t1 is kept as f1."),
        "{text}"
    );
    host.send();
    assert_eq!(host.shown().matches("no longer on disk").count(), 1);
}

/// A second session on the same store and folder.
fn beside(host: &Host) -> Host {
    let mut other = Host::new(Settings::default());
    other.folder = tempfile::tempdir().unwrap();
    other.store = host.store.clone();
    other.live = LiveSession::open(
        host.store.clone(),
        live::OpenSession { host_session: "other".into(), ..host.options() },
    )
    .unwrap();
    other
}

/// The other session's model edits a file of this host's folder.
fn edit_beside(host: &Host, other: &mut Host, name: &str, old: &str, new: &str) {
    let path = host.path(name);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen(old, new, 1)).unwrap();
    let args = json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] });
    other.tool("edit", &args, "Successfully replaced 1 block(s).");
}

#[test]
fn a_change_by_another_session_is_attributed_to_it() {
    let mut host = reader("a.rs", TEXT);
    let mut other = beside(&host);
    other.user("work");
    edit_beside(&host, &mut other, "a.rs", "fn two", "fn zwei");
    other.send();
    host.user("on");
    host.send();
    let head = "[f1] a.rs changed on disk after t1, by another session (+1 -1):";
    assert!(host.shown().contains(head), "{}", host.shown());
    // The first to look writes the version: here this host.
    host.write_file("a.rs", &TEXT.replace("fn three", "fn drei"));
    host.user("on");
    host.send();
    assert!(
        host.shown().contains("[f1] a.rs changed on disk after t1 (+2 -2):"),
        "{}",
        host.shown()
    );
    edit_beside(&host, &mut other, "a.rs", "fn one", "fn eins");
    let text = fail_edit(&mut host, "a.rs", "fn one() {}");
    assert!(
        text.contains("[f1] a.rs changed on disk after t1, by another session (+1 -1):"),
        "{text}"
    );
    host.send();
    assert_eq!(host.shown().matches("by another session").count(), 2, "{}", host.shown());
}

#[test]
fn later_outside_changes_are_not_attributed_to_a_session() {
    let mut host = reader("a.rs", TEXT);
    let mut other = beside(&host);
    other.user("work");
    edit_beside(&host, &mut other, "a.rs", "fn two", "fn zwei");
    host.write_file("a.rs", "fn none() {}\n");
    host.user("on");
    host.send();
    assert!(host.shown().contains("changed on disk after t1 (+1 -5):"), "{}", host.shown());
}

#[test]
fn a_returning_old_state_is_not_attributed_to_its_session() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.rs", TEXT);
    let mut other = beside(&host);
    other.user("work");
    edit_beside(&host, &mut other, "a.rs", "fn two", "fn zwei");
    other.send();
    host.user("look");
    host.read("a.rs", None, None);
    host.send();
    host.write_file("a.rs", TEXT);
    host.user("on");
    host.send();
    assert_eq!(notes(&host), 1);
    host.write_file("a.rs", &TEXT.replace("fn two", "fn zwei"));
    // The other session is written again, but not because of the file.
    other.user("and on");
    other.send();
    host.user("on");
    host.send();
    assert_eq!(notes(&host), 2, "{}", host.shown());
    assert!(!host.shown().contains("by another session"), "{}", host.shown());
}

/// Text of the latest version that the store has of a file.
fn stored_text(host: &Host, file: &ObjectId) -> Option<String> {
    let version = host.store.require(file, AsOf::Latest).unwrap();
    host.store.content(&version).unwrap()
}

#[test]
fn a_file_changed_by_a_command_is_stored_before_the_next_call() {
    let settings = Settings { layout: Layout::Log, keep_results: 0, ..Settings::default() };
    let mut host = Host::new(settings);
    host.user("make it");
    host.write_file("a.rs", TEXT);
    host.tool("edit", &edit_of("a.rs", "old"), "Successfully replaced 1 block(s).");
    host.send();
    let file = host.live.state().index().entries[0].id.clone();
    assert!(!host.live.state().stands(&file), "what the model edited does not stand");
    host.write_file("a.rs", &TEXT.replace("two", "zwei"));
    host.tool("read", &json!({ "path": "nowhere" }), "");
    host.send();
    assert_eq!(stored_text(&host, &file).as_deref(), Some(TEXT), "nothing ran that changes files");
    host.tool("bash", &json!({ "command": "sed -i s/two/zwei/ a.rs" }), "");
    host.send();
    assert_eq!(stored_text(&host, &file), Some(TEXT.replace("two", "zwei")));
    assert_eq!(notes(&host), 0, "no text of it stands: {}", host.shown());
    let text = fail_edit(&mut host, "a.rs", "fn two() {}");
    assert!(text.contains("+fn zwei() {}"), "{text}");
}

#[test]
fn files_named_by_a_command_are_checked_first() {
    let mut host = Host::new(Settings::default());
    host.user("make them");
    for at in 0..250 {
        let name = format!("f{at:03}.txt");
        host.write_file(&name, "old\n");
        host.tool("edit", &edit_of(&name, "older"), "Successfully replaced 1 block(s).");
    }
    host.send();
    let files: Vec<ObjectId> = host.live.state().files().all_seen().to_vec();
    assert_eq!(files.len(), 250);
    for at in 0..250 {
        host.write_file(&format!("f{at:03}.txt"), "new text\n");
    }
    let current = |host: &Host| {
        files.iter().filter(|file| stored_text(host, file).as_deref() == Some("new text\n")).count()
    };
    host.tool("bash", &json!({ "command": "sed -i s/old/new\\ text/ f24*.txt f077.txt" }), "");
    host.send();
    assert_eq!(current(&host), 100);
    for named in (240..250).chain([77]) {
        assert_eq!(stored_text(&host, &files[named]).as_deref(), Some("new text\n"), "{named}");
    }
    for calls in [200, 250] {
        host.tool("read", &json!({ "path": "nowhere" }), "");
        host.send();
        assert_eq!(current(&host), calls);
    }
}

#[test]
fn checking_an_unchanged_file_records_no_event() {
    let mut host = reader("a.rs", TEXT);
    let events = |host: &Host| -> usize {
        let items = host.store.items(host.live.id(), AsOf::Latest, 0..u64::MAX).unwrap();
        let events = items.iter().map(|item| serde_json::from_str::<Event>(item).unwrap());
        events
            .filter(|event| matches!(event, Event::File(file) if file.cause == Cause::Changed))
            .count()
    };
    for _ in 0..3 {
        host.tool("bash", &json!({ "command": "true" }), "");
        host.send();
    }
    assert!(events(&host) <= 1, "{}", events(&host));
}

#[test]
fn two_stores_know_nothing_of_each_other() {
    let mut host = reader("a.rs", TEXT);
    let mut other = beside(&host);
    other.store = Store::open(":memory:").unwrap();
    other.live = LiveSession::open(other.store.clone(), other.options()).unwrap();
    other.user("work");
    edit_beside(&host, &mut other, "a.rs", "fn two", "fn zwei");
    host.user("on");
    host.send();
    assert!(
        host.shown().contains("[f1] a.rs changed on disk after t1 (+1 -1):"),
        "{}",
        host.shown()
    );
}
