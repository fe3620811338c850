//! Accessors of a session's state. Must not change it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::{Asked, Effect, Sent, Session};
use crate::absence::Amount;
use crate::chat_place::ChatPlace;
use crate::event::Opened;
use crate::faults::Faults;
use crate::files::FileVersions;
use crate::folds::{self, Folds};
use crate::index::{IndexEntry, SessionIndex, Subject};
use crate::links::Links;
use crate::message::{MessageKind, OWN_PREFIX, ResultFact, Shows, is_own_tool};
use crate::needs::TimesNeeded;
use crate::sets::{Active, Sets};
use crate::showings::Showing;
use crate::treatment::{Fold, Treatment};
use crate::{Bill, Chat, ChatMessage};
use base::object::{Handle, Hash, ObjectId};

impl Session {
    /// Where the session comes from; `None` before the first event.
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// Whether people other than the user take part, so that names mean only what the session met.
    pub fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Whether our tools have a prefix, because another extension has a tool of such a name.
    pub fn has_prefixed_tools(&self) -> bool {
        self.has_prefixed_tools
    }

    /// The name in this session of one of our tools.
    pub fn own_tool(&self, tool: &str) -> String {
        format!("{}{tool}", if self.has_prefixed_tools { OWN_PREFIX } else { "" })
    }

    /// Whether a tool is one of ours in this session.
    pub fn is_own_tool(&self, tool: &str) -> bool {
        is_own_tool(tool) && tool.starts_with(OWN_PREFIX) == self.has_prefixed_tools
    }

    /// The chat.
    pub fn chat(&self) -> &Chat {
        &self.chat
    }

    /// The session index.
    pub fn index(&self) -> &SessionIndex {
        &self.index
    }

    /// What is known of an object that the session met.
    pub fn subject(&self, id: &ObjectId) -> Option<&Subject> {
        self.index.get(id).map(|entry| &entry.subject)
    }

    /// The newest version of an object that the session met.
    pub fn version(&self, id: &ObjectId) -> Option<&Hash> {
        self.subject(id).map(Subject::version)
    }

    /// Handle and path of a file that the session met, as shown to the model.
    pub fn shown_file(&self, id: &ObjectId) -> Option<(Handle, &str)> {
        let entry = self.index.get(id)?;
        let file @ Subject::File { .. } = &entry.subject else { return None };
        Some((entry.handle, self.shown_path(file.agent_path())))
    }

    /// The metadata pool, active set and pinned set.
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

    /// Tokens of answers by our own tools since the newest call. They will be in the next request.
    pub fn coming_tokens(&self) -> u64 {
        self.coming_tokens
    }

    /// What a person activated since the last message that could carry it.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// The ledger: what the calls cost, and what they would have cost the plain host.
    pub fn bill(&self) -> &Bill {
        &self.bill
    }

    /// All faults, those since the newest call included.
    pub fn all_faults(&self) -> Faults {
        let mut all = self.bill.faults;
        all.add(&self.faults());
        all
    }

    /// Faults since the newest call. What they cost is not known before the next one.
    pub fn faults(&self) -> Faults {
        self.absence.faults
    }

    /// What the model quoted since the newest call although it had left, for which it is charged.
    pub fn quoted(&self) -> Amount {
        self.absence.quoted
    }

    /// Tokens in the window that the plain host would not have: calls of our own tools, and their
    /// results.
    pub fn own_tokens(&self) -> u64 {
        self.own_tokens
    }

    /// Whether the plain host would not make the next call: since the previous one, the model used
    /// only our own tools.
    pub fn is_extra_call(&self) -> bool {
        let newest_first = self.chat.own_window.iter().rev();
        let mut results = newest_first.map(|at| self.result(*at)).take_while(Option::is_some);
        let newest = results.next().flatten();
        newest.is_some_and(ResultFact::is_own) && results.flatten().all(ResultFact::is_own)
    }

    /// The packed record of a message.
    pub fn place(&self, at: u64) -> ChatPlace {
        let place = usize::try_from(at).ok().and_then(|at| self.places.get(at));
        place.copied().unwrap_or_default()
    }

    /// Whether a fold hides this message of the window. Faster than asking the folds.
    pub fn is_hidden(&self, at: u64) -> bool {
        self.place(at).hidden
    }

    /// The newest message from a person, the model or a tool, with its position. Hosts and their
    /// extensions may put their own messages after it.
    pub fn newest_said(&self) -> Option<(u64, &ChatMessage)> {
        self.window().rev().find(|(_, message)| !matches!(message.kind, MessageKind::Other))
    }

    /// How a message is shown.
    pub fn treatment(&self, at: u64) -> &Treatment {
        self.treatments.get(&at).unwrap_or(&Treatment::Given)
    }

    /// The label of the message's reference line: nickname and fields of its object; empty if there
    /// are none.
    pub fn label(&self, at: u64) -> &str {
        self.labels.get(&at).map_or("", String::as_str)
    }

    /// Handle of an object in this session.
    pub fn handle(&self, id: &ObjectId) -> Option<Handle> {
        self.index.get(id).map(|entry| entry.handle)
    }

    /// What a tool call asked for, in a few words; empty if unknown or if what it shows already
    /// says it.
    pub fn brief(&self, toolcall: &ObjectId) -> &str {
        match self.subject(toolcall) {
            Some(Subject::Toolcall { brief, .. }) => brief,
            _ => "",
        }
    }

    /// Smoothed rate of late needs of outputs per step: how often the model took lines from an
    /// output more than 10 steps old, or asked again for what had left the window by then.
    pub fn late_needs(&self) -> f64 {
        self.needs.late_rate(self.chat.step())
    }

    /// Smoothed rate per step at which the model repeated its own words of more than 6 steps ago.
    pub fn late_own_needs(&self) -> f64 {
        self.needs.late_own_rate(self.chat.step())
    }

    /// How often answers needed the message at a position.
    pub fn times_needed(&self, at: u64) -> TimesNeeded {
        self.needs.of(at)
    }

    /// The tool result at a position of the chat, or the output that another message holds there.
    pub fn result(&self, at: u64) -> Option<&ResultFact> {
        match &self.chat.get(at)?.kind {
            MessageKind::Result(fact) => Some(fact),
            _ => self.outputs.get(&at),
        }
    }

    /// The newest result whose call has this object.
    pub fn fact_of(&self, toolcall: &ObjectId) -> Option<&ResultFact> {
        let mut facts = (0..self.chat.len()).rev().filter_map(|at| self.result(at));
        facts.find(|fact| fact.object.as_ref() == Some(toolcall))
    }

    /// The window's messages with their positions.
    pub fn window(&self) -> impl DoubleEndedIterator<Item = (u64, &ChatMessage)> {
        self.chat.window.iter().filter_map(|at| Some((*at, self.chat.get(*at)?)))
    }

    /// The messages that the model has not answered yet, the newest first, with their positions.
    pub fn unanswered(&self) -> impl Iterator<Item = (u64, &ChatMessage)> {
        let newest = self.window().rev();
        newest.take_while(|(_, message)| !message.is_answer())
    }

    /// The window's messages with their positions, without the folded ones.
    pub fn shown_window(&self) -> impl DoubleEndedIterator<Item = (u64, &ChatMessage)> {
        self.window().filter(|(at, _)| !self.is_hidden(*at))
    }

    /// The folded steps.
    pub fn folds(&self) -> &Folds {
        &self.folds
    }

    /// The segments that the host compacted away, in the order of the chat.
    pub fn compacted(&self) -> impl Iterator<Item = &IndexEntry> {
        self.compacted.iter().filter_map(|handle| self.index.by_handle(*handle))
    }

    /// Position of the user message that can carry the line for steps beginning at a position.
    pub fn carrier(&self, first: u64) -> Option<u64> {
        folds::carrier(&self.chat, first)
    }

    /// The state as it would be with these folds added.
    pub fn with_folds(&self, folds: &[Fold]) -> Cow<'_, Self> {
        let mut session = Cow::Borrowed(self);
        if !folds.is_empty() {
            session.to_mut().fold(folds);
        }
        session
    }

    /// Where lines of an object stand in the window, in the order of the messages.
    pub fn showings<'a>(
        &'a self,
        object: &ObjectId,
    ) -> impl DoubleEndedIterator<Item = &'a Showing> + use<'a> {
        self.showings.of(object)
    }

    /// Everything that stands in the window, apart from the own texts of results.
    pub fn all_showings(&self) -> impl Iterator<Item = &Showing> {
        self.showings.all()
    }

    /// Where whole texts stand that the model wrote into files, at the results of the calls. Which
    /// lines they have is not looked up.
    pub fn all_written(&self) -> impl Iterator<Item = &Showing> {
        self.written.all()
    }

    /// Those of one file, in the order of the messages.
    pub fn written<'a>(
        &'a self,
        file: &ObjectId,
    ) -> impl DoubleEndedIterator<Item = &'a Showing> + use<'a> {
        self.written.of(file)
    }

    /// The active set of the layout `log`: objects whose content stands in the window, in window
    /// order.
    pub fn shown_objects(&self) -> Vec<&ObjectId> {
        let window = self.chat.window.iter().copied();
        let standing = window.filter(|at| self.place(*at).stands && !self.is_hidden(*at));
        let own = standing.filter_map(|at| {
            let fact = self.result(at).filter(|fact| fact.shows == Shows::Own)?;
            fact.object.as_ref()
        });
        let shown = self.all_showings().map(|showing| &showing.object);
        let noted = self.noted_texts().map(|(_, text)| &text.object);
        let mut met = HashSet::new();
        own.chain(shown).chain(noted).filter(|id| met.insert(*id)).collect()
    }

    /// A path as the model sees it in `log`: relative to the working folder if inside it. `path`:
    /// the agent's path, see [`Subject::agent_path`].
    pub fn shown_path<'a>(&self, path: &'a str) -> &'a str {
        let cwd = self.opened.as_ref().map_or("", |opened| opened.cwd.as_str());
        let inside = path.strip_prefix(cwd).and_then(|rest| rest.strip_prefix(['/', '\\']));
        inside.filter(|rest| !cwd.is_empty() && !rest.is_empty()).unwrap_or(path)
    }

    /// The files that the model changed, each with the step of its last change.
    pub fn edited_files(&self) -> impl Iterator<Item = (&ObjectId, u32)> {
        self.edited.iter().map(|(file, step)| (file, *step))
    }

    /// The active set of the layout `pools`: the newest `per_turn` tool calls of each of the last
    /// `turns` turns, including the current one, and all active files and pinned objects.
    pub fn active_by_window(&self, per_turn: u64, turns: u64) -> Vec<&Active> {
        let oldest = (u64::from(self.chat.turn()) + 1).saturating_sub(turns);
        let mut in_turn: HashMap<(u32, bool), u64> = HashMap::new();
        let mut kept: Vec<&Active> = self
            .sets
            .active()
            .rev()
            .filter(|active| {
                let Some(Subject::Toolcall { shows, .. }) = self.subject(&active.id) else {
                    return true;
                };
                if self.sets.is_pinned(&active.id) {
                    return true;
                }
                // A read's block says only which file it read: it takes no output's place.
                let is_read = matches!(shows, Some(Shows::File { .. }));
                let count = in_turn.entry((active.turn, is_read)).or_default();
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

    /// Files with text that are active or that the model changed: ID, path and latest version, in
    /// order of entry.
    pub fn files_with_known_text(&self) -> impl Iterator<Item = (&ObjectId, &str, &Hash)> {
        self.index.entries.iter().filter_map(|entry| match &entry.subject {
            Subject::File { path, version, lines: Some(_), .. }
                if self.index.is_shown(entry)
                    && (self.sets.is_active(&entry.id) || self.edited.contains_key(&entry.id)) =>
            {
                Some((&entry.id, path.as_str(), version))
            }
            _ => None,
        })
    }

    /// Paths of the files that tool calls read or changed since the last request.
    pub fn touched_paths(&self) -> impl Iterator<Item = &str> {
        let files = self.effects.iter().filter_map(|(_, effect)| match effect {
            Effect::Read(file, _) | Effect::Changed(file, ..) => self.index.get(file),
            Effect::Activated(_) => None,
        });
        files.map(|entry| entry.subject.agent_path())
    }

    /// What the tool calls with this ID did since the last request, in order. Local servers reuse
    /// IDs.
    pub fn effects<'a>(&'a self, call: &'a str) -> impl Iterator<Item = &'a Effect> {
        self.effects.iter().filter(move |(id, _)| id == call).map(|(_, effect)| effect)
    }

    /// What is known of files: versions, moves, what the model was told.
    pub fn files(&self) -> &FileVersions {
        &self.files
    }

    /// Whether the model knows the present bytes of a file without text; `true` for others.
    pub fn knows_bytes(&self, file: &ObjectId) -> bool {
        match self.subject(file) {
            Some(Subject::File { lines: None, stamp, .. }) => {
                self.files.knows_bytes(file, stamp.as_ref())
            }
            _ => true,
        }
    }

    /// The path under which the model knows a moved file, until it is told about the move; `None`
    /// for other files.
    pub fn announced_path(&self, file: &ObjectId) -> Option<&str> {
        let path = self.index.get(file)?.subject.agent_path();
        self.files.announced_path(file).filter(|known| *known != path)
    }
}
