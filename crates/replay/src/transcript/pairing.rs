//! Pairs calls and results so that every call has exactly one result: unpaired ones are left out,
//! and late results move to their place.
//!
//! A result belongs to the newest earlier assistant message with an unanswered call of its ID, and
//! there to the first such call. If no earlier message has one, it belongs to a later one. Local
//! servers repeat IDs such as `call_0`, so the ID alone is not enough. Must not know a session file
//! format.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::Counts;
use super::message::{Message, tool_of};
use super::notes::Notes;

/// A call: the index of its message and of its block in it.
type Call = (usize, usize);

/// Pairs calls and results. Results are placed right after their assistant message, in the order in
/// which they came; assistant messages without a block are left out. Also returns what was left out
/// with the calls that have no result.
pub(super) fn pair(messages: Vec<Message>, notes: &mut Notes) -> (Vec<Message>, Counts) {
    let answers = answers(&messages);
    // Results by the message of their call, in file order.
    let mut results: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (result, call) in &answers {
        results.entry(call.0).or_default().push(*result);
    }
    let answered: HashMap<Call, usize> =
        answers.iter().map(|(result, call)| (*call, *result)).collect();
    let mut slots: Vec<Option<Message>> = messages.into_iter().map(Some).collect();
    let mut paired = Vec::with_capacity(slots.len());
    let mut left = Counts::default();
    for at in 0..slots.len() {
        let Some(mut message) = slots[at].take_if(|message| message.answers().is_none()) else {
            continue;
        };
        name_results(&message, at, &answered, &mut slots);
        left.calls += drop_unanswered(&mut message, at, &answered, notes);
        if message.is_assistant() && message.blocks().is_empty() {
            left.requests += 1;
            notes.count("empty messages of the assistant left out");
            continue;
        }
        paired.push(message);
        for result in results.remove(&at).unwrap_or_default() {
            if is_out_of_place(&slots, at, result) {
                notes.count("results moved to their call");
            }
            paired.extend(slots[result].take());
        }
    }
    notes.count_all("results without a call left out", slots.iter().flatten().count());
    (paired, left)
}

/// The call that each result answers, by the result's index. Results without a call are left out.
fn answers(messages: &[Message]) -> BTreeMap<usize, Call> {
    let mut found = BTreeMap::new();
    // Calls without a result yet, by ID; the newest message last, the first call of each message
    // last.
    let mut waiting: HashMap<&str, Vec<Call>> = HashMap::new();
    let mut early = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<_> = message.calls().collect();
        for (block, id) in calls.into_iter().rev() {
            waiting.entry(id).or_default().push((at, block));
        }
        if let Some(id) = message.answers() {
            match waiting.get_mut(id).and_then(Vec::pop) {
                Some(call) => drop(found.insert(at, call)),
                None => early.push((at, id)),
            }
        }
    }
    for (at, id) in early {
        let calls = waiting.get_mut(id);
        let later = calls.and_then(|calls| {
            let first = calls
                .iter()
                .enumerate()
                .filter(|(_, call)| call.0 > at)
                .min_by_key(|(_, call)| **call);
            first.map(|(index, _)| index).map(|index| calls.remove(index))
        });
        found.extend(later.map(|call| (at, call)));
    }
    found
}

/// Whether a result is before its message, or after another message that is not a result.
fn is_out_of_place(slots: &[Option<Message>], at: usize, result: usize) -> bool {
    let between = slots.get(at + 1..result);
    between.is_none_or(|between| between.iter().flatten().any(|other| other.answers().is_none()))
}

/// Adds the tool's name to results that lack it in the file.
fn name_results(
    message: &Message,
    at: usize,
    answered: &HashMap<Call, usize>,
    slots: &mut [Option<Message>],
) {
    for (block, _) in message.calls() {
        let result = answered.get(&(at, block)).and_then(|result| slots[*result].as_mut());
        if let (Some(result), Some(tool)) = (result, tool_of(&message.blocks()[block]))
            && result.tool_name().is_none_or(str::is_empty)
        {
            result.set("toolName", tool.into());
        }
    }
}

/// Drops the calls that have no result; returns their number.
fn drop_unanswered(
    message: &mut Message,
    at: usize,
    answered: &HashMap<Call, usize>,
    notes: &mut Notes,
) -> u64 {
    let lost: Vec<usize> = message
        .calls()
        .map(|(block, _)| block)
        .filter(|block| !answered.contains_key(&(at, *block)))
        .collect();
    if lost.is_empty() {
        return 0;
    }
    notes.count_all("calls without a result left out", lost.len());
    if let Some(blocks) = message.blocks_mut() {
        let mut index = 0..;
        blocks.retain(|_| index.next().is_some_and(|index| !lost.contains(&index)));
    }
    if message.calls().next().is_none() {
        message.set("stopReason", Value::from("aborted"));
    }
    lost.len() as u64
}
