//! Sessions of OpenClaw before 2026.8 that a reset parted: `ID.jsonl.reset.TIME` has what was before,
//! and `ID.jsonl` goes on in its tree, without a first line of its own. Together they are one session.
//! Must not know what entries hold.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::find::KEPT_BY_OPENCLAW;
use super::lines::{self, Lines};
use super::notes::Notes;
use super::pi;
use base::error::Result;
use base::object::Room;
use files::private;

/// Most bytes of a first line.
const FIRST_LINE_BYTES: u64 = 8 << 20;

/// The bytes of a session file, with those of the files that it goes on from before them.
///
/// # Errors
/// As [`lines::bytes_of`] and [`lines::text_of`].
pub(super) fn whole(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !is_tail(&bytes) {
        return Ok(bytes);
    }
    let mut texts = vec![bytes];
    for file in before(path).into_iter().rev() {
        let bytes = lines::bytes_of(&file)?;
        let goes_on = is_tail(&bytes);
        texts.push(bytes);
        if !goes_on {
            break;
        }
    }
    let mut whole = Vec::new();
    for bytes in texts.iter().rev() {
        whole
            .extend_from_slice(lines::text_of(bytes, &mut Notes::default())?.trim_end().as_bytes());
        whole.push(b'\n');
    }
    Ok(whole)
}

/// Those of the files that another of them goes on from.
pub(super) fn continued(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut continued = BTreeSet::new();
    let reset = files.iter().filter(|file| id_of(file).is_some_and(|(_, is_reset)| is_reset));
    let mut sessions: BTreeSet<PathBuf> = BTreeSet::new();
    for file in reset {
        if let (Some(folder), Some((id, _))) = (file.parent(), id_of(file)) {
            sessions.insert(folder.join(format!("{id}.jsonl")));
        }
    }
    for session in sessions {
        let mut all = before(&session);
        all.push(session);
        for pair in all.windows(2) {
            if goes_on(&pair[1]) {
                continued.insert(pair[0].clone());
            }
        }
    }
    continued
}

/// The files that resets made of a session before this one, oldest first.
fn before(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some((id, is_reset))) = (path.parent(), id_of(path)) else {
        return Vec::new();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| id_of(file).is_some_and(|(other, is_reset)| is_reset && other == id))
        .filter(|file| !is_reset || file.file_name() < path.file_name())
        .collect();
    files.sort();
    files
}

/// The session that a file's name has, and whether a reset made the file.
fn id_of(path: &Path) -> Option<(String, bool)> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    match name.split_once(KEPT_BY_OPENCLAW[0]) {
        Some((id, _)) => Some((id.to_owned(), true)),
        None => name.strip_suffix(".jsonl").map(|id| (id.to_owned(), false)),
    }
}

/// Whether the file at a path has no first line of its own.
fn goes_on(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = private::open_regular(path)
        .and_then(|file| BufReader::new(file).take(FIRST_LINE_BYTES).read_until(b'\n', &mut first));
    read.is_ok() && is_tail(&first)
}

/// Whether a file begins with an entry that follows one elsewhere.
fn is_tail(bytes: &[u8]) -> bool {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    let Ok(text) = lines::text_of(&bytes[..end], &mut Notes::default()) else { return false };
    let lines = Lines::parse(&text, &Room::for_file(text.len()), &mut Notes::default());
    lines.found.first().is_some_and(|line| pi::is_entry(line) && line.text_at("parentId").is_some())
}
