//! Why an object that should be activated has no text, in one line.
//!
//! Must look at files only through `disk`, and not decide how an object with text is shown.

use serde_json::Value;

use crate::LiveSession;
use base::error::Result;
use base::object::{Handle, Hash, ObjectId, quote};
use config::Layout;
use context::forms;
use source::Location;
use store::Version;

/// Why a file that is excluded has no text.
const EXCLUDED: &str = "the file is excluded: the setting `exclude` names it";

impl LiveSession {
    /// The version to show of a file that has no text now: its last one with text, if the file was
    /// deleted. Otherwise why it has none, in words.
    ///
    /// `obstacle`: what prevented a look at the file, if anything did.
    pub(super) fn last_text_of(
        &self,
        object: &ObjectId,
        handle: Handle,
        location: Option<&Location>,
        obstacle: Option<String>,
    ) -> Result<Result<Hash, String>> {
        if location.is_some_and(|location| self.disk.is_excluded_at(location)) {
            return Ok(Err(EXCLUDED.to_owned()));
        }
        let fields = self.journal.latest_fields(object)?.unwrap_or_default();
        let size = fields.get("size_bytes").and_then(Value::as_u64).unwrap_or_default();
        let size = forms::count(size, "byte");
        let reason = fields.get("no_content").and_then(Value::as_str);
        let why = match (obstacle, reason) {
            (Some(obstacle), _) => obstacle,
            (None, Some("binary")) => format!("it is binary, {size}"),
            (None, Some("too_large")) => {
                let limit = forms::count(self.options.settings.max_text_bytes, "byte");
                format!("its {size} are more than the setting `maxTextBytes` allows, {limit}")
            }
            (None, Some("deleted")) => match self.last_with_text(object)? {
                Some(last) => return Ok(Ok(last.content_hash)),
                None => return Ok(Err("it is no longer on disk and had none before".to_owned())),
            },
            (None, Some("partial")) => {
                let lines = fields.get("shown_lines").and_then(Value::as_str).unwrap_or_default();
                format!("of it lines {lines} are known")
            }
            (None, Some("excluded")) => EXCLUDED.to_owned(),
            (None, _) => "it was not read".to_owned(),
        };
        // In `pools` only the latest version can be active.
        let last = if self.options.settings.layout == Layout::Log {
            self.last_with_text(object)?
        } else {
            None
        };
        let offer = last.map_or_else(String::new, |last| {
            format!("; {handle}@{} holds its last text", last.tx_id)
        });
        Ok(Err(why + &offer))
    }

    /// The answer to a name that is not an object but a path at which no file can be read: `src · no
    /// text: it is a folder`.
    pub(super) fn no_file(&self, given: &str) -> Option<String> {
        let obstacle = self.disk.obstacle_given(given)?;
        Some(format!("{} · no text: {obstacle}", quote::name(given)))
    }

    /// The newest version that has text.
    fn last_with_text(&self, object: &ObjectId) -> Result<Option<Version>> {
        let versions = self.journal.store.history(object)?;
        let met = self.versions_met(object);
        let may =
            |version: &Version| !self.state().is_confined() || met.contains(&version.content_hash);
        Ok(versions.into_iter().find(|version| version.content.is_some() && may(version)))
    }
}
