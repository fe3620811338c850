//! Ranks documents by words that the question lacks and the best passages have: what answers it in
//! other words has them too (Rocchio's relevance feedback, without a person). Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::corpus::{Corpus, Term, count};
use super::question::Question;
use super::ranking::mean;
use store::{inverse_frequency, term_frequency};

/// Passages that lend words.
const PASSAGES: usize = 15;
/// Words that they lend.
const WORDS: usize = 20;
/// Largest share of passages that have a word which is lent.
const COMMON: f64 = 0.05;

/// The scores of the documents for the lent words. `passages`: best first.
pub(super) fn related(corpus: &Corpus, question: &Question, passages: &[(usize, f64)]) -> Vec<f64> {
    let mut scores = vec![0.0; corpus.document_lengths.len()];
    let mean = mean(&corpus.document_lengths);
    let lent = lent(corpus, question, passages);
    let most = lent.first().map_or(1.0, |(_, weight)| *weight);
    for (word, weight) in lent {
        let times = times(corpus, word);
        let frequency = inverse_frequency(corpus.document_lengths.len() as u64, times.len() as u64);
        for (document, times) in times {
            let length = corpus.document_lengths[document];
            scores[document] += weight / most * frequency * term_frequency(times, length, mean);
        }
    }
    scores
}

/// The words, those that say most first, each with its weight.
fn lent(corpus: &Corpus, question: &Question, passages: &[(usize, f64)]) -> Vec<(Term, f64)> {
    let best = passages.first().map_or(1.0, |(_, score)| *score);
    let all = corpus.passages.len();
    let mut weights: BTreeMap<Term, f64> = BTreeMap::new();
    for (passage, score) in passages.iter().take(PASSAGES) {
        let words: BTreeSet<Term> = corpus.passages[*passage].text.iter().copied().collect();
        for word in words.into_iter().filter(|word| !question.words.contains(word)) {
            let holding = corpus.holders(word).len();
            if holding > 1 && count(holding) < COMMON * count(all) {
                let weight = score / best * inverse_frequency(all as u64, holding as u64);
                *weights.entry(word).or_default() += weight;
            }
        }
    }
    let mut lent: Vec<(Term, f64)> = weights.into_iter().collect();
    lent.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    lent.truncate(WORDS);
    lent
}

/// How often a word stands in each document that has it.
fn times(corpus: &Corpus, word: Term) -> BTreeMap<usize, f64> {
    let mut times = BTreeMap::new();
    for passage in corpus.holders(word) {
        let passage = &corpus.passages[*passage];
        let here = passage.text.iter().filter(|other| **other == word).count();
        if here > 0 {
            *times.entry(passage.document).or_default() += count(here);
        }
    }
    times
}
