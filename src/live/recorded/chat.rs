//! A stored session's chat along its branch, to be played again. Must not play it.

use super::messages::ChatMessages;
use crate::error::{Error, Result};
use crate::live::journal::read_events;
use crate::object::{AsOf, ObjectId};
use crate::session::{Event, Session};
use crate::store::Store;

/// A session's chat along its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChat {
    /// The session's working folder.
    pub cwd: String,
    /// The messages, each as JSON, as the host gave them. Where the store does not hold one, a line says so.
    pub messages: Vec<String>,
    /// System prompt and tools; `None` before the first call.
    pub prompt: Option<PromptTokens>,
}

/// Tokens of system prompt and tools, as the calls of a session had them on average.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PromptTokens {
    /// All of them.
    pub all: u64,
    /// Ours among them.
    pub ours: u64,
}

/// Reads a session's chat along its branch.
///
/// # Errors
/// `NOT_FOUND` if there is no such session; errors of the store.
pub fn stored_chat(store: &Store, session: &ObjectId) -> Result<StoredChat> {
    let missing = || Error::NotFound { id: session.clone(), at: "as a session".to_owned() };
    let document = store.get(session, AsOf::Latest)?.ok_or_else(missing)?;
    let events = read_events(store, session, AsOf::Latest)?;
    let positions = 0..Session::replay(&events).chat().len();
    let mut chat = ChatMessages::default();
    chat.turn_to(events.len(), &events);
    chat.read(store, &document, positions.clone())?;
    let messages =
        positions.map(|at| Ok(chat.get(at)?.message.raw.clone())).collect::<Result<_>>()?;
    let cwd = document.fields.get("cwd").and_then(|cwd| cwd.as_str()).unwrap_or("/").to_owned();
    Ok(StoredChat { cwd, messages, prompt: prompt_tokens(&events) })
}

/// An average, since a replay has one figure for all calls: with it, they cost together what they did.
fn prompt_tokens(events: &[Event]) -> Option<PromptTokens> {
    let (mut now, mut sum) = (PromptTokens::default(), PromptTokens::default());
    let mut calls = 0;
    for event in events {
        let Event::Called(record) = event else { continue };
        let Some(note) = &record.bill else { continue };
        now.all = note.fixed.unwrap_or(now.all);
        now.ours = note.overhead.unwrap_or(now.ours).min(now.all);
        sum.all += now.all;
        sum.ours += now.ours;
        calls += 1;
    }
    let mean = |sum: u64| (sum + calls / 2).checked_div(calls);
    Some(PromptTokens { all: mean(sum.all)?, ours: mean(sum.ours)? })
}
