//! What the ledger takes from a call, the request and the one before. Works out no cost itself.

use serde_json::Value;

use super::{ListTail, Request};
use crate::context::ledger::{self, Coming, Sending, Shape};
use crate::context::prices::prices_of;
use crate::context::tokens::Counter;
use crate::live::{CallInfo, OpenSession};
use crate::object::Hash;
use crate::session::{CallNote, ChatMessage, PriceNote, Rewrite, Session, SlotEdit};

/// Factors are recorded to a ten-thousandth.
const FACTOR_STEPS: f64 = 10_000.0;

/// How a request differs from the one before.
pub(in crate::live) struct Growth<'a> {
    /// How its slots differ from those recorded last.
    pub(in crate::live) edits: &'a [SlotEdit],
    /// Whether an epoch begins with it.
    pub(in crate::live) began: bool,
    /// See [`changed_since_last`].
    pub(in crate::live) changed: Option<usize>,
    /// See [`Request::resumed_slots`].
    pub(in crate::live) resumed: Option<u64>,
}

/// What is known of the coming call before it is decided what goes out; the state holds its new messages.
///
/// `prompt`: `content_hash` of its system prompt and tools.
pub(in crate::live) fn coming(
    state: &Session,
    options: &OpenSession,
    call: &CallInfo,
    prompt: Option<&Hash>,
) -> Coming {
    let model = call.model.as_deref();
    let data = call.model_data.as_ref();
    let (name, prices) = prices_of(&options.settings.prices, model.unwrap_or_default(), data);
    let bill = state.bill();
    let last = bill.last();
    let as_before = last.filter(|last| last.prompt.as_ref() == prompt);
    let fixed = call.fixed_tokens.or_else(|| as_before.map(|last| last.bill.fixed));
    let overhead = call.overhead_tokens.or_else(|| last.map(|last| last.bill.overhead));
    Coming {
        warm: ledger::is_warm(state, &prices, model, prompt),
        factor: (bill.factor(model) * FACTOR_STEPS).round() / FACTOR_STEPS,
        fixed: fixed.unwrap_or_else(|| fixed_tokens(call, options.counter)),
        overhead: overhead.unwrap_or(0),
        window: call.context_window,
        prices: PriceNote { name, prices, usd_per_million: usd_per_million(call) },
    }
}

/// Index of the first message of the host's list that is not as at the call before.
pub(in crate::live) fn changed_since_last(
    state: &Session,
    list: &ListTail<'_>,
    rewrite: Option<(Rewrite, usize)>,
) -> Option<usize> {
    let window = state.chat().window();
    let known = state.bill().last().map_or(0, |last| index_of(last.host_messages));
    // What changes on every call counts as unchanged elsewhere, but no cache holds it.
    let changes = |index: &usize| {
        let message = window.get(*index).and_then(|at| state.chat().get(*at));
        message.is_some_and(ChatMessage::is_volatile)
    };
    let volatile = (list.skip..known.min(list.skip + list.messages.len())).find(changes);
    let rewritten = rewrite.map(|(_, index)| index);
    rewritten.into_iter().chain(volatile).min()
}

impl Request {
    /// What the record of the call that the view holds now says of its bill.
    pub(in crate::live) fn bill_note(
        &self,
        state: &Session,
        coming: &Coming,
        growth: &Growth<'_>,
    ) -> CallNote {
        let Growth { edits, began, changed, resumed } = *growth;
        let slots = self.view.slots();
        let last = state.bill().last();
        let known = last.map_or(0, |last| last.bill.slots);
        let grown = match resumed {
            Some(same) => same == known,
            None => edits.iter().all(|edit| edit.at >= known && edit.remove == 0),
        };
        let tokens_of = |count: usize| slots.iter().take(count).map(|slot| slot.tokens).sum();
        let first = resumed.or_else(|| edits.iter().map(|edit| edit.at).min());
        let shared = match last {
            Some(last) if grown => last.bill.ours.messages,
            _ => tokens_of(index_of(first.unwrap_or(known).min(known))),
        };
        // The newest messages are never folded, so each has its slot.
        let before = last.map_or(0, |last| index_of(last.host_messages));
        let new = state.chat().window().len().saturating_sub(before);
        let kept = began.then(|| tokens_of(slots.len().saturating_sub(new)));
        let shape = Shape { messages: self.view.tokens(), shared, grown };
        ledger::note(state, coming, &Sending { shape, kept }, changed)
    }
}

fn index_of(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Tokens of system prompt and tool definitions.
fn fixed_tokens(call: &CallInfo, counter: Counter) -> u64 {
    let prompt = call.system_prompt.as_deref().map_or(0, |prompt| counter.units(prompt));
    let tools = match &call.tools {
        Value::Array(tools) => tools.iter().map(|tool| counter.units(&tool.to_string())).sum(),
        _ => 0,
    };
    counter.tokens(prompt + tools)
}

/// Input price in US dollars. Hosts give prices for a million tokens, if in dollars at all.
fn usd_per_million(call: &CallInfo) -> Option<f64> {
    let input = call.model_data.as_ref()?.rates.input;
    (input > 0.0).then_some(input)
}
