//! Other programs that answer instead of XTDB 1, and requests that XTDB 1 refuses.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::server::{Act, Server};
use super::*;

/// The error of asking for the status, which is how people find out what is there.
fn status_error(url: &str) -> Error {
    client(url).status().unwrap_err()
}

fn assert_foreign(error: &Error, found: &str) {
    assert_eq!(error.code(), "XTDB_FOREIGN", "{error}");
    assert!(error.to_string().contains(found), "`{error}` does not name `{found}`");
    assert!(error.hint().unwrap().contains("XTDB"));
}

#[test]
fn other_programs_are_named_by_what_they_answer() {
    for (act, found) in [
        (
            Act::answer(404, "text/html", "<html><head><title>404 Not Found</title></head>"),
            "status 404 and an HTML page in it: 404 Not Found",
        ),
        (Act::answer(404, "text/plain", ""), "status 404 and nothing in it"),
        (Act::answer(200, "text/html", "<title>Welcome to nginx!</title>"), "Welcome to nginx!"),
        (Act::json(200, r#"{"name":"es","version":{"number":"8.1"}}"#), "JSON in it"),
        (Act::json(200, r#"{"version":"2.1.0","indexVersion":1,"kvStore":"x"}"#), "XTDB 2.1.0"),
        (Act::json(405, r#"{"error":"no"}"#), "status 405"),
        (Act::answer(200, "text/plain", "hello \u{1b}[31m there"), "status 200 and a text in it"),
    ] {
        let server = Server::start(vec![act]);
        let error = status_error(&server.url());
        assert_foreign(&error, found);
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn a_redirect_is_named_and_not_followed() {
    let redirect = "HTTP/1.1 302 Found\r\nServer: nginx/1.2\r\nLocation: https://login.example/\r\nContent-Length: 0\r\n\r\n";
    let server = Server::start(vec![Act::Send(redirect.into())]);
    let error = client(&server.url()).entity("a", At::Latest, &Room::for_answers()).unwrap_err();
    assert_foreign(&error, "from `nginx/1.2` with status 302");
    assert_foreign(&error, "leads to `https://login.example/`");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn a_foreign_404_is_not_taken_for_a_missing_entity() {
    for (kind, body) in [
        ("application/json", r#"{"detail":"Not Found"}"#),
        ("text/html", "<h1>not found</h1>"),
        ("text/plain", ""),
    ] {
        let server = Server::start(vec![Act::answer(404, kind, body)]);
        let client = client(&server.url());
        assert_eq!(
            client.entity("a", At::Latest, &Room::for_answers()).unwrap_err().code(),
            "XTDB_FOREIGN",
            "{body}"
        );
        assert_eq!(client.latest_completed().unwrap_err().code(), "XTDB_FOREIGN", "{body}");
    }
    let server =
        Server::start(vec![Act::json(404, r#"{"error":"No latest-completed-tx found."}"#)]);
    assert_eq!(client(&server.url()).latest_completed().unwrap(), None);
}

#[test]
fn the_health_port_of_xtdb_2_is_named() {
    let server = Server::with(|_, seen| {
        if seen.line.contains("/healthz/alive") {
            Act::answer(200, "text/plain", "Alive.")
        } else {
            Act::answer(404, "text/plain", "")
        }
    });
    assert_foreign(&status_error(&server.url()), "health port of XTDB 2");
}

/// A server that says the same to whoever connects, whatever they say first.
fn blunt(answer: impl Fn(&[u8]) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Ends with the process of the tests at the latest; nothing waits for it.
    thread::spawn(move || {
        for stream in listener.incoming().take(64) {
            let Ok(mut stream) = stream else { return };
            let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
            let mut said = [0; 1_024];
            let length = stream.read(&mut said).unwrap_or(0);
            let _ = stream.write_all(&answer(&said[..length]));
        }
    });
    format!("http://{address}")
}

#[test]
fn a_port_that_speaks_the_protocol_of_postgresql_is_named() {
    let url = blunt(|said| match said {
        [0, 0, 0, 8, 4, 210, 22, 47] => b"N".to_vec(),
        _ => Vec::new(),
    });
    assert_foreign(&status_error(&url), "PostgreSQL's protocol, as XTDB 2 does");
}

#[test]
fn a_port_that_does_not_speak_http_is_named() {
    let url = blunt(|_| b"SSH-2.0-OpenSSH_9.2\r\n".to_vec());
    assert_foreign(&status_error(&url), "does not speak HTTP");
    // An HTTP/2 server's first frame, as gRPC sends it.
    let url = blunt(|_| b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0@\0".to_vec());
    assert_foreign(&status_error(&url), "does not speak HTTP");
}

#[test]
fn a_refused_token_is_a_refusal_and_stands_in_no_error() {
    let folder = tempfile::tempdir().unwrap();
    for (status, said) in [(401, "JWT Failed to validate"), (403, "forbidden: read-only HTTP node")]
    {
        // A server that throws the token back.
        let server = Server::start(vec![Act::answer(status, "text/plain", said)]);
        let client = Client::new(ClientOptions {
            token: Some(token::written(&folder, "s3cret-token")),
            ..ClientOptions::new(server.url())
        })
        .unwrap();
        let error = client.status().unwrap_err();
        assert_eq!(error.code(), "XTDB_REFUSED");
        assert!(error.to_string().contains(&format!("status {status}: {said}")), "{error}");
        assert!(!error.report().contains("s3cret") && !format!("{error:?}").contains("s3cret"));
        assert!(server.seen()[0].headers.contains("authorization: Bearer s3cret-token\r\n"));
        let document = document(&json!({ "xt/id": "a" }));
        let error = client.submit(&[TxOp::Put(document.clone())]).unwrap_err();
        assert!(matches!(error, SubmitError::Refused(_)), "{error:?}");
    }
}

#[test]
fn an_answer_that_echoes_the_token_keeps_it_out_of_errors() {
    let folder = tempfile::tempdir().unwrap();
    let said = "no user for s3cret-token, said `Bearer s3cret-token`";
    let server = Server::start(vec![Act::answer(401, "text/plain", said)]);
    let client = Client::new(ClientOptions {
        token: Some(token::written(&folder, "s3cret-token")),
        ..ClientOptions::new(server.url())
    });
    let error = client.unwrap().status().unwrap_err();
    assert!(!error.report().contains("s3cret"), "{}", error.report());
}

#[test]
fn the_token_goes_only_to_xtdb_and_not_to_probes() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Act::answer(404, "text/plain", "")]);
    let client = Client::new(ClientOptions {
        token: Some(token::written(&folder, "s3cret-token")),
        ..ClientOptions::new(server.url())
    });
    client.unwrap().status().unwrap_err();
    for seen in server.seen() {
        let has_token = seen.headers.contains("s3cret");
        assert_eq!(has_token, seen.line.contains("/_xtdb/"), "{seen:?}");
    }
}
