//! Rare identifiers: words of one text that point to lines of another. Pure text.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

/// Least length of an identifier in characters; shorter ones are not rare.
const MIN_CHARS: usize = 6;
/// Most words that are searched for.
const MAX_WORDS: usize = 64;
/// A word that occurs on more lines than this points to none of them.
const MAX_LINES: usize = 12;

/// The rare identifiers of a text, of six characters or more: camelCase, `snake_case`, paths and
/// their file names, numbers with dots.
pub fn identifiers(text: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let is_inside = |letter: char| letter.is_alphanumeric() || "_./-".contains(letter);
    for run in text.split(|letter| !is_inside(letter)) {
        let word = run.trim_matches(|letter| "_./-".contains(letter));
        for word in [word, word.rsplit('/').next().unwrap_or(word)] {
            if word.chars().count() >= MIN_CHARS && is_rare(word) {
                found.insert(word);
            }
        }
    }
    found
}

/// The lines (from 0, in order) that hold one of `words`. Words on many lines are ignored.
pub fn lines_with(lines: &[&str], words: &BTreeSet<&str>) -> Vec<usize> {
    // If several words begin alike, the longest must match.
    let mut longest_first: Vec<&str> = words.iter().copied().collect();
    longest_first.sort_by_key(|word| std::cmp::Reverse(word.len()));
    longest_first.truncate(MAX_WORDS);
    let patterns: Vec<String> = longest_first.iter().map(|word| regex::escape(word)).collect();
    let Some(any) = Regex::new(&patterns.join("|")).ok().filter(|_| !patterns.is_empty()) else {
        return Vec::new();
    };
    let mut by_word: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let words: BTreeSet<&str> = any.find_iter(line).map(|found| found.as_str()).collect();
        for word in words {
            by_word.entry(word).or_default().push(at);
        }
    }
    let rare = by_word.into_values().filter(|lines| lines.len() <= MAX_LINES);
    let lines: BTreeSet<usize> = rare.flatten().collect();
    lines.into_iter().collect()
}

fn is_rare(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let joins = letters.windows(3).any(|three| {
        "_./".contains(three[1]) && three[0].is_alphanumeric() && three[2].is_alphanumeric()
    });
    joins || letters.windows(2).any(|two| two[0].is_lowercase() && two[1].is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_words_that_prose_does_not_have() {
        let text = "Look at `splitRead` in src/context/epoch.rs: line_number of 10.4.17, not Hello nor e.g. foo.";
        let found: Vec<&str> = identifiers(text).into_iter().collect();
        assert_eq!(
            found,
            ["10.4.17", "epoch.rs", "line_number", "splitRead", "src/context/epoch.rs"]
        );
    }

    #[test]
    fn lines_are_found_by_words_that_few_of_them_hold() {
        let mut text: Vec<String> = (0..40).map(|n| format!("src/a.rs line {n}")).collect();
        text[7] = "src/a.rs calls splitRead".into();
        let lines: Vec<&str> = text.iter().map(String::as_str).collect();
        assert_eq!(lines_with(&lines, &identifiers("src/a.rs splitRead")), [7]);
        assert!(lines_with(&lines, &BTreeSet::new()).is_empty());
    }
}
