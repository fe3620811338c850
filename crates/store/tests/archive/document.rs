//! The example in `docs/archive-format.md` is a valid archive, and the document names every part of
//! the format.

use std::sync::atomic::Ordering;

use base::object::{AsOf, Nickname, ObjectId};
use serde_json::Value;
use store::ArchiveScope;

use crate::world::{World, lines};

const DOCUMENT: &str = include_str!("../../../../docs/archive-format.md");

fn example() -> &'static str {
    DOCUMENT.split_once("```jsonl\n").unwrap().1.split_once("```").unwrap().0
}

#[test]
fn the_example_in_the_format_document_is_a_valid_archive() {
    for there in World::each() {
        // The archive is of 2025.
        there.clock.store(1_767_225_600_000, Ordering::Relaxed);
        let imported = there.import(example().as_bytes());
        assert_eq!((imported.versions, imported.nicknames, imported.left_out), (5, 1, vec![]));
        there.verify();
        let notes = there.store.find_nickname(&Nickname::parse("notes").unwrap()).unwrap().unwrap();
        let version = there.store.require(&notes, AsOf::Latest).unwrap();
        assert_eq!(there.store.content(&version).unwrap().as_deref(), Some("# Notes\n"));
        let chat = there.store.items(&ObjectId::chat("7f3c"), AsOf::Latest, 0..9).unwrap();
        let texts: Vec<Value> =
            chat.iter().map(|item| serde_json::from_str(item).unwrap()).collect();
        assert_eq!((&texts[0]["text"], &texts[1]["text"]), (&"hello".into(), &"good day".into()));
        // What is exported again differs in the header and the last line alone.
        let again = lines(&there.export(ArchiveScope::Everything));
        let example = lines(example().as_bytes());
        let middle = |lines: &[String]| lines[1..lines.len() - 1].to_vec();
        assert_eq!(middle(&again).len(), middle(&example).len());
    }
}

#[test]
fn the_document_names_every_kind_and_field() {
    let here = World::in_memory().with_history();
    let there = World::in_memory();
    there.file("/a.rs", "newer\n");
    there.import(&here.export(ArchiveScope::Everything));
    for line in lines(&there.export(ArchiveScope::Everything)) {
        let line: Value = serde_json::from_str(&line).unwrap();
        let kind = line["kind"].as_str().unwrap();
        assert!(DOCUMENT.contains(&format!("**{kind}**")), "kind {kind}");
        for field in line.as_object().unwrap().keys() {
            assert!(DOCUMENT.contains(&format!("`{field}`")), "field {field} of {kind}");
        }
    }
}
