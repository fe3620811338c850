//! Checks the values of a settings file against a table of settings, and reports every problem.

use std::path::Path;

use serde_json::{Map, Value};

use super::table::{SETTINGS, SettingDoc};
use base::error::Error;
use base::object::likeness;

/// What a file may set.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The known settings.
    pub table: &'static [SettingDoc],
    /// Whether it is a project's file. It may come with a cloned repository, so it cannot redirect
    /// the user's store.
    pub is_project: bool,
}

/// The settings that say whose the files are which an agent sees.
const CONFINING: [&str; 2] = ["mounts", "sandbox"];

/// Owner of the files of an agent whose sandbox cannot be told from the settings.
const UNKNOWN_SANDBOX: &str = "unknown";

/// For the user's settings file and for programs: all settings.
pub const ANY_SETTING: Rules = Rules { table: SETTINGS, is_project: false };

/// For a project's settings file.
pub const PROJECT_SETTING: Rules = Rules { table: SETTINGS, is_project: true };

impl Rules {
    /// All problems with the values of a file, in file order.
    pub fn problems(self, values: &Map<String, Value>) -> Vec<String> {
        values.iter().filter_map(|(key, value)| self.problem(key, value)).collect()
    }

    /// What is wrong with one value of a file; `None` if nothing.
    pub fn problem(self, key: &str, value: &Value) -> Option<String> {
        let Some(doc) = self.table.iter().find(|doc| doc.key == key) else {
            return Some(self.unknown(key));
        };
        if !self.allows(doc) {
            return Some(format!("`{key}` may be set in the user's settings only"));
        }
        doc.kind.problem(value).map(|problem| format!("`{key}` {problem}"))
    }

    /// Leaves of the values of a file what counts if a wrong value must not turn everything off, and
    /// returns all problems.
    ///
    /// Of a wrong list the right entries count. A wrong sandbox, or wrong mappings, must not make
    /// an agent's files those of this machine: they then belong to a sandbox that nobody knows.
    pub fn keep_right(self, values: &mut Map<String, Value>) -> Vec<String> {
        let problems = self.problems(values);
        if problems.is_empty() {
            return problems;
        }
        let docs = || self.table.iter().filter(|doc| self.allows(doc));
        let is_confined = docs().any(|doc| {
            let given = CONFINING.contains(&doc.key).then(|| values.get(doc.key)).flatten();
            given.is_some_and(|value| doc.kind.problem(value).is_some())
        });
        let right = |(key, value): (String, Value)| {
            let doc = docs().find(|doc| doc.key == key)?;
            let is_right = doc.kind.problem(&value).is_none();
            let part = if is_right { Some(value) } else { doc.kind.right_part(&value) };
            Some((key, part?))
        };
        *values = std::mem::take(values).into_iter().filter_map(right).collect();
        if is_confined && !values.contains_key("sandbox") {
            values.insert("sandbox".to_owned(), Value::from(UNKNOWN_SANDBOX));
        }
        problems
    }

    fn allows(self, doc: &SettingDoc) -> bool {
        doc.project || !self.is_project
    }

    fn unknown(self, key: &str) -> String {
        let allowed = self.table.iter().filter(|doc| self.allows(doc));
        match nearest(key, allowed) {
            Some(near) => format!("`{key}` is not a setting, `{near}` is"),
            None => format!("`{key}` is not a setting"),
        }
    }
}

/// The `INVALID_SETTINGS` error for a file with these problems; `None` if there are none.
pub fn refusal(path: &Path, problems: &[String]) -> Option<Error> {
    let error = || Error::InvalidSettings { path: path.to_owned(), problem: problems.join("; ") };
    (!problems.is_empty()).then(error)
}

/// The setting with the key most similar to `key`, if any is close; ignores case and separators.
fn nearest(key: &str, docs: impl Iterator<Item = &'static SettingDoc>) -> Option<&'static str> {
    /// Least similarity at which one key counts as a misspelling of another.
    const CLOSE: f32 = 0.6;

    let plain = |key: &str| key.to_lowercase().replace(['_', '-', ' '], "");
    let wanted = plain(key);
    let rated = docs.map(|doc| {
        let ratio = likeness(&wanted, &plain(doc.key));
        (doc.key, ratio)
    });
    rated
        .filter(|(_, ratio)| *ratio >= CLOSE)
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(rules: Rules, values: Value) -> (Value, usize) {
        let Value::Object(mut values) = values else { return (Value::Null, 0) };
        let problems = rules.keep_right(&mut values);
        (Value::Object(values), problems.len())
    }

    #[test]
    fn what_is_right_counts_beside_what_is_wrong() {
        for (given, expected, problems) in [
            (json!({ "track": false }), json!({ "track": false }), 0),
            (json!({ "track": false, "enabled": "yes", "nope": 1 }), json!({ "track": false }), 2),
            (
                json!({ "excludeAlso": ["*.key", 5, "["], "exclude": "*.pem", "keepResults": -1 }),
                json!({ "excludeAlso": ["*.key"] }),
                3,
            ),
            (json!({ "excludeAlso": [5] }), json!({}), 1),
            (json!({ "prices": { "a/*": "acme" }, "highWater": 2 }), json!({}), 2),
        ] {
            assert_eq!(kept(ANY_SETTING, given.clone()), (expected, problems), "{given}");
        }
    }

    #[test]
    fn a_wrong_sandbox_is_never_this_machine() {
        let mapping = json!({ "agentPrefix": "/workspace", "canonicalPrefix": "/home/me/project" });
        let unknown = json!({ "sandbox": "unknown" });
        assert_eq!(kept(ANY_SETTING, json!({ "sandbox": 5 })), (unknown.clone(), 1));
        assert_eq!(kept(ANY_SETTING, json!({ "mounts": "/workspace" })), (unknown, 1));
        let (right, problems) =
            kept(ANY_SETTING, json!({ "mounts": [mapping, 5], "sandbox": "box" }));
        assert_eq!((&right["sandbox"], problems), (&json!("box"), 1));
        // A project's file may say nothing of it.
        assert_eq!(kept(PROJECT_SETTING, json!({ "sandbox": 5, "mounts": 5 })), (json!({}), 2));
    }
}
