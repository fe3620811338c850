//! `page-facts.jsonl`: what it keeps, and that neither merges nor damage lose it.

use std::fs;

use memory::FACTS_FILE;
use memory::journal::{Author, Draft};

use proptest::prelude::*;

use crate::repository::{
    Repository, id, look_after_write, memory_in, next_day, own_in, run, stale, write,
};
use testing::privilege::is_privileged;

const MEMORY: &str = ".pi/memory/MEMORY.md";
const FACTS: &str = ".pi/memory/page-facts.jsonl";

#[test]
fn there_is_one_line_per_page_sorted_by_id() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: `a.rs`\n- B: b\n- C: c\n");
    let mut memory = repository.memory();
    look_after_write(&mut memory);
    let before = repository.text(FACTS);
    let ids: Vec<&str> = before.lines().map(|line| &line[7..19]).collect();
    assert!(ids.len() == 3 && ids.is_sorted(), "{before}");
    let stamp =
        |path: &str| fs::metadata(repository.root().join(path)).unwrap().modified().unwrap();
    let written = stamp(FACTS);
    look_after_write(&mut memory);
    let mut later = repository.memory().with_clock(next_day);
    look_after_write(&mut later);
    repository.write("a.rs", "2\n");
    look_after_write(&mut later);
    repository.write(MEMORY, "- C: c\n\n- A: `a.rs`\n- B: b\n");
    look_after_write(&mut later);
    assert_eq!(stamp(FACTS), written, "neither another day, nor a cited file, nor a move is news");
    repository.write(MEMORY, "- C: c\n\n- A: `a.rs`\n- B: b, too\n");
    look_after_write(&mut later);
    let after = repository.text(FACTS);
    let changed: Vec<&str> = after.lines().filter(|line| !before.contains(line)).collect();
    assert!(
        changed.len() == 1 && changed[0].contains(r#""confirmed":"2030-01-11""#),
        "{changed:?}"
    );
}

#[test]
fn who_only_looks_changes_nothing_that_git_has() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: see `a.rs` for it\n");
    repository.commit();
    let clone = repository.cloned("clone");
    let look = || memory_in(&clone, &repository.agent()).look();
    look();
    assert_eq!(run(&clone, &["status", "--porcelain"]), "");
    look_after_write(&mut repository.memory());
    repository.write("a.rs", "2\n");
    repository.commit();
    run(&clone, &["pull", "--quiet"]);
    assert_eq!(stale(&look()), ["A"]);
    // A colleague edits by hand, and has no Palimpsest.
    repository.write(MEMORY, "- A: see `a.rs` for all of it\n");
    repository.commit();
    run(&clone, &["pull", "--quiet"]);
    assert_eq!((stale(&look()), run(&clone, &["status", "--porcelain"])), (vec![], String::new()));
    write(&clone.join("a.rs"), "3\n");
    assert_eq!(stale(&look()), ["A"], "pinned when it came");
    write(&clone.join("a.rs"), "2\n");
    // What was found out so goes into git with the next write here.
    write(&clone.join(MEMORY), "- A: see `a.rs` for all of it\n- B: b\n");
    look_after_write(&mut memory_in(&clone, &repository.agent()).with_clock(next_day));
    let changed = run(&clone, &["diff", "--stat=200"]);
    assert!(changed.contains("page-facts.jsonl") && changed.contains("2 files"), "{changed}");
    let local = fs::read_to_string(own_in(&clone, &repository.agent(), "page-facts.local.jsonl"));
    let local = local.unwrap();
    assert_eq!(local, "");
}

#[test]
fn what_a_later_version_wrote_stays() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n");
    look_after_write(&mut repository.memory());
    let line = repository.text(FACTS).replace("}\n", ",\"later\":{\"x\":[1]}}\n");
    repository.write(FACTS, &line);
    repository.write(MEMORY, "- A: a, edited\n");
    look_after_write(&mut repository.memory());
    let now = repository.text(FACTS);
    assert!(now.contains(r#""later":{"x":[1]}"#) && now != line, "{now}");
    // Only one side of a merge has it.
    let without = now.replace(",\"later\":{\"x\":[1]}", "");
    repository.write(FACTS, without + &now);
    repository.write(MEMORY, "- A: a, edited again\n");
    look_after_write(&mut repository.memory());
    let now = repository.text(FACTS);
    assert!(now.contains(r#""later":{"x":[1]}"#) && now.lines().count() == 1, "{now}");
}

#[test]
fn facts_survive_alone_and_find_an_edited_page() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "## H\n- the deploy script in `a.rs` needs a token\n");
    let look = look_after_write(&mut repository.memory());
    let first = look.all_pages().next().unwrap().id.clone();
    repository.write(MEMORY, "## Other\n- the deploy script in `a.rs` needs no token\n");
    let look = look_after_write(&mut repository.memory());
    assert_eq!(look.all_pages().next().unwrap().id, first);
    let mut memory = repository.memory();
    memory.look();
    memory.verify();
    let names: Vec<String> = fs::read_dir(repository.root().join(".pi/memory"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".jsonl") && name != FACTS_FILE)
        .collect();
    for name in names {
        fs::remove_file(repository.root().join(".pi/memory").join(name)).unwrap();
    }
    repository.write("a.rs", "2\n");
    let look = repository.memory().look();
    assert!(look.staleness(&first).is_some());
}

#[test]
fn a_page_that_is_gone_keeps_its_facts_until_it_comes_back() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: see `a.rs` for it\n- B: b\n");
    let mut memory = repository.memory();
    let first = id(&look_after_write(&mut memory), "A");
    repository.write(MEMORY, "- B: b\n");
    look_after_write(&mut memory);
    assert!(repository.text(FACTS).contains(r#""gone":"2030-01-10""#));
    repository.write("a.rs", "2\n");
    repository.write(".pi/memory/topic.md", "# T\n\n## A\nsee `a.rs` for it\n");
    repository.write(MEMORY, "- B: b\n- [T](topic.md)\n");
    let look = look_after_write(&mut repository.memory());
    assert_eq!(id(&look, "A"), first, "moved to a topic file");
    assert!(!repository.text(FACTS).contains("gone"));
}

#[test]
fn a_merge_with_conflicts_loses_nothing() {
    let repository = Repository::new();
    for name in ["a", "b"] {
        repository.write(&format!("{name}.rs"), "1\n");
    }
    repository.write(MEMORY, "- A: `a.rs`\n\n## Two\n\n- B: `b.rs`\n");
    look_after_write(&mut repository.memory());
    repository.commit();
    repository.git(&["checkout", "--quiet", "-b", "other"]);
    repository.write(MEMORY, "- A: `a.rs`\n\n## Two\n\n- B: `b.rs` of the other\n- O: other\n");
    look_after_write(&mut repository.memory().with_clock(next_day));
    repository.commit();
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write(MEMORY, "- A: `a.rs` of main\n- M: main\n\n## Two\n\n- B: `b.rs`\n");
    let mut memory = repository.memory();
    let ids = look_after_write(&mut memory);
    let (a, b) = (id(&ids, "A"), id(&ids, "B"));
    repository.commit();
    let merged = std::process::Command::new("git")
        .args(["merge", "--quiet", "other"])
        .current_dir(repository.root())
        .output()
        .unwrap();
    let facts = repository.text(FACTS);
    assert!(!merged.status.success() && facts.contains("<<<<<<<"), "{facts}");
    let look = repository.memory().look();
    assert_eq!((id(&look, "A"), id(&look, "B"), stale(&look)), (a.clone(), b.clone(), vec![]));
    repository.write("a.rs", "2\n");
    repository.write("b.rs", "2\n");
    assert_eq!(stale(&repository.memory().look()), ["A", "B"]);
    repository.write(MEMORY, repository.text(MEMORY) + "- N: new\n");
    look_after_write(&mut repository.memory());
    let facts = repository.text(FACTS);
    assert!(!facts.contains("<<<<<<<") && facts.lines().count() == 5, "{facts}");
    assert!(facts.lines().all(|line| line.starts_with(r#"{"id":""#)), "{facts}");
    let b = facts.lines().find(|line| line.contains(b.as_str())).unwrap();
    assert!(b.contains("2030-01-11"), "{b}");
    repository.commit();
}

#[test]
fn an_index_in_conflict_changes_no_facts() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n- B: b\n");
    look_after_write(&mut repository.memory());
    let before = repository.text(FACTS);
    repository.write(MEMORY, "<<<<<<< HEAD\n- A: a\n=======\n- A: other\n>>>>>>> x\n");
    look_after_write(&mut repository.memory());
    assert_eq!(repository.text(FACTS), before);
}

#[test]
fn torn_lines_are_set_aside_and_the_rest_counts() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: `a.rs`\n");
    look_after_write(&mut repository.memory());
    let torn = format!("{}{{\"id\":\"0123\n\u{fffd}junk\n", repository.text(FACTS));
    repository.write(FACTS, torn);
    repository.write("a.rs", "2\n");
    let mut memory = repository.memory();
    assert_eq!(stale(&memory.look()), ["A"]);
    repository.write(MEMORY, "- A: `a.rs`\n- B: b\n");
    look_after_write(&mut memory);
    assert_eq!(repository.text(FACTS).lines().count(), 2);
    let aside = repository.own_text("page-facts.jsonl.set-aside");
    assert!(aside.contains("0123") && aside.contains("junk"), "{aside}");
}

#[test]
fn a_file_that_is_too_large_is_left_alone_and_marks_go_on() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: `a.rs`\n");
    let huge = "{}\n".repeat((16 << 20) / 3 + 1);
    repository.write(FACTS, &huge);
    let mut memory = repository.memory();
    let look = look_after_write(&mut memory);
    assert!(
        look.warnings.iter().any(|warning| warning.problem.contains("too large")),
        "{:?}",
        look.warnings
    );
    repository.write("a.rs", "2\n");
    assert_eq!(stale(&memory.look()), ["A"]);
    assert_eq!(repository.text(FACTS).len(), huge.len());
}

#[test]
fn memory_is_read_whatever_the_facts_file_holds() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: `a.rs`\n- B: b\n");
    look_after_write(&mut repository.memory());
    let whole = repository.text(FACTS).into_bytes();
    let junk = prop::collection::vec(any::<u8>(), 0..40);
    proptest!(testing::cases::config(16, 1), |(at in 0..whole.len(), cut in 0..60_usize, junk in junk)| {
        let mut bytes = whole.clone();
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, junk);
        repository.write(FACTS, &bytes);
        let look = look_after_write(&mut repository.memory());
        let keys: Vec<_> = look.all_pages().map(|page| page.key.as_deref()).collect();
        prop_assert_eq!(keys, [Some("A"), Some("B")]);
        let bytes = fs::read(repository.root().join(FACTS)).unwrap();
        let now = String::from_utf8_lossy(&bytes).into_owned();
        let readable = |line: &&str| serde_json::from_str::<memory::Fact>(line).is_ok();
        let is_of = |line: &str, id: &str| {
            serde_json::from_str::<serde_json::Value>(line).is_ok_and(|fact| fact["id"] == id)
        };
        for page in look.all_pages() {
            let lines = now.lines().filter(readable).filter(|line| is_of(line, page.id.as_str()));
            prop_assert_eq!(lines.count(), 1, "{}", now);
        }
    });
}

#[test]
fn two_processes_lose_nothing_of_each_other() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n");
    let (mut one, mut other) = (repository.memory(), repository.memory());
    one.look();
    other.look();
    let a = id(&one.look(), "A");
    let draft = Draft {
        file: "MEMORY.md".to_owned(),
        text: "A: a".to_owned(),
        heading: None,
        by: Author::Import,
        origin: Some("CLAUDE.md:3".to_owned()),
    };
    one.note_origins(&[(memory::Scope::Project, &draft)]);
    repository.write(MEMORY, "- A: a\n- B: b\n");
    look_after_write(&mut other);
    one.look();
    assert_eq!(repository.memory().fact(&a), None, "nothing is read before a look");
    let mut third = repository.memory();
    third.look();
    assert_eq!(third.fact(&a).unwrap().origin, "CLAUDE.md:3");
    assert_eq!(repository.text(FACTS).lines().count(), 2);
}

#[test]
fn a_look_does_not_wait_for_another_writer() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n");
    let mut memory = repository.memory();
    let own = repository.own(".lock");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    let lock = fs::File::create(own).unwrap();
    lock.lock().unwrap();
    assert_eq!(look_after_write(&mut memory).warnings, []);
    assert!(!repository.root().join(FACTS).exists(), "it was not waited for");
    drop(lock);
    memory.look();
    assert_eq!(repository.text(FACTS).lines().count(), 1);
}

#[test]
fn private_notes_stay_private() {
    let repository = Repository::new();
    repository.write(MEMORY, "- A: a\n");
    repository.write(".pi/memory/MEMORY.local.md", "- Mine: my own affair\n");
    let mut memory = repository.memory();
    let mine = id(&look_after_write(&mut memory), "Mine");
    assert!(!repository.text(FACTS).contains("affair"));
    assert!(repository.own_text("page-facts.local.jsonl").contains("affair"));
    run(&repository.root(), &["add", "--all"]);
    let staged = run(&repository.root(), &["diff", "--cached", "--name-only"]);
    assert!(!staged.contains("local"), "{staged}");
    repository.write(".pi/memory/MEMORY.local.md", "- Mine: my own affair, edited\n");
    assert_eq!(id(&repository.memory().look(), "Mine"), mine);
}

#[test]
fn a_read_only_folder_is_a_warning_and_keeps_marks_working() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- A: `a.rs`\n");
    // A folder stands where the file should be: that stops the superuser, too.
    fs::create_dir_all(repository.root().join(FACTS).join("x")).unwrap();
    let mut memory = repository.memory();
    let look = look_after_write(&mut memory);
    assert_eq!(look.warnings.len(), 1, "{:?}", look.warnings);
    repository.write("a.rs", "2\n");
    assert_eq!(stale(&memory.look()), ["A"]);
    #[cfg(unix)]
    if !is_privileged() {
        use std::os::unix::fs::PermissionsExt;
        let other = Repository::new();
        other.write(MEMORY, "- A: a\n");
        let folder = other.root().join(".pi/memory");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
        assert_eq!(other.memory().look().warnings.len(), 1);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn memory_that_nobody_wrote_leaves_no_trace() {
    let repository = Repository::new();
    write(&repository.root().join("a.rs"), "1\n");
    let mut memory = repository.memory();
    memory.look();
    memory.verify();
    memory.ended();
    assert!(!repository.root().join(".pi").exists() && !repository.agent().exists());
}
