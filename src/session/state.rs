//! The state of a session: the fold of its events.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::absence::{Absence, Amount};
use super::bill::Bill;
use super::chat::{Chat, ChatMessage};
use super::event::{Cause, Event, FileEvent, Fold, Opened, Rewrite, Treatment};
use super::excerpt;
use super::files::Files;
use super::folds::{self, Folds, can_carry};
use super::index::{SessionIndex, Subject};
use super::lines::LineRange;
use super::links::Links;
use super::message::{MessageKind, ResultFact, Shows};
use super::places::{Place, Role};
use super::sets::{Active, ActiveView, Sets};
use crate::object::{Handle, Hash, ObjectId};

/// Lines of an object that stand in the window, at one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Showing {
    /// Position of the message.
    pub at: u64,
    /// The object.
    pub object: ObjectId,
    /// `content_hash` of the version shown.
    pub version: Hash,
    /// The lines shown, of that version.
    pub ranges: Vec<LineRange>,
    /// Where those lines are in the latest version; empty if they are gone.
    pub now: Vec<LineRange>,
}

/// What a tool call did, noted when it ran; its result comes with the host's next list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// It read a version of a file.
    Read(ObjectId, Hash),
    /// It changed a file.
    Changed(ObjectId),
    /// It activated lines of a version of an object.
    Activated(ObjectId, Hash, Vec<LineRange>),
}

/// Size of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Tokens of the messages as sent.
    pub sent_tokens: u64,
    /// Tokens of the messages as the host would have sent them.
    pub plain_tokens: u64,
    /// Tokens of the model's window, where the host said so.
    pub context_window: Option<u64>,
}

/// An output of no more tokens than this is not missed: its line says about as much.
const SMALL_TOKENS: u64 = 60;

/// Steps after which a need counts as late: what the model needs sooner mostly stands anyway.
const LATE_STEPS: u32 = 10;

/// State of a session. Changes by [`Session::apply`] alone.
#[derive(Debug, Clone, Default)]
pub struct Session {
    opened: Option<Opened>,
    chat: Chat,
    index: SessionIndex,
    sets: Sets,
    treatments: BTreeMap<u64, Treatment>,
    notes: BTreeMap<u64, Vec<String>>,
    folds: Folds,
    showings: BTreeMap<u64, Showing>,
    edited: BTreeMap<ObjectId, u32>,
    files: Files,
    links: Links,
    effects: Vec<(String, Effect)>,
    late_needs: u64,
    absence: Absence,
    places: Vec<Place>,
    own_tokens: u64,
    epoch: u32,
    calls: u64,
    sent: Option<Sent>,
    bill: Bill,
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

    /// Takes one event.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Opened(opened) => self.opened = Some(opened.clone()),
            Event::File(file) => self.file(file),
            Event::Moved { from, to, same } => self.go_on_as(from, to, same.as_ref()),
            Event::Orphaned { object, reason } => self.files.orphan(object, reason),
            Event::Resumed { object } => self.files.resume(object),
            Event::Told { object, version } => self.files.tell(object, version),
            Event::Linked { object, version, tokens } => {
                self.links.follow(object, version, *tokens);
            }
            Event::Toolcall { object, tool, ok, version, shows, brief } => {
                let (tool, ok, version) = (tool.clone(), *ok, version.clone());
                let (shows, brief) = (shows.clone(), brief.clone());
                self.index.enter(object, Subject::Toolcall { tool, ok, version, shows, brief });
                self.sets.discover(object);
            }
            Event::Message { key, digest, kind, tokens, withheld } => {
                let (key, digest, tokens) = (key.clone(), digest.clone(), *tokens);
                let at = self.chat.push(key, digest, kind.clone(), tokens, *withheld);
                self.own_tokens += self.own_tokens_of(at);
                self.pack(at);
                self.settle_effect(at);
                self.enter_result(at);
            }
            Event::Edited { at, digest, kind, tokens, withheld } => {
                self.chat.edit(*at, digest.clone(), kind.clone(), *tokens, *withheld);
                self.treatments.remove(at);
                self.show(*at);
                if self.chat.get(*at).is_some_and(|message| !can_carry(message)) {
                    let gone = self.folds.drop_carried(*at);
                    gone.iter()
                        .flat_map(|fold| fold.first..=fold.last)
                        .for_each(|at| self.show(at));
                }
            }
            Event::Rewritten { how, chat_len, window } => self.rewrite(*how, *chat_len, window),
            Event::Activated { object, version, view, pin, call, ranges } => {
                self.sets.activate(object, view.clone(), self.chat.turn());
                if *pin {
                    self.sets.pin(object);
                }
                let effect = Effect::Activated(object.clone(), version.clone(), ranges.clone());
                self.effects.push((call.clone(), effect));
            }
            Event::Deactivated { object } => self.sets.deactivate(object),
            Event::Unpinned { object } => self.sets.unpin(object),
            Event::Needed { at, outputs } => self.need(*at, outputs),
            Event::Treated { at, treatment } => self.treat(*at, treatment),
            Event::Noted { at, text } => self.notes.entry(*at).or_default().push(text.clone()),
            Event::Epoch { number, reason, keep_notes, treatments, folds } => {
                self.epoch = *number;
                self.absence.epoch_began();
                self.bill.epoch_started(*number, reason, self.calls + 1);
                self.notes.retain(|at, _| Some(*at) == *keep_notes);
                self.fold(folds);
                for (at, treatment) in treatments {
                    self.treat(*at, treatment);
                }
            }
            Event::Called(record) => {
                self.calls = record.number;
                self.effects.clear();
                self.absence.called();
                self.bill.called(record, self.chat.window().len() as u64);
                self.sent = Some(Sent {
                    sent_tokens: record.sent_tokens,
                    plain_tokens: record.plain_tokens,
                    context_window: record.context_window,
                });
            }
            Event::Reported(reported) => self.bill.reported_usage(reported),
            Event::FailedOpen { calls } => self.calls += calls.len() as u64,
            Event::Payload(_) => {}
        }
    }

    /// Where the session comes from; `None` before the first event.
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// The chat.
    pub fn chat(&self) -> &Chat {
        &self.chat
    }

    /// The session index.
    pub fn index(&self) -> &SessionIndex {
        &self.index
    }

    /// Pool, active and pinned set.
    pub fn sets(&self) -> &Sets {
        &self.sets
    }

    /// Number of the epoch, from 0.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Number of calls so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Size of the newest call.
    pub fn sent(&self) -> Option<Sent> {
        self.sent
    }

    /// The ledger: what the calls cost, beside the plain host.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// Needs of what did not stand, since the newest call.
    pub fn faults(&self) -> Amount {
        self.absence.faults()
    }

    /// Tokens of the window's messages that the plain host has not: calls of our own tools and their results.
    pub fn own_tokens(&self) -> u64 {
        self.own_tokens
    }

    /// Whether the plain host would not make the coming call: since the call before the model used our own tools alone.
    pub fn is_extra_call(&self) -> bool {
        let mut results =
            self.window().rev().map(|(at, _)| self.result(at)).take_while(Option::is_some);
        let newest = results.next().flatten();
        newest.is_some_and(ResultFact::is_own) && results.flatten().all(ResultFact::is_own)
    }

    /// The message at a position of the chat, packed.
    pub fn place(&self, at: u64) -> Place {
        let place = usize::try_from(at).ok().and_then(|at| self.places.get(at));
        place.copied().unwrap_or_default()
    }

    /// Positions of the messages that carry notes.
    pub fn noted(&self) -> impl Iterator<Item = u64> {
        self.notes.keys().copied()
    }

    /// How a message is shown.
    pub fn treatment(&self, at: u64) -> &Treatment {
        self.treatments.get(&at).unwrap_or(&Treatment::Given)
    }

    /// Notes shown in a message.
    pub fn notes(&self, at: u64) -> &[String] {
        self.notes.get(&at).map_or(&[], Vec::as_slice)
    }

    /// Handle of an object in this session.
    pub fn handle(&self, id: &ObjectId) -> Option<Handle> {
        self.index.get(id).map(|entry| entry.handle)
    }

    /// What a tool call asked for, in a few words; empty where that is not known, or what it shows says it.
    pub fn brief(&self, toolcall: &ObjectId) -> &str {
        match self.index.get(toolcall).map(|entry| &entry.subject) {
            Some(Subject::Toolcall { brief, .. }) => brief,
            _ => "",
        }
    }

    /// Late needs per call so far, smoothed: lines that the model wrote and had from an output of more than
    /// [`LATE_STEPS`] steps before.
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn late_needs(&self) -> f64 {
        (self.late_needs as f64 + 0.5) / (f64::from(self.chat.step()) + 50.0)
    }

    /// The tool result at a position of the chat.
    pub fn result(&self, at: u64) -> Option<&ResultFact> {
        match &self.chat.get(at)?.kind {
            MessageKind::Result(fact) => Some(fact),
            _ => None,
        }
    }

    /// The window's messages with their positions.
    pub fn window(&self) -> impl DoubleEndedIterator<Item = (u64, &ChatMessage)> {
        self.chat.window().iter().filter_map(|at| Some((*at, self.chat.get(*at)?)))
    }

    /// The window's messages that go out, with their positions: all but the folded ones.
    pub fn shown_window(&self) -> impl DoubleEndedIterator<Item = (u64, &ChatMessage)> {
        self.window().filter(|(at, _)| !self.folds.hide(*at))
    }

    /// The folded steps.
    pub fn folds(&self) -> &Folds {
        &self.folds
    }

    /// Position of the user message that carries the line for steps which begin at a position, if one can.
    pub fn carrier(&self, first: u64) -> Option<u64> {
        folds::carrier(&self.chat, first)
    }

    /// The state as it is when these steps are folded too.
    pub fn with_folds(&self, folds: &[Fold]) -> Cow<'_, Self> {
        let mut session = Cow::Borrowed(self);
        if !folds.is_empty() {
            session.to_mut().fold(folds);
        }
        session
    }

    /// What stands in the window of an object, in the order of the messages.
    pub fn showings<'a>(
        &'a self,
        object: &'a ObjectId,
    ) -> impl DoubleEndedIterator<Item = &'a Showing> {
        self.showings.values().filter(move |showing| showing.object == *object)
    }

    /// Everything that stands in the window of objects other than a result's own text.
    pub fn all_showings(&self) -> impl Iterator<Item = &Showing> {
        self.showings.values()
    }

    /// An agent's path as the model sees it in `log`: relative to the working folder where it lies inside. Of a file it is
    /// [`Subject::agent_path`].
    pub fn shown_path<'a>(&self, path: &'a str) -> &'a str {
        let cwd = self.opened.as_ref().map_or("", |opened| opened.cwd.as_str());
        let inside = path.strip_prefix(cwd).and_then(|rest| rest.strip_prefix(['/', '\\']));
        inside.filter(|rest| !cwd.is_empty() && !rest.is_empty()).unwrap_or(path)
    }

    /// The files that the model changed, each with the step in which it last did.
    pub fn edited_files(&self) -> impl Iterator<Item = (&ObjectId, u32)> {
        self.edited.iter().map(|(file, step)| (file, *step))
    }

    /// The active set by the collapse window of SSOT 4.3: of the toolcalls the newest `per_turn` of each of the last `turns`
    /// turns, the current one included; pinned objects and files as they are.
    pub fn active_by_window(&self, per_turn: u64, turns: u64) -> Vec<&Active> {
        let oldest = (u64::from(self.chat.turn()) + 1).saturating_sub(turns);
        let mut in_turn: HashMap<u32, u64> = HashMap::new();
        let mut kept: Vec<&Active> = self
            .sets
            .active()
            .rev()
            .filter(|active| {
                let is_toolcall = matches!(
                    self.index.get(&active.id).map(|entry| &entry.subject),
                    Some(Subject::Toolcall { .. })
                );
                if !is_toolcall || self.sets.is_pinned(&active.id) {
                    return true;
                }
                let count = in_turn.entry(active.turn).or_default();
                *count += 1;
                *count <= per_turn && u64::from(active.turn) >= oldest
            })
            .collect();
        kept.reverse();
        kept
    }

    /// The links that were followed.
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// Files with text that are active or that the model changed, in order of entry: ID, path, latest version.
    pub fn files_with_known_text(&self) -> impl Iterator<Item = (&ObjectId, &str, &Hash)> {
        self.index.entries().iter().filter_map(|entry| match &entry.subject {
            Subject::File { path, version, lines: Some(_), .. }
                if self.index.is_shown(entry)
                    && (self.sets.is_active(&entry.id) || self.edited.contains_key(&entry.id)) =>
            {
                Some((&entry.id, path.as_str(), version))
            }
            _ => None,
        })
    }

    /// What calls with a provider's ID did since the last request, in order; local servers repeat IDs.
    pub fn effects<'a>(&'a self, call: &'a str) -> impl Iterator<Item = &'a Effect> {
        self.effects.iter().filter(move |(id, _)| id == call).map(|(_, effect)| effect)
    }

    /// The version of a file that the model was told of last, or made itself.
    pub fn told(&self, file: &ObjectId) -> Option<&Hash> {
        self.files.told(file)
    }

    /// The object as which a file goes on that was moved; itself where it was not, or where another was met in its place.
    pub fn current<'a>(&'a self, file: &'a ObjectId) -> &'a ObjectId {
        self.files.current(file)
    }

    /// The objects that a file was before it was moved, in the order of the moves: versions of theirs are among those known
    /// of it.
    pub fn origins(&self, file: &ObjectId) -> &[ObjectId] {
        self.files.origins(file)
    }

    /// Whether any file was moved since the session began.
    pub fn has_moved_files(&self) -> bool {
        self.files.any_moved()
    }

    /// The path under which the model knows a file that was moved, until it is told; `None` for others.
    pub fn told_at(&self, file: &ObjectId) -> Option<&str> {
        self.files.told_at(file)
    }

    /// Why a file is out of reach: neither can it be looked at nor is it known to be deleted. `None` where it is not.
    pub fn orphaned(&self, file: &ObjectId) -> Option<&str> {
        self.files.orphaned(file)
    }

    /// The newest version of a file whose text the model saw, made itself or was told of; `None` if there is none. Unlike
    /// [`Self::told`], what changed while nothing of the file stood does not count.
    pub fn seen(&self, file: &ObjectId) -> Option<&Hash> {
        self.files.seen(file)
    }

    /// The files of which the model saw text, in the order in which it first did.
    pub fn seen_files(&self) -> &[ObjectId] {
        self.files.all_seen()
    }

    /// Where lines of a version of an object are in its latest one; empty if they are gone, or nobody can say.
    pub fn lines_now(
        &self,
        object: &ObjectId,
        version: &Hash,
        ranges: &[LineRange],
    ) -> Vec<LineRange> {
        self.files.lines_now(object, version, ranges)
    }

    /// What of an object would stand at a message under a treatment.
    pub fn showing_as(&self, at: u64, treatment: &Treatment) -> Option<Showing> {
        let (object, version, ranges) = match (treatment, &self.result(at)?.shows) {
            (Treatment::Current { object, version, ranges, .. }, _)
            | (Treatment::Given, Shows::Activated { object, version, ranges }) => {
                (object, version, ranges.clone())
            }
            (Treatment::Given, Shows::File { object, version, range }) => {
                (object, version, vec![*range])
            }
            (Treatment::Reread { parts }, Shows::File { object, version, .. }) => {
                let here = parts.iter().filter(|part| part.stands_at.is_none());
                (object, version, here.map(|part| part.range).collect())
            }
            _ => return None,
        };
        if ranges.is_empty() {
            return None;
        }
        let now = self.lines_now(object, version, &ranges);
        Some(Showing { at, object: object.clone(), version: version.clone(), ranges, now })
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
        // When a file gets a stamp that is trusted depends on the speed of the machine: what is shown must not.
        let brings_nothing = matches!(file.cause, Cause::Changed | Cause::Checked)
            && self.index.get(&file.object).is_some_and(|known| {
                matches!(&known.subject, Subject::File { version, .. } if *version == file.version)
            });
        self.index.enter(&file.object, subject);
        if !brings_nothing {
            self.sets.discover(&file.object);
        }
        let standing: Vec<u64> = self.showings(&file.object).map(|showing| showing.at).collect();
        let changed = self.files.enter(file, !standing.is_empty());
        if let Some(call) = &file.call {
            let object = file.object.clone();
            let effect = if file.cause.by_model() {
                Effect::Changed(object)
            } else {
                Effect::Read(object, file.version.clone())
            };
            self.effects.push((call.clone(), effect));
        }
        if file.cause.by_model() {
            let step = self.chat.messages().last().map_or(0, |message| message.step);
            self.edited.insert(file.object.clone(), step);
        }
        if changed {
            self.sets.move_lines(&file.object, file.moved.as_ref());
            for at in standing {
                self.show(at);
            }
        }
    }

    /// From here on the old object occurs in the state only where it is met anew.
    fn go_on_as(&mut self, from: &ObjectId, to: &ObjectId, same: Option<&Hash>) {
        let Some(subject) = self.index.get(from).map(|entry| entry.subject.clone()) else { return };
        let path = subject.agent_path().to_owned();
        let Subject::File { version, .. } = subject else { return };
        let same = same.map(|now| (&version, now));
        let go_on = |object: &mut ObjectId, of: Option<&mut Hash>| {
            if object != from {
                return;
            }
            *object = to.clone();
            if let (Some(of), Some((was, now))) = (of, same)
                && of == was
            {
                *of = now.clone();
            }
        };
        self.chat.all_shows().chain(self.index.all_shows()).for_each(|shows| match shows {
            Shows::File { object, version, .. } | Shows::Activated { object, version, .. } => {
                go_on(object, Some(version));
            }
            Shows::Change { object } => go_on(object, None),
            Shows::Own => {}
        });
        for treatment in self.treatments.values_mut() {
            if let Treatment::Current { object, version, .. } = treatment {
                go_on(object, Some(version));
            }
        }
        for (_, effect) in &mut self.effects {
            match effect {
                Effect::Read(object, version) | Effect::Activated(object, version, _) => {
                    go_on(object, Some(version));
                }
                Effect::Changed(object) => go_on(object, None),
            }
        }
        if let Some(step) = self.edited.remove(from) {
            let known = self.edited.entry(to.clone()).or_insert(step);
            *known = step.max(*known);
        }
        self.files.go_on_as((from, &path), to, same);
        self.index.go_on_as(from, to, same.map(|(_, now)| now));
        self.sets.go_on_as(from, to);
        self.links.leave(from);
        let shown =
            self.showings.iter().filter(|(_, showing)| [from, to].contains(&&showing.object));
        let shown: Vec<u64> = shown.map(|(at, _)| *at).collect();
        for at in shown {
            self.show(at);
        }
    }

    /// The effect that a result shows belongs to no other result.
    fn settle_effect(&mut self, at: u64) {
        let Some(message) = self.chat.get(at) else { return };
        let (Some(call), MessageKind::Result(fact)) = (message.key.calls.first(), &message.kind)
        else {
            return;
        };
        let is_shown = |effect: &Effect| match (effect, &fact.shows) {
            (Effect::Read(file, read), Shows::File { object, version, .. }) => {
                file == object && read == version
            }
            (Effect::Changed(file), Shows::Change { object }) => file == object,
            (
                Effect::Activated(activated, of, lines),
                Shows::Activated { object, version, ranges },
            ) => activated == object && of == version && lines == ranges,
            _ => false,
        };
        let place = self.effects.iter().position(|(id, effect)| id == call && is_shown(effect));
        if let Some(place) = place {
            self.effects.remove(place);
        }
    }

    /// A tool result makes its object active (SSOT 4.3 and 5.6), and the file that it shows. What is more than one text
    /// (images) stands in the chat as the host gave it and is not activated.
    fn enter_result(&mut self, at: u64) {
        let Some(fact) = self.result(at).cloned() else { return };
        if let Some(object) = fact.object.as_ref().filter(|_| fact.plain) {
            self.sets.activate(object, ActiveView::Whole, self.chat.turn());
        }
        if let Shows::File { object, range, .. } = &fact.shows {
            let whole = matches!(
                self.index.get(object).map(|entry| &entry.subject),
                Some(Subject::File { lines: Some(lines), .. }) if range.first <= 1 && range.last >= *lines
            );
            let view = if whole { ActiveView::Whole } else { ActiveView::Lines(vec![*range]) };
            self.sets.activate(object, view, self.chat.turn());
        }
        self.show(at);
    }

    fn rewrite(&mut self, how: Rewrite, chat_len: u64, window: &[(u64, u64)]) {
        let window: Vec<u64> = window.iter().flat_map(|(first, last)| *first..=*last).collect();
        if how == Rewrite::Branch {
            for at in chat_len..self.chat.len() {
                if let Some(object) = self.result(at).and_then(|fact| fact.object.clone()) {
                    self.sets.leave_behind(&object);
                }
            }
        }
        self.chat.rewrite(chat_len, window.clone());
        self.places.truncate(usize::try_from(chat_len).unwrap_or(usize::MAX));
        self.bill.rewritten(how, chat_len);
        self.treatments.retain(|at, _| *at < chat_len);
        self.notes.retain(|at, _| *at < chat_len);
        self.folds.settle(&self.chat);
        self.showings.clear();
        self.absence.forget();
        self.own_tokens = window.iter().map(|at| self.own_tokens_of(*at)).sum();
        for at in window {
            self.show(at);
        }
    }

    fn treat(&mut self, at: u64, treatment: &Treatment) {
        let mut treatment = treatment.clone();
        if let Treatment::Excerpt { pieces } = &mut treatment {
            excerpt::settle_lines(pieces, self.result(at).map_or(0, |fact| fact.lines));
        }
        if treatment == Treatment::Given {
            self.treatments.remove(&at);
        } else {
            self.treatments.insert(at, treatment);
        }
        self.show(at);
    }

    fn need(&mut self, at: u64, outputs: &[(u64, u32)]) {
        let step_of = |at: u64| self.chat.get(at).map_or(0, |message| message.step);
        let now = step_of(at);
        let late = outputs.iter().filter(|(output, _)| now > step_of(*output) + 1 + LATE_STEPS);
        self.late_needs += late.map(|(_, lines)| u64::from(*lines)).sum::<u64>();
        for (output, _) in outputs {
            self.absence.needed(*output);
        }
    }

    fn fold(&mut self, folds: &[Fold]) {
        for fold in folds {
            self.folds.enter(fold, &self.chat);
            (fold.first..=fold.last).for_each(|at| self.show(at));
        }
    }

    /// Works out anew what stands at a message.
    fn show(&mut self, at: u64) {
        let showing = self.showing_as(at, self.treatment(at)).filter(|_| !self.folds.hide(at));
        match showing {
            Some(showing) => {
                self.files.show(&showing.object, &showing.version);
                self.showings.insert(at, showing);
            }
            None => drop(self.showings.remove(&at)),
        }
        self.absence.settle(at, self.absent_tokens(at));
        self.pack(at);
    }

    /// Packs a message for the decision.
    fn pack(&mut self, at: u64) {
        let (Ok(index), Some(message)) = (usize::try_from(at), self.chat.get(at)) else { return };
        let role = match &message.kind {
            MessageKind::User => Role::User,
            MessageKind::Assistant => Role::Answer,
            MessageKind::Result(fact) if fact.plain => Role::Output,
            MessageKind::Result(_) => Role::Result,
            MessageKind::Other => Role::Other,
        };
        let stands = *self.treatment(at) != Treatment::Reference;
        let place = Place { step: message.step, role, stands, hidden: self.folds.hide(at) };
        if index >= self.places.len() {
            self.places.resize(index + 1, Place::default());
        }
        self.places[index] = place;
    }

    /// Tokens of a message of which not all stands; `None` where all of it does, or nothing of it can be missed.
    fn absent_tokens(&self, at: u64) -> Option<u64> {
        let message = self.chat.get(at)?;
        let is_hidden = self.folds.hide(at);
        let absent = match message.kind {
            MessageKind::Assistant => is_hidden,
            MessageKind::Result(_) => {
                // Of an excerpt it is not known whether the lines needed are those shown.
                let collapsed = *self.treatment(at) == Treatment::Reference;
                (is_hidden || collapsed) && message.tokens > SMALL_TOKENS
            }
            MessageKind::User | MessageKind::Other => false,
        };
        absent.then_some(message.tokens)
    }

    /// Tokens of a result of one of our own tools, and of the answer that called it alone.
    fn own_tokens_of(&self, at: u64) -> u64 {
        if !self.result(at).is_some_and(ResultFact::is_own) {
            return 0;
        }
        let of = |at: u64| self.chat.get(at).map_or(0, |message| message.tokens);
        let call = at.checked_sub(1).and_then(|before| self.chat.get(before));
        let alone = call.filter(|call| {
            matches!(call.kind, MessageKind::Assistant) && call.key.calls.len() == 1
        });
        of(at) + alone.map_or(0, |call| call.tokens)
    }
}
