//! A tracker's options, events and status. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::TrackingEvent;

/// How files are watched. The durations given are the defaults.
#[derive(Debug, Clone)]
pub struct TrackerOptions {
    /// The source of changes.
    pub watching: Watching,
    /// A file that is being written is looked at when its writer closes it, or this long after the
    /// last write: 30 ms.
    pub settle: Duration,
    /// A file that is written continuously is looked at after this long anyway: 1 s.
    pub settle_at_most: Duration,
    /// A missing file counts as deleted after this long, because editors save by renaming: 100 ms.
    pub absence: Duration,
    /// A new file that appears this soon after another one vanished may be the same file, moved: 2
    /// s.
    pub burst: Duration,
    /// Interval for polled files; extended so that looking takes at most a tenth of the time: 2 s.
    pub poll: Duration,
    /// Interval for checking whether a folder was replaced unseen, for example by a rename above
    /// it: 5 s.
    pub sweep: Duration,
    /// Most folders that are watched; further ones are polled. Default: as many as the system
    /// allows.
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

/// How a tracker learns of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Watching {
    /// From the system; files that it cannot watch are polled.
    #[default]
    System,
    /// By polling all files.
    Polling,
    /// From the caller, through [`super::Tracker::report`].
    Reported,
}

/// What a tracker found. A reported file should be read again: the same change may be reported
/// twice, but none is missed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TrackerEvent {
    /// A file that was to be tracked exists and is watched from now on.
    Attached(PathBuf),
    /// A file's bytes may have changed.
    Changed(PathBuf),
    /// A file is gone, and the folder above it can be read. It stays tracked in case it reappears.
    Deleted(PathBuf),
    /// A file left its path and exists, as the same file, at another path that was not there
    /// before. The new path is tracked from now on; the old one as after [`TrackerEvent::Deleted`].
    Moved {
        /// The old path.
        from: PathBuf,
        /// The new path.
        to: PathBuf,
    },
    /// An untracked file appeared that is as long as one or more files that vanished in the same
    /// burst. If its bytes equal those of exactly one of them, that file moved; only the listener
    /// knows these bytes.
    Appeared {
        /// The new file.
        path: PathBuf,
        /// The tracked files that vanished.
        like: Vec<PathBuf>,
    },
    /// It is unclear what a file is now; earlier knowledge of it stands.
    Orphaned {
        /// The file.
        path: PathBuf,
        /// The reason in words.
        reason: String,
    },
    /// A file that was orphaned or deleted exists again.
    Resumed(PathBuf),
    /// What needs no look at a file.
    Told(TrackingEvent),
}

/// The listener's reply: files to check again and files to start tracking.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrackerReply {
    /// Files that the listener could not process. They are reported again, as attached, deleted or
    /// orphaned, after one poll interval.
    pub again: Vec<PathBuf>,
    /// Files that changed again before the listener processed them. They are looked at and reported
    /// after they have had time to settle; callers that wait for the tracker wait for them too.
    pub soon: Vec<PathBuf>,
    /// Further files to track.
    pub track: Vec<PathBuf>,
    /// Vanished files that the listener found again by their bytes; they are not offered for other
    /// matches.
    pub found: Vec<PathBuf>,
    /// Whether to stop the tracker.
    pub stop: bool,
}

/// Why files are polled.
#[derive(Debug, Clone, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PollReason {
    /// The system or `max_watches` allows no more watches.
    WatchLimit,
    /// Other machines write there, which the system does not report.
    NetworkFileSystem,
    /// The options asked for it.
    Asked,
    /// The system cannot watch there.
    Refused(String),
}

impl PollReason {
    /// Its name in reports: `watch_limit`, `network_file_system`, `asked`, `refused`.
    pub fn as_str(&self) -> &'static str {
        self.into()
    }
}

/// A tracker's state at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrackerStatus {
    /// Tracked files.
    pub files: usize,
    /// Tracked files that exist.
    pub attached: usize,
    /// Tracked files that were deleted.
    pub deleted: usize,
    /// Tracked files whose state is unclear.
    pub orphaned: usize,
    /// Folders with tracked files that the system watches.
    pub watched_folders: usize,
    /// Folders with tracked files that are polled.
    pub polled_folders: usize,
    /// Folders with tracked files that do not exist; the nearest existing one above is watched.
    pub absent_folders: usize,
    /// Files waiting to be looked at; never more than are tracked.
    pub pending: usize,
    /// The most files that waited at one time.
    pub most_pending: usize,
}
