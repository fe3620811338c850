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
#[derive(Debug, Default)]
pub(super) struct StandingLines {
    /// `None` until it is asked for.
    index: Option<LinesIndex>,
    /// [`Journal::rewrites`] when it was made: with another number it no longer holds.
    made_at: u64,
}

impl LiveSession {
    /// The blocks of a new result that stand in the window already.
    pub(super) fn standing_blocks(&mut self, output: &FirstOutput<'_>) -> Result<Vec<LineBlock>> {
        let Some(min_lines) = first_sight::block_lines(self.state(), output) else {
            return Ok(Vec::new());
        };
        let index = if let Some(index) = self.valid_index() {
            index
        } else {
            let mut index = LinesIndex::default();
            let window = self.state().shown_window();
            for (at, _) in window.filter(|(at, _)| *at < output.at) {
                enter_lines(&self.journal, &mut index, at)?;
            }
            index
        };
        let mut blocks = index.blocks(output.text, min_lines, output.counter);
        blocks.retain(|block| has_latest_numbers(self.state(), block.at));
        self.keep_index(index);
        Ok(first_sight::without_failures(output, min_lines, blocks))
    }

    /// Adds the lines of a new message, once it is decided how it is shown.
    pub(super) fn note_lines(&mut self, at: u64) -> Result<()> {
        let Some(mut index) = self.valid_index() else { return Ok(()) };
        enter_lines(&self.journal, &mut index, at)?;
        self.keep_index(index);
        Ok(())
    }

    /// Takes the index out, if there is a valid one.
    fn valid_index(&mut self) -> Option<LinesIndex> {
        let index = self.intake.lines.index.take();
        index.filter(|_| self.intake.lines.made_at == self.journal.rewrites)
    }

    fn keep_index(&mut self, index: LinesIndex) {
        let made_at = self.journal.rewrites;
        self.intake.lines = StandingLines { index: Some(index), made_at };
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
