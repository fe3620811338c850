//! Messages that another extension puts into the list and takes out again: they go out in their
//! places, and the rest of the list is handled as without them.

use config::{PriceSetting, Settings};
use live::Notice;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::host::{Host, uncached};
use crate::shapes::text_of;

/// A host whose list another extension changes at each call, and what it puts in.
struct Visited {
    host: Host,
    /// The host's own messages.
    own: Vec<Value>,
    /// Each request without what was put in.
    requests: Vec<Vec<Value>>,
    notices: Vec<Notice>,
}

impl Visited {
    fn new(settings: Settings) -> Self {
        let mut host = Host::new(settings);
        host.rewrites = true;
        Self { host, own: Vec::new(), requests: Vec::new(), notices: Vec::new() }
    }

    fn with(prices: PriceSetting) -> Self {
        Self::new(Settings { prices, keep_results: 2, collapse_tokens: 200, ..Settings::default() })
    }

    fn own(&mut self, add: impl FnOnce(&mut Host)) {
        self.host.messages = std::mem::take(&mut self.own);
        add(&mut self.host);
        self.own = self.host.messages.clone();
    }

    /// Sends the list with messages at these indexes of what is sent.
    fn send_with(&mut self, visitors: &[(usize, Value)]) {
        self.host.messages = self.own.clone();
        for (index, visitor) in visitors {
            self.host.messages.insert(*index, visitor.clone());
        }
        let mut sent = self.host.send();
        for (_, visitor) in visitors {
            let place = sent.iter().position(|message| message == visitor);
            sent.remove(place.unwrap_or_else(|| panic!("{visitor} is not sent")));
        }
        self.requests.push(sent);
        self.notices.append(&mut self.host.notices);
    }

    /// A step with an output of about this many tokens.
    fn step(&mut self, number: usize, tokens: usize) {
        let lines = (0..tokens / 8).map(|line| format!("line {line} of run {number}"));
        let output = lines.collect::<Vec<_>>().join("\n");
        let args = json!({ "command": format!("run {number}") });
        self.own(|host| drop(host.tool("bash", &args, &output)));
    }

    fn epochs(&self) -> u32 {
        self.host.live.state().epoch()
    }

    fn ratio(&self) -> f64 {
        self.host.live.state().bill().ratio().unwrap()
    }
}

fn is_rewrite(notice: &Notice) -> bool {
    matches!(notice, Notice::HostRewrote { .. })
}

fn visitor(role: &str, time: usize, text: &str) -> Value {
    let mut visitor = json!({ "role": role, "content": text, "timestamp": 1_000_000 + time });
    if role == "custom" {
        visitor["customType"] = json!("clock");
    }
    visitor
}

/// What another extension puts into a list of this length before the call of this number.
type Puts = fn(call: usize, len: usize) -> Vec<(usize, Value)>;

fn state(call: usize) -> String {
    format!("State {call}: {call} findings, {} ms", 1_000 + call * 17)
}

/// Three turns of some steps, with what is put in before each call.
fn turns(prices: PriceSetting, puts: Puts) -> Visited {
    let mut visited = Visited::with(prices);
    let mut call = 0;
    for turn in 0..3 {
        visited.own(|host| host.user(&format!("Do the long work, part {turn}.")));
        for step in 0..14 {
            call += 1;
            visited.send_with(&puts(call, visited.own.len()));
            visited.step(turn * 100 + step, 600);
        }
        call += 1;
        visited.send_with(&puts(call, visited.own.len()));
        visited.own(|host| host.say("Done so far."));
    }
    visited
}

/// Each way of putting messages in, with the share of the bill that it may add.
const WAYS: [(&str, f64, Puts); 12] = [
    ("at the end", 0.06, |call, len| vec![(len, visitor("user", call, &state(call)))]),
    ("custom at the end", 0.06, |call, len| vec![(len, visitor("custom", call, &state(call)))]),
    ("system at the end", 0.06, |call, len| vec![(len, visitor("system", call, &state(call)))]),
    ("before the last step", 0.12, |call, len| {
        vec![(len.saturating_sub(2), visitor("user", call, &state(call)))]
    }),
    ("at one time", 0.06, |call, len| vec![(len, visitor("user", 1, &state(call)))]),
    ("the same text", 0.06, |call, len| vec![(len, visitor("user", call, "Mind the plan."))]),
    ("the very same", 0.06, |_, len| vec![(len, visitor("user", 1, "Mind the plan."))]),
    ("a text that grows", 0.12, |call, len| {
        vec![(len, visitor("user", call, &format!("To do:{}", "\n- a thing".repeat(call))))]
    }),
    ("nothing in common", 0.06, |call, len| {
        let text = ["alpha", "beta", "gamma", "delta", "epsilon"][call % 5].repeat(call);
        vec![(len, visitor("user", call, &text))]
    }),
    ("at every second call", 0.06, |call, len| {
        let here = (len, visitor("user", call, &state(call)));
        if call.is_multiple_of(2) { vec![here] } else { Vec::new() }
    }),
    ("only within a turn", 0.06, |call, len| {
        let here = (len, visitor("user", call, &state(call)));
        if call % 15 == 1 { Vec::new() } else { vec![here] }
    }),
    ("two of them", 0.12, |call, len| {
        let step = (len.saturating_sub(2), visitor("custom", call, &state(call)));
        vec![step, (len + 1, visitor("user", call, &format!("It is {call} o'clock")))]
    }),
];

#[test]
fn what_comes_and_goes_leaves_the_rest_as_it_is() {
    for prices in [uncached(), PriceSetting::Named("openai".into())] {
        let without = turns(prices.clone(), |_, _| Vec::new());
        assert!(without.epochs() > 0, "the outputs leave");
        for (name, share, puts) in WAYS {
            let visited = turns(prices.clone(), puts);
            assert!(!visited.notices.iter().any(is_rewrite), "{name}: {:?}", visited.notices);
            // Behind one that stands before the end no cache holds anything: that may leave at once.
            let most = if name.ends_with("step") || name == "two of them" { 40 } else { 1 };
            assert!(visited.epochs() <= without.epochs() + most, "{name}: {}", visited.epochs());
            let (ours, theirs) = (visited.ratio(), without.ratio());
            assert!(ours <= theirs + share, "{name}: {ours} beside {theirs}");
            let chat = visited.host.live.state().chat().messages.len();
            assert!(chat <= visited.own.len() + 12, "{name}: {chat} messages");
            if prices == uncached() {
                let same = |(one, other): &(&Vec<Value>, &Vec<Value>)| one == other;
                let requests = visited.requests.iter().zip(&without.requests);
                let other = requests.clone().filter(|pair| !same(pair)).count();
                let first = requests.clone().find(|pair| !same(pair));
                let first = first.and_then(|(a, b)| a.iter().zip(b).find(|(a, b)| a != b));
                assert!(other * 8 <= requests.len(), "{name}: {other} differ: {first:#?}");
            }
        }
    }
}

#[test]
fn what_changes_the_front_at_each_call_is_told_once() {
    let mut visited = Visited::with(PriceSetting::Named("openai".into()));
    visited.own(|host| host.user("go"));
    for call in 1..30 {
        visited.send_with(&[(0, visitor("custom", call, &state(call)))]);
        visited.step(call, 200);
    }
    let told = Notice::ListChanges { at: 0, by: Some("clock".into()) };
    assert_eq!(visited.notices.iter().filter(|notice| **notice == told).count(), 1);

    let mut visited = turns(PriceSetting::Named("openai".into()), WAYS[0].2);
    visited.notices.retain(|notice| matches!(notice, Notice::ListChanges { .. }));
    assert_eq!(visited.notices, []);
}

#[test]
fn a_note_stays_though_its_message_went() {
    let mut visited = Visited::new(Settings::default());
    visited.host.write_file("a.txt", "one\ntwo\n");
    visited.own(|host| host.user("go"));
    visited.send_with(&[]);
    visited.own(|host| host.read("a.txt", None, None));
    visited.send_with(&[]);
    visited.step(1, 80);
    visited.host.write_file("a.txt", "one\n2\n");
    for call in 2..9 {
        visited.host.messages = visited.own.clone();
        visited.host.messages.push(visitor("user", call, &state(call)));
        let sent = visited.host.send();
        let noted = sent.iter().filter(|it| text_of(it).contains("a.txt changed on disk"));
        assert_eq!(noted.count(), 1, "call {call}: {sent:?}");
        if call == 5 {
            visited.host.restart();
        }
        visited.step(call, 80);
    }
    let carrier = visited.host.sent.iter().find(|it| text_of(it).contains("changed on disk"));
    assert_eq!(carrier.unwrap()["role"], "toolResult");
    let state = visited.host.live.state();
    assert_eq!(state.files().times_told(&state.index().entries[0].id), 1, "told once");
}

#[test]
fn what_a_person_writes_meanwhile_joins_the_chat() {
    let mut visited = Visited::with(uncached());
    visited.own(|host| host.user("go"));
    for call in 1..8 {
        visited.send_with(&[(visited.own.len(), visitor("user", call, &state(call)))]);
        visited.step(call, 80);
        if call == 4 {
            visited.own(|host| host.user("Please stop after the tests."));
        }
    }
    visited.own(|host| host.say("Stopped."));
    visited.own(|host| host.user("And now the docs."));
    visited.send_with(&[(visited.own.len(), visitor("user", 8, &state(8)))]);
    let chat = visited.host.live.state().chat();
    assert_eq!(chat.messages.len(), visited.own.len());
    assert_eq!(chat.turn(), 2);
    assert_eq!(chat.passing.listed().count(), 1);
}

#[test]
fn a_message_of_a_known_kind_that_stays_joins_the_chat() {
    let mut visited = Visited::with(uncached());
    visited.own(|host| host.user("go"));
    for call in 1..4 {
        visited.send_with(&[(visited.own.len(), visitor("user", call, &state(call)))]);
        visited.step(call, 80);
    }
    visited.own(|host| host.user(&state(99)));
    visited.send_with(&[]);
    let before = visited.host.live.state().chat().len();
    visited.step(4, 80);
    visited.send_with(&[]);
    assert_eq!(visited.host.live.state().chat().len(), before + 3);
    assert!(visited.host.live.state().chat().passing.is_empty());
}

#[test]
fn branches_compactions_and_edits_are_seen_beside_what_passes() {
    let start = || {
        let mut visited = Visited::with(uncached());
        visited.own(|host| host.user("first"));
        for call in 1..6 {
            visited.send_with(&[(visited.own.len(), visitor("user", call, &state(call)))]);
            visited.step(call, 80);
        }
        visited.own(|host| host.say("Done."));
        visited.own(|host| host.user("second"));
        visited.send_with(&[(visited.own.len(), visitor("user", 6, &state(6)))]);
        assert!(visited.notices.is_empty(), "{:?}", visited.notices);
        visited
    };
    let how = |visited: &mut Visited| {
        visited.send_with(&[(visited.own.len(), visitor("user", 7, &state(7)))]);
        visited.notices.iter().find_map(|notice| match notice {
            Notice::HostRewrote { how, .. } => Some(*how),
            _ => None,
        })
    };
    let mut visited = start();
    visited.own.truncate(5);
    visited.own(|host| host.user("another second"));
    assert_eq!(how(&mut visited), Some("branch"));

    let mut visited = start();
    visited.own.pop();
    visited.own(|host| host.user("another second"));
    assert_eq!(how(&mut visited), Some("branch"), "only what was just written is another");

    let mut visited = start();
    visited.own[0]["content"] = json!("first, but otherwise");
    assert_eq!(how(&mut visited), Some("edited"));

    let mut visited = start();
    let kept = visited.own.split_off(7);
    let summary = json!({ "role": "compactionSummary", "summary": "runs", "timestamp": 70 });
    visited.own = std::iter::once(summary).chain(kept).collect();
    assert_eq!(how(&mut visited), Some("compaction"));
}

#[test]
fn a_session_goes_on_with_what_passes_after_a_restart() {
    let mut visited = Visited::with(uncached());
    visited.own(|host| host.user("go"));
    for call in 1..30 {
        let place = visited.own.len() - if call > 1 { 2 } else { 0 };
        visited.send_with(&[(place, visitor("user", call, &state(call)))]);
        if call % 7 == 0 {
            visited.host.restart();
            // The same list again, as after a failure.
            visited.send_with(&[(place, visitor("user", call + 500, &state(call)))]);
        }
        visited.step(call, 200);
    }
    assert!(!visited.notices.iter().any(is_rewrite));
    let chat = visited.host.live.state().chat();
    assert!(chat.messages.len() <= visited.own.len() + 2, "{} messages", chat.len());
}

/// Calls with messages put in before each: how many steps before the end, and with which role.
fn visits(steps: usize) -> impl Strategy<Value = Vec<Vec<(usize, usize)>>> {
    prop::collection::vec(prop::collection::vec((0..=steps, 0..3usize), 0..3), 24)
}

/// The same work with these messages put in, and without.
fn with_and_without(visits: &[Vec<(usize, usize)>]) -> (Visited, Visited) {
    let (mut visited, mut without) = (Visited::with(uncached()), Visited::with(uncached()));
    for (call, visits) in visits.iter().enumerate() {
        for host in [&mut visited, &mut without] {
            if call > 0 && call % 9 == 0 {
                host.own(|host| host.say("Done."));
            }
            if call % 9 == 0 {
                host.own(|host| host.user(&format!("Part {call}.")));
            } else {
                host.step(call, 300);
            }
        }
        let mut visitors = Vec::new();
        for (number, (steps, role)) in visits.iter().enumerate() {
            let role = ["user", "custom", "system"][*role];
            let place = visited.own.len().saturating_sub(2 * steps);
            // Not between a call and its result.
            let is_inside = visited.own.get(place).is_some_and(|it| it["role"] == "toolResult");
            let time = call * 10 + number;
            let visitor = visitor(role, time, &format!("{role} {number}: {time}"));
            visitors.push((place + usize::from(is_inside), visitor));
        }
        // From the end, so that no place moves.
        visitors.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
        visited.send_with(&visitors);
        without.send_with(&[]);
    }
    (visited, without)
}

proptest! {
    #![proptest_config(testing::cases::config(8, 1))]

    #[test]
    fn messages_put_in_at_the_end_change_nothing_else(visits in visits(0)) {
        let (visited, without) = with_and_without(&visits);
        let other = visited.requests.iter().zip(&without.requests).filter(|(a, b)| a != b).count();
        prop_assert!(other <= 3, "{} requests differ", other);
        prop_assert!(visited.epochs().abs_diff(without.epochs()) <= 1);
        prop_assert_eq!(visited.notices.iter().filter(|it| is_rewrite(it)).count(), 0);
    }

    #[test]
    fn messages_put_in_anywhere_are_no_rewrite(visits in visits(3)) {
        let (visited, without) = with_and_without(&visits);
        prop_assert_eq!(visited.notices.iter().filter(|it| is_rewrite(it)).count(), 0);
        // What no cache holds behind them may leave sooner.
        prop_assert!(visited.ratio() <= without.ratio() + 0.1);
        let (requests, own) = (visited.requests.iter().flatten(), &visited.own);
        for message in requests.filter(|message| message["role"] == "assistant") {
            prop_assert!(own.contains(message));
        }
    }
}

#[test]
fn plain_compacts_what_it_has_and_nothing_that_passes() {
    let mut visited = Visited::with(PriceSetting::Named("openai".into()));
    visited.host.window = 60_000;
    visited.own(|host| host.user("Do the long work."));
    for call in 0..40 {
        // Before each answer.
        let places = (0..visited.own.len()).step_by(2).rev().map(|place| place + 1);
        let puts = places.map(|place| (place, visitor("custom", place, "Mind the plan of today.")));
        visited.send_with(&puts.collect::<Vec<_>>());
        let state = visited.host.live.state();
        if let Some(made) = state.bill().compaction {
            let own = &state.chat().own_window;
            let from = own.iter().position(|at| *at == made.from).expect("it is its own message");
            let dropped = own[..from].iter().filter_map(|at| Some(state.chat().get(*at)?.tokens));
            assert_eq!(made.dropped, dropped.sum::<u64>());
        }
        visited.step(call, 2_500);
    }
    assert!(visited.host.live.state().bill().compactions >= 2);
}
