//! An index filled bit by bit, between random writes, against one built at once: both find the
//! same.

use std::collections::BTreeMap;
use std::path::Path;

use base::object::{AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, Source};
use proptest::prelude::*;
use serde_json::json;
use store::{Expected, SearchHit, SearchQuery, Store};

/// Words in several forms and scripts, some of which share terms.
const WORDS: [&str; 14] = [
    "store",
    "stores",
    "versionStore",
    "version_store",
    "src/store.rs",
    "epoch",
    "Epoche",
    "数据库",
    "据库",
    "tx2",
    "the",
    "2",
    "don't",
    "ÉPOCH",
];

const QUERIES: [&str; 16] = [
    "store",
    "versionStore",
    "versionstore",
    "\"version store\"",
    "epoch store",
    "store -epoch",
    "据",
    "数据库",
    "sto*",
    "tx*",
    "the",
    "the store 2",
    "src/store.rs tx2",
    "-tx epoch \"the store\"",
    "nothing",
    "label",
];

#[derive(Debug, Clone)]
enum Step {
    Put { object: usize, words: Vec<usize>, note: Option<usize> },
    Splice { keep: u64, add: Vec<Vec<usize>> },
    Name { nickname: usize, object: Option<usize> },
    Search,
    Reopen,
}

fn text(words: &[usize]) -> String {
    let words: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
    words.join(if words.len().is_multiple_of(3) { "\n" } else { " " })
}

fn object(index: usize) -> Envelope {
    let source = |path: &str| Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    match index {
        0 => Envelope::sourced(ObjectType::File, source("/a/store.rs")).unwrap(),
        1 => Envelope::sourced(ObjectType::File, source("/b")).unwrap(),
        2 => Envelope::unsourced(ObjectId::new("call_0"), ObjectType::Toolcall).unwrap(),
        _ => Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap(),
    }
}

/// Applies a step to a store; what is refused is refused by both.
fn apply(store: &Store, step: &Step) {
    let mut transaction = store.begin();
    match step {
        Step::Put { object: index, words, note } => {
            let mut payload = Payload { content: Some(text(words)), ..Payload::default() };
            if let Some(note) = note {
                payload.fields.insert("remark".into(), json!(WORDS[*note]));
                payload.fields.insert("chat_ref".into(), json!("chat:s"));
            }
            transaction.put(object(*index), payload, Expected::Any).unwrap();
        }
        Step::Splice { keep, add } => {
            let envelope = object(3);
            let latest = store.get(&envelope.id, AsOf::Latest).unwrap();
            let count = latest.as_ref().map_or(0, |version| version.item_count);
            let expected =
                latest.map_or(Expected::Absent, |version| Expected::Latest(version.tx_id));
            let item = |words: &Vec<usize>| {
                json!({ "turn": 1, "message": { "role": "user", "content": text(words) } })
                    .to_string()
            };
            let add = add.iter().map(item).collect();
            let keep = (*keep).min(count);
            transaction.splice(envelope, Payload::default(), keep, add, expected).unwrap();
        }
        Step::Name { nickname, object: index } => {
            let nickname = Nickname::parse(["label-store", "label-two"][*nickname]).unwrap();
            transaction.name(nickname, index.map(|index| object(index).id));
        }
        Step::Search | Step::Reopen => return,
    }
    drop(transaction.commit());
}

fn search(store: &Store, query: &str, edit: impl Fn(&mut SearchQuery)) -> Vec<SearchHit> {
    let mut query = SearchQuery { limit: 1_000, ..SearchQuery::new(query) };
    edit(&mut query);
    let found = store.search(&query).unwrap();
    assert!(found.is_complete && found.unindexed == 0);
    assert_eq!(found.total, found.hits.len() as u64);
    assert!(found.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    found.hits
}

/// Hits without their order, and their scores apart.
fn keyed(hits: Vec<SearchHit>) -> BTreeMap<String, (SearchHit, f64)> {
    let key = |hit: &SearchHit| format!("{} {:?} {} {:?}", hit.id, hit.part, hit.tx_id, hit.lines);
    hits.into_iter()
        .map(|hit| (key(&hit), (SearchHit { score: 0.0, ..hit.clone() }, hit.score)))
        .collect()
}

fn compare(one: &Store, other: &Store) {
    for query in QUERIES {
        for all_versions in [false, true] {
            for (session, prefix) in [(None, None), (Some("s"), None), (None, Some("/a/"))] {
                let edit = |query: &mut SearchQuery| {
                    query.filter.all_versions = all_versions;
                    query.filter.session = session.map(str::to_owned);
                    query.filter.path_prefix = prefix.map(str::to_owned);
                };
                let (one, other) = (search(one, query, edit), search(other, query, edit));
                assert_eq!(one.len(), other.len(), "{query}: {one:#?} {other:#?}");
                let (one, other) = (keyed(one), keyed(other));
                assert_eq!(
                    one.keys().collect::<Vec<_>>(),
                    other.keys().collect::<Vec<_>>(),
                    "{query}"
                );
                for (key, (hit, score)) in &one {
                    let (other_hit, other_score) = &other[key];
                    assert_eq!(hit, other_hit, "{query}");
                    assert!(
                        (score - other_score).abs() < 1e-6 * score,
                        "{query}: {key}: {score} {other_score}"
                    );
                }
            }
        }
    }
}

fn open(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

fn check(steps: &[Step]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let (at_once, mut file) = (Store::open(":memory:").unwrap(), open(&path));
    for step in steps {
        apply(&at_once, step);
        apply(&file, step);
        match step {
            Step::Search => drop(search(&file, "store", |_| {})),
            Step::Reopen => {
                file.close().unwrap();
                file = open(&path);
            }
            _ => {}
        }
    }
    compare(&at_once, &file);
}

fn words() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..WORDS.len(), 0..8)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..3_usize, words(), prop::option::of(0..WORDS.len()))
            .prop_map(|(object, words, note)| Step::Put { object, words, note }),
        4 => (0..5_u64, prop::collection::vec(words(), 0..3))
            .prop_map(|(keep, add)| Step::Splice { keep, add }),
        1 => (0..2_usize, prop::option::of(0..4_usize))
            .prop_map(|(nickname, object)| Step::Name { nickname, object }),
        3 => Just(Step::Search),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(testing::cases::config(6, 1))]

    #[test]
    fn the_index_finds_what_a_scan_finds_after_any_writes(steps in prop::collection::vec(step(), 1..16)) {
        check(&steps);
    }
}
