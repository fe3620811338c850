//! Writes waiting journal operations into the memory files: checked, in one step per file, and so
//! that a crash at any moment neither loses nor duplicates an entry. Must not decide which folders
//! there are, or render what a model sees.
//!
//! To write a file, a flush puts the new text on disk (`prepared`), records in the journal what is
//! about to happen, swaps the two files, and compares the old text with the text that the new one
//! was made from. If somebody saved the file in between, it swaps them back and starts over. After
//! a crash, the journal's last step has no end, and the prepared file shows how far it got: if the
//! prepared file is gone or holds the old text, the new text is in place. Therefore, when the new
//! text is given up, the prepared file is removed only after the journal says so. If others saved
//! the file meanwhile, its content decides: an entry that it holds is done, a missing one is
//! written again.

mod insert;
mod plan;
mod standing;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::plan::FlushOptions;
use self::plan::{Plan, plan};
use self::standing::{FileNow, read_standing};
use super::finding::{FindingCode, MemoryFinding};
use super::journal::{self, Begun, EntryStatus, JOURNAL_FILE, Journal, Operation, OperationId};
use super::scope::{LOCAL_INDEX_FILE, Scope};
use super::sidecar::{self, FileSlot, FolderLock, MemoryFolder};
use base::error::Result;
use base::object::Hash;
use files::private::Placed;
use source::FileState;

/// How often a file is rewritten because others changed it meanwhile.
const MAX_ROUNDS: u32 = 20;

/// The result of a flush.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlushReport {
    /// Operations that are now in their file.
    pub committed: Vec<FlushOutcome>,
    /// Operations that are not written, and why.
    pub refused: Vec<FlushOutcome>,
    /// Operations that could not be written now, and why; the next flush tries again.
    pub held: Vec<FlushOutcome>,
    /// Proposals that wait for a person's decision.
    pub proposed: Vec<Operation>,
    /// Whether this flush completed an interrupted one.
    pub resumed: bool,
    /// Flush misses: acknowledged operations that no readable line of the journal holds any more.
    pub lost: Vec<String>,
    /// Other findings: unreadable lines, texts that were set aside.
    pub findings: Vec<MemoryFinding>,
}

/// The outcome of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlushOutcome {
    /// The operation, with its status.
    #[serde(flatten)]
    pub operation: Operation,
    /// Its line in its file, from 1.
    pub line: Option<usize>,
    /// Findings of the checks.
    pub findings: Vec<MemoryFinding>,
    /// The places of cited files that it rests on, once it is in its file.
    #[serde(rename = "restsOn", skip_serializing_if = "Vec::is_empty")]
    pub rests_on: Vec<String>,
}

/// A moment at which a flush may be interrupted; for tests that do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushStep {
    /// The lock is taken, and nothing is done yet.
    Locked,
    /// The new text is beside the file.
    Prepared,
    /// The journal says what is about to happen.
    Begun,
    /// The new text is in its place.
    Placed,
    /// The old file is gone, or it is back in place and the new text is given up.
    Removed,
    /// The journal says that it is done.
    Committed,
    /// All files are written.
    Written,
    /// An interrupted flush was completed or given up, and the journal does not say so yet.
    Resumed,
    /// The journal says so.
    Ended,
}

/// Writes the waiting operations of a folder's journal. Creates nothing if there is no journal.
///
/// # Errors
/// `MEMORY_BUSY`; `FILE` if the journal cannot be read or written; `OUTSIDE_PROJECT`. Operations
/// that wait keep waiting.
pub fn flush(folder: &MemoryFolder, options: &FlushOptions) -> Result<FlushReport> {
    flush_watched(folder, options, &mut |_| ())
}

/// Like [`flush`]; `on_step` is called at every step.
///
/// # Errors
/// As [`flush`].
pub fn flush_watched(
    folder: &MemoryFolder,
    options: &FlushOptions,
    on_step: &mut dyn FnMut(FlushStep),
) -> Result<FlushReport> {
    let mut report = FlushReport::default();
    if matches!(folder.bytes(JOURNAL_FILE), Ok(None)) {
        return Ok(report);
    }
    let lock = folder.lock()?;
    on_step(FlushStep::Locked);
    let (journal, _) = Journal::load(folder)?;
    report.resumed = journal.is_interrupted();
    for begun in journal.begun() {
        let operations: Vec<&Operation> =
            journal.operations().filter(|one| begun.ids.contains(&one.id)).collect();
        let holding = folder.holding(&begun.file);
        let (scope, target) = (folder.scope_of(&begun.file), holding.made(&begun.file)?);
        let step = Step { begun, scope, operations: &operations, target };
        let (is_done, finding) = step.resume(folder, &lock, on_step)?;
        report.findings.extend(finding);
        if is_done {
            report.committed.extend(operations.into_iter().map(plan::resumed));
        }
    }
    if let Some(place) = folder.place(folder.scope().index_file(), false)? {
        standing::remove_leftovers(&place.folder);
    }
    let (journal, findings) = Journal::load(folder)?;
    report.findings.extend(findings);
    report.lost = journal.lost().iter().map(|id| folder.name_of(*id)).collect();
    report.proposed = journal.proposed().cloned().collect();
    let mut by_file: BTreeMap<(&str, bool), Vec<&Operation>> = BTreeMap::new();
    for operation in journal.waiting() {
        let file = &operation.draft.file;
        let held = folder.holding(file);
        let of = operation.of.as_ref().zip(held.project());
        let is_here = of.is_none_or(|(of, project)| of.is_at(project));
        by_file.entry((file, is_here)).or_default().push(operation);
    }
    for ((file, is_here), operations) in by_file {
        let (folder, scope) = (&folder.holding(file), folder.scope_of(file));
        let writing =
            Writing { folder, lock: &lock, scope, file, operations: &operations, options };
        if is_here {
            writing.write(&mut report, on_step)?;
        } else {
            let words = "another folder was at this path when it was noted: note it anew if it belongs here, and withdraw this one";
            writing.hold_all(&MemoryFinding::new(FindingCode::OtherProject, words), &mut report)?;
        }
    }
    on_step(FlushStep::Written);
    let (journal, _) = Journal::load(folder)?;
    report.findings.extend(journal.compact(folder, &lock)?);
    Ok(report)
}

/// The operations for one file of a folder.
struct Writing<'a> {
    folder: &'a MemoryFolder,
    lock: &'a FolderLock,
    scope: Scope,
    file: &'a str,
    operations: &'a [&'a Operation],
    options: &'a FlushOptions,
}

impl Writing<'_> {
    fn write(&self, report: &mut FlushReport, on_step: &mut dyn FnMut(FlushStep)) -> Result<()> {
        let target = match self.folder.made(self.file) {
            Ok(target) => target,
            Err(error) => return self.hold_all(&sidecar::finding_of(&error), report),
        };
        for _ in 0..MAX_ROUNDS {
            let standing = match read_standing(&target) {
                Ok(standing) => standing,
                Err(finding) => return self.hold_all(&finding, report),
            };
            let plan = plan(self.scope, self.file, &standing, self.operations, self.options);
            if plan.committed.is_empty()
                || self.place(&target, &standing, &plan, report, on_step)?
            {
                return self.conclude(plan, report);
            }
        }
        let words = "others changed the file again and again while it was written";
        let finding = MemoryFinding::new(FindingCode::KeepsChanging, words).at(target.path(), None);
        self.hold_all(&finding, report)
    }

    /// Puts the new text in place; returns whether it is there and nothing was lost.
    fn place(
        &self,
        target: &FileSlot,
        standing: &FileNow,
        plan: &Plan,
        report: &mut FlushReport,
        on_step: &mut dyn FnMut(FlushStep),
    ) -> Result<bool> {
        let ids: Vec<OperationId> = plan.committed.iter().map(|one| one.operation.id).collect();
        let tag = ids.first().map(ToString::to_string).unwrap_or_default();
        let prepared = MemoryFolder::temporary(self.file, &tag);
        let failed = |source| target.failed("write", source);
        if standing.hash.is_none() || self.file == LOCAL_INDEX_FILE {
            self.folder.keep_private(self.file)?;
        }
        self.folder.keep_mergeable()?;
        target.folder.remove(&prepared).map_err(failed)?;
        let text = plan.text.as_bytes();
        target.folder.prepare(&prepared, &target.name, text).map_err(failed)?;
        on_step(FlushStep::Prepared);
        let begun = Begun {
            ids,
            file: self.file.to_owned(),
            prepared,
            before: standing.hash.clone(),
            after: Hash::of(plan.text.as_bytes()),
        };
        journal::record_begin(self.folder, self.lock, begun.clone())?;
        // Where two files cannot be swapped, this check alone keeps a save from being lost.
        let stands = standing::known_hash(&target.folder, &target.name).ok().flatten();
        let is_as_read = stands == standing.hash;
        on_step(FlushStep::Begun);
        let placed = if is_as_read {
            let is_empty = standing.hash.is_none();
            target.folder.place(&begun.prepared, &target.name, is_empty).map_err(failed)?
        } else {
            Placed::Taken
        };
        on_step(FlushStep::Placed);
        let operations: Vec<&Operation> = plan.committed.iter().map(|one| &one.operation).collect();
        let target = self.folder.made(self.file)?;
        let step = Step { begun: &begun, scope: self.scope, operations: &operations, target };
        let (is_done, finding) = step.finish(placed)?;
        report.findings.extend(finding);
        on_step(FlushStep::Removed);
        step.end(self.folder, self.lock, is_done)?;
        on_step(FlushStep::Committed);
        Ok(is_done)
    }

    /// Records what was not written, and reports everything.
    fn conclude(&self, plan: Plan, report: &mut FlushReport) -> Result<()> {
        self.record(plan.refused.iter().chain(&plan.held))?;
        report.committed.extend(plan.committed);
        report.refused.extend(plan.refused);
        report.held.extend(plan.held);
        Ok(())
    }

    fn hold_all(&self, finding: &MemoryFinding, report: &mut FlushReport) -> Result<()> {
        let held: Vec<FlushOutcome> = self
            .operations
            .iter()
            .map(|operation| plan::held(operation, vec![finding.clone()]))
            .collect();
        self.record(held.iter())?;
        report.held.extend(held);
        Ok(())
    }

    fn record<'o>(&self, outcomes: impl Iterator<Item = &'o FlushOutcome>) -> Result<()> {
        let is_told = |outcome: &&FlushOutcome| {
            let before = self.operations.iter().find(|one| one.id == outcome.operation.id);
            before.is_none_or(|before| before.status != outcome.operation.status)
        };
        let changed: Vec<(OperationId, EntryStatus)> = outcomes
            .filter(is_told)
            .map(|outcome| (outcome.operation.id, outcome.operation.status.clone()))
            .collect();
        journal::record_not_written(self.folder, self.lock, &changed)
    }
}

/// A begun step: the new text of one file.
struct Step<'a> {
    begun: &'a Begun,
    scope: Scope,
    /// What it commits.
    operations: &'a [&'a Operation],
    target: FileSlot,
}

impl Step<'_> {
    fn prepared(&self) -> &str {
        &self.begun.prepared
    }

    /// Completes a flush that was interrupted after it began to write a file. Returns whether the
    /// new text is in place.
    fn resume(
        &self,
        folder: &MemoryFolder,
        lock: &FolderLock,
        on_step: &mut dyn FnMut(FlushStep),
    ) -> Result<(bool, Option<MemoryFinding>)> {
        let (is_done, finding) = match standing::known_hash(&self.target.folder, self.prepared())? {
            None => (self.stands()?, None),
            Some(found) if found == self.begun.after => (false, None),
            Some(_) => self.finish(Placed::Exchanged)?,
        };
        on_step(FlushStep::Resumed);
        self.end(folder, lock, is_done)?;
        on_step(FlushStep::Ended);
        Ok((is_done, finding))
    }

    /// Checks the old text that the swap moved out. If it is what the new text was made from, it is
    /// removed. If somebody saved the file in between, their text goes back, and the new text is in
    /// the prepared file again. Returns whether the new text is in place.
    fn finish(&self, placed: Placed) -> Result<(bool, Option<MemoryFinding>)> {
        let (prepared, after) = (self.prepared(), &self.begun.after);
        let FileSlot { folder, name } = &self.target;
        match placed {
            Placed::Replaced => return Ok((true, None)),
            Placed::Taken => return Ok((false, None)),
            Placed::Exchanged => {}
        }
        standing::settle(folder, prepared);
        if standing::known_hash(folder, prepared)? == self.begun.before {
            folder.remove(prepared).map_err(|source| self.failed(source))?;
            return Ok((true, None));
        }
        if standing::known_hash(folder, name)?.as_ref() != Some(after) {
            // The file was saved twice, before and after the swap: the later save stays.
            let stands = self.stands()?;
            return Ok((stands, Some(standing::set_aside(folder, prepared, name)?)));
        }
        folder.place(prepared, name, false).map_err(|source| self.failed(source))?;
        standing::settle(folder, prepared);
        if standing::known_hash(folder, prepared)?.as_ref() == Some(after) {
            return Ok((false, None));
        }
        Ok((false, Some(standing::set_aside(folder, prepared, name)?)))
    }

    /// Whether the file holds the new text, or another text with all of its entries.
    fn stands(&self) -> Result<bool> {
        match self.target.state(sidecar::MAX_FILE_BYTES) {
            FileState::Text { text, source_hash } => {
                let Self { begun, scope, operations, .. } = self;
                let is_there = || plan::stand_in(&text, *scope, &begun.file, operations);
                Ok(source_hash == begun.after || is_there())
            }
            // It is gone or different now: a person's change is not undone, as far as that can be
            // told.
            _ => Ok(standing::known_hash(&self.target.folder, &self.target.name)?.is_none()),
        }
    }

    /// Records that the begun step is done or given up. A new text that was given up is removed
    /// only afterwards: if it were missing earlier, the next flush would take it for placed.
    fn end(&self, folder: &MemoryFolder, lock: &FolderLock, is_done: bool) -> Result<()> {
        let ids = if is_done { self.begun.ids.clone() } else { Vec::new() };
        journal::record_end(folder, lock, ids)?;
        self.target.folder.remove(self.prepared()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> base::error::Error {
        self.target.failed("write", source)
    }
}
