//! The ledger of sessions: what calls cost, compared with the plain host.

use config::{PriceSetting, Settings};
use live::{LiveSession, Notice, bill_of, inspect_call, statement};
use serde_json::json;
use session::{Bill, CallBill, ReportKind, Reported};

use crate::host::{Host, OVERHEAD_TOKENS};

fn host(prices: &str) -> Host {
    Host::new(Settings { prices: PriceSetting::Named(prices.into()), ..Settings::default() })
}

fn last(host: &Host) -> CallBill {
    host.live.state().bill().last.as_ref().unwrap().bill.clone()
}

/// A turn with one output of about this many tokens.
fn turn(host: &mut Host, number: usize, tokens: usize) {
    host.user(&format!("Question {number}."));
    host.send();
    let lines = (0..tokens / 8).map(|line| format!("line {line} of run {number}"));
    let output = lines.collect::<Vec<_>>().join("\n");
    host.tool("bash", &json!({ "command": format!("run {number}") }), &output);
    host.send();
    host.say("Done.");
}

fn reported(input: u64) -> Reported {
    Reported { input, output: 10, ..Reported::default() }
}

fn close_to(a: f64, b: f64) -> bool {
    (a - b).abs() < 0.01
}

#[test]
fn without_collapsed_content_only_the_overhead_costs_more() {
    let mut host = host("anthropic");
    for number in 0..4 {
        turn(&mut host, number, 200);
    }
    let bill = host.live.state().bill();
    assert_eq!(bill.calls, 8);
    assert!(close_to(bill.ours() - bill.overhead, bill.plain()), "{bill:?}");
    assert_eq!(bill.our_account.sent, bill.plain_account.sent + 8 * OVERHEAD_TOKENS);
    // Written at the first call, read at the others.
    assert!(close_to(bill.overhead, 5.0 * (1.25 + 7.0 * 0.1)));
}

#[test]
fn a_request_that_grew_reads_the_one_before_from_the_cache() {
    let mut host = host("openai");
    turn(&mut host, 1, 400);
    let before = last(&host);
    host.user("More.");
    host.send();
    let bill = last(&host);
    assert!(bill.warm && !before.ours.cached.eq(&0));
    assert_eq!(bill.ours.cached, before.ours.total());
    assert_eq!(bill.plain.cached, before.plain.total());
}

#[test]
fn the_savings_of_epochs_equal_the_difference_in_the_bill() {
    let prices = PriceSetting::Named("anthropic".into());
    let mut host = Host::new(Settings { prices, preview_tokens: 0, ..Settings::default() });
    for number in 0..30 {
        turn(&mut host, number, 3_000);
        // Now and then the cache is gone: the rewrite is free.
        host.wait(if number % 12 == 11 { 400 } else { 1 });
    }
    let bill = host.live.state().bill();
    let epoch = bill.epochs.first().expect("an epoch");
    assert!(epoch.freed > 3_000, "{epoch:?}");
    assert!(bill.ours() < bill.plain(), "{bill:?}");
    let saved: f64 = bill.epochs.iter().map(|epoch| epoch.saved).sum();
    let whole = bill.plain() - bill.ours() + bill.overhead;
    assert!((saved - whole).abs() < whole * 0.02, "{saved} {whole}");
}

#[test]
fn a_cache_expires_after_its_lifetime_unless_kept_warm() {
    let ask = |seconds: i64, warmed_after: Option<i64>| {
        let mut host = host("anthropic");
        turn(&mut host, 1, 400);
        let answered = host.messages.last().unwrap()["timestamp"].as_i64().unwrap();
        if let Some(seconds) = warmed_after {
            let time = Some(answered + seconds * 1_000);
            let warm = Reported { kind: ReportKind::CacheWarm, time, ..reported(500) };
            host.live.record_usage(warm).unwrap();
        }
        host.wait(seconds);
        host.user("And now?");
        host.send();
        last(&host).warm
    };
    assert!(ask(290, None));
    assert!(!ask(310, None));
    assert!(ask(310, Some(270)));
    assert!(!ask(900, Some(270)));
}

#[test]
fn a_fork_reads_what_its_parent_wrote_to_the_cache() {
    let mut host = host("openai");
    turn(&mut host, 1, 400);
    host.fork("fork");
    host.user("Another way.");
    host.send();
    assert!(last(&host).warm, "{:?}", last(&host));
}

#[test]
fn another_model_has_no_cache_of_ours() {
    let mut host = host("openai");
    turn(&mut host, 1, 400);
    host.user("Go on.");
    host.model = "fake/fake-2".into();
    host.send();
    assert_eq!((last(&host).warm, last(&host).ours.cached), (false, 0));
}

#[test]
fn estimates_follow_what_the_provider_counts() {
    let mut host = host("openai");
    for number in 0..12 {
        turn(&mut host, number, 900);
        let bill = last(&host);
        let truth = (bill.fixed + bill.ours.messages) * 115 / 100;
        let off = bill.ours.total().abs_diff(truth);
        assert!(number == 0 || off * 1_000 <= truth * 5, "call {number}: {off} of {truth}");
        host.live.record_usage(reported(truth)).unwrap();
    }
    assert!((last(&host).factor - 1.15).abs() < 0.001);
    // A report that cannot be of this request does not lead it astray.
    host.live.record_usage(reported(1)).unwrap();
    turn(&mut host, 12, 900);
    assert!((last(&host).factor - 1.15).abs() < 0.001);
}

#[test]
fn empty_and_repeated_usage_reports_are_ignored() {
    let mut host = host("anthropic");
    turn(&mut host, 1, 400);
    host.live.record_usage(reported(0)).unwrap();
    let id = Some("entry-1".to_owned());
    let warm = Reported { kind: ReportKind::CacheWarm, id, ..reported(300) };
    for _ in 0..3 {
        host.live.record_usage(warm.clone()).unwrap();
    }
    host.restart();
    host.live.record_usage(warm).unwrap();
    let bill = host.live.state().bill();
    assert_eq!((bill.reported.calls, bill.warming.requests), (0, 1));
    assert!(close_to(bill.warming.ours, 300.0));
}

#[test]
fn the_plain_host_compacts_when_its_window_is_full() {
    let mut host = host("openai");
    host.window = 60_000;
    let mut largest = 0;
    for number in 0..40 {
        turn(&mut host, number, 2_500);
        largest = largest.max(last(&host).plain.total());
    }
    let bill = host.live.state().bill();
    assert!(largest <= 60_000 - 16_384, "{largest}");
    assert!(bill.compactions >= 2, "{bill:?}");
    assert!(bill.compaction.is_some());
}

#[test]
fn epochs_save_no_more_once_plain_has_compacted() {
    let mut host = host("openai");
    host.window = 60_000;
    let (mut compactions, mut ended) = (0, Vec::new());
    for number in 0..80 {
        turn(&mut host, number, 2_500);
        let bill = host.live.state().bill();
        if bill.compactions > compactions {
            compactions = bill.compactions;
            let newest = bill.last.as_ref().unwrap().number;
            ended = bill.epochs.clone();
            ended.retain(|epoch| epoch.call < newest);
        }
        assert!(bill.epochs.starts_with(&ended), "{:?}\n{ended:?}", bill.epochs);
    }
    let bill = host.live.state().bill();
    let saved: f64 = bill.epochs.iter().map(|epoch| epoch.saved).sum();
    assert!(compactions >= 4 && !ended.is_empty() && saved > 0.0, "{bill:?}");
    assert!(saved < bill.plain() - bill.ours(), "{saved} {bill:?}");
}

#[test]
fn no_epoch_starts_whose_lines_only_move() {
    let mut host = host("openai");
    host.window = 40_000;
    host.user("Go.");
    for first in 0..16 {
        host.send();
        // Each stands in the one before, but for a line.
        let output = (first..2_900).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        host.tool("bash", &json!({ "command": format!("seq {first} 2899") }), &output);
    }
    host.send();
    let freed: Vec<u64> = host.live.state().bill().epochs.iter().map(|epoch| epoch.freed).collect();
    assert!(freed.iter().all(|freed| *freed >= 1_000), "{freed:?}");
}

#[test]
fn inspected_calls_have_the_ledgers_sizes_on_both_sides() {
    let mut host = host("openai");
    host.window = 60_000;
    let mut billed = Vec::new();
    for number in 0..30 {
        turn(&mut host, number, 2_500);
        host.live.record_usage(reported(5_000 + 1_000 * number as u64)).unwrap();
        let bill = host.live.state().bill();
        let call = bill.last.as_ref().unwrap();
        billed.push((call.number, call.bill.clone(), bill.compaction));
    }
    host.restart();
    for (number, bill, compaction) in &billed {
        let inspected = inspect_call(&host.store, host.live.id(), *number).unwrap();
        let size = inspected.size.unwrap();
        assert_eq!((size.sent, size.plain), (bill.ours.total(), bill.plain.total()));
        assert_eq!(size.factor.to_bits(), bill.factor.to_bits());
        assert_eq!(size.plain_from, compaction.map(|compaction| compaction.from));
    }
    let first = billed.iter().position(|(_, _, compaction)| compaction.is_some());
    assert!(first.is_some_and(|first| first > 0), "plain compacts on the way");
    assert!(billed.last().unwrap().1.factor > 1.0, "the provider's count is another");
}

#[test]
fn a_restart_reads_the_same_ledger() {
    let mut host = host("anthropic");
    for number in 0..14 {
        turn(&mut host, number, 3_000);
        host.live.record_usage(reported(1_000 * number as u64)).unwrap();
    }
    host.send();
    let before: Bill = host.live.state().bill().clone();
    host.restart();
    assert_eq!(host.live.state().bill(), &before);
    let beside = LiveSession::open(host.store.clone(), host.options()).unwrap();
    assert_eq!(beside.state().bill(), &before);
    // The request is the same one again: nothing of it is new.
    host.send();
    let bill = last(&host);
    assert_eq!((bill.warm, bill.ours.written), (true, 0));
}

#[test]
fn usage_that_is_no_measure_changes_no_decision() {
    type Usage = fn(&CallBill) -> Option<Reported>;
    let usages: [Usage; 5] = [
        |_| None,
        |_| Some(reported(0)),
        |_| Some(reported(7)),
        |_| Some(reported(9_000)),
        |bill| Some(reported(bill.fixed + bill.ours.messages)),
    ];
    let run = |usage: Usage| {
        let mut host = host("openai");
        host.window = 60_000;
        let mut told = 0;
        for number in 0..40 {
            turn(&mut host, number, 1_500);
            if let Some(usage) = usage(&last(&host)) {
                host.live.record_usage(usage).unwrap();
            }
            host.user("And?");
            host.send();
            host.say("Fine.");
            let is_of_usage = |notice: &&Notice| matches!(notice, Notice::UsageIgnored { .. });
            told += host.notices.iter().filter(is_of_usage).count();
        }
        let epochs: Vec<_> =
            host.live.state().bill().epochs.iter().map(|it| (it.call, it.reason.clone())).collect();
        assert!(epochs.len() > 1, "{epochs:?}");
        (epochs, host.shown(), told)
    };
    let (epochs, shown, told) = run(usages[0]);
    assert_eq!(told, 0);
    for usage in &usages[1..] {
        let other = run(*usage);
        assert_eq!((&other.0, &other.1), (&epochs, &shown));
        assert_eq!(other.2, 1, "the person is told once");
    }
}

#[test]
fn warming_costs_no_more_than_the_request_that_it_repeats() {
    let mut host = host("anthropic");
    turn(&mut host, 1, 400);
    let most =
        host.live.state().bill().prices.as_ref().unwrap().prices.cost(0, last(&host).ours.total());
    let warm = Reported { kind: ReportKind::CacheWarm, ..reported(9_000_000) };
    host.live.record_usage(warm).unwrap();
    assert!(close_to(host.live.state().bill().warming.ours, most));
}

#[test]
fn the_bill_is_kept_at_the_end_and_made_anew_later() {
    let mut host = host("anthropic");
    turn(&mut host, 1, 400);
    host.live.record_usage(reported(900)).unwrap();
    host.live.close().unwrap();
    let (store, id) = (host.store.clone(), host.live.id().clone());
    let upkeep = store.upkeep("test").unwrap();
    let kept = || upkeep.summary(&id).unwrap().unwrap();
    let as_made = || {
        let (bill, ledger) = (bill_of(&store, &id).unwrap(), statement(&store, &id).unwrap());
        let newest = ledger.per_call.last().unwrap();
        assert_eq!((bill.bill, bill.plain_bill), (ledger.bill, ledger.plain_bill));
        assert_eq!((bill.dollars, bill.faults), (ledger.dollars, ledger.faults.count));
        let window = bill.window.unwrap();
        assert_eq!((window.ours, window.plain), (newest.ours.sent, newest.plain.sent));
    };
    let at_close = kept();
    as_made();
    assert_eq!(kept(), at_close, "it was kept");
    upkeep.set_summary(&id, &at_close.replace("\"faults\":0", "\"faults\":7")).unwrap();
    assert_eq!(bill_of(&store, &id).unwrap().faults, 7, "it is read");
    turn(&mut host, 2, 400);
    as_made();
    upkeep.set_summary(&id, "of a later release").unwrap();
    as_made();
    assert!(kept().contains("plainBill"));
}
