//! What this session continues from another one, and where it continues nothing. The text that
//! tells the model about it stays where it stands.

use super::Session;
use crate::event::{Opened, Rewrite};
use base::object::ObjectId;

/// The harness of the earlier session, and the text about it.
#[derive(Debug, Clone, Default)]
pub(super) struct Continued {
    text: Option<String>,
    /// The harness of the earlier session, if there is one.
    harness: Option<String>,
}

impl Session {
    /// Begins the session, alone or as a continuation of another one.
    pub(super) fn open(&mut self, opened: &Opened) {
        self.is_confined |= opened.confined;
        self.continued.harness = self.opened.replace(opened.clone()).map(|before| before.harness);
    }

    /// The harness of the session that this one forks or continues.
    pub fn came_from(&self) -> Option<&str> {
        self.continued.harness.as_deref()
    }

    /// Continues with everything known: the chat keeps it, but none of it stands in the window.
    pub(super) fn continue_with(&mut self, text: &str) {
        self.rewrite(Rewrite::Compaction, self.chat.len(), &[]);
        self.continued.text = Some(text.to_owned());
    }

    /// Goes on with another conversation, to which nothing of the earlier one belongs.
    pub(super) fn start_over(&mut self) {
        let pinned: Vec<ObjectId> = self.sets.pinned().into_iter().cloned().collect();
        self.sets.clear();
        for object in pinned {
            self.end_pin(&object, "a new conversation began");
        }
        self.asked.clear();
        self.effects.clear();
        self.left_out.clear();
        self.coming_tokens = 0;
        self.continued.text = None;
    }

    /// What the model must still be told about the session that this one continues; `None` once a
    /// message of the window says it.
    pub fn due_continuation(&self) -> Option<&str> {
        let text = self.continued.text.as_deref()?;
        let says = |at: &u64| {
            !self.folds.hide(*at) && self.notes(*at).iter().any(|note| note.text == text)
        };
        (!self.chat.window.iter().any(says)).then_some(text)
    }

    /// The text about the session that this one continues.
    pub(super) fn continued_text(&self) -> Option<&str> {
        self.continued.text.as_deref()
    }
}
