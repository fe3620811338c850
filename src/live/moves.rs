//! Files that are gone from where they were: moved, or out of reach (DESIGN.md section 5). What is neither was deleted.
//!
//! A move is found where a watcher, another session or the model's own command names both places, or where the bytes of one
//! vanished file, and of no other, are found in a place that a look may reach: few, never a walk of the tree.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{LiveSession, Notice, places, stored_version};
use crate::context::forms;
use crate::context::log_layout::Texts;
use crate::error::{Error, Result};
use crate::object::{AsOf, FieldPath, Handle, Hash, ObjectId, ObjectType, Source, Timestamp};
use crate::session::{Cause, Event, FileEvent, LineMap, Subject};
use crate::settings::Layout;
use crate::source::{
    self, FileReading, FileStamp, FileState, IndexOutcome, Indexed, Latest, Location,
};
use crate::store::{Condition, Expected, MOVED_FROM, Order, Query, Test, Version};

/// Moves of one file, one after another, that other sessions may have stored.
const MAX_MOVES: usize = 16;
/// What keeps a file from being read whose file system is gone.
const NOT_MOUNTED: &str = "its file system is not mounted";
/// Files that may name one object as what they were.
const MAX_SUCCESSORS: u64 = 8;
/// Moved files of the store of which it is asked what they were, those written last first.
const MAX_MOVED: u64 = 1_000;

/// A file that is not found where it was.
struct Vanished {
    object: ObjectId,
    location: Location,
    /// The version that the session knows.
    version: Hash,
    source_hash: Option<Hash>,
    /// Number of its bytes.
    size: Option<u64>,
    stamp: Option<FileStamp>,
    /// When it was looked at last, or before.
    looked: Timestamp,
}

impl Vanished {
    /// Whether a file with this stamp is the vanished one itself, under another name.
    fn is_same_file(&self, stamp: Option<&FileStamp>) -> bool {
        let (Some(was), Some(now)) = (&self.stamp, stamp) else { return false };
        was.inode != 0 && was.inode == now.inode
    }

    /// Whether a file came to its place since this one was looked at.
    fn is_older_than(&self, location: &Location) -> bool {
        let open = location.open.as_deref();
        open.is_some_and(|open| source::appeared_since(open, self.looked))
    }
}

/// A file that may be a vanished one.
struct Candidate {
    location: Location,
    reading: FileReading,
    /// Whether it is the vanished one itself, under another name.
    is_same_file: bool,
    /// Whether the store knows already what it was.
    is_stored: bool,
}

impl LiveSession {
    /// Takes a move that a watcher saw, of a file or of a folder with files that the session knows, by the paths that the agent sees. What has become of it is
    /// stored when it returns; the model is told at its next call. Returns whether a file that is known was moved.
    ///
    /// # Errors
    /// What the store reports.
    pub fn file_moved(&mut self, from: &Path, to: &Path) -> Result<bool> {
        self.durably(|live| {
            let pair = (from.to_owned(), to.to_owned());
            let is_moved = live.moved_as_said(&[pair])?;
            if !live.staged.events.is_empty() {
                live.commit()?;
            }
            Ok(is_moved)
        })
    }

    /// Takes the moves that a shell command made.
    pub(super) fn moved_by_command(&mut self, command: &str, folder: &Path) -> Result<()> {
        let led_to = |path: PathBuf| self.agent_path(&self.location(&path));
        let pairs = source::renames(command, folder).into_iter();
        let pairs: Vec<_> = pairs.map(|(from, to)| (led_to(from), led_to(to))).collect();
        self.moved_as_said(&pairs).map(drop)
    }

    /// Looks whether known files went from the first to the second of two places.
    fn moved_as_said(&mut self, pairs: &[(PathBuf, PathBuf)]) -> Result<bool> {
        if pairs.is_empty() {
            return Ok(false);
        }
        let index = self.state.index();
        let is_named = |path: &str| pairs.iter().any(|(from, _)| Path::new(path).starts_with(from));
        let named = index.entries().iter().filter_map(|entry| match &entry.subject {
            Subject::File { .. } if is_named(entry.subject.agent_path()) => Some(entry.id.clone()),
            _ => None,
        });
        let named: Vec<ObjectId> = named.collect();
        let vanished = self.vanished(&named)?;
        let moved = self.follow(&vanished, pairs)?;
        Ok(moved > 0)
    }

    /// Lets those of the files that were moved go on as what they are now; returns the files, each as what it is.
    pub(super) fn settle_moves(&mut self, files: Vec<ObjectId>) -> Result<Vec<ObjectId>> {
        let vanished = self.vanished(&files)?;
        self.follow(&vanished, &[])?;
        let mut seen = HashSet::new();
        let mut files: Vec<ObjectId> =
            files.into_iter().map(|file| self.state.current(&file).clone()).collect();
        files.retain(|file| seen.insert(file.clone()));
        Ok(files)
    }

    /// As [`Self::settle_moves`], of files whose text need not stand; returns how many were moved.
    pub(super) fn settle_all_moves(&mut self, files: &[ObjectId]) -> Result<u64> {
        let vanished = self.vanished(files)?;
        self.follow(&vanished, &[])
    }

    /// Finds where vanished files went, and records it; returns how many were found.
    fn follow(&mut self, vanished: &[Vanished], said: &[(PathBuf, PathBuf)]) -> Result<u64> {
        let mut moved = 0;
        let mut places = places::Places::default();
        // Each question to the store goes over all its files: most are answered by one.
        let origins = if vanished.is_empty() { HashSet::new() } else { self.stored_origins()? };
        for file in vanished {
            let is_twin = |other: &&Vanished| {
                other.object != file.object
                    && other.source_hash.is_some()
                    && other.source_hash == file.source_hash
            };
            let found = match self.as_said(file, said)? {
                Some(found) => Some(found),
                None => match self.as_stored(file, &origins)? {
                    Some(found) => Some(found),
                    None if vanished.iter().any(|other| is_twin(&other)) => None,
                    None => self.by_bytes(file, &mut places)?,
                },
            };
            if let Some(found) = found {
                moved += u64::from(self.go_on_as(file, found)?);
            }
        }
        Ok(moved)
    }

    /// Those of the files that are confirmed not to be where they were.
    fn vanished(&self, files: &[ObjectId]) -> Result<Vec<Vanished>> {
        let mut vanished = Vec::new();
        for object in files {
            let Some(Subject::File { version, stamp, .. }) =
                self.state.index().get(object).map(|entry| &entry.subject)
            else {
                continue;
            };
            let Some(location) = self.location_of(object)? else { continue };
            if self.forgotten.contains(object) || !self.has_gone(object, &location)? {
                continue;
            }
            if stamp.is_none() && self.is_deleted(object, version)? {
                continue;
            }
            let (version, stamp) = (version.clone(), *stamp);
            let known = self.known_version(object, &version)?;
            let source_hash = known.and_then(|known| known.source_hash);
            let text = || self.text(object, &version).ok().map(|text| text.len() as u64);
            let size = stamp.map(|stamp| stamp.size).or_else(text);
            let object = object.clone();
            let looked = self.looked_at(&object);
            let file = Vanished { object, location, version, source_hash, size, stamp, looked };
            vanished.push(file);
        }
        Ok(vanished)
    }

    /// Whether a known file is confirmed not to be at its path: nothing is there, or a link to elsewhere.
    fn has_gone(&self, object: &ObjectId, location: &Location) -> Result<bool> {
        let Some(open) = &location.open else { return Ok(false) };
        if source::stamp(open).is_some() {
            let is_link = open.symlink_metadata().is_ok_and(|found| found.is_symlink());
            return Ok(is_link && self.led_to(location).id()? != *object);
        }
        let state = source::look(location, false, 0).state;
        Ok(state == FileState::Missing && self.is_mounted(object, location))
    }

    /// Whether the file system of a file is where it was, as far as is known.
    pub(super) fn is_mounted(&self, object: &ObjectId, location: &Location) -> bool {
        let subject = self.state.index().get(object).map(|entry| &entry.subject);
        match (subject, &location.open) {
            (Some(Subject::File { stamp: Some(stamp), .. }), Some(open)) => stamp.is_mounted(open),
            _ => true,
        }
    }

    /// Whether a version says that the file is deleted.
    pub(super) fn is_deleted(&self, object: &ObjectId, version: &Hash) -> Result<bool> {
        let known = self.known_version(object, version)?;
        Ok(known.is_some_and(|known| {
            known.fields.get("no_content").is_some_and(|reason| reason == "deleted")
        }))
    }

    /// The place that was said, where the file is there now.
    fn as_said(&self, file: &Vanished, said: &[(PathBuf, PathBuf)]) -> Result<Option<Candidate>> {
        for (from, to) in said {
            let was = self.agent_path(&file.location);
            let Ok(rest) = was.strip_prefix(from) else { continue };
            let to = if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) };
            let Some(found) = self.candidate(file, self.location(&to))? else { continue };
            let hash = source_hash(&found.reading.state);
            let is_equal = hash.is_some() && hash == file.source_hash.as_ref();
            if is_equal || found.is_same_file || file.is_older_than(&found.location) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What files of the store were before they moved, once or several times.
    fn stored_origins(&self) -> Result<HashSet<ObjectId>> {
        let origin =
            |version: &Version| version.fields.get(MOVED_FROM)?.as_str().map(ObjectId::new);
        let tx_id = Order { field: FieldPath::key("tx_id"), descending: true };
        let moved = Condition::Test(FieldPath::key(MOVED_FROM), Test::Exists);
        let query = Query { condition: Some(moved), order: vec![tx_id], ..Query::default() };
        let moved = self.files_found(&query.within(Some(ObjectType::File), Some(MAX_MOVED)))?;
        let mut wanted: Vec<ObjectId> = moved.iter().filter_map(origin).collect();
        let mut origins = HashSet::new();
        while let Some(id) = wanted.pop() {
            if origins.insert(id.clone()) {
                wanted.extend(self.store.history(&id)?.iter().filter_map(origin));
            }
        }
        Ok(origins)
    }

    /// The place that another session stored.
    fn as_stored(&self, file: &Vanished, origins: &HashSet<ObjectId>) -> Result<Option<Candidate>> {
        if !origins.contains(&file.object) {
            return Ok(None);
        }
        let mut object = file.object.clone();
        for _ in 0..MAX_MOVES {
            let Some(next) = self.successor(&object)? else { return Ok(None) };
            if let Some(Source::Filesystem { filesystem_id, path }) = &next.envelope.source
                && let known = self.namespace.known(filesystem_id, Path::new(path))
                && let Some(found) = self.candidate(file, self.led_to(&known))?
            {
                return Ok(Some(Candidate { is_stored: true, ..found }));
            }
            object = next.envelope.id;
        }
        Ok(None)
    }

    /// The newest file that the store knows as what an object is now: since then the object had no content.
    fn successor(&self, object: &ObjectId) -> Result<Option<Version>> {
        let mut own = self.store.history(object)?;
        own.retain(|version| version.envelope.id == *object);
        let gone = own.iter().take_while(|version| version.source_hash.is_none()).last();
        let last = own.iter().find(|version| version.source_hash.is_some());
        let last = last.map(|version| version.tx_id);
        let mut found = self.named_as_origin(object, AsOf::Latest)?;
        if let Some(gone) = gone {
            // It may have gone on from there.
            found.extend(self.named_as_origin(object, AsOf::Tx(gone.tx_id))?);
        }
        let mut newest = None;
        for version in found {
            let names = |version: &&Version| version.fields.get(MOVED_FROM) == Some(&json!(object));
            let versions = self.store.history(&version.envelope.id)?;
            let since = versions.iter().filter(names).map(|version| version.tx_id);
            let since = since.filter(|tx_id| Some(*tx_id) > last).min();
            if since.is_some() && newest.as_ref().is_none_or(|(tx_id, _)| *tx_id < since) {
                newest = Some((since, version));
            }
        }
        Ok(newest.map(|(_, version)| version))
    }

    /// Files that say at a time that they were an object before they were moved.
    fn named_as_origin(&self, object: &ObjectId, at: AsOf) -> Result<Vec<Version>> {
        let query = Query::parse(&format!("{MOVED_FROM} = \"{object}\""))?;
        let query = query.within(Some(ObjectType::File), Some(MAX_SUCCESSORS));
        self.files_found(&Query { at, ..query })
    }

    fn files_found(&self, query: &Query) -> Result<Vec<Version>> {
        match self.store.query(query) {
            // No file of the store was ever moved.
            Err(Error::UnknownField { .. }) => Ok(Vec::new()),
            found => found,
        }
    }

    /// The one place within reach that has the bytes of a vanished file.
    fn by_bytes(&self, file: &Vanished, places: &mut places::Places) -> Result<Option<Candidate>> {
        let (Some(hash), Some(size)) = (&file.source_hash, file.size.filter(|size| *size > 0))
        else {
            return Ok(None);
        };
        let mut met: Vec<Location> = places.beside(&file.location).to_vec();
        met.extend(self.met_by_path(places)?.iter().cloned());
        let mut found: Vec<Candidate> = Vec::new();
        let mut seen = HashSet::new();
        for location in met {
            if !seen.insert(location.clone()) || !places.may_be(&location, size) {
                continue;
            }
            let Some(candidate) = self.candidate(file, location)? else { continue };
            if source_hash(&candidate.reading.state) != Some(hash) {
                continue;
            }
            let is_new = file.is_older_than(&candidate.location)
                && !self.had_bytes(&candidate.location, hash, file.looked)?;
            if candidate.is_same_file || is_new {
                found.push(candidate);
            }
        }
        if found.iter().filter(|candidate| candidate.is_same_file).count() == 1 {
            found.retain(|candidate| candidate.is_same_file);
        }
        let is_one = found.len() == 1;
        Ok(found.pop().filter(|_| is_one))
    }

    /// Whether the store had a file with these bytes before a time: a copy that was there before. A version made since may be
    /// that of the file which was moved there, met before its old place was looked at.
    fn had_bytes(&self, location: &Location, hash: &Hash, looked: Timestamp) -> Result<bool> {
        let stored = self.store.get(&location.id()?, AsOf::Latest)?;
        Ok(stored.is_some_and(|stored| {
            stored.source_hash.as_ref() == Some(hash) && stored.system_time < looked
        }))
    }

    /// When a file was looked at last, or before: those that stand are before every call.
    fn looked_at(&self, object: &ObjectId) -> Timestamp {
        let stands = match self.settings.layout {
            Layout::Log => self.state.showings(object).next().is_some(),
            Layout::Pools => self.state.sets().is_active(object),
        };
        if stands { self.looked } else { self.looked_at_known }
    }

    /// Files that the session met by their paths alone.
    fn met_by_path<'a>(&self, places: &'a mut places::Places) -> Result<&'a [Location]> {
        if !places.knows_met() {
            let ids = places::met(&self.state);
            let found = ids.iter().map(|id| self.location_of(id)).collect::<Result<Vec<_>>>()?;
            places.remember_met(found.into_iter().flatten().collect());
        }
        Ok(places.met())
    }

    /// The regular file at a place, read; `None` where there is none, or where it cannot be one that was moved.
    fn candidate(&self, file: &Vanished, location: Location) -> Result<Option<Candidate>> {
        let Some(open) = location.open.clone() else { return Ok(None) };
        let id = location.id()?;
        if id == file.object || self.forgotten.contains(&id) || location.path.to_str().is_none() {
            return Ok(None);
        }
        let Some(stamp) = source::stamp(&open) else { return Ok(None) };
        let reading = self.look_again(&location);
        let is_same_file = file.is_same_file(Some(&stamp));
        Ok(Some(Candidate { location, reading, is_same_file, is_stored: false }))
    }

    /// Lets a vanished file go on as the one that was found; returns whether it could.
    fn go_on_as(&mut self, file: &Vanished, found: Candidate) -> Result<bool> {
        let Candidate { location, reading, is_stored, .. } = found;
        let to = location.id()?;
        let Some(found) = source::index(&location, reading, self.latest(&to)?)? else {
            return Ok(false);
        };
        let Indexed { envelope, mut payload, mut version, outcome, stamp } = found;
        let from = json!(file.object);
        let is_known = is_stored || payload.fields.get(MOVED_FROM) == Some(&from);
        if !is_known {
            payload.fields.insert(MOVED_FROM.to_owned(), from);
            version = payload.content_hash(None)?;
        }
        if !is_known || outcome != IndexOutcome::Unchanged {
            self.stage_gone(file)?;
            self.staged.objects.push((envelope, payload.clone(), Expected::Any));
        }
        for nickname in self.store.nicknames(&file.object)? {
            self.staged.nicknames.push((nickname, to.clone()));
        }
        let text = payload.content;
        let old = self.text(&file.object, &file.version).ok();
        if let Some(text) = &text {
            self.remember_text(&to, &version, text.as_str().into());
        }
        let is_same = file.source_hash.is_some() && file.source_hash == payload.source_hash;
        let same = is_same.then(|| version.clone());
        self.record(Event::Moved { from: file.object.clone(), to: to.clone(), same });
        self.hand_over_anew();
        let moved = match (&old, &text) {
            (Some(old), Some(new)) if !is_same => Some(LineMap::between(old, new)),
            _ => None,
        };
        self.record(Event::File(FileEvent {
            lines: text.map(|text| text.split('\n').count() as u64),
            stamp,
            moved,
            ..self.met(to, &location, version, Cause::Checked)
        }));
        Ok(true)
    }

    /// The version without content of a file at its old place, unless there is one.
    fn stage_gone(&mut self, file: &Vanished) -> Result<()> {
        let reading = FileReading { state: FileState::Missing, stamp: None };
        let found = source::index(&file.location, reading, self.latest(&file.object)?)?;
        if let Some(found) = found.filter(|found| found.outcome != IndexOutcome::Unchanged) {
            self.staged.objects.push((found.envelope, found.payload, Expected::Any));
        }
        Ok(())
    }

    /// A version that the session knows of an object, staged or stored.
    fn known_version(&self, object: &ObjectId, version: &Hash) -> Result<Option<Latest>> {
        for (envelope, payload, _) in self.staged.objects.iter().rev() {
            if envelope.id == *object && payload.content_hash(None)? == *version {
                return Latest::staged(payload).map(Some);
            }
        }
        match self.owned_version(object, version) {
            Err(Error::NotFound { .. }) => Ok(None),
            found => found.map(|found| Some(Latest::from(found))),
        }
    }

    /// A stored version of an object, or of what it was before it was moved.
    pub(super) fn owned_version(&self, object: &ObjectId, version: &Hash) -> Result<Version> {
        let mut found = stored_version(&self.store, object, version);
        for origin in self.state.origins(object).iter().rev() {
            if !matches!(found, Err(Error::NotFound { .. })) {
                break;
            }
            found = stored_version(&self.store, origin, version);
        }
        found
    }

    /// The object that a version known of a file belongs to: the file's own, or one that it was before it was moved.
    pub(super) fn owner_of(&self, object: &ObjectId, version: &Hash) -> Result<ObjectId> {
        for (envelope, payload, _) in self.staged.objects.iter().rev() {
            let is_one =
                envelope.id == *object || self.state.origins(object).contains(&envelope.id);
            if is_one && payload.content_hash(None)? == *version {
                return Ok(envelope.id.clone());
            }
        }
        match self.owned_version(object, version) {
            Ok(found) => Ok(found.envelope.id),
            Err(Error::NotFound { .. }) => Ok(object.clone()),
            Err(error) => Err(error),
        }
    }

    /// Takes a file out of reach, once; what the model is told of it.
    pub(super) fn out_of_reach(
        &mut self,
        file: &ObjectId,
        location: &Location,
        notices: &mut Vec<Notice>,
    ) -> Option<String> {
        let reason = self.why_out_of_reach(file, location)?;
        if self.state.orphaned(file).is_some() {
            return None;
        }
        self.record(Event::Orphaned { object: file.clone(), reason: reason.clone() });
        let (handle, path) = self.shown_file_of(file)?;
        let line = forms::out_of_reach_line(handle, &path, self.seen_in(file));
        notices.push(Notice::FileOrphaned { handle: handle.to_string(), path, reason });
        Some(line)
    }

    /// Takes a file back into reach; what the model is told of one that is as it was.
    pub(super) fn back_in_reach(
        &mut self,
        file: &ObjectId,
        notices: &mut Vec<Notice>,
    ) -> Option<String> {
        self.state.orphaned(file)?;
        self.record(Event::Resumed { object: file.clone() });
        let (handle, path) = self.shown_file_of(file)?;
        let line = forms::within_reach_line(handle, &path, self.seen_in(file));
        notices.push(Notice::FileResumed { handle: handle.to_string(), path });
        Some(line)
    }

    /// Why a file can neither be read nor is known to be deleted; `None` where it is not so.
    pub(super) fn why_out_of_reach(&self, file: &ObjectId, location: &Location) -> Option<String> {
        if self.forgotten.contains(file) || location.open.is_none() {
            return None;
        }
        let unmounted = || (!self.is_mounted(file, location)).then(|| NOT_MOUNTED.to_owned());
        Self::obstacle(location).or_else(unmounted)
    }

    fn shown_file_of(&self, file: &ObjectId) -> Option<(Handle, String)> {
        let entry = self.state.index().get(file)?;
        match &entry.subject {
            file @ Subject::File { .. } => {
                Some((entry.handle, self.state.shown_path(file.agent_path()).to_owned()))
            }
            Subject::Toolcall { .. } => None,
        }
    }
}

/// SHA-256 of the bytes that were found, where they were read.
fn source_hash(state: &FileState) -> Option<&Hash> {
    match state {
        FileState::Text { source_hash, .. } | FileState::Binary { source_hash, .. } => {
            Some(source_hash)
        }
        _ => None,
    }
}
