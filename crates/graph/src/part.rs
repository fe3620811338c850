//! Parts of a text: a section, a block, lines. Must not know where the text comes from.

use std::fmt;

use serde::Serialize;

use base::markdown::Document;
use store::Written;

/// A part of an object's text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentPart {
    /// The section under a heading, with the headings above it, outermost first.
    Section(Vec<String>),
    /// The block with an ID, without `^`.
    Block(String),
    /// Runs of lines, both ends included, from 1.
    Lines(Vec<(u64, u64)>),
}

impl ContentPart {
    /// Parses what follows `#` in a link: `Heading#Sub` or `^block`.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(block) = text.strip_prefix('^') {
            return Some(Self::Block(block.to_owned()));
        }
        let steps = text.split('#').map(str::trim).filter(|step| !step.is_empty());
        let steps: Vec<String> = steps.map(str::to_owned).collect();
        (!steps.is_empty()).then_some(Self::Section(steps))
    }

    /// The part that a relation points to; `None` for the whole text.
    pub fn of(written: &Written) -> Option<Self> {
        match written {
            Written::Object { lines, .. } if !lines.is_empty() => Some(Self::Lines(lines.clone())),
            Written::Link { block: Some(block), .. } => Some(Self::Block(block.clone())),
            Written::Link { headings, .. } if !headings.is_empty() => {
                Some(Self::Section(headings.clone()))
            }
            Written::Link { target, .. } => {
                let (_, lines) = store::named(target)?;
                (!lines.is_empty()).then_some(Self::Lines(lines))
            }
            _ => None,
        }
    }

    /// First and last line of a section or block; `None` if the document lacks it.
    pub(super) fn lines_in(&self, document: &Document) -> Option<(u64, u64)> {
        let (first, last) = match self {
            Self::Section(path) => {
                let heading = document.find_heading(path)?;
                (heading.line, heading.last_line)
            }
            Self::Block(id) => {
                let block = document.find_block(id)?;
                (block.line, block.last_line)
            }
            Self::Lines(_) => return None,
        };
        Some((first as u64, last as u64))
    }

    /// Cuts the part out of a text; `None` if the text lacks it. Lines are split on `\n`; several
    /// runs of lines are joined by `\n`.
    pub(super) fn of_text(&self, text: &str) -> Option<String> {
        let runs = match self {
            Self::Lines(runs) => runs.clone(),
            _ => vec![self.lines_in(&base::markdown::parse(text))?],
        };
        let lines: Vec<&str> = text.split('\n').collect();
        let mut taken = Vec::new();
        for (first, last) in runs {
            let place = |line: u64| usize::try_from(line).ok();
            taken.extend_from_slice(lines.get(place(first)?.checked_sub(1)?..place(last)?)?);
        }
        Some(taken.join("\n"))
    }
}

/// The form after `#` in a link; lines as `1-9, 20-21`.
impl fmt::Display for ContentPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Section(path) => formatter.write_str(&path.join("#")),
            Self::Block(id) => write!(formatter, "^{id}"),
            Self::Lines(runs) => {
                let runs: Vec<_> =
                    runs.iter().map(|(first, last)| format!("{first}-{last}")).collect();
                formatter.write_str(&runs.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_blocks_and_lines_are_taken_from_a_text() {
        let text = "# A\none\n## B\ntwo ^b\n\n# C\nthree";
        let part = |part: &str| ContentPart::parse(part).unwrap().of_text(text);
        assert_eq!(part("a#b").as_deref(), Some("## B\ntwo ^b\n"));
        assert_eq!(part("C").as_deref(), Some("# C\nthree"));
        assert_eq!(part("^B").as_deref(), Some("two ^b"));
        assert_eq!(part("d"), None);
        assert_eq!(part("^c"), None);
        let lines = |runs: &[(u64, u64)]| ContentPart::Lines(runs.to_vec()).of_text(text);
        assert_eq!(lines(&[(1, 2), (7, 7)]).as_deref(), Some("# A\none\nthree"));
        for wrong in [(0, 1), (7, 8), (3, 1)] {
            assert_eq!(lines(&[wrong]), None, "{wrong:?}");
        }
    }
}
