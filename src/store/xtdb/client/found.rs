//! Finds out what answers in the place of XTDB 1, where people are likely to have given the address of XTDB 2: it has no HTTP API, but
//! a port that speaks PostgreSQL's protocol and one that says whether it is well. Sends no token.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::http::Http;

/// PostgreSQL's question for TLS (its documentation, section 54.7): answered with one byte by each server that speaks the protocol.
const TLS_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
/// How long such an answer may take.
const LIMIT: Duration = Duration::from_secs(2);

/// What answers, in words; `None` if that is not known.
pub(super) async fn look(http: &Http) -> Option<String> {
    if speaks_postgres(http).await {
        return Some("it speaks PostgreSQL's protocol, as XTDB 2 does".to_owned());
    }
    let health = http.ask_at_root("/healthz/alive").await?;
    let says = |text: &str| health.body.starts_with(text.as_bytes());
    ((health.status == 200 && says("Alive.")) || (health.status == 500 && says("Indexer error")))
        .then(|| "it answers as the health port of XTDB 2".to_owned())
}

async fn speaks_postgres(http: &Http) -> bool {
    let Some(address) = http.plain_address() else { return false };
    let Ok(Ok(mut stream)) = timeout(http.connect_timeout(), TcpStream::connect(address)).await
    else {
        return false;
    };
    let asked = timeout(LIMIT, async {
        stream.write_all(&TLS_REQUEST).await?;
        stream.read_u8().await
    });
    matches!(asked.await, Ok(Ok(b'N' | b'S')))
}
