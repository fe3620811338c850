//! The setting `exclude`: files known only by path and size, whose text is never stored.
//!
//! Looks only at names; `source` checks where links and second names of a file lead. Globs are
//! those of `globset`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use base::error::{Error, Result};
use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

/// Files that hold secrets: `.env*` and `*.env` except templates, keys, and files where programs
/// keep passwords.
pub const DEFAULT_EXCLUDE: [&str; 36] = [
    ".env*",
    "*.env",
    "!*example.env",
    "!*sample.env",
    "!*template.env",
    "!*dist.env",
    "!.env*.example",
    "!.env*.sample",
    "!.env*.template",
    "!.env*.dist",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.ppk",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "!id_*.pub",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
    "/etc/shadow*",
    "/etc/gshadow*",
];

/// The setting's name, for errors.
const SETTING: &str = "exclude";

/// Suffixes that editors and people add to the name of a backup.
const BACKUP_ENDS: [&str; 10] =
    ["~", ".bak", ".backup", ".old", ".orig", ".save", ".copy", ".tmp", ".swp", ".swo"];

/// Ordered globs for files whose text is not stored. The last matching glob decides.
///
/// As in a `.gitignore`: a glob without a slash matches the name, one with a slash the end of the
/// path, one that starts with a slash the whole path. `*` stays within a name, `**` does not, and
/// `!` includes files again. Case does not matter. A backup (`k.pem~`, `k.pem.bak`, `.k.pem.swp`,
/// `#k.pem#`) that no glob matches is treated like its original.
#[derive(Debug, Clone, Default)]
pub struct Exclude {
    globs: GlobSet,
    /// For each glob: whether it excludes files (or includes them again).
    excludes: Vec<bool>,
    /// Further globs that exclude files whatever the first ones say.
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
            set.add(glob(SETTING, positive.unwrap_or(text))?);
            excludes.push(positive.is_none());
        }
        let globs = set.build().map_err(|error| unreadable(SETTING, "a list", &error))?;
        Ok(Self { globs, excludes, more: None })
    }

    /// Also excludes what another list excludes. Neither list can include what the other excludes.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        Self { more: Some(Box::new(more)), ..self }
    }

    /// Whether there is no glob.
    pub fn is_empty(&self) -> bool {
        self.excludes.is_empty() && self.more.as_ref().is_none_or(|more| more.is_empty())
    }

    /// Whether a path as written is excluded. Follows no links.
    pub fn excludes_name(&self, path: &Path) -> bool {
        let of_original = || originals(path).iter().find_map(|original| self.decision(original));
        let decision = self.decision(path).or_else(of_original);
        let more = || self.more.as_ref().is_some_and(|more| more.excludes_name(path));
        decision.unwrap_or(false) || more()
    }

    /// What the last matching glob says.
    fn decision(&self, path: &Path) -> Option<bool> {
        self.globs.matches(path).into_iter().max().map(|last| self.excludes[last])
    }
}

/// The files that a name may be a backup of: the swap file of `k.pem` is `.k.pem.swp`, that of
/// `.env` is `.env.swp`.
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

/// A matcher for a shell's wildcard; `None` if it cannot be read.
pub fn wildcard(pattern: &Path) -> Option<GlobMatcher> {
    Some(glob(SETTING, pattern.to_str()?).ok()?.compile_matcher())
}

/// A glob of a setting.
pub(super) fn glob(setting: &'static str, text: &str) -> Result<Glob> {
    if text.trim().is_empty() {
        return Err(Error::argument(setting, "holds an empty glob"));
    }
    let anchored = if text.starts_with('/') { text.to_owned() } else { format!("**/{text}") };
    let built = GlobBuilder::new(&anchored).literal_separator(true).case_insensitive(true).build();
    built.map_err(|error| unreadable(setting, text, &error))
}

pub(super) fn unreadable(setting: &'static str, glob: &str, error: &globset::Error) -> Error {
    Error::argument(setting, format!("holds `{glob}`, which is not a glob: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclude(globs: &[&str]) -> Exclude {
        Exclude::new(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn key_files_are_excluded_by_default_and_no_others() {
        let exclude = Exclude::new(&DEFAULT_EXCLUDE.map(str::to_owned)).unwrap();
        for path in [
            "/p/.env",
            "/p/.env.local",
            "/p/.envrc",
            "/p/a/.ENV",
            "/p/server.pem",
            "/p/x.key",
            "/p/id_rsa",
            "/h/.ssh/id_ed25519_work",
            "/h/.netrc",
            "/h/.npmrc",
            "/h/.aws/credentials",
            "/p/store.kdbx",
            "/h/.git-credentials",
            "/p/release.keystore",
            "/h/.docker/config.json",
            "/h/.kube/config",
            "/p/prod.env",
            "/p/.env~",
            "/p/#.env#",
            "/p/k.pem.bak",
            "/h/.ssh/#id_rsa#",
            "/h/.aws/credentials.old",
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/gshadow",
        ] {
            assert!(exclude.excludes_name(Path::new(path)), "{path}");
        }
        for path in [
            "/p/.env.example",
            "/p/.env.local.sample",
            "/h/.ssh/id_ed25519.pub",
            "/p/environment",
            "/p/example.env",
            "/p/prod.sample.env",
            "/p/#.env.example#",
            "/p/main.rs.bak",
            "/p/src/env.rs",
            "/p/keys.md",
            "/p/credentials",
            "/p/config.json",
            "/p/.kube/cache",
            "/p/key",
            "/p/monkey.rs",
            "/p/etc/shadow",
            "/p/shadow.rs",
        ] {
            assert!(!exclude.excludes_name(Path::new(path)), "{path}");
        }
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
            assert_eq!(exclude.excludes_name(Path::new(path)), expected, "{path}");
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
}
