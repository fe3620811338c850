//! The SQLite store as a file: who may read it, damaged and foreign files, other processes,
//! crashes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base::object::{AsOf, Envelope, ObjectId, ObjectType, Payload};
use base::{Error, Result};
use rusqlite::Connection;
use store::{Expected, IndexedFolder, JournalMode, SqliteBackend, Store};
use tempfile::TempDir;

use testing::child::only;
use testing::private_file::{self, make_private};
use testing::privilege::is_privileged;

/// A folder and the path of a store in it that is not made yet.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    (folder, path)
}

fn open(path: &Path) -> Result<Store> {
    Store::open(path.to_str().unwrap())
}

fn toolcall(id: &str) -> Envelope {
    Envelope::unsourced(ObjectId::new(id), ObjectType::Toolcall).unwrap()
}

fn write(store: &Store, id: &str, text: &str) -> Result<()> {
    let payload = Payload { content: Some(text.to_owned()), ..Payload::default() };
    let mut transaction = store.begin();
    transaction.put(toolcall(id), payload, Expected::Any)?;
    transaction.commit().map(drop)
}

fn code(path: &Path) -> &'static str {
    open(path).map(drop).unwrap_err().code()
}

#[test]
fn a_reopened_store_is_the_same() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    write(&store, "a", "text").unwrap();
    let (id, version) =
        (store.id().to_owned(), store.require(&ObjectId::new("a"), AsOf::Latest).unwrap());
    store.close().unwrap();
    let store = open(&path).unwrap();
    assert_eq!(store.id(), id);
    assert_eq!(store.require(&ObjectId::new("a"), AsOf::Latest).unwrap(), version);
    assert_eq!(store.content(&version).unwrap().as_deref(), Some("text"));
}

#[test]
fn closing_leaves_the_store_and_its_mark() {
    let (folder, path) = place();
    let store = open(&path).unwrap();
    write(&store, "a", "text").unwrap();
    store.close().unwrap();
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["store.sqlite", "store.sqlite-ack"]);
}

#[test]
#[cfg(unix)]
fn only_its_user_may_read_what_is_made() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _) = place();
    let path = folder.path().join("new/deep/store.sqlite");
    let store = open(&path).unwrap();
    write(&store, "a", "text").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path().join("new")), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    for name in ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-ack"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
}

#[test]
fn a_local_store_uses_a_write_ahead_log() {
    let (_folder, path) = place();
    assert_eq!(SqliteBackend::open(&path).unwrap().journal, JournalMode::WriteAhead);
    assert_eq!(open(&path).unwrap().notice(), None);
}

#[test]
fn equal_contents_are_kept_once_and_compressed() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    let text = "fn main() {}\n".repeat(1_000);
    for id in ["a", "b", "c"] {
        write(&store, id, &text).unwrap();
    }
    write(&store, "short", "short").unwrap();
    let file = Connection::open(&path).unwrap();
    let mut statement =
        file.prepare("SELECT typeof(text), length(text) FROM content ORDER BY 2").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let rows: Vec<(String, i64)> = rows.collect::<rusqlite::Result<_>>().unwrap();
    assert_eq!(rows.len(), 2);
    // The short one is in a pack; its row holds the place.
    assert_eq!(rows[0].0, "integer");
    assert!(rows[1].0 == "blob" && rows[1].1 < 650, "{rows:?}");
}

#[test]
fn appending_writes_the_new_item_only() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    let chat = Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap();
    let mut expected = Expected::Absent;
    for number in 0..50 {
        let mut transaction = store.begin();
        let add = vec![format!("message {number}")];
        transaction.splice(chat.clone(), Payload::default(), number, add, expected).unwrap();
        expected = Expected::Latest(transaction.commit().unwrap().tx_id);
    }
    let file = Connection::open(&path).unwrap();
    let count = |sql: &str| -> i64 { file.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM item"), 50);
    assert_eq!(count("SELECT count(*) FROM version"), 50);
    assert_eq!(store.items(&chat.id, AsOf::Latest, 48..99).unwrap(), ["message 48", "message 49"]);
}

#[test]
fn a_directory_is_no_store() {
    let (folder, _) = place();
    assert_eq!(code(folder.path()), "STORE_UNAVAILABLE");
}

#[test]
fn a_path_below_a_file_cannot_be_created() {
    let (_folder, path) = place();
    fs::write(&path, "a file").unwrap();
    assert_eq!(code(&path.join("store.sqlite")), "STORE_UNAVAILABLE");
}

#[test]
fn a_file_that_is_no_database_is_reported_and_left_alone() {
    let (_folder, path) = place();
    for text in ["x", "plain text\n", &"not a database ".repeat(1_000)] {
        private_file::write(&path, text);
        assert_eq!(code(&path), "STORE_CORRUPT");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "nothing stands beside it"
    );
}

#[test]
fn an_empty_file_becomes_a_store() {
    let (_folder, path) = place();
    private_file::write(&path, "");
    write(&open(&path).unwrap(), "a", "text").unwrap();
}

#[test]
fn a_damaged_store_is_reported() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    for number in 0..200 {
        write(&store, &format!("call_{number}"), &"text".repeat(number)).unwrap();
    }
    store.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    assert_eq!(code(&path), "STORE_CORRUPT");
}

#[test]
fn damage_behind_the_first_page_is_reported_when_it_is_read() {
    let (_folder, path) = place();
    write(&open(&path).unwrap(), "a", &"text ".repeat(1_000)).unwrap();
    let file = Connection::open(&path).unwrap();
    file.execute("UPDATE content SET text = x'28b52ffd00'", []).unwrap();
    let store = open(&path).unwrap();
    let version = store.require(&ObjectId::new("a"), AsOf::Latest).unwrap();
    assert_eq!(store.content(&version).unwrap_err().code(), "STORE_CORRUPT");
    file.execute("UPDATE content SET text = 'other text'", []).unwrap();
    assert_eq!(store.content(&version).unwrap_err().code(), "HASH_MISMATCH");
    file.execute("DELETE FROM content", []).unwrap();
    assert_eq!(store.content(&version).unwrap_err().code(), "STORE_CORRUPT");
    file.execute("UPDATE version SET fields = '{'", []).unwrap();
    assert_eq!(store.get(&ObjectId::new("a"), AsOf::Latest).unwrap_err().code(), "STORE_CORRUPT");
    file.execute("UPDATE object SET type = 'pigeon'", []).unwrap();
    assert_eq!(store.history(&ObjectId::new("a")).unwrap_err().code(), "STORE_CORRUPT");
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let (_folder, path) = place();
    // Sets the locks up, whose kind must not change while a connection is open.
    SqliteBackend::in_memory().unwrap();
    let file = Connection::open(&path).unwrap();
    file.execute_batch("CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')")
        .unwrap();
    file.close().unwrap();
    make_private(&path);
    let before = fs::read(&path).unwrap();
    assert_eq!(code(&path), "STORE_UNAVAILABLE");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_newer_schema_is_refused_with_both_numbers() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    let file = Connection::open(&path).unwrap();
    file.pragma_update(None, "user_version", 7).unwrap();
    file.close().unwrap();
    let open_before = write(&store, "a", "text").unwrap_err();
    store.close().unwrap();
    for refused in [open_before, open(&path).unwrap_err()] {
        match refused {
            Error::NewerSchema { found, known, .. } => assert_eq!((found, known), (7, 3)),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_write_that_waited_for_an_update_is_refused() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; PRAGMA user_version = 7").unwrap();
    let folder = IndexedFolder { filesystem_id: "fs".into(), path: "/vault".into() };
    std::thread::scope(|scope| {
        let writes =
            [scope.spawn(|| write(&store, "a", "text")), scope.spawn(|| store.add_folder(&folder))];
        // Long enough that both wait: sooner, they are refused all the same.
        std::thread::sleep(Duration::from_millis(600));
        other.execute_batch("COMMIT").unwrap();
        for written in writes {
            assert_eq!(written.join().unwrap().unwrap_err().code(), "NEWER_SCHEMA");
        }
    });
    assert_eq!(store.get(&ObjectId::new("a"), AsOf::Latest).unwrap(), None);
}

#[test]
fn a_write_waits_for_another_process() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(&store, "a", "text"));
        assert_eq!(store.get(&ObjectId::new("a"), AsOf::Latest).unwrap(), None);
        // Longer than one lock request waits, so that the store has to ask again.
        std::thread::sleep(Duration::from_millis(600));
        other.execute_batch("COMMIT").unwrap();
        writing.join().unwrap().unwrap();
    });
}

/// Runs one of the roles below in another process, optionally as an unprivileged user.
fn spawn(role: &str, path: &Path, plain_user: bool) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(&program);
    if plain_user && is_privileged() {
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    }
    command
        .args(only(module_path!(), "acts_as_another_process_when_asked"))
        .env("PALIMPSEST_TEST_ROLE", role)
        .env("PALIMPSEST_TEST_STORE", path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Not a test of its own: the other process of the tests below.
#[test]
fn acts_as_another_process_when_asked() {
    let Ok(role) = std::env::var("PALIMPSEST_TEST_ROLE") else { return };
    let path = PathBuf::from(std::env::var_os("PALIMPSEST_TEST_STORE").unwrap());
    let mut out = std::io::stdout().lock();
    match role.as_str() {
        "code" => {
            let code = open(&path).map_or_else(|error| error.code(), |_| "OPENED");
            writeln!(out, "\n= {code}").unwrap();
        }
        "look" => {
            let look = || {
                let store = Store::open_read_only(path.to_str().unwrap())?;
                store.require(&ObjectId::new("a"), AsOf::Latest)?;
                store.close()
            };
            writeln!(out, "\n= {}", look().map_or_else(|error| error.code(), |()| "LOOKED"))
                .unwrap();
        }
        "hold" => {
            let holder = Connection::open(&path).unwrap();
            holder.execute_batch("BEGIN IMMEDIATE; UPDATE tx SET system_time = 9e9").unwrap();
            writeln!(out, "\n= holding").unwrap();
            loop {
                std::thread::park();
            }
        }
        "open" => assert_eq!(open(&path).unwrap().notice(), None),
        "count" => count_up(&open(&path).unwrap(), 40),
        "write" => {
            let store = open(&path).unwrap();
            for number in 0.. {
                write(&store, &format!("call_{number}"), &"text ".repeat(number % 2_000)).unwrap();
                writeln!(out, "\n= {number}").unwrap();
            }
        }
        other => panic!("no role `{other}`"),
    }
}

/// Adds 1 to a counter `times` times: an update that were lost would be missing from the sum.
pub(crate) fn count_up(store: &Store, times: usize) {
    let counter = toolcall("counter");
    let mut done = 0;
    while done < times {
        let latest = store.get(&counter.id, AsOf::Latest).unwrap();
        let (number, expected) = latest.map_or((0, Expected::Absent), |version| {
            (version.fields["number"].as_i64().unwrap(), Expected::Latest(version.tx_id))
        });
        let mut payload = Payload::default();
        payload.fields.insert("number".into(), (number + 1).into());
        let mut transaction = store.begin();
        transaction.put(counter.clone(), payload, expected).unwrap();
        match transaction.commit() {
            Ok(_) => done += 1,
            Err(error) => assert_eq!(error.code(), "CONFLICT", "{}", error.report()),
        }
    }
}

#[test]
fn a_new_store_opened_by_many_processes_misses_nothing() {
    for _ in 0..8 {
        let (_folder, path) = place();
        let children: Vec<Child> = (0..8).map(|_| spawn("open", &path, false)).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let store = open(&path).unwrap();
        assert_eq!((store.notice(), store.lost().unwrap()), (None, vec![]));
    }
}

#[test]
fn processes_that_write_at_once_lose_no_update() {
    let (_folder, path) = place();
    // The file does not exist yet: making it is part of the race.
    let children: Vec<Child> = (0..3).map(|_| spawn("count", &path, false)).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let store = open(&path).unwrap();
    let history = store.history(&ObjectId::new("counter")).unwrap();
    let numbers: Vec<i64> =
        history.iter().rev().map(|version| version.fields["number"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=120).collect::<Vec<_>>());
}

#[test]
fn threads_that_open_one_new_file_agree_on_the_store() {
    // Often, since each time is another order of steps.
    for _ in 0..40 {
        let (_folder, path) = place();
        let ids: Vec<String> = std::thread::scope(|scope| {
            let opening: Vec<_> =
                (0..6).map(|_| scope.spawn(|| open(&path).unwrap().id().to_owned())).collect();
            opening.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let (_folder, path) = place();
    for enough in [1, 40, 90] {
        let mut child = spawn("write", &path, false);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let numbers = lines.map(|line| line.unwrap()).filter_map(|line| {
            line.strip_prefix("= ").map(|number| number.parse::<usize>().unwrap())
        });
        let mut last = 0;
        for number in numbers {
            last = number;
            if number == enough {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let store = open(&path).unwrap();
        for number in 0..=last {
            let version = store.require(&ObjectId::new(format!("call_{number}")), AsOf::Latest);
            let content = store.content(&version.unwrap()).unwrap();
            assert_eq!(content, Some("text ".repeat(number % 2_000)));
        }
        let check: String = Connection::open(&path)
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok");
    }
}

#[test]
#[cfg(unix)]
fn a_stopped_lock_holder_blocks_nobody_for_ever() {
    let (_folder, path) = place();
    let store = open(&path).unwrap();
    write(&store, "a", "text").unwrap();
    let mut holder = spawn("hold", &path, false);
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert!(lines.map_while(std::result::Result::ok).any(|line| line == "= holding"));
    let stopped = Command::new("kill").args(["-STOP", &holder.id().to_string()]).status();
    assert!(stopped.unwrap().success());
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| write(&store, "b", "text"));
        assert!(store.get(&ObjectId::new("a"), AsOf::Latest).unwrap().is_some());
        let error = writing.join().unwrap().unwrap_err();
        assert_eq!(error.code(), "STORE_UNAVAILABLE");
        assert!(error.to_string().ends_with("busy"), "{error}");
    });
    // Killed, it no longer holds anything.
    holder.kill().unwrap();
    holder.wait().unwrap();
    write(&store, "b", "text").unwrap();
    let version = store.require(&ObjectId::new("b"), AsOf::Latest).unwrap();
    assert!(version.system_time.0 < 9_000_000_000_000, "what it had begun is gone");
}

#[cfg(unix)]
mod permissions {
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// The code that opening gives to a user whom permissions bind.
    fn code_for_plain_user(path: &Path) -> String {
        answer_of_plain_user("code", path)
    }

    fn answer_of_plain_user(role: &str, path: &Path) -> String {
        let child = spawn(role, path, true);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let code = text.lines().find_map(|line| line.strip_prefix("= "));
        code.unwrap_or_else(|| panic!("no answer in {text}")).to_owned()
    }

    /// A closed store in a folder with the given permissions, of the user whom they bind.
    fn store_with_modes(folder_mode: u32, file_mode: u32) -> (TempDir, PathBuf) {
        let (folder, path) = place();
        let store = open(&path).unwrap();
        write(&store, "a", "text").unwrap();
        store.close().unwrap();
        if is_privileged() {
            for owned in [folder.path(), &path, &path.with_file_name("store.sqlite-ack")] {
                chown(owned, Some(65_534), Some(65_534)).unwrap();
            }
        }
        set_mode(&path, file_mode);
        set_mode(folder.path(), folder_mode);
        (folder, path)
    }

    #[test]
    fn a_file_that_cannot_be_written_is_read_only() {
        let (_folder, path) = store_with_modes(0o700, 0o400);
        assert_eq!(code_for_plain_user(&path), "READ_ONLY");
    }

    #[test]
    fn a_folder_that_cannot_be_written_makes_the_store_read_only() {
        let (folder, path) = store_with_modes(0o500, 0o600);
        assert_eq!(code_for_plain_user(&path), "READ_ONLY");
        set_mode(folder.path(), 0o755);
    }

    #[test]
    fn what_cannot_be_written_can_be_looked_at() {
        for (folder_mode, file_mode) in [(0o700, 0o400), (0o500, 0o600), (0o500, 0o400)] {
            let (folder, path) = store_with_modes(folder_mode, file_mode);
            let modes = format!("{folder_mode:o} {file_mode:o}");
            assert_eq!(answer_of_plain_user("look", &path), "LOOKED", "{modes}");
            // Again, beside what the first look may have left.
            assert_eq!(answer_of_plain_user("look", &path), "LOOKED", "{modes}");
            set_mode(folder.path(), 0o755);
        }
    }

    #[test]
    fn a_log_that_cannot_be_read_is_not_ignored() {
        let (folder, path) = store_with_modes(0o700, 0o600);
        let log = path.with_file_name("store.sqlite-wal");
        fs::write(&log, "frames that only this log holds").unwrap();
        set_mode(&log, 0o600);
        if is_privileged() {
            chown(&log, Some(65_534), Some(65_534)).unwrap();
        }
        set_mode(folder.path(), 0o500);
        assert_eq!(answer_of_plain_user("look", &path), "READ_ONLY");
        set_mode(folder.path(), 0o755);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_unavailable() {
        let (_folder, path) = store_with_modes(0o700, 0o000);
        assert_eq!(code_for_plain_user(&path), "STORE_UNAVAILABLE");
    }

    #[test]
    fn a_store_that_cannot_be_made_is_unavailable() {
        let (folder, path) = place();
        set_mode(folder.path(), 0o555);
        assert_eq!(code_for_plain_user(&path), "STORE_UNAVAILABLE");
        set_mode(folder.path(), 0o755);
    }
}
