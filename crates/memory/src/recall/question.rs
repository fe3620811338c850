//! What a question asks for, as found in a corpus. Pure; must not say which passage is better.

use std::collections::HashSet;

use super::corpus::{Corpus, Indexed, PhraseHit, Term};
use super::words;
use store::{Expression, MAX_UNITS, Phrase, SearchUnit};

/// What a word counts of which only others with the same beginning are found.
const AKIN: f64 = 0.6;
/// What a word counts that only says what kind of answer is wanted.
pub(super) const ASKING: f64 = 0.3;

/// A search in a corpus.
#[derive(Debug)]
pub(super) struct Question {
    /// What is wanted.
    pub(super) units: Vec<Asked>,
    /// The places of what is excluded.
    pub(super) excluded: Vec<PhraseHit>,
    /// The words of what is wanted, as far as the corpus has them.
    pub(super) words: HashSet<Term>,
}

/// A word, phrase or identifier of a question.
#[derive(Debug)]
pub(super) struct Asked {
    /// The words of its first phrase.
    pub(super) terms: Vec<String>,
    /// The places of each of its phrases.
    pub(super) places: Vec<Vec<PhraseHit>>,
    /// How much a place counts: 1, or less where it only is akin.
    pub(super) share: f64,
    /// Whether it only says what kind of answer is wanted.
    pub(super) is_asking: bool,
}

impl Question {
    /// Looks for the units of a search. A path or identifier that stands nowhere is looked for by
    /// its words, and a word that stands nowhere by those that have its beginning.
    pub(super) fn new(corpus: &Corpus, expression: &Expression) -> Self {
        let mut units = Vec::new();
        for unit in &expression.wanted {
            let asked = Asked::new(corpus, unit);
            match &unit.phrases[..] {
                [Phrase { terms, is_prefix: false }, ..] if asked.is_missing() => {
                    units.extend(terms.iter().map(|term| Asked::nearest(corpus, term)));
                }
                _ => units.push(asked),
            }
        }
        // One long path may have more words than a search has units.
        units.truncate(MAX_UNITS);
        let excluded = expression.excluded.iter().flat_map(|unit| &unit.phrases);
        let excluded = excluded.flat_map(|phrase| corpus.find(phrase)).collect();
        let words = units.iter().flat_map(|unit: &Asked| &unit.terms);
        let words = words.filter_map(|word| corpus.term(word)).collect();
        Self { units, excluded, words }
    }

    /// Whether a passage has a key, all of whose words are asked for.
    pub(super) fn has_key_of(&self, passage: &Indexed) -> bool {
        !passage.key.is_empty() && passage.key.iter().all(|word| self.words.contains(word))
    }
}

impl Asked {
    fn new(corpus: &Corpus, unit: &SearchUnit) -> Self {
        Self {
            terms: unit.phrases.first().map(|phrase| phrase.terms.clone()).unwrap_or_default(),
            places: unit.phrases.iter().map(|phrase| corpus.find(phrase)).collect(),
            share: 1.0,
            is_asking: words::is_asking(unit),
        }
    }

    fn nearest(corpus: &Corpus, term: &str) -> Self {
        let phrase = Phrase { terms: vec![term.to_owned()], is_prefix: false };
        let mut asked = Self::new(corpus, &SearchUnit { phrases: vec![phrase] });
        if asked.is_missing() {
            asked.places = vec![corpus.akin(term)];
            asked.share = AKIN;
        }
        asked
    }

    /// How much it counts beside what is as rare.
    pub(super) fn weight(&self) -> f64 {
        if self.is_asking { ASKING } else { 1.0 }
    }

    fn is_missing(&self) -> bool {
        self.places.iter().all(Vec::is_empty)
    }
}
