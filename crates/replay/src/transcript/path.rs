//! Finds the path through a tree of entries to the entry on which the session ended. Each entry
//! names its parent; going back in a conversation leaves branches behind. Must not know what
//! entries hold.

use std::collections::HashMap;

use serde_json::Value;

/// An entry's parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parent<'a> {
    /// It is the first.
    None,
    /// It follows the entry with this ID.
    Id(&'a str),
    /// It follows the entry at this index.
    At(usize),
    /// It follows the entry before it in the file.
    Previous,
}

/// An entry's place in the tree.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) parent: Parent<'a>,
}

impl<'a> Node<'a> {
    /// `parent`: what the entry says of it; one that says nothing follows the entry before it.
    pub(super) fn of(id: Option<&'a str>, parent: Option<&'a Value>) -> Self {
        let parent = match parent {
            Some(Value::Null) => Parent::None,
            Some(Value::String(id)) => Parent::Id(id),
            _ => Parent::Previous,
        };
        Self { id, parent }
    }
}

/// The path to an entry.
#[derive(Debug)]
pub(super) struct Path {
    /// For each entry, whether it is on the path.
    pub(super) on: Vec<bool>,
    /// Number of entries on the path whose named parent is missing; they follow the previous entry
    /// in the file instead.
    pub(super) mended: usize,
}

/// Where the parent of each entry is, if it is in the file. An ID that occurs twice names its first
/// occurrence.
pub(super) fn parents(nodes: &[Node<'_>]) -> Vec<Option<usize>> {
    let mut by_id = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if let Some(id) = node.id {
            by_id.entry(id).or_insert(index);
        }
    }
    let parent = |(index, node): (usize, &Node<'_>)| match node.parent {
        Parent::None => None,
        Parent::Id(id) => by_id.get(id).copied(),
        Parent::At(parent) => Some(parent),
        Parent::Previous => index.checked_sub(1),
    };
    nodes.iter().enumerate().map(parent).collect()
}

/// The path to the entry at `leaf`.
pub(super) fn path_to(nodes: &[Node<'_>], leaf: Option<usize>) -> Path {
    let parents = parents(nodes);
    let mut path = Path { on: vec![false; nodes.len()], mended: 0 };
    let mut next = leaf;
    // A damaged file may contain cycles.
    while let Some(index) = next.filter(|index| !path.on[*index]) {
        path.on[index] = true;
        next = parents[index];
        if next.is_none() && matches!(nodes[index].parent, Parent::Id(_)) {
            next = index.checked_sub(1);
            path.mended += usize::from(next.is_some());
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(nodes: &[(&str, Parent<'_>)]) -> (String, usize) {
        let nodes: Vec<Node<'_>> = nodes
            .iter()
            .map(|(id, parent)| Node { id: Some(id), parent: parent.clone() })
            .collect();
        let path = path_to(&nodes, nodes.len().checked_sub(1));
        let on = nodes.iter().zip(path.on).filter(|(_, on)| *on).filter_map(|(node, _)| node.id);
        (on.collect(), path.mended)
    }

    #[test]
    fn a_branch_that_was_left_is_not_on_the_path() {
        let nodes = [
            ("a", Parent::None),
            ("b", Parent::Id("a")),
            ("c", Parent::Id("b")),
            ("d", Parent::Id("a")),
            ("e", Parent::Previous),
        ];
        assert_eq!(walk(&nodes), ("ade".to_owned(), 0));
    }

    #[test]
    fn a_lost_entry_does_not_lose_what_came_before() {
        let nodes = [("a", Parent::None), ("c", Parent::Id("lost")), ("d", Parent::Id("c"))];
        assert_eq!(walk(&nodes), ("acd".to_owned(), 1));
    }

    #[test]
    fn a_circle_ends() {
        let nodes = [("a", Parent::Id("c")), ("b", Parent::Id("a")), ("c", Parent::Id("b"))];
        assert_eq!(walk(&nodes).0, "abc");
        assert_eq!(walk(&[]).0, "");
    }
}
