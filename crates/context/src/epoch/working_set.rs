//! The working set: what a new epoch always leaves standing. Pure.

use std::collections::BTreeSet;

use super::EpochTerms;
use crate::held::{self, Places};
use crate::window::Marks;
use session::{ResultFact, Session, Treatment, Why};

/// A file counts as being edited for this many steps after the model changed it.
const EDITING_STEPS: u32 = 10;

/// Share of the window's high mark that the newest results may take, in percent.
const NEWEST_PERCENT: u64 = 25;

/// Positions that stay: the newest results, results that the model has not answered yet, what must
/// stand, and files being edited. Deactivated content stays only until the model has answered it.
///
/// The newest results are limited by count and, if the window is known, to a share of it. The
/// newest answered result stays whatever its size.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order. `held`: outputs
/// that must stand.
pub(super) fn working_set(
    session: &Session,
    shown: &[u64],
    terms: &EpochTerms<'_>,
    held: &BTreeSet<u64>,
) -> BTreeSet<u64> {
    let mut working = fixed(session, terms);
    let room = terms.marks.map_or(u64::MAX, |marks| newest_room(&marks));
    let (mut results, mut tokens, mut kept) = (0, 0, 0);
    for ((at, _), size) in session.window().rev().zip(shown.iter().rev()) {
        if results >= terms.keep_results {
            break;
        }
        let Some(fact) = session.result(at) else { continue };
        if session.is_hidden(at) {
            continue;
        }
        results += 1;
        if working.contains(&at) {
            continue;
        }
        tokens += size;
        if kept > 0 && tokens > room {
            break;
        }
        kept += 1;
        if !is_let_go(session, fact) {
            working.insert(at);
        }
    }
    let stays = |at: &u64| session.result(*at).is_some_and(|fact| !is_let_go(session, fact));
    working.extend(held.iter().copied().filter(stays));
    let step = session.chat().messages.last().map_or(0, |message| message.step);
    for (file, _) in session.edited_files().filter(|(_, edited)| edited + EDITING_STEPS >= step) {
        let last = session.showings(file).map(|showing| showing.at).rfind(stays);
        working.extend(last);
    }
    working
}

/// Most tokens of newest results that stay in a window.
pub(super) fn newest_room(marks: &Marks) -> u64 {
    marks.high * NEWEST_PERCENT / 100
}

/// Positions that cannot leave: results that the model has not answered, messages that the host
/// sends itself, and what these refer to.
pub(super) fn fixed(session: &Session, terms: &EpochTerms<'_>) -> BTreeSet<u64> {
    let mut fixed = unanswered(session);
    fixed.extend(kept(session, terms));
    fixed
}

/// Positions of the messages that the host sends itself, and of those that these refer to.
pub(super) fn kept(session: &Session, terms: &EpochTerms<'_>) -> BTreeSet<u64> {
    let kept = session.chat().window.iter().skip(terms.kept_from).copied();
    let referred = |at: u64| match session.treatment(at) {
        Treatment::Reread { parts } => parts.iter().filter_map(|part| part.stands_at).collect(),
        Treatment::Excerpt { pieces } => {
            pieces.iter().filter_map(|piece| Some(piece.stands_at()?.0)).collect()
        }
        _ => Vec::new(),
    };
    kept.flat_map(|at| std::iter::once(at).chain(referred(at))).collect()
}

/// Positions of the results that the model has not answered yet.
fn unanswered(session: &Session) -> BTreeSet<u64> {
    let newest = session.shown_window().rev();
    let newest = newest.take_while(|(_, m)| !m.is_answer());
    newest.map(|(at, _)| at).filter(|at| session.result(*at).is_some()).collect()
}

/// Whether the model deactivated the call or what its result shows.
pub(super) fn is_let_go(session: &Session, fact: &ResultFact) -> bool {
    fact.shown_object()
        .into_iter()
        .chain(&fact.object)
        .any(|object| session.sets().is_deactivated(object))
}

/// Where content stands that is pinned, or instructions that have room.
pub(super) fn held_places(session: &Session, terms: &EpochTerms<'_>) -> Places {
    let (within, beyond) = held::within(session, terms.budgets);
    let pinned = beyond.into_iter().filter(|held| held.why == Why::Pinned);
    Places::of(session, within.into_iter().chain(pinned))
}

/// Positions that stay under pressure: those that cannot leave, and what must stand and has room.
pub(super) fn firm(session: &Session, shown: &[u64], terms: &EpochTerms<'_>) -> BTreeSet<u64> {
    let mut firm = fixed(session, terms);
    let (within, _) = held::within(session, terms.budgets);
    firm.extend(held::firm(session, shown, &within));
    firm
}
