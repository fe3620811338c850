//! The typed front of a store: opening, finding, version selectors. Once the store is open, must
//! not know which backend it has.

use std::any::Any;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::derived::Derived;
use super::query::{Query, QueryField, unknown};
use super::{
    Backend, Glance, IN_MEMORY, IndexedFolder, JournalMode, Lost, SqliteBackend, StoreSize, Version,
};
use base::clock::system_time;
use base::error::{Error, Result};
use base::object::{
    AsOf, Hash, Nickname, ObjectId, ObjectType, RedactionReason, StaticReference, Timestamp, TxId,
    VersionSelector, metadata_view,
};
use serde_json::Value;

/// How long a question about links waits for an index that a thread brings up to date.
const LINKS_PATIENCE: Duration = Duration::from_millis(100);

/// Gives the time for writes.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// A store of versioned objects. Clones share one backend. Calls block.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    clock: Clock,
    path: Arc<str>,
    notice: Option<Arc<str>>,
    derived: Arc<Derived>,
}

/// Counts and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Counts of objects, versions and items, and their sizes.
    pub size: StoreSize,
    /// Number and time of the oldest transaction that wrote a version; `None` on an empty store.
    pub oldest: Option<(TxId, Timestamp)>,
    /// Those of the newest transaction; `None` on an empty store.
    pub newest: Option<(TxId, Timestamp)>,
}

impl Store {
    /// Opens the SQLite store at `path` and creates it if it is missing. `:memory:` is a new store
    /// in memory, gone when its last clone is dropped.
    ///
    /// # Errors
    /// Those of [`SqliteBackend::open`].
    pub fn open(path: &str) -> Result<Self> {
        if path == IN_MEMORY {
            return Ok(Self::with_backend(Arc::new(SqliteBackend::in_memory()?)));
        }
        let backend = SqliteBackend::open(Path::new(path))?;
        let notices = notices(&backend, &backend.path.to_string_lossy());
        let notice = (!notices.is_empty()).then(|| notices.join("; ").into());
        Ok(Self { notice, ..Self::of_file(backend) })
    }

    /// Opens the store at `path` like [`Self::open`], but does not create one.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` if there is none or its file is empty, and those of [`Self::open`].
    pub fn open_existing(path: &str) -> Result<Self> {
        refuse_missing(path)?;
        Self::open(path)
    }

    /// Opens the SQLite store at `path` read-only: the files stay exactly as they are, and writes
    /// fail with `READ_ONLY`. `:memory:` is a new store.
    ///
    /// # Errors
    /// `STORE_UNAVAILABLE` if there is none, and those of [`SqliteBackend::open_read_only`].
    pub fn open_read_only(path: &str) -> Result<Self> {
        if path == IN_MEMORY {
            return Self::open(path);
        }
        refuse_missing(path)?;
        Ok(Self::of_file(SqliteBackend::open_read_only(Path::new(path))?))
    }

    /// A store in a file.
    pub(super) fn of_file(backend: SqliteBackend) -> Self {
        let path = backend.path.to_string_lossy().into_owned();
        Self { path: path.into(), ..Self::with_backend(Arc::new(backend)) }
    }

    /// Uses an existing backend. Its name in colons serves as the path.
    pub fn with_backend(backend: Arc<dyn Backend>) -> Self {
        let path = format!(":{}:", backend.name()).into();
        let (clock, derived) = (Arc::new(system_time), Arc::default());
        Self { backend, clock, path, notice: None, derived }
    }

    /// Takes the time for writes from `clock` instead of the system.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// The clock for writes.
    pub fn clock(&self) -> Clock {
        Arc::clone(&self.clock)
    }

    /// Sets a path to show instead of the backend's name.
    #[must_use]
    pub fn at_path(self, path: &str) -> Self {
        Self { path: path.into(), ..self }
    }

    /// The time that a write would get now.
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// ID of this store, part of the portable identity of the versions written here.
    pub fn id(&self) -> &str {
        self.backend.store_id()
    }

    /// Absolute path of the file, or `:memory:`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// A warning for the user, if there is one: the store is on a network file system, or
    /// acknowledged writes were missing when it was opened.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    /// Releases files and connections, for all clones. Later calls fail with `CLOSED`. Idempotent.
    pub fn close(&self) -> Result<()> {
        self.derived.clear();
        self.backend.close()
    }

    /// The value that `make` derives from an object, cached as long as nobody changes the store. A
    /// store opened for reading caches the values of two objects, any other none, because a working
    /// session does not view one for long.
    ///
    /// # Errors
    /// Those of `make`, and of the store.
    pub fn derived<T: Any + Send + Sync>(
        &self,
        of: &ObjectId,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<Arc<T>> {
        // Read the stamp before anything else: any change from now on changes it.
        match self.backend.stamp()? {
            Some(stamp) => self.derived.find_or_make(stamp, of, make),
            None => make().map(Arc::new),
        }
    }

    /// Reads the version visible at `at`. `None` if there is none.
    pub fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>> {
        self.backend.get(id, at)
    }

    /// Reads the version visible at `at`.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none.
    pub fn require(&self, id: &ObjectId, at: AsOf) -> Result<Version> {
        self.get(id, at)?.ok_or_else(|| not_found(id, at.to_string()))
    }

    /// Lists the object's own versions, newest first; empty for an unknown object. See
    /// [`Store::lineage`] for those before a move.
    pub fn history(&self, id: &ObjectId) -> Result<Vec<Version>> {
        self.backend.history(id)
    }

    /// The newest version of an object with this `content_hash`. `None` if there is none.
    pub fn find_version(&self, id: &ObjectId, content_hash: &Hash) -> Result<Option<Version>> {
        self.backend.find_version(id, content_hash)
    }

    /// Whether a person chose to forget an object.
    pub fn is_forgotten(&self, id: &ObjectId) -> Result<bool> {
        let redaction = self.glance(id)?.and_then(|latest| latest.redacted);
        Ok(redaction.is_some_and(|redaction| redaction.reason == RedactionReason::Forgotten))
    }

    /// See [`Backend::glance`].
    pub fn glance(&self, id: &ObjectId) -> Result<Option<Glance>> {
        self.backend.glance(id)
    }

    /// Lists the latest versions of objects of one type by ID, after `after`; at most `limit`.
    pub fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>> {
        self.backend.list(kind, after, limit)
    }

    /// The latest versions of all objects of one type by ID, in pages. An error ends them.
    pub fn pages(
        &self,
        kind: ObjectType,
        versions: usize,
    ) -> impl Iterator<Item = Result<Vec<Version>>> {
        let mut next: Option<Option<ObjectId>> = Some(None);
        std::iter::from_fn(move || {
            let page = self.list(kind, next.take()?.as_ref(), versions);
            if let Ok(page) = &page {
                next = Some(Some(page.last()?.envelope.id.clone()));
            }
            Some(page)
        })
    }

    /// When the objects of one type were last written: of each one's latest version the transaction
    /// and the time in its original store. In no order.
    pub fn last_written(&self, kind: ObjectType) -> Result<Vec<(ObjectId, TxId, Timestamp)>> {
        self.backend.last_written(kind)
    }

    /// Finds versions by their metadata, without reading contents or items; see [`Query`] for
    /// fields, logic and order.
    ///
    /// # Errors
    /// Those of [`Query::check`]; `UNKNOWN_FIELD` with similar names if the query names a payload
    /// field or an additional content that no version of any object has. An empty store knows every
    /// field.
    pub fn query(&self, query: &Query) -> Result<Vec<Version>> {
        for path in query.fields() {
            // A shared store has no index of contents: there, only payload fields count.
            if QueryField::of(path)?.is_derived() && self.backend.upkeep().is_some() {
                self.relations()?;
                break;
            }
        }
        let found = self.backend.query(query)?;
        if self.backend.newest()?.0 != TxId(0) {
            for path in query.fields() {
                if QueryField::of(path)?.is_open() && !self.backend.has_field(path)? {
                    return Err(unknown(path, &self.backend.field_paths()?));
                }
            }
        }
        Ok(found)
    }

    /// The fields of a version's metadata line, see [`metadata_view`], with the object's first
    /// nickname.
    ///
    /// # Errors
    /// As [`Self::content`], for additional contents that its view names.
    pub fn metadata_view(&self, version: &Version) -> Result<Vec<(String, Value)>> {
        let nicknames = self.nicknames(&version.envelope.id)?;
        let additional = |name: &str| self.additional(version, name);
        metadata_view(&version.envelope, &version.fields, nicknames.first(), additional)
    }

    /// Lists IDs that start with `prefix`, in order; at most `limit`.
    pub fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>> {
        self.backend.find_prefix(prefix, limit)
    }

    /// The object that has a nickname.
    pub fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>> {
        self.backend.find_nickname(nickname)
    }

    /// Reads the version that a name such as `NAME@TX` or `NAME@-1` selects, including versions
    /// before a move.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none.
    pub fn select(&self, id: &ObjectId, selector: VersionSelector) -> Result<Version> {
        match selector {
            VersionSelector::Latest => self.require(id, AsOf::Latest),
            VersionSelector::Tx(tx_id) => self.select_as_of(id, AsOf::Tx(tx_id)),
            VersionSelector::Time(time) => self.select_as_of(id, AsOf::Time(time)),
            VersionSelector::Back(back) => {
                let place = usize::try_from(back).unwrap_or(usize::MAX);
                let earlier = self.lineage(id)?.into_iter().nth(place);
                earlier.ok_or_else(|| not_found(id, format!("{back} before the latest")))
            }
        }
    }

    /// The version visible at a time; before a move, that of the object at its earlier place.
    fn select_as_of(&self, id: &ObjectId, at: AsOf) -> Result<Version> {
        if let Some(version) = self.get(id, at)? {
            return Ok(version);
        }
        let is_visible = |version: &Version| match at {
            AsOf::Latest => true,
            AsOf::Tx(tx_id) => version.tx_id <= tx_id,
            AsOf::Time(time) => version.system_time <= time,
        };
        let found = self.lineage(id)?.into_iter().find(is_visible);
        found.ok_or_else(|| not_found(id, at.to_string()))
    }

    /// Pins a version.
    pub fn static_reference(version: &Version) -> StaticReference {
        StaticReference {
            id: version.envelope.id.clone(),
            content_hash: version.content_hash.clone(),
            origin: version.origin.clone(),
        }
    }

    /// Lists versions of all objects written after transaction `after`, in the order of writing:
    /// whole transactions, at least one, until `limit` versions are reached.
    pub fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>> {
        self.backend.changes(after, limit)
    }

    /// The versions of all objects up to a transaction, in the order of writing, in pages of whole
    /// transactions. An error ends them.
    pub fn log(&self, until: TxId, versions: usize) -> impl Iterator<Item = Result<Vec<Version>>> {
        let mut after = Some(TxId(i64::MIN));
        std::iter::from_fn(move || {
            let mut page = self.changes(after.take()?, versions);
            if let Ok(page) = &mut page {
                page.retain(|version| version.tx_id <= until);
                after = Some(page.last()?.tx_id);
            }
            Some(page)
        })
    }

    /// The nicknames of an object, in order.
    pub fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>> {
        self.backend.nicknames(id)
    }

    /// Number and time of the newest transaction; zeros on an empty store.
    pub fn newest(&self) -> Result<(TxId, Timestamp)> {
        self.backend.newest()
    }

    /// Records that a person had a folder indexed, unless a recorded folder contains it.
    pub fn add_folder(&self, folder: &IndexedFolder) -> Result<()> {
        if self.folders()?.iter().any(|known| known.holds(&folder.filesystem_id, &folder.path)) {
            return Ok(());
        }
        self.upkeep("list of indexed folders")?.add_folder(folder)
    }

    /// The recorded folders, by filesystem and path.
    pub fn folders(&self) -> Result<Vec<IndexedFolder>> {
        self.backend.upkeep().map_or(Ok(Vec::new()), SqliteBackend::folders)
    }

    /// Acknowledged transactions that were found missing, in the order of discovery.
    pub fn lost(&self) -> Result<Vec<Lost>> {
        self.backend.upkeep().map_or(Ok(Vec::new()), SqliteBackend::lost)
    }

    /// The index of relations, up to date with the store as far as a thread that keeps it is.
    ///
    /// # Errors
    /// `UNSUPPORTED` if the backend has none; `READ_ONLY`, `NO_SPACE` if it cannot be filled.
    pub fn relations(&self) -> Result<&SqliteBackend> {
        let index = self.upkeep("index of relations")?;
        // A call waits for what was written last, never for all of a store from before.
        index.index_relations(self.keeps_indexes().then_some(LINKS_PATIENCE))?;
        Ok(index)
    }

    /// Keeps the indexes up to date from now on, on a thread of its own, a little after each
    /// commit. A store in memory is left to its questions.
    ///
    /// # Errors
    /// `UNSUPPORTED` for a shared store; those of opening the file once more.
    pub fn keep_indexes(&self) -> Result<()> {
        self.upkeep("keeping indexes")?.keep_indexes()
    }

    /// Whether [`Self::keep_indexes`] is at work.
    pub(super) fn keeps_indexes(&self) -> bool {
        self.backend.upkeep().is_some_and(SqliteBackend::keeps_indexes)
    }

    /// Counts and measures. Reads every page of the file.
    pub fn stats(&self) -> Result<Stats> {
        let first = self.changes(TxId(0), 1)?;
        let newest = self.newest()?;
        Ok(Stats {
            size: self.upkeep("measuring")?.size()?,
            oldest: first.first().map(|version| (version.tx_id, version.system_time)),
            newest: (newest.0 > TxId(0)).then_some(newest),
        })
    }

    /// The operations that only a local store supports. `what`: the requested operation.
    ///
    /// # Errors
    /// `UNSUPPORTED` for a shared store.
    pub fn upkeep(&self, what: &'static str) -> Result<&SqliteBackend> {
        let backend = self.backend.name();
        self.backend.upkeep().ok_or(Error::Unsupported { what, backend })
    }

    /// The backend, for transactions.
    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

fn refuse_missing(path: &str) -> Result<()> {
    let file = Path::new(path);
    let problem = match file.metadata() {
        _ if path == IN_MEMORY => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => "there is none",
        // A store would be made of it.
        Ok(found) if found.is_file() && found.len() == 0 => "it is empty",
        _ => return Ok(()),
    };
    let (path, problem) = (file.to_owned(), problem.to_owned());
    Err(Error::StoreUnavailable { path, problem, source: None })
}

fn notices(backend: &SqliteBackend, path: &str) -> Vec<String> {
    let network = (backend.journal == JournalMode::Rollback).then(|| {
        format!("the store `{path}` is on a network file system: processes wait for each other")
    });
    let lost = backend.lost_before().map(|Lost { store_id, from, to, .. }| {
        if store_id == backend.store_id() {
            format!(
                "the store `{path}` lost transactions {from} to {to}, which had been written: its file or its \
                 write-ahead log was damaged, replaced or removed; `palimpsest doctor` checks the rest"
            )
        } else {
            format!(
                "the store `{path}` is new: one with {to} transactions stood there before, and its file or its \
                 write-ahead log is gone"
            )
        }
    });
    network.into_iter().chain(lost).collect()
}

pub(super) fn not_found(id: &ObjectId, at: String) -> Error {
    Error::NotFound { id: id.clone(), at }
}
