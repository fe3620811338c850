//! The load that sharing puts on the server: few requests per version, however many versions one
//! object has, and almost none while nothing changes.

use std::collections::BTreeMap;

use base::object::{ObjectId, ObjectType};

use crate::calls::{calls, run_calls};
use crate::machine::{Machine, shared, versions};
use crate::recordings;
use store::ForgetOptions;
use testing::faults::Proxy;
use testing::xtdb::Database;

/// How often each path was asked for meanwhile.
pub(crate) fn asked(proxy: &Proxy, work: impl FnOnce()) -> BTreeMap<String, usize> {
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
fn a_call_of_a_live_session_costs_the_same_at_any_length() {
    const CALLS: usize = 40;
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let one = Machine::with_sessions(&format!("{}{}", proxy.url(), database.path()));
    one.push();
    let mut session = recordings::open(&one.store, "live");
    let messages = calls(CALLS);
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let mut bytes = Vec::new();
    for call in 0..CALLS {
        recordings::continue_with(&mut session, &messages[..=2 * call], 2 * call);
        let before = proxy.bytes();
        let pushed = asked(&proxy, || drop(one.push()));
        bytes.push(proxy.bytes() - before);
        assert_eq!(pushed["submit-tx"], 1);
        assert!(pushed.values().sum::<usize>() <= 24, "call {call}: {pushed:?}");
    }
    // The first calls read what is not known yet.
    let (early, late) = (bytes[4], bytes[CALLS - 1]);
    assert!(late < early + early / 10, "{bytes:?}");
}

#[test]
fn a_list_that_was_erased_is_read_anew() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [(); 2].map(|()| Machine::with_sessions(&database.url()));
    run_calls(&one.store, "s1", 3);
    one.push();
    let shared = shared(&database.url());
    let chat = ObjectId::chat("s1");
    assert!(shared.history(&chat).unwrap().len() > 1);

    other.sharing.pull_session("s1").unwrap();
    other.store.forget(&chat, ForgetOptions { dry_run: false, everywhere: false }).unwrap();
    other.push();

    let left = shared.history(&chat).unwrap();
    assert_eq!(left.len(), 1, "its tombstone: {left:?}");
}
