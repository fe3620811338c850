//! A relation of an object in the shape that JavaScript sees.

use napi_derive::napi;

use graph::{Candidate, ContentPart, Resolved};
use store::{Relation, Written};

/// Where a relation is in its object.
#[napi(object)]
pub struct LinkPlace {
    /// `content`, `front_matter`, `items`, or the name of a field.
    pub field: String,
    /// In the content, the headings above it, joined by `#`. In the front matter, the keys that lead to it. Else its path in the
    /// payload, such as `file_refs[0]` or `items[12].content`.
    pub path: String,
    /// Line of the text, from 1; only in content and front matter.
    pub line: Option<i64>,
}

/// A file that a link may lead to.
#[napi(object)]
pub struct LinkCandidate {
    /// ID of the object.
    pub id: String,
    /// Absolute path of the file.
    pub path: String,
}

/// What a relation leads to.
#[napi(object)]
pub struct LinkTarget {
    /// Whether the target was found; `none` for URLs, tags and aliases, which lead to no object.
    #[napi(ts_type = "TargetState")]
    pub state: String,
    /// ID of the object, if there is one.
    pub id: Option<String>,
    /// Transaction of its version: the pinned version, else the one that was visible at the time.
    pub tx_id: Option<i64>,
    /// Absolute path, if the target is a file.
    pub path: Option<String>,
    /// Of an ambiguous link, the other files that it may lead to, best first. Of an unresolved link, files that have its target as an
    /// alias.
    pub candidates: Vec<LinkCandidate>,
}

/// A relation of an object: a reference, link, tag or alias.
#[napi(object)]
pub struct ObjectLink {
    /// ID of the object that has the relation.
    pub from: String,
    /// Transaction of that object's version.
    pub version: i64,
    /// First transaction with this relation.
    pub since: i64,
    /// Kind of the relation.
    #[napi(ts_type = "RelationKind")]
    pub kind: String,
    /// The target as written: the ID of an object or a call, a link's target without headings and block, a URL, a tag without `#`.
    pub written: String,
    /// Headings or block (`^id`) of a link, or lines of a reference (`1-9`); missing if it leads to the whole text.
    pub part: Option<String>,
    /// Whether the link shows its target in place: `![[note]]` or an image.
    pub embed: bool,
    /// The text that a link shows instead of its target.
    pub alias: Option<String>,
    /// Hash of the version that a static reference pins.
    pub content_hash: Option<String>,
    /// Where the relation is.
    pub place: LinkPlace,
    /// What it leads to.
    pub target: LinkTarget,
}

pub(super) fn object_link(resolved: Resolved) -> ObjectLink {
    let Resolved { from, version, since, relation, target } = resolved;
    let part = ContentPart::of(&relation.written).map(|part| part.to_string());
    let (embed, alias, pin) = match &relation.written {
        Written::Link { embed, alias, .. } => (*embed, alias.clone(), None),
        Written::Object { pin, .. } => (false, None, pin.as_ref()),
        Written::Call { .. } | Written::Name { .. } | Written::Properties(_) => (false, None, None),
    };
    let candidate =
        |candidate: Candidate| LinkCandidate { id: candidate.id.to_string(), path: candidate.path };
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

pub(super) fn place(relation: &Relation) -> LinkPlace {
    let place = &relation.place;
    LinkPlace {
        field: place.field.clone(),
        path: place.path.clone(),
        line: place.line.and_then(|line| i64::try_from(line).ok()),
    }
}

pub(super) fn written(relation: &Relation) -> String {
    match &relation.written {
        Written::Object { id, .. } => id.to_string(),
        Written::Call { id, .. } => id.clone(),
        Written::Link { target, .. } => target.clone(),
        Written::Name { name } => name.clone(),
        Written::Properties(_) => String::new(),
    }
}
