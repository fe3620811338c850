//! A recorded call as JavaScript sees it: the messages sent, details of each message, and sizes.

use napi_derive::napi;
use serde_json::{Value, json};

use super::version::count;
use live::{About, CallPlace, Inspected, RecordedSize, Since};

/// A recorded call: what the model saw.
#[napi(object, use_nullable = true)]
pub struct RecordedCall {
    /// ID of the session that made it; the parent, for a call that a fork inherited.
    pub session_id: String,
    /// Its number in the session, from 1.
    pub call: i64,
    /// Number of the call that this one repeats: the host sent the same list again.
    pub retry_of: Option<i64>,
    /// Why the call went out with the host's own messages; null if it went out with ours. If it is set, the fields from here to
    /// `hash` are unknown.
    pub failed_open: Option<String>,
    /// Time of the call, in RFC 3339, UTC.
    pub time: Option<String>,
    /// Provider and model: `provider/id`.
    pub model: Option<String>,
    /// Layout.
    pub layout: Option<String>,
    /// Number of the epoch, from 0.
    pub epoch: Option<u32>,
    /// Why the epoch started; null for the first one.
    pub epoch_reason: Option<String>,
    /// Tokens of the messages as sent.
    pub sent_tokens: Option<i64>,
    /// Tokens of the host's own list, our tools' calls and their results included. What the plain host would have sent is in `size`.
    pub plain_tokens: Option<i64>,
    /// Tokens of the model's window.
    pub context_window: Option<i64>,
    /// How large the request was beside the plain host's; null of a call that is in no bill.
    pub size: Option<CallSize>,
    /// Running SHA-256 over the SHA-256 of each message's JSON, as it was recorded.
    pub hash: Option<String>,
    /// Whether `messages` match `hash`. False if a message is withheld whose hash is not known.
    pub verified: bool,
    /// The system prompt, if there was one.
    pub system_prompt: Option<String>,
    /// Tokens of system prompt and tools, by our count, if they are known.
    pub prompt_tokens: Option<i64>,
    /// Definitions of the tools, if they are known.
    #[napi(ts_type = "unknown")]
    pub tools: Value,
    /// The messages, each as its exact JSON.
    pub messages: Vec<String>,
    /// What is known of each message, in the same order.
    pub about: Vec<MessageAbout>,
    /// The request in the provider's format, if the host called `preparePayload`.
    pub payload: Option<RecordedPayload>,
}

/// How large a request was beside that of the plain host, as the ledger has it: in the provider's count, system prompt and tools included.
#[napi(object, use_nullable = true)]
pub struct CallSize {
    /// The provider's token count divided by ours, as it was known at the call; 1 until the provider reported one.
    pub factor: f64,
    /// Tokens of the request, as `ours.sent` of `LedgerCall`.
    pub sent: i64,
    /// Tokens of the plain host's request, as `plain.sent` of `LedgerCall`: after the compactions that it would have made.
    pub plain: i64,
    /// Whether the plain host would not have made the call, because that answers a tool of ours.
    pub extra: bool,
    /// Position in the chat of the first message that the plain host would still have had as it was: a summary would have stood for those
    /// before it. Null where it would not have compacted.
    pub plain_from: Option<i64>,
}

/// What is known of a message of a call.
#[napi(object, use_nullable = true)]
pub struct MessageAbout {
    /// Position in the chat, from 0; null for messages that are not in the chat, such as ours.
    pub position: Option<i64>,
    /// Tokens of the message as shown, by our count.
    pub tokens: i64,
    /// ID of the object whose content or result the message is.
    pub object: Option<String>,
    /// Handle of that object.
    pub handle: Option<String>,
    /// Handle of the file that it shows or that the call changed.
    pub file_handle: Option<String>,
    /// Path of that file.
    pub path: Option<String>,
    /// How a tool result is shown, such as `{ as: "excerpt", pieces: [...] }`; null for other messages.
    #[napi(ts_type = "{ as: string; [detail: string]: unknown } | null")]
    pub shown: Value,
    /// Number of the first call that showed it in this way; null if it is shown as the host gave it.
    pub since_call: Option<i64>,
    /// Number of the epoch that changed it; null if it was sent in this way from the start.
    pub since_epoch: Option<u32>,
    /// Why that epoch started.
    pub reason: Option<String>,
    /// Notes about changed files that were added to it.
    pub notes: Vec<String>,
    /// Lines that stand for folded steps and were added to it.
    pub folds: Vec<FoldAbout>,
    /// Why the store does not hold the message as it went out; null if it does.
    /// `excluded`: it shows a file that the setting `exclude` names; `secret`: it holds what looks like a secret, and may show such a file.
    #[napi(ts_type = "\"excluded\" | \"secret\" | \"forgotten\" | \"redacted\"")]
    pub withheld: Option<String>,
    /// For a withheld message, the SHA-256 of its JSON as it went out, if that is known.
    pub digest: Option<String>,
}

/// A line that stands for folded steps.
#[napi(object, use_nullable = true)]
pub struct FoldAbout {
    /// The line.
    pub line: String,
    /// Number of the first call that showed it.
    pub since_call: i64,
    /// Number of the epoch that folded the steps.
    pub since_epoch: Option<u32>,
    /// Why that epoch started.
    pub reason: Option<String>,
}

/// A request in the provider's format.
#[napi(object, use_nullable = true)]
pub struct RecordedPayload {
    /// SHA-256 of the request as canonical JSON.
    pub hash: String,
    /// Its messages, each as JSON, if another extension changed them after us; else null.
    pub messages: Option<Vec<String>>,
}

pub(super) fn recorded(call: Inspected) -> RecordedCall {
    let record = call.record.as_ref();
    let prompt_tokens = call.prompt_tokens().map(count);
    let about = (0..).zip(&call.about).map(|(index, about)| {
        message_about(about, call.withheld.iter().find(|place| place.message == index))
    });
    RecordedCall {
        session_id: call.session.to_string(),
        call: count(call.call),
        retry_of: record.and_then(|record| record.retry_of).map(count),
        failed_open: call.failure,
        time: record.map(|record| record.time.to_string()),
        model: record.and_then(|record| record.model.clone()),
        layout: record.map(|record| record.layout.clone()),
        epoch: record.map(|record| record.epoch),
        epoch_reason: call.epoch_reason,
        sent_tokens: record.map(|record| count(record.sent_tokens)),
        plain_tokens: record.map(|record| count(record.plain_tokens)),
        context_window: record.and_then(|record| record.context_window).map(count),
        size: call.size.map(call_size),
        hash: record.map(|record| record.hash.to_string()),
        verified: call.verified,
        about: about.collect(),
        prompt_tokens,
        system_prompt: call.prompt.as_ref().and_then(|prompt| prompt.text.clone()),
        tools: call.prompt.map(|prompt| prompt.tools).unwrap_or_default(),
        messages: call.messages,
        payload: call.payload.map(|payload| RecordedPayload {
            hash: payload.hash.to_string(),
            messages: payload.messages,
        }),
    }
}

fn call_size(size: RecordedSize) -> CallSize {
    CallSize {
        factor: size.factor,
        sent: count(size.sent),
        plain: count(size.plain),
        extra: size.extra,
        plain_from: size.plain_from.map(count),
    }
}

fn message_about(about: &About, withheld: Option<&CallPlace>) -> MessageAbout {
    let file = about.file.as_ref();
    let since = about.since.as_ref();
    let epoch = since.and_then(|since| since.epoch.as_ref());
    MessageAbout {
        position: about.at.map(count),
        tokens: count(about.tokens),
        object: about.object.as_ref().map(ToString::to_string),
        handle: about.handle.map(|handle| handle.to_string()),
        file_handle: file.map(|(handle, _)| handle.to_string()),
        path: file.map(|(_, path)| path.clone()),
        shown: json!(about.treatment),
        since_call: since.map(|since| count(since.call)),
        since_epoch: epoch.map(|(number, _)| *number),
        reason: epoch.map(|(_, reason)| reason.clone()),
        notes: about.notes.clone(),
        folds: about.folds.iter().map(fold_about).collect(),
        withheld: withheld.map(|place| place.reason.as_str().to_owned()),
        digest: withheld.and_then(|place| place.digest.as_ref()).map(ToString::to_string),
    }
}

fn fold_about((line, since): &(String, Since)) -> FoldAbout {
    let epoch = since.epoch.as_ref();
    FoldAbout {
        line: line.clone(),
        since_call: count(since.call),
        since_epoch: epoch.map(|(number, _)| *number),
        reason: epoch.map(|(_, reason)| reason.clone()),
    }
}
