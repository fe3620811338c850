//! Sessions that are not one file: OpenCode's database and its folder of small files, and how
//! sessions are found in folders.

use std::fs;
use std::path::{Path, PathBuf};

use replay::transcript::find::find;
use replay::transcript::{Format, Transcript};
use serde_json::{Value, json};
use store::SqliteBackend;
use tempfile::TempDir;

use crate::readers::{counts, gist};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/transcripts").join(name)
}

/// A copy of a fixture in a folder that may be changed. Connections of the tests have the locks of
/// the program's own: those are set up when it first uses SQLite, and a connection must not change
/// its kind of locks meanwhile.
fn copied(name: &str) -> (TempDir, PathBuf) {
    SqliteBackend::in_memory().unwrap();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::copy(fixture(name), &path).unwrap();
    (folder, path)
}

/// The storage folder of OpenCode 1.1, as the program wrote it: the fixture maps paths to texts.
fn storage() -> TempDir {
    let folder = TempDir::new().unwrap();
    let files: Value =
        serde_json::from_slice(&fs::read(fixture("opencode-storage.json")).unwrap()).unwrap();
    for (name, text) in files.as_object().unwrap() {
        let path = folder.path().join("storage").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_str().unwrap()).unwrap();
    }
    folder
}

fn names(path: &Path) -> Vec<String> {
    find(path).unwrap().sessions.into_iter().map(|found| found.name).collect()
}

fn shown(transcript: &Transcript) -> String {
    let Transcript { name, session_id, cwd, messages, notes, .. } = transcript;
    let head = format!("{name}, session {session_id:?}, in {cwd:?}");
    let lines = std::iter::once(&head).chain(messages).chain(notes);
    lines.cloned().collect::<Vec<_>>().join("\n")
}

#[test]
fn each_session_of_a_database_is_a_transcript() {
    let (_folder, path) = copied("opencode.db");
    let found = find(&path).unwrap().sessions;
    assert_eq!(found.len(), 2, "the session and its sub-agent's: {found:?}");
    for (session, name) in found.iter().zip(["database", "database_subagent"]) {
        let transcript = Transcript::read(Path::new(&session.path)).unwrap();
        assert_eq!((transcript.format, &transcript.name), (Format::OpenCode, &session.name));
        assert_eq!(transcript.session_id.as_ref(), Some(&session.name));
        insta::assert_snapshot!(name, shown(&transcript));
    }
}

#[test]
fn a_database_and_its_export_read_alike() {
    let (_folder, path) = copied("opencode.db");
    let session = find(&path).unwrap().sessions.remove(0);
    let of_database = Transcript::read(Path::new(&session.path)).unwrap();
    let exported = Transcript::read(&fixture("opencode-export.json")).unwrap();
    assert_eq!(of_database.messages, exported.messages);
    assert_eq!(of_database.session_id, exported.session_id);
    assert_eq!((of_database.cwd, of_database.notes), (exported.cwd, exported.notes));
}

#[test]
fn reads_a_database_in_use_without_changing_it() {
    let (_folder, path) = copied("opencode.db");
    let writer = crate::opened(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.execute("update session set directory = '/moved'", []).unwrap();
    let before = fs::read(&path).unwrap();
    let session = find(&path).unwrap().sessions.remove(0);
    let transcript = Transcript::read(Path::new(&session.path)).unwrap();
    assert_eq!(transcript.cwd.as_deref(), Some("/moved"), "what is only in the journal counts");
    assert_eq!(fs::read(&path).unwrap(), before);
    writer.execute("update session set directory = '/again'", []).unwrap();
}

#[test]
fn reads_an_unused_database_without_creating_files() {
    let (folder, path) = copied("opencode.db");
    // As OpenCode leaves it.
    let writer = crate::opened(&path).unwrap();
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    writer.close().unwrap();
    let session = find(&path).unwrap().sessions.remove(0);
    assert!(!Transcript::read(Path::new(&session.path)).unwrap().messages.is_empty());
    let files: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files, [path]);
}

#[test]
fn one_session_of_several_must_be_named() {
    let (_folder, path) = copied("opencode.db");
    let error = |name: &Path| {
        let error = Transcript::read(name).unwrap_err();
        (error.code(), error.to_string().replace(&path.display().to_string(), "x.db"))
    };
    let several = "line 1 of `x.db` begins a database of 2 sessions, and `#SESSION` behind its name says none of them";
    assert_eq!(error(&path), ("MALFORMED_TRANSCRIPT", several.to_owned()));
    let none = "line 1 of `x.db` begins a database without the session `ses_none`";
    let named = format!("{}#ses_none", path.display());
    assert_eq!(error(Path::new(&named)), ("MALFORMED_TRANSCRIPT", none.to_owned()));
}

#[test]
fn what_was_taken_back_is_left_out() {
    let (_folder, path) = copied("opencode.db");
    let session = find(&path).unwrap().sessions.remove(0);
    let whole = Transcript::read(Path::new(&session.path)).unwrap();
    let writer = crate::opened(&path).unwrap();
    let last_typed =
        "select id from message where session_id = ?1 and data like '%\"role\":\"user\"%'
        order by id desc limit 1";
    let id: String = writer.query_row(last_typed, [&session.name], |row| row.get(0)).unwrap();
    let revert = serde_json::json!({ "messageID": id }).to_string();
    writer
        .execute("update session set revert = ?1 where id = ?2", [&revert, &session.name])
        .unwrap();
    let cut = Transcript::read(Path::new(&session.path)).unwrap();
    assert!(cut.messages.len() < whole.messages.len());
    assert_eq!(cut.messages[..], whole.messages[..cut.messages.len()]);
    assert!(whole.messages[cut.messages.len()].contains("Show me the function once more."));
    assert_eq!(cut.notes, ["messages of branches that were left: 3"]);
}

#[test]
fn sessions_of_opencode_2_are_read_from_their_own_tables() {
    let (_folder, path) = copied("opencode.db");
    let before = names(&path);
    let writer = crate::opened(&path).unwrap();
    // A session of before that was opened is there, too, with all its messages.
    let tables =
        "create table session_v2 (id text, directory text, revert text, time_created integer);
        insert into session_v2 select id, '/moved', null, time_created from session where id = '{}';
        insert into session_v2 values ('ses_second', '/w', null, 9999999999999)";
    writer.pragma_update(None, "foreign_keys", false).unwrap();
    writer.execute_batch(&tables.replace("{}", &before[0])).unwrap();
    let put = |session: &str, seq: i64, kind: &str, data: &Value| {
        let row = "insert into session_message (id, session_id, type, seq, time_created, time_updated, data)
            values (?2 || ?1, ?1, ?3, ?2, 0, 0, ?4)";
        writer.execute(row, (session, seq, kind, data.to_string())).unwrap();
    };
    put(&before[0], 1, "user", &json!({ "text": "Opened again." }));
    let image = json!({ "type": "file", "mime": "image/png", "uri": "data:image/png;base64,REVG" });
    let tool = |id: &str, state: &Value| json!({ "type": "tool", "id": id, "name": "shell", "state": state });
    let done = json!({ "status": "completed", "input": {}, "content": [{ "type": "text", "text": "a" }, image] });
    let failed = json!({ "status": "error", "input": {}, "error": { "message": "no" } });
    let files = json!([{ "mime": "text/plain", "name": "a.txt", "data": "aGk=" },
        { "mime": "image/png", "data": "QUJD" }]);
    let said = |text: &str| json!({ "type": "text", "text": text });
    let content = json!([{ "type": "reasoning", "text": "Hm." }, said("Yes."), tool("c", &done), tool("d", &failed)]);
    let tokens = json!({ "input": 7, "output": 5, "cache": { "read": 90 } });
    let model = json!({ "id": "claude-sonnet-5", "providerID": "anthropic" });
    let rows = [
        ("user", json!({ "text": "Look.", "files": files })),
        ("assistant", json!({ "model": model, "content": content, "tokens": tokens })),
        ("shell", json!({ "command": "pwd", "output": { "output": "/w" } })),
        ("system", json!({ "text": "Be brief." })),
        ("compaction", json!({ "status": "completed", "summary": "All so far." })),
        ("assistant", json!({ "content": [said("Done.")] })),
        ("idle", json!({ "outcome": "succeeded" })),
    ];
    for (seq, (kind, data)) in (1..).zip(&rows) {
        put("ses_second", seq, kind, data);
    }
    drop(writer);
    assert_eq!(names(&path), [&before[0][..], &before[1], "ses_second"]);
    let read =
        |name: &str| Transcript::read(Path::new(&format!("{}#{name}", path.display()))).unwrap();
    let opened = read(&before[0]);
    assert_eq!((opened.cwd.as_deref(), opened.messages.len()), (Some("/moved"), 1));
    let second = read("ses_second");
    assert_eq!(
        gist(&second),
        [
            "user: Attached file: a.txt\n\nhi Some(\"image\") Look.",
            "assistant: (Hm.) Yes. c:shell{} d:shell{}",
            "result: a Some(\"image\")",
            "failed: no",
            "put in: Shell command: pwd\n\n/w",
            "put in: All so far.",
            "assistant: Done.",
        ]
    );
    let answer: Value = serde_json::from_str(&second.messages[1]).unwrap();
    assert_eq!((&answer["model"], &answer["usage"]["cacheRead"]), (&model["id"], &json!(90)));
    assert_eq!((second.read, second.held), (counts(2, 2), counts(2, 2)));
}

#[test]
fn rows_without_json_are_counted_and_damage_is_an_error() {
    let (_folder, path) = copied("opencode.db");
    let session = find(&path).unwrap().sessions.remove(0);
    let writer = crate::opened(&path).unwrap();
    let torn = "update part set data = substr(data, 1, 20) where data like '%\"type\":\"tool\"%' and session_id = ?1";
    let parts = writer.execute(torn, [&session.name]).unwrap();
    drop(writer);
    let transcript = Transcript::read(Path::new(&session.path)).unwrap();
    assert_eq!(transcript.notes, [format!("rows that are not JSON objects left out: {parts}")]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..20_000].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let error = find(&path).unwrap_err();
    assert_eq!(error.code(), "FILE");
    assert!(error.to_string().contains("opencode.db"), "{error}");
}

#[test]
fn a_database_of_something_else_is_no_transcript() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("other.db");
    crate::opened(&path).unwrap().execute("create table session (id text)", []).unwrap();
    assert_eq!(names(folder.path()), Vec::<String>::new());
    let error = Transcript::read(&path).unwrap_err();
    assert_eq!(error.code(), "MALFORMED_TRANSCRIPT");
    assert!(
        error.to_string().ends_with("begins a database that is neither OpenCode's nor OpenClaw's"),
        "{error}"
    );
}

#[test]
fn a_session_in_small_files_is_read_from_its_record() {
    let folder = storage();
    let found = find(folder.path()).unwrap().sessions;
    assert_eq!(found.len(), 2, "records of sessions, not of messages and parts: {found:?}");
    for (session, name) in found.iter().rev().zip(["storage", "storage_subagent"]) {
        let transcript = Transcript::read(Path::new(&session.path)).unwrap();
        insta::assert_snapshot!(name, shown(&transcript));
    }
    let message = folder.path().join("storage/message").join(&found[1].name);
    let first = fs::read_dir(&message).unwrap().next().unwrap().unwrap().path();
    fs::write(first, "{ torn").unwrap();
    let transcript = Transcript::read(Path::new(&found[1].path)).unwrap();
    assert_eq!(transcript.notes, ["files that are not JSON objects left out: 1"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_is_said_to_be_passed_over() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir_all(place("given/own")).unwrap();
    fs::create_dir(place("other")).unwrap();
    for file in ["given/own/one.jsonl", "other/two.jsonl"] {
        fs::copy(fixture("pi.jsonl"), place(file)).unwrap();
    }
    std::os::unix::fs::symlink(place("other"), place("given/link")).unwrap();
    assert_eq!(names(&place("given")), ["one"]);
    let passed_over = find(&place("given")).unwrap().passed_over;
    let told: Vec<_> =
        passed_over.iter().map(|one| (&one.name[..], one.problem.as_deref())).collect();
    assert_eq!(told, [("link", Some("is a link to a folder, and not followed"))]);
    assert_eq!(names(&place("given/link")), ["two"], "one that is named is followed");
}

#[test]
fn folders_are_searched_by_name_and_by_content() {
    let folder = storage();
    let place = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    fs::copy(fixture("pi.jsonl"), place("a/one.jsonl")).unwrap();
    fs::copy(fixture("copilot.jsonl"), place("b/00c0ffee/events.jsonl")).unwrap();
    fs::copy(fixture("gemini-0.24.json"), place("c/session-1.json")).unwrap();
    fs::copy(fixture("opencode.db"), place("d/opencode.db")).unwrap();
    fs::write(place("e/package.json"), "{ \"name\": \"shop\" }").unwrap();
    fs::write(place("e/message.json"), "{ \"role\": \"user\", \"content\": \"x\" }").unwrap();
    fs::write(place("e/broken.json"), "{").unwrap();
    let chat = json!([{ "role": "user", "content": "x" }, { "role": "assistant", "content": "y" }]);
    fs::write(place("g/chat.json"), format!("{chat:#}")).unwrap();
    fs::write(place("e/empty.db"), "").unwrap();
    fs::write(place("e/any.jsonl"), "no session").unwrap();
    fs::write(place("e/empty.jsonl"), "").unwrap();
    let prompts = json!({ "session_id": "s", "ts": 1, "text": "Hi." });
    fs::write(place("e/history.jsonl"), prompts.to_string()).unwrap();
    fs::copy(fixture("codex.jsonl"), place("f/rollout-1.jsonl.zst")).unwrap();
    let found = names(folder.path());
    assert_eq!(found[..3], ["one", "00c0ffee", "session-1"]);
    assert_eq!(found[5], "rollout-1");
    assert_eq!(found[6], "chat");
    assert_eq!(found.len(), 9, "two of the database, two of the storage folder: {found:?}");
    let passed_over = find(folder.path()).unwrap().passed_over;
    let names: Vec<&str> = passed_over.iter().map(|found| found.name.as_str()).collect();
    let expected = ["any", "broken", "empty.db", "empty", "history", "message", "package"];
    assert_eq!(names[..7], expected);
    assert_eq!(passed_over[3].problem.as_deref(), Some("is empty"));
    let problem = passed_over[4].problem.as_deref().unwrap();
    assert!(problem.contains("Codex's history"), "{problem}");
}

#[test]
fn a_file_with_a_hash_in_its_name_is_read_as_a_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("one#two.jsonl");
    fs::copy(fixture("pi.jsonl"), &path).unwrap();
    assert_eq!(names(&path), ["one#two"]);
    assert_eq!(Transcript::read(&path).unwrap().format, Format::Pi);
    let missing = Transcript::read(&folder.path().join("gone.jsonl#x")).unwrap_err();
    assert_eq!(missing.code(), "FILE");
}

#[test]
fn what_a_reset_parted_is_one_session() {
    let entry = |id: &str, parent: Value, role: &str, text: &str| {
        let message =
            json!({ "role": role, "content": [{ "type": "text", "text": text }], "timestamp": 1 });
        json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-07-01T10:00:00Z", "message": message })
            .to_string()
    };
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-07-01T10:00:00Z", "cwd": "/w" });
    let folder = TempDir::new().unwrap();
    let write = |name: &str, lines: &[String]| {
        fs::write(folder.path().join(name), lines.join("\n")).unwrap();
    };
    let one = [
        header.to_string(),
        entry("a", Value::Null, "user", "One."),
        entry("b", "a".into(), "assistant", "First."),
    ];
    let two =
        [entry("c", "b".into(), "user", "Two."), entry("d", "c".into(), "assistant", "Second.")];
    let three =
        [entry("e", "d".into(), "user", "Three."), entry("f", "e".into(), "assistant", "Third.")];
    write("s.jsonl.reset.2026-07-01T11", &one);
    write("s.jsonl.reset.2026-07-01T12", &two);
    write("s.jsonl", &three);
    // Another session began anew after its reset.
    write("t.jsonl.reset.2026-07-01T11", &one);
    write("t.jsonl", &one);
    let found = find(folder.path()).unwrap().sessions;
    let names: Vec<&str> =
        found.iter().map(|found| found.path.rsplit_once('/').unwrap().1).collect();
    assert_eq!(names, ["s.jsonl", "t.jsonl", "t.jsonl.reset.2026-07-01T11"]);
    let whole = Transcript::read(&folder.path().join("s.jsonl")).unwrap();
    let alone = one.iter().chain(&two).chain(&three).cloned().collect::<Vec<_>>().join("\n");
    assert_eq!(whole, Transcript::parse(Path::new("s.jsonl"), alone.as_bytes()).unwrap());
    assert_eq!((whole.read.requests, whole.session_id.as_deref()), (3, Some("s")));
    // Without what was before it is read as far as it goes.
    fs::remove_file(folder.path().join("s.jsonl.reset.2026-07-01T11")).unwrap();
    let rest = Transcript::read(&folder.path().join("s.jsonl")).unwrap();
    assert_eq!((rest.read.requests, rest.held.requests), (2, 2));
    assert!(
        rest.notes.contains(&"files without their first line: 1".to_owned()),
        "{:?}",
        rest.notes
    );
}
