//! Expand and select: follows relations from some objects to others and collects what was asked
//! for. Deterministic: the same store at the same point gives the same answer.

use std::collections::{HashSet, VecDeque};

use serde::Serialize;
use serde_json::Value;

use super::{ContentPart, Graph, LinkTarget, PlacePattern, Resolved, TargetState, fields, resolve};
use base::error::{Error, Result};
use base::object::{
    AsOf, DynamicReference, FieldPath, Hash, ObjectId, ObjectType, Reference, StaticReference, TxId,
};
use store::{Pin, Relation, RelationKind, Version, Written};

/// Direction in which relations are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// From an object to its targets.
    #[default]
    Forward,
    /// From an object to those that refer to it.
    Back,
    /// Both, forward first.
    Both,
}

/// What is returned for each object, besides its metadata.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum What {
    /// Metadata only.
    #[default]
    Metadata,
    /// The content: the section, block or lines that the relation points to, else all of it. None
    /// for documents with items.
    Content,
    /// The values at these paths of the payload: fields, `content`, `additional.NAME`, `items`.
    Fields(Vec<FieldPath>),
}

/// What to expand. Default: one level forward along all relations that lead to objects, metadata
/// only.
#[derive(Debug, Clone, PartialEq)]
pub struct Expansion {
    /// The objects to start from.
    pub roots: Vec<Reference>,
    /// Kinds of relations to follow; empty for all. External links, tags and aliases lead to no
    /// object.
    pub kinds: Vec<RelationKind>,
    /// Places whose relations to follow; empty for all.
    pub fields: Vec<PlacePattern>,
    /// Direction to follow them in.
    pub direction: Direction,
    /// Maximum number of relations between a node and its root; 0 lists the roots only.
    pub depth: u32,
    /// Types to list; empty for all. Objects of other types are followed but not listed.
    pub types: Vec<ObjectType>,
    /// What to return for each.
    pub what: What,
    /// Maximum number of nodes to list.
    pub limit: usize,
    /// Budget in characters (Unicode scalar values) for all contents and texts in fields. A node
    /// that would exceed it comes without them; later nodes that fit keep theirs. `None`: no limit.
    pub budget_chars: Option<u64>,
}

impl Default for Expansion {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            kinds: Vec::new(),
            fields: Vec::new(),
            direction: Direction::Forward,
            depth: 1,
            types: Vec::new(),
            what: What::Metadata,
            limit: 1_000,
            budget_chars: None,
        }
    }
}

/// An object, or a target that is not one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphNode {
    /// Number of relations between it and its root.
    pub depth: u32,
    /// Index of the nearest listed node that it was reached from; `None` for roots.
    pub parent: Option<usize>,
    /// The relation by which it was reached, and the object that contains that relation; `None` for
    /// roots.
    pub via: Option<(ObjectId, Relation)>,
    /// What the target is.
    pub state: TargetState,
    /// The object; `None` for an unresolved link.
    pub id: Option<ObjectId>,
    /// Its version.
    pub tx_id: Option<TxId>,
    /// Hash of that version's payload.
    pub content_hash: Option<Hash>,
    /// The part of its text that the relation points to; `None` for all.
    pub part: Option<ContentPart>,
    /// Its metadata, see [`base::object::metadata_view`].
    pub metadata: Vec<(String, Value)>,
    /// The content, if it was asked for; also `None` if it is null.
    pub content: Option<String>,
    /// The requested fields that exist; a path with `[*]` gives a list.
    pub fields: Vec<(String, Value)>,
    /// Characters left out because they exceeded the budget.
    pub left_out_chars: Option<u64>,
}

/// The nodes reached, nearest first; within a level in the order of the relations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expanded {
    /// Each version once, and once more for each part of it that a relation points to.
    pub nodes: Vec<GraphNode>,
    /// Whether there are more nodes than `limit`.
    pub more: bool,
}

/// A node before it is decided whether it is listed: it has no metadata or content yet.
struct Reached {
    node: GraphNode,
    version: Option<Version>,
    is_pinned: bool,
}

/// Two nodes with the same identity are one.
type Identity = (Option<ObjectId>, Option<TxId>, Option<ContentPart>, String);

impl Graph<'_> {
    /// Follows relations from the roots, level by level. A pinned reference gives its version and
    /// that version's relations, a dynamic one the version visible at the time. Targets that are
    /// missing, forgotten or unresolved are listed.
    ///
    /// # Errors
    /// Those of reading. A pinned version with another payload is no error but a node with the
    /// state `Mismatch`.
    pub fn expand(&self, expansion: &Expansion) -> Result<Expanded> {
        let mut walk = Walk {
            graph: self,
            expansion,
            queue: VecDeque::new(),
            seen: HashSet::new(),
            followed: HashSet::new(),
            expanded: Expanded { nodes: Vec::new(), more: false },
            spent_chars: 0,
        };
        for root in &expansion.roots {
            let reached = self.root(root)?;
            walk.queue.push_back(reached);
        }
        while let Some(reached) = walk.queue.pop_front() {
            if !walk.take(reached)? {
                break;
            }
        }
        Ok(walk.expanded)
    }

    fn root(&self, root: &Reference) -> Result<Reached> {
        let target = match root {
            Reference::Dynamic(DynamicReference { id }) => {
                resolve::object(id, self.resolver.version(id)?.as_deref())
            }
            Reference::Static(StaticReference { id, content_hash, origin }) => {
                let (content_hash, origin) = (content_hash.clone(), Some(origin.clone()));
                self.resolver.pinned(id, &Pin { content_hash, origin })?
            }
        };
        let reached = self.reached(0, None, None, target)?;
        Ok(Reached { is_pinned: matches!(root, Reference::Static(_)), ..reached })
    }

    /// The node to which a relation, contained in an object, leads.
    fn reached(
        &self,
        depth: u32,
        parent: Option<usize>,
        via: Option<(ObjectId, Relation)>,
        target: LinkTarget,
    ) -> Result<Reached> {
        let version = match (&target.id, target.tx_id) {
            (Some(id), Some(tx_id)) => self.store.get(id, AsOf::Tx(tx_id))?,
            _ => None,
        };
        let relation = via.as_ref().map(|(_, relation)| relation);
        let is_pinned = relation.is_some_and(|relation| relation.kind == RelationKind::Static);
        let node = GraphNode {
            depth,
            parent,
            part: relation.and_then(|relation| ContentPart::of(&relation.written)),
            via,
            state: target.state,
            id: target.id,
            tx_id: version.as_ref().map(|version| version.tx_id),
            content_hash: version.as_ref().map(|version| version.content_hash.clone()),
            metadata: Vec::new(),
            content: None,
            fields: Vec::new(),
            left_out_chars: None,
        };
        Ok(Reached { node, version, is_pinned })
    }
}

struct Walk<'w> {
    graph: &'w Graph<'w>,
    expansion: &'w Expansion,
    queue: VecDeque<Reached>,
    seen: HashSet<Identity>,
    followed: HashSet<(ObjectId, Option<TxId>)>,
    expanded: Expanded,
    spent_chars: u64,
}

impl Walk<'_> {
    /// Lists a node and queues its neighbours; `false` once the limit ends the walk.
    fn take(&mut self, reached: Reached) -> Result<bool> {
        if !self.seen.insert(reached.identity()) {
            return Ok(true);
        }
        let Reached { node, version, is_pinned } = reached;
        let types = &self.expansion.types;
        let kind = version.as_ref().map(|version| version.envelope.kind);
        let is_listed = types.is_empty() || kind.is_some_and(|kind| types.contains(&kind));
        let (from, depth, mut parent) = (node.id.clone(), node.depth, node.parent);
        if is_listed {
            if self.expanded.nodes.len() >= self.expansion.limit {
                self.expanded.more = true;
                return Ok(false);
            }
            parent = Some(self.expanded.nodes.len());
            let node = self.filled(node, version.as_ref(), is_pinned)?;
            self.expanded.nodes.push(node);
        }
        if let Some(id) = from.filter(|_| depth < self.expansion.depth) {
            self.follow(&id, version.map(|version| version.tx_id), depth + 1, parent)?;
        }
        Ok(true)
    }

    /// Queues the neighbours of an object, in the direction asked for. `tx_id`: its version.
    fn follow(
        &mut self,
        id: &ObjectId,
        tx_id: Option<TxId>,
        depth: u32,
        parent: Option<usize>,
    ) -> Result<()> {
        if !self.followed.insert((id.clone(), tx_id)) {
            return Ok(());
        }
        if let Some(tx_id) = tx_id.filter(|_| self.expansion.direction != Direction::Back) {
            for resolved in self.graph.links_at(id, AsOf::Tx(tx_id))? {
                if self.is_followed(&resolved) {
                    let Resolved { from, relation, target, .. } = resolved;
                    let via = Some((from, relation));
                    self.queue.push_back(self.graph.reached(depth, parent, via, target)?);
                }
            }
        }
        if self.expansion.direction != Direction::Forward {
            for resolved in self.graph.backlinks(id, None)? {
                if self.is_followed(&resolved) {
                    let Resolved { from, relation, .. } = resolved;
                    let version = self.graph.resolver.version(&from)?;
                    let target = resolve::object(&from, version.as_deref());
                    let via = Some((from, relation));
                    let mut reached = self.graph.reached(depth, parent, via, target)?;
                    // The relation's part belongs to the text that it leads to, not to the one that
                    // contains it.
                    (reached.node.part, reached.is_pinned) = (None, false);
                    self.queue.push_back(reached);
                }
            }
        }
        Ok(())
    }

    fn is_followed(&self, resolved: &Resolved) -> bool {
        let Expansion { kinds, fields, .. } = self.expansion;
        let place = &resolved.relation.place;
        resolved.target.state != TargetState::None
            && (kinds.is_empty() || kinds.contains(&resolved.relation.kind))
            && (fields.is_empty() || fields.iter().any(|pattern| pattern.fits(place)))
    }

    /// A node with what was asked for.
    fn filled(
        &mut self,
        mut node: GraphNode,
        version: Option<&Version>,
        is_pinned: bool,
    ) -> Result<GraphNode> {
        let Some(version) = version else { return Ok(node) };
        let store = self.graph.store;
        node.metadata = store.metadata_view(version)?;
        if self.expansion.what == What::Metadata || node.state != TargetState::Found {
            return Ok(node);
        }
        if is_pinned {
            match store.verify(version) {
                Err(Error::HashMismatch { .. }) => {
                    node.state = TargetState::Mismatch;
                    return Ok(node);
                }
                verified => verified?,
            }
        }
        self.give(version, &mut node)?;
        Ok(node)
    }

    /// Adds the requested content or fields, within the budget.
    fn give(&mut self, version: &Version, node: &mut GraphNode) -> Result<()> {
        match &self.expansion.what {
            What::Metadata => {}
            What::Content => {
                let text = self.graph.store.content(version)?;
                let whole = text.is_some();
                node.content = match (&node.part, text) {
                    (Some(part), Some(text)) => part.of_text(&text),
                    (_, text) => text,
                };
                if whole && node.content.is_none() {
                    node.state = TargetState::NoPart;
                }
            }
            What::Fields(paths) => {
                node.fields = fields::at_paths(self.graph, version, paths)?;
            }
        }
        let texts = node.content.iter().map(String::as_str);
        let fields = node.fields.iter().map(|(_, value)| fields::characters(value)).sum::<u64>();
        let chars = texts.map(|text| text.chars().count() as u64).sum::<u64>() + fields;
        let budget = self.expansion.budget_chars.unwrap_or(u64::MAX);
        if chars > budget.saturating_sub(self.spent_chars) {
            node.left_out_chars = Some(chars);
            node.content = None;
            node.fields = Vec::new();
        } else {
            self.spent_chars += chars;
        }
        Ok(())
    }
}

impl Reached {
    fn identity(&self) -> Identity {
        let pin = match self.node.via.as_ref().map(|(_, relation)| &relation.written) {
            // Missing versions of one object differ by the pinned hash.
            Some(Written::Object { pin: Some(pin), .. }) if self.version.is_none() => {
                pin.content_hash.to_string()
            }
            // Unresolved links are told apart by their object and their target as written.
            Some(Written::Link { target, .. }) if self.node.id.is_none() => {
                let from =
                    self.node.via.as_ref().map(|(from, _)| from.as_str()).unwrap_or_default();
                format!("{from} {target}")
            }
            _ => String::new(),
        };
        (self.node.id.clone(), self.node.tx_id, self.node.part.clone(), pin)
    }
}
