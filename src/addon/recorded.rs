//! A recorded call as JavaScript sees it: the messages sent, details of each message, and sizes.

use serde_json::{Value, json};

use live::{About, CallPlace, Inspected, Since};

pub(super) fn recorded(call: &Inspected) -> Value {
    let record = call.record.as_ref();
    let about = (0..).zip(&call.about).map(|(index, about)| {
        message_about(about, call.withheld.iter().find(|place| place.message == index))
    });
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
        "about": about.collect::<Vec<_>>(),
        "kinds": call.kinds,
        "payload": call.payload,
    })
}

fn message_about(about: &About, withheld: Option<&CallPlace>) -> Value {
    let file = about.file.as_ref();
    let folds = about.folds.iter().map(|(line, since)| {
        let mut fold = since_when(Some(since));
        fold["line"] = json!(line);
        fold
    });
    let mut answer = since_when(about.since.as_ref());
    let known = json!({
        "position": about.at,
        "tokens": about.tokens,
        "object": about.object,
        "handle": about.handle,
        "fileHandle": file.map(|(handle, _)| handle),
        "path": file.map(|(_, path)| path),
        "shown": about.treatment,
        "notes": about.notes,
        "folds": folds.collect::<Vec<_>>(),
        "withheld": withheld.map(|place| place.reason),
        "digest": withheld.and_then(|place| place.digest.as_ref()),
    });
    if let (Value::Object(answer), Value::Object(known)) = (&mut answer, known) {
        answer.extend(known);
    }
    answer
}

fn since_when(since: Option<&Since>) -> Value {
    let epoch = since.and_then(|since| since.epoch.as_ref());
    json!({
        "sinceCall": since.map(|since| since.call),
        "sinceEpoch": epoch.map(|(number, _)| number),
        "reason": epoch.map(|(_, reason)| reason),
    })
}
