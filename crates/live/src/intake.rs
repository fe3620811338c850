//! Incoming messages: matches the host's list with the chat, adds new messages to it, and turns
//! tool results into toolcall objects.
//!
//! Must not commit. The crate `context` decides how a result is shown; this records it.

mod compacted;
mod counted;
mod describe;
mod failed_edits;
mod first_sight;
mod full_output;
mod instructions;
mod message_outputs;
mod needs;
mod results;
mod shown;
mod standing;
mod toolcalls;
mod withhold;

use std::cmp::Reverse;
use std::sync::Arc;

pub(super) use self::counted::count_tokens;
pub(super) use self::shown::restore_wholes;
use self::standing::StandingLines;
use super::journal::{ContentFrom, Journal};
use super::request::ListTail;
use super::{LiveSession, Notice};
use base::error::Result;
use base::object::Hash;
use context::evidence::Evidence;
use context::host::{HostMessage, HostToolCall};
use session::{
    Event, HostEntry, HostMatch, Listed, MessageKind, Note, PassingMessage, ResultFact, Rewrite,
    Session, Treatment, VOLATILE_CHANGES, match_host_list, opening, said,
};

/// Knowledge about the messages taken in that is not in the state: it can be derived from them.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// Calls that have no result yet, oldest first.
    pending: Vec<PendingCall>,
    evidence: Evidence,
    /// `None` until it is asked for.
    lines: Option<StandingLines>,
    /// Notes in messages that left the list: the newest message carries them again.
    left_notes: Vec<Note>,
}

/// A call that waits for its result.
#[derive(Debug, Clone, PartialEq)]
struct PendingCall {
    call: HostToolCall,
    /// What the model wrote alongside it.
    said: Arc<str>,
    /// Position in the chat of the answer that makes it.
    answer: u64,
    /// Length of the chat when its object said that it had no result.
    closed_at: Option<u64>,
    /// What a person calls it, if it is none of the model's.
    title: Option<String>,
}

impl Intake {
    /// Starts from the chat as the journal has it.
    pub(super) fn restart(&mut self, journal: &Journal) -> Result<()> {
        *self = Self { pending: unanswered_calls(journal)?, ..Self::default() };
        Ok(())
    }

    /// Place among the pending calls of the one that a result belongs to.
    fn pending_for(&self, result: &HostMessage) -> Option<usize> {
        let id = result.key.calls.first().map_or("", String::as_str);
        newest_of(id, self.pending.iter().map(|it| (it.answer, it.call.id.as_str())))
    }
}

/// Result of matching the host's list.
pub(super) struct Taken {
    /// How it stopped continuing the previous list, and the index from which it differs.
    pub(super) rewrite: Option<(Rewrite, usize)>,
    /// Number of messages of the chat that were known before and still are.
    pub(super) known: u64,
    /// Position of the newest message, if it is new and can carry a note.
    pub(super) newest: Option<u64>,
    /// Whether the list equals that of the previous call, apart from messages that change on every
    /// call.
    pub(super) repeats: bool,
}

/// A tool result, paired with its call.
struct Ingested {
    fact: ResultFact,
    from: Option<ContentFrom>,
    call: PendingCall,
    /// `content_hash` of its toolcall's version, if it has one.
    version: Option<Hash>,
    /// How the host shows it itself, if it was told so earlier.
    shown: Option<Treatment>,
}

impl LiveSession {
    /// Matches the host's list with the chat. Where it does not continue the window, only the
    /// remaining part of the window is kept.
    pub(super) fn match_list(
        &mut self,
        list: &ListTail<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<HostMatch> {
        let listed: Vec<_> = list.messages.iter().map(listed).collect();
        let found = match_host_list(self.state().chat(), list.skip, &listed);
        let Some(how) = found.rewrite.filter(|_| found.is_less) else { return Ok(found) };
        if how != Rewrite::Passing {
            notices.push(Notice::HostRewrote { how: how.as_str(), at: found.kept as u64 });
        }
        let chat = self.journal.state().chat();
        let before = chat.own_window.clone();
        let mut window: Vec<u64> = before[..chat.passing.own_before(found.kept)].to_vec();
        window.extend(found.rest.iter().filter_map(|entry| match entry {
            HostEntry::Known(at) => Some(*at),
            HostEntry::New(_) | HostEntry::Passing(_) => None,
        }));
        // A host that runs its turns itself takes some out again, such as those of its heartbeat;
        // and it keeps the session when a person begins anew.
        let is_branch = how == Rewrite::Branch && list.kept_from != usize::MAX;
        let starts_over = is_branch && found.chat_len == 0;
        if how == Rewrite::Passing || (is_branch && !starts_over) {
            let left = before.iter().filter(|at| !window.contains(at));
            let notes = left.flat_map(|at| self.journal.state().notes(*at));
            self.intake.left_notes = notes.cloned().collect();
        }
        if found.chat_len < chat.len() {
            self.journal.stage_shorter_chat(found.chat_len);
        }
        self.rewrite_window(how, found.chat_len, &window);
        if starts_over {
            self.journal.record(Event::StartedOver);
        }
        self.take_compacted(how, &before)?;
        self.intake.evidence = Evidence::default();
        self.intake.pending = unanswered_calls(&self.journal)?;
        Ok(found)
    }

    /// Takes in the new messages of a matched list, and known messages whose text changed.
    pub(super) fn take_matched(
        &mut self,
        list: &ListTail<'_>,
        found: &HostMatch,
        notices: &mut Vec<Notice>,
    ) -> Result<Taken> {
        let mut rest = Vec::with_capacity(found.rest.len());
        let mut passing = found.passing.clone();
        for entry in &found.rest {
            match entry {
                HostEntry::Known(at) => rest.push(*at),
                HostEntry::New(index) => {
                    rest.push(self.state().chat().len());
                    let is_kept = list.skip + index >= list.kept_from;
                    self.take_message(&list.messages[*index], is_kept)?;
                }
                HostEntry::Passing(index) => {
                    passing.push(passing_message(list.skip + index, &list.messages[*index]));
                }
            }
        }
        let chat = self.state().chat();
        let own_kept = found.kept - found.passing.len();
        if let Some(how) = found.rewrite
            && chat.own_window[own_kept..] != rest
        {
            let mut window = chat.own_window[..own_kept].to_vec();
            window.extend(rest);
            self.rewrite_window(how, chat.len(), &window);
        }
        if passing != self.state().chat().passing.before(usize::MAX) {
            self.journal.record(Event::Passing { messages: passing });
        }
        let edited = self.take_changed_texts(list, notices)?;
        let rewrite = found.rewrite.map(|how| (how, found.kept));
        let rewrite = rewrite.or(edited.map(|index| (Rewrite::Edited, index)));
        let newest = newest_for_notes(self.state(), found.chat_len, list.kept_from);
        let is_new = |entry: &HostEntry| matches!(entry, HostEntry::New(_));
        let repeats = !found.is_less && edited.is_none() && !found.rest.iter().any(is_new);
        self.record_needs(list, found.chat_len)?;
        let carrier = newest.filter(|_| !self.intake.left_notes.is_empty());
        if let Some(at) = carrier {
            for note in std::mem::take(&mut self.intake.left_notes) {
                self.journal.record(Event::carried(at, note));
            }
        }
        Ok(Taken { rewrite, known: found.chat_len, newest, repeats })
    }

    /// Tokens of our help for a failed edit in a result.
    fn help_in(&self, message: &HostMessage) -> u64 {
        let help = self.state().coming_help();
        if help.is_empty() {
            return 0;
        }
        let text = message.text();
        let ours = help.iter().filter(|(help, _)| text.contains(help.as_str()));
        ours.map(|(_, tokens)| *tokens).max().unwrap_or(0)
    }

    fn rewrite_window(&mut self, how: Rewrite, chat_len: u64, window: &[u64]) {
        self.journal.record(Event::Rewritten { how, chat_len, window: runs(window) });
    }

    /// Takes in known messages whose text changed. Returns the index of the first, not counting
    /// those that change on every call.
    fn take_changed_texts(
        &mut self,
        list: &ListTail<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<usize>> {
        let mut first = None;
        for (index, message) in (list.skip..).zip(list.messages) {
            let state = self.journal.state();
            let Some(at) = state.chat().window.get(index).copied() else { continue };
            let Some(known) = state.chat().get(at) else { continue };
            if known.is_volatile() && state.folds().hide(at) {
                self.request.volatile.insert(at, message.clone());
            }
            if known.digest == *message.digest() || known.is_volatile() {
                continue;
            }
            let at_index = index as u64;
            match known.changes {
                VOLATILE_CHANGES => notices.push(Notice::Volatile { at: at_index }),
                0 => notices
                    .push(Notice::HostRewrote { how: Rewrite::Edited.as_str(), at: at_index }),
                _ => {}
            }
            first = first.or(Some(index).filter(|_| known.changes < VOLATILE_CHANGES));
            self.take_changed_text(at, message)?;
            self.intake.evidence = Evidence::default();
        }
        Ok(first)
    }

    /// Takes a new message at the end of the chat. `is_kept`: whether the host sends it itself.
    fn take_message(&mut self, message: &HostMessage, is_kept: bool) -> Result<()> {
        let role = message.key.role.as_str();
        let ingested = match role {
            "toolResult" => self.take_result(message)?,
            _ => None,
        };
        if matches!(role, "user" | "assistant") {
            self.close_unanswered()?;
        }
        let at = self.state().chat().len();
        if role == "assistant" {
            self.intake.pending.extend(pending_calls(message, at));
        }
        let kind = match (&ingested, role) {
            (Some(ingested), _) => MessageKind::Result(ingested.fact.clone()),
            (None, "user") => MessageKind::User,
            (None, "assistant") => MessageKind::Assistant,
            _ => MessageKind::Other,
        };
        let ours = if role == "toolResult" { self.help_in(message) } else { 0 };
        self.journal.record(Event::Message {
            key: message.key.clone(),
            digest: message.digest().clone(),
            kind,
            tokens: message.tokens(),
            withheld: message.withheld.is_some(),
            kept: is_kept,
            ours,
            opening: opening_of(message),
        });
        let from = ingested.as_ref().and_then(|ingested| ingested.from.clone());
        self.journal.stage_message(at, message, from)?;
        if ingested.is_none() && role != "assistant" && message.withheld.is_none() {
            self.take_called_skill(at, message)?;
            self.take_output(at, message, is_kept)?;
        }
        if let Some(ingested) = ingested.filter(|_| message.withheld.is_none()) {
            let Ingested { fact, call, shown, version, .. } = &ingested;
            self.take_instructions(at, &call.call.args, version.as_ref(), message.text_tokens());
            self.note_failed_edit(at, &call.call, message);
            match shown {
                Some(treatment) => self.treat_as_shown(at, treatment)?,
                None if is_kept => self.treat_as_shown(at, &Treatment::Given)?,
                None => {
                    self.treat_at_first_sight(at, fact, &call.call.args, &call.said, message)?;
                }
            }
        }
        Ok(())
    }
}

/// A message as matching needs it.
fn listed(message: &HostMessage) -> Listed {
    let said = if may_pass(message) { said(&message.raw) } else { message.digest().clone() };
    Listed { key: message.key.clone(), said, opening: opening_of(message) }
}

/// How the text of a message begins, if it may pass.
fn opening_of(message: &HostMessage) -> Option<u64> {
    if may_pass(message) { opening(&message.text()) } else { None }
}

fn may_pass(message: &HostMessage) -> bool {
    message.key.may_pass() && message.withheld.is_none()
}

fn passing_message(index: usize, message: &HostMessage) -> PassingMessage {
    let Listed { key, said, opening } = listed(message);
    let (tokens, withheld) = (message.tokens(), message.withheld.is_some());
    PassingMessage { index: index as u64, key, said, tokens, opening, withheld }
}

/// The newest message if it can carry a note: a tool result, or a user message, that the store
/// holds.
///
/// `first_new`: position in the chat of the first message that may. `kept_from`: index of the first
/// message that the host sends itself. A note can stand before that one if it begins a turn, but
/// before none of the later ones.
pub(super) fn newest_for_notes(state: &Session, first_new: u64, kept_from: usize) -> Option<u64> {
    let (at, message) = state.newest_said()?;
    let may = match message.kind {
        MessageKind::User => true,
        MessageKind::Result(_) => !state.is_kept(at),
        MessageKind::Assistant | MessageKind::Other => false,
    };
    let can_stand = !state.is_kept(at) || state.chat().index_of(at) == Some(kept_from);
    let is_stored = !message.withheld && !message.is_volatile();
    (may && can_stand && at >= first_new && is_stored).then_some(at)
}

/// The calls of the window that have no result yet.
fn unanswered_calls(journal: &Journal) -> Result<Vec<PendingCall>> {
    let chat = journal.state().chat();
    let mut open: Vec<(u64, usize, &str)> = Vec::new();
    for (at, message) in journal.state().window() {
        let calls = message.key.calls.iter().map(String::as_str);
        match &message.kind {
            MessageKind::Assistant => {
                open.extend(calls.enumerate().map(|(place, id)| (at, place, id)));
            }
            MessageKind::Result(_) => {
                let id = message.key.calls.first().map_or("", String::as_str);
                let place = newest_of(id, open.iter().map(|(answer, _, id)| (*answer, *id)));
                place.map(|place| open.remove(place));
            }
            MessageKind::User | MessageKind::Other => {}
        }
    }
    let mut pending = Vec::with_capacity(open.len());
    for calls in open.chunk_by(|(one, ..), (other, ..)| one == other) {
        let answer = calls[0].0;
        let message = journal.message(answer)?;
        let is_end = |at: &u64| chat.get(*at).is_some_and(|it| closes_calls(&it.kind));
        let closed = (answer + 1..chat.len()).find(is_end);
        let here = pending_calls(&message, answer).into_iter().enumerate();
        let here = here.filter(|(place, _)| calls.iter().any(|(_, open, _)| open == place));
        pending.extend(here.map(|(_, call)| PendingCall { closed_at: closed, ..call }));
    }
    Ok(pending)
}

/// Whether a message behind calls shows that they had no result by then.
fn closes_calls(kind: &MessageKind) -> bool {
    matches!(kind, MessageKind::User | MessageKind::Assistant)
}

/// Place of the call that a result with this ID belongs to: the first one of the newest answer that
/// has one. `calls`: those without a result, each with the position of its answer.
fn newest_of<'a>(id: &str, calls: impl Iterator<Item = (u64, &'a str)>) -> Option<usize> {
    let of_id = calls.enumerate().filter(|(_, (_, call))| *call == id);
    of_id.min_by_key(|(_, (answer, _))| Reverse(*answer)).map(|(place, _)| place)
}

/// The calls of an answer, with what the model wrote alongside them.
fn pending_calls(message: &HostMessage, answer: u64) -> Vec<PendingCall> {
    let said: Arc<str> = message.said().join("\n").into();
    let pending = |call: &HostToolCall| {
        let (call, said) = (call.clone(), Arc::clone(&said));
        PendingCall { call, said, answer, closed_at: None, title: None }
    };
    message.calls.iter().map(pending).collect()
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
