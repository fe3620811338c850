//! Messages of a session's chat as its calls show them. Each is read and counted once for a call
//! and those compared with it. Must not know how a call is rendered.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::gaps::{Gap, StoredTexts};
use super::timeline::CountedTexts;
use crate::journal::{chat_at, chat_item};
use base::error::{Error, Result};
use context::content::text_content;
use context::host::HostMessage;
use context::tokens::Counter;
use session::Event;
use store::{Item, Store, Version};

/// Up to this many messages between two runs are read with them: that is as fast as reading the
/// runs apart.
const MOST_BETWEEN_RUNS: u64 = 32;

/// A message of the chat.
pub(super) struct ChatMessage {
    /// The message as the host gave it; a line replaces text that the store does not hold.
    pub(super) message: HostMessage,
    /// The text that the store does not hold in its original form.
    pub(super) gap: Option<Gap>,
    /// Whether something was removed from the message itself.
    pub(super) is_redacted: bool,
}

/// Messages of one session's chat, by position, as they were after its event number `until`.
#[derive(Default)]
pub(super) struct ChatMessages {
    until: usize,
    known: HashMap<u64, ChatMessage>,
    /// Tokens of messages that are not shown as they came, and of their parts.
    pub(super) counted: CountedTexts,
}

impl ChatMessages {
    /// Moves to another point of the same session. Messages that the host replaced in between are
    /// read again.
    pub(super) fn turn_to(&mut self, until: usize, events: &[Event]) {
        let between = self.until.min(until)..self.until.max(until);
        self.until = until;
        for event in &events[between] {
            match event {
                Event::Edited { at, .. } => drop(self.known.remove(at)),
                Event::Rewritten { chat_len, .. } => self.known.retain(|at, _| at < chat_len),
                _ => {}
            }
        }
    }

    /// Reads the messages at `positions` that are not known yet, and no others, as a session may be
    /// long.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) fn read(
        &mut self,
        store: &Store,
        session: &Version,
        positions: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let wanted: BTreeSet<u64> = positions.filter(|at| !self.known.contains_key(at)).collect();
        for run in runs(&wanted) {
            let items = chat_at(store, session, self.until as u64, run.clone())?;
            for (at, item) in run.zip(items).filter(|(at, _)| wanted.contains(at)) {
                self.known.insert(at, read(store, &item)?);
            }
        }
        Ok(())
    }

    /// A message that was read.
    ///
    /// # Errors
    /// An internal error if the chat does not have it.
    pub(super) fn get(&self, at: u64) -> Result<&ChatMessage> {
        let missing = || Error::internal(format!("the chat has no message {at}"));
        self.known.get(&at).ok_or_else(missing)
    }
}

/// Runs that cover all positions.
fn runs(positions: &BTreeSet<u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &at in positions {
        match runs.last_mut() {
            Some(run) if at - run.end < MOST_BETWEEN_RUNS => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

fn read(store: &Store, item: &Item) -> Result<ChatMessage> {
    let texts = StoredTexts::new(store);
    let message = chat_item::read(&item.text, &texts, Counter::default())?;
    let (gap, is_redacted) = (texts.gap.take(), item.redacted.is_some());
    let Some(line) = gap.as_ref().filter(|gap| gap.is_empty).map(Gap::line) else {
        return Ok(ChatMessage { message, gap, is_redacted });
    };
    let raw = message.with_content(&text_content(&line));
    let message = HostMessage::from_stored(&raw, message.withheld, message.counter);
    Ok(ChatMessage { message, gap, is_redacted })
}
