//! When a new epoch starts and what it leaves standing (`log`): a pure decision.
//!
//! The rule is a simple one for now: enough collapsible content has gathered, the window comes near its limit, or the host
//! rewrote its list (DESIGN.md section 7 has the economics that replace it).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::first_sight::split_read;
use super::log_layout::reference_line;
use crate::object::ObjectId;
use crate::session::{
    LineRange, MessageKind, Rewrite, Session, Shows, Subject, Treatment, merge_ranges,
};

/// A collapse that frees no more than this is not worth a change.
const MIN_GAIN_TOKENS: u64 = 16;
/// What a reference line costs, about: counting each would cost more than the decision.
const LINE_TOKENS: u64 = 30;
/// Files that the model changed within so many steps count as being edited.
const EDITING_STEPS: u32 = 10;

/// What the decision depends on besides the session.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// So many of the newest results always stay.
    pub keep_results: u64,
    /// Collapsible tokens that start an epoch.
    pub collapse_tokens: u64,
    /// Tokens of the request above which the window is under pressure; `None` where the model's window is not known.
    pub high_water_tokens: Option<u64>,
    /// Set where the host's list did not continue the one before: how, and the window index from which it differs.
    pub rewrite: Option<(Rewrite, usize)>,
}

/// A new epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEpoch {
    /// Why.
    pub reason: String,
    /// What changes, by position in the chat.
    pub treatments: Vec<(u64, Treatment)>,
    /// Messages collapsed.
    pub collapsed: u64,
    /// Tokens that the collapses free.
    pub freed_tokens: u64,
}

/// Decides whether a new epoch starts before this call.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order.
pub fn decide(session: &Session, shown: &[u64], terms: &Terms) -> Option<NewEpoch> {
    let total: u64 = shown.iter().sum();
    let first = terms.rewrite.map_or(0, |(_, index)| index);
    let working = working_set(session, terms.keep_results);
    let gains = collapsible(session, shown, &working, first);
    let gathered: u64 = gains.values().sum();
    let pressed = terms.high_water_tokens.is_some_and(|mark| total > mark && gathered * 20 >= mark);
    let reason = match terms.rewrite {
        Some((how, _)) => format!("the host rewrote its list ({})", how.as_str()),
        None if pressed => format!("window pressure: {total} tokens, {gathered} collapsible"),
        None if gathered >= terms.collapse_tokens && gathered * 2 >= total - gathered => {
            format!("{gathered} of {total} tokens collapsible")
        }
        None => return None,
    };
    let treatments = treatments(session, &gains, &working);
    let collapsed = treatments.iter().filter(|(_, t)| *t == Treatment::Reference).count() as u64;
    Some(NewEpoch { reason, treatments, collapsed, freed_tokens: gathered })
}

/// Positions that stay: the newest results, all that the model has not answered yet, pinned objects, files being edited.
fn working_set(session: &Session, keep_results: u64) -> BTreeSet<u64> {
    let mut working = BTreeSet::new();
    let mut results = 0;
    let mut answered = false;
    for (at, message) in session.window().rev() {
        answered |= matches!(message.kind, MessageKind::Assistant);
        if let MessageKind::Result(fact) = &message.kind {
            results += 1;
            let asked_off = subject_of(&fact.shows)
                .into_iter()
                .chain(fact.object.as_ref())
                .any(|object| session.sets().is_deactivated(object));
            if !answered || (results <= keep_results && !asked_off) {
                working.insert(at);
            }
        }
    }
    for id in session.sets().pinned() {
        working.extend(places_of(session, id));
    }
    let step = session.chat().messages().last().map_or(0, |message| message.step);
    for entry in session.index().entries() {
        let edited = session.edited_in_step(&entry.id).is_some_and(|at| at + EDITING_STEPS >= step);
        if edited && !session.sets().is_deactivated(&entry.id) {
            working.extend(session.showings(&entry.id).next_back().map(|showing| showing.at));
        }
    }
    working
}

/// Tokens that collapsing each result frees, for those outside the working set, from window index `first` on.
fn collapsible(
    session: &Session,
    shown: &[u64],
    working: &BTreeSet<u64>,
    first: usize,
) -> BTreeMap<u64, u64> {
    session
        .window()
        .zip(shown)
        .skip(first)
        .filter_map(|((at, _), tokens)| {
            let fact = session.result(at)?;
            if working.contains(&at) || *session.treatment(at) == Treatment::Reference {
                return None;
            }
            let gain = tokens.saturating_sub(LINE_TOKENS);
            (gain > MIN_GAIN_TOKENS && reference_line(session, fact).is_some())
                .then_some((at, gain))
        })
        .collect()
}

/// All changes of an epoch: collapses, current text for files whose shown text is old, and reads whose text stood in what
/// collapses.
fn treatments(
    session: &Session,
    gains: &BTreeMap<u64, u64>,
    working: &BTreeSet<u64>,
) -> Vec<(u64, Treatment)> {
    let mut changes: BTreeMap<u64, Treatment> =
        gains.keys().map(|at| (*at, Treatment::Reference)).collect();
    for (file, ranges, at, after_host) in stale_files(session, working) {
        let showings: Vec<u64> = session.showings(&file).map(|showing| showing.at).collect();
        changes.extend(showings.into_iter().map(|at| (at, Treatment::Reference)));
        let Some(Subject::File { version, .. }) =
            session.index().get(&file).map(|entry| &entry.subject)
        else {
            continue;
        };
        let version = version.clone();
        changes.insert(at, Treatment::Current { object: file, version, ranges, after_host });
    }
    restore_rereads(session, &mut changes);
    changes.into_iter().filter(|(at, treatment)| session.treatment(*at) != treatment).collect()
}

/// Files of the working set whose standing text is of an older version: which lines are to stand, and where.
fn stale_files(
    session: &Session,
    working: &BTreeSet<u64>,
) -> Vec<(ObjectId, Vec<LineRange>, u64, bool)> {
    let mut seen = HashSet::new();
    let mut stale = Vec::new();
    for showing in session.all_showings() {
        let Some(Subject::File { version, .. }) =
            session.index().get(&showing.object).map(|entry| &entry.subject)
        else {
            continue;
        };
        if !working.contains(&showing.at)
            || showing.version == *version
            || !seen.insert(&showing.object)
        {
            continue;
        }
        let standing =
            session.showings(&showing.object).filter(|other| working.contains(&other.at));
        let ranges: Vec<LineRange> = standing.flat_map(|other| other.now.iter().copied()).collect();
        let ranges = merge_ranges(&ranges);
        if ranges.is_empty() {
            continue;
        }
        let last = session.window().rev().find_map(|(at, _)| match &session.result(at)?.shows {
            Shows::Change { object } if *object == showing.object => Some((at, true)),
            _ => {
                session.showings(&showing.object).any(|other| other.at == at).then_some((at, false))
            }
        });
        let Some((at, after_host)) = last else { continue };
        stale.push((showing.object.clone(), ranges, at, after_host));
    }
    stale
}

/// A read that said "stands above" shows the lines itself once what stood above collapses.
fn restore_rereads(session: &Session, changes: &mut BTreeMap<u64, Treatment>) {
    let gone: Vec<u64> = changes.keys().copied().collect();
    for (at, _) in session.window() {
        let Treatment::Reread { parts } = session.treatment(at) else { continue };
        let loses =
            parts.iter().any(|part| part.stands_at.is_some_and(|place| gone.contains(&place)));
        if changes.contains_key(&at) || !loses {
            continue;
        }
        let Some(fact) = session.result(at) else { continue };
        let Shows::File { object, .. } = &fact.shows else { continue };
        let stands_anew = changes.values().any(
            |change| matches!(change, Treatment::Current { object: file, .. } if file == object),
        );
        if stands_anew {
            changes.insert(at, Treatment::Reference);
            continue;
        }
        let later =
            session.all_showings().filter(|showing| showing.at > at).map(|showing| showing.at);
        let unusable: Vec<u64> = gone.iter().copied().chain(later).collect();
        let parts = split_read(session, at, fact, &unusable);
        let whole = parts.iter().all(|part| part.stands_at.is_none());
        changes.insert(at, if whole { Treatment::Given } else { Treatment::Reread { parts } });
    }
}

/// Positions at which an object's content stands.
fn places_of(session: &Session, id: &ObjectId) -> Vec<u64> {
    let own = session.window().filter(|(at, _)| {
        session
            .result(*at)
            .is_some_and(|fact| fact.object.as_ref() == Some(id) && fact.shows == Shows::Own)
    });
    own.map(|(at, _)| at).chain(session.showings(id).map(|showing| showing.at)).collect()
}

fn subject_of(shows: &Shows) -> Option<&ObjectId> {
    match shows {
        Shows::File { object, .. } | Shows::Activated { object, .. } => Some(object),
        Shows::Own | Shows::Change { .. } => None,
    }
}
