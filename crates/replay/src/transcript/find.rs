//! Finds sessions: files, folders of files, and databases that hold several. Must not read more of
//! a file than it takes to recognise a session.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::notes::Notes;
use super::{Format, database, foreign, lines, recognised};
use base::error::{Error, Result};
use base::object::Room;
use files::private;

/// Folders of OpenCode's storage beside the session records, with the sessions' content.
const BESIDE_SESSIONS: [&str; 2] = ["message", "part"];

/// Suffixes behind the session's ID in files that OpenClaw keeps: of a session that a reset ended,
/// before 2026.8, and of one that a person deleted.
const KEPT_BY_OPENCLAW: [&str; 2] = [".jsonl.reset.", ".jsonl.deleted."];

/// A session that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundSession {
    /// The file, or `FILE#SESSION` for a session of a database.
    pub path: String,
    /// The name of its transcript.
    pub name: String,
}

/// The sessions at a path, in order. A file is always taken, with each session of a database. A
/// folder is searched recursively for `*.jsonl`, `*.jsonl.gz` and `*.jsonl.reset.*`, and for
/// `*.json`, `*.json.gz`, `*.db` and `*.sqlite` that hold a session. An unreadable database in a
/// folder is listed too, so that reading it reports the error.
///
/// # Errors
/// `FILE` if the folder or the database cannot be read; `MALFORMED_TRANSCRIPT` if the database is
/// newer than its reader.
pub fn find(path: &Path) -> Result<Vec<FoundSession>> {
    if !path.is_dir() {
        let (file, session) = split(path);
        let is_database = begins_as_database(&file)?;
        return if is_database {
            in_file(&file, session.as_deref())
        } else {
            Ok(vec![found(path)])
        };
    }
    let mut files = Vec::new();
    walk(path, &mut files).map_err(|source| unreadable(path, source))?;
    files.sort();
    let sessions = files.iter().flat_map(|file| {
        let of_database = is_database_name(file).then(|| in_file(file, None).ok()).flatten();
        of_database.unwrap_or_else(|| vec![found(file)])
    });
    Ok(sessions.collect())
}

/// The database and the session that a path names; `None` if it names another file.
///
/// # Errors
/// `FILE` if the database cannot be read; `MALFORMED_TRANSCRIPT` if it is of unknown kind, or holds
/// several sessions and none is named.
pub(super) fn in_database(path: &Path) -> Result<Option<(PathBuf, String)>> {
    let (file, session) = split(path);
    if !begins_as_database(&file)? {
        return Ok(None);
    }
    if let Some(session) = session {
        return Ok(Some((file, session)));
    }
    let problem = match database::sessions(&file, None)?.as_deref() {
        None => database::UNKNOWN.to_owned(),
        Some([one]) => return Ok(Some((file, one.clone()))),
        Some(all) => {
            format!(
                "begins a database of {} sessions, and `#SESSION` behind its name says none of them",
                all.len()
            )
        }
    };
    Err(Error::MalformedTranscript { path: file, line: 1, problem })
}

/// The name of the transcript at a path. Copilot CLI gives all files the same name, and names the
/// folder after the session.
pub(super) fn name_of(path: &Path) -> String {
    let name_in = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name_in(path).unwrap_or_default();
    let name = KEPT_BY_OPENCLAW
        .iter()
        .find_map(|mark| name.split_once(mark))
        .map_or(&*name, |(session, _)| session);
    let bare = name.strip_suffix(".gz").unwrap_or(name);
    let bare =
        [".jsonl", ".json"].iter().find_map(|ending| bare.strip_suffix(ending)).unwrap_or(bare);
    let folder = path.parent().and_then(name_in).filter(|_| bare == "events");
    folder.unwrap_or_else(|| bare.to_owned())
}

fn found(path: &Path) -> FoundSession {
    let name = split(path).1.unwrap_or_else(|| name_of(path));
    FoundSession { path: path.to_string_lossy().into_owned(), name }
}

/// The sessions of a database, or those that `only` names; none if it is of unknown kind.
fn in_file(file: &Path, only: Option<&str>) -> Result<Vec<FoundSession>> {
    let sessions = database::sessions(file, only)?.unwrap_or_default();
    let path = file.to_string_lossy();
    let named = |name: String| FoundSession { path: format!("{path}#{name}"), name };
    Ok(sessions.into_iter().map(named).collect())
}

/// Splits a path of the form `FILE#SESSION`, unless a file has exactly that name.
fn split(path: &Path) -> (PathBuf, Option<String>) {
    let text = path.to_string_lossy();
    match text.rsplit_once('#') {
        Some((file, session)) if !path.exists() && Path::new(file).is_file() => {
            (PathBuf::from(file), Some(session.to_owned()))
        }
        _ => (path.to_owned(), None),
    }
}

fn begins_as_database(file: &Path) -> Result<bool> {
    if !file.is_file() {
        // Reading it reports the problem.
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = private::open_regular(file).and_then(|file| file.take(64).read_to_end(&mut start));
    read.map_err(|source| unreadable(file, source))?;
    Ok(foreign::is_database(&start))
}

/// Collects the files of a folder that may be sessions. Links to folders are not followed.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let is_storage =
        BESIDE_SESSIONS.iter().chain(&["session"]).all(|name| folder.join(name).is_dir());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_beside = || BESIDE_SESSIONS.iter().any(|name| entry.file_name() == *name);
        if kind.is_dir() && !(is_storage && is_beside()) {
            // An unreadable folder hides its own sessions, but no others.
            let _ = walk(&path, files);
        } else if !kind.is_dir() && may_be_session(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether to take a file in a folder, by its name or, if that says little, by its content.
fn may_be_session(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bare = name.strip_suffix(".gz").unwrap_or(&name);
    let ending = Path::new(bare).extension();
    if ending.is_some_and(|ending| ending == "jsonl") || name.contains(KEPT_BY_OPENCLAW[0]) {
        return !is_beside_openclaw(bare);
    }
    if is_database_name(path) {
        // An unreadable file is taken, so that its error is reported.
        return begins_as_database(path).unwrap_or(false)
            && database::is_known(path).unwrap_or(true);
    }
    ending.is_some_and(|ending| ending == "json")
        && path.is_file()
        && lines::bytes_of(path).is_ok_and(|bytes| is_document(&bytes))
}

/// Whether OpenClaw put a file beside its sessions, before 2026.8: a record of runs, or a copy of a
/// session from before a compaction, `ID.checkpoint.UUID.jsonl`.
fn is_beside_openclaw(name: &str) -> bool {
    let copy = name.strip_suffix(".jsonl").and_then(|name| name.rsplit_once(".checkpoint."));
    name.ends_with(".trajectory.jsonl") || copy.is_some_and(|(_, id)| id.len() == 36)
}

fn is_database_name(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "db" || ending == "sqlite")
}

/// Whether a JSON file is a session, since many other files have that extension.
fn is_document(bytes: &[u8]) -> bool {
    let mut notes = Notes::default();
    let Ok(text) = lines::text_of(bytes, &mut notes) else { return false };
    let room = Room::for_file(text.len());
    let format = recognised(&text, &room, &mut notes).map(|(format, _)| format);
    matches!(format, Ok(Format::Gemini | Format::OpenCode))
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::File { act: "read", path: path.to_owned(), source }
}
