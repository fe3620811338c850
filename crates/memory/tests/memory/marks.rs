//! What an entry rests on, and which mark it gets: that alone which the entry says decides.

use memory::{CitedChange, Look, Scope};
use serde_json::json;

use crate::repository::{
    Repository, id, look_after_write, memory_in, next_day, run, some_day, stale, write,
};

const MEMORY: &str = ".pi/memory/MEMORY.md";
const SOURCE: &str = "const MAX_STEPS: usize = 64;\n\nfn other() {\n    work(1);\n}\n";

/// What became of the places that an entry cites: `src/a.rs:1 contradicted`.
fn marks(look: &Look, key: &str) -> Vec<String> {
    let staleness = look.staleness(&id(look, key));
    let cited = staleness.iter().flat_map(|staleness| &staleness.cited);
    cited.map(|cited| format!("{} {}", cited.pin.place(), cited.change.as_str())).collect()
}

/// A project with one entry about `src/a.rs`, which then changes. Returns its marks.
fn marks_after(entry: &str, before: &str, now: &str) -> Vec<String> {
    let repository = Repository::new();
    repository.write("src/a.rs", before);
    repository.write(MEMORY, format!("- Entry: {entry}\n"));
    let mut memory = repository.memory();
    memory.look();
    repository.write("src/a.rs", now);
    marks(&memory.look(), "Entry")
}

#[test]
fn a_cited_name_stands_for_its_definition() {
    let entry = "64 steps at most, `src/a.rs::MAX_STEPS`";
    let with = |from: &str, to: &str| SOURCE.replace(from, to);
    for (now, expected) in [
        (with("work(1)", "work(2)"), vec![]),
        (format!("// new\n\n{SOURCE}"), vec![]),
        (with("= 64", "= 65"), vec!["src/a.rs:1 contradicted"]),
        (with("usize", "u32"), vec!["src/a.rs:1 touched"]),
        (with("MAX_STEPS", "MOST"), vec!["src/a.rs:1 contradicted"]),
    ] {
        assert_eq!(marks_after(entry, SOURCE, &now), expected, "{now}");
    }
}

#[test]
fn a_name_that_is_not_there_stands_for_the_file() {
    let marked = marks_after("`src/a.rs::nowhere`", SOURCE, &SOURCE.replace("work(1)", "go(2)"));
    assert_eq!(marked, ["src/a.rs touched"]);
}

#[test]
fn a_cited_file_is_pinned_where_the_entry_names_something() {
    let entry = "`other` works once (src/a.rs)";
    let with = |from: &str, to: &str| SOURCE.replace(from, to);
    assert_eq!(marks_after(entry, SOURCE, &with("= 64", "= 65")), [""; 0]);
    assert_eq!(marks_after(entry, SOURCE, &with("work(1)", "go(1)")), ["src/a.rs:3-5 touched"]);
    assert_eq!(marks_after(entry, SOURCE, &with("other", "it")), ["src/a.rs:3-5 contradicted"]);
    // One that names nothing of it rests on all of it, and hardly doubts itself.
    let vague = "The loop is in src/a.rs";
    assert_eq!(marks_after(vague, SOURCE, &with("= 64", "= 65")), ["src/a.rs touched"]);
    assert_eq!(marks_after(vague, SOURCE, "nothing\nof it\n"), ["src/a.rs contradicted"]);
}

#[test]
fn an_entry_rests_on_no_more_than_it_names() {
    let source = "pub struct Store {\n    folder: String,\n    limit: u32,\n}\n\nimpl Store {\n    \
        pub fn open(folder: &str) -> u32 {\n        let limit = 3;\n        helper(folder)\n    \
        }\n}\n\nfn helper(folder: &str) -> u32 {\n    // the limit of a store\n    7\n}\n";
    let with = |from: &str, to: &str| source.replace(from, to);
    for (entry, now, expected) in [
        // Names of values are used again for others.
        ("`Store` has `folder` and `limit`, src/a.rs", with("    7\n", "    8\n"), vec![]),
        (
            "`Store` has `folder` and `limit`, src/a.rs",
            with("let limit = 3", "let limit = 4"),
            vec![],
        ),
        ("`helper(folder)` is in src/a.rs", with("limit: u32", "limit: u64"), vec![]),
        ("helper() does it, src/a.rs", with("limit: u32", "limit: u64"), vec![]),
        ("`src/a.rs::Store::open`", with("    7\n", "    8\n"), vec![]),
        ("`src/a.rs::Store`", with("let limit = 3", "let limit = 4"), vec![]),
        // What belongs to a type counts where the entry speaks of it.
        (
            "`src/a.rs::Store` stops at 3",
            with("let limit = 3", "let limit = 4"),
            vec!["src/a.rs:6-11 contradicted"],
        ),
        (
            "`helper(folder)` is in src/a.rs",
            with("helper(folder: &str)", "helper(path: &str)"),
            vec!["src/a.rs:13-16 contradicted"],
        ),
        (
            "`Store` has `folder`, src/a.rs",
            with("    folder: String", "    path: String"),
            vec!["src/a.rs:1-4 contradicted"],
        ),
    ] {
        assert_eq!(marks_after(entry, source, &now), expected, "{entry}: {now}");
    }
}

#[test]
fn a_number_that_is_set_elsewhere_in_the_file_counts() {
    let before = "const RETRIES: u32 = 3;\n\nfn fetch() {\n    again(RETRIES);\n}\n";
    let entry = "`fetch` is tried 3 times (src/a.rs)";
    let marked = marks_after(entry, before, &before.replace("= 3", "= 5"));
    assert_eq!(marked, ["src/a.rs:1 contradicted"]);
}

#[test]
fn names_with_numbers_versions_and_scripts_count() {
    let before = "runs-on: ubuntu-22.04\n\"test\": \"vitest\",\n\"lint\": \"biome\",\nedition = \"2021\"\n\"react\": \"^18.2.0\"\n";
    for (entry, from, to, expected) in [
        ("`npm test` on ubuntu-22.04 (src/a.rs)", "22.04", "24.04", "src/a.rs:1 contradicted"),
        ("`npm test` in edition 2021 (src/a.rs)", "2021", "2024", "src/a.rs:4 contradicted"),
        ("React 18 is used (src/a.rs)", "^18.2.0", "^19.0.1", "src/a.rs contradicted"),
        ("`npm run lint` before a push (src/a.rs)", "lint", "check", "src/a.rs:3 contradicted"),
    ] {
        assert_eq!(marks_after(entry, before, &before.replace(from, to)), [expected], "{entry}");
    }
    let marked = marks_after("`npm run lint` (src/a.rs)", before, &before.replace("2021", "2024"));
    assert_eq!(marked, [""; 0], "another place");
}

#[test]
fn an_address_in_code_is_a_name() {
    let source = "app.get('/api/v1/users', users);\napp.get('/stats', stats);\n";
    let entry = "`/api/v1/users` lists them (src/a.rs)";
    let with = |from: &str, to: &str| source.replace(from, to);
    assert_eq!(marks_after(entry, source, &with("v1", "v2")), ["src/a.rs:1 contradicted"]);
    assert_eq!(marks_after(entry, source, &with("stats", "count")), [""; 0]);
    // A file's own path is no name of something in it.
    let own = format!("// bin/run ARGS\n{source}");
    let repository = Repository::new();
    repository.write("bin/run", &own);
    repository.write(MEMORY, "- Entry: `bin/run` answers\n");
    let mut memory = repository.memory();
    memory.look();
    repository.write("bin/run", own.replace("stats", "count"));
    assert_eq!(marks(&memory.look(), "Entry"), ["bin/run touched"]);
}

#[test]
fn quoted_words_may_hold_code_and_stand_elsewhere_now() {
    let before = "# A\n\n- Use `make` to build it all\n- Other\n\n`make` is old\n";
    let entry = "says \"Use `make` to build it all\": `src/a.rs:3`";
    let now = "# A\n\n- New\n\n`make` is new\n\n- Use `make` to build it all, and wait\n";
    assert_eq!(marks_after(entry, before, now), ["src/a.rs:3 touched"]);
    let entry = "says \"Use `make` to build it all\", src/a.rs";
    assert_eq!(marks_after(entry, before, &before.replace("is old", "is new")), [""; 0]);
}

#[test]
fn a_file_that_a_command_runs_is_there_or_gone() {
    let repository = Repository::new();
    repository.write("package.json", "{\n  \"scripts\": {\n    \"go\": \"node go.js\"\n  }\n}\n");
    repository.write("go.js", "one\n");
    repository.write("alone.js", "one\n");
    repository.write(
        MEMORY,
        "- Entry: `npm run go` does `node go.js` (package.json)\n- Alone: run `node alone.js now`\n",
    );
    let mut memory = repository.memory();
    memory.look();
    repository.write("go.js", "two\n");
    repository.write("alone.js", "two\n");
    assert_eq!(stale(&memory.look()), ["Alone"]);
    std::fs::remove_file(repository.root().join("go.js")).unwrap();
    assert_eq!(marks(&memory.look(), "Entry"), ["go.js gone"]);
}

#[test]
fn of_a_moved_file_each_place_is_told_by_itself() {
    let repository = Repository::new();
    repository.write("src/a.rs", SOURCE);
    repository.write("src/b.rs", "one = 1\n");
    repository.write("other.rs", "one = 1\ntwo = 2\n");
    repository.write(
        MEMORY,
        "- Entry: 64, `src/a.rs::MAX_STEPS`\n- Other: `src/a.rs::other`\n- Short: `src/b.rs:1`\n",
    );
    repository.memory().look();
    repository.write("core/a.rs", SOURCE.replace("64", "65"));
    for gone in ["src/a.rs", "src/b.rs"] {
        std::fs::remove_file(repository.root().join(gone)).unwrap();
    }
    let look = repository.memory().look();
    assert_eq!(marks(&look, "Entry"), ["src/a.rs:1 contradicted"]);
    assert_eq!(marks(&look, "Other"), ["src/a.rs:3-5 moved"]);
    assert_eq!(marks(&look, "Short"), ["src/b.rs:1 gone"], "one short line stands in many a file");
}

#[test]
fn an_entry_keeps_its_mark_when_another_with_its_key_goes() {
    let repository = Repository::new();
    repository.write("a.rs", "const LIMIT: u32 = 10;\n");
    repository.write(MEMORY, "- Limit: steps are 64\n- Limit: ten calls, see `a.rs`\n");
    let mut memory = repository.memory();
    memory.look();
    repository.write("a.rs", "const LIMIT: u32 = 20;\n");
    assert_eq!(stale(&memory.look()), ["Limit"]);
    repository.write(MEMORY, "- Limit: ten calls, see `a.rs`\n");
    assert_eq!(stale(&memory.look()), ["Limit"]);
    repository
        .write(MEMORY, "- Limit: of bytes\n- Limit: of lines\n- Limit: ten calls, see `a.rs`\n");
    assert_eq!(stale(&memory.look()), ["Limit"]);
}

#[test]
fn what_a_formatter_does_to_blanks_is_no_change() {
    let before = "fn b() {\n    work(1, 2);\n}\n";
    for entry in ["`src/a.rs`", "`src/a.rs:1-3`", "`src/a.rs::b`", "`work` is in `src/a.rs`"] {
        for now in [
            before.replace("    ", "\t"),
            format!("\u{feff}{before}"),
            before.trim_end().to_owned(),
            before.replace("2);", "2); "),
            before.replace('\n', "\r\n"),
            before.replace("{\n", "{\n\n"),
        ] {
            assert_eq!(marks_after(entry, before, &now), [""; 0], "{entry}: {now:?}");
        }
    }
}

#[test]
fn cited_lines_are_found_again_where_they_changed() {
    let before = "a one\nlimit is ten = 10\nb three\nc four\n";
    let entry = "at most ten, `src/a.rs:2`";
    let with = |to: &str| before.replace("limit is ten = 10", to);
    for (now, expected) in [
        (format!("new line\n{}", with("limit is 10;")), vec!["src/a.rs:2 touched"]),
        (with("limit is 20"), vec!["src/a.rs:2 contradicted"]),
        (format!("{}then 10\n", with("limit is 20")), vec!["src/a.rs:2 contradicted"]),
        ("all else\n".to_owned(), vec!["src/a.rs:2 contradicted"]),
    ] {
        assert_eq!(marks_after(entry, before, &now), expected, "{now}");
    }
}

#[test]
fn the_same_line_elsewhere_hides_no_change() {
    let before = "retries = 3\nother\nretries = 3\n";
    let marked = marks_after("`src/a.rs:3`", before, "retries = 3\nother\nretries = 4\n");
    assert_eq!(marked.len(), 1, "{marked:?}");
}

#[test]
fn who_writes_an_entry_is_told_what_it_rests_on() {
    let repository = Repository::new();
    repository.write("src/a.rs", SOURCE);
    repository.write("run.sh", "x\n");
    let mut memory = repository.memory();
    let entry =
        "Steps: 64 in `src/a.rs::MAX_STEPS`; the loop is in run.sh, and `sh run.sh` does it";
    let staging = memory.prepare_remember(Scope::Project, entry, None).unwrap();
    assert_eq!(staging.run(some_day()).unwrap().rests_on, ["run.sh", "src/a.rs:1"]);
    let mut done = memory.prepare_flush().run();
    memory.settled(&mut done);
    assert_eq!(done[0].report.committed[0].rests_on, ["run.sh", "src/a.rs:1"]);

    let mut told = |text: &str| {
        let args = json!({ "path": MEMORY, "content": text });
        assert_eq!(memory.check_write("write", &args, &repository.root()), None);
        repository.write(MEMORY, text);
        memory.explain_write("write", &args, &repository.root())
    };
    let first = "- Other: `src/a.rs:3-5`\n";
    assert_eq!(told(&format!("- {entry}\n{first}")).unwrap(), "Rests: line 2 on src/a.rs:3-5.");
    assert_eq!(told(&format!("- {entry}\n{first}- Plain: nothing\n")), None);
    let many: Vec<String> =
        (0..9).map(|at| format!("- Entry {at}: see `src/a.rs:{}`\n", 1 + at % 5)).collect();
    let many = many.concat();
    let words = told(&format!("- {entry}\n{first}{many}")).unwrap();
    assert_eq!(words.matches("line ").count(), 5, "{words}");
}

#[test]
fn a_moved_file_is_followed() {
    let repository = Repository::new();
    repository.write("src/a.rs", SOURCE);
    repository.write("src/b.rs", "fn b() {}\n");
    repository.write(MEMORY, "- Entry: 64, `src/a.rs`\n- Other: `src/b.rs:1`\n");
    repository.memory().look();
    std::fs::create_dir(repository.root().join("core")).unwrap();
    for (from, to) in [("src/a.rs", "core/a.rs"), ("src/b.rs", "core/renamed.rs")] {
        std::fs::rename(repository.root().join(from), repository.root().join(to)).unwrap();
    }
    let mut memory = repository.memory();
    let look = memory.look();
    let to = |key: &str| look.staleness(&id(&look, key)).unwrap().worst().unwrap().clone();
    assert_eq!(to("Entry"), CitedChange::Moved { to: "core/a.rs".into() });
    assert_eq!(to("Other"), CitedChange::Moved { to: "core/renamed.rs".into() });
    assert!(look.stale.values().all(|stale| !stale.is_changed()));
    assert!(look.all_pages().all(|page| look.stale_words(page).is_none()));
    repository.write("core/a.rs", SOURCE.replace("64", "65"));
    assert_eq!(marks(&memory.look(), "Entry"), ["src/a.rs gone"]);
}

#[test]
fn a_tag_or_emphasis_confirms_nothing() {
    let repository = Repository::new();
    repository.write("src/a.rs", "const LIMIT: u32 = 10;\n");
    repository.write(MEMORY, "- Limit: ten calls, see `src/a.rs`\n");
    let mut memory = repository.memory();
    memory.look();
    repository.write("src/a.rs", "const LIMIT: u32 = 20;\n");
    for edited in [
        "- Limit: ten calls, see `src/a.rs`.\n",
        "- **Limit**: ten calls, see `src/a.rs` #important\n",
        "- Limit: *ten* calls; see `src/a.rs`!\n",
    ] {
        repository.write(MEMORY, edited);
        assert_eq!(memory.look().stale.len(), 1, "{edited}");
    }
    repository.write(MEMORY, "- Limit: twenty calls, see `src/a.rs`\n");
    assert_eq!(memory.look().stale.len(), 0);
}

#[test]
fn an_entry_of_another_branch_is_no_edit() {
    let repository = Repository::new();
    repository.write("a.rs", "const LIMIT: u32 = 10;\n");
    repository.write("b.rs", "b\n");
    repository.write(MEMORY, "- Base: one\n");
    look_after_write(&mut repository.memory());
    repository.commit();
    repository.git(&["branch", "dev"]);
    repository.write(MEMORY, "- Base: one\n- Limit: at most ten calls, `a.rs`\n");
    let limit = id(&look_after_write(&mut repository.memory()), "Limit");
    repository.commit();
    repository.git(&["checkout", "--quiet", "dev"]);
    repository.write(MEMORY, "- Base: one\n- Retry: at most ten times, `b.rs`\n");
    let look = look_after_write(&mut repository.memory());
    assert_ne!(id(&look, "Retry"), limit);
    repository.commit();
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("a.rs", "const LIMIT: u32 = 20;\n");
    assert_eq!(stale(&repository.memory().look()), ["Limit"]);
}

#[test]
fn pins_of_entries_written_by_hand_come_with_a_clone() {
    let repository = Repository::new();
    repository.write("a.rs", "const LIMIT: u32 = 10;\n");
    repository.write(MEMORY, "- Limit: ten, see `a.rs`\n");
    repository.memory().look();
    repository.commit();
    repository.write("a.rs", "const LIMIT: u32 = 20;\n");
    repository.commit();
    let clone = repository.cloned("clone");
    assert_eq!(stale(&memory_in(&clone, &repository.agent()).look()), ["Limit"]);
    assert_eq!(run(&clone, &["status", "--porcelain"]), "");
}

#[test]
fn a_look_confirms_nothing_beside_the_pins_of_the_author() {
    let repository = Repository::new();
    repository.write("a.rs", "const LIMIT: u32 = 10;\n");
    repository.write(MEMORY, "- Limit: ten, see `a.rs`\n");
    repository.commit();
    // The author looked at what was committed, so the facts stayed here until something was
    // written.
    repository.memory().look();
    repository.write("a.rs", "const LIMIT: u32 = 20;\n");
    repository.commit();
    let clone = repository.cloned("clone");
    let colleague = repository.agent().with_file_name("colleague");
    assert_eq!(stale(&memory_in(&clone, &colleague).look()), [""; 0], "nothing is known yet");
    repository.write(MEMORY, "- Limit: ten, see `a.rs`\n- Other: nothing\n");
    look_after_write(&mut repository.memory());
    repository.commit();
    run(&clone, &["pull", "--quiet"]);
    let mut late = memory_in(&clone, &colleague).with_clock(next_day);
    assert_eq!(stale(&late.look()), ["Limit"]);
}

#[test]
fn a_clock_that_was_ahead_does_not_win() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, "- Entry: see `a.rs`\n");
    let look = look_after_write(&mut repository.memory());
    let facts = repository.text(".pi/memory/page-facts.jsonl");
    repository.write("a.rs", "2\n");
    let ahead = facts.replace("2030-01-10", "2099-01-01");
    repository.memory().confirm(id(&look, "Entry").as_str()).unwrap();
    let now = repository.text(".pi/memory/page-facts.jsonl");
    write(&repository.root().join(".pi/memory/page-facts.jsonl"), format!("{ahead}{now}"));
    assert_eq!(stale(&repository.memory().with_clock(next_day).look()), [""; 0]);
}

#[test]
fn old_lines_come_from_git_where_no_store_has_them() {
    let repository = Repository::new();
    let filler: String = (0..30).map(|at| format!("// {at}\n")).collect::<Vec<_>>().concat();
    let said = |limit: u32| format!("const LIMIT: u32 = {limit};\n{filler}const OTHER: u32 = 1;\n");
    repository.write("sub dir/a.rs", said(10));
    repository.write("b.rs", "b\n");
    repository.write(
        MEMORY,
        "- Limit: ten, see `sub dir/a.rs` [it](<../../sub dir/a.rs#LIMIT>)\n- Gone: `b.rs`\n",
    );
    look_after_write(&mut repository.memory());
    repository.commit();
    repository.write("sub dir/a.rs", said(20).replace("OTHER: u32 = 1", "OTHER: u32 = 2"));
    repository.commit();
    std::fs::remove_file(repository.root().join("b.rs")).unwrap();
    repository.commit();
    let clone = repository.cloned("clone");
    let found = memory_in(&clone, &repository.agent()).stale();
    let cited: Vec<_> = found.iter().flat_map(|found| &found.cited).collect();
    let seen: Vec<_> = cited.iter().map(|cited| (&*cited.place, cited.change.as_str())).collect();
    assert_eq!(seen, [("sub dir/a.rs:1", "contradicted"), ("b.rs", "gone")]);
    let diff = cited[0].diff.as_deref().unwrap();
    assert!(diff.contains("-const LIMIT: u32 = 10;\n+const LIMIT: u32 = 20;"), "{diff}");
    assert!(!diff.contains("OTHER"), "of the place alone: {diff}");
    assert_eq!(cited[1].diff.as_deref(), Some("@@ -1 +0,0 @@\n-b\n"));
}

#[cfg(unix)]
#[test]
fn a_hostile_repository_runs_nothing() {
    use std::os::unix::fs::PermissionsExt;

    let repository = Repository::new();
    repository.write("a.rs", "one\n");
    repository.write(".gitattributes", "* diff=evil filter=evil\n");
    repository.write(MEMORY, "- Entry: `a.rs:1`\n");
    look_after_write(&mut repository.memory());
    repository.commit();
    repository.write("a.rs", "two\n");
    repository.commit();
    let ran = repository.agent().with_file_name("ran");
    let evil = repository.root().join(".git/evil.sh");
    write(&evil, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", ran.display()));
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = evil.to_str().unwrap().to_owned();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "core.askPass",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.smudge",
        "filter.evil.process",
        "pager.rev-list",
        "pager.cat-file",
        "pager.diff-tree",
        "alias.diff-tree",
        "alias.cat-file",
        "remote.origin.uploadpack",
        "credential.helper",
    ] {
        repository.git(&["config", key, &evil]);
    }
    let hooks = repository.root().join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-index-change", "reference-transaction", "fsmonitor-watchman"] {
        std::fs::copy(&evil, hooks.join(hook)).unwrap();
    }
    let shown = |memory: &mut memory::Memory| memory.stale().remove(0).cited.remove(0).diff;
    let diff = "@@ -1 +1 @@\n-one\n+two\n";
    assert_eq!(shown(&mut repository.memory()).as_deref(), Some(diff));
    // A partial clone, whose old lines only the remote has.
    let blob = repository.git(&["rev-parse", "HEAD~1:a.rs"]).trim().to_owned();
    std::fs::remove_file(repository.root().join(".git/objects").join(&blob[..2]).join(&blob[2..]))
        .unwrap();
    for url in
        ["ssh://host/x".to_owned(), repository.root().display().to_string(), format!("ext::{evil}")]
    {
        for (key, value) in [
            ("remote.origin.url", &*url),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialclonefilter", "blob:none"),
            ("protocol.ext.allow", "always"),
            ("protocol.file.allow", "always"),
            ("protocol.ssh.allow", "always"),
            ("core.repositoryformatversion", "1"),
            ("extensions.partialClone", "origin"),
        ] {
            repository.git(&["config", key, value]);
        }
        assert_eq!(shown(&mut repository.memory()), None, "{url}");
    }
    assert!(!ran.exists(), "{:?}", std::fs::read_to_string(&ran));
}
