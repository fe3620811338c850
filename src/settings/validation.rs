//! Checks the values of a settings file against the table of settings. Says everything that is wrong, not the first.

use serde_json::{Map, Value};

use super::{MaySet, PriceSetting, SETTINGS, SettingDoc};
use crate::source::{Exclude, MountMapping};

/// What a setting's value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingType {
    /// `true` or `false`.
    Boolean,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A string that is not blank, or `null`.
    OptionalText,
    /// A whole number within these bounds, both included.
    Count {
        /// Least value.
        min: u64,
        /// Greatest value.
        max: u64,
    },
    /// A number above 0 and up to 1.
    Share,
    /// A list of globs, or `null`.
    Globs,
    /// A choice of prices, see [`PriceSetting`].
    Prices,
    /// A list of mount mappings, see [`MountMapping`].
    Mounts,
}

impl SettingType {
    /// What is expected, in words that follow "must be".
    pub fn expectation(self) -> String {
        match self {
            Self::Boolean => "`true` or `false`".to_owned(),
            Self::Choice(choices) => {
                let quoted: Vec<_> =
                    choices.iter().map(|choice| format!("`\"{choice}\"`")).collect();
                quoted.join(" or ")
            }
            Self::OptionalText => "a string that is not empty, or `null`".to_owned(),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Share => "a number above 0 and up to 1".to_owned(),
            Self::Globs => "a list of globs, or `null`".to_owned(),
            Self::Prices => "a preset's name, or tables by model".to_owned(),
            Self::Mounts => "a list of mount mappings".to_owned(),
        }
    }

    fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Boolean => value.is_boolean(),
            Self::Choice(choices) => value.as_str().is_some_and(|text| choices.contains(&text)),
            Self::OptionalText => {
                value.is_null() || value.as_str().is_some_and(|text| !text.trim().is_empty())
            }
            Self::Count { min, max } => {
                value.as_u64().is_some_and(|number| (min..=max).contains(&number))
            }
            Self::Share => value.as_f64().is_some_and(|number| number > 0.0 && number <= 1.0),
            Self::Globs => {
                let globs = serde_json::from_value::<Option<Vec<String>>>(value.clone());
                globs.is_ok_and(|globs| Exclude::new(&globs.unwrap_or_default()).is_ok())
            }
            Self::Prices => {
                let prices = serde_json::from_value::<PriceSetting>(value.clone());
                prices.is_ok_and(|prices| prices.is_valid())
            }
            Self::Mounts => serde_json::from_value::<Vec<MountMapping>>(value.clone()).is_ok(),
        }
    }
}

/// Everything that is wrong with the values of a file, in its order.
pub(super) fn problems(values: &Map<String, Value>, may_set: MaySet) -> Vec<String> {
    values.iter().filter_map(|(key, value)| problem(key, value, may_set)).collect()
}

fn problem(key: &str, value: &Value, may_set: MaySet) -> Option<String> {
    let Some(doc) = SETTINGS.iter().find(|doc| doc.key == key) else {
        return Some(unknown(key, may_set));
    };
    if !may_set(doc) {
        return Some(format!("`{key}` may be set in the user's settings only"));
    }
    if !doc.kind.accepts(value) {
        let expected = doc.kind.expectation();
        return Some(format!("`{key}` must be {expected}, is `{}`", shown(value)));
    }
    let mounts = (doc.kind == SettingType::Mounts).then(|| serde_json::from_value(value.clone()));
    let mounts: Vec<MountMapping> = mounts?.ok()?;
    MountMapping::problem(&mounts).map(|problem| format!("`{key}` {problem}"))
}

fn unknown(key: &str, may_set: MaySet) -> String {
    let allowed = SETTINGS.iter().filter(|doc| may_set(doc));
    match nearest(key, allowed) {
        Some(near) => format!("`{key}` is not a setting, `{near}` is"),
        None => format!("`{key}` is not a setting"),
    }
}

/// The key that is written most like `key`, if any is close; case and separators do not count.
fn nearest(key: &str, docs: impl Iterator<Item = &'static SettingDoc>) -> Option<&'static str> {
    /// Share of characters that two keys must have in common to pass for a slip of the pen.
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

/// A value as JSON, cut where it is long.
fn shown(value: &Value) -> String {
    /// Most characters shown of a value.
    const LONGEST: usize = 60;

    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
