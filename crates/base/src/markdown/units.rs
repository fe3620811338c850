//! The smallest self-contained parts of a text: items of the outermost lists, and every other root
//! block except headings. Must not interpret units.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::line_numbers::LineNumbers;
use super::{front_matter, opaque};

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// An item of an outermost list, with everything in it.
    Item {
        /// Whether the list is numbered.
        ordered: bool,
    },
    /// A comment in HTML or `%%`, not meant to be read as text.
    Comment,
    /// A block that announces the outermost list directly behind it, by a colon at its end.
    LeadIn,
    /// A paragraph, quote, table, block of code or anything else.
    Block,
}

/// A self-contained part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextUnit {
    /// What it is.
    pub kind: UnitKind,
    /// First line of the text, from 1; the front matter's lines count.
    pub line: usize,
    /// Last line.
    pub last_line: usize,
    /// Bytes of the text, without trailing blank lines.
    pub range: Range<usize>,
    /// Bytes of the block that announces an item's list.
    pub lead_in: Option<Range<usize>>,
}

/// The units of a text in order, without front matter and headings. Linear in the text; never
/// fails.
pub fn units(text: &str) -> Vec<TextUnit> {
    let lines = LineNumbers::new(text);
    let body = front_matter::read(text, &lines).body;
    let scratch = opaque::scratch(&text[body..]);
    let mut walk = UnitWalk { depth: 0, lists: 0, lead_in: None, found: Vec::new() };
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_TASKLISTS;
    for (event, range) in Parser::new_ext(&scratch, options).into_offset_iter() {
        walk.take(&event, range, &scratch);
    }
    let place = |range: Range<usize>| {
        let (start, end) = (range.start + body, range.end + body);
        start..start + text[start..end].trim_end().len()
    };
    let units = walk.found.into_iter().filter_map(|(kind, range, lead_in)| {
        let (range, lead_in) = (place(range), lead_in.map(place));
        let said = &text[range.clone()];
        let kind = if is_comment(said) { UnitKind::Comment } else { kind };
        (!said.trim().is_empty()).then(|| TextUnit {
            kind,
            line: lines.line(range.start),
            last_line: lines.line(range.end - 1),
            range,
            lead_in,
        })
    });
    units.collect()
}

fn is_comment(said: &str) -> bool {
    let within = |open: &str, close: &str| {
        said.trim_start()
            .strip_prefix(open)
            .is_some_and(|rest| rest.find(close) == rest.len().checked_sub(close.len()))
    };
    within("<!--", "-->") || within("%%", "%%")
}

/// Whether a block announces a list directly behind it: its text ends with a colon.
pub fn announces(block: &str) -> bool {
    block.trim_end().trim_end_matches(['*', '_']).ends_with([':', '：'])
}

struct UnitWalk {
    /// Number of open containers, including lists and their items.
    depth: usize,
    /// Whether the outermost container is a list: its items are the units.
    lists: usize,
    /// The block that announces the open list.
    lead_in: Option<Range<usize>>,
    found: Vec<(UnitKind, Range<usize>, Option<Range<usize>>)>,
}

impl UnitWalk {
    fn take(&mut self, event: &Event<'_>, range: Range<usize>, text: &str) {
        match event {
            Event::Start(tag) => {
                match (tag, self.depth) {
                    (Tag::Heading { .. }, 0) => {}
                    (Tag::List(first), 0) => {
                        self.lists = 1 + usize::from(first.is_some());
                        let last = self.found.last_mut().filter(|(kind, block, _)| {
                            let between = &text[block.end..range.start];
                            *kind == UnitKind::Block
                                && between.trim().is_empty()
                                && announces(&text[block.clone()])
                        });
                        self.lead_in = last.map(|(kind, block, _)| {
                            *kind = UnitKind::LeadIn;
                            block.clone()
                        });
                    }
                    (Tag::Item, 1) if self.lists > 0 => {
                        let kind = UnitKind::Item { ordered: self.lists == 2 };
                        self.found.push((kind, range, self.lead_in.clone()));
                    }
                    (_, 0) => self.found.push((UnitKind::Block, range, None)),
                    _ => {}
                }
                self.depth += 1;
            }
            Event::End(end) => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 && matches!(end, TagEnd::List(_)) {
                    self.lists = 0;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(UnitKind, usize, usize, &str)> {
        let units = units(text).into_iter();
        units.map(|unit| (unit.kind, unit.line, unit.last_line, &text[unit.range])).collect()
    }

    const ITEM: UnitKind = UnitKind::Item { ordered: false };

    #[test]
    fn items_of_outermost_lists_and_other_blocks_are_units() {
        let text = "---\na: 1\n---\n# Top\n\nIntro, in\ntwo lines.\n\n## Build\n- one\n  - inner\n  more of one\n- two\n\n1. first\n2. second\n\n\
                    ```sh\nmake\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n> quote\n";
        let ordered = UnitKind::Item { ordered: true };
        assert_eq!(
            of(text),
            [
                (UnitKind::Block, 6, 7, "Intro, in\ntwo lines."),
                (ITEM, 10, 12, "- one\n  - inner\n  more of one"),
                (ITEM, 13, 13, "- two"),
                (ordered, 15, 15, "1. first"),
                (ordered, 16, 16, "2. second"),
                (UnitKind::Block, 18, 20, "```sh\nmake\n```"),
                (UnitKind::Block, 21, 23, "| a | b |\n|---|---|\n| 1 | 2 |"),
                (UnitKind::Block, 24, 24, "> quote"),
            ]
        );
    }

    #[test]
    fn a_block_that_ends_with_a_colon_announces_its_list() {
        let text = "Never:\n- a\n- b\n\n**Always:**\n\n1. c\n\nSo:\n\n## H\n- d\n\nSaid.\n- e\n";
        let found = units(text);
        let lead_in = |unit: &TextUnit| unit.lead_in.clone().map_or("", |range| &text[range]);
        let seen: Vec<_> =
            found.iter().map(|unit| (&text[unit.range.clone()], lead_in(unit))).collect();
        assert_eq!(
            seen,
            [
                ("Never:", ""),
                ("- a", "Never:"),
                ("- b", "Never:"),
                ("**Always:**", ""),
                ("1. c", "**Always:**"),
                ("So:", ""),
                ("- d", ""),
                ("Said.", ""),
                ("- e", ""),
            ]
        );
        let leading = found.iter().filter(|unit| unit.kind == UnitKind::LeadIn);
        assert_eq!(leading.map(|unit| unit.line).collect::<Vec<_>>(), [1, 5]);
    }

    #[test]
    fn a_comment_is_told_apart_and_text_behind_it_is_not_one() {
        assert_eq!(
            of("<!-- for people -->\n\n- a"),
            [(UnitKind::Comment, 1, 1, "<!-- for people -->"), (ITEM, 3, 3, "- a"),]
        );
        assert_eq!(of("<!-- a --> said\n")[0].0, UnitKind::Block);
    }

    #[test]
    fn windows_line_endings_tabs_and_loose_lists_are_read() {
        assert_eq!(
            of("* a\r\n\r\n  b\r\n\r\n*\tc\r\n"),
            [(ITEM, 1, 3, "* a\r\n\r\n  b"), (ITEM, 5, 5, "*\tc"),]
        );
    }

    #[test]
    fn nothing_but_headings_has_no_units() {
        assert_eq!(of("# A\n\n## B\n"), []);
        assert_eq!(of(""), []);
    }
}
