//! The slots of a request, built from the edits that call records hold.

use std::ops::Range;

use session::{Event, SlotEdit, SlotRecord};

/// A slot as it is recorded, and whether something was removed from the record.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(super) slot: SlotRecord,
    pub(super) is_redacted: bool,
}

/// The slots of the newest recorded call.
pub(crate) fn recorded_slots(events: &[Event]) -> Vec<SlotRecord> {
    let mut slots = Vec::new();
    for event in events {
        if let Event::Called(record) = event {
            apply_edits(&mut slots, &record.edits, false);
        }
    }
    slots_of(slots)
}

/// The slots alone, without whether their records were redacted.
pub(crate) fn slots_of(slots: Vec<Recorded>) -> Vec<SlotRecord> {
    slots.into_iter().map(|recorded| recorded.slot).collect()
}

/// Applies edits. A pool gets all its lines, including those that its record left out as kept.
pub(crate) fn apply_edits(slots: &mut Vec<Recorded>, edits: &[SlotEdit], is_redacted: bool) {
    let known = match slots.first().map(|recorded| &recorded.slot) {
        Some(SlotRecord::Pool { pool_add, .. }) => pool_add.clone(),
        _ => Vec::new(),
    };
    for edit in edits {
        let insert = edit.insert.iter().map(|slot| match slot {
            SlotRecord::Pool { time, .. } => {
                let pool_add = pool_lines(slot, &known);
                SlotRecord::Pool { pool_keep: 0, pool_add, time: *time }
            }
            other => other.clone(),
        });
        let insert: Vec<Recorded> = insert.map(|slot| Recorded { slot, is_redacted }).collect();
        slots.splice(replaced(edit, slots.len()), insert);
    }
}

/// The slots that an edit replaces in a request of so many.
pub(super) fn replaced(edit: &SlotEdit, slots: usize) -> Range<usize> {
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let at = place(edit.at).min(slots);
    at..at.saturating_add(place(edit.remove)).min(slots)
}

/// All lines of a pool slot; none for another slot. `before`: lines of the previous pool.
pub(super) fn pool_lines(slot: &SlotRecord, before: &[String]) -> Vec<String> {
    match slot {
        SlotRecord::Pool { pool_keep, pool_add, .. } => {
            let kept = usize::try_from(*pool_keep).unwrap_or(usize::MAX);
            before.iter().take(kept).chain(pool_add).cloned().collect()
        }
        _ => Vec::new(),
    }
}
