//! Results that the host sends itself while a turn runs. How each is shown is decided before its
//! message comes in, after the full text is staged; a result that comes back in the decided form is
//! treated as the full text again.

use std::sync::Arc;

use crate::LiveSession;
use crate::journal::{ContentFrom, Journal};
use base::error::{Error, Result};
use base::object::{Hash, render_slice};
use config::Layout;
use context::content::{Images, with_text};
use context::first_sight::{self, FirstOutput, Previews, as_parts};
use context::host::{HostMessage, HostToolCall};
use context::log_layout::{Texts, excerpt_text, reread_text};
use session::{Event, ShownResult, Treatment};

impl LiveSession {
    /// Stages the full text of a result that is not in the list yet, and returns the content that
    /// the host should show; `None`: unchanged.
    pub(crate) fn shown_content(&mut self, message: &HostMessage) -> Result<Option<String>> {
        let id = message.key.calls.first().map(String::as_str).unwrap_or_default();
        let Some(place) = self.intake.pending_for(message) else { return Ok(None) };
        let pending = self.intake.pending[place].clone();
        let before = self.intake.pending[..place].iter();
        let place = before.filter(|before| before.answer == pending.answer).count();
        if self.state().is_own_tool(&pending.call.tool) || message.withheld.is_some() {
            return Ok(None);
        }
        let at = self.state().chat().len() + place as u64;
        let ingested = self.examine(pending, message, at)?;
        let toolcall = ingested.fact.object.clone().zip(ingested.version.clone());
        let Some((object, version)) = toolcall else { return Ok(None) };
        let (text, tokens) = (message.text(), message.text_tokens());
        let args = &ingested.call.call.args;
        let (fact, counter, said) = (&ingested.fact, self.options.counter, &*ingested.call.said);
        let output = FirstOutput { at, fact, text: &text, tokens, counter, args, said };
        let treatment = self.in_part(&output)?;
        let state = self.state();
        let part = match &treatment {
            Treatment::Excerpt { pieces } => Some(excerpt_text(state, fact, &text, pieces)?),
            Treatment::Reread { parts } => Some(reread_text(state, fact, &text, parts)?),
            _ => None,
        };
        let is_reread = matches!(treatment, Treatment::Reread { .. });
        let of_file = ingested.from.as_ref().filter(|_| is_reread).and_then(ContentFrom::of_file);
        let (file, slice) = of_file.unzip();
        let content = part.as_ref().map(|part| with_text(message.content(), part, Images::Stay));
        let (call, cut, whole) = (id.to_owned(), fact.cut.clone(), Hash::of(&*text));
        let shown = part.map_or_else(|| whole.clone(), Hash::of);
        let known =
            ShownResult { call, at, object, version, whole, shown, cut, file, slice, treatment };
        self.journal.record(Event::Shown(known));
        Ok(content)
    }

    /// Long outputs are previewed, and what stands in a result as the tool gave it is a line: the
    /// host keeps the wording, and has that result as it was.
    fn in_part(&mut self, output: &FirstOutput<'_>) -> Result<Treatment> {
        if self.options.settings.layout != Layout::Log {
            return Ok(Treatment::Given);
        }
        let mut standing = self.standing_blocks(output)?;
        standing.retain(|block| self.is_as_given(block.at));
        let previews = Previews { reads: false, ..self.previews(output) };
        Ok(match first_sight::decide(self.state(), output, &standing, previews) {
            excerpt @ Treatment::Excerpt { .. } => excerpt,
            Treatment::Reread { mut parts } => {
                for part in &mut parts {
                    part.stands_at = part.stands_at.filter(|at| self.is_as_given(*at));
                }
                as_parts(parts)
            }
            _ => Treatment::Given,
        })
    }

    /// Whether a result stands as the tool gave it, in the host's list as well.
    fn is_as_given(&self, at: u64) -> bool {
        let state = self.state();
        let is_given = *state.treatment(at) == Treatment::Given && !state.is_shown_in_part(at);
        is_given && state.result(at).is_some()
    }

    /// How the host was told to show a result before its message came in.
    pub(super) fn shown_before(
        &self,
        call: &HostToolCall,
        message: &HostMessage,
        at: u64,
    ) -> Option<ShownResult> {
        let state = self.state();
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

/// The full text of a result.
fn whole_of(journal: &Journal, shown: &ShownResult) -> Result<Arc<str>> {
    let Some((file, version)) = &shown.file else {
        return journal.text(&shown.object, &shown.version);
    };
    let text = journal.text(file, version)?;
    let Some(slice) = &shown.slice else { return Ok(text) };
    let lines = render_slice(&text, slice).ok_or_else(|| Error::internal("lines past the end"))?;
    Ok(lines.into())
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
        match whole_of(journal, shown) {
            Ok(whole) => {
                let content = with_text(message.content(), &whole, Images::Stay);
                *message = HostMessage::parse(message.with_content(&content), message.counter);
            }
            // Forgotten text is not stored again; the shown wording stays.
            Err(Error::Forgotten { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
