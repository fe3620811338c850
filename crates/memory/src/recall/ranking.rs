//! Ranks passages and their documents for a search. Pure: must not know where a passage comes from.
//!
//! Both use the score that the store's search gives a row: BM25, where headings count once. A
//! passage also gains from its neighbours, because an answer need not repeat the question, and from
//! its document, which in turn gains from its best passage.
//!
//! The numbers were tuned on `crates/memory/tests/memory/locomo.rs`; nearby values change the result by less than
//! a point.

use super::corpus::{Corpus, Place, count};
use store::{Expression, Ranking, inverse_frequency, term_frequency};

/// The share that passages one and two places away add.
const BESIDE: [f64; 2] = [0.3, 0.15];
/// The share that a document gains from its best passage.
const FROM_PASSAGE: f64 = 0.5;
/// The share that a passage gains from its document.
const FROM_DOCUMENT: f64 = 0.25;

/// The results, best first, each with its score above 0.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    /// Passages.
    pub(super) passages: Vec<(usize, f64)>,
    /// Documents.
    pub(super) documents: Vec<(usize, f64)>,
}

/// Ranks the passages of a corpus.
pub(super) fn rank(corpus: &Corpus, expression: &Expression) -> Ranked {
    let places = |unit: &store::SearchUnit| -> Vec<Vec<Place>> {
        unit.phrases.iter().map(|phrase| corpus.find(phrase)).collect()
    };
    let units: Vec<Vec<Vec<Place>>> = expression.wanted.iter().map(places).collect();
    let own = scores(&units, &corpus.lengths, |place| place.passage);
    let mut passages = beside(corpus, &own);
    let mut documents = scores(&units, &corpus.document_lengths, |place| place.document);
    let mut best_passages = vec![0.0_f64; documents.len()];
    for (score, passage) in passages.iter().zip(&corpus.passages) {
        let best = &mut best_passages[passage.document];
        *best = best.max(*score);
    }
    for (score, best) in documents.iter_mut().zip(best_passages) {
        *score += FROM_PASSAGE * best;
    }
    for (score, passage) in passages.iter_mut().zip(&corpus.passages) {
        if *score > 0.0 {
            *score += FROM_DOCUMENT * documents[passage.document];
        }
    }
    for place in expression.excluded.iter().flat_map(places).flatten() {
        passages[place.passage] = 0.0;
    }
    Ranked { passages: best(&passages), documents: best(&documents) }
}

/// The scores of passages or documents, from the places of each unit's phrases. `text_of`: returns
/// the text that a place belongs to.
fn scores(
    units: &[Vec<Vec<Place>>],
    lengths: &[f64],
    text_of: impl Fn(&Place) -> usize,
) -> Vec<f64> {
    // At least 1 each, so that nothing is divided by zero if there are no words.
    let mean = lengths.iter().sum::<f64>().max(1.0) / count(lengths.len().max(1));
    let mut ranking = Ranking::default();
    for (unit, phrases) in units.iter().enumerate() {
        for places in phrases {
            let texts: Vec<&[Place]> =
                places.chunk_by(|one, other| text_of(one) == text_of(other)).collect();
            let weight = inverse_frequency(lengths.len() as u64, texts.len() as u64);
            let found = texts.into_iter().map(|places| {
                let text = text_of(&places[0]);
                let times: u32 = places.iter().map(|place| place.in_text).sum();
                let above = u32::from(places.iter().any(|place| place.in_context));
                (text, weight * term_frequency(f64::from(times + above), lengths[text], mean))
            });
            ranking.add(unit, found);
        }
    }
    let mut scores = vec![0.0; lengths.len()];
    for (text, score) in ranking.best(units.len()) {
        scores[text] = score;
    }
    scores
}

/// The scores of passages including what their neighbours in the same section add.
fn beside(corpus: &Corpus, scores: &[f64]) -> Vec<f64> {
    let section =
        |at: usize| corpus.passages.get(at).map(|passage| (passage.document, passage.section));
    let gained = (0..scores.len()).map(|at| {
        let near = BESIDE.into_iter().zip(1..).flat_map(|(share, away)| {
            [at.checked_sub(away), Some(at + away)]
                .into_iter()
                .flatten()
                .map(move |near| (share, near))
        });
        let near = near.filter(|(_, near)| section(*near) == section(at));
        scores[at] + near.map(|(share, near)| share * scores[near]).sum::<f64>()
    });
    gained.collect()
}

/// Scores above 0, best first; among equals the first.
fn best(scores: &[f64]) -> Vec<(usize, f64)> {
    let found = scores.iter().copied().enumerate().filter(|(_, score)| *score > 0.0);
    let mut found: Vec<(usize, f64)> = found.collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    found
}
