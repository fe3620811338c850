//! The state of a session: the fold of its events.

use std::collections::{BTreeMap, HashMap};

use super::chat::{Chat, ChatMessage, MessageKind};
use super::event::{Event, FileEvent, Opened, ResultFact, Shows, Treatment};
use super::index::{SessionIndex, Subject};
use super::lines::{LineMap, LineRange};
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

/// Size of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Tokens of the messages as sent.
    pub sent_tokens: u64,
    /// Tokens of the messages as the host would have sent them.
    pub plain_tokens: u64,
}

/// State of a session. Changes by [`Session::apply`] alone.
#[derive(Debug, Clone, Default)]
pub struct Session {
    opened: Option<Opened>,
    chat: Chat,
    index: SessionIndex,
    sets: Sets,
    treatments: BTreeMap<u64, Treatment>,
    notes: BTreeMap<u64, Vec<String>>,
    showings: BTreeMap<u64, Showing>,
    edited: HashMap<ObjectId, u32>,
    versions: HashMap<ObjectId, Vec<(Hash, Option<LineMap>)>>,
    calls_show: HashMap<String, Shows>,
    calls_read: HashMap<String, (ObjectId, Hash)>,
    epoch: u32,
    calls: u64,
    sent: Option<Sent>,
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
            Event::Toolcall { object, tool, ok, version } => {
                let (tool, ok, version) = (tool.clone(), *ok, version.clone());
                self.index.enter(object, Subject::Toolcall { tool, ok, version });
                self.sets.discover(object);
            }
            Event::Message { key, digest, kind, tokens } => {
                let at = self.chat.push(key.clone(), digest.clone(), kind.clone(), *tokens);
                self.enter_result(at);
            }
            Event::Edited { at, digest, kind, tokens } => {
                self.chat.edit(*at, digest.clone(), kind.clone(), *tokens);
                self.treatments.remove(at);
                self.show(*at);
            }
            Event::Rewritten { chat_len, window, .. } => self.rewrite(*chat_len, window),
            Event::Activated { object, version, view, pin, call, ranges } => {
                self.sets.activate(object, view.clone(), self.chat.turn());
                if *pin {
                    self.sets.pin(object);
                }
                let shows = Shows::Activated {
                    object: object.clone(),
                    version: version.clone(),
                    ranges: ranges.clone(),
                };
                self.calls_show.insert(call.clone(), shows);
            }
            Event::Deactivated { object } => self.sets.deactivate(object),
            Event::Unpinned { object } => self.sets.unpin(object),
            Event::Treated { at, treatment } => self.treat(*at, treatment),
            Event::Noted { at, text } => self.notes.entry(*at).or_default().push(text.clone()),
            Event::Epoch { number, keep_notes, treatments, .. } => {
                self.epoch = *number;
                self.notes.retain(|at, _| Some(*at) == *keep_notes);
                for (at, treatment) in treatments {
                    self.treat(*at, treatment);
                }
            }
            Event::Called(record) => {
                self.calls = record.number;
                self.sent = Some(Sent {
                    sent_tokens: record.sent_tokens,
                    plain_tokens: record.plain_tokens,
                });
            }
            Event::FailedOpen { calls } => self.calls += calls.len() as u64,
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

    /// A path as the model sees it in `log`: relative to the working folder where it lies inside.
    pub fn shown_path<'a>(&self, path: &'a str) -> &'a str {
        let cwd = self.opened.as_ref().map_or("", |opened| opened.cwd.as_str());
        let inside = path.strip_prefix(cwd).and_then(|rest| rest.strip_prefix(['/', '\\']));
        inside.filter(|rest| !cwd.is_empty() && !rest.is_empty()).unwrap_or(path)
    }

    /// Step in which the model last changed a file.
    pub fn edited_in_step(&self, file: &ObjectId) -> Option<u32> {
        self.edited.get(file).copied()
    }

    /// The active set by the collapse window of SSOT 4.3: of the toolcalls the newest `per_turn` of each of the last `turns`
    /// turns, the current one included; pinned objects and files as they are.
    pub fn active_by_window(&self, per_turn: u64, turns: u64) -> Vec<&Active> {
        let oldest = (u64::from(self.chat.turn()) + 1).saturating_sub(turns);
        let mut in_turn: HashMap<u32, u64> = HashMap::new();
        let mut kept: Vec<&Active> = self
            .sets
            .active()
            .iter()
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

    /// What the result of a call will show, where that was settled when it ran: a change of a file, or an activation.
    pub fn call_shows(&self, call: &str) -> Option<&Shows> {
        self.calls_show.get(call)
    }

    /// The file and its version that a call read.
    pub fn call_read(&self, call: &str) -> Option<&(ObjectId, Hash)> {
        self.calls_read.get(call)
    }

    fn file(&mut self, file: &FileEvent) {
        let subject = Subject::File {
            path: file.path.clone(),
            version: file.version.clone(),
            lines: file.lines,
            stamp: file.stamp,
        };
        let versions = self.versions.entry(file.object.clone()).or_default();
        let changed = versions.last().is_some_and(|(version, _)| *version != file.version);
        if changed || versions.is_empty() {
            versions.push((file.version.clone(), file.moved.clone()));
        }
        self.index.enter(&file.object, subject);
        self.sets.discover(&file.object);
        if let Some(call) = &file.call {
            if file.cause.by_model() {
                self.calls_show.insert(call.clone(), Shows::Change { object: file.object.clone() });
            } else {
                self.calls_read.insert(call.clone(), (file.object.clone(), file.version.clone()));
            }
        }
        if file.cause.by_model() {
            let step = self.chat.messages().last().map_or(0, |message| message.step);
            self.edited.insert(file.object.clone(), step);
        }
        if changed {
            self.sets.move_lines(&file.object, file.moved.as_ref());
            let stale = self.showings.values().filter(|showing| showing.object == file.object);
            for at in stale.map(|showing| showing.at).collect::<Vec<_>>() {
                self.show(at);
            }
        }
    }

    /// Where lines of a version of an object are in its latest one; empty if they are gone, or nobody can say.
    pub fn lines_now(
        &self,
        object: &ObjectId,
        version: &Hash,
        ranges: &[LineRange],
    ) -> Vec<LineRange> {
        let Some(versions) = self.versions.get(object) else { return ranges.to_vec() };
        let Some(place) = versions.iter().rposition(|(known, _)| known == version) else {
            return Vec::new();
        };
        let moves = versions[place + 1..].iter().map(|(_, moved)| moved);
        moves.fold(ranges.to_vec(), |ranges, moved| match moved {
            Some(map) => ranges.into_iter().filter_map(|range| map.map(range)).collect(),
            None => Vec::new(),
        })
    }

    /// A tool result makes its object active (SSOT 4.3 and 5.6), and the file that it shows.
    fn enter_result(&mut self, at: u64) {
        let Some(fact) = self.result(at).cloned() else { return };
        if let Some(object) = &fact.object {
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

    fn rewrite(&mut self, chat_len: u64, window: &[(u64, u64)]) {
        let window: Vec<u64> = window.iter().flat_map(|(first, last)| *first..=*last).collect();
        self.chat.rewrite(chat_len, window.clone());
        self.treatments.retain(|at, _| *at < chat_len);
        self.notes.retain(|at, _| *at < chat_len);
        self.showings.clear();
        for at in window {
            self.show(at);
        }
    }

    fn treat(&mut self, at: u64, treatment: &Treatment) {
        if *treatment == Treatment::Given {
            self.treatments.remove(&at);
        } else {
            self.treatments.insert(at, treatment.clone());
        }
        self.show(at);
    }

    /// Works out anew what stands at a message.
    fn show(&mut self, at: u64) {
        self.showings.remove(&at);
        let Some((object, version, ranges)) = self.shown_at(at) else { return };
        if ranges.is_empty() {
            return;
        }
        let now = self.lines_now(&object, &version, &ranges);
        self.showings.insert(at, Showing { at, object, version, ranges, now });
    }

    fn shown_at(&self, at: u64) -> Option<(ObjectId, Hash, Vec<LineRange>)> {
        let fact = self.result(at)?;
        match (self.treatment(at), &fact.shows) {
            (Treatment::Current { object, version, ranges, .. }, _)
            | (Treatment::Given, Shows::Activated { object, version, ranges }) => {
                Some((object.clone(), version.clone(), ranges.clone()))
            }
            (Treatment::Given, Shows::File { object, version, range }) => {
                Some((object.clone(), version.clone(), vec![*range]))
            }
            (Treatment::Reread { parts }, Shows::File { object, version, .. }) => {
                let here = parts.iter().filter(|part| part.stands_at.is_none());
                Some((object.clone(), version.clone(), here.map(|part| part.range).collect()))
            }
            _ => None,
        }
    }
}
