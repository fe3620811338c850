//! Ranks passages and their documents for a search. Pure: must not know where a passage comes from.
//!
//! Both use the score that the store's search gives a row: BM25, where headings count once. A
//! passage of a talk also gains from its neighbours, because an answer need not repeat the question,
//! and from its document. A document gains from its best passage.
//!
//! The numbers were tuned on `crates/memory/tests/memory/locomo.rs`; nearby values change the result by less than
//! a point.

use super::corpus::{Corpus, PhraseHit, count};
use super::question::{Asked, Question};
use super::related::related;
use store::{Ranking, inverse_frequency, term_frequency};

/// The share that passages one and two places away add.
const BESIDE: [f64; 2] = [0.3, 0.15];
/// The share that what somebody says gains where the question names them.
const BY_WHOM: f64 = 0.5;
/// The share that a document gains from its best passage.
const FROM_PASSAGE: f64 = 0.5;
/// The share that a passage gains from its document.
const FROM_DOCUMENT: f64 = 0.25;
/// The share that a document gains from words of the best passages which the question lacks.
const FROM_RELATED: f64 = 0.3;

/// What a search finds.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    /// Passages, best first, each with its score above 0.
    pub(super) passages: Vec<(usize, f64)>,
    /// The scores of the documents, without what they gain from related words.
    documents: Vec<f64>,
}

impl Ranked {
    /// Documents, best first, each with its score above 0.
    pub(super) fn documents(&self, corpus: &Corpus, question: &Question) -> Vec<(usize, f64)> {
        let mut scores = self.documents.clone();
        for (score, related) in scores.iter_mut().zip(related(corpus, question, &self.passages)) {
            if *score > 0.0 {
                *score += FROM_RELATED * related;
            }
        }
        best(&scores)
    }
}

/// Ranks the passages of a corpus, and its documents.
pub(super) fn rank(corpus: &Corpus, question: &Question) -> Ranked {
    // Of what is long each word tells, of one entry those that only ask tell little.
    let weight_in_passage = |unit: &Asked| unit.share * unit.weight();
    let own = scores(&question.units, &corpus.lengths, weight_in_passage, |place| place.passage);
    let mut passages = beside(corpus, &own);
    for (score, passage) in passages.iter_mut().zip(&corpus.passages) {
        if passage.is_talk && question.has_key_of(passage) {
            *score *= 1.0 + BY_WHOM;
        }
    }
    let lengths = &corpus.document_lengths;
    let mut documents = scores(&question.units, lengths, |unit| unit.share, |place| place.document);
    let mut best_passages = vec![0.0_f64; documents.len()];
    for (score, passage) in passages.iter().zip(&corpus.passages) {
        let best = &mut best_passages[passage.document];
        *best = best.max(*score);
    }
    for (score, best) in documents.iter_mut().zip(best_passages) {
        *score += FROM_PASSAGE * best;
    }
    for (score, passage) in passages.iter_mut().zip(&corpus.passages) {
        if *score > 0.0 && passage.is_talk {
            *score += FROM_DOCUMENT * documents[passage.document];
        }
    }
    for place in &question.excluded {
        passages[place.passage] = 0.0;
    }
    Ranked { passages: best(&passages), documents }
}

/// The scores of passages or documents. `weight_of`: how much a unit counts beside what is as rare.
/// `text_of`: returns the text that a place belongs to.
fn scores(
    units: &[Asked],
    lengths: &[f64],
    weight_of: impl Fn(&Asked) -> f64,
    text_of: impl Fn(&PhraseHit) -> usize,
) -> Vec<f64> {
    let mean = mean(lengths);
    let mut ranking = Ranking::default();
    for (number, unit) in units.iter().enumerate() {
        for places in &unit.places {
            let texts: Vec<&[PhraseHit]> =
                places.chunk_by(|one, other| text_of(one) == text_of(other)).collect();
            let rarity = inverse_frequency(lengths.len() as u64, texts.len() as u64);
            let weight = rarity * weight_of(unit);
            let found = texts.into_iter().map(|places| {
                let text = text_of(&places[0]);
                let times: u32 = places.iter().map(|place| place.in_text).sum();
                let above = u32::from(places.iter().any(|place| place.in_context));
                (text, weight * term_frequency(f64::from(times + above), lengths[text], mean))
            });
            ranking.add(number, found);
        }
    }
    let mut scores = vec![0.0; lengths.len()];
    for (text, score) in ranking.best(units.len()) {
        scores[text] = score;
    }
    scores
}

/// The mean length, at least 1 in all, so that nothing is divided by zero where there are no words.
pub(super) fn mean(lengths: &[f64]) -> f64 {
    lengths.iter().sum::<f64>().max(1.0) / count(lengths.len().max(1))
}

/// The scores of passages including what their neighbours in the same section add.
fn beside(corpus: &Corpus, scores: &[f64]) -> Vec<f64> {
    let section =
        |at: usize| corpus.passages.get(at).map(|passage| (passage.document, passage.section));
    let gained = (0..scores.len()).map(|at| {
        if !corpus.passages[at].is_talk {
            return scores[at];
        }
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
