//! Lays out the next request: the slots of the messages that changed, an epoch where one starts,
//! and the edits that lead from the last request to this one.
//!
//! The crate `context` decides which epoch starts and how a message is shown; this collects what
//! those decisions need and records them.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{ListTail, Request};
use crate::journal::Journal;
use crate::{CallInfo, Notice, OpenSession};
use base::error::Result;
use base::harness::{Call, ToolKind};
use base::object::ObjectId;
use context::epoch::{self, Bound, EpochTerms};
use context::hazard::Chances;
use context::held::Budgets;
use context::host::HostMessage;
use context::ledger::Coming;
use context::pools_layout::{self, PoolLimits};
use context::view::{self, Edit, Slot};
use context::window::Marks;
use context::{fit, log_layout, model_rules, preview};
use session::{ChatMessage, Event, MessageKind, Rewrite, SentSlots, SlotRecord, Treatment};

/// The inputs for laying out a request.
pub(crate) struct LayOut<'a> {
    /// The state; decisions are recorded in it.
    pub(crate) journal: &'a mut Journal,
    /// The request of the previous call.
    pub(crate) request: &'a Request,
    /// The host's list.
    pub(crate) list: &'a ListTail<'a>,
    /// How the list stopped continuing the previous one, and the index from which it differs.
    pub(crate) rewrite: Option<(Rewrite, usize)>,
    /// Number of messages of the chat that were known before and still are.
    pub(crate) known: u64,
    /// Position of the newest message, if it can carry a note.
    pub(crate) newest: Option<u64>,
    /// Settings and counter.
    pub(crate) options: &'a OpenSession,
    /// Pins that ended now because their text was forgotten.
    pub(crate) forgotten_pins: Vec<ObjectId>,
}

/// The next request.
pub(crate) struct NextRequest {
    /// How it differs from the last one.
    pub(crate) edits: Vec<Edit>,
    /// Notices of an epoch that starts, and of a request that is too long.
    pub(crate) notices: Vec<Notice>,
    /// Index in the host's list of the first message that no cache holds in its present place.
    pub(crate) cold_from: usize,
}

/// A request that may go out, as caches see it.
struct Next {
    sent: SentSlots,
    /// Of each slot the index in the window.
    hosts: Vec<Option<usize>>,
}

impl LayOut<'_> {
    /// The edits of the layout `log`.
    pub(crate) fn log_edits(
        &mut self,
        call: &CallInfo,
        coming: &Coming,
        hazards: &dyn Chances,
    ) -> Result<NextRequest> {
        let settings = &self.options.settings;
        let filling = self.options.filling(self.journal.state());
        let marks = coming.marks(filling);
        let pressing = coming.pressing_marks(filling);
        let mut notices = self.note_all();
        let mut left_out =
            self.bring_back(marks.as_ref(), self.room_left(marks), self.rewrite.is_some())?;
        let mut slots = self.changed_slots()?;
        let len = self.journal.state().chat().window.len();
        let mut shown = self.request.view.sizes.clone();
        shown.resize(len, 0);
        for (index, slot) in &slots {
            shown[*index] = tokens_of(slot);
        }
        let bill = self.journal.state().bill();
        let first_new = self.first_new();
        let next = LazyCell::new(|| self.as_it_is(&slots));
        let rewrite = self.rewrite.filter(|(how, _)| self.changes_what_was_sent(*how, &next));
        let cold_from = self.cold_from(coming, first_new, &next);
        let passing = self.passing_tokens(&mut shown);
        let awaited = self.awaited_tokens(&left_out);
        let terms = EpochTerms {
            keep_results: settings.keep_results,
            collapse_tokens: settings.collapse_tokens,
            marks: pressing.map(|marks| marks.without(passing + awaited)),
            rewrite,
            first_new,
            cold_from,
            prices: &coming.prices.prices,
            warm: coming.warm,
            fixed_tokens: coming.fixed,
            bound: Bound::of(bill, settings),
            first_token_tokens: coming.first_token_tokens(settings),
            kept_from: self.list.kept_from,
            rules: model_rules::rules(call.model.as_deref().unwrap_or_default(), call.api()),
            budgets: Budgets::of(marks.as_ref(), settings.instruction_tokens),
            fault_tokens: config::as_f64(settings.fault_weight()),
            hazards,
        };
        let decided = epoch::decide(self.journal.state(), &shown, &terms);
        if let Some(new) = decided.or_else(|| self.epoch_of_memory()) {
            notices.push(self.notice_of(&new));
            let changed = self.start_epoch(new)?;
            self.show_anew(changed, &mut slots, &mut shown)?;
            let carried = self.newest_notes();
            notices.extend(self.note_all());
            notices.extend(self.tell_left()?);
            let taken = passing + shown.iter().sum::<u64>();
            let room = marks.map_or(u64::MAX, |marks| marks.most.saturating_sub(taken));
            left_out = self.bring_back(marks.as_ref(), room, true)?;
            if self.newest_notes() > carried {
                let newest = self.carrier(true);
                let index = newest.and_then(|at| self.journal.state().chat().index_of(at));
                self.show_anew(index, &mut slots, &mut shown)?;
            }
        }
        notices.extend(self.tell_of_pins(left_out));
        if let Some(marks) = marks {
            let most = marks.without(passing).most;
            self.shorten_unanswered(&mut slots, &mut shown, most)?;
            notices.extend(exceeded(coming, marks, passing + shown.iter().sum::<u64>()));
        }
        Ok(NextRequest { edits: self.request.view.edits_to(slots, len), notices, cold_from })
    }

    /// Renders these messages, by their index in the window, as they are shown now.
    fn show_anew(
        &self,
        indexes: impl IntoIterator<Item = usize>,
        slots: &mut BTreeMap<usize, Vec<Slot>>,
        shown: &mut [u64],
    ) -> Result<()> {
        for index in indexes {
            let slot = self.slot(index)?;
            shown[index] = tokens_of(&slot);
            slots.insert(index, slot);
        }
        Ok(())
    }

    /// About how many tokens the request may take besides the messages of the window, before they
    /// are laid out.
    fn room_left(&self, marks: Option<Marks>) -> u64 {
        let Some(marks) = marks else { return u64::MAX };
        let sizes = &self.request.view.sizes;
        let sent: &[u64] = if self.rewrite.is_some() { &[] } else { sizes };
        let window = self.journal.state().window().skip(sent.len());
        let new: u64 = window.map(|(_, message)| message.tokens).sum();
        marks.most.saturating_sub(sent.iter().sum::<u64>() + new)
    }

    /// Takes the passing messages out of the sizes of the window's messages; returns their tokens.
    /// No cache holds them and they never leave, so nothing depends on them but what has room.
    fn passing_tokens(&self, shown: &mut [u64]) -> u64 {
        let passing = self.journal.state().chat().passing.indexes();
        passing.filter_map(|index| Some(std::mem::take(shown.get_mut(index)?))).sum()
    }

    /// Index in the window of the first message that the previous request did not have.
    fn first_new(&self) -> usize {
        let (state, is_passing) = (self.journal.state(), Some(Rewrite::Passing));
        let chat = state.chat();
        if !chat.passing.is_empty() || self.rewrite.map(|(how, _)| how) == is_passing {
            let is_new = |at: &u64| *at >= self.known && !chat.is_passing(*at);
            return chat.window.iter().position(is_new).unwrap_or(chat.window.len());
        }
        let known = state.bill().last.as_ref().map_or(0, |last| last.host_messages);
        usize::try_from(known).unwrap_or(usize::MAX)
    }

    /// Index in the window of the first message that no cache holds. `first_new`: index of the first
    /// message that the previous request did not have; `next`: see [`Self::as_it_is`].
    fn cold_from(
        &self,
        coming: &Coming,
        first_new: usize,
        next: &LazyCell<Next, impl FnOnce() -> Next>,
    ) -> usize {
        if !coming.warm {
            return 0;
        }
        if coming.follows && self.rewrite.is_none() {
            return first_new;
        }
        let state = self.journal.state();
        let held = coming.held(state, next.sent.prefixes());
        next.hosts.get(held).copied().flatten().unwrap_or(state.chat().window.len())
    }

    /// Whether a list that the host rewrote changes anything of the last request. A host that runs
    /// its turns itself takes some out again; what was before them goes out as it was.
    fn changes_what_was_sent(
        &self,
        how: Rewrite,
        next: &LazyCell<Next, impl FnOnce() -> Next>,
    ) -> bool {
        let last = &self.journal.state().requests().slots;
        let is_taken_out = how == Rewrite::Branch && self.list.kept_from != usize::MAX;
        match how {
            Rewrite::Passing => false,
            _ if is_taken_out && self.known == 0 => false,
            _ if is_taken_out => !next.sent.prefixes().starts_with(last.unchanged()),
            _ => !next.sent.prefixes().starts_with(last.prefixes()),
        }
    }

    /// The next request if no epoch starts. `slots`: those that changed.
    fn as_it_is(&self, slots: &BTreeMap<usize, Vec<Slot>>) -> Next {
        let chat = self.journal.state().chat();
        let mut request: Vec<&Slot> = self.request.view.slots.iter().collect();
        let edits = self.request.view.edits_to(slots.clone(), chat.window.len());
        for edit in &edits {
            drop(request.splice(edit.at..edit.at + edit.remove, &edit.insert));
        }
        let sent = SentSlots::of(request.iter().map(|slot| &slot.record), chat);
        Next { sent, hosts: request.iter().map(|slot| slot.host).collect() }
    }

    /// Shortens results that the model has not answered yet if the messages would have more than
    /// `most` tokens.
    fn shorten_unanswered(
        &mut self,
        slots: &mut BTreeMap<usize, Vec<Slot>>,
        shown: &mut [u64],
        most: u64,
    ) -> Result<()> {
        let mut long = fit::too_long(self.journal.state(), shown, most);
        long.retain(|(index, _)| *index < self.list.kept_from);
        if long.is_empty() {
            return Ok(());
        }
        let answer = self.newest_answer()?;
        let said = answer.as_ref().map(|answer| answer.said().join("\n")).unwrap_or_default();
        for (index, tokens) in long {
            let at = self.journal.state().chat().window[index];
            let message = self.request.message_at(self.journal, self.list, index)?;
            let id = message.key.calls.first();
            let calls = answer.iter().flat_map(|answer| &answer.calls);
            let call = calls.into_iter().find(|call| Some(&call.id) == id);
            let kind =
                call.map_or(ToolKind::Other, |call| Call::new(&call.tool, &call.args).kind());
            let Some(fact) = self.journal.state().result(at) else { continue };
            let text = &*message.output(fact);
            let beside = fact.kept_tokens.filter(|_| fact.within.is_some());
            let tokens =
                tokens.saturating_sub(beside.unwrap_or_else(|| message.tokens_beside_text()));
            let lines = fact.counted_lines();
            let said = &said;
            let output =
                preview::PreviewedOutput { text, tokens, kind, said, lines, standing: &[] };
            let treatment = fit::shortened(&output, self.options.counter, tokens);
            self.journal.record(Event::Treated { at, treatment });
            self.show_anew([index], slots, shown)?;
        }
        Ok(())
    }

    /// The model's newest answer.
    fn newest_answer(&self) -> Result<Option<HostMessage>> {
        let state = self.journal.state();
        let kinds: Vec<_> = state.window().map(|(_, message)| &message.kind).collect();
        let newest = kinds.iter().rposition(|kind| matches!(kind, MessageKind::Assistant));
        let message = newest.map(|index| {
            self.request.message_at(self.journal, self.list, index).map(Cow::into_owned)
        });
        message.transpose()
    }

    /// The slots of messages that are new or may look different now, by index in the window; none
    /// for a folded message.
    fn changed_slots(&self) -> Result<BTreeMap<usize, Vec<Slot>>> {
        let state = self.journal.state();
        let len = state.chat().window.len();
        let first = self.rewrite.map_or(self.list.skip, |(_, index)| index.min(self.list.skip));
        let first = first.min(self.request.view.of_host);
        let other = (0..first).filter(|index| self.rewrite.is_some() && self.folds_differ(*index));
        let same = self.rewrite.map_or(len, |(_, index)| index);
        let sent = self.request.recorded_contents(state);
        let mut slots = BTreeMap::new();
        for index in other.chain(first..len) {
            let at = state.chat().window[index];
            let slot = match sent.get(&at).filter(|_| index < same) {
                Some(content) => self.slot_as_sent(index, content)?,
                None => self.slot(index)?,
            };
            slots.insert(index, slot);
        }
        for index in self.without_memory_notes() {
            slots.insert(index, self.slot(index)?);
        }
        Ok(slots)
    }

    /// Whether the message at an index of the window was sent in another form than the folds now
    /// require: a fold ends where the host removes what follows it.
    fn folds_differ(&self, index: usize) -> bool {
        let state = self.journal.state();
        let at = state.chat().window[index];
        let Some(slot) = self.request.view.at_host(index) else { return !state.folds().hide(at) };
        let lines = match &slot.record {
            SlotRecord::Chat { folded, .. } => folded.as_deref(),
            _ => None,
        };
        state.folds().hide(at) || lines != log_layout::fold_lines(state, at).as_deref()
    }

    fn notice_of(&self, new: &epoch::NewEpoch) -> Notice {
        Notice::EpochStarted {
            epoch: self.journal.state().epoch() + 1,
            reason: new.reason.clone(),
            collapsed: new.collapsed,
            freed_tokens: new.freed_tokens,
        }
    }

    /// Records a new epoch; returns the window indexes whose messages may look different now.
    fn start_epoch(&mut self, new: epoch::NewEpoch) -> Result<BTreeSet<usize>> {
        for fold in &new.folds {
            self.journal.segment(fold.first..=fold.last, false)?;
        }
        let state = self.journal.state();
        let window = &state.chat().window;
        let treated: BTreeSet<u64> = new.treatments.iter().map(|(at, _)| *at).collect();
        let changed = |index: &usize| {
            let at = window[*index];
            treated.contains(&at) || !state.notes(at).is_empty()
        };
        let mut indexes: BTreeSet<usize> = (0..window.len()).filter(changed).collect();
        let keep_notes = state.newest_said().map(|(at, _)| at);
        let event = Event::Epoch {
            number: state.epoch() + 1,
            spent: keep_notes.map_or_else(Vec::new, |at| self.spent_notes(at, &new)),
            reason: new.reason,
            keep_notes,
            notes_before: new.notes_before,
            labels: self.labels(&new.treatments)?,
            treatments: new.treatments,
            folds: new.folds,
        };
        let folds = state.folds().clone();
        self.journal.record(event);
        let (window, now) = (&self.journal.state().chat().window, self.journal.state().folds());
        indexes.extend((0..window.len()).filter(|index| now.differ_at(window[*index], &folds)));
        Ok(indexes)
    }

    /// The additions to an epoch's reference lines about their objects, where there are any.
    fn labels(&self, treatments: &[(u64, Treatment)]) -> Result<Vec<(u64, String)>> {
        let state = self.journal.state();
        let mut labels = Vec::new();
        for (at, treatment) in treatments {
            let object = state.result(*at).and_then(|fact| fact.text_of());
            let is_told = |object: &&ObjectId| {
                !state.sets().is_indexed_only(object) && *treatment == Treatment::Reference
            };
            let Some(object) = object.filter(is_told) else {
                continue;
            };
            let label = self.journal.label(object)?;
            if !label.is_empty() {
                labels.push((*at, label));
            }
        }
        Ok(labels)
    }

    /// The slot of the message at an index of the window: none if it is folded, and two if notes
    /// stand before it.
    fn slot(&self, index: usize) -> Result<Vec<Slot>> {
        let state = self.journal.state();
        let at = state.chat().window[index];
        if state.folds().hide(at) {
            return Ok(Vec::new());
        }
        let message = self.request.message_at(self.journal, self.list, index)?;
        let has_crossed = matches!(message, Cow::Borrowed(_));
        let message = message.as_ref();
        if state.chat().get(at).is_some_and(ChatMessage::is_volatile) {
            return Ok(vec![Slot::of_volatile(index, message)]);
        }
        let is_gone = message.withheld.is_some() && *state.treatment(at) != Treatment::Reference;
        if let (true, false, Some(slot)) = (is_gone, has_crossed, self.request.view.at_host(index))
        {
            // Its text was forgotten meanwhile: the sent form stays.
            return Ok(vec![slot.clone()]);
        }
        let content = log_layout::render(state, at, message, self.journal)?;
        Ok(self.slots_with(index, message, content))
    }

    /// The slot of the message at an index of the window with the content that was sent.
    fn slot_as_sent(&self, index: usize, content: &str) -> Result<Vec<Slot>> {
        let at = self.journal.state().chat().window[index];
        let message = self.request.message_at(self.journal, self.list, index)?;
        if self.journal.state().folds().hide(at) || message.withheld.is_some() {
            return self.slot(index);
        }
        Ok(self.slots_with(index, &message, Some(content.to_owned())))
    }

    /// The slot of a message with this content and the lines of folded steps that it carries; before
    /// it, as a message of ours, the notes of one that the host sends itself.
    fn slots_with(
        &self,
        index: usize,
        message: &HostMessage,
        content: Option<String>,
    ) -> Vec<Slot> {
        let state = self.journal.state();
        let at = state.chat().window[index];
        let notes = Some(state.notes(at)).filter(|notes| !notes.is_empty() && state.is_kept(at));
        let ahead = notes.map(|notes| Slot::ahead_of(index, message, notes));
        let slot = match log_layout::fold_lines(state, at) {
            Some(lines) => Slot::of_carrier(index, at, message, content, lines),
            None => Slot::of_host(index, at, message, content),
        };
        ahead.into_iter().chain([slot]).collect()
    }

    /// The slot in `pools` of the message at an index of the window. An unchanged message stays as
    /// it was sent.
    fn pools_slot(&self, index: usize) -> Result<Slot> {
        let state = self.journal.state();
        let at = state.chat().window[index];
        let sent = self.request.view.at_host(index).filter(|slot| {
            let is_it = matches!(slot.record, SlotRecord::Chat { chat, .. } if chat == at);
            is_it && index < self.list.skip && self.rewrite.is_none()
        });
        if let Some(slot) = sent {
            return Ok(slot.clone());
        }
        let message = self.request.message_at(self.journal, self.list, index)?;
        Ok(pools_layout::chat_slot(state, index, at, &message))
    }

    /// The edits of the layout `pools`.
    pub(crate) fn pools_edits(&mut self, coming: &Coming) -> Result<NextRequest> {
        let len = self.journal.state().chat().window.len();
        let chat = (0..len).map(|index| self.pools_slot(index)).collect::<Result<Vec<_>>>()?;
        let before = &self.request.view.slots;
        let settings = &self.options.settings;
        let marks = coming.pressing_marks(self.options.filling(self.journal.state()));
        let limits = PoolLimits {
            marks,
            per_turn: settings.active_per_turn,
            turns: settings.active_turns,
            instruction_tokens: settings.instruction_tokens,
            // In a small window the pool leaves room for content. It stands at the front, so its
            // budget is the same in every call.
            pool_tokens: marks.map_or(settings.pool_tokens, |marks| {
                settings.pool_tokens.min((marks.most + marks.reserved) / 8)
            }),
            counter: self.options.counter,
        };
        let metadata = |id: &ObjectId| self.journal.pool_line(id).ok().flatten();
        let journal = &*self.journal;
        let slots =
            pools_layout::render(journal.state(), chat, before, &limits, journal, &metadata)?;
        let tokens = slots.iter().map(|slot| slot.tokens).sum();
        let notice = marks.and_then(|marks| exceeded(coming, marks, tokens));
        let edits = view::edits_between(before, &slots);
        let left_out = self.pins_without(&slots);
        let notices = notice.into_iter().chain(self.tell_of_pins(left_out)).collect();
        Ok(NextRequest { edits, notices, cold_from: 0 })
    }
}

/// Tokens of the slots of one message.
fn tokens_of(slots: &[Slot]) -> u64 {
    slots.iter().map(|slot| slot.tokens).sum()
}

/// The notice that a request does not fit the window, given the tokens of its messages.
fn exceeded(coming: &Coming, marks: Marks, tokens: u64) -> Option<Notice> {
    let tokens = coming.fixed + tokens;
    let window = marks.most + coming.fixed + marks.reserved;
    (tokens > window).then_some(Notice::WindowExceeded { tokens, window })
}
