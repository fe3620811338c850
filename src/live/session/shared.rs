//! Sharing of the store that a session has, as long as the session is open.

use std::sync::Arc;

use super::LiveSession;
use crate::error::Result;
use crate::store::Sharing;

impl LiveSession {
    /// Keeps the store and the shared one of the settings alike in the background, until the session is closed or dropped. Nothing
    /// waits for it, and without a shared store nothing is done.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` naming a glob of `exclude` that cannot be read; `INTERNAL` if the system gives no thread.
    pub fn share(&mut self) -> Result<()> {
        let settings = &self.options.settings;
        if let Some(shared) = settings.shared_store() {
            let options = settings.sharing_with(shared)?;
            let running = Sharing::new(self.store().clone(), options).start_once()?;
            self.sharing = Some(running);
        }
        Ok(())
    }

    /// What shares the store; `None` where nothing does.
    pub fn sharing(&self) -> Option<Arc<Sharing>> {
        self.sharing.as_ref().map(|running| running.sharing())
    }
}
