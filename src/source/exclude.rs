//! The setting `exclude`: files that are known by path and size alone, and whose text is never stored.
//!
//! Looks at names, links and inodes, never into a file. Globs are `globset`'s.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::{canonical_path, looks};
use crate::error::{Error, Result};

/// Most entries of folders that are looked at for one question.
const MAX_ENTRIES: usize = 10_000;
/// Folders that hold what was fetched or made, and in which nobody keeps a secret.
const FETCHED: [&str; 4] = [".git", "node_modules", "target", ".venv"];
/// What editors and people put behind the name of a file that they keep.
const BACKUP_ENDS: [&str; 10] =
    ["~", ".bak", ".backup", ".old", ".orig", ".save", ".copy", ".tmp", ".swp", ".swo"];

/// Ordered globs for files whose text is not stored. The last one that matches decides.
///
/// As in a `.gitignore`: a glob without a slash is compared with the name, one with a slash with the end of the path,
/// one that starts with a slash with the whole path. `*` stays within a name, `**` does not, `!` includes files
/// again. Case does not matter. A backup (`k.pem~`, `k.pem.bak`, `.k.pem.swp`, `#k.pem#`) is what its file is, where no glob
/// matches it.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    globs: GlobSet,
    /// For each glob: whether it excludes files or includes them again.
    excludes: Vec<bool>,
    /// Further globs, which exclude files whatever these say.
    more: Option<Box<Self>>,
}

impl Exclude {
    /// Parses globs.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming the glob that cannot be read.
    pub fn new(globs: &[String]) -> Result<Self> {
        let mut set = GlobSetBuilder::new();
        let mut excludes = Vec::with_capacity(globs.len());
        for text in globs {
            let positive = text.strip_prefix('!');
            set.add(glob(positive.unwrap_or(text))?);
            excludes.push(positive.is_none());
        }
        let globs = set.build().map_err(|error| unreadable("a list", &error))?;
        Ok(Self { globs, excludes, more: None })
    }

    /// Excludes what another list excludes too; neither takes anything from the other.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self { more: Some(Box::new(more)), ..self }
    }

    /// Whether there is no glob.
    pub fn is_empty(&self) -> bool {
        self.excludes.is_empty() && self.more.as_ref().is_none_or(|more| more.is_empty())
    }

    /// Whether a file is excluded by the given path, by the path that it leads to, or by another name of the same file (a hard
    /// link) in its folder or one above it.
    pub fn excludes(&self, path: &Path) -> bool {
        if self.is_empty() {
            return false;
        }
        let place = canonical_path(path);
        self.excludes_name(path) || self.excludes_name(&place) || self.excludes_link_of(&place)
    }

    /// Whether a path is excluded as written; follows no link.
    pub fn excludes_name(&self, path: &Path) -> bool {
        let of_original = || originals(path).iter().find_map(|original| self.decision(original));
        let decision = self.decision(path).or_else(of_original);
        let more = || self.more.as_ref().is_some_and(|more| more.excludes_name(path));
        decision.unwrap_or(false) || more()
    }

    /// What the last glob says that matches.
    fn decision(&self, path: &Path) -> Option<bool> {
        self.globs.matches(path).into_iter().max().map(|last| self.excludes[last])
    }

    /// Whether the last part of a path, read as a shell's wildcard, matches an excluded file.
    pub fn excludes_some(&self, pattern: &Path) -> bool {
        let name = pattern.file_name().and_then(OsStr::to_str);
        let Some(name) = name.filter(|name| name.contains(['*', '?', '['])) else { return false };
        let glob = pattern.to_str().and_then(|pattern| Some(glob(pattern).ok()?.compile_matcher()));
        let (Some(glob), Some(folder)) = (glob, pattern.parent()) else { return false };
        // A wildcard matches no dot at the beginning of a name.
        let is_hidden =
            |path: &Path| !name.starts_with('.') && path.file_name().is_some_and(is_dotted);
        let mut paths = entries(folder).map(|entry| entry.path()).take(MAX_ENTRIES);
        paths.any(|path: PathBuf| !is_hidden(&path) && glob.is_match(&path) && self.excludes(&path))
    }

    /// Whether a folder, or one in it, holds an excluded file: of the first 10,000 entries, those that are nearest first.
    pub fn excludes_within(&self, folder: &Path) -> bool {
        if self.is_empty() {
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
                if !is_folder && self.excludes_name(&entry.path()) {
                    return true;
                }
                if is_folder && !is_fetched() {
                    folders.push_back(entry.path());
                }
            }
        }
        false
    }

    /// Whether a file has several names, and one that is excluded stands in its folder or in one above it.
    #[cfg(unix)]
    fn excludes_link_of(&self, path: &Path) -> bool {
        use std::os::unix::fs::{DirEntryExt, MetadataExt};

        let Ok(file) = looks::symlink_metadata(path) else { return false };
        if !file.is_file() || file.nlink() < 2 {
            return false;
        }
        let is_it = |entry: &DirEntry| {
            entry.ino() == file.ino()
                && looks::symlink_metadata(&entry.path())
                    .is_ok_and(|found| found.dev() == file.dev())
        };
        let above = path.ancestors().skip(1).flat_map(entries).take(MAX_ENTRIES);
        above.filter(is_it).any(|entry| self.excludes_name(&entry.path()))
    }

    #[cfg(not(unix))]
    fn excludes_link_of(&self, _: &Path) -> bool {
        false
    }
}

/// The entries of a folder, as far as they can be read.
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    looks::entries(folder, MAX_ENTRIES).into_iter().flatten()
}

fn is_dotted(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The files of which a name may say that it is a backup: the swap file of `k.pem` is `.k.pem.swp`, that of `.env` is `.env.swp`.
fn originals(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(OsStr::to_str) else { return Vec::new() };
    let of_emacs = name.strip_prefix('#').and_then(|rest| rest.strip_suffix('#'));
    let before = |end: &&'static str| {
        let (before, found) = name.split_at_checked(name.len().checked_sub(end.len())?)?;
        found.eq_ignore_ascii_case(end).then_some(before)
    };
    let Some(kept) = of_emacs.or_else(|| BACKUP_ENDS.iter().find_map(before)) else {
        return Vec::new();
    };
    let names = [Some(kept), kept.strip_prefix('.')].into_iter().flatten();
    names.filter(|name| !name.is_empty()).map(|name| path.with_file_name(name)).collect()
}

fn glob(text: &str) -> Result<Glob> {
    if text.trim().is_empty() {
        return Err(Error::argument("exclude", "holds an empty glob"));
    }
    let anchored = if text.starts_with('/') { text.to_owned() } else { format!("**/{text}") };
    let built = GlobBuilder::new(&anchored).literal_separator(true).case_insensitive(true).build();
    built.map_err(|error| unreadable(text, &error))
}

fn unreadable(glob: &str, error: &globset::Error) -> Error {
    Error::argument("exclude", format!("holds `{glob}`, which is no glob: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclude(globs: &[&str]) -> Exclude {
        Exclude::new(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn globs_are_read_as_in_a_gitignore() {
        let exclude = exclude(&["/p/one", "sub/*.txt", "deep/**/x", "*.log", "!keep.log"]);
        for (path, expected) in [
            ("/p/one", true),
            ("/q/p/one", false),
            ("/a/sub/b.txt", true),
            ("/a/sub/c/b.txt", false),
            ("/a/deep/b/c/x", true),
            ("/a/b.log", true),
            ("/a/keep.log", false),
        ] {
            assert_eq!(exclude.excludes(Path::new(path)), expected, "{path}");
        }
        for glob in ["[", "", "!"] {
            assert_eq!(Exclude::new(&[glob.to_owned()]).unwrap_err().code(), "INVALID_ARGUMENT");
        }
    }

    #[test]
    fn a_backup_is_excluded_as_its_file_is() {
        let exclude = exclude(&["*.pem", ".env", "!.env.tmp", "**/conf/*"]);
        for name in [
            "k.pem~",
            "k.pem.bak",
            "k.PEM.BAK",
            "k.pem.old",
            "#k.pem#",
            ".k.pem.swp",
            "k.pem.orig",
            "#.env#",
            ".env~",
            ".env.swp",
            "conf/a.bak",
        ] {
            assert!(exclude.excludes_name(&Path::new("/p").join(name)), "{name}");
        }
        for name in [".env.tmp", "k.pem.md", "a.bak", "~", "##", ".bak", "é~"] {
            assert!(!exclude.excludes_name(&Path::new("/p").join(name)), "{name}");
        }
    }

    #[test]
    fn of_two_lists_neither_takes_from_the_other() {
        let both = exclude(&["*.a", "!b.a"]).and(exclude(&["*.c", "b.a", "!d.c", "!*.a"]));
        for (name, expected) in [("x.a", true), ("b.a", false), ("x.c", true), ("d.c", false)] {
            assert_eq!(both.excludes_name(&Path::new("/p").join(name)), expected, "{name}");
        }
        let both = exclude(&["!b"]).and(exclude(&["b"]));
        assert!(both.excludes_name(Path::new("/p/b")) && !both.is_empty());
        assert!(Exclude::default().and(Exclude::default()).is_empty());
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
            let excludes = exclude.excludes(&path) || exclude.excludes_some(&path);
            assert_eq!(excludes, expected, "{given}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn another_name_of_an_excluded_file_is_excluded_where_that_stands_above() {
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
            // Nothing is looked for below.
            ("sub/deep/k.pem", "c.txt", false),
        ] {
            std::fs::hard_link(path(from), path(to)).unwrap();
            assert_eq!(exclude.excludes(&path(to)), expected, "{to}");
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
            assert_eq!(exclude.excludes_within(&path(name)), expected, "{name}");
        }
    }
}
