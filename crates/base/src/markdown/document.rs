//! The plain data of a parsed document. Must not parse.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Longest path of a place, in bytes, so that hostile headings and keys cannot multiply the size of
/// a text.
const PATH_BYTES: usize = 512;

/// The contents of one text. Everything except `front_matter` is in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The front matter; `None` if the text does not begin with one.
    pub front_matter: Option<FrontMatter>,
    /// Wikilinks, embeds, ordinary links and images.
    pub links: Vec<Link>,
    /// `#tags` of the content, and those of the fields `tags` and `tag`.
    pub tags: Vec<Tag>,
    /// Other names of the document: the fields `aliases` and `alias`.
    pub aliases: Vec<Alias>,
    /// Headings outside quotes and lists, as in Obsidian's outline.
    pub headings: Vec<Heading>,
    /// Blocks that have an ID.
    pub blocks: Vec<Block>,
}

/// The YAML between `---` on the first line and the next line that is `---`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FrontMatter {
    /// The fields in file order, by YAML 1.2's core schema; dates stay strings. Empty if `problem`
    /// stopped the parser.
    pub fields: Map<String, Value>,
    /// Why fields are missing.
    pub problem: Option<MarkdownProblem>,
    /// Bytes of the text, both `---` lines included.
    pub range: Range<usize>,
}

/// What is wrong with a front matter. The rest of the document is parsed anyway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkdownProblem {
    /// Line of the text, from 1.
    pub line: usize,
    /// What is wrong, in lower case, without a period.
    pub message: String,
}

/// The part of a document that holds a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkdownField {
    /// The text after the front matter.
    Content,
    /// The front matter.
    FrontMatter,
}

/// Where a relation is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPlace {
    /// Content or front matter.
    pub field: MarkdownField,
    /// In the content the headings above, outermost first, joined by `#` (`Guide#Install`; empty
    /// before the first). In front matter the keys, joined by `.`, with list positions from 0
    /// (`related[0]`). At most 512 bytes, cut after that.
    pub path: String,
    /// Line of the text on which the relation begins, from 1; the front matter's lines count.
    pub line: usize,
    /// Bytes of the text: exactly what is written.
    pub range: Range<usize>,
}

/// How a link is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// `[[target]]`.
    Wikilink,
    /// `[text](target)`, `[text][label]`, `![text](target)` that lead to a file.
    Markdown,
    /// The same, or `<address>`, that leads to a URL with a scheme (`https:`, `mailto:`) or a host
    /// (`//host`).
    External,
}

/// A link. A `VaultIndex` finds its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// How it is written.
    pub kind: LinkKind,
    /// Whether the target is shown in place: `![[...]]` or an image.
    pub embed: bool,
    /// The file as written, without headings and block, trimmed; in `Markdown` links
    /// percent-decoded. Empty: this very document. In `External` links the whole URL as written.
    pub target: String,
    /// The headings of `target#heading#subheading`, outermost first, trimmed. Never used in
    /// `External` links.
    pub headings: Vec<String>,
    /// The block ID of `target#^block`, without `^`.
    pub block: Option<String>,
    /// What is shown instead: `[[target|alias]]`, or the text of an ordinary link; for embeds also
    /// a size (`300`). As written; `None` if empty, and in images nested more than eight texts
    /// deep.
    pub alias: Option<String>,
    /// Where it is written. The range includes brackets and `!`.
    pub place: TextPlace,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// The tag as written, without `#`; levels are separated by `/`. Obsidian compares tags without
    /// case.
    pub name: String,
    /// Where it is written. In the content, the range includes `#`.
    pub place: TextPlace,
}

/// Another name of the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// The name.
    pub name: String,
    /// Where it is written.
    pub place: TextPlace,
}

/// A heading and the section that it opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// 1 to 6.
    pub level: u8,
    /// Its Markdown, trimmed, on one line.
    pub text: String,
    /// Line of the text, from 1.
    pub line: usize,
    /// Last line of the section: the one before the next heading of this or a higher rank, else the
    /// text's last.
    pub last_line: usize,
    /// Position in `Document::headings` of the heading above it.
    pub parent: Option<usize>,
    /// Bytes of the heading.
    pub range: Range<usize>,
}

/// A block with an ID: a paragraph, a list item with its contents, a heading, or whatever precedes
/// a line of `^id` alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The ID without `^`.
    pub id: String,
    /// First line of the block, from 1.
    pub line: usize,
    /// Last line of the block.
    pub last_line: usize,
    /// Bytes of the block.
    pub range: Range<usize>,
}

/// Appends a step to a path, cut to the maximum length.
pub(super) fn join(above: Option<&str>, separator: &str, step: &str) -> String {
    let above = above.unwrap_or_default();
    let separator = if above.is_empty() { "" } else { separator };
    let room = PATH_BYTES.saturating_sub(above.len() + separator.len());
    if room == 0 {
        return above.to_owned();
    }
    let mut cut = room.min(step.len());
    while !step.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{above}{separator}{}", &step[..cut])
}
