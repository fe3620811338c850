//! What can happen to a session, as it is stored: facts observed and decisions taken. Plain data.

use serde::{Deserialize, Serialize};

use super::excerpt::Piece;
use super::lines::{LineMap, LineRange};
use super::message::{MessageKey, MessageKind, Shows};
use super::record::{CallRecord, FailedCall, PayloadRecord};
use super::report::Reported;
use super::sets::ActiveView;
use crate::object::{Hash, ObjectId, Timestamp};
use crate::source::FileStamp;

/// One thing that happened, in the order in which it did.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The session was opened: first, resumed, or forked from another.
    Opened(Opened),
    /// A file became known, or got another version.
    File(FileEvent),
    /// A file was moved: what was known of it as one object goes on as another, with its handle, sets and showings. The
    /// event of the file at its new place follows.
    Moved {
        /// The object at the old place. It leaves the session index; met again, it is another file.
        from: ObjectId,
        /// The object at the new place.
        to: ObjectId,
        /// `content_hash` of the version there that has the text which the latest version known at the old place had;
        /// `None` where it has another text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same: Option<Hash>,
    },
    /// A file cannot be looked at any more, and is not known to be deleted; what was known of it stands.
    Orphaned {
        /// The file.
        object: ObjectId,
        /// Why, as the system says it.
        reason: String,
    },
    /// A file that was out of reach can be looked at again.
    Resumed {
        /// The file.
        object: ObjectId,
    },
    /// The model was told of a version of a file elsewhere than in a note: in the answer to an `edit` that failed.
    Told {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
    },
    /// The links of a version of a file were followed; the files met that way came right before, as [`Event::File`].
    Linked {
        /// The file that they stand in.
        object: ObjectId,
        /// `content_hash` of its version.
        version: Hash,
        /// Tokens of the metadata lines of the files met.
        tokens: u64,
    },
    /// A tool call got an object; its result stands at the message that follows, if there is one.
    Toolcall {
        /// The object.
        object: ObjectId,
        /// Tool name.
        tool: String,
        /// Whether the call came out well.
        ok: bool,
        /// `content_hash` of its version.
        version: Hash,
        /// What its result shows, where that is not its own text: for a `read` the lines of a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shows: Option<Shows>,
        /// What it asked for, in a few words, where what it shows does not say it: of a command its first words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        brief: String,
    },
    /// A message joined the chat and the window, at their ends.
    Message {
        /// Identity.
        key: MessageKey,
        /// Hash of its JSON.
        digest: Hash,
        /// What it is.
        kind: MessageKind,
        /// Its tokens.
        tokens: u64,
        /// Whether its text is stored nowhere.
        #[serde(default, skip_serializing_if = "is_false")]
        withheld: bool,
    },
    /// The text of a known message changed under its identity (another extension redacted it, say).
    Edited {
        /// Position in the chat.
        at: u64,
        /// Hash of its JSON now.
        digest: Hash,
        /// What it is now.
        kind: MessageKind,
        /// Its tokens now.
        tokens: u64,
        /// Whether its text is stored nowhere now.
        #[serde(default, skip_serializing_if = "is_false")]
        withheld: bool,
    },
    /// The host's list no longer continues the window.
    Rewritten {
        /// How.
        how: Rewrite,
        /// So many messages of the chat stay.
        chat_len: u64,
        /// The window from now on, as runs of positions, both ends included.
        window: Vec<(u64, u64)>,
    },
    /// An object was activated (and pinned).
    Activated {
        /// The object.
        object: ObjectId,
        /// `content_hash` of its version.
        version: Hash,
        /// How much of it.
        view: ActiveView,
        /// Whether it is pinned too.
        pin: bool,
        /// The call that asked for it, and the lines that its result shows; the call is empty for a person's command.
        call: String,
        /// The lines shown in the call's result.
        ranges: Vec<LineRange>,
    },
    /// An object was deactivated, which unpins it.
    Deactivated {
        /// The object.
        object: ObjectId,
    },
    /// An object was unpinned; it stays active.
    Unpinned {
        /// The object.
        object: ObjectId,
    },
    /// An answer of the model has lines that it had from outputs before and that nobody had said.
    Needed {
        /// Position of the answer in the chat.
        at: u64,
        /// Position of each output, with the number of its lines.
        outputs: Vec<(u64, u32)>,
    },
    /// How a message is shown from its first sight on (`log`).
    Treated {
        /// Position in the chat.
        at: u64,
        /// How.
        treatment: Treatment,
    },
    /// A note that is shown in a message, there and nowhere else, until the epoch ends (`log`).
    Noted {
        /// Position in the chat.
        at: u64,
        /// The text.
        text: String,
    },
    /// A new epoch: messages before may be shown otherwise from now on (`log`).
    Epoch {
        /// Its number, from 1.
        number: u32,
        /// Why it started.
        reason: String,
        /// Position of the message whose notes stay: the newest. All others go.
        keep_notes: Option<u64>,
        /// What changes.
        treatments: Vec<(u64, Treatment)>,
        /// Steps that one line stands for from now on, until the window no longer holds them so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        folds: Vec<Fold>,
    },
    /// A request to the model was assembled.
    Called(CallRecord),
    /// A provider said what a request used.
    Reported(Reported),
    /// Calls went out with the host's own messages, because something failed; they come before the next [`Event::Called`].
    FailedOpen {
        /// One entry a call.
        calls: Vec<FailedCall>,
    },
    /// The provider's request of a call, as the host showed it before it went out.
    Payload(PayloadRecord),
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's own session ID.
    pub host_session: String,
    /// Canonical path of the working folder; in a sandbox the path by which the agent sees it.
    pub cwd: String,
    /// When.
    pub time: Timestamp,
    /// The session whose events stand before this one, where it is a fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ObjectId>,
}

/// Why a file got a version, or became known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The model read it.
    Read,
    /// The model changed it by `edit`.
    Edited,
    /// The model wrote it.
    Written,
    /// A listing or search showed its path, or a command named it.
    Found,
    /// A file whose text the model knows links to it.
    Linked,
    /// It changed on disk, not by `edit` or `write`.
    Changed,
    /// It changed on disk, which is yet to be told where its text stands: the look before a call does.
    Checked,
}

impl Cause {
    /// Whether the model itself changed the file.
    pub fn by_model(self) -> bool {
        matches!(self, Self::Edited | Self::Written)
    }
}

/// A file and its version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileEvent {
    /// The object.
    pub object: ObjectId,
    /// Canonical absolute path.
    pub path: String,
    /// The filesystem that it is in, where that is not the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem_id: Option<String>,
    /// Absolute path by which the agent sees it, where that is another (a mount's).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_path: Option<String>,
    /// `content_hash` of the version.
    pub version: Hash,
    /// Lines of its text (split on `\n`); `None` without text.
    pub lines: Option<u64>,
    /// Why.
    pub cause: Cause,
    /// The tool call that read, edited or wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// State of the file on disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp: Option<FileStamp>,
    /// How lines moved since the version before; only where both have text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<LineMap>,
}

/// How the host's list stopped continuing the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Another branch of the conversation.
    Branch,
    /// The host compacted.
    Compaction,
    /// Messages vanished or changed places.
    Rearranged,
    /// The text of known messages changed.
    Edited,
}

impl Rewrite {
    /// Word for messages and events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Compaction => "compaction",
            Self::Rearranged => "rearranged",
            Self::Edited => "edited",
        }
    }
}

/// How a message is shown, where it is not shown as the host gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "as", rename_all = "snake_case")]
pub enum Treatment {
    /// As the host gave it.
    Given,
    /// A reference line in place of the content.
    Reference,
    /// In part: lines shown, lines counted, lines that stand in another message. Earlier releases stored `preview`.
    #[serde(alias = "preview")]
    Excerpt {
        /// All lines of the output, in order.
        #[serde(flatten, with = "super::excerpt::stored")]
        pieces: Vec<Piece>,
    },
    /// A read of lines some of which stand in this window already.
    Reread {
        /// The lines asked for, in order.
        parts: Vec<Part>,
    },
    /// The current text of a file, after the host's own text where that is no showing of the file (`edit`, `write`).
    Current {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
        /// The lines.
        ranges: Vec<LineRange>,
        /// Whether the host's text stays, before the lines.
        after_host: bool,
    },
}

/// Whole steps that are next to each other, with one line in their place at the user message before them (`log`). One that
/// takes in older folds replaces them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// Position of the first message: the answer that starts the first step.
    pub first: u64,
    /// Position of the last message: a tool result.
    pub last: u64,
    /// The line.
    pub line: String,
}

/// A part of a read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The lines.
    pub range: LineRange,
    /// Position of the message in which they stand; `None` where they are shown here.
    pub stands_at: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_false(flag: &bool) -> bool {
    !flag
}
