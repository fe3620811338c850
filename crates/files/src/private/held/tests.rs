//! The tests of `held.rs`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn held() -> (tempfile::TempDir, HeldFolder) {
    let folder = tempfile::tempdir().unwrap();
    let held = HeldFolder::open(folder.path(), FolderAccess::Shared).unwrap();
    (folder, held)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn no_link_is_followed_in_any_way() {
    let outside = tempfile::tempdir().unwrap();
    let (folder, held) = held();
    let theirs = outside.path().join("theirs");
    fs::write(&theirs, "theirs").unwrap();
    symlink(&theirs, folder.path().join("link")).unwrap();
    symlink(outside.path(), folder.path().join("folder")).unwrap();
    symlink(outside.path().join("new"), folder.path().join("dangling")).unwrap();
    for name in ["link", "dangling"] {
        assert!(is_link(&held.read(name, 100).unwrap_err()), "{name}");
        assert!(is_link(&held.write(name, b"x").unwrap_err()));
        assert!(is_link(&held.open_to_append(name).unwrap_err()));
        assert!(is_link(&held.remove(name).unwrap_err()));
        held.prepare("p", "other", b"x").unwrap();
        assert!(is_link(&held.place("p", name, false).unwrap_err()));
        assert!(is_link(&held.rename("p", name).unwrap_err()));
        held.remove("p").unwrap();
    }
    assert!(is_link(&held.within("folder").unwrap_err()));
    assert!(is_link(&held.made_within("folder").unwrap_err()));
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn names_with_folders_in_them_are_refused() {
    let (_folder, held) = held();
    for name in ["", ".", "..", "../x", "/etc/hosts", "a/b", "a\\b", "a\0"] {
        assert!(held.read(name, 100).is_err(), "{name}");
        assert!(held.write(name, b"x").is_err(), "{name}");
        assert!(held.remove(name).is_err(), "{name}");
    }
}

#[test]
fn a_pipe_and_a_folder_are_refused_without_waiting() {
    let (folder, held) = held();
    let pipe = std::ffi::CString::new(folder.path().join("pipe").to_str().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for name in ["pipe", "folder"] {
        assert!(held.read(name, 100).is_err(), "{name}");
        assert!(held.write(name, b"x").is_err(), "{name}");
        assert!(held.open_to_append(name).is_err(), "{name}");
    }
}

#[test]
fn a_folder_that_is_held_stays_the_one_that_was_opened() {
    let (folder, held) = held();
    let inner = held.made_within("inner").unwrap();
    fs::rename(folder.path().join("inner"), folder.path().join("moved")).unwrap();
    symlink("/", folder.path().join("inner")).unwrap();
    inner.write("a", b"x").unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("moved/a")).unwrap(), "x");
}

#[test]
fn nobody_else_may_change_what_is_made() {
    let (folder, held) = held();
    let private = HeldFolder::open(folder.path(), FolderAccess::Private).unwrap();
    fs::write(folder.path().join("open"), "x").unwrap();
    fs::set_permissions(folder.path().join("open"), fs::Permissions::from_mode(0o666)).unwrap();
    held.write("open", b"y").unwrap();
    held.write("new", b"y").unwrap();
    held.made_within("folder").unwrap();
    private.write("own", b"y").unwrap();
    private.made_within("mine").unwrap();
    let modes =
        ["open", "new", "folder", "own", "mine"].map(|name| mode(&folder.path().join(name)));
    assert!(modes[..3].iter().all(|mode| mode & 0o022 == 0), "{modes:?}");
    assert_eq!(modes[3..], [0o600, 0o700]);
}

#[test]
fn two_files_change_places() {
    let (folder, held) = held();
    held.write("target", b"old").unwrap();
    held.prepare("prepared", "target", b"new").unwrap();
    assert_eq!(held.place("prepared", "target", false).unwrap(), Placed::Exchanged);
    assert_eq!(held.read("prepared", 9).unwrap(), Held::Bytes(b"old".to_vec()));
    assert_eq!(held.place("prepared", "target", true).unwrap(), Placed::Taken);
    assert_eq!(held.read("target", 2).unwrap(), Held::TooLarge(3));
    assert_eq!(held.entries(9).unwrap().len(), fs::read_dir(folder.path()).unwrap().count());
}
