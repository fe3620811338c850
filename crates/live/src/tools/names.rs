//! Finds the object of a name that the model or the user gives: first in the session index, then in
//! the store.

use crate::LiveSession;
use base::error::{Error, Result};
use base::object::{AsOf, Name, ObjectId, ObjectType, quote};
use context::forms;
use session::IndexEntry;
use store::MAX_CANDIDATES;

impl LiveSession {
    /// Finds the object of a name, which may also be quoted as in our lines: first in the session
    /// index by handle, ID, nickname, path and ID prefix, then among the files of the store, then
    /// by turns. Never finds another session's toolcalls and, if the session is confined, nothing
    /// that it did not meet.
    ///
    /// # Errors
    /// `UNKNOWN_NAME`; `AMBIGUOUS_NAME` with the candidates; `NOT_ACTIVATABLE` for infrastructure
    /// objects.
    pub(crate) fn find_object(&self, name: &Name) -> Result<ObjectId> {
        let quoted = || Name { text: quote::named(&name.text), version: name.version };
        match self.find_as_given(name) {
            Err(Error::UnknownName { .. }) if name.text.contains("\\u") => {
                self.find_as_given(&quoted()).map_err(|_| unknown(name))
            }
            found => found,
        }
    }

    fn find_as_given(&self, name: &Name) -> Result<ObjectId> {
        if self.state().is_confined() {
            return self.find_met(name);
        }
        let index = self.state().index();
        if let Some(handle) = name.handle() {
            let entry = index.by_handle(handle);
            return entry.map(|entry| entry.id.clone()).ok_or_else(|| unknown(name));
        }
        self.refuse_infrastructure(&ObjectId::new(&*name.text))?;
        let may = |id: &ObjectId| self.is_reachable(id);
        if let Some(id) = self.journal.store.find_exact(name, self.file_at(name)?, may)? {
            return Ok(self.state().files().current(&id).clone());
        }
        if let Some(id) = self.by_prefix(name)? {
            return Ok(id);
        }
        if let Some(id) = self.journal.store.find_by_prefix(name, may)? {
            return Ok(id);
        }
        self.turns_named(name).ok_or_else(|| unknown(name))
    }

    /// The part of the chat that the name gives as turns.
    pub(super) fn turns_named(&self, name: &Name) -> Option<ObjectId> {
        let (first, last) = self.messages_named(name)?;
        Some(self.state().index().segment(first, last)?.id.clone())
    }

    /// The file that the name gives as a path.
    pub(super) fn file_at(&self, name: &Name) -> Result<Option<ObjectId>> {
        match self.disk.resolve(&name.text) {
            Ok(path) => self.disk.file_id(&path).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The object of the session index that a prefix names.
    pub(super) fn by_prefix(&self, name: &Name) -> Result<Option<ObjectId>> {
        let Some(prefix) = name.id_prefix() else { return Ok(None) };
        let found: Vec<_> = self.state().index().by_prefix(prefix).collect();
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.id.clone())),
            several => {
                let shown = several.iter().take(MAX_CANDIDATES);
                let candidates = shown.map(|entry| self.describe(entry)).collect();
                Err(Error::AmbiguousName { name: name.text.clone(), candidates })
            }
        }
    }

    /// Whether this session may use an object: it has met it, or it is a file.
    fn is_reachable(&self, id: &ObjectId) -> Result<bool> {
        if self.state().subject(id).is_some() {
            return Ok(true);
        }
        let version = self.journal.store.get(id, AsOf::Latest)?;
        Ok(version.is_some_and(|version| version.envelope.kind == ObjectType::File))
    }

    fn describe(&self, entry: &IndexEntry) -> String {
        let name = forms::name_of(self.state(), &entry.subject);
        format!("{} {}", entry.handle, quote::name(&name))
    }

    fn refuse_infrastructure(&self, id: &ObjectId) -> Result<()> {
        let is_own = self.journal.owns(id);
        let version = if is_own { self.journal.store.get(id, AsOf::Latest)? } else { None };
        version.map_or(Ok(()), |version| version.envelope.require_content_object())
    }
}

pub(super) fn unknown(name: &Name) -> Error {
    Error::unknown_name(&*name.text)
}
