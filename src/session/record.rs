//! Records of requests, as they are stored (DESIGN.md section 8). Plain data.

use serde::{Deserialize, Serialize};

use super::call_note::CallNote;
use super::lines::LineRange;
use crate::object::{Hash, ObjectId, RedactionReason, Timestamp};

/// Record of one request (DESIGN.md section 8): enough to render it again, byte for byte.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRecord {
    /// Number of the call in the session, from 1.
    pub number: u64,
    /// The call before, where the host asks again with the same list. What is sent may differ, by a new epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<u64>,
    /// Provider and model, as the host names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Layout.
    pub layout: String,
    /// Epoch.
    pub epoch: u32,
    /// `content_hash` of the version of `system_prompt:{session}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Hash>,
    /// How the slots differ from those of the record before, in order of place.
    pub edits: Vec<SlotEdit>,
    /// Running hash over the SHA-256 of each message's JSON, in order.
    pub hash: Hash,
    /// Tokens of the messages as sent.
    pub sent_tokens: u64,
    /// Tokens of the messages as the host would have sent them.
    pub plain_tokens: u64,
    /// Tokens of the model's window, where the host said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// What it cost, beside the plain host; records of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill: Option<CallNote>,
    /// When.
    pub time: Timestamp,
}

/// A change of the list of slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotEdit {
    /// Index in the list before this edit and after those before it.
    pub at: u64,
    /// So many slots go.
    pub remove: u64,
    /// These come in their place.
    pub insert: Vec<SlotRecord>,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SlotRecord {
    /// A message of the chat; with `content`, this JSON stands in place of its content. Folded messages have no slot.
    Chat {
        /// Position.
        chat: u64,
        /// The content's JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// Lines of folded steps, which stand behind the content as its last block.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folded: Option<String>,
    },
    /// The metadata pool as one user message (`pools`): the lines of the slot before that stay, and those that follow.
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
    /// A message of the host's that the chat does not hold so: it changes on every call, or the call failed.
    Message {
        /// The message's JSON.
        message: String,
        /// Set where that is a placeholder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        withheld: Option<Withheld>,
    },
}

/// A message whose text is stored nowhere; a placeholder stands in its place (DESIGN.md section 4).
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WithheldReason {
    /// It was shown from a file that the setting `exclude` names: it was never stored.
    Excluded,
    /// A person had it forgotten.
    Forgotten,
    /// What looked like a secret was replaced when an archive was written.
    Redacted,
}

impl WithheldReason {
    /// Word for messages and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Excluded => "excluded",
            Self::Forgotten => "forgotten",
            Self::Redacted => "redacted",
        }
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

/// The provider's request of a call, as the host showed it right before it went out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadRecord {
    /// Number of the call.
    pub call: u64,
    /// SHA-256 of the request as canonical JSON.
    pub hash: Hash,
    /// Set where its messages are not those that we gave the host: how its list, in the provider's format, differs from
    /// that of the record before which has one, the first from an empty list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<SlotEdit>>,
}

/// A call that went out with the host's own messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// Why.
    pub reason: String,
    /// How the host's list differed from that of the failed call before, the first from an empty list; `None` where it is
    /// not known what went out: then it is taken to be the list of the call after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edits: Option<Vec<SlotEdit>>,
}
