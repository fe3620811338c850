//! The check of all known files that follows a pause, before the first call: what changed, what moved, what is gone. By their
//! stamps first, in parallel; only what differs is read.
//!
//! What it finds waits to be stored with the next call, so that a session which is merely opened stays as it is. The model is
//! told by the notes of that call, of files whose text stands.

use std::path::PathBuf;

use serde_json::json;

use super::parallel::in_parallel;
use super::reach::{is_deleted, why_out_of_reach};
use super::refresh::standing_files;
use super::{Files, Looked, Workspace};
use crate::error::Result;
use crate::live::journal::Journal;
use crate::object::{AsOf, Hash, ObjectId, Payload, Timestamp, file_fields, file_type};
use crate::session::{Cause, Event, Subject};
use crate::source::{self, FileReading, FileStamp, FileState, Location};

/// Files that are read before they are taken in.
const BATCH_FILES: usize = 512;
/// Bytes of text that may wait for the next call; beyond them a check is stored at once.
pub(in crate::live) const MAX_STAGED_TEXT_BYTES: usize = 64 << 20;

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
    /// Takes in that what is staged was stored.
    pub(super) fn staged_is_stored(&mut self) {
        if *self == Self::Staged {
            *self = Self::No;
        }
    }

    /// Takes in that what is staged was given up.
    pub(super) fn staged_is_lost(&mut self) {
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
#[derive(Debug)]
struct KnownFile {
    object: ObjectId,
    location: Location,
    open: PathBuf,
    version: Hash,
    stamp: Option<FileStamp>,
    /// Whether the session met its path alone.
    is_by_path: bool,
}

/// A check of all known files, at work: those that differ are taken in by batches, so that much text can be stored between.
#[derive(Debug)]
pub(in crate::live) struct Check {
    began: Timestamp,
    /// Files that differ and were not taken in yet.
    differing: std::vec::IntoIter<KnownFile>,
    /// Files whose text stands in the window.
    standing: Vec<ObjectId>,
    /// Events that were staged before.
    staged_before: usize,
    found: Reconciled,
}

impl Workspace {
    /// Whether the check of all known files is yet to be made.
    pub(in crate::live) fn is_check_due(&self) -> bool {
        self.reconcile == Due::Yes
    }

    /// Whether what the check found waits to be stored. It need not be: the next check finds it again.
    pub(in crate::live) fn is_check_staged(&self) -> bool {
        self.reconcile == Due::Staged
    }

    /// Plans the check, where the session knows files from before.
    pub(in crate::live) fn plan_check(&mut self, journal: &Journal) -> Result<()> {
        if self.options.files != Files::Elsewhere && !journal.state().index().entries().is_empty() {
            self.reconcile = Due::Yes;
            let written = journal.store().get(journal.session_id(), AsOf::Latest)?;
            let written = written.map_or(Timestamp(0), |version| version.system_time);
            self.looked = Looked::all_at(written);
        }
        Ok(())
    }

    /// Starts a check of all known files: looks at their stamps and follows those that were moved. The rest is done by
    /// [`Self::check_batch`] and [`Self::finish_check`]. `progress` is called from several threads.
    ///
    /// # Errors
    /// What the store reports.
    pub(in crate::live) fn start_check(
        &mut self,
        journal: &mut Journal,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Check> {
        let began = journal.store().now();
        let known = self.known_files(journal)?;
        let of = known.len() as u64;
        let on_progress = |files: usize| progress(Progress { files: files as u64, of });
        let differs = in_parallel(&known, &on_progress, |file| {
            let now = source::stamp(&file.open);
            let is_same =
                if file.is_by_path { now.is_some() } else { now.is_some() && now == file.stamp };
            !is_same
        });
        let differing = known.into_iter().zip(differs).filter(|(_, differs)| *differs);
        let differing: Vec<KnownFile> = differing.map(|(file, _)| file).collect();
        let staged_before = journal.staged_events();
        let ids: Vec<ObjectId> = differing.iter().map(|file| file.object.clone()).collect();
        let moved = self.count_moves(journal, &ids)?;
        Ok(Check {
            began,
            differing: differing.into_iter(),
            standing: standing_files(journal),
            staged_before,
            found: Reconciled { files: of, moved, ..Reconciled::default() },
        })
    }

    /// Takes in the next files that differ; returns whether there were any. The journal may be committed in between.
    ///
    /// # Errors
    /// What the store reports.
    pub(in crate::live) fn check_batch(
        &self,
        journal: &mut Journal,
        check: &mut Check,
    ) -> Result<bool> {
        let batch: Vec<KnownFile> = check.differing.by_ref().take(BATCH_FILES).collect();
        if batch.is_empty() {
            return Ok(false);
        }
        let index = journal.state().index();
        let batch: Vec<(&KnownFile, Location, bool)> = batch
            .iter()
            .filter(|file| index.get(&file.object).is_some())
            .map(|file| {
                let location = self.disk.led_to(&file.location);
                let is_excluded = self.disk.is_excluded_at(&location);
                (file, location, is_excluded)
            })
            .collect();
        let max = self.options.settings.max_text_bytes;
        let readings = in_parallel(&batch, &|_| {}, |(_, location, is_excluded)| {
            source::look(location, *is_excluded, max)
        });
        for ((file, location, _), reading) in batch.iter().zip(readings) {
            self.take_reading(journal, check, file, location, reading)?;
        }
        Ok(true)
    }

    /// Ends a check; returns what it found.
    pub(in crate::live) fn finish_check(&mut self, journal: &Journal, check: Check) -> Reconciled {
        self.looked = Looked::all_at(check.began);
        let has_staged = journal.staged_events() > check.staged_before;
        self.reconcile = if has_staged { Due::Staged } else { Due::No };
        check.found
    }

    /// The known files that this process can look at.
    fn known_files(&self, journal: &Journal) -> Result<Vec<KnownFile>> {
        let mut known = Vec::new();
        let mut by_path: Vec<(String, Hash)> = Vec::new();
        let index = journal.state().index();
        for entry in index.entries() {
            let Subject::File { path, version, stamp, lines, .. } = &entry.subject else {
                continue;
            };
            let Some(location) = self.disk.location_of(journal, &entry.id)? else { continue };
            let Some(open) = location.open.clone() else { continue };
            if journal.was_refused(&entry.id) || !index.is_shown(entry) {
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

    /// Records what became of one file.
    fn take_reading(
        &self,
        journal: &mut Journal,
        check: &mut Check,
        file: &KnownFile,
        location: &Location,
        reading: FileReading,
    ) -> Result<()> {
        let is_standing = check.standing.contains(&file.object);
        let found = &mut check.found;
        let is_other = location.id()? != file.object;
        let is_gone = is_other || reading.state == FileState::Missing;
        let is_out = match &reading.state {
            _ if is_other => None,
            FileState::Unreadable { reason } => Some(reason.clone()),
            FileState::NotAFile | FileState::Missing => {
                why_out_of_reach(journal, &file.object, &file.location)
            }
            _ => None,
        };
        if let Some(reason) = is_out {
            found.orphaned += 1;
            // Of a file whose text stands the look before the call says it.
            if journal.state().orphaned(&file.object).is_none() && !is_standing {
                journal.record(Event::Orphaned { object: file.object.clone(), reason });
            }
            return Ok(());
        }
        let reading =
            if is_other { FileReading { state: FileState::Missing, stamp: None } } else { reading };
        if is_gone && is_deleted(journal, &file.object, &file.version)? {
            return Ok(());
        }
        let Some(location) = self.disk.location_of(journal, &file.object)? else { return Ok(()) };
        let stamp = reading.stamp;
        let latest = journal.latest(&file.object)?;
        let now = source::index(&location, reading.clone(), latest)?.map(|indexed| indexed.version);
        let is_same = now.as_ref() == Some(&file.version);
        if is_same && (stamp.is_none() || stamp == file.stamp) {
            return Ok(());
        }
        self.index_reading(journal, &location, reading, Cause::Checked, None)?;
        if journal.state().orphaned(&file.object).is_some() && !is_standing {
            journal.record(Event::Resumed { object: file.object.clone() });
        }
        found.deleted += u64::from(is_gone);
        found.changed += u64::from(!is_gone && !is_same);
        Ok(())
    }
}

/// The version of a file that was met by its path alone, remembered by type.
fn path_version(path: &str, known: &mut Vec<(String, Hash)>) -> Result<Hash> {
    let kind = file_type(path);
    if let Some((_, version)) = known.iter().find(|(known, _)| *known == kind) {
        return Ok(version.clone());
    }
    let mut fields = file_fields(path, None);
    fields.insert("no_content".into(), json!("not_read"));
    let version = Payload { fields, ..Payload::default() }.content_hash(None)?;
    known.push((kind.to_owned(), version.clone()));
    Ok(version)
}
