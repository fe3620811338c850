//! Real coding sessions, recorded with several agents, through a session: nothing is lost, doubled or reordered, and every
//! recorded call renders again.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use base::object::Hash;
use config::Settings;
use context::tokens::Counter;
use flate2::read::GzDecoder;
use live::{CallInfo, Files, HostList, LiveSession, OpenSession, Transformed, replay_call};
use serde_json::{Value, json};
use store::Store;

/// One call in this many is rendered again from the store.
const REPLAYED: usize = 25;

#[test]
fn real_sessions_pass_through_whole() {
    let Some(folder) = crate::data::find("transcripts") else { return };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut epochs = 0;
    for file in files.iter().filter(|file| file.to_string_lossy().ends_with(".jsonl.gz")) {
        epochs += play(file);
    }
    assert!(epochs > 0, "sessions of this size must have epochs");
}

/// Plays a transcript and returns the number of its epochs.
fn play(file: &Path) -> u32 {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    let messages: Vec<&str> = text.lines().skip(1).collect();
    let store = Store::open(":memory:").unwrap();
    let mut live = open(&store);
    let (mut since, mut known) = (None, 0);
    let mut calls = 0;
    for (at, message) in messages.iter().enumerate() {
        let value: Value = serde_json::from_str(message).unwrap();
        if value["role"] != "assistant" {
            continue;
        }
        let fresh = format!("[{}]", messages[known..at].join(","));
        let list = HostList { since, skip: known, messages: &fresh };
        let done = live.transform(&list, &CallInfo::default());
        assert!(
            matches!(done, Ok(Transformed::Edits { .. })),
            "{}: call {calls}: {done:?}",
            file.display()
        );
        (since, known) = (Some(live.state().calls()), at);
        calls += 1;
        if calls % REPLAYED == 0 {
            check(&store, &live, &messages[..at], file);
        }
    }
    live.state().epoch()
}

/// What went out: the host's messages in their order but for folded ones, tool results with their own IDs, user messages
/// with the lines of folded steps behind them, everything else untouched.
fn check(store: &Store, live: &LiveSession, messages: &[&str], file: &Path) {
    let call = replay_call(store, live.id(), live.state().calls()).unwrap();
    let (folds, window) = (live.state().folds(), live.state().chat().window());
    assert_eq!(window.len(), messages.len(), "{}", file.display());
    let shown = window.iter().zip(messages).filter(|(at, _)| !folds.hide(**at));
    let shown: Vec<(u64, &str)> = shown.map(|(at, message)| (*at, *message)).collect();
    assert_eq!(call.messages.len(), shown.len(), "{}", file.display());
    // Commands on secret files are withheld; their hash is known.
    let withheld: HashMap<usize, Option<Hash>> =
        call.withheld.into_iter().map(|place| (place.message, place.digest)).collect();
    for (index, (sent, (at, given))) in call.messages.iter().zip(shown).enumerate() {
        if let Some(digest) = withheld.get(&index) {
            assert_eq!(*digest, Some(Hash::of(given)), "{}", file.display());
            continue;
        }
        let (mut sent, mut given): (Value, Value) =
            (serde_json::from_str(sent).unwrap(), serde_json::from_str(given).unwrap());
        if given["role"] == "toolResult" {
            sent["content"] = Value::Null;
            given["content"] = Value::Null;
        }
        if let Some(lines) = folds.lines(at) {
            let behind = sent["content"].as_array_mut().unwrap().pop();
            assert_eq!(behind, Some(json!({ "type": "text", "text": lines })));
            if let Some(text) = given["content"].as_str() {
                given["content"] = json!([{ "type": "text", "text": text }]);
            }
        }
        assert_eq!(sent, given, "{}", file.display());
    }
}

fn open(store: &Store) -> LiveSession {
    let options = OpenSession {
        harness: "test".into(),
        host_session: "transcript".into(),
        cwd: "/nonexistent/project".into(),
        parent: None,
        settings: Settings::default(),
        filesystem_id: "fs".into(),
        counter: Counter::default(),
        files: Files::Elsewhere,
        images: false,
        confined: None,
    };
    LiveSession::open(store.clone(), options).unwrap()
}
