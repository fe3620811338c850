//! Which filesystem a path belongs to inside a container: the container's own, or that of a mounted
//! volume or host folder.
//!
//! Used only by a process that itself runs in a container. On a plain host a second disk belongs to
//! the host's filesystem.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::stamp::device;
use base::lock;
use base::object::Hash;
use files::looks;
use files::mount_table::{Mounted, mounts, unescaped};

/// Types of filesystems that are created for each container, or hold nobody's files.
const OWN: [&str; 18] = [
    "aufs",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "overlay",
    "proc",
    "ramfs",
    "securityfs",
    "sysfs",
    "tmpfs",
    "tracefs",
];
/// Names that such filesystems give as their source.
const NO_SOURCE: [&str; 3] = ["", "none", "overlay"];

/// Mount points and the filesystem IDs of what is mounted there; `None` for the container's own.
type Table = Vec<(PathBuf, Option<String>)>;

/// The filesystems of a container.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    /// The mount table at the time when each device was first met. The root's device is the
    /// container's own.
    devices: Mutex<HashMap<u64, Table>>,
}

impl Volumes {
    /// The filesystem ID of a canonical path; `None` for the container's own files.
    pub(super) fn filesystem_of(&self, path: &Path) -> Option<String> {
        if looks::is_silent(path) {
            // The device number is unknown, as the place does not answer; the mount table is the
            // only source.
            return nearest(&table_now(), path);
        }
        let device = device_of(path)?;
        if Some(device) == device_of(Path::new("/")) {
            return None;
        }
        let mut devices = lock(&self.devices);
        let table = devices.entry(device).or_insert_with(table_now);
        nearest(table, path)
    }
}

fn table_now() -> Table {
    table(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// Mount points and the filesystem IDs of what is mounted there.
fn table(mountinfo: &str) -> Table {
    mounts(mountinfo).map(|mount| (unescaped(mount.point).into(), id_of(&mount))).collect()
}

/// The ID of the deepest mount that contains a path. Of several mounts at one point the last lies
/// on top.
fn nearest(table: &[(PathBuf, Option<String>)], path: &Path) -> Option<String> {
    let holding = table.iter().filter(|(point, _)| path.starts_with(point));
    holding.max_by_key(|(point, _)| point.components().count())?.1.clone()
}

/// The ID of a mount by type, source and folder: the same in every container and after a restart.
fn id_of(mount: &Mounted<'_>) -> Option<String> {
    let Mounted { root, kind, source, .. } = mount;
    let is_own = OWN.contains(kind) || NO_SOURCE.contains(source) || kind.ends_with("overlayfs");
    (!is_own).then(|| Hash::of(format!("mount {kind} {source} {root}")).as_str().to_owned())
}

/// Device of a path, or of its nearest existing ancestor.
fn device_of(path: &Path) -> Option<u64> {
    path.ancestors()
        .find_map(|at| looks::symlink_metadata(at).ok())
        .and_then(|found| device(&found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCKER: &str = include_str!("../../../tests/fixtures/containers/docker-v2.mountinfo");

    #[test]
    fn host_folders_are_filesystems_of_their_own() {
        let table = table(DOCKER);
        let of = |path: &str| nearest(&table, Path::new(path));
        for own in ["/", "/usr/bin/env", "/proc/1", "/dev/shm/x", "/tmp/x"] {
            assert_eq!(of(own), None, "{own}");
        }
        let (workspace, cache) = (of("/workspace/src/a.rs"), of("/workspace/my cache/x"));
        assert!(workspace.is_some() && cache.is_some());
        assert_ne!(workspace, cache);
        assert_eq!(of("/workspace"), workspace);
        // Known answer: printf 'mount ext4 /dev/sda1 /home/me/project' | sha256sum.
        let known = "4df750adf88767f8f775b46e6b3149c27cf7ceb2ab0e50a0ef4897096f9e27b8";
        assert_eq!(workspace.as_deref(), Some(known));
    }

    #[test]
    fn one_volume_is_one_filesystem_wherever_it_is_mounted() {
        let line =
            |point: &str, rest: &str| format!("1 2 8:1 /vol {point} rw master:1 - {rest} rw\n");
        let id = |text: &str| table(text)[0].1.clone();
        let ext4 = id(&line("/a", "ext4 /dev/sda1"));
        assert!(ext4.is_some());
        assert_eq!(id(&line("/b", "ext4 /dev/sda1")), ext4);
        assert_ne!(id(&line("/a", "ext4 /dev/sdb1")), ext4);
        assert!(id(&line("/a", "nfs4 server:/export")).is_some());
        assert!(id(&line("/a", "virtiofs share0")).is_some());
        for own in
            ["tmpfs tmpfs", "overlay overlay", "9p none", "fuse.fuse-overlayfs fuse-overlayfs"]
        {
            assert_eq!(id(&line("/a", own)), None, "{own}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_lies_on_the_roots_device_is_never_looked_up() {
        let volumes = Volumes::default();
        assert_eq!(volumes.filesystem_of(Path::new("/")), None);
        assert_eq!(volumes.filesystem_of(Path::new("/absent/deep")), None);
        assert!(volumes.devices.lock().unwrap().is_empty());
        assert_eq!(volumes.filesystem_of(Path::new("/proc/self")), None);
        assert_eq!(volumes.devices.lock().unwrap().len(), 1);
    }
}
