//! Paths as text: absolute paths of any system as names below a root, `~`, `.` and `..`, and the
//! form used to compare paths.
//!
//! Must not access a disk. Linux and Windows paths are both read on every system, because an agent
//! may run in a container of another system.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Makes a path from settings or the command line absolute: expands `~`, resolves against `base`,
/// removes `.` and `..`. Symlinks stay.
pub fn absolute_path(given: &str, base: &Path) -> PathBuf {
    let home = std::env::home_dir();
    let expanded = home.and_then(|home| expand_tilde(given, &home));
    without_dots(&base.join(expanded.unwrap_or_else(|| PathBuf::from(given))))
}

/// The form used to compare paths (Unicode NFC). Do not open files by it: the spelling on disk may
/// differ.
pub fn comparison_key(path: &str) -> Cow<'_, str> {
    match is_nfc_quick(path.chars()) {
        IsNormalized::Yes => Cow::Borrowed(path),
        _ => Cow::Owned(path.nfc().collect()),
    }
}

/// A path with `~` replaced by the home folder; `None` unless `~` alone is its first name.
pub fn expand_tilde(path: &str, home: &Path) -> Option<PathBuf> {
    let rest = path.strip_prefix('~')?;
    match rest.chars().next() {
        None => Some(home.to_owned()),
        Some('/') => Some(home.join(rest.trim_start_matches('/'))),
        Some('\\') if cfg!(windows) => Some(home.join(rest.trim_start_matches(['\\', '/']))),
        Some(_) => None,
    }
}

/// Removes `.` and `..` by text; `..` at the root stays there.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// An absolute path of any system, without `.`, `..`, or doubled or trailing separators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsolutePath {
    root: Root,
    names: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    /// `/`
    Slash,
    /// `C:`, the letter in upper case.
    Drive(char),
    /// `\\server\share`
    Share(String, String),
}

impl AbsolutePath {
    /// Reads `/a/b`, `C:\a\b`, `C:/a/b`, `\\server\share\a`, and Windows paths after `\\?\`. `..`
    /// at the root stays there. `None` for relative paths, such as `a`, `C:a` and `\a`.
    pub fn parse(text: &str) -> Option<Self> {
        let is_separator = |character: char| matches!(character, '/' | '\\');
        let verbatim = text.strip_prefix(r"\\?\");
        let share = match verbatim {
            Some(rest) => rest.strip_prefix(r"UNC\"),
            None => text.strip_prefix(r"\\"),
        };
        if let Some(rest) = share {
            let mut parts = rest.split(is_separator);
            let server =
                parts.next().filter(|name| !name.is_empty() && !matches!(*name, "?" | "."))?;
            let share = parts.next().filter(|name| !name.is_empty())?;
            let root = Root::Share(server.to_owned(), share.to_owned());
            return Some(Self::of(root, parts));
        }
        let drive = verbatim.unwrap_or(text);
        if let Some((letter, rest)) = drive.split_once(':')
            && let [byte] = letter.as_bytes()
            && byte.is_ascii_alphabetic()
        {
            let rest = rest.strip_prefix(is_separator)?;
            let root = Root::Drive(char::from(byte.to_ascii_uppercase()));
            return Some(Self::of(root, rest.split(is_separator)));
        }
        let rest = verbatim.is_none().then(|| text.strip_prefix('/')).flatten()?;
        Some(Self::of(Root::Slash, rest.split('/')))
    }

    fn of<'a>(root: Root, parts: impl Iterator<Item = &'a str>) -> Self {
        let mut path = Self { root, names: Vec::new() };
        parts.for_each(|name| path.step(name));
        path
    }

    /// Appends a name, or removes the last one for `..`.
    pub fn step(&mut self, name: &str) {
        match name {
            "" | "." => {}
            ".." => drop(self.names.pop()),
            name => self.names.push(name.to_owned()),
        }
    }

    /// The root of the path.
    #[must_use]
    pub fn root(&self) -> Self {
        Self { root: self.root.clone(), names: Vec::new() }
    }

    /// The names below the root.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of this path below a folder; `None` if the path is not inside it.
    pub fn below(&self, folder: &Self) -> Option<&[String]> {
        let is_same = |one: &String, other: &String| self.root.same(one, other);
        let is_inside = self.root.is(&folder.root)
            && self.names.len() >= folder.names.len()
            && self.names.iter().zip(&folder.names).all(|(one, other)| is_same(one, other));
        is_inside.then(|| &self.names[folder.names.len()..])
    }

    /// Whether this is the same path as another, by the rules of [`Self::below`].
    pub fn is_at(&self, other: &Self) -> bool {
        self.below(other).is_some_and(<[String]>::is_empty)
    }

    /// The path of names below this one.
    #[must_use]
    pub fn join(&self, names: &[String]) -> Self {
        Self { root: self.root.clone(), names: [&self.names[..], names].concat() }
    }
}

impl std::fmt::Display for AbsolutePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.root {
            Root::Slash => write!(f, "/{}", self.names.join("/")),
            Root::Drive(letter) => write!(f, "{letter}:\\{}", self.names.join("\\")),
            Root::Share(server, share) => {
                write!(f, r"\\{server}\{share}")?;
                self.names.iter().try_for_each(|name| write!(f, "\\{name}"))
            }
        }
    }
}

impl Root {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Share(server, share), Self::Share(other_server, other_share)) => {
                self.same(server, other_server) && self.same(share, other_share)
            }
            (one, other) => one == other,
        }
    }

    /// Whether two names are the same under this root: compared in NFC, and for Windows without
    /// case.
    fn same(&self, one: &str, other: &str) -> bool {
        let (one, other) = (comparison_key(one), comparison_key(other));
        one == other || (*self != Self::Slash && one.to_lowercase() == other.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_linux_and_windows_paths_alike_everywhere() {
        for (given, expected) in [
            ("/", "/"),
            ("//a///b/./c/", "/a/b/c"),
            ("/a/../../b", "/b"),
            (r"/a\b", r"/a\b"),
            ("c:/x/../y", r"C:\y"),
            (r"C:\", r"C:\"),
            (r"C:\a/b\\c\", r"C:\a\b\c"),
            (r"\\?\c:\a", r"C:\a"),
            (r"\\server\share\a\..\..\b", r"\\server\share\b"),
            (r"\\?\UNC\server\share", r"\\server\share"),
        ] {
            let path = AbsolutePath::parse(given).unwrap();
            assert_eq!(path.to_string(), expected, "{given}");
        }
        for given in
            ["", "a", "./a", "C:a", "C:", r"\a", r"\\server", r"\\?\x", "cd:/a", "~", "é:/"]
        {
            assert_eq!(AbsolutePath::parse(given), None, "{given}");
        }
    }

    #[test]
    fn comparison_ignores_how_letters_are_composed() {
        assert_eq!(comparison_key("/e\u{301}"), comparison_key("/é"));
        assert!(matches!(comparison_key("/plain/é"), Cow::Borrowed(_)));
    }

    #[cfg(unix)]
    #[test]
    fn settings_paths_keep_what_only_tools_rewrite() {
        let base = Path::new("/base");
        assert_eq!(absolute_path("@a/../b", base), Path::new("/base/b"));
        assert_eq!(absolute_path("@a", base), Path::new("/base/@a"));
        assert_eq!(absolute_path("/x/./y", base), Path::new("/x/y"));
        let home = std::env::home_dir().unwrap();
        assert_eq!(absolute_path("~/s.sqlite", base), home.join("s.sqlite"));
    }
}
