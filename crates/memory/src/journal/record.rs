//! One line of the journal. Must not know what a flush does.

use serde::{Deserialize, Serialize};
use settings::Identity;

use super::{Begun, Draft, EntryStatus, OperationId};

/// A record. Members added by later versions are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub(super) enum Record {
    /// Text to write.
    Stage {
        id: OperationId,
        at: String,
        #[serde(flatten)]
        draft: Draft,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        proposed: bool,
        /// The project that it was noted in, if it is for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<Identity>,
    },
    /// A person accepts a proposal.
    Accept { id: OperationId },
    /// A flush writes a file.
    Begin(Begun),
    /// The begun step was given up: the file stays as before.
    Abandon {},
    /// The begun step is done.
    Commit { ids: Vec<OperationId> },
    /// An operation waits for the next flush, for a reason.
    Hold { id: OperationId, code: String, reason: String },
    /// An operation is refused, for a reason.
    Refuse { id: OperationId, code: String, reason: String },
}

impl Record {
    /// The record that gives an operation its status; `None` for the initial status.
    pub(super) fn of_status(id: OperationId, status: &EntryStatus) -> Option<Self> {
        Some(match status.clone() {
            EntryStatus::Proposed => return None,
            // It may have been a proposal.
            EntryStatus::Staged => Self::Accept { id },
            EntryStatus::Committed => Self::Commit { ids: vec![id] },
            EntryStatus::Held { code, reason } => Self::Hold { id, code, reason },
            EntryStatus::Refused { code, reason } => Self::Refuse { id, code, reason },
        })
    }

    /// Its line, without the line break.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers are JSON")
    }
}
