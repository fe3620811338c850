//! The tests of `file.rs`.

use config::DEFAULT_MAX_TEXT_BYTES;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use super::*;
use crate::{is_mounted, stamp};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file that was last changed an hour ago.
    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3_600)).unwrap();
        path
    }
}

/// The stamp of a file as soon as it can be trusted.
fn settled_stamp(path: &Path) -> Option<FileStamp> {
    let deadline = SystemTime::now() + Duration::from_secs(10);
    loop {
        let stamp = read_file(path, DEFAULT_MAX_TEXT_BYTES).stamp;
        let is_settled = stamp.is_some_and(|stamp| !stamp.is_fresh);
        if is_settled || SystemTime::now() > deadline {
            return stamp;
        }
        std::thread::yield_now();
    }
}

fn read(path: &Path) -> FileState {
    read_file(path, DEFAULT_MAX_TEXT_BYTES).state
}

#[test]
fn utf_8_is_text_with_byte_order_mark_and_nul() {
    let folder = Folder::new();
    for bytes in [&b""[..], b"a\r\n\0b", b"\xef\xbb\xbfx", "☂".as_bytes()] {
        let path = folder.write("f", bytes);
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(read(&path), FileState::Text { source_hash: Hash::of(bytes), text });
    }
}

#[test]
fn other_bytes_are_binary_and_hashed() {
    let path = Folder::new();
    let path = path.write("f", b"a\xff");
    let expected = FileState::Binary { source_hash: Hash::of(b"a\xff"), size: 2 };
    assert_eq!(read(&path), expected);
}

#[test]
fn the_limit_is_the_largest_size_that_is_read() {
    let folder = Folder::new();
    let path = folder.write("f", b"12345");
    assert!(matches!(read_file(&path, 5).state, FileState::Text { .. }));
    assert_eq!(read_file(&path, 4).state, FileState::TooLarge { size: 5 });
    let stamp = settled_stamp(&path);
    assert!(stamp.is_some());
    assert_eq!(read_file(&path, 4).stamp, stamp);
}

#[test]
fn missing_files_and_folders_are_told_apart() {
    let folder = Folder::new();
    let file = folder.write("f", b"");
    assert_eq!(read(&folder.path("absent")), FileState::Missing);
    assert_eq!(read(&folder.path("absent/deep")), FileState::Missing);
    assert_eq!(read(&file.join("under-a-file")), FileState::Missing);
    assert_eq!(read(&folder.path("")), FileState::NotAFile);
    assert!(matches!(read(Path::new("nul\0byte")), FileState::Unreadable { .. }));
}

#[cfg(target_os = "linux")]
#[test]
fn devices_are_not_opened_and_files_without_size_are_read() {
    assert_eq!(read(Path::new("/dev/zero")), FileState::NotAFile);
    let FileState::Text { text, .. } = read(Path::new("/proc/self/status")) else {
        panic!("a text was expected")
    };
    assert!(text.contains("Pid:"));
    assert!(matches!(
        read_file(Path::new("/proc/self/status"), 3).state,
        FileState::TooLarge { size: 4 }
    ));
}

#[cfg(unix)]
#[test]
fn fifos_and_sockets_do_not_block() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    assert_eq!(read(&fifo), FileState::NotAFile);
    let socket = folder.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(read(&socket), FileState::NotAFile);
    assert_eq!(stamp(&fifo), None);
    // What the check before opening cannot see, a FIFO that takes the path meanwhile, does not wait
    // for a writer.
    assert!(!open_without_waiting(&fifo).unwrap().metadata().unwrap().is_file());
}

#[test]
fn an_equal_stamp_means_an_unchanged_file() {
    let folder = Folder::new();
    let path = folder.write("f", b"one");
    let first = settled_stamp(&path);
    assert!(first.is_some());
    assert_eq!(stamp(&path), first);
    folder.write("f", b"longer");
    assert_ne!(stamp(&path), first);
    assert_eq!(stamp(&folder.path("absent")), None);
}

#[cfg(unix)]
#[test]
fn another_text_of_the_same_size_and_time_has_another_stamp() {
    let folder = Folder::new();
    let path = folder.write("f", b"one");
    let before = settled_stamp(&path);
    let modified = path.metadata().unwrap().modified().unwrap();
    std::fs::write(&path, b"two").unwrap();
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let after = stamp(&path);
    assert_eq!(after.map(|stamp| stamp.mtime_ns), before.map(|stamp| stamp.mtime_ns));
    assert_ne!(after, before);
}

#[test]
fn a_file_changed_just_now_only_tells_which_it_is() {
    let folder = Folder::new();
    let path = folder.path("f");
    std::fs::write(&path, "x").unwrap();
    let (read, seen) = (read_file(&path, 10).stamp.unwrap(), stamp(&path).unwrap());
    assert!(read.is_fresh && read != seen);
    assert_eq!(FileStamp { is_fresh: false, ..read }, seen);
}

#[cfg(target_os = "linux")]
#[test]
fn an_unmounted_filesystem_is_not_taken_for_a_deleted_file() {
    let folder = Folder::new();
    let path = folder.write("f", b"");
    let found = settled_stamp(&path).unwrap();
    assert!(found.root_depth.is_some() && is_mounted(&found, &path));
    let on = |depth| FileStamp { root_depth: Some(depth), ..found };
    assert_eq!(on(1), found);
    assert!(
        is_mounted(&on(1), &path) && is_mounted(&FileStamp { root_depth: None, ..found }, &path)
    );
    // `/proc` is a file system of its own; a folder in another one is none.
    assert!(is_mounted(&on(2), Path::new("/proc/1/gone")));
    assert!(!is_mounted(&on(3), Path::new("/proc/sys/gone")));
    let depth = u16::try_from(path.components().count()).unwrap() - 1;
    assert!(!is_mounted(&on(depth), &path));
}

#[test]
fn times_before_1970_are_negative() {
    let folder = Folder::new();
    let path = folder.write("f", b"");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(UNIX_EPOCH - Duration::from_secs(2)).unwrap();
    assert_eq!(stamp(&path).map(|stamp| stamp.mtime_ns), Some(-2_000_000_000));
}

#[test]
fn a_file_beyond_all_strings_is_not_read_into_memory() {
    let folder = Folder::new();
    let path = folder.write("large", b"");
    File::options().write(true).open(&path).unwrap().set_len(MAX_WHOLE_BYTES + 1).unwrap();
    assert_eq!(read_bytes(&path).unwrap_err().kind(), ErrorKind::FileTooLarge);
}
