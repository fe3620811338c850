//! Collects what the ledger needs from a call, its request and the previous one. Computes no cost
//! itself.

use super::{ListTail, Request};
use crate::{CallInfo, OpenSession};
use base::object::Hash;
use context::ledger::{self, Coming, Sending, Shape};
use context::prices::prices_of;
use session::{
    CacheKey, CallNote, ChatMessage, LastCall, PriceNote, Rewrite, Session, SlotEdit, Weighed,
};

/// Factors are recorded in steps of a ten-thousandth.
const FACTOR_STEPS: f64 = 10_000.0;

/// How a request differs from the previous one.
pub(crate) struct Growth<'a> {
    /// How its slots differ from those recorded last.
    pub(crate) edits: &'a [SlotEdit],
    /// Whether an epoch begins with it.
    pub(crate) began: bool,
    /// See [`changed_since_last`].
    pub(crate) changed: Option<usize>,
    /// See [`Request::resumed_slots`].
    pub(crate) resumed: Option<u64>,
    /// Index in the host's list of the first message that no cache holds in its present place.
    pub(crate) cold_from: usize,
}

/// What is known of the coming call before its request is decided; the state already holds its new
/// messages.
///
/// `prompt`: `content_hash` of its system prompt and tools.
pub(crate) fn coming(
    state: &Session,
    options: &OpenSession,
    call: &CallInfo,
    prompt: Option<&Hash>,
) -> Coming {
    let model = call.model.as_deref();
    let data = call.model_data.as_ref();
    let (name, prices) = prices_of(&options.settings.prices, model.unwrap_or_default(), data);
    let bill = state.bill();
    let last = bill.last.as_ref();
    let as_before = last.filter(|last| last.prompt.as_ref() == prompt);
    let fixed = call.fixed_tokens.or_else(|| as_before.map(|last| last.bill.fixed));
    let overhead = call.overhead_tokens.or_else(|| last.map(|last| last.bill.overhead));
    let now = ledger::call_time(state, &prices);
    let warm = state.requests().ours.is_alive(CacheKey { model, prompt }, now);
    let is_last =
        |last: &LastCall| last.model.as_deref() == model && last.prompt.as_ref() == prompt;
    Coming {
        model: call.model.clone(),
        prompt: prompt.cloned(),
        now,
        warm,
        plain_warm: state.requests().plain.is_alive(CacheKey { model, prompt }, now),
        follows: warm && state.requests().is_newest_recorded() && last.is_some_and(is_last),
        factor: (bill.factor(model) * FACTOR_STEPS).round() / FACTOR_STEPS,
        fixed: fixed.unwrap_or_else(|| {
            options.counter.of_prompt(call.system_prompt.as_deref(), &call.tools)
        }),
        overhead: overhead.unwrap_or(0),
        window: call.context_window,
        squeeze_to: call.squeeze_to,
        prices: PriceNote { name, prices, usd_per_million: usd_per_million(call) },
    }
}

/// Index of the first message of the host's list that differs from the previous call.
pub(crate) fn changed_since_last(
    state: &Session,
    list: &ListTail<'_>,
    rewrite: Option<(Rewrite, usize)>,
) -> Option<usize> {
    let window = &state.chat().window;
    let known = state.bill().last.as_ref().map_or(0, |last| index_of(last.host_messages));
    // Messages that change on every call count as unchanged elsewhere, but no cache holds them.
    let changes = |index: &usize| {
        let message = window.get(*index).and_then(|at| state.chat().get(*at));
        message.is_some_and(ChatMessage::is_volatile)
    };
    let volatile = (list.skip..known.min(list.skip + list.messages.len())).find(changes);
    let rewritten = rewrite.map(|(_, index)| index);
    rewritten.into_iter().chain(volatile).min()
}

impl Request {
    /// What the record of the call says about its bill; the view holds that call now.
    pub(crate) fn bill_note(
        &self,
        state: &Session,
        coming: &Coming,
        growth: &Growth<'_>,
    ) -> CallNote {
        let shape = self.shape(state, growth);
        let cached = if coming.follows && shape.grown {
            coming.reusable(&shape)
        } else if coming.warm {
            self.tokens_of(coming.held_slots(state, growth.edits))
        } else {
            0
        };
        let kept = growth.began.then(|| self.kept(state, coming, growth.cold_from));
        let is_known = state.measured().knows(coming.model.as_deref());
        let weighed = is_known.then(|| self.weighed(state, coming.factor));
        ledger::note(state, coming, &Sending { shape, cached, kept, weighed }, growth.changed)
    }

    /// Our messages by what reports told of them. `otherwise`: the ratio of the others.
    fn weighed(&self, state: &Session, otherwise: f64) -> Weighed {
        let window = &state.chat().window;
        let ratio = |host: Option<usize>| {
            let at = host.and_then(|index| window.get(index));
            at.map_or(otherwise, |at| state.measured().ratio(*at, otherwise))
        };
        Weighed(self.view.slots.iter().map(|slot| (slot.tokens, ratio(slot.host))).collect())
    }

    /// The messages, compared with the previous request's.
    fn shape(&self, state: &Session, growth: &Growth<'_>) -> Shape {
        let Growth { edits, resumed, .. } = *growth;
        let last = state.bill().last.as_ref();
        let known = last.map_or(0, |last| last.bill.slots);
        let grown = match resumed {
            Some(same) => same == known,
            None => edits.iter().all(|edit| edit.at >= known && edit.remove == 0),
        };
        let first = resumed.or_else(|| edits.iter().map(|edit| edit.at).min());
        let shared = match last {
            Some(last) if grown => last.bill.ours.messages,
            _ => self.tokens_of(index_of(first.unwrap_or(known).min(known))),
        };
        Shape { messages: self.view.tokens, shared, grown }
    }

    /// What an epoch keeps of the previous request, see [`Sending::kept`].
    fn kept(&self, state: &Session, coming: &Coming, cold_from: usize) -> (u64, Option<u64>) {
        let slots = &self.view.slots;
        // The newest messages are never folded, so each has its slot.
        let before = state.bill().last.as_ref().map_or(0, |last| index_of(last.host_messages));
        let new = state.chat().window.len().saturating_sub(before);
        let held = slots.iter().filter(|slot| slot.host.is_some_and(|index| index < cold_from));
        let in_part = coming.warm && !(coming.follows && cold_from >= before);
        let kept = self.tokens_of(slots.len().saturating_sub(new));
        (kept, in_part.then(|| held.map(|slot| slot.tokens).sum()))
    }

    /// Tokens of the first `count` slots.
    fn tokens_of(&self, count: usize) -> u64 {
        self.view.slots.iter().take(count).map(|slot| slot.tokens).sum()
    }
}

fn index_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Input price in US dollars. Hosts give prices for a million tokens, if in dollars at all.
fn usd_per_million(call: &CallInfo) -> Option<f64> {
    let input = call.model_data.as_ref()?.rates.input;
    (input > 0.0).then_some(input)
}
