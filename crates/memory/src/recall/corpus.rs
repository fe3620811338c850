//! The words of passages, by word: what ranking counts. Must not say which passage is better, nor where one comes from.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::passages::Passage;
use super::variants::Variants;
use store::{Phrase, TermKind, each_term, is_stop_word};

/// A word, as a number of its own in one corpus.
pub(super) type Term = u32;

/// Passages in the order of their documents, with the places of their words.
#[derive(Debug, Default)]
pub(super) struct Corpus {
    terms: HashMap<String, Term>,
    words: Vec<Word>,
    /// The passages.
    pub(super) passages: Vec<Indexed>,
    /// Words of each document.
    pub(super) document_lengths: Vec<f64>,
}

/// What is known of one word.
#[derive(Debug)]
struct Word {
    /// Whether it is a function word.
    is_common: bool,
    /// Whether it stands in a label.
    is_label: bool,
    /// The passages with it.
    places: Vec<Place>,
}

/// How often something stands in a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The passage.
    pub(super) passage: usize,
    /// In its text.
    pub(super) in_text: u32,
    /// In its headings and the name of its document.
    pub(super) in_context: u32,
}

/// A passage by its words.
#[derive(Debug)]
pub(super) struct Indexed {
    /// Number of its document.
    pub(super) document: usize,
    /// Number of its section: neighbours belong to the same.
    pub(super) section: usize,
    /// Words of what it says it is about, or who speaks.
    pub(super) label: Vec<Term>,
    /// Whether it ends with a question, which the next one answers.
    pub(super) asks: bool,
    /// Words of the text in their order.
    pub(super) text: Vec<Term>,
    /// Words of headings and name.
    pub(super) context: Vec<Term>,
}

impl Indexed {
    /// Number of words of the text.
    pub(super) fn length(&self) -> f64 {
        count(self.text.len())
    }
}

impl Corpus {
    /// The words of passages, which come in the order of their documents.
    pub(super) fn new(passages: &[Passage], variants: &Variants) -> Self {
        let mut corpus = Self::default();
        for passage in passages {
            let text = corpus.read(&passage.text, variants);
            let context = corpus.read(&passage.context, variants);
            let label = corpus.read(passage.label.as_deref().unwrap_or_default(), variants);
            for term in &label {
                corpus.words[*term as usize].is_label = true;
            }
            let at = corpus.passages.len();
            for term in &text {
                corpus.place(*term, at).in_text += 1;
            }
            for term in &context {
                corpus.place(*term, at).in_context += 1;
            }
            corpus.document_lengths.resize(passage.document + 1, 0.0);
            corpus.document_lengths[passage.document] += count(text.len());
            corpus.passages.push(Indexed {
                document: passage.document,
                section: passage.section,
                label,
                asks: passage.text.trim_end().ends_with('?'),
                text,
                context,
            });
        }
        corpus
    }

    fn read(&mut self, text: &str, variants: &Variants) -> Vec<Term> {
        let mut read = Vec::new();
        each_term(text, |term, at, kind| {
            if kind == TermKind::Part {
                let term = variants.base(term);
                let known = self.terms.get(term).copied();
                read.push(known.unwrap_or_else(|| self.add(term, is_stop_word(&text[at]))));
            }
            ControlFlow::Continue(())
        });
        read
    }

    fn add(&mut self, term: &str, is_common: bool) -> Term {
        let number = Term::try_from(self.words.len()).unwrap_or(Term::MAX);
        self.terms.insert(term.to_owned(), number);
        self.words.push(Word { is_common, is_label: false, places: Vec::new() });
        number
    }

    fn place(&mut self, term: Term, passage: usize) -> &mut Place {
        let places = &mut self.words[term as usize].places;
        if places.last().is_none_or(|last| last.passage != passage) {
            places.push(Place { passage, in_text: 0, in_context: 0 });
        }
        let last = places.len() - 1;
        &mut places[last]
    }

    /// The number of a word; `None` if it stands nowhere.
    pub(super) fn term(&self, word: &str) -> Option<Term> {
        self.terms.get(word).copied()
    }

    /// Where a word stands.
    pub(super) fn places(&self, term: Term) -> &[Place] {
        &self.words[term as usize].places
    }

    /// Whether a word may say what a passage is about: it is no function word, and not who speaks.
    pub(super) fn says_something(&self, term: Term) -> bool {
        let Word { is_common, is_label, .. } = self.words[term as usize];
        !is_common && !is_label
    }

    /// Where a phrase of a search stands.
    pub(super) fn find(&self, phrase: &Phrase, variants: &Variants) -> Vec<Place> {
        let [first @ .., last] = &phrase.terms[..] else { return Vec::new() };
        let first: Option<Vec<Term>> =
            first.iter().map(|word| self.term(variants.base(word))).collect();
        let Some(first) = first else { return Vec::new() };
        let lasts: Vec<Term> = if phrase.is_prefix {
            let words = self.terms.iter().filter(|(word, _)| word.starts_with(&**last));
            words.map(|(_, term)| *term).collect()
        } else {
            self.term(variants.base(last)).into_iter().collect()
        };
        if let ([], [term]) = (&first[..], &lasts[..]) {
            return self.places(*term).to_vec();
        }
        let within = |words: &[Term]| {
            let runs = words.windows(first.len() + 1).filter(|run| {
                run.split_last().is_some_and(|(end, start)| start == first && lasts.contains(end))
            });
            u32::try_from(runs.count()).unwrap_or(u32::MAX)
        };
        let found = self.candidates(&first, &lasts).into_iter().map(|passage| {
            let Indexed { text, context, .. } = &self.passages[passage];
            Place { passage, in_text: within(text), in_context: within(context) }
        });
        found.filter(|place| place.in_text + place.in_context > 0).collect()
    }

    /// The passages that may hold a phrase, in order.
    fn candidates(&self, first: &[Term], lasts: &[Term]) -> Vec<usize> {
        let terms = match first {
            [term, ..] => std::slice::from_ref(term),
            [] => lasts,
        };
        let mut passages: Vec<usize> =
            terms.iter().flat_map(|term| self.places(*term)).map(|place| place.passage).collect();
        passages.sort_unstable();
        passages.dedup();
        passages
    }
}

/// A count as a number that is calculated with.
#[expect(clippy::cast_precision_loss, reason = "counts of words and passages are far below 2^52")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
