//! References to objects: dynamic (latest by ID) and static (pinned, portable between stores).

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Hash, ObjectId, Timestamp, TxId};
use crate::error::{Error, Result};

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

/// `ID@STORE:TX:TIME#HASH`, a form to write down and resolve later: the origin's store, transaction
/// and time (milliseconds since 1970), then the `content_hash`. White space, control characters,
/// `%`, `@`, `#` and (in the store) `:` are percent-encoded, so that the reference is one word.
impl fmt::Display for StaticReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { store_id, tx_id, time } = &self.origin;
        let id = escape(self.id.as_str(), "@#%");
        let store = escape(store_id, "@#%:");
        write!(formatter, "{id}@{store}:{tx_id}:{}#{}", time.0, self.content_hash)
    }
}

impl FromStr for StaticReference {
    type Err = Error;

    /// # Errors
    /// `INVALID_ARGUMENT` if the text has another form.
    fn from_str(text: &str) -> Result<Self> {
        let parts = || {
            let (rest, hash) = text.rsplit_once('#')?;
            let content_hash = Hash::from_stored(hash);
            content_hash.to_bytes()?;
            let (id, origin) = rest.rsplit_once('@')?;
            let mut origin = origin.split(':');
            let store_id = unescape(origin.next()?)?;
            let tx_id = TxId(origin.next()?.parse().ok()?);
            let time = Timestamp(origin.next()?.parse().ok()?);
            let id = ObjectId::new(unescape(id)?);
            let origin = origin.next().is_none().then_some(Origin { store_id, tx_id, time })?;
            Some(Self { id, content_hash, origin })
        };
        parts().ok_or_else(|| {
            let problem = format!("`{text}` has not the form ID@STORE:TX:TIME#HASH");
            Error::argument("reference", problem)
        })
    }
}

fn escape(text: &str, special: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() || special.contains(c) {
            let mut bytes = [0; 4];
            escaped.extend(c.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02x}")));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_static_reference_is_one_word() {
        let reference = StaticReference {
            id: ObjectId::new("call 1@é#%"),
            content_hash: Hash::of("x"),
            origin: Origin { store_id: "s:1".into(), tx_id: TxId(4), time: Timestamp(-5) },
        };
        let text = reference.to_string();
        assert_eq!(text, format!("call%201%40é%23%25@s%3a1:4:-5#{}", Hash::of("x")));
        assert_eq!(text.parse::<StaticReference>().unwrap(), reference);
        let hash = Hash::of("x");
        for text in [
            "",
            "a",
            "a@s:1:2#12",
            &format!("a#{hash}"),
            &format!("a@s:1#{hash}"),
            &format!("a%4@s:1:2:3#{hash}"),
        ] {
            let error = text.parse::<StaticReference>().unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENT", "{text}");
        }
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn every_static_reference_reads_back(id in any::<String>(), store_id in any::<String>(), tx in any::<i64>(), time in any::<i64>()) {
            let reference = StaticReference {
                id: ObjectId::new(id),
                content_hash: Hash::of("x"),
                origin: Origin { store_id, tx_id: TxId(tx), time: Timestamp(time) },
            };
            let text = reference.to_string();
            prop_assert!(!text.contains(char::is_whitespace));
            prop_assert_eq!(text.parse::<StaticReference>().unwrap(), reference);
        }

        #[test]
        fn no_text_makes_reading_a_reference_panic(text in "[a@#:%0-9é]{0,20}") {
            prop_assert!(text.parse::<StaticReference>().is_err());
        }
    }

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
