//! The ledger of a session at work: what it takes from the call, the view and the host's reports. Works out no cost itself.

use serde_json::Value;

use super::record::read_events;
use super::{CallInfo, LiveSession};
use crate::context::host::HostMessage;
use crate::context::ledger::{self, Coming, Sending, Shape};
use crate::context::prices::prices_of;
use crate::context::statement::{self, Statement};
use crate::context::tokens::Counter;
use crate::context::view::Edit;
use crate::error::{Error, Result};
use crate::object::{AsOf, Hash, ObjectId, ObjectType};
use crate::session::{
    CallNote, ChatMessage, Event, PriceNote, Reported, Rewrite, SlotEdit, SlotRecord,
};
use crate::store::Store;

/// Factors are recorded to a ten-thousandth.
const FACTOR_STEPS: f64 = 10_000.0;

/// The request that goes out, beside the one before.
pub(super) struct Going<'a> {
    /// How its slots differ from those recorded last.
    pub(super) edits: &'a [SlotEdit],
    /// Whether an epoch begins with it.
    pub(super) began: bool,
    /// As [`LiveSession::changed_since_last`] says.
    pub(super) changed: Option<usize>,
    /// As [`LiveSession::resumed_slots`] says.
    pub(super) resumed: Option<u64>,
}

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

    /// How many slots at the front of the first request since the session was read from the store are those of the request
    /// before; `None` for later ones. The edits do not tell: records name messages of the chat by their place, and another
    /// branch may have put others there.
    pub(super) fn resumed_slots(&self, edits: &[Edit]) -> Option<u64> {
        let slots = edits.iter().flat_map(|edit| &edit.insert).map(|slot| &slot.record);
        let before = self.recorded.iter().zip(&self.recorded_marks);
        let same = slots
            .zip(before)
            .take_while(|(slot, (before, mark))| slot == before && self.mark(slot) == **mark);
        self.view.slots().is_empty().then(|| same.count() as u64)
    }

    /// What tells the message of a slot from others at the same place of the chat: its hash, or where it is shown otherwise
    /// its identity.
    pub(super) fn mark(&self, slot: &SlotRecord) -> Option<Hash> {
        let SlotRecord::Chat { chat, content, .. } = slot else { return None };
        let message = self.state.chat().get(*chat)?;
        match content {
            None => Some(message.digest.clone()),
            Some(_) => Some(Hash::of(format!("{:?}", message.key))),
        }
    }

    /// What the record of the call whose request the view holds now says of its bill.
    pub(super) fn bill_note(&self, coming: &Coming, going: &Going<'_>) -> CallNote {
        let Going { edits, began, changed, resumed } = *going;
        let slots = self.view.slots();
        let last = self.state.bill().last();
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
        let new = self.state.chat().window().len().saturating_sub(before);
        let kept = began.then(|| tokens_of(slots.len().saturating_sub(new)));
        let shape = Shape { messages: self.view.tokens(), shared, grown };
        let sending = Sending { shape, kept };
        ledger::note(&self.state, coming, &sending, changed)
    }

    /// The ledger as of now, with what waits to be stored.
    pub fn statement(&mut self) -> Result<Statement> {
        self.refresh_if_stale()?;
        let at = self.stored.session.map_or(AsOf::Latest, AsOf::Tx);
        let stored = read_events(&self.store, &self.ids.session, at)?;
        Ok(statement::statement(stored.iter().chain(&self.staged.events)))
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

/// The ledger of a session of a store.
///
/// # Errors
/// `NOT_FOUND` if there is no such session.
pub fn statement(store: &Store, session: &ObjectId) -> Result<Statement> {
    let document = store.get(session, AsOf::Latest)?;
    if document.is_none_or(|document| document.envelope.kind != ObjectType::Session) {
        return Err(Error::NotFound { id: session.clone(), at: "as a session".to_owned() });
    }
    Ok(statement::statement(&read_events(store, session, AsOf::Latest)?))
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
