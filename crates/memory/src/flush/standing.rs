//! Reads the current file before a flush replaces it, once other writers are done with it. Must not
//! know entries.

use std::time::{Duration, SystemTime};

use crate::finding::{FindingCode, MemoryFinding};
use crate::load::{MAX_BYTES, unfinished_merge};
use crate::sidecar::{FileSlot, MAX_FILE_BYTES};
use base::error::{Error, Result};
use base::object::Hash;
use files::private::{Held, HeldFolder};
use source::FileState;

/// A file saved this recently may still be in the middle of a write: many programs empty a file
/// first and then fill it.
const FRESH: Duration = Duration::from_millis(60);

/// How long to wait for it, and between two checks.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(15);

/// Most entries of a folder searched for a crash's leftovers.
const MAX_ENTRIES: usize = 10_000;

/// Leftovers of a crash are removed from this age on.
const OLD: Duration = Duration::from_secs(3_600);

/// A file's current state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileNow {
    /// Its text; empty where there is no file.
    pub(super) text: String,
    /// SHA-256 of its bytes; `None` where there is no file.
    pub(super) hash: Option<Hash>,
}

/// Reads a file that may get entries.
///
/// # Errors
/// The finding that says why it may not.
pub(super) fn read_standing(target: &FileSlot) -> std::result::Result<FileNow, MemoryFinding> {
    let FileSlot { folder, name } = target;
    settle(folder, name);
    let path = target.path();
    let wrong = |code, words: String| Err(MemoryFinding::new(code, words).at(&path, None));
    let (text, hash) = match target.state(MAX_BYTES) {
        FileState::Text { text, source_hash } => (text, source_hash),
        FileState::Missing => return Ok(FileNow { text: String::new(), hash: None }),
        FileState::Binary { .. } => {
            return wrong(FindingCode::NotText, "it is not UTF-8".to_owned());
        }
        FileState::TooLarge { size } => {
            // Nobody would see an entry beyond the part that is read.
            let words = format!("it has {size} bytes, at most {MAX_BYTES} are read");
            return wrong(FindingCode::TooLarge, words);
        }
        _ => {
            let found = folder.metadata_of(name);
            let is_link = found.as_ref().is_err_and(files::private::is_link);
            let code = if is_link { FindingCode::LeadsOut } else { FindingCode::Unreadable };
            let why = found.err().map(|error| error.to_string());
            return wrong(code, why.unwrap_or_else(|| "it cannot be read".to_owned()));
        }
    };
    let is_read_only = |found: cap_std::fs::Metadata| found.permissions().readonly();
    if folder.metadata_of(name).ok().flatten().is_some_and(is_read_only) {
        return wrong(FindingCode::Unwritable, "it is read-only".to_owned());
    }
    if let Some((line, words)) = unfinished_merge(&text) {
        return Err(MemoryFinding::new(FindingCode::ConflictMarkers, words).at(&path, Some(line)));
    }
    Ok(FileNow { text, hash: Some(hash) })
}

/// Waits until a file has not been saved for a moment.
pub(super) fn settle(folder: &HeldFolder, name: &str) {
    let mut waited = Duration::ZERO;
    while waited < PATIENCE && age_of(folder, name).is_some_and(|age| age < FRESH) {
        std::thread::sleep(PAUSE);
        waited += PAUSE;
    }
}

/// How long ago a file was saved; `None` if unknown.
fn age_of(folder: &HeldFolder, name: &str) -> Option<Duration> {
    let saved = folder.metadata_of(name).ok()??.modified().ok()?.into_std();
    SystemTime::now().duration_since(saved).ok()
}

/// SHA-256 of a file; `None` where there is none.
///
/// # Errors
/// `FILE` if something is there that cannot be read.
pub(super) fn known_hash(folder: &HeldFolder, name: &str) -> Result<Option<Hash>> {
    let failed = |source| Error::File { act: "read", path: folder.path().join(name), source };
    match folder.read(name, MAX_FILE_BYTES).map_err(failed)? {
        Held::Bytes(bytes) => Ok(Some(Hash::of(&bytes))),
        Held::Missing => Ok(None),
        Held::TooLarge(_) => Err(failed(std::io::ErrorKind::FileTooLarge.into())),
    }
}

/// Keeps a text that could not be placed, beside the file that it was for.
pub(super) fn set_aside(folder: &HeldFolder, text: &str, name: &str) -> Result<MemoryFinding> {
    let hash = known_hash(folder, text).ok().flatten();
    let hash = hash.map(|hash| hash.as_str()[..8].to_owned()).unwrap_or_default();
    let aside = format!("{name}.{hash}.set-aside");
    let failed = |source| Error::File { act: "move", path: folder.path().join(text), source };
    folder.rename(text, &aside).map_err(failed)?;
    let words =
        format!("`{name}` was saved twice while it was written: one of the texts stands here now");
    Ok(MemoryFinding::new(FindingCode::SetAside, words).at(folder.path().join(aside), None))
}

/// Removes leftovers of killed writers. Call only with the lock held and no flush under way.
pub(super) fn remove_leftovers(folder: &HeldFolder) {
    for (name, _) in folder.entries(MAX_ENTRIES).unwrap_or_default() {
        let Some(stem) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")) else {
            continue;
        };
        let tag = stem.rsplit('.').next().unwrap_or_default();
        let is_prepared = tag.strip_prefix('w').is_some_and(|id| id.parse::<u64>().is_ok());
        if is_prepared || age_of(folder, &name).is_some_and(|age| age > OLD) {
            drop(folder.remove(&name));
        }
    }
}
