//! Servers that are unreachable, slow, broken, or break off.

use std::net::TcpListener;
use std::time::Instant;

use super::server::{Act, Server, answer, chunked};
use super::*;

const STATUS: &str = r#"{"version":"1.24.3","revision":"x","indexVersion":22,"kvStore":"xtdb.rocksdb.RocksKv","estimateNumKeys":7,"size":null,"consumerState":null,"ingesterFailed?":false}"#;

fn status() -> Act {
    Act::json(200, STATUS)
}

/// Longer than a client waits that gives up after half a second, on any machine, and shorter than
/// the servers of these tests live.
const NOT_FOR_EVER: Duration = Duration::from_secs(15);

/// How long something takes.
#[expect(clippy::disallowed_methods, reason = "time-outs are what is tested")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

#[test]
fn a_server_that_is_away_is_unavailable_and_nothing_was_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = hasty(&url);
    let (error, took) = timed(|| client.status().unwrap_err());
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(error.to_string().contains(&url) && error.to_string().contains("refused"), "{error}");
    assert!(took < NOT_FOR_EVER, "{took:?}");
    let document = document(&json!({ "xt/id": "a" }));
    let error = client.submit(&[TxOp::Put(document.clone())]).unwrap_err();
    assert!(matches!(error, SubmitError::NotSent(_)), "{error:?}");
}

#[test]
fn a_silent_server_is_not_waited_for() {
    let server = Server::start(vec![Act::Silence]);
    let client = hasty(&server.url());
    let (error, took) = timed(|| client.attribute_stats().unwrap_err());
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(error.to_string().contains("within 0.4 s"), "{error}");
    assert!(took < NOT_FOR_EVER, "{took:?}");
    let (_, took) = timed(|| client.committed(1).unwrap_err());
    assert!(took < NOT_FOR_EVER, "{took:?}");
}

#[test]
fn a_body_that_stops_or_drips_is_not_waited_for() {
    let whole = answer(200, "application/json", STATUS);
    let stops = [&whole[..whole.len() - 5]].concat();
    let server = Server::with(move |number, _| match number {
        0 => Act::Send(stops.clone()),
        _ => Act::Drip(whole.clone(), Duration::from_millis(50)),
    });
    let client = hasty(&server.url());
    let (error, took) = timed(|| client.attribute_stats().unwrap_err());
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(took < NOT_FOR_EVER, "{took:?}");
    // 60 ms for each byte of the head alone are more than the time-out.
    let (error, took) = timed(|| client.attribute_stats().unwrap_err());
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(took < NOT_FOR_EVER, "{took:?}");
}

#[test]
fn a_late_answer_within_the_limit_is_taken() {
    let late = Act::Late(Duration::from_millis(200), answer(200, "application/json", STATUS));
    let server = Server::start(vec![late]);
    let status = client(&server.url()).status().unwrap();
    assert_eq!(status.version, "1.24.3");
    assert!(!status.ingester_failed);
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn where_the_server_may_wait_it_is_given_that_time_too() {
    // More than other requests may take.
    let late = Act::Late(
        Duration::from_millis(500),
        answer(200, "application/json", r#"{"txCommitted?":true}"#),
    );
    let server = Server::start(vec![late]);
    let client = Client::new(ClientOptions {
        request_timeout: Duration::from_millis(400),
        await_timeout: Duration::from_secs(60),
        ..ClientOptions::new(server.url())
    });
    assert!(client.unwrap().committed(7).unwrap());
    let line = &server.seen()[0].line;
    assert!(line.contains("tx-id=7&await-tx-id=7&await-tx-timeout=60000"), "{line}");
}

#[test]
fn a_silently_closed_connection_costs_one_immediate_retry() {
    let server = Server::start(vec![status(), Act::close(), status()]);
    let client = client(&server.url());
    client.status().unwrap();
    let status = client.status().unwrap();
    assert_eq!(status.version, "1.24.3");
    let connections: Vec<_> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 1], "the lost request went on the known connection");
}

#[test]
fn a_connection_is_used_again() {
    let server = Server::start(vec![status()]);
    let client = client(&server.url());
    for _ in 0..5 {
        client.status().unwrap();
    }
    assert!(server.seen().iter().all(|seen| seen.connection == 0));
}

#[test]
fn a_truncated_body_is_requested_again() {
    let whole = answer(200, "application/json", STATUS);
    let cut = Act::SendAndClose(whole[..whole.len() - 10].to_vec());
    let chunks = Act::SendAndClose(chunked("application/json", &[&STATUS[..40]], false));
    for cut in [cut, chunks] {
        let server = Server::start(vec![cut.clone(), status()]);
        assert_eq!(client(&server.url()).status().unwrap().version, "1.24.3");
        assert_eq!(server.seen().len(), 2);

        let server = Server::start(vec![cut]);
        let error = client(&server.url()).attribute_stats().unwrap_err();
        assert_eq!(error.code(), "XTDB_UNAVAILABLE");
        assert!(error.to_string().contains("cut"), "{error}");
        assert_eq!(server.seen().len(), 4, "it is not asked without end");
    }
}

#[test]
fn a_body_that_ends_within_a_form_is_unreadable() {
    let edn = "{:xtdb.api/tx-time #inst \"2026-11-21T08:09:29.435-00:00\", :xtdb.api/tx-id 0}";
    let cut = Act::Send(chunked("application/edn", &[&edn[..50]], true));
    let server = Server::start(vec![cut.clone(), Act::edn(200, edn)]);
    let tx = client(&server.url()).latest_completed().unwrap().unwrap();
    assert_eq!(tx, Tx { id: 0, time: Timestamp(1_795_248_569_435) });

    let server = Server::start(vec![cut]);
    let error = client(&server.url()).latest_completed().unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("is cut off"), "{error}");

    let server = Server::start(vec![Act::json(200, "[[\"t000\"],[\"t0")]);
    let error = client(&server.url())
        .query("{:find [e]}", &[], At::Latest, &Room::for_answers())
        .unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("is cut off"), "{error}");
}

#[test]
fn an_empty_answer_to_a_query_is_a_failure() {
    let empty = Act::SendAndClose(answer(200, "application/json;charset=utf-8", ""));
    let server = Server::start(vec![empty.clone()]);
    let error = client(&server.url())
        .query("{:find [e]}", &[], At::Latest, &Room::for_answers())
        .unwrap_err();
    assert_eq!(error.code(), "XTDB_FAILED");
    assert_eq!(server.seen().len(), 2, "it costs as much each time");

    // The server closes the connection without saying so: nothing else may be sent on it.
    let silently = Act::Send(answer(200, "application/json;charset=utf-8", ""));
    let accepted = Act::json(202, r#"{"txId":6}"#);
    let server = Server::start(vec![silently.clone(), silently, accepted]);
    let client_of_it = client(&server.url());
    client_of_it.query("{:find [e]}", &[], At::Latest, &Room::for_answers()).unwrap_err();
    assert_eq!(client_of_it.submit(&[TxOp::Delete("a".to_owned())]).unwrap(), 6);
    let connections: Vec<_> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 1, 2]);

    let server = Server::start(vec![empty.clone(), Act::json(200, "[]")]);
    assert_eq!(
        client(&server.url()).query("{:find [e]}", &[], At::Latest, &Room::for_answers()).unwrap(),
        [[Value::Null; 0]; 0]
    );

    let server = Server::start(vec![empty]);
    let error = client(&server.url()).entity("a", At::Latest, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("is empty"), "{error}");
}

#[test]
fn a_body_without_end_is_not_read_to_its_end() {
    let server =
        Server::start(vec![Act::json(200, &format!("{{\"a\":\"{}\"}}", "x".repeat(5_000)))]);
    let mut client = client(&server.url());
    client.http.limits.max_body = 1_000;
    let error = client.entity("a", At::Latest, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("more than 1000 bytes"), "{error}");
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn failures_of_the_server_say_what_it_says() {
    let server = Server::with(|_, seen| match &seen.line {
        line if line.contains("await-tx?") => {
            Act::edn(500, r#"{:type "exception", :class "java.util.concurrent.TimeoutException"}"#)
        }
        line if line.contains("tx-committed?") => {
            Act::json(500, r#"{"type":"exception","class":"java.lang.Exception"}"#)
        }
        line if line.contains("query") => Act::json(
            400,
            r#"{"xtdb.error/error-type":"illegal-argument","xtdb.error/message":"Query didn't match"}"#,
        ),
        _ => Act::answer(500, "text/html", "<html><title>Error 500 Disk</title>"),
    });
    let client = client(&server.url());
    let error = client.await_tx(9).unwrap_err();
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(error.to_string().contains("had not indexed the transaction in time"), "{error}");
    let error = client.committed(9).unwrap_err();
    assert_eq!(error.code(), "XTDB_FAILED");
    assert!(error.to_string().contains("`java.lang.Exception`"), "{error}");
    let error = client.query("{}", &[], At::Latest, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "XTDB_FAILED");
    assert!(error.to_string().contains("Query didn't match"), "{error}");
    let error = client.latest_submitted().unwrap_err();
    assert_eq!(error.code(), "XTDB_FAILED");
    assert!(error.to_string().contains("Error 500 Disk"), "{error}");
    let asked = server.seen().into_iter().filter(|seen| !seen.line.contains("/status"));
    assert_eq!(asked.count(), 4, "none of them is repeated");
}

#[test]
fn lagging_nodes_and_empty_balancers_are_asked_again() {
    let lags =
        r#"{"xtdb.error/error-type":"node-out-of-sync","xtdb.error/message":"Node out of sync"}"#;
    let found = Act::json(200, r#"{"xt/id":"a","n":1}"#);
    for again in [Act::json(400, lags), Act::answer(503, "text/html", "<h1>no server</h1>")] {
        let server = Server::start(vec![again.clone(), again.clone(), found.clone()]);
        let entity =
            client(&server.url()).entity("a", At::Tx(3), &Room::for_answers()).unwrap().unwrap();
        assert_eq!(entity["n"], 1);
        assert_eq!(server.seen().len(), 3);

        let server = Server::start(vec![again]);
        let error = client(&server.url()).entity("a", At::Tx(3), &Room::for_answers()).unwrap_err();
        assert_eq!(error.code(), "XTDB_UNAVAILABLE");
        assert_eq!(server.seen().len(), 4);
    }
}

#[test]
fn no_more_connections_than_allowed_are_used() {
    let late = Act::Late(Duration::from_millis(40), answer(200, "application/json", STATUS));
    let server = Server::start(vec![late]);
    let client = Client::new(ClientOptions { connections: 2, ..ClientOptions::new(server.url()) });
    let client = client.unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| client.status().unwrap());
        }
    });
    assert_eq!(server.seen().len(), 8);
    assert_eq!(server.busiest(), 2);
}

#[test]
fn waiting_too_long_for_a_connection_fails_before_sending() {
    let server = Server::start(vec![status()]);
    let client = hasty(&server.url());
    let runtime = client.runtime().unwrap();
    let held = runtime.wait(client.http.permits.acquire_many(4)).unwrap();
    let document = document(&json!({ "xt/id": "a" }));
    let (error, took) = timed(|| client.submit(&[TxOp::Put(document.clone())]).unwrap_err());
    assert!(matches!(error, SubmitError::NotSent(_)), "{error:?}");
    assert!(error.into_error().to_string().contains("earlier requests"));
    let error = client.status().unwrap_err();
    assert_eq!(error.code(), "XTDB_UNAVAILABLE");
    assert!(took < NOT_FOR_EVER, "{took:?}");
    assert_eq!(server.seen().len(), 0);
    drop(held);
    client.status().unwrap();
}

#[test]
fn a_node_that_indexes_nothing_any_more_is_told_apart() {
    let server = Server::with(|_, seen| {
        if seen.line.contains("/status") {
            Act::json(200, &STATUS.replace("\"ingesterFailed?\":false", "\"ingesterFailed?\":true"))
        } else {
            Act::json(500, r#"{"type":"exception","class":"java.lang.Exception"}"#)
        }
    });
    let client = client(&server.url());
    assert!(client.status().unwrap().ingester_failed);
    for error in [client.committed(3).unwrap_err(), client.await_tx(3).unwrap_err()] {
        assert_eq!(error.code(), "XTDB_FAILED");
        assert!(error.to_string().contains("its ingester has failed"), "{error}");
    }
}

#[test]
fn ids_and_arguments_arrive_as_they_are() {
    let server = Server::with(|_, seen| {
        if seen.line.contains("query") {
            Act::json(200, "[[1,\"é\"]]")
        } else {
            Act::json(404, "{\"error\":\"x entity not found\"}")
        }
    });
    let client = client(&server.url());
    assert_eq!(client.entity("a b+c%&é#/?\n😀", At::Latest, &Room::for_answers()).unwrap(), None);
    assert_eq!(
        server.seen()[0].line,
        "GET /_xtdb/entity?eid=a%20b%2Bc%25%26%C3%A9%23%2F%3F%0A%F0%9F%98%80&valid-time=9999-12-31T23%3A59%3A59Z HTTP/1.1"
    );
    let found = client.query(
        "{:find [n t] :in [k]}",
        &[json!("q\"\\é"), json!(["a", true])],
        At::Tx(5),
        &Room::for_answers(),
    );
    assert_eq!(found.unwrap(), [[json!(1), json!("é")]]);
    let asked = &server.seen()[1];
    assert!(asked.line.contains("&tx-id=5&await-tx-id=5&await-tx-timeout=200 "), "{asked:?}");
    assert!(asked.headers.contains("content-type: application/edn\r\n"), "{}", asked.headers);
    assert!(asked.headers.contains("accept: application/json\r\n"), "{}", asked.headers);
    assert_eq!(
        String::from_utf8(asked.body.clone()).unwrap(),
        "{:query {:find [n t] :in [k]}, :in-args [\"q\\\"\\\\é\" [\"a\",true]]}"
    );
    let error = client.entity(&"x".repeat(8_000), At::Latest, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "INVALID_ARGUMENT");
    assert_eq!(server.seen().len(), 2);
}
