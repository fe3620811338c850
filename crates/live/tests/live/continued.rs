//! Continuing a session from another harness: handles, sets, pins, and its chat as text.

use base::object::ObjectId;
use config::Settings;
use live::{LiveSession, OpenSession, Wanted};
use serde_json::json;

use crate::host::{Host, uncached};

/// A session with a file, an output and a pin, and its ID.
fn left() -> (Host, ObjectId) {
    let mut host =
        Host::new(Settings { prices: uncached(), keep_results: 1, ..Settings::default() });
    host.write_file("a.txt", "one\ntwo\n");
    host.user("look at a.txt and count to three");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.tool("bash", &json!({ "command": "seq 3" }), "1\n2\n3\n");
    host.send();
    host.activate(&Wanted { name: "f1".into(), ..Wanted::default() }, true);
    host.send();
    host.say("three");
    host.user("now rest");
    host.send();
    let id = host.live.id().clone();
    host.live.close().unwrap();
    (host, id)
}

/// Another harness on the same store and folder.
fn go_on(host: &mut Host) {
    let options =
        OpenSession { harness: "other".into(), host_session: "elsewhere".into(), ..host.options() };
    host.live = LiveSession::open(host.store.clone(), options).unwrap();
    host.restart_list();
}

#[test]
fn handles_pins_and_the_chat_as_text_are_there_and_stay() {
    let (mut host, id) = left();
    go_on(&mut host);
    let done = host.live.continue_from(&id).unwrap();
    assert_eq!((done.harness.as_str(), done.turns, done.pinned), ("test", 2, 1));
    host.user("go on");
    host.send();
    let first = host.sent[0]["content"].clone();
    let told = first[0]["text"].as_str().unwrap();
    insta::assert_snapshot!(told, @r"
    This conversation was begun in test. All of it is kept word for word:
    [s1] turns 1-2 in full · 9 messages
    `activate` with one of these handles lists what was said; `activate` with turns, as `turns 1-2`, brings some of it back. Handles of files and outputs, such as f1 or t1, work as before.

    What was done: read f1 a.txt, seq 3 ok, pin f1

    What the user wrote, oldest first:
    turn 1: look at a.txt and count to three
    turn 2: now rest

    The last answer:
    three
    ");
    assert_eq!(first[1]["text"], "[f1] a.txt · lines 1-2 of 2\none\ntwo\n", "what is pinned");
    assert_eq!(first[2]["text"], "go on");
    let brought = host.activate(&Wanted { name: "t2".into(), ..Wanted::default() }, false);
    assert!(brought.ends_with("1\n2\n3\n"), "{brought}");
    host.send();
    let pinned = host.live.state().sets().pinned().len();
    assert_eq!(pinned, 1);
    // It is said once, and stays where it stands, whatever leaves.
    for number in 0..12 {
        let output = format!("output {number}\n").repeat(200);
        host.tool("bash", &json!({ "command": format!("run {number}") }), &output);
        host.send();
    }
    assert!(host.live.state().epoch() > 0);
    assert_eq!(host.shown().matches("This conversation was begun in test.").count(), 1);
    assert_eq!(host.sent[0]["content"][0]["text"], told);
}

#[test]
fn the_two_are_independent_and_it_can_go_back() {
    let (mut host, id) = left();
    go_on(&mut host);
    host.live.continue_from(&id).unwrap();
    let there = host.live.id().clone();
    host.user("count to five");
    host.send();
    host.tool("bash", &json!({ "command": "seq 5" }), "1\n2\n3\n4\n5\n");
    host.send();
    host.live.close().unwrap();
    // Where it began nothing changed.
    let own = LiveSession::open(host.store.clone(), host.options()).unwrap();
    assert_eq!((own.id(), own.state().chat().turn()), (&id, 2));
    drop(own);
    // And back, in a new session of the first harness.
    host.restart_as("session-2");
    host.restart_list();
    let done = host.live.continue_from(&there).unwrap();
    assert_eq!((done.harness.as_str(), done.turns), ("other", 3));
    host.user("what did you count?");
    host.send();
    let shown = host.shown();
    assert!(
        shown.contains("turn 1: look at a.txt") && shown.contains("turn 3: count to five"),
        "{shown}"
    );
    let names = ["t2", "t3"];
    for (name, end) in names.iter().zip(["3\n", "5\n"]) {
        let brought = host.activate(&Wanted { name: (*name).into(), ..Wanted::default() }, false);
        assert!(brought.ends_with(end), "{name}: {brought}");
    }
}

#[test]
fn a_session_with_messages_cannot_continue_another() {
    let (mut host, id) = left();
    let other = ObjectId::session("no such session");
    go_on(&mut host);
    assert_eq!(host.live.continue_from(&other).unwrap_err().code(), "NOT_FOUND");
    host.user("hello");
    host.send();
    assert_eq!(host.live.continue_from(&id).unwrap_err().code(), "INVALID_ARGUMENT");
    host.say("hi");
    host.user("still here?");
    host.send();
    assert_eq!(host.live.state().chat().len(), 3);
}

#[test]
fn a_restart_right_after_it_knows_it() {
    let (mut host, id) = left();
    go_on(&mut host);
    host.live.continue_from(&id).unwrap();
    go_on(&mut host);
    host.user("go on");
    host.send();
    assert_eq!(host.shown().matches("This conversation was begun in test.").count(), 1);
    assert!(host.live.continue_from(&id).is_err(), "once is enough");
}
