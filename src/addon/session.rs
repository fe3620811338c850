//! `openSession` and the class `Session`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use napi::Env;
use napi::bindgen_prelude::{
    AsyncTask, ClassInstance, FnArgs, Function, JsObjectValue, Object, This, Unknown,
};
use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking, to_js};
use super::crossing::{answer, call_info};
use super::settings::{own_filesystem, settings_from};
use super::store::Store;
use crate::context::tokens::{self, Counter};
use crate::error::{Error, Result};
use crate::live::{Files, LiveSession, OpenSession, Progress, Status, ToolFinished, Transformed};
use crate::source::TrackerOptions;
use crate::store;

/// Name under which the session's JavaScript half is kept beside it.
const HALF: &str = "_half";

/// What a session is opened with.
#[napi(object)]
pub struct SessionOptions {
    /// Name of the harness: `pi`, `openclaw`, ...
    pub harness: String,
    /// The harness's own session ID.
    pub session_id: String,
    /// Working folder, absolute; relative paths of tools count from it.
    pub cwd: String,
    /// Settings, complete or in part; what is missing has its default.
    #[napi(ts_type = "Partial<Settings>")]
    pub settings: Option<Value>,
    /// The session that this one is a fork of: it inherits index, pool, handles and chat.
    pub parent_session_id: Option<String>,
}

/// A tool call that came to its end.
#[napi(object)]
pub struct ToolFinishedEvent {
    /// The provider's call ID.
    pub tool_call_id: String,
    /// Tool name.
    pub tool_name: String,
    /// Arguments of the call.
    #[napi(ts_type = "unknown")]
    pub args: Value,
    /// Whether it failed.
    pub is_error: bool,
    /// The text that it showed, for `ls`, `find`, `grep` and shells, failed commands included: files that it names enter the
    /// session index, by path alone. The first 256 KiB count.
    pub text: Option<String>,
}

/// Figures for a status line.
#[napi(object, use_nullable = true)]
pub struct SessionStatus {
    /// Calls so far.
    pub calls: i64,
    /// Number of the epoch, from 0.
    pub epoch: u32,
    /// Tokens of the messages last sent.
    pub window_tokens: i64,
    /// Tokens of the same messages as the host would have sent them.
    pub plain_tokens: i64,
    /// Share of `plainTokens` that was not sent, 0 to 1.
    pub saved_share: f64,
    /// Our bill by what the plain host's would have been; null before the first call.
    pub bill_ratio: Option<f64>,
    /// Objects whose content stands in the window.
    pub active_objects: i64,
    /// Objects met.
    pub indexed_objects: i64,
    /// Objects pinned.
    pub pinned_objects: i64,
}

/// An agent's session: takes the host's messages before each call and gives back what the model is to see.
#[napi]
pub struct Session {
    pub(super) shared: Arc<Shared>,
}

/// What worker threads and the event loop share. Status and failures stand apart, so that the event loop never waits for
/// a call at work.
#[derive(Default)]
pub(super) struct Shared {
    live: Mutex<Option<Live>>,
    status: Mutex<Status>,
    failures: Mutex<Vec<String>>,
    /// How far the check of the session's files is, while it runs.
    checking: Mutex<Option<Progress>>,
    /// What a person should know of the mounts, as they were when the session was opened.
    mount_notices: Vec<String>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The collector drops a session that was not closed on JavaScript's thread, and its tracker may be waiting for the store.
        if let Some(live) = lock(&self.live).take() {
            drop(std::thread::Builder::new().spawn(move || drop(live)));
        }
    }
}

/// A session at work.
struct Live {
    session: LiveSession,
    /// Whether the JavaScript half holds the request that the session answered last: edits lead on from there.
    in_step: bool,
}

impl Live {
    /// Both sides begin anew: the session reads its state again, and the whole list is asked for.
    fn fall_out_of_step(&mut self) {
        self.session.distrust();
        self.in_step = false;
    }

    /// `fresh`: the JavaScript half holds no request, at first or after a call that failed.
    fn transform(
        &mut self,
        fresh: bool,
        skip: u32,
        messages: &str,
        call: &str,
    ) -> Result<Transformed> {
        if fresh && self.in_step {
            self.fall_out_of_step();
        }
        if !fresh && !self.in_step {
            return Ok(Transformed::Resend);
        }
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let done = call_info(call).and_then(|call| self.session.transform(skip, messages, &call));
        if matches!(done, Ok(Transformed::Edits { .. })) {
            self.in_step = true;
        } else {
            self.fall_out_of_step();
        }
        done
    }
}

impl Shared {
    /// Works on the session; `CLOSED` if there is none any more.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut LiveSession) -> Result<T>) -> Result<T> {
        self.with_live(|live| work(&mut live.session))
    }

    fn with_live<T>(&self, work: impl FnOnce(&mut Live) -> Result<T>) -> Result<T> {
        let mut live = self.live.lock().unwrap_or_else(|poisoned| {
            let mut live = poisoned.into_inner();
            live.iter_mut().for_each(Live::fall_out_of_step);
            self.live.clear_poison();
            live
        });
        let live = live.as_mut().ok_or(Error::Closed { what: "session" })?;
        for reason in std::mem::take(&mut *lock(&self.failures)) {
            live.session.report_failed_call(&reason);
        }
        let result = work(live);
        *lock(&self.status) = live.session.status();
        result
    }
}

/// Opens a session: resumes what the store holds of it, forks its parent, or starts it.
///
/// Rejects with `INVALID_ARGUMENT`, `CLOSED` and what the store reports.
#[napi(ts_args_type = "store: Store, options: SessionOptions", ts_return_type = "Promise<Session>")]
pub fn open_session(
    store: Given<ClassInstance<'_, Store>>,
    options: Given<SessionOptions>,
) -> AsyncTask<Blocking<Session>> {
    let store = store.named("store").map(|store| store.core.clone());
    blocking(move || {
        let (store, options) = (store?, options.named("options")?);
        tokens::preload();
        let options = core_options(&store, options)?;
        let tracks = options.settings.track;
        let mut session = LiveSession::open(store.clone(), options)?;
        if tracks {
            // Without a tracker files are looked at before each call all the same.
            drop(session.track(TrackerOptions::default()));
        }
        let mut shared = Shared::default();
        shared.mount_notices = session.oddities();
        *lock(&shared.status) = session.status();
        let is_due = session.is_reconcile_due();
        *lock(&shared.live) = Some(Live { session, in_step: false });
        let shared = Arc::new(shared);
        if is_due {
            reconcile_in_background(&shared);
        }
        Ok(Session { shared })
    })
}

/// Begins to look at the files that a session knows, so that its first call waits for what is left at most. What goes wrong
/// here goes wrong again in that call, and is said there.
fn reconcile_in_background(shared: &Arc<Shared>) {
    let shared = Arc::clone(shared);
    let work = move || {
        let told = |progress| *lock(&shared.checking) = Some(progress);
        drop(shared.with(|session| session.reconcile_due(&told)));
        *lock(&shared.checking) = None;
    };
    drop(std::thread::Builder::new().name("palimpsest-files".to_owned()).spawn(work));
}

#[napi]
impl Session {
    /// Takes the host's messages before a call and resolves to what the model is to see.
    ///
    /// `messages`: the host's whole list, every time; only what is new since the last call is looked at. Messages that are
    /// not changed come back as the host's own objects. The result belongs to the caller. Calls run one after another.
    ///
    /// Rejects with `INVALID_ARGUMENT` if `messages` is no array, and with what the store reports; then the host's own
    /// messages should go out, and `reportFailedCall` be called.
    #[napi(
        ts_args_type = "messages: Message[], call?: CallInfo",
        ts_return_type = "Promise<Message[]>",
        catch_unwind
    )]
    pub fn transform_context<'env>(
        &self,
        env: &'env Env,
        this: This<'env>,
        messages: Unknown<'env>,
        call: Option<Unknown<'env>>,
    ) -> napi::Result<Unknown<'env>> {
        let own: Function<'env, FnArgs<(Unknown, Option<Unknown>)>, Unknown> =
            half(env, this, "transformContext")?;
        own.apply(this.object, (messages, call).into())
    }

    /// Calls `listener` with what happens during calls.
    #[napi(
        ts_args_type = "listener: (event: SessionEvent) => void",
        ts_return_type = "void",
        catch_unwind
    )]
    pub fn on_event<'env>(
        &self,
        env: &'env Env,
        this: This<'env>,
        listener: Unknown<'env>,
    ) -> napi::Result<Unknown<'env>> {
        let own: Function<'env, FnArgs<(Unknown,)>, Unknown> = half(env, this, "onEvent")?;
        own.apply(this.object, (listener,).into())
    }

    /// The part of `transformContext` that crosses: whether the JavaScript half starts from nothing, messages from index
    /// `skip` on and the call as JSON; edits as JSON. After a rejection and after `resend` it has to start from nothing.
    #[napi(skip_typescript)]
    pub fn transform_from(
        &self,
        fresh: bool,
        skip: u32,
        messages: String,
        call: String,
    ) -> AsyncTask<Blocking<String>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let done = shared.with_live(|live| live.transform(fresh, skip, &messages, &call));
            done.map(|done| answer(&done))
        })
    }

    /// Takes the request to the provider right before it goes out, and resolves to what should go out: the same object, or a
    /// copy with one more cache breakpoint where the provider's format takes one.
    ///
    /// The first request after a `transformContext` is recorded with its call: its SHA-256, and its messages where another
    /// extension changed them after us. A request that is replayed to keep a cache warm gets the same breakpoint and is not
    /// recorded. `payload` is not changed; bytes in it are read as base64.
    ///
    /// Rejects with `INVALID_ARGUMENT` if `payload` is no JSON, and with what the store reports; then the host's own request
    /// should go out.
    #[napi(
        ts_generic_types = "T",
        ts_args_type = "payload: T",
        ts_return_type = "Promise<T>",
        catch_unwind
    )]
    pub fn prepare_payload<'env>(
        &self,
        env: &'env Env,
        this: This<'env>,
        payload: Unknown<'env>,
    ) -> napi::Result<Unknown<'env>> {
        let own: Function<'env, FnArgs<(Unknown,)>, Unknown> = half(env, this, "preparePayload")?;
        own.apply(this.object, (payload,).into())
    }

    /// The part of `preparePayload` that crosses: the request as JSON; the changes to make, a JSON Patch.
    #[napi(skip_typescript)]
    pub fn prepare_payload_now(&self, payload: String) -> AsyncTask<Blocking<String>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let patches = shared.with(|session| session.prepare_payload(&payload))?;
            Ok(json!(patches).to_string())
        })
    }

    /// Takes the side effects of a tool call: files read, edited, written or found. Takes its turn behind the calls of
    /// `transformContext` that came before.
    #[napi(
        ts_args_type = "event: ToolFinishedEvent",
        ts_return_type = "Promise<void>",
        catch_unwind
    )]
    pub fn tool_finished<'env>(
        &self,
        env: &'env Env,
        this: This<'env>,
        event: Unknown<'env>,
    ) -> napi::Result<Unknown<'env>> {
        let own: Function<'env, FnArgs<(Unknown,)>, Unknown> = half(env, this, "toolFinished")?;
        own.apply(this.object, (event,).into())
    }

    /// `toolFinished` when it is its turn.
    #[napi(skip_typescript)]
    pub fn tool_finished_now(&self, event: Given<ToolFinishedEvent>) -> AsyncTask<Blocking<()>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let event = event.named("event")?;
            let finished = ToolFinished {
                call: event.tool_call_id,
                tool: event.tool_name,
                args: event.args,
                is_error: event.is_error,
                text: event.text.unwrap_or_default(),
            };
            shared.with(|session| session.tool_finished(&finished))
        })
    }

    /// Why a `write` or `edit` must not run: its text holds a line that stands for content in this window. Null for every
    /// other call. Ask before the tool runs; the answer is for the model, as a failed call.
    #[napi(
        ts_args_type = "toolName: string, args: unknown",
        ts_return_type = "Promise<string | null>"
    )]
    pub fn refused_write(
        &self,
        tool_name: Given<String>,
        args: Given<Json>,
    ) -> AsyncTask<Blocking<Option<String>>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let (tool, args) = (tool_name.named("toolName")?, args.named("args")?);
            shared.with(|session| session.refused_write(&tool, &args.0))
        })
    }

    /// What to add to the error of an `edit` that failed, for the model; null where nothing helps.
    ///
    /// It says what changed in the file since the version that the model saw (a unified difference), which the next call does
    /// not tell again, and for each text that does not stand in the file exactly once the nearest current lines, five more
    /// on each side, or the places where it stands. At most 40 lines and 1,000 tokens of each. Null for files that are
    /// excluded, and for arguments of another shape.
    ///
    /// `args`: `path`, and `edits` with an `oldText` each, or one `oldText`. Takes its turn behind the calls of
    /// `transformContext` that came before. Rejects with what the store reports; then the host's own error should stand alone.
    #[napi(ts_args_type = "args: unknown", ts_return_type = "Promise<string | null>", catch_unwind)]
    pub fn edit_failed<'env>(
        &self,
        env: &'env Env,
        this: This<'env>,
        args: Unknown<'env>,
    ) -> napi::Result<Unknown<'env>> {
        let own: Function<'env, FnArgs<(Unknown,)>, Unknown> = half(env, this, "editFailed")?;
        own.apply(this.object, (args,).into())
    }

    /// `editFailed` when it is its turn.
    #[napi(skip_typescript)]
    pub fn edit_failed_now(&self, args: Given<Json>) -> AsyncTask<Blocking<Option<String>>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let args = args.named("args")?;
            shared.with(|session| session.edit_failed(&args.0))
        })
    }

    /// Notes that a call went out with the host's own messages and why; the next call's record says so.
    #[napi(ts_args_type = "reason: string", ts_return_type = "void", catch_unwind)]
    pub fn report_failed_call(&self, env: Env, reason: Given<String>) -> napi::Result<()> {
        match reason.named("reason") {
            Ok(reason) => {
                lock(&self.shared.failures).push(reason);
                Ok(())
            }
            Err(error) => Err(to_js(env, &error)?),
        }
    }

    /// How far the check of the files that the session knows is, `[done, all]`; null while none runs. The JavaScript half makes
    /// events of it.
    #[napi(skip_typescript, catch_unwind)]
    pub fn files_checked(&self) -> Option<Vec<i64>> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let checking = *lock(&self.shared.checking);
        checking.map(|Progress { files, of }| vec![number(files), number(of)])
    }

    /// What a person should know of the mount mappings when the session begins: folders that are not there, mounts that show
    /// the same files.
    #[napi(ts_return_type = "Promise<string[]>")]
    pub fn mount_notices(&self) -> AsyncTask<Blocking<Vec<String>>> {
        // Not asked of the session: a check of its files may hold that, and whoever asks here waits to show how far it is.
        let notices = self.shared.mount_notices.clone();
        blocking(move || Ok(notices))
    }

    /// Figures for a status line, as of the last call or tool.
    #[napi(catch_unwind)]
    pub fn status(&self) -> SessionStatus {
        let status = *lock(&self.shared.status);
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let saved = status.plain_tokens.saturating_sub(status.window_tokens);
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let saved_share = saved as f64 / status.plain_tokens.max(1) as f64;
        SessionStatus {
            calls: number(status.calls),
            epoch: status.epoch,
            window_tokens: number(status.window_tokens),
            plain_tokens: number(status.plain_tokens),
            saved_share,
            bill_ratio: status.bill_ratio,
            active_objects: number(status.active_objects),
            indexed_objects: number(status.indexed_objects),
            pinned_objects: number(status.pinned_objects),
        }
    }

    /// Stores what is not stored yet and marks the session paused, behind the calls that came before. Later calls reject
    /// with `CLOSED`. Idempotent. The store stays open; where it was closed before, what was not stored yet is not.
    #[napi(ts_return_type = "Promise<void>", catch_unwind)]
    pub fn close<'env>(&self, env: &'env Env, this: This<'env>) -> napi::Result<Unknown<'env>> {
        // Without its other half nothing waits, and a frozen session can be given none.
        let own: Function<'env, (), Unknown> = if this.object.has_own_property(HALF)? {
            half(env, this, "close")?
        } else {
            this.object.get_named_property("closeNow")?
        };
        own.apply(this.object, ())
    }

    /// `close` when it is its turn.
    #[napi(skip_typescript)]
    pub fn close_now(&self) -> AsyncTask<Blocking<()>> {
        let shared = Arc::clone(&self.shared);
        blocking(move || {
            let result = shared.with(LiveSession::close);
            *lock(&shared.live) = None;
            match result {
                Err(Error::Closed { .. }) => Ok(()),
                result => result,
            }
        })
    }
}

/// Tokens of a text by `o200k_base`; above 1 MiB an estimate from samples.
#[napi(ts_args_type = "text: string", ts_return_type = "Promise<number>")]
pub fn count_tokens(text: Given<String>) -> AsyncTask<Blocking<i64>> {
    blocking(move || Ok(i64::try_from(tokens::count(&text.named("text")?)).unwrap_or(i64::MAX)))
}

/// A method of the session's JavaScript half, which is made and kept beside the session on first use. Never in the place
/// of the session's own methods: a host may have put its own there.
pub(super) fn half<'env, Args: napi::bindgen_prelude::JsValuesTupleIntoVec>(
    env: &'env Env,
    this: This<'env>,
    method: &str,
) -> napi::Result<Function<'env, Args, Unknown<'env>>> {
    if !this.object.has_own_property(HALF)? {
        let attach: Function<FnArgs<(Object, &str)>, Unknown> =
            env.run_script(include_str!("transform.js"))?;
        attach.call((this.object, HALF).into())?;
    }
    this.object.get_named_property::<Object>(HALF)?.get_named_property(method)
}

fn core_options(store: &store::Store, options: SessionOptions) -> Result<OpenSession> {
    let cwd = PathBuf::from(&options.cwd);
    if !cwd.is_absolute() {
        return Err(Error::argument("cwd", format!("`{}` is no absolute path", options.cwd)));
    }
    if options.session_id.trim().is_empty() {
        return Err(Error::argument("sessionId", "is empty"));
    }
    let settings = settings_from(options.settings)?;
    let own = own_filesystem(&settings, store)?;
    Ok(OpenSession {
        counter: Counter::default(),
        files: if own.is_container { Files::InContainer } else { Files::Here },
        harness: options.harness,
        host_session: options.session_id,
        cwd,
        parent: options.parent_session_id,
        settings,
        filesystem_id: own.id,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
