//! How well a search finds what a question is about: LoCoMo, long conversations with questions (Maharana et al., 2024).
//!
//! Each conversation is a store of its own; the objects are its sessions, then its turns: date, `speaker: text`, caption of
//! the image. The question's text alone is the search. Recall is the share of the question's evidence among the first 5 or
//! 10 hits, the mean over the questions; adversarial questions (category 5) and those without evidence are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use palimpsest::object::{Envelope, ObjectId, ObjectType, Payload};
use palimpsest::store::{Expected, Expression, SearchFilter, SearchIndex, SqliteBackend, Store};
use serde_json::Value;

/// Ranks up to which recall is counted.
const RANKS: [usize; 2] = [5, 10];

/// Categories of questions that are counted.
const CATEGORIES: [(u64, &str); 4] =
    [(1, "multi-hop"), (2, "temporal"), (3, "open-domain"), (4, "single-hop")];

/// Recall of sessions and turns at 5 and 10, some points under what was measured: 86.8, 94.2; 57.5, 65.6 %.
const FLOORS: [(&str, [f64; 2]); 2] = [("sessions", [84.0, 92.0]), ("turns", [55.0, 63.0])];

#[test]
fn questions_find_their_evidence() {
    let Some(file) = crate::data::find("locomo-dev.json") else { return };
    let conversations: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    for ((name, floors), of_sessions) in FLOORS.into_iter().zip([true, false]) {
        let mut recalls: BTreeMap<u64, Vec<[f64; 2]>> = BTreeMap::new();
        for conversation in &conversations {
            for (category, recall) in recall(conversation, of_sessions) {
                recalls.entry(category).or_default().push(recall);
            }
        }
        for (category, label) in CATEGORIES {
            say(&format!("{name:8} {label:12} {}", row(&recalls[&category])));
        }
        let all: Vec<[f64; 2]> = recalls.into_values().flatten().collect();
        say(&format!("{name:8} {:12} {}", "all", row(&all)));
        for (place, floor) in floors.into_iter().enumerate() {
            let found = mean(&all, place);
            assert!(found >= floor, "{name} at {}: {found:.1} < {floor}", RANKS[place]);
        }
    }
}

/// The recall of each question of a conversation at each rank, with the question's category.
fn recall(conversation: &Value, of_sessions: bool) -> Vec<(u64, [f64; 2])> {
    let turns = turns(&conversation["conversation"]);
    let name = |id: &str| if of_sessions { session_of(id).to_owned() } else { id.to_owned() };
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for Turn { id, date, line } in &turns {
        let text = texts.entry(name(id)).or_insert_with(|| format!("{date}\n"));
        text.push_str(line);
        text.push('\n');
    }
    let folder = tempfile::tempdir().unwrap();
    let backend = Arc::new(SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap());
    fill(&Store::with_backend(backend.clone()), &texts);
    backend.catch_up().unwrap();
    let known: BTreeSet<&str> = turns.iter().map(|turn| &*turn.id).collect();
    let questions = conversation["qa"].as_array().unwrap().iter();
    let counted = questions.filter_map(|question| {
        let evidence = evidence(&question["evidence"]);
        let evidence = evidence.iter().filter(|id| known.contains(&***id));
        let wanted: BTreeSet<String> = evidence.map(|id| name(id)).collect();
        let category = question["category"].as_u64().unwrap();
        (category != 5 && !wanted.is_empty()).then(|| {
            let found = search(&*backend, question["question"].as_str().unwrap());
            let share = |rank: usize| {
                let first = found.iter().take(rank).filter(|id| wanted.contains(*id));
                count(first.count()) / count(wanted.len())
            };
            (category, RANKS.map(share))
        })
    });
    counted.collect()
}

struct Turn {
    /// Such as `D3:12`: the twelfth turn of session 3.
    id: String,
    date: String,
    line: String,
}

fn turns(conversation: &Value) -> Vec<Turn> {
    let sessions = (1..).map(|number| format!("session_{number}"));
    let mut turns = Vec::new();
    for key in sessions.take_while(|key| conversation.get(format!("{key}_date_time")).is_some()) {
        let date = conversation[format!("{key}_date_time")].as_str().unwrap();
        for turn in conversation[&key].as_array().into_iter().flatten() {
            let text = |key: &str| turn[key].as_str().unwrap_or_default();
            turns.push(Turn {
                id: text("dia_id").to_owned(),
                date: date.to_owned(),
                line: format!("{}: {} {}", text("speaker"), text("text"), text("blip_caption")),
            });
        }
    }
    turns
}

/// `D3` of `D3:12`.
fn session_of(id: &str) -> &str {
    id.split_once(':').map_or(id, |(session, _)| session)
}

/// IDs of turns: an entry may hold several (`D8:6; D9:17`), and some have a colon too many (`D:11:26`).
fn evidence(entries: &Value) -> BTreeSet<String> {
    let entries = entries.as_array().into_iter().flatten().filter_map(Value::as_str);
    let ids = entries.flat_map(|entry| entry.split(|sign: char| ";, ".contains(sign)));
    ids.map(|id| id.replace("D:", "D")).filter(|id| id.contains(':')).collect()
}

fn fill(store: &Store, texts: &BTreeMap<String, String>) {
    let mut transaction = store.begin();
    for (id, text) in texts {
        let envelope = Envelope::unsourced(ObjectId::new(id), ObjectType::ChatSegment).unwrap();
        let payload = Payload { content: Some(text.clone()), ..Payload::default() };
        transaction.put(envelope, &payload, Expected::Any).unwrap();
    }
    transaction.commit().unwrap();
}

/// Without the lines that a hit shows: they take longer than the rest.
fn search(index: &dyn SearchIndex, question: &str) -> Vec<String> {
    let expression = Expression::parse(question).unwrap();
    let found = index.find(&expression, &SearchFilter::default(), RANKS[1]).unwrap();
    found.best.into_iter().map(|found| found.id.as_str().to_owned()).collect()
}

fn row(recalls: &[[f64; 2]]) -> String {
    let ranks = RANKS.iter().enumerate();
    let shown: Vec<String> =
        ranks.map(|(place, rank)| format!("@{rank} {:5.1} %", mean(recalls, place))).collect();
    format!("{:4} questions  {}", recalls.len(), shown.join("  "))
}

fn mean(recalls: &[[f64; 2]], place: usize) -> f64 {
    100.0 * recalls.iter().map(|recall| recall[place]).sum::<f64>() / count(recalls.len())
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred questions")]
fn count(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::print_stderr, reason = "the table is what the test is run for")]
fn say(line: &str) {
    eprintln!("{line}");
}
