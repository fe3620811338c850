//! What caches hold of the requests of both sides: of any earlier request, not only of the previous
//! one.

use config::{PriceSetting, Settings};
use serde_json::{Value, json};
use session::{CallBill, Requests};

use crate::host::Host;

const MODELS: [&str; 2] = ["fake/fake-1", "fake/fake-2"];

/// A host whose outputs are shown whole, so that both sides have the same to send.
fn host(prices: &str) -> Host {
    let prices = PriceSetting::Named(prices.into());
    Host::new(Settings { prices, preview_tokens: 0, ..Settings::default() })
}

fn last(host: &Host) -> CallBill {
    host.live.state().bill().last.as_ref().unwrap().bill.clone()
}

/// A turn of two calls with one output of about this many tokens.
fn turn(host: &mut Host, name: &str, tokens: usize) {
    host.user(&format!("Question {name}."));
    host.send();
    let lines = (0..tokens / 8).map(|line| format!("line {line} of run {name}"));
    let output = lines.collect::<Vec<_>>().join("\n");
    host.tool("bash", &json!({ "command": format!("run {name}") }), &output);
    host.send();
    host.say("Done.");
}

/// The person goes back to the first messages of the list, as `/tree` does; returns the branch that
/// is left.
fn jump(host: &mut Host, len: usize) -> Vec<Value> {
    let branch = host.messages[..len].to_vec();
    std::mem::replace(&mut host.messages, branch)
}

/// Asserts that the newest request found an earlier one cached, and maybe the answer to it.
fn assert_found(host: &Host, earlier: &CallBill, what: &str) {
    let bill = last(host);
    for (now, then) in [(bill.plain, earlier.plain), (bill.ours, earlier.ours)] {
        assert!((then.total()..then.total() + 5).contains(&now.cached), "{what}: {bill:?}");
    }
}

#[test]
fn after_a_jump_back_only_new_content_is_written_to_the_cache() {
    for prices in ["anthropic", "openai"] {
        let mut host = host(prices);
        turn(&mut host, "one", 3_000);
        let (len, before) = (host.messages.len(), last(&host));
        for name in ["two", "three"] {
            turn(&mut host, name, 3_000);
        }
        jump(&mut host, len);
        host.user("Another way.");
        host.send();
        assert_found(&host, &before, prices);
        let bill = last(&host);
        assert!(bill.plain.written < 30, "{prices}: the answer and the question: {bill:?}");
        // Both sides had the same to read and to write: nothing is saved by the jump.
        let (ours, plain) = (bill.ours.cost - bill.overhead_cost, bill.plain.cost);
        assert!((ours - plain).abs() < 0.01, "{prices}: {ours} {plain}");
    }
}

#[test]
fn a_branch_to_which_the_person_comes_back_is_still_cached() {
    for prices in ["anthropic", "openai"] {
        let mut host = host(prices);
        turn(&mut host, "one", 2_000);
        let len = host.messages.len();
        turn(&mut host, "two", 2_000);
        let before = last(&host);
        let left = jump(&mut host, len);
        turn(&mut host, "three", 2_000);
        host.messages = left;
        host.user("And on.");
        host.send();
        assert_found(&host, &before, prices);
    }
}

#[test]
fn a_model_to_which_the_person_comes_back_has_its_own_cache() {
    for prices in ["anthropic", "openai"] {
        let mut host = host(prices);
        turn(&mut host, "one", 3_000);
        let before = last(&host);
        host.model = MODELS[1].into();
        turn(&mut host, "two", 3_000);
        host.model = MODELS[0].into();
        host.user("Back.");
        host.send();
        assert_found(&host, &before, prices);
        let written = last(&host).plain.written;
        assert!(written > 2_000, "{prices}: it has not seen what came meanwhile: {written}");
    }
}

#[test]
fn each_cache_expires_by_itself() {
    // Seconds after the turn of the first model, and after that of the second.
    for (waits, is_warm) in [([200, 90], true), ([200, 110], false), ([310, 0], false)] {
        let mut host = host("anthropic");
        turn(&mut host, "one", 1_000);
        host.wait(waits[0]);
        host.model = MODELS[1].into();
        turn(&mut host, "two", 1_000);
        host.wait(waits[1]);
        host.model = MODELS[0].into();
        host.user("Back.");
        host.send();
        let bill = last(&host);
        assert_eq!((bill.warm, bill.plain.cached > 0), (is_warm, is_warm), "{waits:?}");
    }
}

#[test]
fn what_a_later_request_continued_lives_as_long_as_that() {
    let mut host = host("anthropic");
    turn(&mut host, "one", 1_000);
    let (len, before) = (host.messages.len(), last(&host));
    for name in ["two", "three"] {
        host.wait(200);
        turn(&mut host, name, 1_000);
    }
    host.wait(200);
    jump(&mut host, len);
    host.user("Another way.");
    host.send();
    assert_found(&host, &before, "600 seconds after the first turn");
    // A branch that nothing continued has expired by then.
    let mut host = self::host("anthropic");
    turn(&mut host, "one", 1_000);
    let (len, before) = (host.messages.len(), last(&host));
    turn(&mut host, "two", 1_000);
    let left = jump(&mut host, len);
    for name in ["three", "four"] {
        host.wait(200);
        turn(&mut host, name, 1_000);
    }
    host.messages = left;
    host.user("And on.");
    host.send();
    assert_found(&host, &before, "the turn that both branches have");
}

#[test]
fn breakpoints_find_an_earlier_request_only_near_the_end() {
    let mut host = host("anthropic");
    turn(&mut host, "one", 1_000);
    host.model = MODELS[1].into();
    for number in 0..8 {
        turn(&mut host, &number.to_string(), 100);
    }
    host.model = MODELS[0].into();
    host.user("Back.");
    host.send();
    let bill = last(&host);
    assert_eq!((bill.warm, bill.ours.cached), (true, bill.fixed), "system prompt and tools");
    assert_eq!(bill.plain.cached, bill.fixed - bill.overhead);
}

#[test]
fn a_retry_finds_all_of_the_request() {
    let mut host = host("anthropic");
    turn(&mut host, "one", 1_000);
    host.user("More.");
    host.send();
    host.send();
    let bill = last(&host);
    assert_eq!((bill.ours.written, bill.plain.written), (0, 0));
}

#[test]
fn no_cache_holds_the_summary_after_a_plain_compaction() {
    let mut host = host("openai");
    host.window = 60_000;
    let mut number = 0;
    while host.live.state().bill().compactions == 0 {
        turn(&mut host, &number.to_string(), 2_500);
        number += 1;
    }
    let fixed = last(&host).fixed - last(&host).overhead;
    let compacted = host.live.state().bill().compaction;
    let (len, before) = (host.messages.len(), last(&host));
    turn(&mut host, "after", 1_000);
    jump(&mut host, len);
    host.user("Another way.");
    host.send();
    assert_eq!(host.live.state().bill().compaction, compacted);
    let cached = last(&host).plain.cached;
    assert!(cached >= before.plain.total(), "the compacted list is cached: {cached}");
    // Back where the plain host had not compacted: its list is the one from before.
    let (at, _) = host.live.state().window().nth(8).unwrap();
    assert!(at < compacted.unwrap().from);
    jump(&mut host, 8);
    host.user("From the start.");
    host.send();
    let bill = last(&host);
    assert_eq!(host.live.state().bill().compaction, None);
    assert!(bill.plain.cached > fixed + 2_000, "{bill:?}");
    assert!(bill.plain.written < 30, "{bill:?}");
}

#[test]
fn a_restart_between_jumps_changes_neither_request_nor_bill() {
    let play = |restarts: bool| {
        let mut host = host("anthropic");
        let mut told: Vec<(CallBill, Vec<Value>, Requests)> = Vec::new();
        let mut tell = |host: &mut Host| {
            if restarts {
                host.restart();
            }
            let sent = host.send();
            told.push((last(host), sent, host.live.state().requests().clone()));
        };
        turn(&mut host, "one", 3_000);
        let len = host.messages.len();
        for name in ["two", "three", "four"] {
            turn(&mut host, name, 3_000);
        }
        let left = jump(&mut host, len);
        host.user("Another way.");
        tell(&mut host);
        host.say("Well.");
        host.model = MODELS[1].into();
        host.user("What do you say?");
        tell(&mut host);
        host.say("Better.");
        host.model = MODELS[0].into();
        host.user("And you?");
        tell(&mut host);
        host.messages = left;
        host.user("And on.");
        tell(&mut host);
        told
    };
    let (went_on, restarted) = (play(false), play(true));
    for (call, (a, b)) in went_on.iter().zip(&restarted).enumerate() {
        assert_eq!(a.0, b.0, "the bill of call {call}");
        assert_eq!(a.1, b.1, "the request of call {call}");
        assert_eq!(a.2, b.2, "what caches hold at call {call}");
    }
}

#[test]
fn an_epoch_does_not_rewrite_what_a_cache_holds_lightly() {
    let mut host = host("openai");
    for number in 0..14 {
        turn(&mut host, &number.to_string(), 1_500);
    }
    let before = host.live.state().epoch();
    // Fourteen outputs of which four are old: on a cold cache they would go.
    host.model = MODELS[1].into();
    host.user("What do you say?");
    host.send();
    assert_eq!(host.live.state().epoch(), before + 1, "another model has no cache");
    let rewritten = last(&host);
    host.say("Nothing.");
    turn(&mut host, "more", 1_500);
    host.user("Once more.");
    host.send();
    assert!(rewritten.ours.cached == 0 && last(&host).ours.cached > rewritten.ours.total());
    let epoch = host.live.state().epoch();
    host.say("Yes.");
    let len = host.messages.len() - 2;
    jump(&mut host, len);
    host.user("Another way.");
    host.send();
    let bill = last(&host);
    // The jump starts an epoch, since the list was rewritten; it keeps what is cached.
    assert_eq!(host.live.state().epoch(), epoch + 1);
    assert!(bill.ours.written < 40, "{bill:?}");
}
