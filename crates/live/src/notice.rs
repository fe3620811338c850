//! What happened in a session that a person may want to know.

/// Something that happened during a call and that a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// A request is longer than the model's window, although all that may leave it has left.
    WindowExceeded {
        /// Tokens of the request, in our count.
        tokens: u64,
        /// Those of the window.
        window: u64,
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
    /// A file that the model knows cannot be looked at any more; what was known of it stands.
    FileOrphaned {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
        /// Why, as the system says it.
        reason: String,
    },
    /// A file that was out of reach can be looked at again.
    FileResumed {
        /// Handle.
        handle: String,
        /// Path as shown to the model.
        path: String,
    },
    /// The model was told of a file in a note.
    Told {
        /// The first line of the note.
        line: String,
    },
    /// Folders of tracked files are polled, because the system does not watch them.
    Polling {
        /// How many.
        folders: u64,
        /// `watch_limit`, `network_file_system`, `asked`, `refused`.
        reason: &'static str,
    },
    /// Something about tracking failed; the looks before each call go on.
    TrackingFailed {
        /// What, in words.
        problem: String,
    },
    /// A file or folder does not answer: what is known of what it holds stands, and it is looked at again later.
    Silent {
        /// Its path on this machine.
        place: String,
    },
    /// It answers again.
    Answers {
        /// Its path on this machine.
        place: String,
    },
    /// The host's list did not continue the one before.
    HostRewrote {
        /// `branch`, `compaction`, `rearranged`, `edited`.
        how: &'static str,
        /// Index in the list from which it differs.
        at: u64,
    },
    /// A message's text changes on every call; it passes through and is not stored anew.
    Volatile {
        /// Index in the list.
        at: u64,
    },
}
