//! What a person wants to know of a server before anything is shared with it. Must not write, nor ask what the database holds.

use super::client::{Client, ClientOptions, Token};
use base::clock::system_time;
use base::error::Result;
use config::XtdbOptions;

/// What an XTDB server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XtdbServer {
    /// Its address.
    pub url: String,
    /// Version of XTDB.
    pub version: String,
    /// Version of its index.
    pub index_version: i64,
    /// What its index is kept in.
    pub kv_store: String,
    /// Whether it indexes nothing any more, until it is started again.
    pub ingester_failed: bool,
    /// By how many milliseconds its clock is ahead of ours; negative: behind. Off by half of what asking took, at most.
    pub clock_ahead_ms: i64,
    /// How long asking took, in milliseconds.
    pub answered_in_ms: i64,
}

/// Asks a server what it is, and for the time.
///
/// # Errors
/// `INVALID_ARGUMENT` for an address that is none of a server, and for a file that holds no token; `NOT_PRIVATE`, `FILE` for the token's
/// file; `XTDB_UNAVAILABLE`, `XTDB_REFUSED`, `XTDB_FOREIGN`, `XTDB_FAILED`.
pub fn examine(options: &XtdbOptions) -> Result<XtdbServer> {
    let mut client = ClientOptions::new(&options.url);
    client.token = options.token_file.as_deref().map(Token::read).transpose()?;
    client.ca_file.clone_from(&options.ca_file);
    let client = Client::new(client)?;
    let status = client.status()?;
    let before = system_time();
    let theirs = client.time()?;
    let took = system_time().0.saturating_sub(before.0);
    Ok(XtdbServer {
        url: client.url().to_owned(),
        version: status.version,
        index_version: status.index_version,
        kv_store: status.kv_store,
        ingester_failed: status.ingester_failed,
        clock_ahead_ms: theirs.0.saturating_sub(before.0.saturating_add(took / 2)),
        answered_in_ms: took,
    })
}
