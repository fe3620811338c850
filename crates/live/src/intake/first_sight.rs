//! How a result is shown when it comes in: collects what the decision needs, and records it.

use serde_json::Value;

use crate::LiveSession;
use base::error::Result;
use config::{Layout, Settings};
use context::epoch::Bound;
use context::first_sight::{self, FirstOutput, Previews};
use context::host::HostMessage;
use session::{Event, ResultFact, Treatment};

/// Tokens of a call that brings back missing text, and of its answer.
const ASKING_TOKENS: u64 = 60;

impl LiveSession {
    /// Decides how a result is shown. A result whose text changed never refers to others, since
    /// later results may refer to it.
    ///
    /// `args`: arguments of the call; `said`: what the model wrote alongside it.
    pub(super) fn treat_at_first_sight(
        &mut self,
        at: u64,
        fact: &ResultFact,
        args: &Value,
        said: &str,
        message: &HostMessage,
    ) -> Result<()> {
        if self.options.settings.layout != Layout::Log {
            return Ok(());
        }
        let (text, tokens) = (&*message.text(), message.text_tokens());
        let counter = self.options.counter;
        let output = FirstOutput { at, fact, text, tokens, counter, args, said };
        let known = self.state().chat().get(at);
        let is_new = known.is_some_and(|known| known.changes == 0);
        let standing = if is_new { self.standing_blocks(&output)? } else { Vec::new() };
        let previews = self.previews(&output);
        let treatment = first_sight::decide(self.state(), &output, &standing, previews);
        if treatment != Treatment::Given {
            self.journal.record(Event::Treated { at, treatment });
        }
        if is_new { self.note_lines(at) } else { Ok(()) }
    }

    /// Which outputs are shown as previews, given this one. Instructions never are.
    pub(super) fn previews(&self, output: &FirstOutput<'_>) -> Previews {
        let Settings { preview_tokens, preview_reads: reads, .. } = self.options.settings;
        let may =
            self.may_preview(output.tokens) && !self.shows_instructions(output.fact, output.args);
        Previews { tokens: if may { preview_tokens } else { 0 }, reads }
    }

    /// Whether the bill can bear a preview of an output of this size. Once the model needed
    /// something that was not in the window, the bill must also bear that the rest of this output
    /// is needed right away, in a call of its own.
    fn may_preview(&self, tokens: u64) -> bool {
        let bill = self.state().bill();
        let (Some(last), Some(note)) = (bill.last.as_ref(), bill.prices.as_ref()) else {
            return true;
        };
        let asking = note.prices.cost(last.bill.ours.total(), ASKING_TOKENS);
        // About half of a long output is shown, and then shown again.
        let again = note.prices.cost(0, tokens / 2);
        let reserve = if bill.has_missed() { asking + again } else { 0.0 };
        Bound::of(bill, &self.options.settings).affords(reserve)
    }
}
