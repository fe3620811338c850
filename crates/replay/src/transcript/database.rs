//! Session databases: finds out which program made one and passes it to that program's reader. Must
//! not know a table.

use std::path::Path;

use super::foreign::{self, Failure, Foreign};
use super::notes::Notes;
use super::{Format, Parts, openclaw, opencode};
use base::error::Result;

/// Whether a database holds sessions of a known program.
///
/// # Errors
/// As [`sessions`].
pub(super) fn is_known(path: &Path) -> Result<bool> {
    foreign::read(path, |foreign| Ok(program(foreign)?.is_some()))
}

/// The names of a database's sessions, in order, or only those that `only` names; `None` for a
/// database of unknown kind.
///
/// # Errors
/// `FILE` if it cannot be read; `MALFORMED_TRANSCRIPT` if it is newer than its reader.
pub(super) fn sessions(path: &Path, only: Option<&str>) -> Result<Option<Vec<String>>> {
    foreign::read(path, |foreign| match program(foreign)? {
        Some(Format::OpenClaw) => openclaw::database::sessions(foreign, only).map(Some),
        Some(_) if only.is_none() => opencode::database::sessions(foreign).map(Some),
        Some(_) => Ok(only.map(|name| vec![name.to_owned()])),
        None => Ok(None),
    })
}

/// Reads a session of a database by its name.
///
/// # Errors
/// As [`sessions`], and `MALFORMED_TRANSCRIPT` if it is missing.
pub(super) fn read(path: &Path, name: &str, notes: &mut Notes) -> Result<(Format, Parts)> {
    foreign::read(path, |foreign| {
        let Some(format) = program(foreign)? else {
            return Err(Failure::Content(UNKNOWN.to_owned()));
        };
        let parts = match format {
            Format::OpenClaw => openclaw::database::read(foreign, name, notes)?,
            _ => opencode::database::read(foreign, name, notes)?,
        };
        let missing =
            || Failure::Content(format!("begins a database without the session `{name}`"));
        parts.map(|parts| (format, parts)).ok_or_else(missing)
    })
}

/// The problem with a database of unknown kind.
pub(super) const UNKNOWN: &str = "begins a database that is neither OpenCode's nor OpenClaw's";

/// The program whose sessions a database holds.
fn program(foreign: &Foreign) -> Result<Option<Format>, Failure> {
    if opencode::database::is_ours(foreign)? {
        return Ok(Some(Format::OpenCode));
    }
    Ok(openclaw::database::is_ours(foreign)?.then_some(Format::OpenClaw))
}
