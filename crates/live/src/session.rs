//! An open session: the methods that the host calls, and the work that all such calls share. The
//! submodules do the rest.

mod call;
mod compaction;
mod continuing;
mod deadlines;
mod memory;
mod running;
mod sets;
mod status;
mod work;

use files::looks;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use self::continuing::Continuation;
pub use self::memory::AtCall;
pub use self::running::{Commit, RunningShown};
pub use self::status::{LiveStatus, Pins};
use super::intake::Intake;
use super::journal::{Activity, Journal, session_key};
use super::request::Request;
use super::tools::Wanted;
use super::workspace::{CheckProgress, Disk, FinishedToolCall, Workspace};
use super::{Notice, OpenSession, hazards_of};
use base::error::{Error, Result};
use base::object::ObjectId;
use config::Settings;
use context::breakpoints;
use context::hazard::{Chances, Hazards};
use context::host_compaction::Cancelled;
use context::log_layout::Texts;
use context::patch::{self, Patch};
use context::statement::{self, Statement};
use session::{
    Activation, Effect, Event, LineRange, Prompting, ReportKind, Reported, Session, UsageProblem,
};
use store::Store;

/// Work that runs beside a session until it is closed, and is then told how long it may take.
#[derive(Default)]
struct AtClose(Option<Box<dyn FnOnce(Duration) + Send>>);

impl fmt::Debug for AtClose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AtClose").field(&self.0.is_some()).finish()
    }
}

/// Empty reports of usage after which the user is told.
const EMPTY_REPORTS: u64 = 5;

/// A session at work.
#[derive(Debug)]
pub struct LiveSession {
    pub(crate) options: Arc<OpenSession>,
    /// State and versions: what is stored, and what will be with the next commit.
    pub(crate) journal: Journal,
    /// Where the files are to which a name or a path leads.
    pub(crate) disk: Disk,
    /// What is known of the files between looks.
    pub(crate) workspace: Workspace,
    /// The messages that stand in the window.
    pub(crate) request: Request,
    /// What later messages of the host need of earlier ones.
    pub(crate) intake: Intake,
    chances: Box<dyn Chances>,
    /// Why the hazards are the built-in ones although the settings name others.
    odd_hazards: Option<String>,
    /// Notices of what happened between calls; reported with the next one.
    pub(crate) waiting: Vec<Notice>,
    /// Places that did not answer when last reported.
    silent: Vec<PathBuf>,
    /// Compactions that the host was told not to make.
    cancelled: Cancelled,
    /// Whether no call was made since it was opened: before, others may have been made without us.
    is_opened_anew: bool,
    /// Whether it had been closed when it was opened.
    was_closed: bool,
    /// Reports in a row that said nothing of a call.
    empty_reports: u64,
    /// Whether the user was told that reports count for nothing.
    is_usage_told: bool,
    /// Called when the session is closed.
    at_close: AtClose,
    /// Asked before each call.
    prompting: Option<Box<dyn Prompting>>,
}

impl LiveSession {
    /// Opens a session: resumes what the store holds of it, forks its parent, or starts it.
    ///
    /// One host session ID can occur with another harness or in another folder: that is another
    /// session. A session that another process has open may be opened too: the one of the two that
    /// finds it changed continues as a session of its own, `{id}+2` (the next free number), with
    /// the whole history. Later the one that wrote last is resumed.
    ///
    /// # Errors
    /// `FORGOTTEN` if the session is forgotten; errors of the store.
    pub fn open(store: Store, options: OpenSession) -> Result<Self> {
        let options = Arc::new(options);
        let _bounded = looks::bounded(options.look_deadline());
        let key = session_key(&store, &options)?;
        // A file that is gone must not turn everything off.
        let (hazards, odd_hazards) = match hazards_of(&options) {
            Ok(hazards) => (hazards, None),
            Err(error) => (Hazards::shipped().clone(), Some(error.message())),
        };
        let disk = Disk::open(Arc::clone(&options), &key)?;
        let mut live = Self {
            journal: Journal::open(store, Arc::clone(&options), key)?,
            disk,
            workspace: Workspace::default(),
            request: Request::new(options.counter),
            intake: Intake::default(),
            chances: Box::new(hazards),
            odd_hazards,
            waiting: Vec::new(),
            silent: Vec::new(),
            cancelled: Cancelled::default(),
            is_opened_anew: true,
            was_closed: false,
            empty_reports: 0,
            is_usage_told: false,
            at_close: AtClose::default(),
            prompting: None,
            options,
        };
        live.reload()?;
        if live.state().opened().is_none() {
            live.journal.begin(&live.disk.canonical_cwd())?;
            live.reload()?;
        }
        live.was_closed = live.journal.was_closed()?;
        live.plan_check()?;
        Ok(live)
    }

    /// Calls `work` when the session is closed, with the time that it may take. It is dropped if
    /// the session is never closed.
    pub fn at_close(&mut self, work: impl FnOnce(Duration) + Send + 'static) {
        self.at_close = AtClose(Some(Box::new(work)));
    }

    /// Decides the next calls by these chances instead of the hazards from the settings. For a
    /// replay that knows the future.
    pub fn foresee(&mut self, chances: Box<dyn Chances>) {
        self.chances = chances;
    }

    /// The state.
    pub fn state(&self) -> &Session {
        self.journal.state()
    }

    /// The session document's ID.
    pub fn id(&self) -> &ObjectId {
        self.journal.session_id()
    }

    /// The settings it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.options.settings
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.journal.store
    }

    /// Warnings about settings whose files or folders are not as they should be, for the user.
    pub fn oddities(&self) -> Vec<String> {
        let built_in = |why| format!("the setting `hazards` is ignored: {why}");
        let hazards = self.odd_hazards.as_ref().map(built_in);
        self.disk.oddities().into_iter().chain(hazards).collect()
    }

    /// Discards the state in memory, which a panic may have left half made; it is read again from
    /// the store.
    pub fn distrust(&mut self) {
        self.journal.doubt();
    }

    /// Takes in the effects of a finished tool call: files read, edited, written, found. They are
    /// stored when it returns.
    pub fn record_tool_call(&mut self, finished: &FinishedToolCall) -> Result<()> {
        self.workspace.met.ended(&finished.call, finished.is_error);
        if !finished.may_touch_files() {
            return Ok(());
        }
        self.stored(|live| live.take_tool_call(finished))
    }

    /// Activates an object, and pins it if `pin` is set. Returns the answer for the model: the
    /// content in `log`, a line in `pools`, where the content stands in its own place.
    ///
    /// `call`: ID of the tool call; empty for a user's command. In that case, in `log`, the newest
    /// message of the next call carries the content as a note, which stays until the epoch ends;
    /// pinned content that already stands is not repeated.
    ///
    /// # Errors
    /// Errors of names; `FORGOTTEN` if the object is forgotten; `NO_ROOM` if it would exceed the
    /// high-water mark, or pinned content would exceed half the window; `INVALID_ARGUMENT` for
    /// unreadable lines or patterns.
    pub fn activate(&mut self, call: &str, wanted: &Wanted, pin: bool) -> Result<String> {
        if !pin && let Some(answer) = self.asked_of_memory(&wanted.name) {
            return answer;
        }
        self.durably(|live| {
            let answer = live.activate_named(call, wanted, pin);
            live.note_refusal(call, wanted, answer.as_ref().ok());
            // A refusal may have recorded what a look at the file found.
            live.commit_staged()?;
            answer
        })
    }

    /// The images of the output that the call with this ID just activated, in order, each as the
    /// JSON of its block. None if the call asked for some of its lines, if the host's tools cannot
    /// show images, and in `pools`, where images stand in the chat.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn activated_images(&self, call: &str) -> Result<Vec<String>> {
        let activated = self.state().effects(call).filter_map(|effect| match effect {
            Effect::Activated(one) => Some(one),
            _ => None,
        });
        let Some(Activation { object, version, ranges, answer, .. }) = activated.last() else {
            return Ok(Vec::new());
        };
        if !self.options.images_leave() || answer.is_some() {
            return Ok(Vec::new());
        }
        let lines = self.journal.text(object, version)?.split('\n').count() as u64;
        if *ranges != [LineRange { first: 1, last: lines }] {
            return Ok(Vec::new());
        }
        self.journal.images(object, version)
    }

    /// Records that a call went out with the host's own messages; the next commit stores it.
    pub fn record_failed_call(&mut self, reason: &str) {
        self.request.record_failed_call(reason);
    }

    /// Takes a request as the host is about to send it, as JSON, and returns the changes that give
    /// it one more cache breakpoint. The changed request is recorded with the newest call.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if `request_json` is not JSON; errors of the store, if the messages are
    /// not ours. The host's own request should then go out.
    pub fn prepare_payload(&mut self, request_json: &str) -> Result<Vec<Patch>> {
        let mut request: Value = serde_json::from_str(request_json)
            .map_err(|error| Error::argument("payload", error.to_string()))?;
        let patches = breakpoints::breakpoint(&request);
        patch::apply(&mut request, &patches);
        let _bounded = self.bounded();
        self.reload_if_in_doubt()?;
        let is_excluded = |message: &_| self.disk.text_reason(message).is_some();
        if self.request.note_payload(self.journal.state(), &request, is_excluded)? {
            self.durably(|live| live.commit(Activity::Active))?;
        }
        Ok(patches)
    }

    /// Takes in a provider's usage report for a request; it is stored with the next commit. An
    /// empty report, or one whose ID is known, is ignored. A report without a call belongs to the
    /// newest one; call 0 is none of ours.
    pub fn record_usage(&mut self, reported: Reported) -> Result<()> {
        self.reload_if_in_doubt()?;
        let call = reported.call.unwrap_or_else(|| self.state().calls());
        let reported = Reported { call: Some(call).filter(|call| *call > 0), ..reported };
        let bill = self.state().bill();
        let is_known = reported.id.as_deref().is_some_and(|id| bill.knows_report(id));
        if reported.total() == 0 {
            let is_call = reported.kind == ReportKind::Call && reported.call.is_some();
            self.empty_reports += u64::from(is_call);
        } else if !is_known {
            self.empty_reports = 0;
            self.journal.record(Event::Reported(reported));
        }
        self.tell_of_usage();
        Ok(())
    }

    /// Tells the user once that the provider's reports count for nothing, if so.
    fn tell_of_usage(&mut self) {
        let why = match self.state().bill().usage_problem() {
            _ if self.is_usage_told => return,
            _ if self.empty_reports >= EMPTY_REPORTS => "none",
            Some(UsageProblem::Constant) => "constant",
            Some(UsageProblem::Implausible) => "implausible",
            Some(UsageProblem::Uncached) => "uncached",
            None => return,
        };
        self.is_usage_told = true;
        self.waiting.push(Notice::UsageIgnored { why });
    }

    /// The ledger as of now, including what waits to be stored.
    pub fn statement(&mut self) -> Result<Statement> {
        self.reload_if_in_doubt()?;
        Ok(statement::statement(&self.journal.events()?))
    }

    /// The path at which this process opens the file that `read` reads.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is out of reach, in the agent's sandbox.
    pub fn path_opened(&self, given: &str) -> Result<std::path::PathBuf> {
        let _bounded = self.bounded();
        self.disk.path_opened(given)
    }

    /// Checks every known file within reach: changed files get a version, missing ones a version
    /// without content, and moved ones continue at their new place. `progress` is called from
    /// several threads.
    ///
    /// A resumed session does this by itself before its first call.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reconcile(&mut self, progress: &(dyn Fn(CheckProgress) + Sync)) -> Result<()> {
        self.reload_if_in_doubt()?;
        let result = self.attempt(|live| live.check_files(progress));
        if result.is_err() {
            self.journal.doubt();
        }
        result
    }

    /// As [`Self::reconcile`], if the check is still due.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn reconcile_due(&mut self, progress: &(dyn Fn(CheckProgress) + Sync)) -> Result<()> {
        self.reload_if_in_doubt()?;
        if self.is_reconcile_due() { self.reconcile(progress) } else { Ok(()) }
    }

    /// Stores what is not stored yet and marks the session paused. If another process has written
    /// to the session since and nothing waits here, the session is left to that process. A session
    /// in which nothing happened is not stored.
    pub fn close(&mut self) -> Result<()> {
        self.workspace.tracked = None;
        self.reload_if_in_doubt()?;
        // The next check finds again what this one found, so that needs no commit.
        let staged = self.journal.staged_events() > 0 && !self.is_check_staged();
        let is_left =
            || Ok::<_, Error>(self.journal.stored_at().is_none() || self.journal.has_moved_on()?);
        if staged || self.request.waits() || !is_left()? {
            self.durably(|live| {
                live.request.stage_failed_calls(&mut live.journal);
                live.commit(Activity::Paused)
            })?;
            self.keep_bill();
        }
        // The caller waits only until the deadline.
        if let Some(work) = self.at_close.0.take() {
            work(self.deadline() / 2);
        }
        Ok(())
    }
}
