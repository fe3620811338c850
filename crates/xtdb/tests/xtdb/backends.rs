//! The shared backend, for the rules that hold on every backend.

use std::sync::Arc;

use config::XtdbOptions;
use store::Backend;
use xtdb::XtdbBackend;

use testing::xtdb::Database;

/// Cases of a test with random queries; each takes about a second.
pub(crate) const CASES: u32 = 8;

/// Runs a rule on an empty database of a real node.
pub(crate) fn on_each_backend(rule: impl Fn(&dyn Backend)) {
    on_each_shared_backend(|backend| rule(&**backend));
}

/// The same, for rules that open a `Store` on it.
pub(crate) fn on_each_shared_backend(rule: impl Fn(&Arc<dyn Backend>)) {
    let Some(database) = Database::new() else { return };
    let options = XtdbOptions { url: database.url(), ..XtdbOptions::default() };
    rule(&(Arc::new(XtdbBackend::connect(&options).unwrap()) as Arc<dyn Backend>));
}
