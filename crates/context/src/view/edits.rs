//! The edits that turn one list of slots into the next: as recorded, and as JSON for the host's
//! side.

use super::Slot;
use session::{SlotEdit, SlotRecord};

/// A change to the list of slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Index at which the edit applies, after all earlier edits.
    pub at: usize,
    /// Number of slots to remove there.
    pub remove: usize,
    /// Slots to insert in their place.
    pub insert: Vec<Slot>,
}

/// A replacement in a list: index, number of elements to remove, elements to insert.
pub type TextReplacement<T> = (usize, usize, Vec<T>);

/// The replacements that turn one list into another. If only head and tail change, the middle is
/// not repeated.
///
/// `key`: a number that identifies an element and rises along the list, if it has one. It
/// recognises elements after insertions or removals before them.
pub fn replacements<T: PartialEq + Clone>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> Option<u64>,
) -> Vec<TextReplacement<T>> {
    let mut found: Vec<TextReplacement<T>> = Vec::new();
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

/// The edits that turn one list of slots into another.
pub fn edits_between(before: &[Slot], after: &[Slot]) -> Vec<Edit> {
    let found = replacements(before, after, Slot::key);
    found.into_iter().map(|(at, remove, insert)| Edit { at, remove, insert }).collect()
}

/// The edits as recorded. `first`: the first slot as recorded before. For a pool that only grew,
/// only its new lines are recorded.
pub fn recorded(
    first: Option<&SlotRecord>,
    edits: Vec<TextReplacement<SlotRecord>>,
) -> Vec<SlotEdit> {
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
