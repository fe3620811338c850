//! The mutable part of an object, its content hash, and the note on a redacted version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value, json};

use super::hash::HashWriter;
use super::{FieldPath, Hash, canonical_json};
use crate::error::Result;

/// The mutable part of an object: a change makes a new version.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payload {
    /// Text, or `None` for deleted, binary or metadata-only objects.
    pub content: Option<String>,
    /// SHA-256 of the raw bytes of the source; only for sourced objects.
    pub source_hash: Option<Hash>,
    /// Fields, which depend on the type. Unknown ones are kept and hashed like the rest.
    pub fields: Map<String, Value>,
    /// Additional contents by name (`short_summary`, `full_output`): texts besides the content,
    /// shown only on request. Each has its own hash.
    pub additional: BTreeMap<String, String>,
}

impl Payload {
    /// SHA-256 of the canonical JSON of all payload fields except `source_hash` and `content_hash`.
    ///
    /// Additional contents are represented by their SHA-256 under the key `additional`, which is
    /// absent if there are none. So the hash can be checked without loading them.
    ///
    /// `items_hash`: running hash of the document's items (chat messages, session events), if it
    /// has a list. It represents the items under the key `items`, so that appending stays O(1).
    ///
    /// Canonical JSON rounds integers that a double cannot hold. Their digits are added under the
    /// key `integers`, as strings by path ([`FieldPath`]), so that a change of them changes the
    /// hash. The key is absent if there are none.
    pub fn content_hash(&self, items_hash: Option<&Hash>) -> Result<Hash> {
        let hash = |(name, text): (&String, &String)| (name.clone(), Hash::of(text));
        let additional = self.additional.iter().map(hash).collect();
        payload_hash(&self.fields, self.content.as_deref(), items_hash, &additional)
    }
}

/// Like [`Payload::content_hash`], but from the hashes of the additional contents.
pub fn payload_hash(
    fields: &Map<String, Value>,
    content: Option<&str>,
    items_hash: Option<&Hash>,
    additional: &BTreeMap<String, Hash>,
) -> Result<Hash> {
    let integers = Value::Object(inexact_integers(fields));
    let (items, additional) = (json!(items_hash), json!(additional));
    let mut members: BTreeMap<Vec<u16>, (&str, Member<'_>)> = BTreeMap::new();
    // Sorted as RFC 8785 says, by UTF-16 code units.
    let mut insert =
        |name, member| members.insert(str::encode_utf16(name).collect(), (name, member));
    for (name, value) in fields {
        insert(name.as_str(), Member::Value(value));
    }
    insert("content", Member::Content(content));
    let others = [("integers", &integers), ("items", &items), ("additional", &additional)];
    for (name, value) in others {
        if !value.is_null() && value.as_object().is_none_or(|members| !members.is_empty()) {
            insert(name, Member::Value(value));
        }
    }
    let mut hash = HashWriter::default();
    for (number, (name, member)) in members.values().enumerate() {
        hash.add(if number == 0 { "{" } else { "," });
        hash.add(&canonical_json(name)?);
        hash.add(":");
        match member {
            Member::Value(value) => hash.add(&canonical_json(value)?),
            Member::Content(text) => hash.add_json(*text)?,
        }
    }
    hash.add("}");
    Ok(hash.finish())
}

/// A member of the document that is hashed.
enum Member<'p> {
    Value(&'p Value),
    /// Never copied: it may be as large as all else together.
    Content(Option<&'p str>),
}

/// Names that no field may have: the hashed document uses them for the other parts of a payload.
pub const RESERVED_FIELDS: [&str; 6] =
    ["content", "items", "additional", "integers", "source_hash", "content_hash"];

/// Digits of the integers that a double cannot hold, by the text of their path.
fn inexact_integers(fields: &Map<String, Value>) -> Map<String, Value> {
    fn walk(value: &Value, path: &FieldPath, found: &mut Map<String, Value>) {
        match value {
            Value::Number(number) if !is_exact(number) => {
                found.insert(path.to_string(), json!(number.to_string()));
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    walk(element, &path.clone().element(index), found);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    walk(member, &path.clone().member(key), found);
                }
            }
            _ => {}
        }
    }
    let mut found = Map::new();
    for (key, value) in fields {
        walk(value, &FieldPath::key(key), &mut found);
    }
    found
}

/// Whether a double holds the number exactly.
fn is_exact(number: &Number) -> bool {
    let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the double of an integer is an integer of 65 bits at most"
    )]
    let double = number.as_f64().map(|double| double as i128);
    whole.is_none() || whole == double
}

/// Marks a version that lost text after it was written. Its `content_hash` stays that of the
/// original, so references to it still resolve; `found_hash` verifies what is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    /// Why text was removed.
    pub reason: RedactionReason,
    /// Payload hash of what is left, see [`Payload::content_hash`]; computed with the hash of the
    /// original items.
    pub found_hash: Hash,
}

/// Why text was removed from a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedactionReason {
    /// Text that looked like a secret was replaced while an archive was written.
    Secret,
    /// A person ran `forget`.
    Forgotten,
}

/// The type-specific fields of a file: `file_type` and `char_count` (Unicode scalar values; 0
/// without content).
pub fn file_fields(path: &str, content: Option<&str>) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("file_type".into(), json!(file_type(path)));
    fields.insert("char_count".into(), json!(content.map_or(0, |text| text.chars().count())));
    fields
}

/// File extension without the dot; empty if there is none. A leading dot does not start an
/// extension.
pub fn file_type(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rfind('.') {
        Some(dot) if dot > 0 => &name[dot + 1..],
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn content_hash_excludes_source_hash_and_covers_unknown_fields() {
        let mut payload = Payload { content: Some("hi\n".into()), ..Payload::default() };
        payload.fields = file_fields("/a/b.md", payload.content.as_deref());
        let plain = payload.content_hash(None).unwrap();
        assert_eq!(plain, Hash::of(r#"{"char_count":3,"content":"hi\n","file_type":"md"}"#));
        payload.source_hash = Some(Hash::of("hi\n"));
        assert_eq!(payload.content_hash(None).unwrap(), plain);
        payload.fields.insert("short_summary".into(), json!("greeting"));
        assert_ne!(payload.content_hash(None).unwrap(), plain);
    }

    #[test]
    fn additional_contents_count_by_their_hash() {
        let mut payload = Payload { content: Some("hi\n".into()), ..Payload::default() };
        payload.additional.insert("short_summary".into(), "greeting".into());
        let document = format!(
            r#"{{"additional":{{"short_summary":"{}"}},"content":"hi\n"}}"#,
            Hash::of("greeting")
        );
        assert_eq!(payload.content_hash(None).unwrap(), Hash::of(document));
    }

    #[test]
    fn integers_that_no_double_holds_count_by_their_digits() {
        let hash = |fields: Value| {
            let Value::Object(fields) = fields else { panic!("fields are an object") };
            Payload { fields, ..Payload::default() }.content_hash(None).unwrap()
        };
        let odd = (1_u64 << 53) + 1;
        assert_ne!(hash(json!({"n": odd})), hash(json!({"n": odd - 1})));
        assert_ne!(hash(json!({"a": [odd, odd - 1]})), hash(json!({"a": [odd - 1, odd]})));
        assert_ne!(hash(json!({"a": odd, "b": odd + 2})), hash(json!({"a": odd + 2, "b": odd})));
        assert_eq!(hash(json!({"a": odd, "b": u64::MAX})), hash(json!({"b": u64::MAX, "a": odd})));
        // Numbers that doubles hold are hashed as RFC 8785 says, without `integers`.
        let plain = Hash::of(r#"{"content":null,"n":9007199254740992}"#);
        assert_eq!(hash(json!({"n": odd - 1})), plain);
        let named = Hash::of(
            r#"{"content":null,"integers":{"n[0]":"9007199254740993"},"n":[9007199254740992]}"#,
        );
        assert_eq!(hash(json!({"n": [odd]})), named);
    }

    proptest! {
        #![proptest_config(testing::cases::config(64, 2))]

        #[test]
        fn the_hash_is_that_of_the_whole_document_as_canonical_json(
            content in proptest::option::of(any::<String>()),
            names in proptest::collection::btree_map("[a-d\u{e000}\u{10000}]{1,2}", any::<String>(), 0..4),
            items in any::<bool>(),
        ) {
            let fields: Map<String, Value> =
                names.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
            let items = items.then(|| Hash::of("items"));
            let mut document = fields.clone();
            document.insert("content".into(), json!(content));
            document.extend(items.iter().map(|hash| ("items".to_owned(), json!(hash))));
            let payload = Payload { content, fields, ..Payload::default() };
            let whole = Hash::of(canonical_json(&document).unwrap());
            prop_assert_eq!(payload.content_hash(items.as_ref()).unwrap(), whole);
        }
    }

    #[test]
    fn file_type_is_the_extension_of_the_name() {
        for (path, expected) in [
            ("/a/b.tar.gz", "gz"),
            ("/a.d/b", ""),
            (".env", ""),
            ("/x/.a.b", "b"),
            ("c:\\a\\b.rs", "rs"),
        ] {
            assert_eq!(file_type(path), expected, "{path}");
        }
    }

    #[test]
    fn char_count_counts_unicode_scalar_values() {
        assert_eq!(file_fields("a", Some("é👍"))["char_count"], json!(2));
        assert_eq!(file_fields("a", None)["char_count"], json!(0));
    }
}
