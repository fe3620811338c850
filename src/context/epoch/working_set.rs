//! What a new epoch leaves standing in any case. Pure.

use std::collections::BTreeSet;

use crate::session::{MessageKind, ResultFact, Session, Shows};

/// Files that the model changed within this many steps count as being edited.
const EDITING_STEPS: u32 = 10;

/// Positions that stay: the newest results, results that the model has not answered yet, pinned objects, files being edited.
/// Deactivated content stays only until the model has answered.
pub(super) fn working_set(session: &Session, keep_results: u64) -> BTreeSet<u64> {
    let mut working = BTreeSet::new();
    let mut results = 0;
    let mut answered = false;
    for (at, message) in session.shown_window().rev() {
        answered |= matches!(message.kind, MessageKind::Assistant);
        if let MessageKind::Result(fact) = &message.kind {
            results += 1;
            if !answered || (results <= keep_results && !is_let_go(session, fact)) {
                working.insert(at);
            }
        }
        if answered && results >= keep_results {
            break;
        }
    }
    let stays = |at: &u64| session.result(*at).is_some_and(|fact| !is_let_go(session, fact));
    working.extend(pinned_places(session).into_iter().filter(stays));
    let step = session.chat().messages().last().map_or(0, |message| message.step);
    for (file, _) in session.edited_files().filter(|(_, edited)| edited + EDITING_STEPS >= step) {
        let last = session.showings(file).map(|showing| showing.at).rfind(stays);
        working.extend(last);
    }
    working
}

/// Whether the model deactivated the call or what its result shows.
pub(super) fn is_let_go(session: &Session, fact: &ResultFact) -> bool {
    let shown = match &fact.shows {
        Shows::File { object, .. } | Shows::Activated { object, .. } => Some(object),
        Shows::Own | Shows::Change { .. } => None,
    };
    shown.into_iter().chain(&fact.object).any(|object| session.sets().is_deactivated(object))
}

/// Positions at which content of pinned objects stands.
fn pinned_places(session: &Session) -> Vec<u64> {
    let sets = session.sets();
    if sets.pinned().is_empty() {
        return Vec::new();
    }
    let is_own = |fact: &ResultFact| {
        fact.shows == Shows::Own && fact.object.as_ref().is_some_and(|id| sets.is_pinned(id))
    };
    let own = session.shown_window().map(|(at, _)| at);
    let own = own.filter(|at| session.result(*at).is_some_and(is_own));
    let shown = session.all_showings().filter(|showing| sets.is_pinned(&showing.object));
    own.chain(shown.map(|showing| showing.at)).collect()
}
