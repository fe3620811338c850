//! Estimates, before a call goes out, what it costs us and what it would have cost the plain host. Pure.
//!
//! What does not follow from the previous calls becomes part of the call's record; `session` adds it up. Whether the cache is
//! warm is judged by the time stamps of messages, never by the clock, so that a replay gives the same result.

use super::window::Marks;
use crate::object::Hash;
use crate::session::{
    CallNote, MessageKind, PlainCompaction, PriceNote, SUMMARY_TOKENS, Session, Side, Terms,
    plain_tokens, scaled,
};
use crate::settings::Prices;

/// Pi compacts when less than this many tokens of the window would be free.
pub const RESERVED_TOKENS: u64 = 16_384;
/// Tokens that Pi keeps when it compacts.
pub const KEPT_TOKENS: u64 = 20_000;

/// Tokens of a call that brings missing content back, and of its answer.
const FAULT_TOKENS: u64 = 60;

/// What is known of a call before its messages are: its prices, its fixed part, and whether the cache is still alive.
#[derive(Debug, Clone, PartialEq)]
pub struct Coming {
    /// Prices.
    pub prices: PriceNote,
    /// Tokens of system prompt and tools, in our count.
    pub fixed: u64,
    /// The part of `fixed` that is ours.
    pub overhead: u64,
    /// Tokens of the model's window, if the host stated it.
    pub window: Option<u64>,
    /// Whether the previous request's cache is still alive.
    pub warm: bool,
    /// The provider's token count divided by ours.
    pub factor: f64,
}

/// The messages of a request, compared with the previous one. Tokens are in our count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Tokens of the messages.
    pub messages: u64,
    /// Tokens at the front of the messages that equal the previous request's.
    pub shared: u64,
    /// Whether the previous request is a prefix of this one.
    pub grown: bool,
}

/// Our request as it goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Its messages.
    pub shape: Shape,
    /// If an epoch began: tokens that the previous request's messages have now.
    pub kept: Option<u64>,
}

/// Whether the previous request's cache is still alive: model and fixed part are the same, and less time has passed than the
/// cache's lifetime. Times are those of the newest assistant message or of the newest report of cache warming, and of the newest
/// message of the coming call.
///
/// `session`: with the messages of the coming call. `prompt`: `content_hash` of its system prompt and tools.
pub fn is_warm(
    session: &Session,
    prices: &Prices,
    model: Option<&str>,
    prompt: Option<&Hash>,
) -> bool {
    let Some(last) = session.bill().last() else { return false };
    if last.model.as_deref() != model || last.prompt.as_ref() != prompt {
        return false;
    }
    let Some(lifetime) = prices.lifetime_seconds else { return true };
    let stamped = session.window().rev().filter_map(|(_, m)| Some((m, m.key.timestamp?)));
    let mut stamped = stamped.peekable();
    let Some(now) = stamped.peek().map(|(_, time)| *time) else { return true };
    let answered =
        stamped.find(|(m, _)| matches!(m.kind, MessageKind::Assistant)).map(|(_, time)| time);
    let warmed = session.bill().warmed_at().filter(|time| *time <= now);
    let Some(touched) = answered.max(warmed) else { return true };
    let lifetime_ms = i64::try_from(lifetime).unwrap_or(i64::MAX).saturating_mul(1_000);
    now.saturating_sub(touched) <= lifetime_ms
}

impl Coming {
    /// Cost of our request with these messages.
    pub fn charge(&self, session: &Session, shape: &Shape) -> Side {
        let before = session.bill().last().map_or(0, |last| last.bill.ours.messages);
        let shared = (!shape.grown).then_some(shape.shared);
        self.terms().side(self.fixed, shape.messages, shared, before)
    }

    /// Price of keeping one token for one more call in a request of this many tokens, in the provider's count.
    pub fn carry(&self, tokens: u64) -> f64 {
        self.terms().carry(tokens)
    }

    /// The marks of the model's window for the messages of this call; `None` if the window is unknown.
    ///
    /// `share`: of the window that a request may fill. `step`: tokens of the largest of the newest steps, in our count.
    pub fn marks(&self, share: f64, step: u64) -> Option<Marks> {
        Some(marks(self.window?, self.factor, share, step).without(self.fixed))
    }

    fn terms(&self) -> Terms<'_> {
        Terms { prices: &self.prices.prices, warm: self.warm, factor: self.factor }
    }

    fn plain_fixed(&self) -> u64 {
        self.fixed.saturating_sub(self.overhead)
    }
}

/// The marks of a window, in our count. `factor`: the provider's token count divided by ours; for the rest see [`Marks::of`].
pub fn marks(window: u64, factor: f64, share: f64, step: u64) -> Marks {
    let ours = |tokens: u64| scaled(tokens, 1.0 / factor);
    Marks::of(ours(window), ours(RESERVED_TOKENS), share, step)
}

/// Cost of the plain host's request: its own list, compacted as Pi does when the window is full.
///
/// `changed`: index of the first message of the host's list that differs from the previous call.
pub fn plain_charge(session: &Session, coming: &Coming, changed: Option<usize>) -> Side {
    let bill = session.bill();
    let before = bill.last().map_or(0, |last| last.bill.plain.messages);
    if session.is_extra_call() {
        return Side { messages: before, ..Side::default() };
    }
    let window = plain_window(session);
    let call = plain_call(session, coming, changed);
    coming.terms().plain(coming.plain_fixed(), window, bill.compaction(), call, before)
}

/// The tokens that the plain host's messages share with its previous request (`None`: all of that), and the compaction that it
/// makes for this call.
fn plain_call(
    session: &Session,
    coming: &Coming,
    changed: Option<usize>,
) -> (Option<u64>, Option<PlainCompaction>) {
    let compaction = session.bill().compaction();
    let messages = plain_tokens(plain_window(session), compaction);
    let limit = coming.window.and_then(|window| window.checked_sub(RESERVED_TOKENS));
    let total = scaled(coming.plain_fixed() + messages, coming.factor);
    if limit.is_some_and(|limit| total > limit)
        && !session.is_extra_call()
        && let Some(new) = compact(session, compaction)
    {
        return (None, Some(new));
    }
    let shared = changed.map(|index| {
        let from = compaction.map_or(0, |compaction| compaction.from);
        let stands = session.window().take(index).filter(|(at, _)| *at >= from);
        let standing = stands.map(|(_, message)| message.tokens).sum::<u64>();
        standing + compaction.map_or(0, |_| SUMMARY_TOKENS)
    });
    (shared, None)
}

/// What the record of a call says about its bill. `changed`: as in [`plain_charge`].
pub fn note(
    session: &Session,
    coming: &Coming,
    sending: &Sending,
    changed: Option<usize>,
) -> CallNote {
    let bill = session.bill();
    let before = bill.last().map(|last| &last.bill);
    let (plain_shared, compacted) = plain_call(session, coming, changed);
    let is_new = bill.prices() != Some(&coming.prices);
    let factor = coming.factor;
    CallNote {
        prices: is_new.then(|| coming.prices.clone()),
        fixed: Some(coming.fixed).filter(|fixed| before.map(|bill| bill.fixed) != Some(*fixed)),
        overhead: Some(coming.overhead)
            .filter(|overhead| before.map(|bill| bill.overhead) != Some(*overhead)),
        cold: !coming.warm,
        factor: Some(factor).filter(|factor| factor.to_bits() != 1.0_f64.to_bits()),
        shared: (!sending.shape.grown).then_some(sending.shape.shared),
        plain_shared,
        compacted,
        kept: sending.kept,
        extra: session.is_extra_call(),
        own: session.own_tokens(),
        faults: session.faults().things,
        fault_cost: faults_cost(session),
    }
}

/// Tokens of the plain host's uncompacted list.
fn plain_window(session: &Session) -> u64 {
    session.chat().window_tokens().saturating_sub(session.own_tokens())
}

/// Cost of the faults since the previous call: the request once more, and the content that is shown again.
fn faults_cost(session: &Session) -> f64 {
    let (faults, bill) = (session.faults(), session.bill());
    let (Some(last), Some(prices)) = (bill.last(), bill.prices()) else { return 0.0 };
    if faults.things == 0 {
        return 0.0;
    }
    let sent = last.bill.ours.total();
    let again = scaled(FAULT_TOKENS * faults.things + faults.tokens, last.bill.factor);
    prices.prices.cost(sent, 0) + prices.prices.cost(0, again)
}

/// The plain host's compaction: it keeps the newest [`KEPT_TOKENS`], and never begins with a tool result. `None` if nothing would
/// be dropped.
fn compact(session: &Session, before: Option<PlainCompaction>) -> Option<PlainCompaction> {
    let window: Vec<_> = session.window().collect();
    let mut kept = 0;
    let mut index = window.len();
    while index > 0 && kept < KEPT_TOKENS {
        index -= 1;
        kept += window[index].1.tokens;
    }
    let is_result = |index: &usize| matches!(window[*index].1.kind, MessageKind::Result(_));
    let start = (index..window.len()).find(|index| !is_result(index));
    let start = start.or_else(|| (0..index).rev().find(|index| !is_result(index)))?;
    let from = window[start].0;
    let dropped: u64 = window[..start].iter().map(|(_, message)| message.tokens).sum();
    // Dropping less than a summary takes is not worth it.
    let goes = dropped > before.map_or(0, |before| before.dropped) + SUMMARY_TOKENS;
    goes.then_some(PlainCompaction { from, dropped })
}
