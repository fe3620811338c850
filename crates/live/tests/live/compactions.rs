//! Answers to a host that is about to compact: it is told not to while our request fits, and gets a
//! summary of ours after an overflow; whatever it does, nothing is lost.

use config::{Layout, Settings};
use context::host_compaction::{CompactionAnswer, Reason};
use live::Wanted;
use serde_json::json;
use session::{ReportKind, Reported};

use crate::host::Host;

/// A text of about this many tokens, which occurs nowhere else.
fn text(number: usize, tokens: usize) -> String {
    let line = |line: usize| format!("output {number}, line {line}: nothing new\n");
    (0..tokens.div_ceil(10)).map(line).collect::<Vec<_>>().concat()
}

/// A session in a window of 40,000 tokens with steps of this size.
fn worked(settings: Settings, steps: usize, tokens: usize) -> Host {
    let mut host = Host::new(Settings { preview_tokens: 0, ..settings });
    host.window = 40_000;
    host.user("Remember: the release branch is called amber-falcon.");
    for number in 0..steps {
        let args = json!({ "command": format!("run {number}") });
        host.tool("bash", &args, &text(number, tokens));
        if number + 1 < steps {
            host.send();
        }
    }
    host
}

fn report(host: &mut Host) {
    let reported = Reported {
        kind: ReportKind::Call,
        call: None,
        id: None,
        time: None,
        input: host.live.state().bill().last.as_ref().unwrap().bill.ours.total(),
        cache_read: 0,
        cache_write: 0,
        output: 20,
    };
    host.live.record_usage(reported).unwrap();
}

#[test]
fn the_host_does_not_compact_while_the_next_request_fits() {
    for layout in [Layout::Log, Layout::Pools] {
        let mut host = worked(Settings { layout, ..Settings::default() }, 12, 6_000);
        let (calls, epoch) = (host.live.state().calls(), host.live.state().epoch());
        assert_eq!(host.compacts(Reason::Threshold, 20), CompactionAnswer::Cancel);
        assert_eq!((host.live.state().calls(), host.live.state().epoch()), (calls, epoch));
        host.send();
        assert_eq!(host.live.state().calls(), calls + 1);
        let sent = host.live.state().bill().last.as_ref().unwrap().bill.ours.total();
        assert!(sent <= 40_000 - 16_384, "it does fit: {sent}");
    }
}

#[test]
fn asking_changes_nothing_of_what_goes_out() {
    let mut asked = worked(Settings::default(), 9, 5_000);
    let mut other = worked(Settings::default(), 9, 5_000);
    asked.compacts(Reason::Threshold, 4);
    asked.compacts(Reason::Threshold, 4);
    for host in [&mut asked, &mut other] {
        host.send();
        host.user("go on");
        host.send();
    }
    assert_eq!(asked.shown(), other.shown());
    let ledgers = [&mut asked, &mut other].map(|host| host.live.statement().unwrap());
    assert_eq!(ledgers[0], ledgers[1]);
}

#[test]
fn at_the_threshold_the_host_compacts_what_cannot_leave() {
    let mut host = Host::new(Settings::default());
    host.window = 40_000;
    host.user(&text(1, 30_000));
    host.say("Well.");
    host.user("And now?");
    assert_eq!(host.compacts(Reason::Threshold, 1), CompactionAnswer::Host);
    host.send();
}

#[test]
fn the_host_compacts_as_usual_after_a_call_of_its_own() {
    let mut host = worked(Settings::default(), 3, 6_000);
    host.live.record_failed_call("no store");
    assert_eq!(host.compacts(Reason::Threshold, 2), CompactionAnswer::Host);
    assert_eq!(host.compacts(Reason::Overflow, 2), CompactionAnswer::Host);
    host.send();
    host.tool("bash", &json!({ "command": "more" }), &text(50, 6_000));
    assert_eq!(host.compacts(Reason::Threshold, 2), CompactionAnswer::Cancel);
}

#[test]
fn a_host_without_usage_reports_may_compact_eventually() {
    let mut host = worked(Settings::default(), 3, 6_000);
    let mut answers = Vec::new();
    for number in 10..15 {
        let is_told = host.compacts(Reason::Threshold, 2) == CompactionAnswer::Cancel;
        if is_told {
            // Pi asks after a run, and again before the next prompt.
            assert_eq!(host.compacts(Reason::Threshold, 2), CompactionAnswer::Cancel);
        }
        answers.push(is_told);
        host.send();
        host.tool("bash", &json!({ "command": format!("run {number}") }), &text(number, 6_000));
    }
    assert_eq!(answers, [true, true, true, false, true]);
}

#[test]
fn new_outputs_go_out_while_the_window_has_room() {
    let mut host = worked(Settings::default(), 2, 3_000);
    let ids: Vec<_> = (0..4).map(|_| host.next_id()).collect();
    let calls: Vec<_> = ids
        .iter()
        .map(|id| (id.clone(), "bash", json!({ "command": format!("all {id}") })))
        .collect();
    host.send();
    host.call_all(&calls);
    for (at, (id, tool, args)) in calls.iter().enumerate() {
        host.answer(id, tool, args, &text(30 + at, 6_000), false);
    }
    assert_eq!(host.compacts(Reason::Threshold, 2), CompactionAnswer::Cancel);
    host.send();
    report(&mut host);
    let sent = host.live.state().bill().last.as_ref().unwrap().bill.ours.total();
    assert!((40_000 - 16_384..=30_000).contains(&sent), "{sent}");
    host.tool("bash", &json!({ "command": "one more" }), &text(50, 1_000));
    assert_eq!(host.compacts(Reason::Threshold, 2), CompactionAnswer::Cancel);
    host.send();
    let sent = host.live.state().bill().last.as_ref().unwrap().bill.ours.total();
    assert!(sent < 40_000 - 16_384, "{sent}");
}

#[test]
fn a_host_that_hears_of_usage_is_told_each_time() {
    let mut host = worked(Settings::default(), 3, 6_000);
    for number in 10..16 {
        assert_eq!(host.compacts(Reason::Threshold, 2), CompactionAnswer::Cancel);
        host.send();
        report(&mut host);
        host.tool("bash", &json!({ "command": format!("run {number}") }), &text(number, 6_000));
    }
}

#[test]
fn what_a_provider_reported_before_is_not_lost_by_asking() {
    let mut host = worked(Settings::default(), 3, 6_000);
    host.send();
    report(&mut host);
    host.tool("bash", &json!({ "command": "more" }), &text(50, 6_000));
    host.compacts(Reason::Threshold, 2);
    host.send();
    assert_eq!(host.live.state().bill().reported.calls, 1);
}

/// As Pi does with a summary that it was given.
fn compact(host: &mut Host, summary: &str, kept_from: usize) {
    let kept = host.messages.split_off(kept_from);
    host.messages.clear();
    host.push(json!({ "role": "compactionSummary", "summary": summary, "tokensBefore": 9 }));
    host.messages.extend(kept);
}

fn overflow(host: &mut Host, kept_from: usize) -> String {
    let answer = host.compacts(Reason::Overflow, kept_from);
    let CompactionAnswer::Summary(summary) = answer else { panic!("{answer:?}") };
    compact(host, &summary, kept_from);
    summary
}

fn activate(host: &mut Host, name: &str) -> String {
    host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false)
}

#[test]
fn after_an_overflow_our_summary_lists_what_can_come_back() {
    let mut host = worked(Settings::default(), 5, 300);
    host.send();
    let summary = overflow(&mut host, 7);
    assert!(summary.contains("\n[s1] turn 1 in full · 7 messages\n"), "{summary}");
    assert!(summary.contains("What was done: run 0 ok, run 1 ok"), "{summary}");
    assert!(summary.contains("turn 1: Remember: the release branch is called amber-falcon."));
    host.send();
    host.say("Let me see.");
    host.user("What was it called?");
    host.send();
    assert!(activate(&mut host, "s1").contains("amber-falcon"));
    assert!(activate(&mut host, "t1").contains("output 0, line 3"));
    host.restart();
    host.send();
}

#[test]
fn a_second_overflow_covers_what_left_before() {
    let mut host = worked(Settings::default(), 5, 300);
    host.send();
    overflow(&mut host, 7);
    host.send();
    host.say("Well.");
    host.user("The second thing: copper-otter.");
    host.send();
    host.say("Yes.");
    host.user("Go on.");
    host.send();
    let at = host.messages.len() - 1;
    let summary = overflow(&mut host, at);
    assert!(summary.contains("turns 1-2 in full"), "{summary}");
    assert_eq!(summary.matches("amber-falcon").count(), 1, "{summary}");
    assert!(summary.contains("copper-otter"), "{summary}");
    host.send();
    assert_eq!(host.live.state().compacted().count(), 1);
}

#[test]
fn the_hosts_own_summary_stays_in_ours() {
    let mut host = worked(Settings::default(), 5, 300);
    host.send();
    assert_eq!(host.compacts(Reason::Manual, 7), CompactionAnswer::Host);
    compact(&mut host, "They ran many things.", 7);
    host.send();
    host.say("Well.");
    host.user("Go on.");
    host.send();
    let at = host.messages.len() - 1;
    let summary = overflow(&mut host, at);
    assert!(summary.contains("They ran many things."), "{summary}");
    host.send();
}

#[test]
fn what_no_call_had_can_be_activated_after_the_user_compacted() {
    let mut host = worked(Settings::default(), 2, 300);
    host.send();
    host.say("The answer is copper-otter.");
    host.push(
        json!({ "role": "bashExecution", "command": "ls", "output": "a.txt", "exitCode": 0 }),
    );
    let at = host.messages.len() - 1;
    assert_eq!(host.compacts(Reason::Manual, at), CompactionAnswer::Host);
    compact(&mut host, "They ran things.", at);
    host.user("What was the answer?");
    host.send();
    assert!(host.shown().contains("in full · 6 messages"), "{}", host.shown());
    assert!(activate(&mut host, "s1").contains("copper-otter"));
    host.send();
}

#[test]
fn a_person_goes_back_and_forth_over_a_compaction() {
    let mut host = worked(Settings::default(), 3, 300);
    host.rewrites = true;
    host.send();
    host.say("Did one.");
    let before = host.messages.clone();
    host.user("two");
    host.send();
    host.say("Did two.");
    let kept_from = host.messages.len() - 1;
    compact(&mut host, "They ran things.", kept_from);
    host.user("three");
    host.send();
    assert!(host.shown().contains("[s1] turns 1-2 in full"), "{}", host.shown());
    host.say("Did three.");
    let behind = host.messages.clone();

    host.messages = before;
    host.user("drop the database");
    host.send();
    assert_eq!(host.live.state().left_sums().calls, 2, "those of `two` and `three`");
    host.say("Dropped.");
    host.messages = behind;
    host.user("four");
    host.send();
    assert!(!host.shown().contains("[s2]"), "{}", host.shown());
    let compacted = host.live.state().compacted().map(|entry| entry.handle.to_string());
    assert_eq!(compacted.collect::<Vec<_>>(), ["s1"]);
    assert_eq!(host.live.state().left_sums().calls, 1, "that of the branch that was left");
    assert!(!activate(&mut host, "s1").contains("drop the database"));
    let sent = host.send();
    host.restart();
    assert_eq!(host.send(), sent);
}
