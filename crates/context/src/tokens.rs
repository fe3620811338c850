//! Token counts by the bundled tokenizer (`o200k_base`), or by characters.
//!
//! Counts are estimates for decisions and the status line; the provider's reported usage corrects
//! them. No I/O, and no state except the tokenizer's tables.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Texts of up to this many bytes are counted exactly; longer ones are sampled.
pub const EXACT_BYTES: usize = 1 << 20;

/// Number of windows taken from a sampled text. Together they are as long as the longest text
/// counted exactly.
const WINDOWS: usize = 16;

/// Characters per token if characters are counted: the usual rule of thumb for English and code.
const TOKEN_CHARACTERS: u64 = 4;

/// How tokens are counted. Live sessions use the bundled tokenizer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Counter {
    /// By the bundled tokenizer.
    #[default]
    Bundled,
    /// A quarter of the number of Unicode scalars. This makes replays comparable.
    Characters,
}

impl Counter {
    /// Size of a text in units that add up without rounding: tokens, or characters. See
    /// [`Self::units_per_token`].
    pub fn units(self, text: &str) -> u64 {
        match self {
            Self::Bundled => count(text),
            Self::Characters => text.chars().count() as u64,
        }
    }

    /// Tokens of a text.
    pub fn count(self, text: &str) -> u64 {
        self.tokens(self.units(text))
    }

    /// Number of units in a token.
    pub fn units_per_token(self) -> u64 {
        match self {
            Self::Bundled => 1,
            Self::Characters => TOKEN_CHARACTERS,
        }
    }

    /// Converts units to tokens, rounded up.
    pub fn tokens(self, units: u64) -> u64 {
        units.div_ceil(self.units_per_token())
    }

    /// Tokens of a system prompt and its tool definitions.
    pub fn of_prompt(self, prompt: Option<&str>, tools: &Value) -> u64 {
        let prompt = prompt.map_or(0, |prompt| self.units(prompt));
        let tools = match tools {
            Value::Array(tools) => tools.iter().map(|tool| self.units(&tool.to_string())).sum(),
            _ => 0,
        };
        self.tokens(prompt + tools)
    }
}

/// Counts the tokens of a text with `o200k_base`. Special tokens count as plain text.
///
/// Exact up to [`EXACT_BYTES`], in linear time for any text. A longer text takes no longer than one
/// of that length: 16 evenly spaced windows of 64 KiB, from start to end, are counted and scaled by
/// bytes. For uniform texts (source code, logs, data) the error is below 2 %; otherwise it can be
/// as large as the share of the text outside the windows. The same text always gives the same
/// count.
pub fn count(text: &str) -> u64 {
    count_up_to(EXACT_BYTES, text)
}

fn count_up_to(exact_bytes: usize, text: &str) -> u64 {
    if text.len() <= exact_bytes {
        return o200k::count(text);
    }
    let (mut tokens, mut bytes) = (0, 0);
    for window in windows(text, exact_bytes / WINDOWS) {
        bytes += window.len() as u64;
        tokens += o200k::count(&text[window]);
    }
    // Both factors fit: at most 2^20 tokens times the length of a text that is in memory.
    let scaled = u128::from(tokens) * text.len() as u128 / u128::from(bytes.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Loads the tokenizer's tables (tens of milliseconds), so that the first count need not.
pub fn preload() {
    o200k::count("warm");
}

/// The sampled windows of a text longer than all of them together: in order, on character
/// boundaries.
fn windows(text: &str, window_bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let last_start = text.len() - window_bytes;
    (0..WINDOWS).map(move |index| {
        let start = boundary_before(text, last_start / (WINDOWS - 1) * index);
        let end = if index == WINDOWS - 1 { text.len() } else { start + window_bytes };
        start..boundary_before(text, end)
    })
}

/// The last character boundary at or before `offset`.
fn boundary_before(text: &str, mut offset: usize) -> usize {
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stands in for [`EXACT_BYTES`].
    const EXACT: usize = 1 << 16;

    #[test]
    fn characters_are_counted_by_fours_and_rounded_up_once() {
        let counter = Counter::Characters;
        assert_eq!(counter.units("a☂é"), 3);
        assert_eq!([0, 1, 4, 5].map(|units| counter.tokens(units)), [0, 1, 1, 2]);
        assert_eq!(Counter::Bundled.tokens(Counter::Bundled.units("hello world")), 2);
    }

    #[test]
    fn special_tokens_are_plain_text() {
        assert!(count("<|endoftext|>") > 1);
    }

    #[test]
    fn repetitive_texts_terminate() {
        for unit in ["a", " ", "\n", "aaaaab", "👍", "=-", "漢A", " \t", "e\u{301}"] {
            let text = unit.repeat(EXACT / unit.len());
            assert!(count(&text) > 0, "{unit:?}");
        }
    }

    #[test]
    fn counts_no_more_of_a_long_word_than_of_an_exact_text() {
        let word = "x".repeat(50 * EXACT);
        let counted: usize = windows(&word, EXACT / WINDOWS).map(|window| window.len()).sum();
        assert!(counted <= EXACT + 1_000, "{counted}");
        assert!(count_up_to(EXACT, &word) > 0);
    }

    #[test]
    fn sampling_is_close_for_texts_of_one_kind() {
        let line = |number: usize| {
            format!("  {number}: let é{} = compute(&input[{number}])?; // ☂\n", number % 97)
        };
        let text: String = (0..4_000).map(line).collect();
        assert!(text.len() > 2 * EXACT);
        let (exact, sampled) = (o200k::count(&text), count_up_to(EXACT, &text));
        assert!(exact.abs_diff(sampled) * 100 < exact * 2, "{exact} {sampled}");
    }

    #[test]
    fn windows_are_disjoint_in_order_and_reach_both_ends() {
        for extra in [1, 2, 3, 100_000] {
            let text = "☂".repeat(EXACT / 3 + extra);
            let windows: Vec<_> = windows(&text, EXACT / WINDOWS).collect();
            assert_eq!(windows.len(), WINDOWS);
            assert_eq!(windows[0].start, 0);
            assert_eq!(windows[WINDOWS - 1].end, text.len());
            assert!(windows.windows(2).all(|pair| pair[0].end <= pair[1].start), "{extra}");
        }
    }
}
