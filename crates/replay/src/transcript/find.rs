//! Finds sessions: files, folders of files, and databases that hold several. Must not read more of
//! a file than it takes to recognise a session.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::claude_code::several;
use super::notes::Notes;
use super::{Format, Refused, database, foreign, lines, recognised, tail, told_by_start};
use base::error::{Error, Result};
use base::object::Room;
use files::private;

/// Folders of OpenCode's storage beside the session records, with the sessions' content.
const BESIDE_SESSIONS: [&str; 2] = ["message", "part"];

/// Suffixes behind the session's ID in files that OpenClaw keeps: of a session that a reset ended,
/// before 2026.8, and of one that a person deleted.
pub(super) const KEPT_BY_OPENCLAW: [&str; 2] = [".jsonl.reset.", ".jsonl.deleted."];

/// Bytes of a file that are read to recognise it.
const START_BYTES: u64 = 256 << 10;

/// A session that can be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundSession {
    /// The file, or `FILE#SESSION` for a session of a database.
    pub path: String,
    /// The name of its transcript.
    pub name: String,
    /// Why it is not a session; `None` for all that are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What was found at a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundSessions {
    /// The sessions, in order.
    pub sessions: Vec<FoundSession>,
    /// Files of a folder that are not sessions although their names may be those of some.
    pub passed_over: Vec<FoundSession>,
}

/// Finds the sessions at a path. A file is always taken unless it is empty, with each session of a
/// database. A folder
/// is searched recursively for `*.jsonl`, `*.jsonl.gz`, `*.jsonl.zst`, `*.jsonl.reset.*`, `*.json`,
/// `*.json.gz`, `*.db` and `*.sqlite` that hold a session. A file of a folder that cannot be read is
/// taken too, so that reading it reports the error.
///
/// # Errors
/// `FILE` if the folder or the database cannot be read; `MALFORMED_TRANSCRIPT` if the database is
/// newer than its reader.
pub fn find(path: &Path) -> Result<FoundSessions> {
    let mut found = FoundSessions::default();
    if !path.is_dir() {
        let (file, session) = split(path);
        if file.metadata().is_ok_and(|found| found.is_file() && found.len() == 0) {
            let problem = Some("is empty".to_owned());
            found.passed_over.push(FoundSession { problem, ..session_at(path) });
            return Ok(found);
        }
        found.sessions = if begins_as_database(&file)? {
            in_file(&file, session.as_deref())?
        } else {
            sessions_at(path)
        };
        return Ok(found);
    }
    let mut files = Vec::new();
    walk(path, &mut files).map_err(|source| unreadable(path, source))?;
    files.sort();
    let continued = tail::continued(&files);
    for file in files {
        match kind_of(&file) {
            _ if continued.contains(&file) => {}
            Kind::Session if is_database_name(&file) => {
                let sessions = in_file(&file, None).unwrap_or_else(|_| vec![session_at(&file)]);
                found.sessions.extend(sessions);
            }
            Kind::Session => found.sessions.extend(sessions_at(&file)),
            Kind::Other(problem) => {
                let problem = Some(problem);
                found.passed_over.push(FoundSession { problem, ..session_at(&file) });
            }
            Kind::Unasked => {}
        }
    }
    Ok(found)
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
    let bare = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let bare =
        [".jsonl", ".json"].iter().find_map(|ending| bare.strip_suffix(ending)).unwrap_or(bare);
    let folder = path.parent().and_then(name_in).filter(|_| bare == "events");
    folder.unwrap_or_else(|| bare.to_owned())
}

fn session_at(path: &Path) -> FoundSession {
    let name = split(path).1.unwrap_or_else(|| name_of(path));
    FoundSession { path: path.to_string_lossy().into_owned(), name, problem: None }
}

/// The sessions of a database, or those that `only` names; none if it is of unknown kind.
fn in_file(file: &Path, only: Option<&str>) -> Result<Vec<FoundSession>> {
    Ok(named(file, database::sessions(file, only)?.unwrap_or_default()))
}

/// The session of a file of lines, or the several that were put into one of Claude Code.
fn sessions_at(path: &Path) -> Vec<FoundSession> {
    let bytes = lines::bytes_of(path).unwrap_or_default();
    let text = lines::text_of(&bytes, &mut Notes::default()).unwrap_or_default();
    let room = Room::for_file(text.len());
    let mut sessions = Vec::new();
    if several::names_several(&text)
        && let Ok((Format::ClaudeCode, lines)) = recognised(&text, &room, &mut Notes::default())
    {
        sessions = several::sessions(&lines);
    }
    if sessions.len() > 1 { named(path, sessions) } else { vec![session_at(path)] }
}

fn named(file: &Path, sessions: Vec<String>) -> Vec<FoundSession> {
    let path = file.to_string_lossy();
    let found = |name: String| FoundSession { path: format!("{path}#{name}"), name, problem: None };
    sessions.into_iter().map(found).collect()
}

/// Splits a path of the form `FILE#SESSION`, unless a file has exactly that name.
pub(super) fn split(path: &Path) -> (PathBuf, Option<String>) {
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

/// Collects the files of a folder, and the folders that are not searched: links are not followed,
/// and an unreadable folder hides its own sessions, but no others.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let is_storage =
        BESIDE_SESSIONS.iter().chain(&["session"]).all(|name| folder.join(name).is_dir());
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        let is_beside = || BESIDE_SESSIONS.iter().any(|name| entry.file_name() == *name);
        if !kind.is_dir() || (!(is_storage && is_beside()) && walk(&path, files).is_err()) {
            files.push(path);
        }
    }
    Ok(())
}

/// What a file in a folder is.
enum Kind {
    /// A session, or a file that cannot be read.
    Session,
    /// None, by what it holds.
    Other(String),
    /// None, by its name.
    Unasked,
}

impl Kind {
    fn of(told: Result<(), Refused>) -> Self {
        match told {
            Err(Refused { problem, is_session: false, .. }) => Self::Other(problem),
            _ => Self::Session,
        }
    }
}

/// What a file in a folder is, by its name and, where that does not exclude it, by its content.
fn kind_of(path: &Path) -> Kind {
    if path.is_dir() {
        let is_link = path.is_symlink();
        let problem =
            if is_link { "is a link to a folder, and not followed" } else { "cannot be read" };
        return Kind::Other(problem.to_owned());
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bare = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    let is_ending = |ending: &str| Path::new(bare).extension().is_some_and(|found| found == ending);
    if is_ending("jsonl") || name.contains(KEPT_BY_OPENCLAW[0]) {
        return if is_beside_openclaw(bare) {
            Kind::Other("is a file that OpenClaw puts beside its sessions".to_owned())
        } else {
            by_content(path)
        };
    }
    if is_database_name(path) {
        return match begins_as_database(path) {
            Ok(false) => Kind::Other("is not a database".to_owned()),
            // An unreadable file is taken, so that its error is reported.
            Ok(true) if !database::is_known(path).unwrap_or(true) => {
                Kind::Other(database::UNKNOWN.to_owned())
            }
            _ => Kind::Session,
        };
    }
    // Many other files are JSON, so one that cannot be read is not taken for a session.
    let bytes = (is_ending("json") && path.is_file()).then(|| lines::bytes_of(path));
    let told = bytes.and_then(Result::ok).map(|bytes| told_by_whole(&bytes, false));
    told.map_or(Kind::Unasked, Kind::of)
}

/// What a file of lines is. Most tell it by their first lines.
fn by_content(path: &Path) -> Kind {
    let mut start = Vec::new();
    let read =
        private::open_regular(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    let told = if read.is_ok() { told_by_start(&start) } else { None };
    Kind::of(match told {
        Some(told) => told.map(drop),
        None => lines::bytes_of(path).map_or(Ok(()), |bytes| told_by_whole(&bytes, true)),
    })
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

/// Why a file of these bytes is no session, if it is none. What expands too far is told when a file
/// of lines is read; another JSON file is none then, nor is one of messages without an answer.
fn told_by_whole(bytes: &[u8], has_lines: bool) -> Result<(), Refused> {
    let refused = |problem: &str| Err(Refused::new((1, problem.to_owned())));
    let Ok(text) = lines::text_of(bytes, &mut Notes::default()) else {
        return if has_lines { Ok(()) } else { refused("expands too far") };
    };
    let room = Room::for_file(text.len());
    let (format, lines) = recognised(&text, &room, &mut Notes::default())?;
    let is_list = matches!(format, Format::Anthropic | Format::OpenAi | Format::Neutral);
    let is_answer = |line: &lines::Line<'_>| line.text_at("role") == Some("assistant");
    if !has_lines && is_list && !lines.iter().any(is_answer) {
        return refused("holds no answer of a model");
    }
    Ok(())
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::File { act: "read", path: path.to_owned(), source }
}
