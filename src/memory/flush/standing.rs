//! What stands in the place of a file that is to be written, once whoever is writing it is done. Must not know entries.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::error::{Error, Result};
use crate::memory::finding::{Finding, FindingCode};
use crate::memory::load::{MAX_BYTES, is_conflict_marker};
use crate::memory::sidecar::remove;
use crate::object::Hash;
use crate::source::{FileState, obstacle, read_file};

/// A file that was saved this lately may still be being written: many programs empty a file first and fill it then.
const FRESH: Duration = Duration::from_millis(60);

/// How long to wait for it, and between two looks.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(15);

/// From this age on what a crash left behind is removed.
const OLD: Duration = Duration::from_secs(3_600);

/// A file as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    /// Its text; empty where there is no file.
    pub(super) text: String,
    /// SHA-256 of its bytes; `None` where there is no file.
    pub(super) hash: Option<Hash>,
}

/// Reads a file that may get entries.
///
/// # Errors
/// The finding that says why it may not.
pub(super) fn read_standing(target: &Path) -> std::result::Result<Standing, Finding> {
    settle(target);
    let wrong = |code, words: String| Err(Finding::new(code, words).at(target, None));
    let state = read_file(target, MAX_BYTES).state;
    let why = obstacle(target, &state);
    let (text, hash) = match state {
        FileState::Text { text, source_hash } => (text, source_hash),
        FileState::Missing => return Ok(Standing { text: String::new(), hash: None }),
        FileState::Binary { .. } => {
            return wrong(FindingCode::NotText, "it is not UTF-8".to_owned());
        }
        FileState::TooLarge { size } => {
            // An entry behind what is read would be one that nobody sees.
            let words = format!("it has {size} bytes, at most {MAX_BYTES} are read");
            return wrong(FindingCode::TooLarge, words);
        }
        _ => {
            let words = why.unwrap_or_else(|| "it cannot be read".to_owned());
            return wrong(FindingCode::Unreadable, words);
        }
    };
    if fs::metadata(target).is_ok_and(|found| found.permissions().readonly()) {
        return wrong(FindingCode::Unwritable, "it is read-only".to_owned());
    }
    let marker = text.lines().zip(1..).find(|(line, _)| is_conflict_marker(line));
    if let Some((_, line)) = marker {
        let words = "it holds the marks of a merge that nobody finished";
        return Err(Finding::new(FindingCode::ConflictMarkers, words).at(target, Some(line)));
    }
    Ok(Standing { text, hash: Some(hash) })
}

/// Waits until a file was not saved for a moment.
pub(super) fn settle(path: &Path) {
    let mut waited = Duration::ZERO;
    let is_fresh = || {
        let saved = fs::metadata(path).and_then(|found| found.modified()).ok();
        saved.is_some_and(|saved| {
            SystemTime::now().duration_since(saved).is_ok_and(|age| age < FRESH)
        })
    };
    while waited < PATIENCE && is_fresh() {
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

/// SHA-256 of a file; `None` where there is none, or nothing that can be read.
pub(super) fn hash_of(path: &Path) -> Option<Hash> {
    known_hash(path).ok().flatten()
}

/// SHA-256 of a file; `None` where there is none.
///
/// # Errors
/// `FILE` if something is there that cannot be read.
pub(super) fn known_hash(path: &Path) -> Result<Option<Hash>> {
    let state = read_file(path, u64::MAX).state;
    let why = obstacle(path, &state);
    match state {
        FileState::Text { source_hash, .. } | FileState::Binary { source_hash, .. } => {
            Ok(Some(source_hash))
        }
        FileState::Missing => Ok(None),
        _ => {
            let source =
                std::io::Error::other(why.unwrap_or_else(|| "it cannot be read".to_owned()));
            Err(Error::File { act: "read", path: path.to_owned(), source })
        }
    }
}

/// Keeps a text that found no place, beside the file that it was for.
pub(super) fn set_aside(text: &Path, target: &Path) -> Result<Finding> {
    let hash = hash_of(text).map(|hash| hash.as_str()[..8].to_owned()).unwrap_or_default();
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = target.with_file_name(format!("{name}.{hash}.set-aside"));
    let failed = |source| Error::File { act: "move", path: text.to_owned(), source };
    fs::rename(text, &aside).map_err(failed)?;
    let words =
        format!("`{name}` was saved twice while it was written: one of the texts stands here now");
    Ok(Finding::new(FindingCode::SetAside, words).at(aside, None))
}

/// Removes what earlier writers left behind when they were killed. Only with the lock, and when no flush is under way.
pub(super) fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(stem) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")) else {
            continue;
        };
        let tag = stem.rsplit('.').next().unwrap_or_default();
        let is_prepared = tag.strip_prefix('w').is_some_and(|id| id.parse::<u64>().is_ok());
        let age = entry.metadata().and_then(|found| found.modified()).ok();
        let is_old = age.is_some_and(|saved| {
            SystemTime::now().duration_since(saved).is_ok_and(|age| age > OLD)
        });
        if is_prepared || is_old {
            drop(remove(&entry.path()));
        }
    }
}
