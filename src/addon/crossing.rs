//! The parts of a call that cross between JavaScript and the core as JSON: what the host says about
//! it, and its outcome. Must not decide anything.

use napi::Either;
use serde_json::{Value, json};

use base::error::{Error, Result};
use context::prices::{ModelData, Rates, Retention};
use live::model_tools::overhead_tokens;
use live::{CallInfo, HostList, Transformed};
use memory::section_tokens;

/// A message as it crosses, see `lib/long-texts.js`: its JSON, or the pieces of the JSON with a long
/// text between each two.
pub(super) type Crossed = Either<String, Vec<String>>;

/// A list as it crosses, see `Session.transform`.
pub(super) fn host_list(since: Option<i64>, skip: u32, messages: Vec<Crossed>) -> HostList {
    let since = since.and_then(|call| u64::try_from(call).ok());
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    HostList { since, skip, messages: in_json(messages) }
}

/// The messages, each as `JSON.stringify` writes it.
pub(super) fn in_json(messages: Vec<Crossed>) -> Vec<String> {
    let joined = |pieces: Vec<String>| {
        let mut json = String::with_capacity(pieces.iter().map(String::len).sum());
        for (at, piece) in pieces.into_iter().enumerate() {
            let piece = if at % 2 == 1 { Value::from(piece).to_string() } else { piece };
            json.push_str(&piece);
        }
        json
    };
    messages
        .into_iter()
        .map(|message| match message {
            Either::A(json) => json,
            Either::B(pieces) => joined(pieces),
        })
        .collect()
}

/// Reads what `lib/request.js` says about a call.
///
/// # Errors
/// `INVALID_ARGUMENT` if it is not JSON.
pub(super) fn call_info(json: &str) -> Result<CallInfo> {
    let value: Value =
        serde_json::from_str(json).map_err(|error| Error::argument("call", error.to_string()))?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    Ok(CallInfo {
        system_prompt: text("systemPrompt"),
        tools: value.get("tools").cloned().unwrap_or(Value::Null),
        model: text("model"),
        context_window: value
            .get("contextWindow")
            .and_then(Value::as_u64)
            .filter(|window| *window > 0),
        model_data: value.get("modelData").map(model_data),
        fixed_tokens: value.get("promptTokens").and_then(Value::as_u64),
        kept_from: value
            .get("keptFrom")
            .and_then(Value::as_u64)
            .and_then(|index| usize::try_from(index).ok()),
        squeeze_to: value.get("squeezeTo").and_then(Value::as_u64),
        overhead_tokens: own_tokens(&value),
    })
}

/// What a host says about its model, in the shapes of pi-ai.
fn model_data(value: &Value) -> ModelData {
    let rates = |value: &Value| {
        let rate = |name: &str| value.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        Rates { input: rate("input"), read: rate("cacheRead"), write: rate("cacheWrite") }
    };
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    let (retention, tier) = match text("cacheRetention") {
        "none" => (Retention::None, ""),
        "long" => (Retention::Long, "long"),
        _ => (Retention::Short, "short"),
    };
    let tiers = value.pointer("/cost/tiers").and_then(Value::as_array);
    let tier_of = |tier: &Value| Some((tier.get("inputTokensAbove")?.as_u64()?, rates(tier)));
    ModelData {
        api: text("api").to_owned(),
        base_url: text("baseUrl").to_owned(),
        rates: value.get("cost").map(rates).unwrap_or_default(),
        tiers: tiers.into_iter().flatten().filter_map(tier_of).collect(),
        retention,
        lifetime_seconds: value.get("promptCache").and_then(|cache| cache.get(tier)?.as_u64()),
        breakpoints: text("cacheControlFormat") == "anthropic",
    }
}

/// Tokens of our tools, and of the system prompt's text about them and about memory, if the call's
/// tools cross.
fn own_tokens(call: &Value) -> Option<u64> {
    let tools = call.get("tools")?.as_array()?;
    let prompt = call.get("systemPrompt").and_then(Value::as_str).unwrap_or_default();
    Some(overhead_tokens(tools, prompt) + section_tokens(prompt))
}

/// The outcome of a call, in the form that `lib/request.js` reads.
pub(super) fn answer(done: &Transformed) -> String {
    match done {
        Transformed::Resend => r#"{"resend":true}"#.to_owned(),
        Transformed::Edits { call, edits, notices } => {
            format!(r#"{{"call":{call},"edits":{edits},"events":{}}}"#, json!(notices))
        }
    }
}
