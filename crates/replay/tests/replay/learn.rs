//! Learning hazards: planted effects in synthetic sessions are found, independent of order, and
//! used by a session.

use std::path::Path;
use std::sync::LazyLock;

use base::error::Error;
use config::{Layout, Prices, Settings};
use context::hazard::{Caution, Hazards, OutputFeatures};
use context::tokens::Counter;
use replay::learn::{Learned, Samples};
use replay::measure::{FIXED_TOKENS, OVERHEAD_TOKENS};
use replay::options::Replaying;
use replay::report::FileReport;
use replay::run::replay;
use replay::transcript::Transcript;
use serde_json::{Value, json};
use session::OutputClass;

const CAUTION: Caution = Caution { outputs: 3.0, steps: 5.0 };

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

fn learned(transcripts: &[Transcript]) -> Result<Learned, Error> {
    Learned::from_samples(&samples(transcripts), CAUTION, None)
}

fn often(reads: usize, commands: usize) -> Planted {
    Planted { reads, commands, own: 4 }
}

/// Of a session whose reads are needed ten times as often as its outputs of commands.
static READS: LazyLock<Samples> = LazyLock::new(|| samples(&[session("a", often(3, 30))]));

/// Learned from two such sessions.
static READS_OF_TWO: LazyLock<Learned> =
    LazyLock::new(|| learned(&[session("a", often(3, 30)), session("b", often(3, 30))]).unwrap());

fn of_output(hazards: &Hazards, class: OutputClass) -> f64 {
    hazards.of_output(&OutputFeatures {
        class,
        late_needs: 0.1,
        turns_since: 0,
        steps_since: 10,
        tokens: 500,
    })
}

#[test]
fn outputs_needed_ten_times_as_often_get_ten_times_the_hazard() {
    let learned = &*READS_OF_TWO;
    let ratio = of_output(&learned.hazards, OutputClass::Read)
        / of_output(&learned.hazards, OutputClass::Other);
    assert!((6.0..15.0).contains(&ratio), "{ratio}: {learned:?}");
    assert!(learned.outputs.auc.unwrap() > 0.7, "{learned:?}");
    assert_eq!((learned.sessions, learned.calls), (2, 2 * CALLS as u64));

    let turned = self::learned(&[session("a", often(30, 3)), session("b", often(30, 3))]).unwrap();
    let of = |class| of_output(&turned.hazards, class);
    assert!(of(OutputClass::Read) < of(OutputClass::Other) / 4.0, "{turned:?}");
}

#[test]
fn the_hazard_is_the_share_of_calls_that_need_one() {
    let learned = Learned::from_samples(&READS, CAUTION, None).unwrap();
    // One call in three needs one of about 90 older reads.
    let hazard = of_output(&learned.hazards, OutputClass::Read);
    assert!((0.001..0.02).contains(&hazard), "{hazard}: {learned:?}");
}

#[test]
fn hazard_falls_with_age_if_old_outputs_are_not_needed() {
    let learned = learned(&[session("a", often(3, 3))]).unwrap();
    let of = |steps_since| {
        let class = OutputClass::Read;
        let (late_needs, turns_since, tokens) = (0.1, 0, 500);
        let features = OutputFeatures { class, late_needs, turns_since, steps_since, tokens };
        learned.hazards.of_output(&features)
    };
    assert!(of(20) > 4.0 * of(200), "{learned:?}");
}

#[test]
fn needed_long_arguments_learn_a_higher_hazard() {
    let learned = &*READS_OF_TWO;
    let steps = learned.hazards.steps;
    assert!(steps.long_arguments + steps.argument_tokens > 1.0, "{learned:?}");
    assert!(learned.steps.auc.unwrap() > 0.7, "{learned:?}");
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
    let on_itself = Learned::from_samples(one, CAUTION, None).unwrap();
    let on_other = Learned::from_samples(one, CAUTION, Some(&other)).unwrap();
    assert_eq!(on_itself.hazards, on_other.hazards);
    let (own, others) = (on_itself.outputs.auc.unwrap(), on_other.outputs.auc.unwrap());
    assert!(others < own, "{others} {own}: {on_other:?}");
}

#[test]
fn too_few_needs_and_a_wrong_caution_are_refused() {
    let few = learned(&[session("a", often(200, 200))]).unwrap_err();
    assert_eq!(
        few.to_string(),
        "too few needs of outputs to learn from: 2, at least 30 are required"
    );
    assert_eq!(few.code(), "TOO_FEW_NEEDS");
    let none = Learned::from_samples(&Samples::default(), CAUTION, None).unwrap_err();
    assert_eq!(none.code(), "TOO_FEW_NEEDS");
    let enough = &*READS;
    for caution in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for caution in
            [Caution { outputs: caution, ..CAUTION }, Caution { steps: caution, ..CAUTION }]
        {
            let refused = Learned::from_samples(enough, caution, None).unwrap_err();
            assert_eq!(refused.code(), "INVALID_ARGUMENT", "{caution:?}");
        }
    }
    let given = Learned::from_samples(enough, CAUTION, None).unwrap();
    assert_eq!(given.hazards.caution, CAUTION);
}

fn replayed(transcript: &Transcript, hazards: Option<&Path>) -> Result<FileReport, Error> {
    let hazards = hazards.map(|path| path.to_string_lossy().into_owned());
    let replaying = Replaying {
        layout: Some(Layout::Log),
        prices: Prices::preset("openai").unwrap(),
        window_tokens: None,
        counter: Counter::Characters,
        host_tokens: FIXED_TOKENS,
        overhead_tokens: OVERHEAD_TOKENS,
        settings: Settings { hazards, extra_tokens: 100_000, ..Settings::default() },
        dump: None,
        snapshots: None,
    };
    replay(transcript, &replaying)
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
    let mut always = Hazards::shipped().clone();
    (always.outputs.base, always.steps.base) = (100.0, 100.0);
    write(&always);
    assert_eq!(replayed(&transcript, Some(&file)).unwrap().epochs, []);

    std::fs::write(&file, "{}").unwrap();
    assert_eq!(replayed(&transcript, Some(&file)).unwrap_err().code(), "INVALID_ARGUMENT");
    let missing = folder.path().join("none.json");
    assert_eq!(replayed(&transcript, Some(&missing)).unwrap_err().code(), "FILE");
}
