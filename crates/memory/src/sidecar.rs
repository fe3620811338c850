//! The only code that reads and writes memory files and sidecars: it creates folders on the first
//! write, replaces whole files in one step, and allows one writer at a time. Must not know what the
//! files say.
//!
//! A project's folder comes with a clone, and so may anything in it. Files that only the program
//! reads and writes therefore live in the user's own folder (`OWN_FILES`), and no link in a
//! project's folder is followed for reading or writing, whether or not it leads out. The user's own
//! folder may lead wherever its user wants.

pub(crate) mod json_lines;
mod lock;

use files::looks;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

pub(crate) use self::json_lines::{BadLine, JsonLines};
pub(crate) use self::lock::{FolderLock, LOCK_FILE};
use super::finding::{FindingCode, MemoryFinding};
use super::scope::{Folders, LOCAL_INDEX_FILE, Scope};
use base::error::{Error, Result};
use base::object::Hash;
use files::private::{self, FolderAccess, Held, HeldFolder, is_link};
use source::{FileState, canonical_path};

/// Largest memory file that is read.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 20;

/// Files that only the program reads and writes. A project's are in the user's own folder, and
/// files in the project under such a name are not read.
pub(crate) const OWN_FILES: [&str; 4] =
    ["page-facts.local.jsonl", "page-table.jsonl", "traces.jsonl", "writeback-journal.jsonl"];

/// Private files in a project's folder.
const PRIVATE: [&str; 3] = [LOCAL_INDEX_FILE, "*.set-aside", ".*.tmp"];

const GITIGNORE: &str = ".gitignore";

/// Files whose lines stand for themselves: where two people added some, both are right.
const MERGED: [&str; 2] = [super::scope::INDEX_FILE, super::facts::FACTS_FILE];

/// Ending of a file that a person should look at.
const SET_ASIDE: &str = ".set-aside";

/// Ending of a text of before a call.
const BEFORE: &str = ".before.set-aside";

/// Most texts of before a call that are kept in a folder, and most bytes of lines that are set aside.
const MAX_KEPT: usize = 20;
const MAX_ASIDE_BYTES: usize = 1 << 20;
/// Most files of a folder that are listed to find those.
const MAX_LISTED: usize = 4_096;

/// Ending of files that exist only during a write.
const TEMPORARY: &str = ".tmp";

/// A folder with memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFolder {
    scope: Scope,
    path: PathBuf,
    /// The project that contains it; `None`: the user's own folder.
    project: Option<PathBuf>,
    /// Where its [`OWN_FILES`] are.
    own: PathBuf,
    /// The folder that holds [`LOCAL_INDEX_FILE`], where it is another one.
    local: Option<PathBuf>,
}

/// A file name and the open folder that holds it. The file need not exist.
#[derive(Debug)]
pub(crate) struct FileSlot {
    pub(crate) folder: HeldFolder,
    pub(crate) name: String,
}

impl FileSlot {
    /// The file's path, for messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Its current state.
    pub(crate) fn state(&self, max_bytes: u64) -> FileState {
        match self.folder.read(&self.name, max_bytes) {
            Ok(Held::Missing) => FileState::Missing,
            Ok(Held::TooLarge(size)) => FileState::TooLarge { size },
            Ok(Held::Bytes(bytes)) => FileState::of_bytes(bytes),
            Err(error) => FileState::Unreadable { reason: error.to_string() },
        }
    }

    pub(crate) fn failed(&self, act: &'static str, source: io::Error) -> Error {
        failed(act, self.path(), source)
    }
}

fn failed(act: &'static str, path: PathBuf, source: io::Error) -> Error {
    if is_link(&source) {
        Error::OutsideProject { path }
    } else {
        Error::File { act, path, source }
    }
}

impl Folders {
    /// The folder of a scope; `None` if there is none, or it may not be read.
    pub fn memory_folder(&self, scope: Scope) -> Option<MemoryFolder> {
        let path = self.folder(scope)?;
        let is_own = matches!(scope, Scope::Global | Scope::Conversation);
        let kept = if is_own { path.to_owned() } else { self.kept()? };
        let local =
            self.folder(Scope::Local).filter(|local| scope == Scope::Project && *local != path);
        let local = local.map(ToOwned::to_owned);
        Some(MemoryFolder { local, ..MemoryFolder::new(scope, path, &kept) })
    }
}

impl MemoryFolder {
    /// The folder of a scope. A project's is `.pi/memory` in it. `own`: the place of files that
    /// only the program reads and writes.
    pub fn new(scope: Scope, path: &Path, own: &Path) -> Self {
        let is_in_project = matches!(scope, Scope::Project | Scope::Local);
        let project = path.parent().and_then(Path::parent).filter(|_| is_in_project);
        let project = project.map(Path::to_owned);
        Self { scope, path: path.to_owned(), project, own: own.to_owned(), local: None }
    }

    /// The scope that it is a folder of.
    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// The project that contains it.
    pub(crate) fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The scope of a file in it.
    pub(crate) fn scope_of(&self, file: &str) -> Scope {
        if file == LOCAL_INDEX_FILE { Scope::Local } else { self.scope }
    }

    /// The folder that holds a file of it: itself, but for [`LOCAL_INDEX_FILE`] in a linked worktree.
    pub(crate) fn holding(&self, file: &str) -> Self {
        match &self.local {
            Some(local) if file == LOCAL_INDEX_FILE => Self::new(Scope::Local, local, &self.own),
            _ => self.clone(),
        }
    }

    /// The folder's path as given; the user's own may be a link.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the folder.
    pub fn path_of(&self, name: &str) -> PathBuf {
        if is_own(name) { self.own.join(name) } else { self.path.join(name) }
    }

    /// The place of a file in the folder. If the folder is missing, it is created if `makes`;
    /// otherwise the result is `None`.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT` if a link stands in the way; `NOT_PRIVATE` if others may put files there;
    /// `FILE`.
    pub(crate) fn place(&self, name: &str, makes: bool) -> Result<Option<FileSlot>> {
        let is_own = is_own(name);
        let act = if makes { "create" } else { "open" };
        let opened = match &self.project {
            Some(project) if !is_own => {
                opened_in(project, makes).map(|folder| FileSlot { folder, name: name.to_owned() })
            }
            _ => {
                // In the user's own folder, a file may be a link made by the user.
                let path = self.path_of(name);
                let path = if is_own { path } else { canonical_path(&path) };
                let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(failed(act, path, ErrorKind::InvalidInput.into()));
                };
                let name = name.to_string_lossy().into_owned();
                if makes {
                    private::create_folder(folder)
                        .map_err(|source| failed(act, folder.to_owned(), source))?;
                }
                HeldFolder::open(folder, FolderAccess::Private)
                    .map(|folder| FileSlot { folder, name })
            }
        };
        match opened {
            Ok(place) => {
                private::check_held(&place.folder)?;
                Ok(Some(place))
            }
            Err(error) if !makes && source::is_absence(&error) => Ok(None),
            Err(source) => Err(failed(act, self.path.clone(), source)),
        }
    }

    /// The text of a file of the folder; `None` where there is none.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`; `FILE` if it cannot be read, or is not UTF-8.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        let text = self.bytes(name)?.map(String::from_utf8).transpose();
        text.map_err(|_| failed("read", self.path_of(name), ErrorKind::InvalidData.into()))
    }

    /// Reads a JSON Lines sidecar, and reports the lines that do not count. A missing or unreadable
    /// file has no lines; writers that depend on its content use [`Self::lines`].
    pub(crate) fn read_lines<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> (JsonLines<T>, Vec<MemoryFinding>) {
        self.lines(name).unwrap_or_else(|error| (json_lines::read(&[]), vec![finding_of(&error)]))
    }

    /// As [`Self::read_lines`].
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`; `FILE` if it cannot be read: its content is then unknown and must not be
    /// replaced.
    pub(crate) fn lines<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<(JsonLines<T>, Vec<MemoryFinding>)> {
        let path = self.path_of(name);
        let found = json_lines::read(&self.bytes(name)?.unwrap_or_default());
        let findings = found.bad.iter().map(|bad| bad.finding(&path)).collect();
        Ok((found, findings))
    }

    /// Writes a file in one step, creating the folder if it is missing. Take the lock first if the
    /// content depends on something read.
    ///
    /// # Errors
    /// `OUTSIDE_PROJECT`; `NOT_PRIVATE`; `FILE` if it cannot be written.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let place = self.made(name)?;
        place.folder.write(&place.name, bytes).map_err(|source| place.failed("write", source))
    }

    /// Appends lines to a sidecar; they are on disk when this returns. Take the lock first.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn append(&self, name: &str, added: &[String]) -> Result<()> {
        let place = self.made(name)?;
        append_to(&place, added, true).map_err(|source| place.failed("write", source))
    }

    /// Appends lines to a sidecar without waiting for the disk: they may be lost if the machine
    /// stops.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn note(&self, name: &str, added: &[String]) -> Result<()> {
        let place = self.made(name)?;
        append_to(&place, added, false).map_err(|source| place.failed("write", source))
    }

    /// Keeps unreadable lines in a file beside `name`, for a person to look at.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn set_aside(&self, name: &str, lines: &[String]) -> Result<PathBuf> {
        let aside = format!("{name}{SET_ASIDE}");
        let there = self.bytes(&aside)?.unwrap_or_default();
        if there.len() > MAX_ASIDE_BYTES {
            // The newer half.
            let from = memchr::memchr(b'\n', &there[there.len() / 2..]);
            self.write(&aside, &there[from.map_or(0, |at| there.len() / 2 + at + 1)..])?;
        }
        self.append(&aside, lines)?;
        Ok(self.path_of(&aside))
    }

    /// Keeps a text that a file of the folder had, for a person to look at, beside the newest others.
    /// Returns where.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn keep_text(&self, file: &str, text: &str) -> Result<PathBuf> {
        let hash = Hash::of(text);
        let kept = format!("{}.{}{BEFORE}", file.replace('/', "-"), &hash.as_str()[..8]);
        self.keep_private(&kept)?;
        self.write(&kept, text.as_bytes())?;
        let place = self.made(&kept)?;
        drop_older(&place.folder).map_err(|source| place.failed("tidy", source))?;
        Ok(self.path_of(&kept))
    }

    /// Keeps a project folder's private files out of git before one of its files is written, creating
    /// the folder if it is missing. An existing `.gitignore` stays, since a person may have changed it,
    /// and gets our lines only before a private file is written: a clone may bring one without them.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn keep_private(&self, name: &str) -> Result<()> {
        if self.project.is_none() {
            return Ok(());
        }
        // With its own name: an untracked one would block a pull that brings another.
        self.write_once(GITIGNORE, &[&[GITIGNORE], &PRIVATE[..]].concat().join("\n"))?;
        if name != LOCAL_INDEX_FILE && !name.ends_with(SET_ASIDE) {
            return Ok(());
        }
        // Git reads no link, and lets what is taken back count.
        let there = self.bytes(GITIGNORE)?.unwrap_or_default();
        let there = String::from_utf8_lossy(&there);
        let in_force: Vec<&str> =
            there.lines().rev().take_while(|line| !line.starts_with('!')).collect();
        if PRIVATE.iter().all(|glob| in_force.contains(glob)) {
            return Ok(());
        }
        let lines = ["# Palimpsest added what is yours alone:"].into_iter().chain(PRIVATE);
        self.append(GITIGNORE, &lines.map(str::to_owned).collect::<Vec<_>>())
    }

    /// Has git merge what two people added to a project's memory, entry by entry, creating the folder
    /// if it is missing. An existing `.gitattributes` stays.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn keep_mergeable(&self) -> Result<()> {
        if self.project.is_none() {
            return Ok(());
        }
        let rules = MERGED.map(|file| format!("{file} merge=union"));
        self.write_once(".gitattributes", &rules.join("\n"))
    }

    fn write_once(&self, name: &str, said: &str) -> Result<()> {
        let place = self.made(name)?;
        let text = format!(
            "# Palimpsest wrote this once, with its first file here. It is yours to change.\n{said}\n"
        );
        match place.folder.prepare(&place.name, &place.name, text.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            done => done.map_err(|source| place.failed("write", source)),
        }
    }

    /// Takes the folder's lock.
    ///
    /// # Errors
    /// `MEMORY_BUSY`; as [`Self::write`].
    pub(crate) fn lock(&self) -> Result<FolderLock> {
        FolderLock::take(&self.made(LOCK_FILE)?)
    }

    /// Like [`Self::lock`], but `None` if another writer holds it for longer than a moment.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(crate) fn try_lock(&self) -> Result<Option<FolderLock>> {
        FolderLock::take_at_once(&self.made(LOCK_FILE)?)
    }

    /// The name of a file that exists only while `name` is written.
    pub(crate) fn temporary(name: &str, tag: &str) -> String {
        format!(".{name}.{tag}{TEMPORARY}")
    }

    /// Like [`Self::place`], creating the folder if it is missing.
    pub(crate) fn made(&self, name: &str) -> Result<FileSlot> {
        let made = self.place(name, true)?;
        made.ok_or_else(|| Error::internal("a folder that was made is missing"))
    }

    /// The bytes of a file of the folder; `None` where there is none. Never waits for a pipe, and never
    /// reads more than 16 MiB.
    ///
    /// # Errors
    /// As [`Self::lines`].
    pub(crate) fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let asked = (self.clone(), name.to_owned());
        let read = looks::together(move || {
            let Some(place) = asked.0.place(&asked.1, false)? else { return Ok(Held::Missing) };
            let read = place.folder.read(&place.name, MAX_FILE_BYTES);
            read.map_err(|source| place.failed("read", source))
        });
        let failed = |source| failed("read", self.path_of(name), source);
        match read.unwrap_or_else(|| Err(failed(looks::no_answer())))? {
            Held::Bytes(bytes) => Ok(Some(bytes)),
            Held::Missing => Ok(None),
            Held::TooLarge(_) => Err(failed(ErrorKind::FileTooLarge.into())),
        }
    }
}

/// A project's memory folder, opened one path component at a time.
fn opened_in(project: &Path, makes: bool) -> io::Result<HeldFolder> {
    let mut folder = HeldFolder::open(project, FolderAccess::Shared)?;
    for name in [".pi", "memory"] {
        folder = if makes { folder.made_within(name)? } else { folder.within(name)? };
    }
    Ok(folder)
}

/// Removes all but the newest of the texts that are kept in a folder.
fn drop_older(folder: &HeldFolder) -> io::Result<()> {
    let names = folder.entries(MAX_LISTED)?.into_iter().map(|(name, _)| name);
    let mut kept: Vec<(_, String)> = names
        .filter(|name| name.ends_with(BEFORE))
        .filter_map(|name| Some((folder.metadata_of(&name).ok()??.modified().ok()?, name)))
        .collect();
    kept.sort_by(|one, other| other.cmp(one));
    kept.into_iter().skip(MAX_KEPT).try_for_each(|(_, name)| folder.remove(&name))
}

/// Whether a file is one that only the program reads and writes, or was set aside from one.
fn is_own(name: &str) -> bool {
    let of = name.strip_suffix(SET_ASIDE).unwrap_or(name);
    of == LOCK_FILE || OWN_FILES.contains(&of) || (of == super::facts::FACTS_FILE && of != name)
}

fn append_to(place: &FileSlot, added: &[String], is_awaited: bool) -> io::Result<()> {
    let is_new = place.folder.metadata_of(&place.name)?.is_none();
    let mut file = place.folder.open_to_append(&place.name)?;
    let is_torn = ends_without_a_line_break(&mut file)?;
    file.write_all(&json_lines::appended(added, is_torn))?;
    if !is_awaited {
        return Ok(());
    }
    file.sync_all()?;
    if is_new { place.folder.sync() } else { Ok(()) }
}

/// The finding for an error about a memory file.
pub(crate) fn finding_of(error: &Error) -> MemoryFinding {
    let (code, file) = match error {
        Error::OutsideProject { path, .. } => (FindingCode::LeadsOut, Some(path)),
        Error::MemoryBusy { folder } => (FindingCode::Busy, Some(folder)),
        Error::File { act: "read" | "check", path, .. } => (FindingCode::Unreadable, Some(path)),
        Error::File { path, .. } | Error::NotPrivate { path, .. } => {
            (FindingCode::Unwritable, Some(path))
        }
        _ => (FindingCode::Unreadable, None),
    };
    let finding = MemoryFinding::new(code, error.to_string());
    match file {
        Some(file) => finding.at(file, None),
        None => finding,
    }
}

fn ends_without_a_line_break(file: &mut cap_std::fs::File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
