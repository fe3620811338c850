//! The meaning of a field name. A new property derived from content needs a variant of
//! [`QueryRoot`], and its column in `sqlite/query.rs`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Map, Value};

use base::error::{Error, Result};
use base::object::{FieldPath, FieldStep, likeness};

/// Names that do not belong to the payload, for hints.
const NAMES: [&str; 22] = [
    "id",
    "type",
    "path",
    "source.type",
    "source.filesystemId",
    "source.path",
    "identity_hash",
    "tx_id",
    "system_time",
    "origin.store_id",
    "origin.tx_id",
    "origin.time",
    "content_hash",
    "source_hash",
    "has_content",
    "item_count",
    "redacted.reason",
    "redacted.found_hash",
    "forgotten",
    "nickname",
    "tags",
    "front_matter",
];

/// The meaning of a path: what it begins in, and the steps into that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryField {
    /// What it begins in.
    pub root: QueryRoot,
    /// The steps into its JSON value; none for what has no members.
    pub steps: Vec<FieldStep>,
}

/// What a path begins in; parses from the names that stand alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum QueryRoot {
    /// The object's ID.
    Id,
    /// Its type.
    #[strum(serialize = "type")]
    Kind,
    /// Its source.
    Source,
    /// The hash of its source.
    IdentityHash,
    /// The transaction of the version.
    TxId,
    /// Its time.
    SystemTime,
    /// The store that wrote it first.
    #[strum(disabled)]
    OriginStore,
    /// The transaction there.
    #[strum(disabled)]
    OriginTx,
    /// Its time there.
    #[strum(disabled)]
    OriginTime,
    /// The hash of its content.
    ContentHash,
    /// The hash of its source's bytes.
    SourceHash,
    /// Whether it has content.
    HasContent,
    /// How many items it has.
    ItemCount,
    /// The removed parts.
    Redacted,
    /// Whether it was forgotten.
    Forgotten,
    /// A nickname.
    Nickname,
    /// Its additional fields.
    Additional,
    /// Its payload.
    #[strum(disabled)]
    Payload,
    /// `tags`: that payload field, otherwise the document's tags.
    Tags,
    /// `front_matter`: that payload field, otherwise the document's front matter.
    FrontMatter,
}

impl QueryField {
    /// The meaning of a path.
    ///
    /// # Errors
    /// `UNKNOWN_FIELD` for a path into a value without members.
    pub fn of(path: &FieldPath) -> Result<Self> {
        let Some((FieldStep::Key(first), rest)) = path.steps().split_first() else {
            return Err(Error::internal("a path begins with no key"));
        };
        let (root, steps) = match (first.as_str(), rest) {
            ("path", []) => (QueryRoot::Source, path.steps()),
            ("fields", [_, ..]) => (QueryRoot::Payload, rest),
            ("origin", [FieldStep::Key(part)]) if part == "store_id" => {
                (QueryRoot::OriginStore, &[][..])
            }
            ("origin", [FieldStep::Key(part)]) if part == "tx_id" => (QueryRoot::OriginTx, &[][..]),
            ("origin", [FieldStep::Key(part)]) if part == "time" => {
                (QueryRoot::OriginTime, &[][..])
            }
            ("path" | "origin", _) => return Err(unknown(path, &[])),
            (name, rest) => match name.parse() {
                Ok(root) => (root, rest),
                Err(_) => (QueryRoot::Payload, path.steps()),
            },
        };
        if !root.has_members() && !steps.is_empty() {
            return Err(unknown(path, &[]));
        }
        Ok(Self { root, steps: steps.to_vec() })
    }

    /// Whether users can define it: then it is unknown until some object has it.
    pub(crate) fn is_open(&self) -> bool {
        match self.root {
            QueryRoot::Payload | QueryRoot::Additional => true,
            QueryRoot::FrontMatter => !self.steps.is_empty(),
            _ => false,
        }
    }

    /// Whether it is derived from contents.
    pub(crate) fn is_derived(&self) -> bool {
        matches!(self.root, QueryRoot::Tags | QueryRoot::FrontMatter)
    }
}

impl QueryRoot {
    /// Whether its value can have members.
    pub(crate) fn has_members(self) -> bool {
        use QueryRoot::{Additional, FrontMatter, Payload, Redacted, Source, Tags};
        matches!(self, Source | Redacted | Additional | Payload | Tags | FrontMatter)
    }
}

/// Collects payload fields, and the members of object fields, for hints: at most about 1,000, from
/// at most 10,000 versions.
#[derive(Debug, Default)]
pub struct FieldPaths {
    found: BTreeSet<FieldPath>,
    versions: usize,
}

impl FieldPaths {
    /// Adds the fields of another version; breaks once there are enough.
    pub fn add(&mut self, fields: &Map<String, Value>) -> ControlFlow<()> {
        for (key, value) in fields {
            self.found.insert(FieldPath::key(key));
            for member in value.as_object().into_iter().flat_map(Map::keys) {
                self.found.insert(FieldPath::key(key).member(member));
            }
        }
        self.versions += 1;
        if self.versions < 10_000 && self.found.len() < 1_000 {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// The fields, in order.
    pub fn into_list(self) -> Vec<FieldPath> {
        self.found.into_iter().collect()
    }
}

/// The error for a field that no object has. `present`: the payload fields that exist.
pub fn unknown(path: &FieldPath, present: &[FieldPath]) -> Error {
    /// Most names that the error lists.
    const LISTED: usize = 5;
    /// Share of characters that two names must have in common to count as near.
    const NEAR: f32 = 0.6;

    let field = path.to_string();
    let names = NAMES.iter().map(ToString::to_string);
    let names = names.chain(present.iter().map(ToString::to_string));
    let mut rated: Vec<(f32, String)> = names
        .map(|name| (likeness(&field, &name), name))
        .filter(|(ratio, name)| *ratio >= NEAR || name.ends_with(&format!(".{field}")))
        .collect();
    rated.sort_by(|(one, first), (other, second)| other.total_cmp(one).then(first.cmp(second)));
    rated.dedup();
    let known = rated.into_iter().take(LISTED).map(|(_, name)| name).collect();
    Error::UnknownField { field, known }
}
