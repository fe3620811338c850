//! The files that finished calls met, until the results come in and the calls' objects list them.
//! Must not look at files.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Workspace;
use base::object::ObjectId;
use session::{Cause, Shows};

/// The files by the provider's ID of the call, each with how the call met it.
#[derive(Debug, Default)]
pub(super) struct Met {
    by_call: HashMap<String, Vec<(ObjectId, Cause)>>,
}

impl Met {
    /// Takes a file that a call read, changed or named. The first way in which it was met counts.
    pub(super) fn take(&mut self, call: &str, file: ObjectId, cause: Cause) {
        let files = self.by_call.entry(call.to_owned()).or_default();
        if !files.iter().any(|(known, _)| *known == file) {
            files.push((file, cause));
        }
    }

    /// Call after a request has gone out: it contains the results of all finished calls.
    pub(super) fn clear(&mut self) {
        self.by_call.clear();
    }
}

impl Workspace {
    /// The field `file_refs` of a call: each file that its result shows, or that it read, changed
    /// or named, as `{ id, met }`; `met` is `read`, `edited`, `written` or `found`.
    pub(crate) fn file_refs(&self, call: &str, shows: &Shows) -> Vec<Value> {
        let met = self.met.by_call.get(call).map(Vec::as_slice).unwrap_or_default();
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
