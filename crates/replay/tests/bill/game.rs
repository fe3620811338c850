//! A game between a session and an adversary that plays the model: both bills, request by request.
//!
//! The host hands over its list, applies the session's edits and sends the request. When the model
//! needs content that the request lacks, it calls `activate`: the content joins the request, and
//! the extra call is billed on our side alone. The plain host sends its list without calls to our
//! tools. Must not choose what happens.

use std::collections::HashSet;
use std::rc::Rc;

use config::{Input, PriceSetting, PriceTable, Prices, Settings};
use context::host::HostMessage;
use context::tokens::Counter;
use context::view::{Inserted, read_edits};
use live::{CallInfo, HostList, LiveSession, OpenSession, ToolFiles, Transformed, Wanted};
use replay::measure::{FIXED_TOKENS, OVERHEAD_TOKENS};
use serde_json::{Value, json};
use store::Store;

/// How tokens are counted.
const COUNTER: Counter = Counter::Characters;

/// A message of a request and its tokens.
struct Sent {
    json: String,
    tokens: u64,
}

impl Sent {
    fn new(message: &Value) -> Rc<Self> {
        let json = message.to_string();
        let tokens = HostMessage::parse(&json, COUNTER).tokens();
        Rc::new(Self { json, tokens })
    }
}

/// One side: its last request, message by message, and its bill.
#[derive(Default)]
struct Side {
    request: Vec<Rc<Sent>>,
    cost: f64,
}

impl Side {
    /// Sends a request and bills it.
    fn send(&mut self, request: Vec<Rc<Sent>>, fixed: u64, warm: bool, prices: &Prices) {
        let tokens = |messages: &[Rc<Sent>]| messages.iter().map(|sent| sent.tokens).sum();
        let is_same = |(a, b): &(&Rc<Sent>, &Rc<Sent>)| Rc::ptr_eq(a, b) || a.json == b.json;
        let same = self.request.iter().zip(&request).take_while(is_same).count();
        let reusable = prices.reusable(tokens(&request[..same]), same == self.request.len());
        let cached = warm.then_some(reusable);
        let charge = prices.charge(&Input { fixed, messages: tokens(&request), cached });
        self.cost += charge.cost;
        self.request = request;
    }
}

/// An output that the model was shown.
pub(crate) struct Shown {
    /// ID of its call.
    pub(crate) id: String,
    /// Its lines.
    lines: Vec<String>,
}

/// A session and the bills of both sides.
pub(crate) struct Game {
    live: LiveSession,
    settings: Settings,
    prices: Prices,
    ours: Side,
    plain: Side,
    overhead: f64,
    list: Vec<Value>,
    /// The list as the plain host sends it.
    given: Vec<Rc<Sent>>,
    /// Messages of the list that only we have.
    extra: HashSet<usize>,
    /// Number of the newest call.
    since: Option<u64>,
    known: usize,
    /// The next request's cache is gone.
    cold: bool,
    /// Tokens of the model's window, if there is a limit: the plain host compacts then.
    window: Option<u64>,
    /// A model's name; another at each switch.
    models: u32,
    time: i64,
    pub(crate) outputs: Vec<Shown>,
    pub(crate) faults: u32,
    pub(crate) calls: u32,
    /// By how much the bound was kept where it was kept by least, and at which call.
    pub(crate) least: (f64, u32),
}

impl Game {
    pub(crate) fn new(prices: &str, window: Option<u64>) -> Self {
        let prices = Prices::preset(prices).unwrap();
        let table = PriceTable::Own(prices.clone());
        let settings = Settings {
            prices: PriceSetting::ByModel([("*".to_owned(), table)].into()),
            ..Settings::default()
        };
        let options = OpenSession {
            harness: "game".into(),
            host_session: "game".into(),
            cwd: "/".into(),
            parent: None,
            settings: settings.clone(),
            filesystem_id: "game".into(),
            counter: COUNTER,
            files: ToolFiles::Elsewhere,
            images: false,
            confined: None,
            asks_to_compact: false,
        };
        let live = LiveSession::open(Store::open(":memory:").unwrap(), options).unwrap();
        let mut game = Self {
            live,
            settings,
            prices,
            ours: Side::default(),
            plain: Side::default(),
            overhead: 0.0,
            list: Vec::new(),
            given: Vec::new(),
            extra: HashSet::new(),
            since: None,
            known: 0,
            cold: true,
            window,
            models: 0,
            time: 0,
            outputs: Vec::new(),
            faults: 0,
            calls: 0,
            least: (f64::INFINITY, 0),
        };
        game.person();
        game
    }

    /// A person writes.
    pub(crate) fn person(&mut self) {
        let text = "Go on with the next part of it, please.";
        self.push(json!({ "role": "user", "content": [{ "type": "text", "text": text }] }));
    }

    /// The next request comes when every cache is gone.
    pub(crate) fn wait(&mut self) {
        self.time += 100_000_000;
        self.cold = self.prices.lifetime_seconds.is_some();
    }

    /// The next request goes to another model.
    pub(crate) fn switch_model(&mut self) {
        self.models += 1;
        self.cold = true;
    }

    /// The model runs a command that shows this many tokens.
    pub(crate) fn run(&mut self, tokens: usize) {
        self.send(false);
        let number = self.outputs.len();
        let line =
            |index: usize| format!("output {number} line {index} {}", word(number * 7_919 + index));
        let lines: Vec<String> = (0..(tokens / 11).max(1)).map(line).collect();
        let id = self.call("bash", &json!({ "command": format!("make part-{number}") }));
        self.result(&id, "bash", &lines.join("\n"));
        self.outputs.push(Shown { id, lines });
    }

    /// The model says something without a tool.
    pub(crate) fn say(&mut self) {
        self.send(false);
        let content = json!([{ "type": "text", "text": "That is done; what comes next?" }]);
        self.push(json!({ "role": "assistant", "content": content }));
        self.person();
    }

    /// The model needs an output to go on: where lines of it do not stand it is activated first.
    /// Then it runs a command.
    pub(crate) fn need(&mut self, output: usize) {
        self.send(false);
        if self.is_missing(output) {
            self.faults += 1;
            let name = self.outputs[output].id.clone();
            let id = self.call("activate", &json!({ "name": name }));
            let whole = Wanted { name, ..Wanted::default() };
            let answer = self.live.activate(&id, &whole, false);
            let is_whole = answer.is_ok();
            // Where the whole does not fit, the model asks for the lines that it needs.
            let last = self.outputs[output].lines.len();
            let lines = Some(format!("{}-{last}", last.saturating_sub(2).max(1)));
            let part = Wanted { lines, ..whole };
            let text = answer.or_else(|_| self.live.activate(&id, &part, false)).unwrap();
            self.result(&id, "activate", &text);
            self.extra.extend([self.list.len() - 2, self.list.len() - 1]);
            self.send(true);
            assert!(!is_whole || !self.is_missing(output), "what was activated stands");
        }
        let used: Vec<&str> =
            self.outputs[output].lines.iter().rev().take(3).map(String::as_str).collect();
        let command = format!("apply <<END\n{}\nEND", used.join("\n"));
        let id = self.call("bash", &json!({ "command": command }));
        self.result(&id, "bash", "ok");
    }

    /// The newest output that does not stand as a whole.
    pub(crate) fn newest_missing(&self) -> Option<usize> {
        (0..self.outputs.len()).rev().find(|output| self.is_missing(*output))
    }

    /// Epochs so far.
    pub(crate) fn epochs(&self) -> u32 {
        self.live.state().epoch()
    }

    /// Ours by plain.
    pub(crate) fn ratio(&self) -> f64 {
        self.ours.cost / self.plain.cost
    }

    /// Whether a line of an output is nowhere in our request and what came since.
    fn is_missing(&self, output: usize) -> bool {
        // A part that is shown has its beginning, its end or both.
        let lines = &self.outputs[output].lines;
        let places = [0, lines.len() / 3, lines.len() / 2, lines.len() * 2 / 3, lines.len() - 1];
        let stands = |line: &String| self.ours.request.iter().any(|sent| sent.json.contains(line));
        !places.iter().all(|place| stands(&lines[*place]))
    }

    /// Hands the list over, applies the edits and bills both sides; `extra`: the plain host makes
    /// no such call.
    fn send(&mut self, extra: bool) {
        let messages = self.list[self.known..].iter().map(Value::to_string).collect();
        let info = CallInfo {
            model: Some(format!("game/{}", self.models)),
            fixed_tokens: Some(FIXED_TOKENS + OVERHEAD_TOKENS),
            overhead_tokens: Some(OVERHEAD_TOKENS),
            context_window: self.window,
            ..CallInfo::default()
        };
        let list = HostList { since: self.since, skip: self.known, messages };
        let done = self.live.transform(list, &info).unwrap();
        let Transformed::Edits { call, edits, .. } = done else { panic!("the view is in memory") };
        (self.since, self.known) = (Some(call), self.list.len());
        let request = self.edited(&edits);
        let warm = !std::mem::take(&mut self.cold);
        self.ours.send(request, FIXED_TOKENS + OVERHEAD_TOKENS, warm, &self.prices);
        let carry = if warm { self.prices.read } else { self.prices.write };
        self.overhead += OVERHEAD_TOKENS as f64 * carry;
        if !extra {
            let list = self.given.iter().enumerate().filter(|(at, _)| !self.extra.contains(at));
            let request = list.map(|(_, message)| Rc::clone(message)).collect();
            self.plain.send(request, FIXED_TOKENS, warm, &self.prices);
        }
        if self.window.is_some() {
            // Where the plain host compacts, and what that costs, the ledger knows; so both bills
            // are its own.
            let bill = self.live.state().bill();
            (self.ours.cost, self.plain.cost) = (bill.ours(), bill.plain());
        }
        self.calls += 1;
        let bound = (1.0 + self.settings.extra_share) * self.plain.cost
            + self.settings.extra_tokens as f64
            + self.overhead;
        if bound - self.ours.cost < self.least.0 {
            self.least = (bound - self.ours.cost, self.calls);
        }
    }

    fn edited(&self, edits: &str) -> Vec<Rc<Sent>> {
        let mut request = self.ours.request.clone();
        let build = |inserted: Inserted<'_>| match inserted {
            Inserted::Given(index) => Rc::clone(&self.given[index]),
            Inserted::Changed(index, content) => {
                let mut message = self.list[index].clone();
                message["content"] = serde_json::from_str(content).unwrap();
                Sent::new(&message)
            }
            Inserted::Ours(message) => Sent::new(&serde_json::from_str(message).unwrap()),
        };
        for edit in read_edits(edits).unwrap() {
            request.splice(edit.at..edit.at + edit.remove, edit.insert.into_iter().map(build));
        }
        request
    }

    /// The model calls a tool; returns the call's ID.
    fn call(&mut self, tool: &str, args: &Value) -> String {
        let id = format!("call-{}", self.list.len());
        let call = json!({ "type": "toolCall", "id": id, "name": tool, "arguments": args });
        self.push(json!({ "role": "assistant", "content": [call] }));
        id
    }

    fn result(&mut self, id: &str, tool: &str, text: &str) {
        self.push(json!({
            "role": "toolResult", "toolCallId": id, "toolName": tool, "isError": false,
            "content": [{ "type": "text", "text": text }],
        }));
    }

    fn push(&mut self, mut message: Value) {
        self.time += 1_000;
        message["timestamp"] = json!(self.time);
        self.given.push(Sent::new(&message));
        self.list.push(message);
    }
}

/// A word that is another for every number.
fn word(number: usize) -> String {
    format!("{:016x}", (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}
