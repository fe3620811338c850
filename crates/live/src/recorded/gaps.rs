//! Texts of stored objects for a call that is rendered again, and the parts that the store does not
//! hold. Must not decide what is shown instead of anything else.

use std::cell::RefCell;
use std::sync::Arc;

use crate::journal::{image_name, no_text, refers_to_chat, stored_version, stored_words};
use base::error::Result;
use base::object::{Hash, ObjectId};
use context::log_layout::Texts;
use context::segment::Words;
use session::WithheldReason;
use store::{Store, Version};

/// Text of an object that the store does not hold, or holds only in changed form.
pub(super) struct Gap {
    pub(super) object: ObjectId,
    pub(super) reason: WithheldReason,
    /// Whether nothing replaces it.
    pub(super) is_empty: bool,
}

impl Gap {
    /// The line that is shown if nothing else replaces it.
    pub(super) fn line(&self) -> String {
        format!("[withheld: {}, object {}]", self.reason.as_str(), self.object)
    }
}

/// Reads texts from the store and remembers the last one that is missing or changed.
pub(super) struct StoredTexts<'a> {
    store: &'a Store,
    pub(super) gap: RefCell<Option<Gap>>,
}

impl<'a> StoredTexts<'a> {
    pub(super) fn new(store: &'a Store) -> Self {
        Self { store, gap: RefCell::default() }
    }

    /// The words of a segment, from whose messages something may have been removed.
    fn words(&self, segment: &Version) -> Result<Words> {
        let (words, is_redacted) = stored_words(self.store, segment)?;
        if is_redacted {
            let (object, reason) = (segment.envelope.id.clone(), WithheldReason::Redacted);
            self.gap.replace(Some(Gap { object, reason, is_empty: false }));
        }
        Ok(words)
    }

    /// What a version of an object holds; for one that something was removed from, what is left, or
    /// `nothing`.
    fn kept(
        &self,
        object: &ObjectId,
        found: &Version,
        kept: Option<String>,
        nothing: &str,
    ) -> Result<String> {
        let Some(redaction) = &found.redacted else {
            return kept.ok_or_else(|| no_text(object, &found.content_hash));
        };
        let (object, reason) = (object.clone(), redaction.reason.into());
        self.gap.replace(Some(Gap { object, reason, is_empty: kept.is_none() }));
        Ok(kept.unwrap_or_else(|| nothing.to_owned()))
    }
}

impl Texts for StoredTexts<'_> {
    fn text(&self, object: &ObjectId, version: &Hash) -> Result<Arc<str>> {
        let found = stored_version(self.store, object, version)?;
        if refers_to_chat(&found) {
            return Ok(self.words(&found)?.text.into());
        }
        let text = self.store.content(&found)?;
        self.kept(object, &found, text, "").map(Arc::from)
    }

    fn image(&self, object: &ObjectId, version: &Hash, number: usize) -> Result<String> {
        let found = stored_version(self.store, object, version)?;
        if refers_to_chat(&found) {
            let image = self.words(&found)?.images.into_iter().nth(number.saturating_sub(1));
            return image.ok_or_else(|| no_text(object, version));
        }
        let image = self.store.additional(&found, &image_name(number))?;
        self.kept(object, &found, image, "null")
    }
}
