//! The ledger of a session at work: what it takes from the call, the view and the host's reports. Works out no cost itself.

use serde_json::Value;

use super::{CallInfo, LiveSession};
use crate::context::host::HostMessage;
use crate::context::ledger::{self, Coming, Sending, Shape};
use crate::context::prices::prices_of;
use crate::context::tokens::Counter;
use crate::error::Result;
use crate::object::Hash;
use crate::session::{CallNote, ChatMessage, Event, PriceNote, Reported, Rewrite, SlotEdit};

/// Factors are recorded to a ten-thousandth.
const FACTOR_STEPS: f64 = 10_000.0;

impl LiveSession {
    /// What is known of the coming call before it is decided what goes out; the state holds its new messages.
    ///
    /// `prompt`: `content_hash` of its system prompt and tools.
    pub(super) fn coming(&self, call: &CallInfo, prompt: Option<&Hash>) -> Coming {
        let model = call.model.as_deref();
        let data = call.model_data.as_ref();
        let (name, prices) = prices_of(&self.settings.prices, model.unwrap_or_default(), data);
        let bill = self.state.bill();
        let last = bill.last();
        let as_before = last.filter(|last| last.prompt.as_ref() == prompt);
        let fixed = call.fixed_tokens.or_else(|| as_before.map(|last| last.bill.fixed));
        let overhead = call.overhead_tokens.or_else(|| last.map(|last| last.bill.overhead));
        Coming {
            warm: ledger::is_warm(&self.state, &prices, model, prompt),
            factor: (bill.factor(model) * FACTOR_STEPS).round() / FACTOR_STEPS,
            fixed: fixed.unwrap_or_else(|| fixed_tokens(call, self.options.counter)),
            overhead: overhead.unwrap_or(0),
            window: call.context_window,
            prices: PriceNote { name, prices, usd_per_million: usd_per_million(call) },
        }
    }

    /// Index of the first message of the host's list that is not as at the call before.
    pub(super) fn changed_since_last(
        &self,
        skip: usize,
        crossed: &[HostMessage],
        rewrite: Option<(Rewrite, usize)>,
    ) -> Option<usize> {
        let window = self.state.chat().window();
        let known = self.state.bill().last().map_or(0, |last| index_of(last.host_messages));
        // What changes on every call counts as unchanged elsewhere, but no cache holds it.
        let changes = |index: &usize| {
            let message = window.get(*index).and_then(|at| self.state.chat().get(*at));
            message.is_some_and(ChatMessage::is_volatile)
        };
        let volatile = (skip..known.min(skip + crossed.len())).find(changes);
        let rewritten = rewrite.map(|(_, index)| index);
        rewritten.into_iter().chain(volatile).min()
    }

    /// What the record of the call whose request the view holds now says of its bill.
    ///
    /// `edits`: against the request before. `began`: whether an epoch begins with it. `changed`: as
    /// [`Self::changed_since_last`] says.
    pub(super) fn bill_note(
        &self,
        coming: &Coming,
        edits: &[SlotEdit],
        began: bool,
        changed: Option<usize>,
    ) -> CallNote {
        let slots = self.view.slots();
        let last = self.state.bill().last();
        let known = last.map_or(0, |last| last.bill.slots);
        let grown = edits.iter().all(|edit| edit.at >= known && edit.remove == 0);
        let tokens_of = |count: usize| slots.iter().take(count).map(|slot| slot.tokens).sum();
        let first = edits.iter().map(|edit| edit.at).min().unwrap_or(known);
        let shared = match last {
            Some(last) if grown => last.bill.ours.messages,
            _ => tokens_of(index_of(first.min(known))),
        };
        // The newest messages are never folded, so each has its slot.
        let before = last.map_or(0, |last| index_of(last.host_messages));
        let new = self.state.chat().window().len().saturating_sub(before);
        let kept = began.then(|| tokens_of(slots.len().saturating_sub(new)));
        let shape = Shape { messages: self.view.tokens(), shared, grown };
        let sending = Sending { shape, kept };
        ledger::note(&self.state, coming, &sending, changed)
    }

    /// Takes what a provider said that a request used; it is stored with what is stored next. A report of nothing, and one
    /// that is known by its ID, is not taken. Without a call it is of the newest; call 0 is none of ours.
    pub fn usage_reported(&mut self, reported: Reported) -> Result<()> {
        self.refresh_if_stale()?;
        let call = reported.call.unwrap_or_else(|| self.state.calls());
        let reported = Reported { call: Some(call).filter(|call| *call > 0), ..reported };
        let bill = self.state.bill();
        let is_known = reported.id.as_deref().is_some_and(|id| bill.knows_report(id));
        if reported.total() == 0 || is_known {
            return Ok(());
        }
        self.record(Event::Reported(reported));
        Ok(())
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

/// Host's prices are for a million tokens where they are in dollars at all.
fn usd_per_million(call: &CallInfo) -> Option<f64> {
    let input = call.model_data.as_ref()?.rates.input;
    (input > 0.0).then_some(input)
}
