//! The meaning of a field name. A new property derived from content needs a variant here, its name
//! in `of`, and its column in `sqlite/query.rs`.

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

/// The meaning of a name; the steps lead into a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryField {
    /// The object's ID.
    Id,
    /// Its type.
    Kind,
    /// A part of its source.
    Source(Vec<FieldStep>),
    /// The hash of its source.
    IdentityHash,
    /// The transaction of the version.
    TxId,
    /// Its time.
    SystemTime,
    /// The store that wrote it first.
    OriginStore,
    /// The transaction there.
    OriginTx,
    /// Its time there.
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
    Redacted(Vec<FieldStep>),
    /// Whether it was forgotten.
    Forgotten,
    /// A nickname.
    Nickname,
    /// A part of its additional fields.
    Additional(Vec<FieldStep>),
    /// A part of its payload.
    Payload(Vec<FieldStep>),
    /// `tags`: that payload field, otherwise the document's tags.
    Tags(Vec<FieldStep>),
    /// `front_matter`: that payload field, otherwise the document's front matter.
    FrontMatter(Vec<FieldStep>),
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
        let part = match rest {
            [FieldStep::Key(part)] => Some(part.as_str()),
            _ => None,
        };
        Ok(match (first.as_str(), part) {
            ("source", _) => Self::Source(rest.to_vec()),
            ("redacted", _) => Self::Redacted(rest.to_vec()),
            ("additional", _) => Self::Additional(rest.to_vec()),
            ("fields", _) if !rest.is_empty() => Self::Payload(rest.to_vec()),
            ("tags", _) => Self::Tags(rest.to_vec()),
            ("front_matter", _) => Self::FrontMatter(rest.to_vec()),
            ("origin", Some("store_id")) => Self::OriginStore,
            ("origin", Some("tx_id")) => Self::OriginTx,
            ("origin", Some("time")) => Self::OriginTime,
            ("origin", _) => return Err(unknown(path, &[])),
            _ => match Self::plain(first) {
                Some(field) if rest.is_empty() => field,
                Some(_) => return Err(unknown(path, &[])),
                None => Self::Payload(path.steps().to_vec()),
            },
        })
    }

    /// The names without parts.
    fn plain(name: &str) -> Option<Self> {
        Some(match name {
            "id" => Self::Id,
            "type" => Self::Kind,
            "path" => Self::Source(vec![FieldStep::Key("path".to_owned())]),
            "identity_hash" => Self::IdentityHash,
            "tx_id" => Self::TxId,
            "system_time" => Self::SystemTime,
            "content_hash" => Self::ContentHash,
            "source_hash" => Self::SourceHash,
            "has_content" => Self::HasContent,
            "item_count" => Self::ItemCount,
            "forgotten" => Self::Forgotten,
            "nickname" => Self::Nickname,
            _ => return None,
        })
    }

    /// Whether users can define it: then it is unknown until some object has it.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Self::Payload(_) | Self::Additional(_) => true,
            Self::FrontMatter(steps) => !steps.is_empty(),
            _ => false,
        }
    }

    /// Whether it is derived from contents.
    pub(crate) fn is_derived(&self) -> bool {
        matches!(self, Self::Tags(_) | Self::FrontMatter(_))
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
