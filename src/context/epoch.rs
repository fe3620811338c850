//! When a new epoch starts and what it leaves standing (`log`): a pure decision.
//!
//! The rule is a simple one for now: enough collapsible content has gathered, the window comes near its limit, or the host
//! rewrote its list (DESIGN.md section 7 has the economics that replace it).

use std::collections::{BTreeMap, BTreeSet};

use super::fold;
use super::log_layout::reference_line;
use super::settle;
use crate::object::{Hash, ObjectId};
use crate::session::{
    Fold, LineRange, MessageKind, ResultFact, Rewrite, Session, Shows, Subject, Treatment,
    merge_ranges,
};

/// A collapse that frees no more than this is not worth a change.
const MIN_GAIN_TOKENS: u64 = 16;
/// What a reference line costs, about: counting each would cost more than the decision.
const LINE_TOKENS: u64 = 30;
/// Of the tokens at which the window is under pressure so many hundredths are left when folding ends.
const LOW_WATER_PERCENT: u64 = 75;
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
    /// Steps that are folded.
    pub folds: Vec<Fold>,
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
    let steps = steps_under_pressure(session, shown, terms, &working, &gains);
    let spare = gathered + steps.iter().map(fold::Step::gain).sum::<u64>();
    let pressed = terms.high_water_tokens.is_some_and(|mark| total > mark && spare * 20 >= mark);
    let reason = match terms.rewrite {
        Some((how, _)) => format!("the host rewrote its list ({})", how.as_str()),
        None if pressed => format!("window pressure: {total} tokens, {gathered} collapsible"),
        None if gathered >= terms.collapse_tokens && gathered * 2 >= total - gathered => {
            format!("{gathered} of {total} tokens collapsible")
        }
        None => return None,
    };
    let steps = if pressed { steps } else { Vec::new() };
    let folds = fold::folds_of(session, &steps);
    let folded = session.with_folds(&folds);
    let treatments = treatments(&folded, &gains, &working);
    let collapsed = || {
        let stays = |at: &u64| !folded.folds().hide(*at);
        treatments.iter().filter(move |(at, t)| *t == Treatment::Reference && stays(at))
    };
    let freed_tokens = collapsed().filter_map(|(at, _)| gains.get(at)).sum::<u64>()
        + steps.iter().map(fold::Step::gain).sum::<u64>();
    let collapsed = collapsed().count() as u64;
    Some(NewEpoch { reason, treatments, folds, collapsed, freed_tokens })
}

/// The oldest steps that have to fold under pressure, where collapsing outputs is not enough.
fn steps_under_pressure(
    session: &Session,
    shown: &[u64],
    terms: &Terms,
    working: &BTreeSet<u64>,
    gains: &BTreeMap<u64, u64>,
) -> Vec<fold::Step> {
    let total: u64 = shown.iter().sum();
    let Some(mark) = terms.high_water_tokens.filter(|mark| total > *mark) else {
        return Vec::new();
    };
    let left = total - gains.values().sum::<u64>();
    let wanted = left.saturating_sub(mark * LOW_WATER_PERCENT / 100);
    let stands = |at: u64, tokens: u64| {
        let is_small = tokens <= LINE_TOKENS + MIN_GAIN_TOKENS || gains.contains_key(&at);
        working.contains(&at) || !(is_small || *session.treatment(at) == Treatment::Reference)
    };
    let keep_steps = terms.keep_results;
    let steps = fold::Terms { keep_steps, keep_turn: false, stands: &stands };
    fold::oldest(fold::foldable_steps(session, shown, &steps), wanted)
}

/// Positions that stay: the newest results, all that the model has not answered yet, pinned objects, files being edited.
/// What the model deactivated stays only until it has answered.
fn working_set(session: &Session, keep_results: u64) -> BTreeSet<u64> {
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
fn is_let_go(session: &Session, fact: &ResultFact) -> bool {
    let shown = match &fact.shows {
        Shows::File { object, .. } | Shows::Activated { object, .. } => Some(object),
        Shows::Own | Shows::Change { .. } => None,
    };
    shown.into_iter().chain(&fact.object).any(|object| session.sets().is_deactivated(object))
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
            let gain = tokens.saturating_sub(LINE_TOKENS);
            let fact = session.result(at).filter(|fact| gain > MIN_GAIN_TOKENS && fact.plain)?;
            if working.contains(&at) || *session.treatment(at) == Treatment::Reference {
                return None;
            }
            reference_line(session, fact).is_some().then_some((at, gain))
        })
        .collect()
}

/// All changes of an epoch: collapses, the current text of files, and reads whose text stood in what collapses.
fn treatments(
    session: &Session,
    gains: &BTreeMap<u64, u64>,
    working: &BTreeSet<u64>,
) -> Vec<(u64, Treatment)> {
    let mut changes: BTreeMap<u64, Treatment> =
        gains.keys().map(|at| (*at, Treatment::Reference)).collect();
    for Anew { file, version, ranges, at, after_host } in files_anew(session, working) {
        let showings = session.showings(&file).map(|showing| showing.at);
        changes.extend(showings.map(|at| (at, Treatment::Reference)));
        changes.insert(at, Treatment::Current { object: file, version, ranges, after_host });
    }
    settle::settle(session, working, &mut changes);
    changes.into_iter().filter(|(at, treatment)| session.treatment(*at) != treatment).collect()
}

/// A file whose current text is to stand at one message instead of what stands of it.
struct Anew {
    file: ObjectId,
    version: Hash,
    ranges: Vec<LineRange>,
    at: u64,
    after_host: bool,
}

/// Files of the working set of which older text stands, or lines stand twice.
fn files_anew(session: &Session, working: &BTreeSet<u64>) -> Vec<Anew> {
    let mut needed: BTreeMap<&ObjectId, Vec<LineRange>> = BTreeMap::new();
    let mut untidy: BTreeSet<&ObjectId> = BTreeSet::new();
    for showing in session.all_showings().filter(|showing| working.contains(&showing.at)) {
        let Some(version) = file_version(session, &showing.object) else { continue };
        let lines = needed.entry(&showing.object).or_default();
        let twice = showing.now.iter().any(|range| range.without(lines) != [*range]);
        if showing.version != *version || twice {
            untidy.insert(&showing.object);
        }
        lines.extend(&showing.now);
    }
    // A read that said "stands above" needs these lines where that is about to go.
    for at in working {
        if let (Treatment::Reread { .. }, Some(Shows::File { object, version, range })) =
            (session.treatment(*at), session.result(*at).map(|fact| &fact.shows))
        {
            let now = session.lines_now(object, version, &[*range]);
            needed.entry(object).or_default().extend(now);
        }
    }
    untidy
        .into_iter()
        .filter_map(|file| {
            let ranges = merge_ranges(needed.get(file)?);
            let (at, after_host) = last_event(session, file, working)?;
            let version = file_version(session, file)?.clone();
            (!ranges.is_empty()).then(|| Anew {
                file: file.clone(),
                version,
                ranges,
                at,
                after_host,
            })
        })
        .collect()
}

/// The newest message that showed or changed a file, and whether it is one that changed it.
fn last_event(session: &Session, file: &ObjectId, working: &BTreeSet<u64>) -> Option<(u64, bool)> {
    let shows: BTreeSet<u64> = session.showings(file).map(|showing| showing.at).collect();
    session.shown_window().rev().find_map(|(at, _)| {
        let fact = session.result(at)?;
        match &fact.shows {
            _ if !working.contains(&at) && is_let_go(session, fact) => None,
            Shows::Change { object } if object == file => Some((at, true)),
            _ => shows.contains(&at).then_some((at, false)),
        }
    })
}

/// Positions at which the content of pinned objects stands.
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

fn file_version<'a>(session: &'a Session, object: &ObjectId) -> Option<&'a Hash> {
    match &session.index().get(object)?.subject {
        Subject::File { version, .. } => Some(version),
        Subject::Toolcall { .. } => None,
    }
}
