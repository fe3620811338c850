//! Writes what waits in a journal into the memory files: checked, in one step per file, and so that an end at any moment neither loses
//! nor doubles an entry. Must not decide which folders there are, nor render what a model sees.
//!
//! A file is written like this: the new text stands ready on the disk (`prepared`), the journal records what is about to happen, the
//! two files change places, and what stood there is compared with what the text was made from. If somebody saved the file in
//! between, they change back and all is done anew. Whoever finds a journal whose last step has no end knows by the prepared file
//! how far it came: it is gone or holds the old text when the new one is in its place. So where the new text is given up, the
//! prepared file goes only once the journal says so. Where others saved the file meanwhile, what stands in it decides: an entry is
//! done if it is there, and written again if not.

mod insert;
mod plan;
mod standing;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::plan::FlushOptions;
use self::plan::{Plan, plan};
use self::standing::{Standing, read_standing};
use super::finding::{FindingCode, MemoryFinding};
use super::journal::{self, Begun, EntryStatus, JOURNAL_FILE, Journal, Operation, OperationId};
use super::scope::{LOCAL_INDEX_FILE, Scope};
use super::sidecar::{self, FolderLock, MemoryFolder, Place, SidecarFile};
use base::error::Result;
use base::object::Hash;
use files::private::Placed;
use source::FileState;

/// How often a file is written anew because others changed it meanwhile.
const MAX_ROUNDS: u32 = 20;

/// What a flush did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FlushReport {
    /// What stands in its file now.
    pub committed: Vec<FlushOutcome>,
    /// What is not written, and why.
    pub refused: Vec<FlushOutcome>,
    /// What could not be written now, and why; the next flush tries again.
    pub held: Vec<FlushOutcome>,
    /// What waits for a person's word.
    pub proposed: Vec<Operation>,
    /// Whether this flush ended one that was interrupted.
    pub resumed: bool,
    /// Flush misses: operations that were acknowledged and are in no readable line of the journal any more.
    pub lost: Vec<OperationId>,
    /// What else was found: unreadable lines, texts that were set aside.
    pub findings: Vec<MemoryFinding>,
}

/// What became of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlushOutcome {
    /// The operation, with its status.
    #[serde(flatten)]
    pub operation: Operation,
    /// The line of its file on which it stands, from 1.
    pub line: Option<usize>,
    /// What the checks found.
    pub findings: Vec<MemoryFinding>,
}

/// A moment of a flush at which it may be interrupted; for tests that do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushStep {
    /// The lock is taken, and nothing is done yet.
    Locked,
    /// The new text stands beside the file.
    Prepared,
    /// The journal says what is about to happen.
    Begun,
    /// The new text is in its place.
    Placed,
    /// What stood there is gone, or stands there again and the new text is given up.
    Removed,
    /// The journal says that it is done.
    Committed,
    /// All files are written.
    Written,
    /// What an interrupted flush began is ended or given up, and the journal does not say so yet.
    Resumed,
    /// The journal says so.
    Ended,
}

/// Writes what waits in a folder's journal. Makes nothing where there is no journal.
///
/// `scope`: of the folder; what is for `MEMORY.local.md` has the scope `Local`.
///
/// # Errors
/// `MEMORY_BUSY`; `FILE` if the journal cannot be read or written; `OUTSIDE_PROJECT`. What waits goes on waiting.
pub fn flush(folder: &MemoryFolder, scope: Scope, options: &FlushOptions) -> Result<FlushReport> {
    flush_watched(folder, scope, options, &mut |_| ())
}

/// As [`flush`]; `on_step` is called at every step.
///
/// # Errors
/// As [`flush`].
pub fn flush_watched(
    folder: &MemoryFolder,
    scope: Scope,
    options: &FlushOptions,
    on_step: &mut dyn FnMut(FlushStep),
) -> Result<FlushReport> {
    let mut report = FlushReport::default();
    if folder.read(JOURNAL_FILE) == SidecarFile::Nothing {
        return Ok(report);
    }
    let lock = folder.lock()?;
    on_step(FlushStep::Locked);
    let (journal, _) = Journal::load(folder)?;
    report.resumed = journal.is_interrupted();
    for begun in journal.begun() {
        let operations: Vec<&Operation> =
            journal.operations().filter(|one| begun.ids.contains(&one.id)).collect();
        let scope = scope_of(&begun.file, scope);
        let step =
            Step { begun, scope, operations: &operations, target: folder.made(&begun.file)? };
        let (is_done, finding) = step.resume(folder, &lock, on_step)?;
        report.findings.extend(finding);
        if is_done {
            report.committed.extend(operations.into_iter().map(plan::resumed));
        }
    }
    if let Some(place) = folder.place(scope.index_file(), false)? {
        standing::remove_leftovers(&place.folder);
    }
    let (journal, findings) = Journal::load(folder)?;
    report.findings.extend(findings);
    report.lost = journal.lost().to_vec();
    report.proposed = journal.proposed().cloned().collect();
    let mut by_file: BTreeMap<&str, Vec<&Operation>> = BTreeMap::new();
    for operation in journal.waiting() {
        by_file.entry(&operation.draft.file).or_default().push(operation);
    }
    for (file, operations) in by_file {
        let scope = scope_of(file, scope);
        let writing =
            Writing { folder, lock: &lock, scope, file, operations: &operations, options };
        writing.write(&mut report, on_step)?;
    }
    on_step(FlushStep::Written);
    let (journal, _) = Journal::load(folder)?;
    report.findings.extend(journal.compact(folder, &lock)?);
    Ok(report)
}

/// The scope of what is written into a file of a folder with this scope.
fn scope_of(file: &str, scope: Scope) -> Scope {
    if file == LOCAL_INDEX_FILE { Scope::Local } else { scope }
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

    /// Puts the new text into its place; returns whether it stands there, and nothing was lost.
    fn place(
        &self,
        target: &Place,
        standing: &Standing,
        plan: &Plan,
        report: &mut FlushReport,
        on_step: &mut dyn FnMut(FlushStep),
    ) -> Result<bool> {
        let ids: Vec<OperationId> = plan.committed.iter().map(|one| one.operation.id).collect();
        let tag = ids.first().map(ToString::to_string).unwrap_or_default();
        let prepared = MemoryFolder::temporary(self.file, &tag);
        let failed = |source| target.failed("write", source);
        if standing.hash.is_none() {
            self.folder.keep_private()?;
        }
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
        // Where two files cannot change places, this is all that keeps a save from being lost.
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

/// A step that was begun: the new text of one file.
struct Step<'a> {
    begun: &'a Begun,
    scope: Scope,
    /// What it commits.
    operations: &'a [&'a Operation],
    target: Place,
}

impl Step<'_> {
    fn prepared(&self) -> &str {
        &self.begun.prepared
    }

    /// Ends a flush that was interrupted after it began to write a file. Returns whether the new text stands.
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

    /// Looks at what stood in the place of the new text. If it is what the text was made from, it is removed. If somebody saved the
    /// file in between, it goes back, and the new text stands in the prepared file again. Returns whether the new text stands.
    fn finish(&self, placed: Placed) -> Result<(bool, Option<MemoryFinding>)> {
        let (prepared, after) = (self.prepared(), &self.begun.after);
        let Place { folder, name } = &self.target;
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
            // The file was saved twice, before and after: the later one stands.
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

    /// Whether the new text stands, or another one that has all of its entries.
    fn stands(&self) -> Result<bool> {
        match self.target.state(sidecar::MAX_FILE_BYTES) {
            FileState::Text { text, source_hash } => {
                let Self { begun, scope, operations, .. } = self;
                let is_there = || plan::stand_in(&text, *scope, &begun.file, operations);
                Ok(source_hash == begun.after || is_there())
            }
            // Gone, or something else now: what a person did with it is not undone, where that can be told.
            _ => Ok(standing::known_hash(&self.target.folder, &self.target.name)?.is_none()),
        }
    }

    /// Records that what was begun is done or given up. A new text that was given up goes only then: who finds it gone takes it for
    /// placed.
    fn end(&self, folder: &MemoryFolder, lock: &FolderLock, is_done: bool) -> Result<()> {
        let ids = if is_done { self.begun.ids.clone() } else { Vec::new() };
        journal::record_end(folder, lock, ids)?;
        self.target.folder.remove(self.prepared()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> base::error::Error {
        self.target.failed("write", source)
    }
}
