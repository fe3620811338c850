//! References to objects: dynamic (latest by ID) and static (pinned, portable between stores).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Hash, ObjectId, Timestamp, TxId};

/// Where a version was first written. A `tx_id` means nothing outside its store, so a version's
/// portable identity is its object ID, `content_hash` and origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// ID of the store that first wrote the version.
    pub store_id: String,
    /// Its transaction there.
    pub tx_id: TxId,
    /// Its time there.
    pub time: Timestamp,
}

/// Latest version by ID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DynamicReference {
    /// The object.
    pub id: ObjectId,
}

/// Pinned to one version; resolves in any store that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StaticReference {
    /// The object.
    pub id: ObjectId,
    /// Hash of the version's payload, checked when it is resolved.
    pub content_hash: Hash,
    /// Where the version was first written.
    pub origin: Origin,
}

/// Either kind, distinguished by the presence of `content_hash`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Reference {
    /// Pinned to a version.
    Static(StaticReference),
    /// Follows the latest.
    Dynamic(DynamicReference),
}

impl<'de> Deserialize<'de> for Reference {
    /// A malformed static reference is an error; it is never read as a dynamic one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let reference = if value.get("content_hash").is_some() {
            serde_json::from_value(value).map(Self::Static)
        } else {
            serde_json::from_value(value).map(Self::Dynamic)
        };
        reference.map_err(D::Error::custom)
    }
}

impl Reference {
    /// The object referred to.
    pub fn id(&self) -> &ObjectId {
        match self {
            Self::Static(reference) => &reference.id,
            Self::Dynamic(reference) => &reference.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_round_trip_through_json() {
        let dynamic = Reference::Dynamic(DynamicReference { id: ObjectId::new("a") });
        let pinned = Reference::Static(StaticReference {
            id: ObjectId::new("a"),
            content_hash: Hash::of("x"),
            origin: Origin { store_id: "s".into(), tx_id: TxId(4), time: Timestamp(5) },
        });
        for reference in [dynamic, pinned] {
            let text = serde_json::to_string(&reference).unwrap();
            assert_eq!(serde_json::from_str::<Reference>(&text).unwrap(), reference);
        }
        for text in [r#"{"id":"a","content_hash":"x"}"#, r#"{"id":5}"#, r#""a""#] {
            assert!(serde_json::from_str::<Reference>(text).is_err(), "{text}");
        }
    }
}
