//! Sessions of OpenClaw: databases with its schema, filled by the tests, and the files of older and
//! deleted sessions.

use std::fs;
use std::path::{Path, PathBuf};

use replay::transcript::find::find;
use replay::transcript::{Format, Transcript};
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use store::SqliteBackend;
use tempfile::TempDir;

/// The tables of schema 23 that are read, without what their checks add.
const SCHEMA: &str = "
    create table schema_meta (meta_key text not null primary key, role text not null, schema_version integer not null) strict;
    create table transcript_events (session_id text not null, seq integer not null, event_json text, created_at integer not null,
        event_zstd blob, event_utf8_bytes integer, navigation_json text, primary key (session_id, seq)) strict;";

/// From so many bytes on OpenClaw compresses an entry.
const COMPRESSED_FROM: usize = 1_024;

/// The database of an agent, open as a gateway has it.
struct Agent {
    folder: TempDir,
    path: PathBuf,
    connection: Connection,
}

impl Agent {
    fn new() -> Self {
        Self::with(SCHEMA, 23)
    }

    fn with(tables: &str, schema: i64) -> Self {
        // Connections of the tests have the locks of the program's own, which are set up when it
        // first uses SQLite.
        SqliteBackend::in_memory().unwrap();
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("agents/main/agent/openclaw-agent.sqlite");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = crate::opened(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch(tables).unwrap();
        connection
            .execute("insert into schema_meta values ('primary', 'agent', ?1)", [schema])
            .unwrap();
        Self { folder, path, connection }
    }

    /// Writes the entries of a session as OpenClaw does: those that are long are compressed.
    fn put(&self, session: &str, entries: &[Value]) {
        let count = "select count(*) from transcript_events where session_id = ?1";
        let known: i64 = self.connection.query_row(count, [session], |row| row.get(0)).unwrap();
        for (seq, entry) in (known..).zip(entries) {
            let text = entry.to_string();
            let is_long = text.len() >= COMPRESSED_FROM;
            let frame = is_long.then(|| zstd::bulk::compress(text.as_bytes(), 1).unwrap());
            let size = i64::try_from(text.len()).unwrap();
            self.connection
                .execute(
                    "insert into transcript_events values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        session,
                        seq,
                        (!is_long).then_some(&text),
                        seq,
                        frame,
                        size,
                        is_long.then_some("{}")
                    ],
                )
                .unwrap();
        }
    }

    fn names(&self) -> Vec<String> {
        names(&self.path)
    }

    /// The path of a session.
    fn session(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}#{name}", self.path.display()))
    }

    fn read(&self, name: &str) -> Transcript {
        Transcript::read(&self.session(name)).unwrap()
    }

    fn refused(&self, path: &Path) -> (&'static str, String) {
        let error = Transcript::read(path).unwrap_err();
        (error.code(), error.to_string().replace(&self.path.display().to_string(), "x.sqlite"))
    }
}

fn names(path: &Path) -> Vec<String> {
    find(path).unwrap().sessions.into_iter().map(|found| found.name).collect()
}

fn header(id: &str) -> Value {
    json!({ "type": "session", "version": 4, "id": id, "timestamp": "2026-11-23T05:00:00.000Z", "cwd": "/home/ann/shop" })
}

fn entry(id: &str, parent: &str, message: &Value) -> Value {
    let parent = if parent.is_empty() { Value::Null } else { parent.into() };
    json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-23T05:00:01.000Z", "message": message })
}

fn user(id: &str, parent: &str, text: &str) -> Value {
    entry(id, parent, &json!({ "role": "user", "content": text, "timestamp": 1 }))
}

fn answer(id: &str, parent: &str, text: &str) -> Value {
    let content = json!([{ "type": "text", "text": text }]);
    entry(
        id,
        parent,
        &json!({ "role": "assistant", "content": content, "provider": "p", "model": "m",
        "stopReason": "stop", "timestamp": 2 }),
    )
}

fn reset(id: &str, parent: &str) -> Value {
    json!({ "type": "reset", "id": id, "parentId": parent, "reason": "new" })
}

/// The text or the tool of each message.
fn gist(transcript: &Transcript) -> Vec<String> {
    let gist = |message: &String| {
        let message: Value = serde_json::from_str(message).unwrap();
        let block = &message["content"][0];
        let said = message["content"].as_str().or_else(|| block["text"].as_str());
        let said = said.or_else(|| block["name"].as_str()).unwrap_or_default();
        let meta = message["meta"].as_str().map(|meta| format!("{meta}: ")).unwrap_or_default();
        format!("{meta}{}", said.lines().next().unwrap_or_default())
    };
    transcript.messages.iter().map(gist).collect()
}

fn fixture() -> Vec<Value> {
    let text = include_str!("../../../../tests/fixtures/transcripts/openclaw.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_session_of_the_database_says_what_openclaw_wrote() {
    let agent = Agent::new();
    agent.put("aa9a", &fixture());
    let found = find(&agent.path).unwrap().sessions;
    assert_eq!(agent.names(), ["aa9a.1", "aa9a.2"], "`/new` begins another conversation");
    let first = Transcript::read(Path::new(&found[0].path)).unwrap();
    assert_eq!((first.format, &*first.name), (Format::OpenClaw, "aa9a.1"));
    assert_eq!(first.session_id.as_deref(), Some("aa9ad204-f21a-4283-8a2a-9e94ce6d14a4"));
    assert_eq!(first.cwd.as_deref(), Some("/home/ann/shop"));
    assert_eq!(
        gist(&first),
        [
            "What do we sell?",
            "tool_call",
            "{",
            "exec",
            "Command still running (session gentle-wharf, pid 6792). Use process (list/poll/log/write/send-keys/submit/paste/kill/clear/remove) for follow-up.",
            "We sell tea. A check runs.",
            "injected: [OpenClaw exec completion]",
            "The check is done.",
            "compaction_summary: The conversation history before this point was compacted into the following summary:",
            "Tell me a long story.",
            "A very short one.",
            "There was a teapot.",
        ]
    );
    assert_eq!(
        first.notes,
        [
            "messages that were kept from the model left out: 1",
            "messages of the gateway in the model's name left out: 1",
            "messages of branches that were left: 2",
        ]
    );
    let second = Transcript::read(Path::new(&found[1].path)).unwrap();
    let expected =
        ["What does cart.js do?", "read", "export function total(items) {", "It sums the prices."];
    assert_eq!((gist(&second), second.notes), (expected.map(str::to_owned).to_vec(), vec![]));
}

#[test]
fn a_database_and_the_file_of_a_deleted_session_say_the_same() {
    let agent = Agent::new();
    agent.put("aa9a", &fixture());
    let lines: Vec<String> = fixture().iter().map(Value::to_string).collect();
    let bytes = zstd::bulk::compress(lines.join("\n").as_bytes(), 1).unwrap();
    let path = agent.folder.path().join("aa9a.jsonl.deleted.2026-11-23T05-39-58.584Z.b568.zst");
    fs::write(&path, bytes).unwrap();
    let file = Transcript::read(&path).unwrap();
    assert_eq!((file.format, &*file.name), (Format::OpenClaw, "aa9a"));
    let both = ["aa9a.1", "aa9a.2"].map(|name| agent.read(name).messages).concat();
    assert_eq!(file.messages, both);
    let passed = "resets passed over: what comes before was not in the context of the model: 1";
    assert_eq!(file.notes[0], passed);
    assert_eq!(
        names(agent.folder.path()),
        ["aa9a.1", "aa9a.2"],
        "what was deleted is not looked for"
    );
}

#[test]
fn long_entries_are_decompressed_and_damaged_ones_counted() {
    let agent = Agent::new();
    let long = "a line of the output\n".repeat(500);
    let call = json!({ "role": "assistant", "timestamp": 2, "content":
        [{ "type": "toolCall", "id": "c", "name": "exec", "arguments": { "command": "x" } }] });
    let result = json!({ "role": "toolResult", "toolCallId": "c", "toolName": "exec", "isError": false, "timestamp": 3,
        "content": [{ "type": "text", "text": long }] });
    agent.put(
        "s",
        &[header("s"), user("a", "", "Go."), entry("b", "a", &call), entry("c", "b", &result)],
    );
    agent.put("s", &[answer("d", "c", "Done.")]);
    let read = agent.read("s");
    let shown: Value = serde_json::from_str(&read.messages[2]).unwrap();
    assert_eq!(shown["content"][0]["text"].as_str(), Some(&*long));
    assert_eq!(read.notes, Vec::<String>::new());
    agent
        .connection
        .execute("update transcript_events set event_zstd = x'28b52ffd00' where seq = 3", [])
        .unwrap();
    agent
        .connection
        .execute("update transcript_events set event_json = '{\"type\"' where seq = 4", [])
        .unwrap();
    let damaged = agent.read("s");
    assert_eq!(gist(&damaged), ["Go."]);
    assert_eq!(
        damaged.notes,
        [
            "entries that cannot be decompressed left out: 1 (line 4)",
            "rows that are not JSON objects left out: 1 (line 5)",
            "calls without a result left out: 1",
            "empty messages of the assistant left out: 1",
        ]
    );
}

#[test]
fn each_reset_begins_a_conversation() {
    let agent = Agent::new();
    let mut kept = reset("r2", "d");
    kept["firstKeptEntryId"] = "c".into();
    agent.put(
        "s",
        &[
            header("s"),
            user("a", "", "One."),
            answer("b", "a", "First."),
            reset("r1", "b"),
            user("c", "r1", "Two."),
            answer("d", "c", "Second."),
            kept,
            user("e", "r2", "Three."),
            answer("f", "e", "Third."),
            reset("r3", "f"),
        ],
    );
    agent.put("other", &[header("other"), user("x", "", "Alone."), answer("y", "x", "Yes.")]);
    assert_eq!(agent.names(), ["other", "s.1", "s.2", "s.3"], "in which something was answered");
    assert_eq!(names(&agent.session("s")), ["s.1", "s.2", "s.3"]);
    assert_eq!(names(&agent.session("s.2")), ["s.2"]);
    let parts = ["s.1", "s.2", "s.3", "other"].map(|name| gist(&agent.read(name)));
    let expected =
        [["One.", "First."], ["Two.", "Second."], ["Three.", "Third."], ["Alone.", "Yes."]];
    assert_eq!(parts, expected.map(|part| part.map(str::to_owned).to_vec()));
    assert_eq!(agent.read("s.2").notes, Vec::<String>::new());
    let note = "resets that kept messages, which stand in the conversation before: 1";
    assert_eq!(agent.read("s.3").notes, [note]);
    let several = "line 1 of `x.sqlite` begins a database in which the session `s` has 3 conversations, `s.1` to `s.3`, and none is named";
    assert_eq!(agent.refused(&agent.session("s")), ("MALFORMED_TRANSCRIPT", several.to_owned()));
    for missing in ["s.4", "s.0", "s.x", "t", "other.2"] {
        let text =
            format!("line 1 of `x.sqlite` begins a database without the session `{missing}`");
        assert_eq!(agent.refused(&agent.session(missing)), ("MALFORMED_TRANSCRIPT", text));
    }
}

#[test]
fn a_session_that_a_person_went_back_in_is_read_once() {
    let agent = Agent::new();
    let shared = [
        user("a", "", "One."),
        answer("b", "a", "First."),
        user("c", "b", "Two."),
        answer("d", "c", "Second."),
    ];
    let session = |id: &str, more: &[Value]| {
        agent.put(id, &[&[header(id)], &shared[..], more].concat());
    };
    session("before", &[]);
    let back = json!({ "type": "leaf", "id": "l", "parentId": "d", "targetId": "b" });
    session("after", &[back, user("e", "b", "Other."), answer("f", "e", "Another.")]);
    // Copies up to an earlier message: one that was gone on with, and one that was not.
    agent.put(
        "fork",
        &[
            header("fork"),
            shared[0].clone(),
            shared[1].clone(),
            user("g", "b", "Third."),
            answer("h", "g", "3."),
        ],
    );
    agent.put("unused", &[header("unused"), shared[0].clone(), shared[1].clone()]);
    assert_eq!(agent.names(), ["after", "fork"]);
    let after = agent.read("after");
    assert_eq!(gist(&after), ["One.", "First.", "Other.", "Another."]);
    assert_eq!(after.notes, ["messages of branches that were left: 2"]);
    assert_eq!(gist(&agent.read("fork")), ["One.", "First.", "Third.", "3."]);
    assert_eq!(names(&agent.session("before")), ["before"], "it can be named");
    assert_eq!(gist(&agent.read("before")), ["One.", "First.", "Two.", "Second."]);
}

#[test]
fn marks_injected_messages_and_omits_what_no_model_saw() {
    let agent = Agent::new();
    let provenance = |id: &str, parent: &str, kind: &str| {
        let mut entry = user(id, parent, kind);
        entry["message"]["provenance"] = json!({ "kind": kind });
        entry
    };
    let custom = json!({ "type": "custom_message", "id": "d", "parentId": "c", "customType": "openclaw.runtime-context", "timestamp": "2026-11-23T05:00:01.000Z",
        "content": "context", "display": false });
    let shown_only = json!({ "role": "custom", "customType": "openclaw.nested-tool.v1", "display": true,
        "excludeFromContext": true, "content": "", "timestamp": 2 });
    let mut mirrored = answer("g", "f", "Mirrored.");
    mirrored["message"]["provider"] = "openclaw".into();
    mirrored["message"]["model"] = "delivery-mirror".into();
    let mut marked = answer("h", "g", "Mirrored too.");
    marked["message"]["openclawDeliveryMirror"] = json!({ "kind": "channel-final" });
    agent.put(
        "s",
        &[
            header("s"),
            provenance("a", "", "external_user"),
            provenance("b", "a", "internal_system"),
            provenance("c", "b", "inter_session"),
            custom,
            json!({ "type": "custom", "id": "e", "parentId": "d", "customType": "openclaw.cache-ttl", "data": {} }),
            entry("f", "e", &shown_only),
            mirrored,
            marked,
            answer("i", "h", "Answer."),
        ],
    );
    let read = agent.read("s");
    let expected = [
        "external_user",
        "injected: internal_system",
        "injected: inter_session",
        "context",
        "Answer.",
    ];
    assert_eq!(gist(&read), expected);
    assert_eq!(
        read.notes,
        [
            "messages that were kept from the model left out: 1",
            "messages of the gateway in the model's name left out: 2",
        ]
    );
}

#[test]
fn reads_a_gateways_database_without_changing_it() {
    let agent = Agent::new();
    agent.connection.execute("pragma wal_checkpoint(truncate)", []).ok();
    let before = fs::read(&agent.path).unwrap();
    agent.put("s", &[header("s"), user("a", "", "One."), answer("b", "a", "First.")]);
    agent.connection.execute_batch("begin immediate").unwrap();
    agent.put("s", &[user("c", "b", "Two.")]);
    assert_eq!(agent.names(), ["s"]);
    assert_eq!(gist(&agent.read("s")), ["One.", "First."], "what is not committed is not there");
    agent.connection.execute_batch("commit").unwrap();
    assert_eq!(gist(&agent.read("s")), ["One.", "First.", "Two."]);
    assert_eq!(fs::read(&agent.path).unwrap(), before, "all of it is in the journal still");
    agent.put("s", &[answer("d", "c", "Second.")]);
}

#[test]
fn reads_a_closed_database_without_creating_files() {
    let agent = Agent::new();
    agent.put("s", &[header("s"), user("a", "", "One."), answer("b", "a", "First.")]);
    let Agent { folder, path, connection } = agent;
    connection.close().unwrap();
    let found = find(folder.path()).unwrap().sessions;
    assert_eq!(Transcript::read(Path::new(&found[0].path)).unwrap().messages.len(), 2);
    let beside = fs::read_dir(path.parent().unwrap()).unwrap();
    let files: Vec<_> = beside.map(|file| file.unwrap().path()).collect();
    assert_eq!(files, [path]);
}

#[test]
fn reads_older_schemas_and_compatible_newer_ones() {
    let entries = [header("s"), user("a", "", "One."), answer("b", "a", "First.")];
    let old = Agent::with(
        "create table schema_meta (meta_key text not null primary key, role text not null, schema_version integer not null) strict;
         create table transcript_events (session_id text not null, seq integer not null, event_json text not null,
            created_at integer not null, primary key (session_id, seq)) strict;",
        19,
    );
    for (seq, entry) in (0..).zip(&entries) {
        let row = params!["s", seq, entry.to_string(), seq];
        old.connection
            .execute("insert into transcript_events values (?1, ?2, ?3, ?4)", row)
            .unwrap();
    }
    assert_eq!(gist(&old.read("s")), ["One.", "First."]);
    let newer = Agent::with(SCHEMA, 31);
    newer.put("s", &entries);
    let read = newer.read("s");
    assert_eq!(gist(&read), ["One.", "First."]);
    assert_eq!(read.notes, ["databases of a newer schema than this program knows: 1"]);
}

#[test]
fn an_incompatible_schema_is_refused_alone() {
    for change in [
        "alter table transcript_events add column event_place text",
        "alter table transcript_events drop column event_json",
        "drop table transcript_events",
    ] {
        let agent = Agent::with(SCHEMA, 31);
        agent.connection.execute_batch(change).unwrap();
        let text = "line 1 of `x.sqlite` begins a database of OpenClaw with schema 31, and this program knows up to 23";
        let refused = ("MALFORMED_TRANSCRIPT", text.to_owned());
        assert_eq!(agent.refused(&agent.path), refused, "{change}");
        assert_eq!(agent.refused(&agent.session("s")), refused, "{change}");
        assert_eq!(find(&agent.path).unwrap_err().code(), "MALFORMED_TRANSCRIPT");
        let beside = agent.folder.path().join("agents/second.jsonl");
        fs::write(beside, format!("{}\n{}\n", header("x"), answer("a", "", "Yes."))).unwrap();
        assert_eq!(
            names(agent.folder.path()),
            ["openclaw-agent.sqlite", "second"],
            "its error is told when it is read"
        );
    }
}

#[test]
fn a_state_folder_is_searched_for_sessions_and_nothing_else() {
    let agent = Agent::new();
    agent.put("s", &[header("s"), user("a", "", "One."), answer("b", "a", "First.")]);
    agent.put("silent", &[header("silent"), user("z", "", "Nobody answered.")]);
    let place = |name: &str| {
        let path = agent.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    let state = crate::opened(place("state/openclaw.sqlite")).unwrap();
    state.execute_batch("create table schema_meta (meta_key text, role text, schema_version integer); insert into schema_meta values ('primary', 'state', 17)").unwrap();
    // An agent that has no session yet, from before sessions were kept here.
    let empty = crate::opened(place("agents/new/agent/openclaw-agent.sqlite")).unwrap();
    empty.execute_batch("create table schema_meta (meta_key text, role text, schema_version integer); insert into schema_meta values ('primary', 'agent', 2)").unwrap();
    let lock =
        crate::opened(place("agents/main/agent/openclaw-agent.sqlite.generation-writer.sqlite"))
            .unwrap();
    lock.execute_batch("create table held (x); begin exclusive; insert into held values (1)")
        .unwrap();
    fs::write(place("tmp/gateway.lock.sqlite"), "").unwrap();
    let old = |name: &str| {
        let lines = [
            json!({ "type": "session", "version": 3, "id": name, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" }),
            user("a", "", "One."),
            answer("b", "a", "First."),
        ];
        fs::write(
            place(&format!("agents/main/sessions/{name}")),
            lines.map(|line| line.to_string()).join("\n"),
        )
        .unwrap();
    };
    old("1f.jsonl");
    old("2f.jsonl.reset.2026-02-01T08-00-00.000Z");
    old("3f.jsonl.deleted.2026-02-01T08-00-00.000Z");
    old("1f.checkpoint.0b8b138c-6d6b-4c2c-8ed6-7f75eff5a52b.jsonl");
    fs::write(place("agents/main/sessions/1f.trajectory.jsonl"), "{\"traceSchema\":\"x\"}\n")
        .unwrap();
    fs::write(
        place("agents/main/sessions/sessions.json"),
        "{\"agent:main:main\":{\"sessionId\":\"1f\"}}",
    )
    .unwrap();
    assert_eq!(names(agent.folder.path()), ["s", "1f", "2f"]);
    for session in find(agent.folder.path()).unwrap().sessions {
        let read = Transcript::read(Path::new(&session.path)).unwrap();
        let format = if session.name == "s" { Format::OpenClaw } else { Format::Pi };
        assert_eq!(
            (read.format, gist(&read)),
            (format, vec!["One.".to_owned(), "First.".to_owned()])
        );
    }
    assert_eq!(agent.read("silent").messages.len(), 1, "it can be named");
}
