//! Playing messages through a session.

use config::Settings;
use context::tokens::Counter;
use live::{CallInfo, HostList, LiveSession, OpenSession, ToolFiles, Transformed};
use serde_json::Value;
use store::Store;

/// Plays messages through a session, one call before each message of the assistant.
pub(crate) fn play(store: &Store, name: &str, messages: &[&str]) {
    continue_with(&mut open(store, name), messages, 0);
}

/// Plays the messages from `first` on, as [`play`] does; those before are known to the session.
pub(crate) fn continue_with(live: &mut LiveSession, messages: &[&str], first: usize) {
    let mut sent = 0;
    for (at, message) in messages.iter().enumerate().skip(first) {
        let value: Value = serde_json::from_str(message).unwrap();
        if value["role"] == "assistant" {
            transform(live, &messages[sent..at], sent);
            sent = at;
        }
    }
    transform(live, &messages[sent..], sent);
}

fn transform(live: &mut LiveSession, fresh: &[&str], known: usize) {
    let since = (known > 0).then(|| live.state().calls());
    let messages = fresh.iter().map(|message| (*message).to_owned()).collect();
    let list = HostList { since, skip: known, messages };
    let done = live.transform(list, &CallInfo::default());
    assert!(matches!(done, Ok(Transformed::Edits { .. })), "{done:?}");
}

pub(crate) fn open(store: &Store, name: &str) -> LiveSession {
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
