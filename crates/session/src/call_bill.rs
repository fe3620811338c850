//! The bill of one call for us and for the plain host, computed from its record and the previous
//! call's bill. Pure.
//!
//! Must not decide anything.

use super::call_note::{CallNote, PlainCompaction, PriceNote};
use super::faults::{FaultKind, Faults};
use super::record::CallRecord;
use config::{Charge, Input, Prices, as_f64, scaled};

/// Tokens of the summary that replaces what the plain host compacts away.
pub const SUMMARY_TOKENS: u64 = 2_000;
/// Cost of writing that summary, without reading what it sums up.
const SUMMARY_COST: f64 = 7_500.0;

/// Cost of a compaction, in uncached input tokens: reading what goes, and writing the summary.
///
/// `dropped`: tokens of what goes.
pub fn compaction_cost(dropped: f64) -> f64 {
    dropped + SUMMARY_COST
}

/// The bill of a call. Tokens are in the provider's count unless stated otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct CallBill {
    /// Tokens of system prompt and tools, in our count.
    pub fixed: u64,
    /// The part of `fixed` that is ours, in our count.
    pub overhead: u64,
    /// Whether a cache was alive for this model, system prompt and tools.
    pub warm: bool,
    /// The provider's token count divided by ours.
    pub factor: f64,
    /// Our request.
    pub ours: Side,
    /// The plain host's request.
    pub plain: Side,
    /// Cost of `overhead`; part of `ours`.
    pub overhead_cost: f64,
    /// Tokens of our messages that are notes and help of ours, in our count.
    pub added: u64,
    /// Their cost; part of `ours`.
    pub added_cost: f64,
    /// Price of keeping one token in the request for one more call.
    pub carry: f64,
    /// Number of slots in our request.
    pub slots: u64,
    /// Whether the plain host would not have made this call. Its request is then as large as it
    /// would have been, costs nothing, and is in no sum.
    pub extra: bool,
    /// Tokens freed by the epoch that began with this call.
    pub freed: u64,
    /// Cost of that epoch: tokens written again that a growing request would have read from the
    /// cache.
    pub rewrite_cost: f64,
}

/// One side of a call's bill. Tokens are in the provider's count, except for `messages`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Side {
    /// Tokens of the messages, in our count.
    pub messages: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// All other input tokens, system prompt and tools included.
    pub written: u64,
    /// Tokens of a request that would not have been sent; the others are 0 then.
    pub unsent: u64,
    /// Cost.
    pub cost: f64,
}

impl Side {
    /// Tokens of the request.
    pub fn total(&self) -> u64 {
        self.cached + self.written + self.unsent
    }

    /// Bills it as a request of so many tokens, of which the same are read from the cache as far as
    /// there are so many. Returns how it was.
    pub(super) fn resized(&mut self, total: u64, prices: &Prices) -> Self {
        let before = *self;
        self.cached = before.cached.min(total);
        self.written = total - self.cached;
        self.cost += prices.cost(self.cached, self.written);
        self.cost -= prices.cost(before.cached, before.written);
        before
    }

    /// A request of so many tokens, of which a cache held some.
    pub(super) fn measured(messages: u64, total: u64, cached: u64, prices: &Prices) -> Self {
        let cached = cached.min(total);
        let written = total - cached;
        Self { messages, cached, written, unsent: 0, cost: prices.cost(cached, written) }
    }
}

/// What both sides of a call share.
#[derive(Debug, Clone, Copy)]
pub struct BillTerms<'a> {
    /// Prices.
    pub prices: &'a Prices,
    /// Whether a cache is alive for this model, system prompt and tools.
    pub warm: bool,
    /// The provider's token count divided by ours.
    pub factor: f64,
}

/// What is known about the front of a request's messages. Tokens are in our count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Front {
    /// Tokens equal to the previous request's; `None` if all its messages are equal.
    pub shared: Option<u64>,
    /// Tokens that a cache holds; `None` for those that can be reused from the previous request.
    pub cached: Option<u64>,
}

impl BillTerms<'_> {
    /// Bills a request with `fixed` tokens of system prompt and tools and `messages` tokens of
    /// messages. `before`: tokens of the previous request's messages.
    pub fn side(&self, fixed: u64, messages: u64, front: Front, before: u64) -> Side {
        let cached = self.warm.then(|| self.cached(front, before));
        let input = Input { fixed, messages, cached };
        let Charge { cached, written, cost } = self.prices.charge_counted(&input, self.factor);
        Side { messages, cached, written, unsent: 0, cost }
    }

    /// Message tokens that a cache holds, if one is alive.
    pub fn cached(&self, front: Front, before: u64) -> u64 {
        let Front { shared, cached } = front;
        cached.unwrap_or_else(|| self.prices.reusable(shared.unwrap_or(before), shared.is_none()))
    }

    /// Bills the plain host's request. `window`: tokens of its uncompacted list. `standing`: the
    /// compaction in effect before this call. `new`: a compaction made for this call. `before`: as
    /// in [`Self::side`].
    pub fn plain(
        &self,
        fixed: u64,
        window: u64,
        (standing, new): (Option<PlainCompaction>, Option<PlainCompaction>),
        front: Front,
        before: u64,
    ) -> Side {
        let messages = plain_tokens(window, standing);
        let Some(new) = new else { return self.side(fixed, messages, front, before) };
        let left = plain_tokens(window, Some(new));
        let gone = scaled((messages + SUMMARY_TOKENS).saturating_sub(left), self.factor);
        // The summary is new, so no cache holds anything from it on.
        let front = Front { shared: Some(0), cached: Some(0) };
        let mut side = self.side(fixed, left, front, 0);
        side.cost += compaction_cost(as_f64(gone));
        side
    }

    /// Price of keeping one token for one more call, in a request of this size.
    pub fn carry(&self, tokens: u64) -> f64 {
        let (read, write) = self.prices.at(tokens);
        if self.warm { read } else { write }
    }
}

/// Tokens of the plain host's messages after a compaction.
pub fn plain_tokens(window: u64, compaction: Option<PlainCompaction>) -> u64 {
    let left = |compaction: PlainCompaction| window.saturating_sub(compaction.dropped);
    compaction.map_or(window, |compaction| left(compaction) + SUMMARY_TOKENS)
}

impl CallBill {
    /// Computes the bill of a recorded call. `before`: the previous call's bill. `standing`: the
    /// plain host's compaction in effect.
    pub(super) fn new(
        note: &CallNote,
        record: &CallRecord,
        before: Option<&Self>,
        prices: &PriceNote,
        standing: Option<PlainCompaction>,
    ) -> Self {
        let known = |of: fn(&Self) -> u64| before.map_or(0, of);
        let fixed = note.fixed.unwrap_or_else(|| known(|bill| bill.fixed));
        let overhead = note.overhead.unwrap_or_else(|| known(|bill| bill.overhead));
        let factor = note.factor.unwrap_or(1.0);
        let terms = BillTerms { prices: &prices.prices, warm: !note.cold, factor };
        let sent = record.sent_tokens;
        let front = Front { shared: note.shared, cached: note.cached };
        let mut ours = terms.side(fixed, sent, front, known(|bill| bill.ours.messages));
        let plain_before = known(|bill| bill.plain.messages);
        let plain_terms = BillTerms { warm: !note.plain_cold.unwrap_or(note.cold), ..terms };
        let mut plain = plain_terms.plain(
            fixed.saturating_sub(overhead),
            record.plain_tokens.saturating_sub(note.own),
            (standing, note.compacted),
            Front { shared: note.plain_shared, cached: note.plain_cached },
            plain_before,
        );
        if let Some(sizes) = note.measured {
            ours = Side::measured(sent, sizes.sent, sizes.cached, &prices.prices);
            if note.compacted.is_none() {
                plain =
                    Side::measured(plain.messages, sizes.plain, sizes.plain_cached, &prices.prices);
            }
        }
        let unsent = Side { messages: plain_before, unsent: plain.total(), ..Side::default() };
        let plain = if note.extra { unsent } else { plain };
        let carry = terms.carry(ours.total());
        let stood = known(|bill| bill.added).min(note.added);
        let (_, write) = prices.prices.at(ours.total());
        let added_cost = as_f64(scaled(stood, factor)) * carry
            + as_f64(scaled(note.added - stood, factor)) * write;
        let mut bill = Self {
            fixed,
            overhead,
            warm: !note.cold,
            factor,
            ours,
            plain,
            overhead_cost: as_f64(scaled(overhead, factor)) * carry,
            added: note.added,
            added_cost,
            carry,
            slots: slots_after(known(|bill| bill.slots), record),
            extra: note.extra,
            freed: 0,
            rewrite_cost: 0.0,
        };
        bill.bill_epoch(note, &terms, before);
        bill
    }

    /// Fills in what faults cost whose answers this call carried. `alone`: whether it was made for
    /// them alone; the whole call is then what they cost, and is shared among them.
    pub(super) fn price_faults(&self, faults: &mut Faults, alone: bool, prices: &Prices) {
        let answered = faults.count() - faults.quoted.count;
        let (_, write) = prices.at(self.ours.total());
        for (kind, sum) in faults.all() {
            if kind == FaultKind::Quoted || sum.count == 0 {
                continue;
            }
            faults.of(kind).cost = if alone {
                self.ours.cost * as_f64(sum.count) / as_f64(answered)
            } else {
                as_f64(scaled(sum.tokens, self.factor)) * write
            };
        }
    }

    /// Tokens of the request in our count.
    pub fn counted(&self) -> u64 {
        self.fixed + self.ours.messages
    }

    /// Computes what the epoch that began with this call freed and cost, if one began.
    fn bill_epoch(&mut self, note: &CallNote, terms: &BillTerms<'_>, before: Option<&Self>) {
        let Some(kept) = note.kept else { return };
        let messages = self.ours.messages;
        let stood = before.map_or(0, |bill| bill.ours.messages);
        // What it kept of the previous request, where reports measured that.
        let size = note.measured.map(|sizes| {
            sizes.sent.saturating_sub(scaled(messages.saturating_sub(kept), self.factor))
        });
        // If the host rewrote its list, the epoch freed what the plain host would still send.
        self.freed = match (note.plain_shared, size) {
            (Some(_), Some(_)) => {
                let overhead = scaled(self.overhead, self.factor);
                (self.plain.total() + overhead).saturating_sub(self.ours.total())
            }
            (None, Some(size)) => before.map_or(0, |bill| bill.ours.total()).saturating_sub(size),
            (Some(_), None) => scaled(self.plain.messages.saturating_sub(messages), self.factor),
            (None, None) => scaled(stood.saturating_sub(kept), self.factor),
        };
        let held = note.kept_cached.or_else(|| note.plain_shared.is_none().then_some(kept));
        let Some(held) = held else { return };
        // The same request as if its cached front had survived: the difference is what the rewrite
        // cost.
        let without = if let Some(size) = size {
            let cached =
                note.kept_cached.map_or(size, |held| scaled(self.fixed + held, self.factor));
            Side::measured(messages, self.ours.total(), cached, terms.prices)
        } else {
            let front = Front { shared: None, cached: Some(held) };
            terms.side(self.fixed, messages, front, 0)
        };
        self.rewrite_cost = (self.ours.cost - without.cost).max(0.0);
    }
}

/// Number of slots after the edits of a record.
fn slots_after(before: u64, record: &CallRecord) -> u64 {
    record
        .edits
        .iter()
        .fold(before, |slots, edit| slots.saturating_sub(edit.remove) + edit.insert.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::object::{Hash, Timestamp};

    /// Tokens that both sides read from the cache in a request of 1,000 tokens, 1,100 of the plain
    /// host's, behind 100 of system prompt and tools. `note`: the record's, as JSON.
    fn cached(prices: &str, note: &str) -> (u64, u64) {
        let note: CallNote = serde_json::from_str(note).unwrap();
        let record = CallRecord {
            number: 2,
            retry_of: None,
            model: None,
            layout: "log".into(),
            epoch: 0,
            system_prompt: None,
            edits: Vec::new(),
            hash: Hash::of(""),
            sent_tokens: 1_000,
            plain_tokens: 1_100,
            context_window: None,
            bill: CallNote::default(),
            time: Timestamp(0),
        };
        let prices = Prices::preset(prices).unwrap();
        let prices = PriceNote { name: String::new(), prices, usd_per_million: None };
        let first = CallNote { fixed: Some(100), cold: true, ..CallNote::default() };
        let shorter = CallRecord { sent_tokens: 800, plain_tokens: 900, ..record.clone() };
        let before = CallBill::new(&first, &shorter, None, &prices, None);
        let bill = CallBill::new(&note, &record, Some(&before), &prices, None);
        (bill.ours.cached, bill.plain.cached)
    }

    #[test]
    fn a_record_without_a_cache_counts_the_previous_request() {
        for prices in ["anthropic", "openai"] {
            assert_eq!(cached(prices, "{}"), (900, 1_000), "{prices}: both grew");
            assert_eq!(cached(prices, r#"{"cold":true}"#), (0, 0), "{prices}");
        }
        let changed = r#"{"shared":600,"plain_shared":700}"#;
        assert_eq!(cached("openai", changed), (700, 800));
        assert_eq!(cached("anthropic", changed), (100, 100));
    }

    #[test]
    fn a_record_that_says_what_a_cache_held_is_believed() {
        for prices in ["anthropic", "openai"] {
            let note = r#"{"shared":600,"plain_shared":700,"cached":650,"plain_cached":750}"#;
            assert_eq!(cached(prices, note), (750, 850), "{prices}");
            let note = r#"{"cached":5000}"#;
            assert_eq!(cached(prices, note), (1_100, 1_000), "{prices}: never more than there is");
        }
    }
}
