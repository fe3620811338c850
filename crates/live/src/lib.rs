//! A session at work: takes the host's messages and tool events, looks at files, stores, and says what goes out.
//!
//! The only crate with effects between the host and the store. Decisions are made by the pure crates `session` and `context`.
//! Must not know JavaScript or SQL, nor decide what the model sees. Read `session/call.rs` first: a call in five stages.
//!
//! - `session`: opens a session and runs a call in five stages;
//! - `intake`: matches the host's list with the chat and takes in what is new;
//! - `workspace`: the files of a session; the only part that looks at the disk;
//! - `request`: what went out, and laying out what goes out next;
//! - `model_tools`: the tools as the model has them; `tools`: what they and the help around `write` and `edit` do;
//! - `journal`: the state, what waits to be stored, and storing it; the only part that writes the store;
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
pub use self::notice::Notice;
pub use self::recorded::{
    About, Against, Beside, BesideBoth, CallPlace, CallPoint, Inspected, Mark, MarkKind,
    MessageChange, ObjectLine, Prompt, PromptChange, PromptTokens, RecordedPayload, RecordedSize,
    Replayed, SessionSummary, ShownRun, Since, StoredChat, Timeline, TimelineKinds, Way,
    compare_calls, find_handle, find_session, inspect_beside, inspect_call, inspect_calls,
    newest_call, replay_call, session_at, sessions, statement, stored_chat, text_of, timeline,
};
pub use self::session::{AtCall, Commit, Continuation, LiveSession, LiveStatus, RunningShown};
pub use self::tools::Wanted;
pub use self::workspace::{CheckProgress, Files, FinishedToolCall, Reconciled};
use config::{Layout, Settings};
use context::tokens::Counter;

/// What a session is opened with.
#[derive(Debug, Clone)]
pub struct OpenSession {
    /// Host: `pi`, `openclaw`, ...
    pub harness: String,
    /// The host's session ID.
    pub host_session: String,
    /// Working folder.
    pub cwd: PathBuf,
    /// Host session ID of the session that this one is a fork of.
    pub parent: Option<String>,
    /// Settings.
    pub settings: Settings,
    /// ID of the filesystem that paths belong to.
    pub filesystem_id: String,
    /// How tokens are counted; the default in live use.
    pub counter: Counter,
    /// Where the files are that the session's tools touch.
    pub files: Files,
    /// Whether the host's tools may answer with images: then `activate` can bring one back, and it leaves with the text beside it.
    pub images: bool,
    /// Whether others than the user take part: names then mean what the session itself met, and a fork of a session that is not confined
    /// starts without what that one left. `None`: as the session, or the one that it is a fork of, was.
    pub confined: Option<bool>,
}

impl OpenSession {
    /// Whether images leave with the text beside them: in `pools` they stand in the chat.
    fn images_leave(&self) -> bool {
        self.images && self.settings.layout == Layout::Log
    }

    /// How long one look at a file may wait. The files that a replay lays are as near as its memory: it waits for them as long as it
    /// takes, which spares a thread for every look.
    fn look_deadline(&self) -> Option<Duration> {
        (self.files != Files::Elsewhere).then(|| self.settings.look_deadline())
    }
}
