//! A machine with its own store, which is shared: a folder, a clock, and short ways to write and
//! compare.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use base::object::{AsOf, ObjectId, ObjectType, Source, Timestamp};
use config::XtdbOptions;
use store::{NewVersion, Store, Version};
use tempfile::TempDir;
use xtdb::{Pulled, Pushed, Sharing, SharingOptions};

/// A store in a file, and what shares it.
pub(crate) struct Machine {
    pub(crate) store: Store,
    pub(crate) clock: Arc<AtomicI64>,
    pub(crate) sharing: Arc<Sharing>,
    pub(crate) folder: TempDir,
}

/// A time of the tests, in ms.
pub(crate) const NOW: i64 = 1_700_000_000_000;

impl Machine {
    /// Shares files.
    pub(crate) fn at(url: &str) -> Self {
        Self::with(url, |_| {})
    }

    /// Shares sessions, too.
    pub(crate) fn with_sessions(url: &str) -> Self {
        Self::with(url, |options| options.sessions = true)
    }

    pub(crate) fn with(url: &str, change: impl FnOnce(&mut SharingOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(NOW));
        let ticking = Arc::clone(&clock);
        let path = folder.path().join("store.sqlite");
        let store = Store::open(path.to_str().unwrap())
            .unwrap()
            .with_clock(Arc::new(move || Timestamp(ticking.fetch_add(1, Ordering::Relaxed))));
        let mut options = options(url);
        change(&mut options);
        let sharing = Arc::new(Sharing::new(store.clone(), options));
        Self { store, clock, sharing, folder }
    }

    /// Writes a version of a file.
    pub(crate) fn write(&self, path: &str, text: &str) -> ObjectId {
        let (_, version) = self
            .store
            .write(NewVersion {
                kind: ObjectType::File,
                source: Some(source(path)),
                id: None,
                content: Some(text.to_owned()),
                source_hash: None,
                fields: serde_json::Map::new(),
                additional: BTreeMap::new(),
                expected: None,
            })
            .unwrap();
        version.envelope.id
    }

    pub(crate) fn push(&self) -> Pushed {
        self.sharing.push(&mut |_| Ok(())).unwrap()
    }

    pub(crate) fn pull(&self) -> Pulled {
        self.sharing.pull(&mut |_| Ok(())).unwrap()
    }

    /// The latest text of a file.
    pub(crate) fn text(&self, id: &ObjectId) -> Option<String> {
        let version = self.store.get(id, AsOf::Latest).unwrap()?;
        self.store.content(&version).unwrap()
    }
}

pub(crate) fn options(url: &str) -> SharingOptions {
    SharingOptions {
        shared: XtdbOptions { url: url.to_owned(), ..XtdbOptions::default() },
        sessions: false,
        author: Some("Ann".into()),
        is_excluded: Arc::new(|_| false),
    }
}

pub(crate) fn source(path: &str) -> Source {
    Source::Filesystem { filesystem_id: "shared disk".into(), path: path.into() }
}

/// Opens the shared store as anybody may.
pub(crate) fn shared(url: &str) -> Store {
    xtdb::connect(&XtdbOptions { url: url.to_owned(), ..XtdbOptions::default() }).unwrap()
}

/// What is the same of a version in every store: origin, hashes, items, and whether text was
/// replaced.
pub(crate) fn portable(version: &Version) -> String {
    let Version { origin, content_hash, item_count, items_hash, redacted, .. } = version;
    format!(
        "{} {} {content_hash} {item_count} {items_hash:?} {redacted:?}",
        origin.store_id, origin.tx_id
    )
}

/// The versions of an object, each once, and the latest of them.
pub(crate) fn versions(store: &Store, id: &ObjectId) -> (Vec<String>, Option<String>) {
    let history = store.history(id).unwrap();
    for version in &history {
        store.verify(version).unwrap();
    }
    let latest = history.first().map(portable);
    let mut all: Vec<String> = history.iter().map(portable).collect();
    all.sort();
    all.dedup();
    (all, latest)
}

/// Versions of all objects of a type, by ID.
pub(crate) fn everything(
    store: &Store,
    kind: ObjectType,
) -> BTreeMap<ObjectId, (Vec<String>, Option<String>)> {
    let list = store.list(kind, None, usize::MAX).unwrap();
    list.into_iter()
        .map(|version| {
            let id = version.envelope.id;
            let versions = versions(store, &id);
            (id, versions)
        })
        .collect()
}
