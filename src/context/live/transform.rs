//! One call: the host's list in, the edits of what goes out.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::{LiveSession, Notice};
use crate::context::epoch::{self, Terms};
use crate::context::host::HostMessage;
use crate::context::log_layout;
use crate::context::pools_layout::{self, Limits};
use crate::context::view::{self, Edit, Slot};
use crate::error::{Error, Result};
use crate::object::{AsOf, Envelope, Hash, ObjectId, ObjectType, Payload};
use crate::session::{
    CallRecord, Event, HostEntry, HostMatch, MessageKind, Rewrite, SlotEdit, SlotRecord,
    match_host_list,
};
use crate::settings::Layout;
use crate::store::Expected;

/// A message whose text changed so often under one identity is taken to change on every call.
const VOLATILE_CHANGES: u32 = 3;

/// What the host says of a call besides its messages.
#[derive(Debug, Clone, Default)]
pub struct CallInfo {
    /// System prompt as the host will send it; without it and without tools both are as at the call before.
    pub system_prompt: Option<String>,
    /// Definitions of the active tools.
    pub tools: Value,
    /// Provider and model: `provider/id`.
    pub model: Option<String>,
    /// Tokens of the model's window.
    pub context_window: Option<u64>,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transformed {
    /// How the list of slots changes, as JSON for the host's side, and what a person may want to know.
    Edits {
        /// See [`view::instructions`].
        edits: String,
        /// What happened.
        notices: Vec<Notice>,
    },
    /// The state in memory is gone: call again with the whole list.
    Resend,
}

/// The messages of a call that crossed: those from `skip` on.
struct Crossed<'a> {
    skip: usize,
    messages: &'a [HostMessage],
}

impl LiveSession {
    /// Takes the host's list before a call and says what goes out.
    ///
    /// `skip`: so many messages at the front are the same as at the call before and are not in `messages_json`, a JSON array
    /// of the rest.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if `messages_json` is no array; whatever the store reports. After an error nothing of the call is
    /// stored and the host's own messages should go out.
    pub fn transform(
        &mut self,
        skip: usize,
        messages_json: &str,
        call: &CallInfo,
    ) -> Result<Transformed> {
        let messages = HostMessage::parse_list(messages_json)?;
        if self.stale {
            self.reload()?;
        }
        if skip > self.view_window() {
            return Ok(Transformed::Resend);
        }
        let result = self.assemble(&Crossed { skip, messages: &messages }, call);
        self.stale = result.is_err();
        self.failed_length = result.is_err().then_some((skip + messages.len()) as u64);
        result
    }

    /// Reads the state again if an error left it in doubt.
    pub(super) fn refresh_if_stale(&mut self) -> Result<()> {
        if self.stale { self.reload() } else { Ok(()) }
    }

    /// So many of the host's messages the view knows: after a restart none.
    fn view_window(&self) -> usize {
        self.view.slots().iter().filter(|slot| slot.host.is_some()).count()
    }

    fn assemble(&mut self, crossed: &Crossed<'_>, call: &CallInfo) -> Result<Transformed> {
        let mut notices = Vec::new();
        self.window_limit = call.context_window;
        let calls_before = self.state.chat().len();
        let rewrite = self.take_list(crossed, &mut notices)?;
        let newest = self.newest_if_new(calls_before);
        let edits = if self.settings.layout == Layout::Pools {
            self.refresh_standing(&mut notices)?;
            self.pools_edits(crossed)?
        } else {
            if let Some(at) = newest {
                for text in self.changed_on_disk(&mut notices)? {
                    self.record(Event::Noted { at, text });
                }
            }
            self.log_edits(crossed, rewrite, &mut notices)?
        };
        let recorded = self.recorded_edits(&edits);
        self.view.apply(&edits);
        let failed = std::mem::take(&mut self.failed_calls);
        if !failed.is_empty() {
            self.record(Event::FailedOpen { calls: failed });
        }
        self.record_call(recorded, call)?;
        self.commit()?;
        Ok(Transformed::Edits { edits: view::instructions(&edits), notices })
    }

    /// Brings chat and window in line with the host's list.
    fn take_list(
        &mut self,
        crossed: &Crossed<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<(Rewrite, usize)>> {
        let keys: Vec<_> = crossed.messages.iter().map(|message| message.key.clone()).collect();
        let found = match_host_list(self.state.chat(), crossed.skip, &keys);
        if let Some(how) = found.rewrite {
            notices.push(Notice::HostRewrote { how: how.as_str(), at: found.kept as u64 });
            self.rewrite_window(&found, how);
        }
        let mut window: Vec<u64> = self.state.chat().window()[..found.kept].to_vec();
        for entry in &found.rest {
            match entry {
                HostEntry::Known(at) => window.push(*at),
                HostEntry::New(index) => {
                    window.push(self.state.chat().len());
                    self.ingest(&crossed.messages[*index])?;
                }
            }
        }
        if let Some(how) = found.rewrite.filter(|_| window != self.state.chat().window()) {
            let chat_len = self.state.chat().len();
            self.record(Event::Rewritten { how, chat_len, window: runs(&window) });
        }
        let edited = self.take_edits(crossed, notices)?;
        let rewritten = found.rewrite.map(|how| (how, found.kept));
        Ok(rewritten.or(edited.map(|index| (Rewrite::Edited, index))))
    }

    /// Leaves in the window what stays of it, before new messages join.
    fn rewrite_window(&mut self, found: &HostMatch, how: Rewrite) {
        let mut window: Vec<u64> = self.state.chat().window()[..found.kept].to_vec();
        window.extend(found.rest.iter().filter_map(|entry| match entry {
            HostEntry::Known(at) => Some(*at),
            HostEntry::New(_) => None,
        }));
        if found.chat_len < self.state.chat().len() {
            self.staged.chat = Some(super::ChatChange { keep: found.chat_len, add: Vec::new() });
        }
        self.record(Event::Rewritten { how, chat_len: found.chat_len, window: runs(&window) });
    }

    /// Known messages whose text changed; the index of the first, save for those that change on every call.
    fn take_edits(
        &mut self,
        crossed: &Crossed<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<usize>> {
        let window = self.state.chat().window().to_vec();
        let mut first = None;
        for (index, message) in crossed.messages.iter().enumerate() {
            let index = crossed.skip + index;
            let Some(at) = window.get(index).copied() else { continue };
            let Some(known) = self.state.chat().get(at) else { continue };
            if known.digest == message.digest() || known.changes > VOLATILE_CHANGES {
                continue;
            }
            match known.changes {
                VOLATILE_CHANGES => notices.push(Notice::Volatile { at: index as u64 }),
                0 => notices
                    .push(Notice::HostRewrote { how: Rewrite::Edited.as_str(), at: index as u64 }),
                _ => {}
            }
            first = first.or(Some(index).filter(|_| known.changes < VOLATILE_CHANGES));
            self.ingest_edit(at, message)?;
        }
        Ok(first)
    }

    /// The newest message if it is of this call and can carry a note: a tool result, or a user message.
    fn newest_if_new(&self, known: u64) -> Option<u64> {
        let at = *self.state.chat().window().last()?;
        let kind = &self.state.chat().get(at)?.kind;
        (at >= known && matches!(kind, MessageKind::Result(_) | MessageKind::User)).then_some(at)
    }

    fn log_edits(
        &mut self,
        crossed: &Crossed<'_>,
        rewrite: Option<(Rewrite, usize)>,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<Edit>> {
        let window = self.state.chat().window().to_vec();
        let first = rewrite.map_or(self.view.slots().len().min(crossed.skip), |(_, index)| {
            index.min(crossed.skip)
        });
        let mut slots: HashMap<usize, Slot> = HashMap::new();
        for index in first..window.len() {
            slots.insert(index, self.slot(index, &window, crossed)?);
        }
        let shown: Vec<u64> = (0..window.len())
            .map(|index| {
                slots
                    .get(&index)
                    .map_or_else(|| self.view.slots()[index].tokens, |slot| slot.tokens)
            })
            .collect();
        let terms = Terms {
            keep_results: self.settings.keep_results,
            collapse_tokens: self.settings.collapse_tokens,
            high_water_tokens: self.high_water(),
            rewrite,
        };
        if let Some(new) = epoch::decide(&self.state, &shown, &terms) {
            let dirty = self.start_epoch(new, &window, notices);
            for index in dirty {
                slots.insert(index, self.slot(index, &window, crossed)?);
            }
        }
        Ok(self.edits_from(slots, window.len()))
    }

    /// Records a new epoch; returns the window indexes whose messages may look different now.
    fn start_epoch(
        &mut self,
        new: epoch::NewEpoch,
        window: &[u64],
        notices: &mut Vec<Notice>,
    ) -> BTreeSet<usize> {
        let number = self.state.epoch() + 1;
        let changed: BTreeSet<u64> = new
            .treatments
            .iter()
            .map(|(at, _)| *at)
            .chain(window.iter().copied().filter(|at| !self.state.notes(*at).is_empty()))
            .collect();
        notices.push(Notice::EpochStarted {
            epoch: number,
            reason: new.reason.clone(),
            collapsed: new.collapsed,
            freed_tokens: new.freed_tokens,
        });
        let keep_notes = window.last().copied();
        self.record(Event::Epoch {
            number,
            reason: new.reason,
            keep_notes,
            treatments: new.treatments,
        });
        (0..window.len()).filter(|index| changed.contains(&window[*index])).collect()
    }

    /// Joins changed slots to edits of the view.
    fn edits_from(&self, slots: HashMap<usize, Slot>, len: usize) -> Vec<Edit> {
        let mut changed: Vec<(usize, Slot)> = slots
            .into_iter()
            .filter(|(index, slot)| self.view.slots().get(*index) != Some(slot))
            .collect();
        changed.sort_by_key(|(index, _)| *index);
        let before = self.view.slots().len();
        let mut edits: Vec<Edit> = Vec::new();
        for (index, slot) in changed {
            let replaces = usize::from(index < before);
            match edits.last_mut() {
                Some(edit) if edit.at + edit.insert.len() == index => {
                    edit.insert.push(slot);
                    edit.remove += replaces;
                }
                _ => edits.push(Edit { at: index, remove: replaces, insert: vec![slot] }),
            }
        }
        if before > len {
            edits.push(Edit { at: len, remove: before - len, insert: Vec::new() });
        }
        edits
    }

    fn slot(&self, index: usize, window: &[u64], crossed: &Crossed<'_>) -> Result<Slot> {
        let at = window[index];
        let crossed = index.checked_sub(crossed.skip).and_then(|index| crossed.messages.get(index));
        let stored = if crossed.is_none() { Some(self.stored_message(at)?) } else { None };
        let Some(message) = crossed.or(stored.as_ref()) else {
            return Err(Error::internal(format!("message {at} is neither new nor stored")));
        };
        if self.state.chat().get(at).is_some_and(|known| known.changes > VOLATILE_CHANGES) {
            let mut slot = Slot::of_host(index, at, message, None);
            slot.record = SlotRecord::Message { message: message.raw.clone() };
            return Ok(slot);
        }
        let content = log_layout::render(&self.state, at, message, self)?;
        Ok(Slot::of_host(index, at, message, content))
    }

    fn pools_edits(&mut self, crossed: &Crossed<'_>) -> Result<Vec<Edit>> {
        let window = self.state.chat().window().to_vec();
        let mut kept = Vec::with_capacity(crossed.skip);
        for at in &window[..crossed.skip.min(window.len())] {
            kept.push(self.stored_message(*at)?);
        }
        let messages: Vec<(u64, &HostMessage)> =
            window.iter().copied().zip(kept.iter().chain(crossed.messages)).collect();
        let limits = Limits {
            per_turn: self.settings.active_per_turn,
            turns: self.settings.active_turns,
            pool_tokens: self.settings.pool_tokens,
        };
        let chars = |id: &ObjectId| self.char_count(id);
        let slots = pools_layout::render(&self.state, &messages, &limits, self, &chars)?;
        Ok(view::edits_between(self.view.slots(), &slots))
    }

    /// In `pools` the active files are always shown as they are now.
    fn refresh_standing(&mut self, notices: &mut Vec<Notice>) -> Result<()> {
        self.changed_on_disk(notices).map(drop)
    }

    fn char_count(&self, id: &ObjectId) -> u64 {
        let count = |fields: &serde_json::Map<String, Value>| {
            fields.get("char_count").and_then(Value::as_u64)
        };
        let staged = self.staged.objects.iter().rev().find(|(envelope, ..)| envelope.id == *id);
        let found = match staged {
            Some((_, payload, _)) => count(&payload.fields),
            None => self
                .store
                .get(id, AsOf::Latest)
                .ok()
                .flatten()
                .and_then(|version| count(&version.fields)),
        };
        found.unwrap_or(0)
    }

    /// Tokens above which the window is under pressure.
    pub(super) fn high_water(&self) -> Option<u64> {
        let window = self.window_limit?;
        // A share between 0 and 1 of a number far below 2^53.
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "see above"
        )]
        Some((window as f64 * self.settings.high_water) as u64)
    }

    /// The edits against what was recorded last: after a restart the view begins anew, the records do not.
    fn recorded_edits(&mut self, edits: &[Edit]) -> Vec<SlotEdit> {
        if self.view.slots().is_empty() {
            let before = std::mem::take(&mut self.recorded);
            let after: Vec<SlotRecord> = edits
                .iter()
                .flat_map(|edit| &edit.insert)
                .map(|slot| slot.record.clone())
                .collect();
            return view::recorded(before.first(), view::replacements(&before, &after));
        }
        let first = self.view.slots().first().map(|slot| &slot.record);
        let records = |edit: &Edit| edit.insert.iter().map(|slot| slot.record.clone()).collect();
        view::recorded(
            first,
            edits.iter().map(|edit| (edit.at, edit.remove, records(edit))).collect(),
        )
    }

    fn record_call(&mut self, edits: Vec<SlotEdit>, call: &CallInfo) -> Result<()> {
        let system_prompt = self.put_prompt(call)?;
        let plain_tokens = self.state.window().map(|(_, message)| message.tokens).sum();
        let record = CallRecord {
            number: self.state.calls() + 1,
            retry_of: edits.is_empty().then(|| self.state.calls()).filter(|number| *number > 0),
            model: call.model.clone(),
            layout: self.settings.layout.as_str().to_owned(),
            epoch: self.state.epoch(),
            system_prompt,
            edits,
            hash: self.view.hash(),
            sent_tokens: self.view.tokens(),
            plain_tokens,
            time: self.store.now(),
        };
        self.record(Event::Called(record));
        Ok(())
    }

    /// Versions the system prompt and the tool definitions; returns the version's `content_hash`.
    fn put_prompt(&mut self, call: &CallInfo) -> Result<Option<Hash>> {
        if call.system_prompt.is_none() && call.tools.is_null() {
            return Ok(self.stored.prompt.clone());
        }
        let fields = json!({ "session_ref": self.ids.session, "tools": call.tools });
        let payload = Payload {
            content: call.system_prompt.clone(),
            source_hash: None,
            fields: fields.as_object().cloned().unwrap_or_default(),
        };
        let hash = payload.content_hash(None)?;
        if self.stored.prompt.as_ref() != Some(&hash) {
            let envelope = Envelope::unsourced(self.ids.prompt.clone(), ObjectType::SystemPrompt)?;
            self.staged.objects.push((envelope, payload, Expected::Any));
            self.stored.prompt = Some(hash.clone());
        }
        Ok(Some(hash))
    }
}

/// Positions as runs, both ends included.
fn runs(positions: &[u64]) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for at in positions {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *at => *last = *at,
            _ => runs.push((*at, *at)),
        }
    }
    runs
}
