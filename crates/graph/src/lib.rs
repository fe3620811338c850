//! Relations between objects as a graph: what an object leads to, what leads to it, and what is
//! reached from it.
//!
//! Reads the store only; the caller looks at the real filesystem. Must not write. Must not return
//! more than was asked for: relations are metadata, and only [`Graph::expand`] reads contents.
//! Answers have a fixed order, which depends on the store alone. Read [`Graph`] first.

mod expand;
mod fields;
mod part;
mod pattern;
mod resolve;
mod turns;

use std::collections::HashSet;

use serde::Serialize;

pub use self::expand::{Direction, Expanded, Expansion, GraphNode, What};
pub use self::part::ContentPart;
pub use self::pattern::PlacePattern;
use self::resolve::Resolver;
use base::error::{Error, Result};
use base::markdown;
use base::object::{AsOf, ObjectId, Source, TxId};
use store::{
    HANDLES, PREFIX_DIGITS, PlacedRelation, Relation, RelationKind, RelationPlace, SqliteBackend,
    Store, Written, provided_id, slashed,
};

/// Whether a path exists, given a filesystem ID and an absolute path. Called for `.obsidian` and
/// `.git` in the folders above a file, to find the root of its vault.
pub type Exists<'a> = &'a dyn Fn(&str, &str) -> bool;

/// The objects that a name could mean in a session at a time: a handle, or the path of a file. The
/// session by its ID.
pub type Meant<'a> = &'a dyn Fn(&ObjectId, &str, AsOf) -> Result<Vec<ObjectId>>;

/// What a relation's target turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// An object that the store holds.
    Found,
    /// The store holds no such object or version.
    Missing,
    /// An object that was forgotten.
    Forgotten,
    /// A version whose hash differs from the pinned one.
    Mismatch,
    /// An object that lacks the heading, block or line that the relation names.
    NoPart,
    /// A link that matches no file of the store under the vault's root, and names no object.
    Unresolved,
    /// A link whose name several objects have: all of them are candidates.
    Ambiguous,
    /// Not an object: a URL, a tag, an alias.
    None,
}

/// A file that a link may lead to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The object.
    pub id: ObjectId,
    /// Its absolute path.
    pub path: String,
}

/// What a relation leads to at the graph's point in history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkTarget {
    /// What the target is.
    pub state: TargetState,
    /// The object; `None` if the relation names none or none was found.
    pub id: Option<ObjectId>,
    /// Its version: the pinned one, else the visible one.
    pub tx_id: Option<TxId>,
    /// Absolute path, for files.
    pub path: Option<String>,
    /// For an ambiguous link the other matching files, next best first; for an unresolved link the
    /// files that have its target as an alias.
    pub candidates: Vec<Candidate>,
}

impl LinkTarget {
    fn nothing(state: TargetState) -> Self {
        Self { state, id: None, tx_id: None, path: None, candidates: Vec::new() }
    }
}

/// A relation with what it leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// The object that contains it.
    pub from: ObjectId,
    /// The version of that object.
    pub version: TxId,
    /// First transaction with the relation in this form.
    pub since: TxId,
    /// The relation as written, and its place.
    pub relation: Relation,
    /// Its target.
    pub target: LinkTarget,
}

/// The relations of a store at one point in its history.
///
/// A link resolves to a file that the store held at that point, under the root of the vault of the
/// link's own file. The root is the nearest folder above with a `.obsidian`, on the real filesystem
/// or in the store, else with a `.git`, else the folder that a person had indexed, else the file's
/// own folder. `markdown::VaultIndex` picks the file. A wikilink that leads to no file may
/// name an object as people and models do: by ID, nickname, a prefix of the ID, or a name of the session
/// that wrote it.
pub struct Graph<'a> {
    store: &'a Store,
    index: &'a SqliteBackend,
    resolver: Resolver<'a>,
}

impl<'a> Graph<'a> {
    /// Brings the index of relations up to date, then stays at one point in history; `AsOf::Latest`
    /// means the transaction that is newest now.
    ///
    /// # Errors
    /// Those of [`Store::relations`].
    pub fn open(store: &'a Store, at: AsOf, exists: Exists<'a>) -> Result<Self> {
        let at = match at {
            AsOf::Latest => AsOf::Tx(store.newest()?.0),
            at => at,
        };
        let index = store.relations()?;
        Ok(Self { store, index, resolver: Resolver::new(store, index, at, exists) })
    }

    /// The same, where links may also use the names that their session has.
    #[must_use]
    pub fn with_sessions(mut self, meant: Meant<'a>) -> Self {
        self.resolver.meant = Some(meant);
        self
    }

    /// The relations of an object: those in its fields and text, then those in its items, in order.
    ///
    /// # Errors
    /// `NOT_FOUND` if no version is visible.
    pub fn links(&self, id: &ObjectId) -> Result<Vec<Resolved>> {
        let at = self.resolver.at;
        self.store.require(id, at)?;
        self.links_at(id, at)
    }

    /// The relations that lead to an object: references by its ID, whatever version they pin, the
    /// tool calls of chats, and links that resolve to it. Ordered by the ID of the object that
    /// contains them.
    ///
    /// `part`: only links to that heading or block.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the object has no such part. An object that the store does not hold is
    /// no error: others may refer to it.
    pub fn backlinks(&self, id: &ObjectId, part: Option<&ContentPart>) -> Result<Vec<Resolved>> {
        let at = self.resolver.at;
        let version = self.resolver.version(id)?;
        let references = [RelationKind::Dynamic, RelationKind::Static];
        let mut placed = self.index.relations_to(&references, id.as_str(), at)?;
        let mut calls = vec![id.as_str()];
        let provided =
            version.as_deref().map(provided_id).filter(|provided| *provided != id.as_str());
        calls.extend(provided);
        for call in calls {
            placed.extend(self.index.relations_to(&[RelationKind::Call], call, at)?);
        }
        let source = version.as_ref().and_then(|version| version.envelope.source.as_ref());
        let nicknames = self.store.nicknames(id)?;
        let mut keys: Vec<String> =
            nicknames.iter().map(|name| markdown::link_key(name.as_str())).collect();
        keys.extend(provided.map(markdown::link_key));
        keys.extend([markdown::link_key(id.as_str()), HANDLES.to_owned()]);
        keys.extend(id.as_str().get(..PREFIX_DIGITS).map(str::to_lowercase));
        for key in keys {
            let kinds = [RelationKind::Wikilink, RelationKind::Named];
            placed.extend(self.index.relations_to(&kinds, &key, at)?);
        }
        if let Some(path) = source.and_then(Source::path) {
            let links = [RelationKind::Wikilink, RelationKind::Markdown, RelationKind::Named];
            let key = markdown::path_key(&slashed(path));
            placed.extend(self.index.relations_to(&links, &key, at)?);
            // A link within its own text has an empty target.
            let own = self.index.relations_of(id, at)?.into_iter();
            placed.extend(own.filter(|own| {
                matches!(&own.relation.written, Written::Link { target, .. } if target.is_empty())
            }));
        }
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        for mut placed in placed {
            if placed.relation.kind == RelationKind::Named {
                placed.relation.kind = RelationKind::Wikilink;
            }
            let RelationPlace { path, range, .. } = &placed.relation.place;
            let is_link = placed.relation.kind == RelationKind::Wikilink;
            if is_link && !seen.insert((placed.from.clone(), path.clone(), range.clone())) {
                continue;
            }
            let resolved = self.resolved(placed)?;
            if resolved.target.id.as_ref() == Some(id) {
                found.push(resolved);
            }
        }
        found.sort_by(|one, other| one.from.cmp(&other.from));
        match part {
            Some(part) => self.leading_to(id, part, found),
            None => Ok(found),
        }
    }

    /// The relations of one version.
    fn links_at(&self, id: &ObjectId, at: AsOf) -> Result<Vec<Resolved>> {
        let mut found = Vec::new();
        for placed in self.index.relations_of(id, at)? {
            if !RelationKind::LISTED.contains(&placed.relation.kind) {
                continue;
            }
            let is_call = placed.relation.kind == RelationKind::Call;
            let resolved = self.resolved(placed)?;
            // Tools that manage the context make no objects, so their calls lead nowhere.
            if !(is_call && resolved.target.state == TargetState::Missing) {
                found.push(resolved);
            }
        }
        Ok(found)
    }

    fn resolved(&self, placed: PlacedRelation) -> Result<Resolved> {
        let PlacedRelation { from, version, since, relation } = placed;
        let target = self.resolver.target(&from, &relation, since)?;
        Ok(Resolved { from, version, since, relation, target })
    }

    /// Keeps the relations that lead to one part of an object's text.
    fn leading_to(
        &self,
        id: &ObjectId,
        part: &ContentPart,
        all: Vec<Resolved>,
    ) -> Result<Vec<Resolved>> {
        let version = self.resolver.version(id)?;
        let text = version.map(|version| self.store.content(&version)).transpose()?.flatten();
        let text = text.unwrap_or_default();
        let document = markdown::parse(&text);
        let missing = || Error::argument("part", format!("`{part}` is not a part of `{id}`"));
        let wanted = part.lines_in(&document).ok_or_else(missing)?;
        let leads = |resolved: &Resolved| {
            let part = ContentPart::of(&resolved.relation.written);
            part.and_then(|part| part.lines_in(&document)) == Some(wanted)
        };
        Ok(all.into_iter().filter(leads).collect())
    }
}
