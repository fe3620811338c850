//! The local backends, for the rules that hold on every backend.

use std::sync::Arc;

use store::{Backend, SqliteBackend};

/// Cases of a test with random queries.
pub(crate) const CASES: u32 = 12;

/// Runs a rule on a fresh store of every backend.
pub(crate) fn on_each_backend(rule: impl Fn(&dyn Backend)) {
    on_each_shared_backend(|backend| rule(&**backend));
}

/// The same, for rules that open a `Store` on it.
pub(crate) fn on_each_shared_backend(rule: impl Fn(&Arc<dyn Backend>)) {
    rule(&(Arc::new(SqliteBackend::in_memory().unwrap()) as Arc<dyn Backend>));
    let folder = tempfile::tempdir().unwrap();
    let file = SqliteBackend::open(&folder.path().join("store.sqlite")).unwrap();
    rule(&(Arc::new(file) as Arc<dyn Backend>));
}
