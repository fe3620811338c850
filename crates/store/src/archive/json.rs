//! Replaces strings inside JSON and leaves every other byte as it is. Must not know what is replaced, or why.

use serde::de::IgnoredAny;

/// Whether a text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Calls `change` with each string value of a JSON text and its key, and replaces the value by the result. Keys stay.
/// `None` if nothing changed.
///
/// `json`: valid, see [`is_json`].
pub(super) fn change_strings(
    json: &str,
    change: &mut dyn FnMut(Option<&str>, &str) -> Option<String>,
) -> Option<String> {
    let bytes = json.as_bytes();
    let mut changed = String::new();
    let mut copied = 0;
    let mut key: Option<String> = None;
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'"' {
            // A key belongs to the value right after it.
            if matches!(bytes[at], b',' | b'[' | b'{') {
                key = None;
            }
            at += 1;
            continue;
        }
        let end = end_of_string(bytes, at);
        let literal = &json[at..end];
        let value: String = serde_json::from_str(literal).unwrap_or_default();
        if is_key(bytes, end) {
            key = Some(value);
        } else if let Some(replacement) = change(key.as_deref(), &value) {
            changed.push_str(&json[copied..at]);
            changed.push_str(&serde_json::Value::from(replacement).to_string());
            copied = end;
        }
        at = end;
    }
    (copied > 0).then(|| changed + &json[copied..])
}

/// Offset after the string that begins at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn is_key(bytes: &[u8], end: usize) -> bool {
    let next = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace());
    next == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_changed_string_is_written_anew() {
        let json = r#" {"a\u0062" : "x\/y", "n":1.50e1,"l":["x","é\n"],"o":{"x":"x"}} "#;
        let mut seen = Vec::new();
        let changed = change_strings(json, &mut |key, value| {
            seen.push((key.map(str::to_owned), value.to_owned()));
            (value == "é\n").then(|| "\"new\"".to_owned())
        });
        let expected = r#" {"a\u0062" : "x\/y", "n":1.50e1,"l":["x","\"new\""],"o":{"x":"x"}} "#;
        assert_eq!(changed.as_deref(), Some(expected));
        let owned = |key: Option<&str>, value: &str| (key.map(str::to_owned), value.to_owned());
        let expected =
            [owned(Some("ab"), "x/y"), owned(None, "x"), owned(None, "é\n"), owned(Some("x"), "x")];
        assert_eq!(seen, expected);
    }

    #[test]
    fn json_without_a_change_stays() {
        assert_eq!(change_strings(r#"{"a":"b"}"#, &mut |_, _| None), None);
        assert_eq!(
            change_strings(r#""b""#, &mut |_, _| Some("c".into())).as_deref(),
            Some(r#""c""#)
        );
    }
}
