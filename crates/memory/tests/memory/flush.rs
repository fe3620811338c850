//! What a flush writes, what it refuses, and which writers it waits for.

use std::fs;
use std::path::Path;
use std::process::Command;

use base::object::Timestamp;
use memory::Scope;
use memory::flush::{FlushReport, FlushStep, flush, flush_watched};
use memory::journal::{Author, Draft, EntryStatus, Journal, accept, stage, withdraw};
use memory::sidecar::MemoryFolder;

use crate::desk::{Desk, options, remember, times};
use testing::child::only;
use testing::privilege::is_privileged;
use testing::skip::skip;

const NOW: Timestamp = Timestamp(1_700_000_000_000);

fn codes(report: &FlushReport) -> Vec<(String, String)> {
    let outcomes = report.refused.iter().chain(&report.held);
    let code = |status: &EntryStatus| match status {
        EntryStatus::Refused { code, .. } | EntryStatus::Held { code, .. } => code.clone(),
        other => format!("{other:?}"),
    };
    outcomes.map(|one| (one.operation.draft.text.clone(), code(&one.operation.status))).collect()
}

#[test]
fn nothing_is_made_before_something_is_staged() {
    let desk = Desk::new();
    assert_eq!(desk.flush(), FlushReport::default());
    assert!(!desk.root().join(".pi").exists());
}

#[test]
fn what_says_the_same_below_other_headings_is_no_duplicate() {
    let desk = Desk::new();
    for heading in ["Staging", "Production › Web", "production › web"] {
        let draft = Draft::entry(Scope::Project, "Port: 8080");
        let draft = Draft { heading: Some(heading.to_owned()), ..draft };
        stage(&desk.memory(), vec![draft], false, NOW).unwrap();
    }
    desk.remember("port: 8080.");
    let report = desk.flush();
    let duplicate = |text: &str| (text.to_owned(), "DUPLICATE".to_owned());
    assert_eq!(codes(&report), [duplicate("Port: 8080"), duplicate("port: 8080.")]);
    assert_eq!(report.committed.iter().map(|one| one.line).collect::<Vec<_>>(), [Some(3), Some(9)]);
    assert_eq!(
        desk.text("MEMORY.md"),
        "## Staging\n\n- Port: 8080\n\n## Production\n\n### Web\n\n- Port: 8080\n"
    );
}

#[test]
fn an_entry_may_begin_with_a_number() {
    let desk = Desk::new();
    desk.remember("3. Oktober: closed");
    desk.remember("1. build\n2. ship");
    assert_eq!(desk.flush().committed.len(), 2);
    assert_eq!(desk.text("MEMORY.md"), "## Notes\n\n- 3. Oktober: closed\n- 1. build\n  2. ship\n");
}

#[test]
fn a_flush_writes_staged_entries_and_ignores_private_ones() {
    let desk = Desk::new();
    desk.remember("CI: green");
    assert_eq!(desk.names(), [".lock", "writeback-journal.jsonl"]);
    assert!(!desk.root().join(".pi").exists(), "nothing is in the project yet");
    let report = desk.flush();
    assert_eq!(desk.text("MEMORY.md"), "## Notes\n\n- CI: green\n");
    assert_eq!(report.committed.len(), 1);
    assert_eq!(report.committed[0].line, Some(3));
    assert_eq!(desk.waiting(), 0);
    let ignored = desk.text(".gitignore");
    assert!(ignored.lines().any(|line| line == "MEMORY.local.md"));
    assert!(!ignored.lines().any(|line| line == "page-facts.jsonl"));
    assert_eq!(desk.flush().committed, []);
    assert_eq!(desk.text("MEMORY.md"), "## Notes\n\n- CI: green\n");
}

#[test]
fn what_waits_for_a_project_is_not_for_one_in_its_place() {
    let base = tempfile::tempdir().unwrap();
    let (project, moved) = (base.path().join("a"), base.path().join("b"));
    let own = base.path().join("kept");
    let memory = MemoryFolder::new(Scope::Project, &project.join(".pi/memory"), &own);
    fs::create_dir(&project).unwrap();
    remember(&memory, "Deploys go by the old host");
    fs::rename(&project, &moved).unwrap();
    fs::create_dir(&project).unwrap();
    let report = flush(&memory, &options(true)).unwrap();
    assert_eq!(report.committed, []);
    assert_eq!(report.held[0].findings[0].code.as_str(), "OTHER_PROJECT");
    assert!(!project.join(".pi").exists());
    fs::remove_dir(&project).unwrap();
    fs::rename(&moved, &project).unwrap();
    assert_eq!(flush(&memory, &options(true)).unwrap().committed.len(), 1);
}

#[test]
fn a_persons_edit_of_the_gitignore_stays() {
    let desk = Desk::new();
    desk.remember("a one");
    desk.write(".gitignore", "mine\n");
    desk.remember("b two");
    desk.flush();
    assert_eq!(desk.text(".gitignore"), "mine\n");
    fs::remove_file(desk.path(".gitignore")).unwrap();
    desk.remember("c three");
    desk.flush();
    assert!(!desk.path(".gitignore").exists());
}

#[test]
fn git_sees_no_private_entry_whatever_gitignore_was_there() {
    let undone = "#\n!MEMORY.local.md\n*.set-aside\n.*.tmp\n";
    for theirs in ["*.bak", "!*.md\n", "", "*\n!MEMORY.local.md\n", undone] {
        let desk = Desk::new();
        desk.write(".gitignore", theirs);
        for text in ["salary talk on Friday", "another"] {
            stage(&desk.memory(), vec![Draft::entry(Scope::Local, text)], false, NOW).unwrap();
            assert_eq!(desk.flush().committed.len(), 1);
        }
        let ignored = desk.text(".gitignore");
        assert_eq!(ignored.matches("\nMEMORY.local.md\n").count(), 1, "{ignored}");
        assert!(ignored.starts_with(theirs) && ignored.contains("\n*.set-aside\n"), "{ignored}");
        assert!(!ignored.contains("\n.gitignore"), "theirs is to be committed: {ignored}");
    }
}

#[test]
fn the_users_own_folder_is_theirs_alone_and_has_no_gitignore() {
    let agent = tempfile::tempdir().unwrap();
    let path = agent.path().join("memory");
    let folder = MemoryFolder::new(Scope::Global, &path, &path);
    stage(&folder, vec![Draft::entry(Scope::Global, "tabs")], false, NOW).unwrap();
    flush(&folder, &options(true)).unwrap();
    assert_eq!(
        fs::read_to_string(folder.path().join("MEMORY.md")).unwrap(),
        "## Notes\n\n- tabs\n"
    );
    assert!(!folder.path().join(".gitignore").exists());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn invalid_entries_are_refused_and_contradictions_warned_of() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "## Build\n- Package manager: pnpm\n- tests take 3 minutes\n");
    desk.remember("Tests take 3 minutes.");
    desk.remember("Package manager: npm");
    desk.remember("a new one");
    desk.remember("A new one!");
    let report = desk.flush();
    assert_eq!(
        codes(&report),
        [
            ("Tests take 3 minutes.".to_owned(), "DUPLICATE".to_owned()),
            ("A new one!".to_owned(), "DUPLICATE".to_owned())
        ]
    );
    let warned = &report.committed[0];
    assert_eq!(warned.findings[0].code.as_str(), "CONTRADICTION");
    assert_eq!(
        warned.findings[0].words,
        "the same key has another value there: line 2, \"Package manager: pnpm\""
    );
    assert_eq!(
        desk.text("MEMORY.md"),
        "## Build\n- Package manager: pnpm\n- tests take 3 minutes\n\n## Notes\n\n- Package manager: npm\n- a new one\n"
    );
    assert_eq!(desk.waiting(), 0);
}

#[test]
fn without_strictness_only_secrets_are_refused() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "- x y\n");
    desk.remember("x y");
    let report = flush(&desk.memory(), &options(false)).unwrap();
    assert_eq!(report.committed[0].findings[0].code.as_str(), "DUPLICATE");
    assert_eq!(times(&desk.text("MEMORY.md"), "x y"), 2);
}

#[test]
fn a_secret_is_refused_before_writing_and_at_the_flush() {
    let desk = Desk::new();
    let secret = "key ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let refused = stage(&desk.memory(), vec![Draft::entry(Scope::Project, secret)], false, NOW);
    let error = refused.unwrap_err();
    assert_eq!(error.code(), "SECRET");
    assert!(!error.to_string().contains("ghp_"));
    assert!(!desk.root().join(".pi").exists());
    // A journal that another program wrote.
    let line = format!(
        "{{\"op\":\"stage\",\"id\":\"w1\",\"at\":\"\",\"file\":\"MEMORY.md\",\"text\":\"{secret}\",\"by\":\"person\"}}\n"
    );
    desk.write("writeback-journal.jsonl", line);
    let report = flush(&desk.memory(), &options(false)).unwrap();
    assert_eq!(codes(&report)[0], ("key [redacted:github_token]".into(), "SECRET".into()));
    assert!(!desk.path("MEMORY.md").exists());
    for name in desk.names() {
        assert!(!desk.text(&name).contains("ghp_"), "{name} has the secret");
    }
}

#[test]
fn local_entries_go_into_their_own_file() {
    let desk = Desk::new();
    stage(&desk.memory(), vec![Draft::entry(Scope::Local, "my port is 3001")], false, NOW).unwrap();
    let report = desk.flush();
    assert_eq!(report.committed.len(), 1);
    assert_eq!(desk.text("MEMORY.local.md"), "## Notes\n\n- my port is 3001\n");
    assert!(!desk.path("MEMORY.md").exists());
}

#[test]
fn a_topic_file_is_made_and_never_overwritten() {
    let desk = Desk::new();
    let topic = |text: &str| Draft {
        file: "build.md".into(),
        by: Author::Import,
        ..Draft::entry(Scope::Project, text)
    };
    stage(&desk.memory(), vec![topic("# Build\n\nlong"), topic("another")], false, NOW).unwrap();
    let report = desk.flush();
    assert_eq!(desk.text("build.md"), "# Build\n\nlong\n");
    assert_eq!(codes(&report)[0].1, "FILE_EXISTS");
    stage(&desk.memory(), vec![topic("# Build\n\nlong"), topic("third")], false, NOW).unwrap();
    let report = desk.flush();
    let found: Vec<String> = codes(&report).into_iter().map(|(_, code)| code).collect();
    assert_eq!(found, ["DUPLICATE", "FILE_EXISTS"]);
    for file in ["../a.md", "a/b.md", ".hidden.md", "a.txt", ""] {
        let draft = Draft { file: file.into(), ..topic("x") };
        let error = stage(&desk.memory(), vec![draft], false, NOW).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT", "{file}");
    }
}

#[test]
fn a_proposal_waits_until_a_person_accepts_it() {
    let desk = Desk::new();
    let draft = |text: &str| Draft { by: Author::Capture, ..Draft::entry(Scope::Project, text) };
    let ids = stage(&desk.memory(), vec![draft("one thing"), draft("other")], true, NOW).unwrap();
    let report = desk.flush();
    assert_eq!((report.committed.len(), report.proposed.len()), (0, 2));
    assert!(!desk.path("MEMORY.md").exists());
    accept(&desk.memory(), ids[0]).unwrap();
    accept(&desk.memory(), ids[0]).expect("it waits, and nothing else has to be decided");
    withdraw(&desk.memory(), ids[1]).unwrap();
    assert_eq!(accept(&desk.memory(), ids[1]).unwrap_err().code(), "NO_OPERATION");
    let report = desk.flush();
    assert_eq!((report.committed.len(), report.proposed.len()), (1, 0));
    assert_eq!(desk.text("MEMORY.md"), "## Notes\n\n- one thing\n");
}

/// Saves the index while a flush is at a step, once: as an editor does, with a file of its own, or
/// in place.
fn saved_at(step: FlushStep, atomically: bool, text: &str) -> (Desk, FlushReport) {
    let desk = Desk::new();
    desk.write("MEMORY.md", "- old\n");
    desk.remember("from the journal");
    let mut saved = false;
    let path = desk.path("MEMORY.md");
    let report = flush_watched(&desk.memory(), &options(true), &mut |at| {
        if at == step && !saved {
            saved = true;
            save(&path, text, atomically);
        }
    });
    (desk, report.unwrap())
}

fn save(path: &Path, text: &str, atomically: bool) {
    if atomically {
        let beside = path.with_file_name("editor.swp");
        fs::write(&beside, text).unwrap();
        fs::rename(beside, path).unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

#[test]
fn a_save_during_a_flush_loses_neither_save_nor_entry() {
    for step in [FlushStep::Locked, FlushStep::Prepared, FlushStep::Begun] {
        for atomically in [true, false] {
            let (desk, report) = saved_at(step, atomically, "- old\n- by hand\n");
            let text = desk.text("MEMORY.md");
            for entry in ["old", "by hand", "from the journal"] {
                assert_eq!(times(&text, entry), 1, "{step:?} {atomically}: {entry} in {text}");
            }
            assert_eq!((report.committed.len(), report.findings.len()), (1, 0));
            assert_eq!(desk.waiting(), 0);
            assert_eq!(
                desk.names(),
                [".gitattributes", ".lock", "MEMORY.md", "writeback-journal.jsonl"]
            );
        }
    }
}

#[test]
fn a_save_after_the_new_text_is_in_its_place_stands() {
    for atomically in [true, false] {
        let (desk, report) = saved_at(FlushStep::Placed, atomically, "- all new\n");
        assert_eq!(desk.text("MEMORY.md"), "- all new\n");
        assert_eq!(report.committed.len(), 1);
    }
}

#[test]
fn a_file_removed_or_created_during_a_flush_keeps_the_entry() {
    for step in [FlushStep::Prepared, FlushStep::Begun] {
        let desk = Desk::new();
        desk.write("MEMORY.md", "- old\n");
        desk.remember("from the journal");
        let path = desk.path("MEMORY.md");
        let report = flush_watched(&desk.memory(), &options(true), &mut |at| {
            if at == step {
                drop(fs::remove_file(&path));
            }
        });
        assert_eq!(report.unwrap().committed.len(), 1);
        assert_eq!(desk.text("MEMORY.md"), "## Notes\n\n- from the journal\n");

        let desk = Desk::new();
        desk.remember("from the journal");
        let path = desk.path("MEMORY.md");
        let mut saved = false;
        let report = flush_watched(&desk.memory(), &options(true), &mut |at| {
            if at == step && !saved {
                saved = true;
                fs::write(&path, "- by hand\n").unwrap();
            }
        });
        assert_eq!(report.unwrap().committed.len(), 1);
        assert_eq!(desk.text("MEMORY.md"), "- by hand\n\n## Notes\n\n- from the journal\n");
    }
}

#[test]
fn two_saves_around_a_flush_keep_both_texts_and_the_entry() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "- old\n");
    desk.remember("from the journal");
    let path = desk.path("MEMORY.md");
    let mut count = 0;
    let report = flush_watched(&desk.memory(), &options(true), &mut |at| {
        if count < 2 && (at == FlushStep::Begun || at == FlushStep::Placed) {
            count += 1;
            save(&path, &format!("- save {count}\n"), true);
        }
    });
    let report = report.unwrap();
    assert_eq!((count, report.committed.len()), (2, 1));
    assert_eq!(report.findings[0].code.as_str(), "SET_ASIDE");
    assert_eq!(desk.text("MEMORY.md"), "- save 2\n\n## Notes\n\n- from the journal\n");
    let aside = report.findings[0].file.clone().unwrap();
    assert_eq!(fs::read_to_string(aside).unwrap(), "- save 1\n");
}

#[test]
fn an_unreadable_journal_is_left_as_it_is() {
    let desk = Desk::new();
    desk.remember("first");
    let journal = desk.path("writeback-journal.jsonl");
    let before = fs::read(&journal).unwrap();
    // What stands there is no file that could be read, whoever asks.
    let kept = desk.root().join("aside");
    fs::rename(&journal, &kept).unwrap();
    fs::create_dir(&journal).unwrap();
    let draft = Draft::entry(Scope::Project, "second");
    let refused = stage(&desk.memory(), vec![draft.clone()], false, NOW).unwrap_err();
    assert_eq!(refused.code(), "FILE");
    let refused = flush(&desk.memory(), &options(true)).unwrap_err();
    assert_eq!(refused.code(), "FILE");
    fs::remove_dir(&journal).unwrap();
    fs::rename(&kept, &journal).unwrap();
    assert_eq!(fs::read(&journal).unwrap(), before);
    stage(&desk.memory(), vec![draft], false, NOW).unwrap();
    assert_eq!(desk.flush().committed.len(), 2);
}

#[test]
fn constant_saving_delays_the_entry_and_loses_nothing() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "- save 0\n");
    desk.remember("from the journal");
    let path = desk.path("MEMORY.md");
    let mut count = 0;
    let report = flush_watched(&desk.memory(), &options(true), &mut |at| {
        if at == FlushStep::Begun {
            count += 1;
            save(&path, &format!("- save {count}\n"), true);
        }
    });
    assert_eq!(codes(&report.unwrap())[0].1, "KEEPS_CHANGING");
    assert_eq!(desk.text("MEMORY.md"), format!("- save {count}\n"));
    assert_eq!(desk.waiting(), 1);
    assert_eq!(desk.flush().committed.len(), 1);
}

#[test]
fn an_index_that_refuses_an_entry_keeps_it_waiting() {
    let huge = b"- an entry\n".repeat(1_000_000);
    for (bytes, code) in [
        (b"\xff\xfe\x00".to_vec(), "NOT_TEXT"),
        (b"- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> x\n".to_vec(), "CONFLICT_MARKERS"),
        (b"- a\n\n```\ncode without end\n".to_vec(), "UNCLOSED_BLOCK"),
        (b"- a\n\n<!-- comment without end\n".to_vec(), "UNCLOSED_BLOCK"),
        (huge, "TOO_LARGE"),
    ] {
        let desk = Desk::new();
        desk.write("MEMORY.md", &bytes);
        desk.remember("from the journal");
        let report = desk.flush();
        assert_eq!(codes(&report).first().map(|(_, code)| code.as_str()), Some(code));
        assert!(fs::read(desk.path("MEMORY.md")).unwrap() == bytes, "{code}: the file changed");
        let length = desk.text("writeback-journal.jsonl").len();
        desk.flush();
        assert_eq!(desk.text("writeback-journal.jsonl").len(), length, "{code}: told twice");
        desk.write("MEMORY.md", "- mended\n");
        assert_eq!(desk.flush().committed.len(), 1, "{code}");
        assert_eq!(desk.text("MEMORY.md"), "- mended\n\n## Notes\n\n- from the journal\n");
    }
}

#[test]
fn a_large_index_with_broken_front_matter_takes_an_entry() {
    let desk = Desk::new();
    let text = format!("---\na: [\n---\n{}", "- an entry of some words\n".repeat(10_000));
    desk.write("MEMORY.md", &text);
    desk.remember("from the journal");
    assert_eq!(desk.flush().committed.len(), 1);
    assert_eq!(desk.text("MEMORY.md"), format!("{text}\n## Notes\n\n- from the journal\n"));
}

#[test]
fn a_torn_journal_keeps_readable_lines_and_sets_the_rest_aside() {
    let desk = Desk::new();
    desk.remember("first thing");
    let mut journal = desk.text("writeback-journal.jsonl");
    journal.push_str("{\"op\":\"stage\",\"id\":\"w7\",\"at\":\"2026-01-01T00:00");
    desk.write("writeback-journal.jsonl", &journal);
    let id = desk.remember("second thing");
    assert_eq!(id.0, 8, "a number that may have been given is not given again");
    let (read, findings) = Journal::read(&desk.memory());
    assert_eq!(read.waiting().count(), 2);
    assert_eq!((findings[0].code.as_str(), findings[0].line), ("BAD_LINE", Some(2)));
    let report = desk.flush();
    assert_eq!(report.committed.len(), 2);
    let said: Vec<&str> = report.findings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(said, ["BAD_LINE", "SET_ASIDE"]);
    assert!(desk.text("writeback-journal.jsonl.set-aside").contains("\"w7\""));
    let report = desk.flush();
    assert_eq!(report.findings, []);
    assert_eq!(desk.remember("third thing").0, 9);
}

#[test]
fn a_settled_operation_without_its_text_is_a_flush_miss() {
    let desk = Desk::new();
    desk.write("writeback-journal.jsonl", "{\"op\":\"accept\",\"id\":\"w3\"}\n");
    assert_eq!(desk.flush().lost.iter().map(ToString::to_string).collect::<Vec<_>>(), ["w3"]);
}

#[test]
fn the_journal_stays_bounded() {
    let desk = Desk::new();
    for round in 0..60 {
        let drafts = (0..20).map(|at| {
            Draft::entry(Scope::Project, format!("entry {round} {at} {}", "x".repeat(100)))
        });
        stage(&desk.memory(), drafts.collect(), false, NOW).unwrap();
        desk.flush();
        desk.write("MEMORY.md", "");
    }
    let bytes = desk.text("writeback-journal.jsonl").len();
    assert!(bytes < 160 << 10, "{bytes} bytes");
    assert_eq!(desk.remember("the last").0, 1_201);
}

#[test]
fn a_read_only_folder_is_reported_and_keeps_everything() {
    if is_privileged() {
        return as_another_user("a_read_only_folder_is_reported_and_keeps_everything");
    }
    let desk = Desk::new();
    desk.write("MEMORY.md", "- old\n");
    let mut permissions = fs::metadata(desk.memory().path()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(desk.memory().path(), permissions.clone()).unwrap();
    desk.remember("new");
    let error = flush(&desk.memory(), &options(true)).unwrap_err();
    assert_eq!((error.code(), desk.waiting()), ("FILE", 1));
    assert_eq!(desk.text("MEMORY.md"), "- old\n");
    #[expect(clippy::permissions_set_readonly_false, reason = "it was its owner's alone before")]
    permissions.set_readonly(false);
    fs::set_permissions(desk.memory().path(), permissions).unwrap();
}

/// Root may write anything: runs a test of this file again as another user.
fn as_another_user(test: &str) {
    let done = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args(only(module_path!(), test))
        .output();
    match done {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success() && said.contains("1 passed"), "{said}");
        }
        Err(error) => skip(&format!("no setpriv to be another user by: {error}")),
    }
}

#[test]
fn a_read_only_index_keeps_the_entry_waiting() {
    let desk = Desk::new();
    desk.write("MEMORY.md", "- old\n");
    let mut permissions = fs::metadata(desk.path("MEMORY.md")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(desk.path("MEMORY.md"), permissions).unwrap();
    desk.remember("new");
    assert_eq!(codes(&desk.flush())[0].1, "UNWRITABLE");
    assert_eq!(desk.text("MEMORY.md"), "- old\n");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_wherever_they_lead() {
    use std::os::unix::fs::symlink;

    let outside = tempfile::tempdir().unwrap();
    let desk = Desk::new();
    desk.remember("a thing");
    fs::create_dir_all(desk.memory().path()).unwrap();
    fs::write(outside.path().join("theirs.md"), "- theirs\n").unwrap();
    symlink(outside.path().join("theirs.md"), desk.path("MEMORY.md")).unwrap();
    assert_eq!(codes(&desk.flush())[0].1, "LEADS_OUT");
    assert_eq!(fs::read_to_string(outside.path().join("theirs.md")).unwrap(), "- theirs\n");

    fs::remove_file(desk.path("MEMORY.md")).unwrap();
    fs::create_dir(desk.root().join("docs")).unwrap();
    fs::write(desk.root().join("docs/memory.md"), "- ours\n").unwrap();
    symlink("../../docs/memory.md", desk.path("MEMORY.md")).unwrap();
    assert_eq!(codes(&desk.flush())[0].1, "LEADS_OUT");
    assert_eq!(fs::read_to_string(desk.root().join("docs/memory.md")).unwrap(), "- ours\n");

    let other = Desk::new();
    fs::create_dir(other.root().join(".pi")).unwrap();
    symlink(outside.path(), other.root().join(".pi/memory")).unwrap();
    other.remember("x");
    let error = flush(&other.memory(), &options(true)).unwrap_err();
    assert_eq!((error.code(), other.waiting()), ("OUTSIDE_PROJECT", 1));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}
