//! Somebody who asks how sharing stands gets an answer in seconds, whatever the server does, and it
//! says what was asked and what came.

#![expect(clippy::disallowed_methods, reason = "deadlines are real time")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use config::XtdbOptions;
use testing::faults::{Fault, Proxy};
use testing::xtdb::Database;
use xtdb::examine_xtdb;

use crate::machine::Machine;

/// Longest time until somebody who asks is told.
const LONGEST: Duration = Duration::from_secs(5);

/// A server of which each connection is served so, on a thread of its own, as long as the test's
/// process lives.
fn serve(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || answer(client));
        }
    });
    url
}

/// Reads the head of each request, and answers it with this.
fn answering(mut client: TcpStream, answer: &str) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while client.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if client.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What both ways to ask say, within their time.
fn told(url: &str) -> [String; 2] {
    let options = XtdbOptions { url: url.to_owned(), ..XtdbOptions::default() };
    let machine = Machine::at(url);
    let asked = Instant::now();
    let status = machine.sharing.look().unwrap();
    assert!(asked.elapsed() < LONGEST, "status: {:?}", asked.elapsed());
    let asked = Instant::now();
    let server = examine_xtdb(&options);
    assert!(asked.elapsed() < LONGEST, "server: {:?}", asked.elapsed());
    let said = |error: Option<String>| error.unwrap_or_else(|| "nothing is wrong".to_owned());
    [said(status.error.map(|error| error.message)), said(server.err().map(|e| e.to_string()))]
}

#[test]
fn a_silent_server_is_told_of_in_seconds() {
    let url = serve(|client| answering(client, ""));
    for said in told(&url) {
        assert!(said.contains("no answer to `status` within 4 s in all"), "{said}");
    }
}

#[test]
fn a_server_that_trickles_is_told_of_in_seconds() {
    fn trickle(mut client: TcpStream) {
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{";
        let _asked = client.read(&mut [0; 4_096]);
        let mut sent = client.write_all(head.as_bytes());
        while sent.is_ok() {
            thread::sleep(Duration::from_millis(50));
            sent = client.write_all(b" ");
        }
    }
    for said in told(&serve(trickle)) {
        assert!(said.contains("of the answer to `status` only "), "{said}");
        assert!(said.contains(" bytes within 4 s in all"), "{said}");
    }
}

#[test]
fn a_slow_server_is_told_of_in_seconds() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let url = format!("{}{}", proxy.url(), database.path());
    Machine::at(&url).push();
    proxy.set(Fault::Delay(Duration::from_millis(900)));
    let [status, server] = told(&url);
    assert!(status.contains("4 answers had come before"), "{status}");
    assert_eq!(server, "nothing is wrong");
    proxy.set(Fault::Pass);
    assert_eq!(told(&url), ["nothing is wrong"; 2]);
}

#[test]
fn another_version_is_named() {
    fn old(client: TcpStream) {
        let status = r#"{"version":"1.21.0","indexVersion":22,"kvStore":"xtdb.mem_kv.MemKv"}"#;
        answering(client, &answer("200 OK", "application/json", status));
    }
    for said in told(&serve(old)) {
        assert!(said.ends_with("XTDB 1.21.0, and 1.24 is needed"), "{said}");
    }
}

#[test]
fn the_page_of_a_proxy_is_named() {
    fn page(client: TcpStream) {
        let page = "<html><head><title>Sign in to continue</title></head></html>";
        answering(client, &answer("200 OK", "text/html", page));
    }
    for said in told(&serve(page)) {
        assert!(said.contains("an HTML page in it") && said.contains("Sign in"), "{said}");
    }
}

#[test]
fn a_token_that_expired_is_named() {
    fn refuse(client: TcpStream) {
        let refusal = answer("401 Unauthorized", "text/plain", "JWT Failed to validate");
        answering(client, &refusal);
    }
    let folder = tempfile::tempdir().unwrap();
    let url = serve(refuse);
    let said = |claims: &str| {
        let file = folder.path().join("token");
        testing::private_file::write(&file, format!("e30.{claims}.c2ln"));
        let options =
            XtdbOptions { url: url.clone(), token_file: Some(file), ..XtdbOptions::default() };
        examine_xtdb(&options).unwrap_err().to_string()
    };
    // {"sub":"ann","exp":1700000000}
    let expired = said("eyJzdWIiOiJhbm4iLCJleHAiOjE3MDAwMDAwMDB9");
    assert!(expired.contains("the token expired at 2023-11-14T22:13:20"), "{expired}");
    // {"sub":"ann","exp":99999999999}, and no claims at all
    for other in ["eyJzdWIiOiJhbm4iLCJleHAiOjk5OTk5OTk5OTk5fQ", "not.claims"] {
        assert!(said(other).ends_with("status 401: JWT Failed to validate"), "{}", said(other));
    }
}
