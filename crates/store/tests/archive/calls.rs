//! Machines whose providers repeat the IDs of calls continue each other's sessions and take in what
//! the others have, in any order: each keeps every call once, and its items name the right ones.

use std::collections::BTreeMap;

use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, TxId};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use store::archive::Taking;
use store::{ArchiveScope, ImportOptions};

use crate::world::World;

#[derive(Debug, Clone)]
enum Step {
    /// A call in a session that the machine has, or in its own; with it the session names some
    /// calls from before.
    Call { session: Index, provider: u8, named: Vec<Index> },
    /// It takes in all that another has, or one session.
    Take { from: usize, session: Option<Index> },
    /// It takes in what another wrote since the last time, in pages.
    Pull { from: usize, page: usize },
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let from = 0..3usize;
    let session = prop::option::of(any::<Index>());
    let step = prop_oneof![
        5 => (any::<Index>(), 0..2u8, prop::collection::vec(any::<Index>(), 0..3))
            .prop_map(|(session, provider, named)| Step::Call { session, provider, named }),
        2 => (from.clone(), session).prop_map(|(from, session)| Step::Take { from, session }),
        2 => (from, 1..9usize).prop_map(|(from, page)| Step::Pull { from, page }),
    ];
    (0..3usize, step)
}

/// The calls that a document's items name, each with its number.
fn named(world: &World, document: &ObjectId) -> Vec<(ObjectId, i64)> {
    let mut named = Vec::new();
    if world.store.get(document, AsOf::Latest).unwrap().is_none() {
        return named;
    }
    for item in world.store.items(document, AsOf::Latest, 0..u64::MAX).unwrap() {
        let item: Value = serde_json::from_str(&item).unwrap();
        let one = item["content"].get("object").or(item.get("object"));
        let ids = one.into_iter().chain(item["objects"].as_array().into_iter().flatten());
        let numbers = item["numbers"].as_array().unwrap();
        named.extend(
            ids.zip(numbers).map(|(id, number)| {
                (ObjectId::new(id.as_str().unwrap()), number.as_i64().unwrap())
            }),
        );
    }
    named
}

fn fields(world: &World, id: &ObjectId) -> Option<serde_json::Map<String, Value>> {
    world.store.get(id, AsOf::Latest).unwrap().map(|version| version.fields)
}

fn keys(world: &World) -> Vec<String> {
    let sessions = world.store.list(ObjectType::Session, None, 99).unwrap();
    let key = |id: &ObjectId| id.as_str()["session:".len()..].to_owned();
    sessions.iter().map(|version| key(&version.envelope.id)).collect()
}

fn call(world: &World, key: &str, provider: u8, earlier: &[Index], number: i64) {
    let chat = ObjectId::chat(key);
    let names = named(world, &chat);
    let Value::Object(fields_of_call) = json!({
        "tool": "bash", "args": { "number": number }, "chat_ref": chat, "position": names.len(),
    }) else {
        unreachable!()
    };
    let mut id = ObjectId::new(format!("call_{provider}"));
    if fields(world, &id).is_some() {
        id = ObjectId::new(format!("made-{number}"));
    }
    let payload = Payload { fields: fields_of_call, ..Payload::default() };
    world.put(Envelope::unsourced(id.clone(), ObjectType::Toolcall).unwrap(), &payload);
    // As they are written: what names a call stands behind the message.
    let version = world.store.require(&id, AsOf::Latest).unwrap().content_hash;
    let shown = format!(r#""object":"{id}","version":"{version}""#);
    let message = format!(r#"{{"numbers":[{number}],"content":{{{shown}}}}}"#);
    let mut events = vec![format!(r#"{{{shown},"numbers":[{number}]}}"#)];
    if !names.is_empty() {
        let chosen: Vec<_> = earlier.iter().map(|at| at.get(&names[..]).clone()).collect();
        let (objects, numbers): (Vec<_>, Vec<_>) = chosen.into_iter().unzip();
        events.push(json!({ "objects": objects, "numbers": numbers }).to_string());
    }
    world.session(key, &events, Some((u64::MAX, vec![message])));
}

fn check(world: &World) {
    world.verify();
    let mut known = BTreeMap::new();
    for version in world.store.list(ObjectType::Toolcall, None, 999).unwrap() {
        let id = version.envelope.id;
        let twice = known.insert(version.fields["args"]["number"].as_i64().unwrap(), id.clone());
        assert_eq!(twice, None, "`{id}` stands twice");
    }
    for key in keys(world) {
        for document in [ObjectId::chat(&key), ObjectId::session(&key)] {
            for (id, number) in named(world, &document) {
                assert_eq!(known.get(&number), Some(&id), "{number} in {document}");
            }
        }
    }
}

proptest! {
    #![proptest_config(testing::cases::config(12, 1))]

    #[test]
    fn machines_keep_every_call_once_and_name_it_rightly(
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let machines = [World::in_memory(), World::in_memory(), World::in_memory()];
        let mut pulled = BTreeMap::<(usize, usize), TxId>::new();
        for (number, (at, step)) in (0..).zip(steps) {
            let here = &machines[at];
            match step {
                Step::Call { session, provider, named } => {
                    let mut keys = keys(here);
                    keys.push(format!("own{at}"));
                    call(here, &keys[session.index(keys.len())], provider, &named, number);
                }
                Step::Take { from, session } => {
                    let there = keys(&machines[from]);
                    let scope = match session.filter(|_| !there.is_empty()) {
                        Some(session) => {
                            ArchiveScope::Session(ObjectId::session(&there[session.index(there.len())]))
                        }
                        None => ArchiveScope::Everything,
                    };
                    here.import(&machines[from].export(scope));
                }
                Step::Pull { from, page } if from != at => {
                    let options = ImportOptions::default();
                    let taking = Taking { redact: false, nicknames: &[], options: &options };
                    let after = pulled.entry((at, from)).or_insert(TxId(0));
                    let there = &machines[from].store;
                    loop {
                        let versions = there.changes(*after, page).unwrap();
                        let Some(last) = versions.last() else { break };
                        *after = last.tx_id;
                        here.store.take(there, versions, taking, &mut |_| Ok(())).unwrap();
                    }
                }
                Step::Pull { .. } => {}
            }
            check(here);
        }
    }
}

#[test]
fn calls_with_hundreds_of_marks_are_taken_one_by_one() {
    let there = World::in_memory();
    let mut calls = Vec::new();
    let mut id = "call_1".to_owned();
    for number in 0..600 {
        let chat = ObjectId::chat(&number.to_string());
        id = format!("{id}~{}", &Hash::of(chat.as_str()).as_str()[..8]);
        calls.push((ObjectId::new(id.as_str()), chat));
    }
    // The longest first: each would ask for the one before.
    for (id, chat) in calls.iter().rev() {
        let Value::Object(fields) = json!({ "tool": "bash", "chat_ref": chat, "position": 0 })
        else {
            unreachable!()
        };
        let payload = Payload { fields, ..Payload::default() };
        there.put(Envelope::unsourced(id.clone(), ObjectType::Toolcall).unwrap(), &payload);
    }
    let here = World::in_memory();
    let imported = here.import(&there.export(ArchiveScope::Everything));
    assert_eq!((imported.versions, imported.left_out.len()), (600, 0));
}
