//! Changes to a JSON value as JSON Patch (RFC 6902), as far as breakpoints need it.

use serde::Serialize;
use serde_json::Value;

/// A change to a request, as in JSON Patch (RFC 6902): `path` is a JSON pointer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Patch {
    /// Sets a member of an object, or inserts into an array before the index.
    Add {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Replaces a value.
    Replace {
        /// Where.
        path: String,
        /// What.
        value: Value,
    },
    /// Removes a member of an object.
    Remove {
        /// Where.
        path: String,
    },
}

/// Applies changes in order. Changes whose place does not exist are skipped.
pub fn apply(request: &mut Value, patches: &[Patch]) {
    for patch in patches {
        let (path, value) = match patch {
            Patch::Add { path, value } | Patch::Replace { path, value } => (path, Some(value)),
            Patch::Remove { path } => (path, None),
        };
        let Some((parent, name)) = path.rsplit_once('/') else { continue };
        match (request.pointer_mut(parent), value) {
            (Some(Value::Object(members)), Some(value)) => {
                members.insert(name.to_owned(), value.clone());
            }
            (Some(Value::Object(members)), None) => drop(members.shift_remove(name)),
            (Some(Value::Array(values)), Some(value)) => {
                if let Some(at) = name.parse().ok().filter(|at| *at <= values.len()) {
                    values.insert(at, value.clone());
                }
            }
            _ => {}
        }
    }
}
