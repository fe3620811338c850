//! The part of EDN that XTDB prints and accepts: the values, a reader for answers, a writer for
//! queries. Must not know what an answer means.
//!
//! This reader is our own because the existing crates either read a whole text at once or accept
//! invalid EDN: XTDB prints the keys of JSON objects as keywords whatever they contain (`{:with
//! space 1}`), which must be refused, not misread. For the same reason documents are never read as
//! EDN, but as JSON.

mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

pub(super) use self::read::{Reader, read_all};
use base::object::Timestamp;

/// One value, as far as answers of the server are read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edn {
    Nil,
    Integer(i64),
    Text(String),
    /// Without the colon, with its namespace: `xt/id`.
    Keyword(String),
    Map(Vec<(Edn, Edn)>),
    /// `#inst`.
    Instant(Timestamp),
    /// Any other tag, without the `#`: `uuid`, `xtdb/id`, `error`.
    Tagged(String, Box<Edn>),
    /// A value of another kind, in words. It was read and dropped.
    Other(&'static str),
}

impl Edn {
    /// The value of a keyword in a map.
    pub(super) fn get(&self, keyword: &str) -> Option<&Edn> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find_map(|(key, value)| {
            matches!(key, Self::Keyword(name) if name == keyword).then_some(value)
        })
    }
}

/// The kind of value, for messages.
impl fmt::Display for Edn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nil => "nil",
            Self::Integer(_) => "a number",
            Self::Text(_) => "a string",
            Self::Keyword(_) => "a keyword",
            Self::Map(_) => "a map",
            Self::Instant(_) => "a time",
            Self::Tagged(..) => "a tagged value",
            Self::Other(kind) => kind,
        })
    }
}

/// A key that no keyword can express, so that it would be misread.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotEdn {
    pub(super) key: String,
}

/// Writes a value. The keys of objects become keywords, as in a JSON put.
///
/// # Errors
/// A key with characters that a keyword may not have.
pub(super) fn write_value(value: &Value, into: &mut String) -> Result<(), NotEdn> {
    match value {
        Value::Null => into.push_str("nil"),
        // JSON's escapes are EDN's too.
        Value::Bool(_) | Value::String(_) => into.push_str(&value.to_string()),
        Value::Number(number) => {
            into.push_str(&value.to_string());
            if number.is_u64() && !number.is_i64() {
                into.push('N');
            }
        }
        Value::Array(members) => {
            into.push('[');
            for (place, member) in members.iter().enumerate() {
                if place > 0 {
                    into.push(' ');
                }
                write_value(member, into)?;
            }
            into.push(']');
        }
        Value::Object(entries) => {
            into.push('{');
            for (place, (key, value)) in entries.iter().enumerate() {
                if !is_keyword(key) {
                    return Err(NotEdn { key: key.clone() });
                }
                into.push_str(if place > 0 { ", :" } else { ":" });
                into.push_str(key);
                into.push(' ');
                write_value(value, into)?;
            }
            into.push('}');
        }
    }
    Ok(())
}

/// Whether Clojure reads `:KEY` as a keyword with this name.
fn is_keyword(key: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && part.chars().all(|char| char.is_alphanumeric() || ".*+!-_?$%&=<>".contains(char))
    };
    match key.split_once('/') {
        Some((namespace, name)) => {
            plain(namespace)
                && !namespace.starts_with(|first: char| first.is_numeric())
                && plain(name)
        }
        None => plain(key),
    }
}
