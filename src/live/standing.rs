//! The lines that stand in the window, for the results that come: kept while they only grow, else worked out anew.

use std::sync::Arc;

use super::LiveSession;
use crate::context::first_sight::{self, Output};
use crate::context::lines_index::{Block, LinesIndex};
use crate::context::log_layout::Texts;
use crate::context::standing;
use crate::error::{Error, Result};
use crate::session::Subject;

impl LiveSession {
    /// The blocks of a new result that stand in the window already.
    pub(super) fn standing_blocks(&mut self, output: &Output<'_>) -> Result<Vec<Block>> {
        let Some(min_lines) = first_sight::block_lines(&self.state, output) else {
            return Ok(Vec::new());
        };
        if self.lines.is_none() {
            let mut lines = LinesIndex::default();
            for (at, _) in self.state.shown_window().filter(|(at, _)| *at < output.at) {
                self.enter_lines(&mut lines, at)?;
            }
            self.lines = Some(lines);
        }
        let Some(lines) = &self.lines else { return Ok(Vec::new()) };
        let mut blocks = lines.blocks(output.text, min_lines, output.counter);
        blocks.retain(|block| self.is_named_truly(block.at));
        Ok(blocks)
    }

    /// Whether the lines of what a message shows have the same numbers in its latest version.
    fn is_named_truly(&self, at: u64) -> bool {
        let Some(showing) = self.state.showing_as(at, self.state.treatment(at)) else {
            return true;
        };
        match self.state.index().get(&showing.object).map(|entry| &entry.subject) {
            Some(Subject::File { version, .. }) => *version == showing.version,
            _ => true,
        }
    }

    /// Takes in what stands at a new message, once it is known how it is shown.
    pub(super) fn note_lines(&mut self, at: u64) -> Result<()> {
        let Some(mut lines) = self.lines.take() else { return Ok(()) };
        self.enter_lines(&mut lines, at)?;
        self.lines = Some(lines);
        Ok(())
    }

    fn enter_lines(&self, lines: &mut LinesIndex, at: u64) -> Result<()> {
        let Some(standing) = standing::standing(&self.state, at, self.state.treatment(at)) else {
            return Ok(());
        };
        let text: Arc<str> = match self.text(&standing.object, &standing.version) {
            Ok(text) => text,
            // Nobody is sent to what a person had forgotten.
            Err(Error::Forgotten { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        lines.enter(at, &text, &standing.ranges);
        Ok(())
    }
}
