//! A table of what models and protocols demand of changes to earlier messages. Pure. Names are
//! those of Pi's model data (0.87.1). Must not decide when an epoch starts.

/// Claude families whose thinking is bound to the preceding text, with the first such version. Pi
/// sends `block_binding: drop_block` to these (`supportsMidConvoEffort` in its data). The models
/// behave alike at other providers.
const BOUND_SINCE: [(&str, (u32, u32)); 2] = [("opus", (5, 0)), ("fable", (5, 1))];

/// APIs whose converter names an assistant's text by its index (`msg_pi_<index>`) if the provider
/// gave no ID.
const POSITIONAL_APIS: [&str; 3] =
    ["openai-responses", "azure-openai-responses", "openai-codex-responses"];

/// Providers that offer only such APIs, for hosts that do not state the API.
const POSITIONAL_PROVIDERS: [&str; 5] =
    ["openai", "azure-openai-responses", "openai-codex", "xai", "meta"];

/// What changes to earlier messages break with a model, besides the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelRules {
    /// The model's thinking is valid only after exactly the text that preceded it. Changing that
    /// text in mid-turn drops the reasoning that the model still works with.
    pub bound_thinking: bool,
    /// Messages are named by index, so inserting or removing one renames all that follow.
    pub positional_ids: bool,
}

/// The rules for a model.
///
/// `model`: `provider/id`; the ID may contain slashes. `api`: the host's name of the protocol, if
/// stated. An unknown model has no rules.
pub fn rules(model: &str, api: Option<&str>) -> ModelRules {
    let provider = model.split('/').next().unwrap_or_default();
    ModelRules {
        bound_thinking: has_bound_thinking(model),
        positional_ids: match api {
            Some(api) => POSITIONAL_APIS.contains(&api),
            None => POSITIONAL_PROVIDERS.contains(&provider),
        },
    }
}

/// `…claude-opus-5`, `…claude-opus-5.5-fast`, `…claude-fable-5-1`, `…claude-opus-latest`.
fn has_bound_thinking(model: &str) -> bool {
    let Some((_, name)) = model.rsplit_once("claude-") else { return false };
    let mut words = name.split(['-', '.', ':', '@']);
    let family = words.next().unwrap_or_default();
    let Some((_, since)) = BOUND_SINCE.iter().find(|(bound, _)| *bound == family) else {
        return false;
    };
    // The second word of `5-20260101` is a date, not part of the version.
    let mut number = || words.next().filter(|word| word.len() <= 2)?.parse::<u32>().ok();
    match number() {
        Some(major) => (major, number().unwrap_or(0)) >= *since,
        None => name == format!("{family}-latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_claude_models_bind_thinking_at_any_provider() {
        for (model, expected) in [
            ("anthropic/claude-opus-5", true),
            ("anthropic/claude-opus-5-5", true),
            ("anthropic/claude-fable-5-1", true),
            ("anthropic/claude-opus-5-20260101", true),
            ("openrouter/anthropic/claude-opus-5.5:batch", true),
            ("openrouter/anthropic/claude-fable-5.1", true),
            ("openrouter/~anthropic/claude-opus-latest", true),
            ("github-copilot/claude-opus-5.5", true),
            ("amazon-bedrock/us.anthropic.claude-opus-5-5", true),
            ("anthropic/claude-fable-5", false),
            ("anthropic/claude-fable-5-20260101", false),
            ("anthropic/claude-opus-4-8", false),
            ("anthropic/claude-opus-4-5-20251101", false),
            ("amazon-bedrock/anthropic.claude-opus-4-1-20250805-v1:0", false),
            ("anthropic/claude-sonnet-5", false),
            ("openrouter/anthropic/claude-3-haiku", false),
            ("openai/gpt-6-sol", false),
            ("", false),
        ] {
            assert_eq!(rules(model, None).bound_thinking, expected, "{model}");
        }
    }

    #[test]
    fn messages_are_named_by_place_where_the_api_is_responses() {
        for (model, api, expected) in [
            ("openai/gpt-6-sol", Some("openai-responses"), true),
            ("github-copilot/gpt-5.5", Some("openai-responses"), true),
            ("openai-codex/gpt-5.5", Some("openai-codex-responses"), true),
            ("azure-openai-responses/gpt-5.5", Some("azure-openai-responses"), true),
            ("openai/gpt-6-sol", None, true),
            ("openai/gpt-6-sol", Some("openai-completions"), false),
            ("github-copilot/kimi-k3", None, false),
            ("anthropic/claude-opus-5", Some("anthropic-messages"), false),
        ] {
            assert_eq!(rules(model, api).positional_ids, expected, "{model} {api:?}");
        }
    }

    proptest::proptest! {
        #![proptest_config(testing::cases::config(64, 1))]

        #[test]
        fn any_name_has_rules(model in ".{0,40}", api in ".{0,10}") {
            rules(&model, Some(&api));
            rules(&format!("anthropic/claude-opus-{model}"), None);
        }
    }
}
