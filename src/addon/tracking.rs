//! Tracking files: `Store.track` and the class `Tracking`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use napi::Status;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use serde_json::{Value, json};

use super::argument::{Given, Maybe};
use super::blocking::{Answer, OnWorker, Promised};
use super::index::indexed_file;
use super::names::NameOptions;
use super::store::Store;
use base::path::absolute_path;
use source::{PollReason, TrackingEvent, Watching, canonical_path};

/// Number of batches of events that can wait for the listener. Once it is reached, the tracking
/// waits too, and collects events for the next batch.
const WAITING: usize = 8;

/// Default of `timeoutMs` in `settle`, in milliseconds.
const SETTLE_MS: u32 = 1_000;

/// How to track files.
#[napi(object)]
#[derive(Default)]
pub struct TrackOptions {
    /// Folder that relative paths count from, absolute. Default: the process's working folder.
    pub cwd: Option<String>,
    /// Whether to poll files instead of having the system watch them. Default: `false`.
    pub polling: Option<bool>,
    /// Interval at which polled files are checked, in milliseconds. Default: 2,000.
    pub poll_ms: Option<u32>,
    /// Largest number of folders to watch; files in others are polled. Default: as many as the system allows.
    pub max_watches: Option<u32>,
}

/// Called with the events, which wait for it.
type EventListener = ThreadsafeFunction<Answer, (), Answer, Status, false, true, WAITING>;

/// Keeps files up to date in a store, until it or the store is closed.
#[napi]
#[derive(Clone)]
pub struct Tracking {
    core: Arc<source::Tracker>,
    store: Store,
}

impl OnWorker for Tracking {}

#[napi]
impl Store {
    /// Tracks files: indexes each of them now and whenever it changes on disk, as `index` does. A deleted file gets a version without
    /// content. A moved file is followed to its new path, whose object has the field `moved_from`. After changes are written, `onEvents`
    /// is called with a batch of events; while it runs, further events collect for the next batch.
    ///
    /// The system watches the folders of the files. Where it cannot (the limit of watches is reached, or the file system is a network
    /// one), the files are polled, and an event says so. The settings `maxTextBytes`, `filesystemId` and `exclude` given to `openStore`
    /// apply. Tracking does not keep the process alive. It ends when the tracking or the store is closed.
    ///
    /// Rejects with `INVALID_ARGUMENT` and `FILE`.
    #[napi(
        ts_args_type = "paths: string[], onEvents: (events: TrackingEvent[]) => void, options?: TrackOptions",
        ts_return_type = "Promise<Tracking>"
    )]
    pub fn track(
        &self,
        paths: Given<Vec<String>>,
        on_events: Given<EventListener>,
        options: Maybe<TrackOptions>,
    ) -> Promised<Tracking> {
        self.with(move |store| {
            let options = options.or_default("options")?;
            let listener = on_events.named("onEvents")?;
            let place = store.place(options.cwd.clone())?;
            let paths = canonical(&paths.named("paths")?, &place.cwd);
            let files = place.files;
            let mut tracking = source::TrackingOptions::at(move |path| files.opened_at(path));
            tracking.max_text_bytes = store.settings.max_text_bytes;
            tracking.exclude = store.settings.excluded()?;
            configure(&mut tracking.tracker, &options);
            let core = source::Tracker::of_store(store.core.clone(), tracking, move |events| {
                let events = Answer::from(events.into_iter().map(told).collect::<Value>());
                listener.call(events, ThreadsafeFunctionCallMode::Blocking);
            })?;
            let core = Arc::new(core);
            store.trackings.add(&core);
            core.track(paths);
            Ok(Tracking { core, store: store.clone() })
        })
    }
}

#[napi]
impl Tracking {
    /// Tracks more files. Files that are tracked already are not affected.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "paths: string[], options?: NameOptions",
        ts_return_type = "Promise<void>"
    )]
    pub fn add(&self, paths: Given<Vec<String>>, options: Maybe<NameOptions>) -> Promised<()> {
        self.with_paths(paths, options, source::Tracker::track)
    }

    /// Stops tracking files. Ignores paths that are not tracked.
    ///
    /// Rejects with `INVALID_ARGUMENT`.
    #[napi(
        ts_args_type = "paths: string[], options?: NameOptions",
        ts_return_type = "Promise<void>"
    )]
    pub fn remove(&self, paths: Given<Vec<String>>, options: Maybe<NameOptions>) -> Promised<()> {
        self.with_paths(paths, options, |core, paths| core.untrack(&paths))
    }

    /// Waits until all changes before this call are in the store and their events delivered. Checks polled files at once. Resolves to
    /// false if that takes longer than `timeoutMs`, by default 1,000.
    #[napi(ts_args_type = "timeoutMs?: number", ts_return_type = "Promise<boolean>")]
    pub fn settle(&self, timeout_ms: Maybe<u32>) -> Promised<bool> {
        self.with(move |Self { core, .. }| {
            let timeout = timeout_ms.named("timeoutMs")?.unwrap_or(SETTLE_MS);
            Ok(core.settle(Duration::from_millis(timeout.into())))
        })
    }

    /// The state of the tracking, as of now.
    #[napi(catch_unwind, ts_return_type = "TrackingStatus")]
    pub fn status(&self) -> Answer {
        Answer::from(json!(self.core.status()))
    }

    /// Stops watching. Once it resolves, `onEvents` is called only with events that were already on their way. Idempotent.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn close(&self) -> Promised<()> {
        self.with(|Self { core, store }| {
            core.close();
            store.trackings.remove(core);
            Ok(())
        })
    }
}

impl Tracking {
    /// Calls `act` with canonical paths on a worker thread, since following links reads the disk.
    fn with_paths(
        &self,
        paths: Given<Vec<String>>,
        options: Maybe<NameOptions>,
        act: impl FnOnce(&source::Tracker, Vec<PathBuf>) + Send + 'static,
    ) -> Promised<()> {
        self.with(move |Self { core, store }| {
            let place = store.place(options.or_default("options")?.cwd)?;
            act(core, canonical(&paths.named("paths")?, &place.cwd));
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

/// An event in the shape of `TrackingEvent` in `types`.
fn told(event: TrackingEvent) -> Value {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    match event {
        TrackingEvent::Indexed(file) => indexed_file(("type", file.outcome.as_str()), &file),
        TrackingEvent::Moved { from, from_id, to } => {
            let mut event = indexed_file(("type", "moved"), &to);
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
