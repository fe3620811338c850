//! Replaces strings inside JSON and leaves every other byte as it is. Must not know what is
//! replaced, or why.

use serde::de::IgnoredAny;

/// Maximum depth to which JSON inside JSON strings is searched.
const MAX_NESTING: u32 = 8;

/// The role of a string in a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonRole<'a> {
    /// The name of a member.
    Name,
    /// The value of the member with this name, or an element of the list that is its value; empty
    /// where there is no name.
    Value(&'a str),
}

/// Returns the replacement of a string; `None` keeps it.
pub(super) type Change<'a> = dyn FnMut(JsonRole<'_>, &str) -> Option<String> + 'a;

/// Whether a text is JSON.
pub(super) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Calls `change` with each string of a JSON text, or, where a string is itself JSON, with the
/// strings inside it, and replaces them. `None` if nothing changed.
///
/// `json`: valid, see [`is_json`].
pub(super) fn change_strings(json: &str, change: &mut Change<'_>) -> Option<String> {
    change_nested(json, MAX_NESTING, change)
}

fn change_nested(json: &str, nesting: u32, change: &mut Change<'_>) -> Option<String> {
    let bytes = json.as_bytes();
    let (mut changed, mut copied, mut at) = (String::new(), 0, 0);
    // For each enclosing object and list, the name of the member being read; a list has the name of
    // its member.
    let mut names = vec![String::new()];
    while at < bytes.len() {
        match bytes[at] {
            b'[' => names.push(names.last().cloned().unwrap_or_default()),
            b'{' => names.push(String::new()),
            b']' | b'}' => drop(names.pop()),
            b'"' => {
                let end = end_of_string(bytes, at);
                let string: String = serde_json::from_str(&json[at..end]).unwrap_or_default();
                let name = names.last().map_or("", String::as_str);
                let replacement = if is_name(bytes, end) {
                    change(JsonRole::Name, &string)
                } else {
                    change_value(name, &string, nesting, change)
                };
                if let Some(replacement) = replacement {
                    changed.push_str(&json[copied..at]);
                    changed.push_str(&serde_json::Value::from(replacement).to_string());
                    copied = end;
                }
                if let (true, Some(name)) = (is_name(bytes, end), names.last_mut()) {
                    *name = string;
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    (copied > 0).then(|| changed + &json[copied..])
}

fn change_value(name: &str, value: &str, nesting: u32, change: &mut Change<'_>) -> Option<String> {
    let is_nested = nesting > 0 && value.trim_start().starts_with(['{', '[']) && is_json(value);
    if is_nested {
        return change_nested(value, nesting - 1, change);
    }
    change(JsonRole::Value(name), value)
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

fn is_name(bytes: &[u8], end: usize) -> bool {
    let next = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace());
    next == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_changed_string_is_written_anew() {
        let json =
            r#" {"a\u0062" : "x\/y", "n":1.50e1,"l":["x",{"i":1},"é\n"],"o":{"x":"[\"y\"]"}} "#;
        let mut seen = Vec::new();
        let changed = change_strings(json, &mut |place, string| {
            if let JsonRole::Value(name) = place {
                seen.push((name.to_owned(), string.to_owned()));
            }
            (string == "é\n").then(|| "\"new\"".to_owned())
        });
        let expected = json.replace(r"é\n", r#"\"new\""#);
        assert_eq!(changed.as_deref(), Some(&*expected));
        let values = [("ab", "x/y"), ("l", "x"), ("l", "é\n"), ("", "y")];
        assert_eq!(seen, values.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn json_without_a_change_stays() {
        assert_eq!(change_strings(r#"{"a":"b"}"#, &mut |_, _| None), None);
        let name = |place: JsonRole<'_>, _: &str| (place == JsonRole::Name).then(|| "c".to_owned());
        assert_eq!(change_strings(r#"{"a":"b"}"#, &mut { name }).as_deref(), Some(r#"{"c":"b"}"#));
        let changed = change_strings(r#""b""#, &mut |_, _| Some("c".into()));
        assert_eq!(changed.as_deref(), Some(r#""c""#));
    }
}
