//! The bill of one request, by a price table. Pure.
//!
//! All prices are relative to one uncached input token of the model, so that bills of different
//! models can be compared. Must not know where a table comes from.

use super::{Prices, Reuse};

/// The input of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Input {
    /// Tokens of system prompt and tools.
    pub fixed: u64,
    /// Tokens of the messages.
    pub messages: u64,
    /// Cached tokens at the front of the messages, besides system prompt and tools; `None` if not
    /// even those are cached.
    pub cached: Option<u64>,
}

/// The bill of one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charge {
    /// Tokens read from the cache.
    pub cached: u64,
    /// All other input tokens.
    pub written: u64,
    /// Cost; 1 is the price of one uncached input token.
    pub cost: f64,
}

impl Prices {
    /// Prices of cached and other tokens in a request with this many input tokens.
    pub fn at(&self, tokens: u64) -> (f64, f64) {
        let passed = self.tiers.iter().filter(|tier| tokens > tier.above_tokens);
        let highest = passed.max_by_key(|tier| tier.above_tokens);
        highest.map_or((self.read, self.write), |tier| (tier.read, tier.write))
    }

    /// Bills one request.
    pub fn charge(&self, input: &Input) -> Charge {
        let messages = input.messages;
        let cached = input.cached.map_or(0, |cached| input.fixed + cached.min(messages));
        let written = input.fixed + messages - cached;
        Charge { cached, written, cost: self.cost(cached, written) }
    }

    /// Message tokens that can be reused from the previous request, if its cache is alive.
    /// `shared`: tokens at the front that equal its messages. `grown`: whether the previous request
    /// is a prefix of this one.
    pub fn reusable(&self, shared: u64, grown: bool) -> u64 {
        match self.reuse {
            Reuse::Breakpoints if !grown => 0,
            Reuse::Breakpoints | Reuse::AnyPrefix => shared,
        }
    }

    /// Cost of a request: tokens read from the cache, and all other input tokens.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn cost(&self, cached: u64, written: u64) -> f64 {
        let (read, write) = self.at(cached + written);
        cached as f64 * read + written as f64 * write
    }

    /// Cost of an input as a provider reports it: uncached tokens, tokens read from the cache,
    /// tokens written to it. Uncached input costs 1; in a long request its price rises by the same
    /// factor as writing.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
    pub fn cost_reported(&self, input: u64, cache_read: u64, cache_write: u64) -> f64 {
        let (read, write) = self.at(input + cache_read + cache_write);
        let plain = write / self.write;
        input as f64 * plain + cache_read as f64 * read + cache_write as f64 * write
    }

    /// [`Self::charge`] in the provider's tokens, on which the prices of long requests depend.
    /// `factor`: the provider's count divided by ours.
    pub fn charge_counted(&self, input: &Input, factor: f64) -> Charge {
        let counted = self.charge(input);
        let cached = scaled(counted.cached, factor);
        // Scale the sum, not both parts, so that rounding does not change the total.
        let written = scaled(counted.cached + counted.written, factor).saturating_sub(cached);
        Charge { cached, written, cost: self.cost(cached, written) }
    }
}

/// A token count to calculate with.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
pub fn as_f64(tokens: u64) -> f64 {
    tokens as f64
}

/// Converts our token count to the provider's.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a token count times a small positive factor"
)]
pub fn scaled(tokens: u64, factor: f64) -> u64 {
    (tokens as f64 * factor).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tier;

    const GROWN: Input = Input { fixed: 4_000, messages: 11_000, cached: Some(10_000) };

    #[test]
    fn a_request_that_grew_pays_the_write_price_for_what_is_new() {
        let charge = Prices::preset("anthropic").unwrap().charge(&GROWN);
        assert_eq!((charge.cached, charge.written), (14_000, 1_000));
        assert!((charge.cost - (1_400.0 + 1_250.0)).abs() < 1e-9);
    }

    #[test]
    fn with_breakpoints_a_change_keeps_only_system_and_tools() {
        let reusable = |name: &str, grown| Prices::preset(name).unwrap().reusable(10_000, grown);
        assert_eq!((reusable("anthropic", true), reusable("anthropic", false)), (10_000, 0));
        assert_eq!((reusable("openai", true), reusable("openai", false)), (10_000, 10_000));
    }

    #[test]
    fn a_cold_cache_holds_nothing() {
        let cold = Input { cached: None, ..GROWN };
        for name in Prices::presets() {
            assert_eq!(Prices::preset(name).unwrap().charge(&cold).cached, 0, "{name}");
        }
    }

    #[test]
    fn a_long_request_costs_more_as_a_whole() {
        let tier = Tier { above_tokens: 10_000, read: 0.2, write: 2.5 };
        let prices = Prices { tiers: vec![tier], ..Prices::preset("anthropic").unwrap() };
        assert!((prices.charge(&GROWN).cost - (2_800.0 + 2_500.0)).abs() < 1e-9);
        let short = Input { messages: 6_000, cached: Some(5_000), ..GROWN };
        assert!((prices.charge(&short).cost - (900.0 + 1_250.0)).abs() < 1e-9);
    }
}
