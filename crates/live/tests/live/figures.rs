//! One set of figures: what plain would have sent, and what both sides cost, on every way through a
//! session, against a count of the requests that went out.

use config::{PriceSetting, Settings};
use context::host::HostMessage;
use context::tokens::Counter;
use live::{Wanted, inspect_call, statement};
use serde_json::{Value, json};
use session::Reported;

use crate::host::{Host, OVERHEAD_TOKENS};

/// A request as a provider sees it.
#[derive(Clone)]
struct Body {
    /// Model, and whether our tools are among its tools: what a cache belongs to.
    key: (String, bool),
    fixed: u64,
    messages: Vec<Value>,
}

/// Counts requests without any code of the ledger: prices are 1, and 0.1 for the longest common
/// prefix with any earlier request.
#[derive(Default)]
struct Count {
    ours: Vec<Body>,
    plain: Vec<Body>,
    our_cost: f64,
    plain_cost: f64,
    /// Tokens that plain would send at the newest call.
    plain_tokens: u64,
}

fn tokens(messages: &[Value]) -> u64 {
    let parse = |message: &Value| HostMessage::parse(message.to_string(), Counter::Bundled);
    messages.iter().map(|message| parse(message).tokens()).sum()
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn cost(before: &[Body], body: &Body) -> f64 {
    let common =
        |old: &Body| old.messages.iter().zip(&body.messages).take_while(|(a, b)| a == b).count();
    let held = before.iter().filter(|old| old.key == body.key).map(common).max();
    let cached = held.map_or(0, |held| body.fixed + tokens(&body.messages[..held]));
    let total = body.fixed + tokens(&body.messages);
    cached as f64 * 0.1 + (total - cached) as f64
}

fn is_own(message: &Value) -> bool {
    matches!(message["toolName"].as_str(), Some("activate" | "deactivate" | "pin" | "unpin"))
}

/// The list without calls that only our tools answered.
fn plain_of(messages: &[Value]) -> Vec<Value> {
    let own: Vec<&str> = messages
        .iter()
        .filter(|it| is_own(it))
        .filter_map(|it| it["toolCallId"].as_str())
        .collect();
    let asks_us = |message: &Value| {
        let blocks = message["content"].as_array().into_iter().flatten();
        let mut calls = blocks.filter(|block| block["type"] == "toolCall").peekable();
        calls.peek().is_some() && calls.all(|call| own.contains(&call["id"].as_str().unwrap()))
    };
    messages.iter().filter(|it| !is_own(it) && !asks_us(it)).cloned().collect()
}

impl Count {
    fn add(&mut self, ours: Body, plain: Option<Body>) {
        self.our_cost += cost(&self.ours, &ours);
        self.ours.push(ours);
        if let Some(plain) = plain {
            self.plain_cost += cost(&self.plain, &plain);
            self.plain.push(plain);
        }
    }

    fn bodies(host: &Host, sent: Vec<Value>, is_on: bool) -> (Body, Body) {
        let fixed = host.live.state().bill().last.as_ref().unwrap().bill.fixed;
        let key = (host.model.clone(), true);
        let plain_fixed = fixed - OVERHEAD_TOKENS;
        let plain =
            Body { key: key.clone(), fixed: plain_fixed, messages: plain_of(&host.messages) };
        let (key, fixed) =
            if is_on { (key, fixed) } else { ((host.model.clone(), false), plain_fixed) };
        (Body { key, fixed, messages: sent }, plain)
    }

    /// A call with ours.
    fn send(&mut self, host: &mut Host) {
        let sent = host.send();
        let (ours, plain) = Self::bodies(host, sent, true);
        self.plain_tokens = plain.fixed + tokens(&plain.messages);
        let said = host.messages.iter().rev().take_while(|it| it["role"] == "toolResult");
        let results: Vec<&Value> = said.collect();
        let is_extra = !results.is_empty() && results.into_iter().all(is_own);
        self.add(ours, Some(plain).filter(|_| !is_extra));
        self.check(host);
    }

    /// A call with the host's own messages; `is_on`: with our tools.
    fn without(&mut self, host: &Host, is_on: bool) {
        let (ours, plain) = Self::bodies(host, host.messages.clone(), is_on);
        self.add(ours, Some(plain));
    }

    /// All views say what was counted.
    fn check(&self, host: &Host) {
        let bill = host.live.state().bill();
        let close = |a: f64, b: f64| (a - b).abs() < 0.01;
        assert!(
            close(bill.plain(), self.plain_cost),
            "plain: {} {}",
            bill.plain(),
            self.plain_cost
        );
        let ours = bill.ours() - bill.charged();
        assert!(close(ours, self.our_cost), "ours: {ours} {}", self.our_cost);
        let last = bill.last.as_ref().unwrap();
        assert_eq!(last.bill.plain.total(), self.plain_tokens, "the newest request of plain");
        assert_eq!(host.live.status().plain_request_tokens, self.plain_tokens);
        let size = inspect_call(&host.store, host.live.id(), last.number).unwrap().size.unwrap();
        assert_eq!(size.plain, self.plain_tokens);
        let ledger = statement(&host.store, host.live.id()).unwrap();
        assert_eq!(ledger.per_call.last().unwrap().plain.sent, self.plain_tokens);
        assert_eq!(ledger.calls, self.ours.len() as u64);
        assert!(close(ledger.plain_bill, self.plain_cost) && close(ledger.bill, bill.ours()));
        let sent = |bodies: &[Body]| -> u64 {
            bodies.iter().map(|body| body.fixed + tokens(&body.messages)).sum()
        };
        assert_eq!((ledger.ours.sent, ledger.plain.sent), (sent(&self.ours), sent(&self.plain)));
        let epochs: f64 = ledger.epochs.iter().map(|epoch| epoch.saved).sum();
        assert!(close(epochs + ledger.saved_otherwise, ledger.plain_bill - ledger.bill));
    }
}

/// Whether outputs leave at every chance, or all stands.
fn hosts() -> [Host; 2] {
    let settings = |keep_results, collapse_tokens| Settings {
        prices: PriceSetting::Named("openai".into()),
        preview_tokens: 0,
        keep_results,
        collapse_tokens,
        ..Settings::default()
    };
    [settings(10, 1_000_000), settings(1, 50)].map(Host::new)
}

fn output(name: &str, lines: usize) -> String {
    (0..lines).map(|line| format!("line {line} of run {name}")).collect::<Vec<_>>().join("\n")
}

fn run(host: &mut Host, name: &str) {
    host.tool("bash", &json!({ "command": format!("run {name}") }), &output(name, 300));
}

/// A turn of two calls.
fn turn(host: &mut Host, count: &mut Count, name: &str) {
    host.user(&format!("Question {name}."));
    count.send(host);
    run(host, name);
    count.send(host);
    host.say(&format!("Done {name}."));
}

fn activate(host: &mut Host, name: &str) {
    host.activate(
        &Wanted { name: name.into(), lines: Some("3-9".into()), ..Wanted::default() },
        false,
    );
}

#[test]
fn a_call_after_our_own_tools_leaves_plains_request() {
    for mut host in hosts() {
        let mut count = Count::default();
        turn(&mut host, &mut count, "one");
        host.user("Look again.");
        count.send(&mut host);
        let before = count.plain_tokens;
        activate(&mut host, "t1");
        count.send(&mut host);
        assert_eq!(count.plain_tokens, before);
        // Two of ours in one answer, then one beside a command.
        let ids = [host.next_id(), host.next_id()];
        let args = json!({ "name": "t1" });
        host.call_all(&[(ids[0].clone(), "pin", args.clone()), (ids[1].clone(), "unpin", args)]);
        for id in &ids {
            host.push_result(id, "pin", &json!([{ "type": "text", "text": "done" }]), false);
        }
        count.send(&mut host);
        run(&mut host, "two");
        count.send(&mut host);
        turn(&mut host, &mut count, "three");
        host.restart();
        turn(&mut host, &mut count, "four");
    }
}

#[test]
fn jumps_in_the_tree_and_forks_cost_what_was_sent() {
    for mut host in hosts() {
        let mut count = Count::default();
        for name in ["one", "two", "three"] {
            turn(&mut host, &mut count, name);
        }
        let whole = host.messages.clone();
        host.messages.truncate(4);
        turn(&mut host, &mut count, "beside");
        let left = host.live.state().left_sums();
        assert_eq!(left.calls, 4, "{left:?}");
        host.messages = whole;
        turn(&mut host, &mut count, "back");
        assert_eq!(host.live.state().left_sums().calls, 2);
        host.fork("fork");
        host.messages.truncate(8);
        turn(&mut host, &mut count, "forked");
    }
}

#[test]
fn calls_that_failed_open_are_in_the_account() {
    for mut host in hosts() {
        let mut count = Count::default();
        turn(&mut host, &mut count, "one");
        turn(&mut host, &mut count, "two");
        host.user("And?");
        count.without(&host, true);
        host.live.record_failed_call("DISK_FULL");
        run(&mut host, "three");
        count.without(&host, true);
        host.live.record_failed_call("DISK_FULL");
        host.say("Done three.");
        turn(&mut host, &mut count, "four");
        let hosts = host.live.state().bill().hosts;
        assert_eq!((hosts.calls, hosts.failed), (2, 2));
        turn(&mut host, &mut count, "five");
    }
}

#[test]
fn calls_made_while_it_was_off_are_in_the_account() {
    for mut host in hosts() {
        let mut count = Count::default();
        turn(&mut host, &mut count, "one");
        turn(&mut host, &mut count, "two");
        host.live.close().unwrap();
        host.user("And?");
        count.without(&host, false);
        let id = host.next_id();
        host.call_as(&id, "bash", &json!({ "command": "run three" }));
        host.push_result(
            &id,
            "bash",
            &json!([{ "type": "text", "text": output("three", 300) }]),
            false,
        );
        count.without(&host, false);
        host.say("Done three.");
        host.crash();
        turn(&mut host, &mut count, "four");
        let hosts = host.live.state().bill().hosts;
        assert_eq!((hosts.calls, hosts.failed), (2, 0));
        host.restart();
        turn(&mut host, &mut count, "five");
        assert_eq!(host.live.state().bill().hosts, hosts);
        host.fork("fork");
        turn(&mut host, &mut count, "six");
        assert_eq!(host.live.state().bill().hosts, hosts);
    }
}

#[test]
fn a_call_made_while_off_on_another_branch_is_in_the_account() {
    for mut host in hosts() {
        let mut count = Count::default();
        turn(&mut host, &mut count, "one");
        let kept = host.messages.len();
        turn(&mut host, &mut count, "two");
        host.live.close().unwrap();
        host.messages.truncate(kept);
        host.user("And?");
        count.without(&host, false);
        host.say("Done three.");
        host.crash();
        turn(&mut host, &mut count, "four");
        let hosts = host.live.state().bill().hosts;
        assert_eq!((hosts.calls, hosts.failed), (1, 0));
    }
}

/// Tokens of messages as a provider counts them that counts results with numbers as half of ours, and
/// everything else as a tenth more.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn otherwise(fixed: u64, messages: &[Value]) -> f64 {
    let of = |message: &Value| {
        let is_numbers = message["toolName"] == "bash";
        tokens(std::slice::from_ref(message)) as f64 * if is_numbers { 0.5 } else { 1.1 }
    };
    fixed as f64 * 1.1 + messages.iter().map(of).sum::<f64>()
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn a_provider_that_counts_otherwise_is_believed_of_both_sides() {
    for mut host in hosts() {
        let (mut sent, mut plain, mut newest) = (0.0, 0.0, 0.0);
        host.user("go");
        for number in 0..16 {
            let request = host.send();
            let last = host.live.state().bill().last.as_ref().unwrap();
            let (fixed, extra) = (last.bill.fixed, last.bill.extra);
            let size = otherwise(fixed, &request);
            newest = otherwise(fixed - OVERHEAD_TOKENS, &plain_of(&host.messages));
            (sent, plain) = (sent + size, plain + if extra { 0.0 } else { newest });
            let input = format!("{size:.0}").parse().unwrap();
            host.live.record_usage(Reported { input, ..Reported::default() }).unwrap();
            if number % 3 == 1 {
                let name = format!("f{number}.txt");
                host.write_file(&name, &output(&name, 200));
                host.read(&name, None, None);
            } else if number == 8 {
                activate(&mut host, "t1");
            } else {
                run(&mut host, &number.to_string());
            }
        }
        let ledger = statement(&host.store, host.live.id()).unwrap();
        let near = |shown: u64, counted: f64| {
            assert!((shown as f64 - counted).abs() < 0.02 * counted, "{shown} {counted}");
        };
        near(ledger.ours.sent, sent);
        near(ledger.plain.sent, plain);
        let line = ledger.per_call.last().unwrap();
        near(line.plain.sent, newest);
        assert_eq!(host.live.status().plain_request_tokens, line.plain.sent);
        let size = inspect_call(&host.store, host.live.id(), line.number).unwrap().size.unwrap();
        assert_eq!((size.sent, size.plain), (line.ours.sent, line.plain.sent));
        let epochs: f64 = ledger.epochs.iter().map(|epoch| epoch.saved).sum();
        let saved = ledger.plain_bill - ledger.bill;
        assert!((epochs + ledger.saved_otherwise - saved).abs() < 0.01);
        host.restart();
        assert_eq!(statement(&host.store, host.live.id()).unwrap(), ledger);
    }
}

#[test]
fn another_model_and_back_cost_what_was_sent() {
    for mut host in hosts() {
        let mut count = Count::default();
        turn(&mut host, &mut count, "one");
        host.model = "fake/other".into();
        turn(&mut host, &mut count, "two");
        host.model = "fake/fake-1".into();
        turn(&mut host, &mut count, "three");
    }
}

#[test]
fn a_compaction_by_the_host_costs_what_was_sent() {
    for mut host in hosts() {
        let mut count = Count::default();
        for name in ["one", "two", "three"] {
            turn(&mut host, &mut count, name);
        }
        let kept = host.messages.split_off(8);
        host.messages.clear();
        host.push(json!({ "role": "compactionSummary", "summary": "so far", "tokensBefore": 9 }));
        host.messages.extend(kept);
        turn(&mut host, &mut count, "four");
        turn(&mut host, &mut count, "five");
    }
}

/// A host whose plain side has compacted once; the turn and the call at which it did, and the size
/// of its list before.
fn compacted() -> Host {
    let [mut host, _] = hosts();
    host.window = 60_000;
    for number in 0.. {
        host.user(&format!("Question {number}."));
        host.send();
        let text = output(&number.to_string(), 600);
        host.tool("bash", &json!({ "command": format!("run {number}") }), &text);
        host.send();
        host.say("Done.");
        if host.live.state().bill().compactions > 0 {
            return host;
        }
    }
    unreachable!()
}

#[test]
fn plain_keeps_the_compaction_of_its_branch() {
    let mut host = compacted();
    host.user("More.");
    host.send();
    host.say("Fine.");
    let (whole, made) = (host.messages.clone(), host.live.state().bill().compaction.unwrap());
    // To before what it keeps, to after the compaction, and back.
    for len in [4, whole.len() - 2, whole.len(), 4, whole.len()] {
        host.messages.clone_from(&whole);
        host.messages.truncate(len);
        host.user(&format!("From {len}."));
        host.send();
        let bill = host.live.state().bill();
        let expected = (len > 4).then_some(made);
        assert_eq!(bill.compaction, expected, "from {len}");
        assert_eq!(bill.compactions, 1, "nothing is compacted again");
        host.say("Well.");
    }
    // A list without one of its messages is still compacted.
    host.messages.clone_from(&whole);
    host.user("On.");
    host.send();
    host.messages.remove(3);
    host.send();
    let bill = host.live.state().bill();
    assert_eq!((bill.compactions, bill.compaction.is_some()), (1, true));
}
