//! The events of a session as they are stored: observed facts and decisions. Plain data.

use serde::{Deserialize, Serialize};

use super::faults::FaultKind;
use super::host_call::HostCalls;
use super::is_default;
use super::line_ranges::{LineMap, LineRange};
use super::message::{Activation, Cut, MessageKey, MessageKind, ResultFact, Shows};
use super::passing::PassingMessage;
use super::record::{CallRecord, FailedCall, PayloadRecord};
use super::report::Reported;
use super::sets::ActiveView;
use super::state::{MemoryChange, Note};
use super::treatment::{Fold, Treatment};
use base::object::{FileStamp, Hash, ObjectId, Slice, Timestamp};

/// One thing that happened to a session. Events are stored in the order they happened.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The session was opened: for the first time, resumed, or forked from another.
    Opened(Opened),
    /// The session became confined, see [`Opened::confined`], or stopped being so.
    Confined {
        /// Whether it is confined from now on.
        confined: bool,
    },
    /// Another extension has a tool of a name of ours: from now on ours have the prefix
    /// [`OWN_PREFIX`](super::OWN_PREFIX).
    ToolsPrefixed,
    /// A file became known, or got a new version.
    File(FileEvent),
    /// A file was moved: its handle, places in the sets and showings pass from the old object to
    /// the new one. The event for the file at its new path follows.
    Moved {
        /// The object at the old path. It leaves the session index; if met again, it is a different
        /// file.
        from: ObjectId,
        /// The object at the new path.
        to: ObjectId,
        /// `content_hash` of the new object's version if its text equals the old object's latest
        /// known version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        same: Option<Hash>,
    },
    /// A file is out of reach: unreadable, but not known to be deleted. What was known about it
    /// stays valid.
    Orphaned {
        /// The file.
        object: ObjectId,
        /// The operating system's reason.
        reason: String,
    },
    /// A file that was out of reach can be read again.
    Resumed {
        /// The file.
        object: ObjectId,
    },
    /// The model was told about a version of a file, by a note or by the answer to a failed `edit`,
    /// or saw it, so no note need repeat it.
    Told {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
    },
    /// The model used a file of whose changes it was told, so that it is told of the next ones in
    /// full again.
    Touched {
        /// The file.
        object: ObjectId,
    },
    /// The answer to a failed `edit` has this text of ours besides the host's.
    Helped {
        /// The file.
        object: ObjectId,
        /// The text.
        text: String,
        /// Its tokens.
        tokens: u64,
    },
    /// A note shows only a part of what changed with a version of a file.
    ToldInPart {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version.
        version: Hash,
    },
    /// The model's edit made a version that differs from what the model knew in more than the edit:
    /// somebody else changed the file too. The file's event precedes this one.
    ChangedBeside {
        /// The file.
        object: ObjectId,
        /// `content_hash` of the version that the model was last told about.
        told: Hash,
        /// `content_hash` of the version that the edit made.
        version: Hash,
        /// Which lines of the one became which lines of the other by somebody else.
        others: LineMap,
    },
    /// The links in a version of a file were followed. The files found precede this event as
    /// [`Event::File`].
    Linked {
        /// The file that contains the links.
        object: ObjectId,
        /// `content_hash` of its version.
        version: Hash,
        /// Tokens of the metadata lines of the files found.
        tokens: u64,
    },
    /// A tool call got an object. Its result is in the next message, if there is one.
    Toolcall {
        /// The object.
        object: ObjectId,
        /// Tool name.
        tool: String,
        /// Whether the call succeeded.
        ok: bool,
        /// `content_hash` of its version.
        version: Hash,
        /// What its result shows if not its own text: for a `read`, the lines of a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shows: Option<Shows>,
        /// What it asked for in a few words, such as the start of a command; empty if `shows`
        /// already says it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        brief: String,
    },
    /// A run of messages of the chat became an object that can be activated.
    Segment {
        /// The object.
        object: ObjectId,
        /// `content_hash` of its version.
        version: Hash,
        /// Position of the first message.
        first: u64,
        /// Position of the last message.
        last: u64,
        /// Whether the host compacted these messages away.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        compacted: bool,
    },
    /// A message was appended to the chat and to the window.
    Message {
        /// Identity.
        key: MessageKey,
        /// Hash of its JSON.
        digest: Hash,
        /// What it is.
        kind: MessageKind,
        /// Its tokens.
        tokens: u64,
        /// Whether its text must not be stored.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withheld: bool,
        /// Whether the host sends it itself, as it is, while its turn runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
        /// The part of its tokens that is ours: the help for a failed `edit`.
        #[serde(default, skip_serializing_if = "is_default")]
        ours: u64,
        /// How its text begins, see [`opening`](super::opening), if it could be one that passes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opening: Option<u64>,
    },
    /// A message that is no result of a call holds an output: of a person's command, of another
    /// extension, or a file that the host put before a person's words. Its toolcall precedes this.
    HoldsOutput {
        /// Position in the chat.
        at: u64,
        /// What the output is.
        output: ResultFact,
    },
    /// The messages of the host's list that come and go and are no part of the chat, in place of
    /// those before. They hold until the list changes.
    Passing {
        /// The messages, in the order of the list.
        messages: Vec<PassingMessage>,
    },
    /// A host that sends the results of a running turn itself was told how to show one, before its
    /// message came in.
    Shown(ShownResult),
    /// A turn was stored because the host said that it ended well.
    TurnCommitted {
        /// The host's key of the turn.
        key: String,
    },
    /// The session continues what another one left, which precedes this event. The window is empty.
    Continued {
        /// What a lasting message tells the model about it.
        text: String,
    },
    /// The text of a known message changed, for example through redaction by another extension.
    Edited {
        /// Position in the chat.
        at: u64,
        /// Hash of its JSON now.
        digest: Hash,
        /// What it is now.
        kind: MessageKind,
        /// Its tokens now.
        tokens: u64,
        /// Whether its new text must not be stored.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        withheld: bool,
    },
    /// The host's list no longer continues the window.
    Rewritten {
        /// How.
        how: Rewrite,
        /// Number of messages that stay at the front of the chat.
        chat_len: u64,
        /// The new window as runs of positions, both ends included.
        window: Vec<(u64, u64)>,
    },
    /// The host began a new conversation in the same session: nothing of the earlier one is pinned,
    /// in force, asked for or in the sets.
    StartedOver,
    /// An object was activated and possibly pinned.
    Activated {
        /// The object.
        object: ObjectId,
        /// `content_hash` of its version.
        version: Hash,
        /// How much of it.
        view: ActiveView,
        /// Whether it is pinned too.
        pin: bool,
        /// The tool call that asked for it; empty if a person's command did.
        call: String,
        /// The lines shown in the call's result.
        ranges: Vec<LineRange>,
        /// Those of them that are shown in part.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cut: Vec<LineRange>,
        /// SHA-256 of the call's answer, if that is more than a heading and whole lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Hash>,
        /// Tokens of the call's result.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// The line above the content, if a person asked and the next message must carry it
        /// (`log`); with the content, if that is not whole lines, and then without `ranges`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        heading: Option<String>,
    },
    /// An object was deactivated, and thereby unpinned.
    Deactivated {
        /// The object.
        object: ObjectId,
    },
    /// An object left the metadata pool: it is inactive and only indexed until it is activated or
    /// brought back.
    LeftPool {
        /// The object.
        object: ObjectId,
    },
    /// An object that was only indexed came back into the metadata pool; it stays inactive.
    EnteredPool {
        /// The object.
        object: ObjectId,
    },
    /// An object was unpinned; it stays active.
    Unpinned {
        /// The object.
        object: ObjectId,
    },
    /// A model's answer repeats lines from earlier outputs that neither the model nor a person had
    /// written before, or lines that somebody had.
    Needed {
        /// Position of the answer in the chat.
        at: u64,
        /// Position of each output, with the number of its lines repeated by the answer.
        outputs: Vec<(u64, u32)>,
        /// Number of lines that it or a person had written, and that stood nowhere any more.
        #[serde(default, skip_serializing_if = "is_default")]
        words: u64,
        /// Positions of the model's own answers more than [`NEWEST_STEPS`](crate::NEWEST_STEPS)
        /// steps ago whose lines it repeats, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        said: Vec<u64>,
    },
    /// The model needed what had left the window, and neither an answer nor a result shows it: it
    /// was refused, or an edit failed.
    Missed {
        /// How the need shows.
        kind: FaultKind,
        /// Position of the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
        /// Its tokens.
        tokens: u64,
    },
    /// How a message is shown from its first request on (`log`).
    Treated {
        /// Position in the chat.
        at: u64,
        /// How.
        treatment: Treatment,
    },
    /// A note was added to a message and stays there until the epoch ends (`log`).
    Noted {
        /// Position in the chat.
        at: u64,
        /// The text.
        text: String,
        /// Whether it carries what a person activated, so that none of that is due any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        asked: bool,
        /// Whether it stood in a message that is gone, and stands in this one instead.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        carried: bool,
        /// The files of whose changes it tells. A later note about them supersedes this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        about: Vec<ObjectId>,
        /// Its tokens.
        #[serde(default, skip_serializing_if = "is_default")]
        tokens: u64,
        /// The content that it shows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shows: Option<NotedText>,
    },
    /// The model read instructions, which stand from now on as long as they are in force.
    InForce {
        /// The file, or the call that showed them.
        object: ObjectId,
        /// `content_hash` of its version.
        version: Hash,
        /// The lines.
        ranges: Vec<LineRange>,
        /// Whether they are all of a file.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
        /// Position of the message that shows them.
        at: u64,
        /// Their tokens.
        tokens: u64,
    },
    /// The pinned objects for which the next request has no room; they replace those of the last
    /// such event.
    LeftOut {
        /// The objects.
        objects: Vec<ObjectId>,
    },
    /// Memory changed, and the model's system prompt does not show it yet (`log`).
    MemoryChanged(MemoryChange),
    /// The next system prompt shows all memory changes so far, so their notes leave.
    MemoryRendered,
    /// A new epoch starts: earlier messages may be shown differently from now on (`log`).
    Epoch {
        /// Its number, from 1.
        number: u32,
        /// Why it started.
        reason: String,
        /// Position of the newest message. Its notes stay, the others go.
        keep_notes: Option<u64>,
        /// Which of that message's notes go nevertheless, by their places, from 0.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        spent: Vec<u64>,
        /// Messages before this position keep their notes too, because caches hold them.
        #[serde(default, skip_serializing_if = "is_default")]
        notes_before: u64,
        /// The new treatments, by position.
        treatments: Vec<(u64, Treatment)>,
        /// Labels of the new reference lines, by position: nickname and fields as they are now.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        labels: Vec<(u64, String)>,
        /// Steps now replaced by one line, for as long as the window holds them unchanged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        folds: Vec<Fold>,
    },
    /// A request to the model was assembled.
    Called(CallRecord),
    /// A provider reported the usage of a request.
    Reported(Reported),
    /// Calls that went out with the host's own messages because something failed, before the next
    /// [`Event::Called`].
    FailedOpen {
        /// One entry per call.
        calls: Vec<FailedCall>,
    },
    /// Calls that went out with the host's own messages, entered in the account before the next
    /// [`Event::Called`].
    HostCalls(HostCalls),
    /// The provider's request for a call, as the host showed it right before sending it.
    Payload(PayloadRecord),
}

impl Event {
    /// That a message carries a note that nobody asked for.
    pub fn noted(at: u64, Note { text, about, tokens, shows }: Note) -> Self {
        Self::Noted { at, text, asked: false, carried: false, about, tokens, shows }
    }

    /// That a message carries a note which stood in one that is gone.
    pub fn carried(at: u64, Note { text, about, tokens, shows }: Note) -> Self {
        Self::Noted { at, text, asked: false, carried: true, about, tokens, shows }
    }

    /// This activation, with the answer of its call.
    #[must_use]
    pub fn answered_by(mut self, text: &str) -> Self {
        if let Self::Activated { answer, .. } = &mut self {
            *answer = Some(Hash::of(text));
        }
        self
    }
}

/// Content that a note shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedText {
    /// The object.
    pub object: ObjectId,
    /// `content_hash` of its version.
    pub version: Hash,
    /// The lines.
    pub ranges: Vec<LineRange>,
}

impl Activation {
    /// What an event activated; `None` for another event.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let Event::Activated { object, version, ranges, cut, answer, .. } = event else {
            return None;
        };
        let (object, version, ranges) = (object.clone(), version.clone(), ranges.clone());
        Some(Self { object, version, ranges, cut: cut.clone(), answer: answer.clone() })
    }
}

/// A tool result that the host sends itself, and how it shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownResult {
    /// The provider's ID of the call.
    pub call: String,
    /// The position that its message will have in the chat.
    pub at: u64,
    /// The toolcall.
    pub object: ObjectId,
    /// `content_hash` of its version.
    pub version: Hash,
    /// SHA-256 of the text of the result.
    pub whole: Hash,
    /// SHA-256 of the text that the host shows.
    pub shown: Hash,
    /// Which part of the whole this is, if the tool cut the output and the store holds the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
    /// The file, and the `content_hash` of its version, whose text the result is if the host shows a
    /// line in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<(ObjectId, Hash)>,
    /// Which lines of it, and what the host says behind them; `None`: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Slice>,
    /// How it is shown.
    pub treatment: Treatment,
}

/// Where a session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's own session ID.
    pub host_session: String,
    /// Canonical path of the working folder; in a sandbox, the path that the agent sees.
    pub cwd: String,
    /// When.
    pub time: Timestamp,
    /// The parent session of a fork. Its events precede this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ObjectId>,
    /// Whether people other than the user take part. Names then mean only what the session itself
    /// met, and files in the working folder.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
}

/// Why a file became known or got a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The model read it.
    Read,
    /// The model changed it with `edit`.
    Edited,
    /// The model wrote it with `write`.
    Written,
    /// A listing or search showed its path, or a command named it.
    Found,
    /// A file whose text the model knows links to it.
    Linked,
    /// It changed on disk by means other than `edit` or `write`.
    Changed,
    /// It changed on disk, and the model was not told yet. The check before the next call does that
    /// if text of the file stands in the window.
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
    /// ID of its filesystem, if not the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem_id: Option<String>,
    /// Absolute path as the agent sees it, if a mount makes it differ from `path`.
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
    /// How lines moved since the previous version, if both versions have text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<LineMap>,
    /// SHA-256 of its bytes, if it has no text: its version may then be the same though they are
    /// not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Hash>,
}

/// Why the host's list does not simply continue the previous list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Another branch of the conversation.
    Branch,
    /// The host compacted.
    Compaction,
    /// Messages were removed or reordered.
    Rearranged,
    /// The text of known messages changed.
    Edited,
    /// Messages of another extension came or went.
    Passing,
}

impl Rewrite {
    /// The word used in messages and events.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
