//! Words for refused values. Must not know which settings exist.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a value does not have a type: a missing or unknown key, or what was expected instead.
pub(super) fn reading_problem<T: DeserializeOwned>(value: &Value) -> Option<String> {
    if !value.is_object() {
        return Some("is not an object".to_owned());
    }
    let error = serde_json::from_value::<T>(value.clone()).err()?.to_string();
    if let Some(key) = error.strip_prefix("missing field ") {
        return Some(format!("lacks the key {key}"));
    }
    Some(format!("is refused: {error}"))
}

/// A value as JSON, shortened if long.
pub(super) fn shown(value: &Value) -> String {
    /// Most characters shown of a value.
    const LONGEST: usize = 60;

    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
