//! A store belongs to its user alone: other users' files, links and open permissions are refused,
//! and a link is never followed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use base::Error;
use store::{SqliteBackend, Store};
use tempfile::TempDir;

use testing::privilege::is_privileged;
use testing::skip::skip;

const SUFFIXES: [&str; 5] = ["", "-wal", "-shm", "-journal", "-ack"];

/// A folder and the path of a store in it that has been opened once.
fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    Store::open(path.to_str().unwrap()).unwrap().close().unwrap();
    (folder, path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    format!("{}{suffix}", path.display()).into()
}

/// What is wrong with the store, for who writes and for who only reads.
fn problem(path: &Path) -> String {
    let error = SqliteBackend::open(path).unwrap_err();
    let reading = SqliteBackend::open_read_only(path).unwrap_err();
    assert_eq!(error.to_string(), reading.to_string());
    match error {
        Error::NotPrivate { path, problem } => {
            format!("{} {problem}", path.file_name().unwrap().display())
        }
        other => panic!("{other}"),
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A file of somebody's in the folder of a store, and the free place of one of the store's files.
fn victim_and_place(folder: &Path, path: &Path, suffix: &str) -> (PathBuf, PathBuf) {
    let (victim, planted) = (folder.join("victim"), beside(path, suffix));
    fs::write(&victim, "").unwrap();
    set_mode(&victim, 0o600);
    let _ = fs::remove_file(&planted);
    (victim, planted)
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    for suffix in SUFFIXES {
        let (folder, path) = place();
        let (victim, planted) = victim_and_place(folder.path(), &path, suffix);
        symlink(&victim, &planted).unwrap();
        assert_eq!(problem(&path), format!("store.sqlite{suffix} it is a link"));
        assert_eq!(fs::read(&victim).unwrap(), b"", "{suffix}");
        // Nor is a link that leads nowhere yet.
        fs::remove_file(&victim).unwrap();
        assert_eq!(problem(&path), format!("store.sqlite{suffix} it is a link"));
        assert!(!victim.exists(), "{suffix}");
    }
}

#[test]
fn a_file_with_another_name_is_refused() {
    for suffix in SUFFIXES {
        let (folder, path) = place();
        let (victim, planted) = victim_and_place(folder.path(), &path, suffix);
        fs::hard_link(&victim, &planted).unwrap();
        let expected = format!("store.sqlite{suffix} it has a second name (a hard link)");
        assert_eq!(problem(&path), expected);
        assert_eq!(fs::read(&victim).unwrap(), b"", "{suffix}");
    }
}

#[test]
fn a_file_open_to_others_is_refused_and_left_alone() {
    for (suffix, mode) in SUFFIXES.into_iter().flat_map(|s| [(s, 0o644), (s, 0o660), (s, 0o602)]) {
        let (_folder, path) = place();
        let file = beside(&path, suffix);
        if !file.exists() {
            fs::write(&file, "").unwrap();
        }
        set_mode(&file, mode);
        let before = fs::read(&path).unwrap();
        assert_eq!(problem(&path), format!("store.sqlite{suffix} others may read or change it"));
        assert_eq!(fs::read(&path).unwrap(), before);
        set_mode(&file, 0o600);
        assert!(SqliteBackend::open(&path).is_ok(), "the way out works");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    if !is_privileged() {
        return skip("only root can give files away");
    }
    for suffix in SUFFIXES {
        let (_folder, path) = place();
        let file = beside(&path, suffix);
        if !file.exists() {
            fs::write(&file, "").unwrap();
            set_mode(&file, 0o600);
        }
        chown(&file, Some(65_534), None).unwrap();
        assert_eq!(problem(&path), format!("store.sqlite{suffix} it belongs to another user"));
    }
}

#[test]
fn a_folder_in_which_others_may_put_files_is_refused() {
    let (folder, path) = place();
    for mode in [0o770, 0o707, 0o1777] {
        set_mode(folder.path(), mode);
        assert!(problem(&path).ends_with("others may put files into the folder"), "{mode:o}");
    }
    set_mode(folder.path(), 0o755);
    assert!(SqliteBackend::open(&path).is_ok(), "others may look into it");
    if is_privileged() {
        chown(folder.path(), Some(65_534), None).unwrap();
        assert!(problem(&path).ends_with("the folder belongs to another user"));
    }
}

#[test]
fn a_new_store_is_not_made_where_others_may_put_files() {
    let folder = tempfile::tempdir().unwrap();
    set_mode(folder.path(), 0o777);
    let path = folder.path().join("store.sqlite");
    assert_eq!(SqliteBackend::open(&path).unwrap_err().code(), "NOT_PRIVATE");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_may_be_reached_through_links() {
    let (folder, path) = place();
    let link = folder.path().join("home");
    symlink(path.parent().unwrap(), &link).unwrap();
    let through = link.join("store.sqlite");
    let (there, here) = (SqliteBackend::open(&path).unwrap(), SqliteBackend::open(&through));
    assert!(here.is_ok());
    drop(there);
}

#[test]
fn the_error_names_the_way_out() {
    let (_folder, path) = place();
    set_mode(&path, 0o644);
    let error = SqliteBackend::open(&path).unwrap_err();
    let expected = format!("`{}` is not private: others may read or change it", path.display());
    assert_eq!((error.code(), error.to_string()), ("NOT_PRIVATE", expected));
    assert!(error.hint().unwrap().contains("`chmod 600`"));
}
