//! What models cost: the price table of their provider, what their own caches and long requests cost,
//! and the price of an uncached input token, by the providers' public price lists of November 2026.
//! Plain data.

use config::{Prices, Tier};

/// The models' names, with `-` for `.`, and US dollars for a million uncached input tokens.
const USD_PER_MILLION: [(&str, f64); 74] = [
    ("claude-fable-5", 10.0),
    ("claude-fable-5-1", 10.0),
    ("claude-fable-5-2", 8.0),
    ("claude-haiku-4-5", 1.0),
    ("claude-haiku-5-5", 0.1),
    ("claude-3-5-haiku", 0.8),
    ("claude-3-haiku", 0.25),
    ("claude-opus-4", 15.0),
    ("claude-opus-4-1", 15.0),
    ("claude-opus-4-5", 5.0),
    ("claude-opus-4-6", 5.0),
    ("claude-opus-4-6-fast", 30.0),
    ("claude-opus-4-7", 5.0),
    ("claude-opus-4-7-fast", 30.0),
    ("claude-opus-4-8", 5.0),
    ("claude-opus-4-8-fast", 10.0),
    ("claude-opus-5", 5.0),
    ("claude-opus-5-fast", 10.0),
    ("claude-opus-5-5", 4.0),
    ("claude-opus-5-5-fast", 8.0),
    ("claude-3-opus", 15.0),
    ("claude-sonnet-4", 3.0),
    ("claude-sonnet-4-5", 3.0),
    ("claude-sonnet-4-6", 3.0),
    ("claude-sonnet-5", 2.0),
    ("claude-sonnet-5-5", 2.0),
    ("claude-3-5-sonnet", 3.0),
    ("claude-3-7-sonnet", 3.0),
    ("gpt-4-1", 2.0),
    ("gpt-4-1-mini", 0.4),
    ("gpt-4-1-nano", 0.1),
    ("gpt-4o", 2.5),
    ("gpt-4o-mini", 0.15),
    ("gpt-5", 1.25),
    ("gpt-5-mini", 0.25),
    ("gpt-5-nano", 0.05),
    ("gpt-5-1", 1.25),
    ("gpt-5-2", 1.75),
    ("gpt-5-3", 1.75),
    ("gpt-5-4", 2.5),
    ("gpt-5-4-mini", 0.75),
    ("gpt-5-4-nano", 0.2),
    ("gpt-5-5", 5.0),
    ("gpt-5-6-luna", 0.2),
    ("gpt-5-6-sol", 4.0),
    ("gpt-5-6-terra", 2.0),
    ("gpt-6-astra", 10.0),
    ("gpt-6-luna", 0.1),
    ("gpt-6-sol", 2.0),
    ("gpt-6-1-sol", 2.0),
    ("gpt-6-2-astra", 8.0),
    ("gpt-6-2-sol", 2.0),
    ("codex-mini", 1.5),
    ("o1", 15.0),
    ("o3", 2.0),
    ("o3-mini", 1.1),
    ("o4-mini", 1.1),
    ("gemini-2-5-pro", 1.25),
    ("gemini-2-5-flash", 0.3),
    ("gemini-3-flash", 0.5),
    ("gemini-3-pro", 2.0),
    ("gemini-3-1-pro", 2.0),
    ("gemini-3-5-flash", 1.5),
    ("gemini-3-8-flash", 0.75),
    ("grok-4", 2.0),
    ("grok-4-5", 2.0),
    ("grok-4-6", 2.0),
    ("grok-4-7", 2.0),
    ("deepseek-v4-pro", 1.32),
    ("deepseek-flash", 0.3),
    ("glm-5", 1.4),
    ("glm-5-2", 1.4),
    ("glm-5-3", 1.4),
    ("glm-4-7", 0.6),
];

/// What the cache of a model costs where the table of its provider says otherwise, in uncached input
/// tokens: the beginning of its name, reading, and writing if that is not as in the table. The first that
/// fits counts.
const CACHES: [(&str, f64, Option<f64>); 10] = [
    ("claude-fable-5-1", 0.025, None),
    ("claude-fable-5-2", 0.025, None),
    ("claude-opus-5-5", 0.05, None),
    ("claude-sonnet-5-5", 0.05, None),
    ("gpt-5-6", 0.1, Some(1.25)),
    ("gpt-6-1", 0.05, Some(1.25)),
    ("gpt-6-2", 0.05, Some(1.25)),
    ("gpt-6", 0.1, Some(1.25)),
    ("gemini-2-5", 0.1, None),
    ("gemini-3", 0.1, None),
];

/// Above how many tokens all input of a request costs more, and by which factor, by the beginning of the
/// model's name.
const LONG: [(&str, u64, f64); 8] = [
    ("claude-haiku-5-5", 100_000, 5.0),
    ("gpt-5-4", 272_000, 2.0),
    ("gpt-5-5", 272_000, 2.0),
    ("gpt-5-6", 272_000, 2.0),
    ("gpt-6", 272_000, 2.0),
    ("gemini-2-5-pro", 200_000, 2.0),
    ("gemini-3-pro", 200_000, 2.0),
    ("gemini-3-1-pro", 200_000, 2.0),
];

/// Parts behind a model's name that name no other model: releases of it, and ways to call it.
const SAME_MODEL: [&str; 7] = ["0", "1m", "codex", "latest", "preview", "v1", "v2"];

/// Beginnings of names and the price table of their provider, or of the models themselves. The first
/// that fits counts.
const TABLES: [(&str, &str); 17] = [
    ("claude", "anthropic"),
    ("anthropic", "anthropic"),
    ("gpt-4-1", "openai-4.1"),
    ("gpt-4o", "openai-4o"),
    ("gpt", "openai"),
    ("codex-mini", "openai-4.1"),
    ("codex", "openai"),
    ("o1", "openai-4o"),
    ("o3-mini", "openai-4o"),
    ("o3", "openai-4.1"),
    ("o4", "openai-4.1"),
    ("openai", "openai"),
    ("gemini", "gemini"),
    ("google", "gemini"),
    ("deepseek", "deepseek"),
    ("ollama", "local"),
    ("lmstudio", "local"),
];

/// The name of the price table of a model, by its name, else by its provider.
pub(super) fn table_of(provider: &str, model: &str) -> Option<&'static str> {
    let of = |name: &str| {
        let found = TABLES.iter().find(|(part, _)| bare(name).starts_with(part));
        found.map(|(_, table)| *table)
    };
    of(model).or_else(|| of(provider))
}

/// The prices of a model: those of its provider's table, but for what it has of its own. `None` if no
/// table has that name.
pub(super) fn prices_of(model: &str, table: &str) -> Option<Prices> {
    let (name, mut prices) = (bare(model), Prices::preset(table)?);
    if let Some((_, read, write)) = CACHES.iter().find(|(start, ..)| name.starts_with(start)) {
        prices.read = *read;
        prices.write = write.unwrap_or(prices.write);
    }
    if let Some((_, above, factor)) = LONG.iter().find(|(start, ..)| name.starts_with(start)) {
        let (read, write) = (factor * prices.read, factor * prices.write);
        prices.tiers.push(Tier { above_tokens: *above, read, write });
    }
    Some(prices)
}

/// US dollars for a million uncached input tokens of a model, if its price is known. A variant, such
/// as `-pro` or `-lite`, has its own.
pub(super) fn usd_per_million(model: &str) -> Option<f64> {
    let name = bare(model);
    let is_it = |known: &&(&str, f64)| name.strip_prefix(known.0).is_some_and(is_same_model);
    USD_PER_MILLION.iter().find(is_it).map(|(_, price)| *price)
}

/// Whether what stands behind a model's name leaves it that model: nothing, dates, and what
/// [`SAME_MODEL`] has.
fn is_same_model(rest: &str) -> bool {
    let mut is_dated = false;
    let mut is_known = |part: &str| {
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        let is_date = is_number && (part.len() >= 4 || (part.len() == 2 && is_dated));
        is_dated |= is_date || part == "preview";
        part.is_empty() || is_date || SAME_MODEL.contains(&part)
    };
    let separators = ['-', '@', ':', '[', ']'];
    (rest.is_empty() || rest.starts_with(separators)) && rest.split(separators).all(&mut is_known)
}

/// A name without what stands before it: the provider, or Bedrock's region and vendor, as in
/// `us.anthropic.claude-opus-5`.
fn bare(name: &str) -> String {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    let begins = |(at, _): &(usize, &str)| name[at + 1..].starts_with(|c: char| c.is_alphabetic());
    let start = name.match_indices('.').rfind(begins).map_or(0, |(at, _)| at + 1);
    name[start..].to_ascii_lowercase().replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_priced_by_its_name_and_a_variant_is_another() {
        for (provider, model, table, price) in [
            ("anthropic", "claude-opus-4-5-20251101", Some("anthropic"), Some(5.0)),
            ("anthropic", "claude-opus-4-1-20250805", Some("anthropic"), Some(15.0)),
            ("github-copilot", "claude-sonnet-4.6", Some("anthropic"), Some(3.0)),
            ("openrouter", "anthropic/claude-sonnet-5", Some("anthropic"), Some(2.0)),
            ("openai-codex", "gpt-5.6-sol", Some("openai"), Some(4.0)),
            ("openai", "gpt-5-mini-2025", Some("openai"), Some(0.25)),
            ("openai", "gpt-4.1-mini", Some("openai-4.1"), Some(0.4)),
            ("openrouter", "openai/gpt-4o-2024-08-06", Some("openai-4o"), Some(2.5)),
            ("openai", "o1", Some("openai-4o"), Some(15.0)),
            ("openai", "o3-mini", Some("openai-4o"), Some(1.1)),
            ("openai", "o3", Some("openai-4.1"), Some(2.0)),
            ("openai", "o4-mini", Some("openai-4.1"), Some(1.1)),
            ("openai", "codex-mini-latest", Some("openai-4.1"), Some(1.5)),
            ("google", "gemini-2.5-pro", Some("gemini"), Some(1.25)),
            ("ollama", "qwen3", Some("local"), None),
            ("anthropic", "claude-x", Some("anthropic"), None),
            ("openai", "gpt-5-2025-08-07", Some("openai"), Some(1.25)),
            ("openai", "gpt-5.2-codex", Some("openai"), Some(1.75)),
            ("openai", "gpt-5.4-pro", Some("openai"), None),
            ("openai", "gpt-5.10", Some("openai"), None),
            ("google", "gemini-2.5-pro-preview-05-06", Some("gemini"), Some(1.25)),
            ("google", "gemini-2.5-flash-lite", Some("gemini"), None),
            ("anthropic", "claude-sonnet-4-0[1m]", Some("anthropic"), Some(3.0)),
            ("bedrock", "us.anthropic.claude-opus-5-5", Some("anthropic"), Some(4.0)),
            (
                "bedrock",
                "eu.anthropic.claude-haiku-4-5-20251001-v1:0",
                Some("anthropic"),
                Some(1.0),
            ),
            ("someone", "something", None, None),
            ("someone", "o10", Some("openai-4o"), None),
            ("anthropic", "claude-opus-5-fast", Some("anthropic"), Some(10.0)),
            ("openrouter", "anthropic/claude-opus-4.6-fast", Some("anthropic"), Some(30.0)),
            ("openai", "gpt-6.1-sol-2026-09-29", Some("openai"), Some(2.0)),
        ] {
            assert_eq!(table_of(provider, model), table, "{model}");
            assert_eq!(usd_per_million(model), price, "{model}");
        }
    }

    #[test]
    fn caches_and_long_requests_cost_what_the_model_says() {
        for (model, table, short, long) in [
            ("claude-opus-5", "anthropic", (0.1, 1.25), (0.1, 1.25)),
            ("claude-opus-5-5[1m]", "anthropic", (0.05, 1.25), (0.05, 1.25)),
            ("claude-sonnet-5-5", "anthropic-1h", (0.05, 2.0), (0.05, 2.0)),
            ("claude-fable-5-2", "anthropic", (0.025, 1.25), (0.025, 1.25)),
            ("claude-haiku-5-5", "anthropic", (0.1, 1.25), (0.5, 6.25)),
            ("openai/gpt-5.6-sol", "openai", (0.1, 1.25), (0.2, 2.5)),
            ("gpt-6.2-sol", "openai", (0.05, 1.25), (0.1, 2.5)),
            ("gpt-6-sol", "openai", (0.1, 1.25), (0.2, 2.5)),
            ("gpt-5.5", "openai", (0.1, 1.0), (0.2, 2.0)),
            ("gpt-5", "openai", (0.1, 1.0), (0.1, 1.0)),
            ("gemini-3-pro-preview", "gemini", (0.1, 1.0), (0.2, 2.0)),
        ] {
            let prices = prices_of(model, table).unwrap();
            assert_eq!((prices.at(100_000), prices.at(300_000)), (short, long), "{model}");
        }
    }
}
