//! A project's memory counts once its user trusts the project, memory written by the user's own
//! sessions needs no confirmation, and neither writes where it must not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use memory::import::ImportFrom;
use memory::{Folders, Look, Memory, RecallOptions, Scope};
use serde_json::json;
use settings::TrustBook;
use source::{Namespace, canonical_path};
use store::Store;

use crate::repository::{Repository, some_day, stored};

const MEMORY: &str = ".pi/memory/MEMORY.md";

fn asking(repository: &Repository) -> Memory {
    let folders = Folders::new(Some(&repository.agent()), Some(&repository.root()), true);
    Memory::new(folders.by_answer()).with_clock(some_day)
}

fn answer(repository: &Repository, trusted: bool) {
    let book = TrustBook::of(Some(&repository.agent())).unwrap();
    book.answer(&repository.root(), Some(trusted), some_day()).unwrap();
}

fn keys(look: &Look) -> Vec<&str> {
    look.pages().filter_map(|page| page.key.as_deref()).collect()
}

fn codes(look: &Look) -> Vec<&str> {
    look.warnings.iter().map(|warning| warning.code).collect()
}

/// The files below a folder with what they hold.
fn held(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.insert(entry.path(), fs::read(entry.path()).unwrap_or_default());
            }
        }
    }
    found
}

#[test]
fn memory_counts_from_the_answer_on_and_not_before() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n");
    let mut memory = asking(&repository);
    let look = memory.look();
    assert_eq!((keys(&look), codes(&look)), (vec![], vec!["NOT_TRUSTED"]));
    answer(&repository, true);
    let look = memory.look();
    assert_eq!((keys(&look), codes(&look)), (vec!["A"], vec![]));
    answer(&repository, false);
    let look = memory.look();
    assert_eq!((keys(&look), codes(&look)), (vec![], vec![]), "they know that they said no");
}

#[test]
fn a_recall_finds_memory_right_after_the_answer() {
    let repository = Repository::new();
    repository.write(MEMORY, "- Port: it listens on 8080\n");
    let mut memory = asking(&repository);
    let mut hits = || memory.recall("port", &RecallOptions::default(), None).hits.len();
    assert_eq!(hits(), 0);
    answer(&repository, true);
    assert_eq!(hits(), 1);
}

#[test]
fn a_look_writes_nothing_into_the_project() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: `a.rs`\n");
    // What a person wrote and did not commit yet is pinned for others.
    repository.commit();
    repository.write(".pi/memory/MEMORY.local.md", "- B: `a.rs`\n");
    let before = held(&repository.root());
    for trusted in [false, true] {
        answer(&repository, trusted);
        let mut memory = asking(&repository);
        memory.look();
        memory.verify();
        memory.stale();
        memory.check();
        memory.waiting();
        memory.compacted();
        memory.ended();
        assert_eq!(held(&repository.root()), before, "{trusted}");
    }
}

#[test]
fn what_a_flush_or_a_tool_of_a_session_wrote_needs_no_word() {
    let repository = Repository::new();
    let mut memory = asking(&repository);
    assert_eq!(codes(&memory.look()), [""; 0]);
    memory.prepare_remember(Scope::Project, "A: a", None).unwrap().run(some_day()).unwrap();
    let mut done = memory.prepare_flush().run();
    memory.settled(&mut done);
    assert_eq!(keys(&memory.look()), ["A"]);
    let root = repository.root();
    let args = json!({ "path": MEMORY, "content": "- A: a\n- B: b\n" });
    assert_eq!(memory.check_write("write", &args, &root), None);
    repository.write(MEMORY, "- A: a\n- B: b\n");
    // Another call looks before this one has ended.
    assert_eq!(keys(&memory.look()), ["A", "B"]);
    memory.explain_write("write", &args, &root);
    assert_eq!(keys(&asking(&repository).look()), ["A", "B"]);
    repository.write(MEMORY, "- A: a\n- B: b\n- C: pulled\n");
    assert_eq!(keys(&memory.look()), [""; 0]);
    assert_eq!(codes(&asking(&repository).look()), ["NOT_TRUSTED"]);
}

#[test]
fn what_is_asked_first_finds_a_project_that_counts() {
    let repository = Repository::new();
    repository.write("CLAUDE.md", "- A: a\n");
    assert!(asking(&repository).prepare_remember(Scope::Project, "B: b", None).is_ok());
    let plan = asking(&repository).import(&ImportFrom::Notes, None, None, false).unwrap();
    assert_eq!(plan.items.iter().filter(|item| item.scope == Scope::Project).count(), 1);
    let answer = r#"[{ "scope": "project", "text": "C: c" }]"#;
    assert_eq!(asking(&repository).propose(answer).unwrap().len(), 1);
}

#[test]
fn a_write_beside_what_does_not_count_trusts_none_of_it() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: of a clone\n");
    // A command looks at the project that is named, and `--trust-memory` trusts for one run.
    let mut named = repository.memory();
    named.prepare_remember(Scope::Project, "B: b", None).unwrap().run(some_day()).unwrap();
    let mut done = named.prepare_flush().run();
    named.settled(&mut done);
    let args = json!({ "path": MEMORY, "content": "- A: of a clone\n- C: c\n" });
    assert_eq!(named.check_write("write", &args, &repository.root()), None);
    repository.write(MEMORY, "- A: of a clone\n- C: c\n");
    named.explain_write("write", &args, &repository.root());
    assert_eq!(keys(&named.look()), ["A", "C"]);
    let is_asked_about = || {
        let look = asking(&repository).look();
        (keys(&look), codes(&look)) == (vec![], vec!["NOT_TRUSTED"])
    };
    assert!(is_asked_about());
    // Nor does a session in what counts for as long as the person trusts it.
    answer(&repository, true);
    let mut trusted = asking(&repository);
    trusted.look();
    trusted.prepare_remember(Scope::Project, "D: d", None).unwrap().run(some_day()).unwrap();
    let mut done = trusted.prepare_flush().run();
    trusted.settled(&mut done);
    assert_eq!(keys(&asking(&repository).look()), ["A", "C", "D"]);
    let book = TrustBook::of(Some(&repository.agent())).unwrap();
    book.answer(&repository.root(), None, some_day()).unwrap();
    assert!(is_asked_about());
}

#[test]
fn no_tool_adds_to_memory_that_does_not_count() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n");
    let mut memory = asking(&repository);
    for path in [MEMORY, ".pi/memory/new.md", "src/../.pi/memory/new.md"] {
        let args = json!({ "path": path, "content": "- x\n" });
        let refused = memory.check_write("write", &args, &repository.root());
        assert!(refused.is_some_and(|words| words.contains("palimpsest trust")), "{path}");
    }
    let args = json!({ "path": "src/a.rs", "content": "x" });
    assert_eq!(memory.check_write("write", &args, &repository.root()), None);
    let error = memory.prepare_remember(Scope::Project, "B: b", None).unwrap_err();
    assert!(error.to_string().contains("not trusted"), "{error}");
}

#[test]
fn a_committed_memory_local_md_sees_only_the_project() {
    let repository = Repository::new();
    let outside = repository.root().parent().unwrap().join("private.txt");
    fs::write(&outside, "PRIVATE\n").unwrap();
    repository.write(
        ".pi/memory/MEMORY.local.md",
        format!("- A: see `{}`\n", canonical_path(&outside).display()),
    );
    let (store, files) = (Store::open(":memory:").unwrap(), Namespace::here("fs"));
    let id = files.locate(&canonical_path(&outside)).id().unwrap();
    let look = || {
        stored(asking(&repository), &store, &files).look();
        store.get(&id, base::object::AsOf::Latest).unwrap().is_some()
    };
    answer(&repository, true);
    repository.commit();
    assert!(!look());
    // As a person has it: git leaves it out.
    repository.git(&["rm", "--quiet", "--cached", ".pi/memory/MEMORY.local.md"]);
    fs::remove_dir_all(repository.agent().join("palimpsest/memory")).unwrap();
    assert!(look());
}

#[test]
fn an_old_journal_is_adopted_only_if_it_is_the_users_own() {
    let line = r#"{"op":"stage","id":"w1","at":"2026-01-01T00:00:00Z","file":"MEMORY.md","text":"B: waits","by":"person"}"#;
    let evil = r#"{"op":"stage","id":"w2","at":"2026-01-01T00:00:00Z","file":"../x.md","text":"C: no","by":"person"}"#;
    for (is_known, is_in_git) in [(true, false), (false, false), (true, true)] {
        let repository = Repository::new();
        repository.write(MEMORY, "- A: a\n");
        let (store, files) = (Store::open(":memory:").unwrap(), Namespace::here("fs"));
        let open = || stored(asking(&repository), &store, &files);
        answer(&repository, true);
        if is_known {
            open().look();
        }
        let journal = repository.root().join(".pi/memory/writeback-journal.jsonl");
        fs::write(&journal, format!("{line}\n{evil}\n")).unwrap();
        fs::write(journal.with_file_name(".lock"), "").unwrap();
        if is_in_git {
            repository.commit();
        }
        let mut memory = open();
        let waiting = memory.waiting();
        if is_known && !is_in_git {
            assert_eq!(waiting[0].operations.len(), 1);
            assert_eq!(memory.prepare_flush().run()[0].report.committed.len(), 1);
            assert!(!journal.exists() && !journal.with_file_name(".lock").exists());
        } else {
            assert_eq!(waiting, []);
            assert_eq!(codes(&memory.look()), ["NOT_READ"]);
            assert!(journal.exists());
        }
        assert!(!repository.root().join(".pi/x.md").exists());
    }
}

#[test]
fn a_number_at_the_end_of_its_range_in_a_journal_stops_nothing() {
    let repository = Repository::new();
    let mut memory = asking(&repository);
    memory.look();
    let path = memory.folders().memory_folder(Scope::Project).unwrap();
    let path = path.path_of("writeback-journal.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let line = |id: &str| format!("{{\"op\":\"accept\",\"id\":\"{id}\"}}\n");
    fs::write(&path, line("w18446744073709551615") + &line("w9007199254740993")).unwrap();
    let staged = memory.prepare_remember(Scope::Project, "A: a", None).unwrap();
    assert_eq!(staged.run(some_day()).unwrap().id, "w1");
}
