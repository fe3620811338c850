//! Memory that several people have in one repository: opened in a folder of it, merged by git.

use std::fs;
use std::path::Path;
use std::process::Command;

use memory::{Folders, Memory, Scope};
use serde_json::json;
use settings::{Brought, TrustBook};

use crate::repository::{Repository, memory_in, run, some_day};

fn remember(memory: &mut Memory, text: &str) {
    memory.prepare_remember(Scope::Project, text, None).unwrap().run(some_day()).unwrap();
    let mut done = memory.prepare_flush().run();
    memory.settled(&mut done);
    memory.ended();
}

fn section(memory: &mut Memory) -> String {
    memory.prompt(None).unwrap().unwrap().text.clone()
}

#[test]
fn a_folder_of_a_repository_has_the_memory_above_it() {
    let repository = Repository::new();
    let sub = repository.root().join("packages/one");
    fs::create_dir_all(&sub).unwrap();
    let mut outside = memory_in(&sub, &repository.agent());
    assert!(section(&mut outside).contains("the team: .pi/memory/MEMORY.md"));
    remember(&mut repository.memory(), "Ports: 8080 is taken");
    let mut memory = memory_in(&sub, &repository.agent());
    let text = section(&mut memory);
    assert!(
        text.contains("the team: ../../.pi/memory/; private: MEMORY.local.md\n")
            && text.contains("8080"),
        "{text}"
    );
    remember(&mut memory, "Editor: vim");
    assert!(!sub.join(".pi").exists());
    assert!(repository.text(".pi/memory/MEMORY.md").contains("- Editor: vim"));
    // A memory of its own comes first, and another repository has none of this one's.
    fs::create_dir_all(sub.join(".pi/memory")).unwrap();
    assert!(!section(&mut memory_in(&sub, &repository.agent())).contains("8080"));
    let other = repository.root().join("vendor/other");
    fs::create_dir_all(other.join(".git")).unwrap();
    assert!(!section(&mut memory_in(&other, &repository.agent())).contains("8080"));
}

#[test]
fn private_memory_of_a_worktree_is_that_of_the_main_checkout() {
    let repository = Repository::new();
    let root = repository.root();
    remember(&mut repository.memory(), "Ports: 8080 is taken");
    repository.commit();
    let worktree = root.parent().unwrap().join("w");
    run(&root, &["worktree", "add", "--quiet", "../w", "-b", "other"]);
    let mut memory = memory_in(&worktree, &repository.agent());
    for (scope, text) in [(Scope::Local, "My port: 4711"), (Scope::Project, "Team: of four")] {
        memory.prepare_remember(scope, text, None).unwrap().run(some_day()).unwrap();
    }
    let waiting = memory.waiting();
    let scopes: Vec<Scope> = waiting[0].operations.iter().map(|one| one.scope).collect();
    assert_eq!(scopes, [Scope::Local, Scope::Project]);
    let local = root.join(".pi/memory/MEMORY.local.md");
    assert_eq!(Path::new(&waiting[0].files[0]), local);
    let mut done = memory.prepare_flush().run();
    memory.settled(&mut done);
    memory.ended();
    assert_eq!(done[0].report.committed.len(), 2, "{done:?}");
    assert!(fs::read_to_string(&local).unwrap().contains("4711"));
    assert!(!worktree.join(".pi/memory/MEMORY.local.md").exists());
    let (book, main) = (TrustBook::of(Some(&repository.agent())).unwrap(), fs::canonicalize(&root));
    let standing = book.standing(&main.unwrap(), || Brought::of(&root)).unwrap();
    assert!(standing.counts(), "what the person's session wrote there is theirs: {standing:?}");
    let text = section(&mut memory_in(&worktree, &repository.agent()));
    assert!(text.contains(&format!("private: {}\n", local.display())), "{text}");
    assert!(text.contains("4711") && text.contains("of four"), "{text}");
    let args =
        json!({ "path": local, "content": "- key: ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n" });
    assert!(memory.check_write("write", &args, &worktree).unwrap().contains("a secret"));
    run(&root, &["worktree", "remove", "--force", "../w"]);
    let text = section(&mut repository.memory());
    assert!(text.contains("4711") && !text.contains("of four"), "{text}");
}

#[test]
fn worktrees_around_a_bare_repository_share_private_memory() {
    let repository = Repository::new();
    let root = repository.root();
    remember(&mut repository.memory(), "Ports: 8080 is taken");
    repository.commit();
    let around = root.parent().unwrap().join("around");
    fs::create_dir(&around).unwrap();
    run(&around, &["clone", "--quiet", "--bare", &root.display().to_string(), ".bare"]);
    for name in ["one", "two"] {
        run(
            &around.join(".bare"),
            &["worktree", "add", "--quiet", &format!("../{name}"), "-b", name],
        );
    }
    let memory = |name: &str| memory_in(&around.join(name), &repository.agent());
    // An earlier version kept it in the worktree.
    fs::write(around.join("one/.pi/memory/MEMORY.local.md"), "- My port: 4711\n").unwrap();
    assert!(section(&mut memory("one")).contains("4711"));
    let mut writing = memory("two");
    let staging = writing.prepare_remember(Scope::Local, "My box: b7", None).unwrap();
    staging.run(some_day()).unwrap();
    let mut done = writing.prepare_flush().run();
    writing.settled(&mut done);
    writing.ended();
    run(&around.join(".bare"), &["worktree", "remove", "--force", "../one"]);
    let text = section(&mut memory("two"));
    assert!(text.contains("4711") && text.contains("b7"), "{text}");
    assert!(!around.join("two/.pi/memory/MEMORY.local.md").exists());
}

#[test]
fn a_folder_that_no_repository_calls_its_worktree_is_none() {
    let repository = Repository::new();
    let root = repository.root();
    fs::create_dir_all(root.join(".pi/memory")).unwrap();
    fs::write(root.join(".pi/memory/MEMORY.local.md"), "- My port: 4711\n").unwrap();
    run(&root, &["commit", "--quiet", "--allow-empty", "--message", "a"]);
    run(&root, &["worktree", "add", "--quiet", "../w", "-b", "other"]);
    let forged = root.parent().unwrap().join("forged");
    let git = forged.join("git");
    let finds_its_own = || {
        let folders = Folders::new(Some(&repository.agent()), Some(&forged), true);
        assert_eq!(folders.folder(Scope::Local), Some(&*forged.join(".pi/memory")));
        fs::remove_file(forged.join(".git")).unwrap();
    };
    fs::create_dir_all(&git).unwrap();
    let link = root.parent().unwrap().join("w/.git");
    fs::copy(&link, forged.join(".git")).unwrap();
    finds_its_own();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&link, forged.join(".git")).unwrap();
        finds_its_own();
    }
    // A git folder of its own, as an archive brings it, that names the repository and the worktree.
    for back in [forged.join(".git").display().to_string(), "../.git".to_owned()] {
        fs::write(forged.join(".git"), "gitdir: git\n").unwrap();
        fs::write(git.join("commondir"), root.join(".git").display().to_string()).unwrap();
        fs::write(git.join("gitdir"), back).unwrap();
        finds_its_own();
    }
}

#[test]
fn private_memory_that_a_clone_brought_waits_in_a_worktree() {
    let repository = Repository::new();
    fs::create_dir_all(repository.root().join(".pi/memory")).unwrap();
    repository.write(".pi/memory/MEMORY.local.md", "- Planted: by the clone\n");
    repository.commit();
    let main = repository.root();
    let worktree = main.parent().unwrap().join("w");
    run(&main, &["worktree", "add", "--quiet", "../w", "-b", "other"]);
    run(&worktree, &["rm", "--quiet", "-r", ".pi"]);
    let local = |folder: &Path| Some(folder.join(".pi/memory"));
    let found = || {
        let folders = Folders::new(Some(&repository.agent()), Some(&worktree), true);
        folders.folder(Scope::Local).map(Path::to_owned)
    };
    assert_eq!(found(), local(&worktree));
    let book = settings::TrustBook::of(Some(&repository.agent())).unwrap();
    book.answer(&main, Some(true), some_day()).unwrap();
    assert_eq!(found(), local(&main));
}

#[test]
fn what_two_people_add_merges_by_itself() {
    let repository = Repository::new();
    remember(&mut repository.memory(), "First: known");
    repository.commit();
    let other = repository.cloned("b");
    remember(&mut memory_in(&other, &repository.agent()), "Of B: learnt");
    run(&other, &["add", "--all"]);
    run(&other, &["commit", "--quiet", "--message", "b"]);
    remember(&mut repository.memory(), "Of A: learnt");
    repository.commit();
    run(&other, &["pull", "--quiet", "--no-rebase", "--no-edit"]);
    let text = fs::read_to_string(other.join(".pi/memory/MEMORY.md")).unwrap();
    for entry in ["First: known", "Of A: learnt", "Of B: learnt"] {
        assert_eq!(text.matches(entry).count(), 1, "{text}");
    }
    let attributes = repository.root().join(".pi/memory/.gitattributes");
    fs::write(&attributes, "").unwrap();
    remember(&mut repository.memory(), "Third: known");
    assert_eq!(fs::read_to_string(&attributes).unwrap(), "", "it is the person's");
}

#[test]
fn an_unfinished_merge_is_told_with_both_texts() {
    let repository = Repository::new();
    let text =
        "- A: a\n<<<<<<< HEAD\n- CI: red\n||||||| x\n- CI: grey\n=======\n- CI: green\n>>>>>>> b\n";
    repository.write(".pi/memory/MEMORY.md", text);
    let mut memory = repository.memory();
    let warnings = memory.check();
    let told = warnings.iter().find(|warning| warning.code == "CONFLICT_MARKERS").unwrap();
    let words =
        "line 2: a merge is not finished: this side says \"- CI: red\", the other \"- CI: green\"";
    assert!(told.problem.ends_with(words), "{}", told.problem);
    memory.prepare_remember(Scope::Project, "B: b", None).unwrap().run(some_day()).unwrap();
    let held = memory.prepare_flush().run();
    assert!(held[0].report.held[0].findings[0].words.contains("- CI: green"), "{held:?}");
}

/// What a write of the model is answered with.
fn written(memory: &mut Memory, root: &Path, tool: &str, args: &serde_json::Value) -> String {
    assert_eq!(memory.check_write(tool, args, root), None);
    let path = root.join(".pi/memory/MEMORY.md");
    match args.get("content") {
        Some(content) => fs::write(path, content.as_str().unwrap()).unwrap(),
        None => fs::write(path, "- Key 0: x\n").unwrap(),
    }
    memory.explain_write(tool, args, root).unwrap_or_default()
}

#[test]
fn entries_that_a_write_leaves_out_are_told_and_kept() {
    let repository = Repository::new();
    let all: Vec<String> = (0..45).map(|at| format!("- Key {at}: something learnt\n")).collect();
    let (file, text) = (".pi/memory/MEMORY.md", format!("## Notes\n\n{}", all.concat()));
    repository.write(file, &text);
    let (mut memory, root) = (repository.memory(), repository.root());
    let args = json!({ "path": file, "content": "## Notes\n\n- New: one fact\n" });
    let told = written(&mut memory, &root, "write", &args);
    assert!(
        told.contains("45 entries are gone by this call: \"Key 0: something learnt\""),
        "{told}"
    );
    assert!(told.contains(", and 5 more; the text before is in "), "{told}");
    let kept =
        told.split("the text before is in ").nth(1).unwrap().split(". Where").next().unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), text);
    let status =
        Command::new("git").args(["status", "--short", "-uall"]).current_dir(&root).output();
    assert!(!String::from_utf8_lossy(&status.unwrap().stdout).contains("set-aside"));

    // Who mends or moves entries is told nothing, and an edit may take out some.
    repository.write(file, "- Key 0: x\n- Old: is so and so and so\n- Key 1: y\n");
    repository.write(".pi/memory/archive/old.md", "- Key 1: y\n");
    let mended = json!({ "path": file, "content": "- Key 0: x\n- Old: is so and so and not\n" });
    assert_eq!(written(&mut memory, &root, "write", &mended), "");
    repository.write(file, "- Key 0: x\n- Key 5: y\n- Key 6: z\n");
    let edit = json!({ "path": file, "oldText": "- Key 5: y\n- Key 6: z\n", "newText": "" });
    assert_eq!(written(&mut memory, &root, "edit", &edit), "");
}

#[test]
fn the_newest_texts_of_before_calls_are_kept() {
    let repository = Repository::new();
    let file = ".pi/memory/MEMORY.md";
    let mine = ".pi/memory/MEMORY.md.0a1b2c3d.set-aside";
    repository.write(mine, "of a flush\n");
    let (mut memory, root) = (repository.memory(), repository.root());
    for round in 0..25 {
        repository.write(file, format!("- Key {round}: x\n"));
        let told =
            written(&mut memory, &root, "write", &json!({ "path": file, "content": "- New: y\n" }));
        assert!(told.contains("the text before is in"), "{told}");
    }
    let names = fs::read_dir(root.join(".pi/memory")).unwrap();
    let kept: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".before.set-aside"))
        .collect();
    assert_eq!(kept.len(), 20, "{kept:?}");
    assert!(kept.iter().any(|name| {
        fs::read_to_string(root.join(".pi/memory").join(name)).unwrap() == "- Key 24: x\n"
    }));
    assert_eq!(repository.text(mine), "of a flush\n");
}

#[test]
fn entries_that_moved_to_another_file_are_not_kept_besides() {
    let repository = Repository::new();
    let (file, text) = (".pi/memory/MEMORY.md", "- Key 5: y\n- [T](topic.md)\n");
    repository.write(file, text);
    repository.write(".pi/memory/topic.md", text);
    let (mut memory, root) = (repository.memory(), repository.root());
    let args = json!({ "path": file, "content": "- [T](topic.md)\n" });
    assert_eq!(written(&mut memory, &root, "write", &args), "");
    let names = fs::read_dir(root.join(".pi/memory")).unwrap();
    let names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("set-aside")), "{names:?}");
}

#[test]
fn a_pin_tells_of_its_own_file_alone() {
    let repository = Repository::new();
    repository.write("docs/data.rs", "x\n");
    repository.write(".pi/memory/MEMORY.md", "- A: `docs/data.rs`, see `a.rs:3`\n");
    let mut memory = repository.memory();
    memory.look();
    let problems: Vec<_> = memory.check().into_iter().map(|warning| warning.problem).collect();
    assert_eq!(problems, [""; 0], "its folder is not known, so only a write looks for it");
    let args = json!({ "path": ".pi/memory/MEMORY.md", "content": "- A: `docs/data.rs`, see `a.rs:3`, too\n" });
    let told = written(&mut memory, &repository.root(), "write", &args);
    assert!(told.contains("`a.rs` is not a file of the project"), "{told}");
}

#[test]
fn a_cited_file_that_does_not_exist_is_told() {
    let repository = Repository::new();
    repository.write("src/store.rs", "x\n");
    repository.write("crates/a/src/deep.rs", "x\n");
    let mut memory = repository.memory();
    let mut told = |text: &str| {
        let findings = memory.prepare_remember(Scope::Project, text, None).unwrap();
        let findings = findings.run(some_day()).unwrap().findings;
        findings.iter().map(|one| one.words.clone()).collect::<Vec<_>>()
    };
    assert_eq!(told("Limit: `src/stroe.rs:1`"), ["`src/stroe.rs` is not a file of the project"]);
    assert_eq!(told("Loader: see lib/gone.js"), ["`lib/gone.js` is not a file of the project"]);
    for right in [
        "A: `src/store.rs:1`",
        "B: `src/deep.rs`",
        "C: Node.js and and/or 1.5",
        "D: example.com/a.html",
        "E: [x](gone.md)",
        "F: `/etc/gone.conf` ~/gone.txt",
    ] {
        assert_eq!(told(right), [""; 0], "{right}");
    }
    repository.write(".pi/memory/MEMORY.md", "- A: a\n- B: `src/stroe.rs:4`\n");
    let warnings = repository.memory().check();
    assert_eq!(warnings[0].code, "NO_SUCH_FILE");
    assert_eq!(warnings[0].problem, "line 2: `src/stroe.rs` is not a file of the project");
}
