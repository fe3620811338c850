//! A folder of files, a store that tracks them, and what was told.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::object::{AsOf, Hash, ObjectId};
use source::{Location, Tracker, TrackingEvent, TrackingOptions, canonical_path};
use store::{Store, Version};

pub(crate) const FILESYSTEM: &str = "fs";

/// So long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Tracked {
    pub(crate) tracking: Tracker,
    pub(crate) store: Store,
    pub(crate) root: PathBuf,
    told: Arc<Mutex<Vec<TrackingEvent>>>,
    _folder: tempfile::TempDir,
}

impl Tracked {
    pub(crate) fn new(change: impl FnOnce(&mut TrackingOptions)) -> Self {
        Self::with_store(Store::open(":memory:").unwrap(), change)
    }

    pub(crate) fn with_store(store: Store, change: impl FnOnce(&mut TrackingOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = canonical_path(folder.path());
        let told = Arc::new(Mutex::new(Vec::new()));
        let mut options = TrackingOptions::at(|path| Location::here(FILESYSTEM, path.to_owned()));
        change(&mut options);
        let heard = Arc::clone(&told);
        let tracking = Tracker::of_store(store.clone(), options, move |events| {
            heard.lock().unwrap().extend(events);
        })
        .unwrap();
        Self { tracking, store, root, told, _folder: folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Writes and tracks files, and waits until the store has them.
    pub(crate) fn track(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            self.write(name, text);
        }
        self.tracking.track(files.iter().map(|(name, _)| self.path(name)));
        self.settle();
    }

    pub(crate) fn settle(&self) {
        assert!(self.tracking.settle(PATIENCE), "not settled: {:?}", self.tracking.status());
    }

    /// What was told since the last call.
    pub(crate) fn told(&self) -> Vec<TrackingEvent> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    /// What was told since the last call, in words: the name under the root, and what became of it.
    pub(crate) fn words(&self) -> Vec<String> {
        self.told().iter().map(|event| self.word(event)).collect()
    }

    fn word(&self, event: &TrackingEvent) -> String {
        let name =
            |path: &Path| path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        match event {
            TrackingEvent::Indexed(file) => {
                format!("{} {}", file.outcome.as_str(), name(&file.path))
            }
            TrackingEvent::Moved { from, to, .. } => {
                format!("moved {} to {}", name(from), name(&to.path))
            }
            TrackingEvent::Orphaned { path, reason } => {
                format!("orphaned {}: {reason}", name(path))
            }
            TrackingEvent::Resumed { path } => format!("resumed {}", name(path)),
            TrackingEvent::Polling { folders, reason } => {
                format!("polling {} folders: {}", folders.len(), reason.as_str())
            }
            TrackingEvent::Rescanned { files } => format!("rescanned {files}"),
            TrackingEvent::Failed { problem, .. } => format!("failed: {problem}"),
        }
    }

    pub(crate) fn id(&self, name: &str) -> ObjectId {
        Location::here(FILESYSTEM, self.path(name)).id().unwrap()
    }

    pub(crate) fn version(&self, name: &str) -> Option<Version> {
        self.store.get(&self.id(name), AsOf::Latest).unwrap()
    }

    /// The files, of those given, whose latest version is not what is on disk.
    pub(crate) fn stale(&self, names: impl IntoIterator<Item = String>) -> Vec<String> {
        let on_disk = |name: &str| std::fs::read(self.path(name)).ok().map(Hash::of);
        let stored = |name: &str| self.version(name).and_then(|version| version.source_hash);
        names.into_iter().filter(|name| on_disk(name) != stored(name)).collect()
    }
}
