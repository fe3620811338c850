//! The edits that turn one list of slots into the next: as recorded, and as JSON for the host's
//! side.

use serde::Deserialize;

use super::Slot;
use base::error::Result;
use session::{SlotEdit, SlotRecord};

/// A change to a list of slots, of messages, or of what stands for them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Edit<T = Slot> {
    /// Index at which the edit applies, after all earlier edits.
    pub at: usize,
    /// Number of elements to remove there.
    pub remove: usize,
    /// Elements to insert in their place.
    pub insert: Vec<T>,
}

impl<T> Edit<T> {
    /// The same change to a list of other elements.
    ///
    /// # Errors
    /// Those of `element`, which makes one.
    pub fn try_map<U>(self, element: impl FnMut(T) -> Result<U>) -> Result<Edit<U>> {
        let insert = self.insert.into_iter().map(element).collect::<Result<_>>()?;
        Ok(Edit { at: self.at, remove: self.remove, insert })
    }
}

/// The edits that turn one list into another. If only head and tail change, the middle is not
/// repeated.
///
/// `key`: a number that identifies an element and rises along the list, if it has one. It
/// recognises elements after insertions or removals before them.
pub fn replacements<T: PartialEq + Clone>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> Option<u64>,
) -> Vec<Edit<T>> {
    let mut found: Vec<Edit<T>> = Vec::new();
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
            Some(edit) if edit.at + edit.insert.len() == at => {
                edit.remove += remove;
                edit.insert.extend(insert);
            }
            _ => found.push(Edit { at, remove, insert: insert.into_iter().collect() }),
        }
        (from, at) = (from + remove, at + came);
    }
    found
}

/// The edits that turn one list of slots into another.
pub fn edits_between(before: &[Slot], after: &[Slot]) -> Vec<Edit> {
    replacements(before, after, Slot::key)
}

/// The edits as recorded. `first`: the first slot as recorded before. For a pool that only grew,
/// only its new lines are recorded.
pub fn recorded(first: Option<&SlotRecord>, edits: Vec<Edit<SlotRecord>>) -> Vec<SlotEdit> {
    edits
        .into_iter()
        .map(|Edit { at, remove, insert }| SlotEdit {
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
