//! Results that the host sends itself while a turn runs. How each is shown is decided before its
//! message comes in, after the full text is staged; a result that comes back in the decided form is
//! treated as the full text again.

use super::Ingest;
use crate::journal::Journal;
use base::error::{Error, Result};
use base::object::Hash;
use config::Layout;
use context::content::{Images, with_text};
use context::first_sight::{self, FirstOutput, Previews};
use context::host::{HostCall, HostMessage};
use context::log_layout::{Texts, excerpt_text, reread_text};
use session::{Event, Part, ShownResult, Shows, Treatment};

impl Ingest<'_> {
    /// Stages the full text of a result that is not in the list yet, and returns the content that
    /// the host should show; `None`: unchanged.
    pub(crate) fn show(&mut self, message: &HostMessage) -> Result<Option<String>> {
        let id = message.key.calls.first().map(String::as_str).unwrap_or_default();
        let Some(place) = self.intake.pending_for(message) else { return Ok(None) };
        let pending = self.intake.pending[place].clone();
        let before = self.intake.pending[..place].iter();
        let place = before.filter(|before| before.answer == pending.answer).count();
        if self.journal.state().is_own_tool(&pending.call.tool) || message.withheld.is_some() {
            return Ok(None);
        }
        let at = self.journal.state().chat().len() + place as u64;
        let ingested = self.examine(pending, message, at)?;
        let toolcall = ingested.fact.object.clone().zip(ingested.version.clone());
        let Some((object, version)) = toolcall else { return Ok(None) };
        let (text, tokens) = (message.text(), message.text_tokens());
        let args = &ingested.call.call.args;
        let (fact, counter, said) = (&ingested.fact, self.options.counter, &*ingested.call.said);
        let output = FirstOutput { at, fact, text: &text, tokens, counter, args, said };
        let treatment = self.in_part(&output)?;
        let state = self.journal.state();
        let part = match &treatment {
            Treatment::Excerpt { pieces } => Some(excerpt_text(state, fact, &text, pieces)?),
            Treatment::Reread { parts } => Some(reread_text(state, fact, &text, parts)?),
            _ => None,
        };
        let file = match &fact.shows {
            Shows::File { object, version, .. }
                if matches!(treatment, Treatment::Reread { .. }) =>
            {
                Some((object.clone(), version.clone()))
            }
            _ => None,
        };
        let content = part.as_ref().map(|part| with_text(message.content(), part, Images::Stay));
        let (call, cut, whole) = (id.to_owned(), fact.cut.clone(), Hash::of(&*text));
        let shown = part.map_or_else(|| whole.clone(), Hash::of);
        let known = ShownResult { call, at, object, version, whole, shown, cut, file, treatment };
        self.journal.record(Event::Shown(known));
        Ok(content)
    }

    /// Long outputs are previewed, and a whole file that stands already is a line. Nothing else
    /// refers to other messages, because the host keeps the wording after those have left.
    fn in_part(&self, output: &FirstOutput<'_>) -> Result<Treatment> {
        if self.options.settings.layout != Layout::Log {
            return Ok(Treatment::Given);
        }
        let previews = Previews { reads: false, ..self.previews(output) };
        let treatment = first_sight::decide(self.journal.state(), output, &[], previews);
        let may = match &treatment {
            Treatment::Excerpt { .. } => true,
            Treatment::Reread { parts } => self.stands_in_full(output, parts)?,
            _ => false,
        };
        Ok(if may { treatment } else { Treatment::Given })
    }

    /// Whether a result is the whole text of a file, and stands where the host has it, too.
    fn stands_in_full(&self, output: &FirstOutput<'_>, parts: &[Part]) -> Result<bool> {
        let state = self.journal.state();
        let is_given = |part: &Part| {
            let result = part.stands_at.filter(|at| state.result(*at).is_some());
            result.is_some_and(|at| *state.treatment(at) == Treatment::Given)
        };
        match &output.fact.shows {
            Shows::File { object, version, .. } if parts.iter().all(is_given) => {
                Ok(*self.journal.text(object, version)? == *output.text)
            }
            _ => Ok(false),
        }
    }

    /// How the host was told to show a result before its message came in.
    pub(super) fn shown_before(
        &self,
        call: &HostCall,
        message: &HostMessage,
        at: u64,
    ) -> Option<ShownResult> {
        let state = self.journal.state();
        if !state.shows_itself(&call.id) {
            return None;
        }
        state.shown_of(&call.id, &Hash::of(&*message.text()), at).cloned()
    }

    /// Records how a new result is shown that the host sends itself.
    pub(super) fn treat_as_shown(&mut self, at: u64, treatment: &Treatment) -> Result<()> {
        if *treatment != Treatment::Given && self.options.settings.layout == Layout::Log {
            self.journal.record(Event::Treated { at, treatment: treatment.clone() });
        }
        self.note_lines(at)
    }
}

/// Restores the full text of results that the host shows in the form that it was told.
pub(crate) fn restore_wholes(journal: &Journal, messages: &mut [HostMessage]) -> Result<()> {
    let state = journal.state();
    for message in messages.iter_mut().filter(|message| message.key.role == "toolResult") {
        let Some(call) = message.key.calls.first().filter(|call| state.shows_itself(call)) else {
            continue;
        };
        let shown = state.shown_as(call, &Hash::of(&*message.text()));
        let Some(shown) = shown.filter(|shown| shown.treatment != Treatment::Given) else {
            continue;
        };
        let (object, version) = match &shown.file {
            Some((file, version)) => (file, version),
            None => (&shown.object, &shown.version),
        };
        match journal.text(object, version) {
            Ok(whole) => {
                let content = with_text(message.content(), &whole, Images::Stay);
                *message = HostMessage::parse(&message.with_content(&content), message.counter);
            }
            // Forgotten text is not stored again; the shown wording stays.
            Err(Error::Forgotten { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
