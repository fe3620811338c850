//! Recall: what it finds, where it may look, and what it reports when it could not look.

use std::fs;
use std::path::Path;

use base::object::{Envelope, ObjectId, ObjectType, Payload};
use memory::{Folders, Memory, RecallAnswer, RecallOptions, RecallPlace, RecallReason, Scope};
use serde_json::json;
use store::{Expected, Store};
use tempfile::TempDir;

/// A user's folder `agent` and a project `project` with these memory files.
fn written(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

const GLOBAL: &str = "agent/memory/MEMORY.md";
const PROJECT: &str = "project/.pi/memory/MEMORY.md";

fn memory(folder: &Path, is_trusted: bool) -> Memory {
    let (agent, project) = (folder.join("agent"), folder.join("project"));
    Memory::new(Folders::new(Some(&agent), Some(&project), is_trusted))
}

fn recall(folder: &TempDir, query: &str) -> RecallAnswer {
    memory(folder.path(), true).recall(query, &RecallOptions::default(), None)
}

/// Hits as `scope file:line`, with `!` where the hit is archived.
fn places(found: &RecallAnswer) -> Vec<String> {
    let shown = found.hits.iter().map(|hit| match &hit.place {
        RecallPlace::File { scope, file, line, is_archived, .. } => {
            format!("{}{scope} {file}:{line}", if *is_archived { "!" } else { "" })
        }
        RecallPlace::Message { session, position, .. } => format!("{session}:{position}"),
    });
    shown.collect()
}

#[test]
fn entries_topics_and_the_archive_are_found_with_their_lines() {
    let folder = written(&[
        (GLOBAL, "# Memory\n\n- prefers short answers\n"),
        (
            PROJECT,
            "# Memory\n\n## Build\n- Tests: `npm test`\n- the linker is mold, it saves a minute\n",
        ),
        (
            "project/.pi/memory/linker.md",
            "# Linker\n\nText before.\n\nWith\nthe mold linker pass -fuse-ld=mold.\n",
        ),
        ("project/.pi/memory/archive/old.md", "- the linker was lld\n"),
        ("project/.pi/memory/MEMORY.local.md", "- my linker is in /opt\n"),
    ]);
    let found = recall(&folder, "mold linker");
    assert_eq!(found.reason, RecallReason::Ok);
    let places = places(&found);
    assert_eq!(places[..2], ["project linker.md:5", "project MEMORY.md:5"]);
    for other in ["!project archive/old.md:1", "local MEMORY.local.md:1"] {
        assert!(places.iter().any(|place| place == other), "{other}: {places:?}");
    }
    let first = &found.hits[0];
    assert_eq!(first.headings, ["Linker"]);
    let lines: Vec<(u64, &str)> = first.lines.iter().map(|line| (line.line, &*line.text)).collect();
    assert_eq!(lines, [(6, "the mold linker pass -fuse-ld=mold.")]);
    assert_eq!(&first.lines[0].text[first.lines[0].matches[0].clone()], "mold");
    assert_eq!(found.hits[1].headings, ["Memory", "Build"]);
}

#[test]
fn words_count_in_other_forms_and_dates_in_other_spellings() {
    let folder = written(&[(
        GLOBAL,
        "## 2026-05-08\n- writing the parser anew\n- chose settings in TOML\n- nothing else\n\n## Later\n- said no more of it\n",
    )]);
    assert_eq!(places(&recall(&folder, "who writes a parser"))[0], "global MEMORY.md:2");
    assert_eq!(places(&recall(&folder, "setting"))[0], "global MEMORY.md:3");
    assert_eq!(places(&recall(&folder, "8 May 2026 parser"))[0], "global MEMORY.md:2");
    assert_eq!(places(&recall(&folder, "\"May 2026\" -parser -settings")), ["global MEMORY.md:4"]);
}

#[test]
fn an_answer_is_found_behind_its_question() {
    let other = "- Ann: the weather is fine\n".repeat(5);
    let text =
        format!("{other}- Ann: What is your favourite colour?\n- Bob: It must be mauve.\n{other}");
    let folder = written(&[(GLOBAL, &text)]);
    let found = recall(&folder, "favourite colour of Bob");
    let mut first = places(&found)[..2].to_vec();
    first.sort();
    assert_eq!(first, ["global MEMORY.md:6", "global MEMORY.md:7"]);
}

#[test]
fn what_is_current_comes_before_what_was_archived() {
    let folder = written(&[
        (GLOBAL, "- the linker of this project is mold, since it saves a minute with each build\n"),
        ("agent/memory/archive/old.md", "- the linker was lld\n"),
    ]);
    assert_eq!(
        places(&recall(&folder, "linker")),
        ["global MEMORY.md:1", "!global archive/old.md:1"]
    );
}

#[test]
fn names_are_found_in_other_spellings_and_parts() {
    let other = "- nothing of the kind\n".repeat(3);
    let text =
        format!("{other}- We chose SQLite\n- limits are in `src/http/limits.rs`\n- Config: TOML\n");
    let folder = written(&[(GLOBAL, &text)]);
    for (query, line) in [
        ("sqlite", 4),
        ("why sqlite", 4),
        ("lib/limits.rs", 5),
        ("configuration", 6),
        ("Konfiguration limits", 5),
    ] {
        let found = recall(&folder, query);
        assert_eq!(places(&found)[0], format!("global MEMORY.md:{line}"), "{query}");
    }
}

#[test]
fn a_path_of_more_words_than_a_search_has_is_searched() {
    let folder = written(&[(GLOBAL, "- Ports: 8080 is taken\n")]);
    let found = recall(&folder, &format!("ports/{}", "a/".repeat(100)));
    assert_eq!(places(&found), ["global MEMORY.md:1"]);
}

#[test]
fn entries_that_say_the_same_share_a_place() {
    let text = "- The linker is mold, which saves a minute of each build\n\
                - the linker is mold, it saves a minute of each build\n\
                - linker flags: none\n\n# Talk\n- Ann: the linker broke\n- Bob: the linker broke\n\
                - Ann: well\n- Bob: yes\n";
    let folder = written(&[(GLOBAL, text)]);
    let found = recall(&folder, "linker mold minute");
    let RecallPlace::File { line, .. } = found.hits[0].alike[0] else { panic!("{found:?}") };
    assert_eq!(
        (found.hits[0].alike.len(), places(&found)[0].clone(), line),
        (1, "global MEMORY.md:1".to_owned(), 2)
    );
    let talk = ["global MEMORY.md:6", "global MEMORY.md:7"];
    assert!(
        talk.iter().all(|place| places(&found).iter().any(|found| found == place)),
        "{found:?}"
    );
}

#[test]
fn entries_that_say_different_things_are_hits_of_their_own() {
    for [one, other] in [
        ["We deploy on Fridays after lunch", "We never deploy on Fridays after lunch"],
        [
            "Timeout of the deploy in the gateway is 30 s",
            "Timeout of the deploy in the gateway is 60 s",
        ],
        [
            "How we deploy on all days of a week: by hand",
            "How we deploy on all days of a week: never by hand",
        ],
        [
            "The deploy on all days is `make ship` and more",
            "The deploy on all days is `make it` and more",
        ],
    ] {
        let folder = written(&[(GLOBAL, &format!("- {one}\n- {other}\n"))]);
        let found = recall(&folder, "deploy");
        assert_eq!(found.hits.len(), 2, "{one}");
    }
    let announced = "Never do this:\n- deploy on Fridays\n\nAlways do this:\n- deploy on Fridays\n";
    assert_eq!(recall(&written(&[(GLOBAL, announced)]), "deploy on fridays").hits.len(), 2);
    let same = "- deploy on Fridays after lunch\n- Deploy on Fridays, after **lunch** #team\n";
    assert_eq!(recall(&written(&[(GLOBAL, same)]), "deploy").hits.len(), 1);
}

#[test]
fn what_only_shares_a_word_is_weak() {
    let text = "- Deploys happen on Tuesdays, by Anna\n- Node: 22.19 or later\n- Build: `npm run build`\n- Tests: `npm test`\n";
    let folder = written(&[(GLOBAL, text)]);
    for (query, reason) in [
        ("how do I deploy to kubernetes", RecallReason::Weak),
        ("kubernetes", RecallReason::NoMatch),
        ("who deploys on Tuesdays", RecallReason::Ok),
        ("which node version do we need", RecallReason::Ok),
        ("Wie lange dauert der Build?", RecallReason::Ok),
        ("Wie heißt der Server von Anna im Keller?", RecallReason::Weak),
    ] {
        let found = recall(&folder, query);
        assert_eq!((found.reason, query), (reason, query), "{found:?}");
        assert_eq!(found.hits.is_empty(), reason == RecallReason::NoMatch);
    }
}

#[test]
fn words_of_asking_count_less_than_what_is_asked_for() {
    let entries = "- E2E: `pnpm e2e` uses a browser\n- Database: Postgres 16, migrations in `db/`\n\
        - Never mock the database in tests\n- We use UTC everywhere\n- Always run the checks first\n\
        - Incident: Redis was full, since failed jobs were kept\n";
    let folder = written(&[(PROJECT, entries)]);
    for (question, line) in [("what database do we use", 2), ("why did redis run out of memory", 6)]
    {
        let places = places(&recall(&folder, question));
        assert_eq!(
            places.first(),
            Some(&format!("project MEMORY.md:{line}")),
            "{question}: {places:?}"
        );
    }
}

#[test]
fn whole_files_are_ranked_where_asked() {
    let folder = written(&[
        (
            "agent/memory/a.md",
            "# Cache\n- redis is the cache\n- the cache is warm\n\nOther words.\n",
        ),
        ("agent/memory/b.md", "- a cache\n"),
        ("agent/memory/c.md", "- nothing\n"),
    ]);
    let options = RecallOptions { by_file: true, ..RecallOptions::default() };
    let found = memory(folder.path(), true).recall("redis cache", &options, None);
    assert_eq!(places(&found), ["global a.md:2", "global b.md:1"]);
    let lines: Vec<u64> = found.hits[0].lines.iter().map(|line| line.line).collect();
    assert!(lines.starts_with(&[2, 3]), "{lines:?}");
}

#[test]
fn a_requested_scope_without_permission_is_denied() {
    let folder = written(&[(GLOBAL, "- a needle\n"), (PROJECT, "- another needle\n")]);
    let recall = |is_trusted: bool, scopes: &[Scope]| {
        let options = RecallOptions { scopes: scopes.to_vec(), ..RecallOptions::default() };
        memory(folder.path(), is_trusted).recall("needle", &options, None)
    };
    let found = recall(false, &[]);
    assert_eq!(
        (found.reason, places(&found)),
        (RecallReason::Ok, vec!["global MEMORY.md:1".into()])
    );
    assert_eq!(found.problems, []);
    let found = recall(false, &[Scope::Project]);
    assert_eq!((found.reason, found.hits.len()), (RecallReason::Denied, 0));
    assert!(found.problems[0].message.contains("not trusted"), "{:?}", found.problems);
    let found = recall(false, &Scope::ALL);
    assert_eq!((found.reason, found.hits.len(), found.problems.len()), (RecallReason::Ok, 1, 2));
    assert_eq!(places(&recall(true, &[Scope::Project])), ["project MEMORY.md:1"]);
}

#[test]
fn a_search_that_makes_no_sense_is_malformed() {
    let folder = written(&[(GLOBAL, "- a needle\n")]);
    let mut memory = memory(folder.path(), true);
    let none = RecallOptions { limit: 0, ..RecallOptions::default() };
    for (query, options) in [
        ("", RecallOptions::default()),
        (" \"-\" ", RecallOptions::default()),
        ("what is this about", RecallOptions::default()),
        ("Was ist das?", RecallOptions::default()),
        ("needle", none),
        (&*"x ".repeat(6_000), RecallOptions::default()),
    ] {
        let found = memory.recall(query, &options, None);
        assert_eq!((found.reason, found.hits.len()), (RecallReason::Malformed, 0), "{query:.20}");
        assert_eq!(found.problems.len(), 1);
    }
}

#[test]
fn nothing_found_is_no_match_only_where_all_was_searched() {
    let folder = written(&[(GLOBAL, "- a needle\n")]);
    assert_eq!(recall(&folder, "haystack").reason, RecallReason::NoMatch);
    assert_eq!(recall(&written(&[]), "needle").reason, RecallReason::NoMatch);

    fs::write(folder.path().join("agent/memory/bad.md"), b"\xff\xfe\x00needle").unwrap();
    let found = recall(&folder, "haystack");
    assert_eq!(found.reason, RecallReason::Unavailable);
    assert!(found.problems[0].message.contains("bad.md"), "{:?}", found.problems);
    assert_eq!(recall(&folder, "needle").reason, RecallReason::Ok);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_no_empty_one() {
    use std::os::unix::fs::symlink;

    let folder = written(&[(GLOBAL, "- a needle\n")]);
    // A loop of links can be read by nobody, not even by root.
    symlink("b", folder.path().join("a")).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    fs::create_dir_all(folder.path().join("project/.pi")).unwrap();
    symlink("../../a", folder.path().join("project/.pi/memory")).unwrap();
    let found = recall(&folder, "haystack");
    assert_eq!(found.reason, RecallReason::Unavailable, "{found:?}");
    assert!(found.problems[0].message.contains(".pi/memory"), "{:?}", found.problems);
    assert_eq!(recall(&folder, "needle").reason, RecallReason::Ok);
}

#[test]
fn what_changed_on_disk_is_found_at_once() {
    let folder = written(&[(GLOBAL, "- a needle\n")]);
    let mut memory = memory(folder.path(), true);
    let mut found = |query: &str| memory.recall(query, &RecallOptions::default(), None).reason;
    assert_eq!(found("thread"), RecallReason::NoMatch);
    fs::write(folder.path().join(GLOBAL), "- a thread of silk\n").unwrap();
    assert_eq!((found("thread"), found("needle")), (RecallReason::Ok, RecallReason::NoMatch));
    fs::remove_file(folder.path().join(GLOBAL)).unwrap();
    assert_eq!(found("thread"), RecallReason::NoMatch);
}

/// A store with a chat of these messages for each session.
fn store(folder: &Path, sessions: &[(&str, &[&str])]) -> Store {
    let store = Store::open(folder.join("store.sqlite").to_str().unwrap()).unwrap();
    let mut transaction = store.begin();
    for (key, messages) in sessions {
        let envelope = Envelope::unsourced(ObjectId::chat(key), ObjectType::Chat).unwrap();
        let item = |(at, text): (usize, &&str)| {
            let role = if at % 2 == 0 { "user" } else { "assistant" };
            json!({ "turn": 1, "message": { "role": role, "content": text } }).to_string()
        };
        let items = messages.iter().enumerate().map(item).collect();
        transaction.splice(envelope, Payload::default(), 0, items, Expected::Absent).unwrap();
    }
    transaction.commit().unwrap();
    store
}

#[test]
fn past_sessions_are_searched_where_asked() {
    let folder = written(&[(GLOBAL, "- the port is 8080\n")]);
    let store = store(
        folder.path(),
        &[
            (
                "one",
                &["why does the deployment fail?", "The certificate of the registry had expired."],
            ),
            ("two", &["hello", "hi"]),
            ("three", &["the deployment now works", "fine"]),
        ],
    );
    let mut memory = memory(folder.path(), true);
    let plain = RecallOptions::default();
    let sessions = RecallOptions { sessions: true, ..RecallOptions::default() };
    assert_eq!(memory.recall("deployment", &plain, Some(&store)).reason, RecallReason::NoMatch);
    let found = memory.recall("why did the deployment fail", &sessions, Some(&store));
    assert_eq!(places(&found)[..2], ["session:one:0", "session:one:1"], "{found:?}");
    assert!(places(&found).contains(&"session:three:0".to_owned()));
    assert_eq!(found.hits[1].lines[0].text, "The certificate of the registry had expired.");
    let elsewhere = RecallOptions { current_session: Some("one".into()), ..sessions.clone() };
    let found = memory.recall("deployment", &elsewhere, Some(&store));
    assert_eq!(places(&found)[0], "session:three:0");
    let found = memory.recall("port", &sessions, Some(&store));
    assert_eq!(places(&found), ["global MEMORY.md:1"]);
}

#[test]
fn sessions_that_cannot_be_searched_are_no_empty_answer() {
    let folder = written(&[(GLOBAL, "- the port is 8080\n")]);
    let store = store(folder.path(), &[("one", &["hello"])]);
    let mut memory = memory(folder.path(), true);
    let options = RecallOptions { sessions: true, ..RecallOptions::default() };
    assert_eq!(memory.recall("hello", &options, None).reason, RecallReason::Unavailable);
    let found = memory.recall("port", &options, None);
    assert_eq!((found.reason, found.hits.len(), found.problems.len()), (RecallReason::Ok, 1, 1));
    store.close().unwrap();
    let found = memory.recall("hello", &options, Some(&store));
    assert_eq!(found.reason, RecallReason::Unavailable, "{found:?}");
}

#[test]
fn a_damaged_chat_is_a_backend_error_and_hides_no_other() {
    let folder = written(&[]);
    let sessions: [(&str, &[&str]); 2] = [("one", &["hello friend"]), ("two", &["hello world"])];
    let store = store(folder.path(), &sessions);
    let options = RecallOptions { sessions: true, ..RecallOptions::default() };
    let recall = |query: &str| memory(folder.path(), true).recall(query, &options, Some(&store));
    assert_eq!(recall("hello").hits.len(), 2);
    let file = rusqlite::Connection::open(folder.path().join("store.sqlite")).unwrap();
    let sql = "UPDATE item SET text = 'other' WHERE object =
               (SELECT object FROM object WHERE id = 'chat:one')";
    file.execute_batch(sql).unwrap();
    let found = recall("friend");
    assert_eq!((found.reason, found.hits.len()), (RecallReason::BackendError, 0), "{found:?}");
    let found = recall("hello");
    assert_eq!(
        (found.reason, places(&found)),
        (RecallReason::Ok, vec!["session:two:0".to_owned()])
    );
    assert_eq!(found.problems[0].reason, RecallReason::BackendError);
}
