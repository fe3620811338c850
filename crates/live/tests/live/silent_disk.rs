//! A disk that does not answer: no call waits for it, work elsewhere goes on, and earlier knowledge
//! stands until it is back.
//!
//! Each test runs in a process of its own with `tests/fixtures/silent-disk.c` preloaded: the real
//! system calls wait.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use config::Settings;
use files::looks::silent_places;
use live::{Notice, Wanted};
use serde_json::json;
use source::TrackerOptions;
use tempfile::TempDir;

use crate::host::Host;
use testing::child::only;
use testing::skip::skip;

/// Longest time that a test takes on any machine. Whatever waits for a silent disk waits until
/// then: it answers only after everything was tried.
const DEADLINE: Duration = Duration::from_secs(240);

/// Calls while the disk is silent.
const CALLS: usize = 40;

/// A host with a folder `far` whose disk can be silenced.
struct Far {
    host: Host,
    flag: PathBuf,
}

impl Far {
    /// In the process with the library: the host. In the first one: runs the test there and returns
    /// `None`.
    fn of(test: &str) -> Option<Self> {
        if let Some(root) = std::env::var_os("SILENT_TEST") {
            let root = PathBuf::from(root);
            let folder = tempfile::Builder::new().prefix("work").tempdir_in(&root).unwrap();
            fs::create_dir(root.join("far")).unwrap();
            std::thread::spawn(|| {
                std::thread::sleep(DEADLINE);
                std::process::abort();
            });
            std::os::unix::fs::symlink(root.join("far"), folder.path().join("far")).unwrap();
            let store = store::Store::open(":memory:").unwrap();
            let host = Host::within(folder, Settings::default(), store);
            return Some(Self { host, flag: root.join("silent") });
        }
        let owner = tempfile::tempdir().unwrap();
        let root = owner.path().canonicalize().unwrap();
        let Some(library) = library(&owner) else {
            skip("there is no C compiler");
            return None;
        };
        let output = Command::new(std::env::current_exe().unwrap())
            .args(only(module_path!(), test))
            .env("SILENT_TEST", &root)
            .env("SILENT_UNDER", root.join("far"))
            .env("SILENT_WHILE", root.join("silent"))
            .env("LD_PRELOAD", library)
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        None
    }

    fn silence(&self) {
        fs::write(&self.flag, "").unwrap();
    }

    /// The disk answers again; waits until that was noticed.
    fn answer(&self) {
        fs::remove_file(&self.flag).unwrap();
        while !silent_places().is_empty() {
            std::thread::yield_now();
        }
    }

    fn send(&mut self) {
        self.host.send();
    }

    fn last_note(&self) -> String {
        self.host.sent.last().unwrap().to_string()
    }
}

fn library(owner: &TempDir) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/silent-disk.c");
    let library = owner.path().join("silent-disk.so");
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .status();
    match made {
        Ok(status) => {
            assert!(status.success());
            Some(library)
        }
        Err(_) => None,
    }
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn a_call_does_not_wait_for_a_file_that_does_not_answer() {
    let Some(mut far) = Far::of("a_call_does_not_wait_for_a_file_that_does_not_answer") else {
        return;
    };
    for name in ["near.txt", "far/a.txt", "far/b.txt"] {
        far.host.write_file(name, "one\n");
        far.host.user("go on");
        far.host.read(name, None, None);
    }
    far.send();
    far.host.write_file("near.txt", "two\n");
    far.silence();
    far.host.user("go on");
    far.send();
    let is_gone = |notice: &Notice| matches!(notice, Notice::FileOrphaned { reason, .. } if reason.contains("it does not answer"));
    assert!(far.host.notices.iter().any(is_gone), "{:?}", far.host.notices);
    assert!(far.last_note().contains("near.txt"), "{}", far.last_note());
    // Two files: their folder is known.
    let folder = far.flag.with_file_name("far");
    assert_eq!(silent_places(), [folder]);

    let before = threads();
    for _ in 0..CALLS {
        far.host.user("go on");
        far.send();
    }
    // One that waits keeps a thread. On a busy machine one more may have been needed at the same
    // time; one a call would be 40.
    assert!(threads() <= before + 3, "{} threads, {before} before", threads());

    far.answer();
    far.host.user("go on");
    far.send();
    let back =
        far.host.notices.iter().filter(|notice| matches!(notice, Notice::FileResumed { .. }));
    assert_eq!(back.count(), 2, "{:?}", far.host.notices);
}

#[test]
fn tools_and_finished_calls_do_not_wait() {
    let Some(mut far) = Far::of("tools_and_finished_calls_do_not_wait") else { return };
    far.host.write_file("near.txt", "one\n");
    far.host.write_file("far/a.txt", "one\n");
    far.host.user("go on");
    far.host.read("far/a.txt", None, None);
    far.send();
    far.silence();
    let write = json!({ "path": "far/a.txt", "content": "two" });
    assert_eq!(far.host.live.check_write("write", &write).unwrap(), None);
    let edit = json!({ "path": "far/a.txt", "edits": [{ "oldText": "none", "newText": "x" }] });
    far.host.live.explain_failed_edit(&edit).unwrap();
    let wanted = Wanted { name: "far/a.txt".into(), ..Wanted::default() };
    far.host.activate(&wanted, false);
    far.host.tool(
        "bash",
        &json!({ "command": "cat far/a.txt far/c.txt near.txt; ls -R ." }),
        "one\none\n",
    );
    far.send();
    // What answers is found.
    let index = far.host.live.state().index();
    let is_known = |name: &str| {
        index.entries.iter().any(|entry| format!("{:?}", entry.subject).contains(name))
    };
    assert!(is_known("near.txt"));
    far.answer();
}

#[test]
fn a_link_to_a_dead_disk_leaves_its_folder_alone() {
    let Some(mut far) = Far::of("a_link_to_a_dead_disk_leaves_its_folder_alone") else { return };
    far.host.write_file("far/a.txt", "one\n");
    far.host.write_file("near.txt", "one\n");
    std::os::unix::fs::symlink("far/a.txt", far.host.path("link.txt")).unwrap();
    far.silence();
    far.host.user("go on");
    far.host.tool("read", &json!({ "path": "link.txt" }), "one\n");
    far.host.read("near.txt", None, None);
    far.send();
    far.host.write_file("near.txt", "two\n");
    far.host.user("go on");
    far.send();
    assert!(far.last_note().contains("near.txt"), "{}", far.last_note());
    let cwd = far.host.folder.path();
    assert!(silent_places().iter().all(|place| !cwd.starts_with(place)), "{:?}", silent_places());
    far.answer();
}

#[test]
fn a_session_that_is_closed_and_opened_does_not_wait() {
    let Some(mut far) = Far::of("a_session_that_is_closed_and_opened_does_not_wait") else {
        return;
    };
    for name in ["near.txt", "far/a.txt"] {
        far.host.write_file(name, "one\n");
        far.host.user("go on");
        far.host.read(name, None, None);
    }
    far.host.live.track(TrackerOptions::default()).unwrap();
    far.send();
    assert!(far.host.live.settle(DEADLINE));
    far.silence();
    far.host.write_file("near.txt", "two\n");
    far.host.live.settle(Duration::from_millis(300));
    far.host.restart();
    far.host.live.track(TrackerOptions::default()).unwrap();
    far.host.user("go on");
    far.send();
    assert!(far.last_note().contains("near.txt"), "{}", far.last_note());
    far.host.live.close().unwrap();
    far.answer();
}
