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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::tokens::Counter;
    use crate::replay::measure::message::Message;
    use crate::replay::measure::needs::NeededLine;
    use crate::replay::measure::request::{Part, PartChange};

    fn needs(origins: &[usize]) -> Needs {
        let line = |(index, origins): (usize, &usize)| NeededLine {
            text: format!("line {index} {}", "=".repeat(30)),
            origins: *origins,
        };
        let mut needs = Needs::default();
        needs.lines.extend(origins.iter().enumerate().map(line));
        needs
    }

    fn need(line: usize, source: usize, said: bool) -> Need {
        Need { line, source, said }
    }

    fn of(needs: &Needs, call: &[Need], shown: &str) -> Option<Fault> {
        let json = serde_json::json!({ "role": "user", "content": shown }).to_string();
        let part = Part::given(Message::parse(&json, Counter::Characters), needs);
        let mut request = Request::new(Counter::Characters, needs);
        request.apply(vec![PartChange { at: 0, remove: 0, insert: vec![Arc::new(part)] }]);
        let prices = Prices::preset("anthropic").unwrap();
        let sizes = |at: usize| [500.0, 3_000.0][at];
        fault(needs, call, &request, &prices, 10_000.0, &sizes)
    }

    #[test]
    fn a_call_whose_needs_stand_has_no_fault() {
        let needs = needs(&[1]);
        let call = [need(0, 0, false)];
        assert_eq!(of(&needs, &call, &needs.lines[0].text), None);
        assert_eq!(of(&needs, &[], ""), None);
        assert!(of(&needs, &call, "").is_some());
    }

    #[test]
    fn the_charge_is_the_request_again_and_each_source_up_to_a_limit() {
        let needs = needs(&[1, 1, 1]);
        let one = of(&needs, &[need(0, 0, false), need(1, 0, false)], "").unwrap();
        assert!(
            (one.cost - (1_000.0 + 1.25 * 560.0)).abs() < 1e-9,
            "a source counts once: {one:?}"
        );
        let both = of(&needs, &[need(0, 0, false), need(1, 1, false)], "").unwrap();
        assert!((both.cost - (1_000.0 + 1.25 * 2_560.0)).abs() < 1e-9, "{both:?}");
        assert_eq!((both.lines, both.sources), (2, vec![0, 1]));
    }

    #[test]
    fn strict_and_own_words_are_told_apart() {
        let needs = needs(&[1, 2, 0]);
        let kinds =
            |call: &[Need]| of(&needs, call, "").map(|fault| (fault.strict, fault.own_words));
        assert_eq!(kinds(&[need(0, 0, false)]), Some((true, false)), "one origin");
        assert_eq!(kinds(&[need(1, 0, false)]), Some((false, false)), "two origins");
        assert_eq!(kinds(&[need(2, 0, true)]), Some((false, true)), "own words have no origin");
        assert_eq!(kinds(&[need(0, 0, false), need(2, 1, true)]), Some((true, true)));
    }
}
