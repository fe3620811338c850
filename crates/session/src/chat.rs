//! The chat along the host's current branch: its messages, turns and steps, and which messages are
//! now in the host's list.

use std::collections::BTreeSet;

use super::message::{MessageKey, MessageKind, Shows};
use super::passing::{Passing, PassingKinds, PassingMessage};
use base::object::{Handle, Hash};

/// A message of the chat.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// Identity.
    pub key: MessageKey,
    /// SHA-256 of the message's JSON; reveals changed text.
    pub digest: Hash,
    /// What it is.
    pub kind: MessageKind,
    /// Tokens of the message as the host gave it.
    pub tokens: u64,
    /// Turn, from 1 (0 before the first message typed by a person).
    pub turn: u32,
    /// Step over the whole chat, from 1 (0 before the first answer).
    pub step: u32,
    /// How often its text changed while its identity stayed.
    pub changes: u32,
    /// Whether its text must not be stored. Such a message always goes out as the host gives it.
    pub withheld: bool,
    /// How its text begins, see [`opening`](super::opening), if it could pass.
    pub opening: Option<u64>,
}

/// A message whose text changed more often than this is assumed to change on every call.
pub const VOLATILE_CHANGES: u32 = 3;

impl ChatMessage {
    /// Whether it is an answer of the model.
    pub fn is_answer(&self) -> bool {
        matches!(self.kind, MessageKind::Assistant)
    }

    /// Whether its text changes on every call. Such a message passes through and is not stored
    /// again.
    pub fn is_volatile(&self) -> bool {
        self.changes > VOLATILE_CHANGES
    }
}

/// Positions from here on are those of passing messages.
const PASSING: u64 = 1 << 62;

/// The chat and the host's window on it.
///
/// The window holds positions of the chat. Passing messages, which the chat does not have, stand in
/// it with positions of their own.
#[derive(Debug, Clone, Default)]
pub struct Chat {
    /// All messages, indexed by position.
    pub messages: Vec<ChatMessage>,
    /// Positions of the messages in the host's list that the chat has, in its order.
    pub own_window: Vec<u64>,
    /// The passing messages.
    pub passing: Passing,
    /// `own` with the passing messages in their places.
    pub window: Vec<u64>,
    /// Tokens of the host's list, as the host gave it.
    pub window_tokens: u64,
    /// Lengths of the chat at the newest call with new messages and the one before.
    called: [u64; 2],
    /// What messages that passed had in common.
    pub(super) passing_kinds: PassingKinds,
    /// Positions of messages that passed after they had joined the chat.
    passed: BTreeSet<u64>,
    /// Windows that the host left while the chat kept their messages: before compactions, and on
    /// branches beside these.
    left: Vec<LeftWindow>,
}

/// So many of the windows that the host left are remembered, the newest.
const MAX_LEFT_WINDOWS: usize = 64;

/// A window that a person can go back to.
#[derive(Debug, Clone)]
pub(super) struct LeftWindow {
    /// Positions of its messages.
    pub(super) own: Vec<u64>,
    /// The segments that had been compacted away.
    pub(super) compacted: Vec<Handle>,
    /// Of each call up to then, whether it was made on a branch that had been left.
    pub(super) is_left: Vec<bool>,
}

impl Chat {
    /// Number of messages.
    pub fn len(&self) -> u64 {
        self.messages.len() as u64
    }

    /// Whether there is no message yet.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The message at a position of the chat or of the window.
    pub fn get(&self, at: u64) -> Option<&ChatMessage> {
        match at.checked_sub(PASSING) {
            Some(place) => self.passing.get(usize::try_from(place).ok()?),
            None => self.messages.get(usize::try_from(at).ok()?),
        }
    }

    /// Whether a position of the window is that of a passing message.
    pub fn is_passing(&self, at: u64) -> bool {
        at >= PASSING
    }

    /// Index in the window of the first of the passing messages at its end.
    pub fn passing_tail(&self) -> Option<usize> {
        let passing = self.window.iter().rev().take_while(|at| self.is_passing(**at)).count();
        (passing > 0).then(|| self.window.len() - passing)
    }

    /// Whether a message follows another one with nothing between them but what passed.
    pub fn follows(&self, at: u64, before: u64) -> bool {
        before < at && (before + 1..at).all(|between| self.passed.contains(&between))
    }

    /// Position of the first message that came with the newest call.
    pub fn fresh_from(&self) -> u64 {
        self.called[1]
    }

    /// Index in the window of the message at a position.
    pub fn index_of(&self, at: u64) -> Option<usize> {
        if self.is_passing(at) {
            return self.window.iter().position(|position| *position == at);
        }
        // Positions rise along the window, unless the host rearranged its list.
        let place = self.own_window.partition_point(|position| *position < at);
        let place = match self.own_window.get(place) {
            Some(found) if *found == at => place,
            _ => self.own_window.iter().rposition(|position| *position == at)?,
        };
        Some(self.passing.shift(place))
    }

    /// The current turn.
    pub fn turn(&self) -> u32 {
        self.messages.last().map_or(0, |message| message.turn)
    }

    /// The current step.
    pub fn step(&self) -> u32 {
        self.messages.last().map_or(0, |message| message.step)
    }

    /// Appends a message to the chat and the window; returns its position.
    ///
    /// A user message right after tool results or another user message belongs to the current turn:
    /// it steers a running turn.
    pub(super) fn push(
        &mut self,
        key: MessageKey,
        digest: Hash,
        kind: MessageKind,
        tokens: u64,
        withheld: bool,
        opening: Option<u64>,
    ) -> u64 {
        let (mut turn, mut step) = self.messages.last().map_or((0, 0), |m| (m.turn, m.step));
        match kind {
            MessageKind::User if !self.turn_is_running() => turn += 1,
            MessageKind::Assistant => step += 1,
            _ => {}
        }
        let at = self.len();
        let changes = 0;
        let message =
            ChatMessage { key, digest, kind, tokens, turn, step, changes, withheld, opening };
        self.messages.push(message);
        self.own_window.push(at);
        self.window.push(at);
        self.window_tokens += tokens;
        at
    }

    /// Whether the newest message is a user message or tool result, which the model has yet to
    /// answer.
    fn turn_is_running(&self) -> bool {
        let mut newest = self.window.iter().rev().filter_map(|at| self.get(*at));
        newest.find(|message| !matches!(message.kind, MessageKind::Other)).is_some_and(|message| {
            matches!(message.kind, MessageKind::User | MessageKind::Result(_))
        })
    }

    /// Replaces a message whose text changed.
    pub(super) fn edit(
        &mut self,
        at: u64,
        digest: Hash,
        kind: MessageKind,
        tokens: u64,
        withheld: bool,
    ) {
        if let Some(message) = usize::try_from(at).ok().and_then(|at| self.messages.get_mut(at)) {
            message.digest = digest;
            message.kind = kind;
            self.window_tokens = (self.window_tokens + tokens).saturating_sub(message.tokens);
            message.tokens = tokens;
            message.changes += 1;
            message.withheld = withheld;
        }
    }

    /// What each tool result shows, to be changed in place.
    pub(super) fn all_shows(&mut self) -> impl Iterator<Item = &mut Shows> {
        self.messages.iter_mut().filter_map(|message| match &mut message.kind {
            MessageKind::Result(fact) => Some(&mut fact.shows),
            _ => None,
        })
    }

    /// The window that the host left and that begins with these messages.
    pub(super) fn left_window(&self, own: &[u64]) -> Option<&LeftWindow> {
        self.left.iter().rfind(|left| left.own.starts_with(own))
    }

    /// The host leaves a window, and the chat keeps its messages.
    pub(super) fn leave(&mut self, window: LeftWindow) {
        self.left.retain(|left| !window.own.starts_with(&left.own));
        // A host that drops its oldest message at each call leaves a window at each.
        if self.left.len() == MAX_LEFT_WINDOWS {
            self.left.remove(0);
        }
        self.left.push(window);
    }

    /// Applies a rewritten host list: the first `chat_len` messages stay, and `window` holds the
    /// positions of the list. No passing messages are known of it yet.
    pub(super) fn rewrite(&mut self, chat_len: u64, window: Vec<u64>) {
        self.messages.truncate(usize::try_from(chat_len).unwrap_or(usize::MAX));
        self.called = self.called.map(|len| len.min(chat_len));
        self.passed.split_off(&chat_len);
        for at in &window {
            self.passed.remove(at);
        }
        for left in &mut self.left {
            let stays = left.own.iter().take_while(|at| **at < chat_len).count();
            left.own.truncate(stays);
        }
        self.own_window = window;
        self.pass(&[]);
    }

    /// Puts these passing messages into the window, in place of those before; returns the first
    /// index of the window that may have changed.
    pub(super) fn pass(&mut self, messages: &[PassingMessage]) -> usize {
        let (turn, step) = (self.turn(), self.step());
        let before = std::mem::replace(&mut self.passing, Passing::new(messages, turn, step));
        let first = self.passing.first_change(&before);
        self.window.clone_from(&self.own_window);
        for (place, index) in (PASSING..).zip(self.passing.indexes()) {
            self.window.insert(index.min(self.window.len()), place);
        }
        let messages = self.window.iter().filter_map(|at| self.get(*at));
        self.window_tokens = messages.map(|message| message.tokens).sum();
        let passing: Vec<u64> =
            self.window.iter().copied().filter(|at| self.is_passing(*at)).collect();
        self.learn_passing(&passing);
        first
    }

    /// A call was made with the window as it is.
    pub(super) fn called(&mut self) {
        if self.called[0] != self.len() {
            self.called = [self.len(), self.called[0]];
        }
    }

    /// Remembers what the messages at these positions of the window have in common: they passed.
    pub(super) fn learn_passing(&mut self, passed: &[u64]) {
        for at in passed {
            let Some((index, message)) = self.index_of(*at).zip(self.get(*at)) else { continue };
            let behind = self.window[index..].iter().filter_map(|at| self.get(*at));
            let answers = behind.filter(|it| it.is_answer()).count();
            let message = message.clone();
            self.passing_kinds.learn(&message, answers);
            self.passed.extend(Some(*at).filter(|at| !self.is_passing(*at)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::ResultFact;
    use super::*;

    fn chat(roles: &[MessageKind]) -> Chat {
        let mut chat = Chat::default();
        for kind in roles {
            let key = MessageKey { role: "r".into(), timestamp: None, calls: Vec::new() };
            chat.push(key, Hash::of(""), kind.clone(), 1, false, None);
        }
        chat
    }

    #[test]
    fn turns_start_at_typed_messages_but_not_at_steering_ones() {
        use MessageKind::{Assistant, Other, User};
        let result = || MessageKind::Result(ResultFact::default());
        let chat = chat(&[User, Assistant, result(), User, Assistant, User, Other, Assistant]);
        let turns: Vec<_> = chat.messages.iter().map(|m| m.turn).collect();
        assert_eq!(turns, [1, 1, 1, 1, 1, 2, 2, 2]);
        let steps: Vec<_> = chat.messages.iter().map(|m| m.step).collect();
        assert_eq!(steps, [0, 1, 1, 1, 2, 2, 2, 3]);
    }
}
