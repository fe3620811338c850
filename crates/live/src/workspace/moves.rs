//! Known files that are no longer where they were. A file that moved continues as the object at its
//! new place and keeps its versions.
//!
//! A file moved if a watcher, another session or the model's own command names both places, or if a
//! bounded search finds its bytes in exactly one place. Must not tell the model about it.

pub(super) mod places;
mod search;
mod stood;
mod stored;

use files::looks;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use self::places::Places;
pub(super) use self::stood::Stood;
use crate::LiveSession;
use base::error::Result;
use base::object::{FileStamp, Hash, ObjectId, Timestamp};
use context::log_layout::Texts;
use session::{Cause, Event, FileEvent, LineMap, Subject};
use source::{FileReading, FileState, IndexOutcome, Indexed, Location};

/// A known file that is no longer where it was.
struct Vanished {
    object: ObjectId,
    location: Location,
    /// The version that the session knows.
    version: Hash,
    source_hash: Option<Hash>,
    /// Number of its bytes.
    size: Option<u64>,
    stamp: Option<FileStamp>,
    /// When it was last looked at, or some earlier time.
    looked: Timestamp,
}

impl Vanished {
    /// Whether a file with this stamp is the vanished file under another name.
    fn is_same_file(&self, stamp: Option<&FileStamp>) -> bool {
        let (Some(was), Some(now)) = (&self.stamp, stamp) else { return false };
        was.inode != 0 && was.inode == now.inode
    }

    /// Whether the file at a place appeared there after this one was last looked at.
    fn is_older_than(&self, location: &Location) -> bool {
        let open = location.open.as_deref();
        open.is_some_and(|open| source::appeared_since(open, self.looked))
    }
}

/// A file that may be a vanished one.
struct Candidate {
    location: Location,
    reading: FileReading,
    inode: u64,
    /// Whether it is the vanished file under another name.
    is_same_file: bool,
    /// Whether another session stored the move.
    is_stored: bool,
}

impl LiveSession {
    /// Follows a move that a watcher saw, of a file or of a folder with files that the session
    /// knows, by the paths that the agent sees. The effects are stored when it returns; the model
    /// is told at its next call. Returns whether a known file was moved.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn file_moved(&mut self, from: &Path, to: &Path) -> Result<bool> {
        let pair = [(from.to_owned(), to.to_owned())];
        self.stored(|live| live.follow_named_moves(&pair))
    }

    /// Follows the moves that a shell command made.
    pub(super) fn command_moved(&mut self, command: &str, folder: &Path) -> Result<()> {
        let led_to = |path: PathBuf| self.disk.agent_path(&self.disk.location(&path));
        let pairs = source::renames(command, folder).into_iter();
        let pairs: Vec<_> = pairs.map(|(from, to)| (led_to(from), led_to(to))).collect();
        self.follow_named_moves(&pairs).map(drop)
    }

    /// Follows known files that moved from the first to the second path of a pair, as the agent
    /// sees them. Returns whether any moved.
    fn follow_named_moves(&mut self, pairs: &[(PathBuf, PathBuf)]) -> Result<bool> {
        if pairs.is_empty() {
            return Ok(false);
        }
        let index = self.state().index();
        let is_named = |path: &str| pairs.iter().any(|(from, _)| Path::new(path).starts_with(from));
        let named = index.entries.iter().filter_map(|entry| match &entry.subject {
            Subject::File { .. } if is_named(entry.subject.agent_path()) => Some(entry.id.clone()),
            _ => None,
        });
        let named: Vec<ObjectId> = named.collect();
        let vanished = self.vanished(&named)?;
        self.follow(&vanished, pairs)
    }

    /// Finds and records which of the files moved.
    pub(super) fn follow_moves(&mut self, files: &[ObjectId]) -> Result<bool> {
        let vanished = self.vanished(files)?;
        self.follow(&vanished, &[])
    }

    /// Finds where vanished files went, and records it. Returns whether any was found. `named`:
    /// old and new paths that a watcher or a command named.
    fn follow(&mut self, vanished: &[Vanished], named: &[(PathBuf, PathBuf)]) -> Result<bool> {
        let mut moved = false;
        let mut places = Places::default();
        // One query for all files: most stores know of no move.
        let origins =
            if vanished.is_empty() { HashSet::new() } else { stored::origins(&self.journal)? };
        for file in vanished {
            let is_twin = |other: &&Vanished| {
                other.object != file.object
                    && other.source_hash.is_some()
                    && other.source_hash == file.source_hash
            };
            let found = match self.where_named(file, named)? {
                Some(found) => Some(found),
                None => match self.where_stored(file, &origins)? {
                    Some(found) => Some(found),
                    None if vanished.iter().any(|other| is_twin(&other)) => None,
                    None => self.where_bytes_are(file, &mut places)?,
                },
            };
            if let Some(found) = found {
                moved |= self.go_on_as(file, found)?;
            }
        }
        Ok(moved)
    }

    /// Remembers what stands beside the files that the session knows, those whose text the model
    /// saw first: call after looking whether any of all these vanished.
    pub(super) fn remember_neighbours(&mut self) -> Result<()> {
        let seen = self.state().files().all_seen().iter().rev().cloned();
        let mut folders: Vec<PathBuf> = Vec::new();
        for file in seen.chain(places::met(self.state())) {
            let location = self.location_of(&file)?;
            let folder = location.and_then(|found| Some(found.open?.parent()?.to_owned()));
            folders.extend(folder.filter(|folder| !folders.contains(folder)));
            if folders.len() >= stood::MAX_FOLDERS {
                break;
            }
        }
        self.workspace.stood.look(&folders);
        Ok(())
    }

    /// Finds files that seem to have come back to the places from which standing ones moved, being as
    /// large as these, and records them by path alone. Returns them, each with the one that moved.
    pub(super) fn find_at_old_places(&mut self) -> Result<Vec<(ObjectId, ObjectId)>> {
        let mut found = Vec::new();
        if !self.state().files().any_moved() {
            return Ok(found);
        }
        for file in self.standing_files() {
            for origin in self.state().files().origins(&file).to_vec() {
                let is_known = self.state().subject(&origin).is_some();
                let location = if is_known { None } else { self.location_of(&origin)? };
                let Some(location) = location else { continue };
                let Some(stamp) = location.open.as_deref().and_then(source::stamp) else {
                    continue;
                };
                let known = self
                    .state()
                    .version(&file)
                    .and_then(|version| self.journal.text(&file, version).ok());
                let is_as_large = known.is_some_and(|text| stamp.size == text.len() as u64);
                let is_there = is_as_large && self.disk.led_to(&location).id()? == origin;
                let reading = FileReading { state: FileState::NotRead, stamp: None };
                if is_there {
                    self.index_reading(&location, reading, Cause::Found, None)?;
                    found.push((origin, file.clone()));
                }
            }
        }
        Ok(found)
    }

    /// Remembers what stands beside a file that the model just read or changed.
    pub(super) fn remember_beside(&mut self, location: &Location) {
        if let Some(folder) = location.open.as_deref().and_then(Path::parent) {
            self.workspace.stood.meet(folder);
        }
    }

    /// The files that are certainly no longer where they were. Files known to be deleted are left
    /// out.
    fn vanished(&self, files: &[ObjectId]) -> Result<Vec<Vanished>> {
        let mut vanished = Vec::new();
        for object in files {
            let Some(Subject::File { version, stamp, .. }) = self.state().subject(object) else {
                continue;
            };
            let Some(location) = self.location_of(object)? else { continue };
            if self.journal.was_refused(object) || !self.has_gone(object, &location)? {
                continue;
            }
            if stamp.is_none() && self.journal.is_deleted(object, version) {
                continue;
            }
            let (version, stamp) = (version.clone(), *stamp);
            let known = self.journal.known_version(object, &version)?;
            let source_hash = known.and_then(|known| known.source_hash);
            let text = || self.journal.text(object, &version).ok().map(|text| text.len() as u64);
            let size = stamp.map(|stamp| stamp.size).or_else(text);
            let object = object.clone();
            let looked = self.last_look_at(&object);
            let file = Vanished { object, location, version, source_hash, size, stamp, looked };
            vanished.push(file);
        }
        Ok(vanished)
    }

    /// Whether a known file is certainly no longer at its path: nothing is there, or a link to
    /// another file.
    fn has_gone(&self, object: &ObjectId, location: &Location) -> Result<bool> {
        let Some(open) = &location.open else { return Ok(false) };
        if source::stamp(open).is_some() {
            let is_link = looks::symlink_metadata(open).is_ok_and(|found| found.is_symlink());
            return Ok(is_link && self.disk.led_to(location).id()? != *object);
        }
        let state = source::look(location, false, 0).state;
        Ok(state == FileState::Missing && self.is_mounted(object, location))
    }

    /// When a file was last looked at, or some earlier time.
    fn last_look_at(&self, object: &ObjectId) -> Timestamp {
        if self.stands(object) {
            self.workspace.looked.standing
        } else {
            self.workspace.looked.known
        }
    }

    /// Continues a vanished file as the one that was found. Returns whether that was possible.
    fn go_on_as(&mut self, file: &Vanished, found: Candidate) -> Result<bool> {
        let Candidate { location, reading, is_stored, .. } = found;
        let to = location.id()?;
        let Some(mut found) = source::index(&location, reading, self.journal.latest(&to)?)? else {
            return Ok(false);
        };
        if !is_stored {
            found.set_moved_from(&file.object)?;
        }
        let Indexed { envelope, payload, version, outcome, stamp } = found;
        if outcome != IndexOutcome::Unchanged {
            self.stage_gone(file)?;
            self.journal.stage_seen(envelope, payload.clone(), version.clone())?;
        }
        self.journal.stage_nicknames(&file.object, &to)?;
        let text = payload.content;
        let old = self.journal.text(&file.object, &file.version).ok();
        if let Some(text) = &text {
            self.journal.remember_text(&to, &version, text.as_str().into());
        }
        let is_same = file.source_hash.is_some() && file.source_hash == payload.source_hash;
        let same = is_same.then(|| version.clone());
        self.journal.record(Event::Moved { from: file.object.clone(), to: to.clone(), same });
        self.track_all_anew();
        let moved = match (&old, &text) {
            (Some(old), Some(new)) if !is_same => Some(LineMap::between(old, new)),
            _ => None,
        };
        let bytes = payload.source_hash.filter(|_| text.is_none());
        self.journal.record(Event::File(FileEvent {
            bytes,
            lines: text.map(|text| text.split('\n').count() as u64),
            stamp,
            moved,
            ..self.disk.file_event(to, &location, version, Cause::Checked)
        }));
        Ok(true)
    }

    /// Stages that a file is deleted at its old place, unless the latest version already says so.
    fn stage_gone(&mut self, file: &Vanished) -> Result<()> {
        let reading = FileReading { state: FileState::Missing, stamp: None };
        let found = source::index(&file.location, reading, self.journal.latest(&file.object)?)?;
        if let Some(found) = found.filter(|found| found.outcome != IndexOutcome::Unchanged) {
            self.journal.stage_seen(found.envelope, found.payload, found.version)?;
        }
        Ok(())
    }
}
