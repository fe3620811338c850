//! Looks at a tracked file and its folder without reading the file. Follows no link in the file's
//! place and opens only regular files.

use std::fs::Metadata;
use std::path::Path;
use std::time::SystemTime;

use crate::file::{self, FileState};
use crate::stamp::{device, inode, is_fresh, stamp_of};
use base::object::FileStamp;
use files::looks;
use files::private::open_without_waiting;

/// What is at the path of a tracked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// A regular file. If its stamp is fresh, an equal one later proves nothing.
    File(FileStamp),
    /// Nothing exists there, and the nearest existing folder can be read.
    Missing,
    /// It is unclear, or not a regular file: the reason.
    Unclear(String),
}

/// Whether two stamps are of the same file with the same bytes, under another name or with another
/// mode. The change time is ignored for that.
pub(super) fn is_same_file(one: FileStamp, other: FileStamp) -> bool {
    let of = |stamp: FileStamp| (stamp.inode, stamp.size, stamp.mtime_ns);
    of(one) == of(other)
}

/// What distinguishes a folder from another one that took its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderIdentity {
    pub(super) device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

/// Looks at a file. `opens`: whether to check that it can be read. `device`: the device of its
/// folder, if known.
pub(super) fn look(path: &Path, opens: bool, device: Option<u64>) -> Look {
    let metadata = match looks::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if file::is_absence(&error) => return absent(path, device),
        Err(error) => return Look::Unclear(file::in_words(&error)),
    };
    if metadata.is_symlink() {
        return Look::Unclear("a link stands in its place".to_owned());
    }
    if !metadata.is_file() {
        return Look::Unclear("it is not a regular file".to_owned());
    }
    if opens {
        match looks::open(path, open_without_waiting) {
            Err(error) if file::is_absence(&error) => return absent(path, device),
            Err(error) => return Look::Unclear(file::in_words(&error)),
            Ok(_) => {}
        }
    }
    match stamp_of(&metadata) {
        Some(stamp) => {
            let is_fresh = is_fresh(stamp, SystemTime::now());
            Look::File(FileStamp { is_fresh, ..stamp })
        }
        None => Look::Unclear("it has no time of change".to_owned()),
    }
}

/// A missing file was deleted only if its folder's filesystem is still there. If another one is
/// mounted over the folder, the file is out of reach.
fn absent(path: &Path, device: Option<u64>) -> Look {
    match file::absent(path) {
        FileState::Unreadable { reason } => Look::Unclear(reason),
        _ if device.is_some_and(|device| nearest_device(path) != Some(device)) => {
            Look::Unclear("its file system is not mounted".to_owned())
        }
        _ => Look::Missing,
    }
}

fn nearest_device(path: &Path) -> Option<u64> {
    path.ancestors().skip(1).find_map(|ancestor| Some(identity(ancestor)?.device))
}

/// The folder at a path; `None` if there is none or the system refuses.
pub(super) fn identity(folder: &Path) -> Option<FolderIdentity> {
    let metadata = looks::metadata(folder).ok().filter(Metadata::is_dir)?;
    let (device, inode) = (device(&metadata).unwrap_or_default(), inode(&metadata));
    Some(FolderIdentity { device, inode, born: metadata.created().ok() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        (folder, root)
    }

    #[test]
    fn a_file_that_was_just_written_is_fresh_and_an_old_one_is_not() {
        let (_folder, root) = folder();
        let path = root.join("f");
        std::fs::write(&path, "x").unwrap();
        assert!(matches!(look(&path, true, None), Look::File(seen) if seen.is_fresh));
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        // Nobody can set the time of the last metadata change.
        let is_fresh = || matches!(look(&path, true, None), Look::File(seen) if seen.is_fresh);
        for _ in 0..600 {
            if !is_fresh() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("it stays fresh");
    }

    #[test]
    fn what_is_gone_is_told_from_what_is_not_mounted() {
        let (_folder, root) = folder();
        let device = identity(&root).unwrap().device;
        let gone = root.join("sub/gone");
        assert_eq!(look(&gone, false, Some(device)), Look::Missing);
        assert_eq!(look(&gone, false, None), Look::Missing);
        let elsewhere = look(&gone, false, Some(device + 1));
        assert_eq!(elsewhere, Look::Unclear("its file system is not mounted".into()));
    }

    #[cfg(unix)]
    #[test]
    fn links_fifos_and_folders_are_not_followed_or_opened() {
        use std::os::unix::fs::symlink;

        let (_folder, root) = folder();
        symlink("loop", root.join("loop")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap();
        assert!(made.success());
        let words = |name: &str| match look(&root.join(name), true, None) {
            Look::Unclear(reason) => reason,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(words("loop"), "a link stands in its place");
        assert_eq!(words("fifo"), "it is not a regular file");
        assert_eq!(words(""), "it is not a regular file");
        // A loop above the file.
        assert!(!words("loop/under").is_empty());
    }
}
