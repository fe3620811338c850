//! Writes one version from plain data, as programs pass it in. For several at once, and for items,
//! see `Transaction`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Expected, Outcome, Store, Version};
use base::error::{Error, Result};
use base::object::{
    AsOf, Envelope, Hash, ObjectId, ObjectType, Payload, Source, TxId, VersionSelector,
};

/// A version to write.
#[derive(Debug, Clone, PartialEq)]
pub struct NewVersion {
    /// Type of the object.
    pub kind: ObjectType,
    /// The source that it tracks; its ID is derived from type and source.
    pub source: Option<Source>,
    /// ID of an object without a source; `None` makes a UUIDv7 for a toolcall.
    pub id: Option<String>,
    /// The content.
    pub content: Option<String>,
    /// SHA-256 of the source's bytes; `None` uses that of the content, if there is a source.
    pub source_hash: Option<String>,
    /// Fields.
    pub fields: Map<String, Value>,
    /// Additional contents by name.
    pub additional: BTreeMap<String, String>,
    /// Expected transaction of the latest version, 0 for no version; `None` accepts any.
    pub expected: Option<i64>,
}

impl Store {
    /// Writes a version. Returns whether it was written, and the latest version, which is the new
    /// one or an equal one.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if source and ID are both given or both missing, or a hash is not a
    /// SHA-256; and those of [`super::Backend::commit`].
    pub fn write(&self, new: NewVersion) -> Result<(bool, Version)> {
        let NewVersion { kind, source, id, content, source_hash, fields, additional, expected } =
            new;
        let source_hash = match source_hash {
            Some(hash) => Some(Hash::from_stored(hash)),
            None if source.is_some() => content.as_deref().map(Hash::of),
            None => None,
        };
        let envelope = envelope(kind, source, id)?;
        let payload = Payload { content, source_hash, fields, additional };
        let expected = match expected {
            None => Expected::Any,
            Some(0) => Expected::Absent,
            Some(tx_id) => Expected::Latest(TxId(tx_id)),
        };
        let id = envelope.id.clone();
        let outcomes = loop {
            // The items are kept, so it must be certain which version they belong to.
            let present = self.get(&id, AsOf::Latest)?;
            let present = present.filter(|version| version.items_hash.is_some());
            let base = match (expected, present) {
                (Expected::Any, Some(version)) => Expected::Latest(version.tx_id),
                (expected, _) => expected,
            };
            let mut transaction = self.begin();
            transaction.put(envelope.clone(), payload.clone(), base)?;
            match transaction.commit() {
                // Any version will do, and another process has just written one.
                Err(Error::Conflict { .. }) if expected == Expected::Any => {}
                outcomes => break outcomes?,
            }
        };
        match outcomes.outcomes.first() {
            Some(Outcome::Unchanged(tx_id)) => Ok((false, self.require(&id, AsOf::Tx(*tx_id))?)),
            _ => Ok((true, self.require(&id, AsOf::Tx(outcomes.tx_id))?)),
        }
    }

    /// Reads a text of a version: the content, or an additional one. `None` if the content is null.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the version has no additional content of this name; and as
    /// [`Self::content`].
    pub fn text_of(&self, version: &Version, field: Option<&str>) -> Result<Option<String>> {
        let Some(name) = field else { return self.content(version) };
        let text = self.additional(version, name)?;
        if text.is_none() {
            let known: Vec<_> = version.additional.keys().map(|name| format!("`{name}`")).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let problem = format!("is `{name}`; the additional contents of the version: {known}");
            return Err(Error::argument("field", problem));
        }
        Ok(text)
    }

    /// Reads two versions for a comparison. `to`: default the latest. `from`: default the one
    /// before `to`.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such version.
    pub fn pair(
        &self,
        id: &ObjectId,
        from: Option<VersionSelector>,
        to: Option<VersionSelector>,
    ) -> Result<(Version, Version)> {
        let to = self.select(id, to.unwrap_or(VersionSelector::Latest))?;
        let from = match from {
            Some(from) => self.select(id, from)?,
            None => self.get(id, AsOf::Tx(TxId(to.tx_id.0 - 1)))?.ok_or_else(|| {
                let at = format!("before transaction {}", to.tx_id);
                Error::NotFound { id: id.clone(), at }
            })?,
        };
        Ok((from, to))
    }
}

fn envelope(kind: ObjectType, source: Option<Source>, id: Option<String>) -> Result<Envelope> {
    match (source, id) {
        (Some(source), None) => Envelope::sourced(kind, source),
        (None, Some(id)) if id.trim().is_empty() => Err(Error::argument("id", "is empty")),
        (None, Some(id)) => Envelope::unsourced(ObjectId::new(id), kind),
        (None, None) if kind == ObjectType::Toolcall => {
            Envelope::unsourced(ObjectId::new(Uuid::now_v7().to_string()), kind)
        }
        (None, None) => Err(Error::argument("id", "is missing, and so is `source`")),
        (Some(_), Some(_)) => Err(Error::argument("id", "is given, and so is `source`")),
    }
}
