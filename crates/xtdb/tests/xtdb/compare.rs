//! Whether an answer equals the recorded one, except for what differs from run to run: times of
//! writing, sizes, hashes of arguments, and the names of specs, which XTDB's own server does not
//! promise either.

use std::collections::{BTreeMap, BTreeSet};

use base::object::Hash;
use regex::{Captures, Regex};
use serde_json::Value;

use crate::recording::Answer;
use testing::http::Message;

/// The day of the recording: times of writing lie in it.
const RECORDED: &str = "2026-11-21T";

/// Times of writing of this run by the recorded ones, learnt from answers, for requests that name
/// them.
#[derive(Default)]
pub(crate) struct Times(BTreeMap<String, String>);

impl Times {
    /// Takes what two answers have in the same places.
    pub(crate) fn learn(&mut self, recorded: &str, found: &str) {
        let (recorded, found) = (times(recorded), times(found));
        if recorded.len() == found.len() {
            let pairs = recorded.into_iter().zip(found);
            let known = pairs.filter(|(recorded, _)| recorded.starts_with(RECORDED));
            for (recorded, found) in known {
                self.0.entry(recorded).or_insert(found);
            }
        }
    }

    /// A path of the recording as this run has to ask it.
    pub(crate) fn path(&self, path: &str) -> String {
        let encoded = Regex::new(r"2026-11-21T\d\d(?:%3A|:)\d\d(?:%3A|:)\d\d(?:\.\d{3})?").unwrap();
        let known = |found: &Captures<'_>| {
            let time = found[0].replace("%3A", ":");
            self.0.get(&time).map_or_else(|| found[0].to_owned(), |time| time.replace(':', "%3A"))
        };
        encoded.replace_all(path, known).into_owned()
    }
}

/// Times without their zone.
fn times(text: &str) -> Vec<String> {
    let time = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?").unwrap();
    time.find_iter(text).map(|found| found.as_str().to_owned()).collect()
}

/// What differs, in one line; `None` where nothing does. `offset`: by how much recorded
/// transactions are ahead of ours; `empty`: the recorded numbers of those that are empty here, and
/// left out of logs.
pub(crate) fn difference(
    recorded: &Answer,
    found: &Message,
    offset: u64,
    empty: &BTreeSet<u64>,
) -> Option<String> {
    let status = found.status();
    if recorded.status != status {
        return Some(format!("status {status}, not {}: {}", recorded.status, short(&found.body())));
    }
    let content_type = found.header("content-type");
    if recorded.content_type != content_type {
        return Some(format!("content type {content_type:?}, not {:?}", recorded.content_type));
    }
    if recorded.is_dated != found.header("last-modified").is_some() {
        return Some("`Last-Modified` is there on one side only".into());
    }
    if let Some(sha256) = &recorded.sha256 {
        // Chunks are part of what a bare socket showed.
        let bodies = [found.body(), found.raw_body.clone()];
        let same = bodies.iter().any(|body| Hash::of(body).as_str() == sha256);
        return (!same).then(|| format!("another body: {}", short(&found.body())));
    }
    let is_page =
        recorded.content_type.as_deref().is_some_and(|kind| kind.starts_with("text/html"));
    let (is_chunked, raw) =
        (recorded.closes.is_some() && recorded.body.contains("\r\n"), &found.raw_body);
    let body = if is_chunked { raw.clone() } else { found.body() };
    let body = String::from_utf8_lossy(&body).into_owned();
    let same = if is_page {
        // The recording cuts pages.
        body.starts_with(recorded.body.trim_end_matches("…[cut]"))
    } else {
        let (wanted, body) = (normal(&shifted(&recorded.body, offset)), normal(&body));
        wanted == body || same_json(&wanted, &body, offset, empty)
    };
    (!same).then(|| {
        format!("{}\n      not {}", short(body.as_bytes()), short(recorded.body.as_bytes()))
    })
}

fn same_json(wanted: &str, found: &str, offset: u64, empty: &BTreeSet<u64>) -> bool {
    let rows = |text| {
        let mut value = json(text)?;
        if let Some(rows) = value.as_array_mut() {
            rows.retain(|row| {
                row["txId"].as_u64().is_none_or(|tx_id| !empty.contains(&(tx_id + offset)))
            });
        }
        Some(value)
    };
    rows(wanted).is_some_and(|wanted| Some(wanted) == rows(found))
}

/// A text with times of writing, sizes and names of specs put out.
fn normal(text: &str) -> String {
    let today = Regex::new(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?(Z|-00:00)").unwrap();
    let now = |found: &Captures<'_>| {
        let is_today = found[0].starts_with(RECORDED) || found[0][..10] == now()[..10];
        if is_today {
            format!("<now{}>", found.get(1).map_or("", |_| ".000"))
        } else {
            found[0].to_owned()
        }
    };
    let text = today.replace_all(text, now);
    let sizes = [
        (r#""(size|estimateNumKeys)":\d+"#, r#""$1":0"#),
        (r":xtdb.kv/(size|estimate-num-keys) \d+", ":xtdb.kv/$1 0"),
    ];
    let text = sizes.iter().fold(text.into_owned(), |text, (pattern, zero)| {
        Regex::new(pattern).unwrap().replace_all(&text, *zero).into_owned()
    });
    match json(&text) {
        Some(Value::Object(mut fields)) if fields.contains_key("problems") => {
            fields.remove("spec");
            fields.remove("type");
            Value::Object(fields).to_string()
        }
        _ => text,
    }
}

/// Today, by the clock that stamps the node's transactions.
fn now() -> String {
    let out = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT"]).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

/// Recorded numbers of transactions as this run counts them.
fn shifted(text: &str, offset: u64) -> String {
    let number = Regex::new(r#"("txId":|:xtdb.api/tx-id )(\d+)"#).unwrap();
    let ours = |found: &Captures<'_>| {
        let number: u64 = found[2].parse().unwrap();
        format!("{}{}", &found[1], number.saturating_sub(offset))
    };
    number.replace_all(text, ours).into_owned()
}

fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

fn short(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().take(400).collect()
}
