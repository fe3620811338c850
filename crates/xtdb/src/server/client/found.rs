//! Finds out what answers instead of XTDB 1. People are likely to give the address of XTDB 2, which
//! has no HTTP API, but a port for PostgreSQL's protocol and one for health checks. Sends no token.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::http::Http;
use super::runtime::Runtime;
use base::error::Error;

/// PostgreSQL's request for TLS (its documentation, section 54.7): every server that speaks the
/// protocol answers with one byte.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// Longest wait for such an answer.
const LIMIT: Duration = Duration::from_secs(2);
/// How long the line must stay silent after it.
const PAUSE: Duration = Duration::from_millis(200);

/// What answers, in words; `None` if unknown. `error` is the outcome of asking it for XTDB's
/// status.
pub(super) fn look(http: &Http, runtime: &Runtime, error: &Error) -> Option<String> {
    match error {
        Error::XtdbUnavailable { .. } => {
            let found = "it speaks PostgreSQL's protocol, as XTDB 2 does";
            let limit = http.limits.left(Duration::MAX);
            let speaks = runtime.wait(async { timeout(limit, speaks_postgres(http)).await });
            speaks.unwrap_or(false).then(|| found.to_owned())
        }
        Error::XtdbForeign { .. } => {
            let health = http.ask_at_root(runtime, "/healthz/alive")?;
            let says = |text: &str| health.body.starts_with(text.as_bytes());
            let is_xtdb = match health.status {
                200 => says("Alive."),
                500 => says("Indexer error"),
                _ => false,
            };
            is_xtdb.then(|| "it answers as the health port of XTDB 2".to_owned())
        }
        _ => None,
    }
}

async fn speaks_postgres(http: &Http) -> bool {
    let Some(address) = http.plain_address() else { return false };
    let Ok(Ok(mut stream)) = timeout(http.connect_timeout(), TcpStream::connect(address)).await
    else {
        return false;
    };
    let first = timeout(LIMIT, async {
        stream.write_all(&TLS_REQUEST).await?;
        stream.read_u8().await
    });
    if !matches!(first.await, Ok(Ok(b'N' | b'S'))) {
        return false;
    }
    // PostgreSQL waits for the next request; a greeting that begins with the letter continues.
    !matches!(timeout(PAUSE, stream.read_u8()).await, Ok(Ok(_)))
}
