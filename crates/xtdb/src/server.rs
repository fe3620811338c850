//! A store in XTDB 1 that many machines share, over its own HTTP server (1.24). Only the modules
//! below this one speak HTTP.
//!
//! `ahead` keeps what is read of a session, `histories` those of lists. `client` calls the server and turns failures into typed errors; `edn` reads and writes the
//! notation in which XTDB gives times to the millisecond; `examine` identifies a server.
//! `known` recognises its log, `machines` who writes to it. `documents` defines how objects look there, `plan` and `write` are
//! commits, `read`, `find` and `logged` reads. Our transactions have XTDB's numbers and times. Must not know of another store.

mod ahead;
mod client;
mod documents;
mod edn;
mod erase;
mod examine;
mod find;
mod histories;
mod known;
mod logged;
mod machines;
mod plan;
mod read;
mod write;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use self::ahead::AtHand;
pub(crate) use self::client::Tx;
use self::client::failure::ingester_failed;
use self::client::{At, Client, ClientOptions, Document, SubmitError, TxOp};
use self::documents::{FORMAT, STORE};
pub(crate) use self::examine::PATIENCE;
pub use self::examine::{XtdbServer, examine as examine_xtdb};
use self::histories::Histories;
use self::known::LogKnowledge;
pub(crate) use self::logged::Logged;
pub(crate) use self::machines::Introduced;
pub use self::machines::Machine;
use base::error::{Error, Result};
use base::lock;
use base::object::{
    AsOf, FieldPath, Hash, Nickname, ObjectId, ObjectType, Origin, Room, Timestamp, TxId,
};
use config::XtdbOptions;
use store::{Backend, Item, Op, PlacedItem, Query, Receipt, Store, Version};

/// A store in XTDB.
pub struct XtdbBackend {
    client: Client,
    store_id: String,
    /// The transaction that made the database ours; all our others are later.
    first: Tx,
    known: Mutex<LogKnowledge>,
    writer_id: String,
    /// The writer's document as this process left it; `None` if it must be read.
    writer: Mutex<Option<Document>>,
    /// Marks of other stores' versions that were missing when last asked for. If one is there when
    /// it is to be written, somebody else brought it meanwhile.
    missed: Mutex<HashSet<String>>,
    /// Contents of the part of the log that is being taken, or what was read of a session.
    at_hand: Mutex<AtHand>,
    histories: Mutex<Histories>,
    /// Transactions to send before the first is looked up.
    at_once: AtomicUsize,
    is_closed: AtomicBool,
}

/// Opens a store in XTDB. Its path is the server's address.
///
/// # Errors
/// Those of [`XtdbBackend::connect`].
pub fn connect(options: &XtdbOptions) -> Result<Store> {
    let backend = XtdbBackend::connect(options)?;
    let url = backend.url().to_owned();
    Ok(Store::with_backend(Arc::new(backend)).at_path(&url))
}

impl XtdbBackend {
    /// Connects to a server and turns an empty database into a store.
    ///
    /// # Errors
    /// `XTDB_UNAVAILABLE`, `XTDB_REFUSED`, `XTDB_FAILED`; `XTDB_FOREIGN` for another server, an
    /// XTDB 2, or a database with other people's documents; `NEWER_SCHEMA` for one of a later
    /// release; `NOT_PRIVATE`, `FILE` for the token's file.
    pub fn connect(options: &XtdbOptions) -> Result<Self> {
        Self::connect_within(options, None)
    }

    /// As [`Self::connect`], for somebody who waits no longer than this for all that is asked.
    pub(crate) fn connect_within(
        options: &XtdbOptions,
        deadline: Option<Duration>,
    ) -> Result<Self> {
        let client = Client::new(ClientOptions::of(options, deadline)?)?;
        let status = client.status()?;
        if status.ingester_failed {
            return Err(ingester_failed(client.url(), 500));
        }
        let (store_id, first) = open(&client)?;
        let writer_id = options.writer.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        Ok(Self {
            client,
            store_id,
            first,
            known: Mutex::new(LogKnowledge::from(first)),
            writer_id,
            writer: Mutex::new(None),
            missed: Mutex::default(),
            at_hand: Mutex::default(),
            histories: Mutex::default(),
            at_once: AtomicUsize::new(write::SENT_AT_ONCE),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Address of the server.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Passes the log after a transaction to `take` in parts, see [`Logged`]. Meanwhile the
    /// contents of each part are cached.
    pub(crate) fn log(
        &self,
        after: TxId,
        limit: usize,
        take: &mut dyn FnMut(Logged) -> Result<()>,
    ) -> Result<()> {
        self.open()?.logged_in_parts(after, limit, &mut |mut logged| {
            lock(&self.at_hand).texts = std::mem::take(&mut logged.texts);
            let taken = take(logged);
            lock(&self.at_hand).texts.clear();
            taken.map(ControlFlow::Continue)
        })
    }

    fn open(&self) -> Result<&Self> {
        if self.is_closed.load(Ordering::Acquire) {
            return Err(Error::Closed { what: "store" });
        }
        Ok(self)
    }

    fn failed(&self, problem: &str) -> Error {
        failed(&self.client, problem)
    }
}

fn failed(client: &Client, problem: &str) -> Error {
    Error::XtdbFailed { url: client.url().to_owned(), status: 500, problem: problem.to_owned() }
}

/// The ID of the store in a database, and the transaction that made it one; an empty database
/// becomes this store.
fn open(client: &Client) -> Result<(String, Tx)> {
    if let Some(found) = marked(client)? {
        return Ok(found);
    }
    // A server that makes its index anew, as after a restore, does not see all of its log yet.
    if let Some(newest) = client.latest_submitted()? {
        client.await_tx(newest)?;
        if let Some(found) = marked(client)? {
            return Ok(found);
        }
    }
    let attributes = client.attribute_stats()?;
    if let Some(attribute) = attributes.keys().find(|name| *name != "xt/id") {
        let found = format!("a database with documents of others, which have `{attribute}`");
        return Err(Error::XtdbForeign { url: client.url().to_owned(), found });
    }
    // The server's counts lag behind recent writes.
    let query = "{:find [e] :where [[e :xt/id]] :limit 1}";
    let others = client.query(query, &[], At::Latest, &Room::for_answers())?;
    // Our own document is there if another process was faster.
    let is_other = |id: &Value| id.as_str() != Some(STORE);
    if let Some(id) = others.into_iter().flatten().find(is_other) {
        let found = format!("a database with documents of others, such as `{id}`");
        return Err(Error::XtdbForeign { url: client.url().to_owned(), found });
    }
    let mark = documents::store(&Uuid::now_v7().to_string());
    let ops = [TxOp::Match(STORE.to_owned(), None), TxOp::Put(mark)];
    let tx = client.submit(&ops).map_err(SubmitError::into_error)?;
    // If another process was faster, its mark stands.
    client.await_tx(tx)?;
    client.saw(tx);
    marked(client)?.ok_or_else(|| failed(client, "it did not keep the first document"))
}

fn marked(client: &Client) -> Result<Option<(String, Tx)>> {
    let Some(mark) = client.latest(STORE)? else { return Ok(None) };
    let format: u64 = documents::field(&mark, "format")?;
    if format > FORMAT {
        let found =
            format!("a store of a later release (format {format}, this program knows {FORMAT})");
        return Err(Error::XtdbForeign { url: client.url().to_owned(), found });
    }
    let store_id = documents::field(&mark, "store_id")?;
    let first = client.entity_tx(STORE, At::Latest)?;
    Ok(first.map(|first| (store_id, first.tx)))
}

/// The mark that identifies a version of another store.
pub(super) fn mark(version: &Version) -> String {
    documents::origin_id(&version.envelope.id, &version.origin)
}

impl fmt::Debug for XtdbBackend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("XtdbBackend").field("url", &self.url()).finish_non_exhaustive()
    }
}

impl Backend for XtdbBackend {
    fn name(&self) -> &'static str {
        "xtdb"
    }

    fn store_id(&self) -> &str {
        &self.store_id
    }

    fn commit_all(&self, transactions: &[&[Op]], _now: Timestamp) -> Result<Vec<Receipt>> {
        self.open()?.commit_in_order(transactions)
    }

    fn newest(&self) -> Result<(TxId, Timestamp)> {
        self.open()?.newest_tx()
    }

    fn get(&self, id: &ObjectId, at: AsOf) -> Result<Option<Version>> {
        if let Some(history) = self.open()?.history_at_hand(id, at) {
            return Ok(history.into_iter().next());
        }
        let Some(at) = self.open()?.at(at)? else { return Ok(None) };
        self.version(id, at, &Room::for_answers())
    }

    fn history(&self, id: &ObjectId) -> Result<Vec<Version>> {
        if self.open()?.reads_ahead() {
            return Ok(self.list(id)?.versions.clone());
        }
        self.history_in(id, &Room::for_answers())
    }

    fn content(&self, hash: &Hash) -> Result<Option<String>> {
        self.open()?.text(hash)
    }

    fn items(&self, id: &ObjectId, at: AsOf, range: Range<u64>) -> Result<Vec<Item>> {
        let Some(at) = self.open()?.at(at)? else { return Ok(Vec::new()) };
        self.items_of(id, at, range)
    }

    fn placed_items(&self, id: &ObjectId, range: Range<u64>) -> Result<Vec<PlacedItem>> {
        self.open()?.items_ever(id, range)
    }

    fn changes(&self, after: TxId, limit: usize) -> Result<Vec<Version>> {
        let logged = self.open()?.logged(after, limit)?;
        match logged.broken.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(logged.versions),
        }
    }

    fn find_origin(&self, id: &ObjectId, origin: &Origin) -> Result<Vec<Version>> {
        self.open()?.versions_of_origin(id, origin)
    }

    fn histories(&self, ids: &[ObjectId]) -> Result<Option<HashMap<ObjectId, Vec<Version>>>> {
        if self.open()?.reads_ahead() {
            return self.histories_ahead(ids).map(Some);
        }
        self.histories_of(ids).map(Some)
    }

    fn lacks(&self, versions: &[(&ObjectId, &Origin)]) -> Result<Vec<bool>> {
        self.open()?.lacks_origins(versions)
    }

    fn latest(&self, ids: &[ObjectId]) -> Result<HashMap<ObjectId, (Hash, Origin, usize)>> {
        self.open()?.latest_origins(ids)
    }

    fn list(
        &self,
        kind: ObjectType,
        after: Option<&ObjectId>,
        limit: usize,
    ) -> Result<Vec<Version>> {
        let mut ids = self.open()?.ids_of(kind, after)?;
        ids.truncate(limit);
        self.versions(&ids, At::Latest)
    }

    fn query(&self, query: &Query) -> Result<Vec<Version>> {
        self.open()?.answer(query)
    }

    fn has_field(&self, path: &FieldPath) -> Result<bool> {
        self.open()?.has_value(path)
    }

    fn field_paths(&self) -> Result<Vec<FieldPath>> {
        self.open()?.paths()
    }

    fn find_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<ObjectId>> {
        self.open()?.ids_with_prefix(prefix, limit)
    }

    fn find_nickname(&self, nickname: &Nickname) -> Result<Option<ObjectId>> {
        self.open()?.owner(nickname)
    }

    fn nicknames(&self, id: &ObjectId) -> Result<Vec<Nickname>> {
        self.open()?.nicknames_of(id)
    }

    fn close(&self) -> Result<()> {
        self.is_closed.store(true, Ordering::Release);
        Ok(())
    }
}
