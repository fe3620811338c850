//! The cost with perfect foresight, on synthetic sessions where it is computed by hand.

use std::collections::BTreeMap;
use std::path::Path;

use config::{Layout, Prices, Settings};
use context::tokens::Counter;
use proptest::prelude::*;
use replay::measure::{FIXED_TOKENS, Measure};
use replay::options::{Replaying, Sender};
use replay::play::{PlayedRequest, Playing, play};
use replay::run::{foreseen, replay};
use replay::transcript::Transcript;
use serde_json::json;

/// A line that the model may need.
const LINE: &str = "let total = prices.iter().sum::<u64>() + shipping;";
/// Tokens of the output that may leave. Everything else is short.
const OUTPUT_TOKENS: usize = 10_000;
/// Tokens of system prompt and tools of the plain host.
const FIXED: f64 = 4_000.0;
/// About what a reference line takes; the sums below hold up to as much for each request that has
/// one.
const REFERENCE: f64 = 40.0;

/// No preview, no overhead, no bound, and only the newest result stays in any case.
fn replaying() -> Replaying {
    Replaying {
        sender: Sender::Ours(Layout::Log),
        prices: Prices::preset("openai").unwrap(),
        window_tokens: None,
        counter: Counter::Characters,
        host_tokens: FIXED_TOKENS,
        overhead_tokens: 0,
        settings: Settings {
            keep_results: 1,
            collapse_tokens: 100,
            preview_tokens: 0,
            extra_share: 1e6,
            ..Settings::default()
        },
        dump: None,
        snapshots: None,
    }
}

/// A session of commands; `outputs`: which calls print a long output, and of how many tokens;
/// `needs`: which calls need a line of which output. All other messages are short. A need is a line
/// of its own, so that saying it once does not end the others.
fn session(calls: usize, outputs: &[(usize, usize)], needs: &[(usize, usize)]) -> Transcript {
    let line = |call: usize, output: usize| format!("{LINE} {output} {call}");
    let mut messages =
        vec![json!({ "role": "user", "content": "Add the shipping.", "timestamp": 0 })];
    for call in 0..calls {
        let of = |need: &&(usize, usize)| need.0 == call;
        let said: Vec<String> = needs.iter().filter(of).map(|need| line(need.0, need.1)).collect();
        let said = if said.is_empty() { "ok".to_owned() } else { said.join("\n") };
        let asked = json!({ "type": "toolCall", "id": format!("c{call}"), "name": "bash", "arguments": { "command": format!("make {call}") } });
        messages.push(json!({ "role": "assistant", "timestamp": 0, "content": [{ "type": "text", "text": said }, asked] }));
        let long = outputs.iter().find(|output| output.0 == call);
        let shown = long.map_or_else(
            || "done".to_owned(),
            |(_, tokens)| {
                let lines: Vec<String> = (0..calls).map(|need| line(need, call)).collect();
                padded(&lines.join("\n"), *tokens, call)
            },
        );
        messages.push(json!({ "role": "toolResult", "toolCallId": format!("c{call}"), "toolName": "bash", "isError": false,
            "timestamp": 0, "content": [{ "type": "text", "text": shown }] }));
    }
    let header = json!({ "session": { "id": "made" } });
    let lines = std::iter::once(&header).chain(&messages).map(ToString::to_string);
    let text = lines.collect::<Vec<_>>().join("\n");
    Transcript::parse(Path::new("made.jsonl"), text.as_bytes()).unwrap()
}

/// The text with lines behind it that are too short to be needed: a result of this many tokens, if
/// it has not more already. No other call's result has these lines: what two have in common stands
/// once, and leaves with the first of them.
fn padded(text: &str, tokens: usize, call: usize) -> String {
    let left = (tokens * 4).saturating_sub(text.chars().count() + "toolResult".len() + 1);
    let line = format!("ab {call}\n");
    text.chars().chain("\n".chars()).chain(line.chars().cycle().take(left)).collect()
}

/// What foresight saves of the plain bill, and its faults, in a session whose first call prints the
/// output and where these calls need it.
fn saved(calls: usize, needs: &[usize]) -> (f64, u64) {
    let needs: Vec<(usize, usize)> = needs.iter().map(|call| (*call, 0)).collect();
    let told = foreseen(&session(calls, &[(0, OUTPUT_TOKENS)], &needs), &replaying(), &[]).unwrap();
    (told.bill.plain - told.bill.ours, told.faults.strict)
}

/// The output stands from call 1 on, which answers it. From call 2 on it may leave. The call at
/// which it leaves sends what is left of 10,000 tokens less, but writes the few behind it anew: it
/// saves 10,000 × 0.1. So does each later call.
fn saved_from(first: usize, calls: usize) -> f64 {
    let calls = u32::try_from(calls - first).unwrap();
    f64::from(calls) * 1_000.0
}

fn assert_close(found: f64, expected: f64, calls: usize, what: &str) {
    // The reference line is written once and read by each later call; so are the short messages
    // that are written anew.
    let most = 2.0 * REFERENCE + 0.1 * REFERENCE * f64::from(u32::try_from(calls).unwrap());
    assert!((expected - found).abs() < most, "{what}: {found} is not {expected}");
}

#[test]
fn what_is_never_needed_leaves_as_soon_as_it_may() {
    let (saved, faults) = saved(20, &[]);
    assert_close(saved, saved_from(2, 20), 20, "leaves at call 2");
    assert_eq!(faults, 0);
}

#[test]
fn what_is_needed_soon_stays_until_then_and_not_longer() {
    // A fault costs the request again, some 4,060 tokens × 0.1, and 60 + 2,000 written: 2,466. At
    // call 2, dropping would save 1,000 at calls 2 and 3 before it.
    let (saved, faults) = saved(20, &[3]);
    assert_close(saved, saved_from(4, 20), 20, "leaves at call 4");
    assert_eq!(faults, 0);
}

#[test]
fn outputs_needed_late_leave_and_return_if_that_is_cheaper() {
    // Dropping saves 3,000 at calls 2, 3 and 4, and costs a fault.
    let (saved, faults) = saved(20, &[4]);
    let fault = (FIXED + 150.0) * 0.1 + 2_060.0;
    assert_close(saved, saved_from(2, 20) - fault, 20, "leaves at call 2 with a fault at call 4");
    assert_eq!(faults, 1);
    assert!(saved > saved_from(5, 20), "staying until call 4 would save less");
}

#[test]
fn each_need_is_weighed_up_to_itself() {
    let (saved, faults) = saved(20, &[3, 19]);
    let fault = (FIXED + 300.0) * 0.1 + 2_060.0;
    assert_close(saved, saved_from(4, 20) - fault, 20, "leaves at call 4, a fault at call 19");
    assert_eq!(faults, 1);
}

/// A fault of foresight.
struct Fault {
    call: usize,
    cost: f64,
    /// The messages that were missing, and the call at which each had left.
    sources: Vec<(u64, usize)>,
}

fn faults(session: &Transcript) -> Vec<Fault> {
    let replaying = replaying();
    let mut measure = Measure::new(&session.messages, &replaying, &[]);
    let mut left: BTreeMap<u64, usize> = BTreeMap::new();
    let mut found = Vec::new();
    let playing = Playing { foresees: true, ..replaying.playing() };
    drop(
        play(session, &playing, &mut |played| {
            let sent = played.changes.iter().flat_map(|change| &change.insert);
            let changed = sent.filter_map(|sent| match sent {
                PlayedRequest::Changed { index, .. } => Some(*index as u64),
                _ => None,
            });
            for index in changed {
                left.entry(index).or_insert(played.call);
            }
            if let Some(fault) = measure.call(&played).ours.fault {
                let since =
                    |source: &u64| (*source, left.get(source).copied().unwrap_or(played.call));
                let sources = fault.sources.iter().map(since).collect();
                found.push(Fault { call: played.call, cost: fault.cost, sources });
            }
            Ok(())
        })
        .unwrap(),
    );
    found
}

proptest! {
    #![proptest_config(testing::cases::config(6, 1))]

    #[test]
    fn each_fault_of_foresight_costs_less_than_leaving_saved(
        outputs in prop::collection::btree_map(0_usize..20, 1_500_usize..12_000, 1..5),
        asked in prop::collection::vec((1_usize..30, any::<prop::sample::Index>()), 0..6),
    ) {
        let outputs: Vec<(usize, usize)> = outputs.into_iter().collect();
        let mut needs: Vec<(usize, usize)> =
            asked.iter().map(|(call, which)| (*call, which.get(&outputs).0)).collect();
        needs.retain(|(call, output)| call > output);
        needs.sort_unstable();
        needs.dedup();
        let session = session(30, &outputs, &needs);
        let mut paid: BTreeMap<u64, f64> = BTreeMap::new();
        for Fault { call, cost, sources } in faults(&session) {
            let saved = |(source, left): &(u64, usize)| {
                let tokens = session.messages[usize::try_from(*source).unwrap()].chars().count() / 4;
                let calls = f64::from(u32::try_from(call + 1 - left).unwrap());
                0.1 * f64::from(u32::try_from(tokens).unwrap()) * calls
            };
            let saved: f64 = sources.iter().map(saved).sum();
            let before: f64 = sources.iter().filter_map(|(source, _)| paid.get(source)).sum();
            // The price of a fault was known for the request as it stood when the output left; it
            // has grown since.
            prop_assert!(cost + before <= saved * 1.25 + 100.0, "call {call}: {cost} + {before} for {saved}");
            for (source, _) in &sources {
                *paid.entry(*source).or_default() += cost;
            }
        }
    }
}

#[test]
fn guessing_costs_no_less_than_knowing() {
    for needs in [&[][..], &[3], &[4], &[3, 19], &[10, 11, 12]] {
        let needs: Vec<(usize, usize)> = needs.iter().map(|call| (*call, 0)).collect();
        let session = session(20, &[(0, OUTPUT_TOKENS)], &needs);
        let (ours, told) = (
            replay(&session, &replaying(), &[]).unwrap(),
            foreseen(&session, &replaying(), &[]).unwrap(),
        );
        assert!(told.bill.ours <= ours.bill.ours + 1e-9, "{needs:?}: {told:?} {:?}", ours.bill);
        assert!((told.bill.plain - ours.bill.plain).abs() < 1e-9, "{needs:?}");
    }
}
