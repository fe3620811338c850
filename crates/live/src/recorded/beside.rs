//! Compares a call with another list of messages: that of the previous call, or the one that the
//! plain host would have sent.
//!
//! Reads only the store. Must not decide anything.

use std::ops::Range;

use super::compare::{Comparer, MessageChange, PromptChange, compare_prompts};
use super::find::{Finder, FoundCall};
use super::inspect::{About, Inspected, inspect};
use super::messages::ChatMessages;
use super::sessions::newest_call;
use base::error::Result;
use base::object::ObjectId;
use store::Store;

/// A call compared with another list of messages.
#[derive(Debug, Clone)]
pub struct Beside {
    /// The call.
    pub call: Inspected,
    /// The other list; none before the first call, and where the previous call cannot be read.
    pub other: Option<Inspected>,
    /// The differences between the two.
    pub changes: Vec<MessageChange>,
    /// The differences in system prompt and tools; those of the plain host are not recorded.
    pub prompt: Option<PromptChange>,
}

/// What to compare a call with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The previous call.
    Before,
    /// The host's own list at that call. It has no record, and every message in it is shown as
    /// given.
    Plain,
}

/// Reads a call and the list to compare it with.
///
/// # Errors
/// As [`super::replay_call`] for the call itself.
pub fn inspect_beside(
    store: &Store,
    session: &ObjectId,
    number: u64,
    against: Against,
) -> Result<Beside> {
    let mut reader = Reader::new(store, session);
    // In call order, so that one pass finds both.
    let before = if against == Against::Before { reader.before(number) } else { None };
    let found = reader.finder.find(number)?;
    let call = reader.inspect(&found, number)?;
    let other = match against {
        Against::Before => before,
        Against::Plain => Some(reader.plain(found, number)?),
    };
    let changes = other
        .as_ref()
        .map(|other| reader.comparer.compare(&other.messages, &call.messages))
        .unwrap_or_default();
    let prompt = prompt_change(other.as_ref(), &call);
    Ok(Beside { call, other, changes, prompt })
}

fn prompt_change(other: Option<&Inspected>, call: &Inspected) -> Option<PromptChange> {
    compare_prompts(other?.prompt.as_ref(), call.prompt.as_ref())
}

/// A call compared with both lists.
#[derive(Debug, Clone)]
pub struct BesideBoth {
    /// The call.
    pub call: Inspected,
    /// The differences from the previous call; none for the first call, and where that call cannot
    /// be read.
    pub since_before: Option<Vec<MessageChange>>,
    /// The differences in system prompt and tools from the previous call.
    pub prompt: Option<PromptChange>,
    /// The host's list, as with [`Against::Plain`].
    pub plain: Inspected,
    /// The differences from the host's list.
    pub against_plain: Vec<MessageChange>,
}

/// Reads calls one after another, each compared with the previous call and with what the plain host
/// would have sent. An unreadable call is an error in its place. Numbers after the newest call are
/// left out.
///
/// # Errors
/// As [`newest_call`].
pub fn inspect_calls(
    store: &Store,
    session: &ObjectId,
    numbers: Range<u64>,
) -> Result<Vec<Result<BesideBoth>>> {
    let numbers = numbers.start.max(1)..numbers.end.min(newest_call(store, session)? + 1);
    let mut reader = Reader::new(store, session);
    let before_all = reader.before(numbers.start);
    let mut calls: Vec<Result<BesideBoth>> = Vec::new();
    for number in numbers {
        let before = match calls.last() {
            Some(read) => read.as_ref().ok().map(|both| &both.call),
            None => before_all.as_ref(),
        };
        let read = reader.both(number, before);
        calls.push(read);
    }
    Ok(calls)
}

/// Reads calls of a session, and of those from which it forked. Each message is read once for all
/// calls that show it.
struct Reader<'a> {
    store: &'a Store,
    finder: Finder<'a>,
    /// The messages of the session whose call was read last.
    chat: ChatMessages,
    chat_of: Option<ObjectId>,
    comparer: Comparer,
}

impl<'a> Reader<'a> {
    fn new(store: &'a Store, session: &'a ObjectId) -> Self {
        let (finder, chat) = (Finder::new(store, session), ChatMessages::default());
        Self { store, finder, chat, chat_of: None, comparer: Comparer::default() }
    }

    fn inspect(&mut self, found: &FoundCall, number: u64) -> Result<Inspected> {
        let holder = &found.recording.session.envelope.id;
        if self.chat_of.as_ref() != Some(holder) {
            // A fork's parent has a chat of its own.
            self.chat = ChatMessages::default();
            self.chat_of = Some(holder.clone());
        }
        inspect(self.store, found, number, &mut self.chat)
    }

    /// The call before this one. Its errors are reported when it is itself asked for.
    fn before(&mut self, number: u64) -> Option<Inspected> {
        let number = number.checked_sub(1).filter(|before| *before > 0)?;
        let found = self.finder.find(number).ok()?;
        self.inspect(&found, number).ok()
    }

    fn plain(&mut self, found: FoundCall, number: u64) -> Result<Inspected> {
        let mut plain = self.inspect(&found.into_plain(), number)?;
        plain.about.iter_mut().for_each(About::become_given);
        plain.epoch_reason = None;
        Ok(plain)
    }

    fn both(&mut self, number: u64, before: Option<&Inspected>) -> Result<BesideBoth> {
        let found = self.finder.find(number)?;
        let call = self.inspect(&found, number)?;
        let plain = self.plain(found, number)?;
        let since_before =
            before.map(|before| self.comparer.compare(&before.messages, &call.messages));
        let prompt = prompt_change(before, &call);
        let against_plain = self.comparer.compare(&plain.messages, &call.messages);
        Ok(BesideBoth { call, since_before, prompt, plain, against_plain })
    }
}
