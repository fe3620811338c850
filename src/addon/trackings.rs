//! The trackings that run on a store; they end with it.

use std::sync::{Arc, Mutex};

use base::lock;
use source::Tracker;

/// The trackings that run on a store.
#[derive(Default)]
pub(super) struct Trackings(Mutex<Vec<Arc<Tracker>>>);

impl Trackings {
    pub(super) fn close(&self) {
        for tracking in self.take() {
            tracking.close();
        }
    }

    pub(super) fn add(&self, tracking: &Arc<Tracker>) {
        lock(&self.0).push(Arc::clone(tracking));
    }

    pub(super) fn remove(&self, tracking: &Arc<Tracker>) {
        lock(&self.0).retain(|other| !Arc::ptr_eq(other, tracking));
    }

    fn take(&self) -> Vec<Arc<Tracker>> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl Drop for Trackings {
    fn drop(&mut self) {
        let trackings = self.take();
        // The garbage collector drops a store on JavaScript's thread, and a tracking's thread may
        // be waiting for that one to call the listener.
        if !trackings.is_empty() {
            drop(std::thread::Builder::new().spawn(move || drop(trackings)));
        }
    }
}
