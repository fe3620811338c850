//! Recorded calls: what the model saw, and how two calls differ.

use napi::Either;
use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking};
use super::recorded::{RecordedCall, recorded};
use super::store::Store;
use super::version::count;
use base::error::{Error, Result};
use base::object::ObjectId;
use live::{
    self, Against, Beside, BesideBoth, Inspected, MessageChange, compare_calls, find_session,
    inspect_beside, inspect_call, inspect_calls, newest_call,
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

/// A call beside another list of messages.
#[napi(object, use_nullable = true)]
pub struct ComparedCall {
    /// The call.
    pub call: RecordedCall,
    /// The other list; null before the first call, and where the call before cannot be read.
    pub other: Option<RecordedCall>,
    /// How the call differs from it: `old` is an index of `other`, `new` one of `call`. Empty where there is none.
    pub changes: Vec<CallChange>,
    /// How its system prompt and tools differ from those of the call before; null where they are the same, where either is not known, and
    /// against plain, whose own are not recorded.
    pub prompt_change: Option<PromptChange>,
}

/// How system prompt and tools of a call differ from those of the call before. Either costs all that a cache held.
#[napi(object, use_nullable = true)]
pub struct PromptChange {
    /// Unified difference of the system prompts; null where they are the same.
    pub text: Option<String>,
    /// Names of the tools that are new.
    pub added: Vec<String>,
    /// Names of the tools that are gone.
    pub removed: Vec<String>,
    /// Names of the tools that are defined otherwise.
    pub changed: Vec<String>,
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
    /// As in `ComparedCall`.
    pub prompt_change: Option<PromptChange>,
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
    let changes = |changes: Vec<MessageChange>| changes.into_iter().map(call_change).collect();
    match read {
        Ok(both) => Either::A(CallBesideBoth {
            call: recorded(both.call),
            since_before: both.since_before.map(changes),
            prompt_change: both.prompt.map(prompt_change),
            plain: recorded(both.plain),
            against_plain: changes(both.against_plain),
        }),
        Err(error) => Either::B(CallFailure {
            code: error.code().to_owned(),
            message: error.message(),
            hint: error.hint().map(str::to_owned),
        }),
    }
}

fn compared(beside: Beside) -> ComparedCall {
    ComparedCall {
        call: recorded(beside.call),
        other: beside.other.map(recorded),
        changes: beside.changes.into_iter().map(call_change).collect(),
        prompt_change: beside.prompt.map(prompt_change),
    }
}

fn prompt_change(change: live::PromptChange) -> PromptChange {
    let live::PromptChange { text, added, removed, changed } = change;
    PromptChange { text, added, removed, changed }
}

fn call_change(change: live::MessageChange) -> CallChange {
    let index = |index: usize| Some(count(index as u64));
    let (name, old, new, number, diff) = match change {
        MessageChange::Kept { old, new, count } => ("kept", index(old), index(new), count, None),
        MessageChange::Removed { old } => ("removed", index(old), None, 1, None),
        MessageChange::Inserted { new } => ("inserted", None, index(new), 1, None),
        MessageChange::Changed { old, new, diff } => {
            ("changed", index(old), index(new), 1, Some(diff))
        }
    };
    CallChange { change: name.to_owned(), old, new, count: count(number as u64), diff }
}
