//! What a confined session may name: objects that it met itself, in the versions that it met, and
//! files only if the model saw text of them. Everything else in the store is somebody else's, and a
//! file that was merely named is the host's to show.

use super::names::unknown;
use crate::LiveSession;
use base::error::Result;
use base::object::{Hash, Name, ObjectId, VersionSelector};
use session::Subject;

impl LiveSession {
    /// The object of a name: by handle, ID, path, prefix of its ID, or turns. Nicknames are
    /// ignored, because they may come from any session.
    ///
    /// # Errors
    /// As [`Self::find_object`].
    pub(crate) fn find_met(&self, name: &Name) -> Result<ObjectId> {
        let state = self.state();
        let index = state.index();
        let exact = ObjectId::new(&*name.text);
        let is_known = |id: &ObjectId| index.get(id).is_some();
        let current = |id: ObjectId| state.files().current(&id).clone();
        let found = match name.handle() {
            Some(handle) => index.by_handle(handle).map(|entry| entry.id.clone()),
            None if is_known(&exact) => Some(exact),
            None => match self.file_at(name)?.map(current).filter(is_known) {
                None => self.by_prefix(name)?.or_else(|| self.turns_named(name)),
                file => file,
            },
        };
        let object = found.filter(|id| self.is_met(id)).ok_or_else(|| unknown(name))?;
        if name.version != VersionSelector::Latest {
            self.require_met(&object, name)?;
        }
        Ok(object)
    }

    /// Whether the session met an object; for a file, whether the model saw text of it.
    pub(super) fn is_met(&self, object: &ObjectId) -> bool {
        let state = self.state();
        match state.subject(object) {
            Some(Subject::File { .. }) => state.files().seen(object).is_some(),
            known => known.is_some(),
        }
    }

    /// The versions of an object that the session met, oldest first.
    pub(crate) fn versions_met(&self, object: &ObjectId) -> Vec<Hash> {
        let state = self.state();
        match state.subject(object) {
            Some(Subject::File { .. }) => state.files().versions(object).cloned().collect(),
            Some(known) => vec![known.version().clone()],
            None => Vec::new(),
        }
    }

    fn require_met(&self, object: &ObjectId, name: &Name) -> Result<()> {
        let version = self.journal.store.select(object, name.version)?;
        let is_met = self.versions_met(object).contains(&version.content_hash);
        if is_met { Ok(()) } else { Err(unknown(name)) }
    }
}
