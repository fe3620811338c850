//! The recorded requests and answers of XTDB's own HTTP server, and which of them matter here.

use std::io::Read;

use base::object::Hash;
use flate2::read::GzDecoder;
use regex::Regex;
use serde_json::Value;

/// A recorded request with its answer.
pub(crate) struct Case {
    /// `group/case`.
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    /// `None` where the recording cut it and it cannot be made again.
    pub(crate) body: Option<Vec<u8>>,
    /// Sent over a bare socket.
    pub(crate) raw: bool,
    pub(crate) answer: Answer,
}

/// What the genuine server said.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) is_dated: bool,
    pub(crate) body: String,
    /// Of the whole body, where `body` is cut.
    pub(crate) sha256: Option<String>,
    /// Of a bare socket: whether the server closed the connection after its answer.
    pub(crate) closes: Option<bool>,
}

impl Case {
    /// What stands before the `/`.
    pub(crate) fn group(&self) -> &str {
        self.name.split('/').next().unwrap()
    }

    /// The path without the query.
    pub(crate) fn endpoint(&self) -> &str {
        let path = self.path.split(['?', ' ']).next().unwrap();
        path.strip_prefix("/_xtdb/").unwrap_or(path)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// The number of the transaction that it made.
    pub(crate) fn tx_id(&self) -> Option<u64> {
        let number =
            Regex::new(r#"(?:"txId":|:xtdb.api/tx-id |"~:xtdb.api/tx-id",)(\d+)"#).unwrap();
        let made = self.endpoint() == "submit-tx" && matches!(self.answer.status, 202 | 100);
        let found = made.then(|| number.captures(&self.answer.body)).flatten()?;
        Some(found[1].parse().unwrap())
    }

    /// Whether its body cannot be sent: it is cut, or of a format that our server does not read.
    pub(crate) fn is_unreadable(&self) -> bool {
        self.body.is_none()
            || self.header("content-type").is_some_and(|format| format.contains("transit"))
    }

    /// Whether its document is nested so deeply that what happens depends on what the JVM has
    /// compiled by then.
    pub(crate) fn is_deep(&self) -> bool {
        let levels = self.body.iter().flatten().scan(0_usize, |depth, byte| {
            match byte {
                b'[' | b'{' => *depth += 1,
                b']' | b'}' => *depth = depth.saturating_sub(1),
                _ => {}
            }
            Some(*depth)
        });
        self.endpoint() == "submit-tx" && levels.max() > Some(410)
    }

    /// Why it does not concern us, by rule: endpoints and formats that our client never uses.
    pub(crate) fn unused(&self) -> Option<&'static str> {
        const ENDPOINTS: [&str; 6] = [
            "db",
            "active-queries",
            "recent-queries",
            "slowest-queries",
            "swagger.json",
            "query.csv",
        ];
        if ENDPOINTS.contains(&self.endpoint()) {
            return Some("endpoint not used");
        }
        let formats = ["Accept", "Content-Type"].map(|name| self.header(name).unwrap_or_default());
        let is_foreign =
            |format: &str| ["transit", "html", "csv"].iter().any(|name| format.contains(name));
        if formats.iter().any(|format| is_foreign(format)) {
            return Some("format not used");
        }
        self.body.is_none().then_some("its body is cut in the recording")
    }
}

/// All cases in their order; `None` where the recording is absent.
pub(crate) fn cases() -> Option<Vec<Case>> {
    let file = testing::data::find("xtdb-wire.jsonl.gz")?;
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(file).unwrap()).read_to_string(&mut text).unwrap();
    Some(text.lines().map(|line| case(&serde_json::from_str(line).unwrap())).collect())
}

fn case(line: &Value) -> Case {
    let (request, response) = (&line["request"], &line["response"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let header = |name: &str| response["headers"][name].as_str().map(str::to_owned);
    let raw = line["raw"] == true;
    let name = text(&line["name"]);
    let mut headers: Vec<(String, String)> = request["headers"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), text(value)))
        .collect();
    let body = body(request, &name);
    // The recording leaves out what every request over a bare socket had.
    if raw && !headers.iter().any(|(name, _)| name == "Accept") {
        headers.push(("Accept".into(), "application/json".into()));
        let is_edn = body.as_deref().is_some_and(|body| body.starts_with(b"{:"));
        let format = if is_edn { "application/edn" } else { "application/json" };
        headers.push(("Content-Type".into(), format.into()));
    }
    Case {
        name,
        method: text(&request["method"]),
        path: text(&request["path"]),
        headers,
        body,
        raw,
        answer: Answer {
            status: response["status"].as_u64().and_then(|code| code.try_into().ok()).unwrap(),
            content_type: header("content-type"),
            is_dated: header("last-modified").is_some(),
            body: after_continue(&text(&response["body"])),
            sha256: response["body_sha256"].as_str().map(str::to_owned),
            closes: response["connection_after"].as_str().map(|after| after == "EOF"),
        },
    }
}

/// A bare socket shows the answer that follows `100 Continue` as it is: its body.
fn after_continue(body: &str) -> String {
    let answer = body.starts_with("HTTP/1.1").then(|| body.split_once("\r\n\r\n")).flatten();
    answer.map_or(body, |(_, body)| body).to_owned()
}

/// The bytes of a body. One that is cut is made again if it is of a known form; its hash says
/// whether that is what was sent.
fn body(request: &Value, name: &str) -> Option<Vec<u8>> {
    if let Some(bytes) = request["body_latin1"].as_str() {
        return Some(bytes.chars().map(|byte| u8::try_from(u32::from(byte)).unwrap()).collect());
    }
    let Some(sha256) = request["body_sha256"].as_str() else {
        return Some(request["body"].as_str().unwrap_or_default().into());
    };
    forms(name).into_iter().find(|body| Hash::of(body).as_str() == sha256).map(String::into_bytes)
}

fn forms(name: &str) -> Vec<String> {
    let number = name.rsplit(['-', '#']).next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let put = |fields: &str| format!(r#"{{"tx-ops":[["put",{{{fields}}}]]}}"#);
    let nested = |open: &str, close: &str| {
        put(&format!(r#""xt/id":"p","d":{}1{}"#, open.repeat(number), close.repeat(number)))
    };
    let list = |range: std::ops::Range<usize>, separator: &str, item: &dyn Fn(usize) -> String| {
        range.map(item).collect::<Vec<_>>().join(separator)
    };
    let spaced = |ops: String| format!(r#"{{"tx-ops": [{ops}]}}"#);
    let seed = number.saturating_sub(1) * 1000;
    vec![
        nested("[", "]"),
        nested(r#"{"a":"#, "}"),
        put(&format!(r#""xt/id":"p","{}":1"#, "k".repeat(70_000))),
        put(&format!(r#""xt/id":"{}""#, "k".repeat(100_000))),
        put(&format!(r#""xt/id":"p",{}"#, list(0..1000, ",", &|n| format!(r#""a{n}":{n}"#)))),
        put(&format!(r#""xt/id":"p","d":[{}]"#, list(0..10_000, ",", &|n| n.to_string()))),
        format!(
            r#"{{"tx-ops":[{}]}}"#,
            list(0..10_000, ",", &|n| format!(r#"["put",{{"xt/id":"p{n}"}}]"#))
        ),
        spaced(list(seed..seed + 1000, ", ", &padded)),
        spaced(list(0..50, ", ", &turn)),
    ]
}

fn padded(n: usize) -> String {
    let (pad, q) = ("p".repeat(200), usize::from(n != 4999));
    format!(r#"["put", {{"xt/id": "e{n:05}", "ek": "e", "pad": "{pad}", "q": {q}}}]"#)
}

fn turn(n: usize) -> String {
    let (half, session) = if n.is_multiple_of(2) { (0, "S2") } else { (5, "S1") };
    let opt = if n.is_multiple_of(5) { "null".to_owned() } else { n.to_string() };
    format!(
        r#"["put", {{"xt/id": "t{n:03}", "kind": "turn", "seq": {n}, "f": {}.{half}, "sess": "{session}", "txt": "hello {n}", "tags": ["a", "b{}"], "meta": {{"deep": {{"k": {n}}}}}, "opt": {opt}}}]"#,
        n / 2,
        n % 3
    )
}
