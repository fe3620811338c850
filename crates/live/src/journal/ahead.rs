//! Reads of stored messages, some ahead where they are asked for one after another: each read
//! decodes all that a message is packed with. Must not outlive a piece of work, since text may be
//! forgotten meanwhile.

use std::cell::RefCell;

use super::Journal;
use base::error::Result;

/// Messages that are read at once.
const AHEAD: u64 = 64;

/// Up to how many messages after the last one a question goes on from it.
const NEAR: u64 = 8;

#[derive(Debug, Default)]
pub(super) struct ReadAhead(RefCell<Read>);

#[derive(Debug, Default)]
struct Read {
    /// The message that was asked for last.
    asked: Option<u64>,
    /// Place of the first of the items.
    from: u64,
    items: Vec<String>,
}

impl Journal {
    /// The stored item of a message; `None` behind the last.
    pub(super) fn stored_item(&self, at: u64) -> Result<Option<String>> {
        let mut read = self.ahead.0.borrow_mut();
        let place = at.checked_sub(read.from).and_then(|place| usize::try_from(place).ok());
        let known = place.and_then(|place| read.items.get(place)).cloned();
        let goes_on = read.asked.is_some_and(|asked| (asked..=asked + NEAR).contains(&at));
        read.asked = Some(at);
        if known.is_some() {
            return Ok(known);
        }
        let until = at + if goes_on { AHEAD } else { 1 };
        read.items = self.store.items(&self.ids.chat, self.stored.chat_at(), at..until)?;
        read.from = at;
        Ok(read.items.first().cloned())
    }
}
