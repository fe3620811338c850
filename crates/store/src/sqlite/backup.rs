//! Copies the file from one read snapshot. SQLite's own backup API begins anew whenever another
//! process writes (sqlite.org/backup.html), so beside a session it never ends; `VACUUM INTO` reads
//! one snapshot (sqlite.org/lang_vacuum.html) and leaves free pages out.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::failure::Step;
use base::error::Error;

/// How often what was written goes to the disk: all at the end would keep others' commits waiting.
const TO_DISK: Duration = Duration::from_millis(10);

/// Writes the copy into an empty file.
pub(super) fn backup(connection: &Connection, to: &Path) -> Step<()> {
    let name = to.to_str().ok_or_else(|| Error::argument("path", "must be UTF-8"))?;
    // Only reads this store; what SQLite checks is the copy.
    let query_only: bool = connection.pragma_query_value(None, "query_only", |row| row.get(0))?;
    connection.pragma_update(None, "query_only", false)?;
    let copied = thread::scope(|scope| {
        let (_copying, until_copied) = mpsc::channel();
        scope.spawn(move || bring_to_disk(to, &until_copied));
        connection.execute("VACUUM INTO ?1", [name])
    });
    connection.pragma_update(None, "query_only", query_only)?;
    copied?;
    Ok(())
}

/// Brings what is written of a file to the disk, again and again until the sender is gone.
fn bring_to_disk(path: &Path, until_copied: &Receiver<()>) {
    let Ok(file) = OpenOptions::new().write(true).open(path) else { return };
    while until_copied.recv_timeout(TO_DISK) == Err(RecvTimeoutError::Timeout) {
        // What fails now fails again at the end, and is reported there.
        let _ = file.sync_data();
    }
}
