//! What is found in a recorded session: its prices, its window, its system prompt.

use serde_json::json;

use super::*;

/// A session of steps whose outputs have 2,000 tokens by our count, at a provider that counts half
/// as many again, behind 9,000 of a system prompt. Each answer has 300 tokens, of which 200 are not
/// shown.
fn session(steps: u64) -> Transcript {
    let mut messages = vec![json!({ "role": "user", "content": "Go." }).to_string()];
    for step in 0..steps {
        let text = "x".repeat(4 * 66 - 19);
        let usage = json!({ "input": 9_000 + 3_300 * step, "output": 300, "cacheRead": 0 });
        let call = json!({ "type": "toolCall", "id": format!("c{step}"), "name": "look", "arguments": { "q": text } });
        let answer =
            json!({ "role": "assistant", "content": [call], "usage": usage, "model": "gpt-5.5" });
        messages.push(answer.to_string());
        let shown = json!([{ "type": "text", "text": "x".repeat(8_000 - 10) }]);
        messages.push(
            json!({ "role": "toolResult", "toolCallId": format!("c{step}"), "content": shown })
                .to_string(),
        );
    }
    Transcript::of_messages("s", "/", &messages)
}

#[test]
fn sizes_are_the_providers_by_our_count() {
    let recorded = Recorded::of(&session(12), Counter::Characters);
    assert!((recorded.scale - 1.5).abs() < 0.01, "{}", recorded.scale);
    let near = |ours: u64, expected: f64| {
        let theirs = as_f64(ours) * recorded.scale;
        assert!((theirs - expected).abs() < 0.02 * expected, "{theirs} is not {expected}");
    };
    near(recorded.fixed_tokens.unwrap(), 9_000.0);
    near(recorded.hidden[1], 200.0);
    assert_eq!((recorded.prices, recorded.requests[0].model.as_str()), ("openai", "gpt-5.5"));
    assert_eq!((recorded.compacted_at, recorded.window_tokens), (None, None));
}

#[test]
fn a_count_may_be_a_float_or_a_text() {
    let usage =
        usage_of(&json!({ "input": 1_234.0, "output": "9", "cacheRead": -1.0, "cacheWrite": "-" }));
    assert_eq!(usage, Usage { input: 1_234, output: 9, ..Usage::default() });
}

#[test]
fn few_steps_tell_no_scale_and_small_counts_are_none() {
    assert!((Recorded::of(&session(4), Counter::Characters).scale - 1.0).abs() < 1e-9);
    assert!(!is_count(Usage { input: 1, ..Usage::default() }, 0));
    assert!(!is_count(Usage { input: 100, ..Usage::default() }, 300));
    assert!(is_count(Usage { input: 100, ..Usage::default() }, 150));
    assert!(is_count(Usage { cache_read: 1_000, ..Usage::default() }, 300_000));
}
