//! Incoming messages: matches the host's list with the chat, adds new messages to it, and turns
//! tool results into toolcall objects.
//!
//! Must not commit. The crate `context` decides how a result is shown; this records it.

mod compacted;
mod describe;
mod failed_edits;
mod first_sight;
mod full_output;
mod needs;
mod results;
mod shown;
mod standing;
mod toolcalls;
mod withhold;

use std::sync::Arc;

pub(super) use self::shown::restore_wholes;
use self::standing::StandingLines;
pub(super) use self::withhold::Withholding;
use super::journal::{ContentFrom, Journal};
use super::request::{ListTail, Request};
use super::workspace::Workspace;
use super::{Notice, OpenSession};
use base::error::Result;
use base::object::Hash;
use context::evidence::Evidence;
use context::host::{HostCall, HostMessage};
use session::{
    Event, HostEntry, HostMatch, MessageKind, ResultFact, Rewrite, Session, Treatment,
    VOLATILE_CHANGES, match_host_list,
};

/// Knowledge about the messages taken in that is not in the state: it can be derived from them.
#[derive(Debug, Default)]
pub(super) struct Intake {
    /// Calls of the newest assistant message that have no result yet.
    pending: Vec<PendingCall>,
    evidence: Evidence,
    lines: StandingLines,
}

/// A call that waits for its result.
#[derive(Debug, Clone, PartialEq)]
struct PendingCall {
    call: HostCall,
    /// What the model wrote alongside it.
    said: Arc<str>,
}

impl Intake {
    /// Starts from the chat as the journal has it.
    pub(super) fn restart(&mut self, journal: &Journal) -> Result<()> {
        *self = Self { pending: unanswered_calls(journal)?, ..Self::default() };
        Ok(())
    }
}

/// What taking in a host's list works on.
pub(super) struct Ingest<'a> {
    /// Where events, objects and chat messages are staged.
    pub(super) journal: &'a mut Journal,
    /// The files that calls touched.
    pub(super) workspace: &'a mut Workspace,
    /// State left by earlier messages.
    pub(super) intake: &'a mut Intake,
    /// The request of the call before.
    pub(super) request: &'a mut Request,
    /// Settings and counter.
    pub(super) options: &'a OpenSession,
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

impl Ingest<'_> {
    /// Matches the host's list with the chat. Where it does not continue the window, only the
    /// remaining part of the window is kept.
    pub(super) fn match_list(
        &mut self,
        list: &ListTail<'_>,
        notices: &mut Vec<Notice>,
    ) -> Result<HostMatch> {
        let keys: Vec<_> = list.messages.iter().map(|message| message.key.clone()).collect();
        let found = match_host_list(self.journal.state().chat(), list.skip, &keys);
        let Some(how) = found.rewrite else { return Ok(found) };
        notices.push(Notice::HostRewrote { how: how.as_str(), at: found.kept as u64 });
        let chat = self.journal.state().chat();
        let before = chat.window().to_vec();
        let mut window: Vec<u64> = before[..found.kept].to_vec();
        window.extend(found.rest.iter().filter_map(|entry| match entry {
            HostEntry::Known(at) => Some(*at),
            HostEntry::New(_) => None,
        }));
        if found.chat_len < chat.len() {
            self.journal.stage_shorter_chat(found.chat_len);
        }
        self.rewrite_window(how, found.chat_len, &window);
        self.take_compacted(how, &before)?;
        self.intake.evidence = Evidence::default();
        self.intake.pending = unanswered_calls(self.journal)?;
        Ok(found)
    }

    /// Takes in the new messages of a matched list, and known messages whose text changed.
    pub(super) fn take(
        &mut self,
        list: &ListTail<'_>,
        found: &HostMatch,
        notices: &mut Vec<Notice>,
    ) -> Result<Taken> {
        let mut rest = Vec::with_capacity(found.rest.len());
        for entry in &found.rest {
            match entry {
                HostEntry::Known(at) => rest.push(*at),
                HostEntry::New(index) => {
                    rest.push(self.journal.state().chat().len());
                    let is_kept = list.skip + index >= list.kept_from;
                    self.take_message(&list.messages[*index], is_kept)?;
                }
            }
        }
        let window = self.journal.state().chat().window();
        if let Some(how) = found.rewrite
            && window[found.kept..] != rest
        {
            let mut window = window[..found.kept].to_vec();
            window.extend(rest);
            let chat_len = self.journal.state().chat().len();
            self.rewrite_window(how, chat_len, &window);
        }
        let edited = self.take_changed_texts(list, notices)?;
        let rewrite = found.rewrite.map(|how| (how, found.kept));
        let newest = newest_for_notes(self.journal.state(), found.chat_len, list.kept_from);
        let rewrite = rewrite.or(edited.map(|index| (Rewrite::Edited, index)));
        let repeats = rewrite.is_none() && found.rest.is_empty();
        self.record_needs(list, found.chat_len)?;
        Ok(Taken { rewrite, known: found.chat_len, newest, repeats })
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
            let Some(at) = state.chat().window().get(index).copied() else { continue };
            let Some(known) = state.chat().get(at) else { continue };
            if known.is_volatile() && state.folds().hide(at) {
                self.request.keep_volatile(at, message);
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
        if role == "assistant" {
            self.intake.pending = pending_calls(message, message.calls.clone());
        }
        let kind = match (&ingested, role) {
            (Some(ingested), _) => MessageKind::Result(ingested.fact.clone()),
            (None, "user") => MessageKind::User,
            (None, "assistant") => MessageKind::Assistant,
            _ => MessageKind::Other,
        };
        let at = self.journal.state().chat().len();
        self.journal.record(Event::Message {
            key: message.key.clone(),
            digest: message.digest().clone(),
            kind,
            tokens: message.tokens(),
            withheld: message.withheld.is_some(),
            kept: is_kept,
        });
        let from = ingested.as_ref().and_then(|ingested| ingested.from.clone());
        self.journal.stage_message(at, message, from)?;
        if let Some(ingested) = ingested.filter(|_| message.withheld.is_none()) {
            let Ingested { fact, call, shown, .. } = &ingested;
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

/// The newest message if it can carry a note: a tool result, or a user message, that the store
/// holds and that no request contained yet.
///
/// `first_new`: position in the chat of the first new message. `kept_from`: index of the first
/// message that the host sends itself. A note can stand before that one if it begins a turn, but
/// before none of the later ones.
fn newest_for_notes(state: &Session, first_new: u64, kept_from: usize) -> Option<u64> {
    let (at, message) = state.newest_said()?;
    let may = match message.kind {
        MessageKind::User => true,
        MessageKind::Result(_) => !state.is_kept(at),
        MessageKind::Assistant | MessageKind::Other => false,
    };
    let can_stand = !state.is_kept(at) || state.chat().index_of(at) == Some(kept_from);
    (may && can_stand && at >= first_new && !message.withheld).then_some(at)
}

/// Calls of the newest assistant message that are still unanswered; none once a person wrote after
/// it.
fn unanswered_calls(journal: &Journal) -> Result<Vec<PendingCall>> {
    let mut answered: Vec<&str> = Vec::new();
    for (at, message) in journal.state().window().rev() {
        match &message.kind {
            MessageKind::Result(_) => {
                answered.extend(message.key.calls.first().map(String::as_str));
            }
            MessageKind::Assistant => {
                let message = journal.message(at)?;
                let mut calls = message.calls.clone();
                for id in answered {
                    if let Some(place) = calls.iter().position(|call| call.id == id) {
                        calls.remove(place);
                    }
                }
                return Ok(pending_calls(&message, calls));
            }
            MessageKind::User => break,
            MessageKind::Other => {}
        }
    }
    Ok(Vec::new())
}

/// Calls that wait for their results, with what the model wrote alongside them.
fn pending_calls(message: &HostMessage, calls: Vec<HostCall>) -> Vec<PendingCall> {
    let said: Arc<str> = message.said().join("\n").into();
    calls.into_iter().map(|call| PendingCall { call, said: Arc::clone(&said) }).collect()
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
