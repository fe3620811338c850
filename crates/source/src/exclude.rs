//! Which files on a disk the setting `exclude` covers: by their own path, by the target of a link,
//! and by another name of the same file.
//!
//! Looks at names, links and inodes, never into a file.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use config::{Exclude, wildcard};

use super::canonical_path;
use files::looks;

/// Maximum number of folder entries that are looked at for one question.
const MAX_ENTRIES: usize = 10_000;
/// Folders with downloaded or generated files, where nobody keeps a secret.
const FETCHED: [&str; 4] = [".git", "node_modules", "target", ".venv"];

/// Whether a file is excluded by the given path, by the path that it leads to, or by another name
/// of the same file (a hard link) in its folder or one above it.
pub fn excludes(exclude: &Exclude, path: &Path) -> bool {
    if exclude.is_empty() {
        return false;
    }
    let place = canonical_path(path);
    exclude.excludes_name(path)
        || exclude.excludes_name(&place)
        || excludes_link_of(exclude, &place)
}

/// Whether the last part of a path, read as a shell wildcard, matches an excluded file.
pub fn excludes_some(exclude: &Exclude, pattern: &Path) -> bool {
    let name = pattern.file_name().and_then(OsStr::to_str);
    let Some(name) = name.filter(|name| name.contains(['*', '?', '['])) else { return false };
    let (Some(glob), Some(folder)) = (wildcard(pattern), pattern.parent()) else {
        return false;
    };
    // A wildcard matches no dot at the beginning of a name.
    let is_hidden = |path: &Path| !name.starts_with('.') && path.file_name().is_some_and(is_dotted);
    let mut paths = entries(folder).map(|entry| entry.path()).take(MAX_ENTRIES);
    paths.any(|path: PathBuf| !is_hidden(&path) && glob.is_match(&path) && excludes(exclude, &path))
}

/// Whether a folder, or one in it, holds an excluded file. Checks the first 10,000 entries, nearest
/// first.
pub fn excludes_within(exclude: &Exclude, folder: &Path) -> bool {
    if exclude.is_empty() {
        return false;
    }
    let mut folders = VecDeque::from([folder.to_owned()]);
    let mut left = MAX_ENTRIES;
    while let Some(folder) = folders.pop_front() {
        for entry in entries(&folder) {
            if left == 0 {
                return false;
            }
            left -= 1;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let is_fetched = || FETCHED.iter().any(|name| entry.file_name() == *name);
            if !is_folder && exclude.excludes_name(&entry.path()) {
                return true;
            }
            if is_folder && !is_fetched() {
                folders.push_back(entry.path());
            }
        }
    }
    false
}

/// Whether a file has another name that is excluded, in its folder or in one above it.
#[cfg(unix)]
fn excludes_link_of(exclude: &Exclude, path: &Path) -> bool {
    use std::os::unix::fs::{DirEntryExt, MetadataExt};

    let Ok(file) = looks::symlink_metadata(path) else { return false };
    if !file.is_file() || file.nlink() < 2 {
        return false;
    }
    let is_it = |entry: &DirEntry| {
        entry.ino() == file.ino()
            && looks::symlink_metadata(&entry.path()).is_ok_and(|found| found.dev() == file.dev())
    };
    let above = path.ancestors().skip(1).flat_map(entries).take(MAX_ENTRIES);
    above.filter(is_it).any(|entry| exclude.excludes_name(&entry.path()))
}

#[cfg(not(unix))]
fn excludes_link_of(_: &Exclude, _: &Path) -> bool {
    false
}

/// The entries of a folder, as far as they can be read.
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    looks::entries(folder, MAX_ENTRIES).into_iter().flatten()
}

fn is_dotted(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclude(globs: &[&str]) -> Exclude {
        Exclude::new(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn links_and_wildcards_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "").unwrap();
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        std::os::unix::fs::symlink(".env", folder.path().join("link")).unwrap();
        let exclude = exclude(&[".env"]);
        for (given, expected) in [
            ("link", true),
            (".e*", true),
            (".en?", true),
            ("*.txt", false),
            ("a.txt", false),
            ("[.a-k]*", false),
        ] {
            let path = folder.path().join(given);
            let is_excluded = excludes(&exclude, &path) || excludes_some(&exclude, &path);
            assert_eq!(is_excluded, expected, "{given}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_hard_link_of_an_excluded_file_above_is_excluded() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("sub/deep")).unwrap();
        for name in [".env", "sub/deep/k.pem", "a.txt"] {
            std::fs::write(path(name), name).unwrap();
        }
        let exclude = exclude(&[".env", "*.pem"]);
        for (from, to, expected) in [
            (".env", "notes.txt", true),
            (".env", "sub/deep/notes.txt", true),
            ("a.txt", "b.txt", false),
            // Nothing below these folders is searched.
            ("sub/deep/k.pem", "c.txt", false),
        ] {
            std::fs::hard_link(path(from), path(to)).unwrap();
            assert_eq!(excludes(&exclude, &path(to)), expected, "{to}");
        }
    }

    #[test]
    fn an_excluded_file_is_found_in_a_folder_and_below() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["a/b/.env", "c/node_modules/x/.env", "c/d.txt"] {
            std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::fs::write(path(name), "").unwrap();
        }
        let exclude = exclude(&[".env"]);
        for (name, expected) in
            [("", true), ("a", true), ("a/b", true), ("c", false), ("nowhere", false)]
        {
            assert_eq!(excludes_within(&exclude, &path(name)), expected, "{name}");
        }
    }
}
