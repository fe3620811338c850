//! The class `Memory`: methods that write memory, and the check of what a host's tools write. Must
//! not decide anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Json, Maybe};
use super::blocking::{Answer, Promised, answering};
use super::memory::Memory;
use base::clock::system_time;
use base::error::Error;
use base::lock;
use files::looks::{Deadline, Late};
use memory::import::ImportFrom;
use memory::{Scope, Warning};

/// How long a write may take, including waits for other processes; after that, its disk counts as
/// not answering.
const PATIENCE: Duration = Duration::from_secs(20);

/// The name of the place that does not answer, for messages.
const FOLDER: &str = "memory folder";

/// What to import, see `Memory.importFrom`.
#[napi(object)]
#[derive(Default)]
pub struct MemoryImportOptions {
    /// `claude`: Claude Code's memory of the project. `notes`: `CLAUDE.md`, `.claude/CLAUDE.md` and `CLAUDE.local.md` of the project, and the
    /// user's own `CLAUDE.md`. Default: `claude`.
    #[napi(ts_type = "'claude' | 'notes'")]
    pub from: Option<String>,
    /// Absolute path of a file of notes, or of a folder with a memory, in place of `from`.
    pub path: Option<String>,
    /// Where it goes. Default: `CLAUDE.local.md` into local memory, the user's own `CLAUDE.md` into the global one, all else into the
    /// project's.
    #[napi(ts_type = "MemoryScope")]
    pub scope: Option<String>,
    /// Whether to stage what is to be taken. Default: false.
    pub apply: Option<bool>,
}

/// What to take over, see `Memory.takeFrom`.
#[napi(object)]
#[derive(Default)]
pub struct MemoryTakeOptions {
    /// Where it goes. Default: into local memory, which is the user's own in the project.
    #[napi(ts_type = "MemoryScope")]
    pub scope: Option<String>,
    /// Whether to stage what is to be taken. Default: false.
    pub apply: Option<bool>,
}

#[napi]
impl Memory {
    /// Stages an entry of a scope's index: it is on the disk when this resolves, and in the index after the next flush. `findings`: what
    /// a flush would find about it now.
    ///
    /// `heading`: the heading that it goes under. Default: what the text suggests.
    ///
    /// Rejects with `SECRET` if the text looks like it holds one, and nothing is written; `INVALID_ARGUMENT` if it is empty or too long, or
    /// the scope may not be written; `MEMORY_BUSY`, `OUTSIDE_PROJECT`, `FILE`, `NO_ANSWER`.
    #[napi(
        ts_args_type = "scope: MemoryScope, text: string, heading?: string | null",
        ts_return_type = "Promise<RememberedEntry>"
    )]
    pub fn remember(
        &self,
        scope: Given<String>,
        text: Given<String>,
        heading: Maybe<String>,
    ) -> Promised<Answer> {
        let core = Arc::clone(&self.core);
        answering(move || {
            let scope = Scope::named(&scope.named("scope")?)?;
            let (text, heading) = (text.named("text")?, heading.named("heading")?);
            let mut memory = lock(&core);
            let staging = memory.prepare_remember(scope, &text, heading)?;
            drop(memory);
            let deadline = Deadline::new(FOLDER, PATIENCE);
            deadline.wait_for(Late::Written, move || staging.run(system_time()))
        })
    }

    /// Checks and writes what waits in each folder, and ends flushes that were interrupted. Folders in which there was nothing to do are
    /// left out. Never rejects because of a folder: `failed` says why nothing could be done there, and what waits goes on waiting; but with
    /// `NO_ANSWER` if a disk does not answer.
    #[napi(ts_return_type = "Promise<Array<MemoryFlush>>")]
    pub fn flush(&self) -> Promised<Answer> {
        let core = Arc::clone(&self.core);
        answering(move || {
            // The lock is not held while a flush waits for another process, so that others can use
            // memory.
            let flush = lock(&core).prepare_flush();
            let deadline = Deadline::new(FOLDER, PATIENCE);
            let mut done = deadline.wait_for(Late::Written, move || Ok(flush.run()))?;
            lock(&core).settled(&mut done);
            Ok(done)
        })
    }

    /// The session ends, after its last flush: what is staged and has no reason to wait is a flush miss. Writes what is known of pages.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn ended(&self) -> Promised<()> {
        self.with(|memory| {
            memory.ended();
            Ok(())
        })
    }

    /// What waits in each folder: for a flush, or for a person's word. Folders in which nothing waits are left out.
    #[napi(ts_return_type = "Promise<Array<MemoryWaiting>>")]
    pub fn waiting(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.waiting()))
    }

    /// Accepts a proposal, which the next flush then writes. `scope`: of its folder; the ID says it as well. Resolves to the scope that it is
    /// for.
    ///
    /// Rejects with `NO_OPERATION`, or as `remember`.
    #[napi(
        ts_args_type = "id: string, scope?: MemoryScope | null",
        ts_return_type = "Promise<MemoryScope>"
    )]
    pub fn accept(&self, id: Given<String>, scope: Maybe<String>) -> Promised<String> {
        self.decide(id, scope, true)
    }

    /// Turns a proposal down, or takes back an entry that waits. As `accept`.
    #[napi(
        ts_args_type = "id: string, scope?: MemoryScope | null",
        ts_return_type = "Promise<MemoryScope>"
    )]
    pub fn withdraw(&self, id: Given<String>, scope: Maybe<String>) -> Promised<String> {
        self.decide(id, scope, false)
    }

    /// Looks at what other programs remember: Claude Code's memory of the project, or notes that people wrote for it. Only says what it would
    /// take, unless `apply` is true: then that is staged, and the next flush writes it. Nothing of theirs is changed.
    ///
    /// Rejects with `INVALID_ARGUMENT`, with `FILE` if there is nothing at `path`; with `apply` also as `remember`.
    #[napi(
        ts_args_type = "options?: MemoryImportOptions | null",
        ts_return_type = "Promise<MemoryImport>"
    )]
    pub fn import_from(&self, options: Maybe<MemoryImportOptions>) -> Promised<Answer> {
        self.answer(move |memory| {
            let options = options.or_default("options")?;
            let scope = options.scope.map(|name| Scope::named(&name)).transpose()?;
            let from = match (options.from.as_deref(), options.path) {
                (None | Some("claude"), None) => ImportFrom::ClaudeMemory,
                (Some("notes"), None) => ImportFrom::Notes,
                (None, Some(path)) => ImportFrom::Path(PathBuf::from(path)),
                _ => {
                    return Err(Error::argument(
                        "from",
                        "must be `claude` or `notes`, or left out beside `path`",
                    ));
                }
            };
            let config_dir = std::env::var("CLAUDE_CONFIG_DIR").ok();
            memory.import(&from, scope, config_dir, options.apply.unwrap_or_default())
        })
    }

    /// The conversations with others, such as groups, that have memory of their own, by name. Only memory of the user's own lists them.
    #[napi(ts_return_type = "Promise<Array<MemoryConversation>>")]
    pub fn conversations(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.conversations()))
    }

    /// Takes over what a conversation with others remembers, as `importFrom` does it.
    ///
    /// `conversation`: its name, the end of it after a `:`, or its ID. Rejects with `UNKNOWN_NAME`, `AMBIGUOUS_NAME` and as `importFrom`.
    #[napi(
        ts_args_type = "conversation: string, options?: MemoryTakeOptions | null",
        ts_return_type = "Promise<MemoryImport>"
    )]
    pub fn take_from(
        &self,
        conversation: Given<String>,
        options: Maybe<MemoryTakeOptions>,
    ) -> Promised<Answer> {
        self.answer(move |memory| {
            let found = memory.conversation(&conversation.named("conversation")?)?;
            let MemoryTakeOptions { scope, apply } = options.or_default("options")?;
            let scope = scope.map(|name| Scope::named(&name)).transpose()?;
            let from = ImportFrom::Path(found.folder);
            let scope = Some(scope.unwrap_or(Scope::Local));
            memory.import(&from, scope, None, apply.unwrap_or_default())
        })
    }

    /// The model that the user named in `captureModel` to propose entries; null: nothing is to be proposed.
    #[napi(ts_return_type = "Promise<MemoryCaptureModel | null>")]
    pub fn capture_model(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.capture_model()))
    }

    /// What to ask that model about a conversation; null where too little was said. The host makes the request, with this as its one message,
    /// and gives the answer to `propose`.
    ///
    /// `messages`: as the host has them, oldest first. Rejects with `INVALID_ARGUMENT`.
    #[napi(ts_args_type = "messages: unknown[]", ts_return_type = "Promise<string | null>")]
    pub fn capture_prompt(&self, messages: Given<Json>) -> Promised<Option<String>> {
        self.with(move |memory| match messages.named("messages")?.0 {
            Value::Array(messages) => Ok(memory.capture_prompt(&messages)),
            _ => Err(Error::argument("messages", "must be a list")),
        })
    }

    /// Proposes what a model answered: it waits until a person accepts it. Resolves to what was new and is proposed now.
    ///
    /// Rejects as `remember`.
    #[napi(ts_args_type = "answer: string", ts_return_type = "Promise<Array<RememberedEntry>>")]
    pub fn propose(&self, answer: Given<String>) -> Promised<Answer> {
        self.answer(move |memory| memory.propose(&answer.named("answer")?))
    }

    /// Everything that a person should know of the files as they stand: what cannot be read, wrong settings, secrets, sizes, entries that
    /// double or contradict each other, damaged journals.
    #[napi(ts_return_type = "Promise<Array<MemoryWarning>>")]
    pub fn check(&self) -> Promised<Answer> {
        self.answer(|memory| Ok(memory.check().iter().map(warning).collect::<Vec<_>>()))
    }

    /// Why a host's call must not run: it would put a secret into a memory file. Null for everything else.
    ///
    /// `args`: those of the call. `cwd`: the working folder, from which relative paths count. Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "tool: string, args: unknown, cwd: string",
        ts_return_type = "Promise<string | null>"
    )]
    pub fn check_write(
        &self,
        tool: Given<String>,
        args: Given<Json>,
        cwd: Given<String>,
    ) -> Promised<Option<String>> {
        self.with(move |memory| {
            let (args, cwd) = (args.named("args")?.0, cwd.named("cwd")?);
            Ok(memory.check_write(&tool.named("tool")?, &args, Path::new(&cwd)))
        })
    }

    /// What the model should know of the memory files that a call wrote: entries that double or contradict others, sizes, wrong settings.
    /// Null if there is nothing. Arguments as in `checkWrite`.
    #[napi(
        ts_args_type = "tool: string, args: unknown, cwd: string",
        ts_return_type = "Promise<string | null>"
    )]
    pub fn explain_write(
        &self,
        tool: Given<String>,
        args: Given<Json>,
        cwd: Given<String>,
    ) -> Promised<Option<String>> {
        self.with(move |memory| {
            let (args, cwd) = (args.named("args")?.0, cwd.named("cwd")?);
            Ok(memory.explain_write(&tool.named("tool")?, &args, Path::new(&cwd)))
        })
    }
}

impl Memory {
    fn decide(&self, id: Given<String>, scope: Maybe<String>, accepts: bool) -> Promised<String> {
        self.with(move |memory| {
            let scope = scope.named("scope")?.map(|name| Scope::named(&name)).transpose()?;
            memory.decide(&id.named("id")?, scope, accepts).map(|scope| scope.to_string())
        })
    }
}

fn warning(warning: &Warning) -> Value {
    let Warning { code, path, problem } = warning;
    json!({ "code": code, "path": path.to_string_lossy(), "problem": problem })
}
