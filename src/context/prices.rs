//! What input tokens cost: price tables, and the bill of one request. Pure.
//!
//! All prices are relative to a plain input token of the model, so that bills of different models compare. Must not read
//! settings files nor know a session. Rules: DESIGN.md sections 7 and 13.

use serde::{Deserialize, Serialize};

/// What a provider can reuse of the request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reuse {
    /// Any common prefix.
    AnyPrefix,
    /// The whole request before, if this one only grew; else no more than system prompt and tools: breakpoints stand behind
    /// these and at the end.
    Breakpoints,
}

/// A price table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Prices {
    /// Price of a token read from the cache.
    pub read: f64,
    /// Price of a token that is not read from the cache.
    pub write: f64,
    /// What can be reused.
    pub reuse: Reuse,
    /// Seconds after which the cache is gone; `None` where it stays.
    pub lifetime_seconds: Option<u64>,
}

/// The input of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Tokens of system prompt and tools, the same as in the request before.
    pub fixed: u64,
    /// Tokens of the messages.
    pub messages: u64,
    /// Tokens of the messages at the front that are those of the request before.
    pub shared: u64,
    /// Whether the request before is a prefix of this one.
    pub grown: bool,
    /// Whether the cache of the request before still lives; never at the first call.
    pub warm: bool,
}

/// The bill of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charge {
    /// Tokens read from the cache.
    pub cached: u64,
    /// All others.
    pub written: u64,
    /// Cost, in prices of a plain input token.
    pub cost: f64,
}

/// A preset: its name and its table.
type Preset = (&'static str, Prices);

/// The presets (DESIGN.md section 13; issue 5, *Prices*).
const PRESETS: [Preset; 7] = [
    ("anthropic", breakpoints(1.25, 300)),
    ("anthropic-1h", breakpoints(2.0, 3_600)),
    ("openai", any_prefix(1.0, 0.1)),
    ("gemini", any_prefix(1.0, 0.25)),
    ("deepseek", any_prefix(1.0, 0.02)),
    ("none", any_prefix(1.0, 1.0)),
    ("local", any_prefix(1.0, 0.0)),
];

const fn breakpoints(write: f64, lifetime_seconds: u64) -> Prices {
    let lifetime_seconds = Some(lifetime_seconds);
    Prices { read: 0.1, write, reuse: Reuse::Breakpoints, lifetime_seconds }
}

const fn any_prefix(write: f64, read: f64) -> Prices {
    Prices { read, write, reuse: Reuse::AnyPrefix, lifetime_seconds: None }
}

impl Prices {
    /// The preset of a name.
    pub fn preset(name: &str) -> Option<Self> {
        PRESETS.iter().find(|(known, _)| *known == name).map(|(_, prices)| prices.clone())
    }

    /// Names of the presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|(name, _)| *name)
    }

    /// Whether reading from the cache costs what writing costs: nothing is gained by keeping a prefix.
    pub fn is_uncached(&self) -> bool {
        self.read >= self.write
    }

    /// Bills one request.
    pub fn charge(&self, input: &Input) -> Charge {
        let messages = match self.reuse {
            Reuse::Breakpoints if !input.grown => 0,
            Reuse::Breakpoints | Reuse::AnyPrefix => input.shared,
        };
        let cached = if input.warm { input.fixed + messages } else { 0 };
        let written = (input.fixed + input.messages).saturating_sub(cached);
        Charge { cached, written, cost: self.cost(cached, written) }
    }

    /// Cost of tokens read from the cache and of others.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn cost(&self, cached: u64, written: u64) -> f64 {
        cached as f64 * self.read + written as f64 * self.write
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROWN: Input =
        Input { fixed: 4_000, messages: 11_000, shared: 10_000, grown: true, warm: true };

    #[test]
    fn a_request_that_grew_pays_the_write_price_for_what_is_new() {
        let charge = Prices::preset("anthropic").unwrap().charge(&GROWN);
        assert_eq!((charge.cached, charge.written), (14_000, 1_000));
        assert!((charge.cost - (1_400.0 + 1_250.0)).abs() < 1e-9);
    }

    #[test]
    fn a_change_falls_back_to_system_and_tools_where_breakpoints_decide() {
        let changed = Input { grown: false, ..GROWN };
        assert_eq!(Prices::preset("anthropic").unwrap().charge(&changed).cached, 4_000);
        assert_eq!(Prices::preset("openai").unwrap().charge(&changed).cached, 14_000);
    }

    #[test]
    fn a_cold_cache_holds_nothing() {
        let cold = Input { warm: false, ..GROWN };
        for name in Prices::presets() {
            assert_eq!(Prices::preset(name).unwrap().charge(&cold).cached, 0, "{name}");
        }
    }

    #[test]
    fn unknown_presets_are_none() {
        assert_eq!(Prices::preset("nobody"), None);
        assert!(Prices::preset("none").unwrap().is_uncached());
    }
}
