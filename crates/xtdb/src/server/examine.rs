//! What a person wants to know about a server before sharing anything with it. Must not write, or
//! ask what the database holds.

use std::time::Duration;

use super::client::{Client, ClientOptions};
use base::clock::system_time;
use base::error::Result;
use config::XtdbOptions;

/// How long a person waits for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(4);

/// An XTDB server's description of itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct XtdbServer {
    /// Its address.
    pub url: String,
    /// Version of XTDB.
    pub version: String,
    /// The store behind its index.
    pub kv_store: String,
    /// Whether it has stopped indexing until it is restarted.
    pub ingester_failed: bool,
    /// Milliseconds by which its clock is ahead of ours; negative: behind. Off by at most half of
    /// the request's duration.
    pub clock_ahead_ms: i64,
    /// The request's duration, in milliseconds.
    pub answered_in_ms: i64,
}

/// Asks a server for its description and time.
///
/// # Errors
/// `INVALID_ARGUMENT` for an invalid server address, and for a file without a token; `NOT_PRIVATE`,
/// `FILE` for the token's file; `XTDB_UNAVAILABLE`, `XTDB_REFUSED`, `XTDB_FOREIGN`, `XTDB_FAILED`.
pub fn examine(options: &XtdbOptions) -> Result<XtdbServer> {
    let client = Client::new(ClientOptions::of(options, Some(PATIENCE))?)?;
    let status = client.status()?;
    let before = system_time();
    let theirs = client.time()?;
    let took = system_time().0.saturating_sub(before.0);
    Ok(XtdbServer {
        url: client.url().to_owned(),
        version: status.version,
        kv_store: status.kv_store,
        ingester_failed: status.ingester_failed,
        clock_ahead_ms: theirs.0.saturating_sub(before.0.saturating_add(took / 2)),
        answered_in_ms: took,
    })
}
