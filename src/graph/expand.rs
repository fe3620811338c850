//! Expand and select: from some objects along their relations to others, and what is wanted of each. Deterministic: the same
//! store at the same point gives the same answer. Source: memory-system-v0 section 9.

use std::collections::{HashSet, VecDeque};

use serde::Serialize;
use serde_json::Value;

use super::{Graph, Part, PlacePattern, Resolved, Target, TargetState, fields, resolve};
use crate::error::{Error, Result};
use crate::object::{AsOf, FieldPath, Hash, ObjectId, ObjectType, Reference, TxId};
use crate::store::{Pin, Relation, RelationKind, Version, Written};

/// Which way relations are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// To what an object leads to.
    #[default]
    Forward,
    /// To what leads to an object.
    Back,
    /// Both, forward first.
    Both,
}

/// What is given of each object, beside its metadata.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum What {
    /// Nothing more.
    #[default]
    Metadata,
    /// The content: of the section, block or lines that the relation means, else all of it. Of documents with items nothing.
    Content,
    /// The values at these paths of the payload: fields, `content`, `additional.NAME`, `items`.
    Fields(Vec<FieldPath>),
}

/// What to expand. The defaults: one level forward along all relations that lead to objects, metadata only.
#[derive(Debug, Clone, PartialEq)]
pub struct Expansion {
    /// Where to start.
    pub roots: Vec<Reference>,
    /// Kinds of relations that are followed; empty for all. External links, tags and aliases lead to no object.
    pub kinds: Vec<RelationKind>,
    /// Places whose relations are followed; empty for all.
    pub fields: Vec<PlacePattern>,
    /// Which way.
    pub direction: Direction,
    /// How many relations away from a root; 0: the roots alone.
    pub depth: u32,
    /// Types that are listed; empty for all. Objects of other types are passed through.
    pub types: Vec<ObjectType>,
    /// What is given of each.
    pub what: What,
    /// Most nodes that are listed.
    pub limit: usize,
    /// Most characters (Unicode scalar values) of contents and of texts in fields, in all; a node that would pass it comes
    /// without, and later ones that fit come with theirs. `None`: no bound.
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

/// One object, or a target that is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Relations between it and its root.
    pub depth: u32,
    /// Place in the list of the nearest listed node that it was reached from; `None` for roots.
    pub parent: Option<usize>,
    /// The object that the relation stands in, and the relation, by which it was reached; `None` for roots.
    pub via: Option<(ObjectId, Relation)>,
    /// What became of it.
    pub state: TargetState,
    /// The object; `None` where a link is unresolved.
    pub id: Option<ObjectId>,
    /// Its version.
    pub tx_id: Option<TxId>,
    /// Hash of that version's payload.
    pub content_hash: Option<Hash>,
    /// The part of its text that is meant; `None` for all.
    pub part: Option<Part>,
    /// Its metadata, see [`crate::object::metadata_view`].
    pub metadata: Vec<(String, Value)>,
    /// The content that was asked for; `None` where it is null too.
    pub content: Option<String>,
    /// The fields that were asked for and that it has; a path with `[*]` gives a list.
    pub fields: Vec<(String, Value)>,
    /// Characters that were left out because they passed the budget.
    pub left_out_chars: Option<u64>,
}

/// What was reached, nearest first; on one level in the order of the relations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Expanded {
    /// Each object's version once, and once for each part of it that is meant.
    pub nodes: Vec<Node>,
    /// Whether there are more than `limit`.
    pub more: bool,
}

/// A node to come: before it is known whether it is listed.
struct Reached {
    depth: u32,
    parent: Option<usize>,
    via: Option<(ObjectId, Relation)>,
    state: TargetState,
    id: Option<ObjectId>,
    version: Option<Version>,
    part: Option<Part>,
    is_pinned: bool,
}

/// What makes a node the same as another.
type Identity = (Option<ObjectId>, Option<TxId>, Option<Part>, String);

impl Graph<'_> {
    /// Follows relations from the roots, level by level. A pinned reference gives its version and that version's relations,
    /// a dynamic one the version visible at the time. Targets that are missing, forgotten or unresolved are listed.
    ///
    /// # Errors
    /// Those of reading; a pinned version whose payload is not what is pinned becomes a node that says so.
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
            if walk.take(&reached)?.is_none() {
                break;
            }
        }
        Ok(walk.expanded)
    }

    fn root(&self, root: &Reference) -> Result<Reached> {
        let (written, kind) = match root {
            Reference::Dynamic(reference) => {
                let id = reference.id.clone();
                (Written::Object { id, pin: None, lines: Vec::new() }, RelationKind::Dynamic)
            }
            Reference::Static(reference) => {
                let content_hash = reference.content_hash.clone();
                let pin = Some(Pin { content_hash, origin: Some(reference.origin.clone()) });
                let id = reference.id.clone();
                (Written::Object { id, pin, lines: Vec::new() }, RelationKind::Static)
            }
        };
        let place = crate::store::RelationPlace {
            field: String::new(),
            path: String::new(),
            line: None,
            range: None,
        };
        let relation = Relation { kind, written, place };
        let target = self.resolver.target(root.id(), &relation)?;
        let reached = self.reached(0, None, root.id(), relation, target)?;
        Ok(Reached { via: None, ..reached })
    }

    /// The node that a relation forward leads to.
    fn reached(
        &self,
        depth: u32,
        parent: Option<usize>,
        from: &ObjectId,
        relation: Relation,
        target: Target,
    ) -> Result<Reached> {
        let version = match (&target.id, target.tx_id) {
            (Some(id), Some(tx_id)) => self.store.get(id, AsOf::Tx(tx_id))?,
            _ => None,
        };
        Ok(Reached {
            depth,
            parent,
            part: Part::of(&relation.written),
            is_pinned: relation.kind == RelationKind::Static,
            via: Some((from.clone(), relation)),
            state: target.state,
            id: target.id,
            version,
        })
    }
}

struct Walk<'w> {
    graph: &'w Graph<'w>,
    expansion: &'w Expansion,
    queue: VecDeque<Reached>,
    seen: HashSet<Identity>,
    followed: HashSet<(ObjectId, TxId)>,
    expanded: Expanded,
    spent_chars: u64,
}

impl Walk<'_> {
    /// Lists a node and queues what it leads to; `None` where the limit ends the walk.
    fn take(&mut self, reached: &Reached) -> Result<Option<()>> {
        if !self.seen.insert(reached.identity()) {
            return Ok(Some(()));
        }
        let Self { expansion, .. } = self;
        let kind = reached.version.as_ref().map(|version| version.envelope.kind);
        let is_listed =
            expansion.types.is_empty() || kind.is_some_and(|kind| expansion.types.contains(&kind));
        let mut parent = reached.parent;
        if is_listed {
            if self.expanded.nodes.len() >= expansion.limit {
                self.expanded.more = true;
                return Ok(None);
            }
            let node = self.node(reached)?;
            parent = Some(self.expanded.nodes.len());
            self.expanded.nodes.push(node);
        }
        self.follow(reached, parent)?;
        Ok(Some(()))
    }

    /// Queues what a node leads to, and what leads to it.
    fn follow(&mut self, reached: &Reached, parent: Option<usize>) -> Result<()> {
        let (Some(id), depth) = (&reached.id, reached.depth) else { return Ok(()) };
        let tx_id = reached.version.as_ref().map_or(TxId(0), |version| version.tx_id);
        if depth >= self.expansion.depth || !self.followed.insert((id.clone(), tx_id)) {
            return Ok(());
        }
        let next = depth + 1;
        if self.expansion.direction != Direction::Back && reached.version.is_some() {
            for resolved in self.graph.links_at(id, AsOf::Tx(tx_id))? {
                if self.is_followed(&resolved) {
                    let Resolved { from, relation, target, .. } = resolved;
                    let reached = self.graph.reached(next, parent, &from, relation, target)?;
                    self.queue.push_back(reached);
                }
            }
        }
        if self.expansion.direction != Direction::Forward {
            for resolved in self.graph.backlinks(id, None)? {
                if self.is_followed(&resolved) {
                    let Resolved { from, relation, .. } = resolved;
                    let version = self.graph.resolver.version(&from)?;
                    let target = resolve::object(&from, version.as_deref());
                    let reached = self.graph.reached(next, parent, &from, relation, target)?;
                    // The relation's part is one of the text that it leads to, not of the one that it stands in.
                    self.queue.push_back(Reached { part: None, is_pinned: false, ..reached });
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

    fn node(&mut self, reached: &Reached) -> Result<Node> {
        let mut node = Node {
            depth: reached.depth,
            parent: reached.parent,
            via: reached.via.clone(),
            state: reached.state,
            id: reached.id.clone(),
            tx_id: reached.version.as_ref().map(|version| version.tx_id),
            content_hash: reached.version.as_ref().map(|version| version.content_hash.clone()),
            part: reached.part.clone(),
            metadata: Vec::new(),
            content: None,
            fields: Vec::new(),
            left_out_chars: None,
        };
        let Some(version) = &reached.version else { return Ok(node) };
        let store = self.graph.store;
        node.metadata = store.metadata_view(version)?;
        if self.expansion.what == What::Metadata || reached.state != TargetState::Found {
            return Ok(node);
        }
        if reached.is_pinned {
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

    /// Adds what was asked for, within the budget.
    fn give(&mut self, version: &Version, node: &mut Node) -> Result<()> {
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
                node.fields = fields::at_paths(self.graph.store, version, paths)?
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
        let pin = match self.via.as_ref().map(|(_, relation)| &relation.written) {
            // Missing versions of one object differ by what is pinned.
            Some(Written::Object { pin: Some(pin), .. }) if self.version.is_none() => {
                pin.content_hash.to_string()
            }
            // What is unresolved is told by where it stands and what is written.
            Some(Written::Link { target, .. }) if self.id.is_none() => {
                let from = self.via.as_ref().map(|(from, _)| from.as_str()).unwrap_or_default();
                format!("{from} {target}")
            }
            _ => String::new(),
        };
        let tx_id = self.version.as_ref().map(|version| version.tx_id);
        (self.id.clone(), tx_id, self.part.clone(), pin)
    }
}
