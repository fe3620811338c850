//! Recorded calls: what the model saw, and how two calls differ.

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::recorded::recorded;
use super::store::Store;
use base::error::{Error, Result};
use base::object::ObjectId;
use live::{
    self, Against, Beside, BesideBoth, Inspected, compare_calls, find_session, inspect_beside,
    inspect_call, inspect_calls, newest_call,
};

/// Maximum number of calls read at once: they hold all of their messages.
const MOST_CALLS: u32 = 1_000;

/// Which call to read.
#[napi(object)]
#[derive(Default)]
pub struct CallOptions {
    /// Number of the call, from 1. Default: the newest.
    pub call: Option<u32>,
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

/// Which calls to read.
#[napi(object)]
pub struct CallRange {
    /// Number of the first, from 1.
    pub from: u32,
    /// How many; at most 1000.
    pub count: u32,
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
        options: Maybe<CallOptions>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = find_session(store, &session.named("session")?)?;
            let options = options.or_default("options")?;
            inspected(store, &session, options.call).map(|call| recorded(&call))
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
        options: Maybe<ComparisonOptions>,
    ) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = find_session(store, &session.named("session")?)?;
            let options = options.or_default("options")?;
            let against = against(options.against.as_deref())?;
            let number = numbered(store, &session, options.call)?;
            inspect_beside(store, &session, number, against).map(|beside| compared(&beside))
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
    ) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = find_session(store, &session.named("session")?)?;
            let CallRange { from, count } = options.named("options")?;
            if count > MOST_CALLS {
                let must = format!("is {count}; it must be at most {MOST_CALLS}");
                return Err(Error::argument("options.count", must));
            }
            let numbers = u64::from(from)..u64::from(from) + u64::from(count);
            let calls = inspect_calls(store, &session, numbers)?;
            Ok(calls.into_iter().map(beside_both).collect::<Vec<_>>())
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
    ) -> Promised<Answer> {
        self.answer(move |Self { core: store, .. }| {
            let session = find_session(store, &session.named("session")?)?;
            let from = inspected(store, &session, Some(from.named("from")?))?;
            let to = inspected(store, &session, Some(to.named("to")?))?;
            Ok(compare_calls(&from.messages, &to.messages))
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

fn beside_both(read: Result<BesideBoth>) -> Value {
    match read {
        Ok(both) => json!({
            "call": recorded(&both.call),
            "sinceBefore": both.since_before,
            "promptChange": both.prompt,
            "plain": recorded(&both.plain),
            "againstPlain": both.against_plain,
        }),
        Err(error) => json!({
            "code": error.code(),
            "message": error.message(),
            "hint": error.hint(),
        }),
    }
}

fn compared(beside: &Beside) -> Value {
    json!({
        "call": recorded(&beside.call),
        "other": beside.other.as_ref().map(recorded),
        "changes": beside.changes,
        "promptChange": beside.prompt,
    })
}
