//! Source bindings: the external things that objects track. An open tagged union: unknown types are
//! kept unchanged, so that a store or archive of a later release loses nothing. Must not access any
//! source.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

/// The external thing that an object tracks. Its JSON is the object's identity, so the fields of a
/// type are final once released.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// A file on a filesystem: `{"type":"filesystem","filesystemId":…,"path":…}`.
    Filesystem {
        /// The filesystem namespace.
        filesystem_id: String,
        /// Canonical absolute path within it.
        path: String,
    },
    /// All fields, `type` included, of a source of another type, as its own module or a later
    /// release wrote it.
    Other(Map<String, Value>),
}

impl Source {
    /// The path, if the source has one. Search, links and names find objects by it.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Filesystem { path, .. } => Some(path),
            Self::Other(fields) => fields.get("path")?.as_str(),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Filesystem { filesystem_id, path } => {
                json!({ "type": "filesystem", "filesystemId": filesystem_id, "path": path })
                    .serialize(serializer)
            }
            Self::Other(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(deserializer)?;
        let text = |name: &'static str| {
            let value = fields.get(name).and_then(Value::as_str).map(str::to_owned);
            value.ok_or_else(|| D::Error::missing_field(name))
        };
        if text("type")? == "filesystem" {
            let (filesystem_id, path) = (text("filesystemId")?, text("path")?);
            return Ok(Self::Filesystem { filesystem_id, path });
        }
        Ok(Self::Other(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Envelope, ObjectType};

    #[test]
    fn a_type_that_is_not_known_keeps_its_fields_and_its_identity() {
        let text = r#"{"path":"src/lib.ts","ref":"main","repo":"example.org/u/r","type":"git"}"#;
        let source: Source = serde_json::from_str(text).unwrap();
        assert_eq!(source.path(), Some("src/lib.ts"));
        let again = serde_json::to_value(&source).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(text).unwrap());
        let envelope = Envelope::sourced(ObjectType::File, source).unwrap();
        let identity = format!(r#"{{"source":{text},"type":"file"}}"#);
        assert_eq!(envelope.identity_hash, crate::object::Hash::of(identity));
    }

    #[test]
    fn a_source_without_what_its_type_needs_is_refused() {
        for text in [
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"filesystem","path":"/a"}"#,
            r#"{"type":"filesystem","filesystemId":"fs"}"#,
            "[]",
        ] {
            assert!(serde_json::from_str::<Source>(text).is_err(), "{text}");
        }
    }
}
