//! The bill of one call: what its record says of it, and what that comes to, for us and for the plain host. Pure.
//!
//! A record holds what cannot be known from the calls before; the rest follows. Must not decide anything. Source: DESIGN.md
//! section 13, *Measuring in replay*.

use super::call_note::{CallNote, PlainCompaction, PriceNote};
use super::prices::{Charge, Input, scaled};
use super::record::CallRecord;
use crate::settings::Prices;

/// Tokens of the summary that takes the place of what the plain host compacts away.
pub const SUMMARY_TOKENS: u64 = 2_000;
/// What making it costs, besides reading what it sums up.
pub const SUMMARY_COST: f64 = 7_500.0;

/// The bill of a call. Tokens by the provider's count where not said otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct CallBill {
    /// Tokens of system prompt and tools, as counted here.
    pub fixed: u64,
    /// How many of these are ours, as counted here.
    pub overhead: u64,
    /// Whether the cache of the request before still lived.
    pub warm: bool,
    /// Tokens as the provider counts them for one counted here.
    pub factor: f64,
    /// Our request.
    pub ours: Side,
    /// The plain host's.
    pub plain: Side,
    /// What `overhead` cost; part of `ours`.
    pub overhead_cost: f64,
    /// Price of a token that stands in the request for one call more.
    pub carry: f64,
    /// Slots of our request.
    pub slots: u64,
    /// Tokens that the epoch that began with this call freed.
    pub freed: u64,
    /// What that epoch cost: tokens written anew that a request which only grew would have read from the cache.
    pub rewrite_cost: f64,
}

/// One side of a call's bill. Tokens by the provider's count, save for `messages`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Side {
    /// Tokens of the messages, as counted here.
    pub messages: u64,
    /// Tokens read from the cache.
    pub cached: u64,
    /// All others, system prompt and tools included.
    pub written: u64,
    /// Cost.
    pub cost: f64,
}

impl Side {
    /// Tokens of the request.
    pub fn total(&self) -> u64 {
        self.cached + self.written
    }
}

/// What the two sides of a call have in common.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Prices.
    pub prices: &'a Prices,
    /// Whether the cache of the request before still lives.
    pub warm: bool,
    /// Tokens as the provider counts them for one counted here.
    pub factor: f64,
}

impl Terms<'_> {
    /// Bills a request: `fixed` tokens of system prompt and tools, messages, and how many of these are shared with the
    /// request before; `None` for all `before` of them.
    pub fn side(&self, fixed: u64, messages: u64, shared: Option<u64>, before: u64) -> Side {
        let grown = shared.is_none();
        let shared = shared.unwrap_or(before).min(messages);
        let input = Input { fixed, messages, shared, grown, warm: self.warm };
        let Charge { cached, written, cost } = self.prices.charge_counted(&input, self.factor);
        Side { messages, cached, written, cost }
    }

    /// Bills the plain host's request. `window`: tokens of its list before it compacts anything. `standing`: its compaction
    /// so far; `compacted`: the one for this call.
    pub fn plain(
        &self,
        fixed: u64,
        window: u64,
        standing: Option<PlainCompaction>,
        call: (Option<u64>, Option<PlainCompaction>),
        before: u64,
    ) -> Side {
        let messages = plain_tokens(window, standing);
        let (shared, Some(new)) = call else { return self.side(fixed, messages, call.0, before) };
        debug_assert!(shared.is_none(), "what was compacted shares nothing");
        let left = plain_tokens(window, Some(new));
        let gone = scaled((messages + SUMMARY_TOKENS).saturating_sub(left), self.factor);
        let mut side = self.side(fixed, left, Some(0), 0);
        side.cost += as_f64(gone) + SUMMARY_COST;
        side
    }

    /// Price of a token that stands in a request of so many tokens for one call more.
    pub fn carry(&self, tokens: u64) -> f64 {
        let (read, write) = self.prices.at(tokens);
        if self.warm { read } else { write }
    }
}

/// Tokens of the plain host's messages under a compaction.
pub fn plain_tokens(window: u64, compaction: Option<PlainCompaction>) -> u64 {
    let left = |compaction: PlainCompaction| window.saturating_sub(compaction.dropped);
    compaction.map_or(window, |compaction| left(compaction) + SUMMARY_TOKENS)
}

impl CallBill {
    /// What a record's note comes to. `before`: the bill of the call before; `standing`: the plain host's compaction so far.
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
        let terms = Terms { prices: &prices.prices, warm: !note.cold, factor };
        let sent = record.sent_tokens;
        let ours = terms.side(fixed, sent, note.shared, known(|bill| bill.ours.messages));
        let plain_before = known(|bill| bill.plain.messages);
        let plain = if note.extra {
            Side { messages: plain_before, ..Side::default() }
        } else {
            terms.plain(
                fixed.saturating_sub(overhead),
                record.plain_tokens.saturating_sub(note.own),
                standing,
                (note.plain_shared, note.compacted),
                plain_before,
            )
        };
        let carry = terms.carry(ours.total());
        let mut bill = Self {
            fixed,
            overhead,
            warm: !note.cold,
            factor,
            ours,
            plain,
            overhead_cost: as_f64(scaled(overhead, factor)) * carry,
            carry,
            slots: slots_after(known(|bill| bill.slots), record),
            freed: 0,
            rewrite_cost: 0.0,
        };
        if let Some(kept) = note.kept {
            bill.settle_epoch(kept, note.plain_shared, &terms, before);
        }
        bill
    }

    /// Tokens of the request as counted here.
    pub fn counted(&self) -> u64 {
        self.fixed + self.ours.messages
    }

    /// What the epoch freed and cost that began with this call.
    fn settle_epoch(
        &mut self,
        kept: u64,
        plain_shared: Option<u64>,
        terms: &Terms<'_>,
        before: Option<&Self>,
    ) {
        let messages = self.ours.messages;
        if plain_shared.is_some() {
            // The host rewrote its list: what is less than the plain host's is this epoch's doing.
            self.freed = scaled(self.plain.messages.saturating_sub(messages), self.factor);
            return;
        }
        let stood = before.map_or(0, |bill| bill.ours.messages);
        self.freed = scaled(stood.saturating_sub(kept), self.factor);
        let as_grown = terms.side(self.fixed, messages, None, kept);
        self.rewrite_cost = (self.ours.cost - as_grown.cost).max(0.0);
    }
}

/// Slots of a request after the edits of its record.
fn slots_after(before: u64, record: &CallRecord) -> u64 {
    record
        .edits
        .iter()
        .fold(before, |slots, edit| slots.saturating_sub(edit.remove) + edit.insert.len() as u64)
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn as_f64(tokens: u64) -> f64 {
    tokens as f64
}
