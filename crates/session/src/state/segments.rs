//! Segments: runs of chat messages as objects, and which of them the host compacted away.

use std::collections::HashSet;

use super::Session;
use crate::chat::LeftWindow;
use crate::event::Rewrite;
use crate::index::Subject;
use base::object::{Hash, ObjectId};

impl Session {
    /// Positions of the first and last message of some turns; `None` if the chat has none of them.
    ///
    /// `turns`: the first and the last, counted from 1.
    pub fn messages_of_turns(&self, turns: (u32, u32)) -> Option<(u64, u64)> {
        let are_of = |turn: u32| (turns.0.max(1)..=turns.1).contains(&turn);
        let messages = &self.chat.messages;
        let first = messages.iter().position(|message| are_of(message.turn))?;
        let last = messages.iter().rposition(|message| are_of(message.turn))?;
        Some((first as u64, last as u64))
    }

    pub(super) fn enter_segment(
        &mut self,
        object: &ObjectId,
        version: &Hash,
        (first, last): (u64, u64),
        compacted: bool,
    ) {
        let turn = |at: u64| self.chat.get(at).map_or(0, |message| message.turn);
        let (turns, version) = ((turn(first), turn(last)), version.clone());
        self.index.enter(object, Subject::Segment { first, last, turns, version, is_left: false });
        self.sets.discover(object);
        let Some(handle) = self.index.get(object).map(|entry| entry.handle) else { return };
        if compacted {
            self.compacted.retain(|known| {
                let inside = self.index.by_handle(*known).and_then(|entry| range(&entry.subject));
                inside.is_some_and(|(from, to)| from < first || to > last)
            });
            self.compacted.push(handle);
            self.compacted.sort_by_key(|handle| {
                self.index.by_handle(*handle).and_then(|entry| range(&entry.subject))
            });
        }
    }

    /// The host leaves its window while the chat keeps its messages: remembers it. Returns the one to
    /// which a person goes back, with what was compacted away there.
    pub(super) fn leave_window(
        &mut self,
        how: Rewrite,
        chat_len: u64,
        (window, stays): (&[u64], &HashSet<u64>),
    ) -> Option<LeftWindow> {
        let own = &self.chat.own_window;
        if chat_len < self.chat.len() || own.iter().all(|at| stays.contains(at)) {
            return None;
        }
        let (own, compacted) = (own.clone(), self.compacted.clone());
        let back = self.chat.left_window(window).filter(|_| how == Rewrite::Branch).cloned();
        self.chat.leave(LeftWindow { own, compacted, is_left: self.branches.is_left() });
        if let Some(back) = &back {
            self.compacted.clone_from(&back.compacted);
        }
        back
    }

    /// Drops the compacted segments whose messages are back in the host's list.
    pub(super) fn drop_uncompacted(&mut self, window: &[u64]) {
        let Self { compacted, index, .. } = self;
        compacted.retain(|handle| match index.by_handle(*handle).map(|entry| &entry.subject) {
            Some(Subject::Segment { first, last, is_left: false, .. }) => {
                !window.iter().any(|at| (first..=last).contains(&at))
            }
            _ => false,
        });
    }
}

fn range(subject: &Subject) -> Option<(u64, u64)> {
    match subject {
        Subject::Segment { first, last, .. } => Some((*first, *last)),
        _ => None,
    }
}
