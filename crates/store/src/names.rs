//! Finds objects by name in a store: by full ID, nickname, path or unique ID prefix, tried in this
//! order. Objects from elsewhere never match a local path. Knows no session, so no handles, and no
//! file system: the caller says which file a path means.

use super::{Store, Version};
use base::error::{Error, Result};
use base::object::{AsOf, Name, Nickname, ObjectId, Reading, Source, VersionSelector};

/// Most candidates that an ambiguity error lists.
pub const MAX_CANDIDATES: usize = 8;

/// Most IDs read for a prefix.
const MAX_MATCHES: usize = 256;

/// The object and version that a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The object.
    pub id: ObjectId,
    /// The version that the name selects.
    pub version: VersionSelector,
    /// The lines that stand with the name, see [`Part`](base::object::Part).
    pub lines: Option<String>,
}

impl Store {
    /// Finds an object by name among all objects, including infrastructure, in any of the forms of
    /// [`Reading`]. A text like `NAME@TX` or `NAME:5-9` that is itself a name means that name.
    ///
    /// `file_of`: returns the ID of the file object for a path; `None` if the text is not a path.
    ///
    /// # Errors
    /// `UNKNOWN_NAME`; `AMBIGUOUS_NAME` with the candidates; `INVALID_ARGUMENT` if the name is
    /// empty.
    pub fn find(
        &self,
        text: &str,
        file_of: impl Fn(&str) -> Result<Option<ObjectId>>,
    ) -> Result<Named> {
        Name::parse(text)?;
        let is_there = |id: &ObjectId| Ok(self.get(id, AsOf::Latest)?.is_some());
        let readings = Reading::all(text);
        // Session IDs and paths may end in `@` and digits.
        for Reading { name, lines } in &readings {
            if let Some(id) = self.find_exact(name, file_of(&name.text)?, is_there)? {
                return Ok(Named { id, version: name.version, lines: lines.clone() });
            }
        }
        for Reading { name, lines } in readings {
            if let Some(id) = self.find_by_prefix(&name, is_there)? {
                return Ok(Named { id, version: name.version, lines });
            }
        }
        Err(Error::unknown_name(text))
    }

    /// Finds an object by full ID, nickname or path, tried in this order. The nickname of an object
    /// from elsewhere (an archive or a shared store) counts only if no object has the path. `file`:
    /// the object for the name as a path. `may`: selects the objects that may be found.
    pub fn find_exact(
        &self,
        name: &Name,
        file: Option<ObjectId>,
        may: impl Fn(&ObjectId) -> Result<bool>,
    ) -> Result<Option<ObjectId>> {
        let id = ObjectId::new(&*name.text);
        if may(&id)? {
            return Ok(Some(id));
        }
        let file = match file {
            Some(id) if may(&id)? => Some(id),
            _ => None,
        };
        if let Ok(nickname) = Nickname::parse(&name.text)
            && let Some(id) = self.find_nickname(&nickname)?
            && may(&id)?
            && (file.is_none() || self.elsewhere(&id)?.is_none())
        {
            return Ok(Some(id));
        }
        Ok(file)
    }

    /// The store that wrote the latest version of an object, if it is a different one.
    pub fn elsewhere(&self, id: &ObjectId) -> Result<Option<String>> {
        let writer = self.get(id, AsOf::Latest)?.map(|version| version.origin.store_id);
        Ok(writer.filter(|writer| writer != self.id()))
    }

    /// Finds an object by a prefix of its ID. `may`: as in [`Self::find_exact`].
    ///
    /// # Errors
    /// `AMBIGUOUS_NAME` with the candidates.
    pub fn find_by_prefix(
        &self,
        name: &Name,
        may: impl Fn(&ObjectId) -> Result<bool>,
    ) -> Result<Option<ObjectId>> {
        let Some(prefix) = name.id_prefix() else { return Ok(None) };
        let mut found = Vec::new();
        for id in self.find_prefix(prefix, MAX_MATCHES)? {
            if may(&id)? {
                found.push(id);
            }
        }
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => {
                let shown = several.iter().take(MAX_CANDIDATES);
                let candidates = shown.map(|id| self.described(id)).collect::<Result<_>>()?;
                Err(Error::AmbiguousName { name: name.text.clone(), candidates })
            }
        }
    }

    /// Removes a nickname and returns its object.
    ///
    /// # Errors
    /// `UNKNOWN_NAME` if no object has it.
    pub fn unname(&self, nickname: &str) -> Result<ObjectId> {
        let unknown = || Error::unknown_name(nickname);
        let nickname = Nickname::parse(nickname).map_err(|_| unknown())?;
        let id = self.find_nickname(&nickname)?.ok_or_else(unknown)?;
        let mut transaction = self.begin();
        transaction.name(nickname, None);
        transaction.commit()?;
        Ok(id)
    }

    /// An object's ID with a short description, for messages.
    fn described(&self, id: &ObjectId) -> Result<String> {
        let version = self.get(id, AsOf::Latest)?;
        let what = |version: Version| {
            let path = version.envelope.source.as_ref().and_then(Source::path);
            path.unwrap_or(version.envelope.kind.as_str()).to_owned()
        };
        Ok(version.map_or_else(|| id.to_string(), |version| format!("{id} {}", what(version))))
    }
}
