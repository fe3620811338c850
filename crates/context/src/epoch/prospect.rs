//! A quick check before each call: could an epoch start at all? Pure.
//!
//! If it says no, so does the full decision; a test compares them. It assumes that no output or
//! step is ever needed again, so it needs no hazards. Must not decide what leaves.

use std::collections::VecDeque;

use super::items::{LINE_TOKENS, MIN_GAIN_TOKENS, SMALL_TOKENS};
use super::working_set::newest_room;
use super::{EpochTerms, begins_turn};
use crate::window::Marks;
use config::Reuse;
use session::{NEWEST_STEPS, Role, Session};

/// Tolerance for rounding: the full decision adds in another order.
const ROUNDING: f64 = 1e-9;

/// Whether an epoch may start. `false` means that none does.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order.
pub(super) fn may_start(session: &Session, shown: &[u64], terms: &EpochTerms<'_>) -> bool {
    let total: u64 = shown.iter().sum();
    if terms.rewrite.is_some() || terms.marks.is_some_and(|marks| total > marks.high) {
        return true;
    }
    if terms.cold_from < terms.first_new {
        return true;
    }
    let is_bound = terms.rules.bound_thinking || terms.rules.positional_ids;
    (!is_bound || begins_turn(session)) && may_pay(session, shown, terms, total)
}

/// Whether some rewrite may pay and is affordable.
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
fn may_pay(session: &Session, shown: &[u64], terms: &EpochTerms<'_>, total: u64) -> bool {
    // A rewrite pays the write price for tokens that would otherwise be read from the cache.
    let spread = (terms.prices.write - terms.prices.read).max(0.0);
    let new: u64 = shown.iter().skip(terms.cold_from).sum();
    // The newest results may leave too if the model deactivated something, if none are kept, or if
    // they fill the window.
    let young = terms.keep_results == 0
        || session.sets().lets_go()
        || terms.marks.is_some_and(|marks| fills(session, shown, terms, &marks));
    let mut look = Look::new(session.chat().step(), terms.keep_results, young);
    let spent = session.spent_notes();
    let mut suffix = 0;
    for (at, tokens) in session.chat().window.iter().zip(shown).rev() {
        suffix += tokens;
        let tokens = &tokens.saturating_sub(session.note_tokens(*at));
        let place = session.place(*at);
        let ends = match place.role {
            Role::Answer => look.answer(place.step, *tokens),
            Role::User => look.user(),
            Role::Result | Role::Other => false,
        };
        let ends = (place.has_result()
            && look.result(place.step, *tokens, place.stands && place.is_output))
            || ends;
        let spent = spent.get(at).copied().unwrap_or(0);
        let ends = look.notes(spent, place.step) || ends;
        if !ends || look.gain < terms.collapse_tokens {
            continue;
        }
        let from = if terms.prices.reuse == Reuse::Breakpoints { total } else { suffix };
        let again = from.saturating_sub(new + look.gain);
        let cost = spread * again as f64;
        let unspent = terms.prices.read * look.unspent;
        let is_soon = |most| again + new <= most && again <= look.gain;
        let pays = unspent * (1.0 + ROUNDING) >= cost * (1.0 - ROUNDING);
        if (pays || terms.first_token_tokens.is_some_and(is_soon))
            && terms.bound.affords_epoch(cost * (1.0 - ROUNDING))
        {
            return true;
        }
    }
    false
}

/// Whether the newest results may exceed their share of the window, so that not all of them stay.
fn fills(session: &Session, shown: &[u64], terms: &EpochTerms<'_>, marks: &Marks) -> bool {
    let newest = session.chat().window.iter().zip(shown).rev();
    let results = newest.filter(|(at, _)| {
        let place = session.place(**at);
        place.has_result() && !place.hidden
    });
    let keep = usize::try_from(terms.keep_results).unwrap_or(usize::MAX);
    results.take(keep).map(|(_, tokens)| tokens).sum::<u64>() > newest_room(marks)
}

/// The most that the messages from one on could free, and what keeping them has cost. Built from
/// the end of the window.
struct Look {
    now: u32,
    keep: usize,
    /// Whether the newest results may leave.
    young: bool,
    /// Steps of the results visited last, the latest first.
    newer: VecDeque<u32>,
    gain: u64,
    /// Tokens times calls.
    unspent: f64,
    /// Calls for which the result visited last could have been gone.
    calls: u32,
    /// Tokens of results that would leave with the step visited last.
    beside: u64,
    /// What the steps of the turn visited last would free.
    turn: (u64, f64),
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^53")]
impl Look {
    fn new(now: u32, keep_results: u64, young: bool) -> Self {
        let keep = usize::try_from(keep_results).unwrap_or(usize::MAX).max(1);
        let (newer, turn) = (VecDeque::new(), (0, 0.0));
        Self { now, keep, young, newer, gain: 0, unspent: 0.0, calls: 0, beside: 0, turn }
    }

    /// Visits a result; returns whether a rewrite could start here.
    fn result(&mut self, step: u32, tokens: u64, stands: bool) -> bool {
        self.newer.push_front(step);
        self.calls = 0;
        if self.newer.len() > self.keep {
            let newer = self.newer.pop_back().unwrap_or(self.now);
            self.calls = self.now + 1 - newer;
        }
        if !stands || tokens <= SMALL_TOKENS {
            self.beside += tokens;
        }
        let gain = tokens.saturating_sub(LINE_TOKENS);
        let may = stands && gain > MIN_GAIN_TOKENS && (self.young || self.calls > 0);
        if may {
            self.gain += gain;
            self.unspent += gain as f64 * f64::from(self.calls);
        }
        may
    }

    /// Visits the notes of a message of which these tokens tell nothing any more; returns whether a
    /// rewrite could start here.
    fn notes(&mut self, gain: u64, step: u32) -> bool {
        self.gain += gain;
        self.unspent += gain as f64 * f64::from((self.now + 1).saturating_sub(step));
        gain > 0
    }

    fn answer(&mut self, step: u32, tokens: u64) -> bool {
        let gain = tokens + std::mem::take(&mut self.beside);
        if step + NEWEST_STEPS <= self.now {
            self.turn.0 += gain;
            self.turn.1 += gain as f64 * f64::from(self.calls);
        }
        false
    }

    /// Visits a user message, which carries the lines of the steps after it; returns whether a
    /// rewrite could start here.
    fn user(&mut self) -> bool {
        let (gain, unspent) = std::mem::take(&mut self.turn);
        self.beside = 0;
        self.gain += gain;
        self.unspent += unspent;
        gain > 0
    }
}
