//! What a tracker is asked to do and what it tells: options, events, status. Plain data.

use std::path::PathBuf;
use std::time::Duration;

/// How files are watched. Durations are those of [`TrackerOptions::default`] unless said otherwise.
#[derive(Debug, Clone)]
pub struct TrackerOptions {
    /// Where changes come from.
    pub watching: Watching,
    /// A file that is being written is looked at when its writer closes it, or after so long without another write: 30 ms.
    pub settle: Duration,
    /// A file that is written without end is looked at after so long all the same: 1 s.
    pub settle_at_most: Duration,
    /// A file that is gone counts as deleted after so long, for editors save by renaming: 100 ms.
    pub absence: Duration,
    /// A file that comes to be within so long of one that vanished may be the same one, moved: 2 s.
    pub burst: Duration,
    /// Polled files are looked at so often, but so that looking takes at most a tenth of the time: 2 s.
    pub poll: Duration,
    /// Folders are checked so often for having been replaced unseen, as by a rename above them: 5 s.
    pub sweep: Duration,
    /// Folders above this number are polled. Default: as many as the system allows.
    pub max_watches: Option<usize>,
}

impl Default for TrackerOptions {
    fn default() -> Self {
        Self {
            watching: Watching::System,
            settle: Duration::from_millis(30),
            settle_at_most: Duration::from_secs(1),
            absence: Duration::from_millis(100),
            burst: Duration::from_secs(2),
            poll: Duration::from_secs(2),
            sweep: Duration::from_secs(5),
            max_watches: None,
        }
    }
}

/// Where a tracker's knowledge of changes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watching {
    /// The system tells; where it cannot, files are polled.
    #[default]
    System,
    /// All files are polled.
    Polling,
    /// The caller tells, by [`super::Tracker::report`].
    Reported,
}

/// What a tracker found. A file that is told of is to be read again: the same change may be told twice, but none is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrackerEvent {
    /// A file that was to be tracked is there, and watched from now on.
    Attached {
        /// The file.
        path: PathBuf,
    },
    /// A file's bytes may have changed.
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file is gone, while the folder above it can be read. It stays tracked, should it come to be again.
    Deleted {
        /// The file.
        path: PathBuf,
    },
    /// A file is gone from its path and stands, as the same file, at another that was not there before. The new path is
    /// tracked from now on; of the old one holds what does after [`TrackerEvent::Deleted`].
    Moved {
        /// Where it was.
        from: PathBuf,
        /// Where it is.
        to: PathBuf,
    },
    /// A file came to be that is not tracked, as long as one or more that vanished within the same burst. Where the bytes equal
    /// those of exactly one of them, it was moved; only who knows these bytes can tell.
    Appeared {
        /// The new file.
        path: PathBuf,
        /// The tracked files that vanished.
        like: Vec<PathBuf>,
    },
    /// It cannot be told any more what a file is: what was known of it stands.
    Orphaned {
        /// The file.
        path: PathBuf,
        /// Why, in words.
        reason: String,
    },
    /// A file that was orphaned or deleted is there again.
    Resumed {
        /// The file.
        path: PathBuf,
    },
    /// Files of these folders are polled from now on.
    Polling {
        /// The folders.
        folders: Vec<PathBuf>,
        /// Why.
        reason: PollReason,
    },
    /// The system lost events, and every tracked file was looked at instead.
    Rescanned {
        /// Number of files.
        files: usize,
    },
    /// The system reports a failure of watching. What is tracked stays tracked.
    Failed {
        /// What failed, in words.
        problem: String,
    },
}

/// What who was told of events wants done.
#[derive(Debug, Clone, Default)]
pub struct TrackerReply {
    /// Files that could not be taken: they are told of once more, as attached, deleted or orphaned, after the time of a poll.
    pub again: Vec<PathBuf>,
    /// Files to be tracked besides.
    pub track: Vec<PathBuf>,
    /// Files that vanished and were found again by their bytes: nothing else is likened to them.
    pub found: Vec<PathBuf>,
    /// Whether the tracker is to end.
    pub stop: bool,
}

/// Why files are polled.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PollReason {
    /// The system, or `max_watches`, allows no more watches.
    WatchLimit,
    /// Other machines write there, and the system does not tell of that.
    NetworkFileSystem,
    /// It was asked for.
    Asked,
    /// The system cannot watch there.
    Refused(String),
}

impl PollReason {
    /// Its name in reports: `watch_limit`, `network_file_system`, `asked`, `refused`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::WatchLimit => "watch_limit",
            Self::NetworkFileSystem => "network_file_system",
            Self::Asked => "asked",
            Self::Refused(_) => "refused",
        }
    }
}

/// What a tracker does at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrackerStatus {
    /// Tracked files.
    pub files: usize,
    /// Tracked files that are there.
    pub attached: usize,
    /// Tracked files that were found to be gone.
    pub deleted: usize,
    /// Tracked files of which it cannot be told what they are.
    pub orphaned: usize,
    /// Folders with tracked files that the system watches.
    pub watched: usize,
    /// Folders with tracked files that are polled.
    pub polled: usize,
    /// Folders with tracked files that do not exist; the nearest one above is watched.
    pub absent: usize,
    /// Files that wait to be looked at; never more than are tracked.
    pub pending: usize,
    /// The most files that ever waited.
    pub most_pending: usize,
}
