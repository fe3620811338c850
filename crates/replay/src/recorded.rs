//! What a transcript records of the requests that went out: the model, the tokens of each, and with
//! them what no message shows: system prompt and tools, thinking without a text, and how far the
//! host let its window grow. Pure.

mod models;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::measure::FIXED_TOKENS;
use super::measure::message::{MeasuredMessage, Speaker};
use super::options::Replaying;
use super::report::CallReport;
use super::report::counted::{Counted, RecordedReport};
use super::transcript::{Transcript, count_of};
use config::{Prices, as_f64, scaled};
use context::ledger::RESERVED_TOKENS;
use context::tokens::Counter;

/// No request has so many tokens.
const NO_TOKENS: u64 = 1 << 40;

/// Tokens that must stand between two requests, and the number of such pairs, to tell how our count
/// differs from the provider's; and how far it may.
const TELLING: u64 = 500;
const TELLING_PAIRS: usize = 5;
const SCALES: (f64, f64) = (0.5, 2.0);
/// A request that is smaller by this factor than the one before went out after a compaction.
const COMPACTED: f64 = 0.5;
/// A request below this many tokens is not compacted by itself.
const SMALL_REQUEST: u64 = 20_000;
/// Times before are none, in ms since 1970: files have small numbers where they know no time.
pub const FIRST_TIME: i64 = 1_000_000_000_000;
/// A count up to this is none.
const NO_COUNT: u64 = 16;
/// A count from this on is one, whatever the messages seem to be.
const SMALL_COUNT: u64 = 1_000;
/// The tables of caches that stay for five minutes, and for an hour.
const SHORT: &str = "anthropic";
const LONG: &str = "anthropic-1h";
/// The price table where no model tells one.
const USUAL_TABLE: &str = SHORT;

/// What the provider counted for a request and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Usage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// The part of it that stays for an hour.
    cache_write_1h: u64,
    /// US dollars for the request, if the host wrote them down.
    usd: Option<f64>,
}

impl Usage {
    /// All that was sent.
    fn sent(self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// The cost of that, in uncached input tokens.
    /// `is_split`: whether caches of both of Anthropic's lifetimes may occur, whatever the table is.
    fn cost(self, prices: &Prices, is_split: bool) -> f64 {
        let (read, write) = prices.at(self.sent());
        let dearer = write / prices.write;
        let write_of = |table| {
            let table = Prices::preset(table).filter(|_| is_split);
            table.map_or(write, |table| dearer * table.write)
        };
        as_f64(self.input) * dearer
            + as_f64(self.cache_read) * read
            + as_f64(self.cache_write - self.cache_write_1h) * write_of(SHORT)
            + as_f64(self.cache_write_1h) * write_of(LONG)
    }
}

/// A request, as the transcript has it.
#[derive(Debug, Clone, Default, PartialEq)]
struct Request {
    /// Index of its answer.
    answer: usize,
    /// Tokens of the messages before it, since the last compaction, by our count.
    before: u64,
    /// Tokens of what the answer shows.
    shown: u64,
    /// What the provider counted, unless that cannot be.
    usage: Option<Usage>,
    /// The same for requests of the model before it that led to the same answer.
    earlier: Vec<Usage>,
    /// Its model, and the name of that one's price table, if known.
    model: String,
    table: Option<&'static str>,
    /// Whether a compaction came right before it.
    is_compacted: bool,
}

/// What a transcript records.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// The model of most answers.
    pub model: Option<String>,
    /// The name of its price table.
    pub prices: &'static str,
    /// How many tokens of the provider's are one of ours.
    pub scale: f64,
    /// Tokens of system prompt and tools, by our count; `None` if no usage tells.
    pub fixed_tokens: Option<u64>,
    /// Tokens of thinking without text by the message's index, by our count.
    pub hidden: Vec<u64>,
    /// The largest request before the host compacted, as recorded; `None` if it never did.
    pub compacted_at: Option<u64>,
    /// The window in which a plain host compacts there, by our count.
    pub window_tokens: Option<u64>,
    requests: Vec<Request>,
    /// Time of the first and the last message in ms, if known.
    span: Option<(i64, i64)>,
}

/// Which options follow what is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follows {
    /// The prices.
    pub prices: bool,
    /// The window.
    pub window: bool,
    /// System prompt and tools, and thinking without text.
    pub sizes: bool,
}

impl Recorded {
    /// Finds out what a transcript records.
    pub fn of(transcript: &Transcript, counter: Counter) -> Self {
        let values: Vec<Value> = transcript
            .messages
            .iter()
            .map(|json| serde_json::from_str(json).unwrap_or_default())
            .collect();
        let (model, prices) = model_of(&values);
        let sizes = MeasuredMessage::parse_all(&transcript.messages, counter);
        let requests = requests(&values, &sizes, counter);
        let scale = scale(&requests);
        let fixed_tokens = fixed(&requests, scale);
        let hidden = hidden(&requests, scale, values.len());
        let times =
            || sizes.iter().filter_map(|message| message.timestamp).filter(|at| *at > FIRST_TIME);
        let span = times().min().zip(times().max());
        let mut recorded = Self {
            model,
            prices: prices.unwrap_or(USUAL_TABLE),
            scale,
            fixed_tokens,
            hidden,
            span,
            requests,
            ..Self::default()
        };
        recorded.find_window();
        recorded
    }

    /// The options as the transcript records them, as far as they follow it.
    pub fn options(&self, given: &Replaying, follows: Follows) -> Replaying {
        let mut replaying = given.clone();
        let model = self.model.as_deref().unwrap_or_default();
        if let Some(prices) = models::prices_of(model, self.prices).filter(|_| follows.prices) {
            replaying.prices = prices;
        }
        if follows.window {
            replaying.window_tokens = self.window_tokens;
        }
        if let Some(fixed) = self.fixed_tokens.filter(|_| follows.sizes) {
            replaying.host_tokens = fixed;
        }
        replaying
    }

    /// What is recorded, without its sums, beside the calls that were played, which get what was
    /// counted for them.
    /// `given`: name of the table of all requests; without, each has the prices of its own model.
    pub fn report(
        &self,
        series: &mut [CallReport],
        replaying: &Replaying,
        given: Option<&str>,
    ) -> RecordedReport {
        let prices = given.unwrap_or(self.prices);
        let found = RecordedReport {
            model: self.model.clone(),
            prices: prices.to_owned(),
            compacted_at: self.compacted_at,
            scale: self.scale,
            window: replaying.window_tokens,
            fixed_tokens: scaled(replaying.host_tokens, self.scale),
            from: self.span.map(|(from, _)| from),
            to: self.span.map(|(_, to)| to),
            ..RecordedReport::default()
        };
        for (request, call) in self.requests.iter().zip(series) {
            let list = models::usd_per_million(&request.model);
            call.usd_per_million = list;
            let Some(usage) = request.usage else { continue };
            let table = request.table.unwrap_or(self.prices);
            let own = models::prices_of(&request.model, table).filter(|_| given.is_none());
            let is_split = own.is_some() && [SHORT, LONG].contains(&table);
            let prices_of_it = own.as_ref().unwrap_or(&replaying.prices);
            let cost_of = |usage: Usage| usage.cost(prices_of_it, is_split);
            let cost = cost_of(usage) + request.earlier.iter().copied().map(cost_of).sum::<f64>();
            // What the host wrote down is by its model's prices, not by others.
            let written = usage.usd.filter(|_| prices == self.prices && cost > 0.0);
            call.usd_per_million = written.map(|usd| 1e6 * usd / cost).or(list);
            let (sent, output) = (as_f64(usage.sent()), as_f64(usage.output));
            let hidden = scaled(self.hidden[request.answer], self.scale);
            call.recorded = Some(Counted { tokens: sent, output, hidden, cost });
        }
        found
    }

    /// Finds how far the host let its window grow: as far as the largest request, if it compacted.
    fn find_window(&mut self) {
        let requests = &self.requests;
        if !requests.iter().any(|request| request.is_compacted) {
            return;
        }
        let largest = requests.iter().filter_map(|request| request.usage).map(Usage::sent).max();
        let fixed = self.fixed_tokens.unwrap_or(FIXED_TOKENS);
        let (mut counted, mut hidden) = (0, 0);
        for request in requests {
            hidden = if request.is_compacted { 0 } else { hidden };
            counted = counted.max(fixed + request.before + hidden);
            hidden += self.hidden[request.answer];
        }
        self.compacted_at = Some(largest.unwrap_or(counted));
        self.window_tokens = Some(counted + RESERVED_TOKENS);
    }
}

/// The model of most answers, and its price table.
fn model_of(values: &[Value]) -> (Option<String>, Option<&'static str>) {
    let mut counts: Vec<((&str, &str), u64)> = Vec::new();
    for value in values.iter().filter(|value| is(value, "assistant")) {
        let model = model_in(value);
        match counts.iter_mut().find(|(known, _)| *known == model) {
            Some((_, count)) => *count += 1,
            None => counts.push((model, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max();
    let first = counts.iter().find(|(_, count)| Some(*count) == most);
    let Some(((provider, model), _)) = first else { return (None, None) };
    let usages = || values.iter().filter_map(|value| value.get("usage")).map(usage_of);
    let long: u64 = usages().map(|usage| usage.cache_write_1h).sum();
    let table = match models::table_of(provider, model) {
        Some(SHORT) if 2 * long > usages().map(|usage| usage.cache_write).sum() => Some(LONG),
        table => table,
    };
    let name = Some(*model).filter(|model| !model.is_empty()).map(str::to_owned);
    (name, table)
}

/// The provider and the model of an answer.
fn model_in(answer: &Value) -> (&str, &str) {
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    (text("provider"), text("model"))
}

fn is(value: &Value, role: &str) -> bool {
    value.get("role").and_then(Value::as_str) == Some(role)
}

/// The requests, with what was counted for them.
fn requests(values: &[Value], sizes: &[MeasuredMessage], counter: Counter) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    let mut sizing = Sizing { counter, ..Sizing::default() };
    for (answer, (value, message)) in values.iter().zip(sizes).enumerate() {
        if value.get("meta").and_then(Value::as_str) == Some("compaction_summary") {
            (sizing.units, sizing.is_summed) = (0, !requests.is_empty());
        }
        if message.speaker() == Speaker::Assistant {
            let usage = value.get("usage").map(usage_of);
            let (provider, model) = model_in(value);
            let (model, table) = (model.to_owned(), models::table_of(provider, model));
            let earlier = value.pointer("/usage/earlier").and_then(Value::as_array);
            let earlier = earlier.into_iter().flatten().map(usage_of).collect();
            let request = sizing.request(answer, usage, message.units);
            requests.push(Request { earlier, model, table, ..request });
        }
        sizing.units += message.units;
    }
    requests
}

/// The size of the requests while messages are counted.
#[derive(Default)]
struct Sizing {
    counter: Counter,
    /// Units of the messages since the last compaction.
    units: u64,
    /// Whether a summary came since the last request.
    is_summed: bool,
    /// What the last counted request had.
    last: Option<u64>,
    /// What the first counted request had beyond its messages.
    fixed: Option<u64>,
}

impl Sizing {
    fn request(&mut self, answer: usize, usage: Option<Usage>, shown: u64) -> Request {
        let mut before = self.counter.tokens(self.units);
        let usage = usage.filter(|usage| is_count(*usage, before));
        let sent = usage.map(Usage::sent);
        let has_shrunk = sent.zip(self.last).is_some_and(|(sent, last)| {
            last >= SMALL_REQUEST && as_f64(sent) < COMPACTED * as_f64(last)
        });
        let is_summed = std::mem::take(&mut self.is_summed);
        if let Some(sent) = sent.filter(|_| has_shrunk && !is_summed) {
            // No summary says what the host kept, only the size of the request does.
            before = sent.saturating_sub(self.fixed.unwrap_or_default());
            self.units = before * self.counter.units_per_token();
        }
        self.last = sent.or(self.last);
        self.fixed = self.fixed.or(sent.map(|sent| sent.saturating_sub(before)));
        let shown = self.counter.tokens(shown);
        let is_compacted = is_summed || has_shrunk;
        Request { answer, before, shown, usage, is_compacted, ..Request::default() }
    }
}

/// Whether it is a count: programs write 0 or 1 where they know none.
fn is_count(usage: Usage, before: u64) -> bool {
    let sent = usage.sent();
    sent >= SMALL_COUNT || (sent > NO_COUNT && 2 * sent >= before)
}

fn usage_of(value: &Value) -> Usage {
    let given = |key: &str| u64::try_from(value.get(key).and_then(count_of)?).ok();
    let count = |key: &str| given(key).filter(|count| *count < NO_TOKENS).unwrap_or_default();
    let cost = |key: &str| value.get("cost").and_then(|cost| cost.get(key)?.as_f64());
    let usd = ["input", "cacheRead", "cacheWrite"].into_iter().filter_map(cost).sum::<f64>();
    Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        cache_write_1h: count("cacheWrite1h").min(count("cacheWrite")),
        // Where hosts know no price they write 0.
        usd: Some(usd).filter(|usd| *usd > 0.0),
    }
}

/// How many tokens of the provider's are one of ours: the median of what requests grew by, without
/// the answer, where that is much.
fn scale(requests: &[Request]) -> f64 {
    let mut found: Vec<f64> = requests
        .windows(2)
        .filter_map(|pair| {
            let [one, next] = pair else { return None };
            let (usage, after) = (one.usage?, next.usage?);
            let counted = next.before.checked_sub(one.before + one.shown)?;
            // Some programs count only the beginning of an answer.
            let answer = usage.output.max(one.shown);
            let grown = after.sent().checked_sub(usage.sent() + answer)?;
            let is_telling = !next.is_compacted && counted >= TELLING;
            is_telling.then(|| as_f64(grown) / as_f64(counted))
        })
        .collect();
    if found.len() < TELLING_PAIRS {
        return 1.0;
    }
    found.sort_by(f64::total_cmp);
    found[found.len() / 2].clamp(SCALES.0, SCALES.1)
}

/// System prompt and tools: what the first counted request has beyond its messages.
fn fixed(requests: &[Request], scale: f64) -> Option<u64> {
    let mut before = requests.iter().take_while(|request| !request.is_compacted);
    let (usage, before) = before.find_map(|request| Some((request.usage?, request.before)))?;
    Some(rounded(as_f64(usage.sent()) / scale).saturating_sub(before))
}

/// Thinking without a text: what an answer's output has beyond what it shows, as far as the next
/// request grew by it.
fn hidden(requests: &[Request], scale: f64, messages: usize) -> Vec<u64> {
    let mut hidden = vec![0; messages];
    for pair in requests.windows(2) {
        let [one, next] = pair else { continue };
        let (Some(usage), Some(after)) = (one.usage, next.usage) else { continue };
        if next.is_compacted {
            continue;
        }
        let ours = |count: u64| rounded(as_f64(count) / scale);
        let grown = ours(after.sent().saturating_sub(usage.sent()));
        let counted = next.before.saturating_sub(one.before);
        let unseen = ours(usage.output).saturating_sub(one.shown);
        hidden[one.answer] = grown.saturating_sub(counted).min(unseen);
    }
    hidden
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are not negative, and far below 2^53"
)]
fn rounded(count: f64) -> u64 {
    count.round() as u64
}

#[cfg(test)]
mod tests;
