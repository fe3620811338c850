//! Whether git ignores a file, by the `.gitignore` files above it. Must not ask git, nor open the
//! file.

use std::collections::HashMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use ignore::Match;
use ignore::gitignore::Gitignore;

use base::lock;
use base::object::FileStamp;
use files::looks;

/// Most files of rules that are kept parsed.
const MAX_KEPT: usize = 256;
/// Largest file of rules that is read.
const MAX_RULE_BYTES: u64 = 4 << 20;

/// Rules by their file, each with the file's state.
type Kept = HashMap<PathBuf, (FileStamp, Arc<Gitignore>)>;

/// The rules that were read last: many files are asked about at once, and all of a
/// folder have the same rules.
static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

/// Whether a file of rules must not be read: a clone may bring a link to a device, which has no end.
pub(super) fn is_unfit(found: &Metadata) -> bool {
    !found.is_dir() && (!found.is_file() || found.len() > MAX_RULE_BYTES)
}

/// Whether a file below `root` is ignored: the nearest `.gitignore` with a rule for it, or for a
/// folder above it, decides; after all of them `.git/info/exclude` of `root`.
pub fn is_ignored(root: &Path, path: &Path) -> bool {
    if !path.starts_with(root) {
        return false;
    }
    let (root, path) = (root.to_owned(), path.to_owned());
    looks::together(move || decision(&root, &path)).unwrap_or_default()
}

fn decision(root: &Path, path: &Path) -> bool {
    let folders = path.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let rules = folders.map(|folder| (folder.to_owned(), folder.join(".gitignore")));
    let exclude = (root.to_owned(), root.join(".git/info/exclude"));
    for (folder, file) in rules.chain([exclude]) {
        match matched(folder, &file, path) {
            Match::None => {}
            Match::Ignore(()) => return true,
            Match::Whitelist(()) => return false,
        }
    }
    false
}

fn matched(folder: PathBuf, file: &Path, path: &Path) -> Match<()> {
    match looks::metadata(file) {
        // Nobody is told of what may be left out.
        Ok(found) if is_unfit(&found) => return Match::Ignore(()),
        Ok(found) if found.is_file() => {}
        _ => return Match::None,
    }
    let stamp = crate::stamp(file);
    let kept = || lock(&KEPT);
    let known = kept()
        .get(file)
        .filter(|(known, _)| Some(*known) == stamp)
        .map(|(_, rules)| Arc::clone(rules));
    let rules = known.unwrap_or_else(|| {
        let mut builder = ignore::gitignore::GitignoreBuilder::new(folder);
        // An unreadable line is skipped, as in git.
        drop(builder.add(file));
        let rules = Arc::new(builder.build().unwrap_or_else(|_| Gitignore::empty()));
        if let Some(stamp) = stamp {
            let mut kept = kept();
            if kept.len() >= MAX_KEPT {
                kept.clear();
            }
            kept.insert(file.to_owned(), (stamp, Arc::clone(&rules)));
        }
        rules
    });
    rules.matched_path_or_any_parents(path, false).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_that_speaks_of_it_decides() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            (".gitignore", "dist/\n*.log\n/only.txt\n"),
            ("a/.gitignore", "!keep.log\n"),
            (".git/info/exclude", "private\n"),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for (path, expected) in [
            ("dist/x/y.js", true),
            ("a/dist/y.js", true),
            ("a/b/x.log", true),
            ("a/keep.log", false),
            ("keep.log", true),
            ("only.txt", true),
            ("a/only.txt", false),
            ("a/private", true),
            ("a/b.rs", false),
        ] {
            assert_eq!(is_ignored(root, &root.join(path)), expected, "{path}");
        }
        std::fs::write(root.join(".gitignore"), "b.rs\n").unwrap();
        assert!(is_ignored(root, &root.join("a/b.rs")), "a changed file is read again");
        assert!(!is_ignored(root, &root.join("only.txt")));
    }
}
