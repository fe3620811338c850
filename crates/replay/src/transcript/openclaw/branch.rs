//! The branch on which a session ended. Each entry names its parent, and rows remain when a person
//! goes back. Must not know what entries say.

use std::collections::HashMap;

use serde_json::Value;

use super::kind;
use crate::transcript::lines::Line;

/// The branch of a session, by entry.
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// Whether the entry is on the branch.
    pub(super) on: Vec<bool>,
    /// Whether its parent is unknown, so that it follows the newest entry.
    pub(super) is_mended: Vec<bool>,
}

/// A field's reference to another entry.
#[derive(Clone, Copy)]
enum EntryRef {
    /// There is none: a session begins.
    Start,
    At(usize),
    /// It names an unknown entry.
    Unknown,
    /// The field is missing.
    Unsaid,
}

/// The branch of a session's entries.
pub(super) fn of(entries: &[Line<'_>]) -> Branch {
    let mut tree = Tree::default();
    for entry in entries {
        if kind(entry) == "leaf" {
            tree.go_back(entry);
        } else {
            tree.add(entry);
        }
    }
    let mut branch = Branch { on: vec![false; entries.len()], is_mended: tree.is_mended };
    let mut next = tree.leaf;
    while let Some(at) = next {
        branch.on[at] = true;
        // A parent always comes before.
        next = tree.parents[at];
    }
    branch
}

#[derive(Default)]
struct Tree<'a> {
    by_id: HashMap<&'a str, usize>,
    parents: Vec<Option<usize>>,
    /// Whether an entry is the newest reset or comes after it; the session cannot go back to before
    /// a reset.
    is_after_reset: Vec<bool>,
    has_reset: bool,
    is_mended: Vec<bool>,
    /// The end of the branch.
    leaf: Option<usize>,
    /// The parent that the next entry will name: the leaf, or what was put at the side since.
    newest: Option<usize>,
}

impl<'a> Tree<'a> {
    /// Takes an entry. A side entry does not move the branch: it is on the branch only if a `leaf`
    /// moves there, as happens when OpenClaw rewrites the end of a branch.
    fn add(&mut self, entry: &'a Line<'_>) {
        let at = self.parents.len();
        let (is_reset, is_aside) =
            (kind(entry) == "reset", entry.text_at("appendMode") == Some("side"));
        let place = self.place(entry, "parentId");
        let mut parent = self.resolved(place);
        if is_aside && matches!(place, EntryRef::Unknown) {
            parent = None;
        } else if !is_aside {
            let continues = parent == self.newest || (self.has_reset && !self.is_within(parent));
            parent = if continues { self.leaf } else { parent };
        }
        let is_after_reset = is_reset || self.is_within(parent);
        if is_reset {
            self.has_reset = true;
            self.is_after_reset.fill(false);
        }
        let is_mended = !is_aside && matches!(place, EntryRef::Unknown);
        self.push(entry, parent, is_after_reset, is_mended);
        self.newest = Some(at);
        if !is_aside {
            self.leaf = Some(at);
        }
    }

    /// Takes a `leaf`, which ends the branch at the entry that it names.
    fn go_back(&mut self, entry: &'a Line<'_>) {
        let target = self.resolved(self.place(entry, "targetId"));
        let target = if self.has_reset && !self.is_within(target) { self.leaf } else { target };
        self.push(entry, target, self.is_within(target), false);
        self.leaf = target;
        self.newest = match self.place(entry, "appendParentId") {
            EntryRef::At(parent) => Some(parent),
            _ => target,
        };
    }

    fn push(
        &mut self,
        entry: &'a Line<'_>,
        parent: Option<usize>,
        after_reset: bool,
        mended: bool,
    ) {
        if let Some(id) = entry.text_at("id") {
            self.by_id.entry(id).or_insert(self.parents.len());
        }
        self.parents.push(parent);
        self.is_after_reset.push(after_reset);
        self.is_mended.push(mended);
    }

    fn is_within(&self, at: Option<usize>) -> bool {
        at.is_some_and(|at| self.is_after_reset[at])
    }

    fn resolved(&self, place: EntryRef) -> Option<usize> {
        match place {
            EntryRef::Start => None,
            EntryRef::At(at) => Some(at),
            EntryRef::Unknown | EntryRef::Unsaid => self.leaf,
        }
    }

    fn place(&self, entry: &Line<'_>, field: &str) -> EntryRef {
        match entry.object.get(field) {
            Some(Value::Null) => EntryRef::Start,
            Some(Value::String(id)) => {
                self.by_id.get(id.as_str()).map_or(EntryRef::Unknown, |at| EntryRef::At(*at))
            }
            _ => EntryRef::Unsaid,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The IDs on the branch, and how many entries follow the newest one for want of their parent.
    /// Entries are `[ID, parent]`, with `leaf`, `reset` or `side` behind.
    fn branch(entries: &Value) -> (String, usize) {
        let object = |entry: &Value| {
            let mut object = json!({ "id": entry[0], "parentId": entry[1], "type": "message" });
            match entry[2].as_str() {
                Some("leaf") => {
                    object = json!({ "id": entry[0], "targetId": entry[1], "type": "leaf" });
                }
                Some("reset") => object["type"] = "reset".into(),
                Some("side") => object["appendMode"] = "side".into(),
                _ => {}
            }
            object
        };
        let objects: Vec<Value> = entries.as_array().unwrap().iter().map(object).collect();
        let line = |object: &Value| Line {
            number: 1,
            text: None,
            object: object.as_object().unwrap().clone(),
        };
        let lines: Vec<Line<'_>> = objects.iter().map(line).collect();
        let branch = of(&lines);
        let ids = lines.iter().zip(&branch.on).filter(|(line, on)| **on && kind(line) != "leaf");
        let mended = branch.is_mended.iter().filter(|is| **is).count();
        (ids.filter_map(|(line, _)| line.text_at("id")).collect(), mended)
    }

    #[test]
    fn the_branch_ends_at_the_newest_entry_or_a_jump_back() {
        for (entries, expected) in [
            (json!([["a", null], ["b", "a"], ["c", "b"]]), ("abc", 0)),
            (json!([["a", null], ["b", "a"], ["c", "a"], ["d", "c"]]), ("acd", 0)),
            (json!([["a", null], ["b", "a"], ["x", "a", "leaf"]]), ("a", 0)),
            (json!([["a", null], ["b", "a"], ["x", "a", "leaf"], ["c", "a"]]), ("ac", 0)),
            (json!([["a", null], ["b", "a"], ["x", "a", "leaf"], ["c", "x"]]), ("ac", 0)),
            (json!([["a", null], ["b", "lost"], ["c", "b"]]), ("abc", 1)),
            (json!([["a", null], ["x", "lost", "leaf"], ["b", "a"]]), ("ab", 0)),
            (json!([]), ("", 0)),
        ] {
            assert_eq!(branch(&entries), (expected.0.to_owned(), expected.1), "{entries}");
        }
    }

    #[test]
    fn what_is_aside_is_on_the_branch_only_if_it_was_gone_to() {
        for (entries, expected) in [
            (json!([["a", null], ["s", "a", "side"], ["b", "a"]]), "ab"),
            (json!([["a", null], ["s", "a", "side"], ["b", "s"]]), "ab"),
            (json!([["a", null], ["b", "a"], ["s", "b", "side"]]), "ab"),
            (json!([["s", null, "side"]]), ""),
            (json!([["a", null], ["s", "lost", "side"], ["x", "s", "leaf"]]), "s"),
            // The end of a branch, rewritten.
            (
                json!([
                    ["a", null],
                    ["b", "a"],
                    ["c", "b"],
                    ["d", "a", "side"],
                    ["e", "d", "side"],
                    ["x", "e", "leaf"]
                ]),
                "ade",
            ),
            (
                json!([
                    ["a", null],
                    ["b", "a"],
                    ["d", "a", "side"],
                    ["x", "d", "leaf"],
                    ["c", "d"],
                    ["e", "c"]
                ]),
                "adce",
            ),
            (
                json!([
                    ["a", null],
                    ["r", "a", "reset"],
                    ["b", "r"],
                    ["d", "r", "side"],
                    ["x", "d", "leaf"],
                    ["c", "d"]
                ]),
                "ardc",
            ),
        ] {
            assert_eq!(branch(&entries).0, expected, "{entries}");
        }
    }

    #[test]
    fn no_way_leads_back_to_before_a_reset() {
        for (entries, expected) in [
            (json!([["a", null], ["r", "a", "reset"], ["b", "r"]]), "arb"),
            (json!([["a", null], ["r", "a", "reset"], ["b", "a"], ["c", "b"]]), "arbc"),
            (json!([["a", null], ["r", "a", "reset"], ["b", "r"], ["x", "a", "leaf"]]), "arb"),
            (json!([["a", null], ["r", "a", "reset"], ["b", null]]), "arb"),
            (
                json!([
                    ["a", null],
                    ["r", "a", "reset"],
                    ["b", "r"],
                    ["s", "b", "reset"],
                    ["c", "r"]
                ]),
                "arbsc",
            ),
        ] {
            assert_eq!(branch(&entries).0, expected, "{entries}");
        }
    }
}
