//! What a recorded call was made of: messages, system prompt and tools, how each message was shown
//! and since when, the provider's request.
//!
//! Reads only the store, so it gives the same result after a restart and in another store. Must not
//! decide anything.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::call::{CallPlace, render};
use super::find::{Finder, FoundCall};
use super::messages::ChatMessages;
use super::slots::{apply_edits, slots_of};
use super::timeline::{Counting, TimelineKinds};
use crate::journal::stored_version;
use base::error::Result;
use base::object::{Handle, Hash, ObjectId};
use context::tokens::Counter;
use session::{
    CallRecord, Event, Session, Shows, SlotRecord, Treatment, WithheldReason, counted_pieces,
};
use store::Store;

/// A recorded call.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// The session in which it was made; for a call that a fork inherited, the parent.
    pub session: ObjectId,
    /// Its number.
    pub call: u64,
    /// Its record; `None` for a call that failed open.
    pub record: Option<CallRecord>,
    /// Why it failed open.
    pub failure: Option<String>,
    /// Why its epoch started; `None` in the first epoch.
    pub epoch_reason: Option<String>,
    /// Request size as billed; `None` if the call was not billed.
    pub size: Option<RecordedSize>,
    /// System prompt and tools, if they were recorded.
    pub prompt: Option<Prompt>,
    /// The messages as they went out, each as JSON; `withheld` lists what the store does not hold.
    pub messages: Vec<String>,
    /// Details of each message.
    pub about: Vec<About>,
    /// Its tokens by kind of content.
    pub kinds: TimelineKinds,
    /// Places whose sent text the store does not hold.
    pub withheld: Vec<CallPlace>,
    /// Whether the call's hash was checked.
    pub verified: bool,
    /// The provider's request, if the host showed it.
    pub payload: Option<RecordedPayload>,
}

/// Size of a request and of the plain host's, as billed: in the provider's count, system prompt and
/// tools included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSize {
    /// The provider's token count divided by ours, as known at the call.
    pub factor: f64,
    /// Tokens of the request.
    pub sent: u64,
    /// Tokens of the plain host's request, its compactions counted.
    pub plain: u64,
    /// Whether the plain host would not have made the call.
    pub extra: bool,
    /// Position in the chat of the first message that the plain host would still have had
    /// unchanged; `None` without a compaction.
    pub plain_from: Option<u64>,
}

impl RecordedSize {
    fn of(found: &FoundCall) -> Option<Self> {
        let record = found.record.as_ref()?;
        let mut state = found.state.clone();
        found.reports().for_each(|event| state.apply(event));
        let ledger = state.bill();
        let bill = &ledger.last.as_ref().filter(|last| last.number == record.number)?.bill;
        Some(Self {
            factor: bill.factor,
            sent: bill.ours.total(),
            plain: bill.plain.total(),
            extra: bill.extra,
            plain_from: ledger.compaction.map(|compaction| compaction.from),
        })
    }
}

/// System prompt and tools of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The system prompt; `None` if there is none, or it is withheld.
    pub text: Option<String>,
    /// Definitions of the tools.
    pub tools: Value,
    /// Why it differs from the original, if so.
    pub withheld: Option<WithheldReason>,
}

impl Prompt {
    fn tokens(&self) -> u64 {
        Counter::default().of_prompt(self.text.as_deref(), &self.tools)
    }
}

/// The provider's request of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedPayload {
    /// SHA-256 of the request as canonical JSON.
    pub hash: Hash,
    /// Its messages in the provider's format, each as JSON, if they differ from those that we gave
    /// the host.
    pub messages: Option<Vec<String>>,
}

/// Details of a message of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Since when, if it is not shown as the host gave it.
    #[serde(flatten)]
    pub since: Since,
    /// Its position in the chat; `None` for a message of ours, and for one that the chat does not
    /// hold in this form.
    #[serde(rename = "position")]
    pub at: Option<u64>,
    /// Its tokens, by our count; for a withheld message, those of its replacement.
    pub tokens: u64,
    /// For a tool result, the call's object; for a message of ours, the object whose content it
    /// shows.
    pub object: Option<ObjectId>,
    /// The handle of `object`.
    pub handle: Option<Handle>,
    /// The handle of the file that it shows or changed.
    pub file_handle: Option<Handle>,
    /// The path of that file.
    pub path: Option<String>,
    /// How it is shown.
    #[serde(rename = "shown")]
    pub treatment: Option<Treatment>,
    /// The notes in it.
    pub notes: Vec<String>,
    /// The lines of folded steps in it.
    pub folds: Vec<FoldLine>,
    /// Why it shows something else than the message that went out, if so.
    pub withheld: Option<WithheldReason>,
    /// Hash of the message that went out, if that is withheld and its hash known.
    pub digest: Option<Hash>,
}

impl About {
    /// Clears everything that we did to it.
    pub(super) fn become_given(&mut self) {
        self.treatment = self.treatment.is_some().then_some(Treatment::Given);
        self.since = Since::default();
        self.notes.clear();
    }
}

/// A line that stands for folded steps, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldLine {
    /// Since when.
    #[serde(flatten)]
    pub since: Since,
    /// The line.
    pub line: String,
}

/// Since when a message is shown in its present form; nothing if as the host gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Since {
    /// The first call that showed this form.
    pub since_call: Option<u64>,
    /// The epoch that changed it; `None` if it was first sent in this form.
    pub since_epoch: Option<u32>,
    /// The reason for that epoch.
    pub reason: Option<String>,
}

/// Reads a call of a session from the store.
///
/// # Errors
/// As [`super::replay_call`].
pub fn inspect_call(store: &Store, session: &ObjectId, call: u64) -> Result<Inspected> {
    let found = Finder::new(store, session).find(call)?;
    inspect(store, &found, call, &mut ChatMessages::default())
}

/// Reads a call that was found. `chat`: messages of its session already known from other calls.
pub(super) fn inspect(
    store: &Store,
    found: &FoundCall,
    call: u64,
    chat: &mut ChatMessages,
) -> Result<Inspected> {
    let replayed = render(store, found, chat)?;
    let (state, history) = (&found.state, History::read(found.events()));
    let epoch = found.record.as_ref().map_or(0, |record| record.epoch);
    let in_pools = found.record.as_ref().is_some_and(|record| record.layout == "pools");
    let counting = Counting::new(store, &chat.counted);
    let about = found.slots().zip(&replayed.messages).enumerate().map(|(at, (slot, message))| {
        let place = replayed.withheld.iter().find(|place| place.message == at);
        let known = known_tokens(state, slot).filter(|_| place.is_none());
        let tokens = known.unwrap_or_else(|| counting.of_message(message));
        let withheld = place.map(|place| place.reason);
        let digest = place.and_then(|place| place.digest.clone());
        About { tokens, withheld, digest, ..about(state, &history, in_pools, slot) }
    });
    let about: Vec<About> = about.collect();
    let prompt = prompt(store, found)?;
    let mut kinds = TimelineKinds::default();
    for (slot, about) in found.slots().zip(&about) {
        match slot {
            // A record has what changed in the pool alone.
            SlotRecord::Pool { .. } => kinds.references += about.tokens,
            _ => kinds.add(&counting.count(slot, state, &[])?.kinds),
        }
    }
    kinds.prompt = prompt.as_ref().map_or(0, Prompt::tokens);
    Ok(Inspected {
        session: found.recording.session.envelope.id.clone(),
        call,
        epoch_reason: history.epochs.get(&epoch).cloned(),
        size: RecordedSize::of(found),
        prompt,
        messages: replayed.messages,
        about,
        kinds,
        withheld: replayed.withheld,
        verified: replayed.verified,
        // A fork has the events of its parent before its own.
        payload: payload(&found.recording.events, call),
        failure: found.failure.clone(),
        record: found.record.clone(),
    })
}

impl Inspected {
    /// Tokens of system prompt and tools, by our count.
    pub fn prompt_tokens(&self) -> Option<u64> {
        self.prompt.as_ref().map(Prompt::tokens)
    }
}

/// Since when messages are shown in their present form, and why epochs started.
#[derive(Default)]
struct History {
    since: HashMap<u64, Since>,
    epochs: HashMap<u32, String>,
    /// By the position of the first message.
    folds: HashMap<u64, Since>,
}

impl History {
    fn read(events: &[Event]) -> Self {
        let mut history = Self::default();
        let mut calls = 0;
        for event in events {
            match event {
                Event::Treated { at, .. } => {
                    let since_call = Some(calls + 1);
                    history.since.insert(*at, Since { since_call, ..Since::default() });
                }
                Event::Epoch { number, reason, treatments, folds, .. } => {
                    history.epochs.insert(*number, reason.clone());
                    let since = Since {
                        since_call: Some(calls + 1),
                        since_epoch: Some(*number),
                        reason: Some(reason.clone()),
                    };
                    let changed = treatments.iter().map(|(at, _)| (*at, since.clone()));
                    history.since.extend(changed);
                    history.folds.extend(folds.iter().map(|fold| (fold.first, since.clone())));
                }
                Event::Edited { at, .. } => drop(history.since.remove(at)),
                Event::Rewritten { chat_len, .. } => {
                    history.since.retain(|at, _| at < chat_len);
                }
                Event::Called(record) => calls = record.number,
                Event::FailedOpen { calls: failed } => calls += failed.len() as u64,
                _ => {}
            }
        }
        history
    }
}

/// Tokens of a message that is shown as the host gave it, as counted when it came.
fn known_tokens(state: &Session, slot: &SlotRecord) -> Option<u64> {
    let SlotRecord::Chat { chat, content: None, folded: None } = slot else { return None };
    Some(state.chat().get(*chat)?.tokens)
}

fn about(state: &Session, history: &History, in_pools: bool, slot: &SlotRecord) -> About {
    let (at, content, folded) = match slot {
        SlotRecord::Chat { chat, content, folded } => {
            (*chat, content, folded.as_deref().unwrap_or_default())
        }
        SlotRecord::Active { active, .. } => {
            let object = Some(active.clone());
            return About { object, handle: state.handle(active), ..About::default() };
        }
        SlotRecord::Pool { .. } | SlotRecord::Message { .. } => return About::default(),
    };
    let fact = state.result(at);
    let file = fact.and_then(|fact| match &fact.shows {
        Shows::File { object, .. } | Shows::Change { object } | Shows::Activated { object, .. } => {
            state.shown_file(object)
        }
        Shows::Own => None,
    });
    let since = history.since.get(&at).filter(|_| !in_pools).cloned();
    let treatment = match (state.treatment(at), fact) {
        (_, Some(_)) if in_pools && content.is_some() => Treatment::Reference,
        _ if in_pools => Treatment::Given,
        (Treatment::Excerpt { pieces }, Some(fact)) if fact.ends_line => {
            Treatment::Excerpt { pieces: counted_pieces(pieces) }
        }
        (treatment, _) => treatment.clone(),
    };
    let folds = state.folds().all().filter(|fold| folded.lines().any(|line| line == fold.line));
    let folds = folds.filter_map(|fold| {
        let (since, line) = (history.folds.get(&fold.first)?.clone(), fold.line.clone());
        Some(FoldLine { since, line })
    });
    let (file_handle, path) = file.map(|(handle, path)| (handle, path.to_owned())).unzip();
    About {
        at: Some(at),
        object: fact.and_then(|fact| fact.object.clone()),
        handle: fact.and_then(|fact| state.handle(fact.object.as_ref()?)),
        file_handle,
        path,
        treatment: (fact.is_some() || since.is_some()).then_some(treatment),
        since: since.unwrap_or_default(),
        notes: state.notes(at).iter().map(|note| note.text.clone()).collect(),
        folds: folds.collect(),
        ..About::default()
    }
}

fn prompt(store: &Store, found: &FoundCall) -> Result<Option<Prompt>> {
    let version = found.record.as_ref().and_then(|record| record.system_prompt.as_ref());
    let id = found.recording.session.fields.get("system_prompt_ref").and_then(Value::as_str);
    let (Some(version), Some(id)) = (version, id) else { return Ok(None) };
    let version = stored_version(store, &ObjectId::new(id), version)?;
    Ok(Some(Prompt {
        text: store.content(&version)?,
        tools: version.fields.get("tools").cloned().unwrap_or_default(),
        withheld: version.redacted.map(|redaction| redaction.reason.into()),
    }))
}

fn payload(events: &[Event], call: u64) -> Option<RecordedPayload> {
    let mut list = Vec::new();
    for event in events {
        let Event::Payload(record) = event else { continue };
        apply_edits(&mut list, record.edits.as_deref().unwrap_or_default(), false);
        if record.call != call {
            continue;
        }
        let messages = record.edits.as_ref().map(|_| {
            let text = |slot| match slot {
                SlotRecord::Message { message, .. } => Some(message),
                _ => None,
            };
            slots_of(std::mem::take(&mut list)).into_iter().filter_map(text).collect()
        });
        return Some(RecordedPayload { hash: record.hash.clone(), messages });
    }
    None
}
