//! One pass over the Markdown library's events: blocks, runs of inline text, headings, ordinary
//! links, and parts that hold no wikilinks or tags (opaque). Must not know wikilinks, tags or front
//! matter. Ranges count from the start of the content.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use super::document::Block;
use super::line_numbers::LineNumbers;

/// Images may nest in each other's text without limit; keeping every text would take space
/// quadratic in the source.
const MAX_NESTED_TEXTS: usize = 8;

/// The structure of a content.
#[derive(Debug, Default)]
pub(super) struct Layout {
    /// Inline texts, one per paragraph, heading, table cell and tight list item, in order.
    pub(super) runs: Vec<Range<usize>>,
    /// Code, math, HTML, footnote references, destinations of links: sorted.
    pub(super) opaque: Vec<Range<usize>>,
    /// Ordinary links, sorted by their start.
    pub(super) links: Vec<RawLink>,
    /// Headings at the root.
    pub(super) headings: Vec<RawHeading>,
    /// Block IDs with their blocks.
    ids: Vec<(Range<usize>, Range<usize>)>,
}

/// An ordinary link or image.
#[derive(Debug)]
pub(super) struct RawLink {
    pub(super) range: Range<usize>,
    /// The text between the first brackets; empty in images that are nested deeper than
    /// `MAX_NESTED_TEXTS`.
    pub(super) text: Range<usize>,
    pub(super) destination: String,
    pub(super) image: bool,
    /// `<address>`: the text is the destination.
    pub(super) auto: bool,
}

/// A heading before its lines and text are known.
#[derive(Debug)]
pub(super) struct RawHeading {
    pub(super) level: u8,
    pub(super) range: Range<usize>,
    pub(super) text: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Root,
    Paragraph,
    Heading,
    Item,
    Other,
}

#[derive(Debug)]
struct Container {
    kind: Kind,
    range: Range<usize>,
    /// The last block inside that is complete.
    last: Option<Range<usize>>,
}

struct BlockWalk<'a> {
    text: &'a str,
    layout: Layout,
    open: Vec<Container>,
    /// Open links, by their index in `layout.links`.
    links: Vec<usize>,
    run: Option<Range<usize>>,
}

/// Parses `text`, a content without front matter.
pub(super) fn read(text: &str) -> Layout {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    let root = Container { kind: Kind::Root, range: 0..text.len(), last: None };
    let mut walk = BlockWalk {
        text,
        layout: Layout::default(),
        open: vec![root],
        links: Vec::new(),
        run: None,
    };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        walk.take(event, range);
    }
    walk.end_run();
    let mut layout = walk.layout;
    layout.opaque.sort_by_key(|range| range.start);
    layout.links.sort_by_key(|link| link.range.start);
    layout.runs.sort_by_key(|run| run.start);
    layout
}

/// The blocks with an ID, in order. The content begins at byte `body` of the text indexed by
/// `lines`.
pub(super) fn named(text: &str, body: usize, layout: &Layout, lines: &LineNumbers) -> Vec<Block> {
    let block = |(id, block): &(Range<usize>, Range<usize>)| {
        let block = trimmed(text, block);
        let range = block.start + body..block.end + body;
        Block {
            id: text[id.clone()].to_owned(),
            line: lines.line(range.start),
            last_line: lines.line(range.end.saturating_sub(1).max(range.start)),
            range,
        }
    };
    layout.ids.iter().map(block).collect()
}

impl BlockWalk<'_> {
    fn take(&mut self, event: Event, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(end),
            Event::Text(_) | Event::SoftBreak | Event::HardBreak => self.inline(&range),
            Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_) => {
                self.inline(&range);
                self.layout.opaque.push(range);
            }
            Event::Rule => {
                self.end_run();
                self.close(range);
            }
            // Inside a wholly opaque block, or not text at all.
            Event::Html(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag, range: Range<usize>) {
        let kind = match tag {
            Tag::Link { link_type, dest_url, .. } => {
                return self.link(range, &dest_url, false, link_type);
            }
            Tag::Image { link_type, dest_url, .. } => {
                return self.link(range, &dest_url, true, link_type);
            }
            Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript => return self.inline(&range),
            Tag::CodeBlock(_) | Tag::HtmlBlock => {
                self.layout.opaque.push(range.clone());
                Kind::Other
            }
            Tag::Heading { level, .. } => {
                if self.open.len() == 1 {
                    let text = range.start..range.start;
                    let level = level as u8;
                    self.layout.headings.push(RawHeading { level, range: range.clone(), text });
                }
                Kind::Heading
            }
            Tag::Paragraph => Kind::Paragraph,
            Tag::Item => Kind::Item,
            _ => Kind::Other,
        };
        self.end_run();
        self.open.push(Container { kind, range, last: None });
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Superscript
            | TagEnd::Subscript => {}
            _ => {
                self.end_run();
                if let Some(container) = self.open.pop() {
                    self.close(container.range);
                }
            }
        }
    }

    fn close(&mut self, block: Range<usize>) {
        if let Some(above) = self.open.last_mut() {
            above.last = Some(block);
        }
    }

    /// Adds a piece of inline text to the run and to the texts of the enclosing links.
    fn inline(&mut self, range: &Range<usize>) {
        if let Some(link) = self.links.last() {
            let link = &mut self.layout.links[*link];
            link.text.end = link.text.end.max(range.end.min(link.range.end));
        }
        if let Some(run) = &mut self.run {
            run.end = run.end.max(range.end);
            return;
        }
        // The library omits the `\` of an escape; without it the escaped text would look like a
        // link or tag.
        let escape = usize::from(self.text[..range.start].ends_with('\\'));
        self.run = Some(range.start - escape..range.end);
    }

    fn link(&mut self, range: Range<usize>, destination: &str, image: bool, link_type: LinkType) {
        self.inline(&range);
        let first = (range.start + if image { 2 } else { 1 }).min(range.end);
        let auto = matches!(link_type, LinkType::Autolink | LinkType::Email);
        let destination = match link_type {
            LinkType::Email => format!("mailto:{destination}"),
            _ => destination.to_owned(),
        };
        self.links.push(self.layout.links.len());
        let text = first..first;
        self.layout.links.push(RawLink { range, text, destination, image, auto });
    }

    /// Everything after the text's closing bracket is opaque. The bracket itself may belong to a
    /// wikilink, as in `[[a]](b)`.
    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        let link = &mut self.layout.links[link];
        let tail = if link.auto { link.range.start } else { link.text.end + 1 };
        if self.links.len() >= MAX_NESTED_TEXTS {
            link.text.end = link.text.start;
        }
        if tail < link.range.end {
            self.layout.opaque.push(tail..link.range.end);
        }
    }

    fn end_run(&mut self) {
        let (Some(run), Some(container)) = (self.run.take(), self.open.last()) else { return };
        match container.kind {
            Kind::Other if self.layout.opaque.last() == Some(&container.range) => return,
            Kind::Heading if self.open.len() == 2 => {
                if let Some(heading) = self.layout.headings.last_mut() {
                    heading.text = run.clone();
                }
            }
            _ => {}
        }
        if container.kind != Kind::Other {
            self.find_id(&run);
        }
        self.layout.runs.push(run);
    }

    /// Obsidian's rule for block IDs: at the end of a block's text, optional white space, then `^`,
    /// then letters, digits and dashes.
    fn find_id(&mut self, run: &Range<usize>) {
        let text = self.text[run.clone()].trim_end();
        let id =
            text.bytes().rev().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        let start = text.len() - id.count();
        let Some(before) = text[..start].strip_suffix('^') else { return };
        let apart = before.is_empty() || before.ends_with([' ', '\t', '\n', '\r']);
        if start == text.len() || !apart {
            return;
        }
        let id = run.start + start..run.start + text.len();
        let block = self.block_of(before.trim().is_empty());
        self.layout.ids.push((id, block));
    }

    /// The block that an ID at the end of the current run names. `alone`: whether the run consists
    /// of the ID only.
    fn block_of(&self, alone: bool) -> Range<usize> {
        let own = &self.open[self.open.len() - 1];
        let above = self.open.len().checked_sub(2).map(|place| &self.open[place]);
        match (own.kind, above) {
            (Kind::Paragraph, Some(Container { last: Some(before), .. })) if alone => {
                before.clone()
            }
            (Kind::Paragraph, Some(Container { kind: Kind::Item, range, last: None })) => {
                range.clone()
            }
            _ => own.range.clone(),
        }
    }
}

fn trimmed(text: &str, range: &Range<usize>) -> Range<usize> {
    range.start..range.start + text[range.clone()].trim_end().len()
}
