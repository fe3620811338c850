//! Servers that would fill our memory, or keep us waiting: the tests count how much is read from
//! them.

use serde_json::value::RawValue;

use super::server::{Act, Server, chunked};
use super::*;

/// What the system may hold of an answer that nobody reads, on both sides.
const BUFFERED: usize = 8 << 20;
/// An answer in JSON that has no end.
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";

/// Some hundred megabytes of a text behind a beginning.
fn flood(head: &str, piece: &str) -> Act {
    let times = (256 << 10) / piece.len();
    Act::Flood(head.as_bytes().to_vec(), piece.repeat(times).into_bytes(), 2_000)
}

/// Everything that can be asked, and what comes of it.
fn questions(client: &Client, room: &Room) -> Vec<Result<()>> {
    let document = document(&json!({ "xt/id": "a" }));
    let submitted = client.submit(&[TxOp::Put(document.clone())]).map_err(SubmitError::into_error);
    vec![
        client.status().map(drop),
        client.time().map(drop),
        submitted.map(drop),
        client.committed(1).map(drop),
        client.log_times(0, 1).map(drop),
        client.await_tx(1).map(drop),
        client.latest_completed().map(drop),
        client.latest_submitted().map(drop),
        client.entity("a", At::Latest, room).map(drop),
        client.entity_tx("a", At::Latest).map(drop),
        client.history("a", None, room).map(drop),
        client.query("{:find [e]}", &[], At::Latest, room).map(drop),
        client.attribute_stats().map(drop),
        client.log(None, &mut |_| Ok(ControlFlow::Continue(()))),
    ]
}

/// Asks a server everything, which fails; the errors.
fn refused(act: impl Fn() -> Act + Send + Sync + 'static) -> Vec<Error> {
    let server = Server::with(move |_, _| act());
    let mut client = hasty(&server.url());
    client.http.limits.max_body = 1 << 20;
    let answers = questions(&client, &Room::of(1 << 20));
    let most = server.seen().len() * (BUFFERED + (2 << 20));
    assert!(server.taken() < most, "{} bytes in {} answers", server.taken(), server.seen().len());
    let errors: Vec<Error> = answers.into_iter().map(|answer| answer.unwrap_err()).collect();
    for error in &errors {
        assert!(error.report().len() < 2_000, "{} bytes of an error", error.report().len());
    }
    errors
}

/// The errors of each of these floods, side by side: most of the time is waiting.
fn all_refused(floods: Vec<(String, &'static str)>) -> Vec<Error> {
    let asking = floods
        .into_iter()
        .map(|(head, piece)| std::thread::spawn(move || refused(move || flood(&head, piece))));
    let asking: Vec<_> = asking.collect();
    asking.into_iter().flat_map(|errors| errors.join().unwrap()).collect()
}

#[test]
fn an_answer_without_end_is_given_up_whatever_was_asked() {
    let pieces =
        [r#"{"a":1},"#, "[", "[[", "{\"a\":", "\"x", " ", "1", "[[1],", ":a ", "({:a 1} ", "\0"];
    let heads = [HEAD.to_owned(), format!("{HEAD}[")];
    let mut floods: Vec<_> =
        heads.iter().flat_map(|head| pieces.map(|piece| (head.clone(), piece))).collect();
    floods.push((format!("{HEAD}\""), "\\u0001"));
    floods.push((format!("{HEAD}{{\"a\":["), "0,"));
    all_refused(floods);
}

#[test]
fn of_an_answer_of_another_shape_only_the_beginning_is_taken() {
    let server = Server::with(|_, _| flood(HEAD, "{\"a\":1},"));
    let client = client(&server.url());
    let error = client.query("{:find [e]}", &[], At::Latest, &Room::for_answers()).unwrap_err();
    assert_eq!(error.code(), "XTDB_ANSWER");
    assert!(error.to_string().contains("begins as something else"), "{error}");
    assert!(server.taken() <= server.seen().len() * BUFFERED, "{}", server.taken());
}

#[test]
fn what_an_error_says_is_read_to_some_kilobytes() {
    let head =
        |status: u16, kind: &str| format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n\r\n");
    let statuses = [301, 400, 401, 404, 429, 500, 503];
    let json = |status| (head(status, "application/json") + "[", r#"{"a":1},"#);
    let text = |status| (head(status, "text/plain"), "no reason ");
    let floods = statuses.map(json).into_iter().chain(statuses.map(text));
    for error in all_refused(floods.collect()) {
        assert!(error.to_string().len() < 600, "{error}");
    }
}

#[test]
fn headers_without_end_are_not_read_to_it() {
    for error in refused(|| flood("HTTP/1.1 200 OK\r\n", "X-Header: some text\r\n")) {
        assert!(["XTDB_FOREIGN", "XTDB_UNAVAILABLE"].contains(&error.code()), "{error}");
    }
    refused(|| flood("HTTP/1.1 200 OK\r\nX-Header: ", "some text"));
    // None of these is kept, and an answer has to begin in time.
    let server = Server::with(|_, _| flood("", "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_eq!(hasty(&server.url()).attribute_stats().unwrap_err().code(), "XTDB_UNAVAILABLE");
}

#[test]
fn endless_tiny_chunks_and_chunk_extensions_are_given_up() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    all_refused(vec![
        (format!("{head}1;x="), "y"),
        (head.to_owned(), "1\r\n[\r\n"),
        (format!("{head}1\r\n[\r\n0\r\n"), "X-Trailer: some text\r\n"),
    ]);
}

#[test]
fn an_answer_that_is_compressed_is_not_expanded() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\r\n";
    let server = Server::with(move |_, _| flood(head, "\u{1f}\u{8}"));
    let client = client(&server.url());
    let error = client.entity("a", At::Latest, &Room::for_answers()).unwrap_err();
    assert!(error.to_string().contains("begins as something else"), "{error}");
    assert!(!server.seen()[0].headers.to_lowercase().contains("accept-encoding"));
}

#[test]
fn a_server_that_drips_is_not_waited_for_to_the_end() {
    let pause = Duration::from_millis(20);
    let body = format!("{HEAD}[{}", "[1],".repeat(1_000));
    let server = Server::with(move |_, _| Act::Drip(body.clone().into_bytes(), pause));
    let client = hasty(&server.url());
    client.query("{:find [e]}", &[], At::Latest, &Room::for_answers()).unwrap_err();
    client.log(None, &mut |_| Ok(ControlFlow::Continue(()))).unwrap_err();
    assert!(server.taken() < 2_000, "{} bytes, one after another", server.taken());
}

#[test]
fn many_small_members_are_kept_only_as_long_as_there_is_room() {
    for list in ["[[{\"a\":1}],", "[[1],", "[[],", "[[null,null,null],"] {
        let piece = &list[1..];
        let text = format!("[{}[1]]", piece.repeat(20_000));
        let server = Server::start(vec![Act::Send(chunked("application/json", &[&text], true))]);
        let client = client(&server.url());
        let room = Room::of(200_000);
        let error = client.query("{:find [e]}", &[], At::Latest, &room).unwrap_err();
        assert_eq!(error.code(), "XTDB_ANSWER");
        assert!(error.to_string().contains("more than 200000 bytes of memory"), "{error}");
        assert_eq!(server.seen().len(), 1, "the same would come again");
        let found = client.query("{:find [e]}", &[], At::Latest, &Room::for_answers()).unwrap();
        assert_eq!(found.len(), 20_001);
    }
}

#[test]
fn a_transactions_operations_are_kept_within_a_bound() {
    let put = r#"["put",{"xt/id":"a"}]"#;
    for op in ["1", "[]", put, r#"["fn","f",{"a":{"a":{}}}]"#] {
        let list = vec![op; 10_000].join(",");
        let text = format!(r#"{{"txId":1,"txOps":[{list}]}}"#);
        let told: Box<RawValue> = serde_json::from_str(&text).unwrap();
        let error = answers::logged_puts("http://x", &told, &Room::of(100_000)).unwrap_err();
        assert!(error.to_string().contains("more than 100000 bytes of memory"), "{error}");
        let (id, puts) = answers::logged_puts("http://x", &told, &Room::for_answers()).unwrap();
        assert_eq!((id, puts.len()), (1, if op == put { 10_000 } else { 0 }));
    }
}

#[test]
fn versions_that_are_alike_share_their_document() {
    let row = |id: i64| {
        let time = "#inst \"2026-11-21T08:09:31.100-00:00\"";
        format!(
            "{{:xtdb.api/tx-id {id}, :xtdb.api/tx-time {time}, :xtdb.api/content-hash #xtdb/id \"ab\"}}"
        )
    };
    let edn = format!("({})", (0..100).map(row).collect::<Vec<_>>().join(" "));
    let server = Server::with(move |_, seen| {
        if seen.headers.contains("application/edn") {
            Act::edn(200, &edn)
        } else {
            Act::json(200, r#"[{"contentHash":"ab","doc":{"xt/id":"a"}}]"#)
        }
    });
    let rows = client(&server.url()).history("a", None, &Room::for_answers()).unwrap();
    assert_eq!(rows.len(), 100);
    let first = rows[0].document.as_ref().unwrap();
    assert!(rows.iter().all(|row| Arc::ptr_eq(row.document.as_ref().unwrap(), first)));
}
