//! What the requests of a transcript cost, beside the plain host's: bill, window, faults (DESIGN.md section 13, *Measuring in
//! replay*). Pure.
//!
//! The longest common prefix of two requests is that of their texts: role, then texts, thinking, tool names and arguments in
//! order. Within the first message that differs it goes to the first other character.

pub mod faults;
pub mod message;
pub mod needs;
mod part;
pub mod plain;
pub mod request;
pub mod side;

use std::sync::Arc;

use self::message::Message;
use self::needs::Needs;
use self::plain::PlainHost;
use self::request::{Kinds, Part, PartChange};
use self::side::{Moment, Side, SideCall, Terms};
use super::play::{Change, Played, Sent};
use crate::context::prices::Prices;
use crate::context::tokens::Counter;

/// Tokens of system prompt and tools of the plain host.
pub const FIXED_TOKENS: u64 = 4_000;

/// Tokens that the extension adds to system prompt and tools, as `npm run overhead` measures them.
pub const OVERHEAD_TOKENS: u64 = 280;

/// How a transcript is measured.
#[derive(Debug, Clone)]
pub struct Measuring {
    /// Prices.
    pub prices: Prices,
    /// How tokens are counted.
    pub counter: Counter,
    /// Tokens of the model's window; `None`: no limit.
    pub window_tokens: Option<u64>,
    /// Tokens of system prompt and tools that we have and the plain host has not.
    pub overhead_tokens: u64,
}

/// Measures the calls of a transcript in order.
#[derive(Debug)]
pub struct Measure {
    terms: Terms,
    ours: Side,
    plain: Side,
    host: PlainHost,
    /// Index of the answer to the call before.
    answered: Option<usize>,
}

/// A call, measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Ours.
    pub ours: SideCall,
    /// The plain host's.
    pub plain: SideCall,
    /// Our messages by kind of content, in units of the counter.
    pub kinds: Kinds,
    /// Whether the plain host compacted before it.
    pub compacted: bool,
}

impl Measure {
    /// Begins with a transcript's messages, each as JSON.
    pub fn new(messages: &[String], measuring: &Measuring) -> Self {
        let counter = measuring.counter;
        let parsed: Vec<Message> =
            messages.iter().map(|json| Message::parse(json, counter)).collect();
        let needs = Needs::find(&parsed);
        let given: Vec<Arc<Part>> =
            parsed.into_iter().map(|message| Arc::new(Part::given(message, &needs))).collect();
        let terms = Terms { prices: measuring.prices.clone(), counter, needs, given };
        let units = |tokens: u64| tokens * counter.units_per_token();
        let plain = Side::new(&terms, units(FIXED_TOKENS));
        let ours = Side::new(&terms, units(FIXED_TOKENS + measuring.overhead_tokens));
        let host = PlainHost::new(counter, units(FIXED_TOKENS), measuring.window_tokens);
        Self { terms, ours, plain, host, answered: None }
    }

    /// Measures a call that the session made.
    pub fn call(&mut self, played: &Played) -> Measured {
        let changes = played.changes.iter().map(|change| self.part_change(change)).collect();
        let terms = &self.terms;
        let warm = self.answered.is_some_and(|answered| is_warm(terms, answered, played.before));
        let moment = Moment { warm, needs: &terms.needs.calls[played.call] };
        let before = self.host.compactions();
        let sent = self.host.call(&terms.given, played.before);
        let mut plain = self.plain.call(terms, sent.changes, moment);
        plain.cost += sent.compaction_cost;
        let ours = self.ours.call(terms, changes, moment);
        self.answered = Some(played.before);
        let compacted = self.host.compactions() > before;
        Measured { ours, plain, kinds: self.ours.kinds(), compacted }
    }

    fn part_change(&self, change: &Change) -> PartChange {
        let insert = change.insert.iter().map(|sent| self.part(sent)).collect();
        PartChange { at: change.at, remove: change.remove, insert }
    }

    fn part(&self, sent: &Sent) -> Arc<Part> {
        let Terms { needs, given, counter, .. } = &self.terms;
        match sent {
            Sent::Given(index) => Arc::clone(&given[*index]),
            Sent::Changed { index, json } => {
                let message = Message::parse(json, *counter);
                Arc::new(Part::changed(message, &given[*index].message, needs))
            }
            Sent::Ours(json) => Arc::new(Part::ours(Message::parse(json, *counter), needs)),
        }
    }
}

/// Whether the cache of the call that `answered` answers still lives at the next call, before which stand `before` messages.
/// Where times are not known, it does.
fn is_warm(terms: &Terms, answered: usize, before: usize) -> bool {
    let Some(lifetime_seconds) = terms.prices.lifetime_seconds else { return true };
    let time = |index: usize| terms.given[index].message.timestamp;
    match (time(answered), time(before - 1)) {
        (Some(answered), Some(last)) => {
            last.saturating_sub(answered)
                <= i64::try_from(lifetime_seconds * 1_000).unwrap_or(i64::MAX)
        }
        _ => true,
    }
}
