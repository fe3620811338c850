//! `openMemory` and the class `Memory`: memory that survives sessions. Must not decide anything.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use napi::Env;
use napi::bindgen_prelude::{AsyncTask, ToNapiValue, TypeName};
use napi_derive::napi;

use super::argument::Given;
use super::blocking::{Blocking, blocking, to_js};
use crate::error::Result;
use crate::memory::{self, Folders};

/// What memory is opened with.
#[napi(object)]
pub struct MemoryOptions {
    /// The harness's own folder: global memory lives in its folder `memory`. Without it there is none.
    pub agent_dir: Option<String>,
    /// The project's folder: its memory lives in `.pi/memory`. Without it there is none.
    pub project: Option<String>,
    /// Whether the user trusts the project; otherwise its memory is not read, not mentioned and never made. Default: false.
    pub trusted: Option<bool>,
}

/// A page of memory: an entry of an index, or a section of a topic file that an index leads to.
#[napi(object, use_nullable = true)]
pub struct MemoryPage {
    /// Stable name: 12 hexadecimal digits, carried over edits.
    pub id: String,
    /// Whose memory it is.
    #[napi(ts_type = "MemoryScope")]
    pub scope: String,
    /// Path in the scope's folder, with `/`.
    pub file: String,
    /// Texts of the headings above it, outermost first.
    pub headings: Vec<String>,
    /// First line, from 1.
    pub line: u32,
    /// Last line.
    pub last_line: u32,
    /// What it tells.
    #[napi(
        ts_type = "'instruction' | 'fact' | 'decision' | 'procedure' | 'preference' | 'reference'"
    )]
    pub kind: String,
    /// What it is about: the text before the first `:` or `—`, or the title of the link that it begins with; null if it has none.
    pub key: Option<String>,
    /// Its Markdown.
    pub text: String,
    /// Whether it is in every session: the tag `#pinned`, or a heading `Pinned` or `Invariants` above it.
    pub pinned: bool,
    /// Whether it has the tag `#important`.
    pub important: bool,
}

/// The memory of one user in one project. Its files are read when a method is called; what did not change is not read again.
#[napi]
pub struct Memory {
    pub(super) core: Arc<Mutex<memory::Memory>>,
}

/// Opens memory. Reads and makes nothing yet.
///
/// Throws `INVALID_ARGUMENT`.
#[napi(ts_args_type = "options: MemoryOptions", catch_unwind)]
pub fn open_memory(env: Env, options: Given<MemoryOptions>) -> napi::Result<Memory> {
    let options = match options.named("options") {
        Ok(options) => options,
        Err(error) => return Err(to_js(env, &error)?),
    };
    let MemoryOptions { agent_dir, project, trusted } = options;
    let folders = Folders::new(
        agent_dir.as_deref().map(Path::new),
        project.as_deref().map(Path::new),
        trusted.unwrap_or_default(),
    );
    Ok(Memory { core: Arc::new(Mutex::new(memory::Memory::new(folders))) })
}

impl Memory {
    /// Works on memory on a worker thread, one method after another.
    pub(super) fn with<T: Send + 'static + ToNapiValue + TypeName>(
        &self,
        work: impl FnOnce(&mut memory::Memory) -> Result<T> + Send + 'static,
    ) -> AsyncTask<Blocking<T>> {
        let core = Arc::clone(&self.core);
        blocking(move || work(&mut core.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[napi]
impl Memory {
    /// The pages, in the order in which the model reads them: by scope, file and line.
    #[napi(ts_return_type = "Promise<Array<MemoryPage>>")]
    pub fn pages(&self) -> AsyncTask<Blocking<Vec<MemoryPage>>> {
        self.with(|memory| Ok(memory.look().pages().map(page).collect()))
    }
}

pub(super) fn page(page: &memory::Page) -> MemoryPage {
    MemoryPage {
        id: page.id.to_string(),
        scope: page.place.scope.to_string(),
        file: page.place.file.clone(),
        headings: page.place.headings.clone(),
        line: page.place.line,
        last_line: page.place.last_line,
        kind: page.kind.as_str().to_owned(),
        key: page.key.clone(),
        text: page.text.clone(),
        pinned: page.is_pinned,
        important: page.is_important,
    }
}
