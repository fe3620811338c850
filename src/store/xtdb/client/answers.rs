//! What answers say: from status and body to typed results, or to typed errors. Pure.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::edn::{self, Edn};
use super::failure::{self, Again, Failure};
use super::reply::Reply;
use super::{Document, EntityTx, LoggedOp, Status, Tx};
use crate::error::Error;
use crate::object::Timestamp;

/// The content hash of a version that is deleted.
const DELETED: &str = "0000000000000000000000000000000000000000";

type Read<T> = Result<T, Failure>;

/// `/status`.
pub(super) fn status(url: &str, reply: &Reply) -> Read<Status> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told {
        version: String,
        index_version: i64,
        kv_store: String,
        #[serde(default)]
        estimate_num_keys: Option<u64>,
        #[serde(rename = "ingesterFailed?", default)]
        ingester_failed: bool,
    }
    expect(url, reply, 200)?;
    let told: Told = serde_json::from_slice(&reply.body)
        .map_err(|_| Failure::never(failure::of_content(url, reply)))?;
    if told.version.starts_with(|first: char| first.is_ascii_digit())
        && !told.version.starts_with("1.")
    {
        let found = format!("XTDB {}", told.version);
        return Err(Failure::never(Error::XtdbForeign { url: url.to_owned(), found }));
    }
    Ok(Status {
        version: told.version,
        index_version: told.index_version,
        kv_store: told.kv_store,
        ingester_failed: told.ingester_failed,
        estimate_num_keys: told.estimate_num_keys,
    })
}

/// `/submit-tx`: the transaction's ID.
pub(super) fn submitted(url: &str, reply: &Reply) -> Read<i64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told {
        tx_id: i64,
    }
    expect(url, reply, 202)?;
    json::<Told>(url, reply).map(|told| told.tx_id)
}

/// `/tx-committed`.
pub(super) fn committed(url: &str, reply: &Reply) -> Read<bool> {
    #[derive(Deserialize)]
    struct Told {
        #[serde(rename = "txCommitted?")]
        committed: bool,
    }
    expect(url, reply, 200)?;
    json::<Told>(url, reply).map(|told| told.committed)
}

/// `/tx-log`, without operations.
pub(super) fn transactions(url: &str, reply: &Reply) -> Read<Vec<Tx>> {
    expect(url, reply, 200)?;
    let (Edn::List(rows) | Edn::Vector(rows)) = notation(url, reply)? else {
        return Err(shape(url));
    };
    rows.iter().map(tx_of).collect::<Option<_>>().ok_or_else(|| shape(url))
}

/// `/await-tx`.
pub(super) fn tx(url: &str, reply: &Reply) -> Read<Tx> {
    expect(url, reply, 200)?;
    let told = notation(url, reply)?;
    tx_of(&told).ok_or_else(|| shape(url))
}

/// `/db`: the time of the server's clock.
pub(super) fn time(url: &str, reply: &Reply) -> Read<Timestamp> {
    expect(url, reply, 200)?;
    match notation(url, reply)?.get("xtdb.api/valid-time") {
        Some(&Edn::Instant(time)) => Ok(time),
        _ => Err(shape(url)),
    }
}

/// `/latest-completed-tx`: `None` in an empty database.
pub(super) fn latest(url: &str, reply: &Reply) -> Read<Option<Tx>> {
    if is_absent(reply) { Ok(None) } else { tx(url, reply).map(Some) }
}

/// `/latest-submitted-tx`: `None` in an empty database.
pub(super) fn latest_id(url: &str, reply: &Reply) -> Read<Option<i64>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told {
        tx_id: i64,
    }
    if is_absent(reply) {
        return Ok(None);
    }
    expect(url, reply, 200)?;
    json::<Told>(url, reply).map(|told| Some(told.tx_id))
}

/// `/entity`.
pub(super) fn entity(url: &str, reply: &Reply) -> Read<Option<Document>> {
    if is_absent(reply) {
        return Ok(None);
    }
    expect(url, reply, 200)?;
    json(url, reply).map(Some)
}

/// `/entity-tx`.
pub(super) fn entity_tx(url: &str, reply: &Reply) -> Read<Option<EntityTx>> {
    if is_absent(reply) {
        return Ok(None);
    }
    expect(url, reply, 200)?;
    let told = notation(url, reply)?;
    let read = || {
        let is_deleted = hash_of(told.get("xtdb.api/content-hash")?)? == DELETED;
        Some(EntityTx { tx: tx_of(&told)?, is_deleted })
    };
    read().map(Some).ok_or_else(|| shape(url))
}

/// A version in a history, without its document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) tx: Tx,
    /// `None` if the entity was deleted.
    pub(super) content_hash: Option<String>,
}

/// `/entity?history=true`, in the order of transactions.
pub(super) fn versions(url: &str, reply: &Reply) -> Read<Vec<Version>> {
    expect(url, reply, 200)?;
    let (Edn::List(rows) | Edn::Vector(rows)) = notation(url, reply)? else {
        return Err(shape(url));
    };
    let version = |row: &Edn| {
        let hash = hash_of(row.get("xtdb.api/content-hash")?)?;
        let content_hash = (hash != DELETED).then(|| hash.to_owned());
        Some(Version { tx: tx_of(row)?, content_hash })
    };
    let versions = rows.iter().map(version).collect::<Option<Vec<_>>>();
    let mut versions = versions.ok_or_else(|| shape(url))?;
    versions.sort_by_key(|version| version.tx.id);
    Ok(versions)
}

/// `/entity?history=true&with-docs=true`: the documents by their content hashes.
pub(super) fn documents(url: &str, reply: &Reply) -> Read<HashMap<String, Document>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told {
        content_hash: String,
        doc: Option<Document>,
    }
    expect(url, reply, 200)?;
    let rows = json::<Vec<Told>>(url, reply)?;
    Ok(rows.into_iter().filter_map(|row| Some((row.content_hash, row.doc?))).collect())
}

/// `/query`. An empty answer is what a failed query gives.
pub(super) fn tuples(url: &str, reply: &Reply) -> Read<Vec<Vec<Value>>> {
    expect(url, reply, 200)?;
    if reply.body.is_empty() {
        let problem = "the query failed on one of its rows (an empty answer)".to_owned();
        let error = Error::XtdbFailed { url: url.to_owned(), status: reply.status, problem };
        return Err(Failure { error, again: Again::Once, unsent: false });
    }
    json(url, reply)
}

/// `/attribute-stats`.
pub(super) fn attribute_stats(url: &str, reply: &Reply) -> Read<BTreeMap<String, u64>> {
    expect(url, reply, 200)?;
    json(url, reply)
}

/// The time of one transaction of the log, which is told in EDN.
pub(super) fn logged_time(url: &str, told: &Edn) -> Result<Tx, Error> {
    tx_of(told).ok_or_else(|| strange(url))
}

/// The ID and the operations of one transaction of the log, which are told in JSON. An operation that cannot be read is none of ours.
pub(super) fn logged_ops(url: &str, told: &RawValue) -> Result<(i64, Vec<LoggedOp>), Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        tx_id: i64,
        #[serde(borrow)]
        tx_ops: Vec<&'a RawValue>,
    }
    let told: Told<'_> = serde_json::from_str(told.get()).map_err(|_| strange(url))?;
    let read = |op: &RawValue| match serde_json::from_str(op.get()) {
        Ok(parts) => logged_op(parts),
        Err(error) => {
            LoggedOp::Other { what: format!("an operation that cannot be read ({error})") }
        }
    };
    Ok((told.tx_id, told.tx_ops.into_iter().map(read).collect()))
}

fn logged_op(parts: Vec<Value>) -> LoggedOp {
    let mut parts = parts.into_iter();
    match (parts.next(), parts.next()) {
        (Some(Value::String(kind)), Some(first)) => match (kind.as_str(), first) {
            ("put", Value::Object(document)) => put(document),
            ("delete", Value::String(id_hash)) => LoggedOp::Delete { id_hash },
            ("evict", Value::String(id_hash)) => LoggedOp::Evict { id_hash },
            ("match", Value::String(id_hash)) => LoggedOp::Match { id_hash },
            _ => LoggedOp::Other { what: kind },
        },
        _ => LoggedOp::Other { what: "an operation of another shape".to_owned() },
    }
}

/// A document that was evicted since has its hashed ID and a mark.
fn put(document: Document) -> LoggedOp {
    let is_erased = document.get("xtdb.api/evicted?") == Some(&Value::Bool(true));
    match document.get("xt/id") {
        Some(Value::String(id_hash)) if is_erased => LoggedOp::Erased { id_hash: id_hash.clone() },
        Some(Value::String(_)) => LoggedOp::Put { document },
        _ => LoggedOp::Other { what: "a document with an ID that is no text".to_owned() },
    }
}

fn strange(url: &str) -> Error {
    failure::unreadable(url, "has a transaction of another shape in it")
}

fn tx_of(told: &Edn) -> Option<Tx> {
    match (told.get("xtdb.api/tx-id")?, told.get("xtdb.api/tx-time")?) {
        (&Edn::Integer(id), &Edn::Instant(time)) => Some(Tx { id, time }),
        _ => None,
    }
}

/// The content hash of an entity's state; that of a deleted one is `DELETED`.
fn hash_of(told: &Edn) -> Option<&str> {
    match told {
        Edn::Tagged(_, hash) => hash_of(hash),
        Edn::Text(hash) => Some(hash),
        Edn::Nil => Some(DELETED),
        _ => None,
    }
}

/// Whether the server itself says that there is none; another program's 404 says something else.
fn is_absent(reply: &Reply) -> bool {
    if reply.status != 404 {
        return false;
    }
    let said = match serde_json::from_slice(&reply.body) {
        Ok(Value::Object(said)) => said.get("error").and_then(Value::as_str).map(str::to_owned),
        _ => match edn::read_all(&reply.body) {
            Ok(said) => match said.get("error") {
                Some(Edn::Text(said)) => Some(said.clone()),
                _ => None,
            },
            Err(_) => None,
        },
    };
    said.is_some_and(|said| said.trim_end_matches('.').ends_with(" found"))
}

pub(super) fn expect(url: &str, reply: &Reply, status: u16) -> Read<()> {
    if reply.status == status && !reply.is_html() {
        Ok(())
    } else {
        Err(failure::of_status(url, reply))
    }
}

fn json<T: DeserializeOwned>(url: &str, reply: &Reply) -> Read<T> {
    serde_json::from_slice(&reply.body).map_err(|error| {
        let problem = match error.classify() {
            _ if reply.body.is_empty() => "is empty".to_owned(),
            serde_json::error::Category::Eof => "is cut off".to_owned(),
            _ => format!("is not what it should be ({})", reply.shown(&error.to_string())),
        };
        Failure { error: failure::unreadable(url, problem), again: Again::AtOnce, unsent: false }
    })
}

fn notation(url: &str, reply: &Reply) -> Read<Edn> {
    edn::read_all(&reply.body).map_err(|problem| Failure {
        error: of_notation(url, &problem),
        again: Again::AtOnce,
        unsent: false,
    })
}

/// What cannot be read, as an error.
pub(super) fn of_notation(url: &str, problem: &edn::Problem) -> Error {
    failure::unreadable(
        url,
        match problem {
            edn::Problem::CutOff => "is cut off".to_owned(),
            edn::Problem::Io(error) => format!("cannot be read to its end ({error})"),
            edn::Problem::Malformed { at, what } => format!("has {what} at byte {at}"),
        },
    )
}

fn shape(url: &str) -> Failure {
    Failure::never(failure::unreadable(url, "has another shape than XTDB 1 gives"))
}
