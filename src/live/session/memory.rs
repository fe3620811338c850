//! What a session does for memory, which is a layer above: it says when a new system prompt costs nothing, and carries changes to the
//! model until then. Must not know pages.

use super::LiveSession;
use crate::context::prices::prices_of;
use crate::error::Result;
use crate::live::CallInfo;
use crate::object::Timestamp;
use crate::session::{CallTime, Event, MemoryChange};
use crate::settings::Layout;

impl LiveSession {
    /// Whether another system prompt costs nothing now: no cache of the model is alive. In `pools`, which has no notes, it always may
    /// change.
    pub fn is_cold(&self, call: &CallInfo, now: Timestamp) -> bool {
        let model = call.model.as_deref();
        let settings = &self.options.settings;
        let (_, prices) =
            prices_of(&settings.prices, model.unwrap_or_default(), call.model_data.as_ref());
        let (time, lifetime_seconds) = (Some(now.0), prices.lifetime_seconds);
        let now = CallTime { time, lifetime_seconds };
        settings.layout == Layout::Pools || !self.state().requests().ours().is_any_alive(model, now)
    }

    /// The next system prompt holds memory as it is. Stored when it returns.
    ///
    /// # Errors
    /// What the store reports.
    pub fn memory_rendered(&mut self) -> Result<()> {
        if self.state().memory_changes() == 0 {
            return Ok(());
        }
        self.durably(|live| {
            live.journal.record(Event::MemoryRendered);
            live.commit_staged()
        })
    }

    /// Memory changed and the system prompt does not hold that: the newest message of a coming call tells the model, unless something
    /// that stands does. Stored when it returns.
    ///
    /// # Errors
    /// What the store reports.
    pub fn memory_changed(&mut self, changes: &[MemoryChange]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.durably(|live| {
            for MemoryChange { text, file, call } in changes {
                let (text, file, call) = (text.clone(), file.clone(), call.clone());
                live.journal.record(Event::MemoryChanged { text, file, call });
            }
            live.commit_staged()
        })
    }

    /// Paths of the files whose text the model knows or that it edited, as the agent sees them, the newest last.
    pub fn known_paths(&self) -> Vec<String> {
        let state = self.state();
        let edited = state.edited_files().filter_map(|(id, _)| state.index().get(id));
        let edited = edited.map(|entry| entry.subject.agent_path().to_owned());
        let known = state.files_with_known_text().map(|(_, path, _)| path.to_owned());
        let mut paths: Vec<String> = edited.chain(known).collect();
        paths.sort_unstable();
        paths.dedup();
        paths
    }
}
