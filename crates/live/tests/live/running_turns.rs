//! A host that runs its turns itself, such as OpenClaw: messages of the running turn are sent
//! unchanged, results are shown in words that are recognised as the full text again, notes stand
//! before the turn, and a turn that ended well is stored once.

use config::{PriceSetting, Settings};
use live::{Commit, Wanted};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::host::{Host, json_of, uncached};

fn host() -> Host {
    Host::new(Settings { prices: uncached(), keep_results: 1, ..Settings::default() })
}

/// A person writes, and the host sends from here on itself.
fn begin(host: &mut Host, text: &str) {
    host.kept_from = Some(host.messages.len());
    host.user(text);
}

/// A call whose result the host shows; resolves to what it shows.
fn run(host: &mut Host, command: &str, output: &str) -> String {
    let args = json!({ "command": command });
    let id = host.call("exec", &args);
    host.show_answer(&id, "exec", &args, output);
    text_of(host.messages.last().unwrap())
}

fn text_of(message: &Value) -> String {
    message["content"][0]["text"].as_str().unwrap().to_owned()
}

fn long(number: usize) -> String {
    let lines = (0..2_000).map(|line| format!("run {number}: line {line} says nothing new\n"));
    lines.collect::<Vec<_>>().concat()
}

#[test]
fn a_long_result_is_shown_in_part_and_brought_back_whole() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    let shown = run(&mut host, "make", &long(1));
    assert!(shown.len() * 2 < long(1).len() && shown.contains(" lines between (t1:"), "{shown}");
    host.send();
    assert_eq!(text_of(host.sent.last().unwrap()), shown);
    // The host has only these words now, also after a restart.
    host.restart();
    host.say("done");
    begin(&mut host, "and now?");
    host.send();
    let wanted = Wanted { name: "t1".into(), ..Wanted::default() };
    let brought = host.activate(&wanted, false);
    assert!(brought.ends_with(&long(1)), "{} bytes", brought.len());
    host.send();
    let history = host.live.store().history(&host_object(&host, "t1")).unwrap();
    assert_eq!(history.len(), 1, "the words that the host shows are no version of their own");
}

fn host_object(host: &Host, name: &str) -> base::object::ObjectId {
    let index = host.live.state().index();
    let entry = index.entries.iter().find(|entry| entry.handle.to_string() == name).unwrap();
    entry.id.clone()
}

#[test]
fn host_messages_stay_during_their_turn_and_leave_later() {
    let mut host = host();
    begin(&mut host, "go");
    for number in 0..8 {
        host.send();
        let args = json!({ "command": format!("sed -n 1,99p {number}") });
        let id = host.call("exec", &args);
        host.show_answer(&id, "exec", &args, &long(number)[..4_000]);
    }
    host.send();
    assert_eq!(host.live.state().epoch(), 0, "nothing may leave");
    host.say("done");
    begin(&mut host, "next");
    host.send();
    assert_eq!(host.live.state().epoch(), 1);
    let lines = host.sent.iter().filter(|message| message["role"] == "toolResult");
    let lines: Vec<String> = lines.map(text_of).collect();
    assert!(lines[0].starts_with("[t1] "), "{}", lines[0]);
    assert!(!lines[7].starts_with("[t8] "), "the newest stays");
}

#[test]
fn an_identical_request_right_away_is_shown_whole() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    let first = run(&mut host, "make", &long(1));
    host.send();
    let second = run(&mut host, "make", &long(1));
    assert!(first.len() < second.len());
    assert_eq!(second, long(1));
}

#[test]
fn reads_and_what_was_asked_for_by_lines_are_shown_whole() {
    let mut host = host();
    host.write_file("a.txt", &long(1));
    begin(&mut host, "go");
    host.send();
    for (tool, args) in [
        ("read", json!({ "path": "a.txt" })),
        ("exec", json!({ "command": "sed -n 1,2000p b.txt" })),
    ] {
        let id = host.call(tool, &args);
        let text = long(tool.bytes().map(usize::from).sum());
        host.write_file("a.txt", &text);
        host.show_answer(&id, tool, &args, &text);
        assert_eq!(text_of(host.messages.last().unwrap()), text, "{tool}");
        host.send();
    }
}

#[test]
fn results_that_end_in_another_order_keep_their_calls() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    let ids = ["call_a", "call_b"];
    let args = [json!({ "command": "make a" }), json!({ "command": "make b" })];
    let calls = ids.iter().zip(&args).map(|(id, args)| ((*id).to_owned(), "exec", args.clone()));
    let calls: Vec<_> = calls.collect();
    host.call_all(&calls);
    let b = host.shown_content("call_b", "exec", &args[1], &long(2));
    let a = host.shown_content("call_a", "exec", &args[0], &long(1));
    host.push_result("call_a", "exec", &a, false);
    host.push_result("call_b", "exec", &b, false);
    host.send();
    for (id, number) in [("call_a", 1), ("call_b", 2)] {
        let wanted = Wanted { name: id.into(), ..Wanted::default() };
        let brought = host.activate(&wanted, false);
        assert!(brought.ends_with(&long(number)), "{id}");
    }
    host.send();
}

#[test]
fn a_call_id_that_occurs_again_is_another_call() {
    let mut host = host();
    for number in 1..=3 {
        begin(&mut host, "go");
        host.send();
        let args = json!({ "command": "make" });
        host.call_as("call_0", "exec", &args);
        host.show_answer("call_0", "exec", &args, &long(number));
        host.send();
        host.say("done");
    }
    begin(&mut host, "and?");
    host.send();
    for number in 1..=3 {
        let wanted = Wanted { name: format!("t{number}"), ..Wanted::default() };
        assert!(host.activate(&wanted, false).ends_with(&long(number)), "t{number}");
    }
}

#[test]
fn a_note_stands_before_the_turn_and_stays_there() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", "one\ntwo\n");
    begin(&mut host, "read it");
    host.send();
    let args = json!({ "path": "a.txt" });
    let id = host.call("read", &args);
    host.show_answer(&id, "read", &args, "one\ntwo\n");
    host.send();
    host.say("done");
    host.write_file("a.txt", "one\n2\n");
    begin(&mut host, "and now?");
    host.send();
    let note = &host.sent[host.sent.len() - 2];
    assert_eq!(note["role"], "custom");
    assert!(text_of(note).starts_with("[f1] a.txt changed on disk after t1 (+1 -1):"), "{note}");
    // In the middle of the turn nothing is added; the next one tells it.
    host.write_file("a.txt", "one\n3\n");
    run(&mut host, "true", "ok");
    host.send();
    assert_eq!(host.told, Vec::<String>::new());
    host.say("done");
    begin(&mut host, "go on");
    host.send();
    let notes = host.sent.iter().filter(|message| message["role"] == "custom");
    assert_eq!(notes.count(), 2);
    let before = host.sent.clone();
    host.restart();
    host.send();
    assert_eq!(host.sent, before);
}

#[test]
fn a_turn_that_ended_well_is_stored_once() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    run(&mut host, "make", &long(1));
    host.send();
    host.say("the build passes");
    let messages = host.messages.clone();
    let turn = || json_of(&messages);
    assert_eq!(host.live.commit_turn("turn-1", turn()).unwrap(), Commit::Committed);
    let count = host.live.state().chat().len();
    assert_eq!(count, 4);
    // Again, and by another process after a crash.
    assert_eq!(host.live.commit_turn("turn-1", turn()).unwrap(), Commit::Duplicate);
    host.crash();
    assert_eq!(host.live.commit_turn("turn-1", turn()).unwrap(), Commit::Duplicate);
    assert_eq!(
        host.live.commit_turn("turn-1 under another key", turn()).unwrap(),
        Commit::Committed
    );
    assert_eq!(host.live.state().chat().len(), count, "nothing stands twice");
    begin(&mut host, "next");
    host.send();
    assert_eq!(host.live.state().chat().len(), count + 1);
}

#[test]
fn a_turn_without_our_calls_is_stored_after_the_known_ones() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    host.say("one");
    let first = host.messages.len();
    host.user("again");
    host.say("two");
    let turn = json_of(&host.messages[first..]);
    assert_eq!(host.live.commit_turn("turn-2", turn).unwrap(), Commit::Committed);
    begin(&mut host, "next");
    host.send();
    assert_eq!(host.live.state().chat().len(), 5);
}

#[test]
fn a_turn_that_is_told_late_takes_nothing_away() {
    let mut host = host();
    for number in 1..=3 {
        begin(&mut host, &format!("turn {number}"));
        host.send();
        host.say(&format!("answer {number}"));
    }
    let count = host.live.state().chat().len();
    for messages in [&host.messages[..2], &host.messages[2..4], &[]] {
        let key = format!("late {}", messages.len());
        host.live.commit_turn(&key, json_of(messages)).unwrap();
    }
    assert_eq!(host.live.state().chat().len(), count);
    let epoch = host.live.state().epoch();
    begin(&mut host, "turn 4");
    host.send();
    assert_eq!((host.live.state().chat().len(), host.live.state().epoch()), (7, epoch));
}

#[test]
fn pressure_within_a_turn_only_moves_what_precedes_it() {
    let prices = PriceSetting::Named("anthropic".into());
    let mut host = Host::new(Settings { prices, ..Settings::default() });
    host.window = 40_000;
    begin(&mut host, "go");
    host.send();
    for number in 0..6 {
        let args = json!({ "command": format!("sed -n 1,9p {number}") });
        let id = host.call("exec", &args);
        host.show_answer(&id, "exec", &args, &long(number)[..6_000]);
        host.send();
    }
    host.say("done");
    begin(&mut host, "more");
    let epoch = host.live.state().epoch();
    for number in 6..14 {
        host.send();
        let args = json!({ "command": format!("sed -n 1,9p {number}") });
        let id = host.call("exec", &args);
        host.show_answer(&id, "exec", &args, &long(number)[..6_000]);
    }
    host.send();
    assert!(host.live.state().epoch() > epoch);
    assert!(host.live.state().bill().last.as_ref().unwrap().bill.ours.total() < 40_000);
}

proptest! {
    #![proptest_config(testing::cases::config(8, 61))]

    /// What `Host::send` checks holds: kept messages as they are, requests that only grow within an
    /// epoch, pairs, exact replay.
    #[test]
    fn turns_of_any_shape(turns in prop::collection::vec(prop::collection::vec((0..6usize, 1..1_500usize), 0..6), 1..6)) {
        let mut host = host();
        host.window = 30_000;
        host.write_file("b.txt", &long(9)[..9_000]);
        for (number, calls) in turns.iter().enumerate() {
            begin(&mut host, "go");
            host.send();
            for (kind, size) in calls {
                match kind {
                    0 => { run(&mut host, &format!("make {number} {size}"), &long(number)[..size * 20]); }
                    1 => { run(&mut host, "make", &long(7)[..size * 20]); }
                    2 => {
                        host.write_file("a.txt", &long(*size)[..size * 4]);
                        let args = json!({ "path": "a.txt" });
                        let id = host.call("read", &args);
                        let text = std::fs::read_to_string(host.path("a.txt")).unwrap();
                        host.show_answer(&id, "read", &args, &text);
                    }
                    3 => {
                        let (first, last) = (size % 90 + 1, size % 90 + size % 150 + 2);
                        read_part(&mut host, "b.txt", first, last, "\n\n[More lines.]");
                    }
                    4 => { run(&mut host, &format!("list {number} {size}"), &long(9)[..size * 6]); }
                    _ => host.restart(),
                }
                host.send();
            }
            host.say("done");
        }
    }
}

/// A turn without calls.
fn talk(host: &mut Host, text: &str) {
    begin(host, text);
    host.send();
    host.say("yes");
}

fn wanted(name: &str, lines: Option<&str>) -> Wanted {
    Wanted { name: name.into(), lines: lines.map(str::to_owned), pattern: None }
}

fn says(host: &Host, text: &str) -> usize {
    host.sent.iter().filter(|message| message.to_string().contains(text)).count()
}

#[test]
fn what_is_squeezed_leaves_and_the_room_stays_the_windows() {
    let mut host = host();
    host.window = 100_000;
    begin(&mut host, "go");
    host.send();
    let args = json!({ "command": "sed -n 1,99p notes" });
    let id = host.call("exec", &args);
    host.show_answer(&id, "exec", &args, &long(1)[..9_000]);
    host.send();
    host.say("done");
    talk(&mut host, "small talk");
    host.live.activate("", &wanted("t1", Some("131-150")), true).unwrap();
    host.squeeze_to = Some(3_000);
    talk(&mut host, "go on");
    assert_eq!(host.live.state().epoch(), 1, "what may leave has left");
    // What is pinned has the room of the window, and so has what is asked for now.
    assert_eq!((says(&host, "run 1: line 140 says"), says(&host, "run 1: line 190 says")), (1, 0));
    host.live.activate("", &wanted("t1", None), false).unwrap();
    host.squeeze_to = None;
    talk(&mut host, "and now?");
    assert_eq!(says(&host, "run 1: line 190 says"), 1);
}

#[test]
fn a_new_conversation_has_nothing_of_the_one_before() {
    let mut host = host();
    host.write_file("AGENTS.md", "OLD rules\n");
    begin(&mut host, "the OLD question");
    host.send();
    let args = json!({ "path": "AGENTS.md" });
    let id = host.call("read", &args);
    host.show_answer(&id, "read", &args, "OLD rules\n");
    run(&mut host, "make", &long(1).replace("run", "OLD"));
    host.send();
    host.say("the OLD answer");
    talk(&mut host, "go on");
    host.live.activate("", &wanted("t2", Some("1-9")), true).unwrap();
    host.live.activate("", &wanted("turns 1", None), false).unwrap();
    host.restart();
    host.write_file("AGENTS.md", "OLD rules, changed\n");
    host.messages.clear();
    host.rewrites = true;
    for text in ["hello", "are you there?"] {
        talk(&mut host, text);
        assert_eq!(says(&host, "OLD"), 0, "{:#?}", host.sent);
        assert_eq!(host.sent.len(), host.messages.len() - 1, "{:#?}", host.sent);
    }
    assert_eq!(host.live.state().epoch(), 0, "there was nothing to write anew");
    assert!(host.live.state().sets().pinned().is_empty());
    let wanted = wanted("t2", Some("1-9"));
    assert!(host.live.activate("", &wanted, false).is_ok(), "the store has it");
}

#[test]
fn a_turn_that_the_host_takes_out_again_costs_nothing() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    run(&mut host, "make", &long(1)[..4_000]);
    host.send();
    host.say("done");
    talk(&mut host, "next");
    host.live.activate("", &wanted("t1", Some("1-3")), false).unwrap();
    let kept = host.messages.len();
    talk(&mut host, "Anything to do?");
    assert_eq!(says(&host, "[t1] exec · lines 1-3"), 1);
    host.messages.truncate(kept);
    host.rewrites = true;
    let before = host.sent[..kept].to_vec();
    talk(&mut host, "and now?");
    assert_eq!(host.live.state().epoch(), 0);
    assert_eq!(host.sent[..kept], before[..]);
    assert_eq!(says(&host, "[t1] exec · lines 1-3"), 1, "what a person asked for still comes");
    assert_eq!(says(&host, "Anything to do?"), 0);
}

#[test]
fn what_a_person_asks_for_twice_comes_once() {
    let mut host = host();
    begin(&mut host, "go");
    host.send();
    run(&mut host, "make", &long(1));
    host.send();
    host.say("done");
    for lines in ["700-710", "705", "700-710", "708-712"] {
        host.live.activate("", &wanted("t1", Some(lines)), false).unwrap();
    }
    talk(&mut host, "next");
    let sent = host.sent.iter().map(Value::to_string).collect::<String>();
    let count = |line: u32| sent.matches(&format!("run 1: line {} says", line - 1)).count();
    assert_eq!((count(701), count(705), count(712), count(713)), (1, 1, 1, 0), "{sent}");
}

/// A whole read of a file.
fn read(host: &mut Host, path: &str) -> String {
    let text = std::fs::read_to_string(host.path(path)).unwrap();
    let args = json!({ "path": path });
    let id = host.call("read", &args);
    host.show_answer(&id, "read", &args, &text);
    text_of(host.messages.last().unwrap())
}

#[test]
fn a_file_that_stands_is_a_line_when_it_is_read_again() {
    let mut host = host();
    host.write_file("a.txt", &long(1)[..2_000]);
    begin(&mut host, "go");
    host.send();
    let whole = read(&mut host, "a.txt");
    host.send();
    run(&mut host, "true", "ok");
    host.send();
    run(&mut host, "date", "now");
    host.send();
    let line = read(&mut host, "a.txt");
    assert_eq!(line, "f1 unchanged; lines 1-63 stand in the read result above (t1).");
    host.send();
    // The model insists.
    assert_eq!(read(&mut host, "a.txt"), whole);
    host.send();
    host.say("done");
    let before = host.sent.clone();
    host.restart();
    begin(&mut host, "go on");
    host.send();
    assert_eq!(host.sent[..before.len()], before[..]);
    host.write_file("a.txt", &long(2)[..2_000]);
    run(&mut host, "true again", "ok");
    host.send();
    assert!(read(&mut host, "a.txt").starts_with("run 2"), "another text does not stand");
    host.send();
}

#[test]
fn what_a_running_turn_refers_to_stays_until_it_ends() {
    let mut host = host();
    host.window = 30_000;
    host.write_file("a.txt", &long(1)[..3_000]);
    begin(&mut host, "go");
    host.send();
    let whole = read(&mut host, "a.txt");
    host.send();
    host.say("done");
    begin(&mut host, "go on");
    host.send();
    let line = read(&mut host, "a.txt");
    assert!(line.starts_with("f1 unchanged; "), "{line}");
    host.write_file("a.txt", &long(3)[..3_000]);
    for number in 0..14 {
        host.send();
        run(&mut host, &format!("sed -n 1,99p {number}"), &long(number)[..6_000]);
    }
    host.send();
    assert_eq!(text_of(&host.sent[2]), whole, "the line refers to it");
    host.say("done");
    begin(&mut host, "and now?");
    host.send();
    assert!(host.live.state().epoch() > 0);
    assert_eq!(says(&host, "f1 unchanged"), 0, "nothing refers to what left");
}

/// Lines of a file, as a read of a part shows them.
fn read_part(host: &mut Host, path: &str, first: usize, last: usize, notice: &str) -> String {
    let text = std::fs::read_to_string(host.path(path)).unwrap();
    let lines: Vec<&str> = text.split('\n').skip(first - 1).take(last + 1 - first).collect();
    let args = json!({ "path": path, "offset": first, "limit": last + 1 - first });
    let id = host.call("read", &args);
    host.show_answer(&id, "read", &args, &(lines.join("\n") + notice));
    text_of(host.messages.last().unwrap())
}

/// A step that says nothing, so that what comes next is no request right away.
fn pass(host: &mut Host, number: usize) {
    host.send();
    run(host, &format!("true {number}"), "ok");
    host.send();
}

#[test]
fn parts_of_a_file_that_stand_are_lines() {
    let mut host = host();
    host.write_file("a.txt", &long(1)[..8_000]);
    begin(&mut host, "go");
    host.send();
    run(&mut host, "make", &long(2)[..8_000]);
    host.send();
    let notice = "\n\n[Showing lines 1-60 of 250. Use offset=61 to continue.]";
    read_part(&mut host, "a.txt", 1, 60, notice);
    pass(&mut host, 1);
    pass(&mut host, 2);
    let notice = "\n\n[Showing lines 31-100 of 250. Use offset=101 to continue.]";
    let part = read_part(&mut host, "a.txt", 31, 100, notice);
    let line = "f1 unchanged; lines 31-60 stand in the read result above (t2).\n";
    assert!(part.starts_with(&format!("{line}run 1: line 60 ")), "{part}");
    assert!(part.ends_with(notice) && part.contains("line 99 says"), "{part}");
    pass(&mut host, 3);
    pass(&mut host, 4);
    // The lines of a result that is shown in part are not taken for known: the host has no more.
    let whole = read(&mut host, "a.txt");
    assert!(whole.starts_with("f1 unchanged; lines 1-60 stand in the read result above (t2).\n"));
    assert!(whole.contains("line 60 says") && whole.contains("line 99 says"), "{whole}");
    host.send();
    host.say("done");
    let text = std::fs::read_to_string(host.path("a.txt")).unwrap();
    host.restart();
    begin(&mut host, "go on");
    host.send();
    assert_eq!(host.live.state().epoch(), 1);
    assert_eq!(text_of(&host.sent[4]), "[t2] f1 a.txt · lines 1-60");
    assert_eq!(text_of(&host.sent[16]), text, "what it named has left");
    // The host has only its own words of it.
    pass(&mut host, 5);
    let again = read(&mut host, "a.txt");
    assert_eq!(again, text);
    host.send();
}

#[test]
fn lines_of_another_output_that_stand_are_a_line() {
    let mut host = host();
    let report = |number: usize| long(number)[..1_500].trim_end().to_owned();
    begin(&mut host, "go");
    host.send();
    let first = run(&mut host, "list all", &format!("begin\n{}\nend", report(1)));
    assert!(first.contains("run 1: line 9 "), "short enough to be shown");
    pass(&mut host, 1);
    let again = format!("other\n{}\nbehind", report(1));
    let second = run(&mut host, "list more", &again);
    let lines = report(1).lines().count();
    let line = format!("… {lines} lines as in t1:2-{}, from", lines + 1);
    assert!(
        second.starts_with(&format!("other\n{line}")) && second.ends_with("behind"),
        "{second}"
    );
    host.send();
    // The same words as before are taken for the whole.
    host.say("done");
    let before = host.sent.clone();
    host.restart();
    begin(&mut host, "go on");
    host.send();
    assert_eq!(host.sent[..before.len()], before[..]);
    let brought = host.activate(&named("t3"), false);
    assert!(brought.ends_with(&again), "{brought}");
    host.send();
}

fn named(name: &str) -> Wanted {
    Wanted { name: name.into(), ..Wanted::default() }
}

#[test]
fn what_an_output_refers_to_stays_until_the_turn_ends() {
    let mut host = host();
    host.window = 30_000;
    let report = long(1)[..6_000].trim_end().to_owned();
    begin(&mut host, "go");
    host.send();
    let whole = run(&mut host, "sed -n 1,99p a", &report);
    host.send();
    host.say("done");
    begin(&mut host, "go on");
    host.send();
    let line = run(&mut host, "sed -n 1,99p b", &report);
    assert!(line.starts_with("… "), "{line}");
    for number in 0..12 {
        host.send();
        run(&mut host, &format!("sed -n 1,99p {number}"), &long(number + 2)[..6_000]);
    }
    host.send();
    assert_eq!(text_of(&host.sent[2]), whole, "the line refers to it");
    host.say("done");
    begin(&mut host, "and now?");
    host.send();
    assert!(host.live.state().epoch() > 0);
    assert_eq!(says(&host, "lines as in"), 0, "nothing refers to what left");
}
