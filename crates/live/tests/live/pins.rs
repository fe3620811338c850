//! What a person or the model pinned stands in every request, once, or the person is told that it
//! cannot.

use config::{Layout, Settings};
use context::tokens::Counter;
use live::{Notice, Wanted};
use serde_json::{Value, json};
use store::ForgetOptions;

use crate::host::{Host, uncached};

/// Settings under which outputs leave soon.
fn leaving(layout: Layout) -> Settings {
    Settings {
        layout,
        prices: uncached(),
        keep_results: 1,
        collapse_tokens: 50,
        fault_tokens: 10_000,
        preview_tokens: 600,
        active_per_turn: 1,
        active_turns: 1,
        ..Settings::default()
    }
}

fn host(layout: Layout) -> Host {
    let mut host = Host::new(leaving(layout));
    host.user("begin");
    host
}

/// Lines that occur nowhere else.
fn lines(name: &str, count: usize) -> String {
    let line = |line: usize| format!("{name}, line {line} of what it says\n");
    (1..=count).map(line).collect::<Vec<_>>().concat()
}

fn run(host: &mut Host, name: &str, count: usize) {
    host.tool("bash", &json!({ "command": format!("run {name}") }), &lines(name, count));
    host.send();
}

fn wanted(name: &str, lines: Option<&str>) -> Wanted {
    Wanted { name: name.into(), lines: lines.map(str::to_owned), pattern: None }
}

/// A person pins.
fn pin(host: &mut Host, name: &str, lines: Option<&str>) {
    host.live.activate("", &wanted(name, lines), true).unwrap();
}

/// The host compacts: a summary takes the place of all but the newest messages.
fn compact(host: &mut Host, kept: usize) {
    let rest = host.messages.split_off(host.messages.len() - kept);
    host.messages.clear();
    host.push(json!({ "role": "compactionSummary", "summary": "so far", "tokensBefore": 9 }));
    host.messages.extend(rest);
}

/// How often a line stands in the newest request.
fn count(host: &Host, line: &str) -> usize {
    let texts = host.sent.iter().flat_map(|message| texts(&message["content"]));
    texts.map(|text| text.lines().filter(|found| *found == line).count()).sum()
}

fn texts(content: &Value) -> Vec<&str> {
    let blocks =
        content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
    content.as_str().into_iter().chain(blocks).collect()
}

/// Checks that the first and the last of these lines stand once, and what a person is shown.
fn stands(host: &Host, name: &str, (first, last): (usize, usize), why: &str) {
    for line in [first, last] {
        assert_eq!(
            count(host, &format!("{name}, line {line} of what it says")),
            1,
            "{why}: {line}"
        );
    }
    assert_eq!(host.live.pins().standing.len(), 1, "{why}");
    assert_eq!(host.live.status().pinned_objects, 1, "{why}");
}

fn on_every_way(layout: Layout, pins: impl Fn(&mut Host)) {
    let mut host = host(layout);
    run(&mut host, "first", 40);
    pins(&mut host);
    host.say("done");
    host.user("go on");
    host.send();
    let check = |host: &Host, why| stands(host, "first", (1, 40), why);
    check(&host, "the next request");
    for number in 0..8 {
        run(&mut host, &format!("more {number}"), 60);
        check(&host, "while outputs leave");
    }
    compact(&mut host, 2);
    host.user("after the compaction");
    host.send();
    check(&host, "after a compaction");
    compact(&mut host, 1);
    host.send();
    check(&host, "after a compaction without a new message");
    host.restart();
    host.say("I see");
    host.user("after the restart");
    host.send();
    check(&host, "after a restart");
    "other/model".clone_into(&mut host.model);
    run(&mut host, "with the other model", 60);
    check(&host, "with another model");
    let len = host.messages.len();
    host.messages.truncate(len - 2);
    host.user("another way");
    host.send();
    check(&host, "on another branch");
    host.fork("a fork");
    host.say("yes");
    host.user("in the fork");
    host.send();
    check(&host, "in a fork");
    host.live.unpin("", "t1").unwrap();
    for number in 0..8 {
        run(&mut host, &format!("again {number}"), 60);
    }
    assert_eq!(count(&host, "first, line 40 of what it says"), 0, "unpinned, it may go");
    assert_eq!(host.live.status().pinned_objects, 0);
}

#[test]
fn what_a_person_pins_stands_on_every_way() {
    for layout in [Layout::Log, Layout::Pools] {
        on_every_way(layout, |host| pin(host, "t1", None));
    }
}

#[test]
fn what_the_model_pins_stands_on_every_way() {
    for layout in [Layout::Log, Layout::Pools] {
        on_every_way(layout, |host| {
            host.activate(&wanted("t1", None), true);
            host.send();
        });
    }
}

#[test]
fn the_model_cannot_lift_a_persons_pin() {
    for layout in [Layout::Log, Layout::Pools] {
        let mut host = host(layout);
        run(&mut host, "first", 40);
        pin(&mut host, "t1", None);
        for refused in [host.live.unpin("call", "t1"), host.live.deactivate("call", "t1")] {
            assert_eq!(refused.unwrap(), "t1 stays: the user pinned it");
        }
        assert_eq!(host.live.state().sets().pinned().len(), 1);
        assert_eq!(host.live.unpin("", "t1").unwrap(), "done: t1");
        assert_eq!(host.live.unpin("", "t1").unwrap(), "t1 is not pinned");
        host.activate(&wanted("t1", None), true);
        assert_eq!(host.live.unpin("call", "t1").unwrap(), "done: t1");
    }
}

#[test]
fn what_is_deactivated_again_leaves_all_the_same() {
    let mut host = host(Layout::Log);
    run(&mut host, "first", 40);
    let once = host.live.deactivate("", "t1").unwrap();
    assert!(once.starts_with("done: t1, ") && once.ends_with(" tokens"), "{once}");
    assert_eq!(host.live.deactivate("", "t1").unwrap(), once);
}

#[test]
fn a_pin_that_came_before_the_output_was_left_behind_stands() {
    let mut host = host(Layout::Log);
    run(&mut host, "first", 40);
    pin(&mut host, "t1", None);
    host.messages.truncate(1);
    host.user("another way");
    host.send();
    stands(&host, "first", (1, 40), "on the other branch");
}

#[test]
fn what_stands_in_part_is_completed_and_nothing_stands_twice() {
    let mut host = host(Layout::Log);
    host.write_file("a.txt", &lines("a", 120));
    host.read("a.txt", Some(1), Some(60));
    host.send();
    pin(&mut host, "a.txt", None);
    host.say("done");
    host.user("go on");
    host.send();
    for line in [1, 60, 61, 120] {
        assert_eq!(count(&host, &format!("a, line {line} of what it says")), 1, "{line}");
    }
    assert!(host.shown().contains("[f1] a.txt · lines 61-120 of 120"), "{}", host.shown());
}

#[test]
fn of_an_output_shown_in_part_the_pin_brings_the_rest() {
    let mut host = host(Layout::Log);
    run(&mut host, "long", 200);
    assert_eq!(count(&host, "long, line 100 of what it says"), 0);
    pin(&mut host, "t1", None);
    assert_eq!(host.live.pins().waiting.len(), 1);
    host.say("done");
    host.user("go on");
    host.send();
    for line in [1, 100, 200] {
        assert_eq!(count(&host, &format!("long, line {line} of what it says")), 1, "{line}");
    }
}

#[test]
fn what_stands_is_not_sent_again_by_another_pin() {
    let mut host = host(Layout::Log);
    run(&mut host, "first", 40);
    for number in 0..6 {
        run(&mut host, &format!("more {number}"), 60);
    }
    assert_eq!(count(&host, "first, line 40 of what it says"), 0, "it left");
    pin(&mut host, "t1", None);
    host.say("done");
    host.user("go on");
    host.send();
    stands(&host, "first", (1, 40), "pinned by a person");
    pin(&mut host, "t1", None);
    host.say("done");
    host.user("go on");
    host.send();
    stands(&host, "first", (1, 40), "pinned again by a person");
    host.activate(&wanted("t1", None), true);
    host.send();
    stands(&host, "first", (1, 40), "pinned again by the model");
    assert!(host.shown().contains("t1 unchanged; lines 1-40 stand in a note above."));
    host.activate(&wanted("t1", None), true);
    host.send();
    assert_eq!(count(&host, "first, line 40 of what it says"), 2, "the same right away");
}

#[test]
fn lines_in_a_note_beside_others_of_the_file_stand_in_a_note() {
    let mut host = host(Layout::Log);
    host.write_file("a.txt", &lines("a", 60));
    host.read("a.txt", Some(1), Some(20));
    host.send();
    pin(&mut host, "f1", Some("1-20"));
    compact(&mut host, 0);
    host.user("go on");
    host.read("a.txt", Some(41), Some(20));
    host.send();
    stands(&host, "a", (1, 20), "beside the lines that the read shows");
    host.read("a.txt", Some(1), Some(20));
    host.send();
    assert!(host.shown().contains("f1 unchanged; lines 1-20 stand in a note above."));
}

#[test]
fn activating_what_stands_says_where_it_stands() {
    let mut host = Host::new(Settings::default());
    host.user("begin");
    host.write_file("a.txt", &lines("a", 60));
    host.read("a.txt", None, None);
    host.send();
    run(&mut host, "first", 30);
    host.activate(&wanted("f1", None), false);
    host.activate(&wanted("t2", Some("3-20")), false);
    host.send();
    assert_eq!(count(&host, "a, line 60 of what it says"), 1);
    let shown = host.shown();
    assert!(
        shown.contains("f1 unchanged; lines 1-60 stand in the read result above (t1)."),
        "{shown}"
    );
    assert!(
        shown.contains("t2 unchanged; lines 3-20 stand in the bash result above (t2)."),
        "{shown}"
    );
    host.activate(&wanted("t2", Some("3-20")), false);
    host.send();
    assert_eq!(count(&host, "first, line 3 of what it says"), 2, "asked again right away");
}

#[test]
fn a_line_that_says_where_text_stands_is_repaired() {
    let mut host = host(Layout::Log);
    run(&mut host, "first", 40);
    host.activate(&wanted("t1", None), false);
    host.send();
    for number in 0..6 {
        run(&mut host, &format!("more {number}"), 60);
        let claims = host.shown().contains("stand in the bash result above (t1)");
        assert!(!claims || count(&host, "first, line 40 of what it says") == 1, "{number}");
    }
}

#[test]
fn a_pin_without_room_is_told_once_and_no_view_calls_it_pinned() {
    for layout in [Layout::Log, Layout::Pools] {
        let mut host = host(layout);
        run(&mut host, "first", 600);
        pin(&mut host, "t1", None);
        host.say("done");
        host.user("go on");
        host.send();
        stands(&host, "first", (1, 600), "in a large window");
        let is_told = |notice: &&Notice| matches!(notice, Notice::PinLeftOut { handle, .. } if handle == "t1");
        host.window = 12_000;
        let mut told = 0;
        for number in 0..4 {
            run(&mut host, &format!("more {number}"), 20);
            told += host.notices.iter().filter(is_told).count();
        }
        assert_eq!(told, 1, "{layout:?}");
        assert_eq!(host.live.pins().left_out.len(), 1, "{layout:?}");
        assert_eq!(host.live.status().pinned_objects, 0, "{layout:?}");
        host.restart();
        assert_eq!(host.live.pins().left_out.len(), 1, "{layout:?}, after a restart");
        host.window = 200_000;
        run(&mut host, "in the large window", 20);
        stands(&host, "first", (1, 600), "once there is room");
    }
}

#[test]
fn two_pins_that_do_not_fit_together_are_not_both_taken() {
    let mut host = host(Layout::Log);
    host.window = 40_000;
    for name in ["first", "second"] {
        run(&mut host, name, 700);
    }
    pin(&mut host, "t1", None);
    let refused = host.live.activate("", &wanted("t2", None), true).unwrap_err();
    assert_eq!(refused.code(), "NO_ROOM");
}

#[test]
fn pinned_lines_move_with_their_file() {
    let mut host = host(Layout::Log);
    host.write_file("a.txt", &lines("a", 80));
    host.tool("bash", &json!({ "command": "ls a.txt" }), "a.txt\n");
    host.send();
    pin(&mut host, "a.txt", Some("40-60"));
    host.say("done");
    host.user("go on");
    host.send();
    stands(&host, "a", (40, 60), "where it was");
    host.write_file("a.txt", &(lines("new", 30) + &lines("a", 80)));
    host.say("done");
    host.user("look again");
    host.send();
    compact(&mut host, 1);
    host.user("after the compaction");
    host.send();
    stands(&host, "a", (40, 60), "30 lines below");
    assert!(host.shown().contains("[f1] a.txt · lines 70-90 of 110"), "{}", host.shown());
    assert_eq!(count(&host, "a, line 39 of what it says"), 0);
    host.write_file("a.txt", &lines("new", 30));
    host.say("done");
    host.user("they are gone");
    host.send();
    let ended =
        |notice: &Notice| matches!(notice, Notice::PinEnded { handle, .. } if handle == "f1");
    assert!(host.notices.iter().any(ended), "{:?}", host.notices);
    assert!(host.live.state().sets().pinned().is_empty());
}

#[test]
fn of_a_pinned_file_that_changed_much_the_new_text_comes() {
    let mut host = host(Layout::Log);
    host.write_file("a.txt", &(lines("a", 10) + &lines("old", 60)));
    host.read("a.txt", None, None);
    host.send();
    pin(&mut host, "a.txt", None);
    host.write_file("a.txt", &(lines("a", 10) + &lines("new", 90)));
    host.say("done");
    host.user("look again");
    host.send();
    assert_eq!(count(&host, "new, line 90 of what it says"), 1);
    assert_eq!(count(&host, "a, line 5 of what it says"), 1, "what did not change stands");
    assert_eq!(host.live.pins().standing.len(), 1);
}

#[test]
fn the_last_text_of_a_file_deleted_while_pinned_stands() {
    for part in [None, Some("10-20")] {
        let mut host = host(Layout::Log);
        host.write_file("a.txt", &lines("a", 40));
        host.read("a.txt", None, None);
        host.send();
        pin(&mut host, "a.txt", part);
        std::fs::remove_file(host.path("a.txt")).unwrap();
        run(&mut host, "rm", 5);
        compact(&mut host, 2);
        host.user("after the compaction");
        host.send();
        stands(&host, "a", (10, 20), "deleted");
        assert!(
            host.shown().contains("a.txt (no longer on disk; last version)"),
            "{}",
            host.shown()
        );
    }
}

#[test]
fn what_another_extension_replaced_is_not_brought_back() {
    let mut host = host(Layout::Log);
    host.rewrites = true;
    host.write_file("a.txt", &lines("a", 40));
    host.read("a.txt", None, None);
    host.send();
    run(&mut host, "first", 20);
    for name in ["a.txt", "t2"] {
        pin(&mut host, name, None);
    }
    for at in [2, 4] {
        host.messages[at]["content"] = json!([{ "type": "text", "text": "(not for you)" }]);
    }
    host.user("go on");
    host.send();
    let ended =
        |notice: &Notice| matches!(notice, Notice::PinEnded { handle, .. } if handle == "f1");
    assert!(host.notices.iter().any(ended), "{:?}", host.notices);
    compact(&mut host, 1);
    host.user("after the compaction");
    host.send();
    assert_eq!(count(&host, "a, line 20 of what it says"), 0);
    assert_eq!(count(&host, "first, line 20 of what it says"), 0);
    assert_eq!(count(&host, "(not for you)"), 1, "what took the place of the pinned output");
}

#[test]
fn the_pin_of_what_is_forgotten_ends_and_the_person_is_told() {
    let mut host = host(Layout::Log);
    run(&mut host, "first", 20);
    pin(&mut host, "t1", None);
    let object = host.live.state().sets().pinned()[0].clone();
    host.live.close().unwrap();
    let options = ForgetOptions { dry_run: false, everywhere: false };
    host.store.forget(&object, options).unwrap();
    host.crash();
    host.user("go on");
    compact(&mut host, 1);
    host.send();
    let ended =
        |notice: &Notice| matches!(notice, Notice::PinEnded { handle, .. } if handle == "t1");
    assert!(host.notices.iter().any(ended), "{:?}", host.notices);
    assert!(host.live.state().sets().pinned().is_empty());
}

#[test]
fn a_pinned_segment_comes_back_once_it_leaves() {
    let mut host = host(Layout::Log);
    host.say(&lines("answer", 5));
    host.user("go on");
    host.send();
    pin(&mut host, "turn 1", None);
    host.say("yes");
    host.user("now");
    host.send();
    stands(&host, "answer", (1, 5), "it stands as it was said");
    compact(&mut host, 1);
    host.say("yes");
    host.user("after the compaction");
    host.send();
    stands(&host, "answer", (1, 5), "told again");
}

#[test]
fn a_long_line_told_in_part_stands_whole_if_it_is_pinned() {
    for by_help in [false, true] {
        let mut host = host(Layout::Log);
        host.write_file("a.txt", &lines("a", 5));
        host.read("a.txt", None, None);
        host.send();
        pin(&mut host, "f1", None);
        run(&mut host, "other", 3);
        let words = (0..400).map(|n| format!("word{n}"));
        let long = words.collect::<Vec<_>>().join(" ");
        host.write_file("a.txt", &format!("{}{long}\n", lines("a", 5)));
        if by_help {
            let args =
                json!({ "path": "a.txt", "edits": [{ "oldText": "a, line 9", "newText": "x" }] });
            let help = host.live.explain_failed_edit(&args).unwrap().unwrap();
            let id = host.call("edit", &args);
            host.answer(&id, "edit", &args, &format!("No match.\n{help}"), true);
            host.send();
        }
        run(&mut host, "next", 3);
        assert!(host.shown().contains("word200 word201"), "by help {by_help}");
    }
}

#[test]
fn what_must_stand_is_counted_as_all_else_is() {
    let mut host = host(Layout::Log);
    let counter = Counter::Characters;
    host.counter = counter;
    host.crash();
    host.write_file("a.txt", &lines("a", 30));
    host.read("a.txt", None, None);
    host.send();
    run(&mut host, "one", 60);
    run(&mut host, "two", 60);
    pin(&mut host, "f1", None);
    run(&mut host, "three", 60);
    let state = host.live.state();
    let notes = state.noted().flat_map(|at| state.notes(at)).filter(|note| note.shows.is_some());
    let sizes: Vec<_> = notes.map(|note| (note.tokens, counter.count(&note.text))).collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|(is, of)| is == of), "{sizes:?}");
}
