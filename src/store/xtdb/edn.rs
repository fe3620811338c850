//! EDN, as far as XTDB prints it and takes it: the values, a reader for answers, a writer for what queries are asked with. Must not
//! know what an answer means.
//!
//! A reader of our own, since the crates there are read a whole text at once, or forgive what is not EDN: XTDB prints the keys of JSON
//! objects as keywords whatever is in them (`{:with space 1}`), and such a document has to be refused, not read as another one.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;

use serde_json::{Map, Number, Value};

pub(super) use self::read::{Problem, Reader, read_all};
pub(super) use self::write::{NotEdn, write_value};
use crate::object::Timestamp;

/// One value. Numbers that do not fit are kept as they were printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edn {
    Nil,
    Bool(bool),
    Integer(i64),
    /// Beyond 64 bits, or printed with `N`; without the `N`.
    BigInteger(String),
    Float(f64),
    /// Printed with `M`; without it.
    Decimal(String),
    /// `1/3`.
    Ratio(String),
    Char(char),
    Text(String),
    /// Without the colon, with its namespace: `xt/id`.
    Keyword(String),
    Symbol(String),
    List(Vec<Edn>),
    Vector(Vec<Edn>),
    Set(Vec<Edn>),
    Map(Vec<(Edn, Edn)>),
    /// `#inst`.
    Instant(Timestamp),
    /// Any other tag, without the `#`: `uuid`, `xtdb/id`, `error`.
    Tagged(String, Box<Edn>),
}

impl Edn {
    /// The value of a keyword in a map.
    pub(super) fn get(&self, keyword: &str) -> Option<&Edn> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find_map(|(key, value)| {
            matches!(key, Self::Keyword(name) if name == keyword).then_some(value)
        })
    }

    /// The members of a list, a vector or a set.
    pub(super) fn members(&self) -> Option<&[Edn]> {
        match self {
            Self::List(members) | Self::Vector(members) | Self::Set(members) => Some(members),
            _ => None,
        }
    }

    /// What the server's own JSON says for the value: keywords, symbols, tags and sets become text and arrays.
    ///
    /// What came to the server as JSON comes back as it was, but for what JSON has no number for.
    pub(super) fn into_json(self) -> Value {
        match self {
            Self::Nil => Value::Null,
            Self::Bool(is) => Value::Bool(is),
            Self::Integer(number) => number.into(),
            Self::BigInteger(digits) => match digits.parse::<u64>() {
                Ok(number) => number.into(),
                Err(_) => digits.parse().map_or(Value::Null, |number: f64| number.into()),
            },
            Self::Float(number) => Number::from_f64(number)
                .map_or_else(|| Value::String(float_name(number).to_owned()), Value::Number),
            Self::Decimal(digits) => {
                digits.parse().map_or(Value::Null, |number: f64| number.into())
            }
            Self::Char(char) => Value::String(char.to_string()),
            Self::Text(text) | Self::Keyword(text) | Self::Symbol(text) | Self::Ratio(text) => {
                Value::String(text)
            }
            Self::List(members) | Self::Vector(members) | Self::Set(members) => {
                members.into_iter().map(Self::into_json).collect()
            }
            Self::Map(entries) => Value::Object(object(entries)),
            Self::Instant(time) => Value::String(time.to_string()),
            Self::Tagged(_, value) => value.into_json(),
        }
    }

    /// A map as a JSON object; anything else comes back.
    pub(super) fn into_object(self) -> Result<Map<String, Value>, Self> {
        match self {
            Self::Map(entries) => Ok(object(entries)),
            other => Err(other),
        }
    }
}

fn object(entries: Vec<(Edn, Edn)>) -> Map<String, Value> {
    let text = |key: Edn| match key.into_json() {
        Value::String(text) => text,
        other => other.to_string(),
    };
    entries.into_iter().map(|(key, value)| (text(key), value.into_json())).collect()
}

fn float_name(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// What kind of value it is, for messages.
impl fmt::Display for Edn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a boolean",
            Self::Integer(_)
            | Self::BigInteger(_)
            | Self::Float(_)
            | Self::Decimal(_)
            | Self::Ratio(_) => "a number",
            Self::Char(_) => "a character",
            Self::Text(_) => "a string",
            Self::Keyword(_) => "a keyword",
            Self::Symbol(_) => "a symbol",
            Self::List(_) => "a list",
            Self::Vector(_) => "a vector",
            Self::Set(_) => "a set",
            Self::Map(_) => "a map",
            Self::Instant(_) => "a time",
            Self::Tagged(..) => "a tagged value",
        })
    }
}
