//! The branch of a session that it ended on. Each entry names its parent, and its rows stay when a person goes back. Must not know what
//! entries say.

use std::collections::HashMap;

use serde_json::Value;

use super::kind;
use crate::replay::transcript::lines::Line;

/// For each entry of a session:
#[derive(Debug, Default)]
pub(super) struct Branch {
    /// whether it is on the branch,
    pub(super) on: Vec<bool>,
    /// and whether its parent is unknown, so that it follows the newest entry.
    pub(super) is_mended: Vec<bool>,
}

/// What a field says about another entry.
enum Place {
    /// There is none: a session begins.
    Start,
    At(usize),
    /// It names an entry that is not known.
    Unknown,
    /// The field is missing.
    Unsaid,
}

/// The branch of a session's entries.
pub(super) fn of(entries: &[Line<'_>]) -> Branch {
    let mut tree = Tree::default();
    for entry in entries {
        tree.add(entry);
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
    /// Whether an entry is at the side: it is on no branch, and what follows it follows the leaf.
    is_aside: Vec<bool>,
    /// Whether an entry is the newest reset or comes after it; there is no way back to before one.
    is_after_reset: Vec<bool>,
    has_reset: bool,
    is_mended: Vec<bool>,
    leaf: Option<usize>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, entry: &'a Line<'_>) {
        let at = self.parents.len();
        let goes_back = kind(entry) == "leaf";
        let aside = entry.text_at("appendMode") == Some("side");
        let place = self.place(entry, if goes_back { "targetId" } else { "parentId" });
        let is_unknown = matches!(place, Place::Unknown);
        let mut parent = match place {
            Place::Start => None,
            Place::At(parent) if self.is_aside[parent] && !aside => self.leaf,
            Place::At(parent) => Some(parent),
            Place::Unknown | Place::Unsaid => self.leaf,
        };
        let is_within = |parent: Option<usize>| parent.is_some_and(|at| self.is_after_reset[at]);
        if self.has_reset && !aside && !is_within(parent) {
            parent = self.leaf;
        }
        let is_after_reset = is_within(parent);
        if kind(entry) == "reset" {
            self.has_reset = true;
            self.is_after_reset.fill(false);
        }
        self.is_after_reset.push(is_after_reset || kind(entry) == "reset");
        self.parents.push(parent);
        self.is_aside.push(aside);
        self.is_mended.push(is_unknown && !goes_back);
        if !aside {
            self.leaf = Some(at);
        }
        if let Some(id) = entry.text_at("id") {
            self.by_id.entry(id).or_insert(at);
        }
    }

    fn place(&self, entry: &Line<'_>, field: &str) -> Place {
        match entry.object.get(field) {
            Some(Value::Null) => Place::Start,
            Some(Value::String(id)) => {
                self.by_id.get(id.as_str()).map_or(Place::Unknown, |at| Place::At(*at))
            }
            _ => Place::Unsaid,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The IDs on the branch, and how many entries follow the newest one for want of their parent. Entries are `[ID, parent]`, with
    /// `leaf`, `reset` or `side` behind.
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
    fn the_branch_is_that_of_the_newest_entry_or_of_what_a_person_went_back_to() {
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
    fn what_is_aside_is_on_no_branch() {
        for entries in [
            json!([["a", null], ["s", "a", "side"], ["b", "a"]]),
            json!([["a", null], ["s", "a", "side"], ["b", "s"]]),
            json!([["a", null], ["b", "a"], ["s", "b", "side"]]),
        ] {
            assert_eq!(branch(&entries).0, "ab", "{entries}");
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
