//! A server that is unreachable, dies, hangs, lies or is full: the local store keeps working, and
//! afterwards the shared one has every version once and in order.

#![expect(clippy::disallowed_methods, reason = "deadlines of waits are real time")]

use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use base::object::{AsOf, ObjectType, TxId};
use store::{NewVersion, Store};
use xtdb::{Sharing, SharingStatus};

use crate::machine::{Machine, options, shared, source};
use testing::faults::{Fault, Proxy};
use testing::xtdb::{Database, Node, NodeKind};

/// How long a test waits for stores to be alike.
const LONGEST: Duration = Duration::from_secs(90);

/// Longest time of what does not wait for the network. Many writes that did would take longer.
const AT_ONCE: Duration = Duration::from_secs(60);

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONGEST;
    while !done() {
        assert!(Instant::now() < deadline, "{what} takes too long");
        thread::sleep(Duration::from_millis(50));
    }
}

fn status(machine: &Machine) -> SharingStatus {
    machine.sharing.status().unwrap()
}

fn wait_until_sent(machine: &Machine) {
    wait_until("sending", || {
        let status = status(machine);
        status.outbox == 0 && status.error.is_none()
    });
}

/// Numbers of the transactions that wrote each file, in the order of the store.
fn order(store: &Store, writer: &str) -> Vec<(String, Vec<TxId>)> {
    let files = store.list(ObjectType::File, None, usize::MAX).unwrap();
    files
        .into_iter()
        .map(|file| {
            let id = file.envelope.id;
            let history = store.history(&id).unwrap();
            for version in &history {
                store.verify(version).unwrap();
                assert_eq!(version.origin.store_id, writer);
            }
            let written = history.iter().rev().map(|version| version.origin.tx_id).collect();
            (id.to_string(), written)
        })
        .collect()
}

/// That the shared store has every version of the machine's once, in the order in which they were
/// written.
fn assert_all_there(machine: &Machine, url: &str) {
    let here = order(&machine.store, machine.store.id());
    assert_eq!(order(&shared(url), machine.store.id()), here);
}

fn write_some(machine: &Machine, from: usize, count: usize) {
    for number in from..from + count {
        machine.write(&format!("/p/{}.txt", number % 7), &format!("version {number}\n"));
    }
}

#[test]
fn a_server_that_comes_up_late_gets_everything() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    proxy.set(Fault::Refuse);
    let url = format!("{}{}", proxy.url(), database.path());
    let machine = Machine::at(&url);
    let _running = machine.sharing.start().unwrap();
    write_some(&machine, 0, 20);
    wait_until("noticing", || status(&machine).error.is_some());
    let down = status(&machine);
    assert_eq!((down.outbox, down.error.unwrap().code.as_str()), (20, "XTDB_UNAVAILABLE"));
    proxy.set(Fault::Pass);
    wait_until_sent(&machine);
    assert_all_there(&machine, &database.url());
    assert!(status(&machine).last.is_some());
}

#[test]
fn what_an_ended_session_left_is_sent_once_somebody_answers() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    proxy.set(Fault::Refuse);
    let url = format!("{}{}", proxy.url(), database.path());
    let machine = Machine::at(&url);
    let again = || Sharing::new(machine.store.clone(), options(&url));
    let running = again().start_once().unwrap();
    let left = running.sharing();
    write_some(&machine, 0, 20);
    wait_until("noticing", || status(&machine).error.is_some());
    assert!(!left.leaves().unwrap(), "somebody sends it");
    running.let_go(Duration::ZERO);
    assert!(left.leaves().unwrap());
    again().finish(Duration::from_millis(500)).unwrap();
    assert!(left.leaves().unwrap(), "its time was up");

    thread::scope(|scope| {
        let senders = [(); 2].map(|()| scope.spawn(|| again().finish(LONGEST)));
        wait_until("one of two to end", || senders.iter().any(ScopedJoinHandle::is_finished));
        assert!(left.leaves().unwrap(), "the other goes on trying");
        proxy.set(Fault::Pass);
        for sender in senders {
            sender.join().unwrap().unwrap();
        }
    });

    assert!(!left.leaves().unwrap());
    assert_all_there(&machine, &database.url());
}

#[test]
fn work_after_a_long_outage_is_sent_at_once() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let url = format!("{}{}", proxy.url(), database.path());
    let machine = Machine::at(&url);
    proxy.set(Fault::Refuse);
    let _running = machine.sharing.start().unwrap();
    // Pauses have grown to many seconds by then.
    thread::sleep(Duration::from_secs(12));
    proxy.set(Fault::Pass);
    write_some(&machine, 0, 1);
    let back = Instant::now();
    wait_until_sent(&machine);
    assert!(back.elapsed() < Duration::from_secs(5), "{:?}", back.elapsed());
}

#[test]
fn answers_that_fail_delay_or_end_early_double_nothing() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let url = format!("{}{}", proxy.url(), database.path());
    let machine = Machine::at(&url);
    let _running = machine.sharing.start().unwrap();
    let faults = [
        ("submit-tx", Fault::SwallowAnswer),
        ("submit-tx", Fault::Status500),
        ("submit-tx", Fault::CutBodyAfter(5)),
        ("history=true", Fault::CutBodyAfter(10)),
        ("history=true", Fault::SwallowAnswer),
        ("query", Fault::CutBodyAfter(1)),
        ("query", Fault::Status500),
        ("submit-tx", Fault::Delay(Duration::from_millis(300))),
        ("tx-log", Fault::CutBodyAfter(30)),
    ];
    for (at, (request, fault)) in faults.into_iter().enumerate() {
        let before = proxy.seen().len();
        proxy.once(request, fault);
        write_some(&machine, at * 10, 10);
        wait_until_sent(&machine);
        wait_until(&format!("a {request}"), || {
            proxy.seen()[before..].iter().any(|line| line.contains(request))
        });
        wait_until_sent(&machine);
    }
    assert_all_there(&machine, &database.url());
}

#[test]
fn a_node_killed_during_a_push_has_everything_after_restart() {
    let Some(mut node) = Node::start(NodeKind::Rocks) else { return };
    let machine = Machine::at(&node.url());
    write_some(&machine, 0, 400);
    let _running = machine.sharing.start().unwrap();
    for part in [60, 180] {
        let url = node.url();
        wait_until("sending a part", || {
            let store = xtdb::connect(&options(&url).shared);
            store.and_then(|store| Ok(store.newest()?.0.0 >= part)).unwrap_or(false)
        });
        node.kill9();
        write_some(&machine, 400 + usize::try_from(part).unwrap(), 20);
        node.restart();
    }
    wait_until_sent(&machine);
    assert_all_there(&machine, &node.url());
}

#[test]
fn a_node_that_hangs_holds_up_nothing_here() {
    let Some(node) = Node::start(NodeKind::Memory) else { return };
    let machine = Machine::at(&node.url());
    write_some(&machine, 0, 5);
    let running = machine.sharing.start().unwrap();
    wait_until_sent(&machine);
    node.pause();
    let began = Instant::now();
    write_some(&machine, 5, 200);
    assert_eq!(status(&machine).outbox, 200);
    assert!(began.elapsed() < AT_ONCE, "writes wait for the network");
    thread::sleep(pause_length());
    node.resume();
    wait_until_sent(&machine);
    assert_all_there(&machine, &node.url());
    // Its end waits for a while at most, though the node hangs again.
    node.pause();
    write_some(&machine, 300, 1);
    thread::sleep(Duration::from_secs(1));
    let began = Instant::now();
    drop(running);
    assert!(began.elapsed() < AT_ONCE, "the end waits for the network");
    node.resume();
}

/// A minute in `npm run soak`.
fn pause_length() -> Duration {
    let long = std::env::var_os("PALIMPSEST_SOAK").is_some();
    Duration::from_secs(if long { 60 } else { 3 })
}

#[test]
fn the_next_process_sends_what_a_crashed_one_acknowledged() {
    let Some(database) = Database::new() else { return };
    let machine = Machine::at(&database.url());
    write_some(&machine, 0, 30);
    // As after kill -9: the file is all that is left of it.
    let path = machine.folder.path().join("store.sqlite");
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let next = Sharing::new(store, options(&database.url()));
    assert_eq!(next.status().unwrap().outbox, 30);
    assert_eq!(next.push(&mut |_| Ok(())).unwrap().versions, 30);
    assert_all_there(&machine, &database.url());
}

#[test]
fn two_processes_of_one_store_send_each_version_once() {
    let Some(database) = Database::new() else { return };
    let machine = Machine::at(&database.url());
    write_some(&machine, 0, 60);
    let path = machine.folder.path().join("store.sqlite");
    thread::scope(|scope| {
        for _ in 0..3 {
            let (path, url) = (path.clone(), database.url());
            scope.spawn(move || {
                let store = Store::open(path.to_str().unwrap()).unwrap();
                Sharing::new(store, options(&url)).push(&mut |_| Ok(())).unwrap();
            });
        }
    });
    assert_all_there(&machine, &database.url());
}

#[test]
fn a_server_that_lost_its_database_gets_everything_again() {
    let Some(mut node) = Node::start(NodeKind::Memory) else { return };
    let machine = Machine::at(&node.url());
    write_some(&machine, 0, 30);
    machine.push();
    node.restart();
    write_some(&machine, 30, 5);
    machine.push();
    assert_all_there(&machine, &node.url());
}

#[test]
fn one_node_answers_for_what_another_wrote() {
    let Some([first, second]) = Node::pair_over_postgres() else { return };
    let [one, other] = [Machine::at(&first.url()), Machine::at(&second.url())];
    for round in 0..3 {
        write_some(&one, round * 10, 10);
        one.push();
        let there = shared(&second.url());
        let (newest, _) = shared(&first.url()).newest().unwrap();
        wait_until("indexing", || there.newest().unwrap().0 >= newest);
        other.pull();
        assert_eq!(order(&other.store, one.store.id()), order(&one.store, one.store.id()));
    }
    // A node that was away for a while is behind, and whoever has seen more waits for it.
    second.pause();
    write_some(&one, 30, 10);
    one.push();
    second.resume();
    wait_until("catching up", || {
        other.pull();
        order(&other.store, one.store.id()) == order(&one.store, one.store.id())
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_server_is_reported_and_gets_everything_later() {
    let Some(mut node) = Node::start(NodeKind::Rocks) else { return };
    let machine = Machine::at(&node.url());
    write_some(&machine, 0, 5);
    machine.push();
    node.fill_disk(300_000);
    let _running = machine.sharing.start().unwrap();
    let large = |number: usize| {
        // Nothing that could be kept in less room.
        let text: String = (0..20_000).map(|_| fastrand::alphanumeric()).collect();
        machine.write(&format!("/p/{}.txt", number % 7), &format!("version {number}\n{text}"));
    };
    (0..40).for_each(large);
    wait_until("noticing", || status(&machine).error.is_some());
    let full = status(&machine);
    assert_eq!(full.error.unwrap().code, "XTDB_FAILED");
    assert!(full.outbox > 0);
    let began = Instant::now();
    (40..60).for_each(large);
    assert!(began.elapsed() < AT_ONCE, "writes wait for the server");
    assert!(status(&machine).error.is_some());

    node.restart();

    wait_until_sent(&machine);
    assert_all_there(&machine, &node.url());
}

/// A balancer before two nodes: each connection goes to the next of them. Ends with the test's
/// process.
fn balanced(nodes: &[Node; 2]) -> String {
    let addresses = nodes.each_ref().map(Node::address);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (client, address) in listener.incoming().zip(addresses.iter().cycle()) {
            let Ok(client) = client else { return };
            let Ok(server) = TcpStream::connect(address) else { continue };
            for (mut from, mut to) in
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)]
            {
                thread::spawn(move || {
                    drop(std::io::copy(&mut from, &mut to));
                    drop(to.shutdown(Shutdown::Both));
                });
            }
        }
    });
    url
}

#[test]
fn who_writes_reads_it_at_once_whichever_node_answers() {
    let Some(nodes) = Node::pair_over_postgres() else { return };
    let there = shared(&balanced(&nodes));
    for number in 0..40 {
        let text = format!("version {number}");
        let new = NewVersion {
            kind: ObjectType::File,
            source: Some(source("/p/a.txt")),
            id: None,
            content: Some(text.clone()),
            source_hash: None,
            fields: serde_json::Map::new(),
            additional: std::collections::BTreeMap::new(),
            expected: None,
        };
        let (_, written) = there.write(new).unwrap();
        // Several reads at once use several connections, and so both nodes.
        thread::scope(|scope| {
            for _ in 0..3 {
                let (there, written, text) = (&there, &written, &text);
                scope.spawn(move || {
                    let latest = there.require(&written.envelope.id, AsOf::Latest).unwrap();
                    assert_eq!(latest, *written);
                    assert_eq!(there.content(&latest).unwrap().as_ref(), Some(text));
                    assert_eq!(there.history(&written.envelope.id).unwrap().len(), number + 1);
                });
            }
        });
    }
}
