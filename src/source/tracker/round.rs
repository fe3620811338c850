//! What a tracker's thread is asked to look at in one round, and what makes it doubtful. Plain data.

use std::path::PathBuf;
use std::time::Duration;

use super::look::{FolderIdentity, Seen};
use super::{PollReason, TrackerOptions};

/// What is to be looked at now.
#[derive(Debug, Default)]
pub(super) struct Round {
    pub folders: Vec<FolderTask>,
    pub files: Vec<Task>,
    /// Untracked paths that came to be while tracked files vanished.
    pub arrivals: Vec<PathBuf>,
}

#[derive(Debug)]
pub(super) struct FolderTask {
    pub path: PathBuf,
    pub force: bool,
    pub identity: Option<FolderIdentity>,
    /// `None` where no file of it is tracked any more.
    pub state: Option<FolderState>,
}

#[derive(Debug)]
pub(super) struct Task {
    pub path: PathBuf,
    /// Whether to try that the file can be read.
    pub opens: bool,
    /// Device of its folder, where it was known.
    pub device: Option<u64>,
    /// The file as it was last seen, where it was there.
    pub was: Option<Seen>,
    /// Where the system says that it went.
    pub destination: Option<PathBuf>,
    pub doubt: Doubt,
}

impl Task {
    /// Whether its absence has lasted long enough to count.
    pub(super) fn is_absence_over(&self, now: Duration, options: &TrackerOptions) -> bool {
        self.doubt.gone_since.is_some_and(|since| since + options.absence <= now)
    }
}

/// How a folder is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FolderState {
    Unchecked,
    Watched,
    Polled(PollReason),
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Unknown,
    Present(Seen),
    Deleted,
    Orphaned,
}

/// How sure it is that a file changed, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Its mode or times: an equal stamp means that it did not.
    Metadata,
    /// Nothing is known: an equal stamp that is not fresh means that it did not.
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
    /// Whether a file may have other bytes than when it was seen before.
    pub(super) fn may_differ(self, old: Seen, new: Seen) -> bool {
        match self {
            Self::Data => true,
            Self::Check => old.is_fresh || old.stamp != new.stamp,
            Self::Metadata => !old.is_same_file(new),
        }
    }
}
