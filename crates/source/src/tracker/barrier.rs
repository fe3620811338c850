//! A folder of the tracker's own in the system's temporary folder. The watcher reports a file made
//! there after everything that happened before, because all events share one queue.
//!
//! A process that is killed leaves its folder, empty; the next tracker on the machine removes it.

use base::lock;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the folder's name begins with; the process's ID follows.
const PREFIX: &str = "palimpsest-watch-";

#[derive(Debug)]
pub(super) struct Barrier {
    /// Deleted on drop; `None` once closed.
    folder: Mutex<Option<tempfile::TempDir>>,
    path: PathBuf,
    next: AtomicU64,
}

impl Barrier {
    /// `None` if no folder can be made; files are looked at instead.
    pub(super) fn new() -> Option<Self> {
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir().ok()?;
        let path = folder.path().canonicalize().ok()?;
        Some(Self { folder: Mutex::new(Some(folder)), path, next: AtomicU64::new(1) })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.path
    }

    /// Makes a file and calls `wait` with its number until the file is deleted again. Returns the
    /// result of `wait`, or `false` if there is no file.
    pub(super) fn pass(&self, wait: impl FnOnce(u64) -> bool) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(number.to_string());
        let is_told = std::fs::File::create(&path).is_ok() && wait(number);
        // If that fails, the file is deleted with its folder.
        let _ = std::fs::remove_file(&path);
        is_told
    }

    /// Deletes the folder now. The tracker itself may live on for long, as its owner is collected
    /// late or never.
    pub(super) fn close(&self) {
        drop(lock(&self.folder).take());
    }

    /// The number of a file that is made here; 0 for any other in the folder.
    pub(super) fn number(&self, path: &Path) -> Option<u64> {
        let name = path.strip_prefix(&self.path).ok()?;
        Some(name.to_str()?.parse().unwrap_or(0))
    }
}

/// Removes the empty folders of processes that are gone. Where that cannot be known, all stay. A
/// process in another container that shares the folder may seem gone; it then looks at files
/// instead, as it would without a folder.
pub(super) fn remove_leftovers() {
    if Path::new("/proc/self").exists() {
        remove_leftovers_in(&std::env::temp_dir(), |process| {
            Path::new("/proc").join(process.to_string()).exists()
        });
    }
}

fn remove_leftovers_in(parent: &Path, runs: impl Fn(u32) -> bool) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if owner(&entry.file_name()).is_some_and(|process| !runs(process)) {
            // Fails for a folder that is not empty or not ours, which stays.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The ID of the process that made a folder of this name.
fn owner(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_folders_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let make = |name: &str| std::fs::create_dir(parent.path().join(name)).expect("made");
        let names = ["palimpsest-watch-7-aB3", "palimpsest-watch-8-aB3", "palimpsest-watch-7-full"];
        for name in names.iter().chain(&["palimpsest-watch-x-aB3", "palimpsest-7-aB3", "other"]) {
            make(name);
        }
        std::fs::write(parent.path().join("palimpsest-watch-7-full/a"), "").expect("written");
        remove_leftovers_in(parent.path(), |process| process == 8);
        let mut left: Vec<_> = std::fs::read_dir(parent.path())
            .expect("read")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        left.sort();
        assert_eq!(
            left,
            [
                "other",
                "palimpsest-7-aB3",
                "palimpsest-watch-7-full",
                "palimpsest-watch-8-aB3",
                "palimpsest-watch-x-aB3",
            ]
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_is_named_by_process_and_removed_on_close() {
        use super::super::{Tracker, TrackerOptions, TrackerReply};

        let tracker =
            Tracker::start(TrackerOptions::default(), |_| TrackerReply::default()).expect("starts");
        let barrier = tracker.shared.barrier.get().expect("a barrier");
        let folder = barrier.folder().to_owned();
        assert_eq!(owner(folder.file_name().expect("a name")), Some(std::process::id()));
        remove_leftovers();
        assert!(folder.is_dir());
        tracker.close();
        assert!(!folder.exists());
    }
}
