//! Gathers passages that say nearly the same: they share the place of the best. Those that differ in
//! what may turn or replace what they say stay apart. Pure.

use std::collections::BTreeSet;

use super::corpus::{Corpus, Term, count};
use super::passages::Passage;
use crate::page::tag;

/// Least share of their words that passages have in common to be alike.
const COMMON: f64 = 0.7;

/// Words that turn what is said (English, German, French, Spanish).
const TURNING: [&str; 35] = [
    "cannot", "except", "jamais", "kein", "keine", "keinen", "keiner", "neither", "never", "nicht",
    "nichts", "nie", "niemals", "ningún", "ninguna", "no", "nobody", "none", "nor", "not",
    "nothing", "nunca", "off", "ohne", "on", "only", "pas", "sans", "sauf", "sin", "sólo", "solo",
    "unless", "until", "without",
];

/// A result with the passages that say nearly the same.
#[derive(Debug)]
pub(super) struct Gathered {
    /// The best passage, and its score.
    pub(super) best: (usize, f64),
    /// The others, best first.
    pub(super) alike: Vec<usize>,
    words: Vec<Term>,
}

/// The first `limit` results, where those that are alike are one. What is said in a talk stays
/// apart: who said it matters. `agree`: whether two passages may be one.
pub(super) fn gathered(
    corpus: &Corpus,
    found: Vec<(usize, f64)>,
    limit: usize,
    agree: impl Fn(usize, usize) -> bool,
) -> Vec<Gathered> {
    let mut results: Vec<Gathered> = Vec::new();
    for (passage, score) in found {
        let indexed = &corpus.passages[passage];
        let mut words = if indexed.is_talk { Vec::new() } else { indexed.text.clone() };
        words.sort_unstable();
        words.dedup();
        let is_one =
            |result: &Gathered| are_alike(&result.words, &words) && agree(result.best.0, passage);
        let known = results.iter().position(is_one);
        match known {
            Some(known) => results[known].alike.push(passage),
            None if results.len() == limit => break,
            None => results.push(Gathered { best: (passage, score), alike: Vec::new(), words }),
        }
    }
    results
}

/// Whether most words are in both. The words ascend.
fn are_alike(one: &[Term], other: &[Term]) -> bool {
    let common = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    let all = one.len() + other.len() - common;
    all > 0 && count(common) >= COMMON * count(all)
}

/// Whether two passages, of nearly the same words, do not say different things: they are announced
/// alike, say the same behind the same key, and no number, name in code or negation is in one alone.
pub(super) fn agree(one: &Passage, other: &Passage) -> bool {
    let announced = |passage: &Passage| passage.lead_in.as_ref().map(|line| line.text.clone());
    let tells =
        |word: &&String| !word.chars().all(char::is_alphabetic) || TURNING.contains(&word.as_str());
    let differ = |one: &str, other: &str, counts: &dyn Fn(&&String) -> bool| {
        let (one, other) = (said(one), said(other));
        one.symmetric_difference(&other).any(|word| counts(&word))
    };
    let values = one.text.split_once(": ").zip(other.text.split_once(": "));
    let is_other_value = values.is_some_and(|((key, value), (others_key, others))| {
        !differ(key, others_key, &|_| true) && differ(value, others, &|_| true)
    });
    announced(one) == announced(other) && !is_other_value && !differ(&one.text, &other.text, &tells)
}

/// The words of a text, without tags, in lower case and without the marks around them; those in code as they are.
fn said(text: &str) -> BTreeSet<String> {
    let parts = text.split('`').zip([false, true].into_iter().cycle());
    let words = parts.flat_map(|(part, is_code)| {
        let words = part.split_whitespace().filter(move |word| is_code || tag(word) != Some(*word));
        words.map(move |word| {
            let plain = word.trim_matches(|char: char| "*_~.,;:!?…()[]\"“”„'’".contains(char));
            if is_code { format!("`{word}") } else { plain.to_lowercase() }
        })
    });
    words.filter(|word| word.chars().any(|char| !"-–—+*".contains(char))).collect()
}
