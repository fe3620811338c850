//! When a new epoch starts and what it leaves standing (`log`): a pure decision.
//!
//! What was sent stays sent until removing it pays. A batch is made when what its items would have saved has reached what
//! rewriting costs, and the bill stays within its bound; on a cold cache, where the rewrite is free; under window pressure;
//! and where the host rewrote its list. Source: DESIGN.md section 7, *When a new epoch starts*; figures: docs/policy.md.

mod economics;
mod items;
mod renewal;
mod working_set;

use std::collections::BTreeSet;

pub use self::economics::Bound;
use self::economics::{Item, Reckoning, batch};
use self::items::{Leaving, Standing};
use super::fold;
use super::hazard::Hazards;
use super::model_rules::ModelRules;
use crate::session::{Fold, MessageKind, Rewrite, Session, Treatment};
use crate::settings::{Prices, Reuse};

/// Of the tokens at which the window is under pressure so many hundredths are left when an epoch ends it.
const LOW_WATER_PERCENT: u64 = 40;

/// What the decision depends on besides the session.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// So many of the newest results and steps always stay.
    pub keep_results: u64,
    /// An epoch frees at least so many tokens.
    pub collapse_tokens: u64,
    /// Tokens of the request above which the window is under pressure; `None` where the model's window is not known.
    pub high_water_tokens: Option<u64>,
    /// Set where the host's list did not continue the one before: how, and the window index from which it differs.
    pub rewrite: Option<(Rewrite, usize)>,
    /// Index in the window of the first message that the request before did not have.
    pub first_new: usize,
    /// Prices of this call.
    pub prices: &'a Prices,
    /// Whether the cache of the request before still lives.
    pub warm: bool,
    /// Tokens of system prompt and tools.
    pub fixed_tokens: u64,
    /// The bill so far.
    pub bound: Bound,
    /// What the model's thinking is bound to.
    pub rules: ModelRules,
    /// Chances that things are needed again.
    pub hazards: &'a Hazards,
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
    /// Tokens that collapses and folds free.
    pub freed_tokens: u64,
}

/// Why an epoch starts, and what leaves the window with it.
struct Cause {
    reason: String,
    leaving: Vec<Item<Leaving>>,
}

/// Decides whether a new epoch starts before this call.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order.
pub fn decide(session: &Session, shown: &[u64], terms: &Terms<'_>) -> Option<NewEpoch> {
    let standing = Standing::new(session, shown, terms);
    let cause = rewritten(&standing, terms)
        .or_else(|| pressed(&standing, terms))
        .or_else(|| cold(&standing, terms))
        .or_else(|| paid(&standing, terms))?;
    Some(epoch(session, &standing, cause))
}

/// The host rewrote its list: from there on nothing is cached, and everything is decided afresh.
fn rewritten(standing: &Standing<'_>, terms: &Terms<'_>) -> Option<Cause> {
    let (how, index) = terms.rewrite?;
    let first = if terms.prices.reuse == Reuse::Breakpoints { 0 } else { index };
    let mut leaving = standing.cold();
    leaving.retain(|item| item.index >= first);
    Some(Cause { reason: format!("the host rewrote its list ({})", how.as_str()), leaving })
}

/// The window is nearly full: all outputs that can collapse do, then the oldest steps fold, down to the low-water mark.
/// Nothing happens where that would not free a twentieth of the window.
fn pressed(standing: &Standing<'_>, terms: &Terms<'_>) -> Option<Cause> {
    let mark = terms.high_water_tokens.filter(|mark| standing.total() > *mark)?;
    let (outputs, steps) = standing.all();
    let gathered: u64 = outputs.iter().map(|item| item.gain).sum();
    let wanted = standing.total().saturating_sub(gathered + mark * LOW_WATER_PERCENT / 100);
    let mut freed = 0;
    let folding = steps.into_iter().take_while(|step| {
        let is_wanted = freed < wanted;
        freed += step.gain;
        is_wanted
    });
    let leaving: Vec<_> = outputs.into_iter().chain(folding).collect();
    let gain: u64 = leaving.iter().map(|item| item.gain).sum();
    let reason = format!("window pressure: {} tokens, {gain} of them can go", standing.total());
    (gain * 20 >= mark).then_some(Cause { reason, leaving })
}

/// The cache is gone: all has to be written, and what does not pay its rent need not be.
fn cold(standing: &Standing<'_>, terms: &Terms<'_>) -> Option<Cause> {
    if terms.warm || terms.first_new == 0 {
        return None;
    }
    let leaving = standing.cold();
    let gain: u64 = leaving.iter().map(|item| item.gain).sum();
    let reason = format!("the cache is cold: {gain} tokens need not be written again");
    (gain >= terms.collapse_tokens).then_some(Cause { reason, leaving })
}

/// What the items of a suffix would have saved has reached what rewriting it costs, and the bill can bear it.
fn paid(standing: &Standing<'_>, terms: &Terms<'_>) -> Option<Cause> {
    let is_bound = terms.rules.bound_thinking || terms.rules.positional_ids;
    if !terms.warm || (is_bound && !standing.begins_turn()) {
        return None;
    }
    let mut leaving = standing.warm();
    let suffix = standing.suffix_tokens();
    let rewrite = |index: usize, gain: u64| {
        let from = if terms.prices.reuse == Reuse::Breakpoints { 0 } else { index };
        standing.rewrite_cost(&suffix, from, gain)
    };
    let count = batch(&leaving, &rewrite)?;
    leaving.truncate(count);
    let gain: u64 = leaving.iter().map(|item| item.gain).sum();
    let first = leaving.last()?.index;
    let cost = rewrite(first, gain);
    let faults = standing.fault_risk(&leaving);
    let reason = format!("{gain} tokens have cost what rewriting costs, {cost:.0}");
    let pays = gain >= terms.collapse_tokens && terms.bound.affords(cost + faults);
    pays.then_some(Cause { reason, leaving })
}

fn epoch(session: &Session, standing: &Standing<'_>, cause: Cause) -> NewEpoch {
    let collapsing: BTreeSet<u64> =
        cause.leaving.iter().filter_map(|item| item.what.output()).collect();
    let steps = standing.foldable_with(&cause.leaving, &collapsing);
    let folds = fold::folds_of(session, &steps);
    let folded = session.with_folds(&folds);
    let treatments = renewal::treatments(&folded, &collapsing, standing.working());
    let hides = |at: u64| folded.folds().hide(at);
    let collapsed = treatments
        .iter()
        .filter(|(at, treatment)| *treatment == Treatment::Reference && !hides(*at))
        .count() as u64;
    let freed_tokens = cause.leaving.iter().map(|item| item.gain).sum();
    NewEpoch { reason: cause.reason, treatments, folds, collapsed, freed_tokens }
}

/// Whether the newest message is one that a person typed.
fn is_typed(session: &Session) -> bool {
    let newest = session.window().next_back();
    newest.is_some_and(|(_, message)| matches!(message.kind, MessageKind::User))
}
