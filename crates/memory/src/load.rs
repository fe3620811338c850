//! Reads the Markdown of memory folders. Unchanged files are not read again. An unreadable file
//! gives a warning, and the rest still counts. Must not write, or say which pages a session sees.

use files::looks;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::checks::secret_lines;
use super::page::{Page, PagePlace};
use super::parse::pages_of;
use super::scope::{ARCHIVE_FOLDER, Folders, Scope};
use super::sidecar::{MemoryFolder, finding_of};
use super::warning::Warning;
use base::markdown::{self, Document, FrontMatter, Link, Resolution, VaultIndex};
use base::object::{FileStamp, Hash};
use context::forms::shortened;
use files::private;
use redact::redact_note;
use source::{FileState, read_file};

/// Most bytes read of a file. A larger one is read up to the last line that ends before.
pub const MAX_BYTES: u64 = 1 << 20;
/// Most pages of a file that count: far more than anybody keeps, and few enough to examine before
/// each prompt.
const MAX_PAGES: usize = 4_000;
/// Most files read of a folder.
const MAX_FILES: usize = 2_000;
/// Most bytes read of a folder's files in total.
const MAX_TOTAL_BYTES: u64 = 32 << 20;
/// Most characters quoted of each side of a merge.
const MAX_SIDE_CHARS: usize = 200;
/// Most levels of folders in a memory folder.
const MAX_DEPTH: usize = 4;

/// A Markdown file of a memory folder.
#[derive(Debug, Clone)]
pub struct MemoryFile {
    /// Scope.
    pub scope: Scope,
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// Absolute path.
    pub path: PathBuf,
    /// SHA-256 of the text read.
    pub hash: Hash,
    /// The text read.
    pub text: String,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Its links.
    pub links: Vec<Link>,
    /// The files of its scope that it links to, each with the line of the link, in their order. Only
    /// of files that are linked.
    pub leads: Vec<(usize, String)>,
    /// Whether it is the index, or the index links to it, directly or through other files.
    pub is_linked: bool,
    /// Its pages, with their initial IDs.
    pub pages: Vec<Page>,
    /// The lines that look like they hold a secret, from 1.
    pub secret_lines: BTreeSet<usize>,
}

impl MemoryFile {
    /// Whether it is in the archive.
    pub fn is_archived(&self) -> bool {
        self.file.split('/').next() == Some(ARCHIVE_FOLDER)
    }

    /// Whether it is its scope's index.
    pub fn is_index(&self) -> bool {
        self.file == self.scope.index_file()
    }

    /// Its pages that a model may get.
    pub fn open_pages(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().filter(|page| !page.is_withheld)
    }

    /// Whether a line, from 1, may not go to a model.
    pub(super) fn is_withheld(&self, line: usize) -> bool {
        let is_within = |page: &Page| {
            (page.place.line as usize..=page.place.last_line as usize).contains(&line)
        };
        self.secret_lines.contains(&line)
            || self.pages.iter().any(|page| page.is_withheld && is_within(page))
    }
}

/// The content of the memory folders.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The files, by scope and path.
    pub files: Vec<MemoryFile>,
    /// Files that could not be read, or are unusual.
    pub warnings: Vec<Warning>,
}

/// Reads memory folders, and caches what it read.
#[derive(Debug, Default)]
pub struct Loader {
    known: HashMap<PathBuf, (FileStamp, FileRead)>,
}

/// One file as it was read.
#[derive(Debug, Clone)]
struct FileRead {
    file: MemoryFile,
    warnings: Vec<Warning>,
}

impl Loader {
    /// Reads the current content of the folders. A missing folder is empty.
    pub fn load(&mut self, folders: &Folders) -> Loaded {
        let mut loaded = Loaded::default();
        let mut seen = BTreeSet::new();
        for (scope, path) in folders.scopes() {
            let from = loaded.files.len();
            let folder = folders.memory_folder(scope);
            let stamped = folder.and_then(|folder| stamped_files(scope, folder));
            let Some((found, warnings)) = stamped else {
                // A missing project has no memory.
                if !looks::try_exists(path).is_ok_and(|exists| !exists) {
                    let problem = "does not answer; what it holds is not read";
                    loaded.warnings.push(Warning::new("UNREADABLE", path, problem));
                }
                continue;
            };
            loaded.warnings.extend(warnings);
            for (file, path, stamp) in found {
                if let Some(read) = self.read(scope, file, &path, stamp) {
                    loaded.warnings.extend(read.warnings);
                    loaded.files.push(read.file);
                } else {
                    let warning = refusal(&path);
                    loaded.warnings.extend(warning);
                }
                seen.insert(path);
            }
            follow_links(&mut loaded.files[from..]);
        }
        self.known.retain(|path, _| seen.contains(path));
        loaded
    }

    fn read(
        &mut self,
        scope: Scope,
        file: String,
        path: &Path,
        stamp: Option<FileStamp>,
    ) -> Option<FileRead> {
        if let Some((known, read)) = self.known.get(path)
            && stamp.is_some_and(|stamp| stamp == *known)
        {
            return Some(read.clone());
        }
        let reading = read_file(path, MAX_BYTES);
        let (text, bytes) = match reading.state {
            FileState::Text { text, .. } => {
                let bytes = text.len() as u64;
                (text, bytes)
            }
            FileState::TooLarge { size } => (head(path)?, size),
            _ => return None,
        };
        let document = markdown::parse(&text);
        let mut warnings = oddities(path, &text, bytes, document.front_matter.as_ref());
        let (mut pages, count) = pages_of(scope, &file, &text, &document, MAX_PAGES);
        let secret_lines = secret_lines(&text).0;
        withhold(&mut pages, &document, &secret_lines);
        if count > MAX_PAGES {
            let problem = format!("has {count} entries; the first {MAX_PAGES} count");
            warnings.push(Warning::new("MANY_ENTRIES", path, problem));
        }
        let file = MemoryFile {
            scope,
            file,
            path: path.to_owned(),
            hash: Hash::of(&text),
            text,
            bytes,
            links: document.links,
            leads: Vec::new(),
            is_linked: false,
            pages,
            secret_lines,
        };
        let read = FileRead { file, warnings };
        if let Some(stamp) = reading.stamp {
            self.known.insert(read.file.path.clone(), (stamp, read.clone()));
        }
        Some(read)
    }
}

/// Marks the pages that hold a secret, or stand below a heading that does.
fn withhold(pages: &mut [Page], document: &Document, secret_lines: &BTreeSet<usize>) {
    if secret_lines.is_empty() {
        return;
    }
    let told = document.headings.iter().filter(|heading| secret_lines.contains(&heading.line));
    let told: Vec<&str> = told.map(|heading| &*heading.text).collect();
    for page in pages {
        let PagePlace { line, last_line, headings, .. } = &page.place;
        let is_told = |(line, last_line): (u32, u32)| {
            secret_lines.range(line as usize..=last_line as usize).next().is_some()
        };
        page.is_withheld = is_told((*line, *last_line))
            || page.lead_in.as_ref().is_some_and(|lead_in| is_told(lead_in.lines))
            || headings.iter().any(|heading| told.contains(&&**heading));
    }
}

/// A file by its path in its scope's folder, and its state.
type Stamped = (String, PathBuf, Option<FileStamp>);

/// The Markdown files of a scope with their states, and problems; `None` if the disk does not
/// answer. All in one look, since each look has a cost.
fn stamped_files(scope: Scope, folder: MemoryFolder) -> Option<(Vec<Stamped>, Vec<Warning>)> {
    looks::together(move || {
        let mut warnings = Vec::new();
        // A link, or a folder in which others may put files.
        if let Err(error) = folder.place(scope.index_file(), false) {
            return (Vec::new(), vec![Warning::from(finding_of(&error))]);
        }
        let files = markdown_files(scope, folder.path(), &mut warnings).into_iter();
        let mut left = MAX_TOTAL_BYTES;
        let mut stamped = Vec::new();
        for (file, path) in files {
            let stamp = source::stamp(&path);
            let bytes = stamp.map_or(0, |stamp| stamp.size.min(MAX_BYTES));
            let Some(rest) = left.checked_sub(bytes) else {
                let problem = format!(
                    "holds more than {MAX_TOTAL_BYTES} bytes of Markdown; `{file}` and what follows is not read"
                );
                warnings.push(Warning::new("MANY_FILES", folder.path(), problem));
                break;
            };
            left = rest;
            stamped.push((file, path, stamp));
        }
        (stamped, warnings)
    })
}

/// The Markdown files of a scope, by their path in its folder. `MEMORY.local.md` has its own scope.
fn markdown_files(
    scope: Scope,
    folder: &Path,
    warnings: &mut Vec<Warning>,
) -> Vec<(String, PathBuf)> {
    let mut files = found_files(scope, folder, warnings);
    if files.len() > MAX_FILES {
        let problem = format!("has {} Markdown files; the first {MAX_FILES} count", files.len());
        warnings.push(Warning::new("MANY_FILES", folder, problem));
        files.truncate(MAX_FILES);
    }
    files.retain(|(_, path)| {
        let is_open = looks::metadata(path).is_ok_and(|found| private::is_open_to_all(&found));
        if is_open {
            let problem = "is not read: every user of the machine may change it";
            warnings.push(Warning::new("NOT_PRIVATE", path, problem));
        }
        !is_open
    });
    if scope != Scope::Global {
        // A repository must not cause other files to be read, its own or not.
        files.retain(|(_, path)| {
            let is_link = looks::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            if is_link {
                let problem = "is a link; it is not read";
                warnings.push(Warning::new("LEADS_OUT", path, problem));
            }
            !is_link
        });
    }
    files
}

fn found_files(scope: Scope, folder: &Path, warnings: &mut Vec<Warning>) -> Vec<(String, PathBuf)> {
    if scope == Scope::Local {
        let path = folder.join(scope.index_file());
        let found = looks::symlink_metadata(&path).is_ok();
        return found.then(|| (scope.index_file().to_owned(), path)).into_iter().collect();
    }
    let mut found = BTreeMap::new();
    let mut open = vec![(String::new(), folder.to_owned(), 0)];
    while let Some((within, folder, depth)) = open.pop() {
        let entries = match looks::entries(&folder, MAX_FILES) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                warnings.push(Warning::new("UNREADABLE", &folder, format!("is not read: {error}")));
                continue;
            }
        };
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let inside =
                if within.is_empty() { name.to_owned() } else { format!("{within}/{name}") };
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < MAX_DEPTH {
                open.push((inside, entry.path(), depth + 1));
            } else if name.to_lowercase().ends_with(".md")
                && inside != Scope::Local.index_file()
                && !is_folder
            {
                found.insert(inside, entry.path());
            }
        }
    }
    found.into_iter().collect()
}

/// Marks the files of a scope that its index links to.
fn follow_links(files: &mut [MemoryFile]) {
    let index = VaultIndex::new(files.iter().map(|file| file.file.clone()));
    let mut open: Vec<usize> = (0..files.len()).filter(|at| files[*at].is_index()).collect();
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut files[at].is_linked, true) {
            continue;
        }
        let from = files[at].file.clone();
        let lead = |link: &Link| match index.resolve(link, &from) {
            Resolution::Resolved { path, .. } => Some((link.place.line, path)),
            _ => None,
        };
        let leads: Vec<(usize, String)> = files[at].links.iter().filter_map(lead).collect();
        for (_, path) in &leads {
            open.extend(files.iter().position(|file| file.file == *path && !file.is_linked));
        }
        files[at].leads = leads;
    }
}

/// The first [`MAX_BYTES`] of a file, up to the end of a line. `None` if they are not text.
fn head(path: &Path) -> Option<String> {
    let path = path.to_owned();
    let bytes = looks::together(move || {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).ok()?;
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    })??;
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// Why a file could not be read; `None` if it has disappeared meanwhile.
fn refusal(path: &Path) -> Option<Warning> {
    let state = read_file(path, MAX_BYTES).state;
    let problem = match &state {
        FileState::Missing | FileState::Text { .. } => return None,
        FileState::Binary { .. } | FileState::TooLarge { .. } => {
            return Some(Warning::new("NOT_TEXT", path, "is not UTF-8 text; it is not read"));
        }
        other => source::obstacle(path, other).unwrap_or_else(|| "it cannot be read".to_owned()),
    };
    Some(Warning::new("UNREADABLE", path, format!("is not read: {problem}")))
}

/// Oddities of a readable text.
fn oddities(path: &Path, text: &str, bytes: u64, front: Option<&FrontMatter>) -> Vec<Warning> {
    let mut found = Vec::new();
    if bytes > text.len() as u64 {
        let problem = format!("has {bytes} bytes; the first {} are read", text.len());
        found.push(Warning::new("TOO_LARGE", path, problem));
    }
    if let Some((line, words)) = unfinished_merge(text) {
        let problem = format!("has conflict markers, the first in line {line}: {words}");
        found.push(Warning::new("CONFLICT_MARKERS", path, problem));
    }
    if let Some(problem) = front.and_then(|front| front.problem.as_ref()) {
        let problem =
            format!("has a broken front matter: line {}: {}", problem.line, problem.message);
        found.push(Warning::new("FRONT_MATTER", path, problem));
    }
    found
}

/// The line of the first conflict marker of a text, from 1.
pub(crate) fn first_conflict_marker(text: &str) -> Option<usize> {
    text.lines().position(is_conflict_marker).map(|line| line + 1)
}

/// The line of the first conflict marker, from 1, and what the two sides of the merge say there.
pub(crate) fn unfinished_merge(text: &str) -> Option<(usize, String)> {
    let line = first_conflict_marker(text)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut side = Some(&mut ours);
    for said in text.lines().skip(line).take_while(|said| !said.starts_with(">>>>>>> ")) {
        if said == "=======" {
            side = Some(&mut theirs);
        } else if said.starts_with("||||||| ") {
            // What both sides had before, in git's style `diff3`.
            side = None;
        } else if let Some(side) = side.as_mut().filter(|_| !said.trim().is_empty()) {
            side.push(said.trim());
        }
    }
    let quoted = |side: &[&str]| match side.join(" ") {
        said if said.is_empty() => "nothing".to_owned(),
        said => format!("\"{}\"", shortened(&said, MAX_SIDE_CHARS)),
    };
    let words = format!(
        "a merge is not finished: this side says {}, the other {}",
        quoted(&ours),
        quoted(&theirs)
    );
    Some((line, redact_note(&words).text.unwrap_or(words)))
}

/// Whether a line of a file without headings is one of git's conflict markers.
pub(crate) fn is_merge_mark(line: &str) -> bool {
    is_conflict_marker(line) || line == "======="
}

/// Whether a line is one of git's conflict markers; `=======` alone underlines a heading.
fn is_conflict_marker(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|marker| line.starts_with(marker))
}

#[cfg(test)]
mod tests;
