//! The part of EDN that XTDB prints: the values, and a reader for answers. Must not know what an
//! answer means.
//!
//! This reader is our own because the existing crates either read a whole text at once or accept
//! invalid EDN: XTDB prints the keys of JSON objects as keywords whatever they contain (`{:with
//! space 1}`), which must be refused, not misread. For the same reason documents are never read as
//! EDN, but as JSON.

mod read;
#[cfg(test)]
mod tests;

use std::fmt;

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
