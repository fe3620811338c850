//! The six memory faults, found in the memory events of an open session. Pure: events come in,
//! faults come out. Must not read files or write traces.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use super::fidelity::Fidelity;
use super::page::PageId;
use base::object::Hash;

/// Calls that are remembered, to recognise repeated ones.
const MAX_CALLS: usize = 1_000;

/// A failure of memory.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, VariantArray,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryFault {
    /// Content that was resident is read or recalled again after eviction.
    Refetch,
    /// The same tool ran with the same arguments on unchanged sources while its result was stored.
    DuplicateTool,
    /// The first request after a compaction lacks pages that were resident.
    PostCompactionBootstrap,
    /// A staged write was neither committed nor refused with a reason by the end of the session, or
    /// a crash lost it.
    FlushMiss,
    /// A failed recall was reported as no match.
    SilentRecall,
    /// A pinned page is below its least fidelity.
    PinnedInvariant,
}

/// A page in the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resident {
    /// The page.
    pub id: PageId,
    /// At which fidelity.
    pub fidelity: Fidelity,
    /// Why, in a few words: `pinned`, `value 0.8`.
    pub why: String,
}

/// A memory fault that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFaultKind {
    /// Which fault.
    pub fault: MemoryFault,
    /// The pages concerned.
    pub pages: Vec<PageId>,
    /// What happened, in words.
    pub words: String,
}

/// What is known about a session, to find its memory faults.
#[derive(Debug, Default)]
pub struct Watch {
    /// The pages of the last request.
    resident: BTreeMap<PageId, Fidelity>,
    /// The highest fidelity at which each page has been resident.
    highest: BTreeMap<PageId, Fidelity>,
    /// Pages that were resident when the host compacted, until the next request.
    compacted: Option<BTreeSet<PageId>>,
    /// Pinned pages below their least fidelity; each counts once until it recovers.
    below: BTreeSet<PageId>,
    /// By tool and arguments: sources, and whether the result is stored.
    calls: HashMap<Hash, (Hash, bool)>,
    order: VecDeque<Hash>,
    /// Writes that were reported as missed.
    missed: BTreeSet<String>,
    counts: BTreeMap<MemoryFault, u64>,
    /// Those that were not taken yet.
    found: Vec<MemoryFaultKind>,
}

impl Watch {
    /// How often each memory fault happened in this session.
    pub fn counts(&self) -> &BTreeMap<MemoryFault, u64> {
        &self.counts
    }

    /// The faults that were not taken yet.
    pub fn take(&mut self) -> Vec<MemoryFaultKind> {
        std::mem::take(&mut self.found)
    }

    /// A request goes out. `resident`: its pages. `below_least`: pinned pages that it lacks, or
    /// that are below their least fidelity. `exists`: whether a page still exists; a page that a
    /// person deleted is not missed.
    pub fn prompted(
        &mut self,
        resident: &[Resident],
        below_least: &[PageId],
        exists: impl Fn(&PageId) -> bool,
    ) {
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
                self.fault(MemoryFault::PostCompactionBootstrap, lacking, words);
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
            self.fault(MemoryFault::PinnedInvariant, new, words);
        }
    }

    /// The host compacted the conversation.
    pub fn compacted(&mut self) {
        self.compacted = Some(self.resident.keys().cloned().collect());
    }

    /// The model got content of pages again, by reading their file or recalling them.
    pub fn fetched(&mut self, pages: &[PageId], how: &str) {
        let now = |id: &PageId| self.resident.get(id).copied();
        let is_evicted =
            |id: &&PageId| self.highest.get(id).is_some_and(|high| now(id) < Some(*high));
        let evicted: Vec<PageId> = pages.iter().filter(is_evicted).cloned().collect();
        if evicted.is_empty() {
            return;
        }
        // The model now has this content by its own call: only another eviction makes it a fault
        // again.
        for id in &evicted {
            self.highest.remove(id);
        }
        let words = format!(
            "{} was {how} again after eviction",
            counted(evicted.len(), "page that was resident", "pages that were resident")
        );
        self.fault(MemoryFault::Refetch, evicted, words);
    }

    /// A tool that reads files has finished. `args`: as JSON. `sources`: SHA-256 over their current
    /// state, by name and content. `is_stored`: whether the store holds the result.
    pub fn called(&mut self, tool: &str, args: &str, sources: &Hash, is_stored: bool) {
        let key = Hash::of(format!("{tool}\n{args}"));
        match self.calls.insert(key.clone(), (sources.clone(), is_stored)) {
            Some((before, true)) if before == *sources => {
                let words = format!(
                    "`{tool}` ran again with the same arguments on unchanged sources, and its result is stored"
                );
                self.fault(MemoryFault::DuplicateTool, Vec::new(), words);
            }
            Some(_) => {}
            None => {
                self.order.push_back(key);
                if self.order.len() > MAX_CALLS
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.calls.remove(&oldest);
                }
            }
        }
    }

    /// A recall was answered. `unsearched`: what could not be searched.
    pub fn recalled(&mut self, is_no_match: bool, unsearched: &[String]) {
        if is_no_match && !unsearched.is_empty() {
            let unsearched = unsearched.join(", ");
            let words = format!("a recall said that nothing matches, though {unsearched}");
            self.fault(MemoryFault::SilentRecall, Vec::new(), words);
        }
    }

    /// Acknowledged journal operations that, at the end of the session, are neither committed nor
    /// refused nor held with a reason, or that no readable line holds any more. Each counts once.
    pub fn missed(&mut self, operations: &[String], how: &str) {
        let new = operations.iter().filter(|id| self.missed.insert((*id).clone()));
        let names: Vec<String> = new.map(|id| format!("`{id}`")).collect();
        if !names.is_empty() {
            let words = format!("{} {how}", names.join(", "));
            self.fault(MemoryFault::FlushMiss, Vec::new(), words);
        }
    }

    fn fault(&mut self, fault: MemoryFault, pages: Vec<PageId>, words: String) {
        *self.counts.entry(fault).or_default() += 1;
        self.found.push(MemoryFaultKind { fault, pages, words });
    }
}

fn counted(count: usize, one: &str, several: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {several}") }
}
