//! Receives memory events of an open session, one method per kind, and turns them into traces and,
//! where one happened, memory faults. Must not decide what is resident, written or recalled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use strum::VariantArray as _;

use super::faults::{MemoryFault, MemoryFaultKind, Resident, Watch};
use super::flush::FlushReport;
use super::journal::{EntryStatus, JOURNAL_FILE, Journal, Operation};
use super::page::{PageId, PagePlace};
use super::scope::Scope;
use super::trace::{Flushed, Trace, Traced, Traces, first, quoted};
use super::{FolderFlush, LOOK, Memory, MemoryFile};
use base::error::Result;
use base::harness::{Call, FileAccess};
use base::lock;
use base::object::Hash;
use base::path::absolute_path;
use files::looks;
use source::{self};

/// A finished tool call of the host.
#[derive(Debug, Clone, Copy)]
pub struct ToolCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments.
    pub args: &'a Value,
    /// Base folder of relative paths.
    pub cwd: &'a Path,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether the store holds its result.
    pub is_stored: bool,
}

/// An answered recall.
#[derive(Debug, Clone)]
pub struct Recalled<'a> {
    /// The query.
    pub query: &'a str,
    /// The reason code.
    pub code: &'a str,
    /// The pages found, best first.
    pub pages: Vec<PageId>,
    /// What could not be searched, and why: `the archive cannot be read`.
    pub unsearched: Vec<String>,
}

/// Counts of one kind of memory fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FaultCount {
    /// Which.
    pub fault: MemoryFault,
    /// Number in this session.
    pub in_session: u64,
    /// Number in the traces, which hold the newest of all sessions.
    pub in_traces: u64,
    /// The ID of its newest trace.
    pub newest: Option<String>,
}

/// State of the open session.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    watch: Watch,
    traces: Traces,
    /// Whether the settings ask for traces.
    is_traced: bool,
    /// The last known place of each page.
    places: Vec<(PageId, PagePlace)>,
    /// The pages of the last system prompt.
    resident: Vec<Resident>,
}

impl Watcher {
    /// Takes over the current pages.
    pub(super) fn meet(&mut self, files: &[MemoryFile], is_traced: bool) {
        let pages = files.iter().flat_map(|file| &file.pages);
        self.places = pages.map(|page| (page.id.clone(), page.place.clone())).collect();
        self.is_traced = is_traced;
    }
}

impl Memory {
    /// A prompt goes out with these pages. `below_least`: pinned pages that it lacks or that are
    /// below their least fidelity. Cheap if nothing changed.
    pub fn prompted(&mut self, resident: Vec<Resident>, below_least: &[PageId]) {
        let Watcher { watch, places, .. } = &mut self.watcher;
        let exists = |id: &PageId| places.iter().any(|(known, _)| known == id);
        watch.prompted(&resident, below_least, exists);
        let is_same = |one: &Resident, other: &Resident| {
            (&one.id, one.fidelity) == (&other.id, other.fidelity)
        };
        let is_unchanged = resident.len() == self.watcher.resident.len()
            && resident.iter().zip(&self.watcher.resident).all(|(one, other)| is_same(one, other));
        if !is_unchanged {
            let is_evicted = |before: &&Resident| resident.iter().all(|now| now.id != before.id);
            let evicted =
                self.watcher.resident.iter().filter(is_evicted).map(|page| page.id.clone());
            let evicted = first(evicted.collect());
            let count = resident.len();
            self.trace(Traced::Residency { resident: first(resident.clone()), count, evicted });
            self.watcher.resident = resident;
        }
        self.trace_faults();
    }

    /// The host compacted the conversation, or answered a compaction with a summary.
    pub fn compacted(&mut self) {
        self.watcher.watch.compacted();
        self.trace(Traced::Compaction {});
    }

    /// A tool call of the host has finished.
    pub fn observe(&mut self, call: &ToolCall<'_>) {
        let _bounded = looks::bounded(LOOK);
        if !call.is_error && self.is_written_by(call.tool, call.args, call.cwd) {
            self.written();
        }
        let read = if call.is_error { Vec::new() } else { self.read_by(call) };
        if read.is_empty() {
            return;
        }
        let fetched = self.pages_in(&read);
        // Reading an index often means looking for a place to write; reading a topic file means
        // wanting its content.
        let topics = fetched.iter().filter(|(_, is_entry)| !is_entry).map(|(id, _)| id.clone());
        self.keeper.used(&topics.collect::<Vec<_>>(), self.now());
        let fetched: Vec<PageId> = fetched.into_iter().map(|(id, _)| id).collect();
        self.watcher.watch.fetched(&fetched, "read");
        if let Some(sources) = fingerprint(&read) {
            let args = call.args.to_string();
            self.watcher.watch.called(call.tool, &args, &sources, call.is_stored);
        }
        self.trace_faults();
    }

    /// A recall was answered.
    pub fn recalled(&mut self, recalled: Recalled<'_>) {
        let Recalled { query, code, pages, unsearched } = recalled;
        self.watcher.watch.recalled(code == "no_match", &unsearched);
        // What hardly answers is of no use because it was shown.
        let of_use: &[PageId] = if code == "weak" { &[] } else { &pages };
        self.keeper.used(of_use, self.now());
        self.watcher.watch.fetched(of_use, "recalled");
        let (quoted, code) = (quoted(query), code.to_owned());
        self.trace(Traced::Recall { query: quoted, code, pages: first(pages), unsearched });
        self.trace_faults();
    }

    /// A flush has ended: its entries become pages, which keep their origins.
    pub fn flushed(&mut self, flushes: &[FolderFlush]) {
        for FolderFlush { report, .. } in flushes {
            self.flushed_folder(report);
        }
    }

    fn flushed_folder(&mut self, report: &FlushReport) {
        let outcomes = report.committed.iter().chain(&report.refused).chain(&report.held);
        let mut operations: BTreeMap<Scope, Vec<Flushed>> = BTreeMap::new();
        for outcome in outcomes {
            let (status, reason) = match &outcome.operation.status {
                EntryStatus::Proposed => ("proposed", None),
                EntryStatus::Staged => ("staged", None),
                EntryStatus::Committed => ("committed", None),
                EntryStatus::Held { reason, .. } => ("held", Some(quoted(reason))),
                EntryStatus::Refused { reason, .. } => ("refused", Some(quoted(reason))),
            };
            let id = outcome.operation.name.clone();
            let flushed = Flushed { id, status: status.to_owned(), reason };
            operations.entry(outcome.operation.scope).or_default().push(flushed);
        }
        if !report.committed.is_empty() {
            self.written();
        }
        for (scope, operations) in operations {
            self.trace(Traced::Flush { scope, operations: first(operations) });
        }
        self.missed(&report.lost, LOST);
    }

    /// The session ends, after its last flush: an operation that this process staged, and that was
    /// neither written, nor refused or held with a reason, is a flush miss.
    pub fn ended(&mut self) {
        let (mut staged, mut lost) = (Vec::new(), Vec::new());
        for (_, folder) in self.memory_folders() {
            let (journal, _) = Journal::read(&folder);
            let own = lock(&self.staged);
            let is_missed = |one: &&Operation| {
                one.status == EntryStatus::Staged
                    && own.contains(&(folder.path_of(JOURNAL_FILE), one.id))
            };
            staged.extend(journal.waiting().filter(is_missed).map(|one| one.name.clone()));
            lost.extend(journal.lost().iter().map(|id| folder.name_of(*id)));
        }
        self.missed(&staged, "still waits, without a reason, as the session ends");
        self.missed(&lost, LOST);
        self.keeper.write(&self.folders, self.now());
    }

    /// The memory faults, in the order of their kinds.
    pub fn faults(&self) -> Vec<FaultCount> {
        let mut traced: BTreeMap<MemoryFault, (u64, String)> = BTreeMap::new();
        for trace in self.traces() {
            if let Traced::Fault(kind) = trace.what {
                traced.entry(kind.fault).or_insert((0, trace.id)).0 += 1;
            }
        }
        let count = |fault: MemoryFault| {
            let in_session = self.watcher.watch.counts().get(&fault).copied().unwrap_or_default();
            let (in_traces, newest) = traced
                .get(&fault)
                .map_or((0, None), |(count, newest)| (*count, Some(newest.clone())));
            FaultCount { fault, in_session, in_traces, newest }
        };
        MemoryFault::VARIANTS.iter().map(|fault| count(*fault)).collect()
    }

    /// The traces, newest first.
    pub fn traces(&self) -> Vec<Trace> {
        self.watcher.traces.all(self.folders())
    }

    /// The trace with an ID, or with a unique prefix of it.
    ///
    /// # Errors
    /// `NO_TRACE`.
    pub fn trace_of(&self, id: &str) -> Result<Trace> {
        self.watcher.traces.find(self.folders(), id)
    }

    fn missed(&mut self, operations: &[String], how: &str) {
        self.watcher.watch.missed(operations, how);
        self.trace_faults();
    }

    fn trace_faults(&mut self) {
        for fault in self.watcher.watch.take() {
            let pages = first(fault.pages);
            self.trace(Traced::Fault(MemoryFaultKind { pages, ..fault }));
        }
    }

    pub(super) fn trace(&mut self, what: Traced) {
        if self.watcher.is_traced {
            let now = self.now();
            self.watcher.traces.record(&self.folders, what, now);
        }
    }

    /// The files that a call read, with the requested lines.
    fn read_by(&self, call: &ToolCall<'_>) -> Vec<Read> {
        let tool = Call::new(call.tool, call.args);
        let first = tool.first_line().unwrap_or(1);
        let count = call.args.get("limit").and_then(Value::as_u64).unwrap_or(u64::MAX);
        let lines = (first, first.saturating_add(count - 1.min(count)));
        let touched = tool
            .touches()
            .into_iter()
            .filter(|touch| touch.access == FileAccess::Read)
            .map(|touch| Read { path: absolute_path(touch.path, call.cwd), lines });
        let mut read: Vec<Read> = touched.collect();
        if let Some(line) = tool.command() {
            let named = source::names_in(&line, call.cwd);
            // What it did with other files is known where it reads nothing but what it names.
            let is_read = |path: &PathBuf| named.reach.is_empty() && source::stamp(path).is_some();
            let counts = |path: &&PathBuf| self.folders().find(path).is_some() || is_read(path);
            let paths = named.paths.iter().filter(counts).cloned();
            read.extend(paths.map(|path| Read { path, lines: (1, u64::MAX) }));
        }
        read
    }

    /// The pages read, each with whether it is in an index.
    fn pages_in(&self, read: &[Read]) -> Vec<(PageId, bool)> {
        let mut found = Vec::new();
        for Read { path, lines: (from, to) } in read {
            let Some((scope, file)) = self.folders().find(path) else { continue };
            let within = self.watcher.places.iter().filter(|(_, place)| {
                (place.scope, &place.file) == (scope, &file)
                    && u64::from(place.line) <= *to
                    && u64::from(place.last_line) >= *from
            });
            let is_entry = file == scope.index_file();
            found.extend(within.map(|(id, _)| (id.clone(), is_entry)));
        }
        found
    }
}

/// How an operation lost in a crash is described.
const LOST: &str = "is in no readable line of the journal any more";

/// A file that was read, and the first and last requested line.
struct Read {
    path: PathBuf,
    lines: (u64, u64),
}

/// The current state of the files, by name and stamp. `None` if one of them cannot be accessed.
fn fingerprint(read: &[Read]) -> Option<Hash> {
    let now = read.iter().map(|Read { path, .. }| Some((path, source::stamp(path)?)));
    let now: Vec<_> = now.collect::<Option<_>>()?;
    Some(Hash::of(serde_json::to_string(&now).ok()?))
}

#[cfg(test)]
mod tests;
