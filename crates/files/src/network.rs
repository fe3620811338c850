//! Detects network file systems. Machines cannot share on them the memory that WAL needs
//! (sqlite.org/wal.html), and the system sends no events for changes by other machines.

use std::path::{Path, PathBuf};

use super::mount_table::{Mounted, mounts, unescaped};

/// The file systems mounted at one moment.
#[derive(Debug)]
pub struct Mounts {
    /// The kernel's mount table; empty where there is none.
    table: String,
}

impl Mounts {
    /// Reads the mount table.
    pub fn read() -> Self {
        let table = if cfg!(target_os = "linux") {
            std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()
        } else {
            String::new()
        };
        Self { table }
    }

    /// Whether a canonical folder is on a network file system, as far as the system tells without a
    /// library call.
    ///
    /// Linux: the mount table. Windows: UNC paths; mapped drives are not recognised. macOS:
    /// `false`; SQLite itself asks the file system there and refuses WAL.
    pub fn is_remote(&self, folder: &Path) -> bool {
        file_system(&self.table, folder).is_some_and(|mount| is_remote_type(mount.kind))
            || is_unc(folder)
    }

    /// Linux: the mount point of a canonical path, if another machine or program serves its file
    /// system.
    pub fn foreign(&self, path: &Path) -> Option<PathBuf> {
        let mount = file_system(&self.table, path)?;
        let is_foreign =
            is_remote_type(mount.kind) || mount.kind.starts_with("fuse") || mount.kind == "autofs";
        is_foreign.then(|| unescaped(mount.point).into())
    }
}

#[cfg(windows)]
fn is_unc(path: &Path) -> bool {
    use std::path::{Component, Prefix};
    matches!(path.components().next(), Some(Component::Prefix(prefix))
        if matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..)))
}

#[cfg(not(windows))]
fn is_unc(_path: &Path) -> bool {
    false
}

/// The mount that holds `folder`: the one with the longest matching path; of several such, the
/// last.
fn file_system<'t>(table: &'t str, folder: &Path) -> Option<Mounted<'t>> {
    let mounts = mounts(table).map(|mount| (unescaped(mount.point), mount));
    mounts
        .filter(|(point, _)| folder.starts_with(point))
        .max_by_key(|(point, _)| point.len())
        .map(|(_, mount)| mount)
}

fn is_remote_type(kind: &str) -> bool {
    const REMOTE: [&str; 16] = [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "smb3",
        "smbfs",
        "virtiofs",
    ];
    // Of FUSE file systems, only those known to be remote count.
    let base = kind.strip_prefix("fuse.").unwrap_or(kind);
    REMOTE.contains(&base) || ["sshfs", "s3fs", "rclone", "davfs2", "curlftpfs"].contains(&base)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw shared:2 - nfs4 server:/home rw,vers=4.2
31 30 8:2 / /home/local\\040disk rw - xfs /dev/sda2 rw
32 22 0:41 / /mnt/ssh rw - fuse.sshfs host:/ rw
33 22 0:42 / /mnt/ssh/over rw - tmpfs tmpfs rw
";

    #[test]
    fn the_longest_mount_point_decides() {
        for (path, remote) in [
            ("/var/lib", false),
            ("/home/a", true),
            ("/homestead", false),
            ("/home/local disk/a", false),
            ("/mnt/ssh/a", true),
            ("/mnt/ssh/over/a", false),
        ] {
            let mounts = Mounts { table: TABLE.to_owned() };
            assert_eq!(mounts.is_remote(Path::new(path)), remote, "{path}");
            assert_eq!(mounts.foreign(Path::new(path)).is_some(), remote, "{path}");
        }
    }
}
