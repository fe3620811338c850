//! Memory with many entries, cited files and earlier texts: what is known of few holds of many.

use std::fmt::Write;

use memory::CitedChange;

use crate::repository::{Repository, id, look_after_write, memory_in, stale};

const MEMORY: &str = ".pi/memory/MEMORY.md";

#[test]
fn facts_of_thousands_of_entries_are_known_at_the_next_start() {
    let repository = Repository::new();
    let names: String = (0..8)
        .map(|at| format!("pub const LIMIT_OF_{at}: u32 = {at};\n"))
        .collect::<Vec<_>>()
        .concat();
    repository.write("src/a.rs", &names);
    let limits = (0..8).map(|at| format!(" `LIMIT_OF_{at}`")).collect::<Vec<_>>().concat();
    let entry = |at: u32| format!("- Entry {at}: the limits{limits} hold in src/a.rs\n");
    repository.write(MEMORY, (0..1_500).map(entry).collect::<String>());
    repository.memory().look();
    let facts = repository.text(".pi/memory/page-facts.jsonl").len();
    assert!(facts > 4 << 20, "{facts}");
    repository.write("src/a.rs", names.replace("= 7", "= 8"));
    assert_eq!(stale(&repository.memory().look()).len(), 1_500, "what was pinned is known");
}

#[test]
fn a_file_renamed_among_many_is_followed() {
    let repository = Repository::new();
    let said = |at: u32| format!("fn first_{at}() {{\n    work({at});\n}}\n\nfn last() {{}}\n");
    for at in 0..450 {
        repository.write(&format!("src/m{at}.rs"), said(at));
    }
    let entry = |at: u32| format!("- Entry {at}: `src/m{at}.rs::first_{at}`\n");
    repository.write(MEMORY, (0..3).map(entry).collect::<String>());
    let mut memory = repository.memory();
    memory.look();
    // Files that stood there are older than what comes now, by the clock of the filesystem.
    std::thread::sleep(std::time::Duration::from_millis(50));
    for at in 0..3 {
        let [from, to] =
            ["m", "z"].map(|name| repository.root().join(format!("src/{name}{at}.rs")));
        std::fs::rename(from, to).unwrap();
    }
    let look = memory.look();
    for at in 0..3 {
        let staleness = look.staleness(&id(&look, &format!("Entry {at}"))).unwrap();
        let to = format!("src/z{at}.rs");
        assert_eq!(staleness.worst(), Some(&CitedChange::Moved { to }));
    }
}

#[test]
fn old_lines_of_many_files_come_from_git() {
    let repository = Repository::new();
    let mut entries = String::new();
    for at in 0..130 {
        repository.write(&format!("app/src/m {at}.rs"), format!("const M: u32 = {at};\r\n"));
        writeln!(entries, "- Entry {at}: [it](<../../src/m {at}.rs>)").unwrap();
    }
    // A project in a folder of a repository, and a commit that joins two sides as neither was.
    repository.write(&format!("app/{MEMORY}"), entries);
    repository.commit();
    repository.git(&["checkout", "--quiet", "-b", "side"]);
    repository.commit();
    repository.git(&["checkout", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--no-commit", "side"]);
    repository.write("app/src/m 0.rs", "const M: u32 = 1000;\n");
    repository.commit();
    let memory = || memory_in(&repository.root().join("app"), &repository.agent());
    look_after_write(&mut memory());
    for at in 0..130 {
        repository.write(&format!("app/src/m {at}.rs"), "const N: u32 = 5;\n");
    }
    repository.commit();
    let found = memory().stale();
    let mut old: Vec<u32> = found
        .iter()
        .filter_map(|found| {
            let line = found.cited[0].diff.as_ref()?.lines().find(|line| line.starts_with('-'))?;
            line.strip_prefix("-const M: u32 = ")?.strip_suffix(';')?.parse().ok()
        })
        .collect();
    old.sort_unstable();
    assert_eq!(old, (1..130).chain([1_000]).collect::<Vec<_>>());
}

#[test]
fn all_marked_entries_of_a_file_are_confirmed_at_once() {
    let repository = Repository::new();
    repository.write("a.rs", "const A: u32 = 1;\n");
    repository.write("b.rs", "const B: u32 = 1;\n");
    let entry = |at: u32| {
        let (file, name) = if at.is_multiple_of(2) { ("a.rs", "A") } else { ("b.rs", "B") };
        format!("- Entry {at}: `{name}` in `{file}`\n")
    };
    repository.write(MEMORY, (0..40).map(entry).collect::<String>());
    let mut memory = repository.memory();
    look_after_write(&mut memory);
    repository.write("a.rs", "const C: u32 = 2;\n");
    repository.write("b.rs", "const C: u32 = 2;\n");
    assert_eq!(memory.confirm_all_of("c.rs"), []);
    assert_eq!(memory.confirm_all_of("a.rs").len(), 20);
    let left = stale(&repository.memory().look());
    assert_eq!(left.len(), 20);
    assert!(left.contains(&"Entry 1".to_owned()), "{left:?}");
}
