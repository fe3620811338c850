//! Removes the temporary files and folders of processes that were killed. Must not touch those of others that
//! still write.
//!
//! The lock is on the folder: one on the file would meet SQLite's own on some systems.

use std::os::fd::OwnedFd;
use std::thread::sleep;
use std::time::Duration;

use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;

use super::TEMPORARY_END;

/// How often the lock is tried, and how long to wait in between: others have the folder to
/// themselves only while they remove.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(2);

/// Removes what was left in a folder if nobody writes an output there, and takes the lock that says
/// that somebody does, for as long as the result is open. Does what it can.
pub(super) fn tidy(folder: &Dir) -> Option<OwnedFd> {
    // The folder's own handle may be one that only names it, which takes no lock.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let held = openat(folder, ".", flags, Mode::empty()).ok()?;
    if flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok() {
        remove(folder);
    }
    for _ in 0..TRIES {
        if flock(&held, FlockOperation::NonBlockingLockShared) != Err(Errno::WOULDBLOCK) {
            break;
        }
        sleep(PAUSE);
    }
    Some(held)
}

fn remove(folder: &Dir) {
    let Ok(entries) = folder.entries() else { return };
    for name in entries.flatten().map(|entry| entry.file_name()) {
        if name.to_str().is_some_and(is_temporary) {
            // What cannot be removed is in nobody's way.
            let _ = folder.remove_file(&name).or_else(|_| folder.remove_dir_all(&name));
        }
    }
}

/// Whether a file has a name that only [`super::Temporary`] gives, or is SQLite's journal of one.
fn is_temporary(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.split_once(TEMPORARY_END));
    parts.is_some_and(|(id, rest)| {
        id.len() == 32
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
            && (rest.is_empty() || rest == "-journal")
    })
}
