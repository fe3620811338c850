//! File stamps: metadata that shows, without reading a file, that it is unchanged.
//!
//! Asks the system for metadata; opens nothing.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base::object::{FileStamp, Timestamp};
use files::looks;

/// A file changed this recently may change again without a new modification time: FAT, the coarsest
/// common filesystem, counts in steps of 2 s.
const FRESH: Duration = Duration::from_secs(2);
/// The same for filesystems with finer times: Linux's clock advances every 10 ms at most.
const FRESH_FINE: Duration = Duration::from_millis(20);

/// How far a filesystem's clock may lag behind the system's.
#[cfg(unix)]
const LAG_SECONDS: i64 = 2;

/// Whether the filesystem of a file at `path` is still mounted, as far as its stamp shows. If not,
/// a missing file is out of reach rather than deleted.
pub fn is_mounted(stamp: &FileStamp, path: &Path) -> bool {
    let Some(depth) = stamp.root_depth.map(usize::from).filter(|depth| *depth > 1) else {
        return true;
    };
    let root: PathBuf = path.components().take(depth).collect();
    let Some(above) = root.parent() else { return true };
    match (looks::metadata(&root), looks::metadata(above)) {
        (Ok(root), Ok(above)) => device(&root) != device(&above),
        _ => false,
    }
}

/// The stamp for a file's metadata; `None` for a time that no stamp can hold.
pub(super) fn stamp_of(metadata: &Metadata) -> Option<FileStamp> {
    let modified = metadata.modified().ok()?;
    let mtime_ns = match modified.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).ok()?,
        Err(before) => i64::try_from(before.duration().as_nanos()).ok()?.checked_neg()?,
    };
    let (size, inode, ctime_ns) = (metadata.len(), inode(metadata), ctime_ns(metadata));
    let (root_depth, is_fresh) = (None, false);
    Some(FileStamp { mtime_ns, size, inode, ctime_ns, root_depth, is_fresh })
}

/// Whether a file with this stamp may change again without a new stamp.
pub(super) fn is_fresh(stamp: FileStamp, now: SystemTime) -> bool {
    let is_within = |time_ns: i64, fresh: Duration| {
        let settled = (now - fresh).duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        i128::from(time_ns) > i128::try_from(settled).unwrap_or(i128::MAX)
    };
    // `mtime_ns` may have been set by hand, so it says nothing about the clock.
    let is_changed_just_now = |ctime_ns: i64| {
        // A fraction of a second shows that the filesystem counts in finer steps than FAT.
        let is_fine = ctime_ns % 1_000_000_000 != 0;
        is_within(ctime_ns, if is_fine { FRESH_FINE } else { FRESH })
    };
    is_within(stamp.mtime_ns, FRESH) || stamp.ctime_ns.is_some_and(is_changed_just_now)
}

/// The stamp of the regular file at `path`; `None` if there is none or the system refuses.
pub fn stamp(path: &Path) -> Option<FileStamp> {
    let metadata = looks::metadata(path).ok()?;
    metadata.is_file().then(|| stamp_of(&metadata)).flatten()
}

/// Whether the file at a path got its name or its bytes after a time, as far as the system knows.
#[cfg(unix)]
pub fn appeared_since(path: &Path, since: Timestamp) -> bool {
    let Ok(metadata) = looks::symlink_metadata(path) else { return false };
    std::os::unix::fs::MetadataExt::ctime(&metadata) >= since.0 / 1_000 - LAG_SECONDS
}

/// Whether a file exists at a path: this system does not record since when.
#[cfg(not(unix))]
pub fn appeared_since(path: &Path, _since: Timestamp) -> bool {
    looks::try_exists(path).unwrap_or(false)
}

/// Whether the file at a path was made before a time and got its bytes since: a copy over another
/// file. False where the filesystem does not record when files are made.
pub fn was_written_over(path: &Path, since: Timestamp) -> bool {
    let Ok(metadata) = looks::symlink_metadata(path) else { return false };
    // Files' times are that much behind the clock.
    let is_since = |time: SystemTime| {
        let time = (time + FRESH_FINE).duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(time.as_millis()).is_ok_and(|time| time >= since.0)
    };
    let (made, written) = (metadata.created(), metadata.modified());
    made.is_ok_and(|made| !is_since(made)) && written.is_ok_and(is_since)
}

/// Depth of the mount point of a file's filesystem; `None` where devices have no numbers.
pub(super) fn root_depth(path: &Path, metadata: &Metadata) -> Option<u16> {
    let here = device(metadata)?;
    let is_here =
        |folder: &&Path| looks::metadata(folder).is_ok_and(|found| device(&found) == Some(here));
    let root = path.ancestors().skip(1).take_while(is_here).last()?;
    u16::try_from(root.components().count()).ok()
}

/// Number of the device that something is on.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
pub(super) fn device(metadata: &Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::dev(metadata))
}

#[cfg(not(unix))]
pub(super) fn device(_metadata: &Metadata) -> Option<u64> {
    None
}

#[cfg(unix)]
pub(super) fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
pub(super) fn inode(_metadata: &Metadata) -> u64 {
    0
}

#[cfg(unix)]
fn ctime_ns(metadata: &Metadata) -> Option<i64> {
    use std::os::unix::fs::MetadataExt;

    metadata.ctime().checked_mul(1_000_000_000)?.checked_add(metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn ctime_ns(_metadata: &Metadata) -> Option<i64> {
    None
}
