//! `Store.maintenance`: occasional work on a store, apart from its daily use. The methods are in
//! `archive`, `doctor` and `forget`.

use std::sync::Arc;

use napi_derive::napi;

use super::blocking::OnWorker;
use super::store::Store;
use config::Settings;

/// Maintenance of a store: checks, archives, forgetting, garbage collection, statistics. See `Store.maintenance`.
#[napi]
#[derive(Clone)]
pub struct Maintenance {
    pub(super) core: store::Store,
    pub(super) settings: Arc<Settings>,
}

impl OnWorker for Maintenance {}

#[napi]
impl Store {
    /// Checks, archives, forgetting, garbage collection and statistics of this store. All of it works while the store is in use.
    #[napi(getter, catch_unwind)]
    pub fn maintenance(&self) -> Maintenance {
        Maintenance { core: self.core.clone(), settings: Arc::clone(&self.settings) }
    }
}
