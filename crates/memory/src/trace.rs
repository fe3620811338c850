//! Traces: memory decisions and memory faults, as JSON Lines of bounded size in the user's own
//! folder, each with an ID. Traces that cannot be written are kept while the process runs. Must not
//! decide anything, or create a folder.

use files::looks;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::faults::{MemoryFaultKind, Resident};
use super::page::PageId;
use super::scope::{Folders, Scope};
use super::sidecar::MemoryFolder;
use base::error::{Error, Result};
use base::object::{Hash, Timestamp};
use context::forms::shortened;

/// Name of the file.
pub const TRACES_FILE: &str = "traces.jsonl";

/// Size from which the older half of the file is dropped.
const MAX_BYTES: u64 = 256 << 10;
/// Traces that the process keeps in addition to the file.
const MAX_KEPT: usize = 200;
/// Most pages that one trace names.
const MAX_PAGES: usize = 100;
/// Most characters of a text that a trace quotes.
const MAX_CHARS: usize = 200;
/// Digits of an ID.
const ID_CHARS: usize = 8;

/// One decision or memory fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Its ID: 8 hexadecimal digits.
    pub id: String,
    /// When it happened, in RFC 3339.
    pub at: String,
    /// What happened.
    #[serde(flatten)]
    pub what: Traced,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traced {
    /// The pages in the system prompt, or their fidelities, changed.
    Residency {
        /// The first pages, in the order of the prompt.
        resident: Vec<Resident>,
        /// Number of resident pages.
        count: usize,
        /// The first pages that were evicted.
        evicted: Vec<PageId>,
    },
    /// The host compacted the conversation.
    Compaction {},
    /// A flush.
    Flush {
        /// Whose memory.
        scope: Scope,
        /// The outcome of each operation.
        operations: Vec<Flushed>,
    },
    /// A recall.
    Recall {
        /// The query, or its beginning.
        query: String,
        /// Its reason code.
        code: String,
        /// The first pages found.
        pages: Vec<PageId>,
        /// What could not be searched, and why.
        unsearched: Vec<String>,
    },
    /// The model checked a marked page: its mark went.
    Checked {
        /// The page.
        page: PageId,
        /// The places that it cites.
        cited: Vec<String>,
    },
    /// A memory fault, with the first pages concerned.
    Fault(MemoryFaultKind),
}

/// What became of an operation of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flushed {
    /// Its ID in the journal.
    pub id: String,
    /// `committed`, `held` or `refused`.
    pub status: String,
    /// Why it is held or refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The traces of one user in one project.
#[derive(Debug, Default)]
pub struct Traces {
    kept: VecDeque<Trace>,
    count: u64,
}

impl Traces {
    /// Records what happened. A folder that is not there is not made for it. A failure to write
    /// loses nothing: the process keeps it.
    pub fn record(&mut self, folders: &Folders, what: Traced, now: Timestamp) {
        self.count += 1;
        let seed = format!("{} {} {}", now.0, std::process::id(), self.count);
        let id = Hash::of(seed).as_str()[..ID_CHARS].to_owned();
        let trace = Trace { id, at: now.to_string(), what };
        if write(folders, &trace).is_none() {
            self.kept.push_back(trace);
            if self.kept.len() > MAX_KEPT {
                self.kept.pop_front();
            }
        }
    }

    /// All traces, the newest first. Lines that cannot be read are passed over.
    pub fn all(&self, folders: &Folders) -> Vec<Trace> {
        let mut all: Vec<Trace> = self.kept.iter().cloned().collect();
        if let Some(folder) = folder(folders) {
            let (lines, _) = folder.read_lines::<Trace>(TRACES_FILE);
            all.extend(lines.entries.into_iter().map(|(trace, _)| trace));
        }
        // Traces of the same moment keep the order in which they were recorded.
        all.sort_by(|one, other| one.at.cmp(&other.at));
        all.reverse();
        all
    }

    /// The trace with an ID, or with the only ID that begins so.
    ///
    /// # Errors
    /// `NO_TRACE`.
    pub fn find(&self, folders: &Folders, id: &str) -> Result<Trace> {
        let id = id.trim().to_lowercase();
        let mut found = self
            .all(folders)
            .into_iter()
            .filter(|trace| !id.is_empty() && trace.id.starts_with(&id));
        match (found.next(), found.next()) {
            (Some(trace), None) => Ok(trace),
            _ => Err(Error::NoTrace { id }),
        }
    }
}

/// The folder that traces are written to: the project's if there is one, else the user's; of a
/// conversation its own. `None` where neither was made.
fn folder(folders: &Folders) -> Option<MemoryFolder> {
    let scopes = [Scope::Project, Scope::Global, Scope::Conversation].into_iter();
    let mut made = scopes.filter_map(|scope| folders.memory_folder(scope));
    made.find(|folder| looks::try_exists(folder.path()).unwrap_or(false))
}

/// Appends a trace to the file, dropping the older half of a full one. `None` if that fails. Takes
/// no lock: two simultaneous writers may lose a trace, and a call never waits for one.
fn write(folders: &Folders, trace: &Trace) -> Option<()> {
    let folder = folder(folders)?;
    folder.note(TRACES_FILE, &[serde_json::to_string(trace).ok()?]).ok()?;
    let size = source::stamp(&folder.path_of(TRACES_FILE)).map_or(0, |stamp| stamp.size);
    if size > MAX_BYTES { halve(&folder) } else { Some(()) }
}

/// Keeps the newest traces of a file, half of its capacity.
fn halve(folder: &MemoryFolder) -> Option<()> {
    let (lines, _) = folder.read_lines::<Trace>(TRACES_FILE);
    let mut bytes = 0;
    let newest = lines.entries.iter().rev().take_while(|(_, line)| {
        bytes += line.len() as u64 + 1;
        bytes <= MAX_BYTES / 2
    });
    let mut kept: Vec<String> = newest.map(|(_, line)| format!("{line}\n")).collect();
    kept.reverse();
    folder.write(TRACES_FILE, kept.concat().as_bytes()).ok()
}

/// The beginning of a text, for quoting in a trace.
pub(super) fn quoted(text: &str) -> String {
    shortened(text, MAX_CHARS)
}

/// The first of some pages.
pub(super) fn first<T>(mut pages: Vec<T>) -> Vec<T> {
    pages.truncate(MAX_PAGES);
    pages
}
