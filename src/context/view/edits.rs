//! How one list of slots becomes the next: as edits, as they are recorded, and as JSON for the host's side.

use super::Slot;
use crate::session::{SlotEdit, SlotRecord};

/// A change of the list of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Index in the list before this edit and after those before it.
    pub at: usize,
    /// So many slots go.
    pub remove: usize,
    /// These come in their place.
    pub insert: Vec<Slot>,
}

/// A replacement in a list: index, how many go, what comes.
pub type Replacement<T> = (usize, usize, Vec<T>);

/// The replacements that make one list of another, place by place: a list with a changing head and tail does not repeat
/// what lies between. `key`: what tells an element from others, where that rises along the list; so elements are found
/// again behind others that came or went.
pub fn replacements<T: PartialEq + Clone>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> Option<u64>,
) -> Vec<Replacement<T>> {
    let mut found: Vec<Replacement<T>> = Vec::new();
    let (mut from, mut at) = (0, 0);
    while from < before.len() || at < after.len() {
        let (old, new) = (before.get(from), after.get(at));
        if old == new {
            (from, at) = (from + 1, at + 1);
            continue;
        }
        let keys = old.and_then(&key).zip(new.and_then(&key));
        let goes = old.filter(|_| keys.is_none_or(|(old, new)| old <= new));
        let comes = new.filter(|_| keys.is_none_or(|(old, new)| old >= new));
        let (remove, insert) = (usize::from(goes.is_some()), comes.cloned());
        let came = usize::from(insert.is_some());
        match found.last_mut() {
            Some((start, removed, inserted)) if *start + inserted.len() == at => {
                *removed += remove;
                inserted.extend(insert);
            }
            _ => found.push((at, remove, insert.into_iter().collect())),
        }
        (from, at) = (from + remove, at + came);
    }
    found
}

/// What tells a record of a message of the chat from others.
pub fn record_key(record: &SlotRecord) -> Option<u64> {
    match record {
        SlotRecord::Chat { chat, .. } => Some(*chat),
        _ => None,
    }
}

/// The edits that lead from one list of slots to another.
pub fn edits_between(before: &[Slot], after: &[Slot]) -> Vec<Edit> {
    let found = replacements(before, after, Slot::key);
    found.into_iter().map(|(at, remove, insert)| Edit { at, remove, insert }).collect()
}

/// The edits as they are recorded, `first` being the first slot recorded before. A pool that only grew is recorded by what
/// it gained.
pub fn recorded(first: Option<&SlotRecord>, edits: Vec<Replacement<SlotRecord>>) -> Vec<SlotEdit> {
    edits
        .into_iter()
        .map(|(at, remove, insert)| SlotEdit {
            at: at as u64,
            remove: remove as u64,
            insert: insert.into_iter().map(|record| pool_gain(first, record)).collect(),
        })
        .collect()
}

fn pool_gain(first: Option<&SlotRecord>, record: SlotRecord) -> SlotRecord {
    let SlotRecord::Pool { mut pool_add, time, .. } = record else { return record };
    let known = match first {
        Some(SlotRecord::Pool { pool_add, .. }) => pool_add.as_slice(),
        _ => &[],
    };
    let keep = known.iter().zip(&pool_add).take_while(|(a, b)| a == b).count();
    pool_add.drain(..keep);
    SlotRecord::Pool { pool_keep: keep as u64, pool_add, time }
}

/// The edits as JSON for the host's side: `[{"at":0,"remove":1,"insert":[…]}]`.
pub fn instructions(edits: &[Edit]) -> String {
    let edits: Vec<String> = edits
        .iter()
        .map(|edit| {
            let slots: Vec<String> = edit.insert.iter().map(Slot::instruction).collect();
            format!(
                r#"{{"at":{},"remove":{},"insert":[{}]}}"#,
                edit.at,
                edit.remove,
                slots.join(",")
            )
        })
        .collect();
    format!("[{}]", edits.join(","))
}
