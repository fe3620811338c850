//! Decides when a new epoch starts and what leaves the window with it (layout `log`). Pure.
//!
//! Providers charge a fraction of the price for a cached prefix, so a message stays as it was sent
//! until removing it pays. A new epoch starts when:
//!
//! - keeping some items has cost as much as a rewrite without them, and the bill stays within its
//!   bound;
//! - no cache holds the old messages, so rewriting them is free;
//! - the model reads its cache for free, and rewriting the end does not delay its first token;
//! - the window is nearly full;
//! - the host rewrote its list.
//!
//! docs/policy.md has the figures behind these rules.

mod economics;
mod items;
mod prospect;
mod renewal;
#[cfg(test)]
mod tests;
mod working_set;

use std::collections::BTreeSet;

pub use self::economics::Bound;
use self::economics::{Item, Reckoning, batch};
pub use self::items::SMALL_TOKENS;
use self::items::{Leaving, WindowBefore, outputs_of};
use super::fold;
use super::hazard::Chances;
use super::held::Budgets;
use super::ledger::KEPT_TOKENS;
use super::model_rules::ModelRules;
use super::window::Marks;
use config::{Prices, as_f64};
use session::{Fold, MessageKind, Rewrite, SUMMARY_TOKENS, Session, Treatment, compaction_cost};

/// Target size after an epoch under window pressure, in percent of the size at which pressure
/// begins. Well below it, so that the next calls do not need relief again.
const LOW_WATER_PERCENT: u64 = 40;

/// Relief that the bound does not allow must pay for itself within this number of calls. A session
/// above its bound would otherwise keep paying for a full window (docs/policy.md, "The bound").
const RELIEF_CALLS: f64 = 12.0;

/// Where no compaction would help, relief must free at least 1/30 of the largest request. If less
/// can go, the next call would need relief again.
const LEAST_RELIEF: u64 = 30;

/// What the decision depends on besides the session.
#[derive(Debug, Clone, Copy)]
pub struct EpochTerms<'a> {
    /// Number of newest results that always stay.
    pub keep_results: u64,
    /// Least number of tokens that an epoch frees.
    pub collapse_tokens: u64,
    /// How full the messages may make the model's window before content leaves; `None` if the
    /// window is unknown.
    pub marks: Option<Marks>,
    /// How the host rewrote its list, and the first window index that differs; `None` if it did
    /// not.
    pub rewrite: Option<(Rewrite, usize)>,
    /// Window index of the first message that the previous request did not have.
    pub first_new: usize,
    /// Window index of the first message that no cache holds in its present form: `first_new` if
    /// the previous request's cache is alive, 0 if no cache is.
    pub cold_from: usize,
    /// Window index from which the host sends the messages itself; these cannot change.
    pub kept_from: usize,
    /// Prices of this call.
    pub prices: &'a Prices,
    /// Whether a cache is alive for this model, system prompt and tools.
    pub warm: bool,
    /// Tokens of system prompt and tools.
    pub fixed_tokens: u64,
    /// The bill so far.
    pub bound: Bound,
    /// Most tokens to write before the model's first output token; `None` unless cache reads are
    /// free.
    pub first_token_tokens: Option<u64>,
    /// What the model demands of changes to earlier messages.
    pub rules: ModelRules,
    /// Most tokens of what must stand.
    pub budgets: Budgets,
    /// What a fault weighs, in tokens that stay for one call: content leaves where it saves more
    /// than that per likely fault.
    pub fault_tokens: f64,
    /// How likely outputs and steps are needed again.
    pub hazards: &'a dyn Chances,
}

/// A new epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEpoch {
    /// Why.
    pub reason: String,
    /// New treatments, by position in the chat.
    pub treatments: Vec<(u64, Treatment)>,
    /// Steps to fold.
    pub folds: Vec<Fold>,
    /// Number of messages that collapse.
    pub collapsed: u64,
    /// Tokens freed by collapses and folds.
    pub freed_tokens: u64,
    /// Messages before this position keep their notes, because caches hold them.
    pub notes_before: u64,
}

/// Why an epoch starts, and what leaves the window with it.
#[derive(Clone)]
struct Cause {
    reason: String,
    /// Cost to reserve on top of the rewrite; `None` if the epoch may exceed the bound.
    reserve: Option<f64>,
    /// Fewest tokens that it must free, also if what leaves was what others referred to.
    least: u64,
    leaving: Vec<Item<Leaving>>,
    /// Window index of the first message that may change. Caches hold everything before it.
    from: usize,
    /// Window index of the first message whose notes leave.
    notes_from: usize,
}

/// Decides whether a new epoch starts before this call.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order.
pub fn decide(session: &Session, shown: &[u64], terms: &EpochTerms<'_>) -> Option<NewEpoch> {
    let may_start = prospect::may_start(session, shown, terms);
    may_start.then(|| decide_in_full(session, shown, terms)).flatten()
}

/// The decision without the quick check.
fn decide_in_full(session: &Session, shown: &[u64], terms: &EpochTerms<'_>) -> Option<NewEpoch> {
    let mut standing = WindowBefore::new(session, shown, terms);
    let rewrite = rewritten(&standing, terms);
    let leaves = |cause: &Cause| !cause.leaving.is_empty();
    let cause = pressed(&mut standing, terms)
        .or_else(|| rewrite.clone().filter(leaves))
        .or_else(|| cold(&standing, terms))
        .or_else(|| paid(&standing, terms))
        .or_else(|| soon(&standing, terms));
    let new = cause.and_then(|cause| borne(session, &standing, cause, terms));
    // What stands may refer to messages that the host took out or changed.
    new.or_else(|| borne(session, &standing, rewrite?, terms))
}

/// The epoch with this cause, if it frees enough and the bill can afford it.
fn borne(
    session: &Session,
    standing: &WindowBefore<'_>,
    cause: Cause,
    terms: &EpochTerms<'_>,
) -> Option<NewEpoch> {
    let (reserve, least) = (cause.reserve, cause.least);
    let new = epoch(session, standing, cause, &working_set::kept(session, terms));
    // An epoch may also change text before the first item that leaves. The rewrite then starts
    // there and costs more, so the bound is checked again.
    let is_borne = reserve.is_none_or(|reserve| {
        let cost = standing.rewrite_from(first_changed(session, &new), new.freed_tokens);
        terms.bound.affords_epoch(cost + reserve)
    });
    (is_borne && new.freed_tokens >= least).then_some(new)
}

/// The host rewrote its list: decide afresh about everything that no cache holds.
fn rewritten(standing: &WindowBefore<'_>, terms: &EpochTerms<'_>) -> Option<Cause> {
    let (how, _) = terms.rewrite?;
    let from = terms.cold_from;
    let leaving = standing.cold_behind(from);
    let reason = format!("the host rewrote its list ({})", how.as_str());
    Some(Cause { reason, reserve: None, least: 0, leaving, from, notes_from: from })
}

/// The window is under pressure, and one of these holds: the bill can afford the rewrite, the
/// rewrite is free, it pays soon, or the next step may make the host compact. Does nothing where
/// the host's compaction makes the same room for less.
fn pressed(standing: &mut WindowBefore<'_>, terms: &EpochTerms<'_>) -> Option<Cause> {
    let marks = terms.marks.filter(|marks| standing.total > marks.high)?;
    let total = standing.total;
    let leaving = relief(standing, &marks);
    let gain: u64 = leaving.iter().map(|item| item.gain).sum();
    let is_free = terms.cold_from == 0;
    let cost = standing.rewrite_all(gain);
    if total <= marks.full
        && !is_free
        && !terms.bound.affords_epoch(cost)
        && !pays_soon(cost, gain, terms)
    {
        // The host will not compact yet, so there is no need to exceed the bound.
        return None;
    }
    let is_worth = is_free
        || match compacted_room_cost(total, terms.prices) {
            // Behind a request of that size a host that compacts would have done so.
            Some(least) if standing.sent_before() <= marks.most => cost <= least * as_f64(gain),
            _ => gain * LEAST_RELIEF >= marks.most,
        };
    let reason = format!("window pressure: {total} tokens, {gain} of them can go");
    (gain > 0 && is_worth).then_some(Cause {
        reason,
        reserve: None,
        // What is freed is an estimate; in a full window anything is worth a try.
        least: u64::from(total <= marks.full),
        leaving,
        from: 0,
        notes_from: 0,
    })
}

/// Whether the saving pays for the rewrite within [`RELIEF_CALLS`].
fn pays_soon(cost: f64, gain: u64, terms: &EpochTerms<'_>) -> bool {
    cost <= RELIEF_CALLS * terms.prices.read * as_f64(gain)
}

/// What each token of room costs if the host compacts messages of this size, in input tokens: the
/// summary is written by a request without a cache, and then it and what stays are cached anew.
/// `None` if hardly more would go than the summary takes.
fn compacted_room_cost(total: u64, prices: &Prices) -> Option<f64> {
    let dropped = total.saturating_sub(KEPT_TOKENS);
    let room = dropped.checked_sub(SUMMARY_TOKENS).filter(|room| *room > 0)?;
    let written = prices.write * as_f64(KEPT_TOKENS + SUMMARY_TOKENS);
    Some((compaction_cost(as_f64(dropped)) + written) / as_f64(room))
}

/// What leaves under pressure: all outputs outside the working set, in a small window the idlest of
/// them; then, until the low-water mark is reached, steps from the idlest on and the working set,
/// newest last. Recent steps, which otherwise never fold, go only if the window is still under
/// pressure after that.
fn relief(standing: &mut WindowBefore<'_>, marks: &Marks) -> Vec<Item<Leaving>> {
    let is_small = marks.stays > 0;
    let low = marks.stays.min(marks.high).max(marks.high * LOW_WATER_PERCENT / 100);
    let mut left = standing.total;
    let (outputs, steps) = standing.all();
    let mut leaving = Vec::new();
    take_until(if is_small { low } else { 0 }, &mut left, outputs, &mut leaving);
    take_until(low, &mut left, steps, &mut leaving);
    if left > low {
        take_until(low, &mut left, standing.give_up_working_set(&leaving), &mut leaving);
    }
    if left > marks.high {
        take_until(low, &mut left, standing.give_up_late_steps(&leaving), &mut leaving);
    }
    leaving
}

/// Takes items in order while more than `low` tokens are left.
fn take_until(
    low: u64,
    left: &mut u64,
    items: Vec<Item<Leaving>>,
    leaving: &mut Vec<Item<Leaving>>,
) {
    for item in items {
        if *left <= low {
            break;
        }
        *left -= item.gain.min(*left);
        leaving.push(item);
    }
}

/// No cache holds the messages from some index on. They must be written again anyway, so whatever
/// is not worth writing leaves.
fn cold(standing: &WindowBefore<'_>, terms: &EpochTerms<'_>) -> Option<Cause> {
    if terms.cold_from >= terms.first_new {
        return None;
    }
    let from = terms.cold_from;
    let leaving = standing.cold_behind(from);
    let gain: u64 = leaving.iter().map(|item| item.gain).sum();
    let reason = format!("the cache is cold: {gain} tokens need not be written again");
    let least = terms.collapse_tokens;
    let may = gain >= least;
    may.then_some(Cause { reason, reserve: None, least, leaving, from, notes_from: from })
}

/// Keeping the items of a suffix has cost as much as rewriting it without them, and the bill can
/// afford the rewrite.
fn paid(standing: &WindowBefore<'_>, terms: &EpochTerms<'_>) -> Option<Cause> {
    let is_bound = terms.rules.bound_thinking || terms.rules.positional_ids;
    if !terms.warm || (is_bound && !standing.begins_turn()) {
        return None;
    }
    let items = standing.warm();
    let suffix = standing.suffix_tokens();
    let rewrite = |index: usize, gain: u64| standing.rewrite_cost(&suffix, index, gain);
    let best = batch(&items, &rewrite)?;
    // If the bill cannot afford the best batch, try smaller ones nearer to the end: a shorter
    // suffix is cheaper to rewrite.
    let counts =
        std::iter::successors(Some(best), |count| Some(count / 2).filter(|half| *half > 0));
    counts.map(|count| &items[..count]).find_map(|leaving| {
        let gain: u64 = leaving.iter().map(|item| item.gain).sum();
        let cost = rewrite(leaving.last()?.index, gain);
        let unspent: f64 = leaving.iter().map(Item::unspent).sum();
        let pays = gain >= terms.collapse_tokens && unspent >= cost;
        let reserve = standing.fault_risk(leaving);
        let reason =
            format!("keeping {gain} tokens had cost as much as sending the rest anew, {cost:.0} input tokens");
        let may = pays && terms.bound.affords_epoch(cost + reserve);
        let (leaving, reserve, notes_from) =
            (leaving.to_vec(), Some(reserve), leaving.last()?.index);
        let least = terms.collapse_tokens;
        may.then_some(Cause { reason, reserve, least, leaving, from: 0, notes_from })
    })
}

/// Cache reads are free, so removing content saves only room and the cost of a lost cache. Where room
/// gets short, that is worth rewriting the end of the request if the first token still comes soon
/// and less is written again than leaves.
fn soon(standing: &WindowBefore<'_>, terms: &EpochTerms<'_>) -> Option<Cause> {
    let most = terms.first_token_tokens?;
    let is_bound = terms.rules.bound_thinking || terms.rules.positional_ids;
    let has_room = terms.marks.is_some_and(|marks| standing.total < marks.high / 2);
    if !terms.warm || has_room || (is_bound && !standing.begins_turn()) {
        return None;
    }
    let items = standing.cold_behind(0);
    let suffix = standing.suffix_tokens();
    let new = standing.new_tokens(&suffix);
    let (mut gain, mut found) = (0, None);
    for (place, item) in items.iter().enumerate() {
        gain += item.gain;
        if items.get(place + 1).is_some_and(|next| next.index == item.index) {
            continue;
        }
        let again = standing.rewritten_tokens(&suffix, item.index, gain);
        if again + new > most {
            break;
        }
        if gain >= terms.collapse_tokens.max(again) {
            found = Some((&items[..=place], item.index, gain, again));
        }
    }
    let (leaving, from, gain, again) = found?;
    let reserve = standing.fault_risk(leaving);
    let reason = format!("{gain} tokens can go, only {again} are read again");
    let may = terms.bound.affords_epoch(standing.rewrite_cost(&suffix, from, gain) + reserve);
    let (leaving, reserve, least) = (leaving.to_vec(), Some(reserve), terms.collapse_tokens);
    may.then_some(Cause { reason, reserve, least, leaving, from, notes_from: from })
}

/// Builds the epoch. `kept`: positions of messages that stay as they are.
fn epoch(
    session: &Session,
    standing: &WindowBefore<'_>,
    cause: Cause,
    kept: &BTreeSet<u64>,
) -> NewEpoch {
    let collapsing = outputs_of(&cause.leaving);
    let steps = standing.foldable_with(&cause.leaving, &collapsing);
    let folds = fold::folds_of(session, &steps);
    let folded = session.with_folds(&folds);
    let held = session.chat().passing.own_before(cause.from);
    let held: BTreeSet<u64> = session.chat().own_window.iter().take(held).copied().collect();
    let stays = standing.staying(&collapsing);
    let treatments = renewal::treatments(&folded, &collapsing, &stays, (&held, kept));
    let hides = |at: u64| folded.folds().hide(at);
    let collapsed = treatments
        .iter()
        .filter(|(at, treatment)| *treatment == Treatment::Reference && !hides(*at))
        .count() as u64;
    let gain: u64 = cause.leaving.iter().map(|item| item.gain).sum();
    let shown_again = treatments.iter().filter(|(at, _)| !hides(*at));
    let freed_tokens = gain.saturating_sub(standing.restored(shown_again));
    let window = &session.chat().window;
    let notes_before = match cause.notes_from {
        0 => 0,
        from => window.get(from).map_or(u64::MAX, |at| *at),
    };
    NewEpoch { reason: cause.reason, treatments, folds, collapsed, freed_tokens, notes_before }
}

/// Window index of the first message that an epoch changes.
fn first_changed(session: &Session, new: &NewEpoch) -> usize {
    let window = &session.chat().window;
    let newest = session.newest_said().map(|(at, _)| at);
    let mut changed: BTreeSet<u64> = new.treatments.iter().map(|(at, _)| *at).collect();
    let leaves = |at: &u64| Some(*at) != newest && *at >= new.notes_before;
    changed.extend(session.leaving_notes().filter(leaves));
    changed.extend(new.folds.iter().filter_map(|fold| session.carrier(fold.first)));
    window.iter().position(|at| changed.contains(at)).unwrap_or(window.len())
}

/// Whether the newest message begins a turn: a person typed it, or a host extension spoke after an
/// answer.
fn begins_turn(session: &Session) -> bool {
    let last = session.chat().window.last().copied();
    session.newest_said().is_some_and(|(at, message)| match message.kind {
        MessageKind::User => true,
        MessageKind::Assistant => Some(at) != last,
        MessageKind::Result(_) | MessageKind::Other => false,
    })
}
