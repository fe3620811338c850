//! Recorded requests that no client library would send: cut bodies, chunks, characters that a URL
//! may not have.

use std::io::{ErrorKind, Read};
use std::net::Shutdown;
use std::time::Duration;

use crate::recording::Case;
use testing::http::{Connection, Message};

/// The answer, and whether the server closes the connection after it.
pub(crate) fn ask(address: &str, path: &str, case: &Case) -> (Message, Option<bool>) {
    let mut connection = Connection::open(address).unwrap();
    let body = case.body.clone().unwrap_or_default();
    connection.send(&[head(path, case), sent(case, &body)].concat()).unwrap();
    if case.header("content-length").is_some() {
        connection.stream().shutdown(Shutdown::Write).unwrap();
    }
    let mut answer = connection.receive().unwrap().unwrap();
    if answer.status() == 100 {
        connection.send(&body).unwrap();
        answer = Message { raw_body: connection.receive().unwrap().unwrap().body(), ..answer };
    }
    let closes = case.answer.closes.map(|_| closes(&mut connection));
    (answer, closes)
}

fn head(path: &str, case: &Case) -> Vec<u8> {
    let version = if case.name == "http/1.0" { "1.0" } else { "1.1" };
    let host = if case.name == "http/no-host" { "" } else { "Host: localhost\r\n" };
    let lengths = ["content-length", "transfer-encoding"];
    let length = if lengths.iter().any(|name| case.header(name).is_some()) {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", case.body.as_ref().map_or(0, Vec::len))
    };
    let headers = case.headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]);
    let headers: String = headers.collect();
    let path = path.trim_end_matches(" x2 pipelined");
    format!("{} {path} HTTP/{version}\r\n{host}{headers}{length}\r\n", case.method).into_bytes()
}

/// What follows the head at once.
fn sent(case: &Case, body: &[u8]) -> Vec<u8> {
    if case.header("expect").is_some() {
        return Vec::new();
    }
    if case.header("transfer-encoding").is_some() {
        let size = format!("{:x}\r\n", body.len());
        return [size.as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
    }
    body.to_vec()
}

/// Whether the other side ends the connection before long.
fn closes(connection: &mut Connection) -> bool {
    connection.stream().set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    match connection.stream().read(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}
