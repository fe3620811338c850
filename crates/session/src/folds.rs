//! Folded steps: which messages they hide, and which user message carries their line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::chat::{Chat, ChatMessage};
use super::message::MessageKind;
use super::treatment::Fold;

/// The folds of a session. A fold hides adjacent messages of the window, between a user message,
/// which carries the fold's line, and an answer of the model, so that roles still alternate.
#[derive(Debug, Clone, Default)]
pub struct Folds {
    by_first: BTreeMap<u64, Carried>,
    /// First positions of the folds that each user message carries, by the message's position.
    by_carrier: BTreeMap<u64, BTreeSet<u64>>,
}

/// A fold, with the position of the user message that carries its line.
#[derive(Debug, Clone)]
struct Carried {
    fold: Fold,
    carrier: u64,
}

impl Folds {
    /// All folds, in the order of the chat.
    pub fn all(&self) -> impl Iterator<Item = &Fold> {
        self.by_first.values().map(|carried| &carried.fold)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_first.is_empty()
    }

    /// Whether the message at a position is hidden.
    pub fn hide(&self, at: u64) -> bool {
        let before = self.by_first.range(..=at).next_back();
        before.is_some_and(|(_, carried)| carried.fold.last >= at)
    }

    /// The lines that a user message carries, in order and joined; `None` if it carries none.
    pub fn lines(&self, carrier: u64) -> Option<String> {
        let here = self.by_carrier.get(&carrier)?.iter();
        let lines: Vec<&str> =
            here.filter_map(|first| Some(self.by_first.get(first)?.fold.line.as_str())).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Whether a message goes out differently under these folds than under `other`.
    pub fn differ_at(&self, at: u64, other: &Self) -> bool {
        let are_none = self.is_empty() && other.is_empty();
        !are_none && (self.hide(at) != other.hide(at) || self.lines(at) != other.lines(at))
    }

    /// Adds a fold, replacing those inside it. Does nothing if no user message can carry the line.
    pub(super) fn enter(&mut self, fold: &Fold, chat: &Chat) {
        let Some(carrier) = carrier(chat, fold.first) else { return };
        let inside = self.by_first.range(fold.first..=fold.last);
        for first in inside.map(|(first, _)| *first).collect::<Vec<_>>() {
            self.remove(first);
        }
        self.by_first.insert(fold.first, Carried { fold: fold.clone(), carrier });
        self.by_carrier.entry(carrier).or_default().insert(fold.first);
    }

    fn remove(&mut self, first: u64) -> Option<Fold> {
        let Carried { fold, carrier } = self.by_first.remove(&first)?;
        if let Some(here) = self.by_carrier.get_mut(&carrier) {
            here.remove(&first);
        }
        Some(fold)
    }

    /// Drops and returns the folds carried by this message, which can no longer carry lines.
    pub(super) fn drop_carried(&mut self, carrier: u64) -> Vec<Fold> {
        let here = self.by_carrier.remove(&carrier).unwrap_or_default();
        here.into_iter().filter_map(|first| self.remove(first)).collect()
    }

    /// After the host rewrote its list: drops the folds whose messages are no longer adjacent in
    /// the window.
    pub(super) fn drop_broken(&mut self, chat: &Chat) {
        let window = &chat.own_window;
        let places: HashMap<u64, usize> = window.iter().copied().zip(0..).collect();
        let is_whole = |fold: &Fold| {
            let Some(start) = places.get(&fold.first) else { return false };
            let Some(end) = places.get(&fold.last).filter(|end| *end >= start) else {
                return false;
            };
            let is_together =
                window[*start..=*end].windows(2).all(|two| chat.follows(two[1], two[0]));
            let next = window.get(end + 1).and_then(|at| chat.get(*at));
            is_together && next.is_some_and(ChatMessage::is_answer)
        };
        self.by_first.retain(|first, carried| match carrier(chat, *first) {
            Some(carrier) if is_whole(&carried.fold) => {
                carried.carrier = carrier;
                true
            }
            _ => false,
        });
        self.by_carrier.clear();
        for (first, carried) in &self.by_first {
            self.by_carrier.entry(carried.carrier).or_default().insert(*first);
        }
    }
}

/// The user message that carries the line for steps starting at `first`: the last one before them,
/// if it can carry lines.
pub(super) fn carrier(chat: &Chat, first: u64) -> Option<u64> {
    let window = &chat.window;
    let place = chat.index_of(first)?;
    let before = window[..place].iter().rev().filter_map(|at| Some((*at, chat.get(*at)?)));
    let (at, message) = before.into_iter().find(|(_, m)| matches!(m.kind, MessageKind::User))?;
    can_carry(message).then_some(at)
}

/// Whether a user message can carry lines. A message that always goes out as the host gives it
/// cannot.
pub(super) fn can_carry(message: &ChatMessage) -> bool {
    !message.withheld && !message.is_volatile()
}
