//! The one way in which memory files and sidecars are read and written: folders made when something is first written there,
//! whole files put into place in one step, one writer at a time. Must not know what the files say.
//!
//! A project's folder comes with a clone: its files count only where they really are in the project. A link that leads out of it is
//! refused, in reading as in writing. The user's own folder may lead where its user wants.

mod lines;
mod lock;
mod replace;

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

pub(in crate::memory) use self::lines::{BadLine, JsonLines};
pub(in crate::memory) use self::lock::FolderLock;
pub(in crate::memory) use self::replace::{Placed, place, prepare, remove};
use super::finding::{Finding, FindingCode};
use super::scope::{LOCAL_INDEX_FILE, Scope};
use crate::error::{Error, Result};
use crate::source::{FileState, canonical_path, obstacle, read_file};
use crate::store::private;

/// Largest memory file that is read.
pub(in crate::memory) const MAX_FILE_BYTES: u64 = 16 << 20;

/// What a memory folder keeps for itself: it stands in the `.gitignore` of a project's folder.
///
/// Itself, too: one that is not in git and comes with a pull would stand in the pull's way.
const IGNORED: [&str; 9] = [
    ".gitignore",
    LOCAL_INDEX_FILE,
    "page-facts.local.jsonl",
    "page-table.jsonl",
    "writeback-journal.jsonl",
    "traces.jsonl",
    "*.set-aside",
    ".*.tmp",
    lock::LOCK_FILE,
];

/// A folder with memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFolder {
    path: PathBuf,
    /// The project that its files must be in; `None`: the user's own folder.
    project: Option<PathBuf>,
}

/// What is at a place of a memory folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// Its text.
    Text(String),
    /// There is none.
    Nothing,
    /// Something is there that cannot be used, and why.
    Unusable(Finding),
}

impl MemoryFolder {
    /// The folder of a scope. A project's is `.pi/memory` in it.
    pub fn new(scope: Scope, path: &Path) -> Self {
        let project = path.parent().and_then(Path::parent).filter(|_| scope != Scope::Global);
        Self { path: path.to_owned(), project: project.map(Path::to_owned) }
    }

    /// The folder as it is named, which may be a link.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file of the folder really is. It need not be there.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT` if a link leads out of the project.
    pub fn place_of(&self, name: &str) -> Result<PathBuf> {
        let named = self.path.join(name);
        let place = canonical_path(&named);
        match &self.project {
            Some(project) if !place.starts_with(canonical_path(project)) => {
                Err(Error::OutsideProject { path: named, target: place })
            }
            _ => Ok(place),
        }
    }

    /// Reads a file of the folder. Never waits for a pipe, and never reads more than 16 MiB.
    pub fn read(&self, name: &str) -> Found {
        let named = self.path.join(name);
        let unusable =
            |code, words: String| Found::Unusable(Finding::new(code, words).at(&named, None));
        let place = match self.place_of(name) {
            Ok(place) => place,
            Err(error) => return Found::Unusable(finding_of(&error)),
        };
        let state = read_file(&place, MAX_FILE_BYTES).state;
        let why = obstacle(&place, &state);
        match state {
            FileState::Text { text, .. } => Found::Text(text),
            FileState::Missing => Found::Nothing,
            FileState::Binary { .. } => unusable(
                FindingCode::NotText,
                "the file is not UTF-8: it does not count".to_owned(),
            ),
            FileState::TooLarge { size } => unusable(
                FindingCode::TooLarge,
                format!("the file has {size} bytes, at most {MAX_FILE_BYTES} are read"),
            ),
            _ => unusable(
                FindingCode::Unreadable,
                why.unwrap_or_else(|| "it cannot be read".to_owned()),
            ),
        }
    }

    /// Reads a sidecar of JSON Lines, and says which lines do not count. A missing file has none, and one that cannot be read neither: who
    /// writes by what is there takes [`Self::lines`].
    pub(in crate::memory) fn read_lines<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> (JsonLines<T>, Vec<Finding>) {
        self.lines(name).unwrap_or_else(|error| (lines::read(&[]), vec![finding_of(&error)]))
    }

    /// As [`Self::read_lines`].
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`; `FILE` if it cannot be read: what it holds is not known then, and nothing may take its place.
    pub(in crate::memory) fn lines<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<(JsonLines<T>, Vec<Finding>)> {
        let path = self.path.join(name);
        let found = lines::read(&self.bytes(name)?);
        let findings = found.bad.iter().map(|bad| bad.finding(&path)).collect();
        Ok((found, findings))
    }

    /// Writes a file in one step, making the folder if it is missing. Take the lock before where what is written depends on what
    /// was read.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`; `FILE` if it cannot be written.
    pub(in crate::memory) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.make()?;
        let place = self.place_of(name)?;
        replace::write_whole(&place, bytes).map_err(|source| self.failed("write", name, source))
    }

    /// Appends lines to a sidecar, which are on the disk when this returns. Take the lock before.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(in crate::memory) fn append(&self, name: &str, added: &[String]) -> Result<()> {
        self.make()?;
        let place = self.place_of(name)?;
        self.append_to(&place, added, true).map_err(|source| self.failed("write", name, source))
    }

    /// Appends lines to a sidecar that may be lost where the machine stops: nobody waits for the disk.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(in crate::memory) fn note(&self, name: &str, added: &[String]) -> Result<()> {
        self.make()?;
        let place = self.place_of(name)?;
        self.append_to(&place, added, false).map_err(|source| self.failed("write", name, source))
    }

    /// Keeps lines, or a text, that something stands against, in a file beside `name`, for a person to look at.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(in crate::memory) fn set_aside(&self, name: &str, lines: &[String]) -> Result<PathBuf> {
        let aside = format!("{name}.set-aside");
        self.append(&aside, lines)?;
        Ok(self.path.join(aside))
    }

    /// Makes the folder if it is missing and, with the first write in a project's, what keeps private files out of git.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`, `FILE`.
    pub(in crate::memory) fn keep_private(&self) -> Result<()> {
        self.make()
    }

    /// Makes the folder if it is missing, and takes its lock.
    ///
    /// # Errors
    /// `MEMORY_BUSY`; as [`Self::write`].
    pub(in crate::memory) fn lock(&self) -> Result<FolderLock> {
        self.make()?;
        FolderLock::take(&self.path)
    }

    /// As [`Self::lock`], but `None` if another writer has it for longer than a moment.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(in crate::memory) fn try_lock(&self) -> Result<Option<FolderLock>> {
        self.make()?;
        FolderLock::take_at_once(&self.path)
    }

    /// A name for a file that only stands there while `name` is written.
    pub(in crate::memory) fn temporary(name: &str, tag: &str) -> String {
        format!(".{name}.{tag}{}", replace::TEMPORARY)
    }

    /// Makes the folder where it is missing; in a project, with our first write there, also its `.gitignore`.
    fn make(&self) -> Result<()> {
        if self.path.join(lock::LOCK_FILE).exists() {
            return self.place_of("").map(drop);
        }
        self.place_of("")?;
        let made = match self.project {
            None => private::create_folder(&self.path),
            Some(_) => fs::create_dir_all(&self.path).and_then(|()| self.ignore_sidecars()),
        };
        made.map_err(|source| Error::File { act: "create", path: self.path.clone(), source })
    }

    /// Writes `.gitignore` unless there is one: a person may have changed it.
    fn ignore_sidecars(&self) -> io::Result<()> {
        let text = format!(
            "# Palimpsest wrote this once, with its first file here. It is yours to change.\n{}\n",
            IGNORED.join("\n")
        );
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).open(self.path.join(".gitignore")) {
            Ok(mut file) => file.write_all(text.as_bytes()).and_then(|()| file.sync_all()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn append_to(&self, place: &Path, added: &[String], is_awaited: bool) -> io::Result<()> {
        let is_new = !place.try_exists()?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
        let mut file = options.open(place)?;
        let is_torn = ends_without_a_line_break(&mut file)?;
        file.write_all(&lines::appended(added, is_torn))?;
        if !is_awaited {
            return Ok(());
        }
        file.sync_all()?;
        if is_new { replace::sync_folder(&self.path) } else { Ok(()) }
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        let place = self.place_of(name)?;
        match crate::source::read_bytes(&place) {
            Ok(bytes) => Ok(bytes.unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(self.failed("read", name, source)),
        }
    }

    fn failed(&self, act: &'static str, name: &str, source: io::Error) -> Error {
        Error::File { act, path: self.path.join(name), source }
    }
}

/// The finding that tells of an error about a memory file.
pub(in crate::memory) fn finding_of(error: &Error) -> Finding {
    let (code, file) = match error {
        Error::OutsideProject { path, .. } => (FindingCode::LeadsOut, Some(path)),
        Error::MemoryBusy { folder } => (FindingCode::Busy, Some(folder)),
        Error::File { act: "read" | "check", path, .. } => (FindingCode::Unreadable, Some(path)),
        Error::File { path, .. } => (FindingCode::Unwritable, Some(path)),
        _ => (FindingCode::Unreadable, None),
    };
    let finding = Finding::new(code, error.to_string());
    match file {
        Some(file) => finding.at(file, None),
        None => finding,
    }
}

fn ends_without_a_line_break(file: &mut fs::File) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};

    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
