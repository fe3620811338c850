//! The SQLite store beside the plain equivalent on rusqlite, in one run: the ratio is what counts, not the disk.
//!
//! "Plain" is one table of whole versions with the same durability, read into strings: what a program without hashes,
//! content kept once, compression and compare-and-set would do.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use palimpsest::object::ObjectType;
use palimpsest::object::{AsOf, Envelope, Hash, ObjectId, Payload, Source, TxId, file_fields};
use palimpsest::store::{Expected, Store};
use rusqlite::{Connection, TransactionBehavior, params};

/// Versions are spread over this many files, all of them written by each transaction of the set-up.
const FILES: usize = 100;

fn envelope(file: usize) -> Envelope {
    let path = format!("/home/user/project/src/module_{file}.rs");
    let source = Source::Filesystem { filesystem_id: "0123456789abcdef".into(), path };
    Envelope::sourced(ObjectType::File, source).expect("the source is plain text")
}

/// About 2 KiB of source-like text, another for every number.
fn payload(number: usize) -> Payload {
    let lines = (0..60).map(|line| format!("    let value_{line} = compute({number}, {line});\n"));
    let text: String = lines.collect();
    Payload {
        source_hash: Some(Hash::of(&text)),
        fields: file_fields("/module.rs", Some(&text)),
        content: Some(text),
        ..Payload::default()
    }
}

fn fill(store: &Store, versions: usize) {
    for round in 0..versions / FILES {
        let mut transaction = store.begin();
        for file in 0..FILES {
            let payload = payload(round * FILES + file);
            transaction.put(envelope(file), &payload, Expected::Any).expect("the put is sound");
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

    fn get(&self, id: &ObjectId, tx_id: i64) -> rusqlite::Result<(i64, [String; 3])> {
        self.0
            .prepare_cached(
                "SELECT tx_id, source_hash, content_hash, fields FROM version
                 WHERE id = ?1 AND tx_id <= ?2 ORDER BY tx_id DESC LIMIT 1",
            )?
            .query_row(params![id.as_str(), tx_id], |row| {
                Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?]))
            })
    }
}

fn compare(criterion: &mut Criterion, versions: usize) {
    let folder = tempfile::tempdir().expect("the system has a temporary folder");
    let path = folder.path().join("store.sqlite");
    let store = Store::open(&path.to_string_lossy()).expect("the folder is writable");
    fill(&store, versions);
    let mut plain = Plain::open(&folder.path().join("plain.sqlite"));
    let rounds = versions / FILES;
    for round in 0..rounds {
        let puts: Vec<_> =
            (0..FILES).map(|file| (envelope(file).id, payload(round * FILES + file))).collect();
        plain.put(tx_id(round + 1), &puts).expect("the file is writable");
    }
    let id = envelope(FILES / 2).id;
    let middle = tx_id(rounds / 2);

    let mut reads = criterion.benchmark_group("get");
    reads.bench_function(BenchmarkId::new("store", versions), |bencher| {
        bencher.iter(|| store.get(black_box(&id), AsOf::Latest));
    });
    reads.bench_function(BenchmarkId::new("plain", versions), |bencher| {
        bencher.iter(|| plain.get(black_box(&id), i64::MAX));
    });
    reads.finish();

    let mut reads = criterion.benchmark_group("as of");
    let time = store.get(&id, AsOf::Tx(TxId(middle))).expect("readable").expect("written");
    reads.bench_function(BenchmarkId::new("store by transaction", versions), |bencher| {
        bencher.iter(|| store.get(black_box(&id), AsOf::Tx(TxId(middle))));
    });
    reads.bench_function(BenchmarkId::new("store by time", versions), |bencher| {
        bencher.iter(|| store.get(black_box(&id), AsOf::Time(time.system_time)));
    });
    reads.bench_function(BenchmarkId::new("plain", versions), |bencher| {
        bencher.iter(|| plain.get(black_box(&id), middle));
    });
    reads.finish();

    let mut writes = criterion.benchmark_group("put and commit");
    let mut number = versions;
    writes.bench_function(BenchmarkId::new("store", versions), |bencher| {
        bencher.iter(|| {
            number += 1;
            let mut transaction = store.begin();
            transaction.put(envelope(number % FILES), &payload(number), Expected::Any)?;
            transaction.commit()
        });
    });
    let mut number = versions;
    writes.bench_function(BenchmarkId::new("plain", versions), |bencher| {
        bencher.iter(|| {
            number += 1;
            plain.put(tx_id(number), &[(envelope(number % FILES).id, payload(number))])
        });
    });
    writes.finish();
}

fn store(criterion: &mut Criterion) {
    for versions in [1_000, 10_000] {
        compare(criterion, versions);
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
