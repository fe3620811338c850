//! The heading or block that a link's `#heading` or `#^block` names. Must not read texts.

use super::document::{Block, Document, Heading};

impl Document {
    /// Finds the heading that `path` leads to: the first one whose text matches the last step and
    /// whose headings above match the steps before it in order; headings between them may be left
    /// out. `None` for an empty path.
    ///
    /// Compared as Obsidian's `stripHeading` does: ASCII punctuation other than `'`, `-` and `_`
    /// counts as white space, white space is collapsed, case is ignored.
    pub fn find_heading(&self, path: &[String]) -> Option<&Heading> {
        let steps: Vec<String> = path.iter().map(|step| comparable(step)).collect();
        let (last, above) = steps.split_last()?;
        let texts: Vec<String> =
            self.headings.iter().map(|heading| comparable(&heading.text)).collect();
        let found = (0..texts.len())
            .find(|place| texts[*place] == *last && self.stands_under(*place, above, &texts));
        found.map(|place| &self.headings[place])
    }

    fn stands_under(&self, place: usize, above: &[String], texts: &[String]) -> bool {
        let mut wanted = above.iter().rev().peekable();
        let mut parent = self.headings[place].parent;
        while let Some(place) = parent {
            wanted.next_if(|step| **step == texts[place]);
            parent = self.headings[place].parent;
        }
        wanted.peek().is_none()
    }

    /// Finds the first block with this ID, without `^`. Case is ignored, as Obsidian does.
    pub fn find_block(&self, id: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.id.eq_ignore_ascii_case(id))
    }
}

fn comparable(text: &str) -> String {
    let kept = |sign: char| !sign.is_ascii_punctuation() || matches!(sign, '\'' | '-' | '_');
    let spaced: String = text.chars().map(|sign| if kept(sign) { sign } else { ' ' }).collect();
    super::resolve::fold(&spaced.split_whitespace().collect::<Vec<_>>().join(" "))
}
