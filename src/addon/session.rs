//! The session interface between JavaScript and the core: opening a session, and the class that
//! `lib/session.js` wraps. Each method crosses once and runs on a worker thread. Must not decide
//! anything, nor call back into JavaScript.

use files::looks;
use std::path::PathBuf;
use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{ClassInstance, ToNapiValue, TypeName};
use napi_derive::napi;
use serde::Serialize;
use serde_json::json;

use super::argument::{Given, Json};
use super::blocking::{Answer, Promised, answering, blocking, to_js};
use super::crossing::{Crossed, answer, call_info, host_list};
use super::settings::{own_filesystem, settings_from};
use super::shared::Shared;
use super::sharing::sharing_status;
use super::store::{OPENING, Store};
use base::error::{Error, Result};
use context::tokens::{self, Counter};
use files::looks::{Deadline, Late};
use live::{CheckProgress, FinishedToolCall, LiveSession, OpenSession, ToolFiles};
use source::TrackerOptions;

use xtdb::{Sharing, SharingOptions};

/// What a session is opened with.
#[napi(object, object_to_js = false)]
pub struct SessionOptions {
    /// Name of the harness: `pi`, `openclaw`, ...
    pub harness: String,
    /// The harness's own session ID.
    pub session_id: String,
    /// Working folder, absolute; relative paths of tools count from it.
    pub cwd: String,
    /// Settings, complete or in part; what is missing has its default.
    #[napi(ts_type = "Partial<Settings>")]
    pub settings: Option<Json>,
    /// The session that this one is a fork of: it inherits index, pool, handles and chat.
    pub parent_session_id: Option<String>,
    /// Whether the host's tools may answer with images. Then the images of a tool result leave the window with the text beside them,
    /// and `activate` answers with both. Not in the layout `pools`. Default: false, and images stay.
    pub images: Option<bool>,
    /// Whether others than the user take part, as in a group: names then mean what the session itself met, in the versions that it met, and
    /// of files those whose text the model saw; it goes on with no other session, and a fork of a session that is not confined starts
    /// without what that one left. Default: as the session, or the one that it is a fork of, was.
    pub confined: Option<bool>,
    /// Whether the host asks `answerCompaction` before it compacts, and does as it is told. Then all of a small window is used, of which the
    /// host alone would keep half free. Default: false.
    pub asks_to_compact: Option<bool>,
}

/// A finished tool call.
#[napi(object, object_to_js = false)]
pub struct ToolCallReport {
    /// The provider's ID of the call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Arguments as the tool ran with them.
    #[napi(ts_type = "unknown")]
    pub args: Json,
    /// Whether it failed.
    pub is_error: bool,
    /// The text that it showed, from tools that list or search files and from shells, failed commands included. Files that it
    /// names enter the session index by path alone. Only the first 256 KiB are read.
    pub text: Option<String>,
}

/// The native side of a session. Not part of the package's API: `Session` of `index.d.ts` wraps it.
#[napi]
pub struct Session {
    pub(super) shared: Arc<Shared>,
    /// To ask how sharing stands, where the settings say that there is some.
    sharing: Option<Arc<Sharing>>,
}

/// Keeps the store and the shared store of the settings in sync in the background, until the
/// session is closed or dropped. Nothing waits for it, and without a shared store nothing is done.
/// Returns the running synchronisation.
///
/// # Errors
/// `INVALID_ARGUMENT` naming an unreadable glob of `exclude`; `INTERNAL` if the system provides no
/// thread.
fn share(session: &mut LiveSession) -> base::Result<Option<Arc<Sharing>>> {
    let settings = session.settings();
    let Some(shared) = settings.shared_store() else { return Ok(None) };
    let options = SharingOptions::of(settings, shared)?;
    let running = Sharing::new(session.store().clone(), options).start_once()?;
    let sharing = running.sharing();
    session.at_close(move |time| running.let_go(time));
    Ok(Some(sharing))
}

impl Session {
    /// Does work on the session, see [`Shared::with`].
    pub(super) fn with<T: Send + 'static + ToNapiValue + TypeName>(
        &self,
        work: impl FnOnce(&mut LiveSession) -> Result<T> + Send + 'static,
    ) -> Promised<T> {
        let shared = Arc::clone(&self.shared);
        blocking(move || shared.with(work))
    }

    /// As [`Self::with`], with the result as an [`Answer`], which is made without the session.
    pub(super) fn answer<T: Serialize + Send + 'static>(
        &self,
        work: impl FnOnce(&mut LiveSession) -> Result<T> + Send + 'static,
    ) -> Promised<Answer> {
        let shared = Arc::clone(&self.shared);
        answering(move || shared.with(work))
    }
}

/// Opens a session: resumes what the store holds of it, forks its parent, or starts it.
///
/// Rejects with `INVALID_ARGUMENT`, `CLOSED` and what the store reports.
#[napi(ts_args_type = "store: Store, options: SessionOptions", ts_return_type = "Promise<Session>")]
pub fn open_session(
    store: Given<ClassInstance<'_, Store>>,
    options: Given<SessionOptions>,
) -> Promised<Session> {
    let store = store.named("store").map(|store| store.core.clone());
    blocking(move || {
        let (store, options) = (store?, options.named("options")?);
        // In parallel with opening. Without a thread for it, the first count loads them.
        drop(std::thread::Builder::new().spawn(tokens::preload));
        let settings = settings_from(options.settings.clone())?;
        let deadline = Deadline::new("session", settings.deadline() * OPENING);
        let (session, sharing) = deadline.wait_for(Late::Written, move || {
            let options = core_options(&store, options)?;
            // Without a thread for it, questions bring the indexes up to date.
            let _ = store.keep_indexes();
            let tracks = options.settings.track;
            let mut session = LiveSession::open(store.clone(), options)?;
            if tracks {
                // Without a tracker, files are still looked at before each call.
                drop(session.track(TrackerOptions::default()));
            }
            // Without a thread for it the session goes on; the next session sends what waits.
            let sharing = share(&mut session).unwrap_or_default();
            Ok((session, sharing))
        })?;
        Ok(Session { shared: Shared::new(session), sharing })
    })
}

#[napi]
impl Session {
    /// See `Session.id` of `index.d.ts`.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.shared.id()
    }

    /// Sends the messages of a list that are new and resolves to the answer, as JSON: `{ call, edits, events }`, or
    /// `{ resend: true }`, after which the whole list has to be sent.
    ///
    /// `since`: the `call` of the answer that the caller applied last; null if it holds none. `skip`: messages at the front that
    /// are the same as in that call. `messages`: the others, each as `lib/long-texts.js` gives it. `call`: what the call is made with, JSON.
    #[napi(
        ts_args_type = "since: number | undefined | null, skip: number, messages: Array<string | Array<string>>, call: string",
        ts_return_type = "Promise<string>"
    )]
    pub fn transform(
        &self,
        since: Option<i64>,
        skip: u32,
        messages: Vec<Crossed>,
        call: String,
    ) -> Promised<String> {
        let work = move |session: &mut LiveSession| {
            let call = call_info(&call)?;
            session.transform(host_list(since, skip, messages), &call).map(|done| answer(&done))
        };
        self.with(work)
    }

    /// Sends the request to the provider, as JSON; resolves to the changes to make in it, a JSON Patch (RFC 6902).
    #[napi(ts_return_type = "Promise<string>")]
    pub fn prepare_payload(&self, payload: String) -> Promised<String> {
        self.with(move |session| Ok(json!(session.prepare_payload(&payload)?).to_string()))
    }

    /// See `Session.recordToolCall` of `index.d.ts`.
    #[napi(ts_args_type = "call: ToolCallReport", ts_return_type = "Promise<void>")]
    pub fn record_tool_call(&self, call: Given<ToolCallReport>) -> Promised<()> {
        self.with(move |session| {
            let report = call.named("call")?;
            session.record_tool_call(&FinishedToolCall {
                call: report.tool_call_id,
                tool: report.tool_name,
                args: report.args.0,
                is_error: report.is_error,
                text: report.text.unwrap_or_default(),
            })
        })
    }

    /// See `Session.checkWrite` of `index.d.ts`.
    #[napi(
        ts_args_type = "toolName: string, args: unknown",
        ts_return_type = "Promise<string | null>"
    )]
    pub fn check_write(
        &self,
        tool_name: Given<String>,
        args: Given<Json>,
    ) -> Promised<Option<String>> {
        self.with(move |session| {
            session.check_write(&tool_name.named("toolName")?, &args.named("args")?.0)
        })
    }

    /// See `Session.explainFailedEdit` of `index.d.ts`.
    #[napi(ts_args_type = "args: unknown", ts_return_type = "Promise<string | null>")]
    pub fn explain_failed_edit(&self, args: Given<Json>) -> Promised<Option<String>> {
        self.with(move |session| session.explain_failed_edit(&args.named("args")?.0))
    }

    /// See `Session.recordFailedCall` of `index.d.ts`.
    #[napi(ts_args_type = "reason: string", ts_return_type = "void", catch_unwind)]
    pub fn record_failed_call(&self, env: Env, reason: Given<String>) -> napi::Result<()> {
        match reason.named("reason") {
            Ok(reason) => {
                self.shared.add_failed_call(reason);
                Ok(())
            }
            Err(error) => Err(to_js(env, &error)?),
        }
    }

    /// See `Session.met` of `index.d.ts`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<MetObject>")]
    pub fn met(&self, name: Given<String>) -> Promised<Answer> {
        self.answer(move |session| {
            let (id, versions) = session.met(&name.named("name")?)?;
            Ok(json!({ "id": id, "versions": versions }))
        })
    }

    /// See `Session.find` of `index.d.ts`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<FoundObject>")]
    pub fn find(&self, name: Given<String>) -> Promised<Answer> {
        self.answer(move |session| {
            let (id, reading) = session.find(&name.named("name")?)?;
            Ok(json!({
                "name": format!("{id}{}", reading.name.version),
                "handle": session.state().handle(&id),
                "lines": reading.lines,
            }))
        })
    }

    /// Whether our tools have a prefix in the session; `taken`: names of the host's other tools.
    #[napi(ts_args_type = "taken: string[]", ts_return_type = "Promise<boolean>")]
    pub fn prefix_tools(&self, taken: Given<Vec<String>>) -> Promised<bool> {
        self.with(move |session| session.prefix_tools(&taken.named("taken")?))
    }

    /// See `Session.leavePool` of `index.d.ts`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<string>")]
    pub fn leave_pool(&self, name: Given<String>) -> Promised<String> {
        self.with(move |session| session.leave_pool(&name.named("name")?))
    }

    /// See `Session.enterPool` of `index.d.ts`.
    #[napi(ts_args_type = "name: string", ts_return_type = "Promise<string>")]
    pub fn enter_pool(&self, name: Given<String>) -> Promised<String> {
        self.with(move |session| session.enter_pool(&name.named("name")?))
    }

    /// Files checked so far and in all, while a check of the files that the session knows runs; else null.
    #[napi(ts_return_type = "[files: number, of: number] | null", catch_unwind)]
    pub fn files_checked(&self) -> Option<Vec<i64>> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.shared.checking().map(|CheckProgress { files, of }| vec![number(files), number(of)])
    }

    /// See `Session.mountNotices` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<string[]>")]
    pub fn mount_notices(&self) -> Promised<Vec<String>> {
        // Does not lock the session: a check of its files may hold the lock while the caller waits
        // to show its progress.
        let notices = self.shared.mount_notices();
        blocking(move || Ok(notices))
    }

    /// See `Session.status` of `index.d.ts`.
    #[napi(catch_unwind, ts_return_type = "SessionStatus")]
    pub fn status(&self) -> Answer {
        let (status, silent) = (self.shared.status(), looks::silent_places());
        let saved = status.plain_tokens.saturating_sub(status.window_tokens);
        #[expect(clippy::cast_precision_loss, reason = "a share for people")]
        let saved_share = saved as f64 / status.plain_tokens.max(1) as f64;
        let silent: Vec<String> = silent.iter().map(|place| place.display().to_string()).collect();
        let mut answer = json!(status);
        answer["savedShare"] = json!(saved_share);
        answer["silentPlaces"] = json!(silent);
        answer.into()
    }

    /// See `Session.sharing` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<SharingStatus | null>")]
    pub fn sharing(&self) -> Promised<Answer> {
        // Does not lock the session: a call may be running. The state of sharing is in the store.
        let sharing = self.sharing.clone();
        answering(move || {
            sharing
                .map(|sharing| sharing.status().map(|status| sharing_status(&status)))
                .transpose()
        })
    }

    /// See `Session.close` of `index.d.ts`.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> Promised<()> {
        let shared = Arc::clone(&self.shared);
        blocking(move || shared.close())
    }

    /// Whether something waits to be sent to the shared store that nothing in this process sends any more: after `close`.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn leaves(&self) -> Promised<bool> {
        let sharing = self.sharing.clone();
        blocking(move || sharing.map_or(Ok(false), |sharing| sharing.leaves()))
    }
}

/// Tokens of a text by `o200k_base`; above 1 MiB an estimate from samples.
#[napi(ts_args_type = "text: string", ts_return_type = "Promise<number>")]
pub fn count_tokens(text: Given<String>) -> Promised<i64> {
    blocking(move || Ok(i64::try_from(tokens::count(&text.named("text")?)).unwrap_or(i64::MAX)))
}

fn core_options(store: &store::Store, options: SessionOptions) -> Result<OpenSession> {
    let cwd = PathBuf::from(&options.cwd);
    if !cwd.is_absolute() {
        return Err(Error::argument("cwd", format!("`{}` is not an absolute path", options.cwd)));
    }
    if options.session_id.trim().is_empty() {
        return Err(Error::argument("sessionId", "is empty"));
    }
    let settings = settings_from(options.settings)?;
    let own = own_filesystem(&settings, store)?;
    Ok(OpenSession {
        counter: Counter::default(),
        files: if own.is_container { ToolFiles::InContainer } else { ToolFiles::Here },
        harness: options.harness,
        host_session: options.session_id,
        cwd,
        parent: options.parent_session_id,
        settings,
        filesystem_id: own.id,
        images: options.images.unwrap_or_default(),
        confined: options.confined,
        asks_to_compact: options.asks_to_compact.unwrap_or_default(),
    })
}
