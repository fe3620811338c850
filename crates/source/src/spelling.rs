//! The spelling of names on disk, in folders that ignore case. The spelling on disk is the
//! canonical one. Asks the folder itself and never opens a file.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

use base::lock;
use base::path::comparison_key;
use files::looks;

/// Most folders whose case rule is remembered.
const MAX_FOLDERS: usize = 10_000;

/// What is known about folders.
#[derive(Debug, Default)]
pub(super) struct Spelling {
    ignores_case: Mutex<HashMap<PathBuf, bool>>,
}

impl Spelling {
    /// A path without links, in the spelling on disk. macOS and Windows resolve paths to that by
    /// themselves.
    pub(super) fn of(&self, path: PathBuf) -> PathBuf {
        if cfg!(any(target_os = "macos", windows)) {
            return path;
        }
        let mut spelled = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => match name.to_str() {
                    Some(name) => spelled.push(self.of_name(&spelled, name)),
                    None => spelled.push(name),
                },
                other => spelled.push(other),
            }
        }
        spelled
    }

    /// Spells nested names below a folder as on disk.
    pub(super) fn of_names(&self, folder: &Path, names: &[String]) -> Vec<String> {
        let mut at = folder.to_owned();
        // Nothing below a missing folder can be spelled.
        let mut is_there = true;
        let spelled = names.iter().map(|name| {
            if !is_there {
                return name.clone();
            }
            let found = self.found_name(&at, name);
            is_there = found.is_some();
            let name = found.unwrap_or_else(|| name.clone());
            at.push(&name);
            name
        });
        spelled.collect()
    }

    fn of_name(&self, folder: &Path, name: &str) -> String {
        self.found_name(folder, name).unwrap_or_else(|| name.to_owned())
    }

    /// The name as it is on disk; `None` if nothing is there.
    fn found_name(&self, folder: &Path, name: &str) -> Option<String> {
        if !self.ignores_case(folder, name)? {
            return Some(name.to_owned());
        }
        let entries = looks::entries(folder, usize::MAX).into_iter().flatten();
        spelled(name, entries.map(|entry| entry.file_name())).or_else(|| Some(name.to_owned()))
    }

    /// Whether a folder ignores case. Only an existing name can show that: `None` if there is none.
    fn ignores_case(&self, folder: &Path, name: &str) -> Option<bool> {
        let mut known = lock(&self.ignores_case);
        if let Some(ignores) = known.get(folder) {
            return Some(*ignores);
        }
        let Some(other) = in_other_case(name) else { return Some(false) };
        let entry = looks::symlink_metadata(&folder.join(name)).ok()?;
        let other = looks::symlink_metadata(&folder.join(other));
        let ignores = other.is_ok_and(|other| is_same(&entry, &other));
        if known.len() >= MAX_FOLDERS {
            known.clear();
        }
        known.insert(folder.to_owned(), ignores);
        Some(ignores)
    }
}

/// The entry that a name refers to in a folder that ignores case: the same name, else one that
/// differs in case or composition.
fn spelled(name: &str, entries: impl Iterator<Item = OsString>) -> Option<String> {
    let key = |name: &str| comparison_key(name).to_lowercase();
    let wanted = key(name);
    let mut found = None;
    for entry in entries {
        let Some(entry) = entry.to_str() else { continue };
        if entry == name {
            return Some(entry.to_owned());
        }
        if found.is_none() && key(entry) == wanted {
            found = Some(entry.to_owned());
        }
    }
    found
}

/// The name with the case of its letters swapped; `None` if that changes nothing.
fn in_other_case(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    let other = if lower == name { name.to_uppercase() } else { lower };
    (other != name).then_some(other)
}

#[cfg(unix)]
fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    // Without numbers of files: folders here ignore case unless one was told not to.
    one.file_type() == other.file_type() && one.len() == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_on_disk_is_found_in_any_case_and_composition() {
        let entries = ["Readme.md", "src", "E\u{301}te\u{301}.txt", "SRC"];
        let of = |name| spelled(name, entries.iter().map(OsString::from));
        assert_eq!(of("README.MD").as_deref(), Some("Readme.md"));
        assert_eq!(of("SRC").as_deref(), Some("SRC"));
        assert_eq!(of("Src").as_deref(), Some("src"));
        assert_eq!(of("été.TXT").as_deref(), Some("E\u{301}te\u{301}.txt"));
        assert_eq!(of("absent"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn folders_that_tell_cases_apart_keep_names_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("Src")).unwrap();
        std::fs::write(root.join("Src/a.rs"), "").unwrap();
        std::fs::write(root.join("Src/A.rs"), "").unwrap();
        let spelling = Spelling::default();
        for name in ["Src/a.rs", "Src/A.rs", "src/a.rs", "Src/absent"] {
            assert_eq!(spelling.of(root.join(name)), root.join(name));
        }
    }
}
