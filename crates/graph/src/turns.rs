//! A chat as a document: what was said and called in each of its turns. Must not read outputs.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Graph;
use base::error::Result;
use base::object::{AsOf, ObjectId};
use store::{RelationKind, Version, Written};

/// One turn.
#[derive(Debug, Default)]
struct Turn {
    user: Vec<Value>,
    assistant: Vec<Value>,
    toolcalls: Vec<ObjectId>,
}

impl Graph<'_> {
    /// The turns of a chat's version: of each its number, what the person wrote, the blocks of the
    /// model's answers, and the IDs of the toolcalls.
    pub(super) fn turns(&self, chat: &Version) -> Result<Value> {
        let (id, at) = (&chat.envelope.id, AsOf::Tx(chat.tx_id));
        let mut calls: BTreeMap<u64, Vec<ObjectId>> = BTreeMap::new();
        for (position, call) in self.calls_in(chat)? {
            calls.entry(position).or_default().push(call);
        }
        let mut turns: BTreeMap<u64, Turn> = BTreeMap::new();
        for (item, position) in self.store.items(id, at, 0..u64::MAX)?.iter().zip(0..) {
            let Ok(item) = serde_json::from_str::<Value>(item) else { continue };
            let turn = turns.entry(item["turn"].as_u64().unwrap_or_default()).or_default();
            turn.toolcalls.extend(calls.remove(&position).unwrap_or_default());
            let message = &item["message"];
            let content = message["content"].clone();
            match (message["role"].as_str(), content) {
                (Some("user"), content) => turn.user.push(content),
                (Some("assistant"), Value::Array(blocks)) => turn.assistant.extend(blocks),
                (Some("assistant"), content) => turn.assistant.push(content),
                _ => {}
            }
        }
        let shown = turns.into_iter().map(|(number, Turn { mut user, assistant, toolcalls })| {
            let user = if user.len() == 1 { user.remove(0) } else { Value::Array(user) };
            json!({ "turn": number, "user": user, "assistant": assistant, "toolcall_ids": toolcalls })
        });
        Ok(shown.collect())
    }

    /// The IDs of a chat's toolcalls, in their order.
    pub(super) fn toolcall_refs(&self, chat: &Version) -> Result<Value> {
        Ok(self.calls_in(chat)?.into_iter().map(|(_, id)| json!(id)).collect())
    }

    /// The toolcalls of a chat, with the positions of the messages that called them.
    fn calls_in(&self, chat: &Version) -> Result<Vec<(u64, ObjectId)>> {
        let mut calls: Vec<(u64, ObjectId)> = Vec::new();
        for link in self.links_at(&chat.envelope.id, AsOf::Tx(chat.tx_id))? {
            let Written::Call { position, .. } = link.relation.written else { continue };
            let found = link.target.id.filter(|_| link.relation.kind == RelationKind::Call);
            // A result names its call, too.
            let is_new = |id: &ObjectId| calls.iter().all(|(_, known)| known != id);
            calls.extend(found.filter(is_new).map(|id| (position, id)));
        }
        Ok(calls)
    }
}
