//! What collapsing saves and costs: rents, the price of a fault, the best batch, the bound on the
//! bill. Pure numbers; knows no session.
//!
//! All costs are in uncached input tokens. An item's _rent_ is what its absence saves per call.

use crate::additions;
use config::Settings;
use session::Bill;

/// Tokens of the call that brings missing content back, with its answer.
const FAULT_TOKENS: f64 = 60.0;
/// Most tokens that a fault is assumed to show again.
const SHOWN_AGAIN_TOKENS: u64 = 2_000;
/// Weight of a token shown again in the harm of a fault, relative to a token that stays.
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
    /// Saving per call, minus the expected cost of faults.
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
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub(super) fn fault(&self, tokens: u64) -> f64 {
        self.read * self.staying as f64 + self.write * again(tokens)
    }

    /// A fault's weight against the saving. It is counted in cache reads, as rent is, so that a
    /// price table changes when content leaves but not which content (docs/policy.md).
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    fn harm(&self, tokens: u64) -> f64 {
        self.read * (self.staying as f64 + SHOWN_AGAIN_WEIGHT * again(tokens))
    }

    /// Average saving per call from collapsing, minus weighted faults. 0 or less if it does not
    /// pay.
    ///
    /// `weight`: chance of a fault per call, times the caution.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub(super) fn rent(&self, gain: u64, tokens: u64, weight: f64) -> f64 {
        self.read * gain as f64 - weight * self.harm(tokens)
    }

    /// [`Self::rent`] if the request must be written again anyway: the item then also saves its own
    /// write, spread over [`COLD_CALLS`].
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub(super) fn cold_rent(&self, gain: u64, tokens: u64, weight: f64) -> f64 {
        self.rent(gain, tokens, weight) + self.write * gain as f64 / COLD_CALLS
    }
}

/// Tokens of a call that brings content back, including the content.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn again(tokens: u64) -> f64 {
    FAULT_TOKENS + tokens.min(SHOWN_AGAIN_TOKENS) as f64
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

/// The running account that decides whether we can afford a rewrite: our bill must stay within
/// `(1 + share) * plain + free + overhead`.
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
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn of(bill: &Bill, settings: &Settings) -> Self {
        Self {
            ours: bill.ours(),
            plain: bill.plain(),
            overhead: bill.overhead() + additions::borne(bill),
            share: settings.extra_share,
            free: settings.extra_tokens as f64,
        }
    }

    /// Whether we may spend this much before it has saved anything.
    pub fn affords(&self, cost: f64) -> bool {
        self.ours + cost <= (1.0 + self.share) * self.plain + self.free + self.overhead
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
        assert!((RECKONING.rent(1_000, 1_000, 0.0) - 100.0).abs() < 1e-9);
        let harm = 0.1 * (10_000.0 + 10.0 * 1_060.0);
        assert!((RECKONING.rent(1_000, 1_000, 0.01) - (100.0 - 0.01 * harm)).abs() < 1e-9);
        assert!((RECKONING.fault(1_000) - (1_000.0 + 1.25 * 1_060.0)).abs() < 1e-9);
        assert!(RECKONING.rent(1_000, 1_000, 0.1) < 0.0);
    }

    #[test]
    fn a_cold_cache_makes_collapsing_cheaper() {
        assert!(RECKONING.cold_rent(500, 500, 0.05) > RECKONING.rent(500, 500, 0.05));
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
    }
}
