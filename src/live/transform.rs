//! One call: the host's list in, the edits of what goes out.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::billing::Going;
use super::commit::ChatChange;
use super::{LiveSession, Notice};
use crate::context::epoch::{self, Bound, Terms};
use crate::context::evidence::Evidence;
use crate::context::host::HostMessage;
use crate::context::ledger::Coming;
use crate::context::log_layout;
use crate::context::model_rules;
use crate::context::pools_layout::{self, Limits};
use crate::context::prices::ModelData;
use crate::context::view::{self, Edit, Slot, record_key};
use crate::error::Result;
use crate::object::{
    AsOf, Envelope, Hash, Nickname, ObjectId, ObjectType, Payload, metadata_line, metadata_view,
};
use crate::session::{
    CallNote, CallRecord, ChatMessage, Event, HostEntry, HostMatch, MessageKind, Rewrite, SlotEdit,
    SlotRecord, Treatment, VOLATILE_CHANGES, match_host_list,
};
use crate::settings::Layout;
use crate::store::Expected;

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
    /// What the host knows of the model's prices.
    pub model_data: Option<ModelData>,
    /// Tokens of system prompt and tools, where the host counted them; else they are counted here.
    pub fixed_tokens: Option<u64>,
    /// How many of these are ours (tools and guidance); without it as many as at the call before.
    pub overhead_tokens: Option<u64>,
}

impl CallInfo {
    /// The provider's wire format, where the host said so.
    fn api(&self) -> Option<&str> {
        let api = self.model_data.as_ref()?.api.as_str();
        (!api.is_empty()).then_some(api)
    }
}

/// The host's list before a call, without the messages that the caller knows to be unchanged.
#[derive(Debug, Clone, Copy)]
pub struct HostList<'a> {
    /// Number of the call whose request the caller holds, from [`Transformed::Edits`]; `None` if it holds none. Then `skip` is 0
    /// and the edits start from an empty request.
    pub since: Option<u64>,
    /// Number of messages at the front that are the same as in that call.
    pub skip: usize,
    /// The other messages, a JSON array.
    pub messages: &'a str,
}

impl<'a> HostList<'a> {
    /// A whole list, from a caller that holds no request.
    pub fn whole(messages: &'a str) -> Self {
        Self { since: None, skip: 0, messages }
    }
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transformed {
    /// How the list of slots changes, as JSON for the host's side, and what a person may want to know.
    Edits {
        /// Number of the call, which the next list names in [`HostList::since`].
        call: u64,
        /// See [`view::instructions`].
        edits: String,
        /// What happened.
        notices: Vec<Notice>,
    },
    /// The session holds another request than [`HostList::since`] names, or none: call again with the whole list.
    Resend,
}

/// What the host's list came to.
struct Taken {
    /// How it stopped continuing the one before, and the index from which it differs.
    rewrite: Option<(Rewrite, usize)>,
    /// Messages of the chat that were known before and still are.
    known: u64,
    /// The newest message, if it is new and can carry a note.
    newest: Option<u64>,
    /// Whether the list is that of the call before, messages that change on every call left aside.
    is_same: bool,
}

/// The messages of a call that crossed: those from `skip` on.
struct Crossed<'a> {
    skip: usize,
    messages: &'a [HostMessage],
}

impl LiveSession {
    /// Takes the host's list before a call and says what goes out.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the messages are no JSON array; whatever the store reports. After an error nothing of the call is
    /// stored and the host's own messages should go out.
    pub fn transform(&mut self, list: &HostList<'_>, call: &CallInfo) -> Result<Transformed> {
        let HostList { since, skip, .. } = *list;
        let mut messages = HostMessage::parse_list(list.messages, self.options.counter)?;
        if since.is_none() && self.view.call().is_some() {
            // The edits have to start from an empty request.
            self.stale = true;
        }
        // Nothing below sees text that is not to be stored, not even what is kept of a call that fails.
        if let Err(error) = self.hear().and_then(|()| self.withhold(skip, &mut messages)) {
            self.stale = true;
            self.drop_failed_list();
            return Err(error);
        }
        let messages = RefCell::new(messages);
        let mut result = self.attempt(|live| {
            if !live.forgotten.is_empty() {
                live.withhold(skip, &mut messages.borrow_mut())?;
            }
            let crossed = Crossed { skip, messages: &messages.borrow() };
            // The view is empty after an error, after a restart, and when this session parted from another process. It is
            // ahead of the caller where an answer got lost.
            if since != live.view.call() || skip > live.view.of_host() {
                return Ok(Transformed::Resend);
            }
            live.assemble(&crossed, call)
        });
        if result.is_err() {
            self.stale = true;
            self.keep_failed_list(skip, &messages.borrow());
            self.refresh_after(&result);
        } else {
            self.drop_failed_list();
        }
        if let Ok(Transformed::Edits { notices, .. }) = &mut result {
            notices.splice(0..0, std::mem::take(&mut self.waiting));
        }
        result
    }

    fn assemble(&mut self, crossed: &Crossed<'_>, call: &CallInfo) -> Result<Transformed> {
        self.reconcile_if_due()?;
        self.record_failed_calls()?;
        let mut notices = Vec::new();
        let Taken { rewrite, known, newest, is_same } = self.take_list(crossed, &mut notices)?;
        self.note_needs(crossed.skip, crossed.messages, known)?;
        let prompt = self.put_prompt(call)?;
        let coming = self.coming(call, prompt.as_ref());
        let changed = self.changed_since_last(crossed.skip, crossed.messages, rewrite);
        let epoch = self.state.epoch();
        let edits = if self.settings.layout == Layout::Pools {
            // The active files are always shown as they are now; notes have no place here.
            let active = self.active_files();
            self.changed_on_disk(active.clone(), &mut notices)?;
            self.look_at_known_files(known, &active)?;
            self.follow_links();
            self.pools_edits(crossed)?
        } else {
            if let Some(at) = newest {
                for text in self.changed_on_disk(self.standing_files(), &mut notices)? {
                    self.record(Event::Noted { at, text });
                }
            }
            self.look_at_known_files(known, &self.standing_files())?;
            self.follow_links();
            self.log_edits(crossed, rewrite, call, &coming, &mut notices)?
        };
        let resumed = self.resumed_slots(&edits);
        let recorded = self.recorded_edits(&edits);
        let began = self.state.epoch() != epoch;
        self.view.apply(&edits, self.state.chat().window().len());
        let going = Going { edits: &recorded, began, changed, resumed };
        let bill = self.bill_note(&coming, &going);
        self.record_call(recorded, is_same, call, prompt, bill);
        self.commit()?;
        let number = self.state.calls();
        self.view.set_call(number);
        Ok(Transformed::Edits { call: number, edits: view::instructions(&edits), notices })
    }

    /// Brings chat and window in line with the host's list.
    fn take_list(&mut self, crossed: &Crossed<'_>, notices: &mut Vec<Notice>) -> Result<Taken> {
        let keys: Vec<_> = crossed.messages.iter().map(|message| message.key.clone()).collect();
        let found = match_host_list(self.state.chat(), crossed.skip, &keys);
        if let Some(how) = found.rewrite {
            notices.push(Notice::HostRewrote { how: how.as_str(), at: found.kept as u64 });
            self.rewrite_window(&found, how)?;
        }
        let mut rest = Vec::with_capacity(found.rest.len());
        for entry in &found.rest {
            match entry {
                HostEntry::Known(at) => rest.push(*at),
                HostEntry::New(index) => {
                    rest.push(self.state.chat().len());
                    self.ingest(&crossed.messages[*index])?;
                }
            }
        }
        if let Some(how) = found.rewrite
            && self.state.chat().window()[found.kept..] != rest
        {
            let mut window = self.state.chat().window()[..found.kept].to_vec();
            window.extend(rest);
            let chat_len = self.state.chat().len();
            self.record(Event::Rewritten { how, chat_len, window: runs(&window) });
        }
        let edited = self.take_edits(crossed, notices)?;
        let rewrite = found.rewrite.map(|how| (how, found.kept));
        let newest = match found.rest.last() {
            Some(HostEntry::New(_)) => self.newest_for_notes(),
            _ => None,
        };
        let rewrite = rewrite.or(edited.map(|index| (Rewrite::Edited, index)));
        let is_same = rewrite.is_none() && found.rest.is_empty();
        Ok(Taken { rewrite, known: found.chat_len, newest, is_same })
    }

    /// Leaves in the window what stays of it, before new messages join.
    fn rewrite_window(&mut self, found: &HostMatch, how: Rewrite) -> Result<()> {
        let mut window: Vec<u64> = self.state.chat().window()[..found.kept].to_vec();
        window.extend(found.rest.iter().filter_map(|entry| match entry {
            HostEntry::Known(at) => Some(*at),
            HostEntry::New(_) => None,
        }));
        if found.chat_len < self.state.chat().len() {
            self.staged.chat = Some(ChatChange { keep: found.chat_len, add: Vec::new() });
        }
        self.record(Event::Rewritten { how, chat_len: found.chat_len, window: runs(&window) });
        self.evidence = Evidence::default();
        self.pending = self.unanswered_calls()?;
        Ok(())
    }

    /// Known messages whose text changed; the index of the first, save for those that change on every call.
    fn take_edits(
        &mut self,
        crossed: &Crossed<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<usize>> {
        let mut first = None;
        for (index, message) in (crossed.skip..).zip(crossed.messages) {
            let Some(at) = self.state.chat().window().get(index).copied() else { continue };
            let Some(known) = self.state.chat().get(at) else { continue };
            if known.is_volatile() && self.state.folds().hide(at) {
                self.volatile.insert(at, message.clone());
            }
            if known.digest == message.digest() || known.is_volatile() {
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
            self.evidence = Evidence::default();
        }
        Ok(first)
    }

    /// The newest message if it can carry a note: a tool result, or a user message, that the store holds.
    fn newest_for_notes(&self) -> Option<u64> {
        let (at, message) = self.state.window().next_back()?;
        let may = matches!(message.kind, MessageKind::Result(_) | MessageKind::User);
        (may && !message.withheld).then_some(at)
    }

    fn log_edits(
        &mut self,
        crossed: &Crossed<'_>,
        rewrite: Option<(Rewrite, usize)>,
        call: &CallInfo,
        coming: &Coming,
        notices: &mut Vec<Notice>,
    ) -> Result<Vec<Edit>> {
        let len = self.state.chat().window().len();
        let first = rewrite.map_or(crossed.skip, |(_, index)| index.min(crossed.skip));
        let mut slots: BTreeMap<usize, Option<Slot>> = BTreeMap::new();
        let first = first.min(self.view.of_host());
        let other = (0..first).filter(|index| rewrite.is_some() && self.folds_differ(*index));
        let same = rewrite.map_or(len, |(_, index)| index);
        let sent = self.recorded_contents();
        for index in other.chain(first..len) {
            let at = self.state.chat().window()[index];
            let slot = match sent.get(&at).filter(|_| index < same) {
                Some(content) => self.slot_as_sent(index, crossed, content)?,
                None => self.slot(index, crossed)?,
            };
            slots.insert(index, slot);
        }
        let mut shown = self.view.sizes().to_vec();
        shown.resize(len, 0);
        for (index, slot) in &slots {
            shown[*index] = slot.as_ref().map_or(0, |slot| slot.tokens);
        }
        let bill = self.state.bill();
        let known = bill.last().map_or(0, |last| last.host_messages);
        let terms = Terms {
            keep_results: self.settings.keep_results,
            collapse_tokens: self.settings.collapse_tokens,
            high_water_tokens: coming.window.map(|window| self.high_water(window)),
            full_tokens: coming.full_tokens(),
            rewrite,
            first_new: usize::try_from(known).unwrap_or(usize::MAX),
            prices: &coming.prices.prices,
            warm: coming.warm,
            fixed_tokens: coming.fixed,
            bound: Bound::of(bill, &self.settings),
            rules: model_rules::rules(call.model.as_deref().unwrap_or_default(), call.api()),
            hazards: &self.hazards,
        };
        if let Some(new) = epoch::decide(&self.state, &shown, &terms) {
            for index in self.start_epoch(new, notices) {
                slots.insert(index, self.slot(index, crossed)?);
            }
        }
        Ok(self.view.edits_to(slots, len))
    }

    /// Whether the message at an index of the window went out otherwise than folds say now: a fold ends where the host
    /// takes away what follows it.
    fn folds_differ(&self, index: usize) -> bool {
        let at = self.state.chat().window()[index];
        let Some(slot) = self.view.at_host(index) else { return !self.state.folds().hide(at) };
        let lines = match &slot.record {
            SlotRecord::Chat { folded, .. } => folded.as_deref(),
            _ => None,
        };
        self.state.folds().hide(at) || lines != log_layout::fold_lines(&self.state, at).as_deref()
    }

    /// Records a new epoch; returns the window indexes whose messages may look different now.
    fn start_epoch(&mut self, new: epoch::NewEpoch, notices: &mut Vec<Notice>) -> BTreeSet<usize> {
        let number = self.state.epoch() + 1;
        let treated: BTreeSet<u64> = new.treatments.iter().map(|(at, _)| *at).collect();
        let changed = |live: &Self, index: usize| {
            let at = live.state.chat().window()[index];
            treated.contains(&at) || !live.state.notes(at).is_empty()
        };
        let len = self.state.chat().window().len();
        let mut indexes: BTreeSet<usize> = (0..len).filter(|index| changed(self, *index)).collect();
        notices.push(Notice::EpochStarted {
            epoch: number,
            reason: new.reason.clone(),
            collapsed: new.collapsed,
            freed_tokens: new.freed_tokens,
        });
        let keep_notes = self.state.chat().window().last().copied();
        let folds = self.state.folds().clone();
        self.record(Event::Epoch {
            number,
            reason: new.reason,
            keep_notes,
            treatments: new.treatments,
            folds: new.folds,
        });
        let (window, now) = (self.state.chat().window(), self.state.folds());
        indexes.extend((0..len).filter(|index| now.differ_at(window[*index], &folds)));
        indexes
    }

    /// The slot of the message at an index of the window; `None` if it is folded.
    fn slot(&self, index: usize, crossed: &Crossed<'_>) -> Result<Option<Slot>> {
        let at = self.state.chat().window()[index];
        if self.state.folds().hide(at) {
            return Ok(None);
        }
        let message = self.message_at(index, crossed)?;
        let has_crossed = matches!(message, Cow::Borrowed(_));
        let message = message.as_ref();
        if self.state.chat().get(at).is_some_and(ChatMessage::is_volatile) {
            return Ok(Some(Slot::of_volatile(index, message)));
        }
        let is_gone =
            message.withheld.is_some() && *self.state.treatment(at) != Treatment::Reference;
        if let (true, false, Some(slot)) = (is_gone, has_crossed, self.view.at_host(index)) {
            // Its text was forgotten meanwhile: what was sent stays.
            return Ok(Some(slot.clone()));
        }
        let content = log_layout::render(&self.state, at, message, self)?;
        Ok(Some(match log_layout::fold_lines(&self.state, at) {
            Some(lines) => Slot::of_carrier(index, at, message, content, lines),
            None => Slot::of_host(index, at, message, content),
        }))
    }

    /// The contents with which messages were sent last, where they were others than the host's, by position: after a restart of
    /// a session in which files were moved. Rendered anew they would name those by what they are now.
    fn recorded_contents(&self) -> HashMap<u64, String> {
        if !self.view.slots().is_empty() || !self.state.has_moved_files() {
            return HashMap::new();
        }
        let slots = self.recorded.iter().zip(&self.recorded_marks);
        let contents = slots.filter_map(|(slot, mark)| match slot {
            SlotRecord::Chat { chat, content: Some(content), .. } if self.mark(slot) == *mark => {
                Some((*chat, content.clone()))
            }
            _ => None,
        });
        contents.collect()
    }

    /// The slot of the message at an index of the window with the content that was sent.
    fn slot_as_sent(
        &self,
        index: usize,
        crossed: &Crossed<'_>,
        content: &str,
    ) -> Result<Option<Slot>> {
        let at = self.state.chat().window()[index];
        let message = self.message_at(index, crossed)?;
        if self.state.folds().hide(at) || message.withheld.is_some() {
            return self.slot(index, crossed);
        }
        let content = Some(content.to_owned());
        Ok(Some(match log_layout::fold_lines(&self.state, at) {
            Some(lines) => Slot::of_carrier(index, at, &message, content, lines),
            None => Slot::of_host(index, at, &message, content),
        }))
    }

    /// The message at an index of the window: as it crossed, else as it is kept. Of one that was forgotten after it was stored
    /// the stored rest counts, which is what its record renders again.
    fn message_at<'a>(&self, index: usize, crossed: &Crossed<'a>) -> Result<Cow<'a, HostMessage>> {
        let at = self.state.chat().window()[index];
        let is_withheld = self.state.chat().get(at).is_some_and(|known| known.withheld);
        let crossed = index.checked_sub(crossed.skip).and_then(|index| crossed.messages.get(index));
        match crossed {
            Some(message) if message.withheld.is_none() || is_withheld => {
                Ok(Cow::Borrowed(message))
            }
            _ => self.kept_message(index).map(Cow::Owned),
        }
    }

    fn pools_edits(&mut self, crossed: &Crossed<'_>) -> Result<Vec<Edit>> {
        let window = self.state.chat().window();
        let messages: Vec<(u64, Cow<'_, HostMessage>)> = (0..window.len())
            .map(|index| Ok((window[index], self.message_at(index, crossed)?)))
            .collect::<Result<_>>()?;
        let messages: Vec<(u64, &HostMessage)> =
            messages.iter().map(|(at, message)| (*at, message.as_ref())).collect();
        let limits = Limits {
            per_turn: self.settings.active_per_turn,
            turns: self.settings.active_turns,
            pool_tokens: self.settings.pool_tokens,
            counter: self.options.counter,
        };
        let metadata = |id: &ObjectId| self.metadata_line(id).ok().flatten();
        let slots = pools_layout::render(&self.state, &messages, &limits, self, &metadata)?;
        Ok(view::edits_between(self.view.slots(), &slots))
    }

    /// A message of the host's that did not cross since it is as at the call before.
    pub(super) fn kept_message(&self, index: usize) -> Result<HostMessage> {
        let at = self.state.chat().window()[index];
        if self.state.chat().get(at).is_some_and(ChatMessage::is_volatile) {
            let slot = self.view.at_host(index);
            if let Some(SlotRecord::Message { message, withheld }) = slot.map(|slot| &slot.record) {
                return Ok(HostMessage::from_stored(
                    message,
                    withheld.clone(),
                    self.options.counter,
                ));
            }
            if let Some(message) = self.volatile.get(&at) {
                return Ok(message.clone());
            }
        }
        self.stored_message(at)
    }

    /// The metadata line of an object's latest version: its own `view` decides which fields, else its type.
    pub(super) fn metadata_line(&self, id: &ObjectId) -> Result<Option<String>> {
        let staged = self.staged.objects.iter().rev().find(|(envelope, ..)| envelope.id == *id);
        let mut view = if let Some((envelope, payload, _)) = staged {
            let nickname = self.viewed_nickname(id, &payload.fields)?;
            let additional = |name: &str| Ok(payload.additional.get(name).cloned());
            metadata_view(envelope, &payload.fields, nickname.as_ref(), additional)?
        } else {
            let Some(version) = self.store.get(id, AsOf::Latest)? else { return Ok(None) };
            let nickname = self.viewed_nickname(id, &version.fields)?;
            let additional = |name: &str| self.store.additional(&version, name);
            metadata_view(&version.envelope, &version.fields, nickname.as_ref(), additional)?
        };
        let shown = self.state.index().get(id).map(|entry| entry.subject.agent_path());
        let path = view.iter_mut().find(|(name, _)| name == "path");
        if let (Some(shown), Some((_, path))) = (shown.filter(|shown| !shown.is_empty()), path) {
            *path = json!(shown);
        }
        Ok(Some(metadata_line(&view)))
    }

    /// The nickname of an object whose view names it; others are not looked up, for there are many.
    fn viewed_nickname(
        &self,
        id: &ObjectId,
        fields: &Map<String, Value>,
    ) -> Result<Option<Nickname>> {
        let view = fields.get("view").and_then(Value::as_array);
        if !view.is_some_and(|names| names.iter().any(|name| name == "nickname")) {
            return Ok(None);
        }
        Ok(self.store.nicknames(id)?.into_iter().next())
    }

    /// Tokens above which a window of so many is under pressure.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share between 0 and 1 of a number far below 2^53"
    )]
    pub(super) fn high_water(&self, window: u64) -> u64 {
        (window as f64 * self.settings.high_water) as u64
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
            return view::recorded(before.first(), view::replacements(&before, &after, record_key));
        }
        let first = self.view.slots().first().map(|slot| &slot.record);
        let records = |edit: &Edit| edit.insert.iter().map(|slot| slot.record.clone()).collect();
        view::recorded(
            first,
            edits.iter().map(|edit| (edit.at, edit.remove, records(edit))).collect(),
        )
    }

    /// `repeats`: whether the host asks again with the list of the call before.
    fn record_call(
        &mut self,
        edits: Vec<SlotEdit>,
        repeats: bool,
        call: &CallInfo,
        system_prompt: Option<Hash>,
        bill: CallNote,
    ) {
        let retry_of = repeats.then(|| self.state.calls()).filter(|number| *number > 0);
        self.payloads.next_call(retry_of.is_some());
        let record = CallRecord {
            number: self.state.calls() + 1,
            retry_of,
            model: call.model.clone(),
            layout: self.settings.layout.as_str().to_owned(),
            epoch: self.state.epoch(),
            system_prompt,
            edits,
            hash: self.view.hash(),
            sent_tokens: self.view.tokens(),
            plain_tokens: self.state.chat().window_tokens(),
            context_window: call.context_window,
            bill: Some(bill),
            time: self.store.now(),
        };
        self.record(Event::Called(record));
    }

    /// Versions the system prompt and the tool definitions; returns the version's `content_hash`.
    fn put_prompt(&mut self, call: &CallInfo) -> Result<Option<Hash>> {
        if call.system_prompt.is_none() && call.tools.is_null() {
            return Ok(self.stored.prompt.clone());
        }
        let fields = json!({ "session_ref": self.ids.session, "tools": call.tools });
        let payload = Payload {
            content: call.system_prompt.clone(),
            fields: fields.as_object().cloned().unwrap_or_default(),
            ..Payload::default()
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
