//! A store in one SQLite file that several processes share, or in memory. Only the modules below
//! this one know SQL.
//!
//! One connection writes and two read, so reads never wait for a write; in a store without a
//! writer, a third connection watches for others' changes. Every commit is on disk when it returns
//! (`synchronous=FULL`). See sqlite.org: wal.html, lang_transaction.html, pragma.html.

mod aside;
mod backend;
mod backup;
mod collect;
mod derived;
mod drop;
mod failure;
mod integrity;
mod keeper;
mod locks;
mod lost;
mod mark;
mod notes;
mod open;
mod pack;
mod place;
mod query;
mod read;
mod relation_data;
mod relation_index;
mod relations;
mod replace;
mod rows;
mod schema;
mod search;
mod search_index;
mod statements;
mod turns;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rusqlite::{Connection, Transaction};

pub use self::drop::Dropping;
use self::failure::Step;
use self::keeper::Keeper;
pub use self::locks::install as install_locks;
use self::mark::Mark;
use self::place::StoreFile;
pub use self::search::HoldingRow;
use super::Lost;
use base::error::{Error, Result};
use base::lock;

/// How the file survives a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalMode {
    /// Write-ahead log: readers and the writer don't wait for each other.
    WriteAhead,
    /// Rollback journal, for file systems without shared memory: readers and the writer wait for
    /// each other.
    Rollback,
}

/// A connection; `None` once closed.
type Slot = Mutex<Option<Connection>>;

/// Stands for the path of an in-memory store.
pub(super) const IN_MEMORY: &str = ":memory:";

/// A store in SQLite: in one file, or in memory.
#[derive(Debug)]
pub struct SqliteBackend {
    /// `:memory:` for a store in memory.
    pub path: PathBuf,
    /// The file as it was opened, if it can be told from another file at its path.
    place: Option<Arc<StoreFile>>,
    store_id: String,
    /// How the file survives a crash. With [`JournalMode::Rollback`] on disk the user should be
    /// warned.
    pub journal: JournalMode,
    read_only: bool,
    /// `None` if it cannot be kept, and once closed.
    mark: Mutex<Option<Arc<Mark>>>,
    lost: Option<Lost>,
    /// Brings the indexes up to date, if it was asked to.
    keeper: Mutex<Option<Keeper>>,
    writer: Slot,
    /// Empty in memory: such a database has a single connection, which also reads.
    readers: Vec<Slot>,
    /// For a store opened for reading: sees whether anything changed, without waiting for a reader.
    watcher: Option<Slot>,
}

impl SqliteBackend {
    /// Opens the store at `path`; creates the file and its folders, accessible to their user only,
    /// if they are missing.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` if it is a directory, cannot be created, belongs to another program or
    /// stays busy for 10 s; `STORE_CORRUPT` if it is not a database or is damaged; `NOT_PRIVATE` if
    /// it, its folder or a file beside it is not its user's alone, or is a link; `NEWER_SCHEMA`;
    /// `READ_ONLY` if a write would fail; `NO_SPACE`.
    pub fn open(path: &Path) -> Result<Self> {
        let path = absolute(path)?;
        let real = open::create(&path)?;
        Ok(Self { path, ..open::writer(real)? })
    }

    /// Creates an empty store in memory, gone when it is closed or dropped. Nothing of it touches a
    /// disk.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` if SQLite lacks memory.
    pub fn in_memory() -> Result<Self> {
        let path = PathBuf::from(IN_MEMORY);
        let (connection, store_id) = open::in_memory(&path)?;
        let writer = slot(connection);
        Ok(Self { writer, ..Self::at(path, store_id, JournalMode::Rollback) })
    }

    /// Opens the store at `path` read-only: the file, its log and its schema stay as they are.
    /// Writes fail with `READ_ONLY`.
    ///
    /// # Errors
    /// As [`Self::open`]; `STORE_UNAVAILABLE` also if there is no such file, or its schema is older
    /// than this program's.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let path = absolute(path)?;
        let viewed = open::viewers(&path)?;
        Ok(Self { path, ..viewed })
    }

    /// Opens a copy that no other process has, whoever may read it there.
    pub(crate) fn open_copy(path: &Path) -> Result<Self> {
        open::view(path, open::How::ReadAlone).map_err(|failure| failure.at(path))
    }

    /// A store without a connection.
    fn at(path: PathBuf, store_id: String, journal: JournalMode) -> Self {
        Self {
            path,
            place: None,
            store_id,
            journal,
            read_only: false,
            mark: Mutex::new(None),
            lost: None,
            keeper: Mutex::new(None),
            writer: Mutex::new(None),
            readers: Vec::new(),
            watcher: None,
        }
    }

    /// Moves the store at `path` and its accompanying files, unchanged, to `NAME.corrupt-N`, and
    /// returns the new path. The next [`Self::open`] creates a new store.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` if there is no such file or it is in use, by this process or another;
    /// `FILE` if it cannot be moved.
    pub fn set_aside(path: &Path) -> Result<PathBuf> {
        aside::set_aside(&absolute(path)?)
    }

    /// Acknowledged transactions found missing when this was opened; the user should be warned.
    pub fn lost_before(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    fn read<T>(&self, query: impl FnMut(&Connection) -> Step<T>) -> Result<T> {
        self.read_by(self.free_reader().as_ref(), query)
    }

    fn read_by<T>(
        &self,
        connection: Option<&Connection>,
        mut query: impl FnMut(&Connection) -> Step<T>,
    ) -> Result<T> {
        let connection = connection.ok_or(Error::Closed { what: "store" })?;
        let read = failure::while_busy(|| query(connection));
        read.map_err(|failure| self.explained(failure.at(&self.path)))
    }

    /// Writes in one transaction, and tries again while the file is busy.
    fn change<T>(&self, mut step: impl FnMut(&Transaction<'_>) -> Step<T>) -> Result<T> {
        self.write(|connection| {
            let transaction = schema::begin(connection)?;
            let done = step(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    /// Writes by a step that begins by itself ([`schema::begin`]), and tries again while the file is
    /// busy.
    fn write<T>(&self, mut step: impl FnMut(&mut Connection) -> Step<T>) -> Result<T> {
        self.write_once(|connection| failure::while_busy(|| step(connection)))
    }

    /// Writes if the file is free right now.
    fn write_once<T>(&self, step: impl FnOnce(&mut Connection) -> Step<T>) -> Result<T> {
        if self.read_only {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        let mut slot = lock(&self.writer);
        let connection = slot.as_mut().ok_or(Error::Closed { what: "store" })?;
        if let Some(place) = &self.place {
            place.check(&self.store_id, &self.path)?;
        }
        let written = step(connection).map_err(|failure| {
            self.explained(failure.with_cause(connection, &self.path).at(&self.path))
        })?;
        if let Some(place) = &self.place {
            place.written();
        }
        Ok(written)
    }

    /// Reports a missing or replaced file instead of SQLite's error, since it explains any such
    /// error.
    fn explained(&self, error: Error) -> Error {
        let is_of_file = matches!(
            error,
            Error::StoreUnavailable { .. } | Error::StoreCorrupt { .. } | Error::NotAStore { .. }
        );
        let place = self.place.as_ref().filter(|_| is_of_file);
        place.and_then(|place| place.check(&self.store_id, &self.path).err()).unwrap_or(error)
    }

    /// A free reader, or the first one once it is free; in memory the only connection.
    fn free_reader(&self) -> MutexGuard<'_, Option<Connection>> {
        let free = self.readers.iter().find_map(|slot| slot.try_lock().ok());
        free.unwrap_or_else(|| lock(self.readers.first().unwrap_or(&self.writer)))
    }
}

/// Makes a path absolute: then it does not depend on the working folder, and SQLite never reads it
/// as a URI.
fn absolute(path: &Path) -> Result<PathBuf> {
    let no_path = |error| open::unavailable(path, "it is not a path", Some(error));
    std::path::absolute(path).map_err(no_path)
}

fn slot(connection: Connection) -> Slot {
    Mutex::new(Some(connection))
}

#[cfg(test)]
mod tests;
