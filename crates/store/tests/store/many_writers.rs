//! Eight processes write one store without pause: no lost update, no error but `CONFLICT`. Nobody
//! starves: a writer that waits longer than the store's limit for a call gets another error.
//! Latencies are printed, not judged, because they depend on the machine.

#![expect(clippy::disallowed_methods, reason = "this test times what it does")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base::object::{AsOf, Envelope, ObjectId, ObjectType, Payload};
use store::{Expected, Store};

use testing::cases::is_long;
use testing::child::only;

const PROCESSES: usize = 8;
const COUNTERS: u64 = 4;

/// How often each process writes.
fn turns() -> u64 {
    if is_long() { 5_000 } else { 150 }
}

#[expect(clippy::print_stdout, reason = "figures for people")]
#[test]
fn eight_processes_lose_no_update_and_none_of_them_starves() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    Store::open(path.to_str().unwrap()).unwrap().close().unwrap();
    let children: Vec<Child> = (0..PROCESSES).map(|_| spawn(&path)).collect();
    let mut added = BTreeMap::<String, u64>::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        for line in text.lines().filter_map(|line| line.strip_prefix("= ")) {
            match line.split_once(' ').unwrap() {
                ("figures", text) => println!("{text}"),
                (counter, count) => {
                    *added.entry(counter.to_owned()).or_default() += count.parse::<u64>().unwrap();
                }
            }
        }
    }
    assert!(!added.is_empty());
    let store = Store::open(path.to_str().unwrap()).unwrap();
    for (counter, times) in added {
        let version = store.require(&ObjectId::new(&counter), AsOf::Latest).unwrap();
        assert_eq!(version.fields["number"].as_u64(), Some(times), "`{counter}`");
    }
}

fn spawn(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(only(module_path!(), "acts_as_a_writer_when_asked"))
        .env("PALIMPSEST_TEST_STORE", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test of its own: one of the processes of the test above.
#[test]
fn acts_as_a_writer_when_asked() {
    let Some(path) = std::env::var_os("PALIMPSEST_TEST_STORE").map(PathBuf::from) else { return };
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let mut times = Vec::new();
    let mut added = BTreeMap::<String, u64>::new();
    let mut conflicts = 0;
    for turn in 0..turns() {
        let counter = format!("counter_{}", turn % COUNTERS);
        let (written, time) = count_up(&store, &counter);
        times.push(time);
        if written {
            *added.entry(counter).or_default() += 1;
        } else {
            conflicts += 1;
        }
    }
    report(&mut times, conflicts, &added);
}

/// Adds 1 to a counter unless another process did so in between; the time is that of put and
/// commit.
fn count_up(store: &Store, counter: &str) -> (bool, Duration) {
    let envelope = Envelope::unsourced(ObjectId::new(counter), ObjectType::Toolcall).unwrap();
    let latest = store.get(&envelope.id, AsOf::Latest).unwrap();
    let (number, expected) = latest.map_or((0, Expected::Absent), |version| {
        (version.fields["number"].as_u64().unwrap(), Expected::Latest(version.tx_id))
    });
    let mut payload = Payload::default();
    payload.fields.insert("number".into(), (number + 1).into());
    let start = Instant::now();
    let mut transaction = store.begin();
    transaction.put(envelope, payload, expected).unwrap();
    let result = transaction.commit();
    let time = start.elapsed();
    if let Err(error) = &result {
        assert_eq!(error.code(), "CONFLICT", "{}", error.report());
    }
    (result.is_ok(), time)
}

fn report(times: &mut [Duration], conflicts: u64, added: &BTreeMap<String, u64>) {
    let mut out = std::io::stdout().lock();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let (median, p95, longest) = (at(50), at(95), at(100));
    writeln!(out).unwrap();
    for (counter, count) in added {
        writeln!(out, "= {counter} {count}").unwrap();
    }
    writeln!(
        out,
        "= figures {} commits, {conflicts} of them conflicts: median {median:.1?}, p95 {p95:.1?}, longest {longest:.1?}",
        times.len()
    )
    .unwrap();
}
