//! How two calls differ: messages added, removed, and shown differently; system prompt and tools.
//! Reads no store.

use std::collections::HashMap;
use std::rc::Rc;

use serde::Serialize;
use serde_json::Value;

use super::inspect::Prompt;
use base::object::{DiffTag, list_diff, unified_diff};
use context::host::HostMessage;
use context::tokens::Counter;
use store::DEFAULT_DIFF_CONTEXT;

/// How messages of one call relate to another call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MessageChange {
    /// What became of them.
    pub change: ChangeKind,
    /// Index of the first in the earlier call, if that has it.
    pub old: Option<usize>,
    /// Index of the first in the later one, if that has it.
    pub new: Option<usize>,
    /// Number of messages; 1 unless they are kept.
    pub count: usize,
    /// Of a changed one the unified diff of the texts, or of the JSON where these are equal.
    pub diff: Option<String>,
}

/// What became of messages from one call to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A run of messages is the same in both.
    Kept,
    /// Only the earlier call has the message.
    Removed,
    /// Only the later call has it.
    Inserted,
    /// It is shown differently.
    Changed,
}

impl MessageChange {
    fn of(change: ChangeKind, old: Option<usize>, new: Option<usize>) -> Self {
        Self { change, old, new, count: 1, diff: None }
    }
}

/// The differences between the messages of two calls, each message as JSON, in order.
pub fn compare_calls(old: &[String], new: &[String]) -> Vec<MessageChange> {
    Comparer::default().compare(old, new)
}

/// Compares lists that have most messages in common, as those of neighbouring calls do: each
/// message is parsed once, and each pair is compared once. Holds what it was given, so it is for a
/// few calls and not for a whole session.
#[derive(Default)]
pub(super) struct Comparer {
    identities: HashMap<String, Rc<Identity>>,
    /// Diffs by both messages.
    diffs: HashMap<String, HashMap<String, String>>,
}

impl Comparer {
    /// As [`compare_calls`].
    pub(super) fn compare(&mut self, old: &[String], new: &[String]) -> Vec<MessageChange> {
        let (before, after) = (self.identities(old), self.identities(new));
        let mut changes = Vec::new();
        for op in list_diff(&before, &after) {
            let (tag, from, to) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                for (one, other) in from.zip(to) {
                    self.compare_messages(&mut changes, (one, &old[one]), (other, &new[other]));
                }
                continue;
            }
            let removed = |old| MessageChange::of(ChangeKind::Removed, Some(old), None);
            let inserted = |new| MessageChange::of(ChangeKind::Inserted, None, Some(new));
            changes.extend(from.map(removed));
            changes.extend(to.map(inserted));
        }
        changes
    }

    fn compare_messages(
        &mut self,
        changes: &mut Vec<MessageChange>,
        (old, before): (usize, &str),
        (new, after): (usize, &str),
    ) {
        let of = |kind| MessageChange::of(kind, Some(old), Some(new));
        if before != after {
            let diff = Some(self.diff(before, after));
            changes.push(MessageChange { diff, ..of(ChangeKind::Changed) });
            return;
        }
        match changes.last_mut() {
            Some(MessageChange { change: ChangeKind::Kept, count, .. }) => *count += 1,
            _ => changes.push(of(ChangeKind::Kept)),
        }
    }

    fn identities(&mut self, messages: &[String]) -> Vec<Rc<Identity>> {
        messages.iter().map(|message| self.identity(message)).collect()
    }

    fn identity(&mut self, message: &str) -> Rc<Identity> {
        if let Some(known) = self.identities.get(message) {
            return Rc::clone(known);
        }
        let key = parsed(message).key;
        let identity = Rc::new((key.role, key.timestamp, key.calls));
        self.identities.insert(message.to_owned(), Rc::clone(&identity));
        identity
    }

    fn diff(&mut self, before: &str, after: &str) -> String {
        if let Some(known) = self.diffs.get(before).and_then(|diffs| diffs.get(after)) {
            return known.clone();
        }
        let diff = text_diff(before, after);
        let diffs = self.diffs.entry(before.to_owned()).or_default();
        diffs.insert(after.to_owned(), diff.clone());
        diff
    }
}

/// Identity of a message: role, time stamp and call IDs. The position is not part of it, since it
/// is what is searched for.
type Identity = (String, Option<i64>, Vec<String>);

/// Differences in system prompt and tools between a call and an earlier one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PromptChange {
    /// Unified diff of the system prompts; none if they are the same.
    pub text: Option<String>,
    /// Names of the tools that only the later call has.
    pub added: Vec<String>,
    /// Names of the tools that only the earlier one has.
    pub removed: Vec<String>,
    /// Names of the tools whose definitions differ.
    pub changed: Vec<String>,
}

/// The differences in system prompt and tools between a call and an earlier one; `None` if there
/// are none, or either is unknown.
pub(super) fn compare_prompts(old: Option<&Prompt>, new: Option<&Prompt>) -> Option<PromptChange> {
    let (old, new) = (old?, new?);
    let text = |prompt: &Prompt| prompt.text.clone().unwrap_or_default();
    let diff = unified_diff(&text(old), &text(new), DEFAULT_DIFF_CONTEXT);
    let (before, after) = (tools(&old.tools), tools(&new.tools));
    let names = |tools: &[(String, &Value)], fits: &dyn Fn(&str, &Value) -> bool| {
        tools.iter().filter(|(name, tool)| fits(name, tool)).map(|(name, _)| name.clone()).collect()
    };
    let has = |tools: &[(String, &Value)], name: &str| tools.iter().any(|(other, _)| other == name);
    let change = PromptChange {
        text: (!diff.is_empty()).then_some(diff),
        added: names(&after, &|name, _| !has(&before, name)),
        removed: names(&before, &|name, _| !has(&after, name)),
        changed: names(&after, &|name, tool| {
            before.iter().any(|(other, was)| other == name && *was != tool)
        }),
    };
    (change != PromptChange::default()).then_some(change)
}

/// Definitions of tools with their names, in any provider's form.
fn tools(definitions: &Value) -> Vec<(String, &Value)> {
    let name = |tool: &Value| {
        let name = tool.get("name").or_else(|| tool.pointer("/function/name"));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    definitions.as_array().into_iter().flatten().map(|tool| (name(tool), tool)).collect()
}

/// A message whose tokens do not matter.
fn parsed(message: &str) -> HostMessage {
    HostMessage::parse(message, Counter::Characters)
}

fn text_diff(before: &str, after: &str) -> String {
    let text = |message: &str| parsed(message).text().into_owned();
    let diff = unified_diff(&text(before), &text(after), DEFAULT_DIFF_CONTEXT);
    if !diff.is_empty() {
        return diff;
    }
    let pretty = |message: &str| {
        let value: Value = serde_json::from_str(message).unwrap_or_default();
        serde_json::to_string_pretty(&value).unwrap_or_default()
    };
    unified_diff(&pretty(before), &pretty(after), DEFAULT_DIFF_CONTEXT)
}
