//! Faults: lines that the model needed and that were nowhere in the request. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::needs::{Need, Needs};
use super::request::Request;
use crate::context::prices::Prices;

/// Tokens of asking for what is missing.
const ASKING_TOKENS: f64 = 60.0;
/// Most tokens of one source that are charged.
const MAX_SOURCE_TOKENS: f64 = 2_000.0;
/// Origins from which a line of an output cannot be said to have come from one place.
const COMMON_ORIGINS: usize = 2;

/// A call of which needs were missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Lines missing.
    pub lines: u64,
    /// Whether one of them is a line of an output with fewer than two origins.
    pub strict: bool,
    /// Whether one of them has its source in what a person or the model wrote.
    pub own_words: bool,
    /// Indexes of the messages that they come from.
    pub sources: Vec<u64>,
    /// What it costs, in prices of a plain input token.
    pub cost: f64,
}

/// Looks for the needs of a call in its request.
///
/// `request_tokens`: all of the request, system prompt and tools included. `size_tokens`: of a message of the transcript.
pub fn fault(
    needs: &Needs,
    call: &[Need],
    request: &Request,
    prices: &Prices,
    request_tokens: f64,
    size_tokens: &dyn Fn(usize) -> f64,
) -> Option<Fault> {
    let is_missing = |need: &&Need| !request.holds(need.line, &needs.lines[need.line].text);
    let missing: Vec<&Need> = call.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return None;
    }
    let sources: BTreeSet<usize> = missing.iter().map(|need| need.source).collect();
    let shown: f64 = sources.iter().map(|at| size_tokens(*at).min(MAX_SOURCE_TOKENS)).sum();
    let is_strict = |need: &Need| !need.said && needs.lines[need.line].origins < COMMON_ORIGINS;
    Some(Fault {
        lines: missing.len() as u64,
        strict: missing.iter().any(|need| is_strict(need)),
        own_words: missing.iter().any(|need| need.said),
        sources: sources.into_iter().map(|at| at as u64).collect(),
        cost: request_tokens * prices.read + prices.write * (ASKING_TOKENS + shown),
    })
}
