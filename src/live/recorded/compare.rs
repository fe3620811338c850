//! How two lists of messages differ: what came, what left, and what is shown otherwise. Reads no store.

use serde_json::Value;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::context::host::HostMessage;
use crate::context::tokens::Counter;
use crate::object::unified_diff;
use crate::store::DEFAULT_DIFF_CONTEXT;

/// How a message of one call stands in another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// This many messages are the same in both, from these indexes on.
    Kept {
        /// Index in the earlier call.
        old: usize,
        /// Index in the later one.
        new: usize,
        /// How many.
        count: usize,
    },
    /// A message that only the earlier call has.
    Removed {
        /// Index there.
        old: usize,
    },
    /// A message that only the later call has.
    Inserted {
        /// Index there.
        new: usize,
    },
    /// The same message, otherwise shown.
    Changed {
        /// Index in the earlier call.
        old: usize,
        /// Index in the later one.
        new: usize,
        /// Unified difference of the texts, or of the JSON where these are equal.
        diff: String,
    },
}

/// How the messages of one call, each as JSON, differ from those of another, in order.
pub fn compare_calls(old: &[String], new: &[String]) -> Vec<Change> {
    let (before, after) = (identities(old), identities(new));
    let mut changes = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
        let (tag, from, to) = op.as_tag_tuple();
        if tag == DiffTag::Equal {
            for (one, other) in from.zip(to) {
                compare(&mut changes, (one, &old[one]), (other, &new[other]));
            }
            continue;
        }
        changes.extend(from.map(|old| Change::Removed { old }));
        changes.extend(to.map(|new| Change::Inserted { new }));
    }
    changes
}

/// Identity of each message: role, time stamp and call IDs. The position is not part of it, since it is what is searched for.
fn identities(messages: &[String]) -> Vec<impl Ord + std::hash::Hash> {
    let identity = |message: &String| {
        let key = parsed(message).key;
        (key.role, key.timestamp, key.calls)
    };
    messages.iter().map(identity).collect()
}

/// A message whose tokens do not matter.
fn parsed(message: &str) -> HostMessage {
    HostMessage::parse(message, Counter::Characters)
}

fn compare(changes: &mut Vec<Change>, (old, before): (usize, &str), (new, after): (usize, &str)) {
    if before != after {
        changes.push(Change::Changed { old, new, diff: text_diff(before, after) });
        return;
    }
    match changes.last_mut() {
        Some(Change::Kept { count, .. }) => *count += 1,
        _ => changes.push(Change::Kept { old, new, count: 1 }),
    }
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
