//! What activating the output of a call shows: its text, the whole of one that the host cut, or why
//! it has none.

use std::sync::Arc;

use serde_json::Value;

use super::activation::Shown;
use super::selection::PartKept;
use crate::LiveSession;
use crate::journal::{FULL_OUTPUT, if_found};
use base::error::Result;
use base::harness::before_notice;
use base::object::{Hash, ObjectId, VersionSelector, quote};
use config::Layout;
use context::forms;
use context::log_layout::Texts;
use session::{Cut, LineRange, ResultFact};

impl LiveSession {
    /// The text of a call's output; a sentence if it has none. `known`: its tool and its latest
    /// version.
    pub(super) fn output_subject(
        &self,
        object: &ObjectId,
        (tool, known): (&str, Hash),
        version: VersionSelector,
        picks: bool,
    ) -> Result<Result<Shown, String>> {
        let handle = self.handle_of(object)?;
        let mut name = quote::name(tool).into_owned();
        if let Some((cut, version, text)) = self.whole_of(object, version, picks)? {
            let (object, default) = (object.clone(), cut.ranges());
            let (part, outline) = (None, None);
            return Ok(Ok(Shown { object, version, handle, name, text, part, default, outline }));
        }
        if version == VersionSelector::Latest {
            name.push_str(&self.fuller_version(object, &known)?);
        }
        let known = self.version_named(object, version, &known, &mut name)?;
        let Some(text) = if_found(self.journal.text(object, &known))? else {
            return Ok(Err(format!("[{handle}] {name} · {}", self.no_output(object)?)));
        };
        let images = self.journal.images(object, &known)?.len() as u64;
        if text.is_empty() && (images == 0 || !self.options.images_leave()) {
            let is_text = self.state().fact_of(object).is_some_and(|fact| fact.is_output);
            let why = match images {
                0 if is_text => "it is empty".to_owned(),
                0 => "it is of another type".to_owned(),
                images => forms::count(images, "image"),
            };
            return Ok(Err(format!("[{handle}] {name} · no text: {why}")));
        }
        let (text, part) = match self.part_of(object, version)? {
            Some(part) => (before_notice(&text).into(), Some(part)),
            None => (text, None),
        };
        let (object, default) = (object.clone(), Vec::new());
        Ok(Ok(Shown { object, version: known, handle, name, text, part, default, outline: None }))
    }

    /// The part of the latest version of an output that is shown, as the host cut it. In `pools`
    /// outputs stand as they came.
    fn cut_of(&self, object: &ObjectId, version: VersionSelector) -> Option<(&Cut, &ResultFact)> {
        let fact = self.state().fact_of(object).filter(|_| {
            version == VersionSelector::Latest && self.options.settings.layout == Layout::Log
        })?;
        Some((fact.cut.as_ref()?, fact))
    }

    /// The full text of an output that the host cut, its hash, and the part that was shown. `None`
    /// if the store does not hold it, or if the shown part is asked for and is not made of whole
    /// lines of it.
    fn whole_of(
        &self,
        object: &ObjectId,
        version: VersionSelector,
        picks: bool,
    ) -> Result<Option<(Cut, Hash, Arc<str>)>> {
        let Some((cut, fact)) = self.cut_of(object, version) else { return Ok(None) };
        // Images come only with the shown text as a whole.
        if !picks && (cut.ranges().is_empty() || fact.images > 0) {
            return Ok(None);
        }
        let Some(whole) = &cut.text else { return Ok(None) };
        let text = if_found(self.journal.text(object, whole))?;
        Ok(text.map(|text| (cut.clone(), whole.clone(), text)))
    }

    /// Which part of the whole the stored text is, if the host cut it and the store lacks the
    /// whole.
    fn part_of(&self, object: &ObjectId, version: VersionSelector) -> Result<Option<PartKept>> {
        let Some((cut, fact)) = self.cut_of(object, version) else { return Ok(None) };
        let fields = self.journal.latest_fields(object)?.unwrap_or_default();
        let missing = fields.get(FULL_OUTPUT).and_then(|told| told.get("no_content"));
        let why = match (&cut.text, missing.and_then(Value::as_str)) {
            // What is shown is asked for, and the store has the rest.
            (Some(whole), _) if self.journal.text(object, whole).is_ok() => return Ok(None),
            (Some(_), _) => "the rest is not in this store",
            (None, Some("too_large")) => "the rest is more than `maxOutputBytes` keeps",
            (None, Some("binary")) => "the rest is not text",
            (None, Some("differs")) => "the rest does not hold what was shown, and was not kept",
            (None, _) => "the rest was not kept by the host",
        };
        let lines = cut.lines - u64::from(cut.ends_line);
        let all = LineRange { first: 1, last: lines };
        let stored = fact.shown_lines().into_iter().filter_map(|range| range.intersect(all));
        Ok(Some(PartKept { numbering: cut.numbering(), stored: stored.collect(), lines, why }))
    }

    /// What the heading adds if another extension shortened an output after it came: the version
    /// that holds more. In a confined session the latest version is the one that it met.
    fn fuller_version(&self, object: &ObjectId, latest: &Hash) -> Result<String> {
        if self.state().is_confined() {
            return Ok(String::new());
        }
        let versions = self.journal.store.history(object)?;
        if versions.len() < 2 {
            return Ok(String::new());
        }
        let Ok(text) = self.journal.text(object, latest) else { return Ok(String::new()) };
        let length = text.len();
        let mut fullest = None;
        for version in versions {
            let text = self.journal.store.content(&version)?;
            let more = text.map_or(0, |text| text.len());
            if more > fullest.map_or(length, |(_, most)| most) {
                fullest = Some((version.tx_id, more));
            }
        }
        let handle = self.handle_of(object)?;
        Ok(fullest.map_or_else(String::new, |(tx_id, _)| forms::shortened_since(handle, tx_id)))
    }

    /// Why a call has no output to show.
    fn no_output(&self, object: &ObjectId) -> Result<&'static str> {
        let fields = self.journal.latest_fields(object)?.unwrap_or_default();
        Ok(match fields.get("no_content").and_then(Value::as_str) {
            Some("excluded") => {
                "its output is not stored: it is from a file that the setting `exclude` names"
            }
            Some("secret") => {
                "its output is not stored: it holds what looks like a secret, and may be from a \
                 file that the setting `exclude` names"
            }
            Some("forgotten") => "its output is not stored: a person had its text forgotten",
            Some("redacted") => {
                "its output was left out of an archive, as what looks like a secret"
            }
            _ => "the call has no output",
        })
    }
}
