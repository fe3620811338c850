//! Reading the log: whole, in pieces, and where it breaks.

use super::server::{Act, Seen, Server, chunked};
use super::*;

/// The transactions from a number on, of 9 in all, each with one put; as the server says them in
/// either notation.
fn transactions(seen: &Seen) -> Vec<String> {
    let after = seen.line.split("after-tx-id=").nth(1);
    let after: i64 =
        after.map_or(-1, |rest| rest.split(['&', ' ']).next().unwrap().parse().unwrap());
    let is_json = seen.headers.contains("accept: application/json");
    assert_eq!(is_json, seen.line.contains("with-ops%3F=true"), "{}", seen.line);
    (after + 1..9)
        .map(|id| {
            if is_json {
                format!(r#"{{"txId":{id},"txTime":"2026-11-21T08:09:31Z","txOps":[["put",{{"xt/id":"d{id}","with space":1}}]]}}"#)
            } else {
                format!("{{:xtdb.api/tx-id {id}, :xtdb.api/tx-time #inst \"2026-11-21T08:09:31.10{id}-00:00\", :xtdb.api/tx-events [[:xtdb.api/put #xtdb/id \"26\" #xtdb/id \"ed\"]]}}")
            }
        })
        .collect()
}

/// A list of which only so many characters come.
fn body(seen: &Seen, length: Option<usize>) -> Act {
    let list = transactions(seen);
    let (kind, mut text) = if seen.headers.contains("accept: application/json") {
        ("application/json", format!("[{}]", list.join(",")))
    } else {
        ("application/edn", format!("({})", list.join(" ")))
    };
    match length {
        None => Act::Send(chunked(kind, &[&text], true)),
        Some(length) => {
            text.truncate(length);
            let (first, second) = text.split_at(length / 2);
            Act::SendAndClose(chunked(kind, &[first, second], false))
        }
    }
}

fn read(client: &Client, after: Option<i64>) -> (Vec<LoggedTx>, Result<()>) {
    let mut taken = Vec::new();
    let result = client.log(after, &mut |tx| {
        taken.push(tx);
        Ok(ControlFlow::Continue(()))
    });
    (taken, result)
}

fn ids(taken: &[LoggedTx]) -> Vec<i64> {
    taken.iter().map(|tx| tx.tx.id).collect()
}

#[test]
fn transactions_have_their_documents_and_millisecond_times() {
    let server = Server::with(|_, seen| body(seen, None));
    let client = client(&server.url());
    let (taken, result) = read(&client, Some(6));
    result.unwrap();
    assert_eq!(ids(&taken), [7, 8]);
    assert_eq!(taken[0].tx.time, Timestamp::parse("2026-11-21T08:09:31.107Z").unwrap());
    let put = document(&json!({ "xt/id": "d7", "with space": 1 }));
    assert_eq!(taken[0].puts, [put]);
    assert_eq!(ids(&read(&client, None).0), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(read(&client, Some(8)).0, []);
}

#[test]
fn an_interrupted_log_resumes_without_repetition() {
    // Each answer ends after 250 characters, which are one or two transactions of either notation.
    let server =
        Server::with(|_, seen| body(seen, Some(250.min(transactions(seen).concat().len()))));
    let (taken, result) = read(&client(&server.url()), None);
    assert!(ids(&taken).starts_with(&[0, 1, 2, 3, 4, 5]), "{:?}", ids(&taken));
    assert!(ids(&taken).windows(2).all(|pair| pair[0] < pair[1]));
    // The end of the list never comes.
    let error = result.unwrap_err();
    assert_eq!(error.code(), "XTDB_UNAVAILABLE", "{error}");

    let server = Server::with(|number, seen| body(seen, (number < 8).then_some(250)));
    let (taken, result) = read(&client(&server.url()), None);
    result.unwrap();
    assert_eq!(ids(&taken), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_log_that_ends_early_is_not_taken_for_whole() {
    let cut = |seen: &Seen| {
        let Act::Send(whole) = body(seen, None) else { unreachable!() };
        let text = String::from_utf8(whole).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let kind = if head.contains("edn") { "application/edn" } else { "application/json" };
        let body = body.split_once("\r\n").unwrap().1;
        Act::Send(chunked(kind, &[&body[..body.rfind("26").unwrap_or(body.len() - 20)]], true))
    };
    let server = Server::with(move |_, seen| cut(seen));
    let (taken, result) = read(&client(&server.url()), Some(4));
    assert_eq!(ids(&taken), [5, 6, 7]);
    let error = result.unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("cut off"), "{error}");
}

#[test]
fn an_endless_transaction_is_given_up_but_not_many_small_ones() {
    let server = Server::with(|_, seen| body(seen, None));
    let mut client = client(&server.url());
    client.http.limits.max_body = 100_000;
    assert_eq!(read(&client, None).0.len(), 9);

    let server = Server::with(|_, seen| {
        let Act::Send(mut bytes) = body(seen, None) else { unreachable!() };
        if seen.headers.contains("accept: application/json") {
            bytes = chunked("application/json", &["[{\"x\":\"", &"y".repeat(200_000)], false);
        }
        Act::Send(bytes)
    });
    let mut client = super::client(&server.url());
    client.http.limits.max_body = 100_000;
    let (taken, result) = read(&client, None);
    assert_eq!(taken, []);
    let error = result.unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("more than 100000 bytes"), "{error}");
}

#[test]
fn who_takes_the_log_may_stop_and_fail_and_ask_other_things() {
    let server = Server::with(|_, seen| {
        if seen.line.contains("tx-log") {
            body(seen, None)
        } else {
            Act::json(404, r#"{"error":"a entity not found"}"#)
        }
    });
    let client = Client::new(ClientOptions { connections: 1, ..ClientOptions::new(server.url()) });
    let client = client.unwrap();
    let mut taken = Vec::new();
    client
        .log(None, &mut |tx| {
            assert_eq!(client.entity("a", At::Latest, &Room::for_answers()).unwrap(), None);
            taken.push(tx.tx.id);
            Ok(if tx.tx.id == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .unwrap();
    assert_eq!(taken, [0, 1, 2, 3]);
    let error = client.log(None, &mut |_| Err(Error::internal("mine"))).unwrap_err();
    assert!(error.to_string().contains("mine"));
    assert_eq!(read(&client, None).0.len(), 9, "the connections are free again");
}

#[test]
fn what_was_logged_meanwhile_waits_for_the_next_time() {
    let server = Server::with(|_, seen| {
        let mut list = transactions(seen);
        if seen.headers.contains("accept: application/edn") {
            list.truncate(4);
            Act::edn(200, &format!("({})", list.join(" ")))
        } else {
            Act::json(200, &format!("[{}]", list.join(",")))
        }
    });
    let (taken, result) = read(&client(&server.url()), None);
    result.unwrap();
    assert_eq!(ids(&taken), [0, 1, 2, 3]);
}

#[test]
fn operations_that_put_nothing_of_ours_are_passed_over() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let json = format!(
        r#"[{{"txId":4,"txTime":"2026-11-21T08:09:31Z","txOps":[["put",{{"xt/id":"a"}}],["delete","71f7"],["evict","26"],
        ["match","ab",{{"xt/id":"m"}}],["match","cd"],["fn","f","arg"],["put",{{"xt/id":7}}],["put",{{"xt/id":"deep","d":{deep}}}],
        ["put",{{"xt/id":"ef","xtdb.api/evicted?":true}}],7,[],["put",{{"xt/id":"b"}}]]}}]"#
    );
    let edn = "({:xtdb.api/tx-id 4, :xtdb.api/tx-time #inst \"2026-11-21T08:09:31.100-00:00\", :xtdb.api/tx-events []})";
    let server = Server::with(move |_, seen| {
        if seen.headers.contains("application/edn") {
            Act::edn(200, edn)
        } else {
            Act::json(200, &json)
        }
    });
    let (taken, result) = read(&client(&server.url()), None);
    result.unwrap();
    assert_eq!(
        taken[0].puts,
        [document(&json!({ "xt/id": "a" })), document(&json!({ "xt/id": "b" }))]
    );
}

#[test]
fn a_log_of_another_shape_is_refused() {
    for (json, edn) in [
        (
            r#"[{"txId":1,"txEvents":[]}]"#,
            "({:xtdb.api/tx-id 1, :xtdb.api/tx-time #inst \"2026-11-21T08:09:31.1-00:00\"})",
        ),
        (r#"[{"txId":1,"txOps":[]}]"#, "({:xtdb.api/tx-id 1, :xtdb.api/tx-time nil})"),
        (
            r#"[{"txId":1,"txOps":[]}]"#,
            "({:xtdb.api/tx-id 2, :xtdb.api/tx-time #inst \"2026-11-21T08:09:31.1-00:00\"})",
        ),
        (r#"{"txId":1}"#, "()"),
        ("[1]", "({:xtdb.api/tx-id 1, :xtdb.api/tx-time #inst \"2026-11-21T08:09:31.1-00:00\"})"),
        ("[]", "{:a 1}"),
        ("[] []", "()"),
    ] {
        let server = Server::with(move |_, seen| {
            if seen.headers.contains("application/edn") {
                Act::edn(200, edn)
            } else {
                Act::json(200, json)
            }
        });
        let (taken, result) = read(&client(&server.url()), None);
        assert_eq!(taken, []);
        assert_eq!(result.unwrap_err().code(), "XTDB_ANSWER", "{json} {edn}");
    }
    let server = Server::start(vec![Act::answer(404, "text/html", "<h1>404</h1>")]);
    assert_eq!(read(&client(&server.url()), None).1.unwrap_err().code(), "XTDB_FOREIGN");
}
