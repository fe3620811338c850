//! Records of requests as they are stored. Plain data.

use serde::{Deserialize, Serialize};

use super::call_note::CallNote;
use super::line_ranges::LineRange;
use base::object::{Hash, ObjectId, RedactionReason, Timestamp};

/// Record of one request: enough to render it again, byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRecord {
    /// Number of the call in the session, from 1.
    pub number: u64,
    /// The call that this one retries: the host asked again with the same list. If a new epoch
    /// started, the request still differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<u64>,
    /// Provider and model as the host names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Name of the layout.
    pub layout: String,
    /// Number of the epoch.
    pub epoch: u32,
    /// `content_hash` of the version of `system_prompt:{session}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Hash>,
    /// How the slots differ from the previous record's, in order of position.
    pub edits: Vec<SlotEdit>,
    /// Running hash over the SHA-256 of each message's JSON, in order.
    pub hash: Hash,
    /// Tokens of the messages as sent.
    pub sent_tokens: u64,
    /// Tokens of the messages as the plain host would have sent them.
    pub plain_tokens: u64,
    /// Tokens of the model's window, if the host stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What the bill depends on.
    pub bill: CallNote,
    /// When.
    pub time: Timestamp,
}

/// A change of the list of slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotEdit {
    /// Index at which the edit applies, after all earlier edits.
    pub at: u64,
    /// Number of slots to remove there.
    pub remove: u64,
    /// Slots to insert in their place.
    pub insert: Vec<SlotRecord>,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SlotRecord {
    /// A message of the chat; `content`, if set, is JSON that replaces its content. Folded messages
    /// have no slot.
    Chat {
        /// Position.
        chat: u64,
        /// The content's JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Lines of folded steps, appended to the content as its last block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folded: Option<String>,
    },
    /// The metadata pool as one user message (`pools`): first lines kept from the previous slot,
    /// then new lines.
    Pool {
        /// Lines kept.
        pool_keep: u64,
        /// Lines added.
        pool_add: Vec<String>,
        /// Time stamp of the message.
        time: i64,
    },
    /// An active object as one user message (`pools`).
    Active {
        /// The object.
        active: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
        /// The lines; empty for all of it.
        ranges: Vec<LineRange>,
        /// Time stamp of the message.
        time: i64,
    },
    /// A host message that the chat does not hold in this form, because it changes on every call or
    /// the call failed.
    Message {
        /// The message's JSON.
        message: String,
        /// Set if the message is a placeholder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Withheld>,
    },
}

/// What is kept of a message whose text must not be stored. A placeholder replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Withheld {
    /// Why.
    pub reason: WithheldReason,
    /// SHA-256 of the message's JSON.
    pub digest: Hash,
    /// Bytes of that JSON.
    pub bytes: u64,
    /// Its tokens.
    pub tokens: u64,
}

/// Why text is not in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    /// It shows a file that the setting `exclude` matches, and was never stored.
    Excluded,
    /// It holds what looks like a secret, and its command may have read a file that the setting
    /// `exclude` matches; it was never stored.
    Secret,
    /// A person removed it with `forget`.
    Forgotten,
    /// It looked like a secret and was replaced while an archive was written.
    Redacted,
}

impl WithheldReason {
    /// The word used in messages and events.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl From<RedactionReason> for WithheldReason {
    fn from(reason: RedactionReason) -> Self {
        match reason {
            RedactionReason::Secret => Self::Redacted,
            RedactionReason::Forgotten => Self::Forgotten,
        }
    }
}

/// The provider's request for a call, as the host showed it right before sending it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRecord {
    /// Number of the call.
    pub call: u64,
    /// SHA-256 of the request as canonical JSON.
    pub hash: Hash,
    /// Set if its messages differ from those we gave the host. The edits turn the previous such
    /// list, in the provider's format (at first an empty one), into this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<SlotEdit>>,
}

/// A call that went out with the host's own messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// Why.
    pub reason: String,
    /// The edits that turn the previous failed call's host list (at first an empty one) into this
    /// one. `None` if what went out is unknown; it is then assumed to be the next call's list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<SlotEdit>>,
}
