//! The lines that stand in the window, for comparing new results: extended while they only grow,
//! else computed anew.

use std::sync::Arc;

use crate::LiveSession;
use crate::journal::Journal;
use base::error::{Error, Result};
use context::first_sight::{self, FirstOutput};
use context::lines_index::{LineBlock, LinesIndex};
use context::log_layout::Texts;
use context::standing;
use session::{Session, Subject};

/// An index of the lines that stand in the window.
#[derive(Debug)]
pub(super) struct StandingLines {
    index: LinesIndex,
    /// [`Journal::rewrites`] when it was made: with another number it no longer holds.
    made_at: u64,
}

impl LiveSession {
    /// The blocks of a new result that stand in the window already.
    pub(super) fn standing_blocks(&mut self, output: &FirstOutput<'_>) -> Result<Vec<LineBlock>> {
        let Some(min_lines) = first_sight::block_lines(self.state(), output) else {
            return Ok(Vec::new());
        };
        let made_at = self.journal.rewrites;
        let known = self.intake.lines.take().filter(|lines| lines.made_at == made_at);
        let index = match known {
            Some(lines) => lines.index,
            None => self.index_before(output.at)?,
        };
        let mut blocks = index.blocks(output.text, min_lines, output.counter);
        blocks.retain(|block| has_latest_numbers(self.state(), block.at));
        self.intake.lines = Some(StandingLines { index, made_at });
        Ok(first_sight::without_failures(output, min_lines, blocks))
    }

    fn index_before(&self, position: u64) -> Result<LinesIndex> {
        let mut index = LinesIndex::default();
        for (at, _) in self.state().shown_window().filter(|(at, _)| *at < position) {
            enter_lines(&self.journal, &mut index, at)?;
        }
        Ok(index)
    }

    /// Adds the lines of a new message, once it is decided how it is shown.
    pub(super) fn note_lines(&mut self, at: u64) -> Result<()> {
        match &mut self.intake.lines {
            Some(lines) if lines.made_at == self.journal.rewrites => {
                enter_lines(&self.journal, &mut lines.index, at)
            }
            _ => Ok(()),
        }
    }
}

/// Whether the lines of what a message shows have the same numbers in its latest version.
fn has_latest_numbers(state: &Session, at: u64) -> bool {
    let Some(showing) = state.showing_as(at, state.treatment(at)) else { return true };
    match state.subject(&showing.object) {
        Some(Subject::File { version, .. }) => *version == showing.version,
        _ => true,
    }
}

fn enter_lines(journal: &Journal, lines: &mut LinesIndex, at: u64) -> Result<()> {
    let state = journal.state();
    let Some(standing) = standing::standing(state, at, state.treatment(at)) else { return Ok(()) };
    let text: Arc<str> = match journal.text(&standing.object, &standing.version) {
        Ok(text) => text,
        // The model is never sent to forgotten text.
        Err(Error::Forgotten { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    lines.enter(at, &text, &standing.ranges);
    Ok(())
}
