//! The body of `submit-tx`, checked before it is sent: the server silently accepts some bodies and
//! loses the write, and crashes on deep nesting.

use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Document, TxOp};
use base::error::{Error, Result};
use store::rules;

/// Deepest nesting of a document, itself included. A node crashes at about 400, again after each
/// restart; JSON readers accept 128 levels in an answer, which has lists around the document.
pub(crate) const MAX_DEPTH: usize = 120;
/// Keys that mean something else to the server: it drops the document, hides it or runs it.
const RESERVED: [&str; 5] =
    ["crux.db/id", "crux.db/fn", "xt/fn", "xtdb.api/evicted?", "crux.db/evicted?"];

/// As an array.
impl Serialize for TxOp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Put(document) => ("put", document).serialize(serializer),
            Self::Match(id, expected) => ("match", id, expected).serialize(serializer),
            Self::Delete(id) => ("delete", id).serialize(serializer),
            Self::Evict(id) => ("evict", id).serialize(serializer),
        }
    }
}

/// The transaction as JSON.
///
/// # Errors
/// `INVALID_ARGUMENT` for what the server would misunderstand: no operations, an ID that is not a
/// text, two writes of one ID, reserved keys, too deeply nested values.
pub(super) fn body<'a>(ops: impl IntoIterator<Item = &'a TxOp>) -> Result<Vec<u8>> {
    let ops: Vec<&TxOp> = ops.into_iter().collect();
    if ops.is_empty() {
        return Err(wrong("has no operations, which would be committed as nothing"));
    }
    let mut written = HashSet::new();
    for op in &ops {
        let id = op.id()?;
        if id.is_empty() {
            return Err(wrong("has an empty ID"));
        }
        if !matches!(op, TxOp::Match(..)) && !written.insert(id) {
            return Err(wrong(&format!("writes `{id}` twice, and only the last would stay")));
        }
        if let TxOp::Put(document) | TxOp::Match(_, Some(document)) = op {
            check(document)?;
        }
    }
    serde_json::to_vec(&HashMap::from([("tx-ops", ops)]))
        .map_err(|error| Error::internal(format!("a transaction that is not JSON: {error}")))
}

impl TxOp {
    fn id(&self) -> Result<&str> {
        match self {
            Self::Put(document) => match document.get("xt/id") {
                Some(Value::String(id)) => Ok(id),
                Some(_) => Err(wrong("has a document with an `xt/id` that is not text")),
                None => Err(wrong("has a document without `xt/id`")),
            },
            Self::Match(id, _) | Self::Delete(id) | Self::Evict(id) => Ok(id),
        }
    }
}

fn check(document: &Document) -> Result<()> {
    if let Some(key) = RESERVED.iter().find(|key| document.contains_key(**key)) {
        return Err(wrong(&format!(
            "has a document with the key `{key}`, which means something to XTDB"
        )));
    }
    if !document.values().all(|value| rules::has_levels(value, MAX_DEPTH - 1)) {
        return Err(wrong(&format!("has a document nested deeper than {MAX_DEPTH} levels")));
    }
    Ok(())
}

fn wrong(problem: &str) -> Error {
    Error::argument("transaction", problem)
}
