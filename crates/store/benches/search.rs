//! Full-text search over 100,000 objects for words of different frequency, beside the plain
//! equivalent on rusqlite in the same run.
//!
//! "Plain" is one FTS5 table with content and the default tokenizer, which returns the best 10 with
//! FTS5's own snippets. The store adds versions, verified contents, and lines with their numbers.
//! The share is the fraction of objects that contain the word.

#![expect(clippy::print_stdout, reason = "`npm run bench` reads the percentiles")]

#[path = "../../../benches/common/samples.rs"]
mod samples;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use base::object::{Envelope, Hash, ObjectType, Payload, Source, file_fields};
use criterion::{Criterion, criterion_group, criterion_main};
use rusqlite::Connection;
use store::{Expected, SearchQuery, Store};

/// Objects, each of about 2 KiB.
const OBJECTS: usize = 100_000;

/// Objects per transaction during set-up.
const TRANSACTION: usize = 1_000;

/// The searches. The mark `needleN` occurs in every Nth object.
const SEARCHES: [(&str, &str); 8] = [
    ("0.01 %", "needle10000"),
    ("0.1 %", "needle1000"),
    ("0.9 %", "needle110"),
    ("10 %", "needle10"),
    ("50 %", "needle2"),
    ("0.1 % and 50 %", "needle1000 needle2"),
    ("10 % and 50 %", "needle10 needle2"),
    ("most, three words", "value compute number"),
];

const MARKS: [usize; 5] = [10_000, 1_000, 110, 10, 2];

/// Source-like text, different for every number: identifiers of a few hundred words, some in most
/// objects.
fn text(number: usize) -> String {
    let mut lines = Vec::new();
    for line in 0..36 {
        let (one, other) = ((number * 31 + line * 17) % 997, (number * 7 + line * 101) % 4_999);
        lines.push(format!("    let value_{line} = compute_name{one}(number{other}, {line});"));
    }
    // In the middle, so that finding the line takes an average time.
    for mark in MARKS.into_iter().filter(|mark| number.is_multiple_of(*mark)) {
        lines.insert(18, format!("    // needle{mark} stands here"));
    }
    lines.join("\n")
}

fn fill(store: &Store) {
    for round in 0..OBJECTS / TRANSACTION {
        let mut transaction = store.begin();
        for number in round * TRANSACTION..(round + 1) * TRANSACTION {
            let path = format!("/project/src/module_{number}.rs");
            let text = text(number);
            let payload = Payload {
                source_hash: Some(Hash::of(&text)),
                fields: file_fields(&path, Some(&text)),
                content: Some(text),
                ..Payload::default()
            };
            let source = Source::Filesystem { filesystem_id: "fs".into(), path };
            let envelope =
                Envelope::sourced(ObjectType::File, source).expect("the source is plain text");
            transaction.put(envelope, payload, Expected::Any).expect("the put is sound");
        }
        transaction.commit().expect("the store is writable");
    }
}

fn plain(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; CREATE VIRTUAL TABLE file USING fts5 (path, content);",
    )?;
    for round in 0..OBJECTS / TRANSACTION {
        let transaction = connection.transaction()?;
        for number in round * TRANSACTION..(round + 1) * TRANSACTION {
            transaction
                .prepare_cached("INSERT INTO file VALUES (?1, ?2)")?
                .execute((format!("/project/src/module_{number}.rs"), text(number)))?;
        }
        transaction.commit()?;
    }
    Ok(connection)
}

/// The best 10 that contain any of the words.
fn plain_search(connection: &Connection, words: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let any = words.replace(' ', " OR ");
    let sql = "SELECT path, snippet(file, 1, '[', ']', '…', 16) FROM file
               WHERE file MATCH ?1 ORDER BY rank LIMIT 10";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([any], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn search(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("the system has a temporary folder");
    let path = folder.path().join("store.sqlite");
    let store = Store::open(&path.to_string_lossy()).expect("the folder is writable");
    fill(&store);
    store.search(&SearchQuery::new("first")).expect("the index is filled");
    let plain = plain(&folder.path().join("plain.sqlite")).expect("the folder is writable");
    let mut group = criterion.benchmark_group("search");
    for (share, words) in SEARCHES {
        let query = SearchQuery::new(words);
        samples::measure(&mut group, ("search", "store"), share, || {
            store.search(black_box(&query))
        });
        samples::measure(&mut group, ("search", "plain"), share, || {
            plain_search(&plain, black_box(words))
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = search
}
criterion_main!(benches);
