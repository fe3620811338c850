//! Replays: synthetic transcripts played through a session and measured.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

use base::object::{AsOf, ObjectId};
use config::{Layout, Prices, Settings};
use context::tokens::Counter;
use flate2::read::MultiGzDecoder;
use live::{CallInfo, HostList, LiveSession, OpenSession, ToolFiles, Transformed};
use replay::hosts::HostRule;
use replay::measure::{FIXED_TOKENS, OVERHEAD_TOKENS};
use replay::options::{Replaying, Sender};
use replay::recorded::Follows;
use replay::report::BillReport;
use replay::run::{replay, replay_recorded};
use replay::transcript::Transcript;
use serde_json::{Value, json};
use store::Store;

fn replaying(sender: Sender) -> Replaying {
    Replaying {
        sender,
        prices: Prices::preset("anthropic").unwrap(),
        window_tokens: None,
        counter: Counter::Characters,
        host_tokens: FIXED_TOKENS,
        overhead_tokens: OVERHEAD_TOKENS,
        settings: Settings::default(),
        dump: None,
        snapshots: None,
    }
}

/// A line that is long enough to be needed.
fn line(name: &str) -> String {
    format!("{name} is a line that can be needed later on")
}

fn user(text: &str, time: i64) -> String {
    json!({ "role": "user", "content": text, "timestamp": time }).to_string()
}

fn step(call: usize, tool: &str, args: &Value, output: &str) -> [String; 2] {
    let time = 10 + call;
    let id = format!("c{call}");
    let asked = json!({ "type": "toolCall", "id": id, "name": tool, "arguments": args });
    let shown = json!([{ "type": "text", "text": output }]);
    [
        json!({ "role": "assistant", "content": [asked], "timestamp": time }).to_string(),
        json!({ "role": "toolResult", "toolCallId": id, "toolName": tool, "content": shown, "isError": false, "timestamp": time })
            .to_string(),
    ]
}

/// A transcript named `made`.
fn transcript(messages: &[String]) -> Transcript {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.jsonl");
    let header = json!({ "session": { "id": "made" } }).to_string();
    std::fs::write(&path, format!("{header}\n{}\n", messages.join("\n"))).unwrap();
    Transcript::read(&path).unwrap()
}

/// The requests that a dump holds, as lists of messages.
fn dumped(folder: &Path) -> Vec<Vec<Value>> {
    let file = std::fs::File::open(folder.join("made.jsonl.gz")).unwrap();
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let calls = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let numbered = calls.enumerate().map(|(number, call)| {
        assert_eq!(call["call"], number);
        assert_eq!(call.as_object().unwrap().len(), 2, "{call}");
        call["messages"].as_array().unwrap().clone()
    });
    numbered.collect()
}

#[test]
fn a_dump_has_one_line_per_answer_with_its_context() {
    let folder = tempfile::tempdir().unwrap();
    let mut messages = vec![user("Go on.", 1)];
    messages.extend(step(1, "read", &json!({ "path": "a" }), "one"));
    messages.extend(step(2, "read", &json!({ "path": "b" }), "two"));
    messages.push(json!({ "role": "assistant", "content": "done" }).to_string());
    messages.push(user("Thanks.", 5));
    for sender in [Sender::Host(HostRule::Plain), Sender::Ours(Layout::Log)] {
        let dump = folder.path().join(format!("{}/new", sender.as_str()));
        let replaying = Replaying { dump: Some(dump.clone()), ..replaying(sender) };
        let report = replay(&transcript(&messages), &replaying, &[]).unwrap();
        let given: Vec<Value> =
            messages.iter().map(|json| serde_json::from_str(json).unwrap()).collect();
        assert_eq!(dumped(&dump), [&given[..1], &given[..3], &given[..5]], "{sender:?}");
        assert_eq!((report.calls, report.series.len()), (3, 3));
    }
}

#[test]
fn a_needed_line_missing_from_a_preview_is_only_our_fault() {
    let long = |name: &str| {
        let rows = (0..4_000).map(|row| format!("{row} of {name}, some words to fill it\n"));
        rows.collect::<String>()
    };
    let middle = line("the middle");
    let output = format!("{}{middle}\n{}", long("first"), long("last"));
    let mut messages = vec![user("Go on.", 1)];
    messages.extend(step(1, "bash", &json!({ "command": "make" }), &output));
    messages.extend(step(2, "bash", &json!({ "command": "ls" }), "short"));
    messages.push(json!({ "role": "assistant", "content": middle }).to_string());
    let report =
        replay(&transcript(&messages), &replaying(Sender::Ours(Layout::Log)), &[]).unwrap();
    let faults: Vec<_> = report.series.iter().map(|call| call.ours.fault.clone()).collect();
    let fault = faults[2].clone().unwrap();
    assert_eq!((&faults[0], &faults[1]), (&None, &None));
    assert_eq!((fault.lines, fault.strict, fault.own_words), (1, true, false));
    assert_eq!(fault.sources, [2]);
    let charge = report.series[2].ours.tokens * 0.1 + 1.25 * 2_060.0;
    assert!((fault.cost - charge).abs() < 1e-6, "{fault:?}");
    assert_eq!((report.faults.raw, report.plain_faults.raw), (1, 0));
}

/// A transcript with the content of its results in another shape.
fn with_results(messages: &[String], shape: &dyn Fn(&str) -> Value) -> Transcript {
    let reshaped = messages.iter().map(|json| {
        let mut message: Value = serde_json::from_str(json).unwrap();
        if message["role"] == "toolResult" {
            message["content"] = shape(message["content"][0]["text"].as_str().unwrap());
        }
        message.to_string()
    });
    transcript(&reshaped.collect::<Vec<_>>())
}

#[test]
fn a_session_costs_the_same_whatever_the_shape_of_its_results() {
    let block = |text: &str| json!({ "type": "text", "text": text });
    let output = |step: usize| {
        let rows = (0..60 + 17 * (step % 7)).map(|row| format!("{row} of {step}: {}", line("it")));
        rows.collect::<Vec<_>>().join("\n")
    };
    let mut messages = vec![user("Go on.", 1)];
    for number in 0..40 {
        messages.extend(step(number, "look_up", &json!({ "n": number }), &output(number)));
    }
    messages.push(json!({ "role": "assistant", "content": "done" }).to_string());
    let report = |shape: &dyn Fn(&str) -> Value| {
        replay(&with_results(&messages, shape), &replaying(Sender::Ours(Layout::Log)), &[]).unwrap()
    };
    let one = report(&|text| json!([block(text)]));
    assert!(one.epochs.len() > 1 && one.bill.ratio < 0.8, "{:?}", one.bill);
    for other in [
        report(&|text| json!(text)),
        report(&|text| json!([{ "annotations": {}, "type": "text", "text": text }])),
    ] {
        assert_eq!((other.bill, other.epochs), (one.bill, one.epochs.clone()));
    }
    // Two blocks have no line feed between them, which is a character less.
    let two = report(&|text| {
        let (first, rest) = text.split_once('\n').unwrap();
        json!([block(first), block(rest)])
    });
    assert!((two.bill.ratio - one.bill.ratio).abs() < 0.001, "{:?} {:?}", two.bill, one.bill);
    assert_eq!(two.faults.raw, one.faults.raw);
}

#[test]
fn both_sides_stay_in_the_window() {
    // Nothing can be collapsed in what the user says.
    let mut messages = Vec::new();
    for turn in 0..20 {
        messages.push(user(&format!("{turn} {}", "word ".repeat(8_000)), turn));
        let answer = json!({ "role": "assistant", "content": "ok", "timestamp": turn });
        messages.push(answer.to_string());
    }
    let folder = tempfile::tempdir().unwrap();
    let dump = Some(folder.path().to_owned());
    let replaying =
        Replaying { window_tokens: Some(100_000), dump, ..replaying(Sender::Ours(Layout::Log)) };
    let report = replay(&transcript(&messages), &replaying, &[]).unwrap();
    let limit = 100_000.0 - 16_384.0;
    assert!(report.peak_window.ours <= limit && report.peak_window.plain <= limit, "{report:?}");
    assert!(report.peak_window.ours > limit - 11_000.0, "it is used: {:?}", report.peak_window);
    // At the turns 8, 14 and 20: 2 turns are kept each time.
    assert_eq!((report.compactions, report.plain_compactions), (3, 3));
    let compacted = report.series.iter().position(|call| call.ours.compaction > 0.0).unwrap();
    let call = &dumped(folder.path())[compacted];
    assert_eq!(call.len(), 4, "the summary and two turns");
    assert!(
        call[0]["content"][0]["text"].as_str().unwrap().len() == 7_996 && call[3]["role"] == "user"
    );
}

#[test]
fn the_plain_host_alone_keeps_to_the_window() {
    let mut messages = Vec::new();
    for turn in 0..20 {
        messages.push(user(&format!("{turn} {}", "word ".repeat(8_000)), turn));
        messages.push(json!({ "role": "assistant", "content": "ok" }).to_string());
    }
    let replaying =
        Replaying { window_tokens: Some(100_000), ..replaying(Sender::Host(HostRule::Plain)) };
    let report = replay(&transcript(&messages), &replaying, &[]).unwrap();
    assert_eq!((report.compactions, report.plain_compactions), (3, 3));
    assert!((report.bill.ratio - 1.0).abs() < 1e-4, "{:?}", report.bill);
}

#[test]
fn each_request_has_the_price_of_its_own_model() {
    let price = |answers: [(&str, Value); 2]| {
        let messages: Vec<String> = std::iter::once(user("Go.", 1))
            .chain(answers.map(|(model, cost)| {
                let usage = json!({ "input": 2_000, "output": 9, "cost": cost });
                let said = json!([{ "type": "text", "text": "Yes." }]);
                json!({ "role": "assistant", "model": model, "usage": usage, "content": said })
                    .to_string()
            }))
            .collect();
        let replaying = replaying(Sender::Host(HostRule::Plain));
        let follows = Follows { prices: true, window: true, sizes: true };
        let report = replay_recorded(&transcript(&messages), &replaying, follows, "x", false);
        report.unwrap().recorded.usd_per_million.map(|usd| (1e6 * usd).round() / 1e6)
    };
    let one = ("claude-opus-4-5", Value::Null);
    assert_eq!(price([one.clone(), ("claude-sonnet-4-5", Value::Null)]), Some(4.0));
    assert_eq!(price([one.clone(), ("gpt-5-pro", Value::Null)]), None, "one has no price");
    assert_eq!(price([one.clone(), ("gpt-5-pro", json!({ "input": 0.03 }))]), Some(10.0));
    assert_eq!(price([one.clone(), ("claude-sonnet-4-5", json!({ "input": 0 }))]), Some(4.0));
}

#[test]
fn a_model_with_prices_of_its_own_costs_these() {
    let cost = |model: &str, read: u64| {
        let usage = json!({ "input": 0, "output": 9, "cacheRead": read, "cacheWrite": 2_000 });
        let said = json!([{ "type": "text", "text": "Yes." }]);
        let answer =
            json!({ "role": "assistant", "model": model, "usage": usage, "content": said });
        let replaying = replaying(Sender::Host(HostRule::Plain));
        let follows = Follows { prices: true, window: true, sizes: true };
        let session = transcript(&[user("Go.", 1), answer.to_string()]);
        let report = replay_recorded(&session, &replaying, follows, "x", false).unwrap();
        report.recorded.cost
    };
    let claude = (cost("claude-opus-5", 100_000), cost("claude-opus-5-5", 100_000));
    assert_eq!(claude, (12_500.0, 7_500.0));
    let long = (cost("claude-haiku-5-5", 50_000), cost("claude-haiku-5-5", 100_000));
    assert_eq!(long, (7_500.0, 62_500.0));
    let gpt = (cost("gpt-5.6-sol", 100_000), cost("gpt-5.6-sol", 300_000));
    assert_eq!(gpt, (12_500.0, 65_000.0));
}

#[test]
fn each_request_of_its_model_for_an_answer_costs() {
    let part = |read: u64| json!({ "input": 2, "output": 5, "cacheRead": read, "cacheWrite": 1_000, "cacheWrite1h": 600 });
    let mut usage = part(9_500);
    usage["earlier"] = json!([part(9_000), part(500)]);
    let said = json!([{ "type": "text", "text": "Yes." }]);
    let answer =
        json!({ "role": "assistant", "model": "claude-opus-5", "usage": usage, "content": said });
    let follows = Follows { prices: true, window: true, sizes: true };
    let session = transcript(&[user("Go.", 1), answer.to_string()]);
    let replaying = replaying(Sender::Host(HostRule::Plain));
    let report = replay_recorded(&session, &replaying, follows, "x", false).unwrap().recorded;
    assert_eq!((report.tokens, report.cost), (10_502.0, 6.0 + 1_900.0 + 3.0 * 1_700.0));
}

#[test]
fn each_request_costs_what_its_own_models_caches_cost() {
    let cost = |models: [&str; 3], prices: bool| {
        let answers = models.map(|model| {
            let usage = json!({ "input": 0, "output": 9, "cacheRead": 100_000, "cacheWrite": 2_000, "cacheWrite1h": 1_000 });
            let said = json!([{ "type": "text", "text": "Yes." }]);
            json!({ "role": "assistant", "model": model, "usage": usage, "content": said })
                .to_string()
        });
        let session = transcript(&[&[user("Go.", 1)], &answers[..]].concat());
        let replaying = replaying(Sender::Host(HostRule::Plain));
        let follows = Follows { prices, window: true, sizes: true };
        replay_recorded(&session, &replaying, follows, "x", false).unwrap().recorded.cost
    };
    let (opus, sonnet, haiku) = ("claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5-5");
    let claude = (cost([opus, sonnet, opus], true), cost([haiku, opus, haiku], true));
    assert_eq!(claude, (2.0 * 8_250.0 + 13_250.0, 2.0 * 66_250.0 + 8_250.0));
    // OpenAI's caches have one lifetime; prices that are given are those of all.
    let others = (cost([opus, opus, "gpt-5.5"], true), cost([haiku, opus, "gpt-5.5"], false));
    assert_eq!(others, (2.0 * 8_250.0 + 12_000.0, 3.0 * 12_500.0));
}

#[test]
fn a_replay_reads_no_file_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.md");
    let text = format!("{}\n{}", line("first"), line("second"));
    std::fs::write(&file, &text).unwrap();
    let messages =
        [vec![user("Go on.", 1)], step(1, "read", &json!({ "path": file }), &text).to_vec()]
            .concat();
    let store = Store::open(":memory:").unwrap();
    let options = OpenSession {
        harness: "test".into(),
        host_session: "s".into(),
        cwd: folder.path().into(),
        parent: None,
        settings: Settings::default(),
        filesystem_id: "fs".into(),
        counter: Counter::Characters,
        files: ToolFiles::Elsewhere,
        images: false,
        confined: None,
        asks_to_compact: false,
    };
    let mut live = LiveSession::open(store.clone(), options).unwrap();
    let send = |live: &mut LiveSession, skip: usize, to: usize| {
        let fresh = messages[skip..to].iter().map(ToString::to_string).collect();
        let since = Some(live.state().calls()).filter(|calls| *calls > 0);
        let list = HostList { since, skip, messages: fresh };
        match live.transform(list, &CallInfo::default()).unwrap() {
            Transformed::Edits { edits, notices, .. } => (edits, notices),
            Transformed::Resend => panic!("the session asked for the whole list"),
        }
    };
    send(&mut live, 0, 1);
    send(&mut live, 1, 3);
    std::fs::write(&file, "something else").unwrap();
    let (edits, notices) = send(&mut live, 3, 3);
    assert_eq!((edits.as_str(), notices.len()), ("[]", 0));
    let shown = store.get(&ObjectId::new("c1"), AsOf::Latest).unwrap().unwrap();
    assert_eq!(store.content(&shown).unwrap().as_deref(), Some(text.as_str()), "its own text");
    let file = live.state().index().entries.iter().find(|entry| entry.id != shown.envelope.id);
    let known = store.get(&file.unwrap().id, AsOf::Latest).unwrap().unwrap();
    assert_eq!(store.content(&known).unwrap(), None);
    assert_eq!(known.fields["no_content"], "not_read");
}

#[test]
fn thinking_in_what_was_copied_counts_once() {
    let session = |steps: usize, last: &str| {
        let begin = 1_790_000_000_000;
        let mut messages = vec![user("Go on.", begin)];
        for call in 0..=steps {
            let id = if call == steps { last.to_owned() } else { format!("c{call}") };
            let asked = json!([{ "type": "toolCall", "id": id, "name": "look", "arguments": {} }]);
            let usage = json!({ "input": 9_000 + 1_000 * call, "output": 500 });
            messages.push(json!({ "role": "assistant", "content": asked, "usage": usage, "timestamp": begin }).to_string());
            let shown = json!([{ "type": "text", "text": "ok" }]);
            messages.push(json!({ "role": "toolResult", "toolCallId": id, "content": shown, "timestamp": begin }).to_string());
        }
        let follows = Follows { prices: true, window: true, sizes: true };
        let ours = replaying(Sender::Ours(Layout::Log));
        replay_recorded(
            &Transcript::of_messages(last, "/", &messages),
            &ours,
            follows,
            "anthropic",
            false,
        )
        .unwrap()
    };
    let files = vec![session(6, "end"), session(4, "other end")];
    let report =
        BillReport::new(files, &replaying(Sender::Ours(Layout::Log)), "anthropic".to_owned());
    let [whole, fork] = &report.files[..] else { panic!("{report:?}") };
    assert_eq!((whole.copied, fork.copied), (0, 4));
    assert!(whole.recorded.hidden_tokens > 2_000, "{:?}", whole.recorded);
    assert_eq!((fork.recorded.requests, fork.recorded.hidden_tokens), (1, 0));
}

/// The report of sessions that have some answers of one conversation, as copies have them. An answer's model
/// depends on its number; each request has 2,000 tokens.
fn resumed(parts: &[Range<i64>], model: impl Fn(i64) -> &'static str) -> BillReport {
    let replaying = replaying(Sender::Host(HostRule::Plain));
    let follows = Follows { prices: true, window: true, sizes: true };
    let session = |part: &Range<i64>| {
        let answers = part.clone().flat_map(|at| {
            let time = 1_790_000_000_000 + at;
            let usage = json!({ "input": 2_000, "output": 9 });
            let said = json!([{ "type": "text", "text": format!("Answer {at}.") }]);
            let answer = json!({ "role": "assistant", "model": model(at), "usage": usage, "content": said, "timestamp": time });
            [user("Go on.", time), answer.to_string()]
        });
        let transcript = transcript(&answers.collect::<Vec<_>>());
        replay_recorded(&transcript, &replaying, follows, "anthropic", false).unwrap()
    };
    let files = parts.iter().map(session).collect();
    BillReport::new(files, &replaying, "anthropic".to_owned())
}

#[test]
fn a_copy_of_a_copy_or_of_a_part_counts_once() {
    for parts in [
        [0..2, 0..4, 0..6],
        [0..6, 0..4, 0..2],
        [0..4, 0..2, 0..6],
        [2..4, 0..6, 3..6],
        [3..5, 2..5, 0..6],
    ] {
        let report = resumed(&parts, |_| "claude-opus-4-5");
        let requests: u64 = report.files.iter().map(|file| file.recorded.requests).sum();
        assert_eq!(requests, 6, "{parts:?}");
    }
}

#[test]
fn what_is_left_of_a_copy_has_the_price_of_its_models() {
    let model = |at| if at < 4 { "claude-haiku-4-5" } else { "claude-opus-4-1" };
    let report = resumed(&[0..4, 0..6], model);
    let prices = report.files.iter().map(|file| file.recorded.usd_per_million);
    assert_eq!(prices.collect::<Vec<_>>(), [Some(1.0), Some(15.0)]);
}

#[test]
fn what_a_cache_took_for_an_hour_costs_what_an_hour_costs() {
    let session = |hours: &[u64]| {
        let answers = hours.iter().map(|hour| {
            let usage = json!({ "input": 0, "output": 9, "cacheWrite": 2_000, "cacheWrite1h": hour });
            let said = json!([{ "type": "text", "text": "Yes." }]);
            json!({ "role": "assistant", "model": "claude-opus-5", "usage": usage, "content": said })
                .to_string()
        });
        let messages: Vec<String> = std::iter::once(user("Go.", 1)).chain(answers).collect();
        let replaying = replaying(Sender::Host(HostRule::Plain));
        let follows = Follows { prices: true, window: true, sizes: true };
        let report = replay_recorded(&transcript(&messages), &replaying, follows, "x", false);
        let recorded = report.unwrap().recorded;
        (recorded.prices, recorded.cost)
    };
    let short = |cost| ("anthropic".to_owned(), cost);
    assert_eq!(session(&[0, 0, 0]), short(7_500.0));
    assert_eq!(session(&[2_000, 0, 500]), short(9_375.0));
    assert_eq!(session(&[2_000, 0, 1_500]), ("anthropic-1h".to_owned(), 10_125.0));
}
