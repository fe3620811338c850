//! The questions of docs/xtdb.md, asked of a real node by whoever wants to know.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use store::NewVersion;
use testing::http::{Connection, Request};
use testing::xtdb::Database;

use base::object::{ObjectType, file_fields};

use crate::machine::{Machine, source};
use crate::sharing::run_session;

const PAGE: &str = include_str!("../../../../docs/xtdb.md");

/// The questions of the page, in their order.
fn questions() -> Vec<&'static str> {
    let (_, section) = PAGE.split_once("\n## Asking it yourself\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.split("```clojure\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn ask(database: &Database, question: &str) -> Vec<Value> {
    let path = format!("{}/_xtdb/query", database.path());
    let headers = [("content-type", "application/edn"), ("accept", "application/json")];
    let body = Some(question.as_bytes());
    let request = Request { method: "POST", path: &path, headers: &headers, body };
    let answer = Connection::open(&database.address()).unwrap().ask(&request).unwrap().unwrap();
    let body = String::from_utf8(answer.body()).unwrap();
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{question}: {error}: {body}"))
}

#[test]
fn the_questions_of_the_page_are_answered() {
    let Some(database) = Database::new() else { return };
    let [one, other] = [(); 2].map(|()| Machine::with_sessions(&database.url()));
    one.write("/p/a.txt", "one\n");
    one.push();
    other.pull();
    other.write("/p/a.txt", "two\n");
    let notes = NewVersion {
        kind: ObjectType::File,
        source: Some(source("/p/notes.md")),
        id: None,
        content: Some("1234".to_owned()),
        source_hash: None,
        fields: file_fields("/p/notes.md", Some("1234")),
        additional: BTreeMap::new(),
        expected: None,
    };
    other.store.write(notes).unwrap();
    run_session(&other.store, "0198c2f1", "made");
    other.push();
    let questions = questions();
    let [history, sessions, said, often, sizes] = questions.as_slice() else {
        panic!("{questions:?}")
    };
    let versions = ask(&database, history);
    let by = |machine: &Machine| {
        let written = |row: &&Value| row[0].as_str().unwrap().contains(machine.store.id());
        versions.iter().filter(written).count()
    };
    assert_eq!((versions.len(), by(&one), by(&other)), (2, 1, 1), "{versions:?}");
    let found = ask(&database, sessions);
    assert_eq!((found.len(), &found[0][0]), (1, &json!("session:0198c2f1")), "{found:?}");
    let messages = ask(&database, said);
    let last: Value = serde_json::from_str(messages[4][1].as_str().unwrap()).unwrap();
    assert_eq!((messages.len(), &last["message"]["content"]), (5, &json!("thanks")));
    assert_eq!(ask(&database, often)[0], json!(["/p/a.txt", 2]));
    let files = ask(&database, sizes).into_iter().find(|row| row[0] == "file").unwrap();
    assert_eq!(files, json!(["file", 1, 4]));
}
