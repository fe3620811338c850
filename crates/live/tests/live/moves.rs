//! Files that are deleted, moved, out of reach and recreated: what the model is told, and what the
//! store holds.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, SystemTime};

use base::object::{AsOf, Envelope, Nickname, ObjectId, ObjectType, Source};
use config::{MountMapping, Settings};
use live::{CheckProgress, LiveSession, Notice, OpenSession, ToolFiles, Wanted};
use serde_json::json;
use source::read_file;
use store::{Store, Version};

use crate::host::{Aside, Host};

fn numbered(name: &str) -> String {
    (1..=20).fold(String::new(), |text, line| text + &format!("line {line} of {name}\n"))
}

/// A host whose model read `a.txt` and `z.txt`.
fn reading() -> Host {
    let mut host = Host::new(Settings::default());
    for name in ["a.txt", "z.txt"] {
        host.write_file(name, &numbered(name));
    }
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    host.read("z.txt", None, None);
    host.send();
    host
}

impl Host {
    /// The session makes one more call; the notes in its newest message.
    fn told(&mut self) -> String {
        self.user("and?");
        let sent = self.send();
        let texts = sent.last().unwrap()["content"].as_array().unwrap().clone();
        let texts = texts.iter().filter_map(|block| block["text"].as_str());
        texts.filter(|text| *text != "and?").collect::<Vec<_>>().join("\n")
    }

    fn bash(&mut self, command: &str) -> String {
        let done = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .status()
            .unwrap();
        assert!(done.success(), "{command}");
        self.tool("bash", &json!({ "command": command }), "(no output)");
        let sent = self.send();
        let texts = sent.last().unwrap()["content"].as_array().unwrap().clone();
        let texts = texts.iter().filter_map(|block| block["text"].as_str());
        texts.filter(|text| *text != "(no output)").collect::<Vec<_>>().join("\n")
    }

    fn shift(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn file(&self, name: &str) -> ObjectId {
        let folder = fs::canonicalize(self.folder.path()).unwrap();
        let path = folder.join(name).to_string_lossy().into_owned();
        let source = Source::Filesystem { filesystem_id: "fs".into(), path };
        Envelope::sourced(ObjectType::File, source).unwrap().id
    }

    fn latest(&self, name: &str) -> Version {
        self.store.get(&self.file(name), AsOf::Latest).unwrap().expect("the store knows it")
    }

    fn is_deleted(&self, name: &str) -> bool {
        self.latest(name).fields.get("no_content") == Some(&json!("deleted"))
    }

    fn moved_from(&self, name: &str) -> Option<ObjectId> {
        let fields = self.latest(name).fields;
        Some(ObjectId::new(fields.get("moved_from")?.as_str().unwrap()))
    }

    fn handle(&self, name: &str) -> Option<String> {
        self.live.state().handle(&self.file(name)).map(|handle| handle.to_string())
    }

    /// Makes a file so old that its stamp is trusted.
    fn age(&self, name: &str) {
        let file = fs::File::options().write(true).open(self.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
        let deadline = SystemTime::now() + Duration::from_secs(10);
        while read_file(&self.path(name), u64::MAX).stamp.is_none_or(|stamp| stamp.is_fresh) {
            assert!(SystemTime::now() < deadline, "a file gets a stamp");
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_deleted_file_is_reported_once_and_its_text_is_kept() {
    let mut host = reading();
    fs::remove_file(host.path("a.txt")).unwrap();
    assert_eq!(host.told(), "[f1] a.txt is no longer on disk; its text of t1 is kept as f1.");
    assert!(host.is_deleted("a.txt"));
    assert_eq!(host.told(), "");
    let kept = host.activate(&Wanted { name: "f1".into(), ..Wanted::default() }, false);
    assert!(
        kept.starts_with("[f1] a.txt (no longer on disk; last version) · lines 1-20"),
        "{kept}"
    );
    host.send();
    host.write_file("a.txt", &numbered("a.txt"));
    assert_eq!(host.told(), "[f1] a.txt is on disk again, as it was before.");
    assert_eq!(host.told(), "");
}

#[test]
fn a_file_moved_by_the_model_keeps_handle_and_shown_text() {
    let mut host = reading();
    let mut naming = host.store.begin();
    naming.name(Nickname::parse("entry").unwrap(), Some(host.file("a.txt")));
    naming.commit().unwrap();
    fs::create_dir(host.path("sub")).unwrap();
    let told = host.bash("mv a.txt sub/b.txt");
    assert_eq!(told, "[f1] a.txt is now sub/b.txt");
    let moved =
        Notice::FileMoved { handle: "f1".into(), from: "a.txt".into(), path: "sub/b.txt".into() };
    assert_eq!(host.notices, [moved]);
    assert!(host.is_deleted("a.txt"));
    assert_eq!(host.moved_from("sub/b.txt"), Some(host.file("a.txt")));
    assert_eq!(host.handle("sub/b.txt").as_deref(), Some("f1"));
    let entry = Nickname::parse("entry").unwrap();
    assert_eq!(host.store.find_nickname(&entry).unwrap(), Some(host.file("sub/b.txt")));
    host.read("sub/b.txt", Some(2), Some(4));
    host.send();
    let shown = host.shown();
    let standing = "f1 unchanged; lines 2-5 stand in the read result above (t1).";
    assert!(shown.contains(standing), "{shown}");
    assert_eq!(host.told(), "");
    let by_old_name = host.activate(&Wanted { name: "a.txt".into(), ..Wanted::default() }, false);
    assert!(by_old_name.starts_with("[f1] sub/b.txt · lines 1-20"), "{by_old_name}");
}

#[test]
fn a_file_moved_right_after_a_read_stays_one_file() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered("a.txt"));
    host.user("go");
    host.send();
    let calls = [
        ("call_r", "read", json!({ "path": "a.txt" })),
        ("call_m", "bash", json!({ "command": "git mv a.txt b.txt" })),
    ];
    let calls = calls.map(|(id, tool, args)| (id.to_owned(), tool, args));
    host.call_all(&calls);
    host.finished("call_r", "read", &calls[0].2, "", false);
    host.shift("a.txt", "b.txt");
    host.finished("call_m", "bash", &calls[1].2, "", false);
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    host.push_result("call_r", "read", &text(&numbered("a.txt")), false);
    host.push_result("call_m", "bash", &text("(no output)"), false);
    host.send();
    assert_eq!(host.live.state().showings(&host.file("b.txt")).count(), 1);
    assert_eq!(host.handle("a.txt"), None);
    assert_eq!(host.handle("b.txt").as_deref(), Some("f1"));
    host.restart();
    host.send();
    assert_eq!(host.live.state().showings(&host.file("b.txt")).count(), 1);
}

#[test]
fn an_outside_move_is_detected_by_content_and_shown() {
    let mut host = reading();
    host.shift("a.txt", "b.txt");
    assert_eq!(host.told(), "[f1] a.txt is now b.txt");
    host.shift("b.txt", "c.txt");
    let changed = numbered("a.txt").replace("line 3 of", "LINE THREE of");
    host.write_file("c.txt", &changed);
    let (from, to) = (host.path("b.txt"), host.path("c.txt"));
    assert!(host.live.file_moved(&from, &to).unwrap());
    let told = host.told();
    assert!(told.starts_with("[f1] b.txt is now c.txt, and changed after t1 (+1 -1):\n"), "{told}");
    assert!(told.contains("+LINE THREE of a.txt"), "{told}");
    assert_eq!(host.moved_from("c.txt"), Some(host.file("b.txt")));
    assert_eq!(host.told(), "");
}

#[test]
fn folders_that_are_moved_take_their_files_along() {
    let mut host = Host::new(Settings::default());
    fs::create_dir_all(host.path("old/deep")).unwrap();
    host.write_file("old/deep/a.txt", &numbered("a.txt"));
    host.user("go");
    host.read("old/deep/a.txt", None, None);
    host.send();
    assert_eq!(host.bash("mv old new"), "[f1] old/deep/a.txt is now new/deep/a.txt");
    fs::create_dir(host.path("all")).unwrap();
    assert_eq!(host.bash("mv new all"), "[f1] new/deep/a.txt is now all/new/deep/a.txt");
}

#[test]
fn equal_bytes_prove_no_move_if_ambiguous_empty_or_older() {
    let mut host = reading();
    host.write_file("empty.txt", "");
    host.write_file("twin.txt", &numbered("z.txt"));
    host.read("empty.txt", None, None);
    host.read("twin.txt", None, None);
    host.send();
    fs::copy(host.path("a.txt"), host.path("copy.txt")).unwrap();
    host.read("copy.txt", None, None);
    host.send();
    for (from, to) in [("empty.txt", "void.txt"), ("twin.txt", "t2.txt"), ("z.txt", "z2.txt")] {
        host.shift(from, to);
    }
    fs::remove_file(host.path("a.txt")).unwrap();
    let told = host.told();
    assert_eq!(told.matches("is no longer on disk").count(), 4, "{told}");
    assert!(!told.contains("is now"), "{told}");
    for name in ["a.txt", "z.txt", "twin.txt"] {
        assert!(host.is_deleted(name), "{name}");
    }
    assert_eq!(host.moved_from("copy.txt"), None);
}

#[test]
fn of_two_equal_files_the_one_with_the_old_inode_moved() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered("a.txt"));
    host.age("a.txt");
    host.user("go");
    host.read("a.txt", None, None);
    host.send();
    host.shift("a.txt", "b.txt");
    fs::copy(host.path("b.txt"), host.path("c.txt")).unwrap();
    assert_eq!(host.told(), "[f1] a.txt is now b.txt");
}

#[test]
fn a_moved_file_is_recognized_if_its_new_path_is_read_first() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered("a.txt"));
    host.user("go");
    host.send();
    // Just written, so that nothing but its bytes tells that it is the same file.
    host.write_file("new.txt", &numbered("new.txt"));
    host.tool("write", &json!({ "path": "new.txt" }), "Successfully wrote new.txt");
    host.shift("new.txt", "a.txt");
    host.read("a.txt", None, None);
    host.send();
    host.bash("true");
    assert!(host.is_deleted("new.txt"));
    assert_eq!(host.moved_from("a.txt"), Some(host.file("new.txt")));
}

#[test]
fn a_new_file_at_an_old_path_is_another_file() {
    let mut host = reading();
    host.shift("a.txt", "b.txt");
    assert_eq!(host.told(), "[f1] a.txt is now b.txt");
    host.write_file("a.txt", "new\n");
    host.read("a.txt", None, None);
    host.send();
    assert_eq!(host.handle("a.txt").as_deref(), Some("f3"));
    assert_eq!(host.handle("b.txt").as_deref(), Some("f1"));
    assert_eq!(host.moved_from("a.txt"), None);
    assert_eq!(
        host.store
            .history(&host.file("a.txt"))
            .unwrap()
            .iter()
            .filter(|version| version.envelope.id == host.file("a.txt"))
            .count(),
        3
    );
    assert_eq!(host.bash("mv -f b.txt a.txt"), "[f1] b.txt is now a.txt, in place of f3");
    assert_eq!(host.moved_from("a.txt"), Some(host.file("b.txt")));
    assert_eq!(host.handle("a.txt").as_deref(), Some("f1"));
    assert_eq!(host.handle("b.txt"), None);
    host.restart();
    host.read("a.txt", Some(1), Some(3));
    host.send();
    let shown = host.shown();
    assert!(
        shown.contains("f1 unchanged; lines 1-3 stand in the read result above (t1)."),
        "{shown}"
    );
}

#[test]
fn a_path_that_was_left_leads_to_where_its_file_is_now() {
    let mut host = reading();
    host.bash("mv a.txt b.txt");
    host.bash("mv b.txt c.txt");
    host.write_file("b.txt", "new\n");
    host.read("b.txt", None, None);
    host.send();
    for name in ["a.txt", "f1", "c.txt"] {
        let shown = host.activate(&Wanted { name: name.into(), ..Wanted::default() }, false);
        assert!(shown.starts_with("[f1] c.txt · lines 1-20 of 20\n"), "{name}: {shown}");
    }
    assert_eq!(host.handle("b.txt").as_deref(), Some("f3"));
}

#[test]
fn a_restart_after_a_move_resends_the_same_messages() {
    let mut host = reading();
    host.read("a.txt", Some(2), Some(4));
    host.send();
    host.read("z.txt", Some(2), Some(4));
    host.send();
    // Its handle is no longer that of the file in this place.
    assert_eq!(host.bash("mv z.txt a.txt"), "[f2] z.txt is now a.txt, in place of f1");
    let sent = host.sent.clone();
    host.restart();
    host.user("go on");
    let again = host.send();
    assert_eq!(again[..sent.len()], sent);
}

#[test]
fn lines_read_before_a_change_and_move_have_a_stored_version() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered("a.txt"));
    host.user("go");
    host.send();
    host.read("a.txt", Some(2), Some(4));
    host.write_file("a.txt", "other\n");
    host.bash("mv a.txt b.txt");
    let standing = host.live.state().showings(&host.file("b.txt")).next().cloned().unwrap();
    let kept = host.store.lineage(&host.file("b.txt")).unwrap();
    let kept = kept.iter().find(|version| version.content_hash == standing.version).unwrap();
    assert_eq!(host.store.content(kept).unwrap(), Some(numbered("a.txt")));
    // What the session says of it refers to nothing that is missing.
    assert_eq!(store::doctor::check(&host.store).unwrap().findings, []);
}

#[test]
fn another_session_follows_a_move_recorded_in_the_store() {
    let mut host = reading();
    let options = OpenSession { host_session: "other".into(), ..host.options() };
    let mut other = Aside::new(LiveSession::open(host.store.clone(), options).unwrap());
    host.change_places(&mut other);
    host.user("go");
    host.read("a.txt", None, None);
    host.send();
    fs::create_dir(host.path("far")).unwrap();
    assert_eq!(
        host.bash("mv a.txt far/b.txt && echo more >> far/b.txt").lines().next().unwrap(),
        "[f1] a.txt is now far/b.txt, and changed after t1 (+1 -0):"
    );
    assert_eq!(host.bash("mv far/b.txt far/c.txt"), "[f1] far/b.txt is now far/c.txt");
    host.change_places(&mut other);
    let told = host.told();
    assert!(
        told.starts_with("[f1] a.txt is now far/c.txt, and changed after t1 (+1 -0):"),
        "{told}"
    );
    assert_eq!(host.moved_from("far/c.txt"), Some(host.file("far/b.txt")));
    // A file that was made in the old place since then, and is deleted, did not go there.
    host.write_file("a.txt", "new\n");
    host.read("a.txt", None, None);
    host.send();
    fs::remove_file(host.path("a.txt")).unwrap();
    let told = host.told();
    assert!(told.contains("a.txt is no longer on disk"), "{told}");
}

#[test]
fn an_unreachable_file_keeps_its_version_and_is_reported_once() {
    let mut host = Host::new(Settings::default());
    fs::create_dir(host.path("sub")).unwrap();
    host.write_file("sub/a.txt", &numbered("a.txt"));
    host.user("go");
    host.read("sub/a.txt", None, None);
    host.send();
    let versions = host.store.history(&host.file("sub/a.txt")).unwrap().len();
    let id = host.file("sub/a.txt");
    // A loop of links: what is behind it cannot be asked for.
    host.shift("sub", "aside");
    std::os::unix::fs::symlink("sub", host.path("sub")).unwrap();
    assert_eq!(
        host.told(),
        "[f1] sub/a.txt is out of reach for now; its text of t1 is kept as f1."
    );
    assert!(
        matches!(&host.notices[..], [Notice::FileOrphaned { reason, .. }] if !reason.is_empty())
    );
    assert_eq!(host.told(), "");
    assert_eq!(host.store.history(&id).unwrap().len(), versions);
    let shown = host.activate(&Wanted { name: "f1".into(), ..Wanted::default() }, false);
    assert!(shown.starts_with("[f1] sub/a.txt (as last seen; now it cannot be read: "), "{shown}");
    host.restart();
    assert_eq!(host.told(), "");
    fs::remove_file(host.path("sub")).unwrap();
    host.shift("aside", "sub");
    assert_eq!(host.told(), "[f1] sub/a.txt is within reach again, as it was before.");
    assert!(matches!(&host.notices[..], [Notice::FileResumed { .. }]));
    assert_eq!(host.told(), "");
}

#[test]
fn a_symlink_that_replaces_a_file_is_not_that_file() {
    let mut host = reading();
    host.shift("a.txt", "b.txt");
    std::os::unix::fs::symlink("b.txt", host.path("a.txt")).unwrap();
    assert_eq!(host.told(), "[f1] a.txt is now b.txt");
    fs::remove_file(host.path("z.txt")).unwrap();
    std::os::unix::fs::symlink("b.txt", host.path("z.txt")).unwrap();
    assert_eq!(host.told(), "[f2] z.txt is no longer on disk; its text of t2 is kept as f2.");
    assert_eq!(host.told(), "");
}

#[test]
fn a_resumed_session_learns_what_happened_to_its_files() {
    let mut host = reading();
    for name in ["gone.txt", "moved.txt", "kept.txt", "listed.txt"] {
        host.write_file(name, &numbered(name));
        host.age(name);
    }
    host.tool("ls", &json!({ "path": "." }), "listed.txt");
    for name in ["gone.txt", "moved.txt", "kept.txt"] {
        host.read(name, None, None);
    }
    host.send();
    host.live.close().unwrap();
    fs::remove_file(host.path("gone.txt")).unwrap();
    fs::remove_file(host.path("listed.txt")).unwrap();
    host.shift("moved.txt", "there.txt");
    host.write_file("a.txt", &numbered("a.txt").replace("line 7 of", "LINE SEVEN of"));
    host.crash();
    let heard = std::sync::Mutex::new(Vec::new());
    host.live.reconcile_due(&|progress| heard.lock().unwrap().push(progress)).unwrap();
    assert!(heard.lock().unwrap().contains(&CheckProgress { files: 6, of: 6 }));
    assert!(!host.live.is_reconcile_due());
    let told = host.told();
    let heads: Vec<&str> = told.lines().filter(|line| line.starts_with("[f")).collect();
    assert_eq!(
        heads,
        [
            "[f1] a.txt changed on disk after t1 (+1 -1):",
            "[f4] gone.txt is no longer on disk; its text of t4 is kept as f4.",
            "[f5] moved.txt is now there.txt",
        ]
    );
    assert!(host.is_deleted("listed.txt") && host.is_deleted("moved.txt"));
    assert_eq!(host.moved_from("there.txt"), Some(host.file("moved.txt")));
    assert_eq!(host.told(), "");
}

#[test]
fn opening_and_closing_a_session_changes_nothing() {
    let mut host = reading();
    host.live.close().unwrap();
    let newest = host.store.newest().unwrap().0;
    host.crash();
    fs::remove_file(host.path("a.txt")).unwrap();
    let mut other = LiveSession::open(host.store.clone(), host.options()).unwrap();
    other.reconcile_due(&|_| {}).unwrap();
    assert_eq!(host.store.newest().unwrap().0, newest);
    assert_eq!(host.told(), "[f1] a.txt is no longer on disk; its text of t1 is kept as f1.");
    let id = host.live.id().clone();
    other.close().unwrap();
    assert_eq!(other.id(), &id, "nothing of its own was to be kept");
}

#[test]
fn a_resume_checks_files_in_the_container_but_not_elsewhere() {
    let mut host = reading();
    host.live.close().unwrap();
    for (files, is_due) in [(ToolFiles::InContainer, true), (ToolFiles::Elsewhere, false)] {
        let options = OpenSession { files, ..host.options() };
        let other = LiveSession::open(host.store.clone(), options).unwrap();
        assert_eq!(other.is_reconcile_due(), is_due, "{files:?}");
    }
}

#[cfg(unix)]
#[test]
fn paths_in_a_sandboxed_command_mean_the_sandbox() {
    let mut host = Host::new(Settings::default());
    // What is mapped to the agent's path is not what this machine has there.
    let other = tempfile::tempdir().unwrap();
    let agent = other.path().join("workspace");
    fs::create_dir(other.path().join("decoy")).unwrap();
    std::os::unix::fs::symlink(other.path().join("decoy"), &agent).unwrap();
    host.settings.mounts = vec![MountMapping {
        agent_prefix: agent.to_string_lossy().into_owned(),
        canonical_prefix: host.folder.path().to_string_lossy().into_owned(),
        filesystem_id: None,
        client_prefix: None,
    }];
    host.restart_as("sandboxed");
    host.write_file("a.txt", &numbered("a.txt"));
    host.user("go");
    host.send();
    host.read("a.txt", None, None);
    host.send();
    let note =
        host.bash("mkdir -p far/away && mv a.txt far/away/b.txt && echo more >> far/away/b.txt");
    assert!(note.starts_with("[f1] a.txt is now far/away/b.txt"), "{note}");
}

#[test]
fn a_handle_overwritten_by_a_move_leads_to_its_last_text() {
    let mut host = reading();
    let note = host.bash("mv a.txt z.txt");
    assert_eq!(note, "[f1] a.txt is now z.txt, in place of f2");
    let mut activated = |name: &str| {
        let wanted = Wanted { name: name.into(), lines: Some("2".into()), pattern: None };
        host.activate(&wanted, false)
    };
    let now = activated("f2");
    let (heading, text) = now.split_once('\n').unwrap();
    assert!(heading.starts_with("[f1] z.txt (now f1, which was moved over f2; f2@"), "{heading}");
    assert_eq!(text, "line 2 of a.txt");
    let before = heading.split("; ").nth(1).unwrap().split(' ').next().unwrap();
    let last = activated(before);
    assert!(last.contains("(version @") && last.ends_with("\nline 2 of z.txt"), "{last}");
    for name in ["f1", "z.txt"] {
        assert_eq!(activated(name), "[f1] z.txt · line 2 of 20\nline 2 of a.txt", "{name}");
    }
}

#[test]
fn what_stood_there_before_is_not_where_a_file_went() {
    type Make = fn(&Path, &Path);
    let stand_in: [(&str, Make); 3] = [
        ("copy", |from, to| assert!(fs::copy(from, to).unwrap() > 0)),
        ("link", |from, to| fs::hard_link(from, to).unwrap()),
        ("twin", |from, to| {
            fs::copy(from, to).unwrap();
            let file = fs::File::options().write(true).open(to).unwrap();
            file.set_modified(fs::metadata(from).unwrap().modified().unwrap()).unwrap();
        }),
    ];
    for place in ["same.txt", "sub/other.txt"] {
        for (name, make) in stand_in {
            let mut host = Host::new(Settings::default());
            fs::create_dir(host.path("sub")).unwrap();
            host.write_file("a.txt", &numbered("a.txt"));
            make(&host.path("a.txt"), &host.path(place));
            host.user("go");
            host.read("a.txt", None, None);
            host.tool("bash", &json!({ "command": "ls . sub" }), &format!("a.txt\n{place}\n"));
            host.send();
            fs::remove_file(host.path("a.txt")).unwrap();
            let gone = "[f1] a.txt is no longer on disk; its text of t1 is kept as f1.";
            assert_eq!(host.told(), gone, "{name} at {place}");
            host.write_file("a.txt", &numbered("a.txt").replace("line 3 ", "LINE 3 "));
            let told = host.told();
            assert!(told.starts_with("[f1] a.txt changed on disk after t1 (+1 -1):"), "{told}");
        }
    }
}

#[test]
fn a_copy_beside_a_file_deleted_early_is_no_move() {
    let mut host = Host::new(Settings::default());
    host.write_file("a.txt", &numbered("a.txt"));
    fs::copy(host.path("a.txt"), host.path("b.txt")).unwrap();
    host.user("go");
    host.read("a.txt", None, None);
    host.tool("bash", &json!({ "command": "git stash" }), "Saved");
    fs::remove_file(host.path("a.txt")).unwrap();
    host.send();
    assert!(host.shown().contains("[f1] a.txt is no longer on disk"), "{}", host.shown());
}

#[test]
fn a_copy_over_an_older_file_is_no_move() {
    for restarts in [false, true] {
        let (folder, store) = (tempfile::tempdir().unwrap(), Store::open(":memory:").unwrap());
        let mut host = Host::in_real_time(folder, Settings::default(), store);
        host.write_file("a.txt", &numbered("a.txt"));
        host.write_file("b.txt", "something else");
        // The times of files are some milliseconds behind the clock.
        thread::sleep(Duration::from_millis(50));
        host.user("go");
        host.read("a.txt", None, None);
        host.send();
        fs::copy(host.path("a.txt"), host.path("b.txt")).unwrap();
        fs::remove_file(host.path("a.txt")).unwrap();
        if restarts {
            host.restart();
        }
        let told = host.told();
        assert!(told.starts_with("[f1] a.txt is no longer on disk"), "{restarts}: {told}");
    }
}

#[test]
fn a_file_moved_as_soon_as_it_was_written_is_followed() {
    for restarts in [false, true] {
        let (folder, store) = (tempfile::tempdir().unwrap(), Store::open(":memory:").unwrap());
        let mut host = Host::in_real_time(folder, Settings::default(), store);
        host.write_file("a.txt", "old");
        thread::sleep(Duration::from_millis(50));
        host.user("go");
        // As fast as the machine can: no time tells it from a copy over an older file.
        host.write_file("a.txt", &numbered("a.txt"));
        host.read("a.txt", None, None);
        host.shift("a.txt", "b.txt");
        if restarts {
            host.restart();
        }
        let told = host.told();
        assert!(told.starts_with("[f1] a.txt is now b.txt"), "{restarts}: {told}");
    }
}

#[test]
fn a_file_that_comes_back_to_where_it_was_is_told_of_once() {
    let mut host = reading();
    host.shift("a.txt", "b.txt");
    assert_eq!(host.told(), "[f1] a.txt is now b.txt");
    host.write_file("a.txt", &numbered("a.txt"));
    assert_eq!(host.told(), "[f3] a.txt is on disk again, beside f1 b.txt.");
    assert_eq!(host.told(), "");
    let shown = host.activate(&Wanted { name: "f3".into(), ..Wanted::default() }, false);
    assert!(shown.contains("line 1 of a.txt"), "{shown}");
}

#[test]
fn a_file_moved_there_and_back_again_is_where_it_was() {
    let mut host = reading();
    host.shift("a.txt", "b.txt");
    assert_eq!(host.told(), "[f1] a.txt is now b.txt");
    host.shift("b.txt", "a.txt");
    assert_eq!(host.told(), "[f1] b.txt is now a.txt");
    host.shift("a.txt", "b.txt");
    fs::rename(host.path("b.txt"), host.path("a.txt")).unwrap();
    assert_eq!(host.told(), "", "nobody saw it move");
    assert_eq!(host.handle("a.txt").as_deref(), Some("f1"));
}

#[test]
fn a_file_that_was_dropped_from_the_store_costs_no_call() {
    let mut host = reading();
    let ids = [host.file("a.txt")];
    host.store.upkeep("test").unwrap().dropping().unwrap().objects(&ids).unwrap();
    assert_eq!(host.told(), "");
    host.restart();
    assert_eq!(host.told(), "");
    host.write_file("a.txt", "another text\n");
    assert!(host.told().contains("a.txt changed on disk"));
}
