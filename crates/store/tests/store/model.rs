//! SQLite, in memory and in a file, against a model that keeps a whole copy of the store per
//! transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::ops::{content, file, item_list, op, put, splice};
use base::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Origin, Payload, Timestamp, TxId,
};
use proptest::prelude::*;
use store::{Backend, Expected, Item, Op, Outcome, PlacedItem, Put, SqliteBackend, Version};

/// What a put expects, before it is known which versions there are.
#[derive(Debug, Clone, Copy)]
enum Expecting {
    Any,
    Absent,
    Latest,
    Stale(i64),
}

#[derive(Debug, Clone)]
enum Change {
    Put {
        object: usize,
        text: usize,
        /// Text of an additional content.
        additional: Option<usize>,
        /// Transaction in another store, from which the version comes.
        origin: Option<i64>,
        expecting: Expecting,
    },
    Splice {
        keep: u64,
        add: Vec<usize>,
        expecting: Expecting,
    },
    Name {
        nickname: usize,
        object: Option<usize>,
    },
}

#[derive(Debug, Clone)]
enum Step {
    Commit {
        transactions: Vec<Vec<Change>>,
        now: i64,
    },
    Reopen,
    /// Another process opens the store and goes on beside this one.
    OpenTwice,
}

/// Texts below and above the size from which text is compressed.
fn text(index: usize) -> String {
    ["", "a", "b\n", "long enough to be compressed "][index].repeat(if index == 3 { 40 } else { 1 })
}

fn object(index: usize) -> Envelope {
    match index {
        0 => file("/a"),
        1 => file("/b"),
        2 => Envelope::unsourced(ObjectId::new("call_0"), ObjectType::Toolcall).unwrap(),
        _ => Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap(),
    }
}

fn nickname(index: usize) -> Nickname {
    Nickname::parse(["main", "other"][index]).unwrap()
}

#[derive(Debug, Clone)]
struct Document {
    put: Put,
    items: Vec<Item>,
    tx_id: TxId,
    system_time: Timestamp,
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    documents: BTreeMap<ObjectId, Document>,
    nicknames: BTreeMap<String, ObjectId>,
}

/// What became of the operations of several transactions, or the code of the error.
type Outcomes = Result<Vec<Vec<Outcome>>, &'static str>;

/// Every state of the store, by transaction; the first is the empty one.
#[derive(Debug, Clone)]
struct Model {
    states: Vec<(TxId, Timestamp, Snapshot)>,
    /// Versions in the order in which they were written.
    log: Vec<(TxId, ObjectId)>,
    /// Every item that ever stood in the chat.
    placed: Vec<PlacedItem>,
}

impl Model {
    fn new() -> Self {
        let states = vec![(TxId(0), Timestamp(0), Snapshot::default())];
        Self { states, log: Vec::new(), placed: Vec::new() }
    }

    fn newest(&self) -> &(TxId, Timestamp, Snapshot) {
        self.states.last().unwrap()
    }

    fn operations(&self, changes: &[Change]) -> Vec<Op> {
        changes.iter().map(|change| self.operation(change)).collect()
    }

    fn operation(&self, change: &Change) -> Op {
        let documents = &self.newest().2.documents;
        let expected = |id: &ObjectId, expecting| match expecting {
            Expecting::Any => Expected::Any,
            Expecting::Absent => Expected::Absent,
            Expecting::Latest => documents
                .get(id)
                .map_or(Expected::Absent, |document| Expected::Latest(document.tx_id)),
            Expecting::Stale(tx_id) => Expected::Latest(TxId(tx_id)),
        };
        match change {
            Change::Put { object: index, text: content, additional, origin, expecting } => {
                let envelope = object(*index);
                let expected = expected(&envelope.id, *expecting);
                let mut put = put(envelope, &text(*content), expected);
                add_to(&mut put, *additional, *origin);
                op(put)
            }
            Change::Splice { keep, add, expecting } => {
                let id = ObjectId::chat("s");
                let items = documents.get(&id).map_or(&[][..], |document| &document.items);
                let kept = &items[..items.len().min(usize::try_from(*keep).unwrap())];
                let add: Vec<String> = add.iter().map(|index| text(*index)).collect();
                let add: Vec<&str> = add.iter().map(String::as_str).collect();
                op(splice(*keep, &item_list(kept, &add), expected(&id, *expecting)))
            }
            Change::Name { nickname: index, object: target } => {
                Op::Name { nickname: nickname(*index), id: target.map(|index| object(index).id) }
            }
        }
    }

    /// Applies transactions, all or none. Those after the first are made when those before them are
    /// done.
    fn commit_all(
        &mut self,
        transactions: &[Vec<Change>],
        now: Timestamp,
    ) -> (Vec<Vec<Op>>, Outcomes) {
        let mut next = self.clone();
        let (mut all, mut outcomes) = (Vec::new(), Ok(Vec::new()));
        for changes in transactions {
            all.push(next.operations(changes));
            if let Ok(done) = &mut outcomes {
                match next.commit(&all[all.len() - 1], now) {
                    Ok(outcome) => done.push(outcome),
                    Err(code) => outcomes = Err(code),
                }
            }
        }
        // Whatever the store holds, the shape of all is judged first.
        if all.iter().any(|ops| puts_twice(ops)) {
            outcomes = Err("INVALID_ARGUMENT");
        }
        if outcomes.is_ok() {
            *self = next;
        }
        (all, outcomes)
    }

    /// Applies a transaction by the words of the contract; an error is its code.
    fn commit(&mut self, ops: &[Op], now: Timestamp) -> Result<Vec<Outcome>, &'static str> {
        let (newest, newest_time, mut state) = self.newest().clone();
        let (tx_id, system_time) = match self.states.len() {
            1 => (TxId(newest.0 + 1), now),
            _ => (TxId(newest.0 + 1), now.max(newest_time)),
        };
        if puts_twice(ops) {
            return Err("INVALID_ARGUMENT");
        }
        let mut outcomes = vec![Outcome::Written; ops.len()];
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Put(put) = op {
                *outcome = state.put(put, tx_id, system_time)?;
            }
        }
        for (op, outcome) in ops.iter().zip(&mut outcomes) {
            if let Op::Name { nickname, id } = op {
                *outcome = state.name(nickname, id.as_ref(), newest)?;
            }
        }
        if outcomes.contains(&Outcome::Written) {
            self.states.push((tx_id, system_time, state));
        }
        for (op, outcome) in ops.iter().zip(&outcomes) {
            if let (Op::Put(put), Outcome::Written) = (op, outcome) {
                self.note(put, tx_id);
            }
        }
        Ok(outcomes)
    }

    fn note(&mut self, put: &Put, tx_id: TxId) {
        self.log.push((tx_id, put.envelope.id.clone()));
        let Some(splice) = &put.items else { return };
        for placed in &mut self.placed {
            if placed.position >= splice.keep && placed.until.is_none() {
                placed.until = Some(tx_id);
            }
        }
        for (position, item) in (splice.keep..).zip(splice.add.iter().cloned()) {
            self.placed.push(PlacedItem { position, from: tx_id, until: None, item });
        }
        self.placed.sort_by_key(|placed| (placed.position, placed.from));
    }
}

/// Gives a put an additional content and an origin.
fn add_to(put: &mut Put, additional: Option<usize>, origin: Option<i64>) {
    if let Some(index) = additional {
        let payload = Payload {
            content: put.content.as_ref().map(|(_, text)| text.clone()),
            fields: put.fields.clone(),
            additional: BTreeMap::from([("short_summary".to_owned(), text(index))]),
            ..Payload::default()
        };
        put.content_hash = payload.content_hash(None).unwrap();
        put.additional =
            BTreeMap::from([("short_summary".to_owned(), (Hash::of(text(index)), text(index)))]);
    }
    put.origin = origin.map(|tx_id| Origin {
        store_id: "elsewhere".to_owned(),
        tx_id: TxId(tx_id),
        time: Timestamp(100 - tx_id),
    });
}

fn puts_twice(ops: &[Op]) -> bool {
    let puts: Vec<&Put> = ops.iter().filter_map(as_put).collect();
    let ids: BTreeSet<&ObjectId> = puts.iter().map(|put| &put.envelope.id).collect();
    ids.len() < puts.len()
}

impl Snapshot {
    fn put(&mut self, put: &Put, tx_id: TxId, now: Timestamp) -> Result<Outcome, &'static str> {
        let latest = self.documents.get(&put.envelope.id);
        let met = match put.expected {
            Expected::Any => true,
            Expected::Absent => latest.is_none(),
            Expected::Latest(tx_id) => latest.is_some_and(|latest| latest.tx_id == tx_id),
        };
        if !met {
            return Err("CONFLICT");
        }
        if let Some(latest) = latest
            && latest.put.content_hash == put.content_hash
            && latest.put.source_hash == put.source_hash
            && put.origin.is_none()
        {
            return Ok(Outcome::Unchanged(latest.tx_id));
        }
        let mut items = latest.map_or_else(Vec::new, |latest| latest.items.clone());
        if let Some(splice) = &put.items {
            let keep = usize::try_from(splice.keep).unwrap();
            if keep > items.len() {
                return Err("INVALID_ARGUMENT");
            }
            items.truncate(keep);
            items.extend(splice.add.iter().cloned());
        }
        let document = Document { put: put.clone(), items, tx_id, system_time: now };
        self.documents.insert(put.envelope.id.clone(), document);
        Ok(Outcome::Written)
    }

    fn name(
        &mut self,
        nickname: &Nickname,
        id: Option<&ObjectId>,
        newest: TxId,
    ) -> Result<Outcome, &'static str> {
        let owner = self.nicknames.get(nickname.as_str());
        match (owner, id) {
            (None, None) => return Ok(Outcome::Unchanged(newest)),
            (Some(owner), Some(id)) if owner == id => {
                return Ok(Outcome::Unchanged(self.documents[id].tx_id));
            }
            (Some(_), Some(_)) => return Err("INVALID_NICKNAME"),
            (None, Some(id)) if !self.documents.contains_key(id) => {
                return Err("INVALID_ARGUMENT");
            }
            (None, Some(id)) => self.nicknames.insert(nickname.as_str().into(), id.clone()),
            (Some(_), None) => self.nicknames.remove(nickname.as_str()),
        };
        Ok(Outcome::Written)
    }
}

fn as_put(op: &Op) -> Option<&Put> {
    match op {
        Op::Put(put) => Some(put),
        Op::Name { .. } => None,
    }
}

/// Compares everything that can be read with the model.
fn compare(backend: &dyn Backend, model: &Model) {
    let (newest, _, present) = model.newest();
    let mut points = vec![(AsOf::Latest, present)];
    points.push((AsOf::Tx(TxId(newest.0 + 1)), present));
    for (tx_id, _, state) in &model.states {
        points.push((AsOf::Tx(*tx_id), state));
    }
    for time in -1..=12 {
        let visible =
            |(tx_id, at, _): &&(TxId, Timestamp, Snapshot)| *tx_id == TxId(0) || at.0 <= time;
        let (_, _, state) = model.states.iter().rev().find(visible).unwrap();
        points.push((AsOf::Time(Timestamp(time)), state));
    }
    for (at, state) in points {
        for envelope in (0..4).map(object) {
            let document = state.documents.get(&envelope.id);
            compare_version(backend, at, &envelope.id, document);
        }
    }
    for envelope in (0..4).map(object) {
        compare_history(backend, model, &envelope.id);
    }
    for nickname in (0..2).map(nickname) {
        let owner = backend.find_nickname(&nickname).unwrap();
        assert_eq!(owner.as_ref(), present.nicknames.get(nickname.as_str()));
    }
    let ids: Vec<ObjectId> = present.documents.keys().cloned().collect();
    assert_eq!(backend.find_prefix("", 9).unwrap(), ids);
    for id in &ids {
        let owned = present.nicknames.iter().filter(|(_, owner)| *owner == id);
        let names: Vec<Nickname> = owned.map(|(name, _)| Nickname::parse(name).unwrap()).collect();
        assert_eq!(backend.nicknames(id).unwrap(), names);
    }
    compare_log(backend, model);
    for kind in ObjectType::ALL {
        let listed = backend.list(kind, None, 9).unwrap();
        let expected: Vec<TxId> = present
            .documents
            .values()
            .filter(|document| document.put.envelope.kind == kind)
            .map(|document| document.tx_id)
            .collect();
        assert_eq!(listed.iter().map(|version| version.tx_id).collect::<Vec<_>>(), expected);
    }
}

/// The versions in the order in which they were written, in pages, and all items with their places.
fn compare_log(backend: &dyn Backend, model: &Model) {
    for limit in [1, 2, 99] {
        let (mut found, mut after) = (Vec::new(), TxId(0));
        loop {
            let page = backend.changes(after, limit).unwrap();
            let Some(last) = page.last() else { break };
            after = last.tx_id;
            // Whole transactions, no more than reach the limit.
            let before = page.iter().filter(|version| version.tx_id < after).count();
            assert!(before < limit);
            found.extend(page.into_iter().map(|version| (version.tx_id, version.envelope.id)));
        }
        assert_eq!(found, model.log, "in pages of {limit} on {}", backend.name());
    }
    let chat = ObjectId::chat("s");
    assert_eq!(backend.placed_items(&chat, 0..99).unwrap(), model.placed, "{}", backend.name());
    let some: Vec<PlacedItem> =
        model.placed.iter().filter(|placed| (1..3).contains(&placed.position)).cloned().collect();
    assert_eq!(backend.placed_items(&chat, 1..3).unwrap(), some);
}

fn compare_version(backend: &dyn Backend, at: AsOf, id: &ObjectId, document: Option<&Document>) {
    let version = backend.get(id, at).unwrap();
    let items = backend.items(id, at, 0..99).unwrap();
    let Some(document) = document else {
        assert_eq!(version, None, "{id} {at} on {}", backend.name());
        assert_eq!(items, []);
        return;
    };
    let version = version.unwrap_or_else(|| panic!("{id} {at} on {}", backend.name()));
    let Document { put, tx_id, system_time, .. } = document;
    assert_eq!((version.tx_id, version.system_time), (*tx_id, *system_time), "{id} {at}");
    assert_eq!((&version.envelope, &version.fields), (&put.envelope, &put.fields));
    assert_eq!(version.content_hash, put.content_hash);
    assert_eq!(version.source_hash, put.source_hash);
    let own =
        || Origin { store_id: backend.store_id().to_owned(), tx_id: *tx_id, time: *system_time };
    assert_eq!(version.origin, put.origin.clone().unwrap_or_else(own));
    let hashes = put.additional.iter().map(|(name, (hash, _))| (name.clone(), hash.clone()));
    assert_eq!(version.additional, hashes.collect::<BTreeMap<_, _>>());
    for (hash, text) in put.additional.values() {
        assert_eq!(backend.content(hash).unwrap().as_ref(), Some(text));
    }
    assert_eq!(content(backend, &version), put.content.as_ref().map(|(_, text)| text.clone()));
    assert_eq!(items, document.items, "{id} {at} on {}", backend.name());
    assert_eq!(version.item_count, items.len() as u64);
    assert_eq!(
        backend.items(id, at, 1..3).unwrap(),
        items.get(1..).unwrap_or(&[]).iter().take(2).cloned().collect::<Vec<_>>()
    );
}

fn compare_history(backend: &dyn Backend, model: &Model, id: &ObjectId) {
    let found = backend.history(id).unwrap();
    let mut expected: Vec<TxId> = model
        .states
        .iter()
        .filter_map(|(_, _, state)| state.documents.get(id))
        .map(|document| document.tx_id)
        .collect();
    expected.dedup();
    expected.reverse();
    assert_eq!(found.iter().map(|version| version.tx_id).collect::<Vec<_>>(), expected);
    let read = |version: &Version| backend.get(id, AsOf::Tx(version.tx_id)).unwrap();
    assert!(found.iter().all(|version| read(version).as_ref() == Some(version)));
}

fn check(
    steps: &[Step],
    mut backend: Box<dyn Backend>,
    reopen: Option<&dyn Fn() -> Box<dyn Backend>>,
) {
    let mut model = Model::new();
    let mut beside = Vec::new();
    for step in steps {
        match step {
            Step::Commit { transactions, now } => {
                let (all, expected) = model.commit_all(transactions, Timestamp(*now));
                let transactions: Vec<&[Op]> = all.iter().map(Vec::as_slice).collect();
                let found = backend.commit_all(&transactions, Timestamp(*now));
                let (tx_id, system_time, _) = model.newest();
                match (expected, found) {
                    (Ok(outcomes), Ok(receipts)) => {
                        let last = receipts.last().unwrap();
                        assert_eq!((last.tx_id, last.system_time), (*tx_id, *system_time));
                        let found: Vec<_> =
                            receipts.into_iter().map(|receipt| receipt.outcomes).collect();
                        assert_eq!(found, outcomes, "{all:?}");
                    }
                    (Err(code), Err(error)) => assert_eq!(error.code(), code, "{all:?}"),
                    (expected, found) => panic!("{expected:?} but {found:?} for {all:?}"),
                }
                assert_eq!(backend.newest().unwrap(), (model.newest().0, model.newest().1));
            }
            Step::OpenTwice => {
                if let Some(reopen) = reopen {
                    beside.push(std::mem::replace(&mut backend, reopen()));
                }
            }
            Step::Reopen => {
                if let Some(reopen) = reopen {
                    let id = backend.store_id().to_owned();
                    backend.close().unwrap();
                    backend = reopen();
                    assert_eq!(backend.store_id(), id);
                }
            }
        }
    }
    compare(&*backend, &model);
    for other in beside {
        compare(&*other, &model);
    }
    assert_eq!(backend.content(&Hash::of("never stored")).unwrap(), None);
}

fn expecting() -> impl Strategy<Value = Expecting> {
    prop_oneof![
        3 => Just(Expecting::Any),
        1 => Just(Expecting::Absent),
        4 => Just(Expecting::Latest),
        1 => (0_i64..6).prop_map(Expecting::Stale),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    let add = proptest::collection::vec(0_usize..4, 0..4);
    prop_oneof![
        4 => (
            0_usize..3,
            0_usize..4,
            proptest::option::weighted(0.2, 0_usize..4),
            proptest::option::weighted(0.2, 1_i64..9),
            expecting(),
        )
            .prop_map(|(object, text, additional, origin, expecting)| Change::Put {
                object, text, additional, origin, expecting
            }),
        4 => (0_u64..5, add, expecting())
            .prop_map(|(keep, add, expecting)| Change::Splice { keep, add, expecting }),
        1 => (0_usize..2, proptest::option::of(0_usize..4))
            .prop_map(|(nickname, object)| Change::Name { nickname, object }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let changes = || proptest::collection::vec(change(), 1..4);
    let commit = |transactions, now| Step::Commit { transactions, now };
    prop_oneof![
        8 => (changes(), 0_i64..12).prop_map(move |(changes, now)| commit(vec![changes], now)),
        2 => (proptest::collection::vec(changes(), 2..4), 0_i64..12)
            .prop_map(move |(transactions, now)| commit(transactions, now)),
        1 => Just(Step::Reopen),
        1 => Just(Step::OpenTwice),
    ]
}

fn open(path: &Path) -> Box<dyn Backend> {
    Box::new(SqliteBackend::open(path).unwrap())
}

proptest! {
    #![proptest_config(testing::cases::config(24, 1))]

    #[test]
    fn backends_read_what_the_model_holds(steps in proptest::collection::vec(step(), 1..24)) {
        check(&steps, Box::new(SqliteBackend::in_memory().unwrap()), None);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        check(&steps, open(&path), Some(&|| open(&path)));
    }
}
