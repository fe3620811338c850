//! The client's inputs and outputs. Plain data.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::token::Token;
use base::error::{Error, Result};
use base::object::Timestamp;
use config::XtdbOptions;

/// A document in JSON; its ID is `xt/id`.
pub(crate) type Document = Map<String, Value>;

/// How to reach a server.
#[derive(Debug, Clone)]
pub(crate) struct ClientOptions {
    /// `http://HOST:PORT` or `https://…`, with or without `/_xtdb`, with an optional path before
    /// it.
    pub(crate) url: String,
    /// Sent as `Authorization: Bearer`.
    pub(crate) token: Option<Token>,
    /// Certificate authorities in PEM form, besides the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// How long an answer may take to begin, and the total wait for the rest, in addition to the
    /// time that its bytes take at 32 KiB a second.
    pub(crate) request_timeout: Duration,
    /// Longest time to connect.
    pub(crate) connect_timeout: Duration,
    /// How long the server may wait for a transaction to be indexed.
    pub(crate) await_timeout: Duration,
    /// How long a person waits for everything that is asked.
    pub(crate) deadline: Option<Duration>,
    /// Number of simultaneous connections; at least 2.
    pub(crate) connections: usize,
}

impl ClientOptions {
    /// For a store that settings name. `deadline`: as [`Self::deadline`].
    ///
    /// # Errors
    /// As [`Token::read`].
    pub(crate) fn of(options: &XtdbOptions, deadline: Option<Duration>) -> Result<Self> {
        let token = options.token_file.as_deref().map(Token::read).transpose()?;
        let ca_file = options.ca_file.clone();
        Ok(Self { token, ca_file, deadline, ..Self::new(&options.url) })
    }

    /// The defaults, for a server without a token.
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            token: None,
            ca_file: None,
            request_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            await_timeout: Duration::from_secs(10),
            deadline: None,
            connections: 4,
        }
    }
}

/// A server's status.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    pub(crate) version: String,
    pub(crate) kv_store: String,
    /// Whether it has stopped indexing until it is restarted.
    #[serde(rename = "ingesterFailed?", default)]
    pub(crate) ingester_failed: bool,
}

/// The state of the database that a read sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum At {
    /// The latest, including everything that this client has written or seen, whichever node
    /// answers.
    Latest,
    /// As of a transaction, which the read waits for.
    Tx(i64),
    /// As of a time that the server has reached.
    Time(Timestamp),
}

/// A transaction, with its time to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tx {
    pub(crate) id: i64,
    pub(crate) time: Timestamp,
}

/// The transaction that gave an entity its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntityTx {
    pub(crate) tx: Tx,
    pub(crate) is_deleted: bool,
}

/// One version of an entity.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) tx: Tx,
    /// `None` if it was deleted. Equal versions share it.
    pub(crate) document: Option<Arc<Document>>,
}

/// One operation of a transaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TxOp {
    /// Replaces the whole document.
    Put(Document),
    /// Lets the transaction pass only if this is the whole document now; `None`: if there is none.
    Match(String, Option<Document>),
    /// The entity is gone from now on; its history stays.
    Delete(String),
    /// Removes the entity with all its history.
    Evict(String),
}

/// A committed transaction of the log.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoggedTx {
    pub(crate) tx: Tx,
    /// The documents that it put, without those that were evicted since.
    pub(crate) puts: Vec<Document>,
    /// Bytes of memory that it takes.
    pub(crate) bytes: usize,
}

/// Why a transaction was not accepted.
#[derive(Debug)]
pub(crate) enum SubmitError {
    /// The server cannot have seen it: it may be sent again.
    NotSent(Error),
    /// The server did not accept it, and would not accept it again as it is. `XTDB_REFUSED` and
    /// `XTDB_FOREIGN` are about the server, any other code about the transaction.
    Refused(Error),
    /// It may be in the log; this must be found out before it is sent again.
    Unknown(Error),
}

impl SubmitError {
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::NotSent(error) | Self::Refused(error) | Self::Unknown(error) => error,
        }
    }
}
