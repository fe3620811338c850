//! Imports an archive: checks everything, then writes in chunks. Must not decide what is written;
//! [`super::merge`] does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::archive_lines::ArchiveLines;
use super::incoming::{Arrivals, Incoming};
use super::merge::Merge;
use super::standing::{Chunk, Refusal};
use super::{
    ImportOptions, Imported, LeftOut, OnProgress, PartedSession, Progress, STANDARD, Stage, reader,
};
use crate::{Change, Op, Put, Receipt, Replacement, Store, rules};
use base::error::{Error, Result};
use base::object::{ObjectId, Timestamp, TxId};
use files::private;

/// How often a chunk is replanned because others wrote to its objects meanwhile.
const MAX_CONFLICTS: u32 = 1_000;

/// Objects whose latest version is corrected in one step, after the last chunk.
const SETTLED_AT_ONCE: usize = 256;

/// Objects left out whose path is looked up, as many as the command line shows.
const MAX_PATHS: usize = 50;

impl Store {
    /// Imports the versions that the store lacks. Nothing is written before the whole archive is
    /// checked. Chunks of whole transactions are then written, each atomically; an interrupted
    /// import can be run again.
    ///
    /// Versions keep their origin and get new transactions. Afterwards the latest version of an
    /// object is the one with the latest origin time; of a session, the longest; of a chat, the one
    /// that belongs to its session's latest version. A session that continued differently here and
    /// in the archive stays as it is, and the archive's becomes a separate session.
    ///
    /// `input`: plain or zstd. `path`: used in error messages.
    ///
    /// # Errors
    /// `MALFORMED_ARCHIVE` with the line and `ARCHIVE_EXPANDS`, before anything is written; `FILE`;
    /// those of [`super::super::Backend::commit_all`]; `CONFLICT` if others kept changing an object
    /// of the archive.
    pub fn import_archive(
        &self,
        input: Box<dyn BufRead + '_>,
        path: &Path,
        options: &ImportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Imported> {
        keep_no_large_blocks();
        let lines = ArchiveLines::new(input, path, options.max_line_bytes)?;
        let mut archive = reader::read(lines, self.now(), &options.is_excluded, progress)?;
        let report = Imported {
            dry_run: options.dry_run,
            store_id: archive.header.store_id.clone(),
            bytes: archive.bytes,
            unknown_lines: archive.unknown_lines.clone(),
            ..Imported::default()
        };
        let arrivals = std::mem::take(&mut archive.arrivals);
        Import::new(self, options, &mut archive, arrivals, report).run(progress)
    }

    /// Reads an archive from a file; `-` is standard input.
    ///
    /// # Errors
    /// As [`Self::import_archive`].
    pub fn import_archive_file(
        &self,
        path: &Path,
        options: &ImportOptions,
        progress: OnProgress<'_>,
    ) -> Result<Imported> {
        let fail = |source| Error::File { act: "read", path: path.to_owned(), source };
        if path.as_os_str() == STANDARD {
            let input = Box::new(std::io::stdin().lock());
            return self.import_archive(input, path, options, progress);
        }
        let input = Box::new(BufReader::new(private::open_regular(path).map_err(fail)?));
        self.import_archive(input, path, options, progress)
    }
}

/// Memory blocks of at least this many bytes go back to the system when freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK_BYTES: libc::c_int = 4 << 20;

/// Makes large memory blocks go back to the system when they are freed. Otherwise glibc takes the
/// first such block for the usual size, and from then on keeps such blocks that a thread frees for
/// as long as the program runs (mallopt(3), `M_MMAP_THRESHOLD`).
fn keep_no_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "a call of the C library")]
    // SAFETY: it takes no pointer, and any thread may call it at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    }
}

pub(super) struct Import<'a> {
    pub store: &'a Store,
    pub options: &'a ImportOptions,
    pub merge: Merge<'a>,
    pub report: Imported,
    /// Versions of the archive that the store has without some of their text, and their
    /// transactions in the store.
    incomplete: Vec<(usize, TxId)>,
    objects: BTreeSet<ObjectId>,
    refused: BTreeMap<(ObjectId, Refusal), u64>,
    conflicts: u32,
}

impl<'a> Import<'a> {
    pub(super) fn new(
        store: &'a Store,
        options: &'a ImportOptions,
        incoming: &'a mut dyn Incoming,
        arrivals: Arrivals,
        report: Imported,
    ) -> Self {
        Self {
            store,
            options,
            merge: Merge::new(store, incoming, arrivals, options.keeps_files),
            report,
            incomplete: Vec::new(),
            objects: BTreeSet::new(),
            refused: BTreeMap::new(),
            conflicts: 0,
        }
    }

    pub(super) fn run(mut self, progress: OnProgress<'_>) -> Result<Imported> {
        let of = self.merge.arrivals.transactions.len();
        let mut next = 0;
        while next < of {
            let done = next as u64;
            progress(Progress { stage: Stage::Importing, done, of: Some(of as u64) })?;
            let (chunk, after) = self.merge.plan(next, self.conflicts)?;
            if self.commit(chunk)? {
                next = after;
            }
        }
        if !self.options.dry_run {
            self.settle()?;
        }
        self.copy_parted()?;
        self.report.changed = self.merge.changed()?;
        if self.store.backend().upkeep().is_some() {
            self.restore()?;
        }
        let calls = std::mem::take(&mut self.merge.calls).into_iter();
        self.report.calls = calls.filter(|(id, here)| id != here).collect();
        self.give_nicknames()?;
        self.report.objects = self.objects.len() as u64;
        let mut left_out = Vec::new();
        for (at, ((id, refusal), versions)) in
            std::mem::take(&mut self.refused).into_iter().enumerate()
        {
            // A path costs the reading of a version.
            let path = if at < MAX_PATHS { self.path_of(&id) } else { None };
            let (reason, detail) = refusal.words();
            left_out.push(LeftOut { id, path, reason, detail: detail.to_owned(), versions });
        }
        self.report.left_out.splice(0..0, left_out);
        Ok(self.report)
    }

    /// Corrects the latest versions left by an interrupted import, or affected by the order of
    /// chunks. Each chunk has already corrected its own objects.
    fn settle(&mut self) -> Result<()> {
        let ids = self.merge.arrivals.entries.iter().map(|entry| entry.id.clone());
        let ids: Vec<ObjectId> = ids.collect::<BTreeSet<_>>().into_iter().collect();
        for ids in ids.chunks(SETTLED_AT_ONCE) {
            while !{
                let chunk = self.merge.plan_settling(ids)?;
                self.commit(chunk)?
            } {}
        }
        Ok(())
    }

    /// Stores the sessions that continued differently here as separate sessions.
    fn copy_parted(&mut self) -> Result<()> {
        for session in self.merge.parted_sessions()? {
            let stored_as = loop {
                let (copy, chunk) = self.merge.plan_copy(&session)?;
                if self.commit(chunk)? {
                    break copy;
                }
            };
            self.report.parted.push(PartedSession { id: session, stored_as });
        }
        Ok(())
    }

    /// Writes a chunk; `false` if it must be replanned.
    fn commit(&mut self, chunk: Chunk) -> Result<bool> {
        let transactions: Vec<&[Op]> = chunk.transactions.iter().map(Vec::as_slice).collect();
        if !transactions.is_empty() && !self.options.dry_run {
            match self.store.backend().commit_all(&transactions, self.now(&transactions)) {
                Ok(receipts) => self.merge.written(latest(&chunk, &receipts)),
                Err(Error::Forgotten { id }) => {
                    self.merge.leave_out(id);
                    self.merge.begin_anew();
                    return Ok(false);
                }
                Err(Error::Conflict { id, winner }) => {
                    self.merge.refresh(&id)?;
                    self.again_after(Error::Conflict { id, winner })?;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
        self.conflicts = 0;
        self.report.versions += chunk.written.len() as u64;
        self.report.present += chunk.present;
        self.report.put_again += chunk.again;
        self.objects.extend(chunk.written);
        self.incomplete.extend(chunk.incomplete);
        for (refusal, versions) in chunk.refused {
            *self.refused.entry(refusal).or_default() += versions;
        }
        Ok(true)
    }

    /// The time of a chunk: after everything that it brings, so that later local writes are later
    /// than what was known then, however clocks differ.
    fn now(&self, transactions: &[&[Op]]) -> Timestamp {
        let origins = transactions.iter().copied().flat_map(rules::puts);
        let latest = origins.filter_map(|put| put.origin.as_ref()).map(|origin| origin.time).max();
        let after = latest.map(|Timestamp(time)| Timestamp(time.saturating_add(1)));
        after.into_iter().chain([self.store.now()]).max().unwrap_or_default()
    }

    /// Replaces incomplete and damaged local versions with the archive's, which match their original hashes.
    /// Text that a person forgot here stays forgotten, and so does text missing from list items: it
    /// is unknown who removed it.
    fn restore(&mut self) -> Result<()> {
        for (version, tx_id) in std::mem::take(&mut self.incomplete) {
            if self.options.dry_run || self.replace(version, tx_id)? {
                self.report.restored += 1;
            } else {
                let id = self.merge.arrivals.entries[version].id.clone();
                *self.refused.entry((id, Refusal::RedactedHere)).or_default() += 1;
            }
        }
        Ok(())
    }

    /// `false` if its text was forgotten here.
    fn replace(&mut self, version: usize, tx_id: TxId) -> Result<bool> {
        let put = self.merge.put_of_archive(version)?;
        let Put { envelope, fields, content, additional, .. } = put;
        let change = Change::Version { tx_id, fields, content, additional, redacted: None };
        let whole = [Replacement { id: envelope.id, change }];
        match self.store.upkeep("restoring text")?.replace(&whole, &[]) {
            Ok(()) => Ok(true),
            Err(Error::Forgotten { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The path of a file that the archive has.
    fn path_of(&mut self, id: &ObjectId) -> Option<String> {
        let at = *self.merge.arrivals.latest.get(id)?;
        let source = self.merge.incoming.version(at).ok()?.source?;
        Some(source.get("path")?.as_str()?.to_owned())
    }

    /// Whether the archive brought the object.
    pub(super) fn is_new(&self, id: &ObjectId) -> bool {
        self.objects.contains(id)
    }

    /// Counts a conflict with another writer; an error if there were too many.
    fn again_after(&mut self, error: Error) -> Result<()> {
        self.conflicts += 1;
        if self.conflicts > MAX_CONFLICTS { Err(error) } else { Ok(()) }
    }
}

impl Refusal {
    /// The reason as a stable identifier and as a sentence.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Forgotten => ("forgotten", "the object was forgotten in this store"),
            Self::OtherObject => ("other_object", "the store has another object under this ID"),
            Self::UnknownType => {
                ("unknown_type", "its type or source is unknown to this program: update palimpsest")
            }
            Self::RedactedHere => (
                "redacted_here",
                "the store has it redacted and keeps it so; the archive has it whole",
            ),
            Self::Excluded => ("excluded", "the setting `exclude` keeps its text out of the store"),
            Self::Ahead => {
                ("ahead", "its time is over an hour after this machine's: a clock was wrong")
            }
            Self::Parted => (
                "parted",
                "its session went on here in another way; the archive's is stored as one of its own",
            ),
            Self::WithoutItems => {
                ("without_items", "it has no list of items, other versions of the object do")
            }
        }
    }
}

/// The latest transaction of each object that a chunk put.
fn latest(chunk: &Chunk, receipts: &[Receipt]) -> HashMap<ObjectId, TxId> {
    let written = chunk.transactions.iter().zip(receipts);
    let puts = written.flat_map(|(ops, receipt)| rules::puts(ops).map(|put| (put, receipt.tx_id)));
    puts.map(|(put, tx_id)| (put.envelope.id.clone(), tx_id)).collect()
}
