//! The listener that JavaScript passes to work that takes long.

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use serde_json::{Value, json};

use super::argument::Maybe;
use super::blocking::Answer;
use base::error::Result;
use store::Progress;

/// Called with the progress, without anybody waiting for it.
pub(super) type Listener = ThreadsafeFunction<Answer, (), Answer, Status, false, true>;

/// Tells the listener, if there is one.
pub(super) fn tell(listener: Option<&Listener>, progress: Value) {
    if let Some(listener) = listener {
        listener.call(progress.into(), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

/// What tells the listener `onProgress` how far work on a store is.
pub(super) fn told(on_progress: Maybe<Listener>) -> Result<impl FnMut(Progress) -> Result<()>> {
    let listener = on_progress.named("onProgress")?;
    Ok(move |progress: Progress| {
        tell(listener.as_ref(), json!(progress));
        Ok(())
    })
}
