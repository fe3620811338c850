//! The development server beside recorded answers of XTDB's own: the requests of one recorder run
//! are sent again, in order, group by group, to a node that starts as empty as the original.

#![expect(clippy::print_stderr, reason = "how much was compared is what the tests are run for")]

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::{Value, json};

use crate::compare::{Times, difference};
use crate::recording::{Case, cases};
use crate::sockets;
use testing::http::{Connection, Message, Request};
use testing::xtdb::{Database, Node, NodeKind, Options};

const GONE: &str = "about writes that the recording leaves out";
const CUT: &str = "about a document that the recording cuts";
const LATE: &str = "before a write in transit was indexed";

/// Cases that are not compared, and why. The group `burst` is not played at all: its writes are not
/// in the recording.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("end/latest-completed", LATE),
    ("stats", GONE),
    ("stats-edn", GONE),
    ("txlog/all", GONE),
    ("txlog/aborted-hidden", GONE),
    ("id/history-21", GONE),
    ("q/surrogate-escape-2", GONE),
    ("q/raw-emoji-2", GONE),
    ("q/long-eq", GONE),
    ("q/long-range", GONE),
    ("q/short-range", GONE),
    ("q/timeout-100ms-order-by", GONE),
    ("big/commit-1MB", CUT),
    ("big/get-1MB", CUT),
    ("big/history-1MB", CUT),
    ("big/commit-5MB", CUT),
    ("big/get-5MB", CUT),
    ("big/history-5MB", CUT),
    ("big/commit-20MB", CUT),
    ("big/get-20MB", CUT),
    ("big/history-20MB", CUT),
];

/// Where a run of cases is sent, and how far it is.
struct Replay<'a> {
    address: String,
    prefix: String,
    /// The number of the next transaction.
    next: u64,
    /// By how much the recorded numbers are ahead.
    offset: u64,
    times: Times,
    /// The recorded numbers of all transactions.
    recorded: BTreeSet<u64>,
    /// Cases that ended the recorder's node.
    poisons: BTreeSet<&'a str>,
    /// Those that stand for writes which the recording leaves out, and are empty here.
    empty: BTreeSet<u64>,
    /// Documents that the recorder put by requests which the recording leaves out, by the case that
    /// reads them first.
    absent: BTreeMap<&'a str, Value>,
    compared: usize,
    left_out: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

impl<'a> Replay<'a> {
    fn new(url: &str) -> Self {
        let place = url.trim_start_matches("http://");
        let (address, prefix) = place.split_at(place.find('/').unwrap_or(place.len()));
        Self {
            address: address.into(),
            prefix: prefix.into(),
            next: 0,
            offset: 0,
            times: Times::default(),
            recorded: BTreeSet::new(),
            poisons: BTreeSet::new(),
            empty: BTreeSet::new(),
            absent: BTreeMap::new(),
            compared: 0,
            left_out: BTreeMap::new(),
            differences: Vec::new(),
        }
    }

    /// Sends all, and says how many agree; fails if others than the exceptions do not.
    fn run(mut self, name: &str, cases: &[&'a Case]) {
        self.absent = absent_documents(cases);
        let failed = |case: &Case| case.answer.body.contains(r#""class":"java.lang.Exception""#);
        let ends = cases.windows(2).filter(|pair| pair[0].is_deep() && failed(pair[1]));
        self.poisons = ends.map(|pair| &*pair[0].name).collect();
        self.recorded = cases.iter().filter_map(|case| case.tx_id()).collect();
        for case in cases {
            self.step(case);
        }
        let left_out: Vec<String> =
            self.left_out.iter().map(|(why, count)| format!("{count} {why}")).collect();
        eprintln!(
            "{name}: {} of {} compared; left out: {}",
            self.compared,
            cases.len(),
            left_out.join(", ")
        );
        assert!(self.differences.is_empty(), "{name}:\n{}", self.differences.join("\n"));
    }

    fn step(&mut self, case: &'a Case) {
        if let Some(document) = self.absent.remove(&*case.name) {
            self.put(&document);
        }
        self.catch_up(case);
        if let Some(why) = self.left_out_before(case) {
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        let (answer, closes) = self.ask(case);
        if case.endpoint() == "submit-tx" && matches!(answer.status(), 202 | 100) {
            self.next += 1;
            self.await_last();
        }
        if let Some(why) = case.unused().or_else(|| exception(case)) {
            *self.left_out.entry(why).or_default() += 1;
            return;
        }
        self.compared += 1;
        let text = String::from_utf8_lossy(&answer.body()).into_owned();
        self.times.learn(&case.answer.body, &text);
        let mut found = difference(&case.answer, &answer, self.offset, &self.empty);
        if found.is_none() && closes.is_some() && closes != case.answer.closes {
            found = Some(format!("the connection closes: {closes:?}"));
        }
        if let Some(found) = found {
            self.differences.push(format!("  {}: {found}", case.name));
        }
    }

    /// Why a case is not sent. What it wrote has to be there all the same.
    fn left_out_before(&mut self, case: &Case) -> Option<&'static str> {
        if case.is_deep() {
            if self.poisons.contains(&*case.name) {
                self.poison();
            } else if case.tx_id().is_some() {
                self.fill();
            }
            return Some("too deep to be the same twice");
        }
        let why = case.unused().or_else(|| exception(case))?;
        if case.tx_id().is_none() {
            return Some(why);
        }
        case.is_unreadable().then(|| {
            self.fill();
            why
        })
    }

    /// Ends the node's indexing, as one of the recorder's documents did. The first attempts may be
    /// refused: their stack holds fewer levels until the JVM has compiled what runs on it.
    fn poison(&mut self) {
        let deep = format!("{}1{}", "[".repeat(600), "]".repeat(600));
        let body = format!(r#"{{"tx-ops":[["put",{{"xt/id":"deep","d":{deep}}}]]}}"#);
        let taken =
            (0..50).any(|_| self.try_submit("application/json", body.as_bytes()).status() == 202);
        assert!(taken, "no document is taken that is too deep to be indexed");
        self.next += 1;
    }

    /// Brings the log to where it was when this case was recorded.
    fn catch_up(&mut self, case: &Case) {
        let named = Regex::new(r"[?&]tx-id=(\d+)").unwrap();
        let asked = named.captures(&case.path).and_then(|found| found[1].parse::<u64>().ok());
        if let Some(tx_id) = case.tx_id() {
            if self.next == 0 && tx_id > 250 {
                self.offset = tx_id;
            }
            self.fill_to(tx_id);
            return;
        }
        let is_recorded =
            |tx_id: &u64| self.recorded.contains(tx_id) || Some(tx_id) > self.recorded.last();
        if let Some(tx_id) = asked.filter(|tx_id| !is_recorded(tx_id)) {
            self.fill_to(tx_id + 1);
        }
    }

    fn fill_to(&mut self, tx_id: u64) {
        while self.next + self.offset < tx_id {
            self.fill();
        }
    }

    fn fill(&mut self) {
        self.empty.insert(self.next + self.offset);
        self.submit(br#"{"tx-ops":[]}"#);
    }

    fn ask(&self, case: &Case) -> (Message, Option<bool>) {
        let path = format!("{}{}", self.prefix, self.times.path(&case.path));
        if case.raw || case.path.contains(|sign: char| !sign.is_ascii()) {
            return sockets::ask(&self.address, &path, case);
        }
        let headers: Vec<(&str, &str)> =
            case.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
        let body = case.body.as_deref().filter(|body| !body.is_empty() || case.method == "POST");
        let request = Request { method: &case.method, path: &path, headers: &headers, body };
        let mut connection = Connection::open(&self.address).unwrap();
        let answer = if case.method == "HEAD" {
            connection.ask_head(&request)
        } else {
            connection.ask(&request)
        };
        (answer.unwrap().unwrap(), None)
    }

    fn put(&mut self, document: &Value) {
        match document {
            // EDN that was read.
            Value::String(edn) => {
                let body = format!("{{:tx-ops [[:xtdb.api/put {edn}]]}}");
                self.submit_as("application/edn", body.as_bytes());
            }
            document => self.submit(json!({"tx-ops": [["put", document]]}).to_string().as_bytes()),
        }
    }

    fn submit(&mut self, body: &[u8]) {
        self.submit_as("application/json", body);
    }

    fn submit_as(&mut self, format: &str, body: &[u8]) {
        let answer = self.try_submit(format, body);
        assert_eq!(answer.status(), 202, "{}", answer.text());
        self.next += 1;
        self.await_last();
    }

    fn try_submit(&self, format: &str, body: &[u8]) -> Message {
        let path = format!("{}/_xtdb/submit-tx", self.prefix);
        let headers = &[("Content-Type", format), ("Accept", "application/json")];
        let request = Request { method: "POST", path: &path, headers, body: Some(body) };
        Connection::open(&self.address).unwrap().ask(&request).unwrap().unwrap()
    }

    /// The recorder waited too, by requests that it did not record.
    fn await_last(&self) {
        let path = format!("{}/_xtdb/await-tx?tx-id={}&timeout=20000", self.prefix, self.next - 1);
        let request = Request { method: "GET", path: &path, headers: &[], body: None };
        Connection::open(&self.address).unwrap().ask(&request).unwrap().unwrap();
    }
}

fn exception(case: &Case) -> Option<&'static str> {
    EXCEPTIONS.iter().find(|(name, _)| *name == case.name).map(|(_, why)| *why)
}

/// The documents that answers show and no recorded request put, as far as numbers of transactions
/// are missing where they are read first: JSON, or EDN as a string.
fn absent_documents<'a>(cases: &[&'a Case]) -> BTreeMap<&'a str, Value> {
    let id = Regex::new(r#""?:?xt/id"?:? ?("(?:[^"\\]|\\.)*"|[\d.]+|true)"#).unwrap();
    let plain = |id: &str| serde_json::from_str::<Value>(id).map_or(id.into(), |id| id.to_string());
    let ids = |text: &str| -> BTreeSet<String> {
        id.captures_iter(text).map(|found| plain(&found[1])).collect()
    };
    let (mut put, mut absent) = (BTreeSet::new(), BTreeMap::new());
    let mut read: Vec<&Case> = Vec::new();
    let mut last = None;
    for case in cases {
        if let Some(tx_id) = case.tx_id() {
            let missing = last.map_or(0, |last: u64| tx_id.saturating_sub(last + 1));
            for reader in read.drain(..).take(usize::try_from(missing).unwrap()) {
                absent.insert(&*reader.name, document(reader));
            }
            put.extend(ids(&String::from_utf8_lossy(case.body.as_deref().unwrap_or_default())));
            last = Some(tx_id);
        }
        let is_read =
            case.endpoint() == "entity" && case.answer.status == 200 && case.unused().is_none();
        let shows_one =
            is_read && case.answer.body.starts_with('{') && case.answer.sha256.is_none();
        let shown = ids(&case.answer.body);
        if shows_one && shown.iter().all(|id| !put.contains(id)) {
            put.extend(shown);
            read.push(case);
        }
    }
    absent
}

fn document(reader: &Case) -> Value {
    let body = &reader.answer.body;
    serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.clone()))
}

/// The cases of these groups.
fn of<'a>(cases: &'a [Case], groups: &[&str]) -> Vec<&'a Case> {
    cases.iter().filter(|case| groups.contains(&case.group())).collect()
}

/// Groups that are sent to nodes of their own; all others build on one another.
const APART: &[&str] = &[
    "poison",
    "burst",
    "samevt",
    "bd",
    "fut",
    "x",
    "read-only",
    "txtime",
    "jwt",
    "match-json-vs-edn",
    "match-roundtrip",
];

#[test]
fn requests_that_build_on_one_another_are_answered_as_recorded() {
    let Some(cases) = cases() else { return };
    let Some(node) = Node::start(NodeKind::Rocks) else { return };
    let main: Vec<&Case> = cases.iter().filter(|case| !APART.contains(&case.group())).collect();
    Replay::new(&node.url()).run("one node", &main);
}

#[test]
fn versions_at_any_valid_time_are_answered_as_recorded() {
    let Some(cases) = cases() else { return };
    let Some(node) = Node::start(NodeKind::Rocks) else { return };
    Replay::new(&node.url()).run("valid times", &of(&cases, &["samevt", "bd", "fut", "x"]));
}

#[test]
fn documents_that_strain_a_node_are_answered_as_recorded() {
    let Some(cases) = cases() else { return };
    let mut left = of(&cases, &["poison"]).into_iter().peekable();
    let mut round = 0;
    while left.peek().is_some() {
        let Some(database) = Database::new() else { return };
        let mut last = None;
        // The recorder started anew when the numbers do.
        let run: Vec<&Case> = std::iter::from_fn(|| {
            left.next_if(|case| case.tx_id().is_none_or(|tx_id| last.replace(tx_id) < Some(tx_id)))
        })
        .collect();
        round += 1;
        Replay::new(&database.url()).run(&format!("strain {round}"), &run);
    }
}

#[test]
fn times_of_transactions_are_taken_as_recorded() {
    let Some(cases) = cases() else { return };
    let Some(database) = Database::new() else { return };
    Replay::new(&database.url()).run("times of transactions", &of(&cases, &["txtime"]));
}

#[test]
fn matches_in_json_and_edn_are_taken_as_recorded() {
    let Some(cases) = cases() else { return };
    let Some(database) = Database::new() else { return };
    Replay::new(&database.url())
        .run("matches", &of(&cases, &["match-json-vs-edn", "match-roundtrip"]));
}

#[test]
fn read_only_and_token_nodes_answer_as_recorded() {
    let Some(cases) = cases() else { return };
    let read_only = Options { read_only: true, ..Options::default() };
    let Some(node) = Node::start_with(NodeKind::Memory, read_only) else { return };
    Replay::new(&node.url()).run("read only", &of(&cases, &["read-only"]));
    let token = Options { token: Some("secret"), ..Options::default() };
    let Some(node) = Node::start_with(NodeKind::Memory, token) else { return };
    Replay::new(&node.url()).run("token", &of(&cases, &["jwt"]));
}
