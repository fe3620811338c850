//! Finds the file of a vault that a link leads to. Must not read files: the caller passes their
//! paths and finds the vault's root.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::document::{Link, LinkKind};

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// A file of the vault.
    Resolved {
        /// Its path as given to the index.
        path: String,
        /// Other files that match the link, best first. If there are any, the link is ambiguous.
        others: Vec<String>,
    },
    /// No file of the vault.
    Unresolved {
        /// Files with the link's target as an alias, in path order. Obsidian does not resolve links
        /// by aliases.
        alias_of: Vec<String>,
    },
    /// Something outside any vault: a URL.
    External,
}

/// The files of one vault, for resolving links among them.
///
/// Paths are relative to the vault's root and separated by `/`; files of any type belong in it. An
/// index of only the paths that share the link's key (`link_key`, `path_key`) answers as an index
/// of all.
#[derive(Debug, Clone, Default)]
pub struct VaultIndex {
    files: Vec<File>,
    by_key: HashMap<String, Vec<usize>>,
    by_alias: HashMap<String, Vec<String>>,
}

#[derive(Debug, Clone)]
struct File {
    path: String,
    folded: String,
}

impl VaultIndex {
    /// Makes an index of paths, in any order; duplicates count once.
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        paths.sort();
        paths.dedup();
        let mut index = Self::default();
        for path in paths {
            index.by_key.entry(path_key(&path)).or_default().push(index.files.len());
            index.files.push(File { folded: fold(&path), path });
        }
        index
    }

    /// Adds the aliases of the file at `path`, for `Resolution::Unresolved::alias_of`.
    pub fn add_aliases<A: AsRef<str>>(&mut self, path: &str, aliases: impl IntoIterator<Item = A>) {
        for alias in aliases {
            let files = self.by_alias.entry(fold(alias.as_ref().trim())).or_default();
            if let Err(place) = files.binary_search_by(|known| known.as_str().cmp(path)) {
                files.insert(place, path.to_owned());
            }
        }
    }

    /// Finds the file that `link`, written in the file at `from_path`, leads to. The same paths
    /// give the same answer.
    ///
    /// Paths compare in Unicode NFC and without case. The target may omit `.md`: if its last
    /// segment contains a dot, the name as written is tried first and with `.md` second, else the
    /// other way round. Then:
    ///
    /// 1. An empty target is `from_path` itself.
    /// 2. `./` and `../` count from the folder of `from_path`, a leading `/` from the root; nothing
    ///    else is tried then.
    /// 3. An ordinary link is tried from the folder of `from_path` first, as everywhere outside of
    ///    Obsidian.
    /// 4. The exact path from the root wins.
    /// 5. Of the files whose path ends in the target, at a `/`, those in or under the folder of
    ///    `from_path` come first, then shorter paths (in UTF-16 units), then those spelled exactly
    ///    as the target, then paths in order.
    ///
    /// Rules 2, 4 and 5 are those of Obsidian's `MetadataCache.getFirstLinkpathDest`, which its API
    /// calls "the best match for a linkpath". Its order is not documented; it was observed on
    /// Obsidian 1.13.7 by others (issues 1350 and 1358 of the project markdown-vault-mcp: exact
    /// path, own folder, shortest path as a string). Ties and rule 3 are ours. An alias resolves no
    /// link in Obsidian (the same issues): its editor completes one to `[[Note|alias]]`.
    pub fn resolve(&self, link: &Link, from_path: &str) -> Resolution {
        match link.kind {
            LinkKind::External => Resolution::External,
            kind => self.resolve_target(&link.target, kind == LinkKind::Markdown, from_path),
        }
    }

    fn resolve_target(&self, target: &str, ordinary: bool, from_path: &str) -> Resolution {
        if target.is_empty() {
            return Resolution::Resolved { path: from_path.to_owned(), others: Vec::new() };
        }
        let folder = folder_of(&fold(from_path)).to_owned();
        for name in spellings(target) {
            let mut found = self.matches(&name, ordinary, &folder, target).into_iter();
            if let Some(path) = found.next() {
                return Resolution::Resolved { path, others: found.collect() };
            }
        }
        let alias_of = self.by_alias.get(&fold(target)).cloned().unwrap_or_default();
        Resolution::Unresolved { alias_of }
    }

    /// The files that match a folded target with its ending, best first.
    fn matches(&self, name: &str, ordinary: bool, folder: &str, target: &str) -> Vec<String> {
        let Some(candidates) = self.by_key.get(&link_key(name)) else { return Vec::new() };
        let from_root = name.strip_prefix('/');
        let from_here = name.starts_with("./") || name.starts_with("../");
        let anchored = from_root.is_some() || from_here;
        let base = if from_here { folder } else { "" };
        let Some(exact) = joined(base, from_root.unwrap_or(name)) else { return Vec::new() };
        let beside = if ordinary && !anchored { joined(folder, name) } else { None };
        let ending = format!("/{exact}");
        let spelled: String = target.nfc().collect();
        let under =
            |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        let rank = |place: &usize| {
            let file = &self.files[*place];
            let is_exact = file.folded == exact;
            let is_beside = beside.as_deref() == Some(file.folded.as_str());
            let fits = is_exact || is_beside || (!anchored && file.folded.ends_with(&ending));
            fits.then(|| {
                let path: String = file.path.nfc().collect();
                let best = (is_beside, is_exact, folder.is_empty() || under(&file.folded));
                let length = file.path.encode_utf16().count();
                (Reverse(best), length, !path.contains(&spelled), *place)
            })
        };
        let mut ranked: Vec<_> = candidates.iter().filter_map(rank).collect();
        ranked.sort();
        ranked.into_iter().map(|(.., place)| self.files[place].path.clone()).collect()
    }
}

/// The key of a link's target: its last segment, without `.md`, in NFC and without case.
///
/// A link can only resolve to a path with the same `path_key`, except that an empty target is its
/// own file. So a store that keeps the key of every link finds the links that may lead to a file
/// without reading the others.
pub fn link_key(target: &str) -> String {
    let folded = fold(target);
    let mut key = folded.rsplit('/').next().unwrap_or_default();
    while let Some(shorter) = key.strip_suffix(".md").filter(|rest| !rest.is_empty()) {
        key = shorter;
    }
    key.to_owned()
}

/// The key of the links that may lead to the file at `path`; see `link_key`.
pub fn path_key(path: &str) -> String {
    link_key(path)
}

/// NFC without case, character by character: the neighbours of a character must not matter, so that
/// a part of a path folds as it does within the path.
pub(super) fn fold(text: &str) -> String {
    let lower = text.nfc().flat_map(char::to_lowercase);
    lower.map(|sign| if sign == 'ς' { 'σ' } else { sign }).nfc().collect()
}

/// The forms of a folded target to look for in paths, in the order in which they are tried.
fn spellings(target: &str) -> Vec<String> {
    let written = fold(target);
    let last = written.rsplit('/').next().unwrap_or_default();
    if matches!(last, "" | "." | "..") {
        return Vec::new();
    }
    let dotted = last.contains('.');
    let with_ending = format!("{written}.md");
    if dotted { vec![written, with_ending] } else { vec![with_ending, written] }
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `path` relative to `base`, with `.` and `..` resolved; `None` if it leaves the vault.
fn joined(base: &str, path: &str) -> Option<String> {
    let mut segments: Vec<&str> = base.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::parse;

    /// The target of `written` in `from`: its path and the other candidates, or nothing.
    fn reached(paths: &[&str], written: &str, from: &str) -> Vec<String> {
        let link = parse(written).links.remove(0);
        match VaultIndex::new(paths.iter().copied()).resolve(&link, from) {
            Resolution::Resolved { path, others } => [vec![path], others].concat(),
            _ => Vec::new(),
        }
    }

    #[test]
    fn names_paths_and_ends_of_paths_lead_to_a_file() {
        let paths = ["a/b/Note.md", "img/Pic 1.png", "a/v1.2.md", "LICENSE"];
        for written in ["[[note]]", "[[Note.md]]", "[[b/Note]]", "[[A/B/NOTE.MD]]", "[[/a/b/note]]"]
        {
            assert_eq!(reached(&paths, written, "x.md"), ["a/b/Note.md"], "{written}");
        }
        assert_eq!(reached(&paths, "![[pic 1.png|300]]", "x.md"), ["img/Pic 1.png"]);
        assert_eq!(reached(&paths, "![p](Pic%201.png)", "x.md"), ["img/Pic 1.png"]);
        assert_eq!(reached(&paths, "[[v1.2]]", "x.md"), ["a/v1.2.md"]);
        assert_eq!(reached(&paths, "[l](LICENSE)", "x.md"), ["LICENSE"]);
        for written in ["[[/Note]]", "[[pic 1]]", "[[ote]]", "[[c/Note]]", "[[a/b/]]", "[x](..)"] {
            assert_eq!(reached(&paths, written, "x.md"), [""; 0], "{written}");
        }
    }

    #[test]
    fn exact_path_wins_over_own_folder_over_shortest_path() {
        let paths = ["Note.md", "zzzz/Note.md", "a/b/Note.md", "a/Note.md"];
        assert_eq!(reached(&paths, "[[Note]]", "zzzz/x.md")[0], "Note.md");
        let paths = &paths[1..];
        assert_eq!(
            reached(paths, "[[Note]]", "zzzz/x.md"),
            ["zzzz/Note.md", "a/Note.md", "a/b/Note.md"]
        );
        assert_eq!(
            reached(paths, "[[Note]]", "q/x.md"),
            ["a/Note.md", "a/b/Note.md", "zzzz/Note.md"]
        );
        assert_eq!(reached(paths, "[[Note]]", "zzzz/deep/x.md")[0], "a/Note.md");
    }

    #[test]
    fn dots_count_from_the_own_folder_and_reach_nothing_else() {
        let paths = ["y.md", "a/y.md", "a/b/y.md", "c/z.md"];
        assert_eq!(reached(&paths, "[[../y]]", "a/x.md"), ["y.md"]);
        assert_eq!(reached(&paths, "[[./b/y]]", "a/x.md"), ["a/b/y.md"]);
        assert_eq!(reached(&paths, "[t](../../y.md)", "a/b/x.md"), ["y.md"]);
        for written in ["[[./z]]", "[[../z]]", "[[../../y]]"] {
            assert_eq!(reached(&paths, written, "a/x.md"), [""; 0], "{written}");
        }
    }

    #[test]
    fn an_ordinary_link_is_tried_beside_its_file_first() {
        let paths = ["README.md", "docs/README.md"];
        assert_eq!(reached(&paths, "[r](README.md)", "docs/x.md"), ["docs/README.md", "README.md"]);
        assert_eq!(reached(&paths, "[[README]]", "docs/x.md"), ["README.md", "docs/README.md"]);
    }

    #[test]
    fn unicode_forms_and_case_are_one_name() {
        assert_eq!(reached(&["Cafe\u{301}.md"], "[[CAF\u{c9}]]", "x.md"), ["Cafe\u{301}.md"]);
        assert_eq!(reached(&["ΟΔΟΣ.md"], "[[οδος]]", "x.md"), ["ΟΔΟΣ.md"]);
        let paths = ["a/NOTE.md", "a/Note.md", "a/note.md"];
        assert_eq!(reached(&paths, "[[Note]]", "x.md"), ["a/Note.md", "a/NOTE.md", "a/note.md"]);
    }

    #[test]
    fn an_alias_resolves_nothing_but_says_whose_it_is() {
        let mut index = VaultIndex::new(["b.md", "a.md"]);
        index.add_aliases("b.md", ["Nick Name"]);
        index.add_aliases("a.md", ["nick name"]);
        let link = parse("[[NICK name]]").links.remove(0);
        let alias_of = vec!["a.md".to_owned(), "b.md".to_owned()];
        assert_eq!(index.resolve(&link, "x.md"), Resolution::Unresolved { alias_of });
    }

    #[test]
    fn an_empty_target_is_the_file_itself_and_a_url_is_no_file() {
        assert_eq!(reached(&[], "[[#Heading]]", "a/x.md"), ["a/x.md"]);
        let url = parse("[u](https://a.b/c.md)").links.remove(0);
        assert_eq!(VaultIndex::new(["c.md"]).resolve(&url, "x.md"), Resolution::External);
    }

    #[test]
    fn keys_are_last_segments_without_ending_and_case() {
        assert_eq!(link_key("Folder/NOTE.md"), "note");
        assert_eq!(path_key("x/note.MD.md"), "note");
        assert_eq!(link_key("a.png"), "a.png");
        assert_eq!(link_key(".md"), ".md");
    }
}
