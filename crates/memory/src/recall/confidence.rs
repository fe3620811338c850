//! Whether what was found answers a question, or only shares words with it. Pure.
//!
//! The numbers were chosen on half of the questions of `crates/memory/tests/memory/unanswered.rs`,
//! which prints what they do on the others.

use super::corpus::{Corpus, count};
use super::question::{ASKING, Asked, Question};
use store::inverse_frequency;

/// Passages among which one must answer.
const LOOKED_AT: usize = 3;
/// What a key adds all of whose words are asked for.
const KEY: f64 = 0.1;
/// What each word after the first adds: two in one place are seldom chance.
const FURTHER: f64 = 0.1;
/// Least confidence of an answer among one passage, and what it rises with the logarithm of their
/// number: among many, some passage has words of any question.
const LEAST: [f64; 2] = [0.345, 0.025];

/// Whether one of the best passages answers.
pub(super) fn is_answered(
    corpus: &Corpus,
    question: &Question,
    best: impl Iterator<Item = usize>,
) -> bool {
    let weights: Vec<f64> = question.units.iter().map(|unit| weight(corpus, unit)).collect();
    let least = LEAST[0] + LEAST[1] * count(corpus.passages.len().max(1)).ln();
    best.take(LOOKED_AT).any(|passage| confidence(corpus, question, &weights, passage) >= least)
}

/// The share of the question that a passage has, by weight, with what makes chance less likely.
fn confidence(corpus: &Corpus, question: &Question, weights: &[f64], passage: usize) -> f64 {
    let (mut found, mut words) = (0.0, 0.0_f64);
    for (unit, weight) in question.units.iter().zip(weights) {
        if unit.places.iter().flatten().any(|place| place.passage == passage) {
            found += weight * unit.share;
            words += if unit.is_asking { ASKING } else { unit.share * count(unit.terms.len()) };
        }
    }
    let key = if question.has_key_of(&corpus.passages[passage]) { KEY } else { 0.0 };
    found / weights.iter().sum::<f64>() + key + FURTHER * (words - 1.0).max(0.0)
}

/// How much a unit says of what is asked: rare ones more.
fn weight(corpus: &Corpus, unit: &Asked) -> f64 {
    let mut passages: Vec<usize> =
        unit.places.iter().flatten().map(|place| place.passage).collect();
    passages.sort_unstable();
    passages.dedup();
    inverse_frequency(corpus.passages.len() as u64, passages.len() as u64) * unit.weight()
}
