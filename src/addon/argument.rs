//! Arguments as JavaScript passed them. One of the wrong shape becomes an `INVALID_ARGUMENT`,
//! reported the way the function reports its other errors: napi's own conversion would throw at
//! once, even from functions that return promises, and with codes of its own.

use std::ptr;

use napi::bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue};
use napi::sys;
use serde_json::Value;

use base::error::{Error, Result};

/// An argument, or what is wrong with it.
pub struct Given<T>(std::result::Result<T, String>);

impl<T> Given<T> {
    /// The argument; errors refer to it by this name.
    pub(super) fn named(self, argument: &str) -> Result<T> {
        self.0.map_err(|problem| Error::argument(argument, format!("is refused: {problem}")))
    }
}

/// An argument that may be left out.
pub type Maybe<T> = Given<Option<T>>;

impl<T: Default> Maybe<T> {
    /// As [`Given::named`], with the default for what is left out.
    pub(super) fn or_default(self, argument: &str) -> Result<T> {
        self.named(argument).map(Option::unwrap_or_default)
    }
}

impl<T: FromNapiValue + ValidateNapiValue> FromNapiValue for Given<T> {
    #[expect(unsafe_code, reason = "the trait's signature")]
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: the library's own check and conversion, with the environment and value that it
        // was given.
        let converted =
            unsafe { T::validate(env, value).and_then(|_| T::from_napi_value(env, value)) };
        Ok(Self(converted.map_err(|error| {
            clear_exception(env);
            error.reason.clone()
        })))
    }
}

/// A JSON value from JavaScript.
#[derive(Clone)]
pub struct Json(pub Value);

impl TypeName for Json {
    fn type_name() -> &'static str {
        "object"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Unknown
    }
}

impl FromNapiValue for Json {
    #[expect(unsafe_code, reason = "the trait's signature")]
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        // SAFETY: the library's own conversion, with the environment and value that it was given.
        unsafe { Value::from_napi_value(env, value) }.map(whole_numbers).map(Self)
    }
}

impl ValidateNapiValue for Json {
    #[expect(unsafe_code, reason = "the trait's signature")]
    unsafe fn validate(_: sys::napi_env, _: sys::napi_value) -> napi::Result<sys::napi_value> {
        Ok(ptr::null_mut())
    }
}

/// Turns floats without a fraction into integers, as `JSON.stringify` writes them: the library makes floats of integers beyond 32
/// bits.
fn whole_numbers(value: Value) -> Value {
    /// Up to this value a float holds every whole number exactly.
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|float| float.fract() == 0.0);
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
            match float.filter(|float| number.is_f64() && float.abs() <= MAX_SAFE) {
                Some(float) => Value::from(float as i64),
                None => Value::Number(number),
            }
        }
        Value::Array(values) => values.into_iter().map(whole_numbers).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect()
        }
        value => value,
    }
}

/// Clears an exception that a getter of the argument threw. JavaScript would throw it when the function returns.
#[expect(unsafe_code, reason = "the library has no safe call for this")]
fn clear_exception(env: sys::napi_env) {
    let mut pending = false;
    let mut exception = ptr::null_mut();
    // SAFETY: both write to the place given and read nothing; the environment is that of the
    // running call.
    unsafe {
        if sys::napi_is_exception_pending(env, &raw mut pending) == sys::Status::napi_ok && pending
        {
            sys::napi_get_and_clear_last_exception(env, &raw mut exception);
        }
    }
}
