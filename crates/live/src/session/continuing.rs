//! Continues a session from another harness or another machine. Decisions are made in `context`.

use serde::Serialize;

use super::LiveSession;
use crate::journal::Activity;
use base::error::{Error, Result};
use base::object::ObjectId;
use context::host_compaction::{self, Leaves};
use session::Event;

/// What a session took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Continuation {
    /// The other session's harness.
    pub harness: String,
    /// Turns of its chat.
    pub turns: u32,
    /// Messages of its chat.
    pub messages: u64,
    /// Objects that keep their handles.
    pub objects: u64,
    /// Objects that are pinned, among those.
    pub pinned: u64,
    /// Tokens of what the next message tells the model about it.
    pub tokens: u64,
}

impl LiveSession {
    /// Continues another session, from any harness: its objects keep their handles, what it pinned
    /// stays pinned, and its chat is told as text with the next message. The other session stays as
    /// it is. From here on the two are independent.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if this session has messages already, or is confined; `NOT_FOUND` or
    /// `FORGOTTEN` for the other; errors of the store.
    pub fn continue_from(&mut self, source: &ObjectId) -> Result<Continuation> {
        let _bounded = self.bounded();
        self.reload_if_in_doubt()?;
        if source == self.journal.session_id() || !self.state().chat().is_empty() {
            return Err(Error::argument(
                "session",
                "can only be continued in a session without messages: start a new one".to_owned(),
            ));
        }
        if self.state().is_confined() {
            return Err(Error::argument(
                "session",
                "is private, and others take part in this one".to_owned(),
            ));
        }
        let cwd = self.disk.canonical_cwd();
        let begun = self.journal.begin_work();
        let done = begun
            .and_then(|()| self.journal.take_over(source, &cwd))
            .and_then(|before| self.go_on().inspect_err(|_| self.journal.give_back(before)));
        self.reload()?;
        self.plan_check()?;
        done
    }

    /// Tells of the session that was taken over, and stores it.
    fn go_on(&mut self) -> Result<Continuation> {
        let objects = self.state().index().entries.len() as u64;
        let window = self.state().chat().own_window.clone();
        let runs = self.runs_compacted(window);
        for (first, last) in &runs {
            self.journal.segment(*first..=*last, true)?;
        }
        let leaves = Leaves { answer: self.last_words()?, ..self.leaves(&runs)? };
        let state = self.state();
        let harness = state.came_from().unwrap_or("?").to_owned();
        let text = host_compaction::continuation(&harness, &leaves, None);
        let (chat, sets) = (state.chat(), state.sets());
        let done = Continuation {
            harness,
            turns: chat.turn(),
            messages: chat.len(),
            objects,
            pinned: sets.pinned().len() as u64,
            tokens: self.options.counter.count(&text),
        };
        self.journal.record(Event::Continued { text });
        self.commit(Activity::Active)?;
        Ok(done)
    }

    /// The text of the newest answer.
    fn last_words(&self) -> Result<Option<String>> {
        let mut newest = self.state().window().rev();
        let newest = newest.find(|(_, message)| message.is_answer() && !message.withheld);
        let Some((at, _)) = newest else { return Ok(None) };
        let text = self.journal.message(at)?.text().trim().to_owned();
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}
