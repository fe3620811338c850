//! `forget` and `gc` on a store's file: after them no byte of the text is left, and nothing else is
//! lost.

use std::io::Read;
use std::path::{Path, PathBuf};

use base::object::{
    AsOf, Envelope, Nickname, ObjectId, ObjectType, Payload, RedactionReason, Source, TxId,
    file_fields,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use store::{
    Expected, ForgetOptions, ForgetReport, GcOptions, Holder, SearchQuery, Store, Version,
};
use tempfile::TempDir;

const SECRET: &str = "the launch code of the silo is PURPLE-MONKEY-DISHWASHER";
pub(crate) const REAL: ForgetOptions = ForgetOptions { dry_run: false, everywhere: false };
/// Collects, and nothing else.
pub(crate) const COLLECT: GcOptions =
    GcOptions { dry_run: false, unused_for: None, search_outputs: None };
const EVERYWHERE: ForgetOptions = ForgetOptions { dry_run: false, everywhere: true };

pub(crate) fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    (folder, path)
}

pub(crate) fn open(path: &Path) -> Store {
    Store::open(path.to_str().unwrap()).unwrap()
}

pub(crate) fn toolcall(id: &str) -> Envelope {
    Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap()
}

fn file(path: &str) -> Envelope {
    let source = Source::Filesystem { filesystem_id: "fs".into(), path: path.into() };
    Envelope::sourced(ObjectType::File, source).unwrap()
}

pub(crate) fn write(store: &Store, envelope: Envelope, text: &str, fields: Value) {
    let Value::Object(fields) = fields else { panic!("no object") };
    let payload = Payload { content: Some(text.to_owned()), fields, ..Payload::default() };
    let mut transaction = store.begin();
    transaction.put(envelope, payload, Expected::Any).unwrap();
    transaction.commit().unwrap();
}

/// Documents of session `key`: an event for each object, and these chat messages.
pub(crate) fn session(store: &Store, key: &str, objects: &[&ObjectId], messages: &[Value]) {
    let events = objects.iter().map(|id| json!({ "event": "toolcall", "object": id }).to_string());
    let chat = Envelope::unsourced(ObjectId::chat(key), ObjectType::Chat).unwrap();
    let session = Envelope::unsourced(ObjectId::session(key), ObjectType::Session).unwrap();
    let fields = json!({ "harness": "pi", "host_session": key, "chat_ref": chat.id });
    let put = |envelope, fields: Value, items| {
        let fields = fields.as_object().unwrap().clone();
        let payload = Payload { fields, ..Payload::default() };
        let mut transaction = store.begin();
        transaction.splice(envelope, payload, 0, items, Expected::Absent).unwrap();
        transaction.commit().unwrap();
    };
    let reference = json!({ "session_ref": session.id });
    put(chat, reference, messages.iter().map(Value::to_string).collect());
    put(session, fields, events.collect());
}

fn items(store: &Store, id: &ObjectId) -> Vec<Value> {
    let items = store.items(id, AsOf::Latest, 0..u64::MAX).unwrap();
    items.iter().map(|item| serde_json::from_str(item).unwrap()).collect()
}

/// A tool call with the secret in its output, its arguments, its session's chat and events.
pub(crate) fn with_secret(store: &Store) -> ObjectId {
    let id = ObjectId::new("call_secret");
    let output = format!("{}\n{SECRET}\n{}", "before\n".repeat(30), "after\n".repeat(30));
    let chat = ObjectId::chat("s");
    let fields = json!({ "tool": "bash", "args": { "command": format!("echo '{SECRET}' | tee notes") },
        "chat_ref": chat });
    write(store, toolcall("call_secret"), &output, fields);
    let said = json!({ "turn": 1, "message": { "role": "assistant",
        "content": [{ "type": "text", "text": format!("I see \"{SECRET}\" there") }] } });
    let unrelated = json!({ "turn": 2, "message": { "role": "user", "content": "go on please" } });
    session(store, "s", &[&id], &[said, unrelated]);
    let mut transaction = store.begin();
    transaction.name(Nickname::parse("silo").unwrap(), Some(id.clone()));
    transaction.commit().unwrap();
    // Earlier pages of growing packs stay behind as free ones.
    for number in 0..40 {
        let text = format!("output {number} of something else\n").repeat(number);
        write(store, toolcall(&format!("call_{number}")), &text, json!({ "tool": "ls" }));
    }
    id
}

/// Where a text is found in the files of a store: as it is in any byte of them, in a zstd frame at
/// any place, and in each value of each table.
pub(crate) fn traces(path: &Path, text: &str) -> Vec<String> {
    let mut traces = Vec::new();
    for ending in ["", "-wal", "-shm", "-journal"] {
        let bytes = std::fs::read(format!("{}{ending}", path.display())).unwrap_or_default();
        if contains(&bytes, text.as_bytes()) {
            traces.push(format!("bytes of store{ending}"));
        }
        let magic = [0x28, 0xB5, 0x2F, 0xFD];
        let starts =
            (0..bytes.len().saturating_sub(4)).filter(|at| bytes[*at..].starts_with(&magic));
        for at in starts {
            if contains(&unpacked(&bytes[at..]), text.as_bytes()) {
                traces.push(format!("frame at {at} of store{ending}"));
            }
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let file = Connection::open_with_flags(path, flags).unwrap();
    let mut tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        let mut statement = file.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                let found = match row.get_ref(column).unwrap() {
                    ValueRef::Text(bytes) => contains(bytes, text.as_bytes()),
                    ValueRef::Blob(bytes) => {
                        contains(bytes, text.as_bytes())
                            || contains(&unpacked(bytes), text.as_bytes())
                    }
                    _ => false,
                };
                if found {
                    traces.push(format!("table {table}"));
                }
            }
        }
    }
    traces.extend(term_traces(&file, text));
    traces
}

/// Terms of the search index that are words of the text; terms that stand in the index's blocks one
/// behind the other, each without what it shares with the one before, are read by SQLite itself.
fn term_traces(file: &Connection, text: &str) -> Vec<String> {
    let vocabulary = "CREATE VIRTUAL TABLE temp.vocabulary
                      USING fts5vocab(main, 'search_index', 'instance')";
    file.execute_batch(vocabulary).unwrap();
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 4)
        .map(str::to_lowercase)
        .collect();
    let mut terms = file.prepare("SELECT DISTINCT term FROM temp.vocabulary").unwrap();
    let terms = terms.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap);
    terms
        .filter(|term| words.iter().any(|word| word == term))
        .map(|term| format!("term {term}"))
        .collect()
}

/// As much of a zstd frame as can be read.
fn unpacked(frame: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(decoder) = zstd::stream::Decoder::new(frame) {
        let mut decoder = decoder.single_frame();
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = decoder.read(&mut part) {
            text.extend_from_slice(&part[..count]);
        }
    }
    text
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// A report without what only the real run knows.
fn planned(report: &ForgetReport) -> ForgetReport {
    ForgetReport { dry_run: true, collected: None, ..report.clone() }
}

#[test]
fn nothing_of_a_forgotten_text_is_left_in_the_files() {
    let (_folder, path) = place();
    let store = open(&path);
    let id = with_secret(&store);
    // The control: the same search finds it in the table, in frames, in the log and among the
    // terms.
    assert_eq!(store.search(&SearchQuery::new("PURPLE-MONKEY")).unwrap().hits.len(), 2);
    let before = traces(&path, SECRET);
    assert!(before.iter().any(|trace| trace.starts_with("term ")), "{before:?}");
    assert!(before.iter().any(|trace| trace == "table pack"), "{before:?}");
    for part in ["of store", "of store-wal"] {
        let found = before.iter().any(|trace| trace.starts_with("frame") && trace.ends_with(part));
        assert!(found || part == "of store", "{before:?}");
    }
    let report = store.forget(&id, REAL).unwrap();
    assert_eq!((report.versions, report.contents), (1, 1), "{report:?}");
    assert!(!report.collected.unwrap().waits_for_readers);
    assert_eq!(traces(&path, SECRET), Vec::<String>::new());
    assert_eq!(traces(&path, "PURPLE-MONKEY"), Vec::<String>::new());
    store.close().unwrap();
    assert_eq!(traces(&path, SECRET), Vec::<String>::new());
    // The control of the log and of free pages: without it, the text is still there after closing.
    let (_folder, path) = place();
    let store = open(&path);
    with_secret(&store);
    store.close().unwrap();
    assert_ne!(traces(&path, SECRET), Vec::<String>::new());
}

#[test]
fn everything_that_was_not_forgotten_stays_whole_and_verified() {
    let (_folder, path) = place();
    let store = open(&path);
    let id = with_secret(&store);
    let before = store.require(&id, AsOf::Latest).unwrap();
    let report = store.forget(&id, REAL).unwrap();
    let version = store.require(&id, AsOf::Latest).unwrap();
    assert_eq!(version.content_hash, before.content_hash);
    assert_eq!((version.content.clone(), version.fields.len()), (None, 0));
    assert_eq!(version.redacted.as_ref().unwrap().reason, RedactionReason::Forgotten);
    store.verify(&version).unwrap();
    assert_eq!(store.find_nickname(&Nickname::parse("silo").unwrap()).unwrap(), None);
    // Its chat is valid JSON, its items are read and verified, and only its text is gone.
    let chat = items(&store, &ObjectId::chat("s"));
    assert_eq!(chat[0]["message"]["content"][0]["text"], "I see \"[forgotten]\" there");
    assert_eq!(chat[1]["message"]["content"], "go on please");
    assert_eq!(items(&store, &ObjectId::session("s"))[0]["object"], "call_secret");
    assert_eq!(report.hosts[0].host_session, "s");
    for number in 0..40 {
        let other = store.require(&ObjectId::new(format!("call_{number}")), AsOf::Latest).unwrap();
        let text = format!("output {number} of something else\n").repeat(number);
        assert_eq!(store.content(&other).unwrap(), Some(text));
    }
    // The list goes on.
    let chat = store.require(&ObjectId::chat("s"), AsOf::Latest).unwrap();
    let mut transaction = store.begin();
    let next = vec![json!({ "turn": 3 }).to_string()];
    let payload = Payload { fields: chat.fields.clone(), ..Payload::default() };
    let expected = Expected::Latest(chat.tx_id);
    transaction.splice(chat.envelope, payload, 2, next, expected).unwrap();
    transaction.commit().unwrap();
    assert_eq!(items(&store, &ObjectId::chat("s")).len(), 3);
}

#[test]
fn a_dry_run_changes_nothing_and_says_what_would_happen() {
    for path in [Some(place()), None] {
        let store =
            path.as_ref().map_or_else(|| Store::open(":memory:").unwrap(), |(_, path)| open(path));
        let id = with_secret(&store);
        let before = store.require(&id, AsOf::Latest).unwrap();
        let dry = store.forget(&id, ForgetOptions::default()).unwrap();
        assert_eq!(store.require(&id, AsOf::Latest).unwrap(), before);
        assert!(store.content(&before).unwrap().unwrap().contains(SECRET));
        assert_eq!(dry.rewritten.len(), 1, "{dry:?}");
        assert_eq!(planned(&store.forget(&id, REAL).unwrap()), dry);
        assert_eq!(store.forget(&ObjectId::new("unknown"), REAL).unwrap_err().code(), "NOT_FOUND");
    }
}

#[test]
fn forgotten_text_is_not_stored_again() {
    for path in [Some(place()), None] {
        let store =
            path.as_ref().map_or_else(|| Store::open(":memory:").unwrap(), |(_, path)| open(path));
        let id = with_secret(&store);
        let version = store.require(&id, AsOf::Latest).unwrap();
        let text = store.content(&version).unwrap().unwrap();
        store.forget(&id, REAL).unwrap();
        let put = |envelope: Envelope, text: &str| {
            let payload = Payload { content: Some(text.to_owned()), ..Payload::default() };
            let mut transaction = store.begin();
            transaction.put(envelope, payload, Expected::Any).unwrap();
            transaction.commit()
        };
        let again = [put(toolcall("call_secret"), "other"), put(toolcall("call_new"), &text)];
        assert!(again.iter().all(|r| r.as_ref().is_err_and(|error| error.code() == "FORGOTTEN")));
        assert_eq!(store.get(&ObjectId::new("call_new"), AsOf::Latest).unwrap(), None);
        put(toolcall("call_new"), "other").unwrap();
    }
}

#[test]
fn forgetting_lists_other_objects_with_the_text() {
    let (_folder, path) = place();
    let store = open(&path);
    let id = with_secret(&store);
    let env = file("/home/a/notes");
    let text = format!("# notes\n{SECRET}\nshopping: milk, bread\n");
    write(&store, env.clone(), &text, Value::Object(file_fields("/home/a/notes", Some(&text))));
    let heard = json!({ "message": { "role": "user", "content": format!("note: {SECRET}") } });
    session(&store, "other", &[], &[heard, json!({ "message": { "content": "unrelated words" } })]);
    let report = store.forget(&id, REAL).unwrap();
    let mut listed: Vec<_> = report.holders.iter().map(|held| held.object.clone()).collect();
    listed.sort();
    let mut expected = vec![env.id.clone(), ObjectId::chat("other")];
    expected.sort();
    assert_eq!(listed, expected);
    assert!(report.holders.iter().all(|holder| holder.lines == 1));
    assert_ne!(traces(&path, SECRET), Vec::<String>::new());
}

#[test]
fn everywhere_takes_the_lines_and_leaves_the_rest() {
    let (_folder, path) = place();
    let store = open(&path);
    let id = with_secret(&store);
    let env = file("/home/a/notes");
    let text = format!("# notes\n  {SECRET}\nshopping: milk, bread\n");
    write(&store, env.clone(), &text, json!({}));
    let upkeep = store.upkeep("test").unwrap();
    let other = ObjectId::new("call_other");
    for (object, text) in [(&env.id, SECRET), (&id, SECRET), (&other, "short")] {
        upkeep.set_summary(object, text).unwrap();
    }
    let summaries = || [&env.id, &id, &other].map(|id| upkeep.summary(id).unwrap().is_some());
    assert_eq!(summaries(), [true; 3]);
    let report = store.forget(&id, EVERYWHERE).unwrap();
    assert_eq!(summaries(), [false, false, true], "what was made of the text goes with it");
    assert!(report.holders.is_empty(), "{:?}", report.holders);
    let notes = store.require(&env.id, AsOf::Latest).unwrap();
    let left = store.content(&notes).unwrap().unwrap();
    assert_eq!(left, "# notes\n  [forgotten]\nshopping: milk, bread\n");
    store.verify(&notes).unwrap();
    assert_eq!(traces(&path, SECRET), Vec::<String>::new());
    assert_ne!(traces(&path, "milk, bread"), Vec::<String>::new());
}

#[test]
fn common_lines_stay_where_others_hold_them() {
    let store = Store::open(":memory:").unwrap();
    let shared = "use std::collections::HashMap;";
    let key = "API_KEY=sk_live_4242abcdef0123456789";
    let body = |name: &str| {
        let lines: Vec<_> = (0..9).map(|n| format!("fn {name}_{n}() -> u32 {{ {n} }}\n")).collect();
        lines.concat()
    };
    let secret = format!("{shared}\n{key}\nlet me be forgotten\n");
    write(&store, file("/a/secret.rs"), &secret, json!({}));
    for name in ["one", "two", "three"] {
        let text = format!("{shared}\n{key}\n{}", body(name));
        write(&store, file(&format!("/a/{name}.rs")), &text, json!({}));
    }
    let report = store.forget(&file("/a/secret.rs").id, EVERYWHERE).unwrap();
    assert_eq!((report.common_lines, report.rewritten.len()), (1, 3), "{report:?}");
    for name in ["one", "two", "three"] {
        let version = store.require(&file(&format!("/a/{name}.rs")).id, AsOf::Latest).unwrap();
        let text = store.content(&version).unwrap().unwrap();
        assert_eq!(text, format!("{shared}\n[forgotten]\n{}", body(name)));
    }
}

#[test]
fn a_session_goes_with_its_tool_calls_and_files_of_others_stay() {
    let (_folder, path) = place();
    let store = open(&path);
    let private = "only this session ever said such a thing";
    for name in ["shared", "own"] {
        let text = format!("text of the {name} file\n");
        write(&store, file(&format!("/a/{name}")), &text, json!({}));
    }
    let (shared, own) = (file("/a/shared").id, file("/a/own").id);
    session(&store, "other", &[&shared], &[json!({ "content": "text of the shared file" })]);
    let gone = ObjectId::new("gone");
    // Files count as the session's own if they came with it.
    let begun = Envelope::unsourced(ObjectId::session("s"), ObjectType::Session).unwrap();
    let chat = Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap();
    let mut transaction = store.begin();
    transaction.put(begun.clone(), Payload::default(), Expected::Absent).unwrap();
    let first = transaction.commit().unwrap().tx_id;
    write(&store, toolcall("gone"), private, json!({ "chat_ref": chat.id }));
    write(&store, file("/a/mine"), "my very own file text", json!({}));
    let mine = file("/a/mine").id;
    let fields = |fields: Value| Payload {
        fields: fields.as_object().unwrap().clone(),
        ..Payload::default()
    };
    let events = [&gone, &shared, &own, &mine]
        .map(|id| json!({ "event": "file", "object": id }).to_string())
        .to_vec();
    let said = vec![json!({ "message": { "content": private } }).to_string()];
    let mut transaction = store.begin();
    let reference = fields(json!({ "session_ref": begun.id }));
    transaction.splice(chat.clone(), reference, 0, said, Expected::Absent).unwrap();
    let described = fields(json!({ "harness": "pi", "host_session": "s", "chat_ref": chat.id }));
    transaction.splice(begun, described, 0, events, Expected::Latest(first)).unwrap();
    transaction.commit().unwrap();
    let report = store.forget(&chat.id, REAL).unwrap();
    assert!(report.objects.contains(&gone), "{report:?}");
    assert!(report.objects.contains(&ObjectId::session("s")), "{report:?}");
    assert_eq!(report.emptied, std::slice::from_ref(&mine));
    assert_eq!(report.kept.len(), 2, "{report:?}");
    for text in [private, "my very own file text"] {
        assert_eq!(traces(&path, text), Vec::<String>::new());
    }
    // A file is nobody's: who reads it later has it stored again.
    write(&store, file("/a/mine"), "my very own file text", json!({}));
    let read = store.require(&mine, AsOf::Latest).unwrap();
    assert_eq!(store.content(&read).unwrap().as_deref(), Some("my very own file text"));
    let shared = store.require(&shared, AsOf::Latest).unwrap();
    assert_eq!(store.content(&shared).unwrap().unwrap(), "text of the shared file\n");
    let other = items(&store, &ObjectId::chat("other"));
    assert_eq!(other[0]["content"], "text of the shared file");
    assert_eq!(items(&store, &ObjectId::chat("s")), ["[forgotten]"]);
}

#[test]
fn a_system_prompt_that_another_session_has_stays() {
    let (_folder, path) = place();
    let store = open(&path);
    let id = ObjectId::new("system_prompt:s");
    let prompt = Envelope::unsourced(id.clone(), ObjectType::SystemPrompt).unwrap();
    write(&store, prompt, "you are the keeper of the silo", json!({}));
    for key in ["s", "s~copy"] {
        session(&store, key, &[], &[json!({ "content": format!("this was said in {key}") })]);
        let begun = store.require(&ObjectId::session(key), AsOf::Latest).unwrap();
        let mut fields = begun.fields.clone();
        fields.insert("system_prompt_ref".into(), json!(id));
        let payload = Payload { fields, ..Payload::default() };
        let mut transaction = store.begin();
        transaction.put(begun.envelope, payload, Expected::Latest(begun.tx_id)).unwrap();
        transaction.commit().unwrap();
    }
    let report = store.forget(&ObjectId::session("s~copy"), REAL).unwrap();
    assert_eq!(report.kept, std::slice::from_ref(&id));
    assert_eq!(report.objects.len(), 2, "{report:?}");
    let stays = store.require(&id, AsOf::Latest).unwrap();
    let text = store.content(&stays).unwrap();
    assert_eq!(text.as_deref(), Some("you are the keeper of the silo"));
    // The other one takes it along.
    let report = store.forget(&ObjectId::session("s"), REAL).unwrap();
    assert!(report.objects.contains(&id) && report.kept.is_empty(), "{report:?}");
    assert_eq!(traces(&path, "keeper of the silo"), Vec::<String>::new());
}

/// A call that its provider named `call_1`, as others have it, too, and a chat's message about it.
pub(crate) fn repeated_call(store: &Store, id: &str, key: &str, output: &str) -> (ObjectId, Value) {
    let mut fields = json!({ "tool": "bash", "chat_ref": ObjectId::chat(key) });
    if !id.starts_with("call_1") {
        fields["provider_call_id"] = json!("call_1");
    }
    write(store, toolcall(id), output, fields);
    let said = json!({ "message": { "role": "toolResult", "toolCallId": "call_1",
        "content": [{ "type": "text", "text": output }] } });
    (ObjectId::new(id), said)
}

#[test]
fn a_call_goes_though_another_session_has_its_id() {
    let (_folder, path) = place();
    let store = open(&path);
    let (gone, said) = repeated_call(&store, "call_1", "s", "the zebra of the first session");
    session(&store, "s", &[&gone], &[said]);
    let other = "00000000-0003-7000-8000-000000000001";
    let (other, said) = repeated_call(&store, other, "t", "the quagga of the second session");
    session(&store, "t", &[&other], &[said]);
    let begun = store.require(&ObjectId::session("t"), AsOf::Latest).unwrap();
    let event = json!({ "event": "message", "key": { "calls": ["call_1"] } }).to_string();
    let payload = Payload { fields: begun.fields, ..Payload::default() };
    let (items, expected) = (begun.item_count, Expected::Latest(begun.tx_id));
    let mut transaction = store.begin();
    transaction.splice(begun.envelope, payload, items, vec![event], expected).unwrap();
    transaction.commit().unwrap();
    for options in [ForgetOptions::default(), REAL] {
        let report = store.forget(&ObjectId::session("s"), options).unwrap();
        assert!(report.objects.contains(&gone) && report.kept.is_empty(), "{report:?}");
    }
    assert_eq!(traces(&path, "zebra of the first"), Vec::<String>::new());
    let stays = store.require(&other, AsOf::Latest).unwrap();
    let text = store.content(&stays).unwrap();
    assert_eq!(text.as_deref(), Some("the quagga of the second session"));
    let report = store.forget(&ObjectId::session("t"), REAL).unwrap();
    assert!(report.objects.contains(&other), "{report:?}");
}

#[test]
fn a_call_takes_nothing_along_of_one_with_its_id_elsewhere() {
    for searched in [false, true] {
        let (_folder, path) = place();
        let store = open(&path);
        let line = "warning: the zebra is not used";
        let (gone, said) = repeated_call(&store, "call_1", "s", &format!("{line}\nof the first"));
        session(&store, "s", &[&gone], &[said]);
        let other = "00000000-0003-7000-8000-000000000001";
        let (other, said) = repeated_call(&store, other, "t", &format!("{line}\nof the second"));
        session(&store, "t", &[&other], std::slice::from_ref(&said));
        if searched {
            store.search(&SearchQuery::new("zebra")).unwrap();
        }
        let report = store.forget(&gone, REAL).unwrap();
        assert_eq!(
            report.rewritten.iter().map(|it| &it.object).collect::<Vec<_>>(),
            [&ObjectId::chat("s")]
        );
        assert_eq!(report.holders.len(), 2, "{report:?}");
        assert_eq!(items(&store, &ObjectId::chat("t")), [said]);
        let stays = store.require(&other, AsOf::Latest).unwrap();
        assert!(store.content(&stays).unwrap().unwrap().starts_with(line));
    }
}

#[test]
fn a_call_that_a_fork_took_over_stays() {
    let (_folder, path) = place();
    let store = open(&path);
    // The second has the mark of an import.
    for (id, key) in [("00000000-0003-7000-8000-000000000001", "s"), ("call_1~0123abcd", "t")] {
        let (call, said) = repeated_call(&store, id, key, "the zebra that both saw");
        session(&store, key, &[&call], std::slice::from_ref(&said));
        session(&store, &format!("fork of {key}"), &[&call], &[said]);
        for options in [ForgetOptions::default(), REAL] {
            let report = store.forget(&ObjectId::session(key), options).unwrap();
            assert_eq!(report.kept, std::slice::from_ref(&call));
        }
        let stays = store.require(&call, AsOf::Latest).unwrap();
        assert!(store.content(&stays).unwrap().is_some());
    }
}

fn path_of(file: &Version) -> Option<&str> {
    match &file.envelope.source {
        Some(Source::Filesystem { path, .. }) => Some(path),
        _ => None,
    }
}

/// Three recorded sessions in one store; one is forgotten.
#[test]
fn no_line_of_a_forgotten_recording_is_left() {
    let Some(files) = crate::recorded::files(&["transcripts"], Some(3)) else { return };
    let (_folder, path) = place();
    let store = open(&path);
    let texts: Vec<String> = files.iter().map(|file| crate::recorded::read(file)).collect();
    for (key, text) in ["one", "two", "three"].iter().zip(&texts) {
        crate::recordings::play(&store, key, &text.lines().skip(1).collect::<Vec<_>>());
    }
    let (gone, kept) = (lines_of(&texts[1]), [lines_of(&texts[0]), lines_of(&texts[2])].concat());
    let private: Vec<&String> = gone.iter().filter(|line| !kept.contains(*line)).collect();
    let before = everything(&path);
    let held = private.iter().filter(|line| before.contains(line.as_str())).count();
    assert!(held > 100 && held * 10 > private.len() * 9, "{held} of {}", private.len());
    let session = ObjectId::session("two");
    let replayed =
        |store: &Store, key: &str| live::replay_call(store, &ObjectId::session(key), 2).unwrap();
    let calls = ["one", "three"].map(|key| replayed(&store, key));
    let report = store.forget(&session, REAL).unwrap();
    assert_eq!(report.hosts.len(), 1, "{:?}", report.hosts);
    let after = everything(&path);
    // A file is nobody's: its path, which is its identity, stays.
    let files = store.list(ObjectType::File, None, 9_999).unwrap();
    let paths: Vec<&str> = files.iter().filter_map(path_of).collect();
    let mut left: Vec<_> = private.iter().filter(|line| after.contains(line.as_str())).collect();
    left.retain(|line| !paths.contains(&line.as_str()));
    assert_eq!(left, Vec::<&&String>::new());
    // The other sessions are what they were.
    assert_eq!(["one", "three"].map(|key| replayed(&store, key)), calls);
    for version in store.changes(TxId(0), usize::MAX).unwrap() {
        store.verify(&version).unwrap();
    }
}

/// Distinct lines of 30 characters and more of the strings of messages.
fn lines_of(transcript: &str) -> Vec<String> {
    fn add(value: &Value, lines: &mut std::collections::BTreeSet<String>) {
        match value {
            Value::String(text) => {
                let long = text.lines().map(str::trim).filter(|line| line.len() >= 30);
                lines.extend(long.map(str::to_owned));
            }
            Value::Array(list) => list.iter().for_each(|value| add(value, lines)),
            // An ID is an object's and stays.
            Value::Object(members) => {
                members.iter().filter(|(name, _)| *name != "id").for_each(|(_, v)| add(v, lines));
            }
            _ => {}
        }
    }
    let mut lines = std::collections::BTreeSet::new();
    for message in transcript.lines().skip(1) {
        let message: Value = serde_json::from_str(message).unwrap();
        add(&message["content"], &mut lines);
    }
    lines.into_iter().collect()
}

/// All text that the files of a store yield, JSON strings unescaped.
fn everything(path: &Path) -> String {
    let mut all = String::new();
    for ending in ["", "-wal"] {
        let bytes = std::fs::read(format!("{}{ending}", path.display())).unwrap_or_default();
        let magic = [0x28, 0xB5, 0x2F, 0xFD];
        let frames = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&magic));
        let unpacked = frames.map(|at| unpacked(&bytes[at..]));
        for part in unpacked.chain([bytes.clone()]) {
            all.push_str(&String::from_utf8_lossy(&part));
        }
    }
    let file = Connection::open(path).unwrap();
    let mut statement =
        file.prepare("SELECT texts FROM pack UNION ALL SELECT text FROM content").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        if let ValueRef::Blob(frame) = row.get_ref(0).unwrap() {
            all.push_str(&String::from_utf8_lossy(&unpacked(frame)));
        }
    }
    let unescaped =
        all.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\");
    all + &unescaped
}

#[test]
fn a_long_reader_delays_the_removal_and_gc_completes_it() {
    let (_folder, path) = place();
    let store = open(&path);
    let id = with_secret(&store);
    let reader = Connection::open(&path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |reader: &Connection| -> i64 {
        reader.query_row("SELECT count(*) FROM version", [], |row| row.get(0)).unwrap()
    };
    let seen = count(&reader);
    let report = store.forget(&id, REAL).unwrap();
    assert!(report.collected.unwrap().waits_for_readers);
    assert_eq!(count(&reader), seen);
    assert_ne!(traces(&path, SECRET), Vec::<String>::new());
    reader.execute_batch("COMMIT").unwrap();
    assert!(!store.gc(COLLECT).unwrap().waits_for_readers);
    assert_eq!(traces(&path, SECRET), Vec::<String>::new());
}

#[test]
fn gc_gives_space_back_and_keeps_every_version() {
    let (_folder, path) = place();
    let store = open(&path);
    with_secret(&store);
    for number in 0..30 {
        let text = format!("version {number} of a text\n").repeat(500);
        write(&store, toolcall("many"), &text, json!({}));
    }
    let state = |store: &Store| {
        let versions = store.changes(TxId(0), usize::MAX).unwrap();
        for version in &versions {
            store.verify(version).unwrap();
        }
        (versions, items(store, &ObjectId::chat("s")), store.stats().unwrap().size.contents)
    };
    let before = state(&store);
    let dry = store.gc(GcOptions::default()).unwrap();
    assert_eq!((dry.contents, dry.content_bytes), (0, 0));
    assert_eq!(state(&store), before);
    let done = store.gc(COLLECT).unwrap();
    assert!(done.bytes_after < done.bytes_before, "{done:?}");
    assert_eq!(state(&store), before);
    assert_eq!(store.stats().unwrap().size.log_bytes, 0);
    assert_eq!(store.stats().unwrap().size.free_bytes, 0);
}

#[test]
fn stats_count_what_there_is() {
    for path in [Some(place()), None] {
        let store =
            path.as_ref().map_or_else(|| Store::open(":memory:").unwrap(), |(_, path)| open(path));
        assert_eq!(store.stats().unwrap().oldest, None);
        let id = with_secret(&store);
        let stats = store.stats().unwrap();
        assert_eq!(stats.size.objects[&ObjectType::Toolcall], 41);
        assert_eq!(stats.size.objects[&ObjectType::Session], 1);
        assert_eq!((stats.size.versions, stats.size.items, stats.size.forgotten), (43, 3, 0));
        assert!(stats.size.plain_bytes > 20_000 && stats.size.plain_bytes < 60_000, "{stats:?}");
        assert!(stats.oldest.unwrap().0 < stats.newest.unwrap().0);
        let sum: u64 = stats.size.parts.iter().map(|part| part.bytes).sum();
        assert_eq!(path.is_some(), sum > 0);
        store.forget(&id, REAL).unwrap();
        assert_eq!(store.stats().unwrap().size.forgotten, 1);
    }
}

/// What a dry run says of the lines, and of who holds them.
fn found(store: &Store, id: &ObjectId, everywhere: bool) -> (u64, u64, Vec<Holder>) {
    let options = ForgetOptions { dry_run: true, everywhere };
    let report = store.forget(id, options).unwrap();
    let mut holders = [report.rewritten, report.holders].concat();
    holders.sort_by(|a, b| a.object.cmp(&b.object));
    (report.lines, report.common_lines, holders)
}

#[test]
fn the_indexes_find_what_reading_everything_finds() {
    let store = Store::open(":memory:").unwrap();
    let id = with_secret(&store);
    let line = "a line that only these two ever had";
    let alike = "a line, that only these two ever had";
    let chats = [("a", vec![line]), ("b", vec!["nothing at all"]), ("c", vec![alike, line])];
    for (name, said) in chats {
        let call = ObjectId::new(format!("call_of_{name}"));
        let fields = json!({ "tool": "bash", "chat_ref": ObjectId::chat(name) });
        write(
            &store,
            toolcall(call.as_str()),
            &format!("{line}\nand one of {name} alone\n"),
            fields,
        );
        let message =
            |text| json!({ "message": { "role": "user", "content": format!("so: {text}") } });
        session(&store, name, &[&call], &said.into_iter().map(message).collect::<Vec<_>>());
    }
    let sessions = ["s", "a", "b", "c"].map(ObjectId::session);
    let targets = [id, ObjectId::new("call_of_a"), ObjectId::new("call_of_b")];
    let mut holders = 0;
    for id in targets.iter().chain(&sessions) {
        let read = found(&store, id, true);
        assert_eq!(found(&store, id, false), read, "{id}");
        holders += usize::from(!read.2.is_empty());
    }
    assert!(holders >= 4, "{holders}");
    assert_eq!(store.upkeep("test").unwrap().unindexed_texts().unwrap(), 0);
}

#[test]
fn what_stands_inside_many_others_is_common_but_no_key_is() {
    let store = Store::open(":memory:").unwrap();
    let (folder, key) = ("the folder of the project", "sk_live_4242abcdef0123456789");
    write(
        &store,
        toolcall("gone"),
        &format!("{folder}\n{key}\nonly here and nowhere else\n"),
        json!({}),
    );
    for number in 0..70 {
        let text = format!("{number}: in {folder} with {key} at {number}\n");
        write(&store, toolcall(&format!("other_{number}")), &text, json!({}));
    }
    let id = ObjectId::new("gone");
    let report = store.forget(&id, ForgetOptions::default()).unwrap();
    assert_eq!((report.lines, report.common_lines), (3, 1));
    assert_eq!((report.holders.len(), report.more_holders), (64, true));
    let all = ForgetOptions { everywhere: true, ..ForgetOptions::default() };
    let everywhere = store.forget(&id, all).unwrap();
    assert_eq!((everywhere.lines, everywhere.rewritten.len()), (report.lines, 70));
    assert!(!everywhere.more_holders);
}
