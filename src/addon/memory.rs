//! `openMemory` and the class `Memory`: memory that survives sessions. Must not decide anything.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use napi::Env;
use napi::bindgen_prelude::{ClassInstance, ToNapiValue, TypeName};
use napi_derive::napi;
use serde::Serialize;
use serde_json::{Value, json};

use super::argument::{Given, Json, Maybe};
use super::blocking::{Answer, Promised, answering, blocking, to_js};
use super::crossing::call_info;
use super::session::Session;
use super::store::Store;
use base::error::Result;
use base::lock;
use live::CallInfo;
use memory::Folders;
use session::{PromptedSession, Prompting};

/// What memory is opened with.
#[napi(object)]
pub struct MemoryOptions {
    /// The harness's own folder: global memory lives in its folder `memory`. Without it there is none.
    pub agent_dir: Option<String>,
    /// The project's folder: its memory lives in `.pi/memory`. Without it there is none.
    pub project: Option<String>,
    /// Whether the user trusts the project; otherwise its memory is not read and never made. Default: what the person said of the project,
    /// see `projectTrust`; it is asked for again at every look. Give `true` only where a person said so to the caller.
    pub trusted: Option<bool>,
    /// Name of a conversation in which others than the user take part, such as a group's. Then there is its own memory alone, in a folder
    /// of the harness's own folder: neither global memory, nor the project's, nor `MEMORY.local.md`. The scope is `conversation`.
    pub conversation: Option<String>,
}

/// The memory of one user in one project. Its files are read when a method is called; what did not change is not read again.
#[napi]
pub struct Memory {
    pub(super) core: Arc<Mutex<memory::Memory>>,
}

/// Opens memory. Reads and makes nothing yet.
///
/// `store`: where its files become objects like any other, with versions, history, differences and backlinks. Memory needs none, and goes
/// on without it where it fails.
///
/// Throws `INVALID_ARGUMENT`.
#[napi(ts_args_type = "options: MemoryOptions, store?: Store | undefined | null", catch_unwind)]
pub fn open_memory(
    env: Env,
    options: Given<MemoryOptions>,
    store: Maybe<ClassInstance<'_, Store>>,
) -> napi::Result<Memory> {
    let (options, store) = match (options.named("options"), store.named("store")) {
        (Ok(options), Ok(store)) => (options, store),
        (Err(error), _) | (_, Err(error)) => return Err(to_js(env, &error)?),
    };
    let MemoryOptions { agent_dir, project, trusted, conversation } = options;
    let (agent_dir, project) =
        (agent_dir.as_deref().map(Path::new), project.as_deref().map(Path::new));
    let folders = match (conversation, agent_dir) {
        (None, _) if trusted.is_none() => Folders::new(agent_dir, project, false).by_answer(),
        (None, _) => Folders::new(agent_dir, project, trusted.unwrap_or_default()),
        (Some(name), Some(folder)) => Folders::of_conversation(folder, &name),
        // A harness without a folder has no memory at all.
        (Some(_), None) => Folders::new(None, None, false),
    };
    let memory = memory::Memory::new(folders);
    let memory = match store {
        Some(store) => memory.with_store(store.access()),
        None => memory,
    };
    Ok(Memory { core: Arc::new(Mutex::new(memory)) })
}

impl Memory {
    /// Runs work on memory on a worker thread, one method after another.
    pub(super) fn with<T: Send + 'static + ToNapiValue + TypeName>(
        &self,
        work: impl FnOnce(&mut memory::Memory) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let core = Arc::clone(&self.core);
        blocking(move || work(&mut lock(&core)))
    }

    pub(super) fn answer<T: Serialize>(
        &self,
        work: impl FnOnce(&mut memory::Memory) -> Result<T> + Send + 'static,
    ) -> Promised<Answer> {
        let core = Arc::clone(&self.core);
        answering(move || work(&mut lock(&core)))
    }
}

#[napi]
impl Memory {
    /// The pages, in the order in which the model reads them: by scope, file and line.
    #[napi(ts_return_type = "Promise<Array<MemoryPage>>")]
    pub fn pages(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.look().pages().map(page).collect::<Vec<_>>()))
    }

    /// What the system prompt is to say of memory, for a harness without a session: it changes whenever memory does. Resolves to null
    /// where memory is off. With a session call `Session.memorySection`.
    #[napi(ts_return_type = "Promise<MemorySection | null>")]
    pub fn section(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.prompt(None)?.map(section)))
    }

    /// Whether a tool call writes a file of memory that may be looked at, however it spells the path and whatever links lead there.
    ///
    /// `args`: those of the call. `cwd`: the working folder, from which relative paths count. Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "tool: string, args: unknown, cwd: string",
        ts_return_type = "Promise<boolean>"
    )]
    pub fn is_written_by(
        &self,
        tool: Given<String>,
        args: Given<Json>,
        cwd: Given<String>,
    ) -> Promised<bool> {
        self.with(move |memory| {
            let (args, cwd) = (args.named("args")?.0, cwd.named("cwd")?);
            Ok(memory.is_written_by(&tool.named("tool")?, &args, Path::new(&cwd)))
        })
    }

    /// Whether a tool call writes one of these files, or into one of these folders, but no file of memory that may be looked at: for what a
    /// conversation with others must not write. Links are followed.
    ///
    /// `places`: absolute paths. The rest as in `isWrittenBy`. Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "tool: string, args: unknown, cwd: string, places: Array<string>",
        ts_return_type = "Promise<boolean>"
    )]
    pub fn is_written_beside(
        &self,
        tool: Given<String>,
        args: Given<Json>,
        cwd: Given<String>,
        places: Given<Vec<String>>,
    ) -> Promised<bool> {
        self.with(move |memory| {
            let (tool, args) = (tool.named("tool")?, args.named("args")?.0);
            let (cwd, places) = (cwd.named("cwd")?, places.named("places")?);
            let places: Vec<PathBuf> = places.into_iter().map(PathBuf::from).collect();
            Ok(memory.is_written_beside(&tool, &args, Path::new(&cwd), &places))
        })
    }
}

/// Memory as a session asks it before each call.
#[derive(Debug)]
struct Prompted(Arc<Mutex<memory::Memory>>);

impl Prompting for Prompted {
    fn before_call(&self, session: &mut dyn PromptedSession, prompt: Option<&str>) -> Result<()> {
        // A call waits for nothing that memory does meanwhile; the next one asks again.
        match self.0.try_lock() {
            Ok(mut memory) => memory.before_call(session, prompt),
            Err(_) => Ok(()),
        }
    }

    fn asked(&self, question: &str) -> Result<String> {
        lock(&self.0).asked(question)
    }
}

#[napi]
impl Session {
    /// See `Session.memorySection` of `index.d.ts`.
    #[napi(
        ts_args_type = "memory: Memory, call: string",
        ts_return_type = "Promise<MemorySection | null>"
    )]
    pub fn memory_section(
        &self,
        memory: Given<ClassInstance<'_, Memory>>,
        call: String,
    ) -> Promised<Answer> {
        let shared = Arc::clone(&self.shared);
        let core = memory.named("memory").map(|memory| Arc::clone(&memory.core));
        answering(move || {
            let (core, call) = (core?, call_info(&call)?);
            shared.with(move |session| {
                session.prompted_by(Box::new(Prompted(Arc::clone(&core))));
                let mut memory = lock(&core);
                let now = session.store().now();
                Ok(memory.prompt(Some(&mut session.at_call(&call, now)))?.map(section))
            })
        })
    }

    /// See `Session.memoryChanged` of `index.d.ts`.
    #[napi(
        ts_args_type = "memory: Memory, toolCallId?: string | undefined | null",
        ts_return_type = "Promise<void>"
    )]
    pub fn memory_changed(
        &self,
        memory: Given<ClassInstance<'_, Memory>>,
        tool_call_id: Maybe<String>,
    ) -> Promised<()> {
        let shared = Arc::clone(&self.shared);
        let core = memory.named("memory").map(|memory| Arc::clone(&memory.core));
        blocking(move || {
            let (core, call) = (core?, tool_call_id.named("toolCallId")?);
            shared.with(move |session| {
                let mut memory = lock(&core);
                let (coming, now) = (CallInfo::default(), session.store().now());
                memory.changed(&mut session.at_call(&coming, now), call.as_deref())
            })
        })
    }
}

/// A section in the shape of `MemorySection` in `types`.
fn section(injection: &memory::Injection) -> Value {
    let resident = injection.resident.iter();
    let resident =
        resident.map(|page| json!({ "id": page.id.as_str(), "fidelity": page.fidelity.as_str() }));
    json!({
        "text": injection.text,
        "tokens": injection.tokens,
        "pageTokens": injection.page_tokens,
        "resident": resident.collect::<Vec<_>>(),
    })
}

/// A page in the shape of `MemoryPage` in `types.d.ts`.
pub(super) fn page(page: &memory::Page) -> Value {
    json!({
        "id": page.id.as_str(),
        "scope": page.place.scope.to_string(),
        "file": page.place.file,
        "headings": page.place.headings,
        "line": page.place.line,
        "lastLine": page.place.last_line,
        "kind": page.kind.as_str(),
        "key": page.key,
        "text": page.text,
        "pinned": page.is_pinned,
        "important": page.is_important,
    })
}
