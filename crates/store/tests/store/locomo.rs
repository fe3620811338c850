//! How well a search answers questions: LoCoMo (`tests/common/conversations.rs`), each conversation
//! in its own store, whose objects are its sessions, then its turns: date, `speaker: text`, caption
//! of the image. The search is the question's text alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::object::{Envelope, ObjectId, ObjectType, Payload};
use store::{Expected, Expression, SearchFilter, SqliteBackend, Store};

use testing::conversations::{Conversation, RANKS, Recalls, conversations};

/// Recall of sessions and turns at 5 and 10, some points under what was measured: 86.8, 94.2; 57.5,
/// 65.6 %.
const FLOORS: [(&str, [f64; 2]); 2] = [("sessions", [84.0, 92.0]), ("turns", [55.0, 63.0])];

#[test]
fn questions_find_their_evidence() {
    let Some(conversations) = conversations() else { return };
    for ((name, floors), of_sessions) in FLOORS.into_iter().zip([true, false]) {
        let mut recalls = Recalls::default();
        for conversation in &conversations {
            recall(conversation, of_sessions, &mut recalls);
        }
        recalls.print(name);
        for ((found, floor), rank) in recalls.means().into_iter().zip(floors).zip(RANKS) {
            assert!(found >= floor, "{name} at {rank}: {found:.1} < {floor}");
        }
    }
}

fn recall(conversation: &Conversation, of_sessions: bool, recalls: &mut Recalls) {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for turn in &conversation.turns {
        let id = if of_sessions { turn.session() } else { &turn.id };
        let text = texts.entry(id).or_insert_with(|| format!("{}\n", turn.date));
        text.push_str(&turn.line);
        text.push('\n');
    }
    let folder = tempfile::tempdir().unwrap();
    let backend = Arc::new(SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap());
    fill(&Store::with_backend(backend.clone()), &texts);
    backend.index_texts(None).unwrap();
    for question in &conversation.questions {
        let found = search(&backend, &question.text);
        recalls.add(question, question.recall(&found, of_sessions));
    }
}

fn fill(store: &Store, texts: &BTreeMap<&str, String>) {
    let mut transaction = store.begin();
    for (id, text) in texts {
        let envelope = Envelope::unsourced(ObjectId::new(*id), ObjectType::ChatSegment).unwrap();
        let payload = Payload { content: Some(text.clone()), ..Payload::default() };
        transaction.put(envelope, payload, Expected::Any).unwrap();
    }
    transaction.commit().unwrap();
}

/// Without the lines that a hit shows: they take longer than the rest.
fn search(index: &SqliteBackend, question: &str) -> Vec<String> {
    let expression = Expression::parse(question).unwrap();
    let found = index.find_rows(&expression, &SearchFilter::default(), RANKS[1]).unwrap();
    found.best.into_iter().map(|found| found.id.as_str().to_owned()).collect()
}
