//! The chat along the host's current branch: its messages, turns and steps, and which messages are
//! now in the host's list.

use super::message::{MessageKey, MessageKind, Shows};
use base::object::Hash;

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
}

/// A message whose text changed more often than this is assumed to change on every call.
pub const VOLATILE_CHANGES: u32 = 3;

impl ChatMessage {
    /// Whether its text changes on every call. Such a message passes through and is not stored
    /// again.
    pub fn is_volatile(&self) -> bool {
        self.changes > VOLATILE_CHANGES
    }
}

/// The chat and the host's window on it.
#[derive(Debug, Clone, Default)]
pub struct Chat {
    messages: Vec<ChatMessage>,
    window: Vec<u64>,
    window_tokens: u64,
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

    /// The message at a position of the chat.
    pub fn get(&self, at: u64) -> Option<&ChatMessage> {
        self.messages.get(usize::try_from(at).ok()?)
    }

    /// All messages, indexed by position.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Positions of the messages in the host's list, in its order.
    pub fn window(&self) -> &[u64] {
        &self.window
    }

    /// Index in the window of the message at a position.
    pub fn index_of(&self, at: u64) -> Option<usize> {
        // Positions rise along the window, unless the host rearranged its list.
        let place = self.window.partition_point(|position| *position < at);
        match self.window.get(place) {
            Some(found) if *found == at => Some(place),
            _ => self.window.iter().rposition(|position| *position == at),
        }
    }

    /// Tokens of the host's list, as the host gave it.
    pub fn window_tokens(&self) -> u64 {
        self.window_tokens
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
    ) -> u64 {
        let (mut turn, mut step) = self.messages.last().map_or((0, 0), |m| (m.turn, m.step));
        match kind {
            MessageKind::User if !self.turn_is_running() => turn += 1,
            MessageKind::Assistant => step += 1,
            _ => {}
        }
        let at = self.len();
        let changes = 0;
        let message = ChatMessage { key, digest, kind, tokens, turn, step, changes, withheld };
        self.messages.push(message);
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

    /// Applies a rewritten host list: the first `chat_len` messages stay, and `window` holds the
    /// positions of the list.
    pub(super) fn rewrite(&mut self, chat_len: u64, window: Vec<u64>) {
        self.messages.truncate(usize::try_from(chat_len).unwrap_or(usize::MAX));
        self.window = window;
        let messages = self.window.iter().filter_map(|at| self.get(*at));
        self.window_tokens = messages.map(|message| message.tokens).sum();
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
            chat.push(key, Hash::of(""), kind.clone(), 1, false);
        }
        chat
    }

    #[test]
    fn turns_start_at_typed_messages_but_not_at_steering_ones() {
        use MessageKind::{Assistant, Other, User};
        let result = || MessageKind::Result(ResultFact::for_tests("t"));
        let chat = chat(&[User, Assistant, result(), User, Assistant, User, Other, Assistant]);
        let turns: Vec<_> = chat.messages().iter().map(|m| m.turn).collect();
        assert_eq!(turns, [1, 1, 1, 1, 1, 2, 2, 2]);
        let steps: Vec<_> = chat.messages().iter().map(|m| m.step).collect();
        assert_eq!(steps, [0, 1, 1, 1, 2, 2, 2, 3]);
    }
}
