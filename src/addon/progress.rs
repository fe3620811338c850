//! The listener that JavaScript passes to work that takes long.

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use serde_json::Value;

use super::argument::Maybe;
use super::blocking::{Answer, to_js};

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
