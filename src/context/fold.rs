//! Which steps can fold, and the lines that stand for them (DESIGN.md section 7, *Fold*). Pure.
//!
//! Must not decide when steps fold: that is an epoch's. What can fold leaves a request whose roles alternate as before and
//! in which every call has its result.

use std::ops::RangeInclusive;

use super::deeds::deeds;
use super::forms;
use crate::object::Handle;
use crate::session::{ChatMessage, Fold, MessageKind, ResultFact, Session, Shows, Subject};

/// What folding depends on besides the session.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// So many of the newest steps stay.
    pub keep_steps: u64,
    /// Whether the steps after the newest user message stay, since the model's thinking in them is bound to its place.
    pub keep_turn: bool,
    /// Whether the output at a position of the chat, of so many tokens as it is shown, keeps its step.
    pub stands: &'a dyn Fn(u64, u64) -> bool,
}

/// A step that can fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Position of its first message in the chat, the model's answer.
    pub first: u64,
    /// Position of its last message, a result.
    pub last: u64,
    /// Index of its first message in the window.
    pub index: usize,
    /// Tokens of its messages as they are shown now.
    pub tokens: u64,
    /// Tokens of what it adds to a line, about: counting them would cost more than the decision.
    pub line_tokens: u64,
}

impl Step {
    /// Tokens that folding it frees.
    pub fn gain(&self) -> u64 {
        self.tokens.saturating_sub(self.line_tokens)
    }
}

/// The steps that can fold, in the order of the window.
///
/// A step can if all its calls are answered, an answer of the model follows it, and a user message before it can carry its
/// line. It stays if it is among the newest or is folded already; if a message in it is withheld, changes on every call, or
/// is not a call or a result; and if it holds an image, something pinned, or an output that keeps it.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order.
pub fn foldable_steps(session: &Session, shown: &[u64], terms: &Terms<'_>) -> Vec<Step> {
    let newest = session.window().next_back().map_or(0, |(_, message)| u64::from(message.step));
    let mut steps: Vec<Step> = Vec::new();
    let mut before_turn = 0;
    let mut open: Option<Open<'_>> = None;
    let mut carries = false;
    for (index, ((at, message), tokens)) in session.window().zip(shown).enumerate() {
        match &message.kind {
            MessageKind::User => {
                open = None;
                before_turn = steps.len();
                carries = !message.withheld && !message.is_volatile();
            }
            MessageKind::Assistant => {
                steps
                    .extend(open.take().filter(|step| step.calls.is_empty()).map(|open| open.step));
                let may = carries
                    && may_fold(session, at, message)
                    && !message.key.calls.is_empty()
                    && u64::from(message.step) + terms.keep_steps <= newest;
                open = may.then(|| Open::new(index, at, message, *tokens));
            }
            MessageKind::Result(fact) => {
                let may = may_fold(session, at, message)
                    && fact.plain
                    && !holds_pinned(session, at, fact)
                    && !(terms.stands)(at, *tokens);
                open = open
                    .filter(|_| may)
                    .and_then(|open| open.with(session, at, message, fact, *tokens));
            }
            MessageKind::Other => open = None,
        }
    }
    if terms.keep_turn {
        steps.truncate(before_turn);
    }
    steps
}

/// The first of these steps that free so many tokens together; all if they do not.
pub fn oldest(mut steps: Vec<Step>, wanted_tokens: u64) -> Vec<Step> {
    let mut freed = 0;
    let enough = steps.iter().take_while(|step| {
        let is_wanted = freed < wanted_tokens;
        freed += step.gain();
        is_wanted
    });
    let count = enough.count();
    steps.truncate(count);
    steps
}

/// The folds of these steps, which are in the order of the window. Steps next to each other, and those next to steps that
/// are folded already, get one line: it names each file and each command once.
pub fn folds_of(session: &Session, steps: &[Step]) -> Vec<Fold> {
    let mut ranges: Vec<(RangeInclusive<u64>, bool)> =
        session.folds().all().map(|fold| (fold.first..=fold.last, false)).collect();
    ranges.extend(steps.iter().map(|step| (step.first..=step.last, true)));
    ranges.sort_by_key(|(range, _)| *range.start());
    let window = session.chat().window();
    let are_next = |last: u64, first: u64| {
        let place = window.iter().rposition(|at| *at == last);
        place.is_some_and(|place| window.get(place + 1) == Some(&first)) && last + 1 == first
    };
    let mut joined: Vec<(RangeInclusive<u64>, bool)> = Vec::new();
    for (range, is_new) in ranges {
        match joined.last_mut() {
            Some((before, has_new)) if are_next(*before.end(), *range.start()) => {
                *before = *before.start()..=*range.end();
                *has_new |= is_new;
            }
            _ => joined.push((range, is_new)),
        }
    }
    let new = joined.into_iter().filter(|(_, is_new)| *is_new);
    new.filter_map(|(range, _)| fold(session, range)).collect()
}

/// The fold of the messages at these positions; `None` where no handle names a call in it.
fn fold(session: &Session, range: RangeInclusive<u64>) -> Option<Fold> {
    let facts = || range.clone().filter_map(|at| session.result(at));
    let handles = || facts().filter_map(|fact| handle(session, fact));
    let is_step = |at: &u64| {
        session.chat().get(*at).is_some_and(|m| matches!(m.kind, MessageKind::Assistant))
    };
    let steps = range.clone().filter(is_step).count() as u64;
    let deeds = deeds(session, facts());
    let line = forms::fold_line(handles().next()?, handles().next_back()?, steps, &deeds);
    Some(Fold { first: *range.start(), last: *range.end(), line })
}

fn handle(session: &Session, fact: &ResultFact) -> Option<Handle> {
    fact.object.as_ref().and_then(|object| session.handle(object))
}

/// A step whose end is not reached.
struct Open<'a> {
    step: Step,
    /// Calls without a result.
    calls: Vec<&'a str>,
    is_named: bool,
}

/// Tokens of the head of a line, and of a deed besides its words.
const HEAD_TOKENS: u64 = 10;
const DEED_TOKENS: u64 = 4;

impl<'a> Open<'a> {
    fn new(index: usize, at: u64, message: &'a ChatMessage, tokens: u64) -> Self {
        let step = Step { first: at, last: at, index, tokens, line_tokens: HEAD_TOKENS };
        let calls = message.key.calls.iter().map(String::as_str).collect();
        Self { step, calls, is_named: false }
    }

    /// With a result; `None` where it answers no call of the step, or the step is known by no handle at its end.
    fn with(
        mut self,
        session: &Session,
        at: u64,
        message: &ChatMessage,
        fact: &ResultFact,
        tokens: u64,
    ) -> Option<Self> {
        let call = message.key.calls.first()?;
        let place = self.calls.iter().position(|id| id == call)?;
        self.calls.remove(place);
        self.is_named |= handle(session, fact).is_some();
        let is_next = at == self.step.last + 1;
        self.step.last = at;
        self.step.tokens += tokens;
        self.step.line_tokens += deed_tokens(session, fact);
        (is_next && (self.is_named || !self.calls.is_empty())).then_some(self)
    }
}

/// Tokens of a deed, about: of its words, or of a handle and a path.
fn deed_tokens(session: &Session, fact: &ResultFact) -> u64 {
    let object = match &fact.shows {
        Shows::File { object, .. } | Shows::Change { object } => session.index().get(object),
        Shows::Own | Shows::Activated { .. } => None,
    };
    let path = match object.map(|entry| &entry.subject) {
        Some(Subject::File { path, .. }) => session.shown_path(path),
        _ => "",
    };
    let brief = fact.object.as_ref().map_or("", |object| session.brief(object));
    DEED_TOKENS + (brief.len() + path.len()) as u64 / 4
}

fn may_fold(session: &Session, at: u64, message: &ChatMessage) -> bool {
    !message.withheld && !message.is_volatile() && !session.folds().hide(at)
}

/// Whether something pinned stands at a result.
fn holds_pinned(session: &Session, at: u64, fact: &ResultFact) -> bool {
    let sets = session.sets();
    if sets.pinned().is_empty() {
        return false;
    }
    let shown = session.showing_as(at, session.treatment(at)).map(|showing| showing.object);
    let own = fact.object.iter().filter(|_| fact.shows == Shows::Own);
    shown.iter().chain(own).any(|object| sets.is_pinned(object))
}
