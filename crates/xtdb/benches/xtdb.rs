//! A shared store in XTDB beside the local SQLite store of the same run: a single node on RocksDB,
//! which syncs each write to disk, and two nodes over one PostgreSQL. The ratio counts, not the
//! speed of the disk. Then sessions that travel, also over a slow line. `npm run bench:xtdb` runs it; one line names what a column lacks (a JDK,
//! Maven, PostgreSQL).
#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "it prints a table")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking, as tests do")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]
#![allow(dead_code, reason = "helpers of tests do more than is measured here")]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base::object::{AsOf, ObjectId, ObjectType, Source, TxId};
use config::XtdbOptions;
use store::{IsExcluded, NewVersion, Query, Store};
use xtdb::{Sharing, SharingOptions, migrate};

use testing::faults::{Fault, Proxy};
use testing::xtdb::{Node, NodeKind};

#[path = "../../../tests/common/calls.rs"]
mod calls;
#[path = "../../../tests/common/recordings.rs"]
mod recordings;

/// Number of calls; the median counts.
const CALLS: usize = 200;

/// Versions of the object whose history is read.
const LONG: usize = 1_000;

/// Versions that are sent and taken together.
const BATCH: usize = 100;

/// Median times, by measurement, in the order of the table.
type Times = Vec<(&'static str, Duration)>;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
    let mut columns = vec![("local store", measure(&open("local.sqlite")))];
    let local = &mut columns[0].1;
    let (source, target) = (open("source.sqlite"), open("target.sqlite"));
    write_batch(&source);
    local.push((
        "send 100 versions",
        once(|| drop(migrate(&source, &target, &mut |_| Ok(())).unwrap())),
    ));
    let target = open("other.sqlite");
    local.push((
        "take 100 versions",
        once(|| drop(migrate(&source, &target, &mut |_| Ok(())).unwrap())),
    ));
    if let Some(node) = Node::start(NodeKind::Rocks) {
        columns.push(("RocksDB node", shared([&node, &node])));
    }
    if let Some([one, other]) = Node::pair_over_postgres() {
        columns.push(("two nodes over PostgreSQL", shared([&one, &other])));
    }
    print(&columns);
    sessions();
}

/// The costs if one machine uses the first node, and another the second.
fn shared(nodes: [&Node; 2]) -> Times {
    let options = nodes.map(|node| XtdbOptions { url: node.url(), ..XtdbOptions::default() });
    let mut times = measure(&xtdb::connect(&options[0]).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let machines = [("one", &options[0]), ("other", &options[1])].map(|(name, shared)| {
        let store = Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
        let (shared, is_excluded) = (shared.clone(), Arc::new(|_: &str| false));
        let options = SharingOptions { shared, sessions: false, author: None, is_excluded };
        (store.clone(), Sharing::new(store, options))
    });
    let [(store, sender), (_, taker)] = machines;
    // What is there already is not part of it.
    sender.push(&mut |_| Ok(())).unwrap();
    taker.pull(&mut |_| Ok(())).unwrap();
    write_batch(&store);
    times.push(("send 100 versions", once(|| drop(sender.push(&mut |_| Ok(())).unwrap()))));
    times.push((
        "take 100 versions",
        once(|| {
            let deadline = Instant::now() + Duration::from_secs(10);
            let mut taken = 0;
            // The other node may have to index them first.
            while taken < BATCH as u64 {
                taken += taker.pull(&mut |_| Ok(())).unwrap().versions;
                assert!(Instant::now() < deadline, "the other node does not catch up");
            }
        }),
    ));
    times
}

/// Single calls.
fn measure(store: &Store) -> Times {
    let long: Vec<(ObjectId, TxId)> =
        (0..LONG).map(|number| write(store, "/p/long.rs", number)).collect();
    let id = &long[0].0;
    let some = |number: usize| AsOf::Tx(long[number * 7 % LONG].1);
    let hash = store.require(id, AsOf::Latest).unwrap().content_hash;
    let query = Query::parse(&format!("type = \"file\" and content_hash = \"{hash}\"")).unwrap();
    assert_eq!(store.query(&query).unwrap().len(), 1);
    vec![
        (
            "put and commit",
            median(CALLS, |number| drop(write(store, &format!("/p/{}.rs", number % 50), number))),
        ),
        (
            "get the latest",
            median(CALLS, |_| drop(black_box(store.get(id, AsOf::Latest).unwrap()))),
        ),
        (
            "get as of a transaction",
            median(CALLS, |number| drop(black_box(store.get(id, some(number)).unwrap()))),
        ),
        ("history of 1,000 versions", median(11, |_| drop(black_box(store.history(id).unwrap())))),
        ("query", median(CALLS, |_| drop(black_box(store.query(&query).unwrap())))),
    ]
}

/// About 2 KiB of source-like text, different for every number.
fn write(store: &Store, path: &str, number: usize) -> (ObjectId, TxId) {
    let lines = (0..60).map(|line| format!("    let value_{line} = compute({number}, {line});\n"));
    let text: String = std::iter::once(format!("// {path}\n")).chain(lines).collect();
    let source = Source::Filesystem { filesystem_id: "0123456789abcdef".into(), path: path.into() };
    let new = NewVersion {
        kind: ObjectType::File,
        source: Some(source),
        id: None,
        content: Some(text),
        source_hash: None,
        fields: serde_json::Map::new(),
        additional: BTreeMap::new(),
        expected: None,
    };
    let (_, version) = store.write(new).unwrap();
    (version.envelope.id, version.tx_id)
}

fn write_batch(store: &Store) {
    for number in 0..BATCH {
        write(store, &format!("/p/batch-{}.rs", number % 20), number);
    }
}

fn median(calls: usize, mut call: impl FnMut(usize)) -> Duration {
    let mut times: Vec<Duration> = (0..calls).map(|number| once(|| call(number))).collect();
    times.sort();
    times[times.len() / 2]
}

fn once(call: impl FnOnce()) -> Duration {
    let began = Instant::now();
    call();
    began.elapsed()
}

fn print(columns: &[(&str, Times)]) {
    let [(local, plain), shared @ ..] = columns else { return };
    let ms = |time: &Duration| time.as_secs_f64() * 1_000.0;
    let heads: Vec<String> = shared.iter().map(|(name, _)| format!(" {name} | ratio |")).collect();
    println!("| median, in ms | {local} |{}", heads.concat());
    println!("| --- | ---: |{}", " ---: | ---: |".repeat(shared.len()));
    for (at, (what, own)) in plain.iter().enumerate() {
        let cells = shared.iter().map(|(_, times)| {
            let there = ms(&times[at].1);
            format!(" {there:.2} | {:.1} |", there / ms(own))
        });
        println!("| {what} | {:.3} |{}", ms(own), cells.collect::<String>());
    }
}

/// Calls of a session, as in the goals.
const SESSION_CALLS: usize = 25;

/// Sessions that a fresh machine fetches.
const SESSIONS: usize = 20;

/// Calls of a live session that are timed.
const LIVE_CALLS: usize = 10;

/// What sessions cost that travel, on loopback and over a line of 20 ms each way, beside the goals.
fn sessions() {
    let line = Fault::Delay(Duration::from_millis(40));
    let (Some(near), Some(far)) = (travel(Fault::Pass), travel(line)) else { return };
    println!("\n| {SESSION_CALLS} calls a session | goal | loopback | 20 ms each way |");
    println!("| --- | ---: | ---: | ---: |");
    let goals = ["≤ 40", "", "≤ 15 s / ≤ 40 s", "≤ 2 s", "≤ 2 s", "≤ 3"];
    for ((goal, (what, near)), (_, far)) in goals.into_iter().zip(near).zip(far) {
        println!("| {what} | {goal} | {near} | {far} |");
    }
}

/// Figures for one line, in words.
fn travel(fault: Fault) -> Option<Vec<(&'static str, String)>> {
    let node = Node::start(NodeKind::Rocks)?;
    let proxy = Proxy::before(&node.url());
    let folder = tempfile::tempdir().unwrap();
    let machine = |name: &str| {
        let store = Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
        let shared = XtdbOptions { url: proxy.url(), ..XtdbOptions::default() };
        let is_excluded: IsExcluded = Arc::new(|_| false);
        let options = SharingOptions { shared, sessions: true, author: None, is_excluded };
        (store.clone(), Arc::new(Sharing::new(store, options)))
    };
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    let (store, writer) = machine("writer");
    for number in 0..SESSIONS {
        calls::run_calls(&store, &format!("s{number}"), SESSION_CALLS);
    }
    let before = proxy.bytes();
    writer.push(&mut |_| Ok(())).unwrap();
    let sent = proxy.bytes() - before;
    proxy.set(fault);
    let (_, one) = machine("one");
    one.pull(&mut |_| Ok(())).unwrap();
    let before = proxy.seen().len();
    let fetched = once(|| drop(one.pull_session("s1").unwrap()));
    let requests = proxy.seen().len() - before;
    let (_, fresh) = machine("fresh");
    let all = once(|| drop(fresh.pull_sessions(false, &mut |_| Ok(())).unwrap()));
    let mut lags = live(&store, &writer);
    lags.sort();
    let size = std::fs::metadata(store.path()).unwrap().len();
    Some(vec![
        ("fetch one session: requests", requests.to_string()),
        ("fetch one session", seconds(fetched)),
        ("fetch 20 sessions on a fresh machine", seconds(all)),
        ("lag of a live session, median", seconds(lags[lags.len() / 2])),
        ("lag of a live session, longest", seconds(lags[lags.len() - 1])),
        ("bytes sent, as a multiple of the store", format!("{:.2}", sent as f64 / size as f64)),
    ])
}

/// How long each call of a live session takes until it is in the shared store.
fn live(store: &Store, sharing: &Arc<Sharing>) -> Vec<Duration> {
    let running = sharing.start().unwrap();
    let mut session = recordings::open(store, "live");
    let messages = calls::calls(LIVE_CALLS);
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let mut lags = Vec::new();
    for call in 0..LIVE_CALLS {
        std::thread::sleep(Duration::from_secs(1));
        recordings::continue_with(&mut session, &messages[..=2 * call], 2 * call);
        lags.push(once(|| {
            while sharing.status().unwrap().outbox > 0 {
                std::thread::sleep(Duration::from_millis(10));
            }
        }));
    }
    drop(running);
    lags
}
