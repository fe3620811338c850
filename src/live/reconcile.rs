//! What became of the files of a session while it was paused (SSOT 3.6): every known file within reach is looked at, in
//! parallel, before the first call of a session that is gone on with. By its stamp first; only what changed is read.
//!
//! What is found waits to be stored with the next call, so that a session which is merely opened stays as it is. The model is
//! told by the notes that follow, of files whose text stands.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Files, LiveSession};
use crate::error::Result;
use crate::object::{AsOf, Hash, ObjectId, Payload, Timestamp, file_fields, file_type};
use crate::session::{Cause, Event, Subject};
use crate::source::{self, FileReading, FileStamp, FileState, Location};

/// Threads that look at files.
const THREADS: usize = 4;
/// Files that are looked at before what was found of them is taken in.
const BATCH_FILES: usize = 512;
/// Bytes of text that may wait for the next call; beyond them it is stored at once.
const WAITING_BYTES: usize = 64 << 20;

/// Where the check of a session's files stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// There is none to make.
    No,
    /// It is yet to be made.
    Yes,
    /// It was made, and what it found waits to be stored.
    Staged,
}

impl Due {
    /// What was found is stored.
    pub(super) fn settle(&mut self) {
        if *self == Self::Staged {
            *self = Self::No;
        }
    }

    /// What was found and not stored is lost.
    pub(super) fn drop_staged(&mut self) {
        if *self == Self::Staged {
            *self = Self::Yes;
        }
    }
}

/// How far a check of a session's files is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files looked at.
    pub files: u64,
    /// Files in all.
    pub of: u64,
}

/// What a check of a session's files found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Files within reach of this process.
    pub files: u64,
    /// Files with another text or other bytes.
    pub changed: u64,
    /// Files that were moved.
    pub moved: u64,
    /// Files that are gone.
    pub deleted: u64,
    /// Files that can neither be looked at nor are known to be gone.
    pub orphaned: u64,
}

/// A known file.
struct KnownFile {
    object: ObjectId,
    location: Location,
    open: PathBuf,
    version: Hash,
    stamp: Option<FileStamp>,
    /// Whether the session met its path alone.
    is_by_path: bool,
}

impl LiveSession {
    /// Checks every known file within reach: those that changed get a version, those that are gone one without content, those
    /// that were moved go on as what they are now. `progress` hears from several threads how far it is.
    ///
    /// A session that is gone on with does this by itself before its first call.
    ///
    /// # Errors
    /// What the store reports.
    pub fn reconcile(&mut self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Reconciled> {
        self.refresh_if_stale()?;
        let result = self.check_files(progress);
        self.stale |= result.is_err();
        result
    }

    /// As [`Self::reconcile`], where that is yet to be done; `None` where it is not.
    ///
    /// # Errors
    /// What the store reports.
    pub fn reconcile_due(
        &mut self,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Option<Reconciled>> {
        self.refresh_if_stale()?;
        if self.reconcile == Due::Yes { self.reconcile(progress).map(Some) } else { Ok(None) }
    }

    /// Whether the check is yet to be made.
    pub fn is_reconcile_due(&self) -> bool {
        self.reconcile == Due::Yes
    }

    /// Plans the check where the session knows files from before.
    pub(super) fn plan_to_reconcile(&mut self) -> Result<()> {
        if self.options.files != Files::Elsewhere && !self.state.index().entries().is_empty() {
            self.reconcile = Due::Yes;
            let written = self.store.get(&self.ids.session, AsOf::Latest)?;
            self.looked = written.map_or(Timestamp(0), |version| version.system_time);
            self.looked_at_known = self.looked;
        }
        Ok(())
    }

    /// The check before the first call, if nobody made it since the session was opened.
    pub(super) fn reconcile_if_due(&mut self) -> Result<()> {
        if self.reconcile == Due::Yes {
            self.check_files(&|_| {})?;
        }
        Ok(())
    }

    fn check_files(&mut self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Reconciled> {
        let began = self.store.now();
        let known = self.known_files()?;
        let of = known.len() as u64;
        let mut found = Reconciled { files: of, ..Reconciled::default() };
        let told = |files: usize| progress(Progress { files: files as u64, of });
        let differs = in_parallel(&known, &told, |file| {
            let now = source::stamp(&file.open);
            let is_same =
                if file.is_by_path { now.is_some() } else { now.is_some() && now == file.stamp };
            !is_same
        });
        let differing = known.into_iter().zip(differs).filter(|(_, differs)| *differs);
        let differing: Vec<KnownFile> = differing.map(|(file, _)| file).collect();
        let before = self.staged.events.len();
        self.take_in(&differing, &mut found)?;
        (self.looked, self.looked_at_known) = (began, began);
        self.reconcile = if self.staged.events.len() > before { Due::Staged } else { Due::No };
        Ok(found)
    }

    /// The known files that this process can look at.
    fn known_files(&self) -> Result<Vec<KnownFile>> {
        let mut known = Vec::new();
        let mut by_path: Vec<(String, Hash)> = Vec::new();
        for entry in self.state.index().entries() {
            let Subject::File { path, version, stamp, lines, .. } = &entry.subject else {
                continue;
            };
            let Some(location) = self.location_of(&entry.id)? else { continue };
            let Some(open) = location.open.clone() else { continue };
            if self.forgotten.contains(&entry.id) || !self.state.index().is_shown(entry) {
                continue;
            }
            let is_by_path =
                lines.is_none() && stamp.is_none() && *version == path_version(path, &mut by_path)?;
            known.push(KnownFile {
                object: entry.id.clone(),
                location,
                open,
                version: version.clone(),
                stamp: *stamp,
                is_by_path,
            });
        }
        Ok(known)
    }

    /// Looks closely at files that differ, and records what they are now.
    fn take_in(&mut self, differing: &[KnownFile], found: &mut Reconciled) -> Result<()> {
        let ids: Vec<ObjectId> = differing.iter().map(|file| file.object.clone()).collect();
        found.moved = self.settle_all_moves(&ids)?;
        let standing: Vec<ObjectId> = self.standing_files();
        for batch in differing.chunks(BATCH_FILES) {
            let batch: Vec<(&KnownFile, Location, bool)> = batch
                .iter()
                .filter(|file| self.state.index().get(&file.object).is_some())
                .map(|file| {
                    let location = self.led_to(&file.location);
                    let is_excluded = self.is_excluded_at(&location);
                    (file, location, is_excluded)
                })
                .collect();
            let max = self.settings.max_text_bytes;
            let readings = in_parallel(&batch, &|_| {}, |(_, location, is_excluded)| {
                source::look(location, *is_excluded, max)
            });
            for ((file, location, _), reading) in batch.iter().zip(readings) {
                self.take_reading(file, location, reading, &standing, found)?;
            }
            self.store_what_waits()?;
        }
        Ok(())
    }

    fn take_reading(
        &mut self,
        file: &KnownFile,
        location: &Location,
        reading: FileReading,
        standing: &[ObjectId],
        found: &mut Reconciled,
    ) -> Result<()> {
        let is_other = location.id()? != file.object;
        let is_gone = is_other || reading.state == FileState::Missing;
        let is_out = match &reading.state {
            _ if is_other => None,
            FileState::Unreadable { reason } => Some(reason.clone()),
            _ => self.why_unmounted_or_other(file, &reading),
        };
        if let Some(reason) = is_out {
            found.orphaned += 1;
            // Of a file whose text stands the look before the call says it.
            if self.state.orphaned(&file.object).is_none() && !standing.contains(&file.object) {
                self.record(Event::Orphaned { object: file.object.clone(), reason });
            }
            return Ok(());
        }
        let reading =
            if is_other { FileReading { state: FileState::Missing, stamp: None } } else { reading };
        if is_gone && self.is_deleted(&file.object, &file.version)? {
            return Ok(());
        }
        let Some(location) = self.location_of(&file.object)? else { return Ok(()) };
        let stamp = reading.stamp;
        let latest = self.latest(&file.object)?;
        let now = source::index(&location, reading.clone(), latest)?.map(|indexed| indexed.version);
        let is_same = now.as_ref() == Some(&file.version);
        if is_same && (stamp.is_none() || stamp == file.stamp) {
            return Ok(());
        }
        self.index_at(&location, reading, Cause::Checked, None)?;
        if self.state.orphaned(&file.object).is_some() && !standing.contains(&file.object) {
            self.record(Event::Resumed { object: file.object.clone() });
        }
        found.deleted += u64::from(is_gone);
        found.changed += u64::from(!is_gone && !is_same);
        Ok(())
    }

    /// Why a file that was not unreadable is out of reach all the same.
    fn why_unmounted_or_other(&self, file: &KnownFile, reading: &FileReading) -> Option<String> {
        match reading.state {
            FileState::NotAFile | FileState::Missing => {
                self.why_out_of_reach(&file.object, &file.location)
            }
            _ => None,
        }
    }

    /// Stores what was found where it is too much to wait for the next call.
    fn store_what_waits(&mut self) -> Result<()> {
        let text = |payload: &Payload| payload.content.as_ref().map_or(0, String::len);
        let waiting: usize = self.staged.objects.iter().map(|(_, payload, _)| text(payload)).sum();
        if waiting > WAITING_BYTES { self.commit() } else { Ok(()) }
    }
}

/// The version of a file that was met by its path alone, remembered by type.
fn path_version(path: &str, known: &mut Vec<(String, Hash)>) -> Result<Hash> {
    let kind = file_type(path);
    if let Some((_, version)) = known.iter().find(|(known, _)| *known == kind) {
        return Ok(version.clone());
    }
    let mut fields = file_fields(path, None);
    fields.insert("no_content".into(), serde_json::json!("not_read"));
    let version = Payload { fields, ..Payload::default() }.content_hash(None)?;
    known.push((kind.to_owned(), version.clone()));
    Ok(version)
}

/// Does the same for every item, on a few threads; answers in the order of the items. `told` hears how many are done.
fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    told: &(dyn Fn(usize) + Sync),
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    /// Items that a thread takes at a time.
    const SHARE: usize = 64;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).clamp(2, THREADS);
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let run = || {
        let mut found = Vec::new();
        loop {
            let from = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(share) =
                items.get(from..(from + SHARE).min(items.len())).filter(|s| !s.is_empty())
            else {
                return found;
            };
            found.push((from, share.iter().map(&work).collect::<Vec<R>>()));
            told(done.fetch_add(share.len(), Ordering::Relaxed) + share.len());
        }
    };
    if items.len() <= SHARE {
        return run().into_iter().flat_map(|(_, found)| found).collect();
    }
    let mut found: Vec<(usize, Vec<R>)> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        joined
            .flat_map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    found.sort_by_key(|(from, _)| *from);
    found.into_iter().flat_map(|(_, found)| found).collect()
}
