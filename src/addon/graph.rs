//! Relations between objects for JavaScript: `links`, `backlinks`, `expand`.

use napi_derive::napi;
use serde_json::{Map, Value, json};

use super::argument::{Given, Json, Maybe};
use super::blocking::{Answer, OnWorker, Promised, present};
use super::query::as_of;
use super::relation::{object_links, place, written};
use super::store::Store;
use super::version::At;
use base::error::{Error, Result};
use base::object::{DynamicReference, ObjectId, ObjectType, Reference};
use graph::{ContentPart, Direction, Expansion, Graph, PlacePattern, What};
use live::SessionNames;
use source::PathPlace;
use store::RelationKind;

/// Which point in the store's history to read.
#[napi(object)]
#[derive(Default)]
pub struct LinksOptions {
    /// A transaction (`12`: the state after it), or a time (RFC 3339 or a date). Default: the newest transaction.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
}

/// Which relations to an object to list.
#[napi(object)]
#[derive(Default)]
pub struct BacklinksOptions {
    /// As in `LinksOptions`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
    /// Only links to this heading (`Guide#Install`) or block (`^id`). Default: all relations.
    pub part: Option<String>,
}

/// Where to start, what to follow, and what to return.
#[napi(object, object_to_js = false)]
pub struct ExpandOptions {
    /// Where to start: names, or static references.
    #[napi(ts_type = "(string | StaticReference)[]")]
    pub roots: Vec<Json>,
    /// Kinds of relations to follow. Default: all that lead to objects.
    #[napi(ts_type = "RelationKind[]")]
    pub kinds: Option<Vec<String>>,
    /// Places whose relations to follow: `file_refs`, `items[*].content`, `front_matter.related`, `content#Guide`. Default:
    /// all.
    pub fields: Option<Vec<String>>,
    /// Direction to follow relations in. Default: `forward`.
    #[napi(ts_type = "\"forward\" | \"back\" | \"both\"")]
    pub direction: Option<String>,
    /// Longest distance from a root, in relations; 0 returns only the roots. Default: 1.
    pub depth: Option<u32>,
    /// Types of objects to list. Relations of other objects are followed all the same. Default: all.
    #[napi(ts_type = "ObjectType[]")]
    pub types: Option<Vec<String>>,
    /// Whether to return contents: the section, block or lines that a relation names, else the whole text. Default: false.
    pub content: Option<bool>,
    /// Paths whose values to return: fields, `content`, `additional.NAME`, `items[*].message.role`. Not together with `content`.
    pub values: Option<Vec<String>>,
    /// Largest number of nodes. Default: 1,000.
    pub limit: Option<u32>,
    /// Budget for all contents and values together, in Unicode scalar values. Nodes that exceed it come without them. Default: none.
    pub budget_chars: Option<i64>,
    /// As in `LinksOptions`.
    #[napi(ts_type = "number | string")]
    pub at: Option<At>,
    /// As in `NameOptions`.
    pub cwd: Option<String>,
}

#[napi]
impl Store {
    /// Lists the relations from an object to others, first those in its fields and text, then those in its items. Reads metadata only.
    ///
    /// A link resolves to a file in the store, in the vault of the linking file: the nearest folder above it with a `.obsidian`, else
    /// with a `.git`, else the folder that was given to `index`, else the one that the file is in. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME`, and with `NOT_FOUND` if the
    /// object had no version at that time.
    #[napi(
        ts_args_type = "name: string, options?: LinksOptions | undefined | null",
        ts_return_type = "Promise<ObjectLink[]>"
    )]
    pub fn links(&self, name: Given<String>, options: Maybe<LinksOptions>) -> Promised<Answer> {
        self.answer(move |store| {
            let name = name.named("name")?;
            let LinksOptions { at, cwd } = options.or_default("options")?;
            with_graph(store, cwd, at, |graph, place| {
                let id = place.find(&store.core, &name)?.id;
                Ok(object_links(&graph.links(&id)?))
            })
        })
    }

    /// Lists the relations from other objects to this one, ordered by the ID of those objects. Reads metadata only.
    ///
    /// Rejects with `INVALID_ARGUMENT` if the object has no such `part`, and as `find`.
    #[napi(
        ts_args_type = "name: string, options?: BacklinksOptions | undefined | null",
        ts_return_type = "Promise<ObjectLink[]>"
    )]
    pub fn backlinks(
        &self,
        name: Given<String>,
        options: Maybe<BacklinksOptions>,
    ) -> Promised<Answer> {
        self.answer(move |store| {
            let name = name.named("name")?;
            let BacklinksOptions { at, cwd, part } = options.or_default("options")?;
            let part = part.map(|part| part_of(&part)).transpose()?;
            with_graph(store, cwd, at, |graph, place| {
                let id = place.find(&store.core, &name)?.id;
                Ok(object_links(&graph.backlinks(&id, part.as_ref())?))
            })
        })
    }

    /// Lists the relations of many objects, in the order of their names: as `links` and `backlinks` of each, but what all of them need is read
    /// once. Rejects as these, for the first one of which they do.
    #[napi(
        ts_args_type = "names: string[], options?: LinksOptions | undefined | null",
        ts_return_type = "Promise<ObjectRelations[]>"
    )]
    pub fn relations(
        &self,
        names: Given<Vec<String>>,
        options: Maybe<LinksOptions>,
    ) -> Promised<Answer> {
        self.answer(move |store| {
            let names = names.named("names")?;
            let LinksOptions { at, cwd } = options.or_default("options")?;
            with_graph(store, cwd, at, |graph, place| {
                let related = |name: &String| {
                    let id = place.find(&store.core, name)?.id;
                    let links = object_links(&graph.links(&id)?);
                    let backlinks = object_links(&graph.backlinks(&id, None)?);
                    Ok(json!({ "links": links, "backlinks": backlinks }))
                };
                names.iter().map(related).collect::<Result<Vec<_>>>()
            })
        })
    }

    /// Follows relations from some objects to others, level by level, and lists what they lead to. The same store always gives the
    /// same answer. A static reference leads to its version, which is checked against its hash if contents or values are read.
    /// Targets that are missing, forgotten or unresolved are listed too.
    #[napi(ts_args_type = "options: ExpandOptions", ts_return_type = "Promise<Expanded>")]
    pub fn expand(&self, options: Given<ExpandOptions>) -> Promised<Answer> {
        self.answer(move |store| {
            let mut options = options.named("options")?;
            let (at, cwd) = (options.at.take(), options.cwd.take());
            with_graph(store, cwd, at, |graph, place| {
                let expansion = expansion(options, |name| Ok(place.find(&store.core, name)?.id))?;
                let graph::Expanded { nodes, more } = graph.expand(&expansion)?;
                let nodes: Vec<Value> = nodes.into_iter().map(expanded_node).collect();
                Ok(json!({ "nodes": nodes, "more": more }))
            })
        })
    }
}

fn with_graph<T>(
    store: &Store,
    cwd: Option<String>,
    at: Option<At>,
    ask: impl FnOnce(&Graph<'_>, &PathPlace) -> Result<T>,
) -> Result<T> {
    let at = as_of(at)?;
    let place = store.place(cwd)?;
    let exists = |filesystem_id: &str, path: &str| place.files.exists(filesystem_id, path);
    let sessions = SessionNames::new(&store.core);
    let meant = |session: &ObjectId, name: &str, at| sessions.meant(session, name, at);
    ask(&Graph::open(&store.core, at, &exists)?.with_sessions(&meant), &place)
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
        Some(other) => return Err(unknown("direction", other, ["forward", "back", "both"])),
    };
    let kinds = options.kinds.unwrap_or_default();
    let kind = |name: &String| {
        let known = || RelationKind::LISTED.map(RelationKind::as_str);
        RelationKind::parse(name).ok_or_else(|| unknown("kinds", name, known()))
    };
    let types = options.types.unwrap_or_default();
    let object_type = |name: &String| {
        let known = || ObjectType::ALL.map(ObjectType::as_str);
        ObjectType::parse(name).ok_or_else(|| unknown("types", name, known()))
    };
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

fn root(Json(root): Json, find: impl Fn(&str) -> Result<ObjectId>) -> Result<Reference> {
    match root {
        Value::String(name) => Ok(Reference::Dynamic(DynamicReference { id: find(&name)? })),
        other => serde_json::from_value(other)
            .map(Reference::Static)
            .map_err(|error| Error::argument("roots", format!("hold no reference: {error}"))),
    }
}

fn unknown<const N: usize>(argument: &str, name: &str, known: [&str; N]) -> Error {
    let known = known.join("`, `");
    Error::argument(argument, format!("must be of `{known}`, is `{name}`"))
}

fn part_of(text: &str) -> Result<ContentPart> {
    ContentPart::parse(text).ok_or_else(|| Error::argument("part", "is empty"))
}

fn expanded_node(node: graph::GraphNode) -> Value {
    let object = |members: Vec<(String, Value)>| Value::Object(Map::from_iter(members));
    let via = node.via.as_ref();
    present(json!({
        "depth": node.depth,
        "parent": node.parent,
        "viaFrom": via.map(|(from, _)| from),
        "viaKind": via.map(|(_, relation)| relation.kind),
        "viaPlace": via.map(|(_, relation)| place(relation)),
        "viaWritten": via.map(|(_, relation)| written(relation)),
        "state": node.state,
        "id": node.id,
        "txId": node.tx_id,
        "contentHash": node.content_hash,
        "part": node.part.map(|part| part.to_string()),
        "metadata": object(node.metadata),
        "content": node.content,
        "values": object(node.fields),
        "leftOutChars": node.left_out_chars,
    }))
}
