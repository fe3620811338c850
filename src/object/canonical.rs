//! Canonical JSON (RFC 8785), by a library.

use serde::Serialize;

use crate::error::{Error, Result};

/// Serialises a value as canonical JSON (RFC 8785): sorted keys, no white space, ECMAScript numbers.
///
/// # Errors
/// `INVALID_ARGUMENT` if the value holds a number that JSON cannot carry (NaN, infinity).
pub fn canonical_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json_canonicalizer::to_string(value)
        .map_err(|error| Error::argument("value", format!("is not canonical JSON: {error}")))
}
