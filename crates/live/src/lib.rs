//! A session at work: takes the host's messages and tool events, looks at files, stores them, and
//! says what goes out.
//!
//! The only crate with effects between the host and the store. Decisions are made by the pure
//! crates `session` and `context`. Must not know JavaScript or SQL, nor decide what the model sees.
//! Read `session/call.rs` first: a call in five stages.
//!
//! - `session`: opens a session and runs a call in five stages;
//! - `intake`: matches the host's list with the chat and takes in new messages;
//! - `workspace`: the files of a session; the only part that looks at the disk;
//! - `request`: what went out, and laying out what goes out next;
//! - `model_tools`: the tools as the model sees them;
//! - `tools`: what these tools, and the help around `write` and `edit`, do;
//! - `journal`: the state, staged changes, and storing them; the only part that writes the store;
//! - `recorded`: sessions and calls as the store holds them.

mod call_info;
mod hazards;
mod intake;
mod journal;
pub mod model_tools;
mod notice;
mod recorded;
mod request;
mod session;
mod tools;
mod workspace;

use std::path::PathBuf;
use std::time::Duration;

pub use self::call_info::{CallInfo, HostList, Transformed};
pub use self::hazards::hazards_of;
pub use self::notice::Notice;
pub use self::recorded::{
    About, Against, Beside, BesideBoth, CallPlace, CallPoint, ChangeKind, FoldLine, Inspected,
    Mark, MarkKind, MessageChange, ObjectLine, Prompt, PromptChange, PromptTokens, RecordedPayload,
    RecordedSize, Replayed, SessionNames, SessionSummary, ShownRun, Since, StoredChat, Timeline,
    TimelineKinds, bill_of, compare_calls, find_handle, find_session, inspect_beside, inspect_call,
    inspect_calls, newest_call, replay_call, session_at, sessions, statement, stored_chat, text_of,
    timeline,
};
pub use self::session::{
    AtCall, Commit, Continuation, LiveSession, LiveStatus, Pins, RunningShown,
};
pub use self::tools::Wanted;
pub use self::workspace::{CheckProgress, FinishedToolCall, ToolFiles};
use ::session::Session as State;
use config::{Layout, Settings};
use context::tokens::Counter;
use context::window::{Filling, largest_step};

/// Options for opening a session.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's session ID.
    pub host_session: String,
    /// Working folder.
    pub cwd: PathBuf,
    /// Host session ID of the session from which this one forks.
    pub parent: Option<String>,
    /// Settings.
    pub settings: Settings,
    /// ID of the filesystem that paths belong to.
    pub filesystem_id: String,
    /// How tokens are counted; the default in live use.
    pub counter: Counter,
    /// Where the files are that the session's tools touch.
    pub files: ToolFiles,
    /// Whether the host's tools may answer with images. If so, `activate` can bring an image back,
    /// and images leave together with the text next to them.
    pub images: bool,
    /// Whether people other than the user take part: names then mean only what the session itself
    /// met, and a fork of a session that is not confined starts without what the parent left.
    /// `None`: as the session, or the one from which it forks, was.
    pub confined: Option<bool>,
    /// Whether the host asks [`LiveSession::answer_compaction`] before it compacts, so that a small
    /// window can be used.
    pub asks_to_compact: bool,
}

impl OpenSession {
    /// Whether images leave with the text next to them: in `pools` they stand in the chat.
    fn images_leave(&self) -> bool {
        self.images && self.settings.layout == Layout::Log
    }

    /// How much of a window the next request may fill.
    fn filling(&self, state: &State) -> Filling {
        let (share, asks) = (self.settings.high_water, self.asks_to_compact);
        Filling { share, step: largest_step(state), asks }
    }

    /// How long one look at a file may wait. A replay's own files are as near as its memory, so it
    /// waits for them without limit, which spares a thread for every look.
    fn look_deadline(&self) -> Option<Duration> {
        (self.files != ToolFiles::Elsewhere).then(|| self.settings.look_deadline())
    }
}
