//! Real coding sessions, recorded with several agents, run through a session: nothing is lost,
//! doubled or reordered, every recorded call renders again, and a store's file is no larger than
//! the host's own session files.

#![expect(clippy::print_stderr, reason = "measurements are printed")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use base::object::Hash;
use config::Settings;
use context::tokens::Counter;
use live::{CallInfo, HostList, LiveSession, OpenSession, ToolFiles, Transformed, replay_call};
use serde_json::{Value, json};
use store::{GcOptions, SearchQuery, Store, StorePart};

/// One call in this many is rendered again from the store.
const REPLAYED: usize = 25;

#[test]
fn real_sessions_take_less_disk_than_their_hosts_files() {
    let Some(files) = crate::recorded::files(&["transcripts"], None) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let empty = bytes_after(&path, |_| {});
    let (mut plain_sum, mut before) = (0, empty);
    let (mut epochs, mut larger) = (0, Vec::new());
    for file in files {
        let text = crate::recorded::read(&file);
        let after = bytes_after(&path, |store| epochs += play(store, &file, &text));
        let (stored, plain) = (after - before, text.len() as u64);
        eprintln!("{}: {stored} of {plain} bytes, {} %", file.display(), stored * 100 / plain);
        // All together take less; a small one may take a little more, for a segment per fold.
        if stored * 100 > plain * 105 {
            larger.push(file);
        }
        plain_sum += plain;
        before = after;
    }
    eprintln!("the file: {before} of {plain_sum} bytes, {} %", before * 100 / plain_sum);
    assert!(epochs > 0, "sessions of this size must have epochs");
    assert!(before <= plain_sum, "{before} bytes are stored of {plain_sum}");
    // The indexes of search and relations are made when they are first asked for.
    let indexed = bytes_after(&path, |store| {
        store.search(&SearchQuery::new("anything")).unwrap();
        store.relations().unwrap();
    });
    eprintln!("with its indexes: {indexed} bytes, {} %", indexed * 100 / plain_sum);
    bytes_after(&path, |store| {
        for StorePart { name, bytes } in store.upkeep("test").unwrap().size().unwrap().parts {
            eprintln!("  {name}: {bytes} bytes, {} ‰", bytes * 1_000 / plain_sum);
        }
    });
    // The more sessions there are, the more terms they share.
    let percent = if testing::cases::is_long() { 110 } else { 130 };
    assert!(indexed * 100 <= plain_sum * percent, "{indexed} bytes with indexes, of {plain_sum}");
    assert_eq!(larger, Vec::<PathBuf>::new(), "sessions that are larger than their host's file");
    let less = bytes_after(&path, |store| {
        let options = GcOptions { dry_run: false, unused_for: None, search_outputs: Some(false) };
        store.gc(options).unwrap();
    });
    eprintln!("without outputs in the search: {less} bytes, {} %", less * 100 / plain_sum);
    assert!(less <= plain_sum, "{less} bytes without outputs in the search, of {plain_sum}");
}

/// Bytes of a store's file after some work and once closed, when its log is in the file.
fn bytes_after(path: &Path, work: impl FnOnce(&Store)) -> u64 {
    let store = Store::open(path.to_str().unwrap()).unwrap();
    work(&store);
    store.close().unwrap();
    std::fs::metadata(path).unwrap().len()
}

/// Plays a transcript and returns the number of its epochs.
fn play(store: &Store, file: &Path, text: &str) -> u32 {
    let messages: Vec<&str> = text.lines().skip(1).collect();
    let mut live = open(store, file.file_name().unwrap().to_str().unwrap());
    let (mut since, mut known) = (None, 0);
    let mut calls = 0;
    for (at, message) in messages.iter().enumerate() {
        let value: Value = serde_json::from_str(message).unwrap();
        if value["role"] == "assistant" {
            transform(&mut live, since, known, &messages[known..at], file);
            (since, known) = (Some(live.state().calls()), at);
            calls += 1;
            if calls % REPLAYED == 0 {
                check(store, &live, &messages[..at], file);
            }
        }
    }
    transform(&mut live, since, known, &messages[known..], file);
    live.state().epoch()
}

fn transform(live: &mut LiveSession, since: Option<u64>, skip: usize, fresh: &[&str], file: &Path) {
    let messages = fresh.iter().map(|message| (*message).to_owned()).collect();
    let list = HostList { since, skip, messages };
    let done = live.transform(list, &CallInfo::default());
    assert!(matches!(done, Ok(Transformed::Edits { .. })), "{}: {done:?}", file.display());
}

/// Checks what went out: the host's messages in their order except folded ones, tool results with
/// their own IDs, user messages followed by the lines of folded steps, everything else untouched.
fn check(store: &Store, live: &LiveSession, messages: &[&str], file: &Path) {
    let call = replay_call(store, live.id(), live.state().calls()).unwrap();
    let (folds, window) = (live.state().folds(), &live.state().chat().window);
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

fn open(store: &Store, name: &str) -> LiveSession {
    let options = OpenSession {
        harness: "test".into(),
        host_session: name.into(),
        cwd: "/nonexistent/project".into(),
        parent: None,
        settings: Settings::default(),
        filesystem_id: "fs".into(),
        counter: Counter::default(),
        files: ToolFiles::Elsewhere,
        images: false,
        confined: None,
        asks_to_compact: false,
    };
    LiveSession::open(store.clone(), options).unwrap()
}
