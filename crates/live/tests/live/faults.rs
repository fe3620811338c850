//! Needs of what had left the window, counted by the way in which they show, with what they cost.

use config::{Layout, PriceSetting, Settings};
use live::{Wanted, statement, timeline};
use serde_json::json;
use session::Faults;

use crate::host::Host;

/// A host whose outputs leave at every chance.
fn host() -> Host {
    let prices = PriceSetting::Named("none".into());
    Host::new(Settings {
        prices,
        keep_results: 1,
        collapse_tokens: 50,
        preview_tokens: 0,
        ..Settings::default()
    })
}

fn text(name: &str) -> String {
    let line = |n| format!("{name} line {n} with some words to make it long enough");
    (0..60).map(line).collect::<Vec<_>>().join("\n")
}

/// Other work, until everything before it has left.
fn work(host: &mut Host) {
    for n in 0..14 {
        let name = format!("other {}.{n}", host.messages.len());
        host.tool("bash", &json!({ "command": format!("run {name}") }), &text(&name));
        host.send();
    }
}

fn begun() -> Host {
    let mut host = host();
    host.write_file("a.txt", &text("a"));
    host.user("Look at all of it.");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "make check" }), &text("check"));
    host.send();
    work(&mut host);
    assert!(!host.shown().contains("a line 3 with") && !host.shown().contains("check line 3 with"));
    assert_eq!(counts(&host), [0; 5]);
    host
}

/// Asked, read again, run again, failed edits, quoted.
fn counts(host: &Host) -> [u64; 5] {
    let faults = host.live.state().all_faults();
    let ledger = statement(&host.store, host.live.id()).unwrap();
    assert_eq!(ledger.faults.count, ledger.faults.kinds.count());
    let status = host.live.status().faults;
    assert_eq!(status.kinds, faults);
    of(&faults)
}

fn of(faults: &Faults) -> [u64; 5] {
    faults.all().map(|(_, sum)| sum.count)
}

fn activate(host: &mut Host, name: &str, lines: Option<&str>) -> String {
    let lines = lines.map(str::to_owned);
    host.activate(&Wanted { name: name.into(), lines, ..Wanted::default() }, false)
}

#[test]
fn asking_for_what_had_left_is_a_fault_even_if_refused() {
    let mut host = begun();
    activate(&mut host, "t2", None);
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0]);
    // It stands now.
    activate(&mut host, "t2", Some("3-9"));
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0]);
    let answer = activate(&mut host, "f1", Some("nonsense"));
    assert!(answer.contains("lines"), "{answer}");
    host.send();
    assert_eq!(counts(&host), [2, 0, 0, 0, 0]);
    host.window = 1_000;
    host.send();
    let answer = activate(&mut host, "f1", None);
    assert!(answer.contains("are free for it"), "{answer}");
    host.window = 200_000;
    host.send();
    assert_eq!(counts(&host), [3, 0, 0, 0, 0]);
    // Nothing of these had left, or ever stood.
    activate(&mut host, "nobody", None);
    host.live.activate("", &Wanted { name: "f1".into(), ..Wanted::default() }, false).unwrap();
    host.send();
    assert_eq!(counts(&host), [3, 0, 0, 0, 0], "a person asked, not the model");
    host.restart();
    assert_eq!(counts(&host), [3, 0, 0, 0, 0]);
}

#[test]
fn reading_again_what_had_left_is_a_fault() {
    let mut host = begun();
    host.read("a.txt", None, None);
    host.send();
    assert_eq!(counts(&host), [0, 1, 0, 0, 0]);
    host.read("a.txt", Some(3), Some(5));
    host.send();
    assert_eq!(counts(&host), [0, 1, 0, 0, 0], "it stands");
    host.write_file("b.txt", &text("b"));
    host.read("b.txt", None, None);
    host.send();
    assert_eq!(counts(&host), [0, 1, 0, 0, 0], "it is new");
}

#[test]
fn running_a_command_again_for_what_it_said_is_a_fault() {
    let mut host = begun();
    host.tool("bash", &json!({ "command": "make check" }), &text("check"));
    host.send();
    assert_eq!(counts(&host), [0, 0, 1, 0, 0]);
    work(&mut host);
    host.edit("a.txt", "a line 3 ", "A LINE 3 ");
    host.tool("bash", &json!({ "command": "make check" }), &text("another result"));
    host.send();
    assert_eq!(counts(&host), [0, 0, 1, 0, 0], "after an edit it is run for its new output");
}

#[test]
fn an_edit_that_failed_on_lines_that_had_left_is_a_fault() {
    let mut host = begun();
    let fail = |host: &mut Host, name: &str, old: &str| {
        let args = json!({ "path": name, "edits": [{ "oldText": old, "newText": "x" }] });
        let id = host.call("edit", &args);
        host.answer(&id, "edit", &args, "Could not find the exact text.", true);
        host.send();
    };
    fail(&mut host, "a.txt", "a line 3 with other words");
    assert_eq!(counts(&host), [0, 0, 0, 1, 0]);
    host.write_file("b.txt", &text("b"));
    host.read("b.txt", None, None);
    host.send();
    fail(&mut host, "b.txt", "b line 3 with other words");
    assert_eq!(counts(&host), [0, 0, 0, 1, 0], "its text stands");
    fail(&mut host, "none.txt", "whatever");
    assert_eq!(counts(&host), [0, 0, 0, 1, 0], "it never stood");
}

#[test]
fn writing_what_had_left_without_asking_is_a_fault() {
    let mut host = begun();
    host.say("As it said: \ncheck line 7 with some words to make it long enough");
    host.user("Well.");
    host.send();
    assert_eq!(counts(&host), [0, 0, 0, 0, 1]);
    let bill = host.live.state().bill();
    let charged = bill.charged();
    assert!(charged > 0.0 && (bill.faults.cost() - charged).abs() < 1e-9);
}

#[test]
fn a_fault_costs_its_call_or_what_came_again() {
    let mut host = begun();
    let before = host.live.state().bill().clone();
    activate(&mut host, "t2", None);
    host.send();
    let bill = host.live.state().bill();
    let call = bill.last.as_ref().unwrap();
    assert!((bill.faults.asked.cost - call.bill.ours.cost).abs() < 1e-9, "the whole call");
    let spent = bill.ours() - before.ours();
    assert!((spent - call.bill.ours.cost).abs() < 1e-9, "which is in the bill once: {spent}");
    assert!(call.bill.plain.cost.abs() < 1e-9, "plain makes no such call");
    // Beside a command that is none.
    let ids = [host.next_id(), host.next_id()];
    let (read, other) = (json!({ "path": "a.txt" }), json!({ "command": "date" }));
    host.call_all(&[
        (ids[0].clone(), "read", read.clone()),
        (ids[1].clone(), "bash", other.clone()),
    ]);
    host.answer(&ids[0], "read", &read, &text("a"), false);
    host.answer(&ids[1], "bash", &other, "today", false);
    host.send();
    let faults = host.live.state().bill().faults;
    assert_eq!(of(&faults), [1, 1, 0, 0, 0]);
    let cost = faults.reread.cost;
    assert!(cost > 500.0 && cost < 1_500.0, "the lines that came again: {cost}");
}

#[test]
fn the_timeline_has_each_fault_in_words() {
    let mut host = begun();
    activate(&mut host, "t2", None);
    host.send();
    host.read("a.txt", None, None);
    host.send();
    let marks = timeline(&host.store, host.live.id()).unwrap().marks;
    let texts: Vec<_> = marks.iter().filter(|mark| mark.kind == live::MarkKind::Fault).collect();
    let texts: Vec<_> = texts.iter().filter_map(|mark| mark.text.as_deref()).collect();
    assert_eq!(texts, ["the model asked for what had left", "it read again what had left"]);
}

#[test]
fn words_of_its_own_that_were_folded_are_quoted_too() {
    const THOUGHT: &str = "the parser reads the table twice, which nobody has seen";
    let mut host = host();
    host.user("Look.");
    host.send();
    host.thinking = THOUGHT.into();
    host.tool("bash", &json!({ "command": "first" }), &text("first"));
    host.send();
    host.thinking = "hm".into();
    work(&mut host);
    host.window = 100;
    host.tool("bash", &json!({ "command": "last" }), "last");
    host.send();
    host.window = 200_000;
    assert!(host.sent.iter().all(|message| !message.to_string().contains(THOUGHT)));
    host.say(&format!("As I saw:\n{THOUGHT}"));
    host.user("Well.");
    host.send();
    assert_eq!(counts(&host), [0, 0, 0, 0, 1]);
    host.say(THOUGHT);
    host.user("Yes.");
    host.send();
    assert_eq!(counts(&host), [0, 0, 0, 0, 1], "it stands again");
}

#[test]
fn asking_in_pools_for_what_is_not_active_is_a_fault() {
    let mut host = Host::new(Settings {
        layout: Layout::Pools,
        active_per_turn: 1,
        active_turns: 1,
        ..Settings::default()
    });
    host.user("Look.");
    host.send();
    for name in ["one", "two"] {
        host.tool("bash", &json!({ "command": name }), &text(name));
        host.send();
    }
    activate(&mut host, "t1", None);
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0]);
    activate(&mut host, "t1", None);
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0], "it is active");
}

#[test]
fn reading_what_a_note_shows_is_no_fault() {
    for pin in [true, false] {
        let mut host = begun();
        let wanted = Wanted { name: "f1".into(), ..Wanted::default() };
        host.live.activate("", &wanted, pin).unwrap();
        host.tool("bash", &json!({ "command": "true" }), "ok");
        host.send();
        assert!(host.shown().contains("a line 3 with"), "pinned {pin}: the note shows it");
        host.read("a.txt", None, None);
        host.send();
        assert_eq!(counts(&host), [0; 5], "pinned {pin}");
    }
}

#[test]
fn what_stands_in_another_output_has_not_left() {
    let mut host = Host::new(Settings::default());
    host.user("Look.");
    host.send();
    host.tool("bash", &json!({ "command": "make check" }), &text("check"));
    host.send();
    let both = format!("begin\n{}\nend", text("check"));
    host.tool("bash", &json!({ "command": "make all" }), &both);
    host.send();
    assert!(host.shown().contains(" lines as in t1:"), "{}", host.shown());
    activate(&mut host, "t2", Some("3-9"));
    host.send();
    host.tool("bash", &json!({ "command": "make all" }), &both);
    host.send();
    assert_eq!(counts(&host), [0; 5]);
}

#[test]
fn what_one_call_brought_back_beside_another_has_not_left() {
    let mut host = begun();
    activate(&mut host, "t3, t2", None);
    host.send();
    let [asked, ..] = counts(&host);
    assert!(host.shown().contains("check line 3 with"), "it stands");
    activate(&mut host, "t2", Some("3-9"));
    host.send();
    assert_eq!(counts(&host), [asked, 0, 0, 0, 0]);
}

/// A command whose host shows the last 60 of 100 lines, and keeps the whole if asked to.
fn cut_command(host: &mut Host, is_kept: bool) {
    let lines: Vec<String> =
        (1..=100).map(|n| format!("line {n} of the log with some words")).collect();
    host.write_file("whole.log", &lines.join("\n"));
    let shown = lines[40..].join("\n") + "\n\n[Showing lines 41-100 of 100. Full output: /tmp/x]";
    let id = host.call("bash", &json!({ "command": "make" }));
    let path = if is_kept { host.path("whole.log") } else { "/nowhere/x.log".into() };
    host.push(json!({
        "role": "toolResult", "toolCallId": id, "toolName": "bash", "isError": false,
        "content": [{ "type": "text", "text": shown }], "details": { "fullOutputPath": path },
    }));
    host.send();
}

#[test]
fn lines_of_a_cut_output_are_compared_by_one_numbering() {
    for is_kept in [true, false] {
        let mut host = host();
        host.user("Look.");
        host.send();
        cut_command(&mut host, is_kept);
        work(&mut host);
        assert!(!host.shown().contains("line 50 of the log"));
        if is_kept {
            activate(&mut host, "t1", Some("3-9"));
            host.send();
            assert_eq!(counts(&host), [0; 5], "the host never showed these");
        }
        activate(&mut host, "t1", Some("41-60"));
        host.send();
        assert_eq!(counts(&host), [1, 0, 0, 0, 0], "kept {is_kept}");
        activate(&mut host, "t1", Some("45-50"));
        host.send();
        assert_eq!(counts(&host), [1, 0, 0, 0, 0], "kept {is_kept}: they stand");
        activate(&mut host, "t1", Some("61-70"));
        host.send();
        assert_eq!(counts(&host), [2, 0, 0, 0, 0], "kept {is_kept}: these do not");
    }
}

#[test]
fn lines_that_a_preview_of_a_cut_output_shows_have_not_left() {
    let mut host = Host::new(Settings { preview_tokens: 300, ..Settings::default() });
    host.user("Look.");
    host.send();
    cut_command(&mut host, false);
    assert!(host.shown().contains(" lines between (t1:"), "{}", host.shown());
    activate(&mut host, "t1", Some("41-42"));
    host.send();
    assert_eq!(counts(&host), [0; 5]);
}

#[test]
fn lines_that_replaced_others_have_not_left() {
    let mut host = begun();
    let old = text("a");
    let lines: Vec<&str> = old.split('\n').collect();
    host.write_file("b.txt", &text("b"));
    host.read("b.txt", Some(1), Some(5));
    host.send();
    work(&mut host);
    let rest = text("b").split('\n').skip(5).collect::<Vec<_>>().join("\n");
    host.write_file("b.txt", &format!("{}\n{rest}", lines[..5].join("\n")));
    host.read("b.txt", Some(30), Some(5));
    host.send();
    assert_eq!(counts(&host), [0; 5], "nothing of these ever stood");
}

#[test]
fn what_a_deleted_file_had_is_asked_for() {
    let mut host = begun();
    std::fs::remove_file(host.path("a.txt")).unwrap();
    let answer = activate(&mut host, "f1", Some("3-9"));
    assert!(answer.contains("a line 3 with"), "{answer}");
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0]);
}

#[test]
fn lines_of_an_old_version_that_stand_have_not_left() {
    let mut host = begun();
    let file = host.live.state().index().entries[0].id.clone();
    let first = host.store.require(&file, base::object::AsOf::Latest).unwrap().tx_id;
    host.write_file("a.txt", &format!("new\n{}", text("a")));
    host.read("a.txt", None, None);
    host.send();
    let [_, reread, ..] = counts(&host);
    activate(&mut host, &format!("f1@{}", first.0), Some("3-9"));
    host.send();
    assert_eq!(counts(&host), [0, reread, 0, 0, 0], "they stand as lines 4-10");
}

#[test]
fn a_segment_that_was_brought_back_has_not_left() {
    let mut host = host();
    host.user("Look.");
    host.send();
    host.tool("bash", &json!({ "command": "first" }), &text("first"));
    host.send();
    work(&mut host);
    host.window = 100;
    host.tool("bash", &json!({ "command": "last" }), "last");
    host.send();
    host.window = 200_000;
    host.send();
    let folded = host.live.state().index().entries.iter().rev();
    let mut folded =
        folded.filter(|entry| entry.handle.kind == base::object::HandleKind::ChatSegment);
    let segment = folded.next().unwrap().handle.to_string();
    activate(&mut host, &segment, Some("1-6"));
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0]);
    activate(&mut host, &segment, Some("2-4"));
    host.send();
    assert_eq!(counts(&host), [1, 0, 0, 0, 0], "these stand");
    activate(&mut host, &segment, Some("9"));
    host.send();
    assert_eq!(counts(&host), [2, 0, 0, 0, 0]);
}

#[test]
fn what_passes_hides_no_fault() {
    let mut host = begun();
    // A clock that another extension puts in is ahead of all that comes.
    let clock = json!({ "role": "custom", "customType": "clock", "content": "It is 12:00 now.", "timestamp": 9_000_000 });
    for n in 0..4 {
        host.rewrites = true;
        host.tool("bash", &json!({ "command": format!("step {n}") }), "ok");
        let own = host.messages.clone();
        host.messages.push(clock.clone());
        host.send();
        host.messages = own;
    }
    activate(&mut host, "t2", None);
    host.send();
    host.read("a.txt", None, None);
    host.send();
    assert_eq!(counts(&host), [1, 1, 0, 0, 0]);
}
