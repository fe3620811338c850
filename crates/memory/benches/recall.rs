//! Searches 30 past sessions of a few thousand characters each, once as objects in a store and once
//! as topic files in memory, beside one FTS5 table on rusqlite with FTS5's own snippets, in the
//! same run.

#![expect(clippy::print_stdout, reason = "`npm run bench` reads the percentiles")]

#[path = "../../../benches/common/samples.rs"]
mod samples;

use std::cell::Cell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use base::object::{Envelope, ObjectId, ObjectType, Payload};
use criterion::{Criterion, criterion_group, criterion_main};
use memory::{Folders, Memory, RecallOptions};
use rusqlite::Connection;
use store::{Expected, SearchQuery, Store};

/// Sessions, and turns of each.
const SESSIONS: (usize, usize) = (30, 22);

/// Words of a turn.
const WORDS: usize = 25;

/// Words of a question.
const QUESTION: usize = 6;

/// Pseudo-random numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    /// A word: few are common and most are rare, as in speech.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "ba", "ten", "ri", "mo", "lar", "su", "ke", "vin", "do", "pe", "gar", "li", "nu",
            "shi", "fo", "ta",
        ];
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = self.0 >> 33;
        let mut rank = 4_000 / (1 + random % 2_000);
        rank += (self.0 >> 50) % (1 + rank);
        let mut word = String::new();
        for shift in [0, 4, 8] {
            word.push_str(SYLLABLES[usize::try_from((rank >> shift) & 15).unwrap_or_default()]);
        }
        word
    }

    fn words(&mut self, count: usize) -> String {
        (0..count).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }
}

/// The sessions as Markdown.
fn sessions() -> Vec<String> {
    let mut numbers = Numbers(7);
    let session = |number: usize| {
        let mut text = format!("# {} May 2023\n\n", number + 1);
        for turn in 0..SESSIONS.1 {
            let speaker = if turn % 2 == 0 { "Ann" } else { "Bob" };
            let end = if turn % 3 == 0 { "?" } else { "." };
            let _ = writeln!(text, "- {speaker}: {}{end}", numbers.words(WORDS));
        }
        text
    };
    (0..SESSIONS.0).map(session).collect()
}

fn store(path: &Path, sessions: &[String]) -> Store {
    let store = Store::open(&path.to_string_lossy()).expect("the folder is writable");
    let mut transaction = store.begin();
    for (number, text) in sessions.iter().enumerate() {
        let id = ObjectId::new(format!("session_{number}"));
        let envelope = Envelope::unsourced(id, ObjectType::ChatSegment).expect("it has no source");
        let payload = Payload { content: Some(text.clone()), ..Payload::default() };
        transaction.put(envelope, payload, Expected::Any).expect("the put is sound");
    }
    transaction.commit().expect("the store is writable");
    store
}

fn memory(folder: &Path, sessions: &[String]) -> Memory {
    let files = folder.join("memory");
    std::fs::create_dir(&files).expect("the folder is writable");
    for (number, text) in sessions.iter().enumerate() {
        let file = files.join(format!("session-{number}.md"));
        std::fs::write(file, text).expect("the folder is writable");
    }
    Memory::new(Folders::new(Some(folder), None, false))
}

fn plain(path: &Path, sessions: &[String]) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "CREATE VIRTUAL TABLE session USING fts5 (content, tokenize = 'porter unicode61');",
    )?;
    for text in sessions {
        connection.execute("INSERT INTO session VALUES (?1)", [text])?;
    }
    Ok(connection)
}

fn plain_search(connection: &Connection, question: &str) -> rusqlite::Result<Vec<String>> {
    let any = question.replace(' ', " OR ");
    let sql = "SELECT snippet(session, 0, '[', ']', '…', 16) FROM session
               WHERE session MATCH ?1 ORDER BY rank LIMIT 10";
    connection.prepare_cached(sql)?.query_map([any], |row| row.get(0))?.collect()
}

fn recall(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("the system has a temporary folder");
    let sessions = sessions();
    let store = store(&folder.path().join("store.sqlite"), &sessions);
    let mut memory = memory(folder.path(), &sessions);
    let plain = plain(&folder.path().join("plain.sqlite"), &sessions).expect("it is writable");
    store.search(&SearchQuery::new("first")).expect("the index is filled");
    let mut numbers = Numbers(11);
    let questions: Vec<String> = (0..200).map(|_| numbers.words(QUESTION)).collect();
    let next = Cell::new(0);
    let question = || {
        next.set(next.get() + 1);
        &*questions[next.get() % questions.len()]
    };
    let mut group = criterion.benchmark_group("recall");
    let options = RecallOptions::default();
    let share = "30 sessions";
    samples::measure(&mut group, ("recall", "store"), share, || {
        store.search(&SearchQuery::new(black_box(question())))
    });
    samples::measure(&mut group, ("recall", "store in memory files"), share, || {
        memory.recall(black_box(question()), &options, None)
    });
    samples::measure(&mut group, ("recall", "plain"), share, || {
        plain_search(&plain, black_box(question()))
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    targets = recall
}
criterion_main!(benches);
