//! What another session left, with which this one goes on: the text that tells the model of it stays where it stands.

use super::Session;
use crate::event::{Opened, Rewrite};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct Continued {
    text: Option<String>,
    /// The harness of the session before, if there is one.
    harness: Option<String>,
}

impl Session {
    /// The session begins, or goes on from another one.
    pub(super) fn open(&mut self, opened: &Opened) {
        self.is_confined |= opened.confined;
        self.continued.harness = self.opened.replace(opened.clone()).map(|before| before.harness);
    }

    /// The harness of the session that this one is a fork of, or goes on with.
    pub fn came_from(&self) -> Option<&str> {
        self.continued.harness.as_deref()
    }

    /// Goes on with all that is known: the chat keeps it, and nothing of it stands in the window.
    pub(super) fn continue_with(&mut self, text: &str) {
        self.rewrite(Rewrite::Compaction, self.chat.len(), &[]);
        self.continued.text = Some(text.to_owned());
    }

    /// What the model is still to be told of the session that this one goes on with: no message of the window says it.
    pub fn due_continuation(&self) -> Option<&str> {
        let text = self.continued.text.as_deref()?;
        let says =
            |at: &u64| !self.folds.hide(*at) && self.notes(*at).iter().any(|note| note == text);
        (!self.chat.window().iter().any(says)).then_some(text)
    }

    /// Drops the notes of messages, but for what tells of the session that this one goes on with.
    pub(super) fn drop_notes(&mut self, goes: impl Fn(u64) -> bool) {
        let stays = self.continued.text.as_deref();
        self.notes.retain(|at, texts| {
            if goes(*at) {
                texts.retain(|text| Some(text.as_str()) == stays);
            }
            !texts.is_empty()
        });
    }
}
