//! Faults: lines that the model needed and the request did not contain. Pure.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::needs::{Need, TranscriptNeeds};
use super::request::MeasuredRequest;

/// Tokens of a call that asks for missing content.
const ASKING_TOKENS: f64 = 60.0;
/// Upper limit of the tokens charged for one source.
const MAX_SOURCE_TOKENS: f64 = 2_000.0;
/// A line with at least this many origins counts as common, not as taken from one place.
const COMMON_ORIGINS: usize = 2;

/// A call whose request lacked something that the model needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultyCall {
    /// Number of missing lines.
    pub lines: u64,
    /// Whether one of them comes from an output and has fewer than two origins.
    pub strict: bool,
    /// Whether one of them comes from a message that a person or the model wrote.
    pub own_words: bool,
    /// Indexes of the messages that the lines come from.
    pub sources: Vec<u64>,
    /// Cost, in uncached input tokens.
    pub cost: f64,
}

/// Looks up the needs of a call in its request.
///
/// Prices are those of reading and writing a token. `request_tokens`: the whole request, including
/// system prompt and tools. `size_tokens`: size of a message of the transcript.
pub fn fault(
    needs: &TranscriptNeeds,
    call: &[Need],
    request: &MeasuredRequest,
    (read, write): (f64, f64),
    request_tokens: f64,
    size_tokens: &dyn Fn(usize) -> f64,
) -> Option<FaultyCall> {
    let is_missing = |need: &&Need| !request.holds(need.line, &needs.lines[need.line].text);
    let missing: Vec<&Need> = call.iter().filter(is_missing).collect();
    if missing.is_empty() {
        return None;
    }
    let sources: BTreeSet<usize> = missing.iter().map(|need| need.source).collect();
    let shown: f64 = sources.iter().map(|at| size_tokens(*at).min(MAX_SOURCE_TOKENS)).sum();
    let is_strict = |need: &Need| !need.said && needs.lines[need.line].origins < COMMON_ORIGINS;
    Some(FaultyCall {
        lines: missing.len() as u64,
        strict: missing.iter().any(|need| is_strict(need)),
        own_words: missing.iter().any(|need| need.said),
        sources: sources.into_iter().map(|at| at as u64).collect(),
        // Getting content back takes one more call: it reads the whole request again, and writes
        // the question and what it shows.
        cost: request_tokens * read + write * (ASKING_TOKENS + shown),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::measure::message::MeasuredMessage;
    use crate::measure::needs::NeededLine;
    use crate::measure::request::{PartChange, RequestPart};
    use context::tokens::Counter;

    fn needs(origins: &[usize]) -> TranscriptNeeds {
        let line = |(index, origins): (usize, &usize)| NeededLine {
            text: format!("line {index} {}", "=".repeat(30)),
            origins: *origins,
        };
        let mut needs = TranscriptNeeds::default();
        needs.lines.extend(origins.iter().enumerate().map(line));
        needs
    }

    fn need(line: usize, source: usize, said: bool) -> Need {
        Need { line, source, said, shown_again: None }
    }

    fn of(needs: &TranscriptNeeds, call: &[Need], shown: &str) -> Option<FaultyCall> {
        let json = serde_json::json!({ "role": "user", "content": shown }).to_string();
        let part = RequestPart::given(MeasuredMessage::parse(&json, Counter::Characters), needs);
        let mut request = MeasuredRequest::new(Counter::Characters, needs);
        request.apply(vec![PartChange { at: 0, remove: 0, insert: vec![Arc::new(part)] }]);
        let sizes = |at: usize| [500.0, 3_000.0][at];
        fault(needs, call, &request, (0.1, 1.25), 10_000.0, &sizes)
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
    fn a_fault_costs_the_request_again_and_its_sources() {
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
    fn faults_are_classed_as_strict_or_own_words() {
        let needs = needs(&[1, 2, 0]);
        let kinds =
            |call: &[Need]| of(&needs, call, "").map(|fault| (fault.strict, fault.own_words));
        assert_eq!(kinds(&[need(0, 0, false)]), Some((true, false)), "one origin");
        assert_eq!(kinds(&[need(1, 0, false)]), Some((false, false)), "two origins");
        assert_eq!(kinds(&[need(2, 0, true)]), Some((false, true)), "own words have no origin");
        assert_eq!(kinds(&[need(0, 0, false), need(2, 1, true)]), Some((true, true)));
    }
}
