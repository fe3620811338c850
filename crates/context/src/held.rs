//! What must stand within the budgets of a window, and where it does. Pure.

use std::collections::BTreeSet;

use super::window::Marks;
use session::{HeldLines, Session, Subject, Why};

/// A message that takes up to this much more than what is held of it stays under pressure too;
/// from a larger one, what is held is brought back alone.
const SLACK_TOKENS: u64 = 200;

/// Most tokens of what must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// Of pinned content.
    pub pins: u64,
    /// Of instructions.
    pub instructions: u64,
}

impl Budgets {
    /// Half of the window's mark for pins, a twentieth of it for instructions, which have a limit of
    /// their own: in a small window more would push out what the model works with. `marks`: `None` if the window is unknown.
    pub fn of(marks: Option<&Marks>, instruction_tokens: u64) -> Self {
        let share = |parts: u64| marks.map_or(u64::MAX, |marks| marks.high / parts);
        Self { pins: share(2), instructions: instruction_tokens.min(share(20)) }
    }

    /// What is left for others like this once it stands; `None` if it has no room.
    pub fn take(&mut self, why: Why, tokens: u64) -> Option<()> {
        let left = match why {
            Why::Pinned => &mut self.pins,
            Why::Instructions { .. } => &mut self.instructions,
        };
        *left = left.checked_sub(tokens)?;
        Some(())
    }
}

/// What must stand and has room, the newest decisions first, and what has none.
pub fn within(session: &Session, mut budgets: Budgets) -> (Vec<&HeldLines>, Vec<&HeldLines>) {
    let newest_first = session.sets().held.iter().rev();
    newest_first.partition(|held| budgets.take(held.why, held.tokens).is_some())
}

/// Where something stands that must.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// Positions of the outputs that show it.
    pub outputs: BTreeSet<u64>,
    /// Positions in steps that must not fold, as they hold a note with it, or are said in it.
    pub steps: BTreeSet<u64>,
}

impl Places {
    /// Where these stand.
    pub fn of<'a>(session: &Session, held: impl IntoIterator<Item = &'a HeldLines>) -> Self {
        let mut places = Self::default();
        for held in held {
            let (outputs, steps) = session.places_held(held);
            places.outputs.extend(outputs);
            places.steps.extend(steps);
            let subject = session.subject(&held.object);
            if let Some(Subject::Segment { first, last, .. }) = subject {
                places.steps.extend(*first..=*last);
            }
        }
        places
    }
}

/// Positions of the outputs that stay under pressure too, since about all of them is held.
///
/// `shown`: tokens of each message of the window, in order.
pub fn firm(session: &Session, shown: &[u64], held: &[&HeldLines]) -> BTreeSet<u64> {
    let tokens = |at: u64| session.chat().index_of(at).and_then(|index| shown.get(index).copied());
    let mut firm = BTreeSet::new();
    for held in held {
        let (outputs, _) = session.places_held(held);
        let most = held.tokens * 2 + SLACK_TOKENS;
        firm.extend(outputs.into_iter().filter(|at| tokens(*at).is_some_and(|size| size <= most)));
    }
    firm
}
