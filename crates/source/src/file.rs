//! The present state of a path: a file's text and stamp, or why there is none. [`super::indexing`]
//! decides which version that makes.

use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::SystemTime;

use super::stamp::{is_fresh, root_depth, stamp_of};
use base::object::{FileStamp, Hash};
use files::looks;
use files::private::open_without_waiting;

/// Largest file that is read whole: no string of JavaScript is longer.
const MAX_WHOLE_BYTES: u64 = 512 << 20;

/// How often to read a file that changes while it is read.
const ATTEMPTS: u32 = 3;

/// What was found at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Valid UTF-8, including a byte order mark and NUL bytes.
    Text {
        /// SHA-256 of the bytes.
        source_hash: Hash,
        /// The bytes as text.
        text: String,
    },
    /// Bytes that are not UTF-8.
    Binary {
        /// SHA-256 of the bytes.
        source_hash: Hash,
        /// Number of bytes.
        size: u64,
    },
    /// The file is larger than the limit; its bytes were not read.
    TooLarge {
        /// Number of bytes.
        size: u64,
    },
    /// Excluded by the setting `exclude`; it was not opened.
    Excluded {
        /// Number of bytes.
        size: u64,
    },
    /// Known by path alone: out of reach, or found without looking at it.
    NotRead,
    /// Nothing exists there, and the nearest existing folder can be read: the file was deleted or
    /// never existed.
    Missing,
    /// A folder, FIFO, socket or device; it was not opened.
    NotAFile,
    /// It is unclear what exists there; earlier knowledge of the file stands.
    Unreadable {
        /// The system's reason.
        reason: String,
    },
}

impl FileState {
    /// The state of a file with these bytes.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        let (source_hash, size) = (Hash::of(&bytes), bytes.len() as u64);
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text { source_hash, text },
            Err(_) => Self::Binary { source_hash, size },
        }
    }
}

/// A file's state, and a stamp that shows later whether it is unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReading {
    /// What was found.
    pub state: FileState,
    /// The stamp of exactly what was read. `None` if nothing was opened, or if the file changed while
    /// it was read. Of a file that was read and had changed within the last 2 s it is fresh: it could
    /// change again unnoticed.
    pub stamp: Option<FileStamp>,
}

/// Reads the file at a canonical path. Never reads files larger than `max_bytes`, nor anything but
/// regular files. Every failure is a state.
pub fn read_file(path: &Path, max_bytes: u64) -> FileReading {
    let unstamped = |state| FileReading { state, stamp: None };
    let asked = path.to_owned();
    let read = looks::together(move || match read_opened(&asked, max_bytes) {
        Ok(reading) => reading,
        Err(error) if is_absence(&error) => unstamped(absent(&asked)),
        Err(error) => unstamped(unreadable(&error)),
    });
    read.unwrap_or_else(unanswered)
}

/// The text of the file at a canonical path; `None` if it is no text, or has more than `max_bytes`.
pub fn read_text(path: &Path, max_bytes: u64) -> Option<String> {
    match read_file(path, max_bytes).state {
        FileState::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// The reading of a file when the look at it hung.
pub fn unanswered() -> FileReading {
    FileReading { state: unreadable(&looks::no_answer()), stamp: None }
}

/// Opens the regular file at a path for reading; `None` if something else is there, which is not
/// opened.
///
/// # Errors
/// Errors of the system.
pub(super) fn open_file(path: &Path) -> io::Result<Option<File>> {
    // Opening a FIFO or a device can block or have effects, so the kind is checked first. It is
    // checked again after opening, because another file may have taken the path in between.
    if !looks::metadata(path)?.is_file() {
        return Ok(None);
    }
    let file = looks::open(path, open_without_waiting)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// The bytes of the regular file at a path; `None` if something else is there, except a folder.
///
/// # Errors
/// Errors of the system, and `FileTooLarge` beyond 512 MiB.
pub fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let asked = path.to_owned();
    let read = looks::together(move || {
        let found = looks::metadata(&asked)?;
        if found.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if found.is_file() && found.len() > MAX_WHOLE_BYTES {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let Some(mut file) = open_file(&asked)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    });
    read.unwrap_or_else(|| Err(looks::no_answer()))
}

/// Why the file at a path could not be read, in words: `it is a folder`, `it cannot be read: …`.
/// `None` if it was read, or if nothing is there.
pub fn obstacle(path: &Path, found: &FileState) -> Option<String> {
    match found {
        FileState::NotAFile => Some(kind_at(path).to_owned()),
        FileState::Unreadable { reason } => Some(format!("it cannot be read: {reason}")),
        _ => None,
    }
}

/// Looks at an excluded file without opening it.
pub(super) fn look_at_excluded(path: &Path) -> FileReading {
    let (state, stamp) = match looks::metadata(path) {
        Ok(metadata) if metadata.is_file() => {
            (FileState::Excluded { size: metadata.len() }, stamp_of(&metadata))
        }
        Ok(_) => (FileState::NotAFile, None),
        Err(error) if is_absence(&error) => (absent(path), None),
        Err(error) => (unreadable(&error), None),
    };
    FileReading { state, stamp }
}

fn read_opened(path: &Path, max_bytes: u64) -> io::Result<FileReading> {
    let mut attempt = 1;
    loop {
        let Some(file) = open_file(path)? else {
            return Ok(FileReading { state: FileState::NotAFile, stamp: None });
        };
        let before = file.metadata()?;
        let state = read_state(&file, before.len(), max_bytes)?;
        let stamp = stamp_of(&before);
        if stamp == stamp_of(&file.metadata()?) {
            // Nothing but the stamp shows a change of what was not read.
            let is_unread = matches!(state, FileState::TooLarge { .. });
            let stamp = stamp.map(|stamp| FileStamp {
                root_depth: root_depth(path, &before),
                is_fresh: !is_unread && is_fresh(stamp, SystemTime::now()),
                ..stamp
            });
            return Ok(FileReading { state, stamp });
        }
        if attempt == ATTEMPTS {
            return Ok(FileReading { state, stamp: None });
        }
        attempt += 1;
    }
}

fn read_state(file: &File, size: u64, max_bytes: u64) -> io::Result<FileState> {
    if size > max_bytes {
        return Ok(FileState::TooLarge { size });
    }
    // The size may be wrong: the file may grow right now, and files of `/proc` report 0.
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > max_bytes {
        return Ok(FileState::TooLarge { size: file.metadata()?.len().max(size) });
    }
    Ok(FileState::of_bytes(bytes))
}

/// The system's error message as part of a sentence: `permission denied`.
pub(super) fn in_words(error: &io::Error) -> String {
    let said = error.to_string();
    let said = said.split(" (os error").next().unwrap_or(&said);
    let mut letters = said.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

fn unreadable(error: &io::Error) -> FileState {
    FileState::Unreadable { reason: in_words(error) }
}

/// Whether an error says that nothing is there.
pub fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Distinguishes a missing file from one that is out of reach: the nearest existing ancestor must
/// be readable.
pub(super) fn absent(path: &Path) -> FileState {
    for ancestor in path.ancestors().skip(1) {
        match looks::metadata(ancestor) {
            Ok(metadata) if !metadata.is_dir() => return FileState::Missing,
            Ok(_) => {
                return match looks::entries(ancestor, 0) {
                    Ok(_) => FileState::Missing,
                    Err(error) => unreadable(&error),
                };
            }
            Err(error) if is_absence(&error) => {}
            Err(error) => return unreadable(&error),
        }
    }
    FileState::Unreadable { reason: "no folder above it exists".to_owned() }
}

/// What exists instead of a regular file.
fn kind_at(path: &Path) -> &'static str {
    let Ok(kind) = looks::metadata(path).map(|metadata| metadata.file_type()) else {
        return "it is not a regular file";
    };
    if kind.is_dir() { "it is a folder" } else { special_kind(kind) }
}

#[cfg(unix)]
fn special_kind(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;

    match kind {
        kind if kind.is_fifo() => "it is a FIFO",
        kind if kind.is_socket() => "it is a socket",
        kind if kind.is_block_device() || kind.is_char_device() => "it is a device",
        _ => "it is not a regular file",
    }
}

#[cfg(not(unix))]
fn special_kind(_kind: FileType) -> &'static str {
    "it is not a regular file"
}

#[cfg(test)]
mod tests;
