//! The state of a session: the fold of its events. `reading` has the accessors, `moved` transfers a
//! moved file's state, `asked` holds what a person activated, `held` what must stand, `kept` what a
//! host sends itself, `measuring` what reports tell of sizes, and `continued` what another session left. `window` computes what stands at each message, and
//! `requests` what caches hold.

mod asked;
mod branches;
mod continued;
mod effects;
mod glimpses;
mod held;
mod host_calls;
mod kept;
mod measuring;
mod memory;
mod missed;
mod moved;
mod notes;
mod plain;
mod reading;
mod requests;
mod segments;
mod window;

use std::collections::{BTreeMap, HashSet};

pub use self::asked::Asked;
use self::branches::Branches;
pub use self::branches::LeftSums;
use self::continued::Continued;
pub use self::effects::Effect;
use self::glimpses::Glimpses;
pub use self::held::Ended;
use self::kept::Kept;
pub use self::memory::MemoryChange;
use self::memory::MemoryChanges;
pub use self::notes::Note;
use self::notes::Notes;
use self::plain::PlainCompactions;
pub use self::requests::Requests;
use super::absence::Absence;
use super::bill::Bill;
use super::chat::Chat;
use super::chat_place::ChatPlace;
use super::event::{Cause, Event, FileEvent, Opened, Rewrite};
use super::faults::FaultKind;
use super::files::FileVersions;
use super::folds::{Folds, can_carry};
use super::held::Why;
use super::index::{SessionIndex, Subject};
use super::links::Links;
use super::measured::ReportedRatios;
use super::message::{Activation, MessageKind, OutputClass, ResultFact, Shows};
use super::needs::{LATE_STEPS, Needs};
use super::record::CallRecord;
use super::report::ReportKind;
use super::sets::{ActiveView, Sets};
use super::showings::Showings;
use super::treatment::{Fold, Treatment};
use base::object::{FileStamp, Handle, Hash, ObjectId};

/// Size of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Tokens of the messages as sent.
    pub sent_tokens: u64,
    /// Tokens of the messages as the plain host would have sent them.
    pub plain_tokens: u64,
    /// Tokens of the model's window, if the host stated it.
    pub context_window: Option<u64>,
    /// Whether its layout was `pools`.
    pub in_pools: bool,
}

impl Sent {
    fn of(record: &CallRecord) -> Self {
        let CallRecord { sent_tokens, plain_tokens, context_window, .. } = *record;
        Self { sent_tokens, plain_tokens, context_window, in_pools: record.layout == "pools" }
    }
}

/// State of a session. Only [`Session::apply`] changes it.
#[derive(Debug, Clone, Default)]
pub struct Session {
    opened: Option<Opened>,
    is_confined: bool,
    has_prefixed_tools: bool,
    chat: Chat,
    index: SessionIndex,
    sets: Sets,
    /// Outputs in messages that are no results of calls, by position.
    outputs: BTreeMap<u64, ResultFact>,
    treatments: BTreeMap<u64, Treatment>,
    /// Labels of reference lines, by position.
    labels: BTreeMap<u64, String>,
    notes: Notes,
    glimpses: Glimpses,
    kept: Kept,
    continued: Continued,
    folds: Folds,
    /// Segments that the host compacted away and has not listed again.
    compacted: Vec<Handle>,
    showings: Showings,
    /// Whole texts of files in calls that wrote them, at the results.
    written: Showings,
    edited: BTreeMap<ObjectId, u32>,
    files: FileVersions,
    links: Links,
    /// Tokens of answers by our own tools since the newest call.
    coming_tokens: u64,
    effects: Vec<(String, Effect)>,
    asked: Vec<Asked>,
    /// Pins that ended since the newest call.
    ended: Vec<Ended>,
    /// Pinned objects for which the newest request had no room.
    left_out: Vec<ObjectId>,
    memory: MemoryChanges,
    needs: Needs,
    absence: Absence,
    places: Vec<ChatPlace>,
    own_tokens: u64,
    epoch: u32,
    calls: u64,
    sent: Option<Sent>,
    bill: Bill,
    measured: ReportedRatios,
    requests: Requests,
    branches: Branches,
    plain_compactions: PlainCompactions,
}

impl Session {
    /// Folds events into a state.
    pub fn replay<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut session = Self::default();
        for event in events {
            session.apply(event);
        }
        session
    }

    /// Applies one event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Opened(opened) => self.open(opened),
            Event::Confined { confined } => self.is_confined = *confined,
            Event::ToolsPrefixed => self.has_prefixed_tools = true,
            Event::File(file) => self.file(file),
            Event::Moved { from, to, same } => self.move_object(from, to, same.as_ref()),
            Event::Orphaned { object, reason } => self.files.orphan(object, reason),
            Event::Resumed { object } => self.files.resume(object),
            Event::Told { object, version } => {
                let stamp = self.stamp_of(object);
                self.files.announce(object, version, stamp);
            }
            Event::Touched { object } => self.files.touch(object),
            Event::Helped { object, text, tokens } => {
                self.files.told(object);
                self.notes.help(text, *tokens);
            }
            Event::ToldInPart { object, version } => self.files.tell_in_part(object, version),
            Event::ChangedBeside { object, told, version, others } => {
                self.files.change_beside(object, told, (version, others));
            }
            Event::Linked { object, version, tokens } => {
                self.links.follow(object, version, *tokens);
            }
            Event::Toolcall { object, tool, ok, version, shows, brief } => {
                let (tool, ok, version) = (tool.clone(), *ok, version.clone());
                let (shows, brief) = (shows.clone(), brief.clone());
                self.index.enter(object, Subject::Toolcall { tool, ok, version, shows, brief });
                self.sets.discover(object);
            }
            Event::Segment { object, version, first, last, compacted } => {
                self.enter_segment(object, version, (*first, *last), *compacted);
            }
            Event::Message { .. } => self.enter_message(event),
            Event::HoldsOutput { at, output } => {
                self.outputs.insert(*at, output.clone());
                self.activate_shown(*at, output);
            }
            Event::Passing { messages } => {
                let first = self.chat.pass(messages);
                self.request_passed(first);
            }
            Event::Continued { text } => self.continue_with(text),
            Event::Shown(shown) => self.kept.show(shown),
            Event::TurnCommitted { key } => self.kept.commit(key),
            Event::Edited { at, digest, kind, tokens, withheld } => {
                self.edit_message(*at, digest, kind, *tokens, *withheld);
            }
            Event::Rewritten { how, chat_len, window } => self.rewrite(*how, *chat_len, window),
            Event::StartedOver => self.start_over(),
            Event::Activated { .. } => self.activate(event),
            Event::Deactivated { object } => self.sets.deactivate(object),
            Event::LeftPool { object } => self.sets.leave_pool(object),
            Event::EnteredPool { object } => self.sets.enter_pool(object),
            Event::Unpinned { object } => self.sets.unpin(object),
            Event::Needed { at, outputs, words, said } => self.need(*at, outputs, *words, said),
            Event::Missed { kind, at, tokens } => {
                if at.is_none_or(|at| self.is_new(at)) {
                    self.absence.missed(*kind, *tokens);
                }
            }
            Event::Treated { at, treatment } => self.treat(*at, treatment),
            Event::Noted { .. } => self.take_note(event),
            Event::InForce { object, version, ranges, whole, at, tokens } => {
                let why = Why::Instructions { since: *at };
                self.hold((object, version, ranges), *whole, *tokens, (why, false));
            }
            Event::LeftOut { objects } => self.left_out.clone_from(objects),
            Event::MemoryChanged(change) => self.memory.changed(change.clone()),
            Event::MemoryRendered => self.memory.rendered(&mut self.notes.by_place),
            Event::Epoch { .. } => self.begin_epoch(event),
            Event::Called(record) => self.called(record),
            Event::Reported(reported) => {
                if self.bill.reported_usage(reported) {
                    self.measure_reported(reported);
                }
                if reported.kind == ReportKind::CacheWarm && reported.time.is_some() {
                    self.requests.touched(reported.time);
                }
            }
            Event::FailedOpen { calls } => self.note_failed(calls),
            Event::HostCalls(calls) => self.enter_host_calls(calls),
            Event::Payload(_) => {}
        }
    }

    fn enter_message(&mut self, event: &Event) {
        let Event::Message { key, digest, kind, tokens, withheld, kept, ours, opening } = event
        else {
            return;
        };
        let (key, digest, kind) = (key.clone(), digest.clone(), kind.clone());
        let at = self.chat.push(key, digest, kind, *tokens, *withheld, *opening);
        self.kept.note(at, *kept);
        self.notes.helped(at, *ours);
        self.own_tokens += self.own_tokens_of(at);
        self.pack(at);
        self.branch_grew(at);
        self.request_answered(at);
        self.glimpse(at);
        self.use_effect(at);
        self.enter_result(at);
    }

    fn take_note(&mut self, event: &Event) {
        let Event::Noted { at, text, asked, carried, about, tokens, shows } = event else {
            return;
        };
        if let Some(shown) = shows {
            self.files.show(&shown.object, &shown.version);
        }
        for file in about.iter().filter(|_| !carried) {
            self.files.told(file);
        }
        let (text, about, shows) = (text.clone(), about.clone(), shows.clone());
        let note = Note { text, about, tokens: *tokens, shows };
        self.memory.noted(&note);
        self.notes.add(*at, note);
        self.asked.retain(|_| !asked);
    }

    fn begin_epoch(&mut self, event: &Event) {
        let Event::Epoch {
            number,
            reason,
            keep_notes,
            spent,
            notes_before,
            treatments,
            labels,
            folds,
        } = event
        else {
            return;
        };
        self.epoch = *number;
        self.absence.epoch_began();
        self.bill.epoch_started(*number, reason, self.calls + 1);
        let told = self.told_files();
        self.drop_notes(|at| at >= *notes_before && Some(at) != *keep_notes);
        if let Some(at) = keep_notes {
            self.notes.spend(*at, spent);
        }
        self.fold(folds);
        for (at, treatment) in treatments {
            self.treat(*at, treatment);
        }
        self.labels.extend(labels.iter().cloned());
        self.note_left(told);
    }

    fn called(&mut self, record: &CallRecord) {
        let new = self.new_messages();
        let before = self.bill.last.as_ref().map(|last| last.bill.ours).unwrap_or_default();
        self.calls = record.number;
        self.chat.called();
        self.effects.clear();
        self.ended.clear();
        self.notes.called();
        self.memory.called();
        self.coming_tokens = 0;
        self.plain_called(record);
        self.measure_called(record, new, before);
        self.absence.called();
        self.branch_called();
        self.request_sent(record);
        self.sent = Some(Sent::of(record));
    }

    fn edit_message(
        &mut self,
        at: u64,
        digest: &Hash,
        kind: &MessageKind,
        tokens: u64,
        withheld: bool,
    ) {
        if let Some(before) = self.result(at).cloned() {
            let now = match kind {
                MessageKind::Result(fact) => Some(fact),
                _ => None,
            };
            self.replace_held(&before, now);
        }
        self.chat.edit(at, digest.clone(), kind.clone(), tokens, withheld);
        self.measured.edited(at);
        self.glimpses.edited(at);
        self.request_edited(at);
        self.outputs.remove(&at);
        self.treatments.remove(&at);
        self.labels.remove(&at);
        self.show(at);
        if self.chat.get(at).is_some_and(|message| !can_carry(message)) {
            let gone = self.folds.drop_carried(at);
            gone.iter().flat_map(|fold| fold.first..=fold.last).for_each(|at| self.show(at));
        }
    }

    fn file(&mut self, file: &FileEvent) {
        let subject = Subject::File {
            path: file.path.clone(),
            filesystem_id: file.filesystem_id.clone(),
            agent_path: file.agent_path.clone(),
            version: file.version.clone(),
            lines: file.lines,
            stamp: file.stamp,
        };
        // When a stamp becomes trustworthy depends on the machine's speed. What the model sees must
        // not.
        let brings_nothing = matches!(file.cause, Cause::Changed | Cause::Checked)
            && self.index.get(&file.object).is_some_and(|known| {
                matches!(&known.subject, Subject::File { version, .. } if *version == file.version)
            });
        self.index.enter(&file.object, subject);
        if !brings_nothing {
            self.sets.discover(&file.object);
        }
        let standing: Vec<u64> = self.showings(&file.object).map(|showing| showing.at).collect();
        let changed = self.files.enter(file, self.stands(&file.object), self.chat.step());
        if let Some(call) = &file.call {
            let (object, version) = (file.object.clone(), file.version.clone());
            let effect = match file.cause {
                cause if cause.by_model() => Effect::Changed(object, version, cause),
                _ => Effect::Read(object, version),
            };
            self.effects.push((call.clone(), effect));
        }
        if matches!(file.cause, Cause::Read | Cause::Edited | Cause::Written) {
            self.notes.saw(&file.object);
        }
        if file.cause.by_model() {
            let step = self.chat.messages.last().map_or(0, |message| message.step);
            self.edited.insert(file.object.clone(), step);
        }
        if changed {
            self.follow_held(&file.object, &file.version, file.lines);
            if file.lines.is_some() {
                self.sets.move_lines(&file.object, file.moved.as_ref());
            }
            for at in standing {
                self.show(at);
            }
        }
    }

    fn activate(&mut self, event: &Event) {
        let Event::Activated { view, pin, call, tokens, .. } = event else { return };
        let Some(activation) = Activation::of(event) else { return };
        let object = activation.object.clone();
        self.coming_tokens += tokens;
        if !call.is_empty() && self.had_left(&object, &activation.version, &activation.ranges) {
            self.absence.missed(FaultKind::Asked, *tokens);
        }
        self.count_return(|fact| fact.text_of() == Some(&object));
        self.sets.activate(&object, view.clone(), self.chat.turn());
        self.files.touch(&object);
        if *pin {
            let pinned = (&object, &activation.version, &*activation.ranges);
            self.pin(pinned, view, *tokens, call.is_empty());
        }
        self.effects.push((call.clone(), Effect::Activated(activation)));
        self.asked.extend(Asked::of(event));
    }

    /// A tool result activates its object and the file that it shows. A result without text (an
    /// image or a placeholder) stays in the chat as the host gave it and activates nothing.
    fn enter_result(&mut self, at: u64) {
        let Some(fact) = self.result(at).cloned() else { return };
        self.note_asked_again(&fact);
        self.note_missed(at, &fact);
        self.activate_shown(at, &fact);
    }

    /// Activates the object of an output, and the file that it shows.
    fn activate_shown(&mut self, at: u64, fact: &ResultFact) {
        if let Some(object) = fact.object.as_ref().filter(|_| fact.is_output) {
            self.sets.activate(object, ActiveView::Whole, self.chat.turn());
        }
        if let Shows::File { object, range, .. } = &fact.shows {
            let whole = matches!(
                self.subject(object),
                Some(Subject::File { lines: Some(lines), .. }) if range.first <= 1 && range.last >= *lines
            );
            let view = if whole { ActiveView::Whole } else { ActiveView::Lines(vec![*range]) };
            self.sets.activate(object, view, self.chat.turn());
        }
        self.show(at);
    }

    fn rewrite(&mut self, how: Rewrite, chat_len: u64, window: &[(u64, u64)]) {
        let window: Vec<u64> = window.iter().flat_map(|(first, last)| *first..=*last).collect();
        let told = self.told_files();
        let stays: HashSet<u64> = window.iter().copied().collect();
        let left_behind = self.files_leaving(&stays);
        self.request_cut(how, chat_len, &window);
        let back = self.leave_window(how, chat_len, (&window, &stays));
        if how == Rewrite::Passing {
            let own = self.chat.own_window.iter().copied();
            let passed: Vec<u64> = own.filter(|at| !stays.contains(at)).collect();
            self.chat.learn_passing(&passed);
        }
        if how == Rewrite::Branch {
            for at in chat_len..self.chat.len() {
                if let Some(object) = self.result(at).and_then(|fact| fact.object.clone()) {
                    self.sets.leave_behind(&object);
                }
            }
        }
        self.chat.rewrite(chat_len, window.clone());
        self.index.leave_segments(self.chat.len());
        self.drop_uncompacted(&window);
        self.places.truncate(usize::try_from(chat_len).unwrap_or(usize::MAX));
        self.bill.rewritten(how);
        self.plain_compactions.list_changed(how);
        self.branch_changed(how, back.as_ref());
        self.outputs.retain(|at, _| *at < chat_len);
        self.treatments.retain(|at, _| *at < chat_len);
        self.labels.retain(|at, _| *at < chat_len);
        self.notes.go_back(chat_len);
        self.measured.go_back(chat_len);
        self.glimpses.go_back(chat_len);
        self.kept.go_back(chat_len);
        self.sets
            .release(|held| matches!(held.why, Why::Instructions { since } if since >= chat_len));
        self.folds.drop_broken(&self.chat);
        self.showings.clear();
        self.written.clear();
        self.absence.forget();
        self.own_tokens = window.iter().map(|at| self.own_tokens_of(*at)).sum();
        for at in window {
            self.show(at);
        }
        self.note_left(told);
        self.leave_behind(left_behind);
    }

    fn treat(&mut self, at: u64, treatment: &Treatment) {
        self.labels.remove(&at);
        if *treatment == Treatment::Given {
            self.treatments.remove(&at);
        } else {
            if let Treatment::Current { object, version, .. } = treatment {
                // Everything that stands of the file is its present text.
                self.files.announce(object, version, None);
            }
            self.treatments.insert(at, treatment.clone());
        }
        self.show(at);
    }

    /// The stamp of a known file without text.
    pub fn stamp_of(&self, file: &ObjectId) -> Option<FileStamp> {
        match &self.index.get(file)?.subject {
            Subject::File { lines: None, stamp, .. } => *stamp,
            _ => None,
        }
    }

    fn need(&mut self, at: u64, outputs: &[(u64, u32)], words: u64, said: &[u64]) {
        let step_of = |at: u64| self.chat.get(at).map_or(0, |message| message.step);
        let now = step_of(at);
        for (output, _) in outputs {
            self.needs.output(*output, step_of(*output), now);
            self.absence.needed(*output);
        }
        for at in said {
            self.needs.own_words(*at, now);
        }
        if words > 0 && self.is_new(at) {
            self.absence.missed(FaultKind::Quoted, 0);
        }
    }

    /// Counts a late need if a result shows again what had left the window: text of the same file,
    /// or a repeated request's view of files. Other commands do not count, because they are run
    /// again for their new output.
    fn note_asked_again(&mut self, fact: &ResultFact) {
        match &fact.shows {
            Shows::File { object, .. } => self.count_return(|gone| gone.text_of() == Some(object)),
            Shows::Own if fact.class != OutputClass::Other => {
                self.count_return(|gone| gone.request == fact.request);
            }
            Shows::Own | Shows::Change { .. } | Shows::Activated { .. } => {}
        }
    }

    /// Counts a late need if one of these results had left the window.
    fn count_return(&mut self, is_it: impl Fn(&ResultFact) -> bool) {
        if self.returns(is_it) {
            self.needs.shown_again();
        }
    }

    /// Whether one of these results left the window and is old enough for a late need.
    fn returns(&self, is_it: impl Fn(&ResultFact) -> bool) -> bool {
        let now = self.chat.step();
        let is_late = |at: u64| self.chat.get(at).is_some_and(|m| now > m.step + LATE_STEPS);
        self.absence.places().any(|at| is_late(at) && self.result(at).is_some_and(&is_it))
    }

    fn fold(&mut self, folds: &[Fold]) {
        for fold in folds {
            self.folds.enter(fold, &self.chat);
            (fold.first..=fold.last).for_each(|at| self.show(at));
        }
    }
}
