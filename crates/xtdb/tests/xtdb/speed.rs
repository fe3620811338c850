//! The load that sharing puts on the server: few requests per version, however many versions one
//! object has, and almost none while nothing changes.

use std::collections::BTreeMap;

use base::object::{ObjectId, ObjectType};

use crate::machine::{Machine, versions};
use testing::faults::Proxy;
use testing::xtdb::Database;

/// How often each path was asked for meanwhile.
fn asked(proxy: &Proxy, work: impl FnOnce()) -> BTreeMap<String, usize> {
    let before = proxy.seen().len();
    work();
    let mut asked = BTreeMap::new();
    for line in &proxy.seen()[before..] {
        let path = line.split(['?', ' ']).nth(1).and_then(|path| path.rsplit('/').next());
        *asked.entry(path.unwrap_or_default().to_owned()).or_default() += 1;
    }
    asked
}

#[test]
fn a_version_costs_one_request_and_an_idle_sync_one() {
    const VERSIONS: usize = 300;
    for objects in [1, 10, VERSIONS] {
        let Some(database) = Database::new() else { return };
        let proxy = Proxy::before(&database.url());
        let url = format!("{}{}", proxy.url(), database.path());
        let [one, other] = [Machine::at(&url), Machine::at(&url)];
        // Connecting costs some, too.
        one.push();
        other.pull();
        for number in 0..VERSIONS {
            one.write(&format!("/p/{}.txt", number % objects), &format!("version {number}\n"));
        }

        let pushed = asked(&proxy, || assert_eq!(one.push().versions, VERSIONS as u64));
        let pulled = asked(&proxy, || assert_eq!(other.pull().versions, VERSIONS as u64));

        assert_eq!(pushed["submit-tx"], VERSIONS);
        let besides = pushed.values().sum::<usize>() - VERSIONS;
        assert!(besides < VERSIONS / 3, "{objects} objects: {pushed:?}");
        assert_eq!(pulled["tx-log"], 3, "to recognise it, and once in each of two notations");
        let all = pulled.values().sum::<usize>();
        assert!(all < VERSIONS / 10, "{objects} objects: {pulled:?}");
        other.push();
        for machine in [&one, &other] {
            machine.pull();
            for nothing in
                [asked(&proxy, || drop(machine.push())), asked(&proxy, || drop(machine.pull()))]
            {
                assert_eq!(nothing.values().sum::<usize>(), 1, "{nothing:?}");
            }
        }
    }
}

/// A session of so many calls, each with an output of its own.
fn run_calls(store: &store::Store, name: &str, calls: usize) {
    let mut messages =
        vec![serde_json::json!({"role": "user", "content": "go", "timestamp": 1}).to_string()];
    for call in 0..calls {
        let id = format!("call_{call}");
        let asked = serde_json::json!({"role": "assistant", "timestamp": 2 * call + 2, "content": [
            {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": format!("make {call}")}}
        ]});
        let text = format!("output {call}\n{}", "a line of it\n".repeat(20));
        let result = serde_json::json!({"role": "toolResult", "toolCallId": id, "toolName": "bash",
            "timestamp": 2 * call + 3, "isError": false, "content": [{"type": "text", "text": text}]});
        messages.extend([asked.to_string(), result.to_string()]);
    }
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    crate::recordings::play(store, name, &messages);
}

#[test]
fn a_session_travels_in_few_requests() {
    const CALLS: usize = 25;
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let url = format!("{}{}", proxy.url(), database.path());
    let [one, other] = [Machine::with_sessions(&url), Machine::at(&url)];
    one.push();
    other.pull();
    run_calls(&one.store, "s1", CALLS);

    let pushed = asked(&proxy, || drop(one.push()));
    let pulled = asked(&proxy, || drop(other.sharing.pull_session("s1").unwrap()));
    let again = asked(&proxy, || drop(other.sharing.pull_session("s1").unwrap()));

    let all = |asked: &BTreeMap<String, usize>| asked.values().sum::<usize>();
    assert!(all(&pushed) <= 3 * CALLS, "one for each call, and a few: {pushed:?}");
    assert!(all(&pulled) <= 30, "{pulled:?}");
    assert!(all(&again) <= 30, "{again:?}");
    let session = ObjectId::session("s1");
    let [here, there] = [&one, &other].map(|machine| versions(&machine.store, &session));
    assert_eq!(here.1, there.1);
    let calls = other.store.list(ObjectType::Toolcall, None, 99).unwrap();
    assert_eq!(calls.len(), CALLS);
    for call in &calls {
        assert_eq!(versions(&other.store, &call.envelope.id).0.len(), 1);
    }
}
