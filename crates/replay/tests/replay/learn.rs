//! Learning hazards: planted effects in synthetic sessions are found, independent of order, and
//! used by a session.

use std::path::Path;
use std::sync::LazyLock;

use base::error::Error;
use config::{Layout, Prices, Settings};
use context::hazard::{Hazards, OUTPUT_FEATURES};
use context::tokens::Counter;
use replay::learn::{self, Samples};
use replay::measure::{FIXED_TOKENS, OVERHEAD_TOKENS};
use replay::options::{Replaying, Sender};
use replay::play::{Played, play};
use replay::report::FileReport;
use replay::run::replay;
use replay::transcript::Transcript;
use serde_json::{Value, json};

/// Calls of a made session.
const CALLS: usize = 240;

/// How often something is said again: in one of this many calls.
#[derive(Clone, Copy)]
struct Planted {
    /// A line of an older read.
    reads: usize,
    /// A line of an older output of a command.
    commands: usize,
    /// A line that the model wrote in an older call.
    own: usize,
}

/// Reads and commands in turn, every fourth call with long arguments, and what is planted.
fn session(name: &str, planted: Planted) -> Transcript {
    let line = |what: &str, call: usize, row: usize| {
        format!("{what} {call} of {name} has in its row {row} these words")
    };
    let mut messages = vec![json!({ "role": "user", "content": "Begin.", "timestamp": 1 })];
    for call in 0..CALLS {
        // What is said again is 20 to 30 calls old and was not said before.
        let mut said = Vec::new();
        let older = call.checked_sub(20 + call % 2).filter(|_| call >= 40);
        if let Some(older) = older {
            let is_due = |one_in: usize| call % one_in == 0;
            let (read, command) = (older & !1, older | 1);
            said.extend(is_due(planted.reads).then(|| line("output", read, 2 + call % 20)));
            said.extend(is_due(planted.commands).then(|| line("output", command, 2 + call % 20)));
            said.extend(is_due(planted.own).then(|| line("code", older / 4 * 4, call % 10)));
        }
        let rows: Vec<String> = (0..30).map(|row| line("output", call, row)).collect();
        let code: Vec<String> = (0..10).map(|row| line("code", call, row)).collect();
        let (tool, mut args) = if call % 2 == 0 {
            ("read", json!({ "path": format!("src/{call}.rs") }))
        } else {
            ("bash", json!({ "command": format!("make {call}") }))
        };
        if call % 4 == 0 {
            args["note"] = Value::from(code.join("\n"));
        }
        let (id, time) = (format!("{name}-{call}"), 10 + call);
        messages.push(json!({ "role": "assistant", "timestamp": time, "content": [
            { "type": "thinking", "thinking": said.join("\n") },
            { "type": "toolCall", "id": id, "name": tool, "arguments": args },
        ] }));
        messages.push(json!({ "role": "toolResult", "toolCallId": id, "toolName": tool,
            "content": [{ "type": "text", "text": rows.join("\n") }], "isError": false, "timestamp": time }));
    }
    let mut text = json!({ "session": { "id": name } }).to_string();
    for message in messages {
        text = format!("{text}\n{message}");
    }
    Transcript::parse(Path::new(&format!("{name}.jsonl")), text.as_bytes()).unwrap()
}

fn samples(transcripts: &[Transcript]) -> Samples {
    let mut samples = Samples::default();
    for transcript in transcripts {
        samples.take(transcript).unwrap();
    }
    samples
}

fn learned(transcripts: &[Transcript]) -> Result<Hazards, Error> {
    learn::learned(&samples(transcripts), None)
}

fn often(reads: usize, commands: usize) -> Planted {
    Planted { reads, commands, own: 4 }
}

/// Of a session whose reads are needed ten times as often as its outputs of commands.
static READS: LazyLock<Samples> = LazyLock::new(|| samples(&[session("a", often(3, 30))]));

/// Learned from two such sessions.
static READS_OF_TWO: LazyLock<Hazards> =
    LazyLock::new(|| learned(&[session("a", often(3, 30)), session("b", often(3, 30))]).unwrap());

/// The chance of an output of 500 tokens with these features besides.
fn of_output(hazards: &Hazards, features: &[(&str, f64)]) -> f64 {
    let given = [("base", 1.0), ("lateNeeds", 0.1_f64.ln()), ("tokens", 501_f64.ln())];
    let of = |name| features.iter().chain(&given).find(|(known, _)| *known == name);
    let values =
        OUTPUT_FEATURES.each_ref().map(|one| of(one.name).map_or(0.0, |(_, value)| *value));
    hazards.of_output(&values)
}

fn of_read(hazards: &Hazards) -> f64 {
    of_output(hazards, &[("read", 1.0), ("fromStart", 1.0), ("stepsSince", 11_f64.ln())])
}

fn of_command(hazards: &Hazards) -> f64 {
    of_output(hazards, &[("stepsSince", 11_f64.ln())])
}

/// Weights with one changed: its model, its name and its new value.
fn with_weight(hazards: &Hazards, (model, name, value): (&str, &str, f64)) -> Hazards {
    let mut file = serde_json::to_value(hazards).unwrap();
    assert!(file[model][name].is_number(), "{name}");
    file[model][name] = json!(value);
    Hazards::parse(&file.to_string()).unwrap()
}

#[test]
fn outputs_needed_ten_times_as_often_get_ten_times_the_hazard() {
    let hazards = &*READS_OF_TWO;
    let ratio = of_read(hazards) / of_command(hazards);
    assert!((6.0..15.0).contains(&ratio), "{ratio}: {hazards:?}");
    let learned = hazards.learned;
    assert!(learned.outputs.auc.unwrap() > 0.7, "{learned:?}");
    assert_eq!((learned.sessions, learned.calls), (2, 2 * CALLS as u64));

    let turned = self::learned(&[session("a", often(30, 3)), session("b", often(30, 3))]).unwrap();
    assert!(of_read(&turned) < of_command(&turned) / 4.0, "{turned:?}");
}

#[test]
fn the_hazard_is_the_share_of_calls_that_need_one() {
    let hazards = learn::learned(&READS, None).unwrap();
    // One call in three needs one of about 90 older reads.
    let hazard = of_read(&hazards);
    assert!((0.001..0.02).contains(&hazard), "{hazard}: {hazards:?}");
}

#[test]
fn hazard_falls_with_age_if_old_outputs_are_not_needed() {
    let hazards = learned(&[session("a", often(3, 3))]).unwrap();
    let of = |steps: f64| of_output(&hazards, &[("read", 1.0), ("stepsSince", steps.ln_1p())]);
    assert!(of(20.0) > 4.0 * of(200.0), "{hazards:?}");
}

#[test]
fn needed_long_arguments_learn_a_higher_hazard() {
    let hazards = &*READS_OF_TWO;
    let file = serde_json::to_value(hazards).unwrap();
    assert!(file["steps"]["argumentTokens"].as_f64().unwrap() > 0.3, "{file}");
    assert!(hazards.learned.steps.auc.unwrap() > 0.7, "{file}");
}

#[test]
fn the_order_of_the_sessions_does_not_matter() {
    let (a, b) = (session("a", often(3, 20)), session("b", often(5, 10)));
    let one = learned(&[a.clone(), b.clone()]).unwrap();
    assert_eq!(one, learned(&[b, a]).unwrap());
}

#[test]
fn weights_are_tested_on_held_out_sessions() {
    let one = &*READS;
    let other = samples(&[session("b", often(30, 3))]);
    let on_itself = learn::learned(one, None).unwrap();
    let on_other = learn::learned(one, Some(&other)).unwrap();
    assert_eq!((on_itself.outputs, on_itself.steps), (on_other.outputs, on_other.steps));
    let auc = |hazards: &Hazards| hazards.learned.outputs.auc.unwrap();
    let (own, others) = (auc(&on_itself), auc(&on_other));
    assert!(others < own, "{others} {own}: {on_other:?}");
}

#[test]
fn too_few_needs_are_refused() {
    let few = learned(&[session("a", often(200, 200))]).unwrap_err();
    assert_eq!(
        few.to_string(),
        "too few needs of outputs to learn from: 2, at least 30 are required"
    );
    assert_eq!(few.code(), "TOO_FEW_NEEDS");
    let none = learn::learned(&Samples::default(), None).unwrap_err();
    assert_eq!(none.code(), "TOO_FEW_NEEDS");
}

fn replaying(hazards: Option<&Path>) -> Replaying {
    let hazards = hazards.map(|path| path.to_string_lossy().into_owned());
    Replaying {
        sender: Sender::Ours(Layout::Log),
        prices: Prices::preset("openai").unwrap(),
        window_tokens: None,
        counter: Counter::Characters,
        host_tokens: FIXED_TOKENS,
        overhead_tokens: OVERHEAD_TOKENS,
        settings: Settings { hazards, extra_share: 1e6, ..Settings::default() },
        dump: None,
        snapshots: None,
    }
}

fn replayed(transcript: &Transcript, hazards: Option<&Path>) -> Result<FileReport, Error> {
    replay(transcript, &replaying(hazards), &[])
}

/// How the requests of a transcript's first messages differ from call to call.
fn played(transcript: &Transcript, messages: usize) -> Vec<Played> {
    let mut beginning = transcript.clone();
    beginning.messages.truncate(messages);
    let mut calls = Vec::new();
    let playing = replaying(None).playing();
    let each = &mut |played| {
        calls.push(played);
        Ok(())
    };
    drop(play(&beginning, &playing, each).unwrap());
    calls
}

#[test]
fn no_request_depends_on_what_comes_later() {
    let transcript = session("a", often(10, 30));
    let whole = played(&transcript, transcript.messages.len());
    let changed = whole.iter().filter(|played| played.changes.len() > 1).count();
    assert!(changed > 0, "something leaves the window");
    for messages in [201, 443] {
        let beginning = played(&transcript, messages);
        assert_eq!(beginning, whole[..beginning.len()], "the first {messages} messages");
    }
}

#[test]
fn a_session_uses_the_file_that_the_settings_name() {
    let transcript = session("a", often(120, 120));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hazards.json");
    let write = |hazards: &Hazards| {
        std::fs::write(&file, serde_json::to_string(hazards).unwrap()).unwrap();
    };
    let shipped = replayed(&transcript, None).unwrap();
    assert!(!shipped.epochs.is_empty());
    write(Hazards::shipped());
    assert_eq!(replayed(&transcript, Some(&file)).unwrap(), shipped);

    // What is always needed never leaves.
    let kept = with_weight(Hazards::shipped(), ("outputs", "base", 100.0));
    write(&with_weight(&kept, ("steps", "base", 100.0)));
    assert_eq!(replayed(&transcript, Some(&file)).unwrap().epochs, []);

    std::fs::write(&file, "{}").unwrap();
    assert_eq!(replayed(&transcript, Some(&file)).unwrap_err().code(), "INVALID_ARGUMENT");
    let missing = folder.path().join("none.json");
    assert_eq!(replayed(&transcript, Some(&missing)).unwrap_err().code(), "FILE");
}
