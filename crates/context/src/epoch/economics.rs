//! What collapsing saves and costs: rents, the price of a fault, the best batch, the bound on the
//! bill. Pure numbers; knows no session.
//!
//! All costs are in uncached input tokens. An item's _rent_ is what its absence saves per call.

use crate::additions;
use config::{Settings, as_f64};
use session::Bill;

/// Tokens of the call that brings missing content back, with its answer.
const FAULT_TOKENS: f64 = 60.0;
/// Most tokens that a fault is assumed to show again.
const SHOWN_AGAIN_TOKENS: u64 = 2_000;
/// Price of a token shown again, relative to a token that stays.
const SHOWN_AGAIN_WEIGHT: f64 = 10.0;
/// Calls over which a collapse on a cold cache is assumed to save: about the length of an epoch.
const COLD_CALLS: f64 = 10.0;

/// Prices and assumptions of the decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reckoning {
    /// Price of a token read from the cache.
    pub(super) read: f64,
    /// Price of any other token.
    pub(super) write: f64,
    /// Tokens of the request that stay in any case. A fault sends at least these once more.
    pub(super) staying: u64,
}

/// Something that could leave the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Item<T> {
    /// What it is.
    pub(super) what: T,
    /// Window index of the first message that would change.
    pub(super) index: usize,
    /// Net tokens freed.
    pub(super) gain: u64,
    /// Saving per call, minus the expected cost of faults; 0 until an epoch of some kind asks for it.
    pub(super) rent: f64,
    /// Number of calls in which it could already have been gone.
    pub(super) calls: u32,
}

impl<T> Item<T> {
    /// What keeping it has cost so far.
    pub(super) fn unspent(&self) -> f64 {
        self.rent * f64::from(self.calls)
    }
}

impl Reckoning {
    /// Price of a fault on an item of this many tokens.
    pub(super) fn fault(&self, tokens: u64) -> f64 {
        self.read * as_f64(self.staying) + self.write * again(tokens)
    }

    /// The price of a fault on an item of this many tokens, in tokens that stay for one call:
    /// about that of any price table, so that it changes when content leaves but not which
    /// (docs/policy.md).
    pub(super) fn fault_tokens(&self, tokens: u64) -> f64 {
        as_f64(self.staying) + SHOWN_AGAIN_WEIGHT * again(tokens)
    }

    /// Average saving per call without these tokens, minus weighted faults. 0 or less if it does
    /// not pay.
    ///
    /// `risk`: the chance of a fault per call, times its weight in tokens that stay for one call.
    pub(super) fn rent(&self, gain: u64, risk: f64) -> f64 {
        self.read * (as_f64(gain) - risk)
    }

    /// [`Self::rent`] of an output if the request must be written again anyway: it then also saves
    /// its own write, spread over [`COLD_CALLS`].
    pub(super) fn cold_rent(&self, gain: u64, risk: f64) -> f64 {
        self.rent(gain, risk) + self.write / COLD_CALLS * as_f64(gain)
    }

    /// The same for a step, of which a fault weighs more in the same measure. A model may not
    /// notice that its own words are gone, so a cold cache does not change which steps leave.
    pub(super) fn cold_step_rent(&self, gain: u64, risk: f64) -> f64 {
        (self.read + self.write / COLD_CALLS) * (as_f64(gain) - risk)
    }
}

/// Tokens of a call that brings content back, including the content.
fn again(tokens: u64) -> f64 {
    FAULT_TOKENS + as_f64(tokens.min(SHOWN_AGAIN_TOKENS))
}

/// Finds the suffix of the window whose items have cost most beyond its rewrite, as a number of
/// items. Items are sorted from the end of the window; those of one message go together, because
/// the rewrite starts at that message in either case.
///
/// `rewrite`: cost of rewriting from a window index if this many tokens leave. `None` if no suffix
/// pays.
pub(super) fn batch<T>(items: &[Item<T>], rewrite: &dyn Fn(usize, u64) -> f64) -> Option<usize> {
    let (mut unspent, mut gain) = (0.0, 0);
    let mut best: Option<(usize, f64)> = None;
    for (place, item) in items.iter().enumerate() {
        unspent += item.unspent();
        gain += item.gain;
        if items.get(place + 1).is_some_and(|next| next.index == item.index) {
            continue;
        }
        let surplus = unspent - rewrite(item.index, gain);
        if surplus >= 0.0 && best.is_none_or(|(_, most)| surplus >= most) {
            best = Some((place + 1, surplus));
        }
    }
    best.map(|(count, _)| count)
}

/// How far an epoch may bring our bill above the plain one, as a share of it, unless the settings
/// allow a larger share. In a short session, the free tokens and the overhead alone are more.
const EPOCH_SHARE: f64 = 0.11;

/// The running account that decides what we can afford: our bill must stay within
/// `(1 + share) * plain + free + overhead`, after an epoch also within `(1 + EPOCH_SHARE) * plain`.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Our cumulative bill.
    pub ours: f64,
    /// The plain host's cumulative bill.
    pub plain: f64,
    /// The part of our bill caused by our tools and guidance, and by notes within their own limit.
    pub overhead: f64,
    /// How far our bill may exceed the plain one, as a share of the plain one.
    pub share: f64,
    /// How far our bill may exceed the plain one on top of that, in uncached input tokens.
    pub free: f64,
}

impl Bound {
    /// The account of a ledger, bounded as the settings say.
    pub fn of(bill: &Bill, settings: &Settings) -> Self {
        Self {
            ours: bill.ours(),
            plain: bill.plain(),
            overhead: bill.overhead + additions::borne(bill),
            share: settings.extra_share,
            free: as_f64(settings.extra_tokens),
        }
    }

    /// Whether we may spend this much before it has saved anything.
    pub fn affords(&self, cost: f64) -> bool {
        self.ours + cost <= (1.0 + self.share) * self.plain + self.free + self.overhead
    }

    /// Whether an epoch may spend this much before it has saved anything.
    pub(super) fn affords_epoch(&self, cost: f64) -> bool {
        let most = (1.0 + self.share.max(EPOCH_SHARE)) * self.plain;
        self.ours + cost <= most && self.affords(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECKONING: Reckoning = Reckoning { read: 0.1, write: 1.25, staying: 10_000 };

    fn item(index: usize, gain: u64, calls: u32) -> Item<()> {
        Item { what: (), index, gain, rent: 0.1 * f64::from(u32::try_from(gain).unwrap()), calls }
    }

    #[test]
    fn what_is_never_needed_pays_its_whole_rent() {
        assert!((RECKONING.rent(1_000, 0.0) - 100.0).abs() < 1e-9);
        assert!((RECKONING.rent(1_000, 400.0) - 60.0).abs() < 1e-9);
        assert!(RECKONING.rent(1_000, 1_001.0) < 0.0);
    }

    #[test]
    fn a_fault_costs_what_stays_and_what_is_shown_again() {
        assert!((RECKONING.fault(1_000) - (1_000.0 + 1.25 * 1_060.0)).abs() < 1e-9);
        assert!((RECKONING.fault_tokens(1_000) - (10_000.0 + 10.0 * 1_060.0)).abs() < 1e-9);
    }

    #[test]
    fn a_cold_cache_makes_outputs_leave_sooner_but_not_steps() {
        assert!(RECKONING.rent(500, 700.0) < 0.0 && RECKONING.cold_rent(500, 700.0) > 0.0);
        assert!(RECKONING.cold_step_rent(500, 700.0) < 0.0);
        assert!(RECKONING.cold_step_rent(500, 300.0) > RECKONING.rent(500, 300.0));
    }

    #[test]
    fn a_batch_waits_until_its_rent_has_paid_for_the_rewrite() {
        let rewrite = |_: usize, gain: u64| 1.15 * f64::from(u32::try_from(10_000 - gain).unwrap());
        assert_eq!(batch(&[item(3, 1_000, 50)], &rewrite), None);
        assert_eq!(batch(&[item(3, 1_000, 110)], &rewrite), Some(1));
        assert_eq!(batch::<()>(&[], &rewrite), None);
    }

    #[test]
    fn a_batch_begins_where_it_pays_most() {
        // Any prefix can be kept: rewriting from index 9 costs little, from index 1 much.
        let rewrite = |index: usize, _: u64| if index >= 9 { 100.0 } else { 5_000.0 };
        let items = [item(9, 1_000, 10), item(1, 1_000, 10)];
        assert_eq!(batch(&items, &rewrite), Some(1));
    }

    #[test]
    fn items_of_one_message_go_together() {
        let items = [item(4, 10, 1), item(4, 1_000, 100)];
        assert_eq!(batch(&items, &|_, _| 50.0), Some(2));
    }

    #[test]
    fn the_bound_affords_what_was_saved_and_what_is_allowed() {
        let bound = Bound { ours: 900.0, plain: 1_000.0, overhead: 10.0, share: 0.01, free: 20.0 };
        assert!(bound.affords(140.0));
        assert!(!bound.affords(140.1));
        let short = Bound { free: 500.0, ..bound };
        assert!(short.affords(210.1));
        assert!(short.affords_epoch(210.0));
        assert!(!short.affords_epoch(210.1));
        let wide = Bound { share: 0.2, ..short };
        assert!(wide.affords_epoch(300.0));
        assert!(!wide.affords_epoch(300.1));
    }
}
