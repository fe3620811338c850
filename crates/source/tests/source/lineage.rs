//! The history of files that moved: `moved_from` is followed, even in a circle.

use base::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, TxId, VersionSelector};
use serde_json::json;
use source::{FileReading, FileState, Indexed, LatestFile, Location, index};
use store::{Expected, MOVED_FROM, Store};

struct World(Store);

/// A file and what is there now; `from`: the path where it was before.
struct Change<'a> {
    path: &'a str,
    text: Option<&'a str>,
    from: Option<&'a str>,
}

fn text<'a>(path: &'a str, text: &'a str) -> Change<'a> {
    Change { path, text: Some(text), from: None }
}

fn gone(path: &str) -> Change<'_> {
    Change { path, text: None, from: None }
}

fn moved<'a>(from: &'a str, path: &'a str, text: &'a str) -> [Change<'a>; 2] {
    [gone(from), Change { path, text: Some(text), from: Some(from) }]
}

fn location(path: &str) -> Location {
    Location::here("fs", path.into())
}

impl World {
    fn new() -> Self {
        Self(Store::open(":memory:").unwrap())
    }

    fn indexed(&self, change: &Change<'_>) -> (Envelope, Payload) {
        let state = match change.text {
            Some(text) => FileState::Text { source_hash: Hash::of(text), text: text.into() },
            None => FileState::Missing,
        };
        let location = location(change.path);
        let latest =
            self.0.get(&location.id().unwrap(), AsOf::Latest).unwrap().map(LatestFile::from);
        let found = index(&location, FileReading { state, stamp: None }, latest).unwrap().unwrap();
        let Indexed { envelope, mut payload, .. } = found;
        if let Some(from) = change.from {
            payload.fields.insert(MOVED_FROM.into(), json!(self.id(from)));
        }
        (envelope, payload)
    }

    /// Writes changes in one transaction.
    fn write(&self, changes: impl IntoIterator<Item = Change<'static>>) -> &Self {
        let mut transaction = self.0.begin();
        for change in changes {
            let (envelope, payload) = self.indexed(&change);
            transaction.put(envelope, payload, Expected::Any).unwrap();
        }
        transaction.commit().unwrap();
        self
    }

    #[expect(clippy::unused_self, reason = "reads as the other helpers do")]
    fn id(&self, path: &str) -> ObjectId {
        location(path).id().unwrap()
    }

    /// `transaction path text` of each version, newest first.
    fn lineage(&self, path: &str) -> Vec<String> {
        let versions = self.0.lineage(&self.id(path)).unwrap().into_iter();
        let shown = versions.map(|version| {
            let text = self.0.content(&version).unwrap().unwrap_or_else(|| "gone".into());
            let path = version.envelope.source.unwrap().path().unwrap().to_owned();
            format!("{} {path} {text}", version.tx_id)
        });
        shown.collect()
    }

    fn selected(&self, path: &str, selector: VersionSelector) -> String {
        let version = self.0.select(&self.id(path), selector).unwrap();
        self.0.content(&version).unwrap().unwrap_or_else(|| "gone".into())
    }
}

#[test]
fn lineage_follows_a_move_and_not_the_old_path() {
    let world = World::new();
    world.write([text("/a", "1")]).write([text("/a", "2")]).write(moved("/a", "/b", "2"));
    world.write([text("/b", "3")]).write([text("/a", "another")]);
    assert_eq!(world.lineage("/b"), ["4 /b 3", "3 /b 2", "2 /a 2", "1 /a 1"]);
    assert_eq!(world.lineage("/a"), ["5 /a another", "3 /a gone", "2 /a 2", "1 /a 1"]);
}

#[test]
fn lineage_follows_a_chain_of_moves_and_a_move_back() {
    let world = World::new();
    world.write([text("/a", "1")]).write(moved("/a", "/b", "1")).write(moved("/b", "/c", "1"));
    assert_eq!(world.lineage("/c"), ["3 /c 1", "2 /b 1", "1 /a 1"]);
    world.write(moved("/c", "/a", "1")).write([text("/a", "2")]);
    let all = ["5 /a 2", "4 /a 1", "3 /c 1", "2 /b 1", "2 /a gone", "1 /a 1"];
    assert_eq!(world.lineage("/a"), all);
}

#[test]
fn a_file_made_where_one_was_deleted_has_not_moved_there() {
    let world = World::new();
    world.write([text("/a", "1")]).write(moved("/a", "/b", "1")).write([gone("/b")]);
    world.write([text("/b", "new")]);
    let version = world.0.select(&world.id("/b"), VersionSelector::Latest).unwrap();
    assert_eq!(version.fields.get(MOVED_FROM), None);
    assert_eq!(world.lineage("/b"), ["4 /b new", "3 /b gone", "2 /b 1", "1 /a 1"]);
    world.write([text("/a", "2")]).write(moved("/a", "/b", "2"));
    let all = ["6 /b 2", "5 /a 2", "4 /b new", "3 /b gone", "2 /b 1", "2 /a gone", "1 /a 1"];
    assert_eq!(world.lineage("/b"), all);
}

#[test]
fn names_select_versions_before_a_move() {
    let world = World::new();
    world.write([text("/a", "1")]).write([text("/a", "2")]).write(moved("/a", "/b", "2"));
    world.write([text("/b", "3")]);
    for (selector, expected) in [
        (VersionSelector::Back(1), "2"),
        (VersionSelector::Back(3), "1"),
        (VersionSelector::Tx(TxId(1)), "1"),
        (VersionSelector::Tx(TxId(3)), "2"),
        (VersionSelector::Latest, "3"),
    ] {
        assert_eq!(world.selected("/b", selector), expected, "{selector:?}");
    }
    let [old, new] = [VersionSelector::Back(3), VersionSelector::Latest]
        .map(|selector| world.0.select(&world.id("/b"), selector).unwrap());
    assert_eq!(world.0.diff(old.clone(), new.clone(), 3).unwrap().added, 1);
    assert_eq!(world.0.diff(new, old, 3).unwrap().removed, 1);
    let missing = world.0.select(&world.id("/b"), VersionSelector::Back(4)).unwrap_err();
    assert_eq!(missing.code(), "NOT_FOUND");
}

#[test]
fn an_object_with_an_unknown_origin_has_only_its_versions() {
    let world = World::new();
    world.write([Change { from: Some("/elsewhere"), ..text("/b", "1") }]);
    assert_eq!(world.lineage("/b"), ["1 /b 1"]);
    assert!(world.lineage("/elsewhere").is_empty());
    let unsourced = Envelope::unsourced(ObjectId::new("t"), ObjectType::Toolcall).unwrap();
    assert!(world.0.lineage(&unsourced.id).unwrap().is_empty());
}
