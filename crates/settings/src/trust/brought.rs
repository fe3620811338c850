//! The files in a project's `.pi` that would count: Markdown, settings and facts of memory, and
//! settings of Palimpsest. Must not report what any of them says.

use files::looks;
use std::path::Path;

use base::object::Hash;
use config::{MEMORY_CONFIG_FILE, SETTINGS_FILE};
use files::private::{FolderAccess, Held, HeldFolder};

/// Name of the file with the facts of pages, which is kept in git.
pub const FACTS_FILE: &str = "page-facts.jsonl";

/// Maximum number of files and folders that are looked at. A project with more counts as holding
/// something unknown.
const MAX_FILES: usize = 2_000;
/// Maximum nesting of folders within the memory folder.
const MAX_DEPTH: usize = 4;
/// Maximum size of a file that a session could have written.
const MAX_BYTES: u64 = 4 << 20;

/// The files that would count, each by its path below `.pi`, with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brought {
    /// With the SHA-256 of the bytes; `None` for a link, a file that is too large, or one that
    /// cannot be read.
    files: Vec<(String, Option<Hash>)>,
}

impl Brought {
    /// Looks at a project by its real path. On a disk that does not answer, the project counts as
    /// holding something unknown.
    pub fn of(project: &Path) -> Self {
        let asked = project.to_owned();
        let found = looks::together(move || found_in(&asked));
        let mut files = found.unwrap_or_else(|| vec![("memory".to_owned(), None)]);
        files.sort();
        Self { files }
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files, by their paths below `.pi`.
    pub fn files(&self) -> impl Iterator<Item = (&str, Option<&Hash>)> {
        self.files.iter().map(|(file, hash)| (file.as_str(), hash.as_ref()))
    }
}

fn found_in(project: &Path) -> Vec<(String, Option<Hash>)> {
    let mut files = Vec::new();
    let Ok(project) = HeldFolder::open(project, FolderAccess::Shared) else { return files };
    let Some(pi) = opened(&project, ".pi", ".pi", &mut files) else { return files };
    note(&pi, SETTINGS_FILE, SETTINGS_FILE, &mut files);
    let Some(memory) = opened(&pi, "memory", "memory", &mut files) else { return files };
    let mut open = vec![("memory".to_owned(), memory, 0)];
    while let Some((within, folder, depth)) = open.pop() {
        let Ok(entries) = folder.entries(MAX_FILES + 1) else {
            files.push((within, None));
            continue;
        };
        for (name, kind) in entries {
            let path = format!("{within}/{name}");
            // Not every disk has cases.
            let is_known = |known: &&str| name.eq_ignore_ascii_case(known);
            let is_at_top = depth == 0 && [MEMORY_CONFIG_FILE, FACTS_FILE].iter().any(is_known);
            if kind.is_dir() {
                if depth < MAX_DEPTH && !name.starts_with('.') {
                    let inner = opened(&folder, &name, &path, &mut files);
                    open.extend(inner.map(|inner| (path, inner, depth + 1)));
                }
            } else if is_at_top || (name.to_lowercase().ends_with(".md") && !name.starts_with('.'))
            {
                note(&folder, &name, &path, &mut files);
            }
            if files.len() + open.len() > MAX_FILES {
                files.push(("memory".to_owned(), None));
                return files;
            }
        }
    }
    files
}

/// Opens a folder within another; one that cannot be opened is recorded as something unknown.
fn opened(
    folder: &HeldFolder,
    name: &str,
    path: &str,
    files: &mut Vec<(String, Option<Hash>)>,
) -> Option<HeldFolder> {
    match folder.within(name) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(_) => {
            files.push((path.to_owned(), None));
            None
        }
    }
}

/// Records a file, if it is there.
fn note(folder: &HeldFolder, name: &str, path: &str, files: &mut Vec<(String, Option<Hash>)>) {
    let hash = match folder.read(name, MAX_BYTES) {
        Ok(Held::Missing) => return,
        Ok(Held::Bytes(bytes)) => Some(Hash::of(&bytes)),
        Ok(Held::TooLarge(_)) | Err(_) => None,
    };
    files.push((path.to_owned(), hash));
}
