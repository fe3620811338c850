//! Ranks passages and their documents for a search. Pure: must not know where a passage comes from.
//!
//! A passage has BM25 (k1 1.2, b 0.75) of the search's words, scaled like the store's search by the cube root of the share of them
//! that it has, and besides:
//!
//! - A word counts in its irregular forms, and a little for words of its subject (`variants`).
//! - Where the search names what some passages say they are about, or who speaks in them, the passages of others count less.
//! - A passage gains from those beside it: an answer need not repeat the question.
//! - A document has BM25 as a whole, and gains from its best passages and from words that these have in common; a passage gains
//!   from its document.
//!
//! The numbers were chosen on `tests/memory/locomo.rs`, where half or twice any of them loses less than a point.

use std::collections::BTreeMap;

use super::corpus::{Corpus, Place, Term, count};
use super::variants::Variants;
use store::{Expression, Phrase, inverse_frequency};

/// What a word of the same subject is worth.
const RELATED: f64 = 0.25;
/// What passages about others are worth where the search names what some are about.
const OTHER_LABEL: f64 = 0.6;
/// What a word in the headings above a passage, or in the name of its file, is worth.
const IN_CONTEXT: f64 = 1.0;
/// What the passages one and two places away add.
const BESIDE: [f64; 2] = [0.3, 0.15];
/// What a question adds to the passage behind it, besides.
const ANSWERED: f64 = 0.2;
/// What a passage gains from its document.
const FROM_DOCUMENT: f64 = 0.25;
/// What a document gains from its best passages, on average.
const FROM_PASSAGES: f64 = 0.5;
/// Passages from which a document gains.
const BEST_PASSAGES: usize = 3;
/// The best passages, whose words are looked for in documents.
const FEEDBACK_PASSAGES: usize = 10;
/// Words that are taken from them.
const FEEDBACK_WORDS: usize = 10;
/// What these words are worth together, beside those of the search.
const FEEDBACK: f64 = 0.3;

/// What was found, best first, each with its score above 0.
#[derive(Debug, Default)]
pub(super) struct Ranked {
    /// Passages.
    pub(super) passages: Vec<(usize, f64)>,
    /// Documents.
    pub(super) documents: Vec<(usize, f64)>,
}

/// Ranks the passages of a corpus. Nothing is found if no passage has a word of the search, or one of its subject.
pub(super) fn rank(corpus: &Corpus, expression: &Expression, variants: &Variants) -> Ranked {
    let search = Search::new(corpus, expression, variants);
    if search.units.iter().all(|unit| unit.forms.is_empty()) {
        return Ranked::default();
    }
    let mut passages = search.passages();
    search.weigh_labels(&mut passages);
    let mut passages = beside(corpus, &passages);
    let mut documents = search.documents();
    search.add_feedback(&passages, &mut documents);
    add_best_passages(corpus, &passages, &mut documents);
    for (score, passage) in passages.iter_mut().zip(&corpus.passages) {
        if *score > 0.0 {
            *score += FROM_DOCUMENT * documents[passage.document];
        }
    }
    for place in search.excluded {
        passages[place] = 0.0;
    }
    Ranked { passages: best(&passages), documents: best(&documents) }
}

/// A search in one corpus.
struct Search<'a> {
    corpus: &'a Corpus,
    units: Vec<Unit>,
    excluded: Vec<usize>,
    /// Words of a document, on average.
    mean_document: f64,
}

/// A word, phrase or identifier of the search.
struct Unit {
    /// The words of its first phrase that stand anywhere.
    words: Vec<Term>,
    forms: Vec<Form>,
}

/// One way in which a unit is written: its worth beside the unit itself, and where it stands.
struct Form {
    share: f64,
    places: Vec<Place>,
}

impl<'a> Search<'a> {
    fn new(corpus: &'a Corpus, expression: &Expression, variants: &Variants) -> Self {
        let form = |(share, places): (f64, Vec<Place>)| {
            (!places.is_empty()).then_some(Form { share, places })
        };
        let unit = |unit: &store::Unit| {
            let written = unit.phrases.iter().map(|phrase| (1.0, corpus.find(phrase, variants)));
            let related = related(&unit.phrases, variants);
            let related = related.filter_map(|word| corpus.term(word));
            let related = related.map(|term| (RELATED, corpus.places(term).to_vec()));
            let forms = written.chain(related);
            let words = unit.phrases.iter().take(1).flat_map(|phrase| &phrase.terms);
            Unit {
                words: words.filter_map(|word| corpus.term(variants.base(word))).collect(),
                forms: forms.filter_map(form).collect(),
            }
        };
        let excluded = expression.excluded.iter().flat_map(|unit| &unit.phrases);
        let excluded = excluded.flat_map(|phrase| corpus.find(phrase, variants));
        Self {
            corpus,
            units: expression.wanted.iter().map(unit).collect(),
            excluded: excluded.map(|place| place.passage).collect(),
            mean_document: mean(
                corpus.document_lengths.iter().sum(),
                corpus.document_lengths.len(),
            ),
        }
    }

    /// The score of each passage by its own words.
    fn passages(&self) -> Vec<f64> {
        let passages = &self.corpus.passages;
        let lengths = passages.iter().map(super::corpus::Indexed::length);
        let mean = mean(lengths.clone().sum(), passages.len());
        let norms: Vec<f64> = lengths.map(|length| norm(length, mean)).collect();
        let mut scores = vec![0.0; passages.len()];
        let mut units_of = vec![0_u32; passages.len()];
        let mut best: Vec<f64> = vec![0.0; passages.len()];
        for unit in &self.units {
            let mut met = Vec::new();
            for Form { share, places } in &unit.forms {
                let weight = share * inverse_frequency(passages.len() as u64, places.len() as u64);
                for place in places {
                    let above = if place.in_context > 0 { IN_CONTEXT } else { 0.0 };
                    let times = f64::from(place.in_text) + above;
                    let score = weight * saturated(times, norms[place.passage]);
                    if best[place.passage] == 0.0 {
                        met.push(place.passage);
                    }
                    best[place.passage] = best[place.passage].max(score);
                }
            }
            for passage in met {
                scores[passage] += std::mem::take(&mut best[passage]);
                units_of[passage] += 1;
            }
        }
        let all = count(self.units.len());
        for (score, units) in scores.iter_mut().zip(units_of) {
            *score *= (f64::from(units) / all).cbrt();
        }
        scores
    }

    /// The score of each document by its own words.
    fn documents(&self) -> Vec<f64> {
        let mut scores = vec![0.0; self.corpus.document_lengths.len()];
        for unit in &self.units {
            let mut best: BTreeMap<usize, f64> = BTreeMap::new();
            for form in &unit.forms {
                for (document, score) in self.in_documents(&form.places, form.share) {
                    let known = best.entry(document).or_default();
                    *known = known.max(score);
                }
            }
            for (document, score) in best {
                scores[document] += score;
            }
        }
        scores
    }

    /// What a form adds to documents, rarer ones more. Headings count once in each.
    fn in_documents(&self, places: &[Place], share: f64) -> Vec<(usize, f64)> {
        let lengths = &self.corpus.document_lengths;
        let mean = self.mean_document;
        let of = |place: &Place| self.corpus.passages[place.passage].document;
        let documents: Vec<&[Place]> = places.chunk_by(|one, other| of(one) == of(other)).collect();
        let weight = share * inverse_frequency(lengths.len() as u64, documents.len() as u64);
        let scores = documents.into_iter().map(|places| {
            let document = of(&places[0]);
            let times: u32 = places.iter().map(|place| place.in_text).sum();
            let times = times + u32::from(places.iter().any(|place| place.in_context > 0));
            let norm = norm(lengths[document], mean);
            (document, weight * saturated(f64::from(times), norm))
        });
        scores.collect()
    }

    /// Lets passages about others count less, where the search names what some passages are about.
    fn weigh_labels(&self, scores: &mut [f64]) {
        let wanted: Vec<Term> = self.units.iter().flat_map(|unit| unit.words.clone()).collect();
        let is_named = |label: &[Term]| label.iter().all(|term| wanted.contains(term));
        let labelled = || self.corpus.passages.iter().filter(|passage| !passage.label.is_empty());
        if !labelled().any(|passage| is_named(&passage.label)) {
            return;
        }
        for (score, passage) in scores.iter_mut().zip(&self.corpus.passages) {
            if !passage.label.is_empty() && !is_named(&passage.label) {
                *score *= OTHER_LABEL;
            }
        }
    }

    /// Adds to documents what they have of the words that the best passages have in common.
    fn add_feedback(&self, passages: &[f64], documents: &mut [f64]) {
        let words = self.feedback(passages);
        let sum: f64 = words.iter().map(|(_, weight)| weight).sum();
        if sum <= 0.0 {
            return;
        }
        let share = FEEDBACK * count(self.units.len()) / sum;
        for (term, weight) in words {
            for (document, score) in self.in_documents(self.corpus.places(term), share * weight) {
                documents[document] += score;
            }
        }
    }

    /// The words that say most about the best passages, without those of the search, labels and function words.
    fn feedback(&self, passages: &[f64]) -> Vec<(Term, f64)> {
        let mut weights: BTreeMap<Term, f64> = BTreeMap::new();
        for (passage, score) in best(passages).into_iter().take(FEEDBACK_PASSAGES) {
            let passage = &self.corpus.passages[passage];
            let share = score / passage.length().max(1.0);
            for term in passage.text.iter().chain(&passage.context) {
                *weights.entry(*term).or_default() += share;
            }
        }
        for term in self.units.iter().flat_map(|unit| &unit.words) {
            weights.remove(term);
        }
        let all = self.corpus.passages.len() as u64;
        let weights = weights.into_iter().filter(|(term, _)| self.corpus.says_something(*term));
        let mut words: Vec<(Term, f64)> = weights
            .map(|(term, weight)| {
                (term, weight * inverse_frequency(all, self.corpus.places(term).len() as u64))
            })
            .collect();
        words.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        words.truncate(FEEDBACK_WORDS);
        words
    }
}

/// Words of the same subject as a unit that is one word.
fn related<'a>(phrases: &'a [Phrase], variants: &'a Variants) -> impl Iterator<Item = &'a String> {
    let words = phrases.iter().filter_map(|phrase| match &phrase.terms[..] {
        [word] if !phrase.is_prefix => Some(word),
        _ => None,
    });
    words.flat_map(|word| variants.related(variants.base(word)))
}

/// The scores of passages with what those beside them add.
fn beside(corpus: &Corpus, scores: &[f64]) -> Vec<f64> {
    let passages = &corpus.passages;
    let near = |one: usize, other: usize| {
        let same = |passage: usize| (passages[passage].document, passages[passage].section);
        same(one) == same(other)
    };
    let gained = (0..scores.len()).map(|at| {
        let mut score = scores[at];
        for (share, away) in BESIDE.into_iter().zip(1..) {
            for other in [at.checked_sub(away), Some(at + away)].into_iter().flatten() {
                if other < scores.len() && near(at, other) {
                    score += share * scores[other];
                }
            }
        }
        match at.checked_sub(1) {
            Some(before) if near(at, before) && passages[before].asks => {
                score + ANSWERED * scores[before]
            }
            _ => score,
        }
    });
    gained.collect()
}

fn add_best_passages(corpus: &Corpus, passages: &[f64], documents: &mut [f64]) {
    let mut of: Vec<Vec<f64>> = vec![Vec::new(); documents.len()];
    for (passage, score) in corpus.passages.iter().zip(passages) {
        of[passage.document].push(*score);
    }
    for (document, mut scores) in documents.iter_mut().zip(of) {
        scores.sort_by(|one, other| other.total_cmp(one));
        let sum: f64 = scores.iter().take(BEST_PASSAGES).sum();
        *document += FROM_PASSAGES * sum / count(BEST_PASSAGES);
    }
}

/// Scores above 0, best first; among equals the first.
fn best(scores: &[f64]) -> Vec<(usize, f64)> {
    let found = scores.iter().copied().enumerate().filter(|(_, score)| *score > 0.0);
    let mut found: Vec<(usize, f64)> = found.collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
    found
}

fn mean(sum: f64, number: usize) -> f64 {
    if sum > 0.0 { sum / count(number) } else { 1.0 }
}

/// What BM25 divides by, besides the count: `k1 × (1 - b + b × length / mean)`.
fn norm(length: f64, mean: f64) -> f64 {
    1.2 * (0.25 + 0.75 * length / mean)
}

/// BM25's weight of a word that stands so often.
fn saturated(times: f64, norm: f64) -> f64 {
    2.2 * times / (times + norm)
}
