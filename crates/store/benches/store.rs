//! The SQLite store at 1,000 and 100,000 objects, beside the plain equivalent on rusqlite in the
//! same run. The ratio counts, not the speed of the disk.
//!
//! "Plain" is one table of whole versions with the same durability, read into strings: what a
//! program without hashes, deduplication, compression and compare-and-set would do. Objects
//! alternate between files, whose short fields are in their row, and tool calls, whose fields are
//! in a pack. No call reads a neighbour of an object that the previous call read.
#![expect(clippy::print_stdout, reason = "`npm run bench` reads the percentiles")]

#[path = "../../../benches/common/samples.rs"]
mod samples;

use std::path::Path;
use std::time::Duration;

use base::object::{
    AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, Source, TxId, file_fields,
};
use criterion::{Criterion, criterion_group, criterion_main};
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::json;
use store::{Expected, Store};

/// Objects per transaction during set-up.
const TRANSACTION: usize = 1_000;

/// Number of objects that get more versions, and number of transactions that each write one version
/// of every such object.
const REVISED: usize = 100;
const REVISIONS: usize = 9;

/// The object with a number: files and tool calls alternate.
fn envelope(object: usize) -> Envelope {
    if object.is_multiple_of(2) {
        let path = format!("/home/user/project/src/module_{object}.rs");
        let source = Source::Filesystem { filesystem_id: "0123456789abcdef".into(), path };
        return Envelope::sourced(ObjectType::File, source).expect("the source is plain text");
    }
    let id = ObjectId::new(format!("call_{object:012}"));
    Envelope::unsourced(id, ObjectType::Toolcall).expect("the ID is well formed")
}

/// About 2 KiB of source-like text, different for every number.
fn payload(object: usize, number: usize) -> Payload {
    let lines = (0..60).map(|line| format!("    let value_{line} = compute({number}, {line});\n"));
    let text: String = lines.collect();
    let is_file = object.is_multiple_of(2);
    let mut fields = file_fields("/module.rs", Some(&text));
    if !is_file {
        let command = format!("cargo test --test module_{object} -- case_{number} --nocapture");
        fields = json!({ "tool": "bash", "args": { "command": command }, "status": "ok",
            "position": { "turn": object / 9, "step": number % 9 } })
        .as_object()
        .cloned()
        .unwrap_or_default();
    }
    Payload {
        source_hash: is_file.then(|| Hash::of(&text)),
        fields,
        content: Some(text),
        ..Payload::default()
    }
}

/// The objects of each set-up transaction: all objects once, then some of them repeatedly.
fn rounds(objects: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..objects).collect();
    let revised: Vec<usize> = (0..REVISED).map(|turn| revised(turn, objects)).collect();
    let first = all.chunks(TRANSACTION).map(<[usize]>::to_vec);
    first.chain((0..REVISIONS).map(|_| revised.clone())).collect()
}

/// An object with several versions, a different one in each of 100 turns: files and tool calls.
fn revised(turn: usize, objects: usize) -> usize {
    turn % REVISED * (objects / REVISED) + turn % 2
}

/// An object for each turn, far from the previous one: 7,919 is prime.
fn any(turn: usize, objects: usize) -> usize {
    turn * 7_919 % objects
}

fn fill(store: &Store, objects: usize) {
    for (round, objects) in rounds(objects).into_iter().enumerate() {
        let mut transaction = store.begin();
        for object in objects {
            let payload = payload(object, object + round);
            transaction.put(envelope(object), payload, Expected::Any).expect("the put is sound");
        }
        transaction.commit().expect("the store is writable");
    }
}

fn tx_id(number: usize) -> i64 {
    i64::try_from(number).expect("benches are short")
}

struct Plain(Connection);

impl Plain {
    fn open(path: &Path) -> Self {
        let connection = Connection::open(path).expect("the folder is writable");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 CREATE TABLE version (id TEXT, tx_id INTEGER, source_hash TEXT, content_hash TEXT,
                 fields TEXT, content TEXT, PRIMARY KEY (id, tx_id));",
            )
            .expect("the file is new");
        Self(connection)
    }

    fn put(&mut self, tx_id: i64, puts: &[(ObjectId, Payload)]) -> rusqlite::Result<()> {
        let transaction = self.0.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (id, payload) in puts {
            let fields = serde_json::to_string(&payload.fields).expect("fields are JSON");
            let hash = payload.source_hash.as_ref().map(Hash::as_str);
            transaction
                .prepare_cached("INSERT INTO version VALUES (?1, ?2, ?3, ?3, ?4, ?5)")?
                .execute(params![id.as_str(), tx_id, hash, fields, payload.content])?;
        }
        transaction.commit()
    }

    fn get(&self, id: &ObjectId, tx_id: i64) -> rusqlite::Result<PlainVersion> {
        self.0
            .prepare_cached(
                "SELECT tx_id, source_hash, content_hash, fields FROM version
                 WHERE id = ?1 AND tx_id <= ?2 ORDER BY tx_id DESC LIMIT 1",
            )?
            .query_row(params![id.as_str(), tx_id], Self::version)
    }

    fn history(&self, id: &ObjectId) -> rusqlite::Result<Vec<PlainVersion>> {
        self.0
            .prepare_cached(
                "SELECT tx_id, source_hash, content_hash, fields FROM version
                 WHERE id = ?1 ORDER BY tx_id DESC",
            )?
            .query_map([id.as_str()], Self::version)?
            .collect()
    }

    fn version(row: &rusqlite::Row<'_>) -> rusqlite::Result<PlainVersion> {
        Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?]))
    }
}

type PlainVersion = (i64, [Option<String>; 3]);

/// Both stores with the same objects, and their IDs.
struct Filled {
    store: Store,
    plain: Plain,
    ids: Vec<ObjectId>,
}

impl Filled {
    fn new(folder: &Path, objects: usize) -> Self {
        let path = folder.join("store.sqlite");
        let store = Store::open(&path.to_string_lossy()).expect("the folder is writable");
        fill(&store, objects);
        let mut plain = Plain::open(&folder.join("plain.sqlite"));
        for (round, objects) in rounds(objects).into_iter().enumerate() {
            let put = |object| (envelope(object).id, payload(object, object + round));
            let puts: Vec<_> = objects.into_iter().map(put).collect();
            plain.put(tx_id(round + 1), &puts).expect("the file is writable");
        }
        Self { store, plain, ids: (0..objects).map(|object| envelope(object).id).collect() }
    }

    /// A transaction in the middle of the objects' later versions.
    fn middle(&self) -> i64 {
        tx_id(self.ids.len().div_ceil(TRANSACTION) + REVISIONS / 2)
    }
}

fn reads(criterion: &mut Criterion, filled: &Filled) {
    let Filled { store, plain, ids } = filled;
    let (objects, mut turn) = (ids.len(), 0);
    let mut next = |of: fn(usize, usize) -> usize| {
        turn += 1;
        &ids[of(turn, objects)]
    };
    let file = |turn, objects| any(turn, objects) & !1;
    let call = |turn, objects| any(turn, objects) | 1;

    for (name, of) in [("get", file as fn(usize, usize) -> usize), ("get a tool call", call)] {
        let mut group = criterion.benchmark_group(name);
        samples::measure(&mut group, (name, "store"), objects, || {
            store.get(next(of), AsOf::Latest)
        });
        samples::measure(&mut group, (name, "plain"), objects, || plain.get(next(of), i64::MAX));
        group.finish();
    }

    let name = "as of";
    let mut group = criterion.benchmark_group(name);
    let middle = filled.middle();
    let known = store.get(&ids[revised(0, objects)], AsOf::Tx(TxId(middle)));
    let time = known.expect("readable").expect("written").system_time;
    for (by, at) in
        [("store by transaction", AsOf::Tx(TxId(middle))), ("store by time", AsOf::Time(time))]
    {
        samples::measure(&mut group, (name, by), objects, || store.get(next(revised), at));
    }
    samples::measure(&mut group, (name, "plain"), objects, || plain.get(next(revised), middle));
    group.finish();

    let name = "history";
    let mut group = criterion.benchmark_group(name);
    samples::measure(&mut group, (name, "store"), objects, || store.history(next(revised)));
    samples::measure(&mut group, (name, "plain"), objects, || plain.history(next(revised)));
    group.finish();
}

fn writes(criterion: &mut Criterion, filled: &mut Filled) {
    let Filled { store, plain, ids } = filled;
    let (name, objects) = ("put and commit", ids.len());
    let mut group = criterion.benchmark_group(name);
    let mut number = objects;
    samples::measure(&mut group, (name, "store"), objects, || {
        number += 1;
        let object = any(number, objects);
        let mut transaction = store.begin();
        transaction.put(envelope(object), payload(object, number), Expected::Any)?;
        transaction.commit()
    });
    let mut number = objects;
    samples::measure(&mut group, (name, "plain"), objects, || {
        number += 1;
        let object = any(number, objects);
        plain.put(tx_id(number), &[(envelope(object).id, payload(object, number))])
    });
    group.finish();
}

fn store(criterion: &mut Criterion) {
    for objects in [1_000, 100_000] {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        let mut filled = Filled::new(folder.path(), objects);
        reads(criterion, &filled);
        writes(criterion, &mut filled);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = store
}
criterion_main!(benches);
