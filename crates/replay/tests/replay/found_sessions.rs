//! Sessions that are not one file: OpenCode's database and its folder of small files, and how
//! sessions are found in folders.

use std::fs;
use std::path::{Path, PathBuf};

use replay::transcript::find::find;
use replay::transcript::{Format, Transcript};
use serde_json::Value;
use store::SqliteBackend;
use tempfile::TempDir;

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
    find(path).unwrap().into_iter().map(|found| found.name).collect()
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
    let found = find(&path).unwrap();
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
    let session = find(&path).unwrap().remove(0);
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
    let session = find(&path).unwrap().remove(0);
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
    let session = find(&path).unwrap().remove(0);
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
    let session = find(&path).unwrap().remove(0);
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
fn rows_without_json_are_counted_and_damage_is_an_error() {
    let (_folder, path) = copied("opencode.db");
    let session = find(&path).unwrap().remove(0);
    let writer = crate::opened(&path).unwrap();
    let torn = "update part set data = substr(data, 1, 20) where data like '%\"type\":\"tool\"%' and session_id = ?1";
    let parts = writer.execute(torn, [&session.name]).unwrap();
    drop(writer);
    let transcript = Transcript::read(Path::new(&session.path)).unwrap();
    assert_eq!(transcript.notes, [format!("rows that are no JSON object left out: {parts}")]);
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
    let found = find(folder.path()).unwrap();
    assert_eq!(found.len(), 2, "records of sessions, not of messages and parts: {found:?}");
    for (session, name) in found.iter().rev().zip(["storage", "storage_subagent"]) {
        let transcript = Transcript::read(Path::new(&session.path)).unwrap();
        insta::assert_snapshot!(name, shown(&transcript));
    }
    let message = folder.path().join("storage/message").join(&found[1].name);
    let first = fs::read_dir(&message).unwrap().next().unwrap().unwrap().path();
    fs::write(first, "{ torn").unwrap();
    let transcript = Transcript::read(Path::new(&found[1].path)).unwrap();
    assert_eq!(transcript.notes, ["files that are no JSON object left out: 1"]);
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
    fs::write(place("e/empty.db"), "").unwrap();
    fs::write(place("e/any.jsonl"), "is told to be no session when it is read").unwrap();
    let found = names(folder.path());
    assert_eq!(found[..3], ["one", "00c0ffee", "session-1"]);
    assert_eq!(found[5], "any");
    assert_eq!(found.len(), 8, "two of the database, two of the storage folder: {found:?}");
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
