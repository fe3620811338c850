//! Two entries beside each other: whether they say the same, nearly the same, or different things of one key. Pure.

use std::collections::BTreeSet;

use crate::memory::page::{Page, words};
use crate::memory::parse::without_marker;

/// Keys that name what kind of thing an entry is, and not what it is about: two of them contradict nothing.
const GENERAL_KEYS: [&str; 22] = [
    "always",
    "avoid",
    "bug",
    "caution",
    "decision",
    "example",
    "fact",
    "fix",
    "fyi",
    "important",
    "info",
    "instruction",
    "never",
    "note",
    "preference",
    "procedure",
    "reference",
    "remember",
    "rule",
    "tip",
    "todo",
    "warning",
];

/// Fewest words of two texts together for which nearness says anything.
const LEAST_WORDS: usize = 5;

/// Of the words of two texts, the share that both have (Jaccard's index) from which on they are close.
const CLOSE: f64 = 0.8;

/// Whether two entries say the same, word for word.
pub(super) fn same_words(one: &Page, other: &Page) -> bool {
    words(&without_marker(&one.text)) == words(&without_marker(&other.text))
}

/// Whether two entries say different things of the same key.
pub(super) fn contradicts(one: &Page, other: &Page) -> bool {
    one.folded_key().is_some_and(|key| {
        !GENERAL_KEYS.contains(&key.as_str())
            && other.folded_key().as_ref() == Some(&key)
            && one.folded_value() != other.folded_value()
    })
}

/// Whether two texts have nearly the same words.
pub(super) fn is_close(one: &str, other: &str) -> bool {
    let (one, other): (BTreeSet<String>, BTreeSet<String>) =
        (words(one).into_iter().collect(), words(other).into_iter().collect());
    let shared = one.intersection(&other).count();
    let all = one.len() + other.len() - shared;
    #[expect(clippy::cast_precision_loss, reason = "numbers of words")]
    let share = shared as f64 / all.max(1) as f64;
    all >= LEAST_WORDS && share >= CLOSE
}

/// The beginning of an entry, in quotes.
pub(super) fn shown(page: &Page) -> String {
    const MOST_CHARS: usize = 60;
    let text = without_marker(&page.text);
    let line = text.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("\"{}…\"", &line[..end]),
        None => format!("\"{line}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_two_make_no_difference_and_short_texts_have_no_likeness() {
        assert!(is_close(
            "run the tests with make check first",
            "first run the tests with `make check`!"
        ));
        assert!(!is_close("use tabs", "use spaces"));
        assert!(!is_close("the store is SQLite", "the queue is Kafka in production"));
    }
}
