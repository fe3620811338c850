//! Reads sessions from the store: their list, their calls as they went out, and what each call was
//! made of.
//!
//! Reads only the store, so it gives the same result after a restart and in another store. Opens no
//! session. Must not decide anything.

mod beside;
mod bill;
mod call;
mod chat;
mod compare;
mod document;
mod find;
mod gaps;
mod inspect;
mod meant;
mod messages;
mod sessions;
mod slots;
mod timeline;
mod title;

pub use self::beside::{Against, Beside, BesideBoth, inspect_beside, inspect_calls};
pub use self::bill::bill_of;
pub(super) use self::bill::keep_bill;
pub use self::call::{CallPlace, Replayed, replay_call};
pub use self::chat::{PromptTokens, StoredChat, stored_chat};
pub use self::compare::{ChangeKind, MessageChange, PromptChange, compare_calls};
pub use self::document::session_at;
pub use self::inspect::{
    About, FoldLine, Inspected, Prompt, RecordedPayload, RecordedSize, Since, inspect_call,
};
pub use self::meant::SessionNames;
pub use self::sessions::{SessionSummary, find_handle, find_session, newest_call, sessions};
pub(super) use self::slots::{apply_edits, recorded_slots, slots_of};
pub use self::timeline::{
    CallPoint, Mark, MarkKind, ObjectLine, ShownRun, Timeline, TimelineKinds, timeline,
};
use super::journal::{Recording, refers_to_chat, stored_words};
use base::error::Result;
use base::object::ObjectId;
use context::statement::{self, Statement};
use store::{Store, Version};

/// The content of a version, or an additional content by its name: as [`Store::text_of`], but for a
/// chat segment the words of its messages.
///
/// # Errors
/// As [`Store::text_of`]; `NOT_FOUND` if the store does not hold the session of a segment.
pub fn text_of(store: &Store, version: &Version, field: Option<&str>) -> Result<Option<String>> {
    if field.is_some() || !refers_to_chat(version) {
        return store.text_of(version, field);
    }
    stored_words(store, version).map(|(words, _)| Some(words.text))
}

/// The ledger of a stored session.
///
/// # Errors
/// `NOT_FOUND` if there is no such session.
pub fn statement(store: &Store, session: &ObjectId) -> Result<Statement> {
    let recording = Recording::of(store, session, &"as a session")?;
    Ok(statement::statement(&recording.events))
}
