//! The trackings that run on a store; they end with it.

use base::lock;
use std::sync::{Arc, Mutex, MutexGuard};

use source::Tracker;

/// The trackings that run on a store.
#[derive(Clone, Default)]
pub(super) struct Trackings(Arc<Running>);

#[derive(Default)]
struct Running(Mutex<Vec<Arc<Tracker>>>);

impl Trackings {
    pub(super) fn close(&self) {
        for tracking in self.0.take() {
            tracking.close();
        }
    }

    pub(super) fn add(&self, tracking: &Arc<Tracker>) {
        self.0.lock().push(Arc::clone(tracking));
    }

    pub(super) fn remove(&self, tracking: &Arc<Tracker>) {
        self.0.lock().retain(|other| !Arc::ptr_eq(other, tracking));
    }
}

impl Running {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Tracker>>> {
        lock(&self.0)
    }

    fn take(&self) -> Vec<Arc<Tracker>> {
        std::mem::take(&mut self.lock())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let trackings = self.take();
        // The garbage collector drops a store on JavaScript's thread, and a tracking's thread may
        // be waiting for that one to call the listener.
        if !trackings.is_empty() {
            drop(std::thread::Builder::new().spawn(move || drop(trackings)));
        }
    }
}
