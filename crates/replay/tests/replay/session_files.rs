//! Session files of several agents: what the readers make of small and damaged files in each
//! format.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use replay::transcript::{Format, Transcript};
use serde_json::{Value, json};

/// The files that a reader takes as they are, and their formats. Those of Copilot CLI, Gemini CLI,
/// OpenCode and OpenClaw were written by the programs themselves, driven by a scripted model; only
/// the prompts in Copilot's were replaced.
const FIXTURES: [(&str, Format); 12] = [
    ("claude-code.jsonl", Format::ClaudeCode),
    ("codex.jsonl", Format::Codex),
    ("codex-bare.jsonl", Format::Codex),
    ("copilot.jsonl", Format::Copilot),
    ("gemini.jsonl", Format::Gemini),
    ("gemini-0.24.json", Format::Gemini),
    ("gemini-subagent.jsonl", Format::Gemini),
    ("neutral.jsonl", Format::Neutral),
    ("openclaw.jsonl", Format::OpenClaw),
    ("opencode-export.json", Format::OpenCode),
    ("pi.jsonl", Format::Pi),
    ("pi-v1.jsonl", Format::Pi),
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/transcripts").join(name)
}

fn parse(text: &str) -> Transcript {
    Transcript::parse(Path::new("x.jsonl"), text.as_bytes()).unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A transcript as text, a line a message.
fn shown(transcript: &Transcript) -> String {
    let Transcript { name, format, session_id, messages, tool_kinds, notes, .. } = transcript;
    let mut text = format!("{name} is {format}, session {session_id:?}, kinds {tool_kinds:?}\n");
    for line in messages.iter().chain(notes) {
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// What holds for every transcript: each call has one result, right after its message and the other
/// results of it.
fn check(transcript: &Transcript) -> Result<(), String> {
    let mut waiting: Vec<String> = Vec::new();
    for message in &transcript.messages {
        let value: Value = serde_json::from_str(message).map_err(|error| error.to_string())?;
        if value["timestamp"].as_i64().is_none() {
            return Err(format!("no time: {message}"));
        }
        let role = value["role"].as_str().unwrap_or_default();
        if role == "toolResult" {
            let id = value["toolCallId"].as_str().unwrap_or_default();
            let call = waiting.iter().position(|waits| waits == id);
            waiting.remove(call.ok_or(format!("a result too many: {message}"))?);
            continue;
        }
        if !waiting.is_empty() {
            return Err(format!("{waiting:?} have no result before {message}"));
        }
        match (role, value["content"].as_array()) {
            ("assistant", Some(blocks)) if !blocks.is_empty() => {
                let calls = blocks.iter().filter(|block| block["type"] == "toolCall");
                waiting
                    .extend(calls.map(|call| call["id"].as_str().unwrap_or_default().to_owned()));
            }
            ("user" | "bashExecution" | "custom", _) => {}
            _ => return Err(format!("no message: {message}")),
        }
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("{waiting:?} have no result at the end")) }
}

#[test]
fn the_working_folder_is_read_from_each_format_that_has_it() {
    for (name, _) in FIXTURES {
        let cwd = Transcript::read(&fixture(name)).unwrap().cwd;
        let expected = !["neutral.jsonl", "codex-bare.jsonl", "gemini-0.24.json"].contains(&name);
        assert_eq!(cwd.as_deref(), expected.then_some("/home/ann/shop"), "{name}");
    }
    let neutral = r#"{"session":{"id":"x","cwd":"/w"}}"#;
    assert_eq!(parse(neutral).cwd.as_deref(), Some("/w"));
}

#[test]
fn each_format_reads_to_its_golden_text() {
    for (name, _) in FIXTURES {
        let transcript = Transcript::read(&fixture(name)).unwrap();
        check(&transcript).unwrap();
        insta::assert_snapshot!(transcript.name.clone(), shown(&transcript));
    }
}

#[test]
fn detects_the_format_by_content_in_compressed_files_too() {
    for (name, format) in FIXTURES {
        let bytes = std::fs::read(fixture(name)).unwrap();
        let plain = Transcript::parse(Path::new("/some/where/notes.jsonl"), &bytes).unwrap();
        let packed = Transcript::parse(Path::new("notes.jsonl.gz"), &gzipped(&bytes)).unwrap();
        assert_eq!(plain.format, format, "{name}");
        assert_eq!(plain.name, "notes");
        assert_eq!(plain, packed, "{name}");
    }
}

#[test]
fn a_file_that_is_no_session_is_refused_with_the_line_number() {
    for (text, expected) in [
        ("", "line 1 of `x.jsonl` is empty"),
        ("\n\nname,age\n", "line 3 of `x.jsonl` is not JSON: expected ident"),
        ("[1,2]\n", "line 1 of `x.jsonl` is not a JSON object"),
        ("{\"level\":30}\n{\n", "line 1 of `x.jsonl` belongs to no session format that is known"),
        ("\n{\n \"a\": 1\n}\n", "line 2 of `x.jsonl` belongs to no session format that is known"),
        ("{\n \"sessionId\": 1,\n \"x\"\n}\n", "line 4 of `x.jsonl` is not JSON: expected `:`"),
    ] {
        let error = Transcript::parse(Path::new("x.jsonl"), text.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.code(), "MALFORMED_TRANSCRIPT");
        assert!(error.hint().is_some_and(|hint| hint.contains("Claude Code")));
    }
    let missing = Transcript::read(Path::new("/nonexistent/x.jsonl")).unwrap_err();
    assert_eq!(missing.code(), "FILE");
}

#[test]
fn a_compressed_file_that_ends_early_is_read_as_far_as_it_goes() {
    // Text that hardly compresses, so that half of the bytes hold about half of the lines.
    let mut text = String::from("{\"session\":{\"id\":\"s\"}}\n");
    for at in 0..2_000_u64 {
        let noise = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(
            text,
            "{}",
            json!({ "role": "user", "content": noise.to_string(), "timestamp": at })
        )
        .unwrap();
    }
    let whole = gzipped(text.as_bytes());
    let half = Transcript::parse(Path::new("x.jsonl.gz"), &whole[..whole.len() / 2]).unwrap();
    assert!((500..1_900).contains(&half.messages.len()), "{}", half.messages.len());
    assert!(half.notes.iter().any(|note| note.starts_with("compressed files that are damaged")));
    assert_eq!(half.unread_lines, 1, "what is behind the damage is lost");
    let frame = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let error = Transcript::parse(Path::new("x.zst"), &frame[..100]).unwrap_err().to_string();
    assert!(error.ends_with("is empty; the compressed file is damaged"), "{error}");
}

#[test]
fn a_result_goes_to_the_newest_message_that_waits_for_it() {
    let call = |id: &str| json!({ "type": "toolCall", "id": id, "name": "run", "arguments": {} });
    let assistant = |calls: Value| json!({ "role": "assistant", "content": calls, "timestamp": 1 });
    let result = |id: &str, text: &str| {
        json!({ "role": "toolResult", "toolCallId": id, "toolName": "run", "timestamp": 1,
            "content": [{ "type": "text", "text": text }], "isError": false })
    };
    let given = [
        result("b", "early"),
        assistant(json!([call("a"), call("b")])),
        assistant(json!([call("a"), call("lost")])),
        result("a", "second"),
        result("a", "first"),
        result("a", "nobody's"),
    ];
    let text = given.map(|message| message.to_string()).join("\n");
    let read = parse(&text);
    let texts: Vec<String> = read
        .messages
        .iter()
        .map(|message| serde_json::from_str::<Value>(message).unwrap())
        .map(|message| match message["content"][0]["text"].as_str() {
            Some(text) => text.to_owned(),
            None => message["content"].as_array().unwrap().len().to_string(),
        })
        .collect();
    assert_eq!(texts, ["2", "early", "first", "1", "second"]);
    assert_eq!(
        read.notes,
        [
            "results moved to their call: 2",
            "calls without a result left out: 1",
            "results without a call left out: 1",
        ]
    );
}

#[test]
fn neutral_recordings_pass_through_line_by_line() {
    let Some(files) = crate::recorded::files(&["transcripts"], None) else { return };
    for path in files {
        let text = crate::recorded::read(&path);
        let read = Transcript::read(&path).unwrap();
        assert_eq!(read.format, Format::Neutral);
        assert_eq!(read.notes, Vec::<String>::new(), "{}", path.display());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(read.messages == lines, "{} reads otherwise", path.display());
        let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let session = &header["session"];
        assert_eq!(read.session_id.as_deref(), session["id"].as_str());
        let tools: HashSet<&String> = session["tools"].as_object().unwrap().keys().collect();
        assert_eq!(read.tool_kinds.keys().collect::<HashSet<_>>(), tools);
        check(&read).unwrap();
    }
}

/// Something that damages a file.
#[derive(Debug, Clone)]
enum Damage {
    Cut(prop::sample::Index),
    Byte(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Repeat(prop::sample::Index),
    /// Puts a piece of JSON in the place of the value after a colon.
    Value(prop::sample::Index, &'static str),
}

const VALUES: [&str; 9] =
    ["null", "7", "\"\"", "[]", "{}", "[1]", "[{\"type\":\"text\"}]", "\"\\ud800\"", "-1e99"];

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        1 => at().prop_map(Damage::Cut),
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Damage::Byte(at, byte)),
        2 => at().prop_map(Damage::Remove),
        2 => (at(), at()).prop_map(|(a, b)| Damage::Swap(a, b)),
        1 => at().prop_map(Damage::Repeat),
        4 => (at(), prop::sample::select(&VALUES)).prop_map(|(at, value)| Damage::Value(at, value)),
    ]
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let count = lines.len();
    match damage {
        Damage::Cut(at) => return bytes.truncate(at.index(bytes.len() + 1)),
        Damage::Byte(at, byte) => {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            return;
        }
        Damage::Remove(at) => drop(lines.remove(at.index(count))),
        Damage::Swap(a, b) => lines.swap(a.index(count), b.index(count)),
        Damage::Repeat(at) => {
            let line = lines[at.index(count)].clone();
            lines.push(line);
        }
        Damage::Value(at, value) => {
            let line = &mut lines[at.index(count)];
            let Ok(mut object) = serde_json::from_slice::<Value>(line) else { return };
            let places = places_in(&object, "");
            let place = &places[at.index(places.len())];
            if let Some(slot) = object.pointer_mut(place) {
                *slot = json!("@@");
            }
            *line = object.to_string().replace("\"@@\"", value).into_bytes();
        }
    }
    *bytes = lines.join(&b'\n');
}

/// JSON pointers to all values of a value.
fn places_in(value: &Value, prefix: &str) -> Vec<String> {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(array) => (0..).map(|at: usize| at.to_string()).zip(array).collect(),
        _ => Vec::new(),
    };
    let mut places = vec![prefix.to_owned()];
    for (key, value) in inside {
        places.extend(places_in(value, &format!("{prefix}/{key}")));
    }
    places
}

/// Messages with few IDs, in any order.
fn messages() -> impl Strategy<Value = Vec<Value>> {
    let id = || prop::sample::select(&["a", "b", "c"]);
    let call =
        id().prop_map(|id| json!({ "type": "toolCall", "id": id, "name": "run", "arguments": {} }));
    let text = Just(json!({ "type": "text", "text": "words" }));
    let blocks = prop::collection::vec(prop_oneof![3 => call, 1 => text], 0..4);
    prop::collection::vec(
        prop_oneof![
            2 => blocks.prop_map(|blocks| json!({ "role": "assistant", "content": blocks, "timestamp": 1 })),
            4 => id().prop_map(|id| json!({ "role": "toolResult", "toolCallId": id, "toolName": "run",
                "content": [], "timestamp": 2 })),
            1 => Just(json!({ "role": "user", "content": "words", "timestamp": 3 })),
        ],
        1..24,
    )
}

fn lines_of(messages: &[Value]) -> String {
    messages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

proptest! {
    #![proptest_config(testing::cases::config(64, 1))]

    #[test]
    fn damaged_files_never_panic_and_every_call_keeps_one_result(
        name in prop::sample::select(FIXTURES.map(|(name, _)| name).to_vec()),
        damages in prop::collection::vec(damage(), 1..8),
        packed in any::<bool>(),
    ) {
        let mut bytes = std::fs::read(fixture(name)).unwrap();
        for damage in &damages {
            apply(damage, &mut bytes);
        }
        if packed {
            bytes = gzipped(&bytes);
            apply(&damages[0], &mut bytes);
        }
        match Transcript::parse(Path::new("x.jsonl"), &bytes) {
            Ok(transcript) => {
                prop_assert_eq!(check(&transcript), Ok(()));
                let again = Transcript::parse(Path::new("x.jsonl"), &bytes).unwrap();
                prop_assert_eq!(transcript, again);
            }
            Err(error) => prop_assert_eq!(error.code(), "MALFORMED_TRANSCRIPT"),
        }
    }

    #[test]
    fn calls_and_results_in_any_order_are_paired_and_pairs_stay(messages in messages()) {
        let once = parse(&lines_of(&messages));
        prop_assert_eq!(check(&once), Ok(()));
        let users = |all: &[String]| all.iter().filter(|message| message.contains("\"user\"")).count();
        let given: Vec<String> = messages.iter().map(Value::to_string).collect();
        prop_assert_eq!(users(&once.messages), users(&given));
        // A call is lost only where its ID has more calls than results, and the other way round.
        let count = |all: &[String], id: &str| {
            let call = format!("\"toolCall\",\"id\":\"{id}\"");
            let result = format!("\"toolCallId\":\"{id}\"");
            let calls: usize = all.iter().map(|message| message.matches(&call).count()).sum();
            (calls, all.iter().filter(|message| message.contains(&result)).count())
        };
        for id in ["a", "b", "c"] {
            let (calls, results) = count(&given, id);
            prop_assert_eq!(count(&once.messages, id), (calls.min(results), calls.min(results)));
        }
        if !once.messages.is_empty() {
            let again = parse(&once.messages.join("\n"));
            prop_assert_eq!(&again.messages, &once.messages);
            prop_assert!(again.notes.is_empty(), "{:?}", again.notes);
        }
    }
}
