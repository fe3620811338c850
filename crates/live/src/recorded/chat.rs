//! Reads a stored session's chat along its branch, to be replayed. Must not replay it.

use super::messages::ChatMessages;
use crate::journal::Recording;
use base::error::Result;
use base::object::ObjectId;
use session::{Event, Session};
use store::Store;

/// A session's chat along its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChat {
    /// The session's working folder.
    pub cwd: String,
    /// The messages, each as JSON, as the host gave them. A line replaces each one that the store
    /// does not hold.
    pub messages: Vec<String>,
    /// System prompt and tools; `None` before the first call.
    pub prompt: Option<PromptTokens>,
}

/// Average tokens of system prompt and tools over a session's calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptTokens {
    /// All tokens.
    pub all: u64,
    /// Our part of them.
    pub ours: u64,
}

/// Reads a session's chat along its branch.
///
/// # Errors
/// `NOT_FOUND` if there is no such session; errors of the store.
pub fn stored_chat(store: &Store, session: &ObjectId) -> Result<StoredChat> {
    let recording = Recording::of(store, session, &"as a session")?;
    let mut prompts = Prompts::default();
    let mut state = Session::default();
    for event in &recording.events {
        state.apply(event);
        if matches!(event, Event::Called(_)) {
            prompts.add(&state);
        }
    }
    let positions = 0..state.chat().len();
    let mut chat = ChatMessages::default();
    chat.turn_to(recording.events.len(), &recording.events);
    chat.read(store, &recording.session, positions.clone())?;
    let messages =
        positions.map(|at| Ok(chat.get(at)?.message.raw.clone())).collect::<Result<_>>()?;
    let cwd = recording.session.fields.get("cwd").and_then(|cwd| cwd.as_str()).unwrap_or("/");
    Ok(StoredChat { cwd: cwd.to_owned(), messages, prompt: prompts.mean() })
}

/// Sums of system prompt and tools over calls. A replay uses one figure for all calls; with the
/// average, they cost the same in total as the originals.
#[derive(Default)]
struct Prompts {
    calls: u64,
    all: u64,
    ours: u64,
}

impl Prompts {
    /// Adds the newest call of a session, if it has a bill.
    fn add(&mut self, state: &Session) {
        let Some(last) = state.bill().last.as_ref() else { return };
        self.calls += 1;
        self.all += last.bill.fixed;
        self.ours += last.bill.overhead.min(last.bill.fixed);
    }

    fn mean(&self) -> Option<PromptTokens> {
        let mean = |sum: u64| (sum + self.calls / 2).checked_div(self.calls);
        Some(PromptTokens { all: mean(self.all)?, ours: mean(self.ours)? })
    }
}
