//! The immutable part of an object: type, source binding, identity.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Hash, ObjectId, Source, canonical_json};
use crate::error::{Error, Result};

/// Type of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ObjectType {
    /// A file; content object.
    File,
    /// A tool call and its output; content object.
    Toolcall,
    /// A run of chat messages; content object.
    ChatSegment,
    /// A session's chat; infrastructure.
    Chat,
    /// A session's system prompt and tools; infrastructure.
    SystemPrompt,
    /// A session; infrastructure.
    Session,
}

impl ObjectType {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self::File,
        Self::Toolcall,
        Self::ChatSegment,
        Self::Chat,
        Self::SystemPrompt,
        Self::Session,
    ];

    /// The name in documents.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the name in documents.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether objects of this type can be activated.
    pub fn is_content(self) -> bool {
        matches!(self, Self::File | Self::Toolcall | Self::ChatSegment)
    }
}

/// The immutable part of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Stable ID.
    pub id: ObjectId,
    /// Type.
    #[serde(rename = "type")]
    pub kind: ObjectType,
    /// Source binding; `None` for unsourced objects.
    pub source: Option<Source>,
    /// SHA-256 of the canonical JSON of `{type, source}`, or of `{id, type, source: null}` for
    /// unsourced objects.
    pub identity_hash: Hash,
}

impl Envelope {
    /// Makes the envelope of a sourced object: its ID is its identity hash.
    pub fn sourced(kind: ObjectType, source: Source) -> Result<Self> {
        let identity = canonical_json(&json!({ "type": kind, "source": source }))?;
        let identity_hash = Hash::of(identity);
        let id = ObjectId::new(identity_hash.as_str());
        Ok(Self { id, kind, source: Some(source), identity_hash })
    }

    /// Makes the envelope of an unsourced object.
    pub fn unsourced(id: ObjectId, kind: ObjectType) -> Result<Self> {
        let identity = canonical_json(&json!({ "id": id, "type": kind, "source": null }))?;
        Ok(Self { id, kind, source: None, identity_hash: Hash::of(identity) })
    }

    /// Makes the envelope of an object whose source was forgotten: nothing but its ID says which
    /// one it was.
    pub fn nameless(kind: ObjectType, identity_hash: Hash) -> Self {
        let id = ObjectId::new(identity_hash.as_str());
        Self { id, kind, source: None, identity_hash }
    }

    /// Whether the object's source was forgotten. Its ID is still the hash that covered it.
    pub fn is_nameless(&self) -> bool {
        self.source.is_none() && self.id.as_str() == self.identity_hash.as_str()
    }

    /// Checks that the object can be activated.
    ///
    /// # Errors
    /// `NOT_ACTIVATABLE` if the type is infrastructure.
    pub fn require_content_object(&self) -> Result<()> {
        if self.kind.is_content() {
            return Ok(());
        }
        Err(Error::NotActivatable { id: self.id.clone(), kind: self.kind.as_str() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> Source {
        Source::Filesystem { filesystem_id: "fs1".into(), path: "/home/a/é.rs".into() }
    }

    #[test]
    fn sourced_identity_is_the_hash_of_the_canonical_envelope() {
        let text = r#"{"source":{"filesystemId":"fs1","path":"/home/a/é.rs","type":"filesystem"},"type":"file"}"#;
        let envelope = Envelope::sourced(ObjectType::File, source()).unwrap();
        assert_eq!(envelope.identity_hash, Hash::of(text));
        // Known answer, computed once with sha256sum over the text above. A change here would
        // orphan every stored file.
        assert_eq!(
            envelope.id.as_str(),
            "7015e1e55028fc66a84fea401f71261b05dd5bcf54c3ee54f5a65a6788a2bab2"
        );
    }

    #[test]
    fn unsourced_identity_includes_the_id() {
        let envelope = Envelope::unsourced(ObjectId::chat("s"), ObjectType::Chat).unwrap();
        assert_eq!(envelope.id.as_str(), "chat:s");
        assert_eq!(
            envelope.identity_hash,
            Hash::of(r#"{"id":"chat:s","source":null,"type":"chat"}"#)
        );
    }

    #[test]
    fn an_object_without_its_source_keeps_its_identity() {
        let envelope = Envelope::sourced(ObjectType::File, source()).unwrap();
        let nameless = Envelope::nameless(ObjectType::File, envelope.identity_hash.clone());
        assert_eq!(nameless.id, envelope.id);
        let unsourced = Envelope::unsourced(envelope.id.clone(), ObjectType::File).unwrap();
        assert!(nameless.is_nameless() && !envelope.is_nameless() && !unsourced.is_nameless());
    }

    #[test]
    fn infrastructure_objects_are_not_activatable() {
        for kind in ObjectType::ALL {
            let envelope = Envelope::unsourced(ObjectId::new("x"), kind).unwrap();
            let refused =
                envelope.require_content_object().is_err_and(|e| e.code() == "NOT_ACTIVATABLE");
            assert_eq!(refused, !kind.is_content(), "{kind:?}");
        }
    }
}
