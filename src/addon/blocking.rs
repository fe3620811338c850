//! Runs blocking work as a closure on a worker thread, and turns its errors and panics into
//! JavaScript errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi::bindgen_prelude::{
    AsyncTask, Function, JsObjectValue, JsValue, Object, ToNapiValue, TypeName,
};
use napi::{Env, Task, Unknown, sys};
use serde::Serialize;
use serde_json::Value;

use base::error::{Error, Result};

type Work<T> = Box<dyn FnOnce() -> Result<T> + Send>;

/// A closure that runs on a worker thread.
pub struct Blocking<T> {
    work: Option<Work<T>>,
    error: Option<Error>,
}

/// A promise in JavaScript that a worker thread settles.
pub type Promised<T> = AsyncTask<Blocking<T>>;

/// Runs `work` on a worker thread, and settles the promise with its result.
pub fn blocking<T: Send + 'static + ToNapiValue + TypeName>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Promised<T> {
    AsyncTask::new(Blocking { work: Some(Box::new(work)), error: None })
}

/// As [`blocking`], with the result as the [`Answer`] that serde makes of it.
pub fn answering<T: Serialize>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Promised<Answer> {
    blocking(move || Answer::of(&work()?))
}

/// What methods work with on a worker thread: a clone of it goes there.
pub(super) trait OnWorker: Clone + Send + 'static {
    /// Does work, see [`blocking`].
    fn with<T: Send + 'static + ToNapiValue + TypeName>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let own = self.clone();
        blocking(move || work(&own))
    }

    /// As [`Self::with`], with the result as an [`Answer`].
    fn answer<T: Serialize>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Promised<Answer> {
        let own = self.clone();
        answering(move || work(&own))
    }
}

impl<T: Send + 'static + ToNapiValue + TypeName> Task for Blocking<T> {
    type Output = T;
    type JsValue = T;

    fn compute(&mut self) -> napi::Result<T> {
        let work =
            self.work.take().ok_or_else(|| napi::Error::from_reason("the task ran already"))?;
        guarded(work).map_err(|error| {
            let reason = error.message();
            self.error = Some(error);
            napi::Error::from_reason(reason)
        })
    }

    fn resolve(&mut self, _env: Env, output: T) -> napi::Result<T> {
        Ok(output)
    }

    fn reject(&mut self, env: Env, error: napi::Error) -> napi::Result<T> {
        Err(match self.error.take() {
            Some(ours) => to_js(env, &ours)?,
            None => error,
        })
    }
}

/// What goes out to JavaScript, as JSON: made on the worker thread, and parsed by the engine, which
/// takes less of JavaScript's thread than a call for each value. `types` describes it.
pub struct Answer(String);

impl Answer {
    /// # Errors
    /// `INTERNAL` if it has no JSON, such as a path that is not UTF-8.
    pub(super) fn of(value: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_string(value);
        json.map(Self).map_err(|error| Error::internal(error.to_string()))
    }
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self(value.to_string())
    }
}

/// Without the members that are null: those that JavaScript finds absent.
pub(super) fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
}

impl TypeName for Answer {
    fn type_name() -> &'static str {
        "object"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Unknown
    }
}

impl ToNapiValue for Answer {
    #[expect(unsafe_code, reason = "the trait's signature")]
    unsafe fn to_napi_value(env: sys::napi_env, answer: Self) -> napi::Result<sys::napi_value> {
        let global = Env::from_raw(env).get_global()?;
        let json: Object<'_> = global.get_named_property("JSON")?;
        let parse: Function<'_, String, Unknown<'_>> = json.get_named_property("parse")?;
        Ok(parse.call(answer.0)?.raw())
    }
}

/// Calls `work`; a panic becomes an `INTERNAL` error.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(Error::internal(text.unwrap_or_else(|| "a panic without a message".to_owned())))
    })
}

/// Turns the core's error into a JavaScript one with message, `code`, `hint`, `candidates` of an
/// ambiguous name, `failure` if something of ours does not work, and `report` (message, causes and
/// hint, for logs).
pub(super) fn to_js(env: Env, error: &Error) -> napi::Result<napi::Error> {
    let mut object = env.create_error(napi::Error::from_reason(error.message()))?;
    object.set_named_property("code", error.code())?;
    object.set_named_property("report", error.report())?;
    if error.is_failure() {
        object.set_named_property("failure", true)?;
    }
    if let Some(hint) = error.hint() {
        object.set_named_property("hint", hint)?;
    }
    if !error.candidates().is_empty() {
        object.set_named_property("candidates", error.candidates().to_vec())?;
    }
    Ok(napi::Error::from(object.to_unknown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let error = guarded::<()>(|| panic!("boom {}", 1)).unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("INTERNAL", "internal error: boom 1")
        );
    }
}
