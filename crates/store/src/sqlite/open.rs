//! Opens the store's file: creates it for its user only, refuses one that others can access, and
//! sets up connections. Must not read objects.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use uuid::Uuid;

use super::aside::BESIDE;
use super::failure::{self, Step};
use super::mark::Mark;
use super::place::StoreFile;
use super::{JournalMode, SqliteBackend, locks, lost, schema, slot};
use base::error::{Error, Result};
use base::lock;
use files::{Mounts, private, with_end};

/// Statements kept prepared per connection: more than there are, besides those that queries build.
const STATEMENTS: usize = 128;

/// A write-ahead log that grew beyond this is truncated when it starts over.
const WAL_LIMIT_BYTES: i64 = 64 << 20;

/// Creates the file and its folders, accessible to their user only, if they are missing. Returns
/// the file's location with its folder's canonical path, so that no unchecked link is on the way.
///
/// # Errors
/// `NOT_PRIVATE`, `STORE_UNAVAILABLE`, `STORE_CORRUPT`, `NO_SPACE`.
pub(super) fn create(path: &Path) -> Result<PathBuf> {
    // Where SQLite uses process locks, closing any descriptor of a file drops them all (see
    // `locks`). So no thread may open the file while another has just created it.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = lock(&CREATING);
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull => Error::NoSpace { path: path.to_owned() },
        _ => unavailable(path, "it cannot be created", Some(error)),
    };
    if let Some(folder) = path.parent() {
        private::create_folder(folder).map_err(fail)?;
    }
    let real = in_canonical_folder(path).map_err(fail)?;
    match fs::symlink_metadata(&real) {
        Ok(metadata) if metadata.is_dir() => Err(unavailable(path, "it is a directory", None)),
        Ok(metadata) => {
            check_private(&real)?;
            // SQLite takes a file of one byte for an empty one (`unixFileSize`) and would write
            // over it.
            if metadata.len() == 1 {
                let source = "file is not a database".into();
                return Err(Error::NotAStore { path: path.to_owned(), source });
            }
            Ok(real)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            check_private(&real)?;
            match private::create_new(&real) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(fail(error)),
                _ => Ok(real),
            }
        }
        Err(error) => Err(fail(error)),
    }
}

/// Refuses a store that others can access, including its folder or files beside it.
fn check_private(real: &Path) -> Result<()> {
    if let Some(folder) = real.parent() {
        private::check_folder(folder)?;
    }
    private::check_file(real)?;
    BESIDE.iter().try_for_each(|suffix| private::check_file(&with_end(real, suffix)))
}

/// Windows: the path as it is. Not every program accepts its canonical form, and links are not
/// followed silently there.
fn in_canonical_folder(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        _ if cfg!(windows) => Ok(path.to_owned()),
        (Some(folder), Some(name)) => Ok(folder.canonicalize()?.join(name)),
        _ => Ok(path.to_owned()),
    }
}

pub(super) fn unavailable(path: &Path, problem: &str, source: Option<std::io::Error>) -> Error {
    Error::StoreUnavailable {
        path: path.to_owned(),
        problem: problem.to_owned(),
        source: source.map(Into::into),
    }
}

/// Opens the file for writing, checks it and brings its schema up to date. The path is that of
/// [`create`].
pub(super) fn writer(real: PathBuf) -> Result<SqliteBackend> {
    let path = real.as_path();
    // Open the mark first, so that the store is not set aside meanwhile. A missing one is created
    // once the file is known to be ours.
    let mut mark = Mark::open(path, false)?;
    let mut open = || {
        let mut writer = connect(path)?;
        schema::check(&writer, path)?;
        if mark.is_none() {
            mark = Mark::open(path, true)?;
        }
        if writer.is_readonly("main")? {
            return Err(Error::ReadOnly { path: path.to_owned() }.into());
        }
        let journal = set_pages(&writer)
            .and_then(|()| set_journal(&writer, path))
            .map_err(|failure| failure.with_cause(&writer, path))?;
        let migrated = schema::migrate(&mut writer, path)
            .map_err(|failure| failure.with_cause(&writer, path))?;
        if migrated.is_new {
            // The tables and the ID are in the file from the start, whatever becomes of its log. If
            // this fails now, the log is moved later.
            let _ = writer.pragma_query(None, "wal_checkpoint", |_| Ok(()));
        }
        let note = |mark| lost::note(&mut writer, &migrated, mark);
        let lost = mark.as_ref().map(note).transpose()?.flatten();
        Ok((writer, migrated.store_id, journal, lost))
    };
    let opened = failure::while_busy(&mut open).map_err(|failure| {
        if failure.code() == Some(ErrorCode::CannotOpen) && folder_is_read_only(path) {
            return Error::ReadOnly { path: path.to_owned() };
        }
        failure.at(path)
    });
    let (writer, store_id, journal, lost) = opened?;
    Ok(SqliteBackend {
        writer: slot(writer),
        readers: vec![slot(reader(path)?), slot(reader(path)?)],
        place: StoreFile::of(real.clone()).map(Arc::new),
        mark: Mutex::new(mark.map(Arc::new)),
        lost,
        ..SqliteBackend::at(real, store_id, journal)
    })
}

/// Creates an empty in-memory database with the tables of a store; returns its only connection and
/// the store's ID.
pub(super) fn in_memory(path: &Path) -> Result<(Connection, String)> {
    let open = || {
        let mut connection = connect(path)?;
        let store_id = schema::migrate(&mut connection, path)?.store_id;
        Ok((connection, store_id))
    };
    open().map_err(|failure: failure::Failure| failure.at(path))
}

/// Opens a connection that brings indexes up to date. What a power cut takes of them is derived
/// again, so its commits need not wait for the disk.
pub(super) fn indexer(path: &Path) -> Result<Connection> {
    let open = || {
        let connection = connect(path)?;
        set_pages(&connection)?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Ok(connection)
    };
    failure::while_busy(open).map_err(|failure| failure.at(path))
}

/// Opens a connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    let open = || {
        let reader = connect(path)?;
        reader.pragma_update(None, "query_only", true)?;
        // Opens the log, which cannot be found once the file is deleted.
        reader.pragma_query_value(None, "user_version", |_| Ok(()))?;
        Ok(reader)
    };
    failure::while_busy(open).map_err(|failure| failure.at(path))
}

/// Opens connections that leave the file and its log as they are. Nothing is created, migrated or
/// moved.
pub(super) fn viewers(path: &Path) -> Result<SqliteBackend> {
    let missing = |error| unavailable(path, "it cannot be found", Some(error));
    let real = in_canonical_folder(path).map_err(missing)?;
    if fs::symlink_metadata(&real).map_err(missing)?.is_dir() {
        return Err(unavailable(path, "it is a directory", None));
    }
    check_private(&real)?;
    let path = real.as_path();
    let viewed = failure::while_busy(|| match view(path, How::Read) {
        // Nobody else has the store then, and whoever opens it once there is room finds no reader:
        // what is read meanwhile is checked by its hashes.
        Err(failure) if failure.is_without_shared_memory() && !has_log(path) => {
            view(path, How::ReadAlone)
        }
        Err(failure)
            if matches!(failure.code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
                && folder_is_read_only(path) =>
        {
            if has_log(path) {
                return Err(Error::ReadOnly { path: path.to_owned() }.into());
            }
            view(path, How::ReadAlone)
        }
        viewed => viewed,
    });
    viewed.map_err(|failure| failure.at(path))
}

/// Opens connections that only read, wherever the file is.
pub(super) fn view(path: &Path, how: How) -> Step<SqliteBackend> {
    let open = || -> Step<Connection> {
        let viewer = connect_with(path, how)?;
        schema::check(&viewer, path)?;
        Ok(viewer)
    };
    let readers = [open()?, open()?];
    let store_id = schema::identity(&readers[0], path)?;
    Ok(SqliteBackend {
        read_only: true,
        mark: Mutex::new(Mark::open_read_only(path).map(Arc::new)),
        readers: readers.map(slot).into(),
        watcher: Some(slot(connect_with(path, how)?)),
        ..SqliteBackend::at(path.to_owned(), store_id, JournalMode::WriteAhead)
    })
}

/// Whether there is a non-empty log.
fn has_log(path: &Path) -> bool {
    fs::metadata(with_end(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// What a connection may do.
#[derive(Clone, Copy)]
pub(super) enum How {
    Write,
    Read,
    /// Only for a file that no process can write, for now: without locks, and without the log's
    /// shared memory beside it.
    ReadAlone,
}

fn connect(path: &Path) -> Step<Connection> {
    // Readers open for writing too: in WAL mode they take part in the shared memory.
    connect_with(path, How::Write)
}

fn connect_with(path: &Path, how: How) -> Step<Connection> {
    locks::install();
    let (access, path) = match how {
        How::Write => (OpenFlags::SQLITE_OPEN_READ_WRITE, path.to_owned()),
        How::Read => (OpenFlags::SQLITE_OPEN_READ_ONLY, path.to_owned()),
        How::ReadAlone => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            (flags, immutable_uri(path).into())
        }
    };
    // One thread at a time uses a connection, so SQLite's own mutexes are not needed.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(failure::wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this, SQLite prepares most statements anew at every use, in case the new values
    // suggest another plan; that took most of the time of a `get`. See
    // sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// See sqlite.org/uri.html.
fn immutable_uri(path: &Path) -> String {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let path = if cfg!(windows) { format!("/{}", path.replace('\\', "/")) } else { path };
    format!("file:{path}?immutable=1")
}

/// Text that goes leaves no byte behind in a page that stays. Free pages, which may hold some, can go
/// back to the file system a few at a time: overwriting them as well would keep others waiting where
/// the search index lets go of many. A file of an earlier version gets that with `VACUUM`.
fn set_pages(connection: &Connection) -> Step<()> {
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // Setting it where it is set writes.
    let known = connection.pragma_query_value(None, "auto_vacuum", |row| row.get::<_, i64>(0))?;
    if known == 0 {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    Ok(())
}

fn set_journal(connection: &Connection, path: &Path) -> Step<JournalMode> {
    // Checks the folder, not the file: where SQLite uses process locks, closing the file would drop
    // them.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_remote = folder.is_some_and(|folder| Mounts::read().is_remote(&folder));
    let wanted = if is_remote { "DELETE" } else { "WAL" };
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
    Ok(if mode.eq_ignore_ascii_case("wal") {
        JournalMode::WriteAhead
    } else {
        JournalMode::Rollback
    })
}

/// Whether no file can be created beside the store's, found by trying. SQLite only reports that it
/// could not open one.
fn folder_is_read_only(path: &Path) -> bool {
    let probe: PathBuf = path.with_file_name(format!(".palimpsest-{}", Uuid::now_v7()));
    match private::create_new(&probe) {
        // Left behind, the probe would only be an empty file; there is nobody to tell.
        Ok(_) => fs::remove_file(&probe).is_err(),
        Err(error) => {
            matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
        }
    }
}
