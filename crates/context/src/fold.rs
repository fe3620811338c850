//! Which steps can fold, and which lines replace them. Pure.
//!
//! Must not decide when steps fold; an epoch does. After a fold, roles still alternate and every
//! call still has its result, because providers refuse other requests.

use std::ops::RangeInclusive;

use super::deeds::deeds;
use super::forms;
use base::object::Handle;
use session::{ChatMessage, Fold, MessageKind, ResultFact, Session, Shows};

/// What folding depends on besides the session.
#[derive(Clone, Copy)]
pub struct FoldTerms<'a> {
    /// Number of newest steps that stay.
    pub keep_steps: u64,
    /// Whether the steps after the newest user message stay, because the model's thinking is bound
    /// to its place.
    pub keep_turn: bool,
    /// Whether the output at a position keeps its step from folding. The second argument is its
    /// tokens as shown.
    pub stands: &'a dyn Fn(u64, u64) -> bool,
}

/// A step that can fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldStep {
    /// Position of its first message in the chat, the model's answer.
    pub first: u64,
    /// Position of its last message, a result.
    pub last: u64,
    /// Index of its first message in the window.
    pub index: usize,
    /// Tokens of its messages as shown now.
    pub tokens: u64,
    /// Approximate tokens that it adds to a fold line. Exact counts would take longer than the
    /// decision.
    pub line_tokens: u64,
}

impl FoldStep {
    /// Tokens that folding it frees.
    pub fn gain(&self) -> u64 {
        self.tokens.saturating_sub(self.line_tokens)
    }
}

/// The steps that can fold, in window order.
///
/// A step can fold if all its calls are answered, an answer of the model follows it, and a user
/// message before it can carry its line. It stays if it is among the newest, is folded already, or
/// holds an image or an output that keeps it. It also stays if one of its messages is withheld,
/// changes on every call, or is neither a call nor a result.
///
/// `shown`: tokens of each message of the window as it would be sent now, in order.
pub fn foldable_steps(session: &Session, shown: &[u64], terms: &FoldTerms<'_>) -> Vec<FoldStep> {
    let newest = session.window().next_back().map_or(0, |(_, message)| u64::from(message.step));
    let mut steps: Vec<FoldStep> = Vec::new();
    let mut before_turn = 0;
    let mut open: Option<Open<'_>> = None;
    let mut carries = false;
    for (index, ((at, message), tokens)) in session.window().zip(shown).enumerate() {
        if session.chat().is_passing(at) {
            continue;
        }
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
                    && fact.is_output
                    && fact.kept_tokens.is_none()
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

/// The folds of these steps, which are in window order. Adjacent steps share one line, including
/// steps already folded. A line names each file and each command once.
pub fn folds_of(session: &Session, steps: &[FoldStep]) -> Vec<Fold> {
    let mut ranges: Vec<(RangeInclusive<u64>, bool)> =
        session.folds().all().map(|fold| (fold.first..=fold.last, false)).collect();
    ranges.extend(steps.iter().map(|step| (step.first..=step.last, true)));
    ranges.sort_by_key(|(range, _)| *range.start());
    let chat = session.chat();
    let own_index = |at: u64| Some(chat.passing.own_before(chat.index_of(at)?));
    let are_next = |last: u64, first: u64| {
        let place = own_index(last);
        place.is_some_and(|place| chat.own_window.get(place + 1) == Some(&first))
            && chat.follows(first, last)
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
    let mut next = session.index().next_segment();
    let mut folds = Vec::new();
    for (range, _) in joined.into_iter().filter(|(_, is_new)| *is_new) {
        // Folded steps get segments in this order, unless one exists already.
        let known = session.index().segment(*range.start(), *range.end());
        let segment = known.map_or(next, |entry| entry.handle);
        let Some(fold) = fold(session, range, segment) else { continue };
        next.number += u32::from(segment == next);
        folds.push(fold);
    }
    folds
}

/// The fold of the messages at these positions; `None` if none of its calls has a handle.
fn fold(session: &Session, range: RangeInclusive<u64>, segment: Handle) -> Option<Fold> {
    let facts = || range.clone().filter_map(|at| session.result(at));
    let handles = || facts().filter_map(|fact| handle(session, fact));
    let is_step = |at: &u64| session.chat().get(*at).is_some_and(ChatMessage::is_answer);
    let steps = range.clone().filter(is_step).count() as u64;
    let deeds = deeds(session, facts());
    let calls = (handles().next()?, handles().next_back()?);
    let line = forms::fold_line(calls, segment, steps, &deeds);
    Some(Fold { first: *range.start(), last: *range.end(), line })
}

fn handle(session: &Session, fact: &ResultFact) -> Option<Handle> {
    fact.object.as_ref().and_then(|object| session.handle(object))
}

/// A step whose end is not yet reached.
struct Open<'a> {
    step: FoldStep,
    /// Calls without a result.
    calls: Vec<&'a str>,
    is_named: bool,
}

/// Tokens of a line's head, and of a deed in addition to its words.
const HEAD_TOKENS: u64 = 10;
const DEED_TOKENS: u64 = 4;

impl<'a> Open<'a> {
    fn new(index: usize, at: u64, message: &'a ChatMessage, tokens: u64) -> Self {
        let step = FoldStep { first: at, last: at, index, tokens, line_tokens: HEAD_TOKENS };
        let calls = message.key.calls.iter().map(String::as_str).collect();
        Self { step, calls, is_named: false }
    }

    /// The step with one more result; `None` if the result answers none of its calls, or if the
    /// step ends without a handle.
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

/// Approximate tokens of a deed: its words, or a handle and a path.
fn deed_tokens(session: &Session, fact: &ResultFact) -> u64 {
    let file = match &fact.shows {
        Shows::File { object, .. } | Shows::Change { object } => session.shown_file(object),
        Shows::Own | Shows::Activated { .. } => None,
    };
    let path = file.map_or("", |(_, path)| path);
    let brief = fact.object.as_ref().map_or("", |object| session.brief(object));
    DEED_TOKENS + (brief.len() + path.len()) as u64 / 4
}

fn may_fold(session: &Session, at: u64, message: &ChatMessage) -> bool {
    !session.is_hidden(at) && !message.withheld && !message.is_volatile()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::object::Hash;
    use session::{Event, MessageKey};

    /// A message: `u` of a person, `a` an answer, `c` an answer with a call, `d` one with two, `r`
    /// a result, `o` any other.
    fn message(session: &mut Session, role: char, open: &mut Vec<String>) {
        let at = session.chat().len();
        let mut calls: Vec<String> = Vec::new();
        let kind = match role {
            'u' => MessageKind::User,
            'o' => MessageKind::Other,
            'r' => {
                calls.push(if open.is_empty() { String::new() } else { open.remove(0) });
                MessageKind::Result(result(session, at))
            }
            _ => {
                calls.extend((0.."acd".find(role).unwrap()).map(|call| format!("{at}.{call}")));
                *open = calls.clone();
                MessageKind::Assistant
            }
        };
        let key = MessageKey { role: role.into(), timestamp: None, calls };
        let digest = Hash::of(at.to_string());
        session.apply(&Event::Message {
            key,
            digest,
            kind,
            tokens: 9,
            withheld: false,
            kept: false,
            ours: 0,
            opening: None,
        });
    }

    fn result(session: &mut Session, at: u64) -> ResultFact {
        let fact = crate::bash_result(&format!("call-{at}"));
        session.apply(&Event::Toolcall {
            object: fact.object.clone().unwrap(),
            tool: fact.tool.clone(),
            ok: true,
            version: Hash::of(""),
            shows: None,
            brief: format!("$ run {}", at % 3),
        });
        fact
    }

    fn session(roles: &str) -> Session {
        let (mut session, mut open) = (Session::default(), Vec::new());
        roles.chars().for_each(|role| message(&mut session, role, &mut open));
        session
    }

    fn foldable(session: &Session, keep_steps: u64, keep_turn: bool) -> Vec<FoldStep> {
        let terms = FoldTerms { keep_steps, keep_turn, stands: &|_, _| false };
        foldable_steps(session, &vec![9; session.chat().window.len()], &terms)
    }

    fn ranges(steps: &[FoldStep]) -> Vec<(u64, u64)> {
        steps.iter().map(|step| (step.first, step.last)).collect()
    }

    #[test]
    fn whole_steps_before_an_answer_can_fold() {
        for (roles, expected) in [
            ("ucrcra", vec![(1, 2), (3, 4)]),
            ("ucrdrra", vec![(1, 2), (3, 5)]),
            // The newest step has no answer after it.
            ("ucrcr", vec![(1, 2)]),
            // The person wrote right after the step.
            ("ucrcruca", vec![(1, 2)]),
            // A final answer is not a step.
            ("uauaucra", vec![(5, 6)]),
            // No message can carry the line.
            ("crcra", vec![]),
            ("ocrcra", vec![]),
            // Something stands inside the step or right after it.
            ("udrorcra", vec![(5, 6)]),
            ("ucrocra", vec![(4, 5)]),
            ("uocrcra", vec![(2, 3), (4, 5)]),
            // A call has no result.
            ("udrcra", vec![(3, 4)]),
            ("udcrra", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(ranges(&foldable(&session(roles), 0, false)), expected, "{roles}");
        }
    }

    #[test]
    fn the_newest_steps_stay_and_where_thinking_is_bound_the_turn() {
        let session = session("ucrcrucrcra");
        assert_eq!(ranges(&foldable(&session, 0, false)), [(1, 2), (6, 7), (8, 9)]);
        assert_eq!(ranges(&foldable(&session, 2, false)), [(1, 2), (6, 7)]);
        assert_eq!(ranges(&foldable(&session, 0, true)), [(1, 2)]);
    }

    #[test]
    fn standing_or_withheld_content_keeps_its_step() {
        let mut session = session("ucrcrcra");
        let terms = FoldTerms {
            keep_steps: 0,
            keep_turn: false,
            stands: &|at, tokens| at == 4 && tokens == 9,
        };
        assert_eq!(ranges(&foldable_steps(&session, &[9; 8], &terms)), [(1, 2), (5, 6)]);
        let digest = Hash::of("");
        let kind = MessageKind::Assistant;
        session.apply(&Event::Edited { at: 5, digest, kind, tokens: 9, withheld: true });
        assert_eq!(ranges(&foldable(&session, 0, false)), [(1, 2), (3, 4)]);
    }

    #[test]
    fn a_message_that_can_no_longer_carry_a_line_unfolds_its_steps() {
        let mut session = session("ucrcra");
        let folds = folds_of(&session, &foldable(&session, 0, false));
        session = session.with_folds(&folds).into_owned();
        assert!(session.folds().hide(1) && session.folds().lines(0).is_some());
        let digest = Hash::of("");
        let kind = MessageKind::User;
        session.apply(&Event::Edited { at: 0, digest, kind, tokens: 9, withheld: true });
        assert!(session.folds().is_empty());
        assert_eq!(foldable(&session, 0, false), []);
    }

    #[test]
    fn steps_next_to_each_other_get_one_line() {
        let session = session("ucrcrcrcrucrcra");
        let steps = foldable(&session, 0, false);
        assert_eq!(ranges(&steps), [(1, 2), (3, 4), (5, 6), (10, 11), (12, 13)]);
        let folds = folds_of(&session, &[steps[0], steps[2], steps[4]]);
        let lines: Vec<&str> = folds.iter().map(|fold| fold.line.as_str()).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        [t1] s1 · 1 step: run 2 ok
        [t3] s2 · 1 step: run 0 ok
        [t6] s3 · 1 step: run 1 ok
        ");
        let session = session.with_folds(&folds).into_owned();
        let again = foldable(&session, 0, false);
        assert_eq!(ranges(&again), [(3, 4), (10, 11)]);
        let folds = folds_of(&session, &again[..1]);
        assert_eq!(folds.iter().map(|fold| (fold.first, fold.last)).collect::<Vec<_>>(), [(1, 6)]);
        let session = session.with_folds(&folds).into_owned();
        insta::assert_snapshot!(session.folds().lines(0).unwrap(), @"[t1-t3] s1 · 3 steps: run 2 ok, run 1 ok, run 0 ok");
        assert_eq!(session.folds().all().count(), 2);
    }
}
