//! Recorded calls: what the model saw, and how two calls differ.

use napi::Either;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::store::Store;
use super::version::count;
use crate::error::{Error, Result};
use crate::live::{
    self, About, Against, Beside, BesideBoth, Change, Inspected, Place, Since, compare_calls,
    find_session, inspect_beside, inspect_call, inspect_calls, newest_call,
};
use crate::object::ObjectId;
use crate::store;

/// Calls that are read at once: they hold all of their messages.
const MOST_CALLS: u32 = 1_000;

/// Which call to read.
#[napi(object)]
#[derive(Default)]
pub struct CallOptions {
    /// Number of the call, from 1. Default: the newest.
    pub call: Option<u32>,
}

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
    /// Tokens of the messages as the host would have sent them.
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
    /// Tokens of the plain host's request, as `plain.sent` of `LedgerCall`: after the compactions that it would have made. Null where it
    /// would not have made the call, because that answers a tool of ours.
    pub plain: Option<i64>,
    /// Position in the chat of the first message that the plain host would still have had as it was: a summary would have stood for those
    /// before it. Null where it would not have compacted.
    pub plain_from: Option<i64>,
}

/// Which call to compare, and with what.
#[napi(object)]
#[derive(Default)]
pub struct ComparisonOptions {
    /// Number of the call, from 1. Default: the newest.
    pub call: Option<u32>,
    /// `before`: the call before. `plain`: the host's own list at that call, as the plain host would have sent it: no record, no hash,
    /// each message as it was given. Where the host compacted, its list as it was then. Default: `before`.
    #[napi(ts_type = "\"before\" | \"plain\"")]
    pub against: Option<String>,
}

/// A call beside another list of messages.
#[napi(object, use_nullable = true)]
pub struct ComparedCall {
    /// The call.
    pub call: RecordedCall,
    /// The other list; null before the first call, and where the call before cannot be read.
    pub other: Option<RecordedCall>,
    /// How the call differs from it: `old` is an index of `other`, `new` one of `call`. Empty where there is none.
    pub changes: Vec<CallChange>,
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
    #[napi(ts_type = "\"excluded\" | \"forgotten\" | \"redacted\" | null")]
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

/// Which calls to read.
#[napi(object)]
pub struct CallRange {
    /// Number of the first, from 1.
    pub from: u32,
    /// How many; at most 1000.
    pub count: u32,
}

/// A call beside the call before and beside what the plain host would have sent.
#[napi(object, use_nullable = true)]
pub struct CallBesideBoth {
    /// The call.
    pub call: RecordedCall,
    /// How it differs from the call before; null for the first call, and where that cannot be read.
    pub since_before: Option<Vec<CallChange>>,
    /// What the plain host would have sent: no record, no hash, and nothing in it is shown otherwise than as given.
    pub plain: RecordedCall,
    /// How the call differs from that.
    pub against_plain: Vec<CallChange>,
}

/// Why a call cannot be read, as the error of `recordedCall`.
#[napi(object, use_nullable = true)]
pub struct CallFailure {
    /// The error's code.
    pub code: String,
    /// The error, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A run of messages that two calls have in common, or a difference between them.
#[napi(object, use_nullable = true)]
pub struct CallChange {
    /// `kept`, `removed`, `inserted`, or `changed`: the same message, shown in another way.
    #[napi(ts_type = "\"kept\" | \"removed\" | \"inserted\" | \"changed\"")]
    pub change: String,
    /// Index of the first message in the earlier call; null if they are inserted.
    pub old: Option<i64>,
    /// Index of the first message in the later call; null if they are removed.
    pub new: Option<i64>,
    /// Number of messages; always 1 unless they are kept.
    pub count: i64,
    /// Unified difference of a changed message.
    pub diff: Option<String>,
}

#[napi]
impl Store {
    /// Renders what the model saw at a call again and checks it against the recorded hash.
    ///
    /// `session`: as in `findSession`.
    ///
    /// Rejects as `findSession`, with `NOT_FOUND` if there is no such call, and with
    /// `HASH_MISMATCH` if the store no longer gives what was sent.
    #[napi(
        ts_args_type = "session: string, options?: CallOptions",
        ts_return_type = "Promise<RecordedCall>"
    )]
    pub fn recorded_call(
        &self,
        session: Given<String>,
        options: Given<Option<CallOptions>>,
    ) -> AsyncTask<Blocking<RecordedCall>> {
        let store = self.core.clone();
        blocking(move || {
            let session = find_session(&store, &session.named("session")?)?;
            let options = options.named("options")?.unwrap_or_default();
            inspected(&store, &session, options.call).map(recorded)
        })
    }

    /// A call as `recordedCall` has it, beside the call before or beside what the plain host would have sent.
    ///
    /// `session`: as in `findSession`. Rejects as `recordedCall`.
    #[napi(
        ts_args_type = "session: string, options?: ComparisonOptions",
        ts_return_type = "Promise<ComparedCall>"
    )]
    pub fn compared_call(
        &self,
        session: Given<String>,
        options: Given<Option<ComparisonOptions>>,
    ) -> AsyncTask<Blocking<ComparedCall>> {
        let store = self.core.clone();
        blocking(move || {
            let session = find_session(&store, &session.named("session")?)?;
            let options = options.named("options")?.unwrap_or_default();
            let against = against(options.against.as_deref())?;
            let number = numbered(&store, &session, options.call)?;
            inspect_beside(&store, &session, number, against).map(compared)
        })
    }

    /// Calls one after another, each beside the call before and beside what the plain host would have sent: what `comparedCall` gives,
    /// without reading the session anew for each. A call that cannot be read is an error in its place; behind the newest call there are
    /// none.
    ///
    /// `session`: as in `findSession`. Rejects as `findSession`, with `NOT_FOUND` if it made no call, and with `INVALID_ARGUMENT` if
    /// `count` is above 1000.
    #[napi(
        ts_args_type = "session: string, options: CallRange",
        ts_return_type = "Promise<(CallBesideBoth | CallFailure)[]>"
    )]
    pub fn compared_calls(
        &self,
        session: Given<String>,
        options: Given<CallRange>,
    ) -> AsyncTask<Blocking<Vec<Either<CallBesideBoth, CallFailure>>>> {
        let store = self.core.clone();
        blocking(move || {
            let session = find_session(&store, &session.named("session")?)?;
            let CallRange { from, count } = options.named("options")?;
            if count > MOST_CALLS {
                let must = format!("is {count}; it must be at most {MOST_CALLS}");
                return Err(Error::argument("options.count", must));
            }
            let numbers = u64::from(from)..u64::from(from) + u64::from(count);
            let calls = inspect_calls(&store, &session, numbers)?;
            Ok(calls.into_iter().map(beside_both).collect())
        })
    }

    /// Compares what the model saw at two calls of a session, message by message, from call `from` to call `to`.
    ///
    /// Rejects as `recordedCall`.
    #[napi(
        ts_args_type = "session: string, from: number, to: number",
        ts_return_type = "Promise<CallChange[]>"
    )]
    pub fn compare_calls(
        &self,
        session: Given<String>,
        from: Given<u32>,
        to: Given<u32>,
    ) -> AsyncTask<Blocking<Vec<CallChange>>> {
        let store = self.core.clone();
        blocking(move || {
            let session = find_session(&store, &session.named("session")?)?;
            let from = inspected(&store, &session, Some(from.named("from")?))?;
            let to = inspected(&store, &session, Some(to.named("to")?))?;
            Ok(compare_calls(&from.messages, &to.messages).into_iter().map(call_change).collect())
        })
    }
}

fn inspected(store: &store::Store, session: &ObjectId, call: Option<u32>) -> Result<Inspected> {
    inspect_call(store, session, numbered(store, session, call)?)
}

fn numbered(store: &store::Store, session: &ObjectId, call: Option<u32>) -> Result<u64> {
    call.map_or_else(|| newest_call(store, session), |call| Ok(u64::from(call)))
}

fn against(name: Option<&str>) -> Result<Against> {
    match name {
        None | Some("before") => Ok(Against::Before),
        Some("plain") => Ok(Against::Plain),
        Some(name) => {
            let must = format!("is `{name}`; it must be `before` or `plain`");
            Err(Error::argument("options.against", must))
        }
    }
}

fn beside_both(read: Result<BesideBoth>) -> Either<CallBesideBoth, CallFailure> {
    let changes = |changes: Vec<Change>| changes.into_iter().map(call_change).collect();
    match read {
        Ok(both) => Either::A(CallBesideBoth {
            call: recorded(both.call),
            since_before: both.since_before.map(changes),
            plain: recorded(both.plain),
            against_plain: changes(both.against_plain),
        }),
        Err(error) => Either::B(CallFailure {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }),
    }
}

fn compared(beside: Beside) -> ComparedCall {
    ComparedCall {
        call: recorded(beside.call),
        other: beside.other.map(recorded),
        changes: beside.changes.into_iter().map(call_change).collect(),
    }
}

fn recorded(call: Inspected) -> RecordedCall {
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
        size: call.size.map(|size| CallSize {
            factor: size.factor,
            sent: count(size.sent),
            plain: size.plain.map(count),
            plain_from: size.plain_from.map(count),
        }),
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

fn message_about(about: &About, withheld: Option<&Place>) -> MessageAbout {
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

fn call_change(change: live::Change) -> CallChange {
    let index = |index: usize| Some(count(index as u64));
    let (name, old, new, number, diff) = match change {
        Change::Kept { old, new, count } => ("kept", index(old), index(new), count, None),
        Change::Removed { old } => ("removed", index(old), None, 1, None),
        Change::Inserted { new } => ("inserted", None, index(new), 1, None),
        Change::Changed { old, new, diff } => ("changed", index(old), index(new), 1, Some(diff)),
    };
    CallChange { change: name.to_owned(), old, new, count: count(number as u64), diff }
}
