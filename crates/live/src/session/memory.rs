//! Support for memory, which is a crate above: tells when a new system prompt costs nothing, and
//! carries changes to the model until then. Must not know pages.

use std::collections::BTreeSet;

use super::LiveSession;
use crate::CallInfo;
use crate::model_tools::Tool;
use base::error::Result;
use base::object::Timestamp;
use config::Layout;
use context::prices::prices_of;
use session::{CallTime, Event, MemoryChange, PromptedSession, Prompting};

/// A session at the moment of its next call, as memory sees it.
#[derive(Debug)]
pub struct AtCall<'a> {
    live: &'a mut LiveSession,
    call: &'a CallInfo,
    now: Timestamp,
}

impl LiveSession {
    /// The session at the moment of the coming call.
    pub fn at_call<'a>(&'a mut self, call: &'a CallInfo, now: Timestamp) -> AtCall<'a> {
        AtCall { live: self, call, now }
    }
}

impl LiveSession {
    /// Has this asked before each call whether what the system prompt says became untrue.
    pub fn prompted_by(&mut self, prompting: Box<dyn Prompting>) {
        self.prompting = Some(prompting);
    }

    /// What memory answers where a tool names it, as `memory: how do we deploy`; `None` if something
    /// else is named, or this session has no memory.
    pub(super) fn asked_of_memory(&self, name: &str) -> Option<Result<String>> {
        let (named, question) = name.trim().split_once(':')?;
        let is_meant = named.trim_end().eq_ignore_ascii_case("memory");
        let prompting = self.prompting.as_ref().filter(|_| is_meant)?;
        Some(prompting.asked(question.trim()))
    }

    /// Asks what stands in the system prompt. An error there must not fail the call.
    pub(super) fn ask_prompting(&mut self, call: &CallInfo) {
        let Some(prompting) = self.prompting.take() else { return };
        if self.options.settings.layout == Layout::Log {
            let now = self.store().now();
            let prompt = call.system_prompt.as_deref();
            drop(prompting.before_call(&mut self.at_call(call, now), prompt));
        }
        self.prompting = Some(prompting);
    }
}

impl PromptedSession for AtCall<'_> {
    // `pools` has no notes, so there the prompt may always change.
    fn is_cold(&self) -> bool {
        let (call, live) = (self.call, &*self.live);
        let model = call.model.as_deref();
        let settings = &live.options.settings;
        let (_, prices) =
            prices_of(&settings.prices, model.unwrap_or_default(), call.model_data.as_ref());
        let (time, lifetime_seconds) = (Some(self.now.0), prices.lifetime_seconds);
        let now = CallTime { time, lifetime_seconds };
        settings.layout == Layout::Pools || !live.state().requests().ours.is_any_alive(model, now)
    }

    fn asking_tool(&self) -> Option<String> {
        let tools = self.call.tools.as_array()?;
        let has = |name: &String| tools.iter().any(|tool| tool["name"] == name.as_str());
        [true, false].map(|prefixed| Tool::Activate.called(prefixed)).into_iter().find(has)
    }

    fn memory_rendered(&mut self) -> Result<()> {
        if self.live.state().memory_changes() == 0 {
            return Ok(());
        }
        self.live.durably(|live| {
            live.journal.record(Event::MemoryRendered);
            live.commit_staged()
        })
    }

    fn memory_changed(&mut self, changes: &[MemoryChange]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        self.live.durably(|live| {
            for change in changes {
                live.journal.record(Event::MemoryChanged(change.clone()));
            }
            live.commit_staged()
        })
    }

    fn known_paths(&self, besides: &BTreeSet<String>) -> Vec<String> {
        let state = self.live.state();
        let edited = state.edited_files().filter_map(|(id, _)| state.index().get(id));
        let edited = edited.map(|entry| entry.subject.agent_path());
        let known = state.files_with_known_text().map(|(_, path, _)| path);
        let paths = edited.chain(known).chain(state.touched_paths());
        let mut paths: Vec<&str> = paths.filter(|path| !besides.contains(*path)).collect();
        paths.sort_unstable();
        paths.dedup();
        paths.into_iter().map(str::to_owned).collect()
    }
}
