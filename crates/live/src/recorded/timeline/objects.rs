//! How an object was shown, call by call.

use std::collections::BTreeMap;

use serde::Serialize;

use base::object::{Handle, ObjectId, ObjectType, quote};
use session::{IndexEntry, Session, Subject, Way};

/// An object that the session met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectLine {
    /// The object.
    pub id: ObjectId,
    /// Its handle.
    pub handle: Handle,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ObjectType,
    /// For a file, its path as the agent sees it; for a call, its tool and what it asked for; for a
    /// segment, its turns.
    pub name: String,
    /// Whether it is pinned now, and the last request had room for it.
    #[serde(rename = "pinned")]
    pub is_pinned: bool,
    /// Runs of calls in which it was shown in the same way. Between the runs it was not shown.
    pub shown: Vec<ShownRun>,
}

/// A run of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ShownRun {
    /// The first call.
    pub from: u64,
    /// The last.
    pub to: u64,
    /// How.
    #[serde(rename = "as")]
    pub way: Way,
}

/// How an object was shown so far.
#[derive(Debug, Default)]
pub(super) struct Showing {
    /// Number of messages of the newest request that show it.
    counts: BTreeMap<Way, u32>,
    runs: Vec<ShownRun>,
    /// The first call of the current run, and its way.
    open: Option<(u64, Way)>,
}

impl Showing {
    pub(super) fn enter(&mut self, way: Way) {
        *self.counts.entry(way).or_default() += 1;
    }

    pub(super) fn leave(&mut self, way: Way) {
        let count = self.counts.entry(way).or_default();
        *count = count.saturating_sub(1);
    }

    /// Completes the request of this call.
    pub(super) fn turn_to(&mut self, call: u64) {
        let mut shown = self.counts.iter().filter(|(_, count)| **count > 0);
        let now = shown.next().map(|(way, _)| *way);
        if now == self.open.map(|(_, way)| way) {
            return;
        }
        self.end(call.saturating_sub(1));
        self.open = now.map(|way| (call, way));
    }

    pub(super) fn finish(mut self, last: u64) -> Vec<ShownRun> {
        self.end(last);
        self.runs
    }

    fn end(&mut self, last: u64) {
        if let Some((from, way)) = self.open.take() {
            self.runs.push(ShownRun { from, to: last, way });
        }
    }
}

impl ObjectLine {
    pub(super) fn new(entry: &IndexEntry, state: &Session, shown: Vec<ShownRun>) -> Self {
        let (kind, name) = match &entry.subject {
            file @ Subject::File { .. } => {
                let path = quote::name(state.shown_path(file.agent_path()));
                (ObjectType::File, path.into_owned())
            }
            Subject::Toolcall { tool, .. } => {
                let brief = state.brief(&entry.id);
                let named = format!("{} {}", quote::name(tool), quote::line(brief));
                (ObjectType::Toolcall, named.trim_end().to_owned())
            }
            Subject::Segment { turns: (first, last), .. } if first == last => {
                (ObjectType::ChatSegment, format!("turn {first}"))
            }
            Subject::Segment { turns: (first, last), .. } => {
                (ObjectType::ChatSegment, format!("turns {first} to {last}"))
            }
        };
        let is_pinned = state.sets().is_pinned(&entry.id) && !state.left_out().contains(&entry.id);
        Self { id: entry.id.clone(), handle: entry.handle, kind, name, is_pinned, shown }
    }
}
