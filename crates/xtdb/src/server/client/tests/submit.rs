//! The outcome of transactions, and which are never sent.

use super::server::{Act, Server, answer};
use super::*;

const ACCEPTED: &str = r#"{"txId":6,"txTime":"2020-10-19T09:21:29Z"}"#;

fn outcome(act: Act) -> (Result<i64, SubmitError>, usize) {
    let client = if matches!(act, Act::Silence) { hasty } else { client };
    let server = Server::start(vec![act]);
    let document = document(&json!({ "xt/id": "a", "n": 1 }));
    let result = client(&server.url()).submit(&[TxOp::Put(document.clone())]);
    (result, server.seen().len())
}

#[test]
fn a_transaction_is_sent_once_and_its_outcome_is_told_apart() {
    let accepted = answer(202, "application/json", ACCEPTED);
    let (id, sent) = outcome(Act::Send(accepted.clone()));
    assert_eq!((id.unwrap(), sent), (6, 1));
    for act in [
        Act::close(),
        Act::Silence,
        Act::SendAndClose(accepted[..accepted.len() - 4].to_vec()),
        Act::SendAndClose(b"HTTP/1.1 202 ".to_vec()),
        Act::json(202, ""),
        Act::json(202, "{}"),
        Act::json(202, "{\"txId\":"),
        Act::json(200, "{}"),
        Act::json(500, r#"{"type":"exception","class":"java.lang.Exception"}"#),
        Act::answer(502, "text/html", "<h1>Bad Gateway</h1>"),
        Act::answer(504, "text/html", ""),
    ] {
        let (result, sent) = outcome(act);
        assert!(matches!(result, Err(SubmitError::Unknown(_))), "{result:?}");
        assert_eq!(sent, 1, "it may be in the log");
    }
    for (act, code) in [
        (Act::json(400, r#"{"error":"Malformed \"application/json\" request."}"#), "XTDB_FAILED"),
        (Act::answer(401, "text/plain", "JWT Failed to validate"), "XTDB_REFUSED"),
        (Act::answer(403, "text/plain", "forbidden: read-only HTTP node"), "XTDB_REFUSED"),
        (Act::answer(404, "text/html", "<h1>404</h1>"), "XTDB_FOREIGN"),
        (Act::answer(413, "text/plain", "too large"), "XTDB_FAILED"),
        (Act::answer(302, "text/plain", ""), "XTDB_FOREIGN"),
    ] {
        let (result, sent) = outcome(act);
        let Err(SubmitError::Refused(error)) = result else { panic!("{result:?}") };
        assert_eq!((error.code(), sent), (code, 1), "{error}");
    }
}

#[test]
fn operations_go_out_as_the_server_takes_them() {
    let server = Server::start(vec![Act::json(202, ACCEPTED)]);
    let text = "[[{\"xt/id\": 1}]]";
    let one = document(&json!({ "xt/id": "a", "n": 1, "f": 1.0, "text": text }));
    let two = document(&json!({ "xt/id": "b" }));
    let ops = [
        TxOp::Match("a".into(), Some(two.clone())),
        TxOp::Match("b".into(), None),
        TxOp::Put(one.clone()),
        TxOp::Delete("b".into()),
        TxOp::Evict("c".into()),
    ];
    assert_eq!(client(&server.url()).submit(&ops).unwrap(), 6);
    let sent = &server.seen()[0];
    assert_eq!(sent.line, "POST /_xtdb/submit-tx HTTP/1.1");
    assert!(sent.headers.contains("content-type: application/json\r\n"), "{}", sent.headers);
    assert_eq!(
        serde_json::from_slice::<Value>(&sent.body).unwrap(),
        json!({ "tx-ops": [
            ["match", "a", { "xt/id": "b" }],
            ["match", "b", null],
            ["put", { "xt/id": "a", "n": 1, "f": 1.0, "text": text }],
            ["delete", "b"],
            ["evict", "c"],
        ] })
    );
    assert!(String::from_utf8_lossy(&sent.body).contains("\"f\":1.0"), "a float stays one");
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(
        json!([]),
        |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) },
    )
}

#[test]
fn what_would_be_lost_or_kill_the_node_is_never_sent() {
    let server = Server::start(vec![Act::json(202, ACCEPTED)]);
    let client = client(&server.url());
    let good = document(&json!({ "xt/id": "a", "d": nested(operations::MAX_DEPTH - 1) }));
    assert_eq!(client.submit(&[TxOp::Put(good.clone())]).unwrap(), 6);
    let refused = |ops: &[TxOp], word: &str| {
        let error = client.submit(ops).unwrap_err();
        let SubmitError::Refused(error) = error else { panic!("{error:?}") };
        assert_eq!(error.code(), "INVALID_ARGUMENT");
        assert!(error.to_string().contains(word), "`{error}` does not say `{word}`");
    };
    refused(&[], "no operations");
    refused(&[TxOp::Put(document(&json!({ "n": 1 })))], "without `xt/id`");
    refused(&[TxOp::Put(document(&json!({ "xt/id": 7 })))], "not text");
    refused(&[TxOp::Put(document(&json!({ "xt/id": "" })))], "empty ID");
    refused(&[TxOp::Delete(String::new())], "empty ID");
    for key in ["crux.db/id", "xt/fn", "xtdb.api/evicted?"] {
        refused(&[TxOp::Put(document(&json!({ "xt/id": "a", key: true })))], key);
    }
    let deep = document(&json!({ "xt/id": "b", "d": nested(operations::MAX_DEPTH) }));
    refused(&[TxOp::Put(good.clone()), TxOp::Put(deep.clone())], "nested deeper than 120");
    refused(&[TxOp::Match("b".into(), Some(deep.clone()))], "nested deeper than 120");
    let again = document(&json!({ "xt/id": "a", "n": 2 }));
    refused(&[TxOp::Put(good.clone()), TxOp::Put(again.clone())], "writes `a` twice");
    refused(&[TxOp::Put(good.clone()), TxOp::Delete("a".into())], "writes `a` twice");
    assert_eq!(server.seen().len(), 1);
}
