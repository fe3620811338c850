//! A client for XTDB's own HTTP server, version 1. Calls block the caller; network I/O runs on a
//! single thread of the client, which starts with the first call. Must not know what the documents
//! mean.
//!
//! Every answer is bounded in time and size, and the part that is kept by the caller's [`Room`].
//! Reads are retried where that may help; a transaction never, unless the server cannot have seen
//! it.

mod answers;
mod body;
pub(super) mod failure;
mod found;
mod http;
mod log;
mod operations;
mod reply;
mod runtime;
#[cfg(test)]
mod tests;
mod tls;
mod token;
mod types;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use self::answers::Long;
use self::body::Body;
use self::failure::{Failure, unavailable};
use self::http::{Http, Notation, Request};
use self::reply::Reply;
use self::runtime::Runtime;
pub(crate) use self::types::{
    At, ClientOptions, Document, EntityTx, LoggedTx, Row, Status, SubmitError, Tx, TxOp,
};
use base::error::{Error, Result};
use base::lock;
use base::object::{Room, Timestamp};

/// A read as of then sees a document from its transaction on. A read as of now would miss it on a
/// node whose clock is behind that of the node that gave the transaction its time.
const END_OF_TIME: &str = "9999-12-31T23:59:59Z";

/// A client for one server.
pub(crate) struct Client {
    http: Http,
    runtime: Mutex<Option<Arc<Runtime>>>,
    /// The newest transaction that this client wrote or saw; −1 for none.
    seen: AtomicI64,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.http.limits.url).finish_non_exhaustive()
    }
}

impl Client {
    /// Sends nothing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for an invalid server address.
    pub(crate) fn new(options: ClientOptions) -> Result<Self> {
        Ok(Self { http: Http::new(options)?, runtime: Mutex::new(None), seen: AtomicI64::new(-1) })
    }

    /// The server's address, without `/_xtdb`.
    pub(crate) fn url(&self) -> &str {
        &self.http.limits.url
    }

    /// The server's status; also the way to find out what answers there.
    pub(crate) fn status(&self) -> Result<Status> {
        self.ask(&Request::get("status", Notation::Json), answers::status).or_else(|error| {
            let found = found::look(&self.http, &*self.runtime()?, &error);
            Err(found.map_or(error, |found| failure::foreign(self.url(), found)))
        })
    }

    /// The server's clock, which is the time of a read of the latest state.
    pub(crate) fn time(&self) -> Result<Timestamp> {
        self.ask(&Request::get("db", Notation::Edn), answers::time)
    }

    /// Sends a transaction, once. It is logged when this returns, but neither indexed nor
    /// committed: see [`Self::committed`].
    pub(crate) fn submit<'a>(
        &self,
        ops: impl IntoIterator<Item = &'a TxOp>,
    ) -> Result<i64, SubmitError> {
        let body = operations::body(ops).map_err(SubmitError::Refused)?;
        let mut request = Request::get("submit-tx", Notation::Json);
        request.body = Some((Notation::Json, body));
        let runtime = self.runtime().map_err(SubmitError::NotSent)?;
        let reply = self.http.send(&runtime, &request).map_err(|failure| {
            if failure.unsent {
                SubmitError::NotSent(failure.error)
            } else {
                SubmitError::Unknown(failure.error)
            }
        })?;
        answers::submitted(&reply).map_err(|failure| match reply.status {
            // A proxy that reports failure may have passed the transaction on.
            200..=299 | 408 | 429 | 500.. => SubmitError::Unknown(failure.error),
            _ => SubmitError::Refused(failure.error),
        })
    }

    /// Whether a logged transaction was committed. Waits until it is indexed.
    pub(crate) fn committed(&self, tx: i64) -> Result<bool> {
        let request = Request::get("tx-committed", Notation::Json).with("tx-id", tx.to_string());
        self.ask(&self.awaiting(request, tx), answers::committed)
    }

    /// The committed transactions from `first` on, in order, at least those up to `last`. Waits
    /// until `last` is indexed.
    pub(crate) fn log_times(&self, first: i64, last: i64) -> Result<Vec<Tx>> {
        let mut request = Request::get("tx-log", Notation::Edn);
        if first > 0 {
            request = request.with("after-tx-id", (first - 1).to_string());
        }
        self.ask_long(&self.awaiting(request, last), &Room::for_answers(), answers::transactions)
    }

    /// Waits until a transaction is indexed; returns the newest indexed one.
    pub(crate) fn await_tx(&self, tx: i64) -> Result<Tx> {
        let mut request = Request::get("await-tx", Notation::Edn)
            .with("tx-id", tx.to_string())
            .with("timeout", self.http.await_ms());
        request.awaits = true;
        self.ask(&request, answers::tx)
    }

    /// The newest transaction that this node has indexed; `None` if the database is empty.
    pub(crate) fn latest_completed(&self) -> Result<Option<Tx>> {
        self.ask(&Request::get("latest-completed-tx", Notation::Edn), answers::latest)
    }

    /// The newest transaction in the log; `None` if the database is empty.
    pub(crate) fn latest_submitted(&self) -> Result<Option<i64>> {
        self.ask(&Request::get("latest-submitted-tx", Notation::Json), answers::latest_id)
    }

    /// Makes later reads of the latest state wait for a transaction, even if another node answers
    /// them.
    pub(crate) fn saw(&self, tx: i64) {
        self.seen.fetch_max(tx, Ordering::AcqRel);
    }

    /// The newest transaction that this client wrote or saw; −1 for none.
    pub(crate) fn newest_seen(&self) -> i64 {
        self.seen.load(Ordering::Acquire)
    }

    /// An entity; `None` if there is none.
    pub(crate) fn entity(&self, id: &str, at: At, room: &Room) -> Result<Option<Document>> {
        let request = Request::get("entity", Notation::Json).with("eid", id);
        self.ask_long(&self.as_of(request, at), room, answers::entity)
    }

    /// The document that an ID has now.
    pub(crate) fn latest(&self, id: &str) -> Result<Option<Document>> {
        self.entity(id, At::Latest, &Room::for_answers())
    }

    /// The transaction that gave an entity its state; `None` if it never existed, or was evicted.
    pub(crate) fn entity_tx(&self, id: &str, at: At) -> Result<Option<EntityTx>> {
        let request = Request::get("entity-tx", Notation::Edn).with("eid", id);
        self.ask(&self.as_of(request, at), answers::entity_tx)
    }

    /// All versions of an entity, oldest first; none if it never existed, or was evicted. `from`: only
    /// those of this transaction and later ones.
    ///
    /// Only EDN has times to the millisecond, and only JSON has documents as they were put, so both
    /// are requested.
    pub(crate) fn history(&self, id: &str, from: Option<i64>, room: &Room) -> Result<Vec<Row>> {
        // An eviction between the two requests removes the documents; on the second try the history
        // is gone, too.
        for _ in 0..2 {
            let versions = self.up_to_date(history_of(id, from, Notation::Edn));
            let versions = self.ask_long(&versions, room, answers::versions)?;
            if versions.is_empty() {
                return Ok(Vec::new());
            }
            let with_documents = history_of(id, from, Notation::Json).with("with-docs", "true");
            let with_documents = self.up_to_date(with_documents);
            let documents = self.ask_long(&with_documents, room, answers::documents)?;
            let documents: HashMap<_, _> =
                documents.into_iter().map(|(hash, document)| (hash, Arc::new(document))).collect();
            let row = |version: answers::Version| {
                let document = match version.content_hash {
                    None => None,
                    Some(hash) => Some(Arc::clone(documents.get(&hash)?)),
                };
                Some(Row { tx: version.tx, document })
            };
            if let Some(rows) = versions.into_iter().map(row).collect() {
                return Ok(rows);
            }
        }
        Err(failure::unreadable(self.url(), "lacks documents of a history"))
    }

    /// The committed transactions that wrote an entity, from one on, in order, at least those up to
    /// `last`. Waits until `last` is indexed.
    pub(crate) fn writes(&self, id: &str, from: i64, last: i64) -> Result<Vec<Tx>> {
        let request = self.awaiting(history_of(id, Some(from), Notation::Edn), last);
        let versions = self.ask_long(&request, &Room::for_answers(), answers::versions)?;
        Ok(versions.into_iter().map(|version| version.tx).collect())
    }

    /// The results of a query. `query` is an EDN map; `args` are the values of its `:in`: texts,
    /// truth values, and lists of them, which EDN writes as JSON does.
    pub(crate) fn query(
        &self,
        query: &str,
        args: &[Value],
        at: At,
        room: &Room,
    ) -> Result<Vec<Vec<Value>>> {
        let args = args.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        let body = format!("{{:query {query}, :in-args [{args}]}}");
        let mut request = Request::get("query", Notation::Json);
        request.body = Some((Notation::Edn, body.into_bytes()));
        self.ask_long(&self.as_of(request, at), room, answers::tuples)
    }

    /// Passes the committed transactions after one to `take`, oldest first, as they arrive. `take`
    /// may stop early, and may ask the server other things meanwhile.
    pub(crate) fn log(
        &self,
        after: Option<i64>,
        take: &mut dyn FnMut(LoggedTx) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        log::read(&*self.runtime()?, &self.http, after, take)
    }

    /// The approximate number of document versions with each attribute. The server counts a moment
    /// after it has indexed.
    pub(crate) fn attribute_stats(&self) -> Result<BTreeMap<String, u64>> {
        self.ask(&Request::get("attribute-stats", Notation::Json), answers::attribute_stats)
    }

    fn ask<T>(&self, request: &Request, read: fn(&Reply) -> Result<T, Failure>) -> Result<T> {
        self.explained(request, self.ask_plainly(request, read))
    }

    /// Asks for something that may be long.
    fn ask_long<T>(
        &self,
        request: &Request,
        room: &Room,
        read: fn(Long<'_>) -> Result<T, Failure>,
    ) -> Result<T> {
        let read = |reply: &Reply, body: &mut Body<'_>| read(Long { reply, body, room });
        self.explained(request, self.http.ask(&*self.runtime()?, request, true, read))
    }

    /// Explains a failed request.
    fn explained<T>(&self, request: &Request, result: Result<T>) -> Result<T> {
        match result {
            // The exception then has no class of its own.
            Err(Error::XtdbFailed { status: status @ 500.., .. })
                if request.awaits && self.has_failed_for_good() =>
            {
                Err(failure::ingester_failed(self.url(), status))
            }
            result => result,
        }
    }

    fn has_failed_for_good(&self) -> bool {
        let status = self.ask_plainly(&Request::get("status", Notation::Json), answers::status);
        status.is_ok_and(|status| status.ingester_failed)
    }

    fn ask_plainly<T>(
        &self,
        request: &Request,
        read: fn(&Reply) -> Result<T, Failure>,
    ) -> Result<T> {
        self.http.ask(&*self.runtime()?, request, false, |reply, _| read(reply))
    }

    fn as_of(&self, request: Request, at: At) -> Request {
        let request = request.with("valid-time", END_OF_TIME);
        match at {
            At::Tx(tx) => self.awaiting(request.with("tx-id", tx.to_string()), tx),
            At::Time(time) => self.up_to_date(request.with("tx-time", time.to_string())),
            At::Latest => self.up_to_date(request),
        }
    }

    /// Has the server wait for everything that this client has seen.
    fn up_to_date(&self, request: Request) -> Request {
        match self.newest_seen() {
            seen if seen >= 0 => self.awaiting(request, seen),
            _ => request,
        }
    }

    /// Has the server wait for a transaction, with a time-out: otherwise it would wait for ever.
    fn awaiting(&self, request: Request, tx: i64) -> Request {
        let mut request = request
            .with("await-tx-id", tx.to_string())
            .with("await-tx-timeout", self.http.await_ms());
        request.awaits = true;
        request
    }

    fn runtime(&self) -> Result<Arc<Runtime>> {
        let mut slot = lock(&self.runtime);
        if let Some(runtime) = &*slot {
            return Ok(Arc::clone(runtime));
        }
        let started = Runtime::start().map_err(|error| {
            unavailable(self.url(), format!("no thread for it ({error})"), Some(error.into()))
        })?;
        let started = Arc::new(started);
        *slot = Some(Arc::clone(&started));
        Ok(started)
    }
}

fn history_of(id: &str, from: Option<i64>, accept: Notation) -> Request {
    let request = Request::get("entity", accept)
        .with("eid", id)
        .with("history", "true")
        .with("sort-order", "asc")
        .with("with-corrections", "true")
        .with("valid-time", END_OF_TIME);
    match from {
        Some(from) => request.with("start-tx-id", from.to_string()),
        None => request,
    }
}
