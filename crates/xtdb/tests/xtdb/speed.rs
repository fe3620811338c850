//! The load that sharing puts on the server: few requests per version, however many versions one
//! object has, and almost none while nothing changes.

use std::collections::BTreeMap;

use base::object::{ObjectId, ObjectType};

use crate::calls::{calls, run_calls};
use crate::machine::{Machine, versions};
use crate::recordings;
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

    let pushed = asked(&proxy, || assert_eq!(one.push().present, 0));
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

#[test]
fn a_call_of_a_live_session_costs_few_requests() {
    const CALLS: usize = 5;
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let one = Machine::with_sessions(&format!("{}{}", proxy.url(), database.path()));
    one.push();
    let mut session = recordings::open(&one.store, "live");
    let messages = calls(CALLS);
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    for call in 0..CALLS {
        recordings::continue_with(&mut session, &messages[..=2 * call], 2 * call);
        let pushed = asked(&proxy, || drop(one.push()));
        assert_eq!(pushed["submit-tx"], 1);
        assert!(pushed.values().sum::<usize>() <= 23, "call {call}: {pushed:?}");
    }
}
