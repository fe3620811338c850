//! What the value of a setting must be.

use serde_json::Value;

use super::prices::PriceSetting;
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
    /// The expected values, in words that follow "must be".
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

    /// Whether a value is of this type.
    pub(super) fn accepts(self, value: &Value) -> bool {
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
