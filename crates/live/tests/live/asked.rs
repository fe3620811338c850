//! Content that the user activates by a command: the newest message of the next call carries it,
//! until the epoch ends.

use config::{Layout, Settings};
use live::Wanted;
use serde_json::{Value, json};

use crate::host::Host;

fn host(layout: Layout) -> Host {
    let mut host = Host::new(Settings { layout, ..Settings::default() });
    host.user("begin");
    host.tool("bash", &json!({ "command": "make" }), "one\ntwo\nthree\nfour\n");
    host.send();
    host.say("done");
    host
}

fn lines_of(name: &str, lines: &str) -> Wanted {
    Wanted { name: name.to_owned(), lines: Some(lines.to_owned()), pattern: None }
}

/// How often a request holds a text, and in how many of its messages.
fn count(sent: &[Value], text: &str) -> (usize, usize) {
    let all: Vec<usize> =
        sent.iter().map(|message| message.to_string().matches(text).count()).collect();
    (all.iter().sum(), all.iter().filter(|count| **count > 0).count())
}

const SHOWN: &str = r"[t1] bash · lines 2-3 of 4\ntwo\nthree";

#[test]
fn what_a_user_activates_comes_once_with_the_next_message() {
    let mut host = host(Layout::Log);
    let answer = host.live.activate("", &lines_of("t1", "2-3"), false).unwrap();
    assert_eq!(answer, "[t1] bash · lines 2-3 of 4\ntwo\nthree");
    host.restart();
    // The list has no new message: nothing can carry it yet.
    let sent = host.send();
    assert_eq!(count(&sent, SHOWN), (0, 0));
    host.user("go on");
    let sent = host.send();
    assert_eq!(count(&sent, SHOWN), (1, 1));
    let last = sent.last().unwrap().to_string();
    assert!(last.contains(SHOWN) && last.contains("go on"), "{last}");
    host.tool("bash", &json!({ "command": "true" }), "ok");
    assert_eq!(count(&host.send(), SHOWN), (1, 1), "it stays, and comes once");
}

#[test]
fn letting_go_counts_what_a_person_activated() {
    let mut host = host(Layout::Log);
    let once = host.live.deactivate("", "t1").unwrap();
    for _ in 0..2 {
        host.live.activate("", &lines_of("t1", "2-3"), false).unwrap();
        host.user("go on");
        host.send();
        host.say("done");
    }
    let tokens = |said: &str| -> u64 {
        said.split_whitespace().rev().nth(1).unwrap().parse().expect("a number")
    };
    let all = host.live.deactivate("", "t1").unwrap();
    assert!(tokens(&all) > tokens(&once) + 10, "{once} {all}");
}

#[test]
fn several_activated_by_a_person_come_together() {
    let mut host = host(Layout::Log);
    for lines in ["2-3", "4"] {
        host.live.activate("", &lines_of("t1", lines), false).unwrap();
    }
    host.user("go on");
    let last = host.send().last().unwrap().to_string();
    assert!(last.contains(SHOWN) && last.contains(r"[t1] bash · line 4 of 4\nfour"), "{last}");
}

#[test]
fn what_a_person_pins_comes_where_it_does_not_stand_and_stays() {
    let mut host = host(Layout::Log);
    host.write_file("b.txt", "alpha\nbeta\n");
    host.tool("bash", &json!({ "command": "ls b.txt" }), "b.txt\n");
    host.send();
    host.say("done");
    let whole = |name: &str| Wanted { name: name.to_owned(), lines: None, pattern: None };
    for name in ["t1", "b.txt"] {
        host.live.activate("", &whole(name), true).unwrap();
    }
    assert_eq!(host.live.state().sets().pinned().len(), 2);
    host.user("go on");
    let sent = host.send();
    assert_eq!(count(&sent, r"one\ntwo\nthree"), (1, 1), "it stands");
    assert_eq!(count(&sent, r"alpha\nbeta"), (1, 1));
    assert!(sent.last().unwrap().to_string().contains(r"alpha\nbeta"));
}

#[test]
fn in_pools_it_stands_among_what_is_active() {
    let mut host = host(Layout::Pools);
    host.live.activate("", &lines_of("t1", "2-3"), false).unwrap();
    host.user("go on");
    let sent = host.send();
    assert_eq!(count(&sent, r"[t1] bash · lines 2-3 of 4"), (0, 0));
    assert!(sent.last().unwrap().to_string().contains(r"two\nthree"), "{sent:?}");
}
