//! Absolute paths of any system as names below a root.
//!
//! Pure text. Paths of Linux and of Windows are read alike on every system: an agent may run in a container of another one.

use super::comparison_key;

/// An absolute path of any system, without `.`, `..` and doubled or trailing separators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AbsolutePath {
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
    /// Reads `/a/b`, `C:\a\b`, `C:/a/b`, `\\server\share\a`, and both of the latter behind `\\?\`. `..` at the root stays there.
    /// `None` for relative paths, such as `a`, `C:a` and `\a`.
    pub(super) fn parse(text: &str) -> Option<Self> {
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
    pub(super) fn step(&mut self, name: &str) {
        match name {
            "" | "." => {}
            ".." => drop(self.names.pop()),
            name => self.names.push(name.to_owned()),
        }
    }

    /// The root of the path.
    pub(super) fn root(&self) -> Self {
        Self { root: self.root.clone(), names: Vec::new() }
    }

    /// The names below the root.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of this path below a folder; `None` if the path is not inside it.
    pub(super) fn below(&self, folder: &Self) -> Option<&[String]> {
        let is_same = |one: &String, other: &String| self.root.same(one, other);
        let is_inside = self.root.is(&folder.root)
            && self.names.len() >= folder.names.len()
            && self.names.iter().zip(&folder.names).all(|(one, other)| is_same(one, other));
        is_inside.then(|| &self.names[folder.names.len()..])
    }

    pub(super) fn join(&self, names: &[String]) -> Self {
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

    /// Whether two names are the same here: compared in NFC, and under Windows without case.
    fn same(&self, one: &str, other: &str) -> bool {
        let (one, other) = (comparison_key(one), comparison_key(other));
        one == other || (*self != Self::Slash && one.to_lowercase() == other.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_of_linux_and_windows_are_read_alike_everywhere() {
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
}
