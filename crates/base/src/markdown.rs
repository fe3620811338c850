//! Markdown in Obsidian's dialect: finds front matter, links, tags, headings and blocks in a text,
//! each with its place.
//!
//! Pure: must not do I/O, change a text, or know a store, a vault on disk or other documents. A
//! link's target file is not part of a document: [`VaultIndex`] resolves it anew for every reading.

mod blocks;
mod document;
mod front_matter;
mod headings;
mod line_numbers;
mod links;
mod opaque;
mod resolve;
mod sections;
mod tags;
mod units;
mod yaml;

pub use document::{
    Alias, Block, Document, FrontMatter, Heading, Link, LinkKind, MarkdownField, MarkdownProblem,
    Tag, TextPlace,
};
pub use resolve::{Resolution, VaultIndex, link_key, path_key};
pub use units::{TextUnit, UnitKind, announces, units};

use line_numbers::LineNumbers;
use sections::Sections;

/// Parses a document. Never fails and never panics; takes time linear in the length of `text`,
/// whatever it contains.
///
/// The dialect is Obsidian's (its help, "Obsidian Flavored Markdown"): CommonMark with tables,
/// footnotes, task lists, strikethrough and math, plus wikilinks, embeds, tags, block IDs and
/// `%%comments%%`. Code, math, comments, HTML blocks and HTML tags are skipped.
///
/// - A wikilink stands on one line. `[[a [[b]]` holds the link `[[b]]`; in a table `\|` separates
///   the alias.
/// - A comment that begins a line reaches to the next `%%`; any other must end in its paragraph.
///   Without an end it is not a comment.
/// - Containers (quotes, list items) that begin on one line are read to a depth of 64; deeper
///   markers count as text.
/// - Links, tags, headings and blocks are listed in the order of the text, front matter first.
pub fn parse(text: &str) -> Document {
    let lines = LineNumbers::new(text);
    let front = front_matter::read(text, &lines);
    let body = front.body;
    let scratch = opaque::scratch(&text[body..]);
    let layout = blocks::read(&scratch);
    let sections = Sections::new(&text[body..], body, &layout.headings, &lines);
    let wikilinks: Vec<links::WikilinkRanges> =
        layout.runs.iter().flat_map(|run| links::scan(&scratch, run, &layout.opaque)).collect();
    let mut document = Document {
        front_matter: front.matter,
        links: front.links,
        tags: front.tags,
        aliases: front.aliases,
        headings: Vec::new(),
        blocks: blocks::named(&scratch, body, &layout, &lines),
    };
    let source = links::Source { text, body, sections: &sections, lines: &lines };
    document.links.extend(links::collect(&source, &wikilinks, &layout.links));
    document.tags.extend(tags::collect(&source, &scratch, &layout, &wikilinks));
    document.headings = sections.headings;
    document
}

#[cfg(test)]
mod tests;
