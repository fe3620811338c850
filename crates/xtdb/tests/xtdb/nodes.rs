//! What other tests rely on in the nodes themselves: what they keep when killed, that two share a
//! log, and that the proxy in front of them works.

#![expect(clippy::disallowed_methods, reason = "how long an answer takes is what is tested")]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use testing::faults::{Fault, Proxy};
use testing::http::{Connection, Message, Request};
use testing::xtdb::{Database, Node, NodeKind, Options};

const JSON: (&str, &str) = ("Accept", "application/json");

/// One request on a connection of its own.
fn try_ask(url: &str, method: &str, path: &str, body: Option<&Value>) -> Option<Message> {
    let place = url.trim_start_matches("http://");
    let (address, prefix) = place.split_at(place.find('/').unwrap_or(place.len()));
    let body = body.map(Value::to_string);
    let request = Request {
        method,
        path: &format!("{prefix}/_xtdb/{path}"),
        headers: &[JSON, ("Content-Type", "application/json")],
        body: body.as_deref().map(str::as_bytes),
    };
    Connection::open(address).ok()?.ask(&request).ok()?
}

fn get(url: &str, path: &str) -> (u16, Value) {
    let answer = try_ask(url, "GET", path, None).unwrap();
    (answer.status(), serde_json::from_slice(&answer.body()).unwrap_or_default())
}

/// Puts a document; gives the transaction's number.
fn put(url: &str, document: &Value) -> u64 {
    let answer =
        try_ask(url, "POST", "submit-tx", Some(&json!({"tx-ops": [["put", document]]}))).unwrap();
    assert_eq!(answer.status(), 202, "{}", answer.text());
    serde_json::from_slice::<Value>(&answer.body()).unwrap()["txId"].as_u64().unwrap()
}

fn read(url: &str, id: &str, tx_id: u64) -> (u16, Value) {
    get(url, &format!("entity?eid={id}&await-tx-id={tx_id}&await-tx-timeout=20000"))
}

#[test]
fn a_killed_node_keeps_what_it_acknowledged() {
    let Some(mut node) = Node::start(NodeKind::Rocks) else { return };
    let url = node.url();
    let mut last = 0;
    for n in 0..20 {
        last = put(&url, &json!({"xt/id": format!("d{n}"), "n": n}));
    }

    node.kill9();
    assert!(try_ask(&url, "GET", "status", None).is_none());
    node.restart();

    assert_eq!(node.url(), url);
    for n in 0..20 {
        let id = format!("d{n}");
        assert_eq!(read(&url, &id, last), (200, json!({"n": n, "xt/id": id})));
    }
}

#[test]
fn a_node_without_its_index_builds_it_again() {
    let Some(mut node) = Node::start(NodeKind::Rocks) else { return };
    let last = put(&node.url(), &json!({"xt/id": "a", "n": 1}));
    read(&node.url(), "a", last);

    node.kill9();
    std::fs::remove_dir_all(node.folder().join("index")).unwrap();
    node.restart();

    assert_eq!(read(&node.url(), "a", last), (200, json!({"n": 1, "xt/id": "a"})));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_node_refuses_writes_until_restarted_and_loses_none() {
    let Some(mut node) = Node::start(NodeKind::Rocks) else { return };
    let url = node.url();
    node.fill_disk(1_000_000);
    let text = "x".repeat(100_000);
    let submit = |id: u32| {
        let tx = json!({"tx-ops": [["put", {"xt/id": id.to_string(), "text": text}]]});
        try_ask(&url, "POST", "submit-tx", Some(&tx)).unwrap().status()
    };
    let taken = (0..50).take_while(|id| submit(*id) == 202).count();
    assert!((1..50).contains(&taken), "{taken} writes fit");
    assert_eq!(submit(1000), 500);
    assert_eq!(get(&url, "status").0, 200, "it still answers");

    node.restart();

    assert_eq!(get(&url, "sync?timeout=20000").0, 200);
    for id in 0..u32::try_from(taken).unwrap() {
        assert_eq!(get(&url, &format!("entity?eid={id}")).0, 200, "{id} was acknowledged");
    }
    assert_eq!(get(&url, "entity?eid=1000").0, 404);
    assert_eq!(submit(1000), 202);
}

#[test]
fn a_paused_node_answers_when_it_runs_again() {
    let Some(node) = Node::start(NodeKind::Memory) else { return };
    node.pause();
    let url = node.url();
    let asked = std::thread::spawn(move || (get(&url, "status").0, Instant::now()));
    std::thread::sleep(Duration::from_millis(300));
    let resumed = Instant::now();
    node.resume();
    let (status, answered) = asked.join().unwrap();
    assert_eq!(status, 200);
    assert!(answered > resumed);
}

#[test]
fn two_nodes_over_postgresql_see_each_others_writes() {
    let Some([mut one, two]) = Node::pair_over_postgres() else { return };
    let tx_id = put(&one.url(), &json!({"xt/id": "a", "n": 1}));
    assert_eq!(read(&two.url(), "a", tx_id), (200, json!({"n": 1, "xt/id": "a"})));

    one.kill9();
    let tx_id = put(&two.url(), &json!({"xt/id": "a", "n": 2}));
    one.restart();
    assert_eq!(read(&one.url(), "a", tx_id), (200, json!({"n": 2, "xt/id": "a"})));
}

#[test]
fn a_wait_without_a_time_out_lasts_until_there_is_something() {
    let Some(database) = Database::new() else { return };
    let url = database.url();
    let waiting = std::thread::spawn(move || (get(&url, "await-tx?tx-id=0"), Instant::now()));
    std::thread::sleep(Duration::from_millis(500));
    let written = Instant::now();
    put(&database.url(), &json!({"xt/id": "a"}));
    let ((status, answer), answered) = waiting.join().unwrap();
    assert_eq!((status, &answer["txId"]), (200, &json!(0)));
    assert!(answered > written);
}

#[test]
fn documents_of_20_megabytes_come_back_whole() {
    let Some(database) = Database::new() else { return };
    for megabytes in [1, 5, 20] {
        let text = "a\"b\\c\né😀".repeat(megabytes * 1_000_000 / 11);
        let document =
            json!({"xt/id": format!("big-{megabytes}"), "text": text, "inner": {"list": [text]}});
        let tx_id = put(&database.url(), &document);
        let (status, found) = read(&database.url(), &format!("big-{megabytes}"), tx_id);
        assert_eq!(status, 200);
        assert!(found == document, "{megabytes} MB come back changed");
    }
}

#[test]
fn databases_of_tests_share_nothing() {
    let (Some(one), Some(two)) = (Database::new(), Database::new()) else { return };
    let tx_id = put(&one.url(), &json!({"xt/id": "a"}));
    assert_eq!(read(&one.url(), "a", tx_id).0, 200);
    assert_eq!(get(&two.url(), "entity?eid=a").0, 404);
    assert_eq!(get(&two.url(), "attribute-stats"), (200, json!({})));
}

#[test]
fn a_node_can_demand_a_token_and_refuse_writes() {
    let options = Options { token: Some("secret"), read_only: true };
    let Some(node) = Node::start_with(NodeKind::Memory, options) else { return };
    assert_eq!(get(&node.url(), "status").0, 401);
    let ask = |method, path, headers: &[(&str, &str)], body| {
        let mut connection = Connection::open(&node.address()).unwrap();
        connection.ask(&Request { method, path, headers, body }).unwrap().unwrap().status()
    };
    let token = ("Authorization", "Bearer secret");
    assert_eq!(ask("GET", "/_xtdb/status", &[token], None), 200);
    assert_eq!(ask("GET", "/_xtdb/status", &[("Authorization", "Bearer other")], None), 401);
    let body = Some(br#"{"tx-ops":[]}"#.as_slice());
    assert_eq!(
        ask("POST", "/_xtdb/submit-tx", &[token, ("Content-Type", "application/json")], body),
        403
    );
}

#[test]
fn the_proxy_does_to_requests_what_it_is_told() {
    let Some(database) = Database::new() else { return };
    let proxy = Proxy::before(&database.url());
    let url = format!("{}{}", proxy.url(), database.path());
    let status = |path: &str| try_ask(&url, "GET", path, None).map(|answer| answer.status());
    assert_eq!(status("status"), Some(200));

    proxy.set(Fault::Refuse);
    assert_eq!(status("status"), None);
    proxy.set(Fault::Status500);
    assert_eq!(status("status"), Some(500));
    proxy.set(Fault::Delay(Duration::from_millis(200)));
    let before = Instant::now();
    assert_eq!(status("status"), Some(200));
    assert!(before.elapsed() >= Duration::from_millis(200));

    proxy.set(Fault::Pass);
    proxy.once("status", Fault::CutBodyAfter(10));
    let cut = try_ask(&url, "GET", "status", None).unwrap();
    assert!(cut.cut && cut.status() == 200);
    assert_eq!(
        (cut.raw_body.len(), cut.header("content-length").unwrap().as_str() > "10"),
        (10, true)
    );
    assert_eq!(status("status"), Some(200), "once means once");

    proxy.once("submit-tx", Fault::SwallowAnswer);
    let put = json!({"tx-ops": [["put", {"xt/id": "a"}]]});
    assert!(try_ask(&url, "POST", "submit-tx", Some(&put)).is_none());
    assert_eq!(read(&url, "a", 0), (200, json!({"xt/id": "a"})), "it was written all the same");
    assert!(proxy.seen().iter().any(|line| line.contains("submit-tx")));
}
