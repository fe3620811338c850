//! Chooses a model's prices: the user's setting, else the host's data, else a preset for its
//! location or wire format. Pure.
//!
//! Must not read settings files or know a session. `config` computes what a request costs by a
//! price table.

mod address;

use self::address::is_private;
use config::{PriceSetting, PriceTable, Prices, Reuse, Tier};

/// What the host knows about a model's prices, in the shape of pi-ai's models. All prices are in
/// the same currency.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelData {
    /// Wire format: `anthropic-messages`, `openai-completions`, ...
    pub api: String,
    /// Base URL of the server; empty if unknown.
    pub base_url: String,
    /// Prices of tokens; all 0 if unknown.
    pub rates: Rates,
    /// Prices of long requests, each for requests with more input tokens than its threshold.
    pub tiers: Vec<(u64, Rates)>,
    /// How long the host asks the provider to keep the cache.
    pub retention: Retention,
    /// Lifetime of the cache in seconds, if the host knows.
    pub lifetime_seconds: Option<u64>,
    /// Whether a format other than Anthropic's takes cache breakpoints in the same way.
    pub breakpoints: bool,
}

/// Prices of input tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// A token that is neither read from the cache nor written to it.
    pub input: f64,
    /// A token read from the cache; 0 if there is no cache, or none is known.
    pub read: f64,
    /// A token written to the cache; 0 if that costs no more than `input`.
    pub write: f64,
}

/// How long a host asks a provider to keep the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Retention {
    /// It asks for no cache.
    None,
    /// The provider's default.
    #[default]
    Short,
    /// As long as possible.
    Long,
}

/// Price of writing to Anthropic's one-hour cache, relative to an uncached input token.
const LONG_WRITE: f64 = 2.0;
/// Default lifetime of a cache with breakpoints, in seconds.
const SHORT_SECONDS: u64 = 300;
const LONG_SECONDS: u64 = 3_600;

/// The prices of a model and their origin: a preset's name, `own` for the user's table, or `model`
/// for the host's data. If the setting is `auto` and the host knows no prices, a model on this
/// machine or a private network gets `local`, unless only its maker serves it; for any other, the
/// wire format selects a preset.
///
/// `model`: `provider/model`; empty if unknown.
pub fn prices_of(
    setting: &PriceSetting,
    model: &str,
    data: Option<&ModelData>,
) -> (String, Prices) {
    match setting.for_model(model) {
        PriceTable::Own(prices) => ("own".to_owned(), prices),
        PriceTable::Named(name) => match Prices::preset(&name) {
            Some(prices) => (name, prices),
            None => by_data(model, data),
        },
    }
}

fn by_data(model: &str, data: Option<&ModelData>) -> (String, Prices) {
    let preset = |name: &str| {
        let prices = Prices::preset(name).expect("the names below are presets");
        (name.to_owned(), prices)
    };
    let Some(data) = data else { return preset("openai") };
    let reuse = data.reuse(model);
    let is_long = data.retention == Retention::Long && reuse == Reuse::Breakpoints;
    let is_priced = data.rates.input > 0.0;
    match data.retention {
        // A private address alone is not enough: people who pay for tokens may use their own proxy.
        // Missing prices alone are not either, because some hosted models have none.
        _ if !is_priced && is_private(&data.base_url) && !is_hosted(model) => preset("local"),
        Retention::None => preset("none"),
        _ if is_priced && data.rates.read <= 0.0 => preset("none"),
        _ if is_priced => ("model".to_owned(), data.prices(reuse, is_long)),
        _ if is_long => preset("anthropic-1h"),
        _ if reuse == Reuse::Breakpoints => preset("anthropic"),
        _ if data.api.starts_with("google") => preset("gemini"),
        _ => preset("openai"),
    }
}

/// How the models are called that only their makers serve: at a private address, a proxy of people
/// who pay for tokens.
const HOSTED: [&str; 6] = ["claude-", "gemini-", "gpt-3", "gpt-4", "gpt-5", "chatgpt-"];

fn is_hosted(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
    let name = name.rsplit("anthropic.").next().unwrap_or(&name);
    HOSTED.iter().any(|hosted| name.starts_with(hosted))
}

impl ModelData {
    /// What can be reused. Anthropic's format has breakpoints; so do Claude models behind other
    /// formats if cache writes are billed.
    fn reuse(&self, model: &str) -> Reuse {
        let is_claude = model.to_lowercase().contains("claude")
            && (self.api.starts_with("bedrock") || self.rates.write > self.rates.input);
        if self.breakpoints || self.api == "anthropic-messages" || is_claude {
            Reuse::Breakpoints
        } else {
            Reuse::AnyPrefix
        }
    }

    fn prices(&self, reuse: Reuse, is_long: bool) -> Prices {
        let unit = self.rates.input;
        let write = |rates: &Rates| match rates.write {
            _ if is_long => relative(LONG_WRITE * rates.input, unit),
            write if write > 0.0 => relative(write.max(rates.input), unit),
            _ => relative(rates.input, unit),
        };
        let tier = |(above_tokens, rates): &(u64, Rates)| Tier {
            above_tokens: *above_tokens,
            read: relative(rates.read, unit),
            write: write(rates),
        };
        let breakpoints = if is_long { LONG_SECONDS } else { SHORT_SECONDS };
        let by_format = (reuse == Reuse::Breakpoints).then_some(breakpoints);
        Prices {
            read: relative(self.rates.read, unit),
            write: write(&self.rates),
            reuse,
            lifetime_seconds: self.lifetime_seconds.or(by_format),
            tiers: self.tiers.iter().map(tier).collect(),
        }
    }
}

/// A price relative to another, rounded to a millionth, so that 0.3 / 3 is exactly 0.1.
fn relative(price: f64, unit: f64) -> f64 {
    (price / unit * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(api: &str, input: f64, read: f64, write: f64) -> ModelData {
        let rates = Rates { input, read, write };
        ModelData { api: api.to_owned(), rates, ..ModelData::default() }
    }

    fn auto(name: &str, data: &ModelData) -> (String, Prices) {
        prices_of(&PriceSetting::default(), name, Some(data))
    }

    #[test]
    fn what_the_host_knows_of_a_model_gives_its_prices() {
        let claude = model("anthropic-messages", 3.0, 0.3, 3.75);
        let (name, prices) = auto("anthropic/claude-x", &claude);
        assert_eq!((name.as_str(), prices.reuse), ("model", Reuse::Breakpoints));
        assert!((prices.read - 0.1).abs() < 1e-9 && (prices.write - 1.25).abs() < 1e-9);
        assert_eq!(prices.lifetime_seconds, Some(300));

        let long = ModelData { retention: Retention::Long, ..claude };
        let (_, prices) = auto("anthropic/claude-x", &long);
        assert!((prices.write - 2.0).abs() < 1e-9);
        assert_eq!(prices.lifetime_seconds, Some(3_600));

        let tier = (272_000, Rates { input: 5.0, read: 0.5, write: 0.0 });
        let gpt = ModelData { tiers: vec![tier], ..model("openai-responses", 2.5, 0.25, 0.0) };
        let (_, prices) = auto("openai/gpt-x", &gpt);
        assert_eq!((prices.reuse, prices.lifetime_seconds), (Reuse::AnyPrefix, None));
        assert_eq!(prices.at(272_000), (0.1, 1.0));
        assert_eq!(prices.at(272_001), (0.2, 2.0));
    }

    #[test]
    fn claude_behind_another_format_has_breakpoints() {
        let bedrock = model("bedrock-converse-stream", 3.0, 0.3, 3.75);
        assert_eq!(
            auto("amazon-bedrock/eu.anthropic.claude-x", &bedrock).1.reuse,
            Reuse::Breakpoints
        );
        assert_eq!(auto("amazon-bedrock/amazon.nova", &bedrock).1.reuse, Reuse::AnyPrefix);
        let routed = ModelData { breakpoints: true, ..model("openai-completions", 1.0, 0.1, 0.0) };
        assert_eq!(auto("openrouter/x", &routed).1.reuse, Reuse::Breakpoints);
    }

    #[test]
    fn without_prices_the_format_decides_how_caching_is_charged() {
        for (data, preset) in [
            (model("anthropic-messages", 0.0, 0.0, 0.0), "anthropic"),
            (model("google-vertex", 0.0, 0.0, 0.0), "gemini"),
            (model("openai-completions", 0.0, 0.0, 0.0), "openai"),
            (model("openai-completions", 1.0, 0.0, 0.0), "none"),
            (
                ModelData {
                    retention: Retention::None,
                    ..model("anthropic-messages", 3.0, 0.3, 3.75)
                },
                "none",
            ),
            (
                ModelData {
                    retention: Retention::Long,
                    ..model("anthropic-messages", 0.0, 0.0, 0.0)
                },
                "anthropic-1h",
            ),
        ] {
            assert_eq!(auto("p/m", &data).0, preset, "{data:?}");
        }
        assert_eq!(prices_of(&PriceSetting::default(), "", None).0, "openai");
    }

    #[test]
    fn an_unpriced_model_of_this_machine_or_its_network_is_local() {
        let at = |base_url: &str, data: ModelData| ModelData { base_url: base_url.into(), ..data };
        let unpriced = || model("anthropic-messages", 0.0, 0.0, 0.0);
        for (data, preset) in [
            (at("http://127.0.0.1:8080", unpriced()), "local"),
            (at("http://192.168.0.2/v1", model("openai-completions", 0.0, 0.0, 0.0)), "local"),
            (ModelData { retention: Retention::Long, ..at("http://[::1]/", unpriced()) }, "local"),
            (ModelData { retention: Retention::None, ..at("http://[::1]/", unpriced()) }, "local"),
            (at("https://api.example.com", unpriced()), "anthropic"),
            (at("", unpriced()), "anthropic"),
            (at("http://localhost:4000", model("anthropic-messages", 3.0, 0.3, 3.75)), "model"),
        ] {
            assert_eq!(auto("p/m", &data).0, preset, "{data:?}");
        }
        let proxy = |api: &str| at("http://localhost:4000", model(api, 0.0, 0.0, 0.0));
        for (name, api, preset) in [
            ("litellm/claude-sonnet-4-5", "anthropic-messages", "anthropic"),
            ("litellm/bedrock/us.anthropic.Claude-Opus-4-v1:0", "openai-completions", "openai"),
            ("my/openai/gpt-5.2-codex", "openai-responses", "openai"),
            ("my/gemini-2.5-pro", "google-vertex", "gemini"),
            ("lmstudio/openai/gpt-oss-120b", "openai-completions", "local"),
            ("lmstudio/qwen3-32b-claude-distill", "anthropic-messages", "local"),
            ("ollama/gemma3:27b", "openai-completions", "local"),
        ] {
            assert_eq!(auto(name, &proxy(api)).0, preset, "{name}");
        }
        let chosen = PriceSetting::Named("openai".into());
        let local = at("http://127.0.0.1:8080", unpriced());
        assert_eq!(prices_of(&chosen, "p/m", Some(&local)).0, "openai");
    }

    #[test]
    fn the_users_choice_overrides_the_hosts_data() {
        let data = model("anthropic-messages", 3.0, 0.3, 3.75);
        let preset = PriceSetting::Named("deepseek".into());
        assert_eq!(prices_of(&preset, "p/m", Some(&data)).0, "deepseek");
        let own = PriceTable::Own(Prices::preset("local").unwrap());
        let by_model = PriceSetting::ByModel([("p/*".to_owned(), own)].into());
        assert_eq!(prices_of(&by_model, "p/m", Some(&data)).0, "own");
        assert_eq!(prices_of(&by_model, "q/m", Some(&data)).0, "model");
    }

    #[test]
    fn unknown_presets_are_none() {
        assert_eq!(Prices::preset("nobody"), None);
    }
}
