//! Passing messages: those that another extension of the host puts into its list and takes out
//! again, such as a clock or a list of things to do. They go out in their places and are no part of
//! the chat. Plain data; `matching` finds them.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::ChatMessage;
use super::message::{MessageKey, MessageKind};
use base::object::Hash;

/// Number of kinds remembered.
const KINDS: usize = 16;
/// Characters of a text that tell its kind.
const OPENING_CHARS: usize = 16;
/// An opening of fewer characters says nothing.
const LEAST_CHARS: usize = 4;

/// A passing message in the host's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassingMessage {
    /// Its index in the list.
    pub index: u64,
    /// Identity.
    pub key: MessageKey,
    /// See [`said`].
    pub said: Hash,
    /// Its tokens.
    pub tokens: u64,
    /// See [`opening`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<u64>,
    /// Whether its text must not be stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// The passing messages of a list, in its order.
#[derive(Debug, Clone, Default)]
pub struct Passing {
    indexes: Vec<usize>,
    messages: Vec<ChatMessage>,
}

impl Passing {
    /// `turn` and `step`: those of the call that they belong to.
    pub(super) fn new(messages: &[PassingMessage], turn: u32, step: u32) -> Self {
        let known = |message: &PassingMessage| ChatMessage {
            key: message.key.clone(),
            digest: message.said.clone(),
            kind: MessageKind::Other,
            tokens: message.tokens,
            turn,
            step,
            changes: u32::MAX,
            withheld: message.withheld,
            opening: message.opening,
        };
        let index = |message: &PassingMessage| usize::try_from(message.index).unwrap_or(usize::MAX);
        Self {
            indexes: messages.iter().map(index).collect(),
            messages: messages.iter().map(known).collect(),
        }
    }

    /// Their indexes in the list.
    pub fn indexes(&self) -> impl Iterator<Item = usize> {
        self.indexes.iter().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// The messages with their indexes in the list.
    pub fn listed(&self) -> impl Iterator<Item = (usize, &ChatMessage)> {
        self.indexes().zip(&self.messages)
    }

    /// The messages as an event records them, except those from an index of the list on.
    pub fn before(&self, index: usize) -> Vec<PassingMessage> {
        let kept = self.listed().take_while(|(at, _)| *at < index);
        let recorded = |(at, message): (usize, &ChatMessage)| PassingMessage {
            index: at as u64,
            key: message.key.clone(),
            said: message.digest.clone(),
            tokens: message.tokens,
            opening: message.opening,
            withheld: message.withheld,
        };
        kept.map(recorded).collect()
    }

    /// How many of the first messages of the list the chat has.
    pub fn own_before(&self, index: usize) -> usize {
        index - self.indexes.partition_point(|at| *at < index)
    }

    /// Index in the list of the message at a place among those that the chat has.
    pub(super) fn shift(&self, place: usize) -> usize {
        self.indexes.iter().fold(place, |place, index| place + usize::from(*index <= place))
    }

    pub(super) fn get(&self, place: usize) -> Option<&ChatMessage> {
        self.messages.get(place)
    }

    /// The first index of the list at which these differ from others.
    pub(super) fn first_change(&self, others: &Self) -> usize {
        let same = self.listed().zip(others.listed());
        let same = same.take_while(|((a, message), (b, other))| {
            a == b && message.digest == other.digest && message.key.role == other.key.role
        });
        let same = same.count();
        let next = |passing: &Self| passing.indexes.get(same).copied().unwrap_or(usize::MAX);
        next(self).min(next(others))
    }
}

/// What messages that passed had in common, so that the next one is known when it comes.
#[derive(Debug, Clone, Default)]
pub(super) struct PassingKinds(Vec<PassingKind>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct PassingKind {
    role: String,
    opening: Option<u64>,
    /// Number of answers behind it.
    after: usize,
}

impl PassingKinds {
    /// Remembers a message that passed, with this number of answers behind it.
    pub(super) fn learn(&mut self, message: &ChatMessage, after: usize) {
        let kind = PassingKind { role: message.key.role.clone(), opening: message.opening, after };
        self.0.retain(|known| *known != kind);
        self.0.push(kind);
        if self.0.len() > KINDS {
            self.0.remove(0);
        }
    }

    /// Whether messages that begin like this passed.
    pub(super) fn begin(&self, role: &str, opening: Option<u64>) -> bool {
        opening.is_some() && self.0.iter().any(|kind| kind.role == role && kind.opening == opening)
    }

    /// Whether messages that begin in different ways passed with this number of answers behind
    /// them.
    pub(super) fn stand(&self, role: &str, after: usize) -> bool {
        let here = self.0.iter().filter(|kind| kind.role == role && kind.after == after);
        let openings: HashSet<_> = here.map(|kind| kind.opening).collect();
        openings.len() > 1
    }
}

/// What a message says, whenever it was made: a hash of its role and content.
pub fn said(message: &str) -> Hash {
    let mut value: Value = serde_json::from_str(message).unwrap_or_default();
    let said = if let Some(content) = value.get_mut("content").map(Value::take) {
        json!([value.get("role"), content])
    } else {
        if let Some(members) = value.as_object_mut() {
            members.remove("timestamp");
        }
        value
    };
    Hash::of(said.to_string())
}

/// A number for how a text begins, leaving out what changes in clocks and counts; `None` if that
/// says nothing.
pub fn opening(text: &str) -> Option<u64> {
    let says = |c: &char| !c.is_whitespace() && !c.is_numeric();
    let opening: String = text.chars().filter(says).take(OPENING_CHARS).collect();
    if opening.chars().count() < LEAST_CHARS {
        return None;
    }
    let digits = Hash::of(opening).as_str().get(..12)?.to_owned();
    u64::from_str_radix(&digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opening_of_a_clock_stays() {
        let of = |text| opening(text).unwrap();
        assert_eq!(of("State 1: 1 findings, 1017 ms"), of("State 22: 22 findings, 1374 ms"));
        assert_ne!(of("State 1: 1 findings"), of("Please rename the config."));
        assert_eq!((opening("12:30"), opening("")), (None, None));
    }

    #[test]
    fn what_is_said_does_not_depend_on_when() {
        let message = |time: u64, text: &str| {
            json!({ "role": "user", "content": text, "timestamp": time }).to_string()
        };
        assert_eq!(said(&message(1, "a")), said(&message(2, "a")));
        assert_ne!(said(&message(1, "a")), said(&message(1, "b")));
        let other = |time: u64| json!({ "role": "system", "sections": {}, "timestamp": time });
        assert_eq!(said(&other(1).to_string()), said(&other(2).to_string()));
        assert_ne!(said("null"), said(r#"{"role":"x"}"#));
    }
}
