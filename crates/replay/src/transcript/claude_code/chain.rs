//! Finds the conversation on which a session ended among the lines of its tree.
//!
//! Lines name their parents, but not always the line that they follow: a hook's progress, or an
//! attachment, may still name a message of long ago, and the next message names that line. So a
//! message behind such a line follows the message before it, unless the recorded usage shrinks.
//! Where a message names an earlier message itself, a person went back, unless the recorded usage
//! grows by what stands between. Must not know what blocks say.

use std::collections::{HashMap, HashSet};

use super::blocks::usage_of;
use super::{answered_by, content_of, is_by_model, is_message, node_of, response_of};
use crate::transcript::lines::Line;
use crate::transcript::message::count_of;
use crate::transcript::notes::Notes;
use crate::transcript::path::{Node, Parent, parents, path_to};

/// Which entries belong to the conversation on which the session ended.
pub(super) fn on_path(entries: &[Line<'_>], notes: &mut Notes) -> Vec<bool> {
    let tree = Tree::new(entries).mended();
    let mut path = path_to(&tree, entries.iter().rposition(is_message));
    let mended = "lines whose parent is not in the file, which follow the line before them";
    notes.count_all(mended, path.mended);
    let on = entries.iter().zip(&path.on).filter(|(_, on)| **on).map(|(entry, _)| entry);
    let responses: HashSet<&str> = on.filter_map(response_of).collect();
    let mut calls = HashSet::new();
    for (entry, on) in entries.iter().zip(&mut path.on) {
        *on |= response_of(entry).is_some_and(|id| responses.contains(id));
        if *on {
            calls.extend(calls_of(entry));
        }
    }
    for (entry, on) in entries.iter().zip(&mut path.on) {
        *on |= content_of(entry).filter_map(answered_by).any(|call| calls.contains(call));
    }
    path.on
}

/// The calls that a line makes.
pub(super) fn calls_of<'a>(entry: &'a Line<'_>) -> impl Iterator<Item = &'a str> {
    content_of(entry).filter_map(|block| block.get("id")?.as_str())
}

/// The lines of a session with their places.
struct Tree<'a> {
    entries: &'a [Line<'a>],
    nodes: Vec<Node<'a>>,
    /// The parent of each line, if it is in the file before the line.
    parents: Vec<Option<usize>>,
    /// The nearest line above each that is not a note.
    anchors: Vec<Option<usize>>,
    /// Whether each line is a note, from which, or from notes above it, several messages follow.
    is_shared: Vec<bool>,
    /// The message before each line.
    before: Vec<Option<usize>>,
    /// The lines of each response.
    responses: HashMap<&'a str, Vec<usize>>,
    /// The response of each call.
    makers: HashMap<&'a str, &'a str>,
    /// The tokens that each answer's request had as input, if the file says it.
    inputs: Vec<Option<i64>>,
    /// The nearest line with such tokens before each, and from it on.
    counted: Vec<(Option<usize>, Option<usize>)>,
    /// Bytes of all messages before each line.
    sizes: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(entries: &'a [Line<'a>]) -> Self {
        let nodes: Vec<Node<'_>> = entries.iter().map(node_of).collect();
        let parents = parents(&nodes).into_iter().enumerate();
        let parents: Vec<Option<usize>> =
            parents.map(|(at, parent)| parent.filter(|parent| *parent < at)).collect();
        let mut anchors: Vec<Option<usize>> = Vec::with_capacity(entries.len());
        for parent in &parents {
            let anchor = parent.and_then(|parent| {
                if is_note(&entries[parent]) { anchors[parent] } else { Some(parent) }
            });
            anchors.push(anchor);
        }
        let is_shared = shared_notes(entries, &parents);
        let mut before = Vec::with_capacity(entries.len());
        let (mut last, mut size, mut sizes) = (None, 0, Vec::with_capacity(entries.len()));
        for (at, entry) in entries.iter().enumerate() {
            before.push(last);
            sizes.push(size);
            if is_message(entry) {
                last = Some(at);
                size += entry.text.map_or(0, str::len);
            }
        }
        let (mut responses, mut makers) = (HashMap::<&str, Vec<usize>>::new(), HashMap::new());
        for (at, entry) in entries.iter().enumerate() {
            if let Some(id) = response_of(entry) {
                responses.entry(id).or_default().push(at);
                makers.extend(calls_of(entry).map(|call| (call, id)));
            }
        }
        let inputs: Vec<Option<i64>> = entries.iter().map(input_of).collect();
        let counted = nearest(&inputs);
        Self {
            entries,
            nodes,
            parents,
            anchors,
            is_shared,
            before,
            responses,
            makers,
            inputs,
            counted,
            sizes,
        }
    }

    /// The places of the lines, where a line that only seems to go back follows the message before.
    fn mended(mut self) -> Vec<Node<'a>> {
        for at in 0..self.entries.len() {
            if let Some(before) = self.follows(at) {
                self.nodes[at].parent = Parent::At(before);
            }
        }
        self.nodes
    }

    /// The message that a line follows although its parent says otherwise.
    fn follows(&self, at: usize) -> Option<usize> {
        let entry = &self.entries[at];
        let before = self.before[at]?;
        if is_note(entry) || content_of(entry).any(|block| answered_by(block).is_some()) {
            return None;
        }
        let anchor = self.anchors[at].filter(|anchor| *anchor < before)?;
        if response_of(entry).is_some_and(|id| response_of(&self.entries[before]) == Some(id)) {
            return None;
        }
        let group = self.group_of(anchor);
        let is_left = |between: &usize| {
            let entry = &self.entries[*between];
            is_message(entry) && !group.contains(entry)
        };
        (anchor + 1..at).rev().find(is_left)?;
        let parent = self.parents[at]?;
        let is_behind_note = is_note(&self.entries[parent]) && !self.is_shared[parent];
        self.has_grown(anchor, at, is_behind_note).then_some(before)
    }

    /// Whether the usage says that a line follows what stands between it and its parent's message.
    fn has_grown(&self, anchor: usize, at: usize, is_behind_note: bool) -> bool {
        let (last, next) = self.counted[at];
        let last = last.filter(|last| *last > anchor);
        let (Some(last), Some(next)) = (last, next) else { return is_behind_note };
        let input = |at: usize| self.inputs[at].unwrap_or_default();
        let grown = input(next) - input(last);
        if is_behind_note {
            return grown >= 0;
        }
        // About four bytes are a token.
        let tokens = |from: usize, to: usize| {
            let bytes = self.sizes[to].saturating_sub(self.sizes[from]);
            i64::try_from(bytes / 4).unwrap_or(i64::MAX)
        };
        let onward = tokens(last, next);
        let anew = tokens(at, next).saturating_sub(tokens(anchor + 1, last));
        grown > 0 && (grown - onward).abs() < (grown - anew).abs()
    }

    /// The response of a line, or of the calls that it answers: parallel calls fork the path.
    fn group_of(&self, anchor: usize) -> Group<'a> {
        let entry = &self.entries[anchor];
        let answered: HashSet<&str> = content_of(entry).filter_map(answered_by).collect();
        let made = || answered.iter().find_map(|call| self.makers.get(call).copied());
        let Some(response) = response_of(entry).or_else(made) else {
            return Group { response: None, calls: answered };
        };
        let lines = self.responses.get(response).into_iter().flatten();
        let calls = lines.flat_map(|line| calls_of(&self.entries[*line])).collect();
        Group { response: Some(response), calls }
    }
}

/// A response and its calls.
struct Group<'a> {
    response: Option<&'a str>,
    calls: HashSet<&'a str>,
}

impl Group<'_> {
    fn contains(&self, entry: &Line<'_>) -> bool {
        let is_same = |id: &str| self.response == Some(id);
        response_of(entry).is_some_and(is_same)
            || content_of(entry).filter_map(answered_by).any(|call| self.calls.contains(call))
    }
}

/// For each place, the nearest one before it that has a value, and the nearest from it on.
fn nearest(values: &[Option<i64>]) -> Vec<(Option<usize>, Option<usize>)> {
    let mut last = None;
    let mut found: Vec<(Option<usize>, Option<usize>)> = Vec::with_capacity(values.len());
    for (at, value) in values.iter().enumerate() {
        found.push((last, None));
        last = if value.is_some() { Some(at) } else { last };
    }
    let mut next = None;
    for (at, value) in values.iter().enumerate().rev() {
        next = if value.is_some() { Some(at) } else { next };
        found[at].1 = next;
    }
    found
}

/// Whether a line only notes what happened beside the conversation.
fn is_note(entry: &Line<'_>) -> bool {
    matches!(entry.text_at("type"), Some("progress" | "attachment"))
}

/// Which notes lead to several lines of the conversation: there a person went back.
fn shared_notes(entries: &[Line<'_>], parents: &[Option<usize>]) -> Vec<bool> {
    let mut leads = vec![0_u64; entries.len()];
    for at in (0..entries.len()).rev() {
        if let Some(parent) = parents[at].filter(|_| !is_note(&entries[at]) || leads[at] > 0) {
            leads[parent] += 1;
        }
    }
    let mut is_shared: Vec<bool> = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let above = parents[at].is_some_and(|parent| is_shared[parent]);
        is_shared.push(is_note(entry) && (leads[at] > 1 || above));
    }
    is_shared
}

/// The tokens that a request had as input, by the usage of its answer.
fn input_of(entry: &Line<'_>) -> Option<i64> {
    let counts = entry.object_at("message").filter(|_| is_by_model(entry))?.get("usage")?;
    counts.get("input_tokens").and_then(count_of)?;
    let usage = usage_of(counts);
    let sent = ["input", "cacheRead", "cacheWrite"].iter().filter_map(|key| usage[*key].as_i64());
    Some(sent.fold(0, i64::saturating_add)).filter(|sum| *sum > 0)
}
