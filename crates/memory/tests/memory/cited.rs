//! Entries are marked when the files that they cite change, and no others are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use base::object::Timestamp;
use memory::{CitedChange, Doubt, Folders, Memory, Scope};

use crate::repository::{
    Repository, id, look_after_write, memory_in, next_day, page, run, stale, write,
};

const MEMORY: &str = ".pi/memory/MEMORY.md";

/// Entries with the keys `A`, `B` and so on, each with what it says.
fn entries(said: &[&str]) -> String {
    let keys = 'A'..='Z';
    let lines: Vec<String> =
        keys.zip(said).map(|(key, said)| format!("- {key}: {said}\n")).collect();
    lines.concat()
}

#[test]
fn an_entry_is_stale_while_what_it_cites_says_something_else() {
    let repository = Repository::new();
    for name in ["a", "b", "c", "d"] {
        repository.write(&format!("src/{name}.rs"), format!("// {name}\n"));
    }
    repository.write("my notes.md", "x\n");
    repository.write(
        MEMORY,
        entries(&[
            "see `src/a.rs`",
            "src/b.rs has it",
            "[the code](../../src/c.rs)",
            "[[my notes]]",
            "`src/d.rs` and `src/a.rs`",
            "`src/none.rs`, `npm/test`",
            "[topic](topic.md)",
        ]),
    );
    repository.write(".pi/memory/topic.md", "# T\n\n## Deep\nsee `src/b.rs`\n");
    let mut memory = repository.memory();
    let mut stale_now = || stale(&memory.look());
    assert_eq!(stale_now(), [""; 0]);
    repository.write("src/a.rs", "// other\n");
    assert_eq!(stale_now(), ["A", "E"]);
    std::fs::remove_file(repository.root().join("src/b.rs")).unwrap();
    assert_eq!(stale_now(), ["A", "B", "Deep", "E"]);
    repository.write("src/a.rs", "// a\n");
    repository.write("src/c.rs", "// c2\n");
    repository.write("my notes.md", "y\n");
    repository.write(".pi/memory/topic.md", "# T\n\n## Deep\nsee `src/b.rs`\n\n## More\nx\n");
    assert_eq!(stale_now(), ["B", "C", "D", "Deep"], "other memory files are no evidence");
    let look = memory.look();
    let words = |key: &str| look.stale_words(page(&look, key));
    assert_eq!((words("B"), words("C")), (Some("cited file gone"), Some("cited file changed")));
}

#[test]
fn a_link_carries_the_doubt_of_the_file_it_leads_to() {
    let repository = Repository::new();
    repository.write("src/a.rs", "one\n");
    for topic in ["guides/Build.md", "deploy.md", "other/deploy.md"] {
        repository.write(&format!(".pi/memory/{topic}"), "# T\n\nsee `src/a.rs:1`\n");
    }
    repository.write(".pi/memory/other/deploy.md", "# T\n\nnothing\n");
    let index = "- Wiki: [[build]]\n- Path: [it](guides/Build.md#t)\n- Own: [[other/deploy]]\n- Two\n  lines: [[deploy]]\n- Plain: nothing\n";
    repository.write(MEMORY, index);
    let mut memory = repository.memory();
    memory.look();
    repository.write("src/a.rs", "two\n");
    let look = memory.look();
    let pages = look.all_pages().filter(|page| page.is_entry());
    let marked: Vec<&str> = pages
        .filter(|page| look.stale_words(page).is_some())
        .map(|page| page.text.split([':', '\n']).next().unwrap())
        .collect();
    assert_eq!(marked, ["- Wiki", "- Path", "- Two"]);
}

#[test]
fn of_cited_lines_only_these_count_wherever_they_move() {
    let repository = Repository::new();
    let lines = |from: u32, to: u32| -> String {
        let lines: Vec<String> = (from..=to).map(|line| format!("line {line}\n}}\n")).collect();
        lines.concat()
    };
    repository.write("a.rs", lines(1, 20));
    repository.write(
        MEMORY,
        entries(&["`a.rs:5-8`", "`a.rs#L11-L14`", "a.rs:2 is a bracket", "`a.rs:90`"]),
    );
    let mut memory = repository.memory();
    memory.look();
    repository.write("a.rs", format!("// new\n{}", lines(1, 20)));
    assert_eq!(
        stale(&memory.look()),
        ["C", "D"],
        "a bracket, and lines that are none, stand for the file"
    );
    repository.write("a.rs", format!("{}// within\n{}", lines(1, 4), lines(5, 20)));
    assert_eq!(stale(&memory.look()), ["C", "D"]);
    repository.write("a.rs", lines(1, 20).replace("line 6\n", "line six\n"));
    assert_eq!(stale(&memory.look()), ["B", "C", "D"]);
    repository.write("a.rs", lines(1, 20));
    assert_eq!(stale(&memory.look()), [""; 0]);
}

#[test]
fn cited_lines_that_stand_twice_stand_for_the_file() {
    let repository = Repository::new();
    repository.write("a.rs", "call();\nend\nother\ncall();\nend\n");
    repository.write(MEMORY, entries(&["`a.rs:1-2`", "`a.rs:2-3`"]));
    let mut memory = repository.memory();
    memory.look();
    repository.write("a.rs", "gone\nend\nother\ncall();\nend\n");
    assert_eq!(stale(&memory.look()), ["A"], "which of the two was meant cannot be told");
}

#[test]
fn an_edit_and_a_confirmation_end_it() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, entries(&["`a.rs` one", "`a.rs` two"]));
    let mut memory = repository.memory();
    let ids = memory.look();
    let (a, b) = (id(&ids, "A"), id(&ids, "B"));
    repository.write("a.rs", "2\n");
    assert_eq!(stale(&memory.look()), ["A", "B"]);
    repository.write(MEMORY, "-   A: `a.rs`   one\n* B: `a.rs` two\n");
    assert_eq!(stale(&memory.look()), ["A", "B"], "another form is no edit");
    repository.write(MEMORY, entries(&["`a.rs` one, still", "`a.rs` two"]));
    let look = memory.look();
    assert_eq!((stale(&look), id(&look, "A")), (vec!["B".to_owned()], a));
    let mut memory = memory.with_clock(next_day);
    assert_eq!(memory.confirm(&b.as_str()[..8]).unwrap(), b);
    assert_eq!(stale(&memory.look()), [""; 0]);
    assert_eq!(memory.fact(&b).unwrap().confirmed, "2030-01-11");
    assert_eq!(memory.confirm("ffffffffffff").unwrap_err().code(), "NO_PAGE");
    assert_eq!(memory.confirm("").unwrap_err().code(), "NO_PAGE");
    assert_eq!(stale(&repository.memory().look()), [""; 0], "another process knows it too");
}

#[test]
fn a_file_that_comes_into_being_is_pinned_then() {
    let repository = Repository::new();
    repository.write(MEMORY, entries(&["we will write `new.rs`"]));
    repository.memory().look();
    repository.write("new.rs", "1\n");
    assert_eq!(stale(&repository.memory().look()), [""; 0]);
    repository.write("new.rs", "2\n");
    assert_eq!(stale(&repository.memory().look()), ["A"]);
}

#[test]
fn a_file_is_found_by_its_name_if_only_one_has_it() {
    let repository = Repository::new();
    for path in
        ["src/deep/only.rs", "src/one/two.rs", "src/other/two.rs", "docs/Guide.md", "dist/made.rs"]
    {
        repository.write(path, "1\n");
    }
    repository.write(".gitignore", "dist/\n");
    let said = ["`only.rs:1`", "`two.rs`", "`one/two.rs`", "[[Guide]]", "see only.rs", "`made.rs`"];
    repository.write(MEMORY, entries(&said));
    let mut memory = repository.memory();
    memory.look();
    for path in
        ["src/deep/only.rs", "src/one/two.rs", "src/other/two.rs", "docs/Guide.md", "dist/made.rs"]
    {
        repository.write(path, "2\n");
    }
    assert_eq!(stale(&memory.look()), ["A", "C", "D", "E"]);
    assert_eq!(stale(&repository.memory().look()), ["A", "C", "D", "E"]);
}

#[test]
fn global_memory_cites_absolute_paths_alone() {
    let repository = Repository::new();
    let cited = repository.agent().join("notes.txt");
    write(&cited, "1\n");
    repository.write("a.rs", "1\n");
    let index = entries(&[&format!("`{}`", cited.display()), "`a.rs`"]);
    write(&repository.agent().join("memory/MEMORY.md"), index);
    let mut memory = repository.memory();
    memory.look();
    write(&cited, "2\n");
    repository.write("a.rs", "2\n");
    assert_eq!(stale(&memory.look()), ["A"]);
}

#[test]
fn what_comes_with_a_clone_sees_nothing_but_the_clone() {
    let repository = Repository::new();
    let secret = repository.agent().join("secret.txt");
    write(&secret, "1\n");
    repository.write("a.rs", "1\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, repository.root().join("link.txt")).unwrap();
    let index = entries(&[
        &format!("`{}`", secret.display()),
        "`../agent/secret.txt`",
        "`link.txt`",
        "`a.rs`",
    ]);
    repository.write(MEMORY, index);
    let mut memory = repository.memory();
    let look = look_after_write(&mut memory);
    let facts = repository.text(".pi/memory/page-facts.jsonl");
    assert!(!facts.contains("secret.txt\"") && !facts.contains("link.txt\""), "{facts}");
    // Pins that somebody wrote by hand tell nothing either.
    let pin = |path: &str| format!(r#"{{"path":"{path}","hash":"{}"}}"#, "0".repeat(64));
    let own = id(&look, "D");
    let forged: Vec<String> = facts
        .lines()
        .map(|line| {
            if !line.contains(own.as_str()) {
                return line.to_owned() + "\n";
            }
            let from = line.find(r#""cites":["#).unwrap() + r#""cites":["#.len();
            let pins = ["link.txt", "../agent/secret.txt", &secret.display().to_string()].map(pin);
            format!("{}{},{}\n", &line[..from], pins.join(","), &line[from..])
        })
        .collect();
    let forged = forged.concat();
    assert_ne!(forged, facts);
    repository.write(".pi/memory/page-facts.jsonl", &forged);
    assert_eq!(stale(&repository.memory().look()), [""; 0]);
}

#[test]
fn nothing_is_told_to_others_of_files_that_git_does_not_have() {
    let repository = Repository::new();
    repository.write(".env", "PASSWORD=1\n");
    repository.write("a.rs", "1\n");
    repository.write("dist/a.js", "of this machine\n");
    repository.write(".gitignore", "dist/\n");
    repository.write(MEMORY, entries(&["`.env`, `dist/a.js` and `a.rs`"]));
    let mut memory = repository.memory();
    look_after_write(&mut memory);
    let shared = repository.text(".pi/memory/page-facts.jsonl");
    let own = repository.own_text("page-facts.local.jsonl");
    assert!(
        shared.contains("a.rs") && !shared.contains("hash\":\"\"") && !shared.contains(".env\""),
        "{shared}"
    );
    assert!(
        own.contains(".env\"") && own.contains("dist/a.js\"") && !own.contains("a.rs"),
        "{own}"
    );
    repository.write(".env", "PASSWORD=2\n");
    assert_eq!(stale(&repository.memory().look()), ["A"]);
    let report = repository.memory().verify().remove(0);
    assert_eq!(report.cited[0].diff, None);
}

#[test]
fn what_is_old_or_was_never_used_is_suggested_and_stays() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository
        .write(MEMORY, entries(&["`a.rs`", "old", "[topic](topic.md)"]) + "- P: pinned #pinned\n");
    repository.write(".pi/memory/topic.md", "# T\n\n## Used\nx\n\n## Unused\ny\n");
    repository.write(".pi/memory/archive/old.md", "# O\n\n## Archived\nz\n");
    let mut memory = repository.memory();
    let look = memory.look();
    assert_eq!(memory.stale(), []);
    let (used, index) = (id(&look, "Used"), repository.text(MEMORY));
    let recalled =
        memory::Recalled { query: "x", code: "ok", pages: vec![used], unsearched: Vec::new() };
    memory.recalled(recalled.clone());
    memory.recalled(recalled);
    memory.ended();
    let suggested = |now: fn() -> Timestamp| -> Vec<String> {
        let found = repository.memory().with_clock(now).stale();
        let shown = |doubt: &Doubt| match doubt {
            Doubt::CitedContradicted { paths } => format!("contradicted {paths:?}"),
            Doubt::CitedTouched { paths } => format!("touched {paths:?}"),
            Doubt::CitedMoved { paths } => format!("moved {paths:?}"),
            Doubt::CitedGone { paths } => format!("gone {paths:?}"),
            Doubt::CheckedByModel { day } => format!("checked {day}"),
            Doubt::Old { days } => format!("old {days}"),
            Doubt::NeverUsed { days } => format!("unused {days}"),
        };
        let line = |key: &str, doubts: &[Doubt]| {
            format!("{key}: {}", doubts.iter().map(shown).collect::<Vec<_>>().join(", "))
        };
        found.iter().map(|found| line(found.page.key.as_deref().unwrap(), &found.doubts)).collect()
    };
    assert_eq!(suggested(|| Timestamp::parse("2030-04-11").unwrap()), ["Unused: unused 91"]);
    repository.write("a.rs", "2\n");
    let late = suggested(|| Timestamp::parse("2030-07-10").unwrap());
    assert_eq!(
        late,
        [
            "A: contradicted [\"a.rs\"], old 181",
            "B: old 181",
            "C: old 181",
            "Used: old 181",
            "Unused: old 181"
        ]
    );
    assert_eq!(repository.text(MEMORY), index);
    let used = repository.own_text("page-facts.local.jsonl");
    assert!(used.contains(r#""uses":1"#) && used.contains(r#""used":"2030-01-10""#), "{used}");
}

/// What happens to files in a history, by the place of a file in it.
fn change(repository: &Repository, step: u32, files: &mut Vec<String>) {
    let pick = |salt: u32| ((step * 7_919 + salt * 104_729) % 60) as usize % files.len();
    match step % 8 {
        0 | 5 => {
            let path = files[pick(1)].clone();
            let text = repository.text(&path).replace("10 of", &format!("ten {step} of"));
            repository.write(&path, text);
        }
        1 => {
            let path = files[pick(2)].clone();
            let text = repository.text(&path);
            repository.write(&path, format!("// step {step}\n{text}"));
        }
        2 => {
            let at = pick(3);
            let moved = format!("moved/{step}.rs");
            std::fs::create_dir_all(repository.root().join("moved")).unwrap();
            repository.git(&["mv", &files[at], &moved]);
            files[at] = moved;
        }
        3 => drop(repository.git(&["rm", "--quiet", &files.remove(pick(4))])),
        4 => {
            let path = &files[pick(5)];
            repository.git(&["add", "--all"]);
            repository.git(&["update-index", "--chmod=+x", path]);
            repository.git(&["commit", "--quiet", "--message", "mode"]);
            repository.git(&["checkout", "--quiet", "--", "."]);
        }
        6 => repository.write(&format!("src/new{step}.rs"), "new\n"),
        _ => {
            let path = files[pick(6)].clone();
            repository.write(&path, repository.text(&path) + "// at the end\n");
        }
    }
    repository.commit();
}

fn normal(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace("\r\n", "\n")
}

#[test]
fn only_entries_whose_cited_files_changed_are_marked() {
    let repository = Repository::new();
    let mut files: Vec<String> = (0..60).map(|number| format!("src/f{number}.rs")).collect();
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for path in &files {
        let lines: Vec<String> = (1..=40).map(|line| format!("{line} of {path}\n")).collect();
        let text = lines.concat();
        repository.write(path, &text);
        first.insert(path.clone(), text);
    }
    repository.commit();
    // The index is not committed: it and its facts stay as they are while the history moves below
    // them.
    repository.write(".git/info/exclude", ".pi\n");
    let mut index = String::new();
    let mut cited: Vec<(String, Option<(usize, usize)>)> = Vec::new();
    for number in 0..200_usize {
        let path = files[number % 60].clone();
        let lines = (number % 3 == 0).then(|| (1 + number % 20, 12 + number % 20));
        let place = lines.map_or(String::new(), |(from, to)| format!(":{from}-{to}"));
        writeln!(index, "- K{number}: it is in `{path}{place}`").unwrap();
        cited.push((path, lines));
    }
    repository.write(MEMORY, index);
    let mut memory = repository.memory();
    assert_eq!(stale(&memory.look()), [""; 0]);
    let mut commits = vec![repository.git(&["rev-parse", "HEAD"]).trim().to_owned()];
    for step in 0..48 {
        change(&repository, step, &mut files);
        commits.push(repository.git(&["rev-parse", "HEAD"]).trim().to_owned());
    }
    let mut marked = 0;
    let order = [48, 6, 24, 0, 12, 40, 3, 48, 30, 0];
    for (round, at) in order.into_iter().enumerate() {
        if round % 3 == 2 {
            // What a checkout on Windows gives.
            repository.git(&[
                "config",
                "core.autocrlf",
                if round % 2 == 0 { "true" } else { "false" },
            ]);
            repository.git(&["rm", "--cached", "-r", "--quiet", "."]);
            repository.git(&["reset", "--hard", "--quiet"]);
        }
        repository.git(&["checkout", "--quiet", "--force", &commits[at]]);
        let expected: BTreeSet<String> = cited
            .iter()
            .enumerate()
            .filter(|(_, (path, lines))| {
                let now = std::fs::read(repository.root().join(path)).ok();
                let now = now.map(|bytes| normal(&bytes));
                match lines {
                    Some((from, to)) => {
                        let said: Vec<&str> =
                            first[path].lines().skip(from - 1).take(to - from + 1).collect();
                        now.is_none_or(|now| !now.contains(&(said.join("\n") + "\n")))
                    }
                    None => now.as_ref() != Some(&first[path]),
                }
            })
            .map(|(number, _)| format!("K{number}"))
            .collect();
        let found: BTreeSet<String> = stale(&memory.look()).into_iter().collect();
        assert_eq!(found, expected, "commit {at}, round {round}");
        marked += found.len();
        // A new process sees the same.
        assert_eq!(stale(&repository.memory().look()).len(), expected.len());
    }
    assert!(marked > 200, "{marked} of {}", order.len() * 200);
}

#[test]
fn a_checkout_that_only_touches_files_marks_nothing() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write("b.bin", [0xff, 0x00, 0x0d, 0x0a]);
    repository.write(MEMORY, entries(&["`a.rs`", "`b.bin`"]));
    repository.commit();
    let mut memory = repository.memory();
    memory.look();
    repository.git(&["checkout", "--quiet", "-b", "other"]);
    repository.write("a.rs", "2\n");
    repository.commit();
    repository.git(&["checkout", "--quiet", "main"]);
    assert_eq!(stale(&memory.look()), [""; 0]);
    repository.git(&["checkout", "--quiet", "other"]);
    assert_eq!(stale(&memory.look()), ["A"]);
    repository.write("b.bin", [0xff, 0x00, 0x0a]);
    assert_eq!(stale(&memory.look()), ["A", "B"], "in a binary file every byte counts");
}

#[test]
fn text_that_is_not_utf8_is_pinned_by_its_places() {
    let latin = |text: &str| text.chars().map(|char| char as u8).collect::<Vec<_>>();
    let code = "// Größe\nint TIMEOUT = 30;\n\nint other(void) {\n    return 1;\n}\n";
    for (after, expected) in [
        (latin(&code.replace('\n', "\r\n")), vec![]),
        (latin(&code.replace("return 1", "return 2")), vec![]),
        (code.as_bytes().to_vec(), vec![]),
        (latin(&code.replace("30", "60")), vec!["A"]),
    ] {
        let repository = Repository::new();
        repository.write("q.c", latin(code));
        repository.write(MEMORY, entries(&["`TIMEOUT` is 30, `q.c:2`"]));
        let mut memory = repository.memory();
        memory.look();
        repository.write("q.c", after);
        assert_eq!(stale(&memory.look()), expected);
    }
}

#[test]
fn an_edit_of_a_sign_takes_the_mark() {
    let repository = Repository::new();
    for (was, is, file) in [
        ("#ff0000", "#00ff00", "`theme.css`"),
        ("`n < 5`", "`n <= 5`", "`theme.css`"),
        ("Written in C", "Written in C++", "Makefile"),
    ] {
        let said = |said: &str| entries(&[&format!("{said}, see {file}")]);
        let write = |text: &str| {
            repository.write(file.trim_matches('`'), format!("{}\n", text.trim_matches('`')));
        };
        write(was);
        repository.write(MEMORY, said(was));
        look_after_write(&mut repository.memory());
        write(is);
        assert_eq!(stale(&repository.memory().look()), ["A"]);
        repository.write(MEMORY, said(is));
        assert_eq!(stale(&look_after_write(&mut repository.memory())), [""; 0], "{is}");
    }
}

#[test]
fn a_path_is_cited_beside_letters_without_blanks() {
    let repository = Repository::new();
    let code = "let RETRIES = 3;\n\nlet TIMEOUT = 30;\n";
    repository.write("src/a.rs", code);
    let said = ["src/a.rs에서 TIMEOUT은 30", "30秒，参见src/a.rs", "TIMEOUT is 30 in @src/a.rs"];
    repository.write(MEMORY, entries(&said));
    let mut memory = repository.memory();
    memory.look();
    repository.write("src/a.rs", code.replace("30", "60"));
    assert_eq!(stale(&memory.look()), ["A", "B", "C"]);
}

#[test]
fn a_colleague_without_our_store_sees_the_same_pages_and_marks() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write("b.rs", "1\n");
    repository.write(MEMORY, entries(&["`a.rs` long enough to be found again", "`b.rs`"]));
    let first = id(&repository.memory().look(), "A");
    repository.write(
        MEMORY,
        entries(&["`a.rs` long enough to be found again, edited", "`b.rs`"])
            .replace("A:", "A renamed:"),
    );
    assert_eq!(id(&look_after_write(&mut repository.memory()), "A renamed"), first);
    repository.commit();
    repository.write("a.rs", "2\n");
    repository.commit();
    let clone = repository.cloned("clone");
    let ignored = run(&clone, &["ls-files", ".pi/memory"]);
    assert_eq!(ignored, ".pi/memory/MEMORY.md\n.pi/memory/page-facts.jsonl\n");
    let mut memory = memory_in(&clone, &repository.agent()).with_clock(next_day);
    let look = memory.look();
    assert_eq!(page(&look, "A renamed").id, first);
    assert_eq!(stale(&look), ["A renamed"]);
    assert_eq!(run(&clone, &["status", "--porcelain"]), "", "a look changes nothing that git has");
}

#[test]
fn a_file_that_cannot_be_read_marks_nothing() {
    use testing::privilege::is_privileged;

    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write("b.rs", "1\n");
    repository.write(MEMORY, entries(&["`a.rs`", "`b.rs`"]));
    let mut memory = repository.memory();
    memory.look();
    std::fs::remove_file(repository.root().join("b.rs")).unwrap();
    std::fs::create_dir(repository.root().join("b.rs")).unwrap();
    assert_eq!(stale(&memory.look()), ["B"], "a folder is no such file");
    #[cfg(unix)]
    if !is_privileged() {
        use std::os::unix::fs::PermissionsExt;
        repository.write("a.rs", "2\n");
        let locked = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(repository.root().join("a.rs"), locked).unwrap();
        assert_eq!(stale(&memory.look()), ["B"]);
    }
}

#[test]
fn an_untrusted_project_is_not_looked_at() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write(MEMORY, entries(&["`a.rs`"]));
    let folders = Folders::new(Some(&repository.agent()), Some(&repository.root()), false);
    let mut memory = Memory::new(folders);
    assert_eq!(memory.look().all_pages().count(), 0);
    assert!(memory.verify().is_empty() && memory.stale().is_empty());
    assert!(!repository.root().join(".pi/memory/page-facts.jsonl").exists());
    let scopes: Vec<Scope> = memory.folders().scopes().map(|(scope, _)| scope).collect();
    assert_eq!(scopes, [Scope::Global]);
}

#[test]
fn verify_lists_what_changed_with_hashes() {
    let repository = Repository::new();
    repository.write("a.rs", "1\n");
    repository.write("b.rs", "1\n");
    repository.write(MEMORY, entries(&["`a.rs` and `b.rs`"]));
    let mut memory = repository.memory();
    memory.look();
    assert_eq!(memory.verify(), []);
    repository.write("a.rs", "2\n");
    std::fs::remove_file(repository.root().join("b.rs")).unwrap();
    let reports = memory.verify();
    assert_eq!(reports.len(), 1);
    let seen: Vec<_> = reports[0]
        .cited
        .iter()
        .map(|cited| (&*cited.path, &cited.change, cited.now.is_some(), cited.diff.is_some()))
        .collect();
    assert_eq!(
        seen,
        [
            ("a.rs", &CitedChange::Contradicted, true, false),
            ("b.rs", &CitedChange::Gone, false, false)
        ]
    );
    assert_ne!(Some(&reports[0].cited[0].before), reports[0].cited[0].now.as_ref());
}
