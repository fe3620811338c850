//! From a name that the model or a person gives to an object (DESIGN.md section 2, *An object is named by*).

use super::LiveSession;
use crate::error::{Error, Result};
use crate::object::{AsOf, Name, Nickname, ObjectId, ObjectType};
use crate::session::{IndexEntry, Subject};
use crate::source;

/// Candidates that an ambiguity error lists.
const MAX_CANDIDATES: usize = 8;

impl LiveSession {
    /// Finds the object of a name: first in the session index by handle, ID, nickname, path and ID prefix, then among the
    /// files of the store. Never another session's toolcalls.
    ///
    /// # Errors
    /// `UNKNOWN_NAME`; `AMBIGUOUS_NAME` with the candidates; `NOT_ACTIVATABLE` for infrastructure objects.
    pub(super) fn find(&self, name: &Name) -> Result<ObjectId> {
        let index = self.state.index();
        if let Some(handle) = name.handle() {
            let entry = index.by_handle(handle);
            return entry.map(|entry| entry.id.clone()).ok_or_else(|| unknown(name));
        }
        let id = ObjectId::new(&*name.text);
        if index.get(&id).is_some() {
            return Ok(id);
        }
        self.refuse_infrastructure(&id)?;
        if let Some(id) = self.by_nickname(name)? {
            return Ok(id);
        }
        if let Some(id) = self.by_path(name)? {
            return Ok(id);
        }
        self.by_prefix(name)?.ok_or_else(|| unknown(name))
    }

    fn by_nickname(&self, name: &Name) -> Result<Option<ObjectId>> {
        let Ok(nickname) = Nickname::parse(&name.text) else { return Ok(None) };
        let Some(id) = self.store.find_nickname(&nickname)? else { return Ok(None) };
        Ok(self.is_reachable(&id)?.then_some(id))
    }

    fn by_path(&self, name: &Name) -> Result<Option<ObjectId>> {
        let Ok(path) = source::resolve_path(&name.text, &self.options.cwd) else { return Ok(None) };
        let id = self.file_id(&path)?;
        Ok(self.is_reachable(&id)?.then_some(id))
    }

    fn by_prefix(&self, name: &Name) -> Result<Option<ObjectId>> {
        let Some(prefix) = name.id_prefix() else { return Ok(None) };
        let shown: Vec<_> = self.state.index().by_prefix(prefix).collect();
        match shown.as_slice() {
            [] => {}
            [one] => return Ok(Some(one.id.clone())),
            many => return Err(ambiguous(name, many.iter().map(|entry| self.describe(entry)))),
        }
        let mut files = Vec::new();
        for id in self.store.find_prefix(prefix, MAX_CANDIDATES)? {
            if self.is_reachable(&id)? {
                files.push(id);
            }
        }
        match files.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            many => Err(ambiguous(name, many.iter().map(ToString::to_string))),
        }
    }

    /// Whether this session may use an object: it has met it, or it is a file.
    fn is_reachable(&self, id: &ObjectId) -> Result<bool> {
        if self.state.index().get(id).is_some() {
            return Ok(true);
        }
        let version = self.store.get(id, AsOf::Latest)?;
        Ok(version.is_some_and(|version| version.envelope.kind == ObjectType::File))
    }

    fn describe(&self, entry: &IndexEntry) -> String {
        match &entry.subject {
            Subject::File { path, .. } => {
                format!("{} {}", entry.handle, self.state.shown_path(path))
            }
            Subject::Toolcall { tool, .. } => format!("{} {tool}", entry.handle),
        }
    }

    fn refuse_infrastructure(&self, id: &ObjectId) -> Result<()> {
        if self.ids.contain(id) {
            return match self.store.get(id, AsOf::Latest)? {
                Some(version) => version.envelope.require_content_object(),
                None => Ok(()),
            };
        }
        Ok(())
    }
}

fn ambiguous(name: &Name, candidates: impl Iterator<Item = String>) -> Error {
    Error::AmbiguousName {
        name: name.text.clone(),
        candidates: candidates.take(MAX_CANDIDATES).collect(),
    }
}

fn unknown(name: &Name) -> Error {
    Error::UnknownName { name: name.text.clone() }
}
