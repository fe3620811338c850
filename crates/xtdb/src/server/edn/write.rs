//! The writer: JSON values as the EDN that the server makes of the same JSON.

use std::fmt::Write as _;

use serde_json::Value;

/// A key that no keyword can express, so that it would be misread.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotEdn {
    pub(crate) key: String,
}

/// Writes a value. The keys of objects become keywords, as in a JSON put.
///
/// # Errors
/// A key with characters that a keyword may not have.
pub(crate) fn write_value(value: &Value, into: &mut String) -> Result<(), NotEdn> {
    match value {
        Value::Null => into.push_str("nil"),
        // JSON's escapes are EDN's too.
        Value::Bool(_) | Value::String(_) => write_json(value, into),
        Value::Number(number) => {
            write_json(value, into);
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

fn write_json(value: &Value, into: &mut String) {
    write!(into, "{value}").expect("a string takes everything");
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
