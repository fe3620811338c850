//! The ledger's sums in US dollars. Plain data.
//!
//! Other sums count uncached input tokens, whose price differs between models; here each call has
//! its own model's prices. Must not decide anything.

use serde::{Deserialize, Serialize};

use super::call_bill::{CallBill, Side};
use super::call_note::PriceNote;

/// Sums in US dollars, of input only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dollars {
    /// Calls of models with a known price. Other calls are in no sum.
    pub calls: u64,
    /// Our bill: requests, warming and faults.
    pub bill: f64,
    /// What the plain host's bill would have been.
    pub plain_bill: f64,
    /// The part of `bill` caused by our tools and guidance.
    pub overhead: f64,
    /// The part of `bill` caused by cache warming.
    pub warming: f64,
    /// What faults cost; part of `bill`.
    pub faults: f64,
    /// Cost of what providers reported for calls.
    pub reported: f64,
    /// Our estimate for the same calls.
    pub estimated: f64,
}

impl Dollars {
    pub(super) fn called(&mut self, bill: &CallBill, prices: &PriceNote) {
        let rate = rate(prices);
        self.add(&bill.ours, &bill.plain, rate);
        self.overhead += bill.overhead_cost * rate.unwrap_or_default();
    }

    /// Adds a call. `rate`: US dollars per uncached input token, if known.
    pub(super) fn add(&mut self, ours: &Side, plain: &Side, rate: Option<f64>) {
        let Some(rate) = rate else { return };
        self.calls += 1;
        self.bill += ours.cost * rate;
        self.plain_bill += plain.cost * rate;
    }

    /// Adds what is charged for quotations. `prices`: those of the call that lacked content.
    pub(super) fn charged(&mut self, cost: f64, prices: &PriceNote) {
        self.bill += cost * rate(prices).unwrap_or(0.0);
    }

    /// Adds what faults cost. `prices`: those of the call that carried the answers.
    pub(super) fn missed(&mut self, cost: f64, prices: &PriceNote) {
        self.faults += cost * rate(prices).unwrap_or(0.0);
    }

    pub(super) fn warmed(&mut self, ours: f64, plain: f64, prices: &PriceNote) {
        let rate = rate(prices).unwrap_or(0.0);
        self.bill += ours * rate;
        self.warming += ours * rate;
        self.plain_bill += plain * rate;
    }

    pub(super) fn reported(&mut self, cost: f64, estimated: f64, prices: &PriceNote) {
        let rate = rate(prices).unwrap_or(0.0);
        self.reported += cost * rate;
        self.estimated += estimated * rate;
    }
}

/// US dollars per uncached input token, if known.
pub(super) fn rate(prices: &PriceNote) -> Option<f64> {
    prices.usd_per_million.map(|usd| usd / 1_000_000.0)
}
