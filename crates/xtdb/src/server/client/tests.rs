//! The client against servers that fail in every way, recorded answers of the genuine server, and a
//! real node.

mod bounds;
mod faults;
mod foreign;
mod log;
mod node;
mod recordings;
mod server;
mod submit;
mod tls;
mod token;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use base::object::Timestamp;

/// For a server that answers, however busy the machine is.
fn client(url: &str) -> Client {
    patient_for(Duration::from_secs(60), url)
}

/// For a server that does not answer.
fn hasty(url: &str) -> Client {
    patient_for(Duration::from_millis(400), url)
}

fn patient_for(time: Duration, url: &str) -> Client {
    Client::new(ClientOptions {
        request_timeout: time,
        connect_timeout: time,
        await_timeout: Duration::from_millis(200),
        ..ClientOptions::new(url)
    })
    .unwrap()
}

fn document(value: &Value) -> Document {
    value.as_object().unwrap().clone()
}

#[test]
fn an_address_may_have_a_path_and_trailing_slashes() {
    for (given, url) in [
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("http://127.0.0.1:3000/", "http://127.0.0.1:3000"),
        ("http://localhost:3000/_xtdb", "http://localhost:3000"),
        ("http://localhost:3000/_xtdb/", "http://localhost:3000"),
        ("https://example.org/a/b/_xtdb", "https://example.org/a/b"),
        ("http://[::1]:3000/a//", "http://[::1]:3000/a"),
        ("http://xn--mller-kva.example:3000", "http://xn--mller-kva.example:3000"),
    ] {
        let client = Client::new(ClientOptions::new(given)).unwrap();
        assert_eq!(client.url(), url, "{given}");
    }
}

#[test]
fn an_invalid_address_is_refused_without_its_password() {
    for given in [
        "",
        "localhost:3000",
        "ftp://localhost/",
        "http://müller.example:3000",
        "http://",
        "http://localhost:99999",
        "http://ann:hunter2@localhost:3000",
        "http://hunter2@localhost:3000",
        "mailto:hunter2@localhost",
        "http://localhost:3000/?x=hunter2",
        "http://localhost:3000/#hunter2",
    ] {
        let error = Client::new(ClientOptions::new(given)).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT", "{given}");
        assert!(!error.report().contains("hunter2"), "{error}");
    }
}

#[test]
fn threads_exist_only_from_the_first_call_to_the_clients_end() {
    let client = client("http://127.0.0.1:9");
    assert!(client.runtime.lock().unwrap().is_none());
    client.status().unwrap_err();
    let runtime = client.runtime.lock().unwrap().clone().unwrap();
    let held = Arc::new(());
    let on_it = Arc::clone(&held);
    runtime.wait(async {
        tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(on_it);
        });
    });
    assert_eq!(Arc::strong_count(&held), 2);
    drop(runtime);
    drop(client);
    assert_eq!(Arc::strong_count(&held), 1, "the thread has ended, and what it worked on with it");
}

#[test]
fn nothing_that_shows_a_client_shows_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = token::written(&folder, "s3cret-token");
    let options = ClientOptions { token: Some(token), ..ClientOptions::new("http://127.0.0.1:9") };
    assert!(!format!("{options:?}").contains("s3cret"), "{options:?}");
    let client = Client::new(options).unwrap();
    assert!(!format!("{client:?}").contains("s3cret"), "{client:?}");
}
