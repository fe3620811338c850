//! Sessions of OpenCode before 1.2: `storage/session/PROJECT/ID.json` with a file for each message
//! in `storage/message/ID` and for each part in `storage/part/MESSAGE`. Must not read any other
//! file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Entry, StoredSession, text};
use crate::transcript::lines::{bytes_of, object_of};
use crate::transcript::message::time_of;
use crate::transcript::notes::Notes;
use base::object::Room;

/// The session with a record in the file at `path`.
pub(super) fn session(info: &Map<String, Value>, path: &Path, notes: &mut Notes) -> StoredSession {
    let mut found = StoredSession::new(info);
    let (Some(storage), Some(id)) = (path.ancestors().nth(3), &found.session_id) else {
        return found;
    };
    if !is_name(id) {
        return found;
    }
    let messages = objects(&storage.join("message").join(id), notes);
    if messages.is_empty() {
        notes.count("records of a session without messages beside it");
    }
    for info in messages {
        let id = text(&info, "id").filter(|id| is_name(id)).unwrap_or_default();
        let parts =
            if id.is_empty() { Vec::new() } else { objects(&storage.join("part").join(id), notes) };
        found.messages.push(Entry { info, parts });
    }
    let created =
        |entry: &Entry| entry.info.get("time").and_then(|time| time_of(time.get("created")?));
    // Files come in the order of their names, which are ascending IDs.
    found.messages.sort_by_key(created);
    found
}

/// Whether an ID is a plain file name and leads nowhere else.
fn is_name(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The objects in the files of a folder, by name; none if there is no such folder.
fn objects(folder: &Path, notes: &mut Notes) -> Vec<Map<String, Value>> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    let mut found = Vec::with_capacity(files.len());
    for file in files {
        let bytes = bytes_of(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        match object_of(&text, &Room::for_file(text.len())).ok() {
            Some((object, _)) => found.push(object),
            None => notes.count("files that are not JSON objects left out"),
        }
    }
    found
}
