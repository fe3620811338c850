//! Measures a transcript's requests beside the plain host's: bill, window, faults. Pure.
//!
//! The cached prefix of a request is its longest common prefix with any request whose cache is
//! alive; see [`Caches`](session::Caches). Requests are compared by text: role, then texts,
//! thinking, tool names and arguments in order; with the previous request up to the first differing
//! character, with earlier ones message by message.

pub mod faults;
pub mod message;
pub mod needed;
pub mod needs;
mod part;
pub mod plain;
pub mod request;
pub mod side;

use std::sync::Arc;

use self::message::MeasuredMessage;
use self::needs::TranscriptNeeds;
use self::plain::PlainHost;
use self::request::{PartChange, RequestKinds, RequestPart};
use self::side::{MeasuredSide, Moment, SideCall, Terms};
use super::options::Replaying;
use super::play::{Played, PlayedChange, PlayedRequest};

/// Default tokens of the plain host's system prompt and tools.
pub const FIXED_TOKENS: u64 = 4_000;

/// Tokens that the extension adds to system prompt and tools, without memory, which recorded
/// sessions do not have. `npm run overhead` measures them, and fails if this is too low.
pub const OVERHEAD_TOKENS: u64 = 276;

/// Measures the calls of a transcript in order.
#[derive(Debug)]
pub struct Measure {
    terms: Terms,
    ours: MeasuredSide,
    plain: MeasuredSide,
    host: PlainHost,
    /// Index of the answer to the previous call.
    answered: Option<usize>,
}

/// A measured call.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredSides {
    /// Our side.
    pub ours: SideCall,
    /// The plain host's.
    pub plain: SideCall,
    /// Our messages by kind of content, in units of the counter.
    pub kinds: RequestKinds,
}

impl Measure {
    /// Begins to measure a transcript. `messages`: its messages, each as JSON; `hidden`: tokens that
    /// they have beyond what they show, by their indexes.
    pub fn new(messages: &[String], replaying: &Replaying, hidden: &[u64]) -> Self {
        let counter = replaying.counter;
        let mut parsed = MeasuredMessage::parse_all(messages, counter);
        for (message, hidden) in parsed.iter_mut().zip(hidden) {
            message.units += hidden * counter.units_per_token();
        }
        let needs = TranscriptNeeds::find(&parsed);
        let given: Vec<Arc<RequestPart>> = parsed
            .into_iter()
            .map(|message| Arc::new(RequestPart::given(message, &needs)))
            .collect();
        let terms = Terms { prices: replaying.prices.clone(), counter, needs, given };
        let units = |tokens: u64| tokens * counter.units_per_token();
        let host_units = units(replaying.host_tokens);
        let plain = MeasuredSide::new(&terms, host_units);
        let ours = MeasuredSide::new(&terms, host_units + units(replaying.sent_overhead()));
        let host = PlainHost::new(counter, host_units, replaying.window_tokens);
        Self { terms, ours, plain, host, answered: None }
    }

    /// Measures a call that the session made.
    pub fn call(&mut self, played: &Played) -> MeasuredSides {
        let changes = played.changes.iter().map(|change| self.part_change(change)).collect();
        let terms = &self.terms;
        let needs = &terms.needs.calls[played.call];
        let sent = self.host.call(&terms.given, played.before);
        let answered = self.answered.map(|index| terms.given[index].message.timestamp);
        let mut before = terms.given[..played.before].iter().rev();
        let now = before.find_map(|part| part.message.timestamp);
        let moment = Moment { answered, now, needs, compaction_cost: sent.compaction_cost };
        let plain = self.plain.call(terms, sent.changes, moment);
        let moment = Moment { compaction_cost: played.compaction_cost, ..moment };
        let ours = self.ours.call(terms, changes, moment);
        self.answered = Some(played.before);
        MeasuredSides { ours, plain, kinds: self.ours.request.kinds }
    }

    fn part_change(&self, change: &PlayedChange) -> PartChange {
        let insert = change.insert.iter().map(|sent| self.part(sent)).collect();
        PartChange { at: change.at, remove: change.remove, insert }
    }

    fn part(&self, sent: &PlayedRequest) -> Arc<RequestPart> {
        let Terms { needs, given, counter, .. } = &self.terms;
        match sent {
            PlayedRequest::Given(index) => Arc::clone(&given[*index]),
            PlayedRequest::Changed { index, json } => {
                let message = MeasuredMessage::parse(json, *counter);
                Arc::new(RequestPart::changed(message, &given[*index].message, needs))
            }
            PlayedRequest::Ours(json) => {
                Arc::new(RequestPart::ours(MeasuredMessage::parse(json, *counter), needs))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::ToolCalls;
    use crate::options::Sender;
    use config::{Layout, Prices, Settings};
    use context::tokens::Counter;

    fn replaying(prices: &str) -> Replaying {
        Replaying {
            sender: Sender::Ours(Layout::Log),
            prices: Prices::preset(prices).unwrap(),
            window_tokens: None,
            counter: Counter::Characters,
            host_tokens: FIXED_TOKENS,
            overhead_tokens: 100,
            settings: Settings::default(),
            dump: None,
            snapshots: None,
        }
    }

    /// Two calls: 40 tokens before the first, 70 before the second, which comes this many seconds
    /// after the first answer.
    fn session(seconds: i64) -> Vec<String> {
        let message = |role: &str, tokens: usize, time: i64| {
            let text = "x".repeat(tokens * 4 - role.len());
            json!({ "role": role, "content": text, "timestamp": time }).to_string()
        };
        vec![
            message("user", 40, 0),
            message("assistant", 20, 10_000),
            message("user", 10, 10_000 + seconds * 1_000),
            message("assistant", 20, 9_000_000),
        ]
    }

    fn played(call: usize, before: usize, changes: Vec<PlayedChange>) -> Played {
        let (notices, tool_calls) = (Vec::new(), ToolCalls::default());
        Played { call, before, changes, notices, compaction_cost: 0.0, tool_calls }
    }

    fn grown(at: usize, insert: &[usize]) -> Vec<PlayedChange> {
        vec![PlayedChange {
            at,
            remove: 0,
            insert: insert.iter().copied().map(PlayedRequest::Given).collect(),
        }]
    }

    fn second_call(prices: &str, seconds: i64, changes: Vec<PlayedChange>) -> MeasuredSides {
        let mut measure = Measure::new(&session(seconds), &replaying(prices), &[]);
        let first = measure.call(&played(0, 1, grown(0, &[0])));
        assert!(first.ours.cached.abs() < 1e-9, "nothing is cached at the first call");
        assert!(
            (first.ours.tokens - 4_140.0).abs() < 1e-9
                && (first.plain.tokens - 4_040.0).abs() < 1e-9
        );
        measure.call(&played(1, 3, changes))
    }

    #[test]
    fn what_was_sent_before_is_read_and_the_rest_is_written() {
        let call = second_call("anthropic", 300, grown(1, &[1, 2]));
        assert!((call.ours.cost - (4_140.0 * 0.1 + 30.0 * 1.25)).abs() < 1e-9, "{call:?}");
        assert!((call.plain.cost - (4_040.0 * 0.1 + 30.0 * 1.25)).abs() < 1e-9, "{call:?}");
        let call = second_call("gemini", 300, grown(1, &[1, 2]));
        assert!((call.plain.cost - (4_040.0 * 0.25 + 30.0)).abs() < 1e-9, "{call:?}");
    }

    #[test]
    fn a_cache_that_outlived_its_time_holds_nothing() {
        for (prices, seconds, cached) in [
            ("anthropic", 300, 4_040.0),
            ("anthropic", 301, 0.0),
            ("anthropic-1h", 3_600, 4_040.0),
            ("anthropic-1h", 3_601, 0.0),
            ("openai", 1_000_000, 4_040.0),
        ] {
            let call = second_call(prices, seconds, grown(1, &[1, 2]));
            assert!((call.plain.cached - cached).abs() < 1e-9, "{prices} {seconds}: {call:?}");
        }
    }

    #[test]
    fn a_change_inside_leaves_the_fixed_part_or_the_prefix_cached() {
        let changed = || {
            // `user` and the first 16 of the letters stay: 5 tokens.
            let json = json!({ "role": "user", "content": format!("{}yy", "x".repeat(16)) });
            let insert = vec![PlayedRequest::Changed { index: 0, json: json.to_string() }];
            let mut changes = vec![PlayedChange { at: 0, remove: 1, insert }];
            changes.extend(grown(1, &[1, 2]));
            changes
        };
        let call = second_call("anthropic", 0, changed());
        assert!((call.ours.cached - 4_100.0).abs() < 1e-9, "{call:?}");
        let call = second_call("openai", 0, changed());
        assert!((call.ours.cached - 4_105.0).abs() < 1e-9, "{call:?}");
        assert!((call.plain.cached - 4_040.0).abs() < 1e-9, "plain is as it is: {call:?}");
    }

    #[test]
    fn contents_are_counted_by_kind() {
        let insert = vec![
            PlayedRequest::Changed {
                index: 0,
                json: json!({ "role": "user", "content": "[t1-t2] folded" }).to_string(),
            },
            PlayedRequest::Ours(json!({ "role": "user", "content": "pool" }).to_string()),
        ];
        let call = second_call("openai", 0, vec![PlayedChange { at: 0, remove: 1, insert }]);
        assert_eq!(
            call.kinds,
            RequestKinds { user: 4, reference: 14 + 8, ..RequestKinds::default() }
        );
    }
}
