//! Local models: reading their cache costs nothing, and new input takes time before the first
//! token.

use config::{PriceSetting, Settings};
use live::Notice;
use serde_json::json;

use crate::host::Host;

/// `preview_tokens`: what is saved by parts of outputs pays for rewriting.
fn host(first_token_seconds: u64, preview_tokens: u64) -> Host {
    let prices = PriceSetting::Named("local".into());
    let mut host = Host::new(Settings {
        prices,
        keep_results: 3,
        preview_tokens,
        first_token_seconds,
        ..Settings::default()
    });
    host.window = 100_000;
    host.user("go");
    host
}

/// A text of about this many tokens, which occurs nowhere else.
fn text(number: usize, tokens: usize) -> String {
    let line = |line: usize| format!("output {number}, line {line}: nothing new\n");
    (0..tokens.div_ceil(10)).map(line).collect::<Vec<_>>().concat()
}

/// The host runs this many commands; returns the tokens that each request had to write, and the
/// reported reason of its epoch.
fn run(host: &mut Host, count: usize, tokens: usize) -> Vec<(u64, Option<String>)> {
    let call = |number: usize| {
        host.send();
        let reason = host.notices.iter().find_map(|notice| match notice {
            Notice::EpochStarted { reason, .. } => Some(reason.clone()),
            _ => None,
        });
        let written = host.live.state().bill().last.as_ref().unwrap().bill.ours.written;
        let command = format!("run {number}");
        host.tool("bash", &json!({ "command": command }), &text(number, tokens));
        (written, reason)
    };
    (0..count).map(call).collect()
}

#[test]
fn nothing_leaves_a_local_model_while_it_has_room() {
    let mut host = host(10, 500);
    host.window = 131_072;
    let calls = run(&mut host, 40, 1_500);
    assert!(calls.iter().all(|(_, reason)| reason.is_none()), "{calls:?}");
}

#[test]
fn content_leaves_a_local_model_while_little_is_read_again() {
    let mut host = host(10, 500);
    host.window = 40_000;
    let calls = run(&mut host, 120, 1_500);
    let rewritten: Vec<u64> =
        calls.iter().filter(|(_, reason)| reason.is_some()).map(|(written, _)| *written).collect();
    assert!(rewritten.len() >= 3, "{calls:?}");
    // 10 seconds at 500 tokens a second.
    assert!(rewritten.iter().all(|written| *written <= 5_000), "{calls:?}");
    assert!(calls.iter().flat_map(|(_, reason)| reason).all(|why| why.contains("read again")));
    let bill = host.live.state().bill();
    let sent = (bill.our_account.sent, bill.plain_account.sent);
    assert!(sent.0 * 3 < sent.1, "what leaves makes room: {sent:?}");
    assert!(bill.ours() <= 1.01 * bill.plain() + 3_000.0 + bill.overhead, "{bill:?}");
}

#[test]
fn a_local_model_does_not_read_more_than_the_bound_affords() {
    let mut host = host(10, 0);
    host.window = 60_000;
    let calls = run(&mut host, 40, 800);
    let again = calls.iter().filter(|(_, reason)| reason.is_some()).count();
    let bill = host.live.state().bill();
    assert!(again > 0 && again < 4, "nothing but the bound's allowance pays for it: {calls:?}");
    assert!(bill.ours() <= 1.01 * bill.plain() + 3_000.0 + bill.overhead, "{bill:?}");
}

#[test]
fn content_stays_if_leaving_would_delay_a_local_model() {
    for (seconds, tokens) in [(0, 800), (10, 3_000)] {
        let mut host = host(seconds, 0);
        let calls = run(&mut host, 25, tokens);
        assert!(calls.iter().all(|(_, reason)| reason.is_none()), "{seconds}: {calls:?}");
        let bill = host.live.state().bill();
        assert!((bill.ours() - bill.overhead - bill.plain()).abs() < 1.0, "{bill:?}");
    }
}

#[test]
fn the_window_of_a_local_model_is_relieved_whatever_that_takes() {
    let mut host = host(0, 0);
    let calls = run(&mut host, 60, 3_000);
    let pressed = calls.iter().flat_map(|(_, reason)| reason).collect::<Vec<_>>();
    assert!(!pressed.is_empty(), "{calls:?}");
    assert!(pressed.iter().all(|why| why.starts_with("window pressure")), "{pressed:?}");
}
