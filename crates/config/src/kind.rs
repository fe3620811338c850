//! The types of setting values.

use serde_json::Value;

use super::prices::PriceSetting;
use super::refusal::{reading_problem, shown};
use crate::{Exclude, MountMapping, xtdb_url_problem};
use base::error::Error;

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
    /// A server address, or `null`.
    Url,
    /// A list of globs, or `null`.
    Globs,
    /// A choice of prices, see [`PriceSetting`].
    Prices,
    /// A list of mount mappings, see [`MountMapping`].
    Mounts,
}

impl SettingType {
    /// The expected values, phrased to follow "must be".
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
            Self::Url => {
                "an address that begins with `http://` or `https://`, or `null`".to_owned()
            }
            Self::Globs => "a list of globs, or `null`".to_owned(),
            Self::Prices => "a preset's name, or tables by model".to_owned(),
            Self::Mounts => "a list of mount mappings".to_owned(),
        }
    }

    /// What is wrong with a value, phrased to follow the setting's name; `None` if it has this
    /// type.
    pub(crate) fn problem(self, value: &Value) -> Option<String> {
        let is_fit = match self {
            Self::Boolean => value.is_boolean(),
            Self::Choice(choices) => value.as_str().is_some_and(|text| choices.contains(&text)),
            Self::OptionalText => {
                value.is_null() || value.as_str().is_some_and(|text| !text.trim().is_empty())
            }
            Self::Count { min, max } => {
                value.as_u64().is_some_and(|number| (min..=max).contains(&number))
            }
            Self::Share => value.as_f64().is_some_and(|number| number > 0.0 && number <= 1.0),
            Self::Url | Self::Globs if value.is_null() => true,
            Self::Url => match value.as_str() {
                // It may hold a password.
                Some(url) => return xtdb_url_problem(url),
                None => false,
            },
            Self::Globs => return self.problem_of_list(value, problem_of_glob),
            Self::Prices => return self.problem_of_prices(value),
            Self::Mounts => return self.problem_of_mounts(value),
        };
        (!is_fit).then(|| self.refusal(value))
    }

    /// What of a value with a problem counts all the same: of a list the entries that are right, if
    /// there are some.
    pub(crate) fn right_part(self, value: &Value) -> Option<Value> {
        let one = |entry: &Value| Value::Array(vec![entry.clone()]);
        let is_right = |entry: &&Value| self.problem(&one(entry)).is_none();
        let entries = value.as_array().filter(|_| matches!(self, Self::Globs | Self::Mounts))?;
        let right = Value::Array(entries.iter().filter(is_right).cloned().collect());
        let is_some = right.as_array().is_some_and(|right| !right.is_empty());
        (is_some && self.problem(&right).is_none()).then_some(right)
    }

    fn refusal(self, value: &Value) -> String {
        format!("must be {}, is `{}`", self.expectation(), shown(value))
    }

    /// The first problem in a list, with the number of its entry from 1.
    fn problem_of_list(
        self,
        value: &Value,
        problem: impl Fn(&Value) -> Option<String>,
    ) -> Option<String> {
        let Some(entries) = value.as_array() else { return Some(self.refusal(value)) };
        let mut problems = entries.iter().zip(1..);
        problems.find_map(|(entry, place)| {
            let problem = problem(entry)?;
            Some(format!("has the entry {place}, `{}`, which {problem}", shown(entry)))
        })
    }

    fn problem_of_prices(self, value: &Value) -> Option<String> {
        if value.is_string() || value.is_object() {
            return PriceSetting::problem(value);
        }
        Some(self.refusal(value))
    }

    fn problem_of_mounts(self, value: &Value) -> Option<String> {
        let entry = |entry: &Value| reading_problem::<MountMapping>(entry);
        self.problem_of_list(value, entry).or_else(|| {
            let mounts: Vec<MountMapping> = serde_json::from_value(value.clone()).ok()?;
            MountMapping::problem(&mounts)
        })
    }
}

fn problem_of_glob(value: &Value) -> Option<String> {
    let Some(glob) = value.as_str() else { return Some("is not a string".to_owned()) };
    match Exclude::new(&[glob.to_owned()]) {
        Err(Error::InvalidArgument { .. }) if glob.trim().is_empty() => Some("is empty".to_owned()),
        Err(Error::InvalidArgument { problem, .. }) => {
            let why = problem.rsplit_once(": ").map_or("", |(_, why)| why);
            Some(format!("is not a glob: {why}"))
        }
        _ => None,
    }
}
