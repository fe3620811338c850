//! What a host sends itself while a turn runs: which messages, the texts of tool results, and which
//! turns it reported as ended well. Must not decide how anything is shown.

use std::collections::{BTreeMap, BTreeSet};

use super::Session;
use crate::Treatment;
use crate::event::ShownResult;
use base::object::Hash;

/// The messages, results and turns that a host sent itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Kept {
    /// Positions of messages that the host sent itself when they were new.
    messages: BTreeSet<u64>,
    /// Results by the provider's call ID, which may occur more than once.
    results: BTreeMap<String, Vec<ShownResult>>,
    turns: BTreeSet<String>,
}

impl Kept {
    /// Records a new message.
    pub(super) fn note(&mut self, at: u64, is_kept: bool) {
        if is_kept {
            self.messages.insert(at);
        }
    }

    /// Cuts the chat back to this length.
    pub(super) fn go_back(&mut self, chat_len: u64) {
        self.messages.split_off(&chat_len);
    }

    pub(super) fn show(&mut self, shown: &ShownResult) {
        let results = self.results.entry(shown.call.clone()).or_default();
        results.retain(|known| known.at != shown.at || known.shown != shown.shown);
        results.push(shown.clone());
    }

    pub(super) fn commit(&mut self, key: &str) {
        self.turns.insert(key.to_owned());
    }
}

impl Session {
    /// Whether the host sent this message itself when it was new, so that its notes stand before
    /// it.
    pub fn is_kept(&self, at: u64) -> bool {
        self.kept.messages.contains(&at)
    }

    /// Whether the host has sent messages itself.
    pub fn has_kept(&self) -> bool {
        !self.kept.messages.is_empty()
    }

    /// Whether the host said that the turn with this key ended well.
    pub fn has_committed(&self, key: &str) -> bool {
        self.kept.turns.contains(key)
    }

    /// Whether the host itself showed results of this call.
    pub fn shows_itself(&self, call: &str) -> bool {
        self.kept.results.contains_key(call)
    }

    /// Whether the host shows a result itself, in other words than the tool gave.
    pub fn is_shown_in_part(&self, at: u64) -> bool {
        let call = self.chat.get(at).and_then(|message| message.key.calls.first());
        let results = call.and_then(|call| self.kept.results.get(call)).into_iter().flatten();
        let shown = results.clone().find(|result| result.at == at).or_else(|| results.last());
        shown.is_some_and(|shown| shown.treatment != Treatment::Given)
    }

    /// The result of a call that the host shows as this text; the newest if there are several.
    pub fn shown_as(&self, call: &str, text: &Hash) -> Option<&ShownResult> {
        self.kept.results.get(call)?.iter().rfind(|result| result.shown == *text)
    }

    /// The result of a call with this whole text: the one at the position, else the newest.
    pub fn shown_of(&self, call: &str, whole: &Hash, at: u64) -> Option<&ShownResult> {
        let results = self.kept.results.get(call)?.iter();
        let of_text = || results.clone().filter(|result| result.whole == *whole);
        of_text().find(|result| result.at == at).or_else(|| of_text().next_back())
    }
}
