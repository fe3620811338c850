//! The JSON of a relation as a row keeps it. A session has one or two relations per message, which
//! differ only in the key and a number: the repeated parts are kept as one byte. Must not know what
//! a relation means.
//!
//! JSON has no control characters, so these bytes are free. Rows of earlier builds hold plain JSON
//! and are still readable.

use std::borrow::Cow;

use super::failure::{Failure, Step};
use crate::RelationKind;
use crate::rules::escaped;

/// Stands for the relation's key, as JSON writes it.
const KEY: u8 = 1;

/// The text that each byte stands for, starting with 2. Earlier parts are tried first. Never change
/// an existing one: rows hold its number.
const PARTS: [&str; 13] = [
    r#"{"written":{"call":{"id":""#,
    r#"{"written":{"object":{"id":""#,
    r#"","pin":{"content_hash":""#,
    r#"","position":"#,
    r#""}}},"place":{"field":"items","path":"items["#,
    r#""}},"place":{"field":"items","path":"items["#,
    r#"}},"place":{"field":"items","path":"items["#,
    r#""}}},"place":{"field":""#,
    r#""}},"place":{"field":""#,
    r#"].message.toolCallId"}}"#,
    "].message.content[",
    r#"].content"}}"#,
    r#"","path":""#,
];

/// Shortens the JSON. For kinds that queries look into, it stays as it is.
pub(super) fn shortened(kind: RelationKind, key: &str, json: String) -> String {
    if !matches!(kind, RelationKind::Dynamic | RelationKind::Static | RelationKind::Call) {
        return json;
    }
    let key = escaped(key);
    let mut short = if key.is_empty() { json } else { json.replacen(&key, as_text(&KEY), 1) };
    for (byte, part) in numbered() {
        if short.contains(part) {
            short = short.replace(part, as_text(&byte));
        }
    }
    short
}

/// The full JSON of a row, shortened or not.
pub(super) fn whole<'a>(key: &str, stored: &'a str) -> Step<Cow<'a, str>> {
    if !stored.bytes().any(|byte| byte < b' ') {
        return Ok(Cow::Borrowed(stored));
    }
    let key = escaped(key);
    let mut json = String::with_capacity(stored.len() + 160);
    for c in stored.chars() {
        match u8::try_from(c) {
            Ok(KEY) => json.push_str(&key),
            Ok(byte) if byte < b' ' => {
                let part = PARTS.get(usize::from(byte).wrapping_sub(2));
                json.push_str(part.ok_or_else(|| {
                    Failure::damaged(format!("a relation has a part {byte}, which is not known"))
                })?);
            }
            _ => json.push(c),
        }
    }
    Ok(Cow::Owned(json))
}

fn numbered() -> impl Iterator<Item = (u8, &'static str)> {
    (2..).zip(PARTS)
}

fn as_text(byte: &u8) -> &str {
    // Control characters are one byte in UTF-8.
    std::str::from_utf8(std::slice::from_ref(byte)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn it_reads_back_whole(key in ".{0,12}", rest in prop::collection::vec(
            prop_oneof![prop::sample::select(PARTS.to_vec()).prop_map(str::to_owned), "[ -~é]{0,9}"], 0..9,
        )) {
            let json = format!("{}{}", rest.concat(), escaped(&key));
            let short = shortened(RelationKind::Call, &key, json.clone());
            prop_assert_eq!(whole(&key, &short).unwrap(), json);
        }
    }

    #[test]
    fn what_most_rows_hold_takes_a_few_bytes() {
        let hash = "0".repeat(64);
        for (kind, json, bytes) in [
            (
                RelationKind::Call,
                r#"{"written":{"call":{"id":"toolu_1","position":12}},"place":{"field":"items","path":"items[12].message.toolCallId"}}"#.to_owned(),
                9,
            ),
            (
                RelationKind::Static,
                format!(r#"{{"written":{{"object":{{"id":"toolu_1","pin":{{"content_hash":"{hash}"}}}}}},"place":{{"field":"items","path":"items[12].content"}}}}"#),
                71,
            ),
        ] {
            let short = shortened(kind, "toolu_1", json.clone());
            assert_eq!(short.len(), bytes, "{short:?}");
            assert_eq!(whole("toolu_1", &short).unwrap(), json);
        }
    }

    #[test]
    fn rows_of_earlier_builds_and_of_other_kinds_are_json() {
        let json = r#"{"written":{"call":{"id":"a","position":1}}}"#;
        assert_eq!(whole("a", json).unwrap(), json);
        let kept = shortened(RelationKind::Properties, "a", json.to_owned());
        assert_eq!(kept, json);
        assert!(whole("a", "\u{1f}").is_err());
    }
}
