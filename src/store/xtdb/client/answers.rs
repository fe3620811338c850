//! What answers say: from status and body to typed results, or to typed errors. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::edn::{self, Edn};
use super::failure::{self, Again, Failure};
use super::http::Reply;
use super::{Document, EntityTx, LoggedOp, LoggedTx, Row, Status, Tx};
use crate::error::Error;

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

/// `/await-tx`.
pub(super) fn tx(url: &str, reply: &Reply) -> Read<Tx> {
    expect(url, reply, 200)?;
    let told = notation(url, reply)?;
    tx_of(&told).ok_or_else(|| shape(url))
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
        let is_deleted = match told.get("xtdb.api/content-hash")? {
            Edn::Nil => true,
            hash => is_deletion(hash)?,
        };
        Some(EntityTx { tx: tx_of(&told)?, is_deleted })
    };
    read().map(Some).ok_or_else(|| shape(url))
}

/// `/entity?history=true`, in the order of transactions.
pub(super) fn history(url: &str, reply: &Reply) -> Read<Vec<Row>> {
    expect(url, reply, 200)?;
    let (Edn::List(rows) | Edn::Vector(rows)) = notation(url, reply)? else {
        return Err(shape(url));
    };
    let mut rows =
        rows.into_iter().map(row).collect::<Option<Vec<_>>>().ok_or_else(|| shape(url))?;
    rows.sort_by_key(|row| row.tx.id);
    Ok(rows)
}

fn row(told: Edn) -> Option<Row> {
    let tx = tx_of(&told)?;
    let is_deleted = is_deletion(told.get("xtdb.api/content-hash")?)?;
    let Edn::Map(entries) = told else { return None };
    let document = entries.into_iter().find_map(|(key, value)| {
        matches!(key, Edn::Keyword(name) if name == "xtdb.api/doc").then_some(value)
    })?;
    let document = match document {
        Edn::Nil if is_deleted => None,
        document => Some(document.into_object().ok()?),
    };
    Some(Row { tx, document })
}

/// `/query`. An empty answer is what a failed query gives.
pub(super) fn tuples(url: &str, reply: &Reply) -> Read<Vec<Vec<Value>>> {
    expect(url, reply, 200)?;
    if reply.body.is_empty() {
        let problem = "the query failed on one of its rows (an empty answer)".to_owned();
        let error = Error::XtdbFailed { url: url.to_owned(), status: reply.status, problem };
        return Err(Failure { error, again: Again::AtOnce, unsent: false });
    }
    json(url, reply)
}

/// `/attribute-stats`.
pub(super) fn attribute_stats(url: &str, reply: &Reply) -> Read<BTreeMap<String, u64>> {
    expect(url, reply, 200)?;
    json(url, reply)
}

/// One transaction of the log.
pub(super) fn logged(url: &str, told: Edn) -> Result<LoggedTx, Error> {
    let strange = || failure::unreadable(url, "has a transaction of another shape in it");
    let tx = tx_of(&told).ok_or_else(strange)?;
    let Edn::Map(entries) = told else { return Err(strange()) };
    let ops = entries.into_iter().find_map(|(key, value)| {
        matches!(key, Edn::Keyword(name) if name == "xtdb.api/tx-ops").then_some(value)
    });
    let Some(Edn::List(ops) | Edn::Vector(ops)) = ops else { return Err(strange()) };
    Ok(LoggedTx { tx, ops: ops.into_iter().map(logged_op).collect() })
}

fn logged_op(op: Edn) -> LoggedOp {
    let (Edn::Vector(parts) | Edn::List(parts)) = op else {
        return LoggedOp::Other { what: op.to_string() };
    };
    let mut parts = parts.into_iter();
    let kind = match parts.next() {
        Some(Edn::Keyword(kind)) => kind,
        other => return LoggedOp::Other { what: format!("{other:?}") },
    };
    let first = parts.next();
    match (kind.as_str(), first) {
        ("xtdb.api/put", Some(document @ Edn::Map(_))) => put(document),
        ("xtdb.api/delete", Some(id)) => LoggedOp::Delete { id: id_of(id) },
        ("xtdb.api/evict", Some(id)) => LoggedOp::Evict { id: id_of(id) },
        ("xtdb.api/match", Some(id)) => LoggedOp::Match { id: id_of(id) },
        _ => LoggedOp::Other { what: kind },
    }
}

/// A document that was evicted since has its hashed ID and a mark.
fn put(document: Edn) -> LoggedOp {
    let is_erased = ["xtdb.api/evicted?", "crux.db/evicted?"]
        .iter()
        .any(|mark| document.get(mark) == Some(&Edn::Bool(true)));
    let is_text = matches!(document.get("xt/id"), Some(Edn::Text(_)));
    match document.into_object() {
        Ok(document) if is_erased => {
            let id = document.get("xt/id").map_or_else(String::new, |id| match id {
                Value::String(id) => id.clone(),
                other => other.to_string(),
            });
            LoggedOp::Erased { id }
        }
        Ok(document) if is_text => LoggedOp::Put { document },
        _ => LoggedOp::Other { what: "a document with an ID that is no text".to_owned() },
    }
}

fn id_of(id: Edn) -> String {
    match id.into_json() {
        Value::String(id) => id,
        other => other.to_string(),
    }
}

fn tx_of(told: &Edn) -> Option<Tx> {
    match (told.get("xtdb.api/tx-id")?, told.get("xtdb.api/tx-time")?) {
        (&Edn::Integer(id), &Edn::Instant(time)) => Some(Tx { id, time }),
        _ => None,
    }
}

fn is_deletion(hash: &Edn) -> Option<bool> {
    match hash {
        Edn::Tagged(_, hash) => is_deletion(hash),
        Edn::Text(hash) => Some(hash == DELETED),
        Edn::Nil => Some(true),
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
            _ => format!("is not what it should be ({error})"),
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
