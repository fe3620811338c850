//! The sections opened by headings, and the path of each place in them. Must not look for headings.

use super::blocks::RawHeading;
use super::document::{Heading, join};
use super::line_numbers::LineNumbers;

/// The headings of a text, with the path of their sections.
#[derive(Debug)]
pub(super) struct Sections {
    pub(super) headings: Vec<Heading>,
    paths: Vec<String>,
}

impl Sections {
    /// `content` begins at byte `body` of the text that `lines` are of; the headings' ranges count
    /// from there.
    pub(super) fn new(content: &str, body: usize, raw: &[RawHeading], lines: &LineNumbers) -> Self {
        let mut sections = Self { headings: Vec::new(), paths: Vec::new() };
        let mut open: Vec<usize> = Vec::new();
        for heading in raw {
            let range = heading.range.start + body..heading.range.end + body;
            let line = lines.line(range.start);
            while let Some(top) = open.pop_if(|top| sections.headings[*top].level >= heading.level)
            {
                sections.headings[top].last_line = (line - 1).max(sections.headings[top].line);
            }
            let parent = open.last().copied();
            let text =
                content[heading.text.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
            let above = parent.map(|parent| sections.paths[parent].as_str());
            sections.paths.push(join(above, "#", &text));
            open.push(sections.headings.len());
            let last_line = lines.last().max(line);
            sections.headings.push(Heading {
                level: heading.level,
                text,
                line,
                last_line,
                parent,
                range,
            });
        }
        sections
    }

    /// The path of the byte `at` of the text.
    pub(super) fn path(&self, at: usize) -> String {
        let after = self.headings.partition_point(|heading| heading.range.start <= at);
        after.checked_sub(1).map(|place| self.paths[place].clone()).unwrap_or_default()
    }
}
