//! A file's stamp: metadata that shows whether the file is unchanged. Must not ask the system for
//! it.

use serde::{Deserialize, Serialize};

/// Metadata that cheaply shows that a file is unchanged. Comparing stamps ignores `root_depth`.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct FileStamp {
    /// Modification time in nanoseconds since 1970-01-01 UTC.
    pub mtime_ns: i64,
    /// Size in bytes.
    pub size: u64,
    /// Inode number; 0 on Windows.
    pub inode: u64,
    /// Number of folders from `/` (counted as 1) down to the mount point of the file's filesystem,
    /// if it was asked for. Device numbers change with every boot; mount points mostly stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_depth: Option<u16>,
    /// Time of the last change of content or metadata, in nanoseconds since 1970-01-01 UTC. Unlike
    /// `mtime_ns` nobody can set it back (`touch -r`, `cp -p`). `None` on Windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ctime_ns: Option<i64>,
    /// Whether the file had just changed when it was read: it may change again with the same times,
    /// so that this stamp only tells which file it was. It equals no stamp that is looked at later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_fresh: bool,
}

impl PartialEq for FileStamp {
    fn eq(&self, other: &Self) -> bool {
        let compared = |stamp: &Self| {
            (stamp.mtime_ns, stamp.size, stamp.inode, stamp.ctime_ns, stamp.is_fresh)
        };
        compared(self) == compared(other)
    }
}

impl Eq for FileStamp {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_earlier_releases_are_read() {
        let stored = r#"{"mtime_ns":1,"size":2,"inode":3}"#;
        let stamp: FileStamp = serde_json::from_str(stored).unwrap();
        let (ctime_ns, root_depth, is_fresh) = (None, None, false);
        let expected = FileStamp { mtime_ns: 1, size: 2, inode: 3, ctime_ns, root_depth, is_fresh };
        assert_eq!(stamp, expected);
        assert_eq!(serde_json::to_string(&stamp).unwrap(), stored);
    }
}
