//! One side of the comparison, ours or the plain host's: its request and its bill, call by call. Pure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::faults::{Fault, fault};
use super::needs::{Need, Needs};
use super::request::{Kinds, Part, PartChange, Request};
use crate::context::prices::{Input, Prices};
use crate::context::tokens::Counter;

/// What both sides share.
#[derive(Debug)]
pub struct Terms {
    /// Prices.
    pub prices: Prices,
    /// How tokens are counted.
    pub counter: Counter,
    /// The needs of the transcript.
    pub needs: Needs,
    /// The messages of the transcript.
    pub given: Vec<Arc<Part>>,
}

/// What stands before a call and is the same for both sides.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// Whether the cache of the call before still lives.
    pub warm: bool,
    /// What the answer needs.
    pub needs: &'a [Need],
}

/// One side.
#[derive(Debug)]
pub struct Side {
    fixed_units: u64,
    request: Request,
}

/// A call of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SideCall {
    /// Tokens of the request, system prompt and tools included.
    pub tokens: f64,
    /// Of these, read from the cache.
    pub cached: f64,
    /// What it costs without a fault, in prices of a plain input token; a compaction before it included.
    pub cost: f64,
    /// What was missing.
    pub fault: Option<Fault>,
}

impl Side {
    /// A side with so much system prompt and tools.
    pub fn new(terms: &Terms, fixed_units: u64) -> Self {
        Self { fixed_units, request: Request::new(terms.counter, &terms.needs) }
    }

    /// Units by kind of content.
    pub fn kinds(&self) -> Kinds {
        self.request.kinds()
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
            shared: shared.units,
            grown: shared.grown,
            warm: moment.warm,
        });
        let tokens = terms.tokens(charge.cached + charge.written);
        let size = |at: usize| terms.tokens(terms.given[at].message.units);
        SideCall {
            tokens,
            cached: terms.tokens(charge.cached),
            cost: charge.cost / terms.per_token(),
            fault: fault(&terms.needs, moment.needs, &self.request, &terms.prices, tokens, &size),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
impl Terms {
    /// Tokens of so many units, not rounded.
    pub fn tokens(&self, units: u64) -> f64 {
        units as f64 / self.per_token()
    }

    fn per_token(&self) -> f64 {
        self.counter.units_per_token() as f64
    }
}
