//! The setting `exclude`: files that are known by path and size alone, and whose text is never stored.
//!
//! Looks at names and links, never into a file. Globs are `globset`'s.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use super::canonical_path;
use crate::error::{Error, Result};

/// Most entries of a folder that are compared with a wildcard.
const MAX_ENTRIES: usize = 10_000;

/// Ordered globs for files whose text is not stored. The last one that matches decides.
///
/// As in a `.gitignore`: a glob without a slash is compared with the name, one with a slash with the end of the path,
/// one that starts with a slash with the whole path. `*` stays within a name, `**` does not, `!` includes files
/// again. Case does not matter.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    globs: GlobSet,
    /// For each glob: whether it excludes files or includes them again.
    excludes: Vec<bool>,
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
        Ok(Self { globs, excludes })
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.excludes.is_empty()
    }

    /// Whether a file is excluded by the given path or by the path that it leads to.
    pub fn excludes(&self, path: &Path) -> bool {
        if self.is_empty() {
            return false;
        }
        self.excludes_name(path) || self.excludes_name(&canonical_path(path))
    }

    /// Whether a path is excluded as written; follows no link.
    pub fn excludes_name(&self, path: &Path) -> bool {
        let last = self.globs.matches(path).into_iter().max();
        last.is_some_and(|last| self.excludes[last])
    }

    /// Whether the last part of a path, read as a shell's wildcard, matches an excluded file.
    pub fn excludes_some(&self, pattern: &Path) -> bool {
        let name = pattern.file_name().and_then(OsStr::to_str);
        if self.is_empty() || !name.is_some_and(|name| name.contains(['*', '?', '['])) {
            return false;
        }
        let glob = pattern.to_str().and_then(|pattern| Some(glob(pattern).ok()?.compile_matcher()));
        let (Some(glob), Some(Ok(entries))) = (glob, pattern.parent().map(Path::read_dir)) else {
            return false;
        };
        let paths = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.path());
        paths.filter(|path| glob.is_match(path)).any(|path: PathBuf| self.excludes(&path))
    }
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

    #[cfg(unix)]
    #[test]
    fn links_and_wildcards_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".env"), "").unwrap();
        std::fs::write(folder.path().join("a.txt"), "").unwrap();
        std::os::unix::fs::symlink(".env", folder.path().join("link")).unwrap();
        let exclude = exclude(&[".env"]);
        for (given, expected) in
            [("link", true), (".e*", true), (".en?", true), ("*.txt", false), ("a.txt", false)]
        {
            let path = folder.path().join(given);
            let excludes = exclude.excludes(&path) || exclude.excludes_some(&path);
            assert_eq!(excludes, expected, "{given}");
        }
    }
}
