//! A recorded call as JavaScript sees it: the messages sent, details of each message, and sizes.

use serde_json::{Value, json};

use live::Inspected;

pub(super) fn recorded(call: &Inspected) -> Value {
    let record = call.record.as_ref();
    json!({
        "sessionId": call.session,
        "call": call.call,
        "retryOf": record.and_then(|record| record.retry_of),
        "failedOpen": call.failure,
        "time": record.map(|record| record.time.to_string()),
        "model": record.and_then(|record| record.model.as_ref()),
        "layout": record.map(|record| &record.layout),
        "epoch": record.map(|record| record.epoch),
        "epochReason": call.epoch_reason,
        "sentTokens": record.map(|record| record.sent_tokens),
        "plainTokens": record.map(|record| record.plain_tokens),
        "contextWindow": record.and_then(|record| record.context_window),
        "size": call.size,
        "hash": record.map(|record| &record.hash),
        "verified": call.verified,
        "systemPrompt": call.prompt.as_ref().and_then(|prompt| prompt.text.as_ref()),
        "promptTokens": call.prompt_tokens(),
        "tools": call.prompt.as_ref().map(|prompt| &prompt.tools),
        "messages": call.messages,
        "about": call.about,
        "kinds": call.kinds,
        "payload": call.payload,
    })
}
