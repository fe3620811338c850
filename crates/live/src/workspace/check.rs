//! The one way to find out what happened to known files: compare their stamps, follow those that
//! moved, read those that differ, record the findings.
//!
//! `refresh`, `seen_files` and `reconcile` choose the files and decide what to report. Must not
//! tell the model anything.

use files::looks;
use std::collections::HashSet;
use std::path::PathBuf;

use super::finding::Finding;
use super::notes::is_announced;
use crate::LiveSession;
use crate::journal::Journal;
use base::error::Result;
use base::object::{FileStamp, ObjectId};
use config::Layout;
use session::{Cause, Subject};
use source::{FileReading, Location};

/// Progress of a check of files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckProgress {
    /// Files looked at.
    pub files: u64,
    /// Total number of files.
    pub of: u64,
}

/// A known file that this process can look at.
struct KnownFile {
    object: ObjectId,
    open: PathBuf,
    expected: Expected,
    /// Whether the file is read even if it is as expected.
    is_due: bool,
}

/// What should be at the place of an unchanged file.
enum Expected {
    /// A file with this stamp. Without a stamp, the file may have changed while it was read.
    Stamp(Option<FileStamp>),
    /// Any file: only its path is known.
    File,
    /// No file: it was deleted.
    Nothing,
}

impl KnownFile {
    fn differs(&self) -> bool {
        let now = source::stamp(&self.open);
        let is_as_expected = match self.expected {
            Expected::Stamp(stamp) => now.is_some() && now == stamp,
            Expected::File => now.is_some(),
            Expected::Nothing => now.is_none(),
        };
        self.is_due || !is_as_expected
    }
}

impl LiveSession {
    /// Compares the stamps of known files, and follows those that moved. Returns the files to read:
    /// those that differ, and those whose text stands in the window while the model was last told
    /// something else; a file that moved is listed as the object that it is now. Files that this
    /// process cannot open are left out. `progress` is called from
    /// several threads.
    pub(super) fn find_differing(
        &mut self,
        files: &[ObjectId],
        progress: &(dyn Fn(CheckProgress) + Sync),
    ) -> Result<Vec<ObjectId>> {
        let known = self.known_files(files)?;
        let of = known.len() as u64;
        let on_progress = |files: usize| progress(CheckProgress { files: files as u64, of });
        let files: Vec<ObjectId> = known.iter().map(|file| file.object.clone()).collect();
        let differs = looks::each(known, &on_progress, KnownFile::differs);
        // A file that did not answer may have changed.
        let differing =
            files.into_iter().zip(differs).filter(|(_, differs)| differs.unwrap_or(true));
        let differing: Vec<ObjectId> = differing.map(|(file, _)| file).collect();
        self.follow_moves(&differing)?;
        let mut seen = HashSet::new();
        let now = differing.iter().map(|file| self.state().files().current(file));
        Ok(now.filter(|file| seen.insert(*file)).cloned().collect())
    }

    /// Reads known files and records what happened to them. Returns a finding for each, in the
    /// order of the files.
    pub(super) fn read_known_files(
        &mut self,
        files: &[ObjectId],
        cause: Cause,
    ) -> Result<Vec<Finding>> {
        let places = files.iter().map(|file| self.place_of(file));
        let places = places.collect::<Result<Vec<_>>>()?;
        // To tell the model of a change, the stamp is enough.
        let is_check = matches!(cause, Cause::Changed | Cause::Checked);
        let by_path = files.iter().map(|file| is_check && is_by_path(&self.journal, file));
        let by_path: Vec<bool> = by_path.collect();
        let asked = places.iter().zip(&by_path);
        let asked: Vec<_> = asked.map(|(place, by)| place.clone().filter(|_| !by)).collect();
        let readings = self.disk.read_all(&asked);
        let mut findings = Vec::new();
        for (((file, place), reading), by_path) in
            files.iter().zip(places).zip(readings).zip(by_path)
        {
            let reading = match &place {
                Some((location, true)) if by_path => self.disk.look(location),
                _ => reading,
            };
            findings.push(match place {
                Some((location, _)) => self.record_reading(file, &location, reading, cause)?,
                None => Finding::Nothing,
            });
        }
        Ok(findings)
    }

    /// Where a known file is, and whether its path still leads there: a link in its place is not
    /// the file.
    fn place_of(&self, file: &ObjectId) -> Result<Option<(Location, bool)>> {
        let Some(location) = self.location_of(file)? else { return Ok(None) };
        let is_there = self.disk.led_to(&location).id()? == *file;
        Ok(Some((location, is_there)))
    }

    fn record_reading(
        &mut self,
        file: &ObjectId,
        location: &Location,
        reading: FileReading,
        cause: Cause,
    ) -> Result<Finding> {
        if let Some(reason) = self.why_out_of_reach(file, location, &reading.state) {
            return Ok(Finding::OutOfReach(reason));
        }
        let recorded = self.index_reading(location, reading, cause, None)?;
        Ok(recorded.map_or(Finding::Nothing, |(_, now)| Finding::Version(now)))
    }

    fn known_files(&self, files: &[ObjectId]) -> Result<Vec<KnownFile>> {
        let mut known = Vec::new();
        for file in files {
            let Some(Subject::File { version, stamp, lines, .. }) = self.state().subject(file)
            else {
                continue;
            };
            let is_out = self.state().files().orphaned(file).is_some();
            let location = self.location_of(file)?;
            let Some(open) = location.and_then(|location| location.open) else { continue };
            let expected = if lines.is_some() || stamp.is_some() {
                Expected::Stamp(*stamp)
            } else {
                match self.journal.no_content(file, version).as_deref() {
                    Some("not_read") => Expected::File,
                    Some("deleted") => Expected::Nothing,
                    // The store holds no reason of it any more, and its text is not read again.
                    None if self.journal.is_forgotten(file)? => continue,
                    _ => Expected::Stamp(None),
                }
            };
            let is_pools = self.options.settings.layout == Layout::Pools;
            let is_open =
                if is_pools { !is_announced(&self.journal, file, version) } else { is_out };
            let is_due = is_open && self.stands(file);
            known.push(KnownFile { object: file.clone(), open, expected, is_due });
        }
        Ok(known)
    }

    /// Whether the model has the content of a file in front of it: `refresh` checks such files
    /// before every call.
    pub(super) fn stands(&self, file: &ObjectId) -> bool {
        match self.options.settings.layout {
            Layout::Log => self.state().stands(file),
            Layout::Pools => self.state().sets().is_active(file),
        }
    }
}

/// Whether a file is known by path, and by the stamp that it had when a command showed it.
fn is_by_path(journal: &Journal, file: &ObjectId) -> bool {
    match journal.state().subject(file) {
        Some(Subject::File { version, lines: None, stamp: Some(_), .. }) => {
            journal.no_content(file, version).as_deref() == Some("not_read")
        }
        _ => false,
    }
}
