//! A call beside other lists of messages: the call before, and what the plain host would have sent.
//!
//! Reads the store alone. Must not decide anything.

use std::ops::Range;

use super::compare::{Comparer, MessageChange, PromptChange, compare_prompts};
use super::find::{Finder, FoundCall};
use super::inspect::{About, Inspected, inspect};
use super::messages::ChatMessages;
use super::sessions::newest_call;
use base::error::Result;
use base::object::ObjectId;
use store::Store;

/// A call beside another list of messages.
#[derive(Debug, Clone)]
pub struct Beside {
    /// The call.
    pub call: Inspected,
    /// The other list; none before the first call, and where the call before cannot be read.
    pub other: Option<Inspected>,
    /// How the call differs from it.
    pub changes: Vec<MessageChange>,
    /// How its system prompt and tools do; those of the plain host are not recorded.
    pub prompt: Option<PromptChange>,
}

/// What a call is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// The call before.
    Before,
    /// The host's list at that call, as it was. It has no record, and nothing in it is shown otherwise than as given.
    Plain,
}

/// Reads a call with what it is compared with.
///
/// # Errors
/// As [`super::replay_call`] of the call itself.
pub fn inspect_beside(
    store: &Store,
    session: &ObjectId,
    number: u64,
    against: Against,
) -> Result<Beside> {
    let mut reader = Reader::new(store, session);
    // In their order, in which both are found at once.
    let before = (against == Against::Before && number > 1).then(|| reader.finder.find(number - 1));
    let found = reader.finder.find(number)?;
    let call = reader.inspect(&found, number)?;
    let other = match (against, before) {
        // What is wrong with it is said where it is asked for itself.
        (Against::Before, Some(before)) => {
            before.and_then(|before| reader.inspect(&before, number - 1)).ok()
        }
        (Against::Before, None) => None,
        (Against::Plain, _) => Some(reader.plain(found, number)?),
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

/// A call beside both.
#[derive(Debug, Clone)]
pub struct BesideBoth {
    /// The call.
    pub call: Inspected,
    /// How it differs from the call before; none of the first call, and where that cannot be read.
    pub since_before: Option<Vec<MessageChange>>,
    /// How its system prompt and tools differ from those of the call before.
    pub prompt: Option<PromptChange>,
    /// The host's list, as [`Against::Plain`] has it.
    pub plain: Inspected,
    /// How the call differs from that.
    pub against_plain: Vec<MessageChange>,
}

/// Reads calls one after another, each beside the call before and beside what the plain host would have sent. What cannot be read is an
/// error in its place. Numbers behind the newest call are left out.
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
    let before_all = match numbers.start {
        1 => None,
        first => {
            reader.finder.find(first - 1).and_then(|found| reader.inspect(&found, first - 1)).ok()
        }
    };
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

/// Reads calls of a session, and of those from which it forked: each message once for the calls that show it.
struct Reader<'a> {
    store: &'a Store,
    finder: Finder<'a>,
    /// Of the session whose call was read last.
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
