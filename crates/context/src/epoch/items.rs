//! The items that could leave the window and what each would save: outputs collapse, steps fold.
//!
//! Pure; linear in the window. Must not decide whether an epoch starts.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::working_set::{firm, held_places, working_set};
use super::{EpochTerms, Item, Reckoning, begins_turn};
use crate::fold;
use crate::hazard::Chances;
use crate::held::Places;
use crate::window::Marks;
use config::{Reuse, as_f64};
use session::{NEWEST_STEPS, ResultFact, Role, Session, Treatment};

/// A collapse that frees at most this many tokens is not worth a change.
pub(super) const MIN_GAIN_TOKENS: u64 = 16;
/// Approximate tokens of a reference line; exact counts would take longer than the decision.
pub(super) const LINE_TOKENS: u64 = 22;
/// An output of at most this many tokens leaves with its step: its reference line would save
/// little.
pub const SMALL_TOKENS: u64 = 60;
/// Price from which on a fault has its whole weight, in tokens that stay for one call. In a small
/// request it weighs less, in proportion.
const FULL_PRICE_TOKENS: f64 = 20_000.0;
/// How much more a fault on the model's own words weighs than one on an output: the model may not
/// notice that they are gone.
const OWN_WORDS_FACTOR: f64 = 1.5;
/// Share by which a full window lowers the weight of a fault on an output.
const FULL_WINDOW_DISCOUNT: f64 = 0.7;

/// An item that leaves the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Leaving {
    /// An output, by its position in the chat.
    Output {
        /// The position.
        at: u64,
        /// Its chance of being needed per call, and its tokens.
        risk: (f64, u64),
    },
    /// Notes that tell nothing any more.
    Notes,
    /// A step, by the position of its first message.
    Step {
        /// The position.
        first: u64,
        /// Its chance of being needed per call, and its tokens.
        risk: (f64, u64),
    },
}

impl Leaving {
    /// The position of an output.
    pub(super) fn output(&self) -> Option<u64> {
        match self {
            Self::Output { at, .. } => Some(*at),
            Self::Step { .. } | Self::Notes => None,
        }
    }

    fn step(&self) -> Option<u64> {
        match self {
            Self::Step { first, .. } => Some(*first),
            Self::Output { .. } | Self::Notes => None,
        }
    }

    /// Chance of being needed per call, and tokens.
    fn risk(&self) -> (f64, u64) {
        match self {
            Self::Output { risk, .. } | Self::Step { risk, .. } => *risk,
            Self::Notes => (0.0, 0),
        }
    }
}

/// The window before a call.
pub(super) struct WindowBefore<'a> {
    session: &'a Session,
    shown: &'a [u64],
    /// As `shown`, without notes.
    bare: Vec<u64>,
    terms: &'a EpochTerms<'a>,
    /// Tokens of the messages.
    pub(super) total: u64,
    working: BTreeSet<u64>,
    /// Where content stands that must.
    held: Places,
    /// Number of newest steps that do not fold.
    keep_steps: u64,
    outputs: Vec<Item<Leaving>>,
    notes: Vec<Item<Leaving>>,
    steps: Vec<Item<Leaving>>,
    calls: CallsGone,
    reckoning: Reckoning,
}

impl<'a> WindowBefore<'a> {
    /// `shown`: tokens of each message of the window as it would be sent now, in order.
    pub(super) fn new(session: &'a Session, shown: &'a [u64], terms: &'a EpochTerms<'a>) -> Self {
        let held = held_places(session, terms);
        let working = working_set(session, shown, terms, &held.outputs);
        let total = shown.iter().sum();
        let calls = CallsGone::new(session, terms.keep_results);
        let bare = without_notes(session, shown);
        let outputs = outputs(session, &bare, &working, &calls, terms.hazards);
        let notes = spent_notes(session);
        let gathered: u64 = outputs.iter().chain(&notes).map(|item| item.gain).sum();
        let mut standing = Self {
            session,
            shown,
            bare,
            terms,
            total,
            working,
            held,
            keep_steps: u64::from(NEWEST_STEPS),
            outputs,
            notes,
            steps: Vec::new(),
            calls,
            reckoning: Reckoning {
                read: terms.prices.read,
                write: terms.prices.write,
                staying: (terms.fixed_tokens + total).saturating_sub(gathered),
            },
        };
        standing.steps = standing.folding();
        standing
    }

    /// Positions of the working set that remain if these outputs collapse.
    pub(super) fn staying(&self, collapsing: &BTreeSet<u64>) -> BTreeSet<u64> {
        self.working.difference(collapsing).copied().collect()
    }

    /// About how many tokens messages take more under these treatments: those whose lines stood in
    /// what leaves show them themselves. Without files whose text is shown anew.
    pub(super) fn restored<'t>(
        &self,
        treatments: impl Iterator<Item = &'t (u64, Treatment)>,
    ) -> u64 {
        let more = treatments.filter_map(|(at, treatment)| {
            let shown = *self.bare.get(self.session.chat().index_of(*at)?)?;
            let (here, all) = treatment.lines_shown()?;
            let whole = self.session.chat().get(*at)?.tokens;
            Some((whole * here / all.max(1)).saturating_sub(shown))
        });
        more.sum()
    }

    /// Whether the newest message begins a turn.
    pub(super) fn begins_turn(&self) -> bool {
        begins_turn(self.session)
    }

    /// Items that pay to remove while the cache is warm, from the end of the window.
    pub(super) fn warm(&self) -> Vec<Item<Leaving>> {
        self.paying(&|_, gain, risk| self.reckoning.rent(gain, risk))
    }

    /// Items that pay to remove if the request is written again from `from` on anyway, from the end
    /// of the window.
    pub(super) fn cold_behind(&self, from: usize) -> Vec<Item<Leaving>> {
        let mut items = self.paying(&|what, gain, risk| match what {
            Leaving::Step { .. } => self.reckoning.cold_step_rent(gain, risk),
            Leaving::Output { .. } | Leaving::Notes => self.reckoning.cold_rent(gain, risk),
        });
        items.retain(|item| item.index >= from);
        items
    }

    /// All items, whether they pay or not: outputs and notes, and steps; of each first those that
    /// are least likely needed for the room they take.
    pub(super) fn all(&self) -> (Vec<Item<Leaving>>, Vec<Item<Leaving>>) {
        let risk_per_token = |item: &Item<Leaving>| item.what.risk().0 / as_f64(item.gain);
        let outputs = self.outputs.iter().chain(&self.notes).copied().collect();
        let mut all: [Vec<_>; 2] = [outputs, self.steps.clone()];
        for items in &mut all {
            items.sort_by(|a, b| risk_per_token(a).total_cmp(&risk_per_token(b)));
        }
        all.into()
    }

    /// Gives up the working set except what is firm. Returns its outputs, pinned ones last.
    pub(super) fn give_up_working_set(&mut self, leaving: &[Item<Leaving>]) -> Vec<Item<Leaving>> {
        let gone = outputs_of(leaving);
        let stays = firm(self.session, self.shown, self.terms);
        self.outputs = outputs(self.session, &self.bare, &stays, &self.calls, self.terms.hazards);
        let mut more = self.outputs.clone();
        more.retain(|output| output.what.output().is_some_and(|at| !gone.contains(&at)));
        let pinned = &self.held.outputs;
        more.sort_by_key(|output| output.what.output().is_some_and(|at| pinned.contains(&at)));
        more
    }

    /// Steps that could fold if only the newest must stay, except those leaving; oldest first.
    pub(super) fn give_up_late_steps(&mut self, leaving: &[Item<Leaving>]) -> Vec<Item<Leaving>> {
        let gone: HashSet<u64> = leaving.iter().filter_map(|item| item.what.step()).collect();
        self.working = firm(self.session, self.shown, self.terms);
        self.held.steps.clear();
        self.keep_steps = 1;
        let mut more = self.folding();
        more.retain(|step| step.what.step().is_some_and(|first| !gone.contains(&first)));
        more
    }

    /// Tokens from each window index to the end.
    pub(super) fn suffix_tokens(&self) -> Vec<u64> {
        let mut suffix = vec![0; self.shown.len() + 1];
        for (index, tokens) in self.shown.iter().enumerate().rev() {
            suffix[index] = suffix[index + 1] + tokens;
        }
        suffix
    }

    /// Tokens of the messages that the previous request had.
    pub(super) fn sent_before(&self) -> u64 {
        self.shown.iter().take(self.terms.first_new).sum()
    }

    /// Tokens that no cache holds, so that they are written in any case.
    pub(super) fn new_tokens(&self, suffix: &[u64]) -> u64 {
        suffix[self.terms.cold_from.min(self.shown.len())]
    }

    /// Cached tokens that must be written again from an index on if `gain` tokens leave.
    pub(super) fn rewritten_tokens(&self, suffix: &[u64], from: usize, gain: u64) -> u64 {
        // With breakpoints, any change inside the previous request loses the cache of all messages.
        let from = if self.terms.prices.reuse == Reuse::Breakpoints { 0 } else { from };
        suffix[from].saturating_sub(self.new_tokens(suffix) + gain)
    }

    /// Cost of rewriting from an index on if `gain` tokens leave: cached tokens are written instead
    /// of read. What no cache holds is written in any case and does not count.
    pub(super) fn rewrite_cost(&self, suffix: &[u64], from: usize, gain: u64) -> f64 {
        let tokens = self.rewritten_tokens(suffix, from, gain);
        (self.reckoning.write - self.reckoning.read).max(0.0) * as_f64(tokens)
    }

    /// Expected cost of faults on these items in the next call.
    pub(super) fn fault_risk(&self, leaving: &[Item<Leaving>]) -> f64 {
        let risk = |item: &Item<Leaving>| {
            let (hazard, tokens) = item.what.risk();
            hazard * self.reckoning.fault(tokens)
        };
        leaving.iter().map(risk).sum()
    }

    /// [`Self::rewrite_cost`] without suffix sums at hand.
    pub(super) fn rewrite_from(&self, index: usize, gain: u64) -> f64 {
        self.rewrite_cost(&self.suffix_tokens(), index, gain)
    }

    /// Cost of rewriting all messages if `gain` tokens leave.
    pub(super) fn rewrite_all(&self, gain: u64) -> f64 {
        self.rewrite_from(0, gain)
    }

    /// The steps among these that can fold if these outputs collapse.
    pub(super) fn foldable_with(
        &self,
        leaving: &[Item<Leaving>],
        collapsing: &BTreeSet<u64>,
    ) -> Vec<fold::FoldStep> {
        let wanted: HashSet<u64> = leaving.iter().filter_map(|item| item.what.step()).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut steps = self.foldable(&|at| collapsing.contains(&at));
        steps.retain(|step| wanted.contains(&step.first));
        steps
    }

    /// The steps that can fold if these outputs leave: those without another standing output.
    fn foldable(&self, leaves: &dyn Fn(u64) -> bool) -> Vec<fold::FoldStep> {
        let stands = |at: u64, tokens: u64| {
            let goes = tokens <= SMALL_TOKENS
                || leaves(at)
                || *self.session.treatment(at) == Treatment::Reference;
            self.working.contains(&at) || self.held.steps.contains(&at) || !goes
        };
        let keep_turn = self.terms.rules.bound_thinking;
        let terms = fold::FoldTerms { keep_steps: self.keep_steps, keep_turn, stands: &stands };
        let mut steps = fold::foldable_steps(self.session, &self.bare, &terms);
        steps.retain(|step| step.index < self.terms.kept_from);
        steps
    }

    /// The steps that could fold. Their standing outputs would leave too, but count as items of
    /// their own.
    fn folding(&self) -> Vec<Item<Leaving>> {
        let outputs: BTreeMap<u64, usize> = self
            .outputs
            .iter()
            .filter_map(|output| Some((output.what.output()?, output.index)))
            .collect();
        let carriers = carriers(self.session);
        let steps = self.foldable(&|at| outputs.contains_key(&at)).into_iter().filter_map(|step| {
            let standing = outputs.range(step.first..=step.last);
            let apart: u64 = standing
                .map(|(_, index)| self.bare[*index])
                .filter(|tokens| *tokens > SMALL_TOKENS)
                .sum();
            let gain = step.gain().saturating_sub(apart);
            let hazard = self.terms.hazards.of_step(self.session, step.first..=step.last)?;
            let tokens = *self.bare.get(step.index)?;
            let chat = self.session.chat();
            let since = chat.step().saturating_sub(chat.get(step.first)?.step);
            // While the step was among the newest, it could not fold.
            let age = since.saturating_sub(NEWEST_STEPS);
            (gain > MIN_GAIN_TOKENS).then_some(Item {
                what: Leaving::Step { first: step.first, risk: (hazard, tokens) },
                index: *carriers[..carriers.partition_point(|index| *index < step.index)].last()?,
                gain,
                rent: 0.0,
                calls: self.calls.since(step.last).min(age + 1),
            })
        });
        steps.collect()
    }

    /// The weight of a fault on an item, in tokens that stay for one call. Falls for outputs as the
    /// window fills, since what stays there pushes out something else or makes the host compact.
    fn fault_weight(&self, what: &Leaving) -> f64 {
        let price = self.reckoning.fault_tokens(what.risk().1);
        if self.terms.hazards.are_certain() {
            return price;
        }
        let share = (price / FULL_PRICE_TOKENS).min(1.0);
        let weight = share * self.terms.fault_tokens;
        let filled = |marks: Marks| as_f64(self.total) / as_f64(marks.high.max(1));
        match what {
            Leaving::Output { .. } => {
                let filled = self.terms.marks.map_or(0.0, filled).min(1.0);
                weight * (1.0 - FULL_WINDOW_DISCOUNT * filled)
            }
            Leaving::Step { .. } => weight * OWN_WORDS_FACTOR,
            Leaving::Notes => 0.0,
        }
    }

    /// The items with a rent above 0, which is made of what it is, its gain and its risk; from the
    /// end of the window.
    fn paying(&self, rent: &dyn Fn(&Leaving, u64, f64) -> f64) -> Vec<Item<Leaving>> {
        let all = self.outputs.iter().chain(&self.notes).chain(&self.steps);
        let with_rent = all.map(|item| {
            let risk = item.what.risk().0 * self.fault_weight(&item.what);
            Item { rent: rent(&item.what, item.gain, risk), ..*item }
        });
        let mut items: Vec<_> = with_rent.filter(|item| item.rent > 0.0).collect();
        items.sort_by_key(|item| std::cmp::Reverse(item.index));
        items
    }
}

/// Positions of the outputs among these.
pub(super) fn outputs_of(leaving: &[Item<Leaving>]) -> BTreeSet<u64> {
    leaving.iter().filter_map(|item| item.what.output()).collect()
}

/// Calls for which each result could have been gone, by position in the chat: those since newer
/// results pushed it out of the working set.
struct CallsGone(Vec<u32>);

impl CallsGone {
    fn new(session: &Session, keep_results: u64) -> Self {
        let now = session.chat().step();
        let keep = usize::try_from(keep_results).unwrap_or(usize::MAX).max(1);
        let is_result = |at: &&u64| session.place(**at).has_result();
        let results = || session.chat().window.iter().filter(is_result);
        let mut calls = vec![0; session.chat().messages.len()];
        for (at, newer) in results().zip(results().skip(keep)) {
            if let Some(calls) = usize::try_from(*at).ok().and_then(|at| calls.get_mut(at)) {
                *calls = now + 1 - session.place(*newer).step;
            }
        }
        Self(calls)
    }

    fn since(&self, at: u64) -> u32 {
        let calls = usize::try_from(at).ok().and_then(|at| self.0.get(at));
        calls.copied().unwrap_or(0)
    }
}

/// Window indexes of the user messages, in order. These carry the lines of folded steps.
fn carriers(session: &Session) -> Vec<usize> {
    let window = session.chat().window.iter().enumerate();
    window
        .filter(|(_, at)| session.place(**at).role == Role::User)
        .map(|(index, _)| index)
        .collect()
}

/// The outputs that could collapse.
fn outputs(
    session: &Session,
    shown: &[u64],
    working: &BTreeSet<u64>,
    calls: &CallsGone,
    hazards: &dyn Chances,
) -> Vec<Item<Leaving>> {
    let window = session.chat().window.iter().zip(shown).enumerate();
    window
        .filter_map(|(index, (at, tokens))| {
            let (at, place) = (*at, session.place(*at));
            if !place.is_output || !place.stands || place.hidden {
                return None;
            }
            let fact = session.result(at)?;
            let tokens = tokens.saturating_sub(fact.kept_tokens.unwrap_or(0));
            let gain = tokens.saturating_sub(LINE_TOKENS);
            if gain <= MIN_GAIN_TOKENS {
                return None;
            }
            if working.contains(&at) || !has_reference_line(session, fact) {
                return None;
            }
            let what = Leaving::Output { at, risk: (hazards.of_output(session, at)?, tokens) };
            Some(Item { what, index, gain, rent: 0.0, calls: calls.since(at) })
        })
        .collect()
}

/// Tokens of each message without its notes.
fn without_notes(session: &Session, shown: &[u64]) -> Vec<u64> {
    let mut bare = shown.to_vec();
    for at in session.noted() {
        let index = session.chat().index_of(at);
        if let Some(tokens) = index.and_then(|index| bare.get_mut(index)) {
            *tokens = tokens.saturating_sub(session.note_tokens(at));
        }
    }
    bare
}

/// The notes that tell nothing any more: of each message those that leave together.
fn spent_notes(session: &Session) -> Vec<Item<Leaving>> {
    let newest = session.newest_said().map(|(at, _)| at);
    let spent = session.spent_notes().into_iter();
    let spent = spent.filter(|(at, _)| Some(*at) != newest && !session.is_hidden(*at));
    let spent = spent.filter_map(|(at, gain)| {
        let calls = (session.chat().step() + 1).saturating_sub(session.place(at).step);
        let index = session.chat().index_of(at)?;
        Some(Item { what: Leaving::Notes, index, gain, rent: 0.0, calls })
    });
    spent.collect()
}

/// Whether a reference line can replace a result: the object that it shows has a handle.
fn has_reference_line(session: &Session, fact: &ResultFact) -> bool {
    fact.text_of().is_some_and(|object| session.subject(object).is_some())
}
