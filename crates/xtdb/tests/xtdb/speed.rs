//! The load that sharing puts on the server: few requests per version, however many versions one
//! object has, and almost none while nothing changes.

use std::collections::BTreeMap;

use crate::machine::Machine;
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
