//! What models cost: the price table of their provider, and the price of an uncached input token by
//! the providers' public price lists of November 2026. Plain data.

/// Beginnings of the models' names, with `-` for `.`, and US dollars for a million uncached input
/// tokens. The longest beginning counts.
const USD_PER_MILLION: [(&str, f64); 52] = [
    ("claude-fable-5", 10.0),
    ("claude-haiku-4-5", 1.0),
    ("claude-3-5-haiku", 0.8),
    ("claude-3-haiku", 0.25),
    ("claude-opus-4", 15.0),
    ("claude-opus-4-5", 5.0),
    ("claude-opus-4-6", 5.0),
    ("claude-opus-4-7", 5.0),
    ("claude-opus-4-8", 5.0),
    ("claude-opus-5", 5.0),
    ("claude-opus-5-5", 4.0),
    ("claude-3-opus", 15.0),
    ("claude-sonnet-4", 3.0),
    ("claude-sonnet-5", 2.0),
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
    ("grok-4", 2.0),
    ("deepseek-v4-pro", 1.32),
    ("deepseek-flash", 0.3),
    ("glm-5", 1.4),
    ("glm-4-7", 0.6),
];

/// Parts of names and the price table of their provider.
const TABLES: [(&str, &str); 13] = [
    ("claude", "anthropic"),
    ("anthropic", "anthropic"),
    ("gpt", "openai"),
    ("codex", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
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

/// US dollars for a million uncached input tokens of a model, if its price is known.
pub(super) fn usd_per_million(model: &str) -> Option<f64> {
    let name = bare(model);
    let begins = |known: &&(&str, f64)| {
        let rest = name.strip_prefix(known.0);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':', '[']))
    };
    let best = USD_PER_MILLION.iter().filter(begins).max_by_key(|(known, _)| known.len());
    best.map(|(_, price)| *price)
}

/// A name without the provider before it.
fn bare(name: &str) -> String {
    let name = name.rsplit_once('/').map_or(name, |(_, name)| name);
    name.to_ascii_lowercase().replace('.', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_priced_by_the_longest_beginning_of_its_name() {
        for (provider, model, table, price) in [
            ("anthropic", "claude-opus-4-5-20251101", Some("anthropic"), Some(5.0)),
            ("anthropic", "claude-opus-4-1-20250805", Some("anthropic"), Some(15.0)),
            ("github-copilot", "claude-sonnet-4.6", Some("anthropic"), Some(3.0)),
            ("openrouter", "anthropic/claude-sonnet-5", Some("anthropic"), Some(2.0)),
            ("openai-codex", "gpt-5.6-sol", Some("openai"), Some(4.0)),
            ("openai", "gpt-5-mini-2025", Some("openai"), Some(0.25)),
            ("google", "gemini-2.5-pro", Some("gemini"), Some(1.25)),
            ("ollama", "qwen3", Some("local"), None),
            ("anthropic", "claude-x", Some("anthropic"), None),
            ("someone", "something", None, None),
            ("someone", "o10", Some("openai"), None),
        ] {
            assert_eq!(table_of(provider, model), table, "{model}");
            assert_eq!(usd_per_million(model), price, "{model}");
        }
    }
}
