//! The model's window, whatever its size: what leaves under pressure, what is shortened before it
//! is first sent, and that no request is longer than the window.

use base::error::Error;
use config::{Layout, PriceSetting, Settings};
use context::tokens::count;
use live::{Notice, Wanted};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::host::Host;
use testing::cases::config;

/// Pi compacts when fewer tokens are free.
const RESERVED: u64 = 16_384;

fn host(window: u64) -> Host {
    let prices = PriceSetting::Named("anthropic".into());
    let mut host = Host::new(Settings { prices, ..Settings::default() });
    host.window = window;
    host.user("go");
    host
}

/// A text of about this many tokens, which occurs nowhere else.
fn text(number: usize, tokens: usize) -> String {
    let line = |line: usize| format!("output {number}, line {line}: nothing new\n");
    (0..tokens.div_ceil(10)).map(line).collect::<Vec<_>>().concat()
}

/// Tokens of the newest request, system prompt and tools included.
fn request_tokens(host: &Host) -> u64 {
    host.live.state().bill().last.as_ref().unwrap().bill.ours.total()
}

/// The text of the last message that went out.
fn newest(host: &Host) -> String {
    host.sent.last().unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A step whose calls answer with outputs of these sizes.
fn step(host: &mut Host, number: usize, sizes: &[usize]) {
    let calls: Vec<(String, &str, Value)> = (0..sizes.len())
        .map(|part| (host.next_id(), "bash", json!({ "command": format!("run {number} {part}") })))
        .collect();
    host.call_all(&calls);
    for (part, ((id, tool, args), tokens)) in calls.iter().zip(sizes).enumerate() {
        host.answer(id, tool, args, &text(number * 10 + part, *tokens), false);
    }
}

#[test]
fn thirty_calls_in_a_40k_window_stay_below_pis_threshold() {
    for tokens in [500, 3_000, 8_000] {
        let mut host = host(40_000);
        host.settings.preview_tokens = 0;
        host.restart();
        for number in 0..30 {
            step(&mut host, number, &[tokens]);
            // Pi adds what came in since to what the newest request had.
            let coming = count(&text(number * 10, tokens));
            if host.live.state().calls() > 0 {
                let before = request_tokens(&host);
                assert!(before + coming <= 40_000 - RESERVED, "step {number}: {before} + {coming}");
            }
            host.send();
        }
        assert!(host.live.state().epoch() > 0 || tokens < 1_000);
    }
}

/// Five files of 5,000 tokens, read in turn.
#[test]
fn a_small_window_is_used_where_the_host_asks() {
    let mut host = host(32_768);
    host.asks_to_compact = true;
    host.restart();
    for name in 0..5 {
        host.write_file(&format!("{name}.txt"), &text(name, 5_000));
    }
    let mut largest = 0;
    for turn in 0..20 {
        host.read(&format!("{}.txt", turn % 5), None, None);
        host.send();
        assert!(
            request_tokens(&host) <= 32_768 * 3 / 4,
            "room to answer: {}",
            request_tokens(&host)
        );
        largest = largest.max(request_tokens(&host));
    }
    assert!(largest > 32_768 / 2, "{largest}");
}

/// Nothing leaves here but under pressure.
#[test]
fn about_half_of_a_small_window_stays_under_pressure() {
    let mut host = host(32_768);
    host.asks_to_compact = true;
    host.settings.preview_tokens = 0;
    host.settings.fault_tokens = 100_000_000;
    host.restart();
    let (half, mut is_used) = (32_768 / 2, false);
    for number in 0..60 {
        step(&mut host, number, &[1_000]);
        host.send();
        let tokens = request_tokens(&host);
        is_used |= tokens > half;
        assert!(!is_used || tokens > half - 1_500, "step {number}: {tokens}");
    }
    assert!(host.live.state().epoch() > 2, "{}", host.live.state().epoch());
}

#[test]
fn what_is_activated_makes_room_in_a_small_window() {
    for asks in [true, false] {
        let mut host = host(32_768);
        host.asks_to_compact = asks;
        host.settings.preview_tokens = 0;
        host.restart();
        for number in 1..=6 {
            step(&mut host, number, &[5_000]);
            host.send();
        }
        let wanted = |name: &str| Wanted { name: name.into(), ..Wanted::default() };
        host.activate(&wanted("t1"), false);
        host.send();
        let shown = newest(&host);
        assert!(shown.contains("output 10, line 499:"), "{asks}: {shown}");
        assert!(request_tokens(&host) <= 32_768 * 3 / 4, "{}", request_tokens(&host));
    }
}

#[test]
fn what_a_person_pins_makes_room_in_a_small_window() {
    let mut host = host(32_768);
    host.asks_to_compact = true;
    host.settings.preview_tokens = 0;
    host.restart();
    for number in 1..=4 {
        step(&mut host, number, &[7_000]);
        host.send();
    }
    host.activate(&Wanted { name: "t1".into(), ..Wanted::default() }, true);
    host.user("go on");
    host.send();
    assert!(host.shown().contains("output 10, line 699:"), "{}", host.shown());
    assert!(host.live.pins().left_out.is_empty());
    assert!(request_tokens(&host) <= 32_768 * 3 / 4, "{}", request_tokens(&host));
}

#[test]
fn what_can_never_fit_is_refused_with_the_room_that_there_is() {
    let mut host = host(32_768);
    host.settings.preview_tokens = 0;
    host.restart();
    host.user(&text(1_000, 9_000));
    step(&mut host, 1, &[20_000]);
    host.send();
    let wanted = Wanted { name: "t1".into(), ..Wanted::default() };
    let refused = host.live.activate("", &wanted, false).unwrap_err();
    let Error::NoRoom { tokens, room, .. } = refused else { panic!("{refused}") };
    assert!((10_000..16_000).contains(&room) && tokens > 19_000, "{tokens} for {room}");
}

/// Most of the window is what a person said, so little may leave, and soon again.
#[test]
fn dear_relief_waits_for_the_hosts_compaction() {
    let mut host = host(65_536);
    host.user(&text(1_000, 32_000));
    let mut requests = Vec::new();
    for number in 0..30 {
        step(&mut host, number, &[2_000]);
        host.send();
        requests.push((request_tokens(&host), host.live.state().epoch()));
    }
    let first = requests.iter().position(|(_, epoch)| *epoch == 1).unwrap();
    let limit = 65_536 - RESERVED;
    assert!(requests[first - 1].0 > limit, "a host that compacts does so: {requests:?}");
    assert!(requests[first].0 < limit, "else the window is relieved: {requests:?}");
    assert!(requests.iter().all(|(tokens, _)| *tokens < limit + 1_000), "{requests:?}");
}

#[test]
fn a_new_output_that_does_not_fit_is_shortened() {
    let mut host = host(32_000);
    step(&mut host, 1, &[60_000]);
    host.live.close().unwrap();
    host.settings.preview_tokens = 0;
    host.restart();
    host.send();
    assert!(request_tokens(&host) <= 32_000, "{}", request_tokens(&host));
    let shown = newest(&host);
    assert!(count(&shown) > 10_000, "what fits is shown: {}", count(&shown));
    assert!(shown.contains("lines between (t1:"), "{shown}");
}

#[test]
fn a_new_read_that_does_not_fit_is_shortened_by_file_lines() {
    let mut host = host(24_000);
    host.write_file("big.txt", &text(1, 60_000));
    host.read("big.txt", Some(501), None);
    let (id, args) = (host.next_id(), json!({ "path": "big.txt" }));
    host.call_as(&id, "cat", &args);
    let raw = std::fs::read_to_string(host.path("big.txt")).unwrap();
    host.answer(&id, "read", &args, raw.trim_end(), false);
    host.send();
    assert!(request_tokens(&host) <= 24_000, "{}", request_tokens(&host));
    assert!(newest(&host).contains("lines between ("), "{}", newest(&host));
}

#[test]
fn several_new_outputs_share_what_fits() {
    let mut host = host(40_000);
    host.settings.preview_tokens = 0;
    host.restart();
    step(&mut host, 1, &[30_000, 1_000, 30_000]);
    host.send();
    assert!(request_tokens(&host) <= 40_000, "{}", request_tokens(&host));
    let sizes: Vec<u64> =
        host.sent[2..].iter().map(|message| count(&message.to_string())).collect();
    assert!(sizes[0] > 8_000 && sizes[2] > 8_000, "{sizes:?}");
    assert_eq!(host.sent[3], host.messages[3], "the small one is whole");
}

#[test]
fn an_output_names_no_lines_of_one_shortened_with_it() {
    let mut host = host(32_000);
    host.settings.preview_tokens = 0;
    host.restart();
    let long = text(1, 60_000);
    let middle: Vec<&str> = long.lines().skip(3_000).take(200).collect();
    let calls: Vec<(String, &str, Value)> = (0..2)
        .map(|part| (host.next_id(), "bash", json!({ "command": format!("run {part}") })))
        .collect();
    host.call_all(&calls);
    for ((id, tool, args), output) in calls.iter().zip([&long, &middle.join("\n")]) {
        host.answer(id, tool, args, output, false);
    }
    // Checks that every line stands where the request says so.
    host.send();
    assert!(!newest(&host).contains(" as in t1"), "{}", newest(&host));
    assert!(request_tokens(&host) <= 32_000, "{}", request_tokens(&host));
}

#[test]
fn under_pressure_the_newest_outputs_leave_last() {
    let mut host = host(60_000);
    host.settings.preview_tokens = 0;
    host.restart();
    let mut number = 0;
    while host.live.state().epoch() == 0 {
        number += 1;
        step(&mut host, number, &[6_000]);
        host.send();
        assert!(number < 20, "an epoch starts");
    }
    let is_whole: Vec<bool> = (0..number)
        .map(|place| {
            let (sent, given) = (&host.sent[2 + 2 * place], &host.messages[2 + 2 * place]);
            sent == given
        })
        .collect();
    assert!(is_whole.is_sorted(), "{is_whole:?}");
    assert!(is_whole[number - 1] && !is_whole[0], "{is_whole:?}");
}

/// The outputs, by number, that a request of the layout `pools` shows whole.
fn whole_outputs(host: &Host, number: usize, tokens: usize) -> Vec<usize> {
    let request = host.shown();
    let stands = |output: &usize| request.contains(text(output * 10, tokens).trim_end());
    (1..=number).filter(stands).collect()
}

#[test]
fn the_layout_pools_shows_the_newest_outputs_that_fit() {
    let mut host = host(60_000);
    host.settings.layout = Layout::Pools;
    host.settings.preview_tokens = 0;
    host.settings.active_per_turn = 20;
    host.restart();
    for number in 1..=12 {
        step(&mut host, number, &[6_000]);
        host.send();
        assert!(request_tokens(&host) <= 60_000 - RESERVED, "{}", request_tokens(&host));
    }
    let shown = whole_outputs(&host, 12, 6_000);
    assert!(shown.len() >= 3, "{shown:?}");
    assert_eq!(shown, (13 - shown.len()..=12).collect::<Vec<_>>(), "the newest");
    host.activate(&Wanted { name: "t1".into(), ..Wanted::default() }, true);
    step(&mut host, 13, &[6_000]);
    host.send();
    assert!(whole_outputs(&host, 13, 6_000).starts_with(&[1]), "what is pinned leaves last");
    host.window = 400_000;
    step(&mut host, 14, &[100]);
    host.send();
    assert_eq!(whole_outputs(&host, 13, 6_000).len(), 13, "all of it, once there is room");
}

#[test]
fn pools_shows_the_first_lines_of_outputs_that_do_not_fit() {
    let mut host = host(40_000);
    host.settings.layout = Layout::Pools;
    host.restart();
    step(&mut host, 1, &[30_000, 1_000, 30_000]);
    host.send();
    assert!(request_tokens(&host) <= 40_000, "{}", request_tokens(&host));
    let sizes: Vec<u64> =
        host.sent.iter().rev().take(3).map(|message| count(&message.to_string())).collect();
    assert!(sizes[0] > 8_000 && sizes[2] > 8_000, "{sizes:?}");
    assert!(newest(&host).contains("lines=1-"), "{}", &newest(&host)[..200]);
    assert!(host.notices.is_empty(), "{:?}", host.notices);
}

#[test]
fn what_activate_answers_counts_before_the_next_call() {
    let mut host = host(200_000);
    host.settings.preview_tokens = 2_000;
    host.restart();
    for number in 0..6 {
        step(&mut host, number, &[45_000]);
        host.send();
    }
    let answers: Vec<bool> = (1..=6)
        .map(|number| {
            let wanted = Wanted { name: format!("t{number}"), ..Wanted::default() };
            let id = host.next_id();
            host.live.activate(&id, &wanted, false).is_ok()
        })
        .collect();
    assert!(answers[0] && !answers[5], "{answers:?}");
    assert!(answers.is_sorted_by(|one, other| one >= other), "{answers:?}");
}

#[test]
fn a_request_that_people_made_too_long_says_so() {
    let mut host = host(24_000);
    host.user(&text(1, 30_000));
    host.send();
    let is_said = |notice: &Notice| matches!(notice, Notice::WindowExceeded { window: 24_000, .. });
    assert!(host.notices.iter().any(is_said), "{:?}", host.notices);
}

#[derive(Debug, Clone)]
enum Op {
    /// Calls answered by outputs of these sizes.
    Step(Vec<usize>),
    /// A whole file of this size is read.
    Read(usize),
    /// Some lines of it.
    ReadPart(u32, u32),
    /// An output is shown again.
    Activate(u8),
    User,
}

fn op() -> impl Strategy<Value = Op> {
    let size = prop_oneof![4 => 10usize..800, 3 => 800usize..9_000, 1 => 9_000usize..60_000];
    prop_oneof![
        6 => prop::collection::vec(size.clone(), 1..5).prop_map(Op::Step),
        2 => size.prop_map(Op::Read),
        1 => (1u32..400, 1u32..300).prop_map(|(from, lines)| Op::ReadPart(from, lines)),
        1 => any::<u8>().prop_map(Op::Activate),
        1 => Just(Op::User),
    ]
}

fn play(host: &mut Host, number: usize, op: &Op) {
    match op {
        Op::Step(sizes) => step(host, number, sizes),
        Op::Read(tokens) => {
            host.write_file("a.txt", &text(number, *tokens));
            host.read("a.txt", None, None);
        }
        Op::ReadPart(from, lines) => {
            host.write_file("b.txt", &text(0, 8_000));
            host.read("b.txt", Some(*from), Some(*lines));
        }
        Op::Activate(handle) => {
            let wanted = Wanted { name: format!("t{}", handle % 12 + 1), ..Wanted::default() };
            host.activate(&wanted, false);
        }
        Op::User => host.user(&format!("and {number}?")),
    }
}

proptest! {
    #![proptest_config(config(4, 97))]

    #[test]
    fn no_request_is_longer_than_the_window(
        window in prop::sample::select(vec![24_000u64, 32_000, 40_000, 65_536, 131_072, 200_000]),
        preview in prop::sample::select(vec![0u64, 1_500]),
        layout in prop::sample::select(vec![Layout::Log, Layout::Log, Layout::Pools]),
        ops in prop::collection::vec(op(), 5..24),
    ) {
        let mut host = host(window);
        host.settings.preview_tokens = preview;
        host.settings.layout = layout;
        host.restart();
        for (number, op) in ops.iter().enumerate() {
            play(&mut host, number, op);
            // Not `send`: its checks read every line of every request again.
            let notices = host.transform().unwrap();
            let tokens = request_tokens(&host);
            prop_assert!(tokens <= window, "{tokens} of {window} after {op:?}");
            let said = notices.iter().any(|notice| matches!(notice, Notice::WindowExceeded { .. }));
            prop_assert!(!said);
        }
    }
}
