//! A writing process is killed at random moments, over and over: everything that it acknowledged is
//! there and intact, and an unacknowledged write is there as a whole or not at all.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use base::object::{AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, TxId};
use rusqlite::Connection;
use store::{Expected, Store, doctor};

use testing::child::only;
use testing::private_file;

/// Rounds on one store, each going on where the last was killed.
const ROUNDS: u64 = 14;

/// More than any machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The rounds' moments follow from it.
const SEED: u64 = 20_260_101;

/// A generator of numbers that look random (SplitMix64), the same on every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// What the store holds after the first `steps` transactions of the writer; each follows from its
/// number alone.
#[derive(Debug, Default, Clone)]
struct Model {
    items: Vec<String>,
    /// Step in which each nickname got its object.
    names: BTreeMap<u64, u64>,
}

/// What one transaction of the writer does.
struct Work {
    text: String,
    keep: u64,
    add: Vec<String>,
    /// A nickname that goes to this step's call, from the one that has it.
    name: u64,
}

impl Model {
    fn work(&self, step: u64) -> Work {
        let mut numbers = Numbers(step);
        let length = self.items.len() as u64;
        let text = format!("step {step} {} ", numbers.next());
        Work {
            text: text.repeat(usize::try_from(numbers.below(400)).unwrap()),
            // Now and then the chat goes on from an earlier message.
            keep: if numbers.below(8) == 0 { length / 2 } else { length },
            add: (0..numbers.below(4)).map(|it| format!("{it} {text}")).collect(),
            name: numbers.below(5),
        }
    }

    fn apply(&mut self, step: u64) {
        let Work { keep, add, name, .. } = self.work(step);
        self.items.truncate(usize::try_from(keep).unwrap());
        self.items.extend(add);
        self.names.insert(name, step);
    }

    fn after(steps: u64) -> Self {
        let mut model = Self::default();
        (1..=steps).for_each(|step| model.apply(step));
        model
    }
}

fn nickname(index: u64) -> Nickname {
    Nickname::parse(&format!("name-{index}")).unwrap()
}

fn call(step: u64) -> Envelope {
    Envelope::unsourced(ObjectId::new(format!("step_{step}")), ObjectType::Toolcall).unwrap()
}

fn chat() -> Envelope {
    Envelope::unsourced(ObjectId::chat("killed"), ObjectType::Chat).unwrap()
}

fn counter() -> Envelope {
    Envelope::unsourced(ObjectId::new("counter"), ObjectType::Toolcall).unwrap()
}

/// How many transactions of the writer the store holds.
fn steps(store: &Store) -> u64 {
    let counter = store.get(&counter().id, AsOf::Latest).unwrap();
    counter.map_or(0, |version| version.fields["step"].as_u64().unwrap())
}

/// One transaction: a call, the counter, the chat, a nickname.
fn write(store: &Store, model: &Model, step: u64) -> TxId {
    let Work { text, keep, add, name } = model.work(step);
    let mut transaction = store.begin();
    let payload = Payload { content: Some(text), ..Payload::default() };
    transaction.put(call(step), payload, Expected::Absent).unwrap();
    let mut count = Payload::default();
    count.fields.insert("step".into(), step.into());
    transaction.put(counter(), count, Expected::Any).unwrap();
    let latest = store.get(&chat().id, AsOf::Latest).unwrap();
    let expected = latest.map_or(Expected::Absent, |version| Expected::Latest(version.tx_id));
    transaction.splice(chat(), Payload::default(), keep, add, expected).unwrap();
    if model.names.contains_key(&name) {
        transaction.name(nickname(name), None);
    }
    transaction.name(nickname(name), Some(call(step).id));
    transaction.commit().unwrap().tx_id
}

/// Not a test of its own: the process that is killed. Says what it acknowledged, line by line.
#[test]
fn acts_as_a_writer_when_asked() {
    let Some(path) = std::env::var_os("PALIMPSEST_TEST_STORE").map(PathBuf::from) else { return };
    let store = Store::open(path.to_str().unwrap()).unwrap();
    let mut out = std::io::stdout().lock();
    if std::env::var_os("PALIMPSEST_TEST_CHECKPOINTS").is_some() {
        std::thread::spawn(move || {
            let other = Connection::open(&path).unwrap();
            loop {
                let moved = other.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()));
                moved.unwrap();
            }
        });
    }
    let done = steps(&store);
    let mut model = Model::after(done);
    for step in done + 1.. {
        let tx_id = write(&store, &model, step);
        model.apply(step);
        writeln!(out, "\n= {step} {tx_id}").unwrap();
    }
}

/// From when on the time counts after which a writer is killed.
#[derive(Clone, Copy, PartialEq)]
enum From {
    /// Its start.
    Start,
    /// The first step that it acknowledged.
    Written,
}

/// Lets a writer run for `time` and kills it. Returns the last step that it acknowledged.
fn run_and_kill(path: &Path, checkpoints: bool, from: From, time: Duration) -> Option<(u64, TxId)> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(only(module_path!(), "acts_as_a_writer_when_asked"))
        .env("PALIMPSEST_TEST_STORE", path)
        .stdout(Stdio::piped());
    if checkpoints {
        command.env("PALIMPSEST_TEST_CHECKPOINTS", "1");
    }
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Whatever stands in the pipe when the writer dies was acknowledged; a line that was cut was
    // not.
    let (said, acknowledged) = mpsc::channel();
    let reading = std::thread::spawn(move || {
        let acknowledged = lines.map_while(std::result::Result::ok).filter_map(|line| {
            let (step, tx_id) = line.strip_prefix("= ")?.split_once(' ')?;
            Some((step.parse().unwrap(), TxId(tx_id.parse().ok()?)))
        });
        acknowledged.inspect(|_| said.send(()).unwrap_or_default()).last()
    });
    if from == From::Written {
        acknowledged.recv_timeout(PATIENCE).unwrap();
    }
    std::thread::sleep(time);
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success(), "the writer ended by itself");
    reading.join().unwrap()
}

/// Verifies the store against the model, and every hash in it.
fn verify(path: &Path, acknowledged: Option<(u64, TxId)>) {
    let store = Store::open(path.to_str().unwrap()).unwrap();
    assert_eq!(store.notice(), None);
    let there = steps(&store);
    let least = acknowledged.map_or(0, |(step, _)| step);
    assert!(there >= least, "{least} were acknowledged, {there} are there");
    let model = Model::after(there);
    let mut growing = Model::default();
    for step in 1..=there {
        let version = store.require(&call(step).id, AsOf::Latest).unwrap();
        let text = growing.work(step).text;
        assert!(store.content(&version).unwrap() == Some(text), "step {step}");
        growing.apply(step);
    }
    let items = if there == 0 {
        Vec::new()
    } else {
        store.items(&chat().id, AsOf::Latest, 0..u64::MAX).unwrap()
    };
    assert!(items == model.items, "the chat after {there} steps");
    for index in 0..5 {
        let owner = store.find_nickname(&nickname(index)).unwrap();
        assert_eq!(owner, model.names.get(&index).map(|step| call(*step).id), "name {index}");
    }
    // What was not acknowledged is absent as a whole.
    assert_eq!(store.get(&call(there + 1).id, AsOf::Latest).unwrap(), None);
    if let Some((step, tx_id)) = acknowledged {
        let version = store.require(&call(step).id, AsOf::Latest).unwrap();
        assert_eq!(version.tx_id, tx_id);
    }
    assert_eq!(doctor::check(&store).unwrap().findings, []);
}

/// Kills a writer `ROUNDS` times on one store, with up to `longest_ms` before each kill.
fn rounds(name: &str, checkpoints: bool, from: From, longest_ms: u64) {
    let mut numbers = Numbers(SEED);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let mut acknowledged = None;
    for round in 0..ROUNDS {
        let time = Duration::from_millis(numbers.below(longest_ms));
        acknowledged = run_and_kill(&path, checkpoints, from, time).or(acknowledged);
        if !path.exists() {
            acknowledged = None;
            continue;
        }
        let state = std::panic::catch_unwind(|| verify(&path, acknowledged));
        assert!(state.is_ok(), "{name}: round {round} with seed {SEED}, killed after {time:?}");
    }
}

#[test]
fn what_was_acknowledged_survives_kills_while_it_is_written() {
    rounds("writing", false, From::Written, 150);
}

#[test]
fn what_was_acknowledged_survives_kills_while_the_log_is_moved() {
    rounds("checkpoints", true, From::Written, 150);
}

#[test]
fn what_was_acknowledged_survives_kills_at_the_start() {
    rounds("start", false, From::Start, 100);
}

#[test]
fn an_older_store_survives_kills_during_its_migration() {
    let fixture =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/store-v1.sqlite");
    let mut numbers = Numbers(SEED);
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        private_file::copy(&fixture, &path);
        let time = Duration::from_micros(numbers.below(30_000));
        let acknowledged = run_and_kill(&path, false, From::Start, time);
        let state = std::panic::catch_unwind(|| {
            verify(&path, acknowledged);
            let store = Store::open(path.to_str().unwrap()).unwrap();
            let files = store.list(ObjectType::File, None, 9).unwrap();
            assert_eq!(store.history(&files[0].envelope.id).unwrap().len(), 3);
        });
        assert!(state.is_ok(), "round {round} with seed {SEED}, killed after {time:?}");
    }
}
