//! Relations between objects for JavaScript: `links`, `backlinks`, `expand`.

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::{Map, Value};

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::names::Names;
use super::query::as_of;
use super::store::Store;
use super::version::At;
use crate::error::{Error, Result};
use crate::graph::{self, Direction, Expansion, Graph, Part, PlacePattern, What};
use crate::object::{DynamicReference, ObjectId, ObjectType, Reference};
use crate::source::Place;
use crate::store::{Relation, RelationKind, Written};

/// Which point in the store's history is asked about.
#[napi(object)]
#[derive(Default)]
pub struct LinksOptions {
    /// A transaction (`12`: what was visible after it) or a time in RFC 3339 or a date. Default: the newest transaction.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
}

/// Which relations that lead to an object are asked for.
#[napi(object)]
#[derive(Default)]
pub struct BacklinksOptions {
    /// As in `LinksOptions`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
    /// Only links to this heading (`Guide#Install`) or block (`^id`). Default: all.
    pub part: Option<String>,
}

/// Where a relation stands in its object.
#[napi(object)]
pub struct LinkPlace {
    /// `content`, `front_matter`, `items`, else the name of the payload's field.
    pub field: String,
    /// In the content the headings above, joined by `#`; in the front matter the keys from its root; else the path from the
    /// payload's root, such as `file_refs[0]` or `items[12].content`.
    pub path: String,
    /// Line of the text, from 1; only in content and front matter.
    pub line: Option<i64>,
}

/// A file that a link may mean.
#[napi(object)]
pub struct LinkCandidate {
    /// ID of the object.
    pub id: String,
    /// Its absolute path.
    pub path: String,
}

/// What a relation leads to.
#[napi(object)]
pub struct LinkTarget {
    /// `none`: no object is meant (URL, tag, alias).
    #[napi(ts_type = "TargetState")]
    pub state: String,
    /// ID of the object; missing where there is none.
    pub id: Option<String>,
    /// Transaction of its version: the pinned one, else the one visible at the time.
    pub tx_id: Option<i64>,
    /// Absolute path of a file.
    pub path: Option<String>,
    /// Of an ambiguous link the other files that it fits, next best first; of an unresolved one the files that have its target
    /// as an alias.
    pub candidates: Vec<LinkCandidate>,
}

/// A relation of an object: a reference, a link, a tag, an alias.
#[napi(object)]
pub struct ObjectLink {
    /// ID of the object that it stands in.
    pub from: String,
    /// Transaction of that object's version.
    pub version: i64,
    /// First transaction at which it stands so.
    pub since: i64,
    /// What it is.
    #[napi(ts_type = "RelationKind")]
    pub kind: String,
    /// What is written: an object's or call's ID, a link's target without headings and block, a URL, a tag without `#`.
    pub written: String,
    /// Headings or block (`^id`) of a link, or lines of a reference (`1-9`); missing where all of the text is meant.
    pub part: Option<String>,
    /// Whether the target is shown in place: `![[note]]` or an image.
    pub embed: bool,
    /// What a link shows in place of its target.
    pub alias: Option<String>,
    /// Hash of the version that a static reference pins.
    pub content_hash: Option<String>,
    /// Where it stands.
    pub place: LinkPlace,
    /// What it leads to.
    pub target: LinkTarget,
}

/// What to expand.
#[napi(object)]
pub struct ExpandOptions {
    /// Where to start: names, or static references.
    #[napi(ts_type = "(string | StaticReference)[]")]
    pub roots: Vec<Value>,
    /// Kinds of relations that are followed. Default: all that lead to objects.
    #[napi(ts_type = "RelationKind[]")]
    pub kinds: Option<Vec<String>>,
    /// Places whose relations are followed: `file_refs`, `items[*].content`, `front_matter.related`, `content#Guide`. Default:
    /// all.
    pub fields: Option<Vec<String>>,
    /// Which way. Default: `forward`.
    #[napi(ts_type = "\"forward\" | \"back\" | \"both\"")]
    pub direction: Option<String>,
    /// How many relations away from a root; 0: the roots alone. Default: 1.
    pub depth: Option<u32>,
    /// Types that are listed; objects of others are passed through. Default: all.
    #[napi(ts_type = "ObjectType[]")]
    pub types: Option<Vec<String>>,
    /// Whether contents are given: of the section, block or lines that a relation means, else whole. Default: no.
    pub content: Option<bool>,
    /// Paths whose values are given: fields, `content`, `additional.NAME`, `items[*].message.role`. Not together with `content`.
    pub values: Option<Vec<String>>,
    /// Most nodes. Default: 1,000.
    pub limit: Option<u32>,
    /// Most characters (Unicode scalar values) of contents and values in all; a node that would pass it comes without.
    /// Default: no bound.
    pub budget_chars: Option<i64>,
    /// As in `LinksOptions`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
}

/// One object that was reached, or a target that is none.
#[napi(object)]
pub struct ExpandedNode {
    /// Relations between it and its root.
    pub depth: u32,
    /// Place in `nodes` of the nearest listed node that it was reached from; missing for roots.
    pub parent: Option<u32>,
    /// The object in which the relation stands that led here; missing for roots.
    pub via_from: Option<String>,
    /// The kind of that relation.
    #[napi(ts_type = "RelationKind")]
    pub via_kind: Option<String>,
    /// Where it stands.
    pub via_place: Option<LinkPlace>,
    /// What is written there.
    pub via_written: Option<String>,
    /// What became of the target.
    #[napi(ts_type = "TargetState")]
    pub state: String,
    /// ID of the object; missing where a link is unresolved.
    pub id: Option<String>,
    /// Transaction of its version.
    pub tx_id: Option<i64>,
    /// Hash of that version.
    pub content_hash: Option<String>,
    /// The headings, block (`^id`) or lines (`1-9`) that are meant; missing for all.
    pub part: Option<String>,
    /// Its metadata: `id`, `type` and the fields of its view.
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Value,
    /// The content, where that was asked for and is not null.
    pub content: Option<String>,
    /// The values that were asked for and are there, by path; of a path with `[*]` a list.
    #[napi(ts_type = "Record<string, unknown>")]
    pub values: Value,
    /// Characters that were left out because they passed the budget.
    pub left_out_chars: Option<i64>,
}

/// What was reached.
#[napi(object)]
pub struct Expanded {
    /// Nearest first, each version once, and once for each part of it that is meant.
    pub nodes: Vec<ExpandedNode>,
    /// Whether there are more than `limit`.
    pub more: bool,
}

#[napi]
impl Store {
    /// Lists the relations of an object: in the order of its fields and text, then of its items. Metadata only.
    ///
    /// A link resolves among the files that the store held at the time, under the root of its own file's vault: the nearest
    /// folder above with a `.obsidian`, else with a `.git`, else the file's own folder. Rejects with
    /// `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, and with `NOT_FOUND` where no version was visible then.
    #[napi(
        ts_args_type = "name: string, options?: LinksOptions | undefined | null",
        ts_return_type = "Promise<ObjectLink[]>"
    )]
    pub fn links(
        &self,
        name: Given<String>,
        options: Given<Option<LinksOptions>>,
    ) -> AsyncTask<Blocking<Vec<ObjectLink>>> {
        let names = self.names();
        blocking(move || {
            let name = name.named("name")?;
            let LinksOptions { at, cwd } = options.named("options")?.unwrap_or_default();
            with_graph(&names, cwd, at, |graph, place| {
                let id = place.find(&names.store, &name)?.id;
                Ok(graph.links(&id)?.into_iter().map(object_link).collect())
            })
        })
    }

    /// Lists the relations that lead to an object, by ID of the object that they stand in. Metadata only.
    ///
    /// Rejects with `INVALID_ARGUMENT` if the object has no such `part`, and as `find`.
    #[napi(
        ts_args_type = "name: string, options?: BacklinksOptions | undefined | null",
        ts_return_type = "Promise<ObjectLink[]>"
    )]
    pub fn backlinks(
        &self,
        name: Given<String>,
        options: Given<Option<BacklinksOptions>>,
    ) -> AsyncTask<Blocking<Vec<ObjectLink>>> {
        let names = self.names();
        blocking(move || {
            let name = name.named("name")?;
            let BacklinksOptions { at, cwd, part } = options.named("options")?.unwrap_or_default();
            let part = part.map(|part| part_of(&part)).transpose()?;
            with_graph(&names, cwd, at, |graph, place| {
                let id = place.find(&names.store, &name)?.id;
                let found = graph.backlinks(&id, part.as_ref())?;
                Ok(found.into_iter().map(object_link).collect())
            })
        })
    }

    /// Follows relations from some objects to others, level by level, and gives of each what is wanted. The same store gives
    /// the same answer. A static reference gives its version, verified by its hash where contents or values are read; what is
    /// missing, forgotten or unresolved is listed too.
    #[napi(ts_args_type = "options: ExpandOptions", ts_return_type = "Promise<Expanded>")]
    pub fn expand(&self, options: Given<ExpandOptions>) -> AsyncTask<Blocking<Expanded>> {
        let names = self.names();
        blocking(move || {
            let mut options = options.named("options")?;
            let (at, cwd) = (options.at.take(), options.cwd.take());
            with_graph(&names, cwd, at, |graph, place| {
                let expansion = expansion(options, |name| Ok(place.find(&names.store, name)?.id))?;
                let graph::Expanded { nodes, more } = graph.expand(&expansion)?;
                Ok(Expanded { nodes: nodes.into_iter().map(expanded_node).collect(), more })
            })
        })
    }
}

fn with_graph<T>(
    names: &Names,
    cwd: Option<String>,
    at: Option<At>,
    ask: impl FnOnce(&Graph<'_>, &Place) -> Result<T>,
) -> Result<T> {
    let at = as_of(at)?;
    let place = names.place(cwd)?;
    let exists = |filesystem_id: &str, path: &str| place.files.exists(filesystem_id, path);
    ask(&Graph::open(&names.store, at, &exists)?, &place)
}

fn expansion(options: ExpandOptions, find: impl Fn(&str) -> Result<ObjectId>) -> Result<Expansion> {
    let default = Expansion::default();
    let paths = options.values.unwrap_or_default();
    let what = match (options.content.unwrap_or_default(), paths.is_empty()) {
        (true, false) => return Err(Error::argument("values", "stand beside `content`")),
        (true, true) => What::Content,
        (false, true) => What::Metadata,
        (false, false) => {
            What::Fields(paths.iter().map(|path| path.parse()).collect::<Result<_>>()?)
        }
    };
    let direction = match options.direction.as_deref() {
        None | Some("forward") => Direction::Forward,
        Some("back") => Direction::Back,
        Some("both") => Direction::Both,
        Some(other) => return Err(unknown("direction", other)),
    };
    let kinds = options.kinds.unwrap_or_default();
    let kind = |name: &String| RelationKind::parse(name).ok_or_else(|| unknown("kinds", name));
    let types = options.types.unwrap_or_default();
    let object_type = |name: &String| ObjectType::parse(name).ok_or_else(|| unknown("types", name));
    let fields = options.fields.unwrap_or_default();
    let budget = options.budget_chars;
    let budget = budget.map(u64::try_from).transpose();
    Ok(Expansion {
        roots: options.roots.into_iter().map(|value| root(value, &find)).collect::<Result<_>>()?,
        kinds: kinds.iter().map(kind).collect::<Result<_>>()?,
        fields: fields.iter().map(|text| PlacePattern::parse(text)).collect::<Result<_>>()?,
        direction,
        depth: options.depth.unwrap_or(default.depth),
        types: types.iter().map(object_type).collect::<Result<_>>()?,
        what,
        limit: options.limit.map_or(default.limit, |limit| limit as usize),
        budget_chars: budget.map_err(|_| Error::argument("budgetChars", "is below 0"))?,
    })
}

fn root(root: Value, find: impl Fn(&str) -> Result<ObjectId>) -> Result<Reference> {
    match root {
        Value::String(name) => Ok(Reference::Dynamic(DynamicReference { id: find(&name)? })),
        other => serde_json::from_value(other)
            .map(Reference::Static)
            .map_err(|error| Error::argument("roots", format!("hold no reference: {error}"))),
    }
}

fn unknown(argument: &str, name: &str) -> Error {
    Error::argument(argument, format!("do not know `{name}`"))
}

fn part_of(text: &str) -> Result<Part> {
    Part::parse(text).ok_or_else(|| Error::argument("part", "is empty"))
}

fn object_link(resolved: graph::Resolved) -> ObjectLink {
    let graph::Resolved { from, version, since, relation, target } = resolved;
    let part = Part::of(&relation.written).map(|part| part.to_string());
    let (embed, alias, pin) = match &relation.written {
        Written::Link { embed, alias, .. } => (*embed, alias.clone(), None),
        Written::Object { pin, .. } => (false, None, pin.as_ref()),
        Written::Call { .. } | Written::Name { .. } | Written::Properties(_) => (false, None, None),
    };
    let candidate = |candidate: graph::Candidate| LinkCandidate {
        id: candidate.id.to_string(),
        path: candidate.path,
    };
    ObjectLink {
        from: from.to_string(),
        version: version.0,
        since: since.0,
        kind: relation.kind.as_str().to_owned(),
        written: written(&relation),
        part,
        embed,
        alias,
        content_hash: pin.map(|pin| pin.content_hash.to_string()),
        place: place(&relation),
        target: LinkTarget {
            state: target.state.as_str().to_owned(),
            id: target.id.map(|id| id.to_string()),
            tx_id: target.tx_id.map(|tx_id| tx_id.0),
            path: target.path,
            candidates: target.candidates.into_iter().map(candidate).collect(),
        },
    }
}

fn expanded_node(node: graph::Node) -> ExpandedNode {
    let object = |members: Vec<(String, Value)>| Value::Object(Map::from_iter(members));
    let via = node.via.as_ref();
    ExpandedNode {
        depth: node.depth,
        parent: node.parent.and_then(|parent| u32::try_from(parent).ok()),
        via_from: via.map(|(from, _)| from.to_string()),
        via_kind: via.map(|(_, relation)| relation.kind.as_str().to_owned()),
        via_place: via.map(|(_, relation)| place(relation)),
        via_written: via.map(|(_, relation)| written(relation)),
        state: node.state.as_str().to_owned(),
        id: node.id.map(|id| id.to_string()),
        tx_id: node.tx_id.map(|tx_id| tx_id.0),
        content_hash: node.content_hash.map(|hash| hash.to_string()),
        part: node.part.map(|part| part.to_string()),
        metadata: object(node.metadata),
        content: node.content,
        values: object(node.fields),
        left_out_chars: node.left_out_chars.map(|chars| i64::try_from(chars).unwrap_or(i64::MAX)),
    }
}

fn place(relation: &Relation) -> LinkPlace {
    let place = &relation.place;
    LinkPlace {
        field: place.field.clone(),
        path: place.path.clone(),
        line: place.line.and_then(|line| i64::try_from(line).ok()),
    }
}

fn written(relation: &Relation) -> String {
    match &relation.written {
        Written::Object { id, .. } => id.to_string(),
        Written::Call { id, .. } => id.clone(),
        Written::Link { target, .. } => target.clone(),
        Written::Name { name } => name.clone(),
        Written::Properties(_) => String::new(),
    }
}
