//! Recorded answers of XTDB's own server, read by the client: each becomes the right value, or an
//! error of the right kind.

use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;

use super::*;
use crate::server::edn;

const URL: &str = "http://localhost:3000";

struct Recorded {
    name: String,
    method: String,
    /// Below `/_xtdb/`.
    path: String,
    parameters: String,
    reply: Reply,
    /// Whether the record lacks a part of the body.
    is_cut: bool,
}

/// The recordings; `None` where they are absent, which a line says; with
/// `PALIMPSEST_REQUIRE_ALL_TESTS` set that is a failure.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn recordings() -> Option<Vec<Recorded>> {
    let given = std::env::var_os("PALIMPSEST_DATA").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?.join("shared/data");
    let mut places = [given, Some(beside)].into_iter().flatten();
    let Some(file) =
        places.find_map(|data| std::fs::File::open(data.join("xtdb-wire.jsonl.gz")).ok())
    else {
        let why = "no xtdb-wire.jsonl.gz in $PALIMPSEST_DATA or ../shared/data";
        assert!(std::env::var_os("PALIMPSEST_REQUIRE_ALL_TESTS").is_none(), "{why}");
        eprintln!("skipped: {why}");
        return None;
    };
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    Some(
        lines.filter_map(|line| recorded(&serde_json::from_str(&line.unwrap()).unwrap())).collect(),
    )
}

/// `None` for an exchange of which nothing is recorded, or several at once.
fn recorded(line: &Value) -> Option<Recorded> {
    let response = &line["response"];
    let header = |name: &str| response["headers"].get(name)?.as_str().map(str::to_owned);
    let (path, parameters) = {
        let whole = line["request"]["path"].as_str()?;
        let whole = whole.strip_prefix("/_xtdb/")?;
        whole.split_once('?').unwrap_or((whole, ""))
    };
    let is_raw = line.get("raw").is_some();
    let body = response["body"].as_str()?.to_owned();
    // What was taken from the socket has the marks of chunks.
    if path.contains(' ') || (is_raw && header("transfer-encoding").is_some()) {
        return None;
    }
    Some(Recorded {
        name: line["name"].as_str()?.to_owned(),
        method: line["request"]["method"].as_str()?.to_owned(),
        path: path.to_owned(),
        parameters: parameters.to_owned(),
        is_cut: response.get("body_bytes").is_some(),
        reply: Reply {
            url: URL.to_owned(),
            status: u16::try_from(response["status"].as_u64()?).unwrap(),
            content_type: header("content-type"),
            server: header("server"),
            location: header("location"),
            body: body.into_bytes(),
            secret: None,
        },
    })
}

/// In which notation the client asks for it, and what reads the answer: an error, or a few words.
type Reader = fn(&Reply) -> Result<String, Error>;

fn reader(recorded: &Recorded) -> Option<(Notation, Reader)> {
    fn shown<T: fmt::Debug>(read: Result<T, Failure>) -> Result<String, Error> {
        read.map(|value| format!("{value:?}")).map_err(|failure| failure.error)
    }
    let is_history = recorded.parameters.contains("history=true");
    let has_documents = recorded.parameters.contains("with-docs=true");
    let has_operations = recorded.parameters.contains("with-ops");
    Some(match (recorded.path.as_str(), recorded.method.as_str()) {
        ("status", "GET") => (Notation::Json, |reply| shown(answers::status(reply))),
        ("submit-tx", "POST") => (Notation::Json, |reply| shown(answers::submitted(reply))),
        ("tx-committed", "GET") => (Notation::Json, |reply| shown(answers::committed(reply))),
        ("await-tx", "GET") => (Notation::Edn, |reply| shown(answers::tx(reply))),
        ("latest-completed-tx", "GET") => (Notation::Edn, |reply| shown(answers::latest(reply))),
        ("latest-submitted-tx", "GET") => {
            (Notation::Json, |reply| shown(answers::latest_id(reply)))
        }
        ("entity", "GET") if is_history && has_documents => {
            (Notation::Json, |reply| shown(read_long(reply, answers::documents)))
        }
        ("entity", "GET") if is_history => {
            (Notation::Edn, |reply| shown(read_long(reply, answers::versions)))
        }
        ("entity", "GET") => (Notation::Json, |reply| shown(read_long(reply, answers::entity))),
        ("entity-tx", "GET") => (Notation::Edn, |reply| shown(answers::entity_tx(reply))),
        ("query", "POST") => (Notation::Json, |reply| shown(read_long(reply, answers::tuples))),
        ("tx-log", "GET") if !has_operations => {
            (Notation::Edn, |reply| shown(read_long(reply, answers::transactions)))
        }
        ("attribute-stats", "GET") => {
            (Notation::Json, |reply| shown(answers::attribute_stats(reply)))
        }
        _ => return None,
    })
}

/// What has to come of an answer: a code, or `OK`.
fn expected(recorded: &Recorded, notation: Notation) -> &'static str {
    let Recorded { reply, path, .. } = recorded;
    let body = String::from_utf8_lossy(&reply.body);
    let wanted =
        reply.content_type.as_deref().unwrap_or_default().starts_with(notation.content_type());
    let may_be_absent = ["entity", "entity-tx", "latest-completed-tx", "latest-submitted-tx"]
        .contains(&path.as_str());
    match reply.status {
        200 | 202 if path == "query" && body.is_empty() => "XTDB_FAILED",
        // An empty list is one in both.
        200 if body == "[]" => "OK",
        // An answer in another notation is asked for by nobody; it must only not be taken for one
        // in the right notation.
        200 | 202 if !wanted => "XTDB_ANSWER",
        200 | 202 => "OK",
        404 if may_be_absent
            && body.contains("found")
            && !body.contains('<')
            && !body.starts_with('[') =>
        {
            "OK"
        }
        401 | 403 => "XTDB_REFUSED",
        400 if body.contains("node-out-of-sync") => "XTDB_UNAVAILABLE",
        500 if body.contains("TimeoutException") => "XTDB_UNAVAILABLE",
        400 | 414 | 431 | 500 => "XTDB_FAILED",
        _ => "XTDB_FOREIGN",
    }
}

#[test]
fn each_recorded_answer_is_read_as_what_it_says() {
    let Some(recordings) = recordings() else { return };
    let mut read = BTreeMap::<_, usize>::new();
    for recorded in &recordings {
        let Some((notation, reader)) = reader(recorded) else { continue };
        let result = reader(&recorded.reply);
        if recorded.is_cut {
            continue;
        }
        let code = result.as_ref().map_or_else(Error::code, |_| "OK");
        let expected = expected(recorded, notation);
        let is_shape =
            code == "XTDB_FOREIGN" && recorded.path == "status" && expected == "XTDB_ANSWER";
        assert!(
            code == expected || is_shape,
            "{}: {} {}?{} → {} {}\n{result:?}\nexpected {expected}",
            recorded.name,
            recorded.method,
            recorded.path,
            recorded.parameters,
            recorded.reply.status,
            String::from_utf8_lossy(&recorded.reply.body).chars().take(300).collect::<String>(),
        );
        *read.entry((recorded.path.clone(), code)).or_default() += 1;
    }
    let of = |path: &str, code| read.get(&(path.to_owned(), code)).copied().unwrap_or(0);
    assert!(of("submit-tx", "OK") > 200 && of("entity", "OK") > 150, "{read:?}");
    assert!(of("tx-committed", "OK") > 100 && of("query", "OK") > 40, "{read:?}");
    for path in ["status", "latest-completed-tx", "entity-tx", "attribute-stats"] {
        assert!(of(path, "OK") > 0, "{path}: {read:?}");
    }
    assert!(read.values().sum::<usize>() > 750, "{read:?}");
}

#[test]
fn documents_are_read_as_the_server_says_them() {
    let Some(recordings) = recordings() else { return };
    let mut read = 0;
    for recorded in &recordings {
        let is_entity = recorded.path == "entity" && !recorded.parameters.contains("history=true");
        if !is_entity || recorded.reply.status != 200 || recorded.is_cut {
            continue;
        }
        if let Ok(document) = read_long(&recorded.reply, answers::entity) {
            let said: Value = serde_json::from_slice(&recorded.reply.body).unwrap();
            assert_eq!(document.map(Value::Object), Some(said), "{}", recorded.name);
            read += 1;
        }
    }
    assert!(read > 120, "{read}");
}

#[test]
fn times_are_read_to_the_millisecond_and_histories_in_order() {
    let Some(recordings) = recordings() else { return };
    let named =
        |name: &str| &recordings.iter().find(|recorded| recorded.name == name).unwrap().reply;
    let time = |text: &str| Timestamp::parse(text).unwrap();

    let latest = answers::latest(named("first/latest-completed-tx-edn")).unwrap().unwrap();
    assert_eq!(latest, Tx { id: 0, time: time("2026-11-21T08:09:29.435Z") });
    assert_eq!(answers::latest(named("empty/latest-completed-accept-edn")).unwrap(), None);

    let state = answers::entity_tx(named("ver/entity-tx-edn")).unwrap().unwrap();
    assert_eq!((state.tx.id, state.tx.time), (67, time("2026-11-21T08:10:53.701Z")));
    assert!(!state.is_deleted);

    let versions = read_long(named("history/deleted-edn"), answers::versions).unwrap();
    let hashes: Vec<_> = versions.iter().map(|version| version.content_hash.as_deref()).collect();
    assert_eq!(hashes, [Some("7fcb493d8839959d5d4ed98a8fe6bb708dec5c22"), None]);
    assert_eq!(versions[1].tx, Tx { id: 29, time: time("2026-11-21T08:09:31.407Z") });

    // Two of these have one time; all are there.
    let versions = read_long(named("burst/burst2/history-corr-edn"), answers::versions).unwrap();
    assert_eq!(
        versions.iter().map(|version| version.tx.id).collect::<Vec<_>>(),
        [281, 282, 283, 284]
    );
    assert_eq!(versions[1].tx.time, versions[2].tx.time);

    let documents = read_long(named("history/deleted"), answers::documents).unwrap();
    assert_eq!(documents.len(), 1);
    assert_eq!(
        Value::Object(documents["7fcb493d8839959d5d4ed98a8fe6bb708dec5c22"].clone()),
        json!({ "n": 1, "xt/id": "b" })
    );
}

/// What stands in a recorded answer that may be long.
fn read_long<T>(reply: &Reply, read: fn(Long<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
    read(Long { reply, body: &mut reply.body.as_slice(), room: &Room::for_answers() })
}

#[test]
fn recorded_logs_are_read() {
    let Some(recordings) = recordings() else { return };
    let (mut read, mut puts) = (0, 0);
    for recorded in
        recordings.iter().filter(|recorded| recorded.path == "tx-log" && !recorded.is_cut)
    {
        let body = &recorded.reply.body;
        let is_edn = recorded.reply.content_type.as_deref().unwrap().contains("edn");
        if is_edn {
            let mut reader = edn::Reader::new(&body[..]);
            reader.enter().unwrap();
            while let Some(told) = reader.member().unwrap() {
                answers::logged_time(URL, &told).unwrap();
                read += 1;
            }
            reader.end().unwrap();
        } else if body.starts_with(b"[") && memchr::memmem::find(body, b"txOps").is_some() {
            let Ok(list) = serde_json::from_slice::<Vec<&serde_json::value::RawValue>>(body) else {
                continue;
            };
            for told in list {
                let (id, documents) =
                    answers::logged_puts(URL, told, &Room::for_answers()).unwrap();
                assert!(id >= 0);
                puts += documents.len();
                read += 1;
            }
        }
    }
    assert!(read >= 10 && puts >= 2, "{read} {puts}");
}
