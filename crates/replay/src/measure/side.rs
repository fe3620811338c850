//! One side of the comparison, ours or the plain host's: its request and its bill, call by call.
//! Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::faults::{FaultyCall, fault};
use super::needs::{Need, TranscriptNeeds};
use super::request::{MeasuredRequest, PartChange, RequestPart, Shared};
use config::{Input, Prices};
use context::tokens::Counter;
use session::{CacheKey, Caches, CallTime};

/// The terms that both sides share.
#[derive(Debug)]
pub struct Terms {
    /// Prices.
    pub prices: Prices,
    /// How tokens are counted.
    pub counter: Counter,
    /// The needs of the transcript.
    pub needs: TranscriptNeeds,
    /// The messages of the transcript.
    pub given: Vec<Arc<RequestPart>>,
}

/// What is known before a call.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Time of the answer to the previous call, if there was one and its time is known.
    pub answered: Option<Option<i64>>,
    /// Time of the newest message before the call.
    pub now: Option<i64>,
    /// The needs of the answer.
    pub needs: &'a [Need],
    /// Cost of the host's compaction before the call, on this side.
    pub compaction_cost: f64,
}

/// One side.
#[derive(Debug)]
pub struct MeasuredSide {
    fixed_units: u64,
    /// Its newest request.
    pub request: MeasuredRequest,
    caches: Caches,
}

/// A call of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SideCall {
    /// Tokens of the request, including system prompt and tools.
    pub tokens: f64,
    /// The part of `tokens` that was read from the cache.
    pub cached: f64,
    /// Cost in uncached input tokens, including a compaction before it, excluding a fault.
    pub cost: f64,
    /// The part of `cost` caused by the host's compaction before it; 0 if there was none.
    pub compaction: f64,
    /// What was missing, if anything.
    pub fault: Option<FaultyCall>,
}

impl MeasuredSide {
    /// A side before its first call. `fixed_units`: size of system prompt and tools.
    pub fn new(terms: &Terms, fixed_units: u64) -> Self {
        let request = MeasuredRequest::new(terms.counter, &terms.needs);
        Self { fixed_units, request, caches: Caches::default() }
    }

    /// Sends the next request and bills it.
    pub fn call(
        &mut self,
        terms: &Terms,
        changes: Vec<PartChange>,
        moment: Moment<'_>,
    ) -> SideCall {
        let shared = self.request.apply(changes);
        let charge = terms.prices.charge(&Input {
            fixed: self.fixed_units,
            messages: self.request.units(),
            cached: self.send(&terms.prices, shared, moment),
        });
        let (tokens, cached) =
            (terms.tokens(charge.cached + charge.written), terms.tokens(charge.cached));
        let (read, write) = terms.prices.at(terms.counter.tokens(charge.cached + charge.written));
        let size = |at: usize| terms.tokens(terms.given[at].message.units);
        SideCall {
            tokens,
            cached,
            cost: cached * read + (tokens - cached) * write + moment.compaction_cost,
            compaction: moment.compaction_cost,
            fault: fault(&terms.needs, moment.needs, &self.request, (read, write), tokens, &size),
        }
    }

    /// Sends the request; returns the units of its messages that a cache held, if one was alive.
    /// `shared`: its common prefix with the previous one, to the character.
    fn send(&mut self, prices: &Prices, shared: Shared, moment: Moment<'_>) -> Option<u64> {
        if let Some(time) = moment.answered {
            self.caches.touched(time);
        }
        let key = CacheKey { model: None, prompt: None };
        let now = CallTime { time: moment.now, lifetime_seconds: prices.lifetime_seconds };
        let held = self.caches.held(key, now, prices.reuse, &self.request.prefixes);
        self.caches.sent(key, now, &self.request.prefixes);
        let reusable = prices.reusable(shared.units, shared.grown);
        // Other requests are compared message by message, the previous one to the character, which
        // may reach further.
        held.map(|count| self.request.units_of(count).max(reusable))
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
impl Terms {
    /// Converts units to tokens, not rounded.
    pub fn tokens(&self, units: u64) -> f64 {
        units as f64 / self.per_token()
    }

    fn per_token(&self) -> f64 {
        self.counter.units_per_token() as f64
    }
}
