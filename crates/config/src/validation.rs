//! Checks the values of a settings file against a table of settings, and reports every problem.

use serde_json::{Map, Value};

use super::table::{SETTINGS, SettingDoc};

/// What a file may set.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The known settings.
    pub table: &'static [SettingDoc],
    /// Whether it is a project's file. It may come with a cloned repository, so it cannot redirect
    /// the user's store.
    pub is_project: bool,
}

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

/// The setting with the key most similar to `key`, if any is close; ignores case and separators.
fn nearest(key: &str, docs: impl Iterator<Item = &'static SettingDoc>) -> Option<&'static str> {
    /// Least similarity at which one key counts as a misspelling of another.
    const CLOSE: f32 = 0.6;

    let plain = |key: &str| key.to_lowercase().replace(['_', '-', ' '], "");
    let wanted = plain(key);
    let rated = docs.map(|doc| {
        let ratio = similar::TextDiff::from_chars(&wanted, plain(doc.key)).ratio();
        (doc.key, ratio)
    });
    rated
        .filter(|(_, ratio)| *ratio >= CLOSE)
        .max_by(|(_, one), (_, other)| one.total_cmp(other))
        .map(|(key, _)| key)
}
