//! The listener that JavaScript passes to work that takes long.

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use serde_json::{Value, json};

use super::argument::Maybe;
use super::blocking::{Answer, to_js};
use base::error::Result;
use store::{Progress, Stage};

/// Called with the progress, without anybody waiting for it.
pub(super) type Listener = ThreadsafeFunction<Answer, (), Answer, Status, false, true>;

/// The listener `onProgress`, if one was passed.
pub(super) fn listener(
    env: Env,
    on_progress: Maybe<Function<'_, Answer, ()>>,
) -> napi::Result<Option<Listener>> {
    match on_progress.named("onProgress") {
        Ok(None) => Ok(None),
        Ok(Some(function)) => function.build_threadsafe_function().weak::<true>().build().map(Some),
        Err(error) => Err(to_js(env, &error)?),
    }
}

/// Tells the listener, if there is one.
pub(super) fn tell(listener: Option<&Listener>, progress: Value) {
    if let Some(listener) = listener {
        listener.call(progress.into(), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

/// What tells the listener how far work on a store is.
pub(super) fn told(listener: Option<Listener>) -> impl FnMut(Progress) -> Result<()> {
    move |Progress { stage, done, of }| {
        let stage = match stage {
            Stage::Exporting => "exporting",
            Stage::Importing => "importing",
            Stage::Checking => "checking",
            Stage::Sending => "sending",
            Stage::Taking => "taking",
        };
        tell(listener.as_ref(), json!({ "stage": stage, "done": done, "of": of }));
        Ok(())
    }
}
