//! Checks the values of a settings file against the table of settings, and reports every problem.

use serde_json::{Map, Value};

use super::table::{SETTINGS, SettingDoc};

/// Which settings a file may set.
pub(super) type MaySet = fn(&SettingDoc) -> bool;

/// The user's file: all of them.
pub(super) fn any_setting(_: &SettingDoc) -> bool {
    true
}

/// A project's file: those that cannot redirect the user's store.
pub(super) fn project_setting(doc: &SettingDoc) -> bool {
    doc.project
}

/// All problems with the values of a file, in the file's order.
pub(super) fn problems(values: &Map<String, Value>, may_set: MaySet) -> Vec<String> {
    values.iter().filter_map(|(key, value)| problem(key, value, may_set)).collect()
}

/// What is wrong with one value of a file. `None` if nothing is.
pub(super) fn problem(key: &str, value: &Value, may_set: MaySet) -> Option<String> {
    let Some(doc) = SETTINGS.iter().find(|doc| doc.key == key) else {
        return Some(unknown(key, may_set));
    };
    if !may_set(doc) {
        return Some(format!("`{key}` may be set in the user's settings only"));
    }
    doc.kind.problem(value).map(|problem| format!("`{key}` {problem}"))
}

fn unknown(key: &str, may_set: MaySet) -> String {
    let allowed = SETTINGS.iter().filter(|doc| may_set(doc));
    match nearest(key, allowed) {
        Some(near) => format!("`{key}` is not a setting, `{near}` is"),
        None => format!("`{key}` is not a setting"),
    }
}

/// The setting whose key is most like `key`, if any is close; case and separators do not count.
fn nearest(key: &str, docs: impl Iterator<Item = &'static SettingDoc>) -> Option<&'static str> {
    /// Least similarity of two keys for one to be taken as a misspelling of the other.
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
