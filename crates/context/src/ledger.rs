//! Estimates, before a call goes out, what it costs us and what it would have cost the plain host.
//! Pure.
//!
//! What does not follow from earlier calls becomes part of the call's record; `session` adds it up.
//! Message time stamps decide whether a cache is alive, never the clock, so that a replay gives the
//! same result.

use super::window::{Filling, Marks};
use base::object::Hash;
use config::{Prices, Settings, scaled};
use session::{
    BillTerms, CacheKey, CallNote, CallTime, Front, HostCall, HostCalls, MeasuredSizes,
    MessageKind, PlainCompaction, Prefix, PriceNote, SUMMARY_TOKENS, SentSlots, Session, SlotEdit,
    Weighed, plain_tokens,
};

/// Pi compacts when fewer than this many tokens of the window would be free.
pub const RESERVED_TOKENS: u64 = 16_384;
/// Tokens that Pi keeps when it compacts.
pub const KEPT_TOKENS: u64 = 20_000;

/// Tokens of the call that brings missing content back, with its answer.
const FAULT_TOKENS: u64 = 60;

/// What is known about a call before its request exists: model, prices, fixed part, and whether a
/// cache is alive.
#[derive(Debug, Clone, PartialEq)]
pub struct Coming {
    /// Provider and model.
    pub model: Option<String>,
    /// `content_hash` of system prompt and tools.
    pub prompt: Option<Hash>,
    /// Tokens of the window by which content leaves, if the host asked for less than the window.
    pub squeeze_to: Option<u64>,
    /// Prices.
    pub prices: PriceNote,
    /// Tokens of system prompt and tools, in our count.
    pub fixed: u64,
    /// The part of `fixed` that is ours.
    pub overhead: u64,
    /// Tokens of the model's window, if the host stated it.
    pub window: Option<u64>,
    /// When it is made, according to the newest message.
    pub now: CallTime,
    /// Whether a cache is alive for this model, system prompt and tools.
    pub warm: bool,
    /// Whether one of the plain host's would be.
    pub plain_warm: bool,
    /// Whether the previous request's cache is alive, and no other request went out since.
    pub follows: bool,
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
#[derive(Debug, Clone, PartialEq)]
pub struct Sending {
    /// Its messages.
    pub shape: Shape,
    /// Tokens of its messages that a cache holds, if one is alive.
    pub cached: u64,
    /// If an epoch began: the present tokens of the previous request's messages, and how many of
    /// these a cache held if not all.
    pub kept: Option<(u64, Option<u64>)>,
    /// Its messages by what reports told of them; `None` if none told of this model.
    pub weighed: Option<Weighed>,
}

/// When a call with the session's messages is made, and how long its cache lives. The time is that
/// of the newest message.
pub fn call_time(session: &Session, prices: &Prices) -> CallTime {
    CallTime { time: session.newest_time(), lifetime_seconds: prices.lifetime_seconds }
}

impl Coming {
    /// Identifies its cache.
    pub fn key(&self) -> CacheKey<'_> {
        CacheKey { model: self.model.as_deref(), prompt: self.prompt.as_ref() }
    }

    /// Number of messages at the front of a request of ours that a cache holds.
    pub fn held(&self, session: &Session, request: &[Prefix]) -> usize {
        let caches = &session.requests().ours;
        let reuse = self.prices.prices.reuse;
        caches.held(self.key(), self.now, reuse, request).unwrap_or(0)
    }

    /// Number of slots at the front of our request that a cache holds. `edits`: how its slots
    /// differ from those sent last.
    pub fn held_slots(&self, session: &Session, edits: &[SlotEdit]) -> usize {
        let mut slots: SentSlots = session.requests().slots.clone();
        slots.apply(edits, session.chat());
        self.held(session, slots.prefixes())
    }

    /// How full the messages of this call may make the model's window; `None` if the window is
    /// unknown.
    pub fn marks(&self, filling: Filling) -> Option<Marks> {
        Some(self.marks_of(self.window?, filling))
    }

    /// The marks by which content leaves: those of the window, unless the host asked for less.
    pub fn pressing_marks(&self, filling: Filling) -> Option<Marks> {
        let window = self.squeeze_to.into_iter().chain(self.window).min()?;
        Some(self.marks_of(window, filling))
    }

    fn marks_of(&self, window: u64, filling: Filling) -> Marks {
        marks(window, self.factor, filling).without(self.fixed)
    }

    /// Most tokens to write before the model's first output token, in our count; `None` unless
    /// cache reads are free.
    pub fn first_token_tokens(&self, settings: &Settings) -> Option<u64> {
        let is_free = self.prices.prices.read <= 0.0;
        is_free.then(|| scaled(settings.first_token_tokens(), 1.0 / self.factor))
    }

    /// Tokens that can be reused from the previous request, if its cache is alive.
    pub fn reusable(&self, shape: &Shape) -> u64 {
        self.prices.prices.reusable(shape.shared, shape.grown)
    }

    fn terms(&self) -> BillTerms<'_> {
        BillTerms { prices: &self.prices.prices, warm: self.warm, factor: self.factor }
    }

    fn plain_fixed(&self) -> u64 {
        self.fixed.saturating_sub(self.overhead)
    }
}

/// The marks of a window, in our count. `factor`: the provider's token count divided by ours. For
/// the rest see [`Marks::of`].
pub fn marks(window: u64, factor: f64, filling: Filling) -> Marks {
    let ours = |tokens: u64| scaled(tokens, 1.0 / factor);
    Marks::of(ours(window), ours(RESERVED_TOKENS), filling)
}

/// The plain host's request, for comparison with ours.
struct PlainCall {
    front: Front,
    compacted: Option<PlainCompaction>,
}

/// What the plain host's request shares with its previous one, what a cache would hold, and the
/// compaction made for this call. `measured`: see [`measured_plain`]; `None` if no report on an
/// earlier call was believed.
fn plain_call(
    session: &Session,
    coming: &Coming,
    changed: Option<usize>,
    measured: Option<&(u64, Weighed)>,
) -> PlainCall {
    let compaction = session.plain_compaction();
    let limit = coming.window.and_then(|window| window.checked_sub(RESERVED_TOKENS));
    // A host compacts by the size that its provider reports.
    let total = if let Some((fixed, messages)) = measured {
        fixed + messages.all()
    } else {
        let messages = plain_tokens(plain_window(session), compaction);
        scaled(coming.plain_fixed() + messages, coming.factor)
    };
    if limit.is_some_and(|limit| total > limit)
        && !session.is_extra_call()
        && let Some(new) = compact(session, compaction)
    {
        return PlainCall { front: Front::default(), compacted: Some(new) };
    }
    let shared = changed.map(|index| {
        let from = compaction.map_or(0, |compaction| compaction.from);
        let stands = session.window().take(index).filter(|(at, _)| *at >= from);
        let standing = stands.map(|(_, message)| message.tokens).sum::<u64>();
        standing + compaction.map_or(0, |_| SUMMARY_TOKENS)
    });
    let is_simple = !coming.plain_warm || (coming.follows && shared.is_none());
    let cached = (!is_simple && !session.is_extra_call())
        .then(|| plain_cached(session, coming, compaction))
        .filter(|cached| *cached != by_previous(session, coming, shared));
    PlainCall { front: Front { shared, cached }, compacted: None }
}

/// Tokens of the plain host's messages that a cache would hold.
fn plain_cached(session: &Session, coming: &Coming, compaction: Option<PlainCompaction>) -> u64 {
    let requests = session.requests();
    let mut list = requests.list.clone();
    list.apply(session.chat(), compaction, session.calls() + 1);
    let reuse = coming.prices.prices.reuse;
    let held = requests.plain.held(coming.key(), coming.now, reuse, list.prefixes());
    list.tokens(session.chat(), held.unwrap_or(0))
}

/// The same if only the previous request counted. The ledger assumes this if a record says nothing.
fn by_previous(session: &Session, coming: &Coming, shared: Option<u64>) -> u64 {
    let before = session.bill().last.as_ref().map_or(0, |last| last.bill.plain.messages);
    coming.terms().cached(Front { shared, cached: None }, before)
}

/// What the record of a call says about its bill.
///
/// `changed`: index of the first message of the host's list that differs from the previous call.
pub fn note(
    session: &Session,
    coming: &Coming,
    sending: &Sending,
    changed: Option<usize>,
) -> CallNote {
    let bill = session.bill();
    let before = bill.last.as_ref().map(|last| &last.bill);
    let measured_plain = sending.weighed.as_ref().map(|_| measured_plain(session, coming));
    let PlainCall { front: plain, compacted } =
        plain_call(session, coming, changed, measured_plain.as_ref());
    let is_new = bill.prices.as_ref() != Some(&coming.prices);
    let Sending { shape, cached, kept, .. } = *sending;
    CallNote {
        prices: is_new.then(|| coming.prices.clone()),
        fixed: Some(coming.fixed).filter(|fixed| before.map(|bill| bill.fixed) != Some(*fixed)),
        overhead: Some(coming.overhead)
            .filter(|overhead| before.map(|bill| bill.overhead) != Some(*overhead)),
        cold: !coming.warm,
        plain_cold: Some(!coming.plain_warm).filter(|cold| *cold == coming.warm),
        factor: recorded_factor(coming.factor),
        measured: measured(session, coming, sending, plain, measured_plain),
        shared: (!shape.grown).then_some(shape.shared),
        plain_shared: plain.shared,
        cached: Some(cached).filter(|cached| coming.warm && *cached != coming.reusable(&shape)),
        plain_cached: plain.cached,
        compacted,
        kept: kept.map(|(kept, _)| kept),
        kept_cached: kept.and_then(|(_, cached)| cached),
        extra: session.is_extra_call(),
        own: session.own_tokens(),
        added: session.added_tokens(),
        faults: session.quoted().things,
        fault_cost: faults_cost(session),
    }
}

/// Both requests as the reports on earlier calls measure them, if one was believed.
fn measured(
    session: &Session,
    coming: &Coming,
    sending: &Sending,
    plain: Front,
    measured_plain: Option<(u64, Weighed)>,
) -> Option<MeasuredSizes> {
    let Sending { shape, weighed, .. } = sending;
    let weighed = weighed.as_ref()?;
    let known = session.measured();
    let (plain_fixed, whole) = measured_plain?;
    let before = session.bill().last.as_ref().map_or(0, |last| last.bill.plain.messages);
    let plain_held = coming.terms().cached(plain, before);
    let fixed = scaled(coming.fixed, known.front(coming.factor));
    // What stood is as large as it was.
    let last = session.bill().last.as_ref().map(|last| &last.bill);
    let stood = last.filter(|bill| shape.grown && bill.fixed == coming.fixed);
    let held = |tokens: u64| match stood {
        Some(bill) if tokens >= shape.shared => {
            bill.ours.total() + weighed.front(tokens) - weighed.front(shape.shared)
        }
        _ => fixed + weighed.front(tokens),
    };
    Some(MeasuredSizes {
        sent: held(shape.messages),
        cached: if coming.warm { held(sending.cached) } else { 0 },
        plain: plain_fixed + whole.all(),
        plain_cached: if coming.plain_warm { plain_fixed + whole.front(plain_held) } else { 0 },
    })
}

/// The plain host's request as reports on earlier calls measure it: system prompt and tools, and
/// messages.
fn measured_plain(session: &Session, coming: &Coming) -> (u64, Weighed) {
    let fixed = scaled(coming.plain_fixed(), session.measured().front(coming.factor));
    (fixed, session.weighed_plain(usize::MAX, session.plain_compaction(), coming.factor))
}

/// What the account needs to know of calls that went out with the host's own messages.
pub fn host_calls(session: &Session, coming: &Coming, calls: Vec<HostCall>) -> HostCalls {
    HostCalls {
        calls,
        model: coming.model.clone(),
        prompt: coming.prompt.clone(),
        prices: Some(&coming.prices)
            .filter(|it| session.bill().prices.as_ref() != Some(*it))
            .cloned(),
        fixed: coming.fixed,
        overhead: coming.overhead,
        factor: recorded_factor(coming.factor),
    }
}

/// A factor as records hold it: nothing if it is 1.
fn recorded_factor(factor: f64) -> Option<f64> {
    Some(factor).filter(|factor| factor.to_bits() != 1.0_f64.to_bits())
}

/// Tokens of the plain host's uncompacted list.
fn plain_window(session: &Session) -> u64 {
    session.chat().window_tokens.saturating_sub(session.own_tokens())
}

/// What is charged for quotations since the previous call: the request sent once more, and the
/// content shown again.
fn faults_cost(session: &Session) -> f64 {
    let (faults, bill) = (session.quoted(), session.bill());
    let (Some(last), Some(prices)) = (bill.last.as_ref(), bill.prices.as_ref()) else { return 0.0 };
    if faults.things == 0 {
        return 0.0;
    }
    // The repeated request is read from the cache; the content that it shows again is new.
    let sent = last.bill.ours.total();
    let again = scaled(FAULT_TOKENS * faults.things + faults.tokens, last.bill.factor);
    prices.prices.cost(sent, 0) + prices.prices.cost(0, again)
}

/// The plain host's compaction: keeps the newest [`KEPT_TOKENS`] of its own messages, those that
/// pass not among them, and never starts with a tool result. `None` if nothing would be dropped.
fn compact(session: &Session, before: Option<PlainCompaction>) -> Option<PlainCompaction> {
    let chat = session.chat();
    let own = chat.own_window.iter();
    let window: Vec<_> = own.filter_map(|at| Some((*at, chat.get(*at)?))).collect();
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
    // Dropping less than the size of a summary is not worth it.
    let goes = dropped > before.map_or(0, |before| before.dropped) + SUMMARY_TOKENS;
    goes.then_some(PlainCompaction { from, dropped })
}
