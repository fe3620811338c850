//! Versions of objects as the session sees them: a staged version takes precedence over a stored
//! one, and a moved file owns the versions of its earlier objects.

use serde_json::{Map, Value, json};

use super::Journal;
use super::staged::StagedObject;
use base::error::{Error, Result};
use base::object::{AsOf, Hash, ObjectId, RedactionReason, Source, metadata_view};
use context::forms;
use source::LatestFile;
use store::{Store, Version};

/// Name of the text that describes an object in a few words.
const SHORT_SUMMARY: &str = "short_summary";

/// The fields that every reference line shows anyway, directly or by its handle.
const IN_EVERY_LINE: [&str; 5] = ["id", "type", "path", "tool", "status"];

impl Journal {
    /// The latest staged version of an object.
    pub(super) fn staged(&self, id: &ObjectId) -> Option<&StagedObject> {
        self.staged.objects.of(id).next()
    }

    /// The latest version of an object, staged or stored.
    pub(crate) fn latest(&self, id: &ObjectId) -> Result<Option<LatestFile>> {
        match self.staged(id) {
            Some(staged) => Ok(Some(known(staged))),
            None => Ok(self.store.get(id, AsOf::Latest)?.map(LatestFile::from)),
        }
    }

    /// Fields of an object's latest version, staged or stored.
    pub(crate) fn latest_fields(&self, id: &ObjectId) -> Result<Option<Map<String, Value>>> {
        Ok(self.latest(id)?.map(|latest| latest.fields))
    }

    /// The source of an object, staged or stored.
    pub(crate) fn source_of(&self, id: &ObjectId) -> Result<Option<Source>> {
        match self.staged(id) {
            Some(staged) => Ok(staged.envelope.source.clone()),
            None => Ok(self.store.get(id, AsOf::Latest)?.and_then(|known| known.envelope.source)),
        }
    }

    /// What the reference line of an object adds: its nickname, and the fields that its own `view`
    /// names, or its short summary where it has no view.
    pub(crate) fn label(&self, id: &ObjectId) -> Result<String> {
        if self.state.is_confined() {
            // Others' sessions may have given it both.
            return Ok(String::new());
        }
        let nickname = self.store.nicknames(id)?.into_iter().next();
        let (envelope, fields, stored) = match self.staged(id) {
            Some(staged) => (staged.envelope.clone(), staged.payload.fields.clone(), None),
            None => match self.store.get(id, AsOf::Latest)? {
                Some(version) => (version.envelope.clone(), version.fields.clone(), Some(version)),
                None => return Ok(String::new()),
            },
        };
        let additional = |name: &str| match (&stored, self.staged(id)) {
            (Some(version), _) => self.store.additional(version, name),
            (None, staged) => {
                Ok(staged.and_then(|staged| staged.payload.additional.get(name)).cloned())
            }
        };
        let mut fields = fields;
        if fields.get("view").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            fields.insert("view".to_owned(), json!([SHORT_SUMMARY]));
        }
        let mut view = metadata_view(&envelope, &fields, None, additional)?;
        view.retain(|(name, _)| !IN_EVERY_LINE.contains(&name.as_str()));
        Ok(forms::label(nickname.as_ref(), &view))
    }

    /// A version that the session knows of an object, staged or stored.
    pub(crate) fn known_version(
        &self,
        object: &ObjectId,
        version: &Hash,
    ) -> Result<Option<LatestFile>> {
        if let Some(staged) = self.staged.objects.version(object, version) {
            return Ok(Some(known(staged)));
        }
        Ok(if_found(self.owned_version(object, version))?.map(LatestFile::from))
    }

    /// Why a version that the session knows of an object has no content, if so: `deleted`, `not_read`.
    pub(crate) fn no_content(&self, object: &ObjectId, version: &Hash) -> Option<String> {
        if let Some(reason) = self.reasons.borrow().get(version) {
            return Some(reason.clone());
        }
        let known = self.known_version(object, version).ok()??;
        let reason = known.fields.get("no_content")?.as_str()?;
        self.reasons.borrow_mut().insert(version.clone(), reason.to_owned());
        Some(reason.to_owned())
    }

    /// The full text of an output that the host cut, by the object of its call and the SHA-256 of
    /// the text. `None` if no version of the call holds it.
    pub(super) fn full_output(&self, object: &ObjectId, text: &Hash) -> Result<Option<String>> {
        let staged =
            self.staged(object).and_then(|staged| staged.payload.additional.get(FULL_OUTPUT));
        if let Some(whole) = staged.filter(|whole| Hash::of(whole) == *text) {
            return Ok(Some(whole.clone()));
        }
        let versions = self.store.history(object)?;
        let holds = |version: &&Version| version.additional.get(FULL_OUTPUT) == Some(text);
        match versions.iter().find(holds) {
            Some(version) => self.store.additional(version, FULL_OUTPUT),
            None if versions.iter().any(is_forgotten) => {
                Err(Error::Forgotten { id: object.clone() })
            }
            None => Ok(None),
        }
    }

    /// A stored version of an object, or of one that it was before it was moved.
    pub(super) fn owned_version(&self, object: &ObjectId, version: &Hash) -> Result<Version> {
        let mut found = stored_version(&self.store, object, version);
        for origin in self.state.files().origins(object).iter().rev() {
            if !matches!(found, Err(Error::NotFound { .. })) {
                break;
            }
            found = stored_version(&self.store, origin, version);
        }
        found
    }

    /// The object that owns a version of a file: the file's own, or one that it was before it was
    /// moved.
    pub(crate) fn owner_of(&self, object: &ObjectId, version: &Hash) -> Result<ObjectId> {
        for owner in std::iter::once(object).chain(self.state.files().origins(object)) {
            if self.staged.objects.version(owner, version).is_some() {
                return Ok(owner.clone());
            }
        }
        let found = if_found(self.owned_version(object, version))?;
        Ok(found.map_or_else(|| object.clone(), |found| found.envelope.id))
    }

    /// Whether an object is forgotten.
    pub(crate) fn is_forgotten(&self, id: &ObjectId) -> Result<bool> {
        Ok(self.forgotten.contains(id) || self.store.is_forgotten(id)?)
    }

    /// Whether the store refused an object in this session because it is forgotten. Does not ask
    /// the store.
    pub(crate) fn was_refused(&self, id: &ObjectId) -> bool {
        self.forgotten.contains(id)
    }

    /// Whether the store refused any object.
    pub(crate) fn has_refused(&self) -> bool {
        !self.forgotten.is_empty()
    }

    /// Records that the store refused an object, so that the work done anew leaves it out. Where
    /// another call had the provider's ID, the object has an ID of its own, which would differ the
    /// next time: the provider's counts as well.
    pub(crate) fn refuse(&mut self, id: ObjectId) {
        self.forgotten.extend(self.provider_id(&id));
        self.forgotten.insert(id);
    }

    /// The provider's ID of the call that has this object.
    fn provider_id(&self, object: &ObjectId) -> Option<ObjectId> {
        let is_it = |at: u64| self.state.result(at)?.object.as_ref().filter(|id| *id == object);
        let (_, message) = self.state.window().rev().find(|(at, _)| is_it(*at).is_some())?;
        message.key.calls.first().map(|id| ObjectId::new(&**id))
    }
}

fn known(staged: &StagedObject) -> LatestFile {
    LatestFile::staged(&staged.payload, staged.version.clone())
}

/// The version of an object with this `content_hash`, from the store.
pub(crate) fn stored_version(store: &Store, object: &ObjectId, version: &Hash) -> Result<Version> {
    let found = store.find_version(object, version)?;
    found.ok_or_else(|| no_text(object, version))
}

/// Name of a toolcall's additional content that holds the full text of an output that the host cut.
pub(crate) const FULL_OUTPUT: &str = "full_output";

/// Name of a toolcall's additional content that holds one of its images, by its number, from 1.
pub(crate) fn image_name(number: usize) -> String {
    format!("image_{number}")
}

/// What was looked up, if it was there. An export may have left it out, or it was forgotten.
pub(crate) fn if_found<T>(looked_up: Result<T>) -> Result<Option<T>> {
    match looked_up {
        Ok(found) => Ok(Some(found)),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The error for a version that has no text.
pub(crate) fn no_text(object: &ObjectId, version: &Hash) -> Error {
    Error::NotFound { id: object.clone(), at: format!("with text and content hash `{version}`") }
}

/// Whether a version is the remainder of a forgotten object.
pub(crate) fn is_forgotten(version: &Version) -> bool {
    let reason = version.redacted.as_ref().map(|redaction| redaction.reason);
    reason == Some(RedactionReason::Forgotten)
}
