//! The shared backend, for the rules that hold on every backend.

use palimpsest::store::{Backend, XtdbBackend, XtdbOptions};

use crate::xtdb::Database;

/// Runs a rule on an empty database of a real node.
pub(crate) fn on_each_backend(rule: impl Fn(&dyn Backend)) {
    let Some(database) = Database::new() else { return };
    let options = XtdbOptions { url: database.url(), ..XtdbOptions::default() };
    rule(&XtdbBackend::connect(&options).unwrap());
}
