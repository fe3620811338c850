//! Compares the quick check with the full decision before every call of random sessions.

use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::*;
use crate::window::Filling;
use base::object::{Hash, ObjectId};
use config::Reuse;
use session::{ActiveView, Event, MessageKey, Note};

/// The same chance for everything.
#[derive(Debug)]
struct Even(f64);

impl Chances for Even {
    fn of_output(&self, _: &Session, _: u64) -> Option<f64> {
        Some(self.0)
    }

    fn of_step(&self, _: &Session, _: RangeInclusive<u64>) -> Option<f64> {
        Some(self.0)
    }
}

/// What happens between two calls.
#[derive(Debug, Clone)]
enum Op {
    /// A step: each result's tokens, the tokens of its images that stay, and whether a line can
    /// replace it.
    Step(Vec<(u64, u64, bool)>),
    /// The model answers and a person speaks; a message of the host may come before that.
    Turn(u64, bool),
    Pin(u64),
    Deactivate(u64),
    /// A note of so many tokens in the newest message, about one of a few files.
    Note(u64, u64),
}

fn op() -> impl Strategy<Value = Op> {
    let result = (prop_oneof![0..90_u64, 100..4_000_u64], 0..60_u64, prop::bool::weighted(0.9));
    prop_oneof![
        8 => prop::collection::vec(result, 1..3).prop_map(Op::Step),
        2 => (1..300_u64, prop::bool::weighted(0.1)).prop_map(|(tokens, other)| Op::Turn(tokens, other)),
        1 => (0..60_u64).prop_map(Op::Pin),
        1 => (0..60_u64).prop_map(Op::Deactivate),
        3 => (1..400_u64, 0..3_u64).prop_map(|(tokens, file)| Op::Note(tokens, file)),
    ]
}

/// What a decision depends on besides the session and the call.
#[derive(Debug, Clone)]
struct Conditions {
    keep_results: u64,
    collapse_tokens: u64,
    prices: Prices,
    window: Option<u64>,
    free: f64,
    first_token_tokens: Option<u64>,
    rules: ModelRules,
    hazard: f64,
    /// The cache is gone in one of this many calls.
    cold: usize,
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let prices = (
        prop::sample::select(vec![0.0, 0.1, 0.5]),
        prop::sample::select(vec![1.0, 1.25]),
        prop::sample::select(vec![Reuse::AnyPrefix, Reuse::Breakpoints]),
    );
    let prices = prices.prop_map(|(read, write, reuse)| Prices {
        read,
        write,
        reuse,
        lifetime_seconds: None,
        tiers: Vec::new(),
    });
    let rules = (prop::bool::weighted(0.2), prop::bool::weighted(0.2))
        .prop_map(|(bound_thinking, positional_ids)| ModelRules { bound_thinking, positional_ids });
    let settings = (0..4_u64, prop::sample::select(vec![0, 50, 600]));
    let window = prop::option::of(8_000..40_000_u64);
    let rest = (prop::sample::select(vec![0.0, 0.01]), 3..30_usize);
    let free = prop::sample::select(vec![0.0, 3_000.0, 1e9]);
    let first_token_tokens = prop::option::of(100..5_000_u64);
    (settings, prices, window, free, first_token_tokens, rules, rest).prop_map(
        |(settings, prices, window, free, first_token_tokens, rules, rest)| Conditions {
            keep_results: settings.0,
            collapse_tokens: settings.1,
            prices,
            window,
            free,
            first_token_tokens,
            rules,
            hazard: rest.0,
            cold: rest.1,
        },
    )
}

fn append(session: &mut Session, kind: MessageKind, calls: Vec<String>, tokens: u64) {
    let digest = Hash::of(session.chat().len().to_string());
    let key = MessageKey { role: String::new(), timestamp: None, calls };
    let (withheld, kept, ours, opening) = (false, false, 0, None);
    session.apply(&Event::Message { key, digest, kind, tokens, withheld, kept, ours, opening });
}

fn append_step(session: &mut Session, results: &[(u64, u64, bool)]) {
    let at = session.chat().len();
    let calls: Vec<String> = (0..results.len()).map(|call| format!("{at}.{call}")).collect();
    append(session, MessageKind::Assistant, calls.clone(), 40);
    for (call, (tokens, kept, is_output)) in calls.into_iter().zip(results) {
        let mut fact = crate::bash_result(&format!("call-{}", session.chat().len()));
        fact.is_output = *is_output;
        fact.kept_tokens = (*kept > 40).then_some(*kept);
        session.apply(&Event::Toolcall {
            object: fact.object.clone().unwrap(),
            tool: fact.tool.clone(),
            ok: true,
            version: Hash::of(""),
            shows: None,
            brief: String::new(),
        });
        append(session, MessageKind::Result(fact), vec![call], *tokens);
    }
}

fn take(session: &mut Session, op: &Op) {
    let object = |at: &u64| ObjectId::new(format!("call-{at}"));
    match op {
        Op::Step(results) => append_step(session, results),
        Op::Turn(tokens, other) => {
            append(session, MessageKind::Assistant, Vec::new(), *tokens);
            if *other {
                append(session, MessageKind::Other, Vec::new(), 30);
            }
            append(session, MessageKind::User, Vec::new(), 20);
        }
        Op::Pin(at) => session.apply(&Event::Activated {
            object: object(at),
            version: Hash::of(""),
            view: ActiveView::Whole,
            pin: true,
            call: String::new(),
            ranges: Vec::new(),
            cut: Vec::new(),
            answer: None,
            tokens: 0,
            heading: None,
        }),
        Op::Deactivate(at) => session.apply(&Event::Deactivated { object: object(at) }),
        Op::Note(tokens, file) => {
            let about = vec![ObjectId::new(format!("file-{file}"))];
            let note = Note { about, ..Note::of(String::new(), *tokens) };
            session.apply(&Event::noted(session.chat().len() - 1, note));
        }
    }
}

/// Tokens of each message of the window as it would be sent.
fn shown(session: &Session) -> Vec<u64> {
    let sent = |(at, message): (u64, &session::ChatMessage)| match (
        session.is_hidden(at),
        session.treatment(at),
    ) {
        (true, _) => 0,
        (_, Treatment::Reference) => items::LINE_TOKENS + session.note_tokens(at),
        _ => message.tokens + session.note_tokens(at),
    };
    session.window().map(sent).collect()
}

fn start(session: &mut Session, new: NewEpoch) {
    session.apply(&Event::Epoch {
        number: session.epoch() + 1,
        reason: new.reason,
        keep_notes: None,
        spent: Vec::new(),
        notes_before: new.notes_before,
        treatments: new.treatments,
        labels: Vec::new(),
        folds: new.folds,
    });
}

proptest! {
    #![proptest_config(testing::cases::config(48, 29))]

    #[test]
    fn where_the_quick_check_says_no_the_full_decision_does_too(
        ops in prop::collection::vec(op(), 1..60), given in conditions(),
    ) {
        let mut session = Session::default();
        append(&mut session, MessageKind::User, Vec::new(), 20);
        let mut before = 0;
        for (call, op) in ops.iter().enumerate() {
            take(&mut session, op);
            let tokens = shown(&session);
            let cold = (call % given.cold + 1 == given.cold).then_some(before / 2);
            let filling = Filling { share: 0.7, step: 1_000, asks: false };
            let marks = given.window.map(|window| Marks::of(window, window / 5, filling));
            let terms = EpochTerms {
                keep_results: given.keep_results,
                collapse_tokens: given.collapse_tokens,
                marks,
                rewrite: None,
                first_new: before,
                cold_from: cold.unwrap_or(before),
                kept_from: usize::MAX,
                prices: &given.prices,
                warm: cold.is_none(),
                fixed_tokens: 1_000,
                bound: Bound { ours: 0.0, plain: 0.0, overhead: 0.0, share: 0.0, free: given.free },
                first_token_tokens: given.first_token_tokens,
                rules: given.rules,
                budgets: Budgets::of(marks.as_ref(), 16_000),
                fault_tokens: 40_000.0,
                hazards: &Even(given.hazard),
            };
            let decided = decide_in_full(&session, &tokens, &terms);
            if !prospect::may_start(&session, &tokens, &terms) {
                prop_assert_eq!(&decided, &None, "a look ahead errs at call {}", call);
            }
            before = session.chat().window.len();
            if let Some(new) = decided {
                start(&mut session, new);
            }
        }
    }
}

#[test]
fn a_compaction_costs_its_request_and_a_new_cache() {
    let prices = Prices {
        read: 0.1,
        write: 1.25,
        reuse: Reuse::AnyPrefix,
        lifetime_seconds: None,
        tiers: Vec::new(),
    };
    let cost = compacted_room_cost(42_000, &prices).unwrap();
    assert!((cost - (22_000.0 + 7_500.0 + 27_500.0) / 20_000.0).abs() < 1e-9, "{cost}");
    assert_eq!(compacted_room_cost(22_000, &prices), None, "no room");
}
