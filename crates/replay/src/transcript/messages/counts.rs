//! What answers in lists of messages say of their model and of what was counted, in the names of providers
//! and programs. Must not know other parts of a message.

use serde_json::{Map, Value};

use crate::transcript::claude_code::blocks;
use crate::transcript::message::{count_of, usage};

/// Where an answer says which model made it, and what was counted: by a provider, as Cline has it, and as
/// mini-SWE-agent.
const MODELS: [(&str, &str); 3] =
    [("model", ""), ("modelInfo", "/modelId"), ("extra", "/response/model")];
const COUNTS: [(&str, &str); 3] =
    [("usage", ""), ("metrics", "/tokens"), ("extra", "/response/usage")];

/// Where providers and gateways say how much of a request the cache had: Chat Completions, the
/// Responses API, DeepSeek, Moonshot, LiteLLM, Cline.
const CACHED: [&str; 6] = [
    "/prompt_tokens_details/cached_tokens",
    "/input_tokens_details/cached_tokens",
    "/prompt_cache_hit_tokens",
    "/cached_tokens",
    "/cache_read_input_tokens",
    "/cached",
];

/// Where they say how much of it was written to the cache: Chat Completions, the Responses API, LiteLLM.
const WRITTEN: [&str; 3] = [
    "/prompt_tokens_details/cache_write_tokens",
    "/input_tokens_details/cache_write_tokens",
    "/cache_creation_input_tokens",
];

/// The model of an answer, and what was counted for it.
pub(super) fn model_and_counts(answer: &Map<String, Value>) -> (&str, Option<&Value>) {
    let at = |places: &[(&str, &str)]| {
        places.iter().find_map(|(key, place)| answer.get(*key)?.pointer(place))
    };
    let model = at(&MODELS).and_then(Value::as_str).unwrap_or_default();
    (model, at(&COUNTS).filter(|counts| counts.is_object()))
}

/// The counts of a response, in the names of either provider. Where `prompt_tokens` counts the
/// request, or `input_tokens` with details, what the cache had is among them; Anthropic's are not.
pub(in crate::transcript) fn usage_of(counts: &Value) -> Value {
    let given = |place: &str| counts.pointer(place).and_then(count_of);
    let with_details = || counts.get("input_tokens_details").and(given("/input_tokens"));
    let Some(all) = given("/prompt_tokens").or_else(|| given("/prompt")).or_else(with_details)
    else {
        return blocks::usage_of(counts);
    };
    let count = |places: &[&str]| places.iter().find_map(|place| given(place)).unwrap_or_default();
    let (cached, written) = (count(&CACHED), count(&WRITTEN));
    let input = all.saturating_sub(cached).saturating_sub(written).max(0);
    usage(input, count(&["/completion_tokens", "/output_tokens", "/completion"]), cached, written)
}
