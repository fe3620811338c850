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
    let (mut state, mut prompts) = (Session::default(), Vec::new());
    for event in &recording.events {
        state.apply(event);
        let last = state.bill().last.as_ref().filter(|_| matches!(event, Event::Called(_)));
        prompts.extend(last.map(|last| (last.bill.fixed, last.bill.overhead.min(last.bill.fixed))));
    }
    let positions = 0..state.chat().len();
    let mut chat = ChatMessages::default();
    chat.turn_to(recording.events.len(), &recording.events);
    chat.read(store, &recording.session, positions.clone())?;
    let messages =
        positions.map(|at| Ok(chat.get(at)?.message.raw.clone())).collect::<Result<_>>()?;
    let cwd = recording.session.fields.get("cwd").and_then(|cwd| cwd.as_str()).unwrap_or("/");
    Ok(StoredChat { cwd: cwd.to_owned(), messages, prompt: mean(&prompts) })
}

/// The average of system prompt and tools over calls, given as all of them and ours. A replay uses
/// one figure for all calls; with the average, they cost the same in total as the originals.
fn mean(prompts: &[(u64, u64)]) -> Option<PromptTokens> {
    let calls = prompts.len() as u64;
    let mean = |sum: u64| (sum + calls / 2).checked_div(calls);
    let all = mean(prompts.iter().map(|(all, _)| all).sum())?;
    Some(PromptTokens { all, ours: mean(prompts.iter().map(|(_, ours)| ours).sum())? })
}
