//! Relations of objects as written: references in fields and items, links and tags in Markdown.
//! Derived from versions and items alone, outside payload and hashes.
//!
//! Plain data and the contract of the index. Must not resolve links to files: `graph` does that
//! when it reads them.

mod derive;

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::derive::is_markdown_type;
pub(super) use self::derive::{of_item, of_version};
use base::markdown::{Link, LinkKind, MarkdownField, TextPlace};
use base::object::{Hash, Name, ObjectId, Origin, Part, TxId};

/// The kind of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RelationKind {
    /// Dynamic reference: the latest version of an object.
    Dynamic,
    /// Static reference: one version of an object.
    Static,
    /// ID of a tool call in a chat's message.
    Call,
    /// `[[target]]`, `![[target]]`.
    Wikilink,
    /// Ordinary link or image that leads to a file.
    Markdown,
    /// Link to a URL.
    External,
    /// `#tag`.
    Tag,
    /// Another name of the document.
    Alias,
    /// The path of an existing file, which links resolve to. Not shown.
    Path,
    /// The folder that a file marks as a vault: one with a `.obsidian`. Not shown.
    Vault,
    /// Tags and front matter of a document, for queries. Not shown.
    Properties,
    /// A wikilink again, by what it names other than a path. Not shown.
    Named,
}

impl RelationKind {
    /// Every kind that relations are listed with, in the order of their numbers.
    pub const LISTED: [Self; 8] = [
        Self::Dynamic,
        Self::Static,
        Self::Call,
        Self::Wikilink,
        Self::Markdown,
        Self::External,
        Self::Tag,
        Self::Alias,
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the name of a kind that relations are listed with.
    pub fn parse(name: &str) -> Option<Self> {
        Self::LISTED.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Number in a store's file; never changes.
    pub(super) fn number(self) -> u8 {
        self as u8
    }

    /// The kind with a number.
    pub(super) fn numbered(number: u8) -> Option<Self> {
        let hidden = [Self::Path, Self::Vault, Self::Properties, Self::Named];
        Self::LISTED.into_iter().chain(hidden).find(|kind| kind.number() == number)
    }
}

/// The target of a relation, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// An object by its ID.
    Object {
        /// The object.
        id: ObjectId,
        /// The version, if pinned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pin: Option<Pin>,
        /// The lines referred to, both ends included, from 1; empty for all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<(u64, u64)>,
    },
    /// A tool call, by the ID from its provider.
    Call {
        /// That ID.
        id: String,
        /// Position in the chat of the message that names it.
        position: u64,
    },
    /// A file, by a link: the target without headings and block. `External`: the URL.
    Link {
        /// The target.
        target: String,
        /// Whether it is shown in place.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        embed: bool,
        /// Headings, outermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headings: Vec<String>,
        /// Block ID without `^`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<String>,
        /// The text shown instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        alias: Option<String>,
    },
    /// A tag without `#`, another name of the document, or a path.
    Name {
        /// The name.
        name: String,
    },
    /// Properties by which queries find a document.
    Properties(Properties),
}

/// Properties that are derived from a document's text and queried like fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Properties {
    /// Its tags, as written, without `#`, each once.
    pub tags: Vec<String>,
    /// Its front matter; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_matter: Option<Map<String, Value>>,
}

/// A pinned version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Hash of its payload.
    pub content_hash: Hash,
    /// Where it was first written; `None` if the reference does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The place of a relation in its object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelationPlace {
    /// `content`, `front_matter`, `items`, or the payload field's name.
    pub field: String,
    /// In the content, the headings above, joined by `#`; in the front matter, the keys from its
    /// root; otherwise the path from the payload's root: `file_refs[0]`, `items[12].content`.
    pub path: String,
    /// Line of the text, from 1, in content and front matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Bytes of the text, in content and front matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range<usize>>,
}

impl RelationPlace {
    /// The place as one text, which patterns are matched with: `content#Guide#Install`,
    /// `front_matter.related[0]`, `items[12].content`.
    pub fn full_path(&self) -> String {
        match self.field.as_str() {
            "content" if self.path.is_empty() => "content".to_owned(),
            "content" => format!("content#{}", self.path),
            "front_matter" => format!("front_matter.{}", self.path),
            _ => self.path.clone(),
        }
    }
}

/// One relation of a version or an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Its kind.
    pub kind: RelationKind,
    /// Its target, as written.
    pub written: Written,
    /// Its place.
    pub place: RelationPlace,
}

impl Relation {
    /// Its lookup key: the object's ID, the call's ID, [`base::markdown::link_key`] of a link's
    /// target, path or alias, the URL, the tag in lower case.
    pub fn key(&self) -> String {
        match (&self.written, self.kind) {
            (Written::Object { id, .. }, _) => id.as_str().to_owned(),
            (Written::Call { id, .. }, _) => id.clone(),
            (Written::Link { target, .. }, RelationKind::External) => target.clone(),
            (Written::Link { target, .. }, RelationKind::Named) => {
                named_key(target).unwrap_or_default()
            }
            (Written::Link { target, .. }, _) => base::markdown::link_key(target),
            (Written::Name { name }, RelationKind::Tag) => name.to_lowercase(),
            (Written::Name { name }, RelationKind::Vault) => name.clone(),
            (Written::Name { name }, _) => base::markdown::link_key(&slashed(name)),
            (Written::Properties(_), _) => String::new(),
        }
    }

    /// The link, for resolving it; `None` for other relations.
    pub fn link(&self) -> Option<Link> {
        let Written::Link { target, embed, headings, block, alias } = &self.written else {
            return None;
        };
        let kind = match self.kind {
            RelationKind::Wikilink | RelationKind::Named => LinkKind::Wikilink,
            RelationKind::External => LinkKind::External,
            _ => LinkKind::Markdown,
        };
        let RelationPlace { field, path, line, range } = self.place.clone();
        let field =
            if field == "content" { MarkdownField::Content } else { MarkdownField::FrontMatter };
        let line = line.and_then(|line| usize::try_from(line).ok()).unwrap_or_default();
        let place = TextPlace { field, path, line, range: range.unwrap_or_default() };
        let (target, headings) = (target.clone(), headings.clone());
        let (block, alias) = (block.clone(), alias.clone());
        Some(Link { kind, embed: *embed, target, headings, block, alias, place })
    }
}

/// The key of all wikilinks that name an object by a handle: only their session knows what it means.
pub const HANDLES: &str = "[[handle]]";

/// Digits of an ID by which links are found that name its object by a prefix.
pub const PREFIX_DIGITS: usize = 8;

/// A wikilink's target as the name of an object, and the lines behind it: `f3@12:5-9`.
pub fn named(target: &str) -> Option<(Name, Vec<(u64, u64)>)> {
    let lines = |text| {
        let parts = Part::parse(text)?.into_iter().map(|part| match part {
            Part::Lines(first, last) => Some((first, last)),
            _ => None,
        });
        parts.collect::<Option<Vec<_>>>()
    };
    let divided = target.rsplit_once(':');
    let (name, lines) =
        divided.and_then(|(name, text)| Some((name, lines(text)?))).unwrap_or((target, Vec::new()));
    Some((Name::parse(name).ok()?, lines))
}

/// The key of a wikilink that names an object in a way that its target's own key does not show.
pub(super) fn named_key(target: &str) -> Option<String> {
    let (name, _) = named(target)?;
    if name.handle().is_some() {
        return Some(HANDLES.to_owned());
    }
    let prefix = name.id_prefix().and_then(|prefix| prefix.get(..PREFIX_DIGITS));
    let bare = || (name.text != target).then(|| base::markdown::link_key(&name.text));
    prefix.map(str::to_lowercase).or_else(bare)
}

/// A path with `/` between its names, even if it begins with a drive or is a share.
pub fn slashed(path: &str) -> String {
    let drive = path.as_bytes().get(1..3) == Some(b":\\");
    if drive || path.starts_with("\\\\") { path.replace('\\', "/") } else { path.to_owned() }
}

/// A relation with the object that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedRelation {
    /// The object that contains it.
    pub from: ObjectId,
    /// The version of that object that is visible at the time asked about.
    pub version: TxId,
    /// First transaction that has the relation in this form.
    pub since: TxId,
    /// The relation.
    pub relation: Relation,
}
