//! The disk fills up at every possible moment: the write fails with `NO_SPACE`, everything
//! acknowledged can be read, and writing works again once there is space. Tested on a file system
//! of a few pages, where one can be made, and with a limit on file sizes, which everyone may set.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base::object::{AsOf, Envelope, ObjectId, ObjectType, Payload};
use base::{Error, Result};
use rusqlite::Connection;
use store::{Expected, SearchQuery, Store, doctor};

use testing::child::only;
use testing::private_file;

const PAGE: usize = 4_096;

fn open(path: &Path) -> Result<Store> {
    Store::open(path.to_str().unwrap())
}

/// Text that does not compress, so that its size is what it takes.
fn text(number: usize) -> String {
    let digits = |it: usize| base::object::Hash::of(format!("{number} {it}")).to_string();
    (0..80).map(digits).collect()
}

fn write(store: &Store, number: usize) -> Result<()> {
    let id = ObjectId::new(format!("call_{number}"));
    let payload = Payload { content: Some(text(number)), ..Payload::default() };
    let mut transaction = store.begin();
    let envelope = Envelope::unsourced(id, ObjectType::Toolcall)?;
    transaction.put(envelope, payload, Expected::Any)?;
    transaction.commit().map(drop)
}

/// Everything that was acknowledged reads as it was written.
fn verify(store: &Store, acknowledged: usize) {
    for number in 0..acknowledged {
        let id = ObjectId::new(format!("call_{number}"));
        let version = store.require(&id, AsOf::Latest).unwrap();
        assert_eq!(store.content(&version).unwrap(), Some(text(number)), "{number}");
    }
}

fn is_full(error: &Error) {
    assert_eq!(error.code(), "NO_SPACE", "{}", error.report());
}

/// Runs a role of this file in another process, after `command`, both by `shell`.
fn run(shell: &[&str], command: &str, role: &str, folder: &Path) {
    let output = Command::new(shell[0])
        .args(&shell[1..])
        .args(["-c", &format!(r#"{command} && exec "$0" "$@""#)])
        .arg(std::env::current_exe().unwrap())
        .args(only(module_path!(), "acts_on_a_full_disk_when_asked"))
        .env("PALIMPSEST_TEST_ROLE", role)
        .env("PALIMPSEST_TEST_FOLDER", folder)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{command}: {text}");
}

/// Not a test of its own: what the tests below run where the disk is small.
#[test]
fn acts_on_a_full_disk_when_asked() {
    let Ok(role) = std::env::var("PALIMPSEST_TEST_ROLE") else { return };
    let folder = PathBuf::from(std::env::var_os("PALIMPSEST_TEST_FOLDER").unwrap());
    match role.as_str() {
        "disk" => {
            let fixture =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/store-v1.sqlite");
            for free in 0..40 {
                small_disk(&folder, free);
                old_store_on_small_disk(&folder, free, &fixture);
            }
        }
        "limit" => limited_files(&folder),
        other => panic!("no role `{other}`"),
    }
}

/// Leaves `pages` free on the file system of `folder`, by a file that takes the rest.
fn leave_free(folder: &Path, pages: usize) -> PathBuf {
    let ballast = folder.join("ballast");
    let mut written = fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut written, &[7; PAGE]).is_ok() {}
    let length = usize::try_from(written.metadata().unwrap().len()).unwrap();
    let length = (length / PAGE).saturating_sub(pages) * PAGE;
    written.set_len(u64::try_from(length).unwrap()).unwrap();
    ballast
}

/// Makes a store with `free` pages left for it, or with these left once it holds something: writes
/// until the disk is full, reads, moves the log, opens anew, and goes on once there is space.
fn small_disk(folder: &Path, free: usize) {
    let folder = folder.join(format!("disk-{free}"));
    fs::create_dir(&folder).unwrap();
    let path = folder.join("store.sqlite");
    let ballast = leave_free(&folder, free);
    // Making it.
    let made = open(&path);
    if let Err(error) = &made {
        is_full(error);
    }
    drop(made);
    fs::remove_file(&ballast).unwrap();
    let store = open(&path).unwrap();
    let mut acknowledged = 0;
    for _ in 0..3 {
        write(&store, acknowledged).unwrap();
        acknowledged += 1;
    }
    // Writing: the log, the shared memory, the mark.
    leave_free(&folder, free);
    let error = loop {
        match write(&store, acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1_000);
    };
    is_full(&error);
    verify(&store, acknowledged);
    // Moving the log into the file: what fails there is tried again later.
    let mover = Connection::open(&path).unwrap();
    let _ = mover.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    verify(&store, acknowledged);
    drop(mover);
    // Opening, with another open and after the last was closed.
    match open(&path) {
        Ok(other) => verify(&other, acknowledged),
        Err(error) => is_full(&error),
    }
    let _ = store.close();
    // Reading, and copying to where there is room, need none.
    let elsewhere = tempfile::tempdir_in(folder.join("../..")).unwrap();
    let copy = elsewhere.path().join("copy.sqlite");
    let viewed = Store::open_read_only(path.to_str().unwrap()).unwrap();
    verify(&viewed, acknowledged);
    viewed.backup(&copy).unwrap();
    let is_named = |error: &Error| error.to_string().contains("full.sqlite");
    let full = viewed.backup(&folder.join("full.sqlite")).unwrap_err();
    assert!(full.code() == "FILE" && is_named(&full), "{}", full.report());
    drop(viewed);
    verify(&open(&copy).unwrap(), acknowledged);
    match open(&path) {
        Ok(again) => verify(&again, acknowledged),
        Err(error) => is_full(&error),
    }
    fs::remove_file(&ballast).unwrap();
    let store = open(&path).unwrap();
    assert_eq!(store.notice(), None);
    verify(&store, acknowledged);
    write(&store, acknowledged).unwrap();
    assert_eq!(doctor::check(&store).unwrap().findings, []);
    drop(store);
    fs::remove_dir_all(folder).unwrap();
}

/// Brings a store of an older schema up to date with `free` pages left.
fn old_store_on_small_disk(folder: &Path, free: usize, fixture: &Path) {
    let folder = folder.join(format!("old-{free}"));
    fs::create_dir(&folder).unwrap();
    let path = folder.join("store.sqlite");
    private_file::copy(fixture, &path);
    let ballast = leave_free(&folder, free);
    if let Err(error) = open(&path) {
        is_full(&error);
    }
    fs::remove_file(ballast).unwrap();
    let store = open(&path).unwrap();
    assert_eq!(store.list(ObjectType::File, None, 9).unwrap().len(), 1);
    assert_eq!(doctor::check(&store).unwrap().findings, []);
    drop(store);
    fs::remove_dir_all(folder).unwrap();
}

/// Writes until a file may grow no more. The caller goes on without the limit.
fn limited_files(folder: &Path) {
    let path = folder.join("store.sqlite");
    let store = match open(&path) {
        Ok(store) => store,
        Err(error) => {
            is_full(&error);
            return;
        }
    };
    let mut acknowledged = 0;
    let error = loop {
        match write(&store, acknowledged) {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1_000);
    };
    is_full(&error);
    let found = store.search(&SearchQuery::new("word")).unwrap();
    assert!(found.unindexed == 0 || found.unwritten == Some("NO_SPACE"), "{found:?}");
    verify(&store, acknowledged);
    fs::write(folder.join("acknowledged"), acknowledged.to_string()).unwrap();
}

#[expect(clippy::print_stderr, reason = "says that it is skipped")]
#[test]
fn a_full_disk_costs_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o size=1m none '{}'", folder.path().display());
    // In a name space of its own, which many systems allow to everyone.
    let shell = ["unshare", "-rm", "sh"];
    let trial = Command::new(shell[0]).args(&shell[1..]).args(["-c", &mount]).output();
    if trial.is_ok_and(|output| output.status.success()) {
        run(&shell, &mount, "disk", folder.path());
    } else {
        eprintln!("skipped: no file system can be mounted here");
    }
}

#[test]
fn a_limit_on_files_costs_nothing_that_was_acknowledged() {
    // Blocks of 512 bytes: from less than an empty store takes on.
    for blocks in [8, 60, 150, 200, 300, 600, 2_000] {
        let folder = tempfile::tempdir().unwrap();
        let limit = format!("trap '' XFSZ && ulimit -f {blocks}");
        run(&["sh"], &limit, "limit", folder.path());
        let acknowledged = fs::read_to_string(folder.path().join("acknowledged"));
        let acknowledged = acknowledged.map_or(0, |text| text.parse().unwrap());
        let store = open(&folder.path().join("store.sqlite")).unwrap();
        assert_eq!(store.notice(), None);
        verify(&store, acknowledged);
        write(&store, acknowledged).unwrap();
        assert_eq!(doctor::check(&store).unwrap().findings, []);
    }
}
