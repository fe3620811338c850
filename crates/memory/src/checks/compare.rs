//! Compares two entries: whether they say the same, nearly the same, or different things about one
//! key. Pure.

use std::collections::BTreeSet;

use crate::page::{Page, each_said, heading_words, words};
use crate::parse::without_marker;
use base::object::quote;

/// Keys that name the kind of an entry and not its subject: two entries with one of them contradict
/// nothing.
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

/// Fewest words of two texts together for which closeness means anything.
const LEAST_WORDS: usize = 5;

/// Two texts are close from this share of common words on (Jaccard's index).
const CLOSE: f64 = 0.8;

/// An entry prepared for comparison with many others.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    pub(super) page: &'a Page,
    /// What it says, with what announces it.
    said: Vec<String>,
    words: Vec<String>,
    /// Its key, if it has a subject.
    key: Option<String>,
}

impl<'a> Compared<'a> {
    pub(super) fn new(page: &'a Page) -> Self {
        let key = page.folded_key().filter(|key| !GENERAL_KEYS.contains(&key.as_str()));
        let text = without_marker(&page.text);
        let said = each_said(&(page.announced(usize::MAX) + &text)).collect();
        Self { page, said, words: words(&text), key }
    }

    /// Whether it says the same.
    pub(super) fn says_same(&self, other: &Self) -> bool {
        self.said == other.said
    }

    /// Whether it says the same below the same headings: of this one, those that it has to stand below.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let (wanted, standing) = (&self.page.place.headings, &other.page.place.headings);
        let mut pairs = wanted.iter().rev().zip(standing.iter().rev());
        self.says_same(other)
            && wanted.len() <= standing.len()
            && pairs.all(|(one, other)| heading_words(one) == heading_words(other))
    }

    /// Whether it says something else about the same key.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        self.key.is_some() && self.key == other.key && !self.says_same(other)
    }

    /// Whether it has nearly the same words.
    pub(super) fn is_close(&self, other: &Self) -> bool {
        let (few, many) = (self.words.len(), other.words.len());
        let (few, many) = (few.min(many), few.max(many));
        // Words may repeat, so in short texts this says nothing.
        if many > 2 * few + LEAST_WORDS {
            return false;
        }
        let set = |words: &'_ [String]| words.iter().cloned().collect::<BTreeSet<String>>();
        let (one, other) = (set(&self.words), set(&other.words));
        let shared = one.intersection(&other).count();
        let all = one.len() + other.len() - shared;
        #[expect(clippy::cast_precision_loss, reason = "numbers of words")]
        let share = shared as f64 / all.max(1) as f64;
        all >= LEAST_WORDS && share >= CLOSE
    }
}

/// The beginning of an entry, in quotes.
pub(crate) fn shown(page: &Page) -> String {
    const MOST_CHARS: usize = 60;
    let text = without_marker(&page.text);
    let line = text.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("\"{}…\"", quote::section(&line[..end])),
        None => format!("\"{}\"", quote::section(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;
    use crate::scope::Scope;

    #[test]
    fn similarity_ignores_a_word_or_two_and_short_texts() {
        let is_close = |one: &str, other: &str| {
            let pages = parse(Scope::Global, "MEMORY.md", &format!("- {one}\n- {other}\n"));
            Compared::new(&pages[0]).is_close(&Compared::new(&pages[1]))
        };
        assert!(is_close(
            "run the tests with make check first",
            "first run the tests with `make check`!"
        ));
        assert!(!is_close("use tabs", "use spaces"));
        assert!(!is_close("the store is SQLite", "the queue is Kafka in production"));
    }
}
