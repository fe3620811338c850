//! What was reported of finished calls, until the results come in: the files that they met, which
//! the calls' objects list, and whether they failed. Must not look at files.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::LiveSession;
use base::object::ObjectId;
use context::host::HostMessage;
use session::{Cause, Shows};

/// The files by the provider's ID of the call, each with how the call met it.
#[derive(Debug, Default)]
pub(crate) struct Met {
    by_call: HashMap<String, Vec<(ObjectId, Cause)>>,
    /// Whether a call failed.
    failed: HashMap<String, bool>,
}

impl Met {
    /// Takes a file that a call read, changed or named. The first way in which it was met counts.
    pub(super) fn take(&mut self, call: &str, file: ObjectId, cause: Cause) {
        let files = self.by_call.entry(call.to_owned()).or_default();
        if !files.iter().any(|(known, _)| *known == file) {
            files.push((file, cause));
        }
    }

    /// Takes whether a finished call failed.
    pub(crate) fn ended(&mut self, call: &str, is_error: bool) {
        self.failed.insert(call.to_owned(), is_error);
    }

    /// Call after a request has gone out: it contains the results of all finished calls.
    pub(crate) fn clear(&mut self) {
        self.by_call.clear();
        self.failed.clear();
    }
}

impl LiveSession {
    /// Fills in whether calls failed where their results do not say so.
    pub(crate) fn say_ends(&self, messages: &mut [HostMessage]) {
        for message in messages.iter_mut().filter(|message| message.key.role == "toolResult") {
            let told = || self.workspace.met.failed.get(message.key.calls.first()?).copied();
            message.is_error = message.is_error.or_else(told);
        }
    }

    /// The field `file_refs` of a call: each file that its result shows, or that it read, changed
    /// or named, as `{ id, met }`; `met` is `read`, `edited`, `written` or `found`.
    pub(crate) fn file_refs(&self, call: &str, shows: &Shows) -> Vec<Value> {
        let met = self.workspace.met.by_call.get(call).map(Vec::as_slice).unwrap_or_default();
        let result = match shows {
            Shows::File { object, .. } => Some((object, Cause::Read)),
            Shows::Change { object } => Some((object, Cause::Edited)),
            Shows::Own | Shows::Activated { .. } => None,
        };
        // The tool's own report of how it met the file is better than what the result shows.
        let is_met = |object: &ObjectId| met.iter().any(|(known, _)| known == object);
        let result = result.filter(|(object, _)| !is_met(object));
        let all = result.into_iter().chain(met.iter().map(|(object, cause)| (object, *cause)));
        all.map(|(object, cause)| json!({ "id": object, "met": cause })).collect()
    }
}
