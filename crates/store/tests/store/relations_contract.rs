//! The contract of the index of relations: one body per rule, run on every backend.

use std::sync::Arc;

use crate::backends::on_each_backend;
use crate::ops::{file, item_list, op, put, splice};
use base::markdown::link_key;
use base::object::{
    AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, Source, Timestamp, TxId, file_fields,
};
use proptest::prelude::*;
use serde_json::json;
use store::{Backend, Expected, PlacedRelation, RelationKind, SqliteBackend, Version};

const T: Timestamp = Timestamp(1_000);

fn index(backend: &dyn Backend) -> &SqliteBackend {
    let index = backend.upkeep().unwrap();
    index.index_relations(None).unwrap();
    index
}

fn note(path: &str, text: Option<&str>) -> store::Put {
    let mut put = put(file(path), text.unwrap_or_default(), Expected::Any);
    put.fields = file_fields(path, text);
    put.content = text.map(|text| (Hash::of(text), text.to_owned()));
    if text.is_none() {
        put.fields.insert("no_content".into(), json!("deleted"));
    }
    let payload = Payload {
        content: text.map(str::to_owned),
        fields: put.fields.clone(),
        ..Payload::default()
    };
    put.content_hash = payload.content_hash(None).unwrap();
    put
}

fn write(backend: &dyn Backend, path: &str, text: Option<&str>) -> TxId {
    backend.commit(&[op(note(path, text))], T).unwrap().tx_id
}

/// `path since: written` of each.
fn shown(relations: &[PlacedRelation]) -> Vec<String> {
    let show = |placed: &PlacedRelation| {
        let PlacedRelation { since, relation, .. } = placed;
        format!("{} {since}: {}", relation.place.full_path(), relation.key())
    };
    relations.iter().map(show).collect()
}

#[test]
fn an_empty_store_has_no_relations() {
    on_each_backend(|backend| {
        let index = index(backend);
        assert_eq!(index.relations_of(&ObjectId::new("a"), AsOf::Latest).unwrap(), []);
        assert_eq!(index.relations_to(&[RelationKind::Path], "a", AsOf::Latest).unwrap(), []);
    });
}

#[test]
fn relations_are_those_of_the_version_visible_at_the_time() {
    on_each_backend(|backend| {
        let first = write(backend, "/v/a.md", Some("[[b]]"));
        write(backend, "/v/b.md", Some("none"));
        let second = write(backend, "/v/a.md", Some("x\n[[c]]"));
        let (id, index) = (file("/v/a.md").id, index(backend));
        let of = |at| shown(&index.relations_of(&id, at).unwrap());
        assert_eq!(
            of(AsOf::Tx(first)),
            [format!("path {first}: a"), format!("content {first}: b")]
        );
        assert_eq!(of(AsOf::Latest), [format!("path {second}: a"), format!("content {second}: c")]);
        assert_eq!(of(AsOf::Tx(TxId(0))), [""; 0]);
        let to = |key, at| index.relations_to(&[RelationKind::Wikilink], key, at).unwrap();
        assert_eq!(to("b", AsOf::Latest), []);
        let then = to("b", AsOf::Tx(TxId(second.0 - 1)));
        assert_eq!((&then[0].from, then[0].version, then[0].since), (&id, first, first));
        assert_eq!(to("c", AsOf::Time(T)).len(), 1);
    });
}

#[test]
fn versions_with_equal_relations_keep_the_first_as_their_start() {
    on_each_backend(|backend| {
        let first = write(backend, "/v/a.md", Some("[[b]] one"));
        let second = write(backend, "/v/a.md", Some("[[b]] two"));
        let found = index(backend).relations_of(&file("/v/a.md").id, AsOf::Latest).unwrap();
        assert_eq!((found[1].since, found[1].version), (first, second));
    });
}

#[test]
fn a_deleted_file_has_no_relations() {
    on_each_backend(|backend| {
        let there = write(backend, "/v/A b.md", Some("text"));
        write(backend, "/v/A b.md", None);
        let paths = |at| index(backend).relations_to(&[RelationKind::Path], "a b", at).unwrap();
        assert_eq!(paths(AsOf::Tx(there)).len(), 1);
        assert_eq!(paths(AsOf::Latest), []);
    });
}

#[test]
fn items_have_relations_from_their_transaction_to_their_end() {
    on_each_backend(|backend| {
        let item =
            |id: &str| json!({"content": {"object": id, "version": Hash::of(id)}}).to_string();
        let commit = |put| backend.commit(&[op(put)], T).unwrap().tx_id;
        let list = item_list(&[], &[&item("a"), "no json", &item("b")]);
        let first = commit(splice(0, &list, Expected::Any));
        let branch = item_list(&list[..2], &[&item("c"), &item("d")]);
        let second = commit(splice(2, &branch, Expected::Any));
        let third = commit(splice(1, &branch[..1], Expected::Any));
        let (id, index) = (ObjectId::chat("s"), index(backend));
        let of = |at| shown(&index.relations_of(&id, AsOf::Tx(at)).unwrap());
        let a = format!("items[0].content {first}: a");
        assert_eq!(of(first), [a.clone(), format!("items[2].content {first}: b")]);
        let (c, d) =
            (format!("items[2].content {second}: c"), format!("items[3].content {second}: d"));
        assert_eq!(of(second), [a.clone(), c, d]);
        assert_eq!(of(third), [a]);
        let to = |key, at| index.relations_to(&[RelationKind::Static], key, at).unwrap();
        assert_eq!(to("a", AsOf::Latest)[0].version, third);
        assert_eq!(to("d", AsOf::Latest), []);
        assert_eq!(to("d", AsOf::Tx(second)).len(), 1);
    });
}

#[test]
fn several_processes_fill_one_index_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let first = SqliteBackend::open(&path).unwrap();
    let put =
        |number: u32| op(note(&format!("/v/{number}.md"), Some(&format!("[[{}]]", number + 1))));
    let puts: Vec<_> = (0..3_000).map(put).collect();
    first.commit(&puts, T).unwrap();
    let stores: Vec<_> = (0..4).map(|_| Arc::new(SqliteBackend::open(&path).unwrap())).collect();
    let threads = stores.iter().cloned().map(|store| {
        std::thread::spawn(move || store.upkeep().unwrap().index_relations(None).unwrap())
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let index = first.upkeep().unwrap();
    for number in (1..3_000).step_by(37) {
        let to = index.relations_to(&[RelationKind::Wikilink], &number.to_string(), AsOf::Latest);
        assert_eq!(to.unwrap().len(), 1, "{number}");
    }
}

/// One step of a random history.
#[derive(Debug, Clone)]
enum Step {
    Note(u8, Option<Vec<u8>>),
    Chat(u8, Vec<u8>),
    Toolcall(u8, Vec<u8>),
    CatchUp,
}

fn step() -> impl Strategy<Value = Step> {
    let links = || prop::collection::vec(0_u8..4, 0..4);
    prop_oneof![
        3 => (0_u8..4, prop::option::of(links())).prop_map(|(note, links)| Step::Note(note, links)),
        3 => (0_u8..4, links()).prop_map(|(keep, add)| Step::Chat(keep, add)),
        2 => (0_u8..3, links()).prop_map(|(id, refs)| Step::Toolcall(id, refs)),
        1 => Just(Step::CatchUp),
    ]
}

fn take(backend: &dyn Backend, step: &Step, list: &mut Vec<store::Item>) {
    let path = |number: &u8| format!("/v/{number}.md");
    match step {
        Step::Note(number, links) => {
            let text = links.as_ref().map(|links| {
                links
                    .iter()
                    .map(|to| {
                        format!(
                            "[[{to}]]
"
                        )
                    })
                    .collect::<Vec<_>>()
                    .concat()
            });
            write(backend, &path(number), text.as_deref());
        }
        Step::Chat(keep, add) => {
            let keep = usize::from(*keep).min(list.len());
            let item = |to: &u8| json!({"content": {"object": file(&path(to)).id, "version": Hash::of("x")}});
            let add: Vec<String> = add.iter().map(|to| item(to).to_string()).collect();
            let add: Vec<&str> = add.iter().map(String::as_str).collect();
            *list = item_list(&list[..keep], &add);
            backend.commit(&[op(splice(keep as u64, list, Expected::Any))], T).unwrap();
        }
        Step::Toolcall(id, refs) => {
            let id = ObjectId::new(format!("t{id}"));
            let envelope = Envelope::unsourced(id, ObjectType::Toolcall).unwrap();
            let mut put = put(envelope, "text", Expected::Any);
            let refs: Vec<ObjectId> = refs.iter().map(|to| file(&path(to)).id).collect();
            put.fields.insert("file_refs".into(), json!(refs));
            put.content_hash = Hash::of(json!(put.fields).to_string());
            backend.commit(&[op(put)], T).unwrap();
        }
        Step::CatchUp => {
            backend.upkeep().unwrap().index_relations(None).map(drop).unwrap();
        }
    }
}

/// A relation as the model has it: its kind and key, the version that has it, and since when.
type Plain = (RelationKind, String, TxId, TxId);

/// The model: the relations of an object at a time, told from what the steps write and the backend
/// reads back.
fn plainly(backend: &dyn Backend, id: &ObjectId, at: AsOf) -> Vec<Plain> {
    let Some(version) = backend.get(id, at).unwrap() else { return Vec::new() };
    let standing = written(backend, &version);
    // Equal relations stand since the first of the versions that have them one after another.
    let earlier = backend.history(id).unwrap().into_iter().filter(|one| one.tx_id < version.tx_id);
    let same = earlier.take_while(|earlier| written(backend, earlier) == standing);
    let since = same.map(|earlier| earlier.tx_id).last().unwrap_or(version.tx_id);
    let found = standing.into_iter().map(|(kind, key)| (kind, key, version.tx_id, since));
    let stands = |from: TxId, until: Option<TxId>| {
        from <= version.tx_id && until.is_none_or(|until| version.tx_id < until)
    };
    let items = backend.placed_items(id, 0..99).unwrap().into_iter();
    let items = items.filter(|placed| stands(placed.from, placed.until)).map(|placed| {
        let item: serde_json::Value = serde_json::from_str(&placed.item.text).unwrap();
        let to = item["content"]["object"].as_str().unwrap().to_owned();
        (RelationKind::Static, to, version.tx_id, placed.from)
    });
    found.chain(items).collect()
}

/// The relations that a version of the steps has: that a note is there, its links, the references
/// of a toolcall.
fn written(backend: &dyn Backend, version: &Version) -> Vec<(RelationKind, String)> {
    let text = version.content.as_ref().map(|hash| backend.content(hash).unwrap().unwrap());
    match (version.envelope.kind, text) {
        (ObjectType::File, Some(text)) => {
            let path = version.envelope.source.as_ref().and_then(Source::path).unwrap();
            let there = (RelationKind::Path, link_key(path));
            let links = text.lines().map(|line| line.trim_matches(['[', ']']).to_owned());
            [there].into_iter().chain(links.map(|to| (RelationKind::Wikilink, to))).collect()
        }
        (ObjectType::Toolcall, _) => {
            let refs = version.fields["file_refs"].as_array().unwrap().iter();
            refs.map(|to| (RelationKind::Dynamic, to.as_str().unwrap().to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

fn plain(placed: &PlacedRelation) -> Plain {
    (placed.relation.kind, placed.relation.key(), placed.version, placed.since)
}

/// Compares an index with the model, at every time.
fn compare(backend: &dyn Backend) {
    let index = index(backend);
    let files = (0..4).map(|number| file(&format!("/v/{number}.md")).id);
    let calls = (0..3).map(|number| ObjectId::new(format!("t{number}")));
    let mut ids: Vec<ObjectId> = files.chain(calls).chain([ObjectId::chat("s")]).collect();
    ids.sort();
    for tx in 0..=backend.newest().unwrap().0.0 {
        let at = AsOf::Tx(TxId(tx));
        let mut all = Vec::new();
        for id in &ids {
            let expected = plainly(backend, id, at);
            let found: Vec<Plain> = index.relations_of(id, at).unwrap().iter().map(plain).collect();
            assert_eq!(found, expected, "{id} {at}");
            all.extend(expected);
        }
        let linking = [RelationKind::Wikilink, RelationKind::Path];
        let by_id = ids.iter().map(|id| (&RelationKind::LISTED[..], id.as_str()));
        for (kinds, key) in by_id.chain(["0", "1", "2", "3"].map(|key| (&linking[..], key))) {
            let fits = |one: &&Plain| kinds.contains(&one.0) && one.1 == key;
            let expected: Vec<Plain> = all.iter().filter(fits).cloned().collect();
            let found: Vec<Plain> =
                index.relations_to(kinds, key, at).unwrap().iter().map(plain).collect();
            assert_eq!(found, expected, "{key} {at}");
        }
    }
}

proptest! {
    #![proptest_config(testing::cases::config(16, 1))]

    #[test]
    fn an_index_has_relations_of_all_times_however_it_was_filled(
        steps in prop::collection::vec(step(), 1..14)
    ) {
        on_each_backend(|backend| {
            let mut list = Vec::new();
            for step in &steps {
                take(backend, step, &mut list);
            }
            compare(backend);
        });
    }
}
