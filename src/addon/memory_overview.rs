//! `Memory.overview`. Must not decide anything.

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;

use super::blocking::{Answer, Blocking};
use super::memory::Memory;

#[napi]
impl Memory {
    /// What there is of memory: settings, scopes with their files, pages, and how much of it the model has. Changes nothing.
    #[napi(ts_return_type = "Promise<MemoryOverview>")]
    pub fn overview(&self) -> AsyncTask<Blocking<Answer>> {
        self.answer(|memory| Ok(memory.overview()))
    }
}
