//! Tracked files on a real filesystem: what becomes a version, what is reported, and what must not
//! disturb tracking.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::tracked::{FILESYSTEM, PATIENCE, Tracked};
use base::object::{AsOf, Hash, Timestamp};
use config::Exclude;
use source::{
    FileReading, FileState, LatestFile, Location, Signal, Tracker, TrackingEvent, TrackingOptions,
    Watching, canonical_path, index,
};
use store::{Expected, Store};
use testing::child::only;
use testing::privilege::is_privileged;
use testing::skip::skip;

impl Tracked {
    /// Waits until something was told that fits, and returns all that was told till then.
    fn wait_for(&self, wanted: &str) -> Vec<String> {
        let mut words = Vec::new();
        for _ in 0..PATIENCE.as_millis() / 5 {
            words.extend(self.words());
            if words.iter().any(|word| word.starts_with(wanted)) {
                return words;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("`{wanted}` was not told, but {words:?}; {:?}", self.tracking.status());
    }

    /// Waits until the latest version has this text. A file that is looked at between its creation
    /// and its text has a version without any.
    fn wait_for_content(&self, name: &str, text: &str) {
        let tries = PATIENCE.as_millis() / 5;
        let has_it = (0..tries).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            self.content(name).as_deref() == Some(text)
        });
        assert!(has_it, "`{name}` has {:?}; {:?}", self.content(name), self.tracking.status());
    }

    fn content(&self, name: &str) -> Option<String> {
        self.store.content(&self.version(name)?).unwrap()
    }
}

fn tracked() -> Tracked {
    Tracked::new(|_| {})
}

fn polled() -> Tracked {
    Tracked::new(|options| {
        options.tracker.watching = Watching::Polling;
        options.tracker.poll = Duration::from_millis(20);
    })
}

#[test]
fn a_change_becomes_a_version_and_an_event() {
    let files = tracked();
    files.track(&[("a.txt", "one")]);
    assert_eq!(files.words(), ["created a.txt"]);
    files.write("a.txt", "two");
    files.settle();
    assert_eq!(files.words(), ["updated a.txt"]);
    assert_eq!(files.content("a.txt").as_deref(), Some("two"));
    assert_eq!(files.tracking.status().attached, 1);
}

#[test]
fn a_look_that_another_process_overtook_is_taken_again() {
    let theirs = Store::open(":memory:").unwrap();
    let overtaken: Arc<Mutex<Option<Location>>> = Arc::default();
    let (store, next) = (theirs.clone(), Arc::clone(&overtaken));
    // The clock is asked between the look and the commit: another process commits what it saw
    // earlier.
    let clock = move || {
        if let Some(location) = next.lock().unwrap().take() {
            let state = FileState::Text { text: "stale".into(), source_hash: Hash::of("stale") };
            let reading = FileReading { state, stamp: None };
            let latest = theirs.get(&location.id().unwrap(), AsOf::Latest).unwrap();
            let latest = latest.map(LatestFile::from);
            let found = index(&location, reading, latest).unwrap().unwrap();
            let mut transaction = theirs.begin();
            transaction.put(found.envelope, found.payload, Expected::Any).unwrap();
            transaction.commit().unwrap();
        }
        Timestamp(1)
    };
    let files = Tracked::with_store(store.with_clock(Arc::new(clock)), |_| {});
    files.track(&[("a.txt", "one")]);
    *overtaken.lock().unwrap() = Some(Location::here(FILESYSTEM, files.path("a.txt")));
    files.write("a.txt", "two");
    files.settle();
    let history = files.store.history(&files.id("a.txt")).unwrap();
    let texts = history.iter().map(|version| files.store.content(version).unwrap().unwrap());
    assert_eq!(texts.collect::<Vec<_>>(), ["two", "stale", "one"]);
}

#[test]
fn a_change_is_reported_without_polling_by_the_caller() {
    for files in [tracked(), polled()] {
        files.track(&[("a.txt", "one")]);
        files.words();
        files.write("a.txt", "two and more");
        files.wait_for("updated a.txt");
    }
}

#[test]
fn a_deleted_file_gets_an_empty_version_and_may_return() {
    for files in [tracked(), polled()] {
        files.track(&[("a.txt", "one")]);
        files.words();
        fs::remove_file(files.path("a.txt")).unwrap();
        files.settle();
        assert_eq!(files.content("a.txt"), None);
        assert_eq!(files.tracking.status().deleted, 1);
        files.write("a.txt", "again");
        files.settle();
        assert_eq!(files.words(), ["deleted a.txt", "resumed a.txt", "updated a.txt"]);
        assert_eq!(files.content("a.txt").as_deref(), Some("again"));
    }
}

#[test]
fn a_file_that_never_was_makes_no_version() {
    let files = tracked();
    files.tracking.track([files.path("absent"), files.path("no/such/folder")]);
    files.settle();
    assert_eq!(files.words(), Vec::<String>::new());
    assert!(files.version("absent").is_none());
    files.write("no/such/folder", "it came");
    files.wait_for("created no/such/folder");
}

#[test]
fn a_move_is_reported_with_both_objects() {
    for files in [tracked(), polled()] {
        files.track(&[("a.txt", "one"), ("sub/other", "x")]);
        files.words();
        fs::rename(files.path("a.txt"), files.path("b.txt")).unwrap();
        files.settle();
        assert_eq!(files.words(), ["moved a.txt to b.txt"]);
        let version = files.version("b.txt").unwrap();
        assert_eq!(version.fields["moved_from"], files.id("a.txt").to_string());
        assert_eq!(files.version("a.txt").unwrap().fields["no_content"], "deleted");
        assert_eq!(files.version("a.txt").unwrap().tx_id, version.tx_id, "in one transaction");
        // The new path is tracked, and remembers.
        files.write("b.txt", "two");
        files.settle();
        assert_eq!(files.words(), ["updated b.txt"]);
        let moved_from = files.version("b.txt").unwrap().fields["moved_from"].clone();
        assert_eq!(moved_from, files.id("a.txt").to_string());
    }
}

#[test]
fn events_name_a_file_by_the_path_at_which_it_is_opened() {
    let files = Tracked::new(|options| {
        let inside = |path: &Path| path.components().skip(1).collect::<PathBuf>();
        options.locate = Arc::new(move |path| Location {
            path: Path::new("/canonical").join(inside(path)),
            ..Location::here(crate::tracked::FILESYSTEM, path.to_owned())
        });
    });
    files.track(&[("a.txt", "one")]);
    assert_eq!(files.words(), ["created a.txt"]);
    fs::rename(files.path("a.txt"), files.path("b.txt")).unwrap();
    files.settle();
    assert_eq!(files.words(), ["moved a.txt to b.txt"]);
    // Another file takes the place: it is none that was moved here.
    fs::remove_file(files.path("b.txt")).unwrap();
    files.settle();
    files.write("b.txt", "of its own");
    files.settle();
    assert_eq!(files.words(), ["deleted b.txt", "resumed b.txt", "updated b.txt"]);
    let location = Path::new("/canonical").join(files.path("b.txt").strip_prefix("/").unwrap());
    let id = Location::here(crate::tracked::FILESYSTEM, location).id().unwrap();
    let version = files.store.get(&id, AsOf::Latest).unwrap().unwrap();
    assert_eq!(version.fields.get("moved_from"), None);
    // What did not change is not told of again.
    let file = fs::File::options().write(true).open(files.path("b.txt")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    drop(file);
    files.settle();
    assert_eq!(files.words(), Vec::<String>::new());
}

#[test]
fn excluding_the_opened_path_covers_any_canonical_path() {
    let files = Tracked::new(|options| {
        options.locate = Arc::new(|path| Location {
            open: Some(path.to_owned()),
            ..Location::here(crate::tracked::FILESYSTEM, "/canonical/plain.txt".into())
        });
        options.exclude = Exclude::new(&["secret.txt".to_owned()]).unwrap();
    });
    files.track(&[("secret.txt", "a secret")]);
    let id =
        Location::here(crate::tracked::FILESYSTEM, "/canonical/plain.txt".into()).id().unwrap();
    let version = files.store.get(&id, AsOf::Latest).unwrap().unwrap();
    assert_eq!(version.fields["no_content"], "excluded");
    assert_eq!(files.store.content(&version).unwrap(), None);
}

#[test]
fn a_move_of_a_folder_moves_its_files() {
    let files = tracked();
    files.track(&[("top", ""), ("old/a.txt", "one"), ("old/deep/b.txt", "two")]);
    files.words();
    fs::rename(files.path("old"), files.path("new")).unwrap();
    files.wait_for("moved old/deep/b.txt to new/deep/b.txt");
    files.settle();
    files.write("new/deep/b.txt", "three");
    files.settle();
    assert_eq!(files.content("new/deep/b.txt").as_deref(), Some("three"));
    assert_eq!(files.content("new/a.txt").as_deref(), Some("one"));
}

#[test]
fn a_copy_whose_original_goes_is_a_move_by_its_bytes() {
    let files = tracked();
    files.track(&[("a.txt", "the same bytes"), ("b.txt", "others bytes"), ("empty", "")]);
    files.words();
    fs::copy(files.path("a.txt"), files.path("copy.txt")).unwrap();
    files.write("unlike.txt", "same length by");
    files.write("empty too", "");
    fs::remove_file(files.path("a.txt")).unwrap();
    fs::remove_file(files.path("empty")).unwrap();
    files.wait_for("moved a.txt to copy.txt");
    let moved_from = files.version("copy.txt").unwrap().fields["moved_from"].clone();
    assert_eq!(moved_from, files.id("a.txt").to_string());
    files.settle();
    assert!(files.version("unlike.txt").is_none() && files.version("empty too").is_none());
}

#[test]
fn equal_bytes_of_two_deleted_files_prove_no_move() {
    let files = tracked();
    files.track(&[("a.txt", "twins"), ("b.txt", "twins"), ("c.txt", "c")]);
    files.words();
    fs::remove_file(files.path("a.txt")).unwrap();
    fs::remove_file(files.path("b.txt")).unwrap();
    files.settle();
    files.write("new.txt", "twins");
    std::thread::sleep(Duration::from_millis(100));
    files.settle();
    assert!(files.version("new.txt").is_none());
}

#[test]
fn a_file_that_takes_the_place_of_a_tracked_one_is_a_change() {
    let files = tracked();
    files.track(&[("a.txt", "one"), ("b.txt", "two")]);
    files.words();
    fs::rename(files.path("a.txt"), files.path("b.txt")).unwrap();
    files.settle();
    let mut words = files.words();
    words.sort();
    assert_eq!(words, ["deleted a.txt", "updated b.txt"]);
    assert_eq!(files.content("b.txt").as_deref(), Some("one"));
}

#[test]
fn a_folder_that_is_removed_and_made_again_is_watched_again() {
    let files = tracked();
    files.track(&[("top/sub/deep/a.txt", "one")]);
    for round in 0..3 {
        fs::remove_dir_all(files.path("top/sub")).unwrap();
        files.settle();
        assert_eq!(files.content("top/sub/deep/a.txt"), None, "round {round}");
        assert_eq!(files.tracking.status().absent_folders, 1);
        let text = format!("again {round}");
        files.write("top/sub/deep/a.txt", &text);
        files.wait_for_content("top/sub/deep/a.txt", &text);
        files.write("top/sub/deep/a.txt", "and changed");
        files.wait_for_content("top/sub/deep/a.txt", "and changed");
    }
    assert_eq!(files.tracking.status().watched_folders, 1);
}

#[test]
fn a_folder_that_is_replaced_by_another_is_watched_instead() {
    let files = tracked();
    files.track(&[("sub/a.txt", "one"), ("top", "")]);
    files.write("other/a.txt", "two");
    fs::rename(files.path("sub"), files.path("away")).unwrap();
    fs::rename(files.path("other"), files.path("sub")).unwrap();
    files.settle();
    assert_eq!(files.content("sub/a.txt").as_deref(), Some("two"));
    files.words();
    files.write("away/a.txt", "nobody's business");
    files.write("sub/a.txt", "three");
    files.settle();
    assert_eq!(files.content("sub/a.txt").as_deref(), Some("three"));
}

#[test]
fn a_rename_far_above_is_noticed() {
    // No folder above the tracked one is watched: the check of folders finds it.
    let files = Tracked::new(|options| options.tracker.sweep = Duration::from_millis(20));
    files.track(&[("far/above/the/a.txt", "one")]);
    files.words();
    fs::rename(files.path("far"), files.path("gone")).unwrap();
    files.wait_for("deleted far/above/the/a.txt");
    fs::rename(files.path("gone"), files.path("far")).unwrap();
    files.wait_for("updated far/above/the/a.txt");
    files.write("far/above/the/a.txt", "two");
    files.wait_for("updated far/above/the/a.txt");
}

#[test]
fn folders_beyond_the_watch_limit_are_polled_with_an_event() {
    let files = Tracked::new(|options| {
        options.tracker.max_watches = Some(2);
        options.tracker.poll = Duration::from_millis(20);
    });
    files.track(&[("a/f", "1"), ("b/f", "2"), ("c/f", "3"), ("d/f", "4")]);
    let words = files.words();
    assert!(words.contains(&"polling 2 folders: watch_limit".to_owned()), "{words:?}");
    let status = files.tracking.status();
    assert_eq!((status.watched_folders, status.polled_folders), (2, 2));
    for name in ["a/f", "b/f", "c/f", "d/f"] {
        files.write(name, "changed");
        files.wait_for(&format!("updated {name}"));
    }
    // What is free again is used, at the next check of folders.
    files.tracking.untrack(&[
        files.path("a/f"),
        files.path("b/f"),
        files.path("c/f"),
        files.path("d/f"),
    ]);
    files.settle();
    assert_eq!(files.tracking.status().files, 0);
    files.track(&[("c/f", "5"), ("d/f", "6")]);
    assert_eq!(files.tracking.status().watched_folders, 2);
}

#[test]
fn lost_events_lead_to_a_rescan() {
    let files = Tracked::new(|options| options.tracker.watching = Watching::Reported);
    files.track(&[("a", "one"), ("b", "two"), ("c", "three")]);
    files.words();
    files.write("a", "changed");
    fs::remove_file(files.path("b")).unwrap();
    files.tracking.report([Signal::Overflow]);
    files.settle();
    let words = files.wait_for("rescanned 3");
    assert!(words.contains(&"updated a".to_owned()), "{words:?}");
    assert!(words.contains(&"deleted b".to_owned()), "{words:?}");
}

#[test]
fn a_file_replaced_by_a_link_or_fifo_is_orphaned_until_back() {
    use std::os::unix::fs::symlink;

    let files = tracked();
    files.track(&[("a", "one"), ("b", "two"), ("c", "three")]);
    files.words();
    for name in ["a", "b", "c"] {
        fs::remove_file(files.path(name)).unwrap();
    }
    symlink("a", files.path("a")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(files.path("b")).status().unwrap();
    assert!(made.success());
    fs::create_dir(files.path("c")).unwrap();
    files.settle();
    let mut words = files.words();
    words.sort();
    assert_eq!(
        words,
        [
            "orphaned a: a link stands in its place",
            "orphaned b: it is not a regular file",
            "orphaned c: it is not a regular file",
        ]
    );
    assert_eq!(files.content("a").as_deref(), Some("one"), "what was known stands");
    assert_eq!(files.tracking.status().orphaned, 3);
    fs::remove_file(files.path("a")).unwrap();
    fs::remove_file(files.path("b")).unwrap();
    fs::remove_dir(files.path("c")).unwrap();
    for name in ["a", "b", "c"] {
        files.write(name, "back");
    }
    files.settle();
    assert_eq!(files.stale(["a", "b", "c"].map(str::to_owned)), Vec::<String>::new());
}

#[test]
fn unreadable_files_and_folders_are_orphaned_until_readable() {
    if !is_privileged() {
        return check_permissions();
    }
    // Root may read anything: the test runs itself again as another user.
    let done = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(std::env::current_exe().unwrap())
        .args(only(module_path!(), "unreadable_files_and_folders_are_orphaned_until_readable"))
        .output();
    match done {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stdout);
            assert!(done.status.success() && said.contains("1 passed"), "{said}");
        }
        Err(error) => skip(&format!("no setpriv to be another user by: {error}")),
    }
}

fn check_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let files = tracked();
    files.track(&[("a", "one"), ("sub/b", "two"), ("top", "")]);
    files.words();
    let set = |name: &str, mode: u32| {
        fs::set_permissions(files.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("a", 0);
    set("sub", 0);
    files.settle();
    let mut words = files.words();
    words.sort();
    let orphaned = ["orphaned a: permission denied", "orphaned sub/b: permission denied"];
    assert_eq!(words[..2], orphaned);
    assert_eq!(words[2..], ["polling 1 folders: refused"]);
    assert_eq!(files.content("a").as_deref(), Some("one"), "what was known stands");
    assert_eq!(files.content("sub/b").as_deref(), Some("two"));
    set("sub", 0o700);
    files.write("sub/b", "changed meanwhile");
    set("a", 0o600);
    files.settle();
    let words = files.words();
    for word in ["resumed a", "resumed sub/b", "updated sub/b"] {
        assert!(words.contains(&word.to_owned()), "{word} of {words:?}");
    }
    assert_eq!(files.stale(["a", "sub/b"].map(str::to_owned)), Vec::<String>::new());
    let status = files.tracking.status();
    assert_eq!((status.orphaned, status.polled_folders), (0, 0));
}

#[test]
fn names_that_are_not_utf_8_are_reported_and_disturb_nothing() {
    use std::os::unix::ffi::OsStrExt;

    let files = tracked();
    let odd = files.root.join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::write(&odd, "x").unwrap();
    files.tracking.track([odd.clone()]);
    files.track(&[("a", "one")]);
    let words = files.words();
    assert!(words.contains(&"failed: its name is not UTF-8".to_owned()), "{words:?}");
    fs::rename(files.path("a"), files.root.join(std::ffi::OsStr::from_bytes(b"a\xff"))).unwrap();
    files.settle();
    assert_eq!(files.content("a"), None);
}

#[test]
fn a_file_replaced_during_a_read_ends_as_on_disk() {
    let files = tracked();
    files.track(&[("a", "0")]);
    for round in 0..300 {
        let text = format!("{round} ").repeat(1 + round * 97 % 2_000);
        if round % 2 == 0 {
            files.write("a", &text);
        } else {
            files.write("a.new", &text);
            fs::rename(files.path("a.new"), files.path("a")).unwrap();
        }
    }
    files.settle();
    assert_eq!(files.stale(["a".to_owned()]), Vec::<String>::new());
    let words = files.words();
    assert!(!words.iter().any(|word| word.starts_with("deleted")), "{words:?}");
}

#[test]
fn closing_the_store_ends_tracking_and_is_idempotent() {
    let files = tracked();
    files.track(&[("a", "one")]);
    files.store.close().unwrap();
    files.write("a", "two");
    for _ in 0..PATIENCE.as_millis() {
        // Once the tracking has ended it settles no more.
        if !files.tracking.settle(Duration::from_millis(1)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    files.tracking.close();
    files.tracking.close();
    assert!(!files.tracking.settle(Duration::from_millis(50)));
}

#[test]
fn settling_waits_for_a_file_found_moved_and_then_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let root = canonical_path(folder.path());
    let (old, new) = (root.join("old"), root.join("new"));
    let store = Store::open(":memory:").unwrap();
    let mut options = TrackingOptions::at(|path| Location::here(FILESYSTEM, path.to_owned()));
    options.tracker.watching = Watching::Reported;
    let (found, is_found) = mpsc::channel();
    let (goes_on, may_go_on) = mpsc::channel::<()>();
    let tracking = Tracker::of_store(store.clone(), options, move |events| {
        if events.iter().any(|event| matches!(event, TrackingEvent::Moved { .. })) {
            found.send(()).unwrap();
            may_go_on.recv().unwrap();
        }
    })
    .unwrap();
    fs::write(&old, "one").unwrap();
    tracking.track([old.clone()]);
    assert!(tracking.settle(PATIENCE));

    // A copy and a deletion: another file of the same bytes, which only its bytes tell.
    fs::copy(&old, &new).unwrap();
    fs::remove_file(&old).unwrap();
    tracking.report([Signal::Gone(old), Signal::Written(new.clone())]);
    is_found.recv_timeout(PATIENCE).unwrap();
    fs::remove_file(&new).unwrap();
    tracking.report([Signal::Gone(new.clone())]);
    std::thread::scope(|scope| {
        let settled = scope.spawn(|| tracking.settle(PATIENCE));
        std::thread::sleep(Duration::from_millis(30));
        assert!(!settled.is_finished(), "the round that found the file goes on");
        goes_on.send(()).unwrap();
        assert!(settled.join().unwrap());
    });
    let id = Location::here(FILESYSTEM, new).id().unwrap();
    let stored = store.get(&id, AsOf::Latest).unwrap().unwrap();
    assert_eq!(stored.source_hash, None, "it is stored as deleted");
}
