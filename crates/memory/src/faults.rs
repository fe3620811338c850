//! The six memory faults: finds them in what happens to memory while a session is open. Pure: what happens comes in, faults come out.
//! Must not read files, nor write traces.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::fidelity::Fidelity;
use super::page::PageId;
use base::object::Hash;

/// Calls that are remembered, to find those that come again.
const MAX_CALLS: usize = 1_000;

/// What memory did badly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryFault {
    /// Content that was resident is read or recalled again after eviction.
    Refetch,
    /// The same tool with the same arguments on unchanged sources, while the result is stored.
    DuplicateTool,
    /// The first request after a compaction lacks pages that were resident.
    PostCompactionBootstrap,
    /// A staged write that was neither committed nor refused with a reason when the session ended, or that a crash lost.
    FlushMiss,
    /// A failed recall that was reported as no match.
    SilentRecall,
    /// A pinned page below its least fidelity.
    PinnedInvariant,
}

impl MemoryFault {
    /// All memory faults.
    pub const ALL: [Self; 6] = [
        Self::Refetch,
        Self::DuplicateTool,
        Self::PostCompactionBootstrap,
        Self::FlushMiss,
        Self::SilentRecall,
        Self::PinnedInvariant,
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refetch => "refetch",
            Self::DuplicateTool => "duplicate_tool",
            Self::PostCompactionBootstrap => "post_compaction_bootstrap",
            Self::FlushMiss => "flush_miss",
            Self::SilentRecall => "silent_recall",
            Self::PinnedInvariant => "pinned_invariant",
        }
    }
}

impl fmt::Display for MemoryFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.as_str().replace('_', " "))
    }
}

/// A page in the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    /// The page.
    pub id: PageId,
    /// How much of it.
    pub fidelity: Fidelity,
    /// Why, in a few words: `pinned`, `value 0.8`.
    pub why: String,
}

/// A memory fault that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryFaultKind {
    /// Which.
    pub fault: MemoryFault,
    /// The pages that it concerns.
    pub pages: Vec<PageId>,
    /// What happened, in words.
    pub words: String,
}

/// A finished call of a tool that read files.
#[derive(Debug, Clone, Copy)]
pub struct ObservedCall<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// Its arguments as JSON.
    pub args: &'a str,
    /// SHA-256 over what its sources are now, by name and content.
    pub sources: &'a Hash,
    /// Whether the store holds the result.
    pub is_stored: bool,
}

/// What is known of a session, to find its memory faults.
#[derive(Debug, Default)]
pub struct Watch {
    /// The pages of the last request.
    resident: BTreeMap<PageId, Fidelity>,
    /// The highest fidelity at which each page has been resident.
    highest: BTreeMap<PageId, Fidelity>,
    /// Pages that were resident when the host compacted, until the next request.
    compacted: Option<BTreeSet<PageId>>,
    /// Pinned pages that are below their least fidelity, which count once until that is over.
    below: BTreeSet<PageId>,
    /// By tool and arguments: sources, and whether the result is stored.
    calls: HashMap<Hash, (Hash, bool)>,
    order: VecDeque<Hash>,
    /// Writes that were reported as missed.
    missed: BTreeSet<String>,
    counts: BTreeMap<MemoryFault, u64>,
}

impl Watch {
    /// How often each memory fault happened in this session.
    pub fn counts(&self) -> &BTreeMap<MemoryFault, u64> {
        &self.counts
    }

    /// A request goes out. `resident`: its pages. `below_least`: pinned pages that are missing in it, or below their least fidelity.
    /// `exists`: whether a page still exists; one that a person deleted is not missed.
    pub fn prompted(
        &mut self,
        resident: &[Resident],
        below_least: &[PageId],
        exists: impl Fn(&PageId) -> bool,
    ) -> Vec<MemoryFaultKind> {
        let mut faults = Vec::new();
        self.resident = resident.iter().map(|page| (page.id.clone(), page.fidelity)).collect();
        for (id, fidelity) in &self.resident {
            let highest = self.highest.entry(id.clone()).or_insert(*fidelity);
            *highest = (*highest).max(*fidelity);
        }
        if let Some(before) = self.compacted.take() {
            let is_lacking = |id: &PageId| !self.resident.contains_key(id) && exists(id);
            let lacking: Vec<PageId> = before.into_iter().filter(is_lacking).collect();
            if !lacking.is_empty() {
                let words = format!(
                    "the first request after a compaction lacks {}",
                    counted(lacking.len(), "page that was resident", "pages that were resident")
                );
                faults.push(fault(MemoryFault::PostCompactionBootstrap, lacking, words));
            }
        }
        let below: BTreeSet<PageId> = below_least.iter().cloned().collect();
        let new: Vec<PageId> = below.difference(&self.below).cloned().collect();
        self.below = below;
        if !new.is_empty() {
            let words = format!(
                "{} below the least fidelity",
                counted(new.len(), "pinned page is", "pinned pages are")
            );
            faults.push(fault(MemoryFault::PinnedInvariant, new, words));
        }
        self.count(faults)
    }

    /// The host compacted the conversation.
    pub fn compacted(&mut self) {
        self.compacted = Some(self.resident.keys().cloned().collect());
    }

    /// The model got content of pages again: it read their file, or recalled them.
    pub fn fetched(&mut self, pages: &[PageId], how: &str) -> Vec<MemoryFaultKind> {
        let now = |id: &PageId| self.resident.get(id).copied();
        let is_evicted =
            |id: &&PageId| self.highest.get(id).is_some_and(|high| now(id) < Some(*high));
        let evicted: Vec<PageId> = pages.iter().filter(is_evicted).cloned().collect();
        if evicted.is_empty() {
            return Vec::new();
        }
        // What the model has now is its own again: only the next eviction makes it a fault once more.
        for id in &evicted {
            self.highest.remove(id);
        }
        let words = format!(
            "{} was {how} again after eviction",
            counted(evicted.len(), "page that was resident", "pages that were resident")
        );
        self.count(vec![fault(MemoryFault::Refetch, evicted, words)])
    }

    /// A tool that reads files has finished.
    pub fn called(&mut self, call: ObservedCall<'_>) -> Vec<MemoryFaultKind> {
        let key = Hash::of(format!("{}\n{}", call.tool, call.args));
        let now = (call.sources.clone(), call.is_stored);
        match self.calls.insert(key.clone(), now) {
            Some((sources, true)) if sources == *call.sources => {
                let words = format!(
                    "`{}` ran again with the same arguments on unchanged sources, and its result is stored",
                    call.tool
                );
                self.count(vec![fault(MemoryFault::DuplicateTool, Vec::new(), words)])
            }
            Some(_) => Vec::new(),
            None => {
                self.order.push_back(key);
                if self.order.len() > MAX_CALLS
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.calls.remove(&oldest);
                }
                Vec::new()
            }
        }
    }

    /// A recall was answered. `unsearched`: what could not be searched.
    pub fn recalled(&mut self, is_no_match: bool, unsearched: &[String]) -> Vec<MemoryFaultKind> {
        if !is_no_match || unsearched.is_empty() {
            return Vec::new();
        }
        let words = format!("a recall said that nothing matches, though {}", unsearched.join(", "));
        self.count(vec![fault(MemoryFault::SilentRecall, Vec::new(), words)])
    }

    /// Operations of the journal that were acknowledged and are neither committed nor refused nor held with a reason, at the end of the
    /// session; or that are in no readable line of it any more. Each counts once.
    pub fn missed(&mut self, operations: &[String], how: &str) -> Vec<MemoryFaultKind> {
        let new: Vec<&String> =
            operations.iter().filter(|id| self.missed.insert((*id).clone())).collect();
        if new.is_empty() {
            return Vec::new();
        }
        let names: Vec<String> = new.iter().map(|id| format!("`{id}`")).collect();
        let words = format!("{} {how}", names.join(", "));
        self.count(vec![fault(MemoryFault::FlushMiss, Vec::new(), words)])
    }

    fn count(&mut self, faults: Vec<MemoryFaultKind>) -> Vec<MemoryFaultKind> {
        for fault in &faults {
            *self.counts.entry(fault.fault).or_default() += 1;
        }
        faults
    }
}

fn fault(fault: MemoryFault, pages: Vec<PageId>, words: String) -> MemoryFaultKind {
    MemoryFaultKind { fault, pages, words }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}
