//! A real node: the development server of `xtdb/`, started as people start it, with a database for
//! each test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicUsize;
use std::sync::{OnceLock, Weak};

use tempfile::TempDir;

use super::*;
use base::lock;

/// A node in memory; ends with the last test that uses it.
struct Node {
    process: Child,
    url: String,
    _folder: TempDir,
}

impl Node {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new("node")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
            .args(["scripts/xtdb.js", "--config", "memory", "--port", "0", "--data"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split(' ').find(|word| word.starts_with("http")).map(str::to_owned);
        let mut node = Self { process, url: String::new(), _folder: folder };
        node.url = url?;
        Some(node)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // The server ends with its standard input, which this process of Node has.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A client for an empty database of the node that tests share, which runs as long as one of them
/// does. `None` where no long run is asked for, as `crates/xtdb/tests/xtdb` asks nodes the same through the
/// store, and where there is no node, which a line says; with `PALIMPSEST_REQUIRE_ALL_TESTS` set
/// that is a failure.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn database() -> Option<(Client, Arc<Node>)> {
    static SHARED: Mutex<Weak<Node>> = Mutex::new(Weak::new());
    static MISSING: OnceLock<()> = OnceLock::new();
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    if !testing::cases::is_long() {
        return None;
    }
    let mut shared = lock(&SHARED);
    let node = match shared.upgrade() {
        Some(node) => Some(node),
        None if MISSING.get().is_some() => None,
        None => Node::start().map(Arc::new),
    };
    let Some(node) = node else {
        assert!(std::env::var_os("PALIMPSEST_REQUIRE_ALL_TESTS").is_none(), "no node of XTDB");
        if MISSING.set(()).is_ok() {
            eprintln!("skipped: no JDK 17 or no Maven for XTDB, or no Node");
        }
        return None;
    };
    *shared = Arc::downgrade(&node);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let url = format!("{}/db/client-{}-{number}", node.url, std::process::id());
    Some((Client::new(ClientOptions::new(url)).unwrap(), node))
}

fn put(client: &Client, value: &Value) -> i64 {
    client.submit(&[TxOp::Put(document(value))]).unwrap()
}

fn logged(client: &Client, after: Option<i64>) -> Vec<LoggedTx> {
    let mut taken = Vec::new();
    client
        .log(after, &mut |tx| {
            taken.push(tx);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    taken
}

#[test]
fn an_empty_database_has_nothing_and_says_what_it_is() {
    let Some((client, _node)) = database() else { return };
    let status = client.status().unwrap();
    assert!(status.version.starts_with("1.24."), "{status:?}");
    assert!(!status.ingester_failed);
    assert_eq!(client.latest_completed().unwrap(), None);
    assert_eq!(client.latest_submitted().unwrap(), None);
    assert_eq!(client.entity("a", At::Latest, &Room::for_answers()).unwrap(), None);
    assert_eq!(client.entity_tx("a", At::Latest).unwrap(), None);
    assert_eq!(client.history("a", None, &Room::for_answers()).unwrap(), []);
    assert_eq!(logged(&client, None), []);
    assert_eq!(client.attribute_stats().unwrap(), BTreeMap::new());
    let query = "{:find [e] :where [[e :xt/id]]}";
    assert_eq!(
        client.query(query, &[], At::Latest, &Room::for_answers()).unwrap(),
        [[Value::Null; 0]; 0]
    );
}

#[test]
fn a_write_is_committed_read_back_and_timed_to_the_millisecond() {
    let Some((client, _node)) = database() else { return };
    let mut times = Vec::new();
    for n in 0..8 {
        let tx = put(&client, &json!({ "xt/id": "a", "n": n }));
        assert!(client.committed(tx).unwrap());
        let found = client.entity("a", At::Tx(tx), &Room::for_answers()).unwrap().unwrap();
        assert_eq!(Value::Object(found), json!({ "xt/id": "a", "n": n }));
        let newest = client.await_tx(tx).unwrap();
        assert_eq!(newest.id, tx);
        assert_eq!(client.log_times(tx, tx).unwrap(), [newest]);
        let state = client.entity_tx("a", At::Tx(tx)).unwrap().unwrap();
        assert_eq!((state.tx, state.is_deleted), (newest, false));
        assert_eq!(client.latest_completed().unwrap(), Some(newest));
        assert_eq!(client.latest_submitted().unwrap(), Some(tx));
        times.push(newest.time);
    }
    assert!(times.iter().any(|time| time.0 % 1_000 != 0), "{times:?}");
    // The node counts a moment after it has indexed.
    let counted = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(25));
        client.attribute_stats().unwrap().get("n") == Some(&8)
    });
    assert!(counted, "{:?}", client.attribute_stats());
    let before = client.entity("a", At::Tx(2), &Room::for_answers()).unwrap().unwrap();
    assert_eq!(before["n"], 2);
}

#[test]
fn a_history_has_versions_and_deletions_until_evicted() {
    let Some((client, _node)) = database() else { return };
    let mut last = 0;
    for n in 0..30 {
        // Without a pause, so that several have the same time.
        last = if n == 10 {
            client.submit(&[TxOp::Delete("a".to_owned())]).unwrap()
        } else {
            put(&client, &json!({ "xt/id": "a", "n": n / 2, "with space\"": [n, null] }))
        };
    }
    client.await_tx(last).unwrap();
    let rows = client.history("a", None, &Room::for_answers()).unwrap();
    assert_eq!(rows.len(), 30);
    for (n, row) in rows.iter().enumerate() {
        let written = json!({ "xt/id": "a", "n": n / 2, "with space\"": [n, null] });
        let expected = (n != 10).then(|| document(&written));
        assert_eq!(row.document.as_deref().cloned(), expected);
        assert_eq!(row.tx.id, i64::try_from(n).unwrap());
    }
    assert!(rows.windows(2).all(|pair| pair[0].tx.time <= pair[1].tx.time));
    let deleted = client.entity_tx("a", At::Tx(10)).unwrap().unwrap();
    assert!(deleted.is_deleted);
    assert_eq!(client.entity("a", At::Tx(10), &Room::for_answers()).unwrap(), None);

    let log = logged(&client, None);
    assert_eq!(
        log.iter().map(|tx| tx.tx).collect::<Vec<_>>(),
        rows.iter().map(|row| row.tx).collect::<Vec<_>>()
    );

    let evicted = client.submit(&[TxOp::Evict("a".to_owned())]).unwrap();
    assert!(client.committed(evicted).unwrap());
    assert_eq!(client.history("a", None, &Room::for_answers()).unwrap(), []);
    assert_eq!(client.entity_tx("a", At::Latest).unwrap(), None);
    let log = logged(&client, Some(27));
    assert!(log[0].puts.is_empty(), "{log:?}");
}

#[test]
fn a_match_that_fails_is_not_committed_and_not_in_the_log() {
    let Some((client, _node)) = database() else { return };
    let first = document(&json!({ "xt/id": "a", "n": 1, "f": 1.0, "big": u64::MAX, "t": "é😀" }));
    put(&client, &Value::Object(first.clone()));
    let second = document(&json!({ "xt/id": "a", "n": 2 }));
    let swap = |expected: Option<&Document>| {
        let ops = [TxOp::Match("a".to_owned(), expected.cloned()), TxOp::Put(second.clone())];
        let tx = client.submit(&ops).unwrap();
        (tx, client.committed(tx).unwrap())
    };
    assert!(!swap(None).1);
    let read = client.entity("a", At::Latest, &Room::for_answers()).unwrap().unwrap();
    assert_eq!(read, first);
    let (tx, is_committed) = swap(Some(&read));
    assert!(is_committed, "what was read matches what is there");
    assert!(!swap(Some(&read)).1);
    assert_eq!(client.history("a", None, &Room::for_answers()).unwrap().len(), 2);
    let log = logged(&client, None);
    assert_eq!(log.iter().map(|tx| tx.tx.id).collect::<Vec<_>>(), [0, tx]);
    assert_eq!(log[1].puts, [second]);
}

#[test]
fn ids_and_values_of_all_kinds_come_back_as_they_were() {
    let Some((client, _node)) = database() else { return };
    let ids = [
        "a b",
        "a+b%20c",
        "é/ü?&=#;",
        "line\nbreak\ttab",
        "😀",
        "\"q\"\\",
        "content:0",
        ":kw",
        "[1]",
        "{}",
        "'",
    ];
    let value = |id: &str| {
        let deep = (0..operations::MAX_DEPTH - 2).fold(json!("x"), |inner, _| json!([inner]));
        json!({
            "xt/id": id, "int": i64::MIN, "big": u64::MAX, "float": 1.5e300, "one": 1.0, "null": null, "yes": true, "empty": "",
            "text": "q\" \\ \u{0} \u{7f} \u{2028} é 😀 \n", "list": [1, [], {}, ""], "object": { "a/b": 1, "with space": 2, "": 3 },
            "deep": deep, "k\"ey": { "]": 1 },
        })
    };
    let documents = ids.map(|id| document(&value(id)));
    let ops: Vec<_> = documents.iter().cloned().map(TxOp::Put).collect();
    let tx = client.submit(&ops).unwrap();
    assert!(client.committed(tx).unwrap());
    for (id, expected) in ids.iter().zip(&documents) {
        assert_eq!(
            client.entity(id, At::Latest, &Room::for_answers()).unwrap().as_ref(),
            Some(expected)
        );
        assert_eq!(
            client.history(id, None, &Room::for_answers()).unwrap()[0].document.as_deref(),
            Some(expected)
        );
        assert!(client.entity_tx(id, At::Latest).unwrap().is_some());
        let query = "{:find [(pull e [*])] :in [id] :where [[e :xt/id id]]}";
        let found = client.query(query, &[json!(id)], At::Latest, &Room::for_answers()).unwrap();
        assert_eq!(found, [[Value::Object(expected.clone())]]);
    }
    let log = logged(&client, None);
    assert_eq!(log[0].puts, documents);
}

#[test]
fn queries_take_any_arguments_and_a_state_and_report_failures() {
    let Some((client, _node)) = database() else { return };
    for (id, value) in [
        ("a", json!("q\"\\\n😀")),
        ("b", json!(7)),
        ("c", json!(2.5)),
        ("d", json!(true)),
        ("e", json!(null)),
    ] {
        put(&client, &json!({ "xt/id": id, "v": value, "kind": "x" }));
    }
    let query = "{:find [e v] :in [v] :where [[e :v v]]}";
    let at = At::Tx(4);
    for (id, value) in [
        ("a", json!("q\"\\\n😀")),
        ("b", json!(7)),
        ("c", json!(2.5)),
        ("d", json!(true)),
        ("e", json!(null)),
    ] {
        let found =
            client.query(query, std::slice::from_ref(&value), at, &Room::for_answers()).unwrap();
        assert_eq!(found, [[json!(id), value]]);
    }
    let list = "{:find [e] :in [[v ...]] :where [[e :v v]] :order-by [[e :asc]]}";
    assert_eq!(
        client.query(list, &[json!([7, 2.5])], at, &Room::for_answers()).unwrap(),
        [[json!("b")], [json!("c")]]
    );
    let all = "{:find [e] :where [[e :kind \"x\"]]}";
    assert_eq!(client.query(all, &[], At::Tx(1), &Room::for_answers()).unwrap().len(), 2);

    let fails = "{:find [x] :where [[e :v v] [(+ v 1) x]]}";
    let error = client.query(fails, &[], at, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "XTDB_FAILED", "{error}");
    let error = client.query("{:find [e]", &[], at, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "XTDB_FAILED", "{error}");
    // The connections that the server closed without a word cost nothing that shows.
    assert_eq!(client.query(all, &[], at, &Room::for_answers()).unwrap().len(), 5);
}

#[test]
fn what_is_not_indexed_yet_is_waited_for_and_not_for_ever() {
    let Some((client, _node)) = database() else { return };
    for n in 0..40 {
        let tx = put(&client, &json!({ "xt/id": "a", "n": n }));
        assert_eq!(client.entity("a", At::Tx(tx), &Room::for_answers()).unwrap().unwrap()["n"], n);
    }
    let hasty = Client::new(ClientOptions {
        await_timeout: Duration::from_millis(100),
        ..ClientOptions::new(client.url())
    });
    let hasty = hasty.unwrap();
    for error in [
        hasty.await_tx(1_000).unwrap_err(),
        hasty.committed(1_000).unwrap_err(),
        hasty.entity("a", At::Tx(1_000), &Room::for_answers()).unwrap_err(),
    ] {
        assert_eq!(error.code(), "XTDB_UNAVAILABLE", "{error}");
    }
}

/// Puts a document from a time on, which the client never does.
fn put_from(client: &Client, document: &Value, from: &str) {
    let (address, path) = client.url()["http://".len()..].split_once('/').unwrap();
    let body = json!({ "tx-ops": [["put", document, from]] }).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /{path}/_xtdb/submit-tx HTTP/1.1\r\nHost: {address}\r\nAccept: application/json\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 202 "), "{said}");
}

#[test]
fn a_version_ahead_of_the_nodes_clock_is_seen() {
    let Some((client, _node)) = database() else { return };
    put(&client, &json!({ "xt/id": "a", "n": 1 }));
    // As if the clock that gave the transaction its time were years ahead of the node's.
    put_from(&client, &json!({ "xt/id": "a", "n": 2 }), "2090-01-01T00:00:00.000Z");
    client.await_tx(1).unwrap();
    let n = |at| client.entity("a", at, &Room::for_answers()).unwrap().unwrap()["n"].clone();
    assert_eq!((n(At::Latest), n(At::Tx(1)), n(At::Tx(0))), (json!(2), json!(2), json!(1)));
    assert_eq!(client.entity_tx("a", At::Latest).unwrap().unwrap().tx.id, 1);
    assert_eq!(client.history("a", None, &Room::for_answers()).unwrap().len(), 2);
    let query = "{:find [n] :where [[e :n n]]}";
    assert_eq!(client.query(query, &[], At::Latest, &Room::for_answers()).unwrap(), [[json!(2)]]);
}
