//! What a tracker's thread looks at in one round, and why. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use super::look::{FolderIdentity, is_same_file};
use super::{PollReason, TrackerOptions};
use base::object::FileStamp;

/// What to look at now.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub folders: Vec<FolderTask>,
    pub files: Vec<Task>,
    /// Untracked paths that appeared while tracked files vanished.
    pub arrivals: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct FolderTask {
    pub path: PathBuf,
    pub force: bool,
    pub identity: Option<FolderIdentity>,
    /// `None` if none of its files is tracked any more.
    pub state: Option<FolderState>,
}

#[derive(Debug)]
pub(super) struct Task {
    pub path: PathBuf,
    /// Whether to check that the file can be read.
    pub opens: bool,
    /// Device of its folder, if known.
    pub device: Option<u64>,
    /// The file as last seen, if it existed.
    pub was: Option<FileStamp>,
    /// Where it went according to the system.
    pub destination: Option<PathBuf>,
    pub doubt: Doubt,
}

impl Task {
    /// Whether it has been missing long enough to count as deleted.
    pub(super) fn is_absence_over(&self, now: Duration, options: &TrackerOptions) -> bool {
        self.doubt.gone_since.is_some_and(|since| since + options.absence <= now)
    }
}

/// How a folder is watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum FolderState {
    #[default]
    Unchecked,
    Watched,
    Polled(PollReason),
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unknown,
    Present(FileStamp),
    Deleted,
    Orphaned,
}

/// How likely it is that a file changed, least likely first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Mode or times changed: an equal stamp means that the bytes did not.
    Metadata,
    /// Unknown: an equal stamp that is not fresh means that the bytes did not change.
    Check,
    /// Its bytes were written.
    Data,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Doubt {
    pub weight: Weight,
    pub due: Duration,
    pub first: Duration,
    pub gone_since: Option<Duration>,
    pub number: u64,
}

impl Weight {
    /// Whether a file may have other bytes than when it was last seen.
    pub(super) fn may_differ(self, old: FileStamp, new: FileStamp) -> bool {
        match self {
            Self::Data => true,
            Self::Check => old.is_fresh || old != FileStamp { is_fresh: false, ..new },
            Self::Metadata => !is_same_file(old, new),
        }
    }
}
