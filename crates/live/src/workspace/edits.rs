//! What the model's edits do not explain: between what it knew of a file and its edit, somebody
//! else may have changed the file too.
//!
//! Must not tell the model about it.

use std::path::Path;
use std::sync::Arc;

use super::notes::with_edits;
use super::telling::saw_since;
use crate::LiveSession;
use crate::journal::Journal;
use base::error::Result;
use base::harness::Call;
use base::object::{Hash, ObjectId};
use config::Layout;
use context::log_layout::Texts;
use session::{Cause, Event, LineMap};
use source::{FileState, Location};

/// What the model knows of a file that it edits.
struct KnownText {
    /// The version that it was last told about, or saw as a whole since, and its text.
    told: (Hash, Arc<str>),
    /// That text with the edits that the model made since.
    text: Arc<str>,
}

impl LiveSession {
    /// Makes a version of a file that a call read or changed, see [`Self::index_reading`]. What
    /// somebody else changed besides an edit waits for the next note.
    pub(crate) fn index_touched(
        &mut self,
        (path, location): (&Path, &Location),
        cause: Cause,
        (id, call): (&str, Call<'_>),
    ) -> Result<Option<(ObjectId, Hash)>> {
        let known = match cause {
            Cause::Edited => self.known_before(&location.id()?),
            _ => None,
        };
        let reading = self.disk.read_at(path, location);
        let wrote = self.index_written(location, cause, &reading.state, (id, call))?;
        let indexed = self.index_reading(location, reading, cause, Some(id))?;
        if let (Some((told, others)), Some((file, made))) = (wrote, &indexed) {
            let (object, version) = (file.clone(), made.clone());
            self.journal.record(Event::ChangedBeside { object, told, version, others });
        }
        if let (Some(known), Some((file, made))) = (known, &indexed) {
            known.compare(&mut self.journal, (file, made), call);
        }
        Ok(indexed)
    }

    /// Makes a version of the text that a call wrote, where the file has other lines by now, as a
    /// formatter leaves them: that version, and what changed since.
    fn index_written(
        &mut self,
        location: &Location,
        cause: Cause,
        state: &FileState,
        (id, call): (&str, Call<'_>),
    ) -> Result<Option<(Hash, LineMap)>> {
        let (Cause::Written, Some(text), FileState::Text { text: now, .. }) =
            (cause, call.content(), state)
        else {
            return Ok(None);
        };
        let file = location.id()?;
        let before = self.state().version(&file);
        let before = before.and_then(|version| self.journal.text(&file, version).ok());
        // Where the file is as before, another extension's tool wrote elsewhere, as into a sandbox.
        if lines_of(text).eq(lines_of(now)) || before.is_some_and(|before| *before == **now) {
            return Ok(None);
        }
        let indexed = self.index_reported_change(location, cause, id, call)?;
        Ok(indexed.map(|(_, version)| (version, LineMap::between(text, now))))
    }

    /// `None` if no note would tell of a change: `pools` shows files as they are.
    fn known_before(&self, file: &ObjectId) -> Option<KnownText> {
        if self.options.settings.layout == Layout::Pools || !self.stands(file) {
            return None;
        }
        let state = self.state();
        let seen = state.version(file).filter(|_| saw_since(state, file));
        let version = seen.or_else(|| state.files().announced(file))?.clone();
        let told = self.journal.text(file, &version).ok()?;
        let text = with_edits(&self.journal, file, (&version, Arc::clone(&told)));
        Some(KnownText { told: (version, told), text })
    }
}

impl KnownText {
    /// Records what the edit that made a version does not explain.
    fn compare(self, journal: &mut Journal, (file, made): (&ObjectId, &Hash), call: Call<'_>) {
        let Ok(now) = journal.text(file, made) else { return };
        let own = edited(&self.text, call).or_else(|| explained(&self.text, &now, call));
        let Some(own) = own else { return };
        // An edit whose result comes in once more was made before.
        if *own == *now || *self.text == *now {
            return;
        }
        let (version, told) = self.told;
        let others = LineMap::between(&told, &own).beside(&LineMap::between(&own, &now));
        // Where both changed the same lines, the note has them as they are.
        let others = others.unwrap_or_else(|| LineMap::between(&told, &now));
        let (object, made) = (file.clone(), made.clone());
        journal.record(Event::ChangedBeside { object, told: version, version: made, others });
    }
}

/// A text with those of its changes whose lines a call names: what an edit made that finds its place
/// loosely, and a patch. `None` if it names the lines of none, or gives the whole text.
fn explained(text: &str, now: &str, call: Call<'_>) -> Option<String> {
    if call.content().is_some() {
        return None;
    }
    let changes = LineMap::between(text, now);
    let named = call.named_lines();
    let others = changes.without((text, now), |line| named.contains(line.trim()));
    (others != changes).then(|| others.undone(text, now))
}

/// The lines of a text, whatever ends them and marks its beginning.
fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.trim_start_matches('\u{feff}').lines()
}

/// A text after an edit; `None` if it does not have what the edit replaces, or has it several
/// times.
fn edited(text: &str, call: Call<'_>) -> Option<String> {
    let has_returns = text.contains("\r\n");
    // Tools find lines whatever ends them.
    let ended = |part: &str| {
        let plain = part.replace("\r\n", "\n");
        if has_returns { plain.replace('\n', "\r\n") } else { plain }
    };
    let replacements = call.replacements();
    let is_none = replacements.is_empty();
    let mut edited = text.to_owned();
    for (old, new) in replacements {
        let (old, new) = (ended(old), ended(new));
        let times = if old.is_empty() { 0 } else { edited.matches(&*old).count() };
        if times == 0 || (times > 1 && !call.replaces_all()) {
            return None;
        }
        edited = edited.replace(&*old, &new);
    }
    (!is_none).then_some(edited)
}
