//! Opens the store's file: creates it for its user only, makes connections and sets them up. Must not read objects.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use uuid::Uuid;

use super::failure::{self, Step};
use super::mark::Mark;
use super::{Journal, locks, lost, query, schema};
use crate::error::{Error, Result};
use crate::store::{Lost, Mounts};

/// Statements kept prepared per connection; there are about 25 in all.
const STATEMENTS: usize = 32;

/// A write-ahead log that grew beyond this is cut when it starts over.
const WAL_LIMIT_BYTES: i64 = 64 << 20;

/// A file that was opened for writing.
pub(super) struct Opened {
    pub writer: Connection,
    pub store_id: String,
    pub journal: Journal,
    /// `None` if it cannot be kept.
    pub mark: Option<Mark>,
    /// Transactions that were found missing just now.
    pub lost: Option<Lost>,
}

/// Creates the file and its folders, accessible to their user only, if they are missing.
pub(super) fn create(path: &Path) -> Result<()> {
    // Closing any descriptor of a file drops all POSIX locks that the process holds on it, SQLite's too (sqlite.org,
    // "How To Corrupt An SQLite Database File", 2.2). So no thread may open the file while another has just made it.
    static CREATING: Mutex<()> = Mutex::new(());
    let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    let fail = |error: std::io::Error| match error.kind() {
        ErrorKind::StorageFull => Error::NoSpace { path: path.to_owned() },
        _ => Error::StoreUnavailable {
            path: path.to_owned(),
            problem: "it cannot be created".to_owned(),
            source: Some(error.into()),
        },
    };
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let problem = "it is a directory".to_owned();
            Err(Error::StoreUnavailable { path: path.to_owned(), problem, source: None })
        }
        // SQLite takes a file of one byte for an empty one (`unixFileSize`) and would write over it.
        Ok(metadata) if metadata.len() == 1 => Err(Error::StoreCorrupt {
            path: path.to_owned(),
            source: "file is not a database".into(),
        }),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                create_folder(folder).map_err(fail)?;
            }
            match create_file(path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(fail(error)),
                _ => Ok(()),
            }
        }
        Err(error) => Err(fail(error)),
    }
}

/// Opens the connection that writes, checks the file and brings its schema up to date.
pub(super) fn writer(path: &Path) -> Result<Opened> {
    // SQLite keeps its own files beside the file that symbolic links lead to.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // Open the mark first, so that the store is not set aside meanwhile. A missing one is created once the file is
    // known to be ours.
    let mut mark = Mark::open_existing(&real)?;
    let mut open = || {
        let mut writer = connect(path)?;
        schema::check(&writer, path)?;
        if mark.is_none() {
            mark = Mark::open(&real)?;
        }
        if writer.is_readonly("main")? {
            return Err(Error::ReadOnly { path: path.to_owned() }.into());
        }
        let journal = set_journal(&writer, path)?;
        let migrated = schema::migrate(&mut writer, path)
            .map_err(|failure| failure.with_cause(&writer, path))?;
        if migrated.is_new {
            // The tables and the ID stand in the file from the start, whatever becomes of its log. If it fails now, the log is
            // moved later.
            let _ = writer.pragma_query(None, "wal_checkpoint", |_| Ok(()));
        }
        let note = |mark| lost::note(&mut writer, &migrated, mark);
        let lost = mark.as_ref().map(note).transpose()?.flatten();
        Ok((writer, migrated.store_id, journal, lost))
    };
    let opened = failure::while_busy(&mut open).map_err(|failure| {
        if failure.is_cannot_open() && folder_is_read_only(path) {
            return Error::ReadOnly { path: path.to_owned() };
        }
        failure.at(path)
    });
    let (writer, store_id, journal, lost) = opened?;
    Ok(Opened { writer, store_id, journal, mark, lost })
}

/// Makes an empty database in memory, with the tables of a store; returns its only connection and the store's ID.
pub(super) fn in_memory(path: &Path) -> Result<(Connection, String)> {
    let open = || {
        let mut connection = connect(path)?;
        // It runs the statements of writer and readers.
        connection.set_prepared_statement_cache_capacity(4 * STATEMENTS);
        let store_id = schema::migrate(&mut connection, path)?.store_id;
        query::register(&connection)?;
        Ok((connection, store_id))
    };
    open().map_err(|failure: failure::Failure| failure.at(path))
}

/// Opens a connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection> {
    let open = || {
        let reader = connect(path)?;
        reader.pragma_update(None, "query_only", true)?;
        query::register(&reader)?;
        Ok(reader)
    };
    failure::while_busy(open).map_err(|failure| failure.at(path))
}

/// A file that was opened read-only.
pub(super) struct Viewed {
    pub readers: [Connection; 2],
    pub store_id: String,
    pub mark: Option<Mark>,
}

/// Opens connections that leave the file and its log as they are. Nothing is made, brought up to date or moved.
pub(super) fn viewers(path: &Path) -> Result<Viewed> {
    let real = path.canonicalize().map_err(|error| Error::StoreUnavailable {
        path: path.to_owned(),
        problem: "it cannot be found".to_owned(),
        source: Some(error.into()),
    })?;
    let view = || {
        let open = || -> Step<Connection> {
            let viewer = connect_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            schema::check(&viewer, path)?;
            Ok(viewer)
        };
        let readers = [open()?, open()?];
        let store_id = schema::identity(&readers[0], path)?;
        Ok((readers, store_id))
    };
    let (readers, store_id) = failure::while_busy(view).map_err(|failure| failure.at(path))?;
    Ok(Viewed { readers, store_id, mark: Mark::open_read_only(&real) })
}

fn connect(path: &Path) -> Step<Connection> {
    // Opened for writing by readers too: in WAL mode they take part in the shared memory.
    connect_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

fn connect_with(path: &Path, access: OpenFlags) -> Step<Connection> {
    locks::install();
    // One thread at a time uses a connection, so SQLite's own mutexes are not needed.
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(failure::wait_for_lock))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this, SQLite prepares most statements anew at every use, in case the new values suggest another plan; that took
    // most of the time of a `get`. See sqlite.org/c3ref/c_dbconfig_defensive.html, SQLITE_DBCONFIG_ENABLE_QPSG.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

fn set_journal(connection: &Connection, path: &Path) -> Step<Journal> {
    // The folder, not the file: closing the file would drop SQLite's locks on it, and the folder is there by now.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let is_remote = folder.is_some_and(|folder| Mounts::read().is_remote(&folder));
    let wanted = if is_remote { "DELETE" } else { "WAL" };
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "journal_size_limit", WAL_LIMIT_BYTES)?;
    Ok(if mode.eq_ignore_ascii_case("wal") { Journal::WriteAhead } else { Journal::Rollback })
}

fn create_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create_file(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Whether no file can be created beside the store's, found by trying. SQLite only reports that it could not open
/// one.
fn folder_is_read_only(path: &Path) -> bool {
    let probe: PathBuf = path.with_file_name(format!(".palimpsest-{}", Uuid::now_v7()));
    match create_file(&probe) {
        // Left behind, the probe would only be an empty file; there is nobody to tell.
        Ok(()) => fs::remove_file(&probe).is_err(),
        Err(error) => {
            matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
        }
    }
}
