//! The backends that keep a store of our own, for the rules that hold on every backend.

use palimpsest::store::{Backend, SqliteBackend};

/// Runs a rule on a fresh store of every backend.
pub(crate) fn on_each_backend(rule: impl Fn(&dyn Backend)) {
    rule(&SqliteBackend::in_memory().unwrap());
    let folder = tempfile::tempdir().unwrap();
    rule(&SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap());
}
