//! Events in a session that the user may want to know about.

use serde::Serialize;

/// An event during a call that the user may want to know about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Notice {
    /// A new epoch started.
    EpochStarted {
        /// Its number.
        epoch: u32,
        /// Why.
        reason: String,
        /// Messages collapsed.
        collapsed: u64,
        /// Tokens freed.
        freed_tokens: u64,
    },
    /// A request is longer than the model's window, although everything that may leave has left.
    WindowExceeded {
        /// Tokens of the request, in our count.
        tokens: u64,
        /// Tokens of the window.
        window: u64,
    },
    /// A pinned object that the request has no room for. Said once, until it stands again.
    PinLeftOut {
        /// Handle.
        handle: String,
        /// Path, tool or turns, as shown to the model.
        name: String,
        /// Its tokens.
        tokens: u64,
    },
    /// A pin ended without anybody asking for it.
    PinEnded {
        /// Handle.
        handle: String,
        /// Path, tool or turns, as shown to the model.
        name: String,
        /// Why, in words that continue "because".
        why: String,
    },
    /// A file changed on disk after the model saw it.
    FileChanged {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
        /// Lines added.
        added: u64,
        /// Lines removed.
        removed: u64,
    },
    /// A file that the model knows was moved.
    FileMoved {
        /// Handle.
        handle: String,
        /// Path as the model knew it.
        from: String,
        /// Path as shown to the model now.
        path: String,
    },
    /// A file that the model knows can no longer be looked at; earlier knowledge of it stands.
    FileOrphaned {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// A file that was out of reach can be looked at again.
    FileResumed {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
    },
    /// The model was told about a file in a note.
    #[serde(rename = "model_told")]
    Told {
        /// The first line of the note.
        line: String,
    },
    /// Folders of tracked files are polled, because the system does not watch them.
    #[serde(rename = "files_polled")]
    Polling {
        /// How many.
        folders: u64,
        /// `watch_limit`, `network_file_system`, `asked`, `refused`.
        reason: &'static str,
    },
    /// Tracking failed in some way; the checks before each call go on.
    TrackingFailed {
        /// The problem, in words.
        problem: String,
    },
    /// A file or folder does not answer: earlier knowledge of what it holds stands, and it is tried
    /// again later.
    #[serde(rename = "disk_silent")]
    Silent {
        /// Its path on this machine.
        #[serde(rename = "path")]
        place: String,
    },
    /// It answers again.
    #[serde(rename = "disk_answers")]
    Answers {
        /// Its path on this machine.
        #[serde(rename = "path")]
        place: String,
    },
    /// The host's list did not continue the one before.
    HostRewrote {
        /// `branch`, `compaction`, `rearranged`, `edited`.
        how: &'static str,
        /// Index in the list from which it differs.
        at: u64,
    },
    /// Two processes work on one session, so that one of them goes on as a session of its own.
    SessionSplit {
        /// ID of the session that split off.
        id: String,
        /// Whether it is this one; otherwise the other process has it.
        own: bool,
    },
    /// Little of the host's list stays from call to call, so that nothing can be saved. Told once.
    ListChanges {
        /// Index in the list from which it differs.
        at: u64,
        /// What the extension calls the message there, if it does.
        by: Option<String>,
    },
    /// The provider's reports of usage are no measure of the requests: figures and decisions rest on
    /// our own count.
    UsageIgnored {
        /// `none`, `constant`, `implausible`, `uncached`.
        why: &'static str,
    },
    /// A message's text changes on every call; it passes through and is not stored again.
    #[serde(rename = "message_volatile")]
    Volatile {
        /// Index in the list.
        at: u64,
    },
}
