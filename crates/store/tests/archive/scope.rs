//! Archives of part of a store.

use std::collections::BTreeSet;

use base::object::{AsOf, Nickname, ObjectId};
use serde_json::json;
use store::ArchiveScope;

use crate::world::World;

fn ids(world: &World) -> BTreeSet<String> {
    world.versions().iter().map(|version| version.envelope.id.to_string()).collect()
}

/// The latest version of a file as a session's events name it.
fn event(world: &World, id: &ObjectId) -> String {
    let version = world.store.get(id, AsOf::Latest).unwrap().unwrap();
    json!({ "event": "file", "object": id, "version": version.content_hash }).to_string()
}

#[test]
fn a_session_takes_along_what_it_refers_to_and_nothing_else() {
    for here in World::each() {
        let read = here.file("/read", "as it was read\n");
        let event_of_read = event(&here, &read);
        here.file("/read", "as it became\n");
        let call = here.toolcall("call_1", "output", Some("summary"));
        let event_of_call = event(&here, &call);
        here.toolcall("call_2", "of another session", None);
        here.file("/unread", "nobody saw it\n");
        // A message may well name another object; only with its hash is that a reference.
        let message = json!({ "message": { "id": "call_2", "text": "/unread" } }).to_string();
        here.session("s", &[event_of_read, event_of_call], Some((0, vec![message])));
        here.session("other", &["{}".into()], Some((0, vec!["{}".into()])));
        here.name("kept", &ObjectId::session("s"));
        here.name("left", &ObjectId::session("other"));
        for there in World::each() {
            let imported =
                there.import(&here.export(ArchiveScope::Session(ObjectId::session("s"))));
            let expected = [read.to_string(), "call_1".into(), "chat:s".into(), "session:s".into()];
            assert_eq!(ids(&there), BTreeSet::from(expected));
            assert_eq!((imported.versions, imported.nicknames), (4, 1));
            let version = there.store.get(&read, AsOf::Latest).unwrap().unwrap();
            let text = there.store.content(&version).unwrap();
            assert_eq!(text.as_deref(), Some("as it was read\n"));
            there.verify();
        }
    }
}

#[test]
fn an_object_named_without_a_version_comes_in_its_latest() {
    let (here, there) = (World::in_memory(), World::in_sqlite());
    let file = here.file("/a", "old\n");
    here.file("/a", "new\n");
    let event = json!({ "event": "x", "file_refs": [file, "unknown"] }).to_string();
    here.session("s", &[event], None);
    there.import(&here.export(ArchiveScope::Session(ObjectId::session("s"))));
    let history = there.store.history(&file).unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(there.store.content(&history[0]).unwrap().as_deref(), Some("new\n"));
}

#[test]
fn a_fork_takes_along_its_parent_up_to_the_fork() {
    let (here, there) = (World::in_sqlite(), World::in_memory());
    let before = here.file("/before", "seen before the fork\n");
    here.session("parent", &[event(&here, &before)], Some((0, vec!["{\"one\":1}".into()])));
    let forked = json!({ "event": "opened", "forked_from": "session:parent" }).to_string();
    here.session("fork", &[event(&here, &before), forked], Some((0, vec!["{\"one\":1}".into()])));
    let after = here.file("/after", "seen by the parent alone\n");
    here.session("parent", &[event(&here, &after)], Some((1, vec!["{\"two\":2}".into()])));
    there.import(&here.export(ArchiveScope::Session(ObjectId::session("fork"))));
    let expected = ["chat:fork", "chat:parent", "session:fork", "session:parent"];
    let mut expected: BTreeSet<String> = expected.map(str::to_owned).into();
    expected.insert(before.to_string());
    assert_eq!(ids(&there), expected);
    let parent = there.store.items(&ObjectId::session("parent"), AsOf::Latest, 0..9).unwrap();
    assert_eq!(parent.len(), 1, "what the parent did later stays");
}

#[test]
fn an_object_comes_with_its_history() {
    for here in World::each() {
        let here = here.with_history();
        let there = World::in_memory();
        let file = here.store.find_nickname(&Nickname::parse("main").unwrap()).unwrap().unwrap();
        let imported = there.import(&here.export(ArchiveScope::Object(file.clone())));
        assert_eq!((imported.objects, imported.versions, imported.nicknames), (1, 3, 1));
        assert_eq!(there.store.history(&file).unwrap().len(), 3);
        there.verify();
    }
}

#[test]
fn what_is_not_there_cannot_be_exported() {
    let here = World::in_memory().with_history();
    let code = |scope| {
        let options = store::ExportOptions { scope, redact: false, compress: false };
        let path = std::path::Path::new("-");
        let done = here.store.export_archive(Vec::new(), path, &options, &mut |_| Ok(()));
        done.unwrap_err().code()
    };
    assert_eq!(code(ArchiveScope::Object(ObjectId::new("none"))), "NOT_FOUND");
    assert_eq!(code(ArchiveScope::Session(ObjectId::new("none"))), "NOT_FOUND");
    assert_eq!(code(ArchiveScope::Session(ObjectId::new("call_0"))), "INVALID_ARGUMENT");
    let both = ArchiveScope::of(Some(ObjectId::new("a")), Some(ObjectId::new("b")));
    assert_eq!(both.unwrap_err().code(), "INVALID_ARGUMENT");
}
