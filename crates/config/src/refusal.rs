//! Words for values that are refused. Must not know which settings there are.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a value is not of a type: the key that is missing or unknown, or what was expected in its place.
pub(super) fn reading_problem<T: DeserializeOwned>(value: &Value) -> Option<String> {
    if !value.is_object() {
        return Some("is no object".to_owned());
    }
    let error = serde_json::from_value::<T>(value.clone()).err()?.to_string();
    if let Some(key) = error.strip_prefix("missing field ") {
        return Some(format!("lacks the key {key}"));
    }
    Some(format!("is refused: {error}"))
}

/// A value as JSON, cut where it is long.
pub(super) fn shown(value: &Value) -> String {
    /// Most characters shown of a value.
    const LONGEST: usize = 60;

    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
