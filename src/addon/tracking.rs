//! `Store.track` and the class `Tracking`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::{AsyncTask, Function};
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::Given;
use super::blocking::{Blocking, Json, blocking, to_js};
use super::names::{NameOptions, Names};
use super::store::Store;
use crate::error::Error;
use crate::source::{
    self, Exclude, IndexedFile, PollReason, TrackingEvent, Watching, absolute_path, canonical_path,
};

/// Batches of events that wait for the listener. With more the tracking waits too, and what happens meanwhile is told at once
/// after that.
const WAITING: usize = 8;

/// Milliseconds that `settle` waits where none are given.
const SETTLE_MS: u32 = 1_000;

/// How files are tracked.
#[napi(object)]
#[derive(Default)]
pub struct TrackOptions {
    /// Folder that relative paths count from, absolute. Default: the process's working folder.
    pub cwd: Option<String>,
    /// Whether files are polled although the system could watch them. Default: `false`.
    pub polling: Option<bool>,
    /// Milliseconds between two looks at a polled file. Default: 2,000.
    pub poll_ms: Option<u32>,
    /// Folders that are watched at most; files of others are polled. Default: as many as the system allows.
    pub max_watches: Option<u32>,
}

/// What a tracking does at this moment.
#[napi(object)]
pub struct TrackingStatus {
    /// Tracked files.
    pub files: u32,
    /// Tracked files that are there.
    pub attached: u32,
    /// Tracked files that were found to be gone.
    pub deleted: u32,
    /// Tracked files of which it cannot be told what they are; their latest versions stand.
    pub orphaned: u32,
    /// Folders with tracked files that the system watches.
    pub watched_folders: u32,
    /// Folders with tracked files that are polled.
    pub polled_folders: u32,
    /// Folders with tracked files that do not exist; the nearest one above each is watched.
    pub absent_folders: u32,
    /// Files that wait to be looked at; never more than are tracked.
    pub pending: u32,
    /// The most files that ever waited.
    pub most_pending: u32,
}

/// The trackings of a store. They end with it.
#[derive(Clone, Default)]
pub(super) struct Trackings(Arc<Running>);

#[derive(Default)]
struct Running(Mutex<Vec<Arc<source::Tracking>>>);

impl Trackings {
    pub(super) fn close(&self) {
        for tracking in self.0.take() {
            tracking.close();
        }
    }

    fn add(&self, tracking: &Arc<source::Tracking>) {
        self.0.lock().push(Arc::clone(tracking));
    }

    fn remove(&self, tracking: &Arc<source::Tracking>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, tracking));
    }
}

impl Running {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<source::Tracking>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Vec<Arc<source::Tracking>> {
        std::mem::take(&mut self.lock())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let trackings = self.take();
        // The collector drops a store on JavaScript's thread, and the tracking's thread may wait for that one to listen.
        if !trackings.is_empty() {
            drop(std::thread::Builder::new().spawn(move || drop(trackings)));
        }
    }
}

/// Files of a store that are kept up to date, until it or the store is closed.
#[napi]
pub struct Tracking {
    core: Arc<source::Tracking>,
    all: Trackings,
    names: Names,
}

#[napi]
impl Store {
    /// Tracks files: each is indexed now and whenever it changes on disk, as `index` would; one that is deleted gets a version
    /// without content, and one that moved is followed to its new path, whose object has `moved_from`. `onEvents` hears what was
    /// done after it was written, in batches; while it runs, what happens is collected.
    ///
    /// The folders of the files are watched by the system. Where it cannot (its limit of watches is reached, the file system is a
    /// network one), the files are polled, and an event says so. The settings `maxTextBytes`, `filesystemId` and `exclude` given to
    /// `openStore` count. Tracking never keeps the process alive, and goes on until `close` of the tracking or the store.
    ///
    /// Rejects with `INVALID_ARGUMENT` and `FILE`.
    #[napi(
        ts_args_type = "paths: string[], onEvents: (events: TrackingEvent[]) => void, options?: TrackOptions",
        ts_return_type = "Promise<Tracking>",
        catch_unwind
    )]
    pub fn track(
        &self,
        env: Env,
        paths: Given<Vec<String>>,
        on_events: Given<Function<'_, Json, ()>>,
        options: Given<Option<TrackOptions>>,
    ) -> napi::Result<AsyncTask<Blocking<Tracking>>> {
        let names = self.names();
        let settings = Arc::clone(&self.settings);
        let all = self.trackings.clone();
        let listener = match on_events.named("onEvents") {
            Ok(function) => Ok(function
                .build_threadsafe_function()
                .weak::<true>()
                .max_queue_size::<WAITING>()
                .build()?),
            Err(error) => Err(to_js(env, &error)?),
        }?;
        Ok(blocking(move || {
            let options = options.named("options")?.unwrap_or_default();
            let place = names.place(options.cwd.clone())?;
            let paths = canonical(&paths.named("paths")?, &place.cwd);
            let files = place.files;
            let mut tracking = source::TrackingOptions::at(move |path| files.opened_at(path));
            tracking.max_text_bytes = settings.max_text_bytes;
            tracking.exclude = Exclude::new(&settings.exclude_globs())?;
            configure(&mut tracking.tracker, &options);
            let store = names.store.clone();
            let core = source::Tracking::start(store, tracking, move |events| {
                let events = events.into_iter().map(told).collect();
                listener.call(Json(Value::Array(events)), ThreadsafeFunctionCallMode::Blocking);
            })?;
            let core = Arc::new(core);
            all.add(&core);
            core.track(paths);
            Ok(Tracking { core, all, names })
        }))
    }
}

#[napi]
impl Tracking {
    /// Tracks more files; those that are tracked already stay as they are.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "paths: string[], options?: NameOptions",
        ts_return_type = "Promise<void>"
    )]
    pub fn add(
        &self,
        paths: Given<Vec<String>>,
        options: Given<Option<NameOptions>>,
    ) -> AsyncTask<Blocking<()>> {
        self.with_paths(paths, options, source::Tracking::track)
    }

    /// Tracks files no more. Paths that are not tracked are left out.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "paths: string[], options?: NameOptions",
        ts_return_type = "Promise<void>"
    )]
    pub fn remove(
        &self,
        paths: Given<Vec<String>>,
        options: Given<Option<NameOptions>>,
    ) -> AsyncTask<Blocking<()>> {
        self.with_paths(paths, options, |core, paths| core.untrack(&paths))
    }

    /// Waits until all that happened to tracked files before this call is in the store and was told; polled files are looked at now.
    /// Resolves to whether that took no longer than `timeoutMs`, by default 1,000.
    #[napi(ts_args_type = "timeoutMs?: number", ts_return_type = "Promise<boolean>")]
    pub fn settle(&self, timeout_ms: Given<Option<u32>>) -> AsyncTask<Blocking<bool>> {
        let core = Arc::clone(&self.core);
        blocking(move || {
            let timeout = timeout_ms.named("timeoutMs")?.unwrap_or(SETTLE_MS);
            Ok(core.settle(Duration::from_millis(timeout.into())))
        })
    }

    /// What the tracking does at this moment.
    #[napi(catch_unwind)]
    pub fn status(&self) -> TrackingStatus {
        let status = self.core.status();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        TrackingStatus {
            files: count(status.files),
            attached: count(status.attached),
            deleted: count(status.deleted),
            orphaned: count(status.orphaned),
            watched_folders: count(status.watched),
            polled_folders: count(status.polled),
            absent_folders: count(status.absent),
            pending: count(status.pending),
            most_pending: count(status.most_pending),
        }
    }

    /// Stops watching; once it resolves, `onEvents` is not called again but for what it was handed before. Idempotent.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> AsyncTask<Blocking<()>> {
        let (core, all) = (Arc::clone(&self.core), self.all.clone());
        blocking(move || {
            core.close();
            all.remove(&core);
            Ok::<(), Error>(())
        })
    }
}

impl Tracking {
    /// Does something with canonical paths, off JavaScript's thread: links are followed on the disk.
    fn with_paths(
        &self,
        paths: Given<Vec<String>>,
        options: Given<Option<NameOptions>>,
        act: impl FnOnce(&source::Tracking, Vec<PathBuf>) + Send + 'static,
    ) -> AsyncTask<Blocking<()>> {
        let (core, names) = (Arc::clone(&self.core), self.names.clone());
        blocking(move || {
            let place = names.place(options.named("options")?.unwrap_or_default().cwd)?;
            act(&core, canonical(&paths.named("paths")?, &place.cwd));
            Ok(())
        })
    }
}

fn configure(tracker: &mut source::TrackerOptions, options: &TrackOptions) {
    if options.polling.unwrap_or(false) {
        tracker.watching = Watching::Polling;
    }
    if let Some(poll) = options.poll_ms {
        tracker.poll = Duration::from_millis(poll.max(1).into());
    }
    tracker.max_watches = options.max_watches.and_then(|number| usize::try_from(number).ok());
}

fn canonical(paths: &[String], cwd: &Path) -> Vec<PathBuf> {
    paths.iter().map(|path| canonical_path(&absolute_path(path, cwd))).collect()
}

/// An event as `TrackingEvent` of `types.d.ts` says.
fn told(event: TrackingEvent) -> Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match event {
        TrackingEvent::Indexed(file) => indexed(file.outcome.as_str(), &file),
        TrackingEvent::Moved { from, from_id, to } => {
            let mut event = indexed("moved", &to);
            event["from"] = json!(text(&from));
            event["fromId"] = json!(from_id.to_string());
            event
        }
        TrackingEvent::Orphaned { path, reason } => {
            json!({ "type": "orphaned", "path": text(&path), "reason": reason })
        }
        TrackingEvent::Resumed { path } => json!({ "type": "resumed", "path": text(&path) }),
        TrackingEvent::Polling { folders, reason } => {
            let folders: Vec<String> = folders.iter().map(|folder| text(folder)).collect();
            let mut event =
                json!({ "type": "polling", "folders": folders, "reason": reason.as_str() });
            if let PollReason::Refused(detail) = reason {
                event["detail"] = json!(detail);
            }
            event
        }
        TrackingEvent::Rescanned { files } => json!({ "type": "rescanned", "files": files }),
        TrackingEvent::Failed { path, problem } => {
            let path = path.as_deref().map(text);
            json!({ "type": "failed", "path": path, "problem": problem })
        }
    }
}

fn indexed(kind: &str, file: &IndexedFile) -> Value {
    json!({
        "type": kind,
        "path": file.path.to_string_lossy(),
        "id": file.id.to_string(),
        "txId": file.tx_id.0,
        "noContent": file.no_content,
    })
}
