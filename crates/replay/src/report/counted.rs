//! What a transcript records of its requests: the provider's counts beside our estimate. Plain data.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::CallReport;

/// What the provider counted for a request and its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// Tokens of the request.
    pub tokens: f64,
    /// Tokens of the answer.
    pub output: f64,
    /// Those of them that are thinking whose text is not in the file.
    pub hidden: u64,
    /// Cost of the request, in uncached input tokens.
    pub cost: f64,
}

/// What a transcript records of its requests, beside our estimate of the same.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedReport {
    /// The model of most answers.
    pub model: Option<String>,
    /// Name of the price table that was used.
    pub prices: String,
    /// US dollars for a million uncached input tokens: on average over the requests, each by what the
    /// file says that it cost, else by the list price of its model; `None` if one has neither.
    pub usd_per_million: Option<f64>,
    /// The largest request that went out, if the host compacted.
    pub compacted_at: Option<u64>,
    /// How many tokens of the provider's are one of ours.
    pub scale: f64,
    /// Tokens of the window that was used; `None`: no limit.
    pub window: Option<u64>,
    /// Tokens of the plain host's system prompt and tools that were used.
    pub fixed_tokens: u64,
    /// Tokens of thinking whose text is not in the file.
    pub hidden_tokens: u64,
    /// Requests that the provider counted.
    pub requests: u64,
    /// Their input tokens, as counted.
    pub tokens: f64,
    /// Our estimate of the same.
    pub plain_tokens: f64,
    /// The output tokens of their answers.
    pub output: f64,
    /// Cost of their input, in uncached input tokens.
    pub cost: f64,
    /// Time of the first message in ms, if known.
    pub from: Option<i64>,
    /// Time of the last message in ms, if known.
    pub to: Option<i64>,
}

impl RecordedReport {
    /// Sums up what was counted for the calls of a transcript, beside our estimate of them.
    pub(super) fn sum_up(&mut self, series: &[CallReport]) {
        let counted = || series.iter().filter_map(|call| Some((call.recorded?, &call.plain)));
        let sum = |of: fn(&Counted) -> f64| counted().map(|(one, _)| of(&one)).fold(0.0, f64::add);
        self.requests = counted().count() as u64;
        self.tokens = sum(|one| one.tokens);
        self.output = sum(|one| one.output);
        self.cost = sum(|one| one.cost);
        self.hidden_tokens = counted().map(|(one, _)| one.hidden).sum();
        let plain = counted().map(|(_, plain)| plain.tokens * self.scale);
        self.plain_tokens = plain.fold(0.0, f64::add);
        let (mut all, mut usd) = (0.0, Some(0.0));
        for call in series {
            let cost = call.recorded.map_or(call.plain.cost, |counted| counted.cost);
            all += cost;
            usd = usd.zip(call.usd_per_million).map(|(usd, price)| usd + cost * price);
        }
        self.usd_per_million = usd.filter(|_| all > 0.0).map(|usd| usd / all);
    }
}
