//! Gathers passages that say nearly the same: they share the place of the best. Pure.

use super::corpus::{Corpus, Term, count};

/// Least share of their words that passages have in common to be alike.
const COMMON: f64 = 0.7;

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
/// apart: who said it matters.
pub(super) fn gathered(corpus: &Corpus, found: Vec<(usize, f64)>, limit: usize) -> Vec<Gathered> {
    let mut results: Vec<Gathered> = Vec::new();
    for (passage, score) in found {
        let indexed = &corpus.passages[passage];
        let mut words = if indexed.is_talk { Vec::new() } else { indexed.text.clone() };
        words.sort_unstable();
        words.dedup();
        let known = results.iter().position(|result| are_alike(&result.words, &words));
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
