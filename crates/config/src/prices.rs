//! The setting `prices`: the name of a preset, or price tables by model. Plain data.
//!
//! `charge` computes what a request costs by such a table. Must not know a session or a model's
//! data.

use std::collections::BTreeMap;

use globset::GlobBuilder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::refusal::{reading_problem, shown};

/// The choice that takes prices from the host's data about the model.
pub const AUTO: &str = "auto";

/// What a provider can reuse from earlier requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reuse {
    /// Any common prefix.
    AnyPrefix,
    /// A whole earlier request if this one continues it, else only system prompt and tools: hosts
    /// set cache breakpoints after the tools and at the end.
    Breakpoints,
}

/// A price table, relative to the price of one uncached input token of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prices {
    /// Price of a token read from the cache.
    pub read: f64,
    /// Price of a token that is not read from the cache.
    pub write: f64,
    /// What can be reused. Default: any prefix.
    #[serde(default = "any_prefix_reuse")]
    pub reuse: Reuse,
    /// Seconds after which the cache expires; `None` if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_seconds: Option<u64>,
    /// Other prices for long requests, each for the whole request. The highest exceeded threshold
    /// counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
}

/// Prices of requests that are longer than a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tier {
    /// Applies to requests with more input tokens than this.
    pub above_tokens: u64,
    /// Price of a token read from the cache.
    pub read: f64,
    /// Price of a token that is not read from the cache.
    pub write: f64,
}

/// A choice of prices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PriceTable {
    /// `auto`, or a preset's name.
    Named(String),
    /// The user's own table.
    Own(Prices),
}

/// The value of the setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PriceSetting {
    /// `auto`, or a preset's name, for every model.
    Named(String),
    /// By pattern of `provider/model`, where `*` stands for anything. The longest matching pattern
    /// counts.
    ByModel(BTreeMap<String, PriceTable>),
}

impl Default for PriceSetting {
    fn default() -> Self {
        Self::Named(AUTO.to_owned())
    }
}

/// A preset: its name and its table.
type Preset = (&'static str, Prices);

/// The presets. Prices are those of the providers' public price lists, relative to uncached input.
/// OpenAI reads from the cache at a tenth since GPT-5, at a quarter with GPT-4.1, o3 and o4-mini, and
/// at half with GPT-4o, o1 and o3-mini (<https://openai.com/index/api-prompt-caching/>,
/// <https://developers.openai.com/api/docs/pricing>).
static PRESETS: [Preset; 9] = [
    ("anthropic", breakpoints(1.25, 300)),
    ("anthropic-1h", breakpoints(2.0, 3_600)),
    ("openai", any_prefix(1.0, 0.1)),
    ("openai-4.1", any_prefix(1.0, 0.25)),
    ("openai-4o", any_prefix(1.0, 0.5)),
    ("gemini", any_prefix(1.0, 0.25)),
    ("deepseek", any_prefix(1.0, 0.02)),
    ("none", any_prefix(1.0, 1.0)),
    ("local", any_prefix(1.0, 0.0)),
];

const fn breakpoints(write: f64, lifetime_seconds: u64) -> Prices {
    let lifetime_seconds = Some(lifetime_seconds);
    Prices { read: 0.1, write, reuse: Reuse::Breakpoints, lifetime_seconds, tiers: Vec::new() }
}

const fn any_prefix(write: f64, read: f64) -> Prices {
    let reuse = any_prefix_reuse();
    Prices { read, write, reuse, lifetime_seconds: None, tiers: Vec::new() }
}

const fn any_prefix_reuse() -> Reuse {
    Reuse::AnyPrefix
}

impl Prices {
    /// The preset with this name.
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|(known, _)| *known == name).map(|(_, prices)| prices.clone())
    }

    /// Names of the presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }

    /// Whether no price is negative and writing costs something.
    fn is_valid(&self) -> bool {
        let tiers = self.tiers.iter().map(|tier| (tier.read, tier.write));
        tiers.chain([(self.read, self.write)]).all(|(read, write)| {
            read.is_finite() && read >= 0.0 && write.is_finite() && write > 0.0
        })
    }
}

impl PriceSetting {
    /// The choice for a model, named as `provider/model`.
    pub fn for_model(&self, model: &str) -> PriceTable {
        match self {
            Self::Named(name) => PriceTable::Named(name.clone()),
            Self::ByModel(tables) => {
                let fitting = tables.iter().filter(|(pattern, _)| fits(pattern, model));
                let longest = fitting.max_by_key(|(pattern, _)| pattern.len());
                let auto = || PriceTable::Named(AUTO.to_owned());
                longest.map_or_else(auto, |(_, table)| table.clone())
            }
        }
    }

    /// What is wrong with a value of the setting, phrased to follow its name; `None` if nothing.
    ///
    /// `value`: a string or an object.
    pub(super) fn problem(value: &Value) -> Option<String> {
        let Some(tables) = value.as_object() else { return unknown_preset(value) };
        tables.iter().find_map(|(pattern, table)| {
            let problem = match GlobBuilder::new(pattern).build() {
                Err(error) => Some(format!("is not a pattern: {}", error.kind())),
                Ok(_) if table.is_string() => unknown_preset(table),
                Ok(_) => reading_problem::<Prices>(table).or_else(|| {
                    let prices: Prices = serde_json::from_value(table.clone()).ok()?;
                    let problem = "prices must not be negative, and `write` must be above 0";
                    (!prices.is_valid()).then(|| format!("holds `{}`: {problem}", shown(table)))
                }),
            };
            problem.map(|problem| format!("has the entry `{pattern}`, which {problem}"))
        })
    }
}

/// A problem that lists the presets if a value is none of them.
fn unknown_preset(value: &Value) -> Option<String> {
    let mut names = std::iter::once(AUTO).chain(Prices::presets());
    if names.any(|name| value == name) {
        return None;
    }
    let presets: Vec<String> = Prices::presets().map(|name| format!("`{name}`")).collect();
    let presets = presets.join(", ");
    Some(format!("must be `{AUTO}`, {presets}, or an object, is `{}`", shown(value)))
}

/// Whether a model's name matches a pattern; a pattern that cannot be parsed matches none.
fn fits(pattern: &str, model: &str) -> bool {
    GlobBuilder::new(pattern).build().is_ok_and(|glob| glob.compile_matcher().is_match(model))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn setting(value: serde_json::Value) -> PriceSetting {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_longest_pattern_that_fits_counts() {
        let tables = setting(json!({
            "*": "none", "openrouter/*": "openai", "openrouter/*/claude*": { "read": 0.1, "write": 1.25, "reuse": "breakpoints" },
        }));
        let named = |name: &str| PriceTable::Named(name.to_owned());
        assert_eq!(tables.for_model("ollama/qwen3"), named("none"));
        assert_eq!(tables.for_model("openrouter/z-ai/glm"), named("openai"));
        let claude = tables.for_model("openrouter/anthropic/claude-x");
        assert!(matches!(claude, PriceTable::Own(Prices { reuse: Reuse::Breakpoints, .. })));
    }

    #[test]
    fn models_that_no_pattern_fits_are_priced_by_the_hosts_data() {
        let tables = setting(json!({ "a/*": "none" }));
        assert_eq!(tables.for_model("b/c"), PriceTable::Named(AUTO.into()));
    }

    #[test]
    fn settings_that_price_nothing_are_refused() {
        let own = |read: f64, write: f64| json!({ "*": { "read": read, "write": write } });
        for (value, is_valid) in [
            (json!("auto"), true),
            (json!("anthropic-1h"), true),
            (json!("antropic"), false),
            (own(0.0, 1.0), true),
            (own(-0.1, 1.0), false),
            (own(0.1, 0.0), false),
            (json!({ "*": "openai", "[": "none" }), false),
            (json!({ "*": "nobody" }), false),
        ] {
            assert_eq!(PriceSetting::problem(&value).is_none(), is_valid, "{value}");
        }
    }

    #[test]
    fn a_refusal_names_the_presets_the_entry_or_the_key() {
        let problem = |value| PriceSetting::problem(&value).unwrap();
        insta::assert_snapshot!(problem(json!("antropic")), @r#"must be `auto`, `anthropic`, `anthropic-1h`, `openai`, `openai-4.1`, `openai-4o`, `gemini`, `deepseek`, `none`, `local`, or an object, is `"antropic"`"#);
        insta::assert_snapshot!(problem(json!({ "*": "auto", "a/*": "nobody" })), @r#"has the entry `a/*`, which must be `auto`, `anthropic`, `anthropic-1h`, `openai`, `openai-4.1`, `openai-4o`, `gemini`, `deepseek`, `none`, `local`, or an object, is `"nobody"`"#);
        insta::assert_snapshot!(problem(json!({ "a/*": { "read": 0.1 } })), @"has the entry `a/*`, which lacks the key `write`");
        insta::assert_snapshot!(problem(json!({ "a/*": { "read": 0.1, "writ": 1 } })), @"has the entry `a/*`, which is refused: unknown field `writ`, expected one of `read`, `write`, `reuse`, `lifetimeSeconds`, `tiers`");
        insta::assert_snapshot!(problem(json!({ "a/*": { "read": -1, "write": 1 } })), @r#"has the entry `a/*`, which holds `{"read":-1,"write":1}`: prices must not be negative, and `write` must be above 0"#);
        insta::assert_snapshot!(problem(json!({ "a/*": 3 })), @"has the entry `a/*`, which is not an object");
        insta::assert_snapshot!(problem(json!({ "[": "none" })), @"has the entry `[`, which is not a pattern: unclosed character class; missing ']'");
    }
}
